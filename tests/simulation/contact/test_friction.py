"""Coulomb friction in continuous contact and in impacts: closed forms and laws."""

import math
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

import draisine
from draisine.errors import ContactSetError, ParameterError
from draisine.model import Body, Disc, Model, Wheel, inertia
from draisine.simulation.contact.complementarity.active_set import Candidate, ImpactProblem
from draisine.simulation.contact.driver import ArcDriver
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.impacts import moreau, plastic
from draisine.terrain import Terrain, face, move_ground, plane
from draisine.terrain.motions import Shake
from simulation.contact.conftest import bicycle

H, G = 0.5, 9.81


@cache
def disc():
    return draisine.compile("rolling_disc")


def thrown(speed, spin=0.0, height=0.0, down=0.0):
    """Return an upright disc whose centre moves forward at a speed."""
    v = np.array([speed - H * spin, 0.0, -down, 0.0, spin, 0.0])
    return draisine.State(
        np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, height]), np.zeros(0), v
    )


@pytest.mark.parametrize("mu", [0.1, 0.4])
def test_sliding_disc_begins_to_roll(mu):
    """It slides for v / (3 mu g) and keeps two thirds of its speed."""
    made = draisine.simulate(
        disc(),
        thrown(3.0),
        3.0 / (3 * mu * G) + 0.2,
        terrain=plane(),
        contact=draisine.ContactOptions(mu=mu, impact="moreau"),
    )
    (event,) = made.events
    assert event.kind == "stick"
    assert event.t == pytest.approx(3.0 / (3 * mu * G), abs=2e-6)
    assert event.after.v[4] * H == pytest.approx(2.0, abs=2e-6)
    assert event.mode_before == ((("ground", "ground"), "sliding"),)
    assert event.mode_after == ((("ground", "ground"), "rolling"),)


@pytest.mark.parametrize(("mu", "rolls"), [(0.3, True), (0.1, False)])
def test_disc_on_a_slope(mu, rolls):
    """It rolls while mu > tan(slope) / 3, and slides otherwise."""
    slope = math.radians(30)
    start = draisine.state(disc())
    q = np.array([math.cos(-slope / 2), 0.0, math.sin(-slope / 2), 0.0])
    # the disc is round: turned with the slope it touches at its drawing's origin
    state = draisine.State(q, start.p, start.r, start.v)
    made = draisine.simulate(
        disc(),
        state,
        0.5,
        terrain=plane(slope),
        contact=draisine.ContactOptions(mu=mu, impact="moreau"),
    )
    spin = made.final().v[4]
    if rolls:
        assert mu > math.tan(slope) / 3
        assert spin == pytest.approx(-0.5 * 2 / 3 * G * math.sin(slope) / H, abs=1e-9)
    else:
        assert spin == pytest.approx(-0.5 * 2 * mu * G * math.cos(slope) / H, abs=3e-5)


def test_friction_lets_a_disc_fall_where_ideal_rolling_would_need_a_pull():
    """Hinged at its contact the disc would be pulled down: 1 < (1 + 2 c0 c - 3 c^2) / 1.25."""
    state = draisine.state(disc(), lean=0.5)
    with pytest.raises(ContactSetError, match="pulled") as caught:
        draisine.simulate(
            disc(), state, 5.0, terrain=plane(), contact=draisine.ContactOptions(solver="events")
        )
    assert caught.value.state is not None
    made = draisine.simulate(
        disc(),
        state,
        5.0,
        terrain=plane(),
        contact=draisine.ContactOptions(mu=0.8, impact="moreau"),
    )
    assert made.outcome.startswith("fell")
    assert [event.kind for event in made.events][:1] == ["slip"]
    for arc in made.arcs:
        N, along, across = arc.observations["forces"][:3]
        assert N.min() > -1e-6
        assert (np.hypot(along, across) - 0.8 * N).max() < 1e-6


def test_forces_stay_in_the_cone_when_a_bicycle_brakes_hard():
    bicycle = draisine.compile("whipple")
    state = draisine.state(bicycle, forward_speed=5.0)
    made = draisine.simulate(
        bicycle,
        state,
        0.5,
        terrain=plane(),
        inputs={"rear_wheel": -150.0},
        contact=draisine.ContactOptions(mu=0.5, impact="moreau"),
    )
    rows = made.arcs[0].observations["forces"].reshape(2, 3, -1)
    assert dict(made.arcs[0].mode)["rear", "ground"] == "sliding"
    assert dict(made.arcs[0].mode)["front", "ground"] == "rolling"
    assert_allclose(np.hypot(rows[0, 1], rows[0, 2]), 0.5 * rows[0, 0], rtol=1e-9)


def _random_hit(rng, wheels, mu):
    n = 6 + 2 * wheels
    root = rng.normal(size=(n, n))
    M = root @ root.T + np.eye(n)
    contacts = [
        Candidate((f"w{k}", "ground"), rng.normal(size=(3, n)), np.zeros(3), np.zeros(3), mu)
        for k in range(wheels)
    ]
    return M, contacts, rng.normal(size=n)


@pytest.mark.parametrize("wheels", [1, 2, 3])
def test_moreau_never_creates_energy_without_restitution(wheels):
    rng = np.random.default_rng(wheels)
    for _ in range(40):
        M, contacts, v = _random_hit(rng, wheels, rng.uniform(0, 1.5))
        try:
            after = moreau.impact(ImpactProblem(M, np.zeros((0, len(M))), contacts, v)).chosen
        except ContactSetError:
            continue
        assert after.result @ M @ after.result <= v @ M @ v * (1 + 1e-10)
        for k in contacts:
            u = k.C @ after.result
            push = after.pushes.get(k.key, np.zeros(3))
            size = np.hypot(push[1], push[2])
            assert u[0] >= -1e-8
            assert push[0] * abs(u[0]) < 1e-7
            assert size <= k.mu * push[0] + 1e-9
            if size < k.mu * push[0] - 1e-6:
                assert_allclose(u[1:], 0.0, atol=1e-7)


def test_moreau_without_limit_of_friction_is_the_plastic_law():
    rng = np.random.default_rng(5)
    same = 0
    for _ in range(40):
        M, contacts, v = _random_hit(rng, 2, np.inf)
        try:
            a = moreau.impact(ImpactProblem(M, np.zeros((0, len(M))), contacts, v)).chosen
            b = plastic.impact(ImpactProblem(M, np.zeros((0, len(M))), contacts, v)).chosen
        except ContactSetError:
            continue
        if set(a.closed) == set(b.closed):
            assert_allclose(a.result, b.result, atol=1e-9)
            same += 1
    assert same > 10


@pytest.mark.parametrize("model", ["plastic", "newton"])
@pytest.mark.parametrize("mu", [0.5, {"ground": 0.5}])
def test_finite_friction_needs_the_law_that_knows_it(model, mu):
    with pytest.raises(ParameterError, match=r"does not include finite friction.*impact='moreau'"):
        draisine.ContactOptions(mu=mu, impact=model)
    assert draisine.ContactOptions(mu=0.0, impact=model).impact_name == model


def test_friction_may_differ_from_feature_to_feature():
    """A disc that slides without turning: mu g brakes it on the road, nothing on the ice behind."""
    road = face("road", (0, 0, 1), 0.0, [((1, 0, 0), 0.3)])
    ice = face("ice", (0, 0, 1), 0.0, [((-1, 0, 0), -0.3)])
    slid = draisine.State(
        np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(3), np.zeros(0), np.array([3.0, 0, 0, 0, 0, 0])
    )
    mu = {"ground": 0.4, "ground/ice": 0.0}
    made = draisine.simulate(
        draisine.compile("rolling_disc"),
        slid,
        0.4,
        terrain=Terrain([road, ice]),
        contact=draisine.ContactOptions(mu=mu),
    )
    data = made.to_xarray()
    rate = data.energy.values - 9.81 * 0.5
    speed = math.sqrt(3.0**2 - 2 * 0.4 * 9.81 * 0.3)
    reached = (3.0 - speed) / (0.4 * 9.81)
    assert made.events[0].kind == "hand-over"
    assert made.events[0].t == pytest.approx(reached, abs=1e-10)
    spin = 0.4 * 9.81 * 0.5 * reached / (0.5 * 0.5**2)
    after = data.time.values > reached + 1e-6
    kinetic = 0.5 * speed**2 + 0.5 * (0.5 * 0.5**2) * spin**2
    assert_allclose(rate[after], kinetic, rtol=1e-9)


def test_friction_of_pairs_that_do_not_exist_is_an_error():
    disc = draisine.compile("rolling_disc")
    state = draisine.state(disc, forward_speed=1.0)
    for mu, wrong in (({"ground/mud": 0.1}, "no feature"), ({"rear/plane": 0.1}, "no wheel")):
        with pytest.raises(ParameterError, match=wrong):
            draisine.simulate(
                disc, state, 0.1, terrain=plane(), contact=draisine.ContactOptions(mu=mu)
            )


RADIUS = 0.01


def rod(*, m: float = 1.0) -> Model:
    """A slender rod of length 2 on a small tip."""
    middle = (0.0, 0.0, 1.0 + RADIUS)
    tip = Wheel("tip", "rod", (0.0, 0.0, RADIUS), (0.0, 1.0, 0.0), Disc(RADIUS))
    return Model([Body("rod", m, middle, inertia(m / 3, m / 3, 1e-3))], contacts=[tip])


@pytest.mark.parametrize("angle", [0.3, 0.6])
def test_a_sliding_rod_locks_where_painleve_says(angle):
    """It leans back while its tip slides ahead: with its middle x behind and z above the contact, a
    normal force accelerates the tip by (1 + 3 x^2 - 3 mu x z) / m, which nothing can satisfy if it
    is negative (Painleve 1895).
    """
    system = draisine.compile(rod)
    start = draisine.state(system, pitch=-angle)
    x, z = np.sin(angle), np.cos(angle) + RADIUS
    v = np.zeros(6)
    v[:3] = np.array([np.cos(angle), 0.0, -np.sin(angle)]) * 10.0  # along the ground, no turning
    start = draisine.State(start.q, start.p, start.r, v)
    critical = (1 + 3 * x * x) / (3 * x * z)

    def slide(mu):
        contact = draisine.ContactOptions(mu=mu, impact="moreau", fall=np.inf, solver="events")
        return draisine.simulate(system, start, 1e-4, terrain=plane(), contact=contact)

    push = slide(0.9 * critical).arcs[0].observations["forces"][0, 0]
    assert push == pytest.approx(9.81 / (0.1 * (1 + 3 * x * x)), rel=1e-6)
    with pytest.raises(ContactSetError, match=r"locks \(Painlevé paradox\)"):
        slide(1.001 * critical)


def test_a_slip_that_begins_is_followed_by_few_steps_as_by_many(monkeypatch):
    """A floor that shakes across takes the wheels along until friction reaches its limit: slip grows from
    nothing, and friction turns it at rates of some 1e6 per second. SciPy's Radau follows the same
    equations, by steps of its own.
    """
    run_loop, steps = ArcDriver.run, []

    def count(driver, *limits):
        status = run_loop(driver, *limits)
        # A call that returns for a task of Python continues to count.
        if not driver.loop.progress.waits:
            steps.append(driver.arc.clock.steps)
        return status

    monkeypatch.setattr(ArcDriver, "run", count)
    floor = move_ground(plane(), Shake((0.004, 0.02, 0.0), 25.0))
    state = draisine.state(bicycle(), forward_speed=4.0)
    along = np.array([0.1, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    state = draisine.State(state.q, state.p, state.r, state.v + along)
    contact = draisine.ContactOptions(mu=0.1, impact="moreau")
    run = draisine.simulate(bicycle(), state, 0.2, terrain=floor, contact=contact)
    assert sum(steps) < 150
    slips = [k for k, event in enumerate(run.events) if event.kind == "slip"]
    arc = run.arcs[1 + slips[0]]
    look = ContactQuery(arc.machine, floor, arc.inputs)

    def rates(t, y):
        vdot, *_ = look.accelerate(t, y, arc.closed)
        return np.concatenate([look.dynamics(t, y)["flow"], vdot])

    span, fine = (arc.t[0], arc.t[1]), {"rtol": 1e-11, "atol": 1e-13}
    found = solve_ivp(rates, span, arc.y[0], method="Radau", **fine)
    assert_allclose(found.y[:, -1], arc.y[1], atol=1e-9)
