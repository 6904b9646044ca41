"""Smooth ground: heights interpolated by cubic splines, one polynomial patch per cell of the grid.

1. `spline_cells` interpolates along one axis: cubic polynomials with continuous curvature between the
   samples, a straight continuation beyond the first and the last one. Applied along x, then along y, it
   yields the coefficients of all patches.
2. `SmoothGround` presents the patches as features: their polynomials, the lines of their rectangles as
   borders, and a plane with bounds by which the contact search excludes patches that a wheel cannot touch.

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
"""Largest accepted overshoot of the spline, as a fraction of the range of the heights; a larger one is
reported, because the data probably has steps.
"""

UNLIMITED = 1e9
"""Large finite number that replaces infinity, m or dimensionless; in products, infinity times zero would
not be a number.
"""

OVERSHOOT_SAMPLES = 8
"""Number of samples per cell and axis at which the overshoot of the spline is measured."""


class SmoothWarning(UserWarning):
    """Warning that smoothing changes the heights of a ground visibly."""


class SmoothGround(Terrain):
    """A ground of heights z(x, y) or z(x), interpolated by cubic splines.

    Its ground features are the patches, one per grid cell, numbered along x, then along y, with the names
    "patch i j".

    Parameters
    ----------
    x
        Ascending coordinates (m), (n,).
    y
        Ascending coordinates (m), (m,); None if the heights do not depend on y.
    z
        Heights z[i, j] at x[i], y[j], or z[i] at x[i] (m).
    end_slope
        Slope along x at both ends, with which the ground continues beyond them; across its sides the ground
        is then level. By default the spline continues with its own slopes.
    quiet
        Whether to suppress the warning about overshoot.

    Warns
    -----
    SmoothWarning
        If the spline exceeds the heights by more than 1 % of their range.
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
        """The number of patches along x and y, including those beyond the samples."""
        return self.coefficients.shape[0], self.coefficients.shape[1]

    # --- features

    def __len__(self) -> int:
        return int(np.prod(self.shape))

    def __getitem__(self, k: int) -> Feature:
        if not 0 <= k < len(self):
            raise IndexError(f"feature {k} of {len(self)}")
        return self.pick([k]).one(0, self.name(k))

    def name(self, k: int) -> str:
        """Return the name of patch k."""
        i, j = divmod(k, self.shape[1])
        return f"patch {i} {j}"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of the ground's features: patches only."""
        return frozenset({"patch"})

    @property
    def motions(self) -> tuple[ObstacleMotion, ...]:
        """The motions of the features; empty, because smooth ground does not move."""
        return ()

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the patches with indices ks."""
        return patch_features(self.cells(np.asarray(ks, np.int64)))

    def cells(self, ks: Ints) -> Floats:
        """Return the polynomials (n, PATCH) of patches with indices ks."""
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
        """Return the heights (m) at coordinates x, y (m), which are broadcast.

        Examples
        --------
        >>> float(SmoothGround([0, 1, 2], None, [0.0, 1.0, 2.0]).height(3.0))
        3.0
        """
        xs, ys = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        values: Floats = np.asarray(self._evaluate(xs.ravel(), ys.ravel()).h)
        return values.reshape(xs.shape)

    def normal(self, x: float, y: float = 0.0) -> Floats:
        """Return the unit normal (3,) at coordinates x, y (m), out of the ground.

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
        """Return heights and derivatives at coordinates xs, ys (n,), m."""
        i = np.searchsorted(self.x, xs, side="right")
        j = 0 * i if self.y is None else np.searchsorted(self.y, ys, side="right")
        cells = self.cells(i * self.shape[1] + j)
        return evaluate_patch(cells.T, xs, ys)

    # --- the broad phase

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the patches within reach of a point, see `Terrain.near`."""
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
        """The lower and upper corners of the bounding boxes of all patches (m)."""
        every = self.pick(range(len(self)))
        return every.low, every.high

    def _warn_overshoot(self) -> None:
        """Warn if the spline exceeds the heights by more than `MAX_OVERSHOOT` of their range."""
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
    """Return patches as features: their polynomials (n, PATCH), the lines of their rectangles as borders,
    and planes with bounds.
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
    """Return values as an array of floating-point numbers.

    Parameters
    ----------
    what
        Name of the function and its argument, for the error message.
    values
        Numbers in arrays or lists of any shape.

    Raises
    ------
    TerrainError
        If they are strings, complex, or rows of different lengths.

    Examples
    --------
    >>> real_numbers("road: z", [0, 1]).tolist()
    [0.0, 1.0]
    """
    try:
        numbers = np.asarray(values)
        # Strings of digits and complex numbers could be converted: text, or a lost imaginary part.
        is_convertible = numbers.dtype.kind in "biufO"
        reals = numbers.astype(float) if is_convertible else None
    except (TypeError, ValueError):
        reals = None
    if reals is None:
        raise TerrainError(f"{what} must be real numbers (m) in rows of equal length.")
    return reals


def spline_cells(x: Floats, values: Floats, end_slope: float | None = None) -> Floats:
    """Return the coefficients of an interpolating cubic spline and of its straight continuations.

    Parameters
    ----------
    x
        Ascending coordinates (n,), m.
    values
        Values (n, ...) at these coordinates.
    end_slope
        Slope at both ends; by default it follows from the spline.

    Returns
    -------
    ndarray
        Polynomial coefficients (n + 1, 4, ...) in ascending powers of u: of the continuation before x[0],
        of each interval from its first (u = 0) to its last point (u = 1), and of the continuation behind
        x[-1].

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
        Polynomials of patches (n, PATCH) of one ground.
    low, high
        Corners (2) of the rectangle in x and y to which the patches are limited (m).
    most
        Largest number of parts into which the rectangle is divided along each axis; a quarter of its square
        if the patches are straight along the other axis. Small patches are merged, large ones are divided.

    Returns
    -------
    points
        Corners of the triangles (m, 3), in metres.
    triangles
        Indices of points (t, 3), counter-clockwise seen from above.
    """
    begins = [np.unique(cells[:, PATCH_LOW][:, axis]) for axis in range(2)]
    lines = []
    straight = [not cells[:, PATCH_SCALE][:, axis].any() for axis in range(2)]
    for axis, begin in enumerate(begins):
        # A road needs one part across, so that more parts along it show its waves.
        limit = most * most // 4 if straight[1 - axis] else most
        inner = begin[(begin > low[axis]) & (begin < high[axis])]
        edges = np.concatenate([low[axis : axis + 1], inner, high[axis : axis + 1]])
        parts = 1 if straight[axis] else max(1, limit // (len(edges) - 1))
        fine = np.interp(np.arange((len(edges) - 1) * parts + 1) / parts, range(len(edges)), edges)
        kept = fine[:: math.ceil((len(fine) - 1) / limit)]
        lines.append(kept if kept[-1] == fine[-1] else np.append(kept, fine[-1]))
    x, y = np.meshgrid(*lines, indexing="ij")
    # Find the patch of each point; the search around a path need not return all patches of a
    # rectangle.
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
    """Return the triangles (2 per cell, indices of points) between the points of a grid, numbered row by
    row.

    >>> grid_triangles(2, 2).tolist()
    [[0, 2, 3], [0, 3, 1]]
    """
    i, j = np.meshgrid(np.arange(rows - 1), np.arange(columns - 1), indexing="ij")
    corner = (i * columns + j).ravel()
    lower = np.stack([corner, corner + columns, corner + columns + 1], axis=1)
    upper = np.stack([corner, corner + columns + 1, corner + 1], axis=1)
    return np.stack([lower, upper], axis=1).reshape(-1, 3)


def _windows(grid: Floats | None) -> tuple[Floats, Floats, Floats, Floats]:
    """Return low and high end (m), origin (m) and inverse length (1/m) of all cells along one axis."""
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
    """Return the matrix that maps power coefficients to Bernstein coefficients on [0, 1]."""
    rows = [
        [math.comb(k, i) / math.comb(degree, i) if i <= k else 0.0 for i in range(degree + 1)]
        for k in range(degree + 1)
    ]
    return np.array(rows)


def _bounds(cells: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the coordinates of patches (n, 6), see `Feature.numbers`, and their lowest and highest heights
    (n,), in m.

    Bernstein coefficients bound a polynomial: here the height above the tangent plane at the middle, and
    the slopes. Continuations along one axis that are curved along the other one are unlimited.
    """
    order = PATCH_DEGREE + 1
    c = cells[:, PATCH_COEFFICIENTS].reshape(-1, order, order)
    scale = cells[:, PATCH_SCALE]
    is_bounded = (cells[:, PATCH_LOW] > -UNLIMITED) & (cells[:, PATCH_HIGH] < UNLIMITED)
    # Use the plane through the middle of a patch; straight continuations use the plane at their
    # beginning.
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
    # Beyond the samples the bounds on [0, 1] are not valid: the extent of a continuation is
    # unlimited. A continuation that is exactly a plane, as that of a road, keeps its plane.
    is_open = ~(is_bounded | (scale == 0.0)).all(axis=1)
    is_plane = np.abs(np.delete(c.reshape(len(c), -1), [0, order], axis=1)).max(axis=1) == 0.0
    off = np.where(is_open & ~is_plane, UNLIMITED, off)
    turn = np.where(is_open & ~is_plane, 2.0, turn)
    bottom = np.where(is_open, -np.inf, bottom)
    top = np.where(is_open, np.inf, top)
    numbers = np.column_stack([N, d, off, turn])
    return numbers, bottom, top


def _ascending(name: str, values: ArrayLike) -> Floats:
    """Return coordinates (n,) as an array; raise if they are invalid."""
    xs = real_numbers(f"smooth ground: {name}", values)
    if xs.ndim != 1 or len(xs) < 2 or not np.isfinite(xs).all() or (np.diff(xs) <= 0).any():
        raise TerrainError(
            f"smooth ground: {name} must be at least two finite numbers that ascend."
        )
    return xs
