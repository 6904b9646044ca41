"""The outward pass: where every link is, how it moves, how points of it move with the speeds v =
(V, W, rdot).

All vectors with a 0 in their name are in the base's frame. The base's linear velocity V may be
taken at any point `ref` of the base that moves with the rate `refdot` in it (a contact point is a
good choice); ref = 0 is the base's origin.
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import cross, hat, rot_about, rot_z
from draisine.algebra.scalar import Array, Scalar, array, vanishes
from draisine.mechanics.tree import Rotor, Tree, Z
from draisine.model import Contact


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """Per link: `E, p` its frame in the parent's, `R0, o0` its frame in the base's, `z0` its
    joint's axis there.
    """

    r: Array
    E: list[Array]
    p: list[Array]
    R0: list[Array]
    o0: list[Array]
    z0: list[Array]


def geometry(tree: Tree, r: Array) -> Geometry:
    """Return the poses of all links for the shape r, eq. [geometric-model]."""
    base = tree.links[0]
    out = Geometry(r, [base.K], [base.p], [np.eye(3)], [np.zeros(3)], [Z])
    for link in tree.links[1:]:
        i = link.parent
        x = r[link.joint]
        E = link.K @ rot_z(link.turn * x)
        p = link.p + link.K @ (Z * (link.slide * x))
        out.E.append(E)
        out.p.append(p)
        out.R0.append(out.R0[i] @ E)
        out.o0.append(out.o0[i] + out.R0[i] @ p)
        out.z0.append(out.R0[i] @ link.K[:, 2])
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Velocities:
    """The base's V (at ref) and W; per link its W and V in its own frame, and relative to the base
    `w0`, `o0dot`.
    """

    V: Array
    rdot: Array
    W: list[Array]
    V_link: list[Array]
    w0: list[Array]
    o0dot: list[Array]

    @property
    def speeds(self) -> Array:
        """All speeds (V at ref, W, rdot)."""
        return np.concatenate([self.V, self.W[0], self.rdot])


def velocities(
    tree: Tree, geo: Geometry, V: Array, W: Array, rdot: Array, ref: Array
) -> Velocities:
    """Return the velocities of all links, eq. [twist-recursion]."""
    zero = np.zeros(3)
    out = Velocities(V, rdot, [W], [V - cross(W, ref)], [zero], [zero])
    for j, link in enumerate(tree.links[1:], start=1):
        i = link.parent
        rate = rdot[link.joint]
        E = geo.E[j]
        spin = link.turn * rate
        slide = link.slide * rate
        out.W.append(E.T @ out.W[i] + Z * spin)
        out.V_link.append(E.T @ (out.V_link[i] + cross(out.W[i], geo.p[j])) + Z * slide)
        arm = geo.o0[j] - geo.o0[i]
        z0 = geo.z0[j]
        out.w0.append(out.w0[i] + z0 * spin)
        out.o0dot.append(out.o0dot[i] + cross(out.w0[i], arm) + z0 * slide)
    return out


@dataclass(frozen=True, slots=True, eq=False)
class Accelerations:
    """Per link, in its own frame: the acceleration `a` of its origin (gravity taken off), its angular
    acceleration `alpha`, and `B = hat(alpha) + hat(W) hat(W)`: that of a point x is `a + B x`.
    """

    a: list[Array]
    alpha: list[Array]
    B: list[Array]


def accelerations(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    vdot: Array,
    ref: Array,
    refdot: Array,
    gravity: Array,
) -> Accelerations:
    """Return the accelerations of all links for the motion vdot; `gravity` is in the base's axes."""
    W = vel.W[0]
    al = vdot[3:6]
    B = _acceleration_matrix(al, W)
    out = Accelerations([vdot[:3] + cross(W, vel.V - refdot) - gravity - B @ ref], [al], [B])
    for j, link in enumerate(tree.links[1:], start=1):
        i = link.parent
        E = geo.E[j]
        rate = vel.rdot[link.joint]
        rise = vdot[6 + link.joint]
        W_in = E.T @ vel.W[i]
        turned = Z * rise + rate * cross(W_in, Z)
        slid = Z * rise + 2 * rate * cross(W_in, Z)
        out.a.append(E.T @ (out.a[i] + out.B[i] @ geo.p[j]) + link.slide * slid)
        out.alpha.append(E.T @ out.alpha[i] + link.turn * turned)
        out.B.append(_acceleration_matrix(out.alpha[j], vel.W[j]))
    return out


def _acceleration_matrix(al: Array, W: Array) -> Array:
    """Return B: the acceleration of point x is a + B x."""
    x, y, z = W
    xx = x * x
    yy = y * y
    zz = z * z
    xy = x * y
    xz = x * z
    yz = y * z
    return array(
        [
            [-(yy + zz), xy - al[2], xz + al[1]],
            [xy + al[2], -(xx + zz), yz - al[0]],
            [xz - al[1], yz + al[0], -(xx + yy)],
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A point that a body passes through: `c` in the base's frame, `t` its velocity per unit spin
    of the rotor, if any.

    `rho` is the point seen from the link's origin (or the rotor's centre), `axis` the rotor's, in
    the link's frame.
    """

    link: int
    rotor: Rotor | None
    rho: Array
    c: Array
    t: Array | None


def point(geo: Geometry, link: int, rotor: Rotor | None, rho: Array) -> Point:
    """Return the point of link `link` at rho from the rotor's centre, or from the link's origin."""
    R0 = geo.R0[link]
    o0 = geo.o0[link]
    if rotor is None:
        return Point(link, None, rho, o0 + R0 @ rho, None)
    return Point(link, rotor, rho, o0 + R0 @ (rotor.centre + rho), R0 @ cross(rotor.axis, rho))


def surface_point(tree: Tree, geo: Geometry, contact: Contact, rho: Array) -> Point:
    """Return the point at rho from the centre of a contact's surface, in the axes of its link."""
    link, rotor = tree.place[contact.body]
    centre = tree.local(contact.body, contact.centre)
    if rotor is None:
        return point(geo, link, None, centre + rho)
    # Several wheels of one folded body have their own centres on its axle.
    return point(geo, link, rotor, centre - rotor.centre + rho)


def body_point(tree: Tree, geo: Geometry, body: str, where: Array) -> Point:
    """Return the material point of a body that is at `where` in the drawing."""
    link, rotor = tree.place[body]
    local = tree.local(body, where)
    if rotor is None:
        return point(geo, link, None, local)
    rho = local - rotor.centre
    if vanishes(cross(rotor.axis, rho)):
        # The spin does not move points of the axle: leave the rotor's angle out of the expressions.
        return point(geo, link, None, local)
    return point(geo, link, rotor, rot_about(rotor.axis, geo.r[rotor.joint]) @ rho)


def point_matrix(tree: Tree, geo: Geometry, at: Point, ref: Array) -> Array:
    """Return P with `P v` the velocity of the material point at `at`, in the base's axes, eq.
    [point-rows].
    """
    P = np.zeros((3, 6 + len(tree.model.joints)), dtype=object)
    P[:, :3] = np.eye(3)
    P[:, 3:6] = -hat(at.c - ref)
    for k in tree.path(at.link):
        link = tree.links[k]
        z0 = geo.z0[k]
        P[:, 6 + link.joint] = link.slide * z0 + link.turn * cross(z0, at.c - geo.o0[k])
    if at.rotor is not None:
        P[:, 6 + at.rotor.joint] = at.t
    return array(P)


def spin_matrix(tree: Tree, geo: Geometry, at: Point) -> Array:
    """Return J with `J v` the angular velocity of the body that passes through a point, in the
    base's axes.
    """
    J = np.zeros((3, 6 + len(tree.model.joints)), dtype=object)
    J[:, 3:6] = np.eye(3)
    for k in tree.path(at.link):
        J[:, 6 + tree.links[k].joint] = tree.links[k].turn * geo.z0[k]
    if at.rotor is not None:
        J[:, 6 + at.rotor.joint] = geo.R0[at.link] @ at.rotor.axis
    return array(J)


def point_drift(
    tree: Tree, geo: Geometry, vel: Velocities, at: Point, rhodot: Array, refdot: Array
) -> tuple[Array, Array]:
    """Return `Pdot v` and the rate of the geometric point c in the base's frame, eq. [point-drift].

    `rhodot` is how fast the point wanders over the body, in the link's frame.
    """
    R0 = geo.R0[at.link]
    w0 = vel.w0[at.link]
    cdot = vel.o0dot[at.link] + cross(w0, at.c - geo.o0[at.link]) + R0 @ rhodot
    drift = cross(vel.W[0], cdot - refdot)
    for k in tree.path(at.link):
        link = tree.links[k]
        z0 = geo.z0[k]
        rate: Scalar = vel.rdot[link.joint]
        z0dot = cross(vel.w0[link.parent], z0)
        arm = cross(z0dot, at.c - geo.o0[k]) + cross(z0, cdot - vel.o0dot[k])
        drift = drift + rate * (link.slide * z0dot + link.turn * arm)
    if at.rotor is not None and at.t is not None:
        spun = cross(w0, at.t) + R0 @ cross(at.rotor.axis, rhodot)
        drift = drift + vel.rdot[at.rotor.joint] * spun
    return drift, cdot
