"""Smooth roads from samples or functions, with slope, camber and crown, and rough roads after ISO 8608."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, TerrainError
from draisine.terrain.smooth import SmoothGround, real_numbers

ROUGHNESS_CLASSES = "ABCDEFGH"
"""Names of the roughness classes of ISO 8608:2016, from A (very good) to H (worse than unpaved)."""

CLASS_A_ROUGHNESS = 16e-6
"""Displacement spectrum of class A at `REFERENCE_FREQUENCY`, geometric mean of the class, m^3. Each further
class has four times the value of the previous class (ISO 8608:2016, table C.1).
"""

REFERENCE_FREQUENCY = 0.1
"""Spatial frequency at which ISO 8608 states the spectra, cycles per metre. The spectra fall with the
square of the spatial frequency.
"""

ROUGHNESS_BAND = (0.011, 2.83)
"""Smallest and largest spatial frequency of ISO 8608, cycles per metre; a tyre averages shorter waves."""

SAMPLES_PER_WAVE = 10
"""Number of samples per wavelength of the shortest wave of a rough road. The spline then deviates from this
wave by 0.2 % of its amplitude.
"""

CROWN_ROUNDING = 0.5
"""Half the width, m, of the strip in the middle of a road over which its crown is rounded."""

CROWN_SAMPLES = np.concatenate([[-6.0, -4.0, -3.0], np.arange(-2.0, 2.01, 0.25), [3.0, 4.0, 6.0]])
"""Coordinates y (m) at which the crowned cross section of a road is sampled, dense near the rounded crown."""

MAX_ROAD_SAMPLES = 4096
"""Largest number of samples of a road along one axis. A function that needs more samples to meet the
tolerance `error` is rejected, because it probably has steps or kinks.
"""

COMPARISON_SPACING = 0.05
"""Default distance, m, between the points at which a function is compared with its spline on a short road;
narrower bumps disappear under a tyre.
"""

MAX_COMPARISONS = 2**18
"""Default limit of the number of points at which a function is compared with its spline, and number of points
per batch of this comparison (about 100 MB).
"""

GOLDEN_RATIO = 0.5 * (1.0 + math.sqrt(5.0))
"""Golden ratio. Its multiples modulo 1 never repeat, so that points placed at these multiples do not coincide
with the zeros of a wave.
"""

MIN_ROAD = 4.0
"""Shortest permitted length of a rough road, m, so that it contains several waves."""

FADE_LENGTH = 1.0
"""Length, m, over which the roughness fades in at the start of a rough road, and fades out at its end."""


def road(
    z: ArrayLike | Callable[..., Any],
    x: ArrayLike,
    y: ArrayLike | None = None,
    *,
    slope: float = 0.0,
    camber: float = 0.0,
    crown: float = 0.0,
    error: float = 1e-5,
    spacing: float | None = None,
) -> SmoothGround:
    """Return a smooth road with heights z(x) or z(x, y).

    Beyond its ends and sides it continues with constant slope.

    Parameters
    ----------
    z
        Heights (m) at x, or at x and y; or a function of x, or of x and y, that returns the height. A
        function that does not accept arrays is called point by point.
    x, y
        Ascending coordinates (m). For a function their first and last values suffice. If y is omitted, the
        height does not depend on y.
    slope
        Angle by which the road rises forward (rad).
    camber
        Cross slope: angle by which the road rises to the left (rad), as in a banked bend.
    crown
        Angle by which the road falls from its middle, y = 0, to both sides (rad); the middle is rounded.
    error
        Tolerated difference (m) between a function and its spline, at the points of their comparison.
    spacing
        Largest distance (m), along x and along y, between the points at which a function is compared with
        its spline. Features of the function that are narrower may be missed. By default 0.05 m, but at
        least 0.0032 sqrt(length * width) for a function of x and y, and 6.2e-6 of the length for a function
        of x, which limits the points to about 262 144.

    Returns
    -------
    SmoothGround
        The road as a terrain.

    Raises
    ------
    ParameterError
        If an angle is not below a right angle, or a function is not smooth enough for `error`.
    TerrainError
        If heights do not match the coordinates or are not real numbers, or if a function does not accept
        x, or x and y.

    Warns
    -----
    SmoothWarning
        If the spline through given heights (before slope, camber and crown are added) overshoots them by
        more than 1 % of their range.

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
        xs, ys, heights = _sample(z, x, y, error, spacing)
    else:
        xs = real_numbers("road: x", x)
        ys = None if y is None else real_numbers("road: y", y)
        heights = real_numbers("road: the heights", z)
    if heights.ndim != (1 if ys is None else 2) or len(heights) != len(xs):
        raise TerrainError(
            f"road: heights of shape {heights.shape} do not match {len(xs)} x"
            + ("." if ys is None else f" and {len(ys)} y.")
        )
    # Check the level road for overshoot: a tilt would enlarge the range of the heights and hide it. The
    # spline of a function needs no check, because it differs from the function by at most `error`.
    level = SmoothGround(xs, ys, heights, quiet=callable(z))
    if not (slope or camber or crown):
        return level
    heights = (heights.T + math.tan(slope) * xs).T
    if not (camber or crown):
        return SmoothGround(xs, ys, heights, quiet=True)
    if ys is None:
        ys = CROWN_SAMPLES
        heights = np.repeat(heights[:, None], len(CROWN_SAMPLES), axis=1)
    fall = np.hypot(ys, CROWN_ROUNDING) - CROWN_ROUNDING
    tilted = heights + math.tan(camber) * ys - math.tan(crown) * fall
    return SmoothGround(xs, ys, tilted, quiet=True)


def rough_road(
    grade: str,
    length: float = 100.0,
    at: float = 5.0,
    seed: int = 0,
    *,
    slope: float = 0.0,
) -> SmoothGround:
    """Return a rough road of a roughness class of ISO 8608, with even road before and behind it.

    The profile is a sum of cosines with random phases. Its displacement spectrum at 0.1 cycles/m is the
    geometric mean of the class, from 16e-6 m^3 (class A) to 0.26 m^3 (class H). The spectrum falls with the
    square of the spatial frequency between 0.011 and 2.83 cycles/m [1]_ [2]_. The profile does not depend
    on y.

    Parameters
    ----------
    grade
        Roughness class: a letter from "A" (very good) to "H", in upper or lower case.
    length
        Length of the rough part (m).
    at
        Position x at which the rough part begins (m). The roughness fades in and out over the first and
        last metre.
    seed
        Seed of the random phases, a non-negative integer.
    slope
        Angle by which the road rises forward (rad).

    Returns
    -------
    SmoothGround
        The road as a terrain.

    Raises
    ------
    ParameterError
        If the class, the length, the seed or the slope is invalid.

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
    if not isinstance(grade, str) or grade.upper() not in list(ROUGHNESS_CLASSES):
        raise ParameterError(
            f"rough_road: unknown class {grade!r}. ISO 8608 has the classes "
            f"{', '.join(ROUGHNESS_CLASSES)}."
        )
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(
            f"rough_road: seed = {seed!r} must be a non-negative integer, such as seed=1."
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
    at_reference = CLASS_A_ROUGHNESS * 4.0 ** ROUGHNESS_CLASSES.index(grade.upper())
    spectrum = at_reference * (n / REFERENCE_FREQUENCY) ** -2.0
    # The variance a^2 / 2 of each wave equals its part of the one-sided spectrum.
    amplitudes = np.sqrt(2.0 * spectrum / length)
    phases = np.random.default_rng(seed).uniform(0.0, 2.0 * math.pi, len(n))
    profile = np.cos(2.0 * math.pi * s[:, None] * n + phases) @ amplitudes
    # Fade in and out with zero slope: (1 - cos) / 2.
    ends = np.clip(np.minimum(s, length - s) / FADE_LENGTH, 0.0, 1.0)
    profile = profile * 0.5 * (1.0 - np.cos(math.pi * ends))
    # The samples are dense enough that the spline exceeds them by less than 0.5 % of their range.
    heights = profile + math.tan(slope) * (at + s)
    return SmoothGround(at + s, None, heights, end_slope=math.tan(slope), quiet=True)


def _sample(
    z: Callable[..., Any], x: ArrayLike, y: ArrayLike | None, error: float, spacing: float | None
) -> tuple[Floats, Floats | None, Floats]:
    """Sample a height function so densely that its spline differs from it by at most `error` (m).

    Parameters
    ----------
    z
        Function of x (m), or of x and y (m), that returns the height (m).
    x, y
        Coordinates of which the first and the last value are used (m); y is None for a function of x.
    error
        Tolerated difference between function and spline, m.
    spacing
        Largest distance between the points of their comparison, m; None for the default.

    Returns
    -------
    tuple
        Coordinates x (n,), coordinates y (m,) or None, and heights (n,) or (n, m), all in m.
    """
    ends = [_ends("x", x)] if y is None else [_ends("x", x), _ends("y", y)]
    if not (math.isfinite(error) and error > 0.0):
        raise ParameterError(f"road: error = {error} m must be a positive length.")
    _check_arguments(z, len(ends))
    points = _comparison_counts([high - low for low, high in ends], spacing)
    counts = [8] * len(ends)
    while max(counts) <= MAX_ROAD_SAMPLES:
        axes = [np.linspace(*end, count + 1) for end, count in zip(ends, counts, strict=True)]
        ground = SmoothGround(
            axes[0], None if y is None else axes[1], _evaluate(z, axes), quiet=True
        )
        between = [_between(a, count) for a, count in zip(axes, points, strict=True)]
        # Error of one axis alone: compare between the samples along this axis, at samples of the other one.
        worst = [
            _difference(z, ground, [b if k == axis else a for k, a in enumerate(axes)])
            for axis, b in enumerate(between)
        ]
        if max(worst) <= error and len(axes) > 1:
            # Compare between the samples along both axes: a bump there needs more samples along both.
            worst = [_difference(z, ground, between)] * len(axes)
        if max(worst) <= error:
            return axes[0], None if y is None else axes[1], ground.z
        counts = [2 * count if w > error else count for count, w in zip(counts, worst, strict=True)]
    raise ParameterError(
        f"road: with {MAX_ROAD_SAMPLES} samples the spline still differs from the function by "
        f"{max(worst):.2g} m; "
        "it has steps or kinks. Increase `error`, or shorten the road."
    )


def _comparison_counts(lengths: list[float], spacing: float | None) -> list[int]:
    """Return the number of irregular comparison points along each axis of a road, given its `lengths` (m)."""
    if spacing is None:
        share = MAX_COMPARISONS / math.prod(lengths)
        spacing = max(COMPARISON_SPACING, GOLDEN_RATIO * share ** (-1.0 / len(lengths)))
    elif not (math.isfinite(spacing) and spacing > 0.0):
        raise ParameterError(f"road: spacing = {spacing} m must be a positive length.")
    # The largest distance between neighbours is the golden ratio times the mean distance.
    return [math.ceil(GOLDEN_RATIO * length / spacing) for length in lengths]


def _between(axis: Floats, count: int) -> Floats:
    """Return the coordinates (m) at which a function is compared with the spline through samples at `axis`.

    They are the midpoints of the intervals, at which the error of a spline is largest, and at least `count`
    irregular points. The irregular points, on average at least one per interval, detect waves and bumps that
    are zero at all samples and midpoints.
    """
    count = max(count, len(axis) - 1)
    i = np.arange(count)
    irregular = axis[0] + (axis[-1] - axis[0]) * (i + GOLDEN_RATIO * i % 1.0) / count
    return np.sort(np.concatenate([0.5 * (axis[1:] + axis[:-1]), irregular]))


def _difference(z: Callable[..., Any], ground: SmoothGround, axes: list[Floats]) -> float:
    """Return the largest difference (m) between a function and its spline on the grid with axes `axes`."""
    parts = math.ceil(math.prod(map(len, axes)) / MAX_COMPARISONS)
    worst = 0.0
    # In parts, because all points of a large grid at once would need too much memory.
    for part in np.array_split(axes[0], parts):
        grid = np.meshgrid(part, *axes[1:], indexing="ij")
        heights = _evaluate(z, [part, *axes[1:]])
        worst = max(worst, float(np.abs(ground.height(*grid) - heights).max()))
    return worst


def _ends(name: str, values: ArrayLike) -> tuple[float, float]:
    """Return the first and the last of ascending coordinates (m).

    `ParameterError` with the `name` of the coordinate is raised if these are not finite or do not ascend.
    """
    numbers = np.ravel(real_numbers(f"road: {name}", values))
    if len(numbers) < 2 or not np.isfinite(numbers).all() or not numbers[0] < numbers[-1]:
        raise ParameterError(f"road: {name} must begin and end with finite, ascending numbers.")
    return float(numbers[0]), float(numbers[-1])


def _check_arguments(z: Callable[..., Any], count: int) -> None:
    """Raise `TerrainError` if a function does not accept `count` arguments (1: x, 2: x and y)."""
    try:
        signature = inspect.signature(z)
    except (TypeError, ValueError):
        # Functions written in C need not have a signature.
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        way = (
            "a function of x and y needs y="
            if count == 1
            else "with y=, z is a function of x and y"
        )
        raise TerrainError(
            f"road: the function does not accept its arguments ({error}); {way}."
        ) from error


def _evaluate(z: Callable[..., Any], axes: list[Floats]) -> Floats:
    """Return the heights (m) of a function on the grid with coordinates `axes` (one or two arrays, m).

    The function is called with arrays, or point by point if it does not accept arrays.
    """
    grid = np.meshgrid(*axes, indexing="ij")
    what = "road: the heights that the function returns"
    try:
        heights = np.broadcast_to(real_numbers(what, z(*grid)), grid[0].shape)
    except (TypeError, ValueError):
        # The function does not accept arrays, as math.sin or `0.1 if x > 5 else 0`.
        places = zip(*(coordinates.ravel().tolist() for coordinates in grid), strict=True)
        try:
            values = [z(*place) for place in places]
        except (TypeError, ValueError) as error:
            raise TerrainError(
                f"road: the function fails at a point of the road: {error}."
            ) from error
        numbers = real_numbers(what, values)
        if numbers.ndim != 1:
            raise TerrainError("road: the function must return one height per point.") from None
        heights = numbers.reshape(grid[0].shape)
    if not np.isfinite(heights).all():
        raise TerrainError("road: the function returns heights that are not finite numbers.")
    return heights
