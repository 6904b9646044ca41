"""A wheel meets a feature of the terrain: where, along which normal, how far apart.

Everything is in world axes: a wheel is its `centre`, axle a (unit), outer radius h and crown c (the
radius of the tyre's cross section, 0 for the disc, h for the ball). A feature is a face (N, d):
N.x = d with N out of the ground, an edge (Q, e, side): the line through Q along e, or a vertex Q.
`side` tells which of the nearest points of a line is meant, where a torus has two.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array, is_zero, norm, where
from draisine.mechanics.kinematics import Geometry, Point, point, point_matrix
from draisine.mechanics.tree import Tree
from draisine.model import Wheel

STEPS = 16
"""Newton's steps towards a line's point nearest to a ring. They come from one side only; of 20,000
random lines at a tyre's surface none needed more for 13 digits.
"""


@dataclass(frozen=True, slots=True, eq=False)
class FeatureContact:
    """The point of the wheel that meets the feature, the unit normal out of the ground, the
    direction along the wheel's heading, the gap.

    The gap's rate is `stretch` times the normal velocity of the wheel's material point. `fold` are
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


def meet_face(centre: Array, a: Array, h: Scalar, c: Scalar, f: Array) -> FeatureContact:
    """Return how a disc, torus or ball meets a plane, eq. [gap-face]: its lowest point is centre -
    (h - c) e - c N, e = u/|u|, u = N - (a.N) a.
    """
    N, d = f[:3], f[3]
    if is_zero(h - c):
        return _meet_ball(centre - c * N, N, a, N @ centre - d - c)
    u = N - (a @ N) * a
    e = u / norm(u)
    point = centre - (h - c) * e - c * N
    return FeatureContact(point, N, cross(a, e), N @ point - d)


def meet_edge(centre: Array, a: Array, h: Scalar, c: Scalar, f: Array) -> FeatureContact:
    """Return how a disc meets a line, eq. [gap-edge]: the line pierces the wheel's plane at X, and
    the gap is |X - centre| - h.

    The normal is orthogonal to the line and to the rim's tangent. A line in the wheel's plane is
    singular.
    """
    Q, e = f[:3], f[3:6]
    across = a @ e
    X = Q + e * ((a @ (centre - Q)) / across)
    arm = X - centre
    distance = norm(arm)
    rho = arm / distance
    m = a * ((rho @ e) / across) - rho
    stretch = norm(m)
    return FeatureContact(X, m / stretch, cross(rho, a), distance - h, stretch)


def meet_edge_by_ring(centre: Array, a: Array, h: Scalar, c: Scalar, f: Array) -> FeatureContact:
    """Return how a torus or ball meets a line, eq. [gap-ring]: by the line's point X nearest to the
    ring, found by Newton's method, eq. [nearest-on-line]; then as a vertex there.
    """
    Q, e, side = f[:3], f[3:6], f[6]
    arm = Q - centre
    w = arm - (arm @ e) * e
    ring = h - c
    if is_zero(ring):
        return meet_vertex(centre, a, h, c, centre + w)
    wp, ep = w - (a @ w) * a, e - (a @ e) * a
    j, q = a @ cross(w, e), norm(ep)
    turned = q > 1e-6  # else the line runs along the axle
    safe = where(turned, q, 1.0)
    fold = (where(turned, (wp @ ep) / safe, norm(wp)), where(turned, j / safe, 0.0), ring * (q * q))

    def newton(s: Scalar) -> tuple[Scalar, Scalar]:
        X = wp + s * ep
        D = _safe(norm(X))
        return s - ring * ((X @ ep) / D), 1.0 - ring * ((j * j) / (D * D * D))

    s = _direction(fold, side) * ring * q
    for _ in range(STEPS):
        value, slope = newton(s)
        s = s - value / where(slope > 1e-9, slope, 1e9)
    value, slope = newton(s)
    met = meet_vertex(centre, a, h, c, centre + w + (s - value / slope) * e)
    return replace(met, fold=fold, held=(s, slope))


def _direction(fold: tuple[Scalar, ...], side: Scalar) -> Scalar:
    """Return the way along the line (1 or -1) from its foot to the nearest point that `side` means,
    eq. [edge-fold]: the nearest of all for 0; for 1 and -1 the one on that side of the line's point
    next to the axle, where both exist.
    """
    A, B, C = (x * x for x in fold)
    rest = A + B - C
    best = where(fold[0] < 0.0, -1.0, 1.0)
    both = where(rest * rest * rest + 27.0 * (A * B * C) < 0.0, side, best)
    return where(side * side > 0.5, both, best)


def meet_vertex(centre: Array, a: Array, h: Scalar, c: Scalar, f: Array) -> FeatureContact:
    """Return how a torus or ball meets a point Q, eq. [gap-vertex]: by the point K of its ring
    nearest to Q; the gap is |K - Q| - c.
    """
    Q = f[:3]
    arm = Q - centre
    if is_zero(h - c):
        distance = norm(arm)
        N = -(arm / _safe(distance))
        return _meet_ball(centre - c * N, N, a, distance - c)
    flat = arm - (a @ arm) * a
    out = flat / _safe(norm(flat))
    K = centre + (h - c) * out
    lift = K - Q
    distance = norm(lift)
    N = lift / _safe(distance)
    return FeatureContact(K - c * N, N, cross(out, a), distance - c)


def _safe(length: Scalar) -> Scalar:
    """Return a length to divide by, not zero: far inside a wheel nothing has a direction, but no
    number may turn into none.
    """
    return where(length > 1e-12, length, 1e-12)


def _meet_ball(point: Array, N: Array, a: Array, gap: Scalar) -> FeatureContact:
    """Return a ball's meeting. It heads as a wheel about a would; where a stands along N, any
    direction across N will do.
    """
    x = cross(a, N)
    turn = where(N[2] < 0.0, -1.0, 1.0)
    k = N[0] / (turn + N[2])
    other = (1.0 - turn * (N[0] * k), -(turn * (N[1] * k)), -(turn * N[0]))
    some = x @ x > 1e-4
    way = array([where(some, u, v) for u, v in zip(x, other, strict=True)])
    return FeatureContact(point, N, way / norm(way), gap)


def place(kind: str, f: Array, R: Array, p: Array) -> Array:
    """Return the numbers of a feature given in a frame that is turned by R and moved by p."""
    if kind == "face":
        N = R @ f[:3]
        return array([*N, f[3] + N @ p, 0.0, 0.0, 0.0])
    e = R @ f[3:6] if kind == "edge" else np.zeros(3)
    return array([*(R @ f[:3] + p), *e, f[6]])


FEATURE_CONTACTS: dict[str, Callable[[Array, Array, Scalar, Scalar, Array], FeatureContact]] = {
    "face": meet_face,
    "edge": meet_edge,
    "round edge": meet_edge_by_ring,
    "vertex": meet_vertex,
}
"""How a wheel meets each kind of feature; the round edge is that of wheels with a crown."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactRows:
    """A contact's rows (normal, along, across) over v = (V, W, rdot), and what they come from.

    `axes` are the three directions in world axes; `along` lies in the wheel's plane.
    """

    meeting: FeatureContact
    centre: Array
    axle: Array
    axes: tuple[Array, Array, Array]
    C: Array


def meet(
    tree: Tree, geo: Geometry, R: Array, p: Array, wheel: Wheel, kind: str, f: Array
) -> ContactRows:
    """Return how a wheel of the machine meets a feature of the given kind with the numbers f, eq.
    [contact-rows]; R, p is the base's pose.
    """
    link, rotor = tree.place[wheel.body]
    turned = R @ geo.R0[link]
    at_link = rotor.centre if rotor is not None else tree.local(wheel.body, wheel.centre)
    hub = p + R @ geo.o0[link] + turned @ at_link
    a = turned @ tree.direction(wheel.body, wheel.axle)
    way = kind if kind != "edge" or is_zero(wheel.crown) else "round edge"
    meeting = FEATURE_CONTACTS[way](hub, a, wheel.radius, wheel.crown, f)
    rho = turned.T @ (meeting.point - hub)
    at: Point = point(geo, link, rotor, rho if rotor is not None else at_link + rho)
    P = R @ point_matrix(tree, geo, at, np.zeros(3))
    axes = (meeting.normal, meeting.along, cross(meeting.normal, meeting.along))
    return ContactRows(meeting, hub, a, axes, array([list(axis @ P) for axis in axes]))
