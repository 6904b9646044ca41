"""Surfaces of wheels and their contact points with ground features: faces, edges, vertices, patches.

A surface is described relative to its centre. Its `axle` is the axis of rolling; for a ball or an ellipsoid
it only defines the heading. Features are a face (N, d): N.x = d with N out of the ground; an edge (Q, e,
side): the line through Q along e; a vertex Q; or a smooth patch z = h(x, y) (`algebra.patch`). If a torus has
two nearest points on a line, `side` selects one.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.patch import PATCH, PATCH_HIGH, PATCH_LOW, evaluate_patch
from draisine.algebra.scalar import Array, Scalar, Vector, array, clip, is_zero, norm, sqrt, where
from draisine.errors import ModelError
from draisine.model.body import vector

AXLE_LEFT = np.array([0.0, 1.0, 0.0])
"""Default direction of an axle: to the left, so that a wheel with a positive spin rolls forward."""

EDGE_ITERATIONS = 10
"""Number of Halley steps of the search for the point of a line that is nearest to a ring.

The steps converge from one side. For 400,000 random lines, 7 steps were sufficient for 13 digits.
Next to a fold, where two points merge, the residual falls by a factor of 9 per step, to 4e-11 of
the ring.
"""

PATCH_ITERATIONS = 6
"""Number of Newton steps of the search for the point of a patch nearest to a wheel, from a start
point within the patch.
"""

PATCH_STEP = 0.5
"""Longest Newton step as a fraction of the sides of the patch's rectangle; a longer step may leave
the neighbourhood of the minimum.
"""

PATCH_START = 0.25
"""Distance of additional start points of the Newton iteration from the corners of a patch, as a
fraction of its sides.
"""

MAX_PATCH = 1e6
"""Longest side (m) of an ordinary patch; longer patches continue a sampled ground beyond its
samples.
"""

PATCH_RESIDUAL = 1e-6
"""Largest tangential distance of the two nearest points, relative to the distance from the wheel's
centre.

A larger one shows that the iteration did not converge; converged iterations have 1e-12 or less.
"""

MIN_CONVEXITY = 1e-3
"""Smallest determinant of the Jacobian of the nearest-point equations, as a fraction of its squared
trace.

With a smaller determinant the distance is not convex, and Newton's method would converge to a
saddle point. A step along the gradient is used instead.
"""

MAX_LEAN = math.pi / 3.0
"""Largest lean (rad) for which patches of smooth ground are divided; bicycles fall before."""

OBLIQUE = 1e-4
"""Squared sine of the angle between axle and normal below which the wheel lies almost flat; its heading is
then any direction perpendicular to the normal, because the axle does not determine it.
"""

PARALLEL_LINE = 1e-6
"""Sine of the angle between a line and the axle below which they count as parallel."""

MIN_LENGTH = 1e-12
"""Lower bound (m) of divisors: deep inside a wheel, directions are undefined but must be finite."""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureContact:
    """Contact geometry of the surface of a wheel and a ground feature."""

    point: Array  # contact point on the surface, m
    normal: Array  # unit vector out of the ground
    along: Array  # unit vector along the heading
    gap: Scalar  # signed distance of surface and ground feature, m, negative for penetration
    stretch: Scalar = 1.0  # rate of the gap divided by the normal velocity of the material point
    # Lengths (m) that determine how many points of an edge are locally nearest to the wheel, eq.
    # [edge-fold]
    fold: tuple[Scalar, ...] = (0.0, 0.0, 0.0)
    # Converged unknowns of the contact search. They count as constants: derivatives are taken
    # through the last Newton step only
    held: tuple[Scalar, ...] = ()

    def moved(self, R: Array, p: Array) -> "FeatureContact":
        """Return the contact after a rotation R and a translation p (m) of its reference frame."""
        return replace(self, point=p + R @ self.point, normal=R @ self.normal, along=R @ self.along)


@dataclass(frozen=True, eq=False)
class Surface(ABC):
    """Protocol of surfaces: contact points with faces, edges and vertices, over any scalar type.

    A surface implements `reach`, `sections`, `support` and `support_rate`, and `contact_with_edge` and
    `contact_with_vertex` if its `kinds` contain edges and vertices.
    """

    axle: Array = field(default_factory=lambda: AXLE_LEFT, init=False)

    def check(self, where: str) -> None:  # noqa: B027
        """Raise an error that names the owner, `where`, if the dimensions are invalid."""

    @property
    @abstractmethod
    def reach(self) -> Scalar:
        """Distance of the farthest point of the surface from its centre (m)."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of ground features that the surface can touch."""
        return ("face", "edge", "vertex", "patch")

    @property
    def flattest(self) -> Scalar:
        """Largest radius of curvature (m) of the touching part of the surface, at leans up to `MAX_LEAN`."""
        return self.reach

    @property
    def ring(self) -> Scalar:
        """Radius of the surface's ring about the axle (m); 0 if it has none."""
        return 0.0

    @property
    def thickness(self) -> Scalar:
        """Radius (m) of the tube around the ring of the surface; 0 for a surface without a tube."""
        return 0.0

    @property
    @abstractmethod
    def sections(self) -> list[tuple[Array, Array]]:
        """Ellipses about the centre for pictures, each given by two conjugate half diameters (m)."""

    @abstractmethod
    def support(self, up: Array) -> Array:
        """Return the lowest point relative to the centre (m) for a unit vector `up`."""

    @abstractmethod
    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return the velocity of the lowest point on the surface (m/s), for the time derivative of
        `up`.
        """

    def steepest(self, up: Array) -> Array:
        """Return the unit vector perpendicular to the axle that is closest to the normal."""
        steep = up - (up @ self.axle) * self.axle
        return steep / norm(steep)

    def slope(self, up: Array) -> Scalar:
        """Return a number that is zero if the lowest point is not unique, as for a disc that lies
        flat.
        """
        return 1.0

    def rolling_radius(self, up: Array) -> Scalar:
        """Return the distance of the lowest point from the axle (m)."""
        low = self.support(up)
        return norm(low - (low @ self.axle) * self.axle)

    def asymmetry(self, axis: Array) -> list[Scalar]:
        """Return numbers that are all zero if the surface is rotationally symmetric about an axis."""
        return list(cross(self.axle, axis))

    def turned(self, R: Array) -> Self:
        """Return a copy of the surface, rotated by the matrix R (3, 3)."""
        return self.about(R @ self.axle)

    def about(self, axle: Array) -> Self:
        """Return a copy of the surface with another axle, a unit vector (3,)."""
        out = replace(self)
        object.__setattr__(out, "axle", axle)
        return out

    def heading(self, N: Array) -> Array:
        """Return the heading: the unit vector perpendicular to the normal N and to the axle.

        If the axle is almost parallel to N, any perpendicular direction is returned.
        """
        x = cross(self.axle, N)
        turn = where(N[2] < 0.0, -1.0, 1.0)
        k = N[0] / (turn + N[2])
        other = (1.0 - turn * (N[0] * k), -(turn * (N[1] * k)), -(turn * N[0]))
        is_oblique = x @ x > OBLIQUE
        direction = array([where(is_oblique, u, v) for u, v in zip(x, other, strict=True)])
        return direction / norm(direction)

    def contact_with(self, feature_kind: str, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact with a ground feature, given by its kind and values; `centre` is
        that of the surface (m).
        """
        methods = {
            "face": self.contact_with_face,
            "edge": self.contact_with_edge,
            "vertex": self.contact_with_vertex,
            "patch": self.contact_with_patch,
        }
        return methods[feature_kind](centre, feature)

    def contact_with_face(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact with a plane, at the lowest point of the surface, eq. [gap-face]."""
        N = feature[:3]
        d = feature[3]
        point = centre + self.support(N)
        return FeatureContact(point, N, self.heading(N), N @ point - d)

    def contact_with_patch(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of the surface with a smooth patch, eq. [gap-patch].

        The point P(x, y) of the patch and the support point S(N) of the wheel have a common normal if their
        difference S - P is perpendicular to both tangents T of the patch. Newton's method solves these two
        equations; the rate of the support point contains the curvature of the wheel. It begins below the
        wheel along the mean normal of the patch. A solution is a minimum of the distance if `fold[0]` is
        positive. It is the smallest eigenvalue of the Jacobian of these equations relative to the metric of
        the patch, eq. [patch-fold].
        """
        cell = feature[-PATCH:]
        low = cell[PATCH_LOW]
        high = cell[PATCH_HIGH]
        x, y = self._choose_patch_start(cell, centre, centre + self.support(feature[:3]))
        limits = PATCH_STEP * (high - low)
        for _ in range(PATCH_ITERATIONS):
            residual, A, metric = self._nearest_point_equations(cell, centre, x, y)
            step = _descent_step(residual, A, metric)
            x = x + clip(step[0], -limits[0], limits[0])
            y = y + clip(step[1], -limits[1], limits[1])
        residual, A, metric = self._nearest_point_equations(cell, centre, x, y)
        determinant = A[0] * A[3] - A[1] * A[2]
        divisor = where(determinant * determinant > 0.0, determinant, 1.0)
        last_x = x + (A[3] * residual[0] - A[1] * residual[1]) / divisor
        last_y = y + (A[0] * residual[1] - A[2] * residual[0]) / divisor
        ground = evaluate_patch(cell, last_x, last_y)
        steep = array([-ground.x, -ground.y, 1.0])
        N = steep / norm(steep)
        point = centre + self.support(N)
        apart = point - array([last_x, last_y, ground.h])
        gap = N @ apart
        aside = apart - gap * N
        # If no point of the patch is nearest to the wheel, the iteration does not converge: then
        # the wheel does not touch this patch.
        size = MIN_LENGTH * MIN_LENGTH + apart @ apart + (point - centre) @ (point - centre)
        is_solved = aside @ aside < PATCH_RESIDUAL * PATCH_RESIDUAL * size
        fold = (where(is_solved, _smaller_eigenvalue(A, metric), -1.0), 0.0, 0.0)
        held = (x, y, *A, divisor)
        return FeatureContact(point, N, self.heading(N), gap, fold=fold, held=held)

    def _choose_patch_start(
        self, patch: Array, centre: Array, point_below: Array
    ) -> tuple[Scalar, Scalar]:
        """Return the point (x, y) at which the iteration begins: that below the wheel, limited to the
        rectangle of the patch, or one of four others within it, whichever is nearest to the ring of the
        wheel.

        The other points matter only if the ground is more curved than the wheel.
        """
        low = patch[PATCH_LOW]
        high = patch[PATCH_HIGH]
        begin = [clip(point_below[k], low[k], high[k]) for k in range(2)]
        least = self._squared_ring_distance(patch, centre, *begin)
        shares = (PATCH_START, 1.0 - PATCH_START)
        for share_x in shares:
            for share_y in shares:
                # Beyond the samples of a ground, the patch is extended to infinity. There are no
                # other starting points far away.
                place = [
                    where(side < MAX_PATCH, low[k] + share * side, begin[k])
                    for k, (share, side) in enumerate(
                        zip((share_x, share_y), high - low, strict=True)
                    )
                ]
                distance = self._squared_ring_distance(patch, centre, *place)
                is_nearer = distance < least
                least = where(is_nearer, distance, least)
                begin = [where(is_nearer, place[k], begin[k]) for k in range(2)]
        return begin[0], begin[1]

    def _squared_ring_distance(self, patch: Array, centre: Array, x: Scalar, y: Scalar) -> Scalar:
        """Return the squared distance (m^2) of a point of a patch from the ring, or from the centre."""
        arm = array([x, y, evaluate_patch(patch, x, y).h]) - centre
        aside = self.axle @ arm
        radial = norm(arm - aside * self.axle) - self.ring
        return aside * aside + radial * radial

    def _nearest_point_equations(
        self, patch: Array, centre: Array, x: Scalar, y: Scalar
    ) -> tuple[Sequence[Scalar], Sequence[Scalar], Sequence[Scalar]]:
        """Return residuals, Jacobian and metric of the equations for the nearest point of a patch,
        eq. [gap-patch].

        The residuals are D.T (2), A is their negative Jacobian by (x, y) (4 entries, by rows), and
        the metric has the entries xx, xy, yy (3).
        """
        ground = evaluate_patch(patch, x, y)
        steep = array([-ground.x, -ground.y, 1.0])
        size = norm(steep)
        N = steep / size
        tangents = (array([1.0, 0.0, ground.x]), array([0.0, 1.0, ground.y]))
        bends = ((ground.xx, ground.xy), (ground.xy, ground.yy))
        D = centre + self.support(N) - array([x, y, ground.h])
        rates = []
        for bend in bends:
            turn = array([-bend[0], -bend[1], 0.0]) / size
            rates.append(self.support_rate(N, turn - (turn @ N) * N))
        A = [
            T @ U - D[2] * bends[i][j] - T @ rates[j]
            for i, T in enumerate(tangents)
            for j, U in enumerate(tangents)
        ]
        metric = (
            tangents[0] @ tangents[0],
            tangents[0] @ tangents[1],
            tangents[1] @ tangents[1],
        )
        return [D @ T for T in tangents], A, metric

    def contact_with_edge(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of the surface with a line."""
        raise ModelError(
            f"Surface {type(self).__name__} has edges among its `kinds`, but no method "
            "`contact_with_edge`. Add it."
        )

    def contact_with_vertex(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of the surface with a point."""
        raise ModelError(
            f"Surface {type(self).__name__} has vertices among its `kinds`, but no method "
            "`contact_with_vertex`. Add it."
        )


@dataclass(frozen=True, eq=False)
class Round(Surface):
    """Surface whose farthest point from the centre is at its radius."""

    radius: Scalar

    def check(self, where: str) -> None:
        """Raise an error if the radius is not a positive length."""
        check_length(where, "radius", self.radius)

    @property
    def reach(self) -> Scalar:
        """Radius of the surface (m)."""
        return self.radius


@dataclass(frozen=True, eq=False)
class Disc(Round):
    """Knife-edge disc: a circle about the axle.

    Parameters
    ----------
    radius
        Radius (m).
    """

    @property
    def flattest(self) -> Scalar:
        """Radius of curvature (m) along the rim at the lean `MAX_LEAN`: a leaning circle appears flatter to
        the ground.
        """
        return self.ring / math.cos(MAX_LEAN) + self.thickness

    @property
    def ring(self) -> Scalar:
        """Radius of the disc (m)."""
        return self.radius

    @property
    def kinds(self) -> tuple[str, ...]:
        """Faces, edges and patches; a knife edge touches a vertex only by coincidence."""
        return ("face", "edge", "patch")

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """Rim of the disc as two perpendicular radii (m)."""
        return [rim(self.axle, self.radius)]

    def slope(self, up: Array) -> Scalar:
        """Return the sine of the angle between axle and normal, zero for a disc that lies flat."""
        return norm(up - (up @ self.axle) * self.axle)

    def rolling_radius(self, up: Array) -> Scalar:
        """Return the distance of the lowest point from the axle (m)."""
        return self.ring + self.thickness * self.slope(up)

    def support(self, up: Array) -> Array:
        """Return the lowest point of the rim, eq. [contact-point]; singular if the disc lies flat."""
        return -self.ring * self.steepest(up) - self.thickness * up

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return the velocity of the lowest point on the rim, eq. [contact-rate]."""
        side = cross(self.axle, self.steepest(up))
        turning = (updot @ side) / self.slope(up)
        return -(self.ring * turning) * side - self.thickness * updot

    def heading(self, N: Array) -> Array:
        """Return the unit vector along which the disc rolls."""
        return cross(self.axle, self.steepest(N))

    def contact_with_edge(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of a disc with a line, eq. [gap-edge].

        The line intersects the plane of the disc at X, and the gap is |X - centre| - radius. The normal is
        perpendicular to the line and to the tangent of the rim. A line in the plane of the disc is singular.
        """
        Q = feature[:3]
        e = feature[3:6]
        a = self.axle
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
    """Tyre: a torus about the axle with the outer `radius` and the tube radius `crown` (m).

    Parameters
    ----------
    radius
        Outer radius (m).
    crown
        Radius of the tube (m).
    """

    crown: Scalar

    def check(self, where: str) -> None:
        """Raise an error if radius or crown is not a length, or if the crown exceeds the radius."""
        check_length(where, "radius", self.radius)
        if isinstance(self.crown, (int, float)):
            if not (np.isfinite(self.crown) and self.crown >= 0):
                raise ModelError(f"{where}: crown {self.crown} m is not a length.")
            if isinstance(self.radius, (int, float)) and self.crown > self.radius:
                raise ModelError(f"{where}: crown {self.crown} m exceeds radius {self.radius} m.")

    @property
    def ring(self) -> Scalar:
        """Radius of the centre line of the tyre (m)."""
        return self.radius - self.crown

    @property
    def thickness(self) -> Scalar:
        """Crown radius of the tyre (m)."""
        return self.crown

    @property
    def kinds(self) -> tuple[str, ...]:
        """All kinds of ground features; neither edges nor vertices if the crown radius is zero."""
        return ("face", "patch") if is_zero(self.crown) else ("face", "edge", "vertex", "patch")

    def contact_with_edge(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of a torus with a line, eq. [gap-ring].

        Halley's method computes the point X of the line nearest to the ring, eq. [nearest-on-line]; the
        contact is that with a vertex at X.
        """
        Q = feature[:3]
        e = feature[3:6]
        side = feature[6]
        a = self.axle
        ring = self.ring
        arm = Q - centre
        w = arm - (arm @ e) * e
        wp = w - (a @ w) * a
        ep = e - (a @ e) * a
        j = a @ cross(w, e)
        q = norm(ep)
        turned = q > PARALLEL_LINE
        length = where(turned, q, 1.0)
        fold = (
            where(turned, (wp @ ep) / length, norm(wp)),
            where(turned, j / length, 0.0),
            ring * (q * q),
        )

        def edge_condition(position_on_edge: Scalar) -> tuple[Scalar, Scalar, Scalar]:
            """Return the condition that is zero at the point of the edge nearest to the torus, and
            its first two derivatives.
            """
            X = wp + position_on_edge * ep
            inverse = 1.0 / _nonzero_divisor(norm(X))
            cosine = (X @ ep) * inverse
            turn = ring * ((j * inverse) * (j * inverse)) * inverse
            return position_on_edge - ring * cosine, 1.0 - turn, 3.0 * turn * cosine * inverse

        s = _sense_along_edge(fold, side) * ring * q
        for _ in range(EDGE_ITERATIONS):
            value, slope, curvature = edge_condition(s)
            newton = slope * slope
            halley = newton - 0.5 * value * curvature
            # Far from the solution a step of Halley's method is unbounded. Use a step of Newton's
            # method there.
            divisor = where(halley > 0.1 * newton, halley, newton)
            s = s - value * slope / where(slope > 1e-9, divisor, 1e18)
        value, slope, _ = edge_condition(s)
        contact = self.contact_with_vertex(centre, centre + w + (s - value / slope) * e)
        return replace(contact, fold=fold, held=(s, slope))

    def contact_with_vertex(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of a torus with a point Q, eq. [gap-vertex].

        K is the point of its ring nearest to Q; the gap is |K - Q| - crown.
        """
        Q = feature[:3]
        a = self.axle
        arm = Q - centre
        flat = arm - (a @ arm) * a
        out = flat / _nonzero_divisor(norm(flat))
        K = centre + self.ring * out
        lift = K - Q
        distance = norm(lift)
        N = lift / _nonzero_divisor(distance)
        return FeatureContact(K - self.crown * N, N, cross(out, a), distance - self.crown)


@dataclass(frozen=True, eq=False)
class Ball(Round):
    """Ball; its axle only defines its heading.

    Parameters
    ----------
    radius
        Radius (m).
    """

    @property
    def thickness(self) -> Scalar:
        """Radius of the ball (m), which is a tube around a ring of radius zero."""
        return self.radius

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """Three great circles of the ball, each as two perpendicular radii (m)."""
        ahead, up = rim(self.axle, self.radius)
        return [(ahead, up), (up, self.radius * self.axle), (self.radius * self.axle, ahead)]

    def support(self, up: Array) -> Array:
        """Return the point vertically below the centre, relative to the centre (m)."""
        return -self.radius * up

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return the velocity of the lowest point on the ball (m/s)."""
        return -self.radius * updot

    def contact_with_edge(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of a ball with a line, as the contact with the nearest point of the
        line.
        """
        Q = feature[:3]
        e = feature[3:6]
        arm = Q - centre
        return self.contact_with_vertex(centre, centre + (arm - (arm @ e) * e))

    def contact_with_vertex(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of a ball with a point, eq. [gap-vertex]."""
        arm = feature[:3] - centre
        distance = norm(arm)
        N = -(arm / _nonzero_divisor(distance))
        point = centre - self.radius * N
        return FeatureContact(point, N, self.heading(N), distance - self.radius)


@dataclass(frozen=True, eq=False)
class Ellipsoid(Surface):
    """Ellipsoid with semi-axes (m) along the columns of `axes`; its axle only defines its heading.

    Parameters
    ----------
    semi_axes
        Lengths of the three semi-axes (m).
    axes
        Orthogonal unit vectors along the semi-axes as columns, (3, 3); the axes of the zero
        configuration by default.
    """

    semi_axes: Vector
    axes: Vector = field(default_factory=lambda: np.eye(3))

    def __post_init__(self) -> None:
        object.__setattr__(self, "semi_axes", vector(self.semi_axes, "ellipsoid, semi_axes"))
        axes = array(self.axes)
        if axes.shape != (3, 3):
            raise ModelError(f"ellipsoid: axes must have the shape (3, 3), not {axes.shape}.")
        if axes.dtype != object and not np.allclose(axes.T @ axes, np.eye(3), rtol=0, atol=1e-9):
            raise ModelError("ellipsoid: the columns of axes must be orthogonal unit vectors.")
        object.__setattr__(self, "axes", axes)

    def check(self, where: str) -> None:
        """Raise an error if a semi-axis is not a positive length."""
        for size in self.semi_axes.tolist():
            check_length(where, "semi-axis", size)

    @property
    def reach(self) -> Scalar:
        """Longest semi-axis (m)."""
        a, b, c = self.semi_axes
        longer = where(a < b, b, a)
        return where(longer < c, c, longer)

    @property
    def flattest(self) -> Scalar:
        """Radius of curvature (m) at the end of the shortest semi-axis: the square of the longest one divided
        by the shortest one.
        """
        return self.reach * self.reach / self._shortest_semi_axis

    @property
    def _shortest_semi_axis(self) -> Scalar:
        """Shortest semi-axis (m)."""
        a, b, c = self.semi_axes
        shorter = where(a < b, a, b)
        return where(shorter < c, shorter, c)

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """Three principal ellipses of the ellipsoid, each as two conjugate half diameters (m)."""
        x, y, z = (self.axes * self.semi_axes).T
        return [(z, x), (x, y), (y, z)]

    def turned(self, R: Array) -> Self:
        """Return a copy of the ellipsoid, rotated by the matrix R (3, 3)."""
        return replace(self, axes=R @ self.axes).about(R @ self.axle)

    def asymmetry(self, axis: Array) -> list[Scalar]:
        """Return numbers that are zero if a rotation about the axis does not change the matrix B of
        `squares`.
        """
        B = self.squares
        return [
            *cross(self.axle, axis),
            *(x for k in np.eye(3) for x in self._commutator_column(B, axis, k)),
        ]

    @staticmethod
    def _commutator_column(B: Array, axis: Array, column_index: Array) -> Array:
        """Return one column of the commutator B hat(axis) - hat(axis) B."""
        return B @ cross(axis, column_index) - cross(axis, B @ column_index)

    @property
    def squares(self) -> Array:
        """Matrix B (3, 3) whose eigenvalues are the squared semi-axes (m2)."""
        return (self.axes * (self.semi_axes * self.semi_axes)) @ self.axes.T

    def support(self, up: Array) -> Array:
        """Return the lowest point -B up / sqrt(up' B up) relative to the centre (m), eq.
        [ellipsoid-point].
        """
        scaled = self.semi_axes * (self.axes.T @ up)
        return -(self.axes @ (self.semi_axes * scaled)) / norm(scaled)

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return the velocity of the lowest point on the surface, eq. [ellipsoid-rate].

        It is (rho (rho . updot) - B updot) / sqrt(up' B up).
        """
        scaled = self.semi_axes * (self.axes.T @ up)
        rho = self.support(up)
        turned = self.axes @ (self.semi_axes * self.semi_axes * (self.axes.T @ updot))
        return (rho * (rho @ updot) - turned) / norm(scaled)

    def contact_with_edge(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of an ellipsoid with a line, as the contact with its point of smallest
        level.

        Levels are those of eq. [ellipsoid-level].
        """
        Q = feature[:3]
        e = feature[3:6]
        x = self._scale_to_unit_sphere(Q - centre)
        along = self._scale_to_unit_sphere(e)
        return self.contact_with_vertex(centre, Q - e * ((x @ along) / (along @ along)))

    def contact_with_vertex(self, centre: Array, feature: Array) -> FeatureContact:
        """Return the contact of an ellipsoid with a point Q, by its level |A^-1 (Q - centre)|.

        The gap, eq. [ellipsoid-level], is the level minus one times the shortest semi-axis, which does not
        exceed the distance.
        """
        Q = feature[:3]
        x = self._scale_to_unit_sphere(Q - centre)
        level = _nonzero_divisor(norm(x))
        steep = self.axes @ (x / self.semi_axes) / level
        shortest = self._shortest_semi_axis
        size = _nonzero_divisor(norm(steep))
        N = -(steep / size)
        return FeatureContact(Q, N, self.heading(N), (level - 1.0) * shortest, shortest * size)

    def _scale_to_unit_sphere(self, vector: Array) -> Array:
        """Return a vector in the axes of the ellipsoid, each component divided by the semi-axis."""
        return (self.axes.T @ vector) / self.semi_axes


@dataclass(frozen=True, eq=False)
class Tip(Surface):
    """Single point as the surface of blades and pins; its axle is the heading of a blade."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Faces and patches; a point touches edges and vertices only by coincidence."""
        return ("face", "patch")

    @property
    def reach(self) -> Scalar:
        """Zero: the surface is a point."""
        return 0.0

    @property
    def sections(self) -> list[tuple[Array, Array]]:
        """Empty: a point has no ellipses."""
        return []

    def support(self, up: Array) -> Array:
        """Return zero: the contact point is the centre itself."""
        return np.zeros(3)

    def support_rate(self, up: Array, updot: Array) -> Array:
        """Return zero, because the contact point does not move on the body."""
        return np.zeros(3)

    def heading(self, N: Array) -> Array:
        """Return the unit vector perpendicular to the normal N along which a blade glides."""
        along = self.axle - (self.axle @ N) * N
        return along / norm(along)


def round_surface(radius: Scalar, crown: Scalar | None = None) -> Disc:
    """Return the surface of a wheel: a knife-edge disc, or a torus if a crown radius (m) is given.

    >>> type(round_surface(0.3)).__name__, type(round_surface(0.3, 0.02)).__name__
    ('Disc', 'Torus')
    """
    return Disc(radius) if crown is None else Torus(radius, crown)


def rim(axle: Array, radius: Scalar) -> tuple[Array, Array]:
    """Return two perpendicular radii (m) of a circle about an axle; the first is horizontal."""
    ahead = np.cross(np.asarray(axle, float), [0.0, 0.0, 1.0])
    if np.linalg.norm(ahead) < 1e-9:
        ahead = np.array([1.0, 0.0, 0.0])
    ahead = ahead / np.linalg.norm(ahead)
    return radius * ahead, radius * np.cross(np.asarray(axle, float), ahead)


def check_length(where: str, name: str, value: Any) -> None:
    """Raise an error if a number is not a positive length (m); symbols are accepted."""
    if not isinstance(value, (int, float)):
        return
    if not (np.isfinite(value) and value >= 0):
        raise ModelError(f"{where}: {name} {value} m is not a length.")
    if value == 0:
        raise ModelError(f"{where}: the {name} must not be zero.")


def _sense_along_edge(fold: Sequence[Scalar], side: Scalar) -> Scalar:
    """Return the sense (1 or -1) along a line from its foot point to the selected nearest point,
    eq. [edge-fold].

    Side 0 selects the globally nearest point. If two local minima exist, sides 1 and -1 select one
    of them by its side of the point that is closest to the axle.
    """
    A, B, C = (x * x for x in fold)
    rest = A + B - C
    best = where(fold[0] < 0.0, -1.0, 1.0)
    both = where(rest * rest * rest + 27.0 * (A * B * C) < 0.0, side, best)
    return where(side * side > 0.5, both, best)


def _descent_step(
    residual: Sequence[Scalar], jacobian: Sequence[Scalar], metric: Sequence[Scalar]
) -> tuple[Scalar, Scalar]:
    """Return a step (x, y) on a patch towards a minimum of the distance from the wheel.

    It is the Newton step A^-1 residual if A is positive definite, or else along the residual, which
    is the negative gradient.
    """
    determinant = jacobian[0] * jacobian[3] - jacobian[1] * jacobian[2]
    trace = jacobian[0] + jacobian[3]
    largest = metric[0] + metric[2]
    is_convex = determinant > MIN_CONVEXITY * largest * largest
    is_minimum = where(trace > 0.0, where(is_convex, 1.0, 0.0), 0.0) > 0.5
    divisor = where(is_minimum, determinant, 1.0)
    newton = (
        (jacobian[3] * residual[0] - jacobian[1] * residual[1]) / divisor,
        (jacobian[0] * residual[1] - jacobian[2] * residual[0]) / divisor,
    )
    return (
        where(is_minimum, newton[0], residual[0]),
        where(is_minimum, newton[1], residual[1]),
    )


def _smaller_eigenvalue(matrix: Sequence[Scalar], metric: Sequence[Scalar]) -> Scalar:
    """Return the smaller eigenvalue of a symmetric matrix (2, 2) relative to a metric (2, 2)."""
    area = metric[0] * metric[2] - metric[1] * metric[1]
    determinant = (matrix[0] * matrix[3] - matrix[1] * matrix[2]) / area
    mean = (
        0.5
        * (metric[2] * matrix[0] - metric[1] * (matrix[1] + matrix[2]) + metric[0] * matrix[3])
        / area
    )
    square = mean * mean - determinant
    return mean - sqrt(where(square > 0.0, square, 1e-300))


def _nonzero_divisor(length: Scalar) -> Scalar:
    """Return a length (m), or a tiny length instead of zero, by which an expression can be divided."""
    return where(length > MIN_LENGTH, length, MIN_LENGTH)
