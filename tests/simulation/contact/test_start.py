"""Starts inside the ground are refused, with the name of the wheel."""

import math
from dataclasses import replace

import numpy as np
import pytest

import draisine
from draisine import Numerics
from draisine.errors import ConfigurationError
from draisine.simulation.contact.start import count_windings
from draisine.terrain import Mesh, corner, kerb, move_ground, plane
from draisine.terrain.assembly import Joined
from draisine.terrain.motions import Slide

CORNERS = [[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)]
SIDES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def box(low, high):
    """A closed box between two corners, with normals outwards."""
    points = np.array(low) + np.array(CORNERS) * (np.array(high) - np.array(low))
    triangles = [t for a, b, c, d in SIDES for t in ((a, b, c), (a, c, d))]
    return Mesh(points.tolist(), [list(t) for t in triangles])


def every(ground):
    """All features of a ground."""
    return ground.pick(range(len(ground)))


def test_a_closed_box_encloses_its_inside_once():
    """Random points, against the comparison with its corners."""
    low, high = np.array([0.2, -0.5, 0.1]), np.array([1.3, 0.4, 0.9])
    points = np.random.default_rng(1).uniform(-1.0, 2.0, (500, 3))
    wanted = ((points > low) & (points < high)).all(axis=1)
    assert 5 < wanted.sum() < 100
    assert (count_windings(every(box(low, high)), points, 0.0) == wanted).all()


@pytest.mark.parametrize("slope", [0.0, 0.4, -1.2])
def test_the_space_below_a_plane_is_enclosed(slope):
    points = np.random.default_rng(2).normal(size=(200, 3))
    below = points[:, 2] < math.tan(slope) * points[:, 0]
    assert (count_windings(every(plane(slope)), points, 0.0) == below).all()


def test_ground_that_moves_encloses_where_it_is():
    """A box that slides by 2 m/s has gone on by 1 m after half a second."""
    moving = move_ground(box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), Slide((2.0, 0.0, 0.0)))
    points = np.array([[0.5, 0.4, 0.5], [1.5, 0.4, 0.5]])  # on no diagonal of a side
    assert count_windings(every(moving), points, 0.0).tolist() == [1, 0]
    assert count_windings(every(moving), points, 0.5).tolist() == [0, 1]


WHEELS = ((0.0, 0.3), (1.02, 0.35))


def depth_in_kerb(at, rise):
    """How deep the benchmark bicycle's wheels are inside a kerb, by its edge and its faces, m."""
    return max(r - math.hypot(max(at - x, 0.0), max(r - rise, 0.0)) for x, r in WHEELS)


def roll(crown, ground, lift=0.0):
    bicycle = draisine.compile("whipple", **({"crown": crown} if crown else {}))
    start = draisine.state(bicycle, forward_speed=2.0)
    start = replace(start, p=start.p + [0.0, 0.0, lift])
    return draisine.simulate(bicycle, start, 0.02, terrain=ground, numerics=Numerics(dt=0.01))


@pytest.mark.parametrize("crown", [0.0, 0.02])
@pytest.mark.parametrize("rise", [0.05, 0.2, 0.35, 1.5])
@pytest.mark.parametrize("at", [0.4, 0.75, 1.02, 1.2, 1.36, 1.4])
def test_a_front_wheel_in_a_kerb_is_refused(crown, rise, at):
    """Wholly inside a wall, or cut by its edge; a kerb ahead of it is no obstacle to a start."""
    if depth_in_kerb(at, rise) > 0.0:
        with pytest.raises(ConfigurationError, match=r"'(front|rear)' starts"):
            roll(crown, kerb(at, rise))
    else:
        assert roll(crown, kerb(at, rise)).outcome == "completed"


@pytest.mark.parametrize("depth", [1e-6, 0.1, 0.3, 0.6, 0.71, 1.5, 100.0])
def test_wheels_below_a_plane_are_refused(depth):
    with pytest.raises(ConfigurationError, match=r"'(front|rear)' starts"):
        roll(0.02, plane(), -depth)


@pytest.mark.parametrize("angle", [0.6, 1.5])
def test_a_front_wheel_in_a_slope_is_refused(angle):
    with pytest.raises(ConfigurationError, match="'front' starts"):
        roll(0.02, corner(angle, 0.9))


def test_a_start_under_a_bridge_is_none_in_the_ground():
    """The ray leaves the bridge as often as it enters it."""
    bridge = Joined(plane(), box((-1.0, -1.0, 2.0), (3.0, 1.0, 2.5)))
    assert roll(0.02, bridge).outcome == "completed"
