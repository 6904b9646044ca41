"""Shapes of machines: rods to point masses, silhouettes of solids, and smooth paths of contact points."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.model import Body, Model, Revolute, inertia
from draisine.view.scene.paths import fine_path
from draisine.view.scene.scene import build_scene
from draisine.view.scene.shapes import Stone, machine_outlines, rolling_solids


def swinging(moment):
    """Return a pendulum of 1 m, its bob with a moment of inertia or without one."""
    return Model(
        bodies=[Body("ceiling"), Body("bob", 2.0, (0.0, 0.0, -1.0), inertia(moment, moment, 0.0))],
        joints=[Revolute("hinge", "ceiling", "bob", (0.0, 1.0, 0.0))],
        base="fixed",
    )


@pytest.mark.parametrize(("moment", "length"), [(0.0, 1.0), (2.0 * 2.0**2 / 12.0, 2.0)])
def test_a_rod_ends_at_a_mass_without_inertia(moment, length):
    (rod,) = (part for part in machine_outlines(swinging(moment)) if part.body == "bob")
    assert_allclose(np.ptp(rod.points[:, 2]), length)


def test_the_silhouette_of_an_ellipsoid_is_where_its_surface_turns_away():
    rng = np.random.default_rng(1)
    ways = rng.normal(size=(3, 3))
    towards = rng.normal(size=3)
    line = Stone("stone", np.zeros(3), ways).silhouette(towards)
    own = np.linalg.solve(ways, line.T)
    assert_allclose(np.linalg.norm(own, axis=0), 1.0)  # on the surface, whose normals are
    normals = np.linalg.solve(ways.T, own)
    assert_allclose(normals.T @ towards, 0.0, atol=1e-12)


def test_stones_are_balls_and_ellipsoids():
    (stone,) = rolling_solids(draisine.compile("rattleback").model)
    assert_allclose(np.sort(np.linalg.norm(stone.semi_axes, axis=0)), [0.02, 0.03, 0.2])
    assert not rolling_solids(draisine.compile("rolling_disc").model)


def test_the_path_of_eulers_disc_is_a_circle():
    """Its centre rests, so its contact goes round at radius cos(inclination)."""
    disc = draisine.compile("euler_disc")
    tilt = 0.2
    turning = math.sqrt(9.81 / (0.0375 * 0.25 * math.sin(tilt)))
    start = draisine.state(disc, lean=math.pi / 2 - tilt, yaw_rate=turning, spin=0.0)
    run = draisine.simulate(disc, start, 0.5, numerics=draisine.Numerics(dt=0.01))
    motion = build_scene(run.to_xarray(), lambda known: known)
    points = motion.paths["ground"].points
    middle = motion.place("disc", np.array([0.0, 0.0, 0.0375]), 0)
    away = np.linalg.norm(points[10:-10, :2] - middle[:2], axis=1) / (0.0375 * math.cos(tilt))
    assert_allclose(away, 1.0, atol=5e-3)
    assert [reading.name for reading in motion.readings] == [
        "yaw",
        "pitch",
        "forward_speed",
        "spin",
    ]


def test_unresolved_paths_are_not_drawn_but_turning_points_are():
    t = np.arange(0.0, 20.0, 1.0)
    circle = np.stack([np.cos(2.5 * t), np.sin(2.5 * t), 0.0 * t], axis=1)
    assert np.isnan(fine_path(t, circle, 1.0).points[1:-1]).all()
    there_and_back = np.stack([np.abs(t - 10.0), 0.0 * t, 0.0 * t], axis=1)
    assert_allclose(fine_path(t, there_and_back, 10.0).points, there_and_back)
