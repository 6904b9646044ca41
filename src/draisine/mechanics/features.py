"""A wheel meets a feature of the terrain: where, along which normal, how far apart.

Everything is in world axes: a wheel is its `centre`, axle a (unit), outer radius h and crown c (the
radius of the tyre's cross section, 0 for the disc). A feature is a face (N, d): N.x = d with N out
of the ground, an edge (Q, e): the line through Q along e, or a vertex Q.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from draisine.lie import cross
from draisine.mechanics.kinematics import Geometry, Point, point, point_matrix
from draisine.mechanics.tree import Tree
from draisine.model import Wheel
from draisine.scalar import Array, Scalar, array, norm


@dataclass(frozen=True, slots=True, eq=False)
class Meeting:
    """The point of the wheel that meets the feature, the unit normal out of the ground, the gap.

    The gap's rate is `stretch` times the normal velocity of the wheel's material point.
    """

    point: Array
    normal: Array
    gap: Scalar
    stretch: Scalar


def meet_face(centre: Array, a: Array, h: Scalar, c: Scalar, f: Array) -> Meeting:
    """Return how a disc or torus meets a plane, eq. [gap-face]: its lowest point is centre - (h - c)
    e - c N, e = u/|u|, u = N - (a.N) a.
    """
    N, d = f[:3], f[3]
    u = N - (a @ N) * a
    point = centre - (h - c) * (u / norm(u)) - c * N
    return Meeting(point, N, N @ point - d, 1.0)


def meet_edge(centre: Array, a: Array, h: Scalar, c: Scalar, f: Array) -> Meeting:
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
    return Meeting(X, m / stretch, distance - h, stretch)


def meet_vertex(centre: Array, a: Array, h: Scalar, c: Scalar, f: Array) -> Meeting:
    """Return how a torus meets a point Q, eq. [gap-vertex]: by the point K of its ring nearest to
    Q; the gap is |K - Q| - c.
    """
    Q = f[:3]
    arm = Q - centre
    flat = arm - (a @ arm) * a
    K = centre + (h - c) * (flat / norm(flat))
    lift = K - Q
    distance = norm(lift)
    N = lift / distance
    return Meeting(K - c * N, N, distance - c, 1.0)


def place(kind: str, f: Array, R: Array, p: Array) -> Array:
    """Return the numbers of a feature given in a frame that is turned by R and moved by p."""
    if kind == "face":
        N = R @ f[:3]
        return array([*N, f[3] + N @ p, 0.0, 0.0])
    e = R @ f[3:6] if kind == "edge" else np.zeros(3)
    return array([*(R @ f[:3] + p), *e])


MEETINGS: dict[str, Callable[[Array, Array, Scalar, Scalar, Array], Meeting]] = {
    "face": meet_face,
    "edge": meet_edge,
    "vertex": meet_vertex,
}
"""How a wheel meets each kind of feature."""


@dataclass(frozen=True, slots=True, eq=False)
class Met:
    """A contact's rows (normal, along, across) over v = (V, W, rdot), and what they come from.

    `axes` are the three directions in world axes; `along` lies in the wheel's plane.
    """

    meeting: Meeting
    centre: Array
    axle: Array
    axes: tuple[Array, Array, Array]
    C: Array


def meet(tree: Tree, geo: Geometry, R: Array, p: Array, wheel: Wheel, kind: str, f: Array) -> Met:
    """Return how a wheel of the machine meets a feature of the given kind with the numbers f, eq.
    [contact-rows]; R, p is the base's pose.
    """
    link, rotor = tree.place[wheel.body]
    turned = R @ geo.R0[link]
    at_link = rotor.centre if rotor is not None else tree.local(wheel.body, wheel.centre)
    hub = p + R @ geo.o0[link] + turned @ at_link
    a = turned @ tree.direction(wheel.body, wheel.axle)
    meeting = MEETINGS[kind](hub, a, wheel.radius, wheel.crown, f)
    rho = turned.T @ (meeting.point - hub)
    at: Point = point(geo, link, rotor, rho if rotor is not None else at_link + rho)
    P = R @ point_matrix(tree, geo, at, np.zeros(3))
    x = cross(a, meeting.normal)
    along = x / norm(x)
    axes = (meeting.normal, along, cross(meeting.normal, along))
    return Met(meeting, hub, a, axes, array([list(axis @ P) for axis in axes]))
