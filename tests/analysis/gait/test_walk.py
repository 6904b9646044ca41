"""Walkers: return maps of steps, with exact derivatives through flow and impact.

Reference numbers are those of an independent computation of the published models (Garcia et al.
1998, Goswami et al. 1998, McGeer 1990); the scenarios `walkers/*` contain all of them.
"""

from dataclasses import replace

import numpy as np
import pytest

import draisine
from draisine.analysis.gait.basin import basin
from draisine.analysis.gait.footstep import Footstep
from draisine.analysis.gait.walk import walk
from draisine.analysis.return_map import CycleFamily, fixed_point, follow_family, iterate
from draisine.errors import ConfigurationError, ModelError, ParameterError, SimulationError
from draisine.model import Body, Model, Revolute, Steps
from draisine.terrain.mesh import Mesh

COMPASS = np.array([-0.2710286804988208, 0.2710286804988208, 1.0923835898836016, 0.37737394890719])

SLOPE = np.radians(3.0)
STRIKES = 0.7343463911587196 * np.array([1.0, 2.0])


@pytest.fixture(scope="module")
def compass():
    return walk(draisine.compile("compass_walker"), 2.0)


@pytest.fixture(scope="module")
def simplest():
    return walk(draisine.compile("simplest_walker"), 6.0)


def test_the_derivative_of_a_step_is_that_of_differences(compass):
    x = COMPASS + [0.01, 0.0, -0.02, 0.03]
    h = 1e-5
    _, J = compass(x)
    steps = h * np.eye(4)
    D = [(compass(x + d)[0] - compass(x - d)[0]) / (2 * h) for d in steps]
    assert np.abs(np.array(D).T - J).max() < 1e-7 * np.abs(J).max()


def test_both_feet_touch_the_ground_after_a_step(compass):
    """Just after an impact both feet are on the ground, so the leg angles are opposite, and the
    derivative is tangent to that section.
    """
    image, J = compass(COMPASS + [0.0, 0.02, 0.05, 0.0])
    assert abs(image[0] + image[1]) < 1e-12
    assert np.abs(J[0] + J[1]).max() < 1e-10


def test_touch_down_conserves_the_angular_momentum_about_the_new_foot(compass):
    """The ground force acts at the new foot only, so the angular momentum about this foot is
    conserved, and so is that of the old leg about the hip.
    """
    impact = compass.take_step(COMPASS)[2]
    _, _, left, right = impact.r
    hip = np.array([np.sin(right), np.cos(right)])
    up = {"left": np.array([np.sin(left), np.cos(left)]), "right": hip}
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])

    def momenta(v):
        ahead, height, *rates = v
        H = np.array([ahead, height])
        legs = {
            k: H - 0.5 * w * turn @ up[k] for k, w in zip(("left", "right"), rates, strict=True)
        }
        cross = lambda a, b: a[1] * b[0] - a[0] * b[1]  # noqa: E731
        at = {k: hip - 0.5 * up[k] for k in legs}
        total = 10 * cross(hip, H) + sum(5 * cross(at[k], legs[k]) for k in legs)
        return total, 5 * cross(-0.5 * up["left"], legs["left"])

    assert np.allclose(momenta(impact.before), momenta(impact.after), rtol=1e-11)


def test_impact_dissipates_the_energy_of_the_slope(compass):
    """On a limit cycle, the impact dissipates the work of gravity over one step."""
    step = Footstep(compass, compass.cycle(COMPASS))
    weight = 20.0 * 9.81
    slope = np.radians(3.0)
    assert step.lost == pytest.approx(weight * step.length * np.sin(slope), rel=1e-11)
    event = step.run(50).events[0]
    assert event.kind == "collision" and event.gain == pytest.approx(-step.lost)
    assert event.t == pytest.approx(0.7343463911587196, rel=1e-12)


def test_a_simulated_step_ends_at_the_image_of_the_return_map(compass):
    """The simulated motion of a step ends at the image of the return map."""
    step = Footstep(compass, compass.cycle(COMPASS))
    data = step.run(50).to_xarray()
    assert np.allclose(data["shape"].values[-1], step.impact.r, atol=1e-10)
    assert float(data["gap"].sel(contact="right")[-1]) == pytest.approx(0.0, abs=1e-10)


@pytest.mark.parametrize(
    ("vehicle", "values", "near", "doubling", "half_digit"),
    [
        (
            "compass_walker",
            np.radians([4.2, 4.5]),
            [-0.302, 0.302, 1.145, 0.192],
            np.radians(4.390898),
            np.radians(6e-7),
        ),
        (
            "simplest_walker",
            [0.0149, 0.0152],
            [-0.2365, 0.2365, 0.2314, 0.2058],
            0.01508843794,
            6e-12,
        ),
    ],
)
def test_periods_double_at_the_published_slopes(vehicle, values, near, doubling, half_digit):
    own = walk(draisine.compile(vehicle), 6.0 if vehicle == "simplest_walker" else 2.0)

    def make(slope):
        return own.at(slope=float(slope))

    cycles = tuple(follow_family(make, values, make(values[0]).cycle(near)))
    [(value, cycle)] = CycleFamily(make, tuple(values), cycles).doublings()
    assert value == pytest.approx(doubling, abs=half_digit)
    assert cycle.multipliers[0] == pytest.approx(-1.0, abs=1e-9)


def test_behind_the_doubling_a_cycle_of_two_steps_is_stable(compass):
    steep = compass.at(slope=np.radians(4.6))
    once = steep.cycle([-0.31, 0.31, 1.16, 0.13])
    twice = fixed_point(iterate(steep, 2), [-0.3256, 0.3256, 1.1734, 0.0916])
    assert not once.stable and twice.stable
    assert np.abs(twice.x - steep(twice.x)[0]).max() > 0.02
    assert np.abs(twice.x - iterate(steep, 2)(twice.x)[0]).max() < 1e-9


def test_the_multiplier_of_a_rimless_wheel_has_a_closed_form():
    for spokes, near in ((6, 1.3), (9, 2.0)):
        own = walk(draisine.compile("rimless_wheel", spokes=spokes, slope=0.2), 3.0)
        alpha = np.pi / spokes
        cycle = own.cycle([-alpha, near])
        assert cycle.multipliers[0] == pytest.approx(np.cos(2 * alpha) ** 2, rel=1e-10)
        gained = 4 * 9.81 * np.sin(alpha) * np.sin(0.2)
        kept = np.cos(2 * alpha) ** 2
        assert cycle.x[1] ** 2 == pytest.approx(kept * gained / (1 - kept), rel=1e-11)


def test_falling_walker_is_an_error(simplest):
    with pytest.raises(ConfigurationError, match=r"'right' does not touch down within 6 s"):
        simplest([-0.2, 0.2, 0.01, 0.0])


def test_machines_without_steps_have_no_walk():
    with pytest.raises(ParameterError, match="has no `steps`"):
        walk(draisine.compile("acrobot"))


@pytest.mark.parametrize(
    ("steps", "named"),
    [(Steps(("toe", "heel")), "'toe'"), (Steps(("a", "b"), exchange={"a": "b"}), "'a'")],
)
def test_steps_name_feet_and_joints_that_are_there(steps, named):
    leg = Body("leg", 1.0, (0.0, 0.0, 1.0))
    hinge = Revolute("hinge", "rack", "leg", (0.0, 1.0, 0.0))
    with pytest.raises(ModelError, match=f"steps: no {named}"):
        Model(bodies=[Body("rack"), leg], joints=[hinge], base="fixed", steps=steps)


def test_it_walks_on_a_terrain_by_itself(compass):
    """The contact engine locates the impacts of the map; disarmed feet do not touch."""
    start = compass.public_state(compass.cycle(COMPASS).x)
    run = draisine.simulate(compass.system, start, 2.3, terrain=draisine.terrain.plane())
    found = [(event.kind, event.contacts[0][0], event.t) for event in run.events]
    assert [(kind, foot) for kind, foot, _ in found] == [
        ("collision", "right"),
        ("collision", "left"),
        ("collision", "right"),
    ]
    times = 0.7343463911587196 * np.arange(1, 4)
    assert np.allclose([t for *_, t in found], times, atol=1e-9)


def test_without_the_condition_the_foot_scuffs(compass):
    """Without the arming condition the swinging foot touches the ground halfway."""

    def scuffing(*, slope: float = 0.05) -> Model:
        model = compass.system.vehicle(slope=slope)
        return replace(model, contacts=[replace(foot, armed=None) for foot in model.contacts])

    bare = draisine.compile(scuffing, slope=np.radians(3.0))
    start = compass.public_state(COMPASS)
    strict = draisine.ContactOptions(solver="events")
    with pytest.raises(SimulationError, match=r"right:ground") as error:
        draisine.simulate(bare, start, 0.7, terrain=draisine.terrain.plane(), contact=strict)
    end = error.value.partial.final()
    left, right = end.r[2:]
    # Behind the other foot, halfway through the step
    assert left == pytest.approx(-right, abs=1e-6) and left < 0


def test_many_starts_side_by_side_step_like_one(compass):
    rng = np.random.default_rng(3)
    starts = COMPASS + 0.02 * rng.normal(size=(6, 4))
    once = basin(compass, starts, 1)
    assert np.all(once.steps == 1)
    assert np.abs(once.x - [compass(x)[0] for x in starts]).max() < 1e-6


def test_who_starts_near_the_cycle_walks_on_and_who_starts_too_slowly_falls(compass):
    starts = np.array([COMPASS, COMPASS * [1.0, 1.0, 1.03, 0.9], COMPASS * [1.0, 1.0, 0.3, 1.0]])
    found = basin(compass, starts, 12)
    assert found.steps.tolist() == [12, 12, 0]
    assert np.abs(found.x[1] - COMPASS).max() < 2e-3


def strikes_on(ground):
    """Return the touch-down times (s) of the compass walker on a ground with vertical gravity.

    The left foot starts at the origin.
    """
    level = draisine.compile("compass_walker", slope=0.0)
    q1, q2 = COMPASS[:2] + SLOPE
    names = {"left": q1, "right": q2, "left_rate": COMPASS[2], "right_rate": COMPASS[3]}
    start = draisine.state(level, ahead=np.sin(q1), **names)
    run = draisine.simulate(level, start, 1.6, terrain=ground)
    return [event.t for event in run.events if event.kind == "collision"]


def test_a_slope_of_the_terrain_is_a_slope_of_gravity():
    """The same walk with vertical gravity on a descending ground, with angles measured from the
    vertical.
    """
    assert np.allclose(strikes_on(draisine.terrain.plane(-SLOPE)), STRIKES, atol=1e-9)


def test_stairs_with_treads_at_the_footholds_are_equivalent_to_a_slope():
    length = 2.0 * np.sin(COMPASS[1])  # step length of a walker with legs of 1 m
    run = length * np.cos(SLOPE)
    fall = length * np.sin(SLOPE)
    treads = range(-2, 4)
    profile = [(run * (k + end), -fall * k) for k in treads for end in (-0.5, 0.5)]
    points = [[x, y, z] for x, z in profile for y in (-2.0, 2.0)]
    fans = [[k, k + 2, k + 3, k + 1] for k in range(0, 2 * len(profile) - 2, 2)]
    stairs = Mesh(points, [t for a, b, c, d in fans for t in ([a, b, c], [a, c, d])])
    assert np.allclose(strikes_on(stairs), STRIKES, atol=1e-9)


def test_it_walks_down_a_step_and_finds_its_gait_again(compass):
    start = compass.public_state(compass.cycle(COMPASS).x)
    ground = draisine.terrain.kerb(at=1.0, rise=-0.01)
    run = draisine.simulate(compass.system, start, 8.0, terrain=ground)
    feet = [event.contacts[0] for event in run.events]
    assert feet[0] == ("right", "before") and feet[1] == ("left", "after")
    times = np.diff([event.t for event in run.events])
    assert abs(times[0] - 0.7343) > 0.005 and times[-1] == pytest.approx(0.7343463911587, abs=1e-3)
