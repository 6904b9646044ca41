"""Free dynamics `M vdot + F = Q` by recursion: the inverse map (motion to forces) and the composite
inertias.

With `a + B x` the acceleration of a point x of a link, forces and moments are linear in its first
and second moments of mass, eq. [newton-euler].
"""

from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import Ad, Pose, ad, cross, hat, inverse
from draisine.algebra.scalar import Array, array
from draisine.mechanics.kinematics import Geometry, Velocities, accelerations
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
    links, rddot = tree.links, vdot[6:]
    acc = accelerations(tree, geo, vel, vdot, ref, refdot, gravity)
    out = np.zeros(len(tree.model.joints), dtype=object)
    force = [link.mass * acc.a[j] + acc.B[j] @ link.S for j, link in enumerate(links)]
    moment = [cross(link.S, acc.a[j]) + _turning(acc.B[j] @ link.G) for j, link in enumerate(links)]
    for j, link in enumerate(links):
        for rotor in link.rotors:
            spin, rise = vel.rdot[rotor.joint], rddot[rotor.joint]
            axial = rotor.inertia * rotor.axis
            moment[j] = moment[j] + cross(vel.W[j], axial * spin) + axial * rise
            out[rotor.joint] = axial @ acc.alpha[j] + rotor.inertia * rise
        if link.added is not None or link.drag is not None:
            through = acc.a[j] + geo.R0[j].T @ gravity
            extra = _fluid(link, vel.V_link[j], vel.W[j], through, acc.alpha[j])
            force[j], moment[j] = force[j] + extra[:3], moment[j] + extra[3:]
    for k, joint in enumerate(tree.model.joints):
        out[k] = out[k] + joint.spring * (geo.r[k] - joint.rest) + joint.damper * vel.rdot[k]
    return Wrenches(force, moment, array(out), acc.a, acc.alpha)


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
    whole = [_Composite(link) for link in links]
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
        k, i, E, p = link.joint, link.parent, geo.E[j], geo.p[j]
        columns[j][k] = whole[j].column(link)
        for other, (force, moment) in columns[j].items():
            value = link.slide * force[2] + link.turn * moment[2]
            M[6 + k, 6 + other] = value
            M[6 + other, 6 + k] = value
            pushed = E @ force
            columns[i][other] = (pushed, E @ moment + cross(p, pushed))
        whole[i].carry(whole[j], E, p)
    M[:6, :6] = whole[0].base_block(ref)
    for k, (force, moment) in columns[0].items():
        column = np.concatenate([force, moment - cross(ref, force)])
        M[:6, 6 + k] = column
        M[6 + k, :6] = column
    return array(M)


class _Composite:
    """The inertia of a link and of all that it carries, as it stands: mass, first and second moments
    about the link's origin, added masses.
    """

    def __init__(self, link: Link) -> None:
        self.mass, self.S, self.G, self.added = link.mass, link.S, link.G, link.added

    def carry(self, other: "_Composite", E: Array, p: Array) -> None:
        """Add the inertia of a link whose frame is (E, p) in this one's."""
        SE = E @ other.S
        mixed = np.outer(p, SE)
        self.mass = self.mass + other.mass
        self.S = self.S + SE + other.mass * p
        self.G = self.G + E @ other.G @ E.T + mixed + mixed.T + other.mass * np.outer(p, p)
        if other.added is not None:
            X = Ad(inverse(Pose(E, p)))
            moved = X.T @ other.added @ X
            self.added = moved if self.added is None else self.added + moved

    def column(self, link: Link) -> tuple[Array, Array]:
        """Return force and moment (at the link's origin) per unit acceleration of its joint."""
        force = link.slide * self.mass * Z + link.turn * cross(Z, self.S)
        spread = array([-self.G[0, 2], -self.G[1, 2], self.G[0, 0] + self.G[1, 1]])
        moment = link.slide * cross(self.S, Z) + link.turn * spread
        if self.added is not None:
            extra = link.slide * self.added[:, 2] + link.turn * self.added[:, 5]
            force, moment = force + extra[:3], moment + extra[3:]
        return force, moment

    def base_block(self, ref: Array) -> Array:
        """Return the 6x6 inertia for a twist (V at ref, W)."""
        M = np.zeros((6, 6), dtype=object)
        mixed = np.outer(ref, self.S)
        S = self.S - self.mass * ref
        G = self.G - mixed - mixed.T + self.mass * np.outer(ref, ref)
        M[:3, :3] = self.mass * np.eye(3)
        M[:3, 3:] = -hat(S)
        M[3:, :3] = hat(S)
        M[3:, 3:] = (G[0, 0] + G[1, 1] + G[2, 2]) * np.eye(3) - G
        if self.added is not None:
            X = Ad(Pose(np.eye(3), ref))
            M = M + X.T @ self.added @ X
        return M
