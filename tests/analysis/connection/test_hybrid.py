"""Inverse dynamics of runs with events, and static forces within signs and friction limits."""

import numpy as np
import pytest
from scipy.optimize import minimize

import draisine
from draisine.analysis.connection.hybrid import choose_static_forces, solve_hybrid_torques
from draisine.analysis.connection.inverse import RequiredTorques
from draisine.errors import ConfigurationError, ParameterError
from draisine.terrain import plane

INPUTS = {"steer": 0.3, "rear_wheel": 5.0}  # N m
DIRECTIONS = ["normal", "along", "across"]


@pytest.fixture(scope="module")
def landing():
    """A driven bicycle that falls 2 cm onto level ground: flight, two impacts, rolling."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=3.0, lean_rate=0.2)
    start = draisine.State(start.q, start.p + [0.0, 0.0, 0.02], start.r, start.v)
    contact = draisine.ContactOptions(mu=0.8)
    return draisine.simulate(bicycle, start, 0.3, inputs=INPUTS, terrain=plane(), contact=contact)


def _table(forces):
    """Return forces by contact row as an array (wheel, direction)."""
    out = np.zeros((2, 3))
    for row, value in forces.items():
        contact, direction = row.split(".")
        out[["rear", "front"].index(contact.split(":")[0]), DIRECTIONS.index(direction)] = value
    return out


def test_the_torques_of_a_landing_are_the_inputs(landing):
    """The run itself applied the torques and computed the forces: flight, landing and rolling agree."""
    data = landing.to_xarray()
    samples = [x for x in solve_hybrid_torques(landing, list(INPUTS)) if not x.impulsive]
    assert [x.time for x in samples] == data.time.values.tolist()
    for x, forces in zip(samples, data.contact_force.values, strict=True):
        assert x.required.torques == pytest.approx(INPUTS, abs=1e-10)
        assert _table(x.required.forces) == pytest.approx(forces, abs=1e-9)


def test_the_impulses_of_a_landing_are_those_of_its_events(landing):
    """M (v+ - v-) = C' Lam with no impulsive torque at any joint."""
    impacts = [x for x in solve_hybrid_torques(landing, list(INPUTS)) if x.impulsive]
    events = [event for event in landing.events if event.impulses]
    assert [x.time for x in impacts] == [event.t for event in events] and len(impacts) == 2
    for x, event in zip(impacts, events, strict=True):
        assert max(map(abs, x.required.torques.values())) < 1e-12
        expected = {
            f"{':'.join(key)}.{direction}": value
            for key, impulse in event.impulses.items()
            for direction, value in zip(DIRECTIONS, impulse, strict=True)
        }
        assert x.required.forces == pytest.approx(expected, abs=1e-10)


def test_all_joints_driven_leave_one_static_combination(landing):
    """One wheel may drive while the other brakes: the least forces share the force along the chord."""
    last = list(solve_hybrid_torques(landing))[-1].required
    assert last.dimensions == 1
    known = list(solve_hybrid_torques(landing, list(INPUTS)))[-1].required
    shift = np.array(list(last.forces.values())) - np.array(list(known.forces.values()))
    static = np.array([last.static_forces[row][0] for row in last.forces])
    assert abs(shift @ static) == pytest.approx(np.linalg.norm(shift), rel=1e-9)
    assert np.array(list(last.forces.values())) @ static == pytest.approx(0.0, abs=1e-9)


def _random_problem(seed):
    """Return forces of three contacts with four static combinations and two joints."""
    rng = np.random.default_rng(seed)
    rows = [f"{c}.{d}" for c in "abc" for d in DIRECTIONS]
    N = np.linalg.qr(rng.normal(size=(9, 4)))[0]
    lam = rng.normal(size=9) + np.tile([2.0, 0.0, 0.0], 3)
    lam -= N @ (N.T @ lam)
    T = rng.normal(size=(2, 4))
    tau = rng.normal(size=2)
    required = RequiredTorques(
        dict(zip("xy", tau, strict=True)),
        dict(zip(rows, lam, strict=True)),
        dict(zip("xy", T, strict=True)),
        dict(zip(rows, N, strict=True)),
    )
    return required, lam, N, tau, T


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("minimise", ["forces", "torques"])
def test_the_chosen_forces_are_the_optimum_of_an_independent_solver(seed, minimise):
    required, lam, N, tau, T = _random_problem(seed)
    facets = 2 * np.pi * np.arange(32) / 32

    def margins(z):
        f = (lam + N @ z).reshape(3, 3)
        slip = np.cos(facets)[:, None] * f[:, 1] + np.sin(facets)[:, None] * f[:, 2]
        return np.concatenate([f[:, 0], (0.5 * np.cos(np.pi / 32) * f[:, 0] - slip).ravel()])

    def cost(z):
        if minimise == "forces":
            return np.sum((lam + N @ z) ** 2)
        return np.sum((tau + T @ z) ** 2) + 1e-6 * np.sum((lam + N @ z) ** 2)

    constraint = {"type": "ineq", "fun": margins}
    found = minimize(
        cost, np.zeros(4), constraints=constraint, options={"maxiter": 500, "ftol": 1e-10}
    )
    try:
        chosen = choose_static_forces(required, mu=0.5, minimise=minimise)
    except ConfigurationError:
        assert margins(found.x).min() < -1e-6  # the other solver finds no feasible point either
        return
    z = N.T @ (np.array(list(chosen.forces.values())) - lam)
    assert margins(z).min() > -1e-9
    assert margins(found.x).min() > -1e-6
    assert cost(z) == pytest.approx(cost(found.x), rel=1e-5)


def test_a_table_with_friction_pushes_on_all_legs():
    """Load on a leg: the closed form of four legs has one static combination (+, -, +, -)."""
    forces = {"a.normal": 5.0, "b.normal": 2.0, "c.normal": -1.0, "d.normal": 2.0}
    warp = dict(zip(forces, np.array([[0.5], [-0.5], [0.5], [-0.5]]), strict=True))
    found = choose_static_forces(RequiredTorques({}, forces, {}, warp))
    assert list(found.forces.values()) == pytest.approx([6.0, 1.0, 0.0, 1.0], abs=1e-9)
    outside = forces | {"a.normal": 8.0, "c.normal": -4.0}
    with pytest.raises(ConfigurationError, match=r"contact rows c\.normal\..*open one of them"):
        choose_static_forces(RequiredTorques({}, outside, {}, warp))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signs": {"z.normal": 1}}, "signs: no contact row 'z.normal'"),
        ({"signs": {"a.normal": 2}}, "must be 1 or -1"),
        ({"mu": {"z": 0.5}}, "mu: no contact 'z'"),
        ({"minimise": "work"}, "must be 'forces' or 'torques'"),
    ],
)
def test_wrong_options_of_static_forces_are_named(options, message):
    with pytest.raises(ParameterError, match=message):
        choose_static_forces(_random_problem(0)[0], **options)


def test_wrong_runs_and_joints_are_named(landing):
    bicycle = draisine.compile("whipple")
    level = draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=5.0), 0.05)
    with pytest.raises(ParameterError, match="needs an event-driven run on a terrain"):
        next(solve_hybrid_torques(level))
    with pytest.raises(ParameterError, match="driven: no joint 'saddle'"):
        next(solve_hybrid_torques(landing, ["saddle"]))
    with pytest.raises(ConfigurationError, match="Name more driven joints"):
        list(solve_hybrid_torques(landing, ["steer"]))
