"""Smooth ground: heights interpolated by cubic splines, with one polynomial patch per grid cell.

1. `spline_cells` interpolates along one axis: cubic polynomials with continuous curvature between the
   samples, and straight lines beyond the first and the last sample. It is applied along x, then along y,
   and yields the polynomial coefficients of all patches.
2. `SmoothGround` is the terrain whose features are these patches. The borders of a patch are the sides of
   its rectangle. A plane near the patch, with bounds of the deviation from it, lets the contact search
   exclude patches that a wheel cannot touch.

The ground is unlimited: beyond the samples it continues with the slope at the border.
"""

import math
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from draisine.algebra.patch import (
    PATCH,
    PATCH_COEFFICIENTS,
    PATCH_DEGREE,
    PATCH_HIGH,
    PATCH_LOW,
    PATCH_ORIGIN,
    PATCH_SCALE,
    Heights,
    evaluate_patch,
)
from draisine.algebra.scalar import Floats
from draisine.errors import TerrainError
from draisine.terrain.feature import Feature, Features, Ints, ObstacleMotion, block_starts
from draisine.terrain.terrain import Terrain, box_distances

MAX_OVERSHOOT = 0.01
"""Overshoot of a spline beyond its data, as a fraction of the range of the heights, above which a warning is
issued. A larger overshoot probably comes from steps in the data.
"""

UNLIMITED = 1e9
"""Large finite number (m, or dimensionless) that represents infinity, because infinity times zero would be
NaN in the products of the contact search.
"""

OVERSHOOT_SAMPLES = 8
"""Number of intervals per cell and axis in the grid on which the overshoot of the spline is measured."""


class SmoothWarning(UserWarning):
    """Warning that smooth ground differs from its data, or is too curved for the contact search.

    The spline overshoots the data, or a patch is so strongly curved that a wheel may touch it twice.
    """


class SmoothGround(Terrain):
    """A terrain of heights z(x, y) or z(x) that cubic splines interpolate.

    Its features are polynomial patches, one per grid cell, with the names "patch i j". The index i counts
    along x and j along y; j varies fastest.

    Parameters
    ----------
    x
        Ascending coordinates (n,), m.
    y
        Ascending coordinates (m,), m; None if the heights do not depend on y.
    z
        Heights (n, m) with z[i, j] at x[i], y[j], or heights (n,) with z[i] at x[i], m.
    end_slope
        Slope dz/dx at the first and the last x, with which the ground continues beyond them; beyond its sides
        (first and last y) the ground is then level across. By default the slopes follow from the spline.
    quiet
        Whether to suppress the warning about overshoot.

    Raises
    ------
    TerrainError
        If the coordinates do not ascend, or the heights do not match them or are not finite.

    Warns
    -----
    SmoothWarning
        If the spline overshoots the heights by more than 1 % of their range.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike | None,
        z: ArrayLike,
        *,
        end_slope: float | None = None,
        quiet: bool = False,
    ) -> None:
        self.x = _ascending("x", x)
        self.y = None if y is None else _ascending("y", y)
        self.z = real_numbers("smooth ground: the heights", z)
        expected = (len(self.x),) if self.y is None else (len(self.x), len(self.y))
        if self.z.shape != expected:
            raise TerrainError(
                f"smooth ground: heights of shape {self.z.shape} do not match {expected}, one per coordinate."
            )
        if not np.isfinite(self.z).all():
            raise TerrainError("smooth ground: the heights must be finite numbers.")
        along_x = spline_cells(self.x, self.z.reshape(len(self.x), -1), end_slope)
        order = PATCH_DEGREE + 1
        if self.y is None:
            self.coefficients = np.zeros((len(along_x), 1, order, order))
            self.coefficients[:, 0, :, 0] = along_x[:, :, 0]
        else:
            side_slope = None if end_slope is None else 0.0
            along_y = spline_cells(self.y, np.moveaxis(along_x, 2, 0), side_slope)
            self.coefficients = np.transpose(along_y, (2, 0, 3, 1)).copy()
        if not quiet:
            self._warn_overshoot()

    @property
    def shape(self) -> tuple[int, int]:
        """The number of patches along x and along y, including the continuations beyond the samples."""
        return self.coefficients.shape[0], self.coefficients.shape[1]

    # --- features

    def __len__(self) -> int:
        return int(np.prod(self.shape))

    def __getitem__(self, k: int) -> Feature:
        if not 0 <= k < len(self):
            raise IndexError(f"feature {k} of {len(self)}")
        return self.pick([k]).one(0, self.name(k))

    def name(self, k: int) -> str:
        """Return the name "patch i j" of the patch with index k."""
        i, j = divmod(k, self.shape[1])
        return f"patch {i} {j}"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features in this terrain: patches only."""
        return frozenset({"patch"})

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The prescribed motions of the features: empty, because smooth ground is fixed."""
        return ()

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the patches with the indices `ks` as arrays of features."""
        return patch_features(self.cells(np.asarray(ks, np.int64)))

    def cells(self, ks: Ints) -> Floats:
        """Return the polynomials (n, PATCH) of the patches with the indices `ks`, see `algebra.patch`."""
        i, j = np.divmod(ks, self.shape[1])
        cells = np.zeros((len(ks), PATCH))
        for axis, (grid, index) in enumerate(((self.x, i), (self.y, j))):
            low, high, origin, scale = _windows(grid)
            cells[:, PATCH_LOW][:, axis] = low[index]
            cells[:, PATCH_HIGH][:, axis] = high[index]
            cells[:, PATCH_ORIGIN][:, axis] = origin[index]
            cells[:, PATCH_SCALE][:, axis] = scale[index]
        cells[:, PATCH_COEFFICIENTS] = self.coefficients[i, j].reshape(len(ks), -1)
        return cells

    def height(self, x: ArrayLike, y: ArrayLike = 0.0) -> Floats:
        """Return the height of the ground at points with the coordinates x, y.

        Parameters
        ----------
        x, y
            Coordinates (m); arrays are broadcast against each other.

        Returns
        -------
        ndarray
            Heights (m) in the shape of the broadcast coordinates.

        Examples
        --------
        >>> float(SmoothGround([0, 1, 2], None, [0.0, 1.0, 2.0]).height(3.0))
        3.0
        """
        xs, ys = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        values: Floats = np.asarray(self._evaluate(xs.ravel(), ys.ravel()).h)
        return values.reshape(xs.shape)

    def normal(self, x: float, y: float = 0.0) -> Floats:
        """Return the unit normal of the ground at a point, out of the ground.

        Parameters
        ----------
        x, y
            Coordinates of the point (m).

        Returns
        -------
        ndarray
            Unit vector (3,) in world axes.

        Examples
        --------
        >>> normal = SmoothGround([0, 1, 2], None, [0.0, 0.75, 1.5]).normal(1.5)
        >>> (normal.round(12) + 0.0).tolist()
        [-0.6, 0.0, 0.8]
        """
        ground = self._evaluate(np.array([float(x)]), np.array([float(y)]))
        slopes = np.array([np.ravel(ground.x), np.ravel(ground.y)]).sum(axis=1)
        steep = np.array([*-slopes, 1.0])
        return np.asarray(steep / np.linalg.norm(steep))

    def _evaluate(self, xs: Floats, ys: Floats) -> Heights:
        """Return heights (m) and their derivatives by x and y at the points (xs, ys), arrays (n,) in m."""
        i = np.searchsorted(self.x, xs, side="right")
        j = 0 * i if self.y is None else np.searchsorted(self.y, ys, side="right")
        cells = self.cells(i * self.shape[1] + j)
        return evaluate_patch(cells.T, xs, ys)

    # --- the broad phase

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the patches within `reach` (m) of the point `centre`, see `Terrain.near`."""
        side = reach + np.broadcast_to(margin, 3)
        rows = _cells_between(self.x, centre[0] - side[0], centre[0] + side[0])
        columns = np.zeros(1, np.int64)
        if self.y is not None:
            columns = _cells_between(self.y, centre[1] - side[1], centre[1] + side[1])
        ks = (rows[:, None] * self.shape[1] + columns).ravel()
        low, high = self._boxes
        apart = box_distances(low[ks], high[ks], centre, margin)
        return ks[apart <= reach].tolist()

    @cached_property
    def _boxes(self) -> tuple[Floats, Floats]:
        """The lower and the upper corners, each (patches, 3) in m, of the bounding boxes of all patches."""
        every = self.pick(range(len(self)))
        return every.low, every.high

    def _warn_overshoot(self) -> None:
        """Warn if the spline overshoots the given heights by more than `MAX_OVERSHOOT` of their range."""
        low = float(self.z.min())
        high = float(self.z.max())
        inner = self.coefficients[1:-1]
        inner = inner if self.y is None else inner[:, 1:-1]
        u = np.linspace(0.0, 1.0, OVERSHOOT_SAMPLES + 1)
        powers = u[:, None] ** np.arange(PATCH_DEGREE + 1)
        heights = np.einsum("ijab,pa,qb->ijpq", inner, powers, powers)
        excess = max(float(heights.max()) - high, low - float(heights.min()))
        if excess > MAX_OVERSHOOT * (high - low) and excess > 0.0:
            warnings.warn(
                f"The smooth ground exceeds its data by {excess:.3g} m, {excess / (high - low):.0%} of their "
                "range: the data has steps or kinks. Sample it more finely, or use smooth=False.",
                SmoothWarning,
                stacklevel=4,
            )


def patch_features(cells: Floats) -> Features:
    """Return the terrain features of n patches, given their polynomials (n, PATCH).

    The borders of a feature are the sides of the patch's rectangle. Its coordinates (`Feature.numbers`) are a
    plane near the patch and bounds of the deviation of height and normal from this plane.
    """
    low, high = cells[:, PATCH_LOW], cells[:, PATCH_HIGH]
    borders = np.zeros((len(cells), 4, 7))
    for axis in range(2):
        borders[:, 2 * axis, axis] = -1.0
        borders[:, 2 * axis, 6] = -low[:, axis]
        borders[:, 2 * axis + 1, axis] = 1.0
        borders[:, 2 * axis + 1, 6] = high[:, axis]
    exists = np.abs(borders[:, :, 6]) < UNLIMITED
    first = block_starts(exists.sum(axis=1))
    numbers, bottom, top = _bounds(cells)
    box = [np.where(np.abs(low) < UNLIMITED, low, -np.inf), bottom]
    box_high = [np.where(np.abs(high) < UNLIMITED, high, np.inf), top]
    return Features(
        (("patch", None),),
        np.zeros(len(cells), np.int64),
        numbers,
        borders[exists],
        first,
        np.column_stack(box),
        np.column_stack(box_high),
        cells,
    )


def real_numbers(what: str, values: Any) -> Floats:
    """Convert values to an array of floats; reject strings, complex numbers and ragged rows.

    Parameters
    ----------
    what
        Names of the calling function and of its argument, for the error message.
    values
        Numbers in an array or in nested lists.

    Returns
    -------
    ndarray
        The values as floats, in the same shape.

    Raises
    ------
    TerrainError
        If the values are strings or complex numbers, or if rows have different lengths.

    Examples
    --------
    >>> real_numbers("road: z", [0, 1]).tolist()
    [0.0, 1.0]
    """
    try:
        numbers = np.asarray(values)
        # NumPy would convert strings of digits, and drop the imaginary part of complex numbers.
        is_convertible = numbers.dtype.kind in "biufO"
        reals = numbers.astype(float) if is_convertible else None
    except (TypeError, ValueError):
        reals = None
    if reals is None:
        raise TerrainError(f"{what} must be real numbers (m) in rows of equal length.")
    return reals


def spline_cells(x: Floats, values: Floats, end_slope: float | None = None) -> Floats:
    """Return the polynomial coefficients of an interpolating cubic spline with straight continuations.

    Parameters
    ----------
    x
        Ascending coordinates (n,), m.
    values
        Values (n, ...) to interpolate at these coordinates.
    end_slope
        Slope of the spline at x[0] and x[-1]; by default it follows from the not-a-knot condition.

    Returns
    -------
    ndarray
        Coefficients (n + 1, 4, ...) in ascending powers of u. The first entry is the continuation before
        x[0], the last one the continuation behind x[-1]. The entries in between are the intervals, with
        u = 0 at the first and u = 1 at the last point of an interval.

    Examples
    --------
    >>> spline_cells(np.array([0.0, 2.0]), np.array([1.0, 3.0]))[1].tolist()
    [1.0, 2.0, 0.0, 0.0]
    """
    from scipy.interpolate import CubicSpline

    ends: Any = "not-a-knot"
    if end_slope is not None:
        ends = [(1, np.full(values.shape[1:], end_slope))] * 2
    spline = CubicSpline(x, values, bc_type=ends)
    lengths = np.diff(x)
    cells = np.zeros((len(x) + 1, PATCH_DEGREE + 1, *values.shape[1:]))
    ascending = spline.c[::-1]
    for power in range(PATCH_DEGREE + 1):
        scale = (lengths**power).reshape(-1, *[1] * (values.ndim - 1))
        cells[1:-1, power] = ascending[power] * scale
    cells[0, 0] = values[0]
    cells[0, 1] = spline(x[0], 1) * lengths[0]
    cells[-1, 0] = values[-1]
    cells[-1, 1] = spline(x[-1], 1) * lengths[-1]
    return cells


def facets(cells: Floats, low: Floats, high: Floats, most: int = 40) -> tuple[Floats, Ints]:
    """Return triangles that approximate patches, for drawing.

    Parameters
    ----------
    cells
        Polynomials (n, PATCH) of patches that belong to one smooth ground.
    low, high
        Corners (2) of the rectangle in x and y (m) in which the patches are drawn.
    most
        Largest number of intervals into which the rectangle is divided along each axis. If the patches are
        straight along the other axis, the limit is a quarter of its square. Narrow patches are merged, wide
        patches are divided.

    Returns
    -------
    points
        Corners (m, 3) of the triangles, in metres.
    triangles
        Indices of points (t, 3), counter-clockwise seen from above.
    """
    begins = [np.unique(cells[:, PATCH_LOW][:, axis]) for axis in range(2)]
    lines = []
    straight = [not cells[:, PATCH_SCALE][:, axis].any() for axis in range(2)]
    for axis, begin in enumerate(begins):
        # A road needs one interval across; more intervals along it then show its waves.
        limit = most * most // 4 if straight[1 - axis] else most
        inner = begin[(begin > low[axis]) & (begin < high[axis])]
        edges = np.concatenate([low[axis : axis + 1], inner, high[axis : axis + 1]])
        parts = 1 if straight[axis] else max(1, limit // (len(edges) - 1))
        fine = np.interp(np.arange((len(edges) - 1) * parts + 1) / parts, range(len(edges)), edges)
        kept = fine[:: math.ceil((len(fine) - 1) / limit)]
        lines.append(kept if kept[-1] == fine[-1] else np.append(kept, fine[-1]))
    x, y = np.meshgrid(*lines, indexing="ij")
    # Find the patch of each point. Some points have none: the search along a path may have left out patches
    # of the rectangle.
    table = np.full((len(begins[0]), len(begins[1])), -1)
    rows, columns = (np.searchsorted(begins[k], cells[:, PATCH_LOW][:, k]) for k in range(2))
    table[rows, columns] = np.arange(len(cells))
    i, j = (
        np.searchsorted(begin, place, side="right") - 1
        for begin, place in zip(begins, (x, y), strict=True)
    )
    owner = np.where((i >= 0) & (j >= 0), table[np.maximum(i, 0), np.maximum(j, 0)], -1).ravel()
    places = np.column_stack([x.ravel(), y.ravel()])
    owner = np.where((places <= cells[owner][:, PATCH_HIGH]).all(axis=1), owner, -1)
    z = evaluate_patch(cells[owner].T, *places.T).h
    triangles = grid_triangles(*x.shape)
    triangles = triangles[(owner[triangles] >= 0).all(axis=1)]
    return np.column_stack([places, z]), triangles


def grid_triangles(rows: int, columns: int) -> Ints:
    """Return the triangles (2 per cell) between the points of a grid, as indices (m, 3) of the points.

    The points are numbered row by row.

    >>> grid_triangles(2, 2).tolist()
    [[0, 2, 3], [0, 3, 1]]
    """
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij")
    corner = (i * columns + j).ravel()
    lower = np.stack([corner, corner + columns, corner + columns + 1], axis=1)
    upper = np.stack([corner, corner + columns + 1, corner + 1], axis=1)
    return np.stack([lower, upper], axis=1).reshape(-1, 3)


def _windows(grid: Floats | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the cells along one axis: lower ends (m), upper ends (m), origins (m) and inverse lengths (1/m).

    `grid` are the n coordinates of the samples (m); the n + 1 cells include both continuations. None stands
    for an axis on which the heights do not depend: one unlimited cell.
    """
    if grid is None:
        return np.array([-UNLIMITED]), np.array([UNLIMITED]), np.zeros(1), np.zeros(1)
    lengths = np.diff(grid)
    low = np.concatenate([[-UNLIMITED], grid])
    high = np.concatenate([grid, [UNLIMITED]])
    origin = np.concatenate([grid[:1], grid])
    scale = 1.0 / np.concatenate([lengths[:1], lengths, lengths[-1:]])
    return low, high, origin, scale


def _cells_between(grid: Floats, low: float, high: float) -> Ints:
    """Return the indices of the cells of a grid that overlap the interval from `low` to `high` (m)."""
    first = int(np.searchsorted(grid, low, side="left"))
    last = int(np.searchsorted(grid, high, side="right"))
    return np.arange(first, last + 1)


def bernstein_matrix(degree: int) -> Floats:
    """Return the square matrix that converts power coefficients to Bernstein coefficients on [0, 1]."""
    rows = [
        [math.comb(k, i) / math.comb(degree, i) if i <= k else 0.0 for i in range(degree + 1)]
        for k in range(degree + 1)
    ]
    return np.array(rows)


def _bounds(cells: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the coordinates (n, 6) of patches, see `Feature.numbers`, and bounds of their heights.

    The bounds are a lower and an upper one, each (n,) in m. A polynomial on [0, 1] lies between its smallest
    and its largest Bernstein coefficient; this bounds the heights, the distances from the tangent plane at
    the middle of a patch, and the slopes. A continuation beyond the samples has unlimited bounds, unless it
    is a plane.
    """
    order = PATCH_DEGREE + 1
    c = cells[:, PATCH_COEFFICIENTS].reshape(-1, order, order)
    scale = cells[:, PATCH_SCALE]
    is_bounded = (cells[:, PATCH_LOW] > -UNLIMITED) & (cells[:, PATCH_HIGH] < UNLIMITED)
    # Use the tangent plane at the middle of a patch; for a continuation, the tangent plane at its beginning.
    middle = np.where(is_bounded, 0.5 * (cells[:, PATCH_LOW] + cells[:, PATCH_HIGH]), 0.0)
    middle = np.where(is_bounded, middle, cells[:, PATCH_ORIGIN])
    ground = evaluate_patch(cells.T, *middle.T)
    steep = np.column_stack([-ground.x, -ground.y, np.ones(len(cells))])
    N = steep / np.linalg.norm(steep, axis=1)[:, None]
    d = N[:, 0] * middle[:, 0] + N[:, 1] * middle[:, 1] + N[:, 2] * ground.h

    # Height above the plane, as a polynomial over the rectangle of the patch.
    origin = cells[:, PATCH_ORIGIN]
    inverse = np.where(scale > 0.0, 1.0 / np.where(scale > 0.0, scale, 1.0), 0.0)
    above = c.copy()
    above[:, 0, 0] -= (d - N[:, 0] * origin[:, 0] - N[:, 1] * origin[:, 1]) / N[:, 2]
    above[:, 1, 0] += N[:, 0] / N[:, 2] * inverse[:, 0]
    above[:, 0, 1] += N[:, 1] / N[:, 2] * inverse[:, 1]
    B = bernstein_matrix(PATCH_DEGREE)
    powers = np.arange(order)
    along_u = powers[1:, None] * c[:, 1:, :] * scale[:, 0, None, None]
    along_v = powers[1:] * c[:, :, 1:] * scale[:, 1, None, None]
    b = bernstein_matrix(PATCH_DEGREE - 1)
    slope_u = np.einsum("ki,nij,lj->nkl", b, along_u, B) - ground.x[:, None, None]
    slope_v = np.einsum("ki,nij,lj->nkl", B, along_v, b) - ground.y[:, None, None]
    turn = np.hypot(*(np.abs(s).max(axis=(1, 2)) for s in (slope_u, slope_v)))
    off = np.abs(np.einsum("ki,nij,lj->nkl", B, above, B)).max(axis=(1, 2)) * N[:, 2]
    heights = np.einsum("ki,nij,lj->nkl", B, c, B)
    bottom = heights.min(axis=(1, 2))
    top = heights.max(axis=(1, 2))
    # A continuation beyond the samples is unlimited, so that the bounds on [0, 1] do not apply to it. An
    # exact plane, for example at the end of a road, keeps its plane without deviation.
    is_open = ~(is_bounded | (scale == 0.0)).all(axis=1)
    is_plane = np.abs(np.delete(c.reshape(len(c), -1), [0, order], axis=1)).max(axis=1) == 0.0
    off = np.where(is_open & ~is_plane, UNLIMITED, off)
    turn = np.where(is_open & ~is_plane, 2.0, turn)
    bottom = np.where(is_open, -np.inf, bottom)
    top = np.where(is_open, np.inf, top)
    numbers = np.column_stack([N, d, off, turn])
    return numbers, bottom, top


def _ascending(name: str, values: ArrayLike) -> Floats:
    """Return coordinates as an array (n,) in m.

    `TerrainError` with their `name` is raised if they are not at least two ascending finite numbers.
    """
    xs = real_numbers(f"smooth ground: {name}", values)
    if xs.ndim != 1 or len(xs) < 2 or not np.isfinite(xs).all() or (np.diff(xs) <= 0).any():
        raise TerrainError(
            f"smooth ground: {name} must be at least two finite numbers that ascend."
        )
    return xs
