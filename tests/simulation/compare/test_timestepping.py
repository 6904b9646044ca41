"""Time stepping converges to the event-driven runs, with the slope of its order."""

import math

import numpy as np
import pytest

import draisine
from draisine.errors import ParameterError
from draisine.simulation.compare.timestepping import simulate_by_steps
from draisine.simulation.contact.run import simulate_on
from draisine.terrain import kerb, plane
from simulation.contact.conftest import RUNS, bicycle, on_the_flat
from simulation.contact.test_disc import disc, dropped
from simulation.contact.test_friction import thrown


def _slope(errors):
    """Return the order at which errors fall when steps are halved, by least squares."""
    return -np.polyfit(np.arange(len(errors)), np.log2(errors), 1)[0]


def test_impact_that_lifts_a_wheel_converges_with_order_one():
    _, state, until, _ = RUNS["test4_two_contacts"]()
    until = 0.35  # rolling on the front wheel after the impact
    exact = simulate_on(bicycle(), plane(), state, until).final()
    errors = []
    for k in range(6):
        made = simulate_by_steps(bicycle(), plane(), state, until, h=0.004 / 2**k).final()
        errors.append(np.abs(made.v[:6] - exact.v[:6]).max())
    assert errors[-1] < 2e-2
    assert _slope(errors) > 0.7


def test_sliding_disc_converges():
    exact = 2.0
    errors = [
        abs(
            simulate_by_steps(disc(), plane(), thrown(3.0), 0.5, h=h, mu=0.3).final().v[4] * 0.5
            - exact
        )
        for h in (0.01, 0.005, 0.0025)
    ]
    assert max(errors) < 1e-9 or _slope(errors) > 0.7


def test_impulses_of_a_landing_converge_to_those_of_the_event():
    exact = simulate_on(bicycle(), kerb(2.0, -0.1), on_the_flat(3.0), 0.6)
    landing = next(e for e in exact.events if e.kind == "collision")
    made = simulate_by_steps(bicycle(), kerb(2.0, -0.1), on_the_flat(3.0), 0.6, h=2e-4)
    at = int(np.argmax(made.impulses[:, 1, 0]))
    assert made.t[at] == pytest.approx(landing.t, abs=1e-3)
    wanted = landing.impulses["front", "after"][0]
    assert made.impulses[at, 1, 0] == pytest.approx(wanted, rel=0.02)


def test_accumulating_bounces_end_at_rest():
    """Zeno: all bounces are over after t (1 + e) / (1 - e), without any care."""
    e, fall = 0.5, math.sqrt(2 * 0.05 / 9.81)
    made = simulate_by_steps(disc(), plane(), dropped(0.05), 0.5, h=1e-3, normal=e)
    over = fall * (1 + e) / (1 - e)
    still = np.abs(made.y[made.t > over + 0.02, 9])
    assert still.max() < 1e-9
    assert made.y[:, 6].min() > -0.01


def test_energy_is_never_created_without_restitution():
    state = draisine.state(bicycle(), forward_speed=4.0, lean=0.1)
    lifted = draisine.State(state.q, state.p + [0, 0, 0.1], state.r, state.v)
    made = simulate_by_steps(bicycle(), plane(), lifted, 0.5, h=1e-3, mu=0.6)
    machine = made.machine
    E = []
    for t, y in zip(made.t, made.y, strict=True):
        seen = machine.sight(t=[t], **machine.layout.split(y))
        E.append(seen["kinetic"][0] + seen["potential"][0])
    assert np.diff(E).max() < 0.05  # the scheme's own error per step, of second order


def test_wrong_steps_say_so():
    with pytest.raises(ParameterError, match="no steps"):
        simulate_by_steps(disc(), plane(), dropped(0.1), 1.0, h=0.0)
