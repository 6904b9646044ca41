"""Time stepping converges to the event-driven runs, with the slope of its order."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.terrain import kerb, plane
from simulation.contact.conftest import RUNS, bicycle, on_the_flat
from simulation.contact.test_disc import G, disc, dropped
from simulation.contact.test_friction import thrown


def _slope(errors):
    """Return the order at which errors fall when steps are halved, by least squares."""
    return -np.polyfit(np.arange(len(errors)), np.log2(errors), 1)[0]


def test_impact_that_lifts_a_wheel_converges_with_order_one():
    _, state, until, _ = RUNS["test4_two_contacts"]()
    until = 0.35  # rolling on the front wheel after the impact
    exact = draisine.simulate(bicycle(), state, until, terrain=plane()).final()
    errors = []
    for k in range(6):
        made = draisine.simulate(
            bicycle(),
            state,
            until,
            terrain=plane(),
            contact=draisine.ContactOptions(solver="time_stepping", step=0.004 / 2**k),
        ).final()
        errors.append(np.abs(made.v[:6] - exact.v[:6]).max())
    assert errors[-1] < 2e-2
    assert _slope(errors) > 0.7


def test_sliding_disc_converges():
    exact = 2.0
    errors = [
        abs(
            draisine.simulate(
                disc(),
                thrown(3.0),
                0.5,
                terrain=plane(),
                contact=draisine.ContactOptions(solver="time_stepping", mu=0.3, step=h),
            )
            .final()
            .v[4]
            * 0.5
            - exact
        )
        for h in (0.01, 0.005, 0.0025)
    ]
    assert max(errors) < 1e-9 or _slope(errors) > 0.7


def test_impulses_of_a_landing_converge_to_those_of_the_event():
    exact = draisine.simulate(bicycle(), on_the_flat(3.0), 0.6, terrain=kerb(2.0, -0.1))
    landing = next(e for e in exact.events if e.kind == "collision")
    made = draisine.simulate(
        bicycle(),
        on_the_flat(3.0),
        0.6,
        terrain=kerb(2.0, -0.1),
        contact=draisine.ContactOptions(solver="time_stepping", step=2e-4),
        numerics=draisine.Numerics(dt=2e-4),
    )
    impulses = made.arcs[0].forces * 2e-4
    at = int(np.argmax(impulses[:, 1, 0]))
    assert made.t[at] == pytest.approx(landing.t, abs=1e-3)
    wanted = landing.impulses["front", "after"][0]
    # The wheel is braked to the ground in one step and stands on it after the next.
    assert impulses[at - 1 : at + 3, 1, 0].sum() == pytest.approx(wanted, rel=0.02)


def test_accumulating_bounces_end_at_rest():
    """Zeno: all bounces are over after t (1 + e) / (1 - e), without any care."""
    e, fall = 0.5, math.sqrt(2 * 0.05 / 9.81)
    made = draisine.simulate(
        disc(),
        dropped(0.05),
        0.5,
        terrain=plane(),
        contact=draisine.ContactOptions(
            solver="time_stepping", impact="moreau", restitution={"normal": e}, step=1e-3
        ),
    )
    over = fall * (1 + e) / (1 - e)
    still = np.abs(made.arcs[0].y[made.t > over + 0.02, 9])
    assert still.max() < 1e-9
    assert made.arcs[0].y[:, 6].min() > -0.01


def test_energy_is_never_created_without_restitution():
    state = draisine.state(bicycle(), forward_speed=4.0, lean=0.1)
    lifted = draisine.State(state.q, state.p + [0, 0, 0.1], state.r, state.v)
    made = draisine.simulate(
        bicycle(),
        lifted,
        0.5,
        terrain=plane(),
        contact=draisine.ContactOptions(solver="time_stepping", mu=0.6, step=1e-3),
        numerics=draisine.Numerics(dt=1e-3),
    )
    machine = made.arcs[0].machine
    E = []
    for t, y in zip(made.t, made.arcs[0].y, strict=True):
        seen = machine.observe(t=[t], **machine.layout.split(y))
        E.append(seen["kinetic"][0] + seen["potential"][0])
    assert np.diff(E).max() < 0.05  # the scheme's own error per step, of second order


def test_the_dataset_of_steps_has_the_forces_of_coulomb():
    """A disc that is thrown slides: it is carried by its weight and dragged by mu times that."""
    run = draisine.simulate(
        disc(),
        thrown(3.0),
        0.05,
        terrain=plane(),
        contact=draisine.ContactOptions(solver="time_stepping", mu=0.3, step=5e-6),
        numerics=draisine.Numerics(dt=0.01),
    ).to_xarray()
    world = run.contact_force_world.sel(contact="ground").values[1:]
    assert_allclose(world, [[-0.3 * G, 0.0, G]] * 5, atol=1e-4)  # of first order
    assert_allclose(run.friction_needed.values[1:, 0], 0.3, rtol=1e-9)
