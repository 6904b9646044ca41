"""Redundant constraint rows: ranks on the constraint manifold, reports, and contradicting rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine import ContactOptions, Numerics, compile, simulate, simulate_many, state
from draisine.analysis.linear import linearise
from draisine.errors import ConfigurationError, ParameterError, RedundancyError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.mechanics.formulations._rank import _find_dependent_rows
from draisine.model import Blade, Body, Model, Revolute, Wheel, inertia
from draisine.terrain import plane

AXLE, UP = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def wagon(*, toe: float = 0.0, up: float = 0.0, hard: float = 1.0, steered: bool = False) -> Model:
    """Return a box on four wheels: one wheel may have a toe angle, be too high or be stiff, two may
    steer.
    """
    hubs = {
        f"{end}{side}": (x, y, 0.1)
        for end, x in (("r", 0.0), ("f", 1.0))
        for side, y in (("l", 0.3), ("r", -0.3))
    }
    hubs["fr"] = (1.0, -0.3, 0.1 + up)
    axles = dict.fromkeys(hubs, AXLE) | {"fr": (-toe, 1.0, 0.0)}
    carrier = {n: f"{n}_carrier" if steered and n[0] == "f" else "box" for n in hubs}
    front = [n for n in hubs if carrier[n] != "box"]
    return Model(
        bodies=[
            Body("box", 10.0, (0.4, 0.05, 0.3), inertia(0.5, 1.0, 1.2)),
            *(Body(carrier[n], 0.1, hubs[n], inertia(0.01, 0.01, 0.01)) for n in front),
            *(Body(n, 0.5, hub, inertia(0.002, 0.003, 0.002)) for n, hub in hubs.items()),
        ],
        joints=[
            *(Revolute(f"{n}_steer", "box", carrier[n], UP, hubs[n]) for n in front),
            *(Revolute(n, carrier[n], n, axles[n], hub) for n, hub in hubs.items()),
        ],
        contacts=[
            Wheel(n, n, hub, axles[n], 0.1, stiffness=hard if n == "fr" else 1.0)
            for n, hub in hubs.items()
        ],
    )


@pytest.fixture(scope="module")
def pendulum():
    return compile("segway")


def test_ranks_are_those_on_the_constraint_manifold():
    """Off the ground the four heights are independent: if all wheels touch, the 12 rows have rank
    9.
    """
    found = compile(wagon).survey()
    assert (len(found.labels), found.rank) == (12, 9)
    told = {row.label: row.parameters for row in found.redundant}
    assert told == {"rr.across": (), "fr.normal": ("up",), "fr.across": ("toe",)}
    assert not found.singular


def test_rows_that_are_redundant_for_one_parameter_value_are_checked_again():
    system = compile(wagon)
    start = state(system, rl_rate=5.0)
    assert_allclose(start.v[:6], [0.5, 0, 0, 0, 0, 0], atol=1e-13)
    toed = system.with_parameters(toe=0.01)
    assert "fr.across" not in {row.label for row in toed.survey().redundant}
    with pytest.raises(ConfigurationError, match="contradict"):
        state(toed, rl_rate=5.0)
    with pytest.raises(ParameterError, match=r"toe.*fr\.across"):
        simulate_many(system, [start] * 2, 0.1, parameters={"toe": [0.0, 0.01]})


@pytest.mark.parametrize("formulation", ["multiplier", "projected", "absolute"])
def test_loads_are_shared_as_by_springs(formulation):
    """A plate on springs: load = stiffness (a + b x + c y), with a, b, c from its equilibrium."""
    system = compile(wagon, hard=5.0)
    _, lam = system.accelerate(state(system), formulation=formulation)
    loads, k = lam[[0, 3, 6, 9]], np.array([1.0, 1.0, 1.0, 5.0])
    X = np.array([[1.0, x, y] for x in (0.0, 1.0) for y in (0.3, -0.3)])
    weight = [12.0, 10.0 * 0.4 + 2 * 0.5, 10.0 * 0.05]  # mass and its first moments
    plane_of = np.linalg.solve(X.T @ (k[:, None] * X), np.array(weight) * 9.81)
    assert_allclose(loads, k * (X @ plane_of), rtol=1e-11)


@pytest.mark.parametrize("up", [0.01, 1e-5, 1e-6])
def test_errors_name_contacts_that_cannot_all_close(up):
    system = compile(wagon, up=up)
    with pytest.raises(RedundancyError, match=r"rl\.normal.*fr\.normal.*cannot all be closed"):
        system.survey()


def test_errors_name_contacts_that_almost_close_by_a_pitch():
    """The front wheels are 4.5 mm higher and 1 mm apart along the track: the pitch leaves 3 um."""
    tyre = BrushTyre(10.0, 0.8, 0.1)
    hubs = {
        "fl": (0.3, 0.2, 0.1045),
        "fr": (0.301, -0.2, 0.1045),
        "rl": (-0.2, 0.25, 0.1),
        "rr": (-0.2, -0.25, 0.1),
    }
    wheel = inertia(0.01, 0.02, 0.01)
    cart = Model(
        [Body("deck", 9.0, (0, 0, 0.2), inertia(1.0, 1.0, 1.0))]
        + [Body(name, 1.0, hub, wheel) for name, hub in hubs.items()],
        [Revolute(f"{name}_axle", "deck", name, AXLE, hub) for name, hub in hubs.items()],
        [Wheel(name, name, hub, AXLE, 0.1, tyre=tyre) for name, hub in hubs.items()],
    )
    with pytest.raises(RedundancyError, match=r"rows fl\.normal, .*rr\.normal contradict"):
        state(compile(lambda: cart))


def test_free_steering_on_both_sides_misses_a_coupling():
    """In the zero configuration the wheels are consistent; for other steer angles they are not, so
    that the wagon cannot roll.
    """
    system = compile(wagon, steered=True)
    assert {"fl.across", "fr.across"} & set(system.survey().singular)
    with pytest.raises(ConfigurationError, match="couple these joints"):
        state(system, rl_rate=5.0, fl_steer=0.2, fr_steer=0.1)


def test_contradicting_prescribed_joints_of_a_snake_are_reported():
    assert compile("snake", links=3, drive="serpenoid").survey().rank == 5
    message = r"11 rows of rank 8.*no motion has\..*leave 2 independent motions to the 5 prescribed joints"
    with pytest.raises(RedundancyError, match=message):
        compile("snake", links=6, drive="serpenoid").survey()


def test_all_solvers_yield_the_same_motion_and_forces(pendulum):
    """SIMD lanes, saddle-point system, closed form and contact engine agree: lateral forces are
    shared equally.
    """
    start = state(pendulum, pitch=0.05, forward_speed=0.5, yaw_rate=0.4)
    torques = {"left": 0.5, "right": -0.3}
    fine = Numerics(integrator="rk4", dt=0.001)
    run = simulate(pendulum, start, 0.1, inputs=torques, numerics=fine).to_xarray()
    many = simulate_many(pendulum, [start] * 3, 0.1, inputs=torques, numerics=fine)
    assert_allclose(many["v"][:, 0], run.speeds.values[-1], atol=1e-12)
    forces = run.contact_force.values[-1]
    assert_allclose(forces[0, 2], forces[1, 2], rtol=1e-9)
    weight = 66.0 * 9.81
    assert_allclose(run.contact_force_world.values[0, :, 2].sum(), weight, rtol=0.2)
    rough = ContactOptions(mu=0.9)
    on = simulate(pendulum, start, 0.1, terrain=plane(), inputs=torques, contact=rough).to_xarray()
    assert_allclose(on.speeds.values[-1], run.speeds.values[-1], atol=1e-8)
    assert_allclose(on.contact_force.values[-1], forces, rtol=1e-6, atol=1e-6)


def test_indeterminate_forces_are_reported(pendulum):
    """Balanced forces cause no motion; results list the redundant rows."""
    start = state(pendulum, forward_speed=0.5)
    left_open = pendulum.static_forces(start)
    across = np.array([left_open["left.across"], left_open["right.across"]])
    assert_allclose(np.abs(across), np.sqrt(0.5), rtol=1e-12)
    assert_allclose(across.sum(), 0.0, atol=1e-12)
    assert simulate(pendulum, start, 0.01).to_xarray().attrs["spare_rows"] == '["right.across"]'
    assert (
        "spare_rows"
        not in simulate(compile("chain"), state(compile("chain")), 0.01).to_xarray().attrs
    )


def test_linear_systems_of_machines_with_redundant_rows(pendulum):
    """Pitch about a rolling axle: `omega^2` of the planar pendulum on wheels in closed form."""
    balanced = state(pendulum, pitch=float(-np.arctan2(0.02, 0.8)))
    found = linearise(pendulum, balanced)
    h, mB, r, I = np.hypot(0.02, 0.8), 60.0, 0.25, 7.0  # noqa: E741
    # Inertia for the wheel angle: all masses move forward, and the wheels spin
    a = (mB + 6.0) * r * r + 0.2
    b, c = mB * h * r, I + mB * h * h
    # Mass matrix for wheel angle relative to the body, and pitch
    M = np.array([[a, a + b], [a + b, a + 2 * b + c]])
    growth = np.sqrt(np.linalg.inv(M)[1, 1] * mB * 9.81 * h)
    assert_allclose(np.max(found.eigenvalues().real), growth, rtol=1e-10)


def test_pivots_are_chosen_near_a_singular_zero_configuration():
    """Trucks of a snakeboard turned by 90 degrees: rank one in this configuration, two near it."""

    def across(*, l: float = 0.25) -> Model:  # noqa: E741
        return Model(
            bodies=[
                Body("board", 4.0, inertia=inertia(0.05, 0.05, 0.1)),
                *(Body(n, 0.5, (x, 0.0, 0.0), inertia(0.01, 0.01, 0.02)) for n, x in ends(l)),
            ],
            joints=[Revolute(n, "board", n, UP, (x, 0.0, 0.0)) for n, x in ends(l)],
            contacts=[Blade(n, n, (x, 0.0, 0.0), (0.0, 1.0, 0.0)) for n, x in ends(l)],
            gravity=np.zeros(3),
            base="SE(2)",
        )

    def ends(l):  # noqa: E741
        return (("rear", -l), ("front", l))

    system = compile(across)
    assert set(system.survey().singular) == {"rear.across", "front.across"}
    start = state(system, rear=0.3, front=-0.3, Wz=1.0)
    by_rows, _ = system.accelerate(start)
    closed, _ = system.accelerate(start, formulation="projected")
    assert_allclose(closed, by_rows, atol=1e-11)
    assert simulate(system, start, 0.2).outcome == "completed"


def test_dependent_rows_are_distinguished_from_independent_ones():
    """Rounding gives every row a small weight in the vanishing combination; the fourth row has no
    other weight.
    """
    rng = np.random.default_rng(1)
    C = rng.normal(size=(4, 6))
    C[2] = 2.0 * C[0] - 3.0 * C[1]
    assert _find_dependent_rows(C) == (0, 1, 2)
    assert _find_dependent_rows(C, np.array([0.0, 1.0, 0.0, 5.0])) == (0, 1, 2)
    assert _find_dependent_rows(rng.normal(size=(4, 6))) == ()
