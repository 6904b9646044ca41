"""Smooth roads from samples or functions, with slope, camber and crown, and roughness by ISO 8608."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, TerrainError
from draisine.terrain.smooth import SmoothGround

ROUGHNESS_CLASSES = "ABCDEFGH"
"""Names of the roughness classes of ISO 8608:2016, from A (very good) to H (worse than unpaved)."""

CLASS_A_ROUGHNESS = 16e-6
"""Geometric mean of the displacement spectrum of class A at the reference frequency, m^3. Each further
class has four times the value of the one before (ISO 8608:2016, table C.1).
"""

REFERENCE_FREQUENCY = 0.1
"""Spatial frequency at which ISO 8608 states the spectra, cycles per metre. The spectra fall with the
square of the spatial frequency.
"""

ROUGHNESS_BAND = (0.011, 2.83)
"""Range of spatial frequencies of ISO 8608, cycles per metre; shorter waves are smoothed out by a tyre."""

SAMPLES_PER_WAVE = 10
"""Number of samples per shortest wave; the spline then deviates from the wave by 0.2 % of its amplitude."""

CROWN_ROUNDING = 0.5
"""Half of the width over which the crown of a road is rounded, m."""

CROWN_SAMPLES = np.concatenate([[-6.0, -4.0, -3.0], np.arange(-2.0, 2.01, 0.25), [3.0, 4.0, 6.0]])
"""Positions y at which the cross section of a road is sampled, m."""

MAX_ROAD_SAMPLES = 4096
"""Largest number of samples per axis; a function that needs more is rejected."""


MIN_ROAD = 4.0
"""Shortest length of a rough road, m; it contains several waves."""

FADE_LENGTH = 1.0
"""Length over which the roughness fades in at the start and out at the end, m."""


def road(
    z: ArrayLike | Callable[..., Any],
    x: ArrayLike,
    y: ArrayLike | None = None,
    *,
    slope: float = 0.0,
    camber: float = 0.0,
    crown: float = 0.0,
    error: float = 1e-5,
) -> SmoothGround:
    """Return a smooth road with heights z(x) or z(x, y).

    Beyond its ends and sides it continues with constant slope.

    Parameters
    ----------
    z
        Heights (m) at x, or at x and y, or a function of one or two arrays that returns them.
    x, y
        Ascending coordinates (m). For a function their first and last values suffice. Without y the height
        does not depend on y.
    slope
        Angle by which the road rises forward (rad).
    camber
        Cross slope: angle by which the road rises to the left (rad), as in a banked bend.
    crown
        Angle by which the road falls from its middle, y = 0, to both sides (rad); the middle is rounded.
    error
        Largest difference (m) between a function and its spline.

    Raises
    ------
    ParameterError
        If an angle is not below a right angle, or a function is not smooth enough for `error`.

    Examples
    --------
    >>> import numpy as np
    >>> bumps = road(lambda x: 0.05 * np.sin(x), (0.0, 20.0), camber=0.1)
    >>> bool(abs(bumps.height(2.0, 3.0) - 0.05 * np.sin(2.0) - 3.0 * np.tan(0.1)) < 1e-5)
    True
    """
    for name, angle in {"slope": slope, "camber": camber, "crown": crown}.items():
        if not abs(angle) < math.pi / 2.0:
            raise ParameterError(f"road: {name} = {angle} rad must be below a right angle.")
    if callable(z):
        xs, ys, heights = _sample(z, x, y, error)
    else:
        xs = np.asarray(x, float)
        ys = None if y is None else np.asarray(y, float)
        heights = np.asarray(z, float)
    if heights.ndim != (1 if ys is None else 2) or len(heights) != len(xs):
        raise TerrainError(
            f"road: heights of shape {heights.shape} do not match {len(xs)} x"
            + ("." if ys is None else f" and {len(ys)} y.")
        )
    heights = (heights.T + math.tan(slope) * xs).T
    if not (camber or crown):
        return SmoothGround(xs, ys, heights)
    if ys is None:
        ys = CROWN_SAMPLES
        heights = np.repeat(heights[:, None], len(CROWN_SAMPLES), axis=1)
    fall = np.hypot(ys, CROWN_ROUNDING) - CROWN_ROUNDING
    return SmoothGround(xs, ys, heights + math.tan(camber) * ys - math.tan(crown) * fall)


def rough_road(
    grade: str,
    length: float = 100.0,
    at: float = 5.0,
    seed: int = 0,
    *,
    slope: float = 0.0,
) -> SmoothGround:
    """Return a road with the roughness of a class of ISO 8608, with level road before and behind the rough
    part.

    The profile is a sum of cosines with random phases whose spectrum is the geometric mean of the class,
    16e-6 m^3 (class A) to 0.26 m^3 (class H) at 0.1 cycles/m, falling with the square of the spatial
    frequency between 0.011 and 2.83 cycles/m [1]_ [2]_. The profile does not depend on y.

    Parameters
    ----------
    grade
        Roughness class, "A" (very good) to "H".
    length
        Length of the rough part (m).
    at
        Position x at which the rough part begins (m). The roughness fades in and out over the first and
        last metre.
    seed
        Seed of the random phases.
    slope
        Angle by which the road rises forward (rad).

    References
    ----------
    .. [1] ISO 8608:2016, Mechanical vibration: road surface profiles: reporting of measured data.
    .. [2] Múčka, Simulated road profiles according to ISO 8608 in vibration analysis, Journal of Testing and
       Evaluation 46 (2018), doi:10.1520/JTE20160265.

    Examples
    --------
    >>> ground = rough_road("C", length=50.0, seed=3)
    >>> float(ground.height(2.0)), bool(abs(ground.height(20.0)) < 0.1)
    (0.0, True)
    """
    if grade not in ROUGHNESS_CLASSES or len(grade) != 1:
        raise ParameterError(
            f"rough_road: unknown class {grade!r}. ISO 8608 has the classes {', '.join(ROUGHNESS_CLASSES)}."
        )
    if not (math.isfinite(length) and length >= MIN_ROAD):
        raise ParameterError(f"rough_road: length = {length} m must be at least {MIN_ROAD} m.")
    if not abs(slope) < math.pi / 2.0:
        raise ParameterError(f"rough_road: slope = {slope} rad must be below a right angle.")
    spacing = 1.0 / (SAMPLES_PER_WAVE * ROUGHNESS_BAND[1])
    s = np.linspace(0.0, length, math.ceil(length / spacing) + 1)
    # The spatial frequencies are multiples of 1/length, so that the waves are orthogonal over the
    # length of the road.
    first = max(1, math.ceil(ROUGHNESS_BAND[0] * length))
    n = np.arange(first, math.floor(ROUGHNESS_BAND[1] * length) + 1) / length
    at_reference = CLASS_A_ROUGHNESS * 4.0 ** ROUGHNESS_CLASSES.index(grade)
    spectrum = at_reference * (n / REFERENCE_FREQUENCY) ** -2.0
    # The variance a^2 / 2 of each wave equals its part of the one-sided spectrum.
    amplitudes = np.sqrt(2.0 * spectrum / length)
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * math.pi, len(n))
    profile = np.cos(2.0 * math.pi * s[:, None] * n + phases) @ amplitudes
    # Fade in and out with zero slope: (1 - cos) / 2.
    ends = np.clip(np.minimum(s, length - s) / FADE_LENGTH, 0.0, 1.0)
    profile = profile * 0.5 * (1.0 - np.cos(math.pi * ends))
    return SmoothGround(
        at + s, None, profile + math.tan(slope) * (at + s), end_slope=math.tan(slope)
    )


def _sample(
    z: Callable[..., Any], x: ArrayLike, y: ArrayLike | None, error: float
) -> tuple[Floats, Floats | None, Floats]:
    """Return coordinates (m) and heights (m) sampled from a function, dense enough that their spline
    differs from it by less than `error` (m).
    """
    ends = [_ends("x", x)] if y is None else [_ends("x", x), _ends("y", y)]
    if not (math.isfinite(error) and error > 0.0):
        raise ParameterError(f"road: error = {error} m must be a positive length.")
    counts = [8] * len(ends)
    while max(counts) <= MAX_ROAD_SAMPLES:
        axes = [np.linspace(*end, count + 1) for end, count in zip(ends, counts, strict=True)]
        ground = SmoothGround(
            axes[0], None if y is None else axes[1], _evaluate(z, axes), quiet=True
        )
        worst = []
        for axis in range(len(axes)):
            # Compare at the middles of intervals along one axis, where the error is largest.
            between = [0.5 * (a[1:] + a[:-1]) if k == axis else a for k, a in enumerate(axes)]
            grid = np.meshgrid(*between, indexing="ij")
            worst.append(float(np.abs(ground.height(*grid) - _evaluate(z, between)).max()))
        if max(worst) <= error:
            return axes[0], None if y is None else axes[1], ground.z
        counts = [2 * count if w > error else count for count, w in zip(counts, worst, strict=True)]
    raise ParameterError(
        f"road: with {MAX_ROAD_SAMPLES} samples the spline still differs from the function by "
        f"{max(worst):.2g} m; "
        "it has steps or kinks. Increase `error`, or shorten the road."
    )


def _ends(name: str, values: ArrayLike) -> tuple[float, float]:
    """Return first and last value of an interval; raise an error if they are not finite or not
    ascending.
    """
    numbers = np.ravel(np.asarray(values, float))
    if len(numbers) < 2 or not np.isfinite(numbers).all() or not numbers[0] < numbers[-1]:
        raise ParameterError(f"road: {name} must begin and end with finite, ascending numbers.")
    return float(numbers[0]), float(numbers[-1])


def _evaluate(z: Callable[..., Any], axes: list[Floats]) -> Floats:
    """Return the heights (m) of a function over the grid with coordinates `axes`."""
    grid = np.meshgrid(*axes, indexing="ij")
    heights = np.broadcast_to(np.asarray(z(*grid), float), grid[0].shape)
    if not np.isfinite(heights).all():
        raise TerrainError("road: the function returns heights that are not finite numbers.")
    return heights
