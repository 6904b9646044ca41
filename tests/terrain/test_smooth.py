"""Smooth ground: its polynomials against SciPy's splines, its bounds, its search, bad input."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import RectBivariateSpline

from draisine.algebra.patch import PATCH_HIGH, PATCH_LOW, evaluate_patch
from draisine.errors import TerrainError
from draisine.terrain import Joined, SmoothGround, SmoothWarning, height_field, plane

X = np.array([0.0, 0.3, 0.5, 0.9, 1.4, 2.0])
Y = np.array([-1.0, -0.4, -0.1, 0.3, 1.0])


def hills(seed=0, size=0.03):
    """Return smooth hills of random heights (m); random data overshoots."""
    z = size * np.random.default_rng(seed).standard_normal((len(X), len(Y)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SmoothWarning)
        return SmoothGround(X, Y, z)


def test_heights_are_those_of_a_bicubic_spline():
    ground = hills()
    x, y = np.random.default_rng(1).uniform([0.0, -1.0], [2.0, 1.0], (200, 2)).T
    exact = RectBivariateSpline(X, Y, ground.z).ev(x, y)
    assert_allclose(ground.height(x, y), exact, atol=1e-15)


@pytest.mark.parametrize("place", [0.3, 0.9, 1.4, 0.0, 2.0])
def test_neighbouring_patches_have_the_same_height_slope_and_curvature(place):
    """Beyond the samples the ground continues straight, so that its curvature ends there."""
    ground = hills()
    y = np.linspace(-1.4, 1.3, 30)
    sides = []
    for shift in (-1, 0):
        i = np.searchsorted(X, place, side="right") + shift
        j = np.searchsorted(Y, y, side="right")
        sides.append(evaluate_patch(ground.cells(i * ground.shape[1] + j).T, place, y))
    smooth = 6 if 0.0 < place < 2.0 else 3
    for one, two in zip(*(side[:smooth] for side in sides), strict=True):
        assert_allclose(one, two, atol=1e-12)


def test_plane_and_deviation_bound_each_patch():
    ground = hills()
    rng = np.random.default_rng(2)
    checked = 0
    for k in range(len(ground)):
        feature = ground[k]
        low, high = feature.cell[PATCH_LOW], feature.cell[PATCH_HIGH]
        if feature.numbers[4] > 1e8:
            continue
        x, y = rng.uniform(low, high, (200, 2)).T
        at = evaluate_patch(feature.cell, x, y)
        points = np.column_stack([x, y, at.h])
        steep = np.column_stack([-at.x, -at.y, np.ones(200)])
        normals = steep / np.linalg.norm(steep, axis=1)[:, None]
        N, d, off, turn = feature.numbers[:3], *feature.numbers[3:]
        assert np.abs(points @ N - d).max() <= off + 1e-12
        assert np.linalg.norm(normals - N, axis=1).max() <= turn + 1e-12
        assert (points >= feature.low - 1e-12).all() and (points <= feature.high + 1e-12).all()
        assert max(feature.excess(p, N) for p in points) <= 1e-12
        checked += 1
    assert checked == (len(X) - 1) * (len(Y) - 1)


def test_search_finds_every_patch_within_reach():
    """Against the boxes of all features; one ground beside another keeps its own numbers."""
    ground = hills()
    every = ground.pick(range(len(ground)))
    joined = Joined(plane(height=-1.0), ground)
    for centre in np.random.default_rng(3).uniform([-1.0, -2.0, -0.3], [3.0, 2.0, 0.6], (50, 3)):
        outside = np.maximum(np.maximum(every.low - centre, centre - every.high) - 0.05, 0.0)
        wanted = np.flatnonzero(np.linalg.norm(outside, axis=1) <= 0.4).tolist()
        assert ground.near(centre, 0.4, margin=0.05) == wanted
        assert [k - 1 for k in joined.near(centre, 0.4, margin=0.05) if k > 0] == wanted
    assert joined.kinds == {"face", "patch"}
    assert joined.pick([0, 9]).cells[1].tolist() == ground[8].cell.tolist()


def test_a_finer_grid_with_the_same_knots_is_the_same_ground():
    """A spline is the spline through its own heights: cells can be divided without an approximation."""
    ground = hills()
    x = np.sort(np.concatenate([X, 0.5 * (X[1:] + X[:-1])]))
    y = np.sort(np.concatenate([Y, 0.3 * Y[1:] + 0.7 * Y[:-1]]))
    finer = SmoothGround(x, y, ground.height(x[:, None], y), quiet=True)
    xs, ys = np.random.default_rng(4).uniform([-1.0, -2.0], [3.0, 2.0], (300, 2)).T
    assert_allclose(finer.height(xs, ys), ground.height(xs, ys), atol=1e-12)


def test_data_with_steps_overshoots_and_warns():
    """A cubic spline overshoots a step by some tenths of it; a parabola is exact."""
    x = np.arange(10.0)
    with pytest.warns(SmoothWarning, match="exceeds its data by"):
        height_field(x, [0.0, 1.0], np.outer(x > 4.5, [1.0, 1.0]), smooth=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ground = height_field(x, [0.0, 1.0], np.outer(x**2, [1.0, 1.0]), smooth=True)
    assert_allclose(ground.height(2.5, 0.7), 6.25, rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], None, [0.0, np.nan]), "must be finite"),
        (([0.0, 1.0], None, ["0.0", "1.0"]), "must be real numbers"),
        (([0.0, 1.0], None, np.array([0.0, 1.0j])), "must be real numbers"),
        (([0.0, 1.0], None, [0.0, 1.0, 2.0]), r"do not match \(2,\)"),
        (([1.0, 0.0], None, [0.0, 1.0]), "x must be at least two finite numbers that ascend"),
        (([0.0, 1.0], [0.0], [[0.0], [1.0]]), "y must be at least two"),
    ],
)
def test_invalid_heights_are_refused(arguments, message):
    with pytest.raises(TerrainError, match=message):
        SmoothGround(*arguments)
