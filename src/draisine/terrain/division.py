"""Division of strongly curved smooth patches into parts that touch a wheel at most once.

Problem: the contact search finds one minimum of the distance per patch. If the ground is more curved than
the wheel, a wheel may touch one patch at two points.

Bound: a ball of radius R touches the ground at two points P and Q. In the vertical plane through both, the
ground is a curve of curvature k, and the ball a circle of curvature 1/r >= 1/R. The sine of the slope angle
of a curve changes by the integral of its curvature over the horizontal distance, and both curves have the
same slopes at P and Q: the mean of k between them is 1/r. Next to P and Q the ground is outside the circle,
so that k <= 1/r. Hence k has a maximum between P and Q, above 1/R. A patch without such a maximum along any
line touches the ball at most once. For other wheels R is the largest radius of curvature, `Surface.flattest`.

If k increases along a line except for slopes of at most L against this direction, it exceeds 1/r by at most
e = L (s - t) at the distance t from P, because it must return to 1/r within the length s of the line. The
penetration of a missed contact at Q is the integral of e (s - t), at most L s^3 / 3.

Method, `divide_cells`:

1. Bound the first, second and third derivatives of each patch in 32 directions by Bernstein coefficients.
   Between the directions Taylor's formula extends the bounds (`_depths`).
2. Divide each patch whose bound of the penetration exceeds `MAX_MISSED_DEPTH`: at the maximum of the
   curvature, or in the middle if the curvature has no maximum (`_split_points`). The parts keep the
   polynomial of the patch over smaller rectangles (`restrict_cells`).
3. Repeat steps 1 and 2 with the parts until all bounds are met or the parts reach their smallest size.
"""

import math
import warnings
from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from draisine.algebra.patch import (
    PATCH_COEFFICIENTS,
    PATCH_DEGREE,
    PATCH_HIGH,
    PATCH_LOW,
    PATCH_ORIGIN,
    PATCH_SCALE,
    evaluate_patch,
)
from draisine.algebra.scalar import Floats
from draisine.terrain.assembly import Joined, MovingGround
from draisine.terrain.feature import Feature, Features, Ints, block_starts, concatenate_ranges
from draisine.terrain.smooth import (
    UNLIMITED,
    SmoothGround,
    SmoothWarning,
    bernstein_matrix,
    patch_features,
)
from draisine.terrain.terrain import Terrain, box_distances

DIRECTIONS = 32
"""Number of horizontal directions in which the curvature of a patch is bounded. They are 5.6 degrees apart;
Taylor's formula for the directions in between adds at most 1 % of the largest derivatives.
"""

MAX_MISSED_DEPTH = 1e-4
"""Tolerated penetration at a contact that the search misses, as a fraction of the wheel's radius of
curvature. The value allows 0.03 mm for a radius of 0.3 m, which is less than the deformation of a tyre. The
number of parts is inversely proportional to its cube root.
"""

REPORTED_DEPTH = 1e-3
"""Penetration at a missed contact, as a fraction of the wheel's radius of curvature, above which
`divide_ground` warns. It applies to patches that already have the largest number of parts, `MAX_PARTS`.
"""

MAX_PARTS = 64
"""Largest number of parts into which a patch is divided along x, and along y. It limits memory and time."""

MAX_ASPECT = 4.0
"""Largest ratio of the side lengths of a part; in longer strips the bounds of the derivatives stay wide."""

ZOOMS = 8
"""Number of nested grids that locate the curvature maximum along a line. Each grid has an eighth of the
length of the previous one, so that the last one locates the maximum to 1e-7 of the line.
"""

CELLS_AT_ONCE = 1024
"""Number of patches per batch in the computation of the curvature bounds; one batch needs about 50 MB."""

PART = " part "
"""Text between the name of a patch and the number of its part in the name of a feature."""


class DividedGround(Terrain):
    """A smooth ground with the same heights, whose strongly curved patches are divided into parts.

    The features are the parts, with the names "patch i j part k". Undivided patches keep their names.

    Parameters
    ----------
    ground
        Smooth ground before the division.
    parts
        Polynomials (n, PATCH) of all parts in the order of their patches, see `algebra.patch`.
    owner
        Index (n,) of the patch to which each part belongs, ascending.
    """

    def __init__(self, ground: SmoothGround, parts: Floats, owner: Ints) -> None:
        self.ground = ground
        self.parts = parts
        self.owner = owner
        self.first = block_starts(np.bincount(owner, minlength=len(ground)))

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: int) -> Feature:
        if not 0 <= k < len(self):
            raise IndexError(f"feature {k} of {len(self)}")
        return self.pick([k]).one(0, self.name(k))

    def name(self, k: int) -> str:
        """Return the name of part k."""
        patch = int(self.owner[k])
        name = self.ground.name(patch)
        if self.first[patch + 1] - self.first[patch] == 1:
            return name
        return f"{name}{PART}{k - int(self.first[patch])}"

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of features in this terrain: patches only."""
        return self.ground.kinds

    @property
    def motions(self) -> tuple[()]:
        """The prescribed motions of the features: empty, because smooth ground is fixed."""
        return ()

    def pick(self, ks: Sequence[int]) -> Features:
        """Return the parts with the indices `ks` as arrays of features."""
        return patch_features(self.parts[np.asarray(ks, np.int64)])

    def near(
        self, centre: Floats, reach: float, t: float = 0.0, margin: float | Floats = 0.0
    ) -> list[int]:
        """Return the indices of the parts within `reach` (m) of the point `centre`, see `Terrain.near`."""
        patches = np.array(self.ground.near(centre, reach, t, margin), np.int64)
        counts = self.first[patches + 1] - self.first[patches]
        ks = concatenate_ranges(self.first[patches], counts)
        low, high = self._boxes
        apart = box_distances(low[ks], high[ks], centre, margin)
        return ks[apart <= reach].tolist()

    @cached_property
    def _boxes(self) -> tuple[Floats, Floats]:
        """The lower and the upper corners, each (n, 3) in m, of the bounding boxes of all parts."""
        every = patch_features(self.parts)
        return every.low, every.high


@lru_cache(maxsize=16)
def divide_ground(terrain: Terrain, radius: float) -> Terrain:
    """Return a terrain in which each smooth patch touches a wheel at most once.

    Parameters
    ----------
    terrain
        Any terrain. A terrain without patches, or with patches that are less curved than the wheel, is
        returned unchanged.
    radius
        Largest radius of curvature of the wheels (m), see `Surface.flattest`.

    Returns
    -------
    Terrain
        Terrain with the same heights, whose strongly curved patches are divided into parts.

    Warns
    -----
    SmoothWarning
        If the smallest parts of a patch may still touch a wheel twice.

    Examples
    --------
    The parabola has the radius of curvature 0.5 m at its bottom:

    >>> x = np.linspace(-1.0, 1.0, 32)
    >>> parabola = SmoothGround(x, None, x**2)
    >>> divide_ground(parabola, 0.4) is parabola, len(divide_ground(parabola, 0.6)) > len(parabola)
    (True, True)
    """
    if isinstance(terrain, MovingGround):
        ground = divide_ground(terrain.ground, radius)
        return terrain if ground is terrain.ground else MovingGround(ground, terrain.motion)
    if isinstance(terrain, Joined):
        grounds = [divide_ground(ground, radius) for ground in terrain.grounds]
        is_same = all(a is b for a, b in zip(grounds, terrain.grounds, strict=True))
        return terrain if is_same else Joined(*grounds)
    if not isinstance(terrain, SmoothGround) or not radius > 0.0:
        return terrain
    cells = terrain.cells(np.arange(len(terrain)))
    parts, owner, unresolved = divide_cells(cells, radius)
    if len(unresolved):
        place = cells[unresolved[0]]
        middle = ", ".join(
            f"{axis} = {low:.3g} to {high:.3g} m"
            for axis, low, high in zip("xy", place[PATCH_LOW], place[PATCH_HIGH], strict=True)
            if max(abs(low), abs(high)) < UNLIMITED
        )
        warnings.warn(
            f"{len(unresolved)} cells of the smooth ground, first {terrain.name(unresolved[0])!r} "
            f"({middle}), are so strongly curved that a wheel may touch one of them twice, which would "
            "count as one contact. Reduce the heights or enlarge the cells; use smooth=False for edges.",
            SmoothWarning,
            stacklevel=2,
        )
    return terrain if len(parts) == len(terrain) else DividedGround(terrain, parts, owner)


def divide_cells(cells: Floats, radius: float) -> tuple[Floats, Ints, Ints]:
    """Divide patches until each part touches a wheel at most once.

    Parameters
    ----------
    cells
        Polynomials of patches (n, PATCH).
    radius
        Largest radius of curvature of the wheel (m).

    Returns
    -------
    parts
        Polynomials (m, PATCH) of the parts, in the order of their patches.
    owner
        Index (m,) of the patch to which each part belongs.
    unresolved
        Indices of the patches for which `MAX_PARTS` parts along an axis do not suffice.
    """
    owner = np.arange(len(cells))
    least = (cells[:, PATCH_HIGH] - cells[:, PATCH_LOW]) / MAX_PARTS
    finished: list[tuple[Floats, Ints]] = []
    unresolved = np.zeros(0, np.int64)
    while len(cells):
        axis, depth = _axis_to_divide(cells, radius)
        rows = np.arange(len(cells))
        sides = cells[:, PATCH_HIGH] - cells[:, PATCH_LOW]
        is_small = sides[rows, axis] <= least[owner, axis]
        is_done = (depth <= MAX_MISSED_DEPTH * radius) | is_small
        # Do not report continuations beyond the samples: their bound is valid for one cell length only.
        is_inside = (_is_bounded(cells) | (cells[:, PATCH_SCALE] == 0.0)).all(axis=1)
        is_reported = is_small & is_inside
        unresolved = np.union1d(unresolved, owner[is_reported & (depth > REPORTED_DEPTH * radius)])
        finished.append((cells[is_done], owner[is_done]))
        cells = cells[~is_done]
        axis = axis[~is_done]
        owner = np.repeat(owner[~is_done], 2)
        cells = _split(cells, axis, _split_points(cells, axis, radius))
    parts = np.concatenate([part for part, _ in finished])
    owners = np.concatenate([index for _, index in finished])
    order = np.lexsort((parts[:, PATCH_LOW][:, 1], parts[:, PATCH_LOW][:, 0], owners))
    return parts[order], owners[order], unresolved


def restrict_cells(cells: Floats, low: Floats, high: Floats) -> Floats:
    """Return patch polynomials restricted to smaller rectangles; the heights do not change.

    Parameters
    ----------
    cells
        Polynomials of patches (n, PATCH).
    low, high
        Lower and upper corners (n, 2) of the new rectangles (m). An unlimited side keeps its scale.

    Returns
    -------
    ndarray
        Polynomials (n, PATCH) with coordinates from 0 to 1 over the new rectangles.
    """
    order = PATCH_DEGREE + 1
    parts = cells.copy()
    c = cells[:, PATCH_COEFFICIENTS].reshape(-1, order, order)
    for axis in range(2):
        begin = low[:, axis]
        end = high[:, axis]
        scale = cells[:, PATCH_SCALE][:, axis]
        is_bounded = (begin > -UNLIMITED) & (end < UNLIMITED) & (scale > 0.0)
        origin = cells[:, PATCH_ORIGIN][:, axis]
        first = np.where(is_bounded, (begin - origin) * scale, 0.0)
        width = np.where(is_bounded, (end - begin) * scale, 1.0)
        c = np.einsum("nki,nij->nkj", _substitution(first, width), c).transpose(0, 2, 1)
        parts[:, PATCH_LOW][:, axis] = begin
        parts[:, PATCH_HIGH][:, axis] = end
        parts[:, PATCH_ORIGIN][:, axis] = np.where(is_bounded, begin, origin)
        parts[:, PATCH_SCALE][:, axis] = np.where(
            is_bounded, 1.0 / np.where(is_bounded, end - begin, 1.0), scale
        )
    parts[:, PATCH_COEFFICIENTS] = c.reshape(len(cells), order * order)
    return parts


def _is_bounded(cells: Floats) -> "np.typing.NDArray[np.bool_]":
    """Return for patches (n, PATCH) whether they are bounded along x and along y, shape (n, 2)."""
    return np.asarray((cells[:, PATCH_LOW] > -UNLIMITED) & (cells[:, PATCH_HIGH] < UNLIMITED))


def _substitution(first: Floats, width: Floats) -> Floats:
    """Return matrices (n, 4, 4) of the substitution u -> first + width u in cubic polynomials p(u).

    Each matrix maps the coefficients of p(u) to the coefficients of p(first + width u).
    """
    order = PATCH_DEGREE + 1
    S = np.zeros((len(first), order, order))
    for i in range(order):
        for k in range(i + 1):
            S[:, k, i] = math.comb(i, k) * first ** (i - k) * width**k
    return S


def _split(cells: Floats, axis: Ints, place: Floats) -> Floats:
    """Return the two parts of each of n patches, shape (2 n, PATCH).

    Patch k is divided along `axis[k]` (0: x, 1: y) at the coordinate `place[k]` (m).
    """
    which = np.arange(len(cells))
    low = np.repeat(cells[:, PATCH_LOW], 2, axis=0)
    high = np.repeat(cells[:, PATCH_HIGH], 2, axis=0)
    high[2 * which, axis] = place
    low[2 * which + 1, axis] = place
    return restrict_cells(np.repeat(cells, 2, axis=0), low, high)


def _unit_square(cells: Floats) -> tuple[Floats, Floats]:
    """Return the coefficients (n, 4, 4) of patches over the unit square, and their side lengths (n, 2) in m.

    A continuation beyond the samples is represented by its part next to the samples, one cell long.
    """
    order = PATCH_DEGREE + 1
    c = cells[:, PATCH_COEFFICIENTS].reshape(-1, order, order)
    scale = cells[:, PATCH_SCALE]
    before = (cells[:, PATCH_LOW] <= -UNLIMITED) & (scale > 0.0)
    first = np.where(before, -1.0, 0.0)
    for axis in range(2):
        S = _substitution(first[:, axis], np.ones(len(cells)))
        c = np.einsum("nki,nij->nkj", S, c).transpose(0, 2, 1)
    lengths = np.where(scale > 0.0, 1.0 / np.where(scale > 0.0, scale, 1.0), UNLIMITED)
    return c, lengths


def _axis_to_divide(cells: Floats, radius: float) -> tuple[Ints, Floats]:
    """Return for each of n patches the axis (0: x, 1: y) along which to divide it, and its missed depth.

    The missed depth (n,) is the upper bound of the penetration (m) at a contact that the search misses; it is
    zero for patches that are less curved than a wheel of the given `radius` (m).
    """
    axes = np.zeros(len(cells), np.int64)
    worst_depths = np.zeros(len(cells))
    for begin in range(0, len(cells), CELLS_AT_ONCE):
        part = slice(begin, begin + CELLS_AT_ONCE)
        c, lengths = _unit_square(cells[part])
        is_bounded = _is_bounded(cells[part])
        is_curved = _exceeds_curvature(c, lengths, 1.0 / radius) & is_bounded.any(axis=1)
        curved = np.flatnonzero(is_curved)
        if not len(curved):
            continue
        depths, chords = _depths(c[curved], lengths[curved], 1.0 / radius)
        # A continuation cannot be divided along its unlimited side.
        chords = np.where(is_bounded[curved, None, :], chords, np.inf)
        worst = depths.argmax(axis=1)
        rows = np.arange(len(curved))
        worst_depths[begin + curved] = depths[rows, worst]
        # The axis of the shorter chord limits the length of a line in the worst direction: halve this axis.
        shorter = chords[rows, worst].argmin(axis=1)
        # In a long strip the bounds of the derivatives stay wide: halve the strip along its longer side.
        sides = np.where(is_bounded, lengths, 0.0)[curved]
        is_strip = sides[rows, 1 - shorter] > MAX_ASPECT * sides[rows, shorter]
        axes[begin + curved] = np.where(is_strip, 1 - shorter, shorter)
    return axes, worst_depths


def _derivatives(c: Floats, lengths: Floats, count: int) -> Floats:
    """Return Bernstein coefficients (count + 1, n, 4, 4) of the partial derivatives of order `count`.

    Index k on the first axis counts the differentiations by y: 0 is the derivative by x only. The unit is
    1/m^(count - 1). `c` are the power coefficients (n, 4, 4) over the unit square, `lengths` its sides (m).
    """
    order = PATCH_DEGREE + 1
    B = bernstein_matrix(PATCH_DEGREE)
    powers = np.arange(1.0, order)
    out = []
    for by_y in range(count + 1):
        d = c
        for axis in [0] * (count - by_y) + [1] * by_y:
            shifted = np.zeros_like(d)
            if axis == 0:
                shifted[:, :-1, :] = powers[:, None] * d[:, 1:, :]
            else:
                shifted[:, :, :-1] = powers * d[:, :, 1:]
            d = shifted / lengths[:, axis, None, None]
        out.append(np.einsum("ki,nij,lj->nkl", B, d, B))
    return np.array(out)


def _exceeds_curvature(c: Floats, lengths: Floats, limit: float) -> "np.typing.NDArray[np.bool_]":
    """Return for each of n patches whether a second derivative may exceed `limit` (1/m) in any direction."""
    xx, xy, yy = _derivatives(c, lengths, 2).reshape(3, len(c), -1)
    largest = np.maximum(xx.max(axis=1), yy.max(axis=1)) + np.abs(xy).max(axis=1)
    return np.asarray(largest > limit)


def _depths(c: Floats, lengths: Floats, limit: float) -> tuple[Floats, Floats]:
    """Return upper bounds (n, DIRECTIONS) of the penetration (m) at a missed contact, and chord lengths.

    The chords (n, DIRECTIONS, 2) are the lengths (m) of a line in each direction between the two sides of a
    patch along x, and between the two sides along y. `limit` is the curvature of the wheel (1/m).
    """
    angle = np.arange(DIRECTIONS) * math.pi / DIRECTIONS
    cosine = np.where(np.abs(np.cos(angle)) > 1e-12, np.cos(angle), 0.0)
    sine = np.where(np.abs(np.sin(angle)) > 1e-12, np.sin(angle), 0.0)
    half = 0.5 * math.pi / DIRECTIONS
    ranges = []
    for count in (1, 2, 3):
        d = _derivatives(c, lengths, count).reshape(count + 1, len(c), -1)
        binomials = [math.comb(count, k) for k in range(count + 1)]
        along = [b * cosine ** (count - k) * sine**k for k, b in enumerate(binomials)]
        turn = [
            b
            * (
                k * cosine ** (count - k + 1) * sine ** max(k - 1, 0)
                - (count - k) * cosine ** max(count - k - 1, 0) * sine ** (k + 1)
            )
            for k, b in enumerate(binomials)
        ]
        values = np.einsum("kd,knm->ndm", np.array(along), d)
        rates = np.abs(np.einsum("kd,knm->ndm", np.array(turn), d)).max(axis=2)
        # Remainder of Taylor's formula: the second derivative by the angle is at most count^2 times the
        # largest derivative in any direction.
        size = sum(b * np.abs(d[k]).max(axis=1) for k, b in enumerate(binomials))
        slack = half * rates + 0.5 * half**2 * count**2 * np.asarray(size)[:, None]
        ranges.append((values.min(axis=2) - slack, values.max(axis=2) + slack))
    (low1, high1), (low2, high2), (low3, high3) = ranges

    # Interval arithmetic: the smallest square in an interval is zero if the interval contains zero.
    least1 = np.where((low1 <= 0.0) & (high1 >= 0.0), 0.0, np.minimum(low1**2, high1**2))
    most1 = np.maximum(low1**2, high1**2)
    least2 = np.where((low2 <= 0.0) & (high2 >= 0.0), 0.0, np.minimum(low2**2, high2**2))
    most2 = np.maximum(low2**2, high2**2)
    curvature = np.maximum(high2, 0.0) / (1.0 + least1) ** 1.5

    # Slope of the curvature k = h'' / (1 + h'^2)^(3/2) over the arc length s:
    # dk/ds (1 + h'^2)^3 = h''' (1 + h'^2) - 3 h' h''^2
    stretch_low, stretch_high = 1.0 + least1, 1.0 + most1
    rise = np.maximum(high3 * stretch_high, high3 * stretch_low)
    fall = np.minimum(low3 * stretch_high, low3 * stretch_low)
    bends = [low1 * least2, low1 * most2, high1 * least2, high1 * most2]
    rise = rise - 3.0 * np.minimum.reduce(bends)
    fall = fall - 3.0 * np.maximum.reduce(bends)
    against = np.minimum(np.maximum(rise, 0.0), np.maximum(-fall, 0.0)) / stretch_low**3

    with np.errstate(divide="ignore"):
        chords = lengths[:, None, :] / np.abs(np.column_stack([cosine, sine]))
    length = chords.min(axis=2) * np.sqrt(stretch_high)
    excess = np.maximum(curvature - limit, 0.0)
    depths = np.minimum(against * length / 3.0, 0.5 * excess) * length**2
    return depths, chords


def _split_points(cells: Floats, axis: Ints, radius: float) -> Floats:
    """Return the coordinates (n,) in m at which patches are divided along their axes.

    A patch is divided at the maximum of the curvature of its middle line if this maximum exceeds 1 /
    `radius`, otherwise in the middle.
    """
    rows = np.arange(len(cells))
    low = cells[:, PATCH_LOW][rows, axis]
    high = cells[:, PATCH_HIGH][rows, axis]
    other = 1 - axis
    sides = cells[:, PATCH_LOW][rows, other], cells[:, PATCH_HIGH][rows, other]
    is_bounded = (sides[0] > -UNLIMITED) & (sides[1] < UNLIMITED)
    across = np.where(is_bounded, 0.5 * (sides[0] + sides[1]), cells[:, PATCH_ORIGIN][rows, other])

    def curvature(share: Floats) -> Floats:
        """Return the curvature (n, m) in 1/m of the middle lines at fractions (n, m) of their lengths."""
        along = low[:, None] + share * (high - low)[:, None]
        fixed = np.broadcast_to(across[:, None], along.shape)
        x = np.where(axis[:, None] == 0, along, fixed)
        y = np.where(axis[:, None] == 0, fixed, along)
        ground = evaluate_patch(cells.T[:, :, None], x, y)
        slope: Floats = np.asarray(np.where(axis[:, None] == 0, ground.x, ground.y), float)
        bend: Floats = np.asarray(np.where(axis[:, None] == 0, ground.xx, ground.yy), float)
        return np.asarray(bend / (1.0 + slope**2) ** 1.5)

    begin = np.zeros(len(cells))
    end = np.ones(len(cells))
    for _ in range(ZOOMS):
        # The neighbours of the largest value on this grid are the ends of the next grid.
        share = begin[:, None] + np.linspace(0.0, 1.0, 17) * (end - begin)[:, None]
        values = curvature(share)
        best = np.clip(values.argmax(axis=1), 1, 15)
        begin = share[rows, best - 1]
        end = share[rows, best + 1]
    peak = values[rows, best]
    middle = share[rows, best]
    # A cut near an end would leave a part that is hardly smaller than the patch: cut in the middle instead.
    is_inside = (peak > 1.0 / radius) & (middle > 0.1) & (middle < 0.9)
    return np.asarray(low + np.where(is_inside, middle, 0.5) * (high - low))
