"""Surfaces that roll, and where they meet the ground: a plane, a face, an edge, a vertex.

A surface stands around its centre; its `axle` is the direction about which it rolls, for a ball or
an ellipsoid only the name of its heading. The ground's features are a face (N, d): N.x = d with N
out of the ground, an edge (Q, e, side): the line through Q along e, or a vertex Q. `side` tells
which of the nearest points of a line is meant, where a torus has two.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, Vector, array, is_zero, norm, where
from draisine.errors import ModelError
from draisine.model.body import vector

LEFT = np.array([0.0, 1.0, 0.0])

STEPS = 10
"""Halley's steps towards a line's point nearest to a ring. They come from one side only. Of 400,000 random
lines none needed more than 7 for 13 digits; next to a fold, where two points merge, the residual falls by a
factor of 9 per step, to 4e-11 of the ring.
"""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureContact:
    """The point of a surface that meets a feature, the unit normal out of the ground, the direction
    along the heading, the gap.

    The gap's rate is `stretch` times the normal velocity of the body's material point. `fold` are
    the three lengths that tell how many nearest points a line has, eq. [edge-fold]. `held` are
    values found by iteration: they are not differentiated, the last Newton step that uses them is.
    """

    point: Array
    normal: Array
    along: Array
    gap: Scalar
    stretch: Scalar = 1.0
    fold: tuple[Scalar, ...] = (0.0, 0.0, 0.0)
    held: tuple[Scalar, ...] = ()


@dataclass(frozen=True, eq=False)
class Surface(ABC):
    """One question: where does it touch? A surface answers `support`, its rate, `turned`, and
    `meet_edge` and `meet_vertex` where its `kinds` promise them; all over any scalar.
    """

    axle: Array = field(default_factory=lambda: LEFT, init=False)

    def check(self, where: str) -> None:  # noqa: B027
        """Raise where its numbers make no surface, naming what it belongs to."""

    @property
    @abstractmethod
    def reach(self) -> Scalar:
        """How far its farthest point is from the centre."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of features that it can meet."""
        return ("face", "edge", "vertex")

    @property
    def ring(self) -> Scalar:
        """The radius of the ring about the axle that it is thickened from; 0 without one."""
        return 0.0

    @property
    def thickness(self) -> Scalar:
        """The radius of the ball that thickens the ring; 0 without one."""
        return 0.0

    @property
    @abstractmethod
    def sections(self) -> list[tuple[Array, Array]]:
        """The curves that show it: ellipses around the centre, each by two half diameters."""

    @abstractmethod
    def support(self, up: Array) -> Array:
        """Return its lowest point, seen from the centre; `up` is a unit vector."""

    @abstractmethod
    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return the rate of the lowest point, in the surface's axes, for that of up."""

    def steepest(self, up: Array) -> Array:
        """Return the unit vector across the axle that is steepest towards the normal."""
        steep = up - (up @ self.axle) * self.axle
        return steep / norm(steep)

    def slope(self, up: Array) -> Scalar:
        """Return a number that vanishes where no single point is lowest: it lies flat."""
        return 1.0

    def rolling_radius(self, up: Array) -> Scalar:
        """Return the distance of the lowest point from the axle, m."""
        low = self.support(up)
        return norm(low - (low @ self.axle) * self.axle)

    def asymmetry(self, axis: Array) -> list[Scalar]:
        """Return numbers that vanish where it looks the same however far it turns about an axis
        through its centre.
        """
        return list(cross(self.axle, axis))

    def turned(self, R: Array) -> Self:
        """Return the surface in axes that R leads to."""
        return self.about(R @ self.axle)

    def about(self, axle: Array) -> Self:
        """Return the surface with another axle."""
        out = replace(self)
        object.__setattr__(out, "axle", axle)
        return out

    def heading(self, N: Array) -> Array:
        """Return the unit vector across a normal along which it heads: as a wheel about the axle
        would; where that stands along N, any direction will do.
        """
        x = cross(self.axle, N)
        turn = where(N[2] < 0.0, -1.0, 1.0)
        k = N[0] / (turn + N[2])
        other = (1.0 - turn * (N[0] * k), -(turn * (N[1] * k)), -(turn * N[0]))
        some = x @ x > 1e-4
        way = array([where(some, u, v) for u, v in zip(x, other, strict=True)])
        return way / norm(way)

    def meet(self, kind: str, centre: Array, f: Array) -> FeatureContact:
        """Return how it meets a feature of the given kind with the numbers f, around a centre."""
        meet = {"face": self.meet_face, "edge": self.meet_edge, "vertex": self.meet_vertex}
        return meet[kind](centre, f)

    def meet_face(self, centre: Array, f: Array) -> FeatureContact:
        """Return how it meets a plane, eq. [gap-face]: by its lowest point."""
        N, d = f[:3], f[3]
        point = centre + self.support(N)
        return FeatureContact(point, N, self.heading(N), N @ point - d)

    def meet_edge(self, centre: Array, f: Array) -> FeatureContact:
        """Return how it meets a line."""
        raise ModelError(
            f"surface {type(self).__name__} promises to meet edges; give it a method `meet_edge`."
        )

    def meet_vertex(self, centre: Array, f: Array) -> FeatureContact:
        """Return how it meets a point."""
        raise ModelError(
            f"surface {type(self).__name__} promises to meet vertices; give it a method `meet_vertex`."
        )


@dataclass(frozen=True, eq=False)
class Round(Surface):
    """What reaches as far as its radius."""

    radius: Scalar

    def check(self, where: str) -> None:
        """Raise where the radius is none."""
        check_length(where, "radius", self.radius)

    @property
    def reach(self) -> Scalar:
        """The radius."""
        return self.radius


@dataclass(frozen=True, eq=False)
class Disc(Round):
    """A knife edge: a circle about the axle."""

    @property
    def ring(self) -> Scalar:
        """The radius."""
        return self.radius

    @property
    def kinds(self) -> tuple[str, ...]:
        """Faces and edges: a knife edge passes every vertex by."""
        return ("face", "edge")

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """The rim."""
        return [rim(self.axle, self.radius)]

    def slope(self, up: Array) -> Scalar:
        """Return the sine of the angle between axle and normal."""
        return norm(up - (up @ self.axle) * self.axle)

    def rolling_radius(self, up: Array) -> Scalar:
        """Return the distance of the lowest point from the axle, m."""
        return self.ring + self.thickness * self.slope(up)

    def support(self, up: Array) -> Array:
        """Return the rim's lowest point, eq. [contact-point]; only a disc that lies flat is
        singular.
        """
        return -self.ring * self.steepest(up) - self.thickness * up

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return the rate of the lowest point, eq. [contact-rate]."""
        side = cross(self.axle, self.steepest(up))
        turning = (updot @ side) / self.slope(up)
        return -(self.ring * turning) * side - self.thickness * updot

    def heading(self, N: Array) -> Array:
        """Return the direction along which it rolls."""
        return cross(self.axle, self.steepest(N))

    def meet_edge(self, centre: Array, f: Array) -> FeatureContact:
        """Return how a disc meets a line, eq. [gap-edge]: the line pierces the disc's plane at X,
        and the gap is |X - centre| - radius.

        The normal is orthogonal to the line and to the rim's tangent. A line in the disc's plane is
        singular.
        """
        Q, e, a = f[:3], f[3:6], self.axle
        across = a @ e
        X = Q + e * ((a @ (centre - Q)) / across)
        arm = X - centre
        distance = norm(arm)
        rho = arm / distance
        m = a * ((rho @ e) / across) - rho
        stretch = norm(m)
        return FeatureContact(X, m / stretch, cross(rho, a), distance - self.radius, stretch)


@dataclass(frozen=True, eq=False)
class Torus(Disc):
    """A tyre: a ring about the axle, thickened by a ball of the crown radius; `radius` is the outer
    one, the crown is part of it.
    """

    crown: Scalar

    def check(self, where: str) -> None:
        """Raise where radius or crown are none, or the crown is larger."""
        check_length(where, "radius", self.radius)
        if isinstance(self.crown, (int, float)):
            if not (np.isfinite(self.crown) and self.crown >= 0):
                raise ModelError(f"{where}: crown {self.crown} m is not a length.")
            if isinstance(self.radius, (int, float)) and self.crown > self.radius:
                raise ModelError(f"{where}: crown {self.crown} m exceeds radius {self.radius} m.")

    @property
    def ring(self) -> Scalar:
        """The radius of the middle of the tyre."""
        return self.radius - self.crown

    @property
    def thickness(self) -> Scalar:
        """The crown radius."""
        return self.crown

    @property
    def kinds(self) -> tuple[str, ...]:
        """All; without thickness faces alone."""
        return ("face",) if is_zero(self.crown) else ("face", "edge", "vertex")

    def meet_edge(self, centre: Array, f: Array) -> FeatureContact:
        """Return how a torus meets a line, eq. [gap-ring]: by the line's point X nearest to the
        ring, found by Halley's method, eq. [nearest-on-line]; then as a vertex there.
        """
        Q, e, side, a, ring = f[:3], f[3:6], f[6], self.axle, self.ring
        arm = Q - centre
        w = arm - (arm @ e) * e
        wp, ep = w - (a @ w) * a, e - (a @ e) * a
        j, q = a @ cross(w, e), norm(ep)
        turned = q > 1e-6  # else the line runs along the axle
        firm = where(turned, q, 1.0)
        fold = (
            where(turned, (wp @ ep) / firm, norm(wp)),
            where(turned, j / firm, 0.0),
            ring * (q * q),
        )

        def derivatives(s: Scalar) -> tuple[Scalar, Scalar, Scalar]:
            """Return the condition that vanishes at the nearest point, its slope and its curvature."""
            X = wp + s * ep
            inverse = 1.0 / _divisor(norm(X))
            cosine = (X @ ep) * inverse
            turn = ring * ((j * inverse) * (j * inverse)) * inverse
            return s - ring * cosine, 1.0 - turn, 3.0 * turn * cosine * inverse

        s = _direction(fold, side) * ring * q
        for _ in range(STEPS):
            value, slope, curvature = derivatives(s)
            newton = slope * slope
            halley = newton - 0.5 * value * curvature
            divisor = where(halley > 0.1 * newton, halley, newton)  # far away its step has no bound
            s = s - value * slope / where(slope > 1e-9, divisor, 1e18)
        value, slope, _ = derivatives(s)
        met = self.meet_vertex(centre, centre + w + (s - value / slope) * e)
        return replace(met, fold=fold, held=(s, slope))

    def meet_vertex(self, centre: Array, f: Array) -> FeatureContact:
        """Return how a torus meets a point Q, eq. [gap-vertex]: by the point K of its ring nearest
        to Q; the gap is |K - Q| - crown.
        """
        Q, a = f[:3], self.axle
        arm = Q - centre
        flat = arm - (a @ arm) * a
        out = flat / _divisor(norm(flat))
        K = centre + self.ring * out
        lift = K - Q
        distance = norm(lift)
        N = lift / _divisor(distance)
        return FeatureContact(K - self.crown * N, N, cross(out, a), distance - self.crown)


@dataclass(frozen=True, eq=False)
class Ball(Round):
    """A ball; its axle only names its heading."""

    @property
    def thickness(self) -> Scalar:
        """The radius: it is a ring of no size, thickened."""
        return self.radius

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """Three great circles."""
        ahead, up = rim(self.axle, self.radius)
        return [(ahead, up), (up, self.radius * self.axle), (self.radius * self.axle, ahead)]

    def support(self, up: Array) -> Array:
        """Return the point below the centre."""
        return -self.radius * up

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return its rate."""
        return -self.radius * updot

    def meet_edge(self, centre: Array, f: Array) -> FeatureContact:
        """Return how a ball meets a line: as the vertex at the line's nearest point."""
        Q, e = f[:3], f[3:6]
        arm = Q - centre
        return self.meet_vertex(centre, centre + (arm - (arm @ e) * e))

    def meet_vertex(self, centre: Array, f: Array) -> FeatureContact:
        """Return how a ball meets a point, eq. [gap-vertex]."""
        arm = f[:3] - centre
        distance = norm(arm)
        N = -(arm / _divisor(distance))
        point = centre - self.radius * N
        return FeatureContact(point, N, self.heading(N), distance - self.radius)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Surface):
    """An ellipsoid by its three semi-axes, along the columns of `axes` in the drawing; its axle
    only names its heading.
    """

    semi_axes: Vector
    axes: Vector = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        object.__setattr__(self, "semi_axes", vector(self.semi_axes, "ellipsoid, semi_axes"))
        axes = array(self.axes)
        if axes.shape != (3, 3):
            raise ModelError(f"ellipsoid: axes have the shape {axes.shape}, not (3, 3).")
        if axes.dtype != object and not np.allclose(axes.T @ axes, np.eye(3), rtol=0, atol=1e-9):
            raise ModelError("ellipsoid: the columns of axes are not orthogonal unit vectors.")
        object.__setattr__(self, "axes", axes)

    def check(self, where: str) -> None:
        """Raise where a semi-axis is none."""
        for size in self.semi_axes.tolist():
            check_length(where, "semi-axis", size)

    @property
    def reach(self) -> Scalar:
        """The longest semi-axis."""
        a, b, c = self.semi_axes
        longer = where(a < b, b, a)
        return where(longer < c, c, longer)

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """The three principal ellipses."""
        x, y, z = (self.axes * self.semi_axes).T
        return [(z, x), (x, y), (y, z)]

    def turned(self, R: Array) -> Self:
        """Return the ellipsoid in axes that R leads to."""
        return replace(self, axes=R @ self.axes).about(R @ self.axle)

    def asymmetry(self, axis: Array) -> list[Scalar]:
        """Return how B, whose eigenvalues are the squares of the semi-axes, changes with a turn."""
        B = self.squares
        return [*cross(self.axle, axis), *(x for k in np.eye(3) for x in self._twisted(B, axis, k))]

    @staticmethod
    def _twisted(B: Array, axis: Array, k: Array) -> Array:
        """Return a column of B hat(axis) - hat(axis) B."""
        return B @ cross(axis, k) - cross(axis, B @ k)

    @property
    def squares(self) -> Array:
        """The matrix B of the squared semi-axes."""
        return (self.axes * (self.semi_axes * self.semi_axes)) @ self.axes.T

    def support(self, up: Array) -> Array:
        """Return the lowest point, -B up / sqrt(up' B up), eq. [ellipsoid-point]."""
        own = self.semi_axes * (self.axes.T @ up)
        return -(self.axes @ (self.semi_axes * own)) / norm(own)

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return its rate, (rho (rho . updot) - B updot) / sqrt(up' B up), eq. [ellipsoid-rate]."""
        own = self.semi_axes * (self.axes.T @ up)
        rho = self.support(up)
        turned = self.axes @ (self.semi_axes * self.semi_axes * (self.axes.T @ updot))
        return (rho * (rho @ updot) - turned) / norm(own)

    def meet_edge(self, centre: Array, f: Array) -> FeatureContact:
        """Return how an ellipsoid meets a line: as the vertex at the line's point of least level,
        eq. [ellipsoid-level].
        """
        Q, e = f[:3], f[3:6]
        x, along = self._own(Q - centre), self._own(e)
        return self.meet_vertex(centre, Q - e * ((x @ along) / (along @ along)))

    def meet_vertex(self, centre: Array, f: Array) -> FeatureContact:
        """Return how an ellipsoid meets a point Q, by its level |A^-1 (Q - centre)|, eq.
        [ellipsoid-level]: the gap is the level minus one, times the shortest semi-axis, and nowhere
        more than the distance.
        """
        Q = f[:3]
        x = self._own(Q - centre)
        level = _divisor(norm(x))
        steep = self.axes @ (x / self.semi_axes) / level
        a, b, c = self.semi_axes
        shorter = where(a < b, a, b)
        shortest = where(shorter < c, shorter, c)
        size = _divisor(norm(steep))
        N = -(steep / size)
        return FeatureContact(Q, N, self.heading(N), (level - 1.0) * shortest, shortest * size)

    def _own(self, x: Array) -> Array:
        """Return a vector in own axes, each in units of its semi-axis."""
        return (self.axes.T @ x) / self.semi_axes


@dataclass(frozen=True, eq=False)
class Tip(Surface):
    """A single point: what blades and pins touch with; its axle is a blade's heading."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Faces: a point passes edges and vertices by."""
        return ("face",)

    @property
    def reach(self) -> Scalar:
        """Nothing."""
        return 0.0

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """None."""
        return []

    def support(self, up: Array) -> Array:
        """Return the point itself."""
        return np.zeros(3)

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return that it stays."""
        return np.zeros(3)

    def heading(self, N: Array) -> Array:
        """Return the direction across a normal in which it glides."""
        along = self.axle - (self.axle @ N) * N
        return along / norm(along)


def round_surface(radius: Scalar, crown: Scalar | None = None) -> Disc:
    """Return a wheel's usual surface: a knife edge, or a torus where a crown radius is given.

    >>> type(round_surface(0.3)).__name__, type(round_surface(0.3, 0.02)).__name__
    ('Disc', 'Torus')
    """
    return Disc(radius) if crown is None else Torus(radius, crown)


def rim(axle: Array, radius: Scalar) -> tuple[Array, Array]:
    """Return two radii of a circle about an axle: one level, where the axle allows it, the other
    up from it.
    """
    ahead = np.cross(np.asarray(axle, float), [0.0, 0.0, 1.0])
    if np.linalg.norm(ahead) < 1e-9:
        ahead = np.array([1.0, 0.0, 0.0])
    ahead = ahead / np.linalg.norm(ahead)
    return radius * ahead, radius * np.cross(np.asarray(axle, float), ahead)


def check_length(where: str, name: str, value: Any) -> None:
    """Raise where a number is no length greater than zero; symbols pass."""
    if not isinstance(value, (int, float)):
        return
    if not (np.isfinite(value) and value >= 0):
        raise ModelError(f"{where}: {name} {value} m is not a length.")
    if value == 0:
        raise ModelError(f"{where}: the {name} is zero.")


def _direction(fold: Sequence[Scalar], side: Scalar) -> Scalar:
    """Return the way along the line (1 or -1) from its foot to the nearest point that `side` means,
    eq. [edge-fold]: the nearest of all for 0; for 1 and -1 the one on that side of the line's point
    next to the axle, where both exist.
    """
    A, B, C = (x * x for x in fold)
    rest = A + B - C
    best = where(fold[0] < 0.0, -1.0, 1.0)
    both = where(rest * rest * rest + 27.0 * (A * B * C) < 0.0, side, best)
    return where(side * side > 0.5, both, best)


def _divisor(length: Scalar) -> Scalar:
    """Return a length to divide by, not zero: far inside a wheel nothing has a direction, but no
    number may turn into none.
    """
    return where(length > 1e-12, length, 1e-12)
