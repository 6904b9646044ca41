"""Runs on smooth ground: closed forms, energy, the limit of a plane, two contacts, starts, moving ground."""

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.algebra.lie import rotation
from draisine.errors import ConfigurationError, TerrainError
from draisine.model import Ball, Body, Model, Wheel, inertia
from draisine.terrain import Joined, SmoothGround, face, height_field, move_ground, plane, rough
from draisine.terrain.motions import Shake, Slide
from draisine.terrain.terrain import Terrain

G = 9.81
BALL = 0.05  # m, radius
EXACT = draisine.Numerics(rtol=1e-12, atol=1e-14)


@cache
def ball():
    return draisine.compile("ball", radius=BALL)


def rolling(centre, rate=0.0, up=(0.0, 0.0, 1.0)):
    """Return a ball that rolls with a rate (rad/s) about y, from a place of its centre and a normal there."""
    spin = np.array([0.0, rate, 0.0])
    origin = np.array([0.0, 0.0, -BALL])
    velocity = np.cross(spin, BALL * np.asarray(up)) + np.cross(spin, origin)
    return draisine.State(
        np.array([1.0, 0.0, 0.0, 0.0]),
        centre + origin,
        np.zeros(0),
        np.concatenate([velocity, spin]),
    )


def centre_of(state):
    """Return the centre of the ball."""
    return state.p + rotation(state.q) @ [0.0, 0.0, BALL]


def energies(run):
    """Return the mechanical energy (J) of all samples."""
    return (run.observations["kinetic"] + run.observations["potential"]).ravel()


def trough(radius=0.5, half=0.3, count=61):
    """Return a cylindrical trough along y."""
    x = np.linspace(-half, half, count)
    return SmoothGround(x, None, radius - np.sqrt(radius**2 - x**2))


def bowl(radius=0.5, half=0.12, count=24):
    """Return a spherical bowl."""
    x = np.linspace(-half, half, count)
    return height_field(x, x, radius - np.sqrt(radius**2 - x[:, None] ** 2 - x**2), smooth=True)


@pytest.mark.parametrize("ground", [trough, bowl])
def test_a_ball_swings_in_a_bowl_with_the_period_of_its_pendulum(ground):
    """Rolling, its period is 2 pi sqrt(7/5 (R - r) / g) (1 + a^2 / 16) for small angles a; energy stays."""
    angle = 0.05
    arm = 0.5 - BALL
    start = rolling(np.array([arm * math.sin(angle), 0.0, 0.5 - arm * math.cos(angle) + 1e-9]))
    period = 2.0 * math.pi * math.sqrt(1.4 * arm / G) * (1.0 + angle**2 / 16.0)
    run = draisine.simulate(ball(), start, period, terrain=ground(), numerics=EXACT)
    assert {event.kind for event in run.events[1:]} == {"hand-over"}
    # After one period it is back: a phase error d shifts it by angle * d^2 / 2, so that its speed decides.
    speed = run.final().v[4] * BALL
    assert abs(speed) < 1e-4 * angle * math.sqrt(G * arm)
    assert_allclose(centre_of(run.final())[0], arm * math.sin(angle), rtol=1e-6)
    after = energies(run)[len(run.arcs[0].t) + 1 :]
    assert np.ptp(after) < 1e-10 * after.mean()


@pytest.mark.parametrize("count", [401, 1601])
def test_a_ball_leaves_a_sphere_where_its_load_vanishes(count):
    """Rolling from rest at the top it leaves at cos a = 10 / 17. Cells of 1 % of its radius, which it crosses
    faster than time steps would, are no reason for time steps.
    """
    radius, first = 1.0, 0.2
    arm = radius + BALL
    x = np.linspace(0.1, 0.9, count)
    ground = SmoothGround(x, None, np.sqrt(radius**2 - x**2))
    up = np.array([math.sin(first), 0.0, math.cos(first)])
    speed = math.sqrt(10.0 / 7.0 * G * arm * (1.0 - math.cos(first)))
    start = rolling(arm * up + 1e-9 * up, speed / BALL, up)
    contact = draisine.ContactOptions(events=5000)
    run = draisine.simulate(ball(), start, 0.7, terrain=ground, contact=contact, numerics=EXACT)
    lift = next(event for event in run.events if event.kind == "lift-off")
    centre = centre_of(lift.before)
    assert_allclose(centre[2] / np.linalg.norm(centre), 10.0 / 17.0, atol=2e-5)
    assert_allclose(lift.before.v[4] * BALL, math.sqrt(G * arm * 10.0 / 17.0), rtol=1e-5)
    assert not run.validity.time_stepped


def test_a_smooth_slope_is_a_plane():
    """A bicycle on patches of a tilted plane moves as on the plane; patches hand it over without impacts."""
    bicycle = draisine.compile("whipple")
    slope = -0.05
    x = np.linspace(-3.0, 6.0, 10)
    y = np.linspace(-2.0, 2.0, 5)
    smooth = height_field(x, y, math.tan(slope) * x[:, None] + 0.0 * y, smooth=True)
    level = draisine.state(bicycle, forward_speed=4.0, lean_rate=0.2)
    start = draisine.place(bicycle, level, plane(slope), on="ground")
    runs = [draisine.simulate(bicycle, start, 1.0, terrain=t) for t in (plane(slope), smooth)]
    assert_allclose(runs[1].final().p, runs[0].final().p, atol=1e-9)
    assert_allclose(runs[1].final().v, runs[0].final().v, atol=1e-8)
    kinds = Counter(event.kind for event in runs[1].events)
    assert set(kinds) == {"hand-over"}
    assert kinds["hand-over"] >= 6


def test_patches_approach_a_plane():
    """Hills of half the height change the motion of a ball half as much."""
    x = np.linspace(-0.5, 2.5, 31)
    ends = []
    for height in (0.0, 1e-4, 2e-4):
        wave = height * (1.0 - np.cos(4.0 * (x - 0.2))) * (x > 0.2)
        ground = SmoothGround(x, None, wave)
        start = rolling(np.array([0.0, 0.0, BALL + 1e-12]), 1.0 / BALL)
        run = draisine.simulate(ball(), start, 1.5, terrain=ground)
        ends.append(centre_of(run.final()))
    assert_allclose(ends[0][0], 1.5, atol=1e-9)
    assert_allclose(ends[2] - ends[0], 2.0 * (ends[1] - ends[0]), atol=1e-5)


def test_a_ball_rolls_into_a_tight_valley_and_touches_its_other_side():
    """The valley is more curved than the ball: it hits the far side in a second patch and rests."""
    x = np.linspace(-0.6, 0.6, 241)
    ground = SmoothGround(x, None, np.sqrt(0.01**2 + x**2))
    side = BALL * math.sqrt(0.5)
    start = rolling(np.array([-0.2 + side + 1e-6, 0.0, 0.2 + side + 1e-3]))
    run = draisine.simulate(ball(), start, 3.0, terrain=ground)
    assert run.outcome == "completed"
    hits = [event for event in run.events if event.kind == "collision"]
    assert len(hits) >= 2
    # Circle and hyperbola z^2 = a^2 + x^2 touch twice if the centre is at z^2 = 2 (r^2 + a^2).
    height = math.sqrt(2.0 * (BALL**2 + 0.01**2))
    assert_allclose(centre_of(run.final())[[0, 2]], [0.0, height], atol=2e-4)


def test_a_start_inside_smooth_ground_is_refused():
    ground = trough()
    with pytest.raises(ConfigurationError, match=r"starts 0\.001 m below 'patch"):
        draisine.simulate(ball(), rolling(np.array([0.0, 0.0, BALL - 1e-3])), 0.1, terrain=ground)
    with pytest.raises(ConfigurationError, match="starts inside the ground"):
        draisine.simulate(ball(), rolling(np.array([0.0, 0.0, -0.4])), 0.1, terrain=ground)


def test_beyond_its_samples_the_ground_continues_straight():
    """A ball rolls off a trough onto its straight continuation and up, to the height of its energy."""
    ground = trough(half=0.2, count=41)
    start = rolling(np.array([0.0, 0.0, BALL + 1e-9]), 2.5 / BALL)
    run = draisine.simulate(ball(), start, 0.25, terrain=ground)
    assert centre_of(run.final())[0] > 0.3
    after = energies(run)[len(run.arcs[0].t) + 1 :]
    assert np.ptp(after) < 1e-9 * after.mean()


@pytest.mark.parametrize("motion", [Slide((0.3, 0.1, 0.0)), Shake((0.0, 0.0, 0.002), 20.0)])
def test_moving_smooth_ground_is_a_moving_plane_if_it_is_flat(motion):
    x = np.linspace(-2.0, 2.0, 9)
    flat = move_ground(height_field(x, x, np.zeros((9, 9)), smooth=True), motion)
    level = move_ground(plane(), motion)
    start = rolling(np.array([0.1, 0.2, BALL]), 0.5 / BALL)
    runs = [draisine.simulate(ball(), start, 0.4, terrain=ground) for ground in (level, flat)]
    assert_allclose(runs[1].final().p, runs[0].final().p, atol=1e-9)
    assert_allclose(runs[1].final().v, runs[0].final().v, atol=1e-8)


def test_sliding_ground_carries_a_trough_along():
    """In a trough that moves with a constant velocity the ball swings as in one at rest."""
    start = rolling(np.array([0.1, 0.0, 0.5 - math.sqrt(0.45**2 - 0.1**2) + 1e-9]))
    run = draisine.simulate(ball(), start, 0.7, terrain=trough())
    carried = draisine.State(start.q, start.p, start.r, start.v + [0.3, 0, 0, 0, 0, 0])
    ground = move_ground(trough(), Slide((0.3, 0.0, 0.0)))
    moved = draisine.simulate(ball(), carried, 0.7, terrain=ground)
    assert_allclose(centre_of(moved.final()) - [0.21, 0.0, 0.0], centre_of(run.final()), atol=1e-8)


def test_a_ball_rolls_from_a_face_onto_smooth_ground():
    """Both join at x = 0 with the same height and slope: no impact, and energy stays."""
    x = np.linspace(0.0, 2.0, 41)
    hill = SmoothGround(x, None, 0.05 * x**2)
    # The continuation of the hill before x = 0 is level, too: it lies in the face.
    level = Terrain([face("level", (0, 0, 1), 0.0, [((1, 0, 0), 0.0)])])
    start = rolling(np.array([-0.2, 0.0, BALL]), 1.0 / BALL)
    run = draisine.simulate(ball(), start, 0.8, terrain=Joined(level, hill))
    assert centre_of(run.final())[0] > 0.4
    assert np.ptp(energies(run)) < 1e-9


def test_time_steps_follow_smooth_ground():
    """Steps of first order swing in the trough as event-driven arcs do, to their accuracy."""
    start = rolling(np.array([0.1, 0.0, 0.5 - math.sqrt(0.45**2 - 0.1**2) + 1e-9]))
    ends = []
    for solver in ("auto", "time_stepping"):
        options = draisine.ContactOptions(mu=0.8, solver=solver, step=2e-4)
        run = draisine.simulate(ball(), start, 0.5, terrain=trough(), contact=options)
        ends.append(centre_of(run.final()))
    assert_allclose(ends[1], ends[0], atol=2e-4)


DIPS = [0.5, 0.99, 1.01, 2.0]
"""Radii of curvature of the bottom of dips, in wheel radii: in the first two a wheel rests on two points."""


@cache
def disc():
    return draisine.compile("rolling_disc", radius=BALL, crown=0.01)


def hyperbola(ratio, half=4.0, count=641):
    """Return a cylindrical dip z = sqrt(a^2 + x^2) along y; a is `ratio` wheel radii."""
    a = ratio * BALL
    x = np.linspace(-half, half, count) * BALL
    return SmoothGround(x, None, np.sqrt(a**2 + x**2), quiet=True)


def place_in_dip(ratio):
    """Return the height of the centre of a circle of radius r in z = sqrt(a^2 + x^2), and the contact points
    x (m).

    A point (x, z) of the dip has the squared distance z^2 - a^2 + (z - h)^2 from the centre (0, h), least at
    z = h / 2 if h > 2 a; it is r^2 if h^2 = 2 (r^2 + a^2). Otherwise the circle touches at the bottom.
    """
    a = ratio * BALL
    if ratio >= 1.0:
        return a + BALL, [0.0]
    side = math.sqrt(0.5 * (BALL**2 - a**2))
    return math.sqrt(2.0 * (BALL**2 + a**2)), [-side, side]


def release(system, centre):
    """Return the state at rest of a wheel of radius `BALL` with its centre at a place."""
    level = draisine.state(system)
    return draisine.State(level.q, level.p + centre - [0.0, 0.0, BALL], level.r, level.v)


@pytest.mark.parametrize("ratio", DIPS)
@pytest.mark.parametrize("wheel", [ball, disc])
def test_a_wheel_rests_in_a_dip_on_one_or_two_points(wheel, ratio):
    """Dropped into a cylindrical dip, ball and disc come to rest on the points of the closed form."""
    height, points = place_in_dip(ratio)
    start = release(wheel(), np.array([0.0, 0.0, height + 1e-3]))
    run = draisine.simulate(wheel(), start, 0.3, terrain=hyperbola(ratio))
    assert run.outcome == "completed"
    assert not run.validity.time_stepped
    end = run.final()
    assert_allclose(end.p[2], start.p[2] - 1e-3, atol=1e-11)
    assert_allclose(end.v, 0.0, atol=1e-10)
    assert len(run.arcs[-1].mode) == len(points)
    data = run.to_xarray()
    # The point is that of the first contact; the force is the sum over all contacts.
    x = data["contact_point"].values[-1, 0, 0]
    # The spline differs from the hyperbola; nearly equal curvatures amplify this a hundred times.
    assert min(abs(x - point) for point in points) < 1e-6 * BALL
    assert_allclose(data["contact_force_world"].values[-1, 0], [0.0, 0.0, G], atol=1e-9)


@pytest.mark.parametrize("ratio", [ratio for ratio in DIPS if ratio > 1.0])
@pytest.mark.parametrize(("wheel", "inertia_factor"), [(ball, 1.4), (disc, 1.5)])
def test_a_wheel_swings_in_a_dip_with_the_period_of_its_pendulum(wheel, inertia_factor, ratio):
    """Rolling in a circular dip of radius R, the period is 2 pi sqrt(k (R - r) / g) (1 + a^2 / 16) for small
    angles a; k is 7/5 for a ball, and 3/2 for a disc.
    """
    angle = 0.02
    radius = ratio * BALL
    arm = radius - BALL
    high = np.array([arm * math.sin(angle), 0.0, radius - arm * math.cos(angle) + 1e-10])
    start = release(wheel(), high)
    period = 2.0 * math.pi * math.sqrt(inertia_factor * arm / G) * (1.0 + angle**2 / 16.0)
    ground = trough(radius, 0.3 * radius, 601)
    run = draisine.simulate(wheel(), start, period, terrain=ground, numerics=EXACT)
    assert {event.kind for event in run.events[1:]} == {"hand-over"}
    assert not run.validity.time_stepped
    end = run.final()
    scale = angle * math.sqrt(G * arm)
    assert abs(end.v[4]) * BALL < 1e-3 * scale
    assert_allclose(end.p[0] - start.p[0], 0.0, atol=1e-5 * arm * angle)
    after = energies(run)[len(run.arcs[0].t) + 1 :]
    assert np.ptp(after) < 1e-10 * after.mean()


@pytest.mark.parametrize(("ratio", "reported"), [(1.005, True), (1.05, False)])
def test_nearly_equal_curvatures_are_reported(ratio, reported):
    """A ball rests in a dip z = sqrt(a^2 + x^2) whose bottom has about its own radius of curvature a."""
    a = ratio * BALL
    x = np.linspace(-2.0, 2.0, 160) * a
    ground = SmoothGround(x, None, np.sqrt(a**2 + x**2))
    start = rolling(np.array([0.0, 0.0, a + BALL + 1e-4]))
    run = draisine.simulate(ball(), start, 0.1, terrain=ground)
    assert run.outcome == "completed"
    assert ("almost as curved as ground at" in str(run.validity)) == reported


def test_the_motion_does_not_depend_on_the_cells():
    """Splines through samples of a cubic are this cubic, whatever their cells."""
    ends = []
    for count in (5, 12, 60):
        x = np.linspace(-1.0, 3.0, count)
        ground = SmoothGround(x, None, 0.01 * (x - 0.5) * (x - 1.5) * (x - 2.5), quiet=True)
        start = rolling(np.array([0.0, 0.0, 0.1]), 1.0 / BALL)
        ends.append(draisine.simulate(ball(), start, 1.0, terrain=ground, numerics=EXACT).final())
    for end in ends[1:]:
        assert_allclose(end.p, ends[0].p, atol=1e-10)
        assert_allclose(end.v, ends[0].v, atol=1e-9)


@pytest.mark.parametrize(("mass", "length"), [(1e6, 1.0), (1.0, 1e-2)])
def test_units_do_not_matter(mass, length):
    """Masses times m, lengths times l, times times sqrt(l): the same motion in other units."""
    system = draisine.compile("ball", radius=BALL * length, mass=mass)
    x = np.linspace(-0.3, 0.3, 61)
    z = 0.5 - np.sqrt(0.25 - x**2)
    start = rolling(np.array([0.1, 0.0, 0.065]))
    reference = draisine.simulate(ball(), start, 0.5, terrain=SmoothGround(x, None, z)).final()
    scaled = draisine.State(start.q, start.p * length, start.r, start.v)
    ground = SmoothGround(x * length, None, z * length)
    end = draisine.simulate(system, scaled, 0.5 * math.sqrt(length), terrain=ground).final()
    assert_allclose(end.p / length, reference.p, atol=1e-8)


def test_turning_the_world_turns_the_motion():
    """A trough along x is a trough along y, turned."""
    x = np.linspace(-0.3, 0.3, 25)
    z = 0.5 - np.sqrt(0.25 - x**2)
    ends = []
    for heights, place in (
        (np.repeat(z[:, None], 25, axis=1), [0.1, 0.05, 0.065]),
        (np.repeat(z[None], 25, axis=0), [-0.05, 0.1, 0.065]),
    ):
        ground = height_field(x, x, heights, smooth=True)
        run = draisine.simulate(ball(), rolling(np.array(place)), 0.6, terrain=ground)
        ends.append(centre_of(run.final()))
    assert_allclose(ends[1], [-ends[0][1], ends[0][0], ends[0][2]], atol=1e-8)


def test_gradients_are_differences_of_runs():
    disc = draisine.compile("rolling_disc", crown=0.05)
    ground = rough(0.02, 0.5, at=0.5, smooth=True)
    start = {"forward_speed": 2.0, "lean": 0.05}
    found = draisine.gradient(disc, start, [0.5], ["x", "y"], ["lean"], terrain=ground)
    sides = [
        draisine.simulate(
            disc,
            draisine.state(disc, **(start | {"lean": 0.05 + d})),
            0.5,
            terrain=ground,
            numerics=EXACT,
        ).final()
        for d in (-1e-5, 1e-5)
    ]
    assert_allclose(found.derivatives[0, :, 0], (sides[1].p - sides[0].p)[:2] / 2e-5, atol=1e-6)


def test_slices_of_a_stepper_are_one_run():
    start = rolling(np.array([0.1, 0.0, 0.065]))
    run = draisine.simulate(ball(), start, 0.5, terrain=trough())
    stepper = draisine.Stepper(ball(), start, terrain=trough())
    for _ in range(25):
        stepper.step(0.02)
    assert_allclose(stepper.state.p, run.final().p, atol=1e-10)


def test_a_surface_without_patches_is_refused():
    """A surface of one's own that lists faces and edges alone."""

    class Faceted(Ball):
        kinds = ("face", "edge", "vertex")

    def stone(*, mass: float = 1.0) -> Model:
        wheel = Wheel("ground", "stone", (0, 0, BALL), (0, 1, 0), Faceted(BALL))
        return Model(
            [Body("stone", mass, (0, 0, BALL), inertia(1e-3, 1e-3, 1e-3))], contacts=[wheel]
        )

    system = draisine.compile(stone)
    with pytest.raises(TerrainError, match='Add "patch" to its `kinds`'):
        draisine.simulate(system, draisine.state(system), 0.1, terrain=trough())
