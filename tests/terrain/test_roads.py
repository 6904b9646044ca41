"""Smooth roads: functions to a stated error, slope, camber, crown, and roughness by classes of ISO 8608."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import welch

from draisine.errors import ParameterError, TerrainError
from draisine.terrain import road, rough, rough_road
from draisine.terrain.smooth import facets


def test_a_function_is_sampled_to_the_stated_error():
    def wave(x, y):
        return 0.1 * np.sin(x) * np.cos(0.5 * y)

    for error in (1e-4, 1e-6):
        ground = road(wave, (0.0, 6.0), (-2.0, 2.0), error=error)
        x, y = np.random.default_rng(0).uniform([0.0, -2.0], [6.0, 2.0], (1000, 2)).T
        assert np.abs(ground.height(x, y) - wave(x, y)).max() < 2.0 * error


def test_angles_tilt_the_road():
    """Far from the middle a crowned road has its slope; slope and camber are those of a plane."""
    ground = road([0.0, 0.0, 0.0], [0.0, 5.0, 10.0], slope=0.1, camber=0.05)
    x, y = np.meshgrid([-3.0, 1.0, 20.0], [-8.0, 0.0, 8.0])
    assert_allclose(ground.height(x, y), x * math.tan(0.1) + y * math.tan(0.05), atol=1e-12)
    crowned = road([0.0, 0.0, 0.0], [0.0, 5.0, 10.0], crown=0.05)
    assert_allclose(crowned.height(3.0, [-0.5, 0.0]), [-0.207 * 0.05, 0.0], atol=2e-4)
    fall = float(crowned.height(3.0, 3.0) - crowned.height(3.0, 4.0))
    assert fall == pytest.approx(math.tan(0.05), rel=0.02)


@pytest.mark.parametrize("grade", ["A", "C", "H"])
def test_roughness_lies_within_its_class(grade):
    """Against a periodogram: the spectrum has the waviness 2 and lies within its class, a factor of
    two below and above the geometric mean, in octave bands.
    """
    ground = rough_road(grade, length=300.0, at=5.0, seed=1)
    x = np.arange(10.0, 300.0, 0.05)
    n, spectrum = welch(ground.height(x), fs=20.0, nperseg=2048)
    mean = 16e-6 * 4.0 ** "ABCDEFGH".index(grade) * (n[1:] / 0.1) ** -2.0
    octaves = np.floor(np.log2(n[1:] / 0.05))
    for octave in range(5):
        ratio = (spectrum[1:] / mean)[octaves == octave].mean()
        assert 0.5 < ratio < 2.0
    band = (n > 0.05) & (n < 2.5)
    assert np.polyfit(np.log(n[band]), np.log(spectrum[band]), 1)[0] == pytest.approx(
        -2.0, abs=0.15
    )


def test_a_rough_road_is_level_around_and_differs_by_seed():
    one, two = (rough_road("B", 20.0, 2.0, seed) for seed in (1, 2))
    assert_allclose(one.height([-5.0, 2.0, 22.0, 30.0]), 0.0, atol=1e-15)
    assert one.height(10.0) == rough_road("B", 20.0, 2.0, 1).height(10.0)
    assert abs(one.height(10.0) - two.height(10.0)) > 1e-5
    tilted = rough_road("B", 20.0, 2.0, 1, slope=0.1)
    assert_allclose(tilted.height(10.0), one.height(10.0) + 10.0 * math.tan(0.1), atol=1e-9)


def test_smooth_rough_ground_has_the_heights_of_the_mesh():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        smooth = rough(0.05, seed=3, smooth=True)
    mesh = rough(0.05, seed=3)
    inner = mesh.points[(mesh.points[:, 0] >= 1.0) & (mesh.points[:, 0] <= 6.0)]
    assert_allclose(smooth.height(inner[:, 0], inner[:, 1]), inner[:, 2], atol=1e-12)


def test_facets_follow_the_ground():
    """A chord of length 7 / 40 is off by less than h'' c^2 / 8 = 0.4 c^2 / 8."""
    ground = road(lambda x: 0.1 * np.sin(2.0 * x), (0.0, 5.0))
    cells = ground.cells(np.arange(len(ground)))
    points, triangles = facets(cells, np.array([-1.0, -2.0]), np.array([6.0, 2.0]))
    middles = points[triangles].mean(axis=1)
    assert np.abs(middles[:, 2] - ground.height(middles[:, 0])).max() < 0.4 * (7 / 40) ** 2
    assert len(triangles) <= 80
    a, b, c = np.moveaxis(points[triangles], 1, 0)
    areas = np.cross(b - a, c - a)[:, 2] / 2.0
    assert areas.min() > 0.0
    assert areas.sum() == pytest.approx(7.0 * 4.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: road([0.0, 1.0], [0.0, 1.0], slope=2.0),
            "slope = 2.0 rad must be below a right angle",
        ),
        (lambda: road([0.0, 1.0], [0.0, 1.0, 2.0]), "do not match 3 x"),
        (lambda: road(np.sign, (-1.0, 1.0)), "it has steps or kinks"),
        (lambda: road(np.sqrt, (-1.0, 1.0)), "not finite"),
        (lambda: road(np.sin, (1.0, 0.0)), "x must begin and end"),
        (lambda: road(np.sin, (0.0, 1.0), error=0.0), "error = 0.0 m"),
        (lambda: rough_road("X"), "unknown class 'X'"),
        (lambda: rough_road("A", length=1.0), "at least 4.0 m"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_invalid_roads_are_refused(make, message):
    with pytest.raises((ParameterError, TerrainError), match=message):
        make()
