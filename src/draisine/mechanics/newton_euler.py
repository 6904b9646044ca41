"""Free dynamics `M vdot + F = Q` by recursion: the inverse map (motion to forces) and the composite
inertias.

With `B = hat(alpha) + hat(W) hat(W)` the acceleration of a point x of a link is `a + B x`; forces
and moments are then linear in its first and second moments of mass, eq. [newton-euler].
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import Ad, Pose, ad, cross, hat, inverse
from draisine.algebra.scalar import Array, Scalar, array
from draisine.mechanics.kinematics import Geometry, Velocities
from draisine.mechanics.tree import Link, Tree, Z


@dataclass(frozen=True, slots=True, eq=False)
class Wrenches:
    """What each link by itself needs to move as it does (force and moment at its origin), and what
    each joint needs beside that (spins of rotors, springs, dampers). `a` (gravity taken off) and
    `alpha` are the accelerations of the links' frames.
    """

    force: list[Array]
    moment: list[Array]
    joint: Array
    a: list[Array]
    alpha: list[Array]


def wrenches(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    vdot: Array,
    ref: Array,
    refdot: Array,
    gravity: Array,
) -> Wrenches:
    """Return what the links need for the motion vdot, each by itself: the outward pass.

    `gravity` is in the base's axes.
    """
    Vdot, al, rddot = vdot[:3], vdot[3:6], vdot[6:]
    W = vel.W[0]
    links = tree.links
    B = [_acceleration_matrix(al, W)]
    a = [Vdot + cross(W, vel.V - refdot) - gravity - B[0] @ ref]
    alphas, falls = [al], [gravity]
    for j, link in enumerate(links[1:], start=1):
        i, E = link.parent, geo.E[j]
        rate, rise = vel.rdot[link.joint], rddot[link.joint]
        W_in = E.T @ vel.W[i]
        turned, slid = Z * rise + rate * cross(W_in, Z), Z * rise + 2 * rate * cross(W_in, Z)
        acc = E.T @ (a[i] + B[i] @ geo.p[j]) + link.slide * slid
        al = E.T @ alphas[i] + link.turn * turned
        a.append(acc)
        alphas.append(al)
        falls.append(E.T @ falls[i])
        B.append(_acceleration_matrix(al, vel.W[j]))
    out = np.zeros(len(tree.model.joints), dtype=object)
    force = [link.mass * a[j] + B[j] @ link.S for j, link in enumerate(links)]
    moment = [cross(link.S, a[j]) + _turning(B[j] @ link.G) for j, link in enumerate(links)]
    for j, link in enumerate(links):
        for rotor in link.rotors:
            spin, rise = vel.rdot[rotor.joint], rddot[rotor.joint]
            axial = rotor.inertia * rotor.axis
            moment[j] = moment[j] + cross(vel.W[j], axial * spin) + axial * rise
            out[rotor.joint] = axial @ alphas[j] + rotor.inertia * rise
        if link.added is not None or link.drag is not None:
            extra = _fluid(link, vel.V_link[j], vel.W[j], a[j] + falls[j], alphas[j])
            force[j], moment[j] = force[j] + extra[:3], moment[j] + extra[3:]
    for k, joint in enumerate(tree.model.joints):
        out[k] = out[k] + joint.spring * (geo.r[k] - joint.rest) + joint.damper * vel.rdot[k]
    return Wrenches(force, moment, array(out), a, alphas)


def gather(tree: Tree, geo: Geometry, needed: Wrenches, ref: Array) -> Array:
    """Return the wrench (at ref) and the joint forces that the links together need: the inward
    pass.
    """
    force, moment = list(needed.force), list(needed.moment)
    out = np.zeros(6 + len(tree.model.joints), dtype=object)
    out[6:] = needed.joint
    for j in reversed(range(1, len(tree.links))):
        link = tree.links[j]
        along = link.slide * force[j][2] + link.turn * moment[j][2]
        out[6 + link.joint] = out[6 + link.joint] + along
        E, i = geo.E[j], link.parent
        pushed = E @ force[j]
        force[i] = force[i] + pushed
        moment[i] = moment[i] + E @ moment[j] + cross(geo.p[j], pushed)
    out[:3] = force[0]
    out[3:6] = moment[0] - cross(ref, force[0])
    return array(out)


def inverse_dynamics(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    vdot: Array,
    ref: Array,
    refdot: Array,
    gravity: Array,
) -> Array:
    """Return the wrench (at ref) and the joint forces that the motion vdot needs: `M vdot + F`,
    eq. [inverse-map]. `gravity` is in the base's axes.
    """
    return gather(tree, geo, wrenches(tree, geo, vel, vdot, ref, refdot, gravity), ref)


def _acceleration_matrix(al: Array, W: Array) -> Array:
    """Return B: the acceleration of point x is a + B x."""
    x, y, z = W
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz = x * y, x * z, y * z
    return array(
        [
            [-(yy + zz), xy - al[2], xz + al[1]],
            [xy + al[2], -(xx + zz), yz - al[0]],
            [xz - al[1], yz + al[0], -(xx + yy)],
        ]
    )


def _turning(T: Array) -> Array:
    """Return `int x cross (B x) dm` from T = B G."""
    return array([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])


def _fluid(link: Link, V: Array, W: Array, a: Array, al: Array) -> Array:
    """Return the wrench that the added mass and the drag of a link need, eq. [fluid-wrench]."""
    eta = np.concatenate([V, W])
    etadot = np.concatenate([a - cross(W, V), al])
    out = array([0.0] * 6)
    if link.added is not None:
        out = out + link.added @ etadot - ad(eta).T @ (link.added @ eta)
    if link.drag is not None:
        out = out + link.drag @ eta
    return out


def mass_matrix(tree: Tree, geo: Geometry, ref: Array) -> Array:
    """Return M for v = (V at ref, W, rdot), from composite bodies, eq. [composite-bodies]."""
    links = tree.links
    mass: list[Scalar] = [link.mass for link in links]
    S = [link.S for link in links]
    G = [link.G for link in links]
    added = [link.added for link in links]
    columns: list[dict[int, tuple[Array, Array]]] = [{} for _ in links]
    n = 6 + len(tree.model.joints)
    M = np.zeros((n, n), dtype=object)
    for j in reversed(range(len(links))):
        link = links[j]
        for rotor in link.rotors:
            columns[j][rotor.joint] = (np.zeros(3), rotor.inertia * rotor.axis)
            M[6 + rotor.joint, 6 + rotor.joint] = rotor.inertia
        if j == 0:
            break
        k = link.joint
        columns[j][k] = _column(link, mass[j], S[j], G[j], added[j])
        for other, (force, moment) in columns[j].items():
            value = link.slide * force[2] + link.turn * moment[2]
            M[6 + k, 6 + other] = value
            M[6 + other, 6 + k] = value
        i, E, p = link.parent, geo.E[j], geo.p[j]
        for other, (force, moment) in columns[j].items():
            pushed = E @ force
            columns[i][other] = (pushed, E @ moment + cross(p, pushed))
        SE = E @ S[j]
        mixed = np.outer(p, SE)
        mass[i] = mass[i] + mass[j]
        S[i] = S[i] + SE + mass[j] * p
        G[i] = G[i] + E @ G[j] @ E.T + mixed + mixed.T + mass[j] * np.outer(p, p)
        if added[j] is not None:
            X = Ad(inverse(Pose(E, p)))
            moved = X.T @ added[j] @ X
            added[i] = moved if added[i] is None else added[i] + moved
    M[:6, :6] = _base_block(mass[0], S[0], G[0], added[0], ref)
    for k, (force, moment) in columns[0].items():
        column = np.concatenate([force, moment - cross(ref, force)])
        M[:6, 6 + k] = column
        M[6 + k, :6] = column
    return array(M)


def _base_block(m: Scalar, S: Array, G: Array, added: Array | None, ref: Array) -> Array:
    """Return the inertia of the whole machine, as it stands, for a twist (V at ref, W)."""
    M = np.zeros((6, 6), dtype=object)
    mixed = np.outer(ref, S)
    S_ref = S - m * ref
    G_ref = G - mixed - mixed.T + m * np.outer(ref, ref)
    M[:3, :3] = m * np.eye(3)
    M[:3, 3:] = -hat(S_ref)
    M[3:, :3] = hat(S_ref)
    M[3:, 3:] = (G_ref[0, 0] + G_ref[1, 1] + G_ref[2, 2]) * np.eye(3) - G_ref
    if added is not None:
        X = Ad(Pose(np.eye(3), ref))
        M = M + X.T @ added @ X
    return M


def _column(
    link: Link, mass: Scalar, S: Array, G: Array, added: Array | None
) -> tuple[Array, Array]:
    """Return force and moment (at the link's origin) per unit acceleration of the link's joint."""
    force = link.slide * mass * Z + link.turn * cross(Z, S)
    spread = array([-G[0, 2], -G[1, 2], G[0, 0] + G[1, 1]])
    moment = link.slide * cross(S, Z) + link.turn * spread
    if added is not None:
        extra = link.slide * added[:, 2] + link.turn * added[:, 5]
        force, moment = force + extra[:3], moment + extra[3:]
    return force, moment
