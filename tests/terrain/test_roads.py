"""Smooth roads: functions to a stated error, slope, camber, crown, and roughness by classes of ISO 8608."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.signal import welch

from draisine.errors import ParameterError, TerrainError
from draisine.terrain import SmoothWarning, height_field, road, rough, rough_road
from draisine.terrain.smooth import facets


def test_a_function_is_sampled_to_the_stated_error():
    def wave(x, y):
        return 0.1 * np.sin(x) * np.cos(0.5 * y)

    for error in (1e-4, 1e-6):
        ground = road(wave, (0.0, 6.0), (-2.0, 2.0), error=error)
        x, y = np.random.default_rng(0).uniform([0.0, -2.0], [6.0, 2.0], (1000, 2)).T
        assert np.abs(ground.height(x, y) - wave(x, y)).max() < 2.0 * error


def test_a_narrow_bump_on_a_long_road_is_sampled():
    """Half-width 0.2 m on 100 m; and in the middle of a cell of the first samples along x and y."""

    def bump(distance):
        return 0.05 * np.where(distance < 0.2, np.cos(0.5 * np.pi * distance / 0.2) ** 2, 0.0)

    ground = road(lambda x: bump(np.abs(x - 10.1)), (0.0, 100.0), error=1e-3)
    x = np.linspace(9.5, 10.7, 500)
    assert_allclose(ground.height(x), bump(np.abs(x - 10.1)), atol=1.5e-3)
    for spacing in (None, 0.1):
        ground = road(
            lambda x, y: bump(np.hypot(x - 0.7, y - 0.2)),
            (0.0, 4.0),
            (-2.0, 2.0),
            error=2e-3,
            spacing=spacing,
        )
        assert ground.height(0.7, 0.2) == pytest.approx(0.05, abs=3e-3)


def test_a_wave_whose_zeros_are_the_first_samples_is_sampled():
    ground = road(lambda x: 0.1 * np.sin(2.0 * np.pi * x), (0.0, 64.0))
    x = np.random.default_rng(0).uniform(0.0, 64.0, 1000)
    assert_allclose(ground.height(x), 0.1 * np.sin(2.0 * np.pi * x), atol=1.5e-5)


def test_a_smooth_function_has_few_samples():
    """The comparison is fine, not the grid: a parabola is its own spline."""
    assert len(road(lambda x: 0.01 * x**2, (0.0, 100.0)).x) == 9


def test_functions_of_single_numbers_are_called_point_by_point():
    x = np.linspace(0.0, 5.0, 100)
    assert_allclose(road(math.sin, (0.0, 5.0)).height(x), np.sin(x), atol=1.5e-5)
    ramp = road(lambda x: 0.1 * (x - 2.0) ** 3 if x > 2.0 else 0.0, (0.0, 4.0), error=1e-3)
    assert_allclose(ramp.height([1.0, 3.0]), [0.0, 0.1], atol=1.5e-3)
    product = road(lambda x, y: 0.1 * math.sin(x) * y, (0.0, 1.0), (0.0, 1.0), spacing=0.1)
    assert product.height(0.5, 0.5) == pytest.approx(0.05 * math.sin(0.5), abs=1.5e-5)
    assert road(lambda x: 0.3, (0.0, 4.0)).height(1.0) == 0.3


@pytest.mark.parametrize("tilt", [{}, {"slope": 0.5}, {"camber": 0.5}, {"crown": 0.5}])
def test_a_tilt_does_not_hide_an_overshoot(tilt):
    x = np.arange(10.0)
    with pytest.warns(SmoothWarning, match="exceeds its data by"):
        road(np.where(x > 4.5, 0.01, 0.0), x, **tilt)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        road(0.01 * x**2, x, **tilt)


def test_lower_case_classes_are_accepted():
    assert rough_road("c", 20.0).height(10.0) == rough_road("C", 20.0).height(10.0)


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
    assert len(triangles) <= 2 * 40**2
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
        (lambda: road(np.sin, (0.0, 1.0), spacing=-1.0), "spacing = -1.0 m"),
        (lambda: road(lambda x: 0.1 if x > 5 else 0, (0.0, 10.0)), "it has steps or kinks"),
        (lambda: road(lambda x, y: x * y, (0.0, 1.0)), "a function of x and y needs y="),
        (lambda: road(lambda x: x, (0.0, 1.0), (0.0, 1.0)), "z is a function of x and y"),
        (lambda: road(math.sqrt, (-1.0, 1.0)), "the function fails at a point"),
        (lambda: road(lambda x: [0.1, 0.2], (0.0, 1.0)), "one height per point"),
        (lambda: road(lambda x: 1j * x, (0.0, 1.0)), "must be real numbers"),
        (lambda: road(["0.0", "1.0"], [0.0, 1.0]), "heights must be real numbers"),
        (lambda: road(np.array([0.0, 1.0j]), [0.0, 1.0]), "heights must be real numbers"),
        (lambda: road([[0.0], [1.0, 2.0]], [0.0, 1.0], [0.0, 1.0]), "rows of equal length"),
        (lambda: road([0.0, 1.0], ["a", "b"]), "x must be real numbers"),
        (lambda: height_field([0, 1], [0, 1], [["a", "b"], ["c", "d"]]), "must be real numbers"),
        (lambda: rough_road("X"), "unknown class 'X'"),
        (lambda: rough_road(""), "unknown class ''"),
        (lambda: rough_road("AB"), "unknown class 'AB'"),
        (lambda: rough_road(3), "unknown class 3"),
        (lambda: rough_road("A", seed=-1), "seed = -1 must be a non-negative integer"),
        (lambda: rough_road("A", seed=1.5), "seed = 1.5 must be a non-negative integer"),
        (lambda: rough_road("A", seed="x"), "seed = 'x' must be a non-negative integer"),
        (lambda: rough_road("A", length=1.0), "at least 4.0 m"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_invalid_roads_are_refused(make, message):
    with pytest.raises((ParameterError, TerrainError), match=message):
        make()


@pytest.mark.parametrize("grade", ["A", "E", "H"])
@pytest.mark.parametrize("length", [4.0, 50.0])
def test_a_rough_road_hardly_exceeds_its_samples_and_a_slope_is_added_to_it(grade, length):
    for seed in range(4):
        level = rough_road(grade, length, seed=seed)
        x = np.linspace(5.0, 5.0 + length, 20 * len(level.x))
        heights = level.height(x)
        excess = max(heights.max() - level.z.max(), level.z.min() - heights.min())
        assert excess < 0.005 * np.ptp(level.z)
        everywhere = np.linspace(-5.0, length + 15.0, 999)
        tilted = rough_road(grade, length, seed=seed, slope=0.3)
        expected = level.height(everywhere) + np.tan(0.3) * everywhere
        assert_allclose(tilted.height(everywhere), expected, atol=1e-12)


def test_a_road_is_drawn_finely_enough_to_show_its_waves():
    """Around a start, 120 m of waves of 2 m: a chord of 0.3 m is off by less than h'' c^2 / 8."""
    ground = road(lambda x: 0.03 * (1.0 - np.cos(np.pi * x)), (-5.0, 60.0))
    cells = ground.cells(np.arange(len(ground)))
    points, triangles = facets(cells, np.full(2, -60.0), np.full(2, 60.0))
    middles = points[triangles].mean(axis=1)
    off = np.abs(middles[:, 2] - ground.height(middles[:, 0])).max()
    assert off < 0.03 * math.pi**2 * 0.3**2 / 8.0
    assert_allclose([points.min(axis=0)[:2], points.max(axis=0)[:2]], [[-60.0] * 2, [60.0] * 2])
    assert len(triangles) < 1000
