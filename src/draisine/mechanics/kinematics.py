"""Forward kinematics: poses, velocities and accelerations of links, and Jacobians of their points.

The speeds are v = (V, W, rdot): twist of the base, joint rates. Vectors with a 0 in their name are in the
base's frame. The base's linear velocity V is taken at a point `ref` of the base, which may move in the base
with the rate `refdot`; ref = 0 is the base's origin. A contact point as `ref` shortens constraint rows.
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import cross, hat, rot_about, rot_z
from draisine.algebra.scalar import Array, Scalar, all_vanish, array
from draisine.mechanics.tree import Rotor, Tree, Z
from draisine.model import Contact

BASE_ORIGIN = np.zeros(3)
"""Origin of the base's frame (m), the reference point `ref` of velocities taken at the origin."""

VERTICAL = np.array([0.0, 0.0, 1.0])
"""Normal of level ground, unit vector in world axes."""


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """Poses of all links at given joint coordinates."""

    r: Array  # joint coordinates, rad or m, (n,)
    E: list[Array]  # axes of each link in the parent's frame, (3, 3)
    p: list[Array]  # origin of each link in the parent's frame, m
    R0: list[Array]  # axes of each link in the base's frame, (3, 3)
    o0: list[Array]  # origin of each link in the base's frame, m
    z0: list[Array]  # joint axis of each link in the base's frame, unit vector


def geometry(tree: Tree, r: Array) -> Geometry:
    """Compute the poses of all links, eq. [geometric-model].

    Parameters
    ----------
    tree
        Links of the model.
    r
        (n,), joint coordinates in rad or m.

    Returns
    -------
    Geometry
        Poses in the parents' frames and in the base's frame.
    """
    base = tree.links[0]
    geo = Geometry(r, [base.K], [base.p], [np.eye(3)], [np.zeros(3)], [Z])
    for link in tree.links[1:]:
        i = link.parent
        coordinate = r[link.joint]
        E = link.K @ rot_z(link.turn * coordinate)
        p = link.p + link.K @ (Z * (link.slide * coordinate))
        geo.E.append(E)
        geo.p.append(p)
        geo.R0.append(geo.R0[i] @ E)
        geo.o0.append(geo.o0[i] + geo.R0[i] @ p)
        geo.z0.append(geo.R0[i] @ link.K[:, 2])
    return geo


@dataclass(frozen=True, slots=True, eq=False)
class Velocities:
    """Linear and angular velocities of all links at one state."""

    V: Array  # velocity of the base at ref, m/s
    rdot: Array  # joint rates, rad/s or m/s, (n,)
    W: list[Array]  # angular velocity of each link in its own frame, rad/s
    V_link: list[Array]  # velocity of the origin of each link in its own frame, m/s
    # Angular velocity (rad/s) of each link relative to the base, in the base's frame
    w0: list[Array]
    # Velocity (m/s) of the origin of each link relative to the base, in the base's frame
    o0dot: list[Array]

    @property
    def speeds(self) -> Array:
        """All speeds v = (V at ref, W, rdot), m/s and rad/s, (6 + n,)."""
        return np.concatenate([self.V, self.W[0], self.rdot])


def velocities(
    tree: Tree, geo: Geometry, V: Array, W: Array, rdot: Array, ref: Array
) -> Velocities:
    """Compute the velocities of all links, eq. [twist-recursion].

    Parameters
    ----------
    tree, geo
        Links of the model and their poses.
    V, W
        (3,), velocity of the base at `ref` (m/s) and its angular velocity (rad/s), in its axes.
    rdot
        (n,), joint rates.
    ref
        (3,), point of the base at which V is taken, m.

    Returns
    -------
    Velocities
        In the frames of the links, and relative to the base.
    """
    zero = np.zeros(3)
    vel = Velocities(V, rdot, [W], [V - cross(W, ref)], [zero], [zero])
    for j, link in enumerate(tree.links[1:], start=1):
        i = link.parent
        rate = rdot[link.joint]
        E = geo.E[j]
        spin = link.turn * rate
        slide = link.slide * rate
        vel.W.append(E.T @ vel.W[i] + Z * spin)
        vel.V_link.append(E.T @ (vel.V_link[i] + cross(vel.W[i], geo.p[j])) + Z * slide)
        arm = geo.o0[j] - geo.o0[i]
        z0 = geo.z0[j]
        vel.w0.append(vel.w0[i] + z0 * spin)
        vel.o0dot.append(vel.o0dot[i] + cross(vel.w0[i], arm) + z0 * slide)
    return vel


@dataclass(frozen=True, slots=True, eq=False)
class Accelerations:
    """Accelerations of all links in their own frames; a point x accelerates with `a + B x`."""

    a: list[Array]  # acceleration of the origin of each link minus gravity, m/s2
    alpha: list[Array]  # angular acceleration of each link, rad/s2
    B: list[Array]  # hat(alpha) + hat(W) hat(W) of each link, (3, 3)


def link_accelerations(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    vdot: Array,
    ref: Array,
    refdot: Array,
    gravity: Array,
) -> Accelerations:
    """Return the accelerations of all links for the rates vdot; `gravity` is in the base's axes."""
    W = vel.W[0]
    alpha = vdot[3:6]
    B = _acceleration_matrix(alpha, W)
    acc = Accelerations([vdot[:3] + cross(W, vel.V - refdot) - gravity - B @ ref], [alpha], [B])
    for j, link in enumerate(tree.links[1:], start=1):
        i = link.parent
        E = geo.E[j]
        rate = vel.rdot[link.joint]
        rddot = vdot[6 + link.joint]
        W_in = E.T @ vel.W[i]
        turn_term = Z * rddot + rate * cross(W_in, Z)
        slide_term = Z * rddot + 2 * rate * cross(W_in, Z)
        acc.a.append(E.T @ (acc.a[i] + acc.B[i] @ geo.p[j]) + link.slide * slide_term)
        acc.alpha.append(E.T @ acc.alpha[i] + link.turn * turn_term)
        acc.B.append(_acceleration_matrix(acc.alpha[j], vel.W[j]))
    return acc


def _acceleration_matrix(alpha: Array, W: Array) -> Array:
    """Return B = hat(alpha) + hat(W) hat(W), which maps a position to its acceleration."""
    x, y, z = W
    xx = x * x
    yy = y * y
    zz = z * z
    xy = x * y
    xz = x * z
    yz = y * z
    return array(
        [
            [-(yy + zz), xy - alpha[2], xz + alpha[1]],
            [xy + alpha[2], -(xx + zz), yz - alpha[0]],
            [xz - alpha[1], yz + alpha[0], -(xx + yy)],
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """Point of a link, or of a rotor that the link carries."""

    link: int
    rotor: Rotor | None
    rho: Array  # position from the link's origin or the rotor's centre, in the link's frame, m
    c: Array  # position in the base's frame, m
    t: Array | None  # velocity per unit spin of the rotor, in the base's frame, m


def point(geo: Geometry, link: int, rotor: Rotor | None, offset: Array) -> Point:
    """Return the point of a link at an offset (m) from the rotor's centre, or from the link's origin."""
    R0 = geo.R0[link]
    o0 = geo.o0[link]
    if rotor is None:
        return Point(link, None, offset, o0 + R0 @ offset, None)
    return Point(
        link, rotor, offset, o0 + R0 @ (rotor.centre + offset), R0 @ cross(rotor.axis, offset)
    )


def surface_point(tree: Tree, geo: Geometry, contact: Contact, rho: Array) -> Point:
    """Return the point at rho (m) from the centre of a contact's surface, in the axes of its link."""
    link, rotor = tree.place[contact.body]
    centre = tree.point_in_link(contact.body, contact.centre)
    if rotor is None:
        return point(geo, link, None, centre + rho)
    # Several wheels may belong to one body that is folded into its carrier; each has its own centre
    # on the common axle.
    return point(geo, link, rotor, centre - rotor.centre + rho)


def body_point(tree: Tree, geo: Geometry, body: str, position: Array) -> Point:
    """Return the material point of a body from its position in the zero configuration."""
    link, rotor = tree.place[body]
    local = tree.point_in_link(body, position)
    if rotor is None:
        return point(geo, link, None, local)
    rho = local - rotor.centre
    if all_vanish(cross(rotor.axis, rho)):
        # The spin of a rotor does not move points on its axle. Leaving its angle out keeps the
        # expressions short.
        return point(geo, link, None, local)
    return point(geo, link, rotor, rot_about(rotor.axis, geo.r[rotor.joint]) @ rho)


def point_matrix(tree: Tree, geo: Geometry, point: Point, ref: Array) -> Array:
    """Compute the Jacobian of a material point, eq. [point-rows].

    Parameters
    ----------
    tree, geo
        Links of the model and their poses.
    point
        Point of a link or of a rotor.
    ref
        (3,), point of the base at which V is taken, m.

    Returns
    -------
    (3, 6 + n) array
        P with `P v` the velocity of the point in the base's axes, for v = (V at ref, W, rdot).
    """
    P = np.zeros((3, 6 + len(tree.model.joints)), dtype=object)
    P[:, :3] = np.eye(3)
    P[:, 3:6] = -hat(point.c - ref)
    for k in tree.path_to_link(point.link):
        link = tree.links[k]
        z0 = geo.z0[k]
        P[:, 6 + link.joint] = link.slide * z0 + link.turn * cross(z0, point.c - geo.o0[k])
    if point.rotor is not None:
        P[:, 6 + point.rotor.joint] = point.t
    return array(P)


def spin_matrix(tree: Tree, geo: Geometry, point: Point) -> Array:
    """Return the Jacobian J (3, 6 + n) of the angular velocity of a point's body, in the base's
    axes.
    """
    J = np.zeros((3, 6 + len(tree.model.joints)), dtype=object)
    J[:, 3:6] = np.eye(3)
    for k in tree.path_to_link(point.link):
        J[:, 6 + tree.links[k].joint] = tree.links[k].turn * geo.z0[k]
    if point.rotor is not None:
        J[:, 6 + point.rotor.joint] = geo.R0[point.link] @ point.rotor.axis
    return array(J)


def point_drift(
    tree: Tree, geo: Geometry, vel: Velocities, point: Point, rhodot: Array, refdot: Array
) -> tuple[Array, Array]:
    """Compute the drift `Pdot v` of a point that may move over its body, eq. [point-drift].

    Parameters
    ----------
    tree, geo, vel
        Links of the model, their poses and velocities.
    point
        Point of a link or of a rotor.
    rhodot
        (3,), velocity of the point relative to its body, in the link's frame, m/s.
    refdot
        (3,), velocity of `ref` relative to the base, m/s.

    Returns
    -------
    drift : (3,) array
        `Pdot v` in the base's axes, m/s2.
    cdot : (3,) array
        Rate of the point's position in the base's frame, m/s.
    """
    R0 = geo.R0[point.link]
    w0 = vel.w0[point.link]
    cdot = vel.o0dot[point.link] + cross(w0, point.c - geo.o0[point.link]) + R0 @ rhodot
    drift = cross(vel.W[0], cdot - refdot)
    for k in tree.path_to_link(point.link):
        link = tree.links[k]
        z0 = geo.z0[k]
        rate: Scalar = vel.rdot[link.joint]
        z0dot = cross(vel.w0[link.parent], z0)
        arm = cross(z0dot, point.c - geo.o0[k]) + cross(z0, cdot - vel.o0dot[k])
        drift = drift + rate * (link.slide * z0dot + link.turn * arm)
    if point.rotor is not None and point.t is not None:
        rotor_rate = cross(w0, point.t) + R0 @ cross(point.rotor.axis, rhodot)
        drift = drift + vel.rdot[point.rotor.joint] * rotor_rate
    return drift, cdot
