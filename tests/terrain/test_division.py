"""Division of patches: all minima of the distance are found, the ground stays the same."""

import math
import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import draisine
from draisine.algebra.lie import rot_x, rot_z, rotation
from draisine.algebra.patch import evaluate_patch
from draisine.model.surface import Ball, Disc, Ellipsoid, Torus
from draisine.simulation.options import ContactOptions
from draisine.terrain import Joined, SmoothGround, SmoothWarning, move_ground, plane, rough_road
from draisine.terrain.division import DividedGround, divide_ground
from draisine.terrain.motions import Slide

BALL = 0.3  # m, radius


def valley(bend, angle=0.0, cubic=0.0):
    """Return a valley of curvature `bend` (1/m) at an angle (rad) to the x axis, in three by three cells."""
    x = np.linspace(-1.0, 1.0, 4)
    across = x[:, None] * math.cos(angle) + x * math.sin(angle)
    return SmoothGround(x, x, 0.5 * bend * across**2 + cubic * across**3, quiet=True)


def contacts(surface, centre, ground):
    """Return gap and foot point of all contacts of a surface with the patches of a ground, by the gap."""
    found = []
    for k in ground.near(centre, float(surface.reach) + 0.06):
        feature = ground[k]
        met = surface.contact_with(
            "patch", centre, np.concatenate([feature.numbers, np.zeros(2), feature.cell])
        )
        if feature.excess(met.point, met.normal) <= 1e-9 and met.fold[0] > 0.0:
            found.append((float(met.gap), met.point - met.gap * met.normal))
    return sorted(found, key=lambda contact: contact[0])


def distance(surface, centre, points):
    """Return the distances (m) of points (3, ...) from a ball or torus by their definition."""
    arm = np.moveaxis(np.moveaxis(points, 0, -1) - centre, -1, 0)
    aside = np.tensordot(surface.axle, arm, 1)
    radial = np.sqrt(np.maximum((arm**2).sum(axis=0) - aside**2, 0.0)) - surface.ring
    return np.hypot(aside, radial) - surface.thickness


def minima(surface, centre, ground, count=301):
    """Return the distance and place (x, y) of all local minima: those of a fine grid, refined by SciPy."""
    side = np.linspace(-1.02, 1.02, count) * float(surface.reach)
    x, y = np.meshgrid(centre[0] + side, centre[1] + side, indexing="ij")
    d = distance(surface, centre, np.array([x, y, ground.height(x, y)]))
    inner = d[1:-1, 1:-1]
    is_least = np.ones(inner.shape, bool)
    for i in range(3):
        for j in range(3):
            is_least &= inner <= d[i : count - 2 + i, j : count - 2 + j]

    def at(place):
        return float(distance(surface, centre, np.array([*place, float(ground.height(*place))])))

    found = []
    for i, j in np.argwhere(is_least) + 1:
        begin = np.array([x[i, j], y[i, j]])
        simplex = begin + 1e-3 * np.array([[0, 0], [1, 0], [0, 1]])
        options = {"xatol": 1e-10, "fatol": 1e-15, "initial_simplex": simplex}
        made = minimize(at, begin, method="Nelder-Mead", options=options)
        if not any(np.hypot(*(made.x - place)) < 1e-4 for _, place in found):
            found.append((made.fun, made.x))
    return sorted(found, key=lambda minimum: minimum[0])


@pytest.mark.parametrize("angle", [0.0, 0.3, math.pi / 4.0])
@pytest.mark.parametrize("ratio", [1.02, 1.5, 3.0])
def test_a_ball_touches_both_sides_of_a_parabola(angle, ratio):
    """A ball of radius R in z = a s^2 / 2 touches at s^2 = R^2 - 1/a^2, within one cell of the grid."""
    bend = ratio / BALL
    side = math.sqrt(BALL**2 - bend**-2)
    centre = np.array([0.0, 0.0, 1.0 / bend + 0.5 * bend * side**2])
    ground = valley(bend, angle)
    found = contacts(Ball(BALL), centre, divide_ground(ground, BALL))
    assert_allclose([gap for gap, _ in found], [0.0, 0.0], atol=1e-12)
    across = sorted(foot[0] * math.cos(angle) + foot[1] * math.sin(angle) for _, foot in found)
    assert_allclose(across, [-side, side], atol=1e-9)
    # Without the division the cell has one contact or none.
    assert len(contacts(Ball(BALL), centre, ground)) < 2


@pytest.mark.parametrize("angle", [0.0, 0.5])
@pytest.mark.parametrize("surface", [Ball(BALL), Torus(BALL, 0.05)], ids=["ball", "torus"])
def test_contacts_are_the_minima_of_the_distance(surface, angle):
    """In an uneven valley, all local minima within 5 cm are contacts of a ball and of a leaning wheel."""
    ground = valley(1.7 / BALL, angle, cubic=0.4)
    turned = surface.turned(rot_z(angle + 0.2) @ rot_x(0.3))
    divided = divide_ground(ground, float(surface.flattest))
    centre = np.array([0.01, 0.02, 0.31])
    expected = [minimum for minimum in minima(turned, centre, ground) if minimum[0] < 0.05]
    assert len(expected) == 2
    found = contacts(turned, centre, divided)
    for depth, place in expected:
        nearest = min(found, key=lambda contact: np.hypot(*(contact[1][:2] - place)))
        assert_allclose(nearest[0], depth, atol=1e-8)
        assert_allclose(nearest[1][:2], place, atol=1e-4)


def test_hills_have_all_contacts_of_the_brute_force():
    """Random hills, much more curved than the ball: every minimum within 1 cm of the ball is a contact."""
    rng = np.random.default_rng(2)
    x = np.arange(0.0, 2.01, 0.5)
    several = 0
    for _ in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SmoothWarning)
            ground = SmoothGround(x, x, rng.uniform(0.0, 0.3, (5, 5)))
        surface = Ball(BALL)
        divided = divide_ground(ground, BALL)
        side = np.linspace(-BALL, BALL, 61)
        along, across = np.meshgrid(side, side, indexing="ij")
        below = np.sqrt(np.maximum(BALL**2 - along**2 - across**2, 0.0))

        def height(place, ground=ground, along=along, across=across, below=below):
            return float((ground.height(along + place[0], across + place[1]) + below).max())

        # The ball rests in the nearest dip, where it touches the ground several times.
        rest = minimize(height, rng.uniform(0.6, 1.4, 2), method="Nelder-Mead")
        centre = np.array([*rest.x, rest.fun])
        expected = [m for m in minima(surface, centre, ground, 201) if m[0] < 0.01]
        several += len(expected) > 1
        found = contacts(surface, centre, divided)
        for gap, place in expected:
            apart = [abs(g - gap) + np.hypot(*(foot[:2] - place)) for g, foot in found]
            assert min(apart) < 1e-4
    assert several >= 2


def test_parts_are_the_same_ground():
    """Parts cover each cell once, and have its heights to rounding errors."""
    ground = valley(6.0, 0.4, 0.5)
    divided = divide_ground(ground, BALL)
    assert isinstance(divided, DividedGround)
    boxes = [(feature.low[:2], feature.high[:2]) for feature in divided]
    bounded = [high - low for low, high in boxes if np.isfinite([*low, *high]).all()]
    assert_allclose(np.prod(bounded, axis=1).sum(), 4.0, rtol=1e-12)
    rng = np.random.default_rng(0)
    for k in range(0, len(divided), 7):
        feature = divided[k]
        low = np.maximum(feature.low[:2], -2.0)
        high = np.minimum(feature.high[:2], 2.0)
        x, y = rng.uniform(low, high)
        assert_allclose(evaluate_patch(feature.cell, x, y).h, ground.height(x, y), atol=1e-13)


def test_only_grounds_more_curved_than_the_wheel_are_divided():
    gentle = valley(0.9 / BALL)
    assert divide_ground(gentle, BALL) is gentle
    road = rough_road("C")
    assert divide_ground(road, 0.7) is road
    steep = valley(2.0 / BALL)
    moving = move_ground(steep, Slide((1.0, 0.0, 0.0)))
    divided = divide_ground(moving, BALL)
    assert len(divided) > len(moving)
    assert divided.motions == moving.motions
    both = divide_ground(Joined(plane(), steep), BALL)
    assert len(both) == 1 + len(divide_ground(steep, BALL))
    # A divided ground belongs to the same run again without another division.
    assert divide_ground(steep, BALL) is divide_ground(steep, BALL)


def test_the_radius_is_that_of_the_flattest_part():
    assert Ball(0.2).flattest == 0.2
    assert_allclose(Disc(0.2).flattest, 0.4)
    assert_allclose(Torus(0.3, 0.1).flattest, 0.5)
    # The ellipsoid is flattest at the end of its shortest axis: a^2 / c.
    assert_allclose(Ellipsoid((0.3, 0.2, 0.1)).flattest, 0.9)


def test_a_patch_that_is_too_curved_is_reported_with_its_place():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    z = np.array([[0.0, 30.0, 0.0, 30.0]] * 4) * np.array([1.0, -1.0, 1.0, -1.0])[:, None]
    ground = SmoothGround(x, x, z, quiet=True)
    with pytest.warns(
        SmoothWarning, match=r"cells of the smooth ground, first 'patch \d \d' \(x = "
    ):
        divide_ground(ground, 0.9)


@cache
def ball():
    return draisine.compile("ball", radius=BALL)


def test_a_ball_rests_on_two_points_of_one_cell():
    """Released on the axis of an oblique valley within one cell, a ball rests on two contacts."""
    bend = 1.5 / BALL
    ground = valley(bend, math.pi / 6.0)
    height = 1.0 / bend + 0.5 * bend * (BALL**2 - bend**-2)
    state = draisine.state(ball())
    start = draisine.State(state.q, np.array([0.0, 0.0, height - BALL + 0.01]), state.r, state.v)
    run = draisine.simulate(ball(), start, 1.0, terrain=ground)
    assert run.outcome == "completed"
    end = run.final()
    centre = end.p + rotation(end.q) @ [0.0, 0.0, BALL]
    assert_allclose(centre, [0.0, 0.0, height], atol=1e-6)
    closed = {feature for (_, feature), _ in run.arcs[-1].mode}
    assert len(closed) == 2
    # Figures draw the ground of the user, not its parts.
    assert run.terrain is ground


def test_parts_have_the_friction_of_their_patch():
    wheel = ball().model.wheels[0]
    name = f"{wheel.name}/patch 2 2"
    options = ContactOptions(mu={name: 0.25})
    assert options.friction(wheel, "patch 2 2 part 3") == 0.25
    assert options.friction(wheel, "patch 2 1 part 3") == math.inf
