"""Free dynamics `M vdot + F = Q` by recursion: the inverse map (motion to forces) and the composite
inertias.

With `a + B x` the acceleration of a point x of a link, forces and moments are linear in its first
and second moments of mass, eq. [newton-euler].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import Ad, Pose, ad, cross, hat, inverse
from draisine.algebra.scalar import Array, array
from draisine.mechanics.kinematics import Geometry, Velocities, accelerations
from draisine.mechanics.tree import Link, Tree, Z


@dataclass(frozen=True, slots=True, eq=False)
class Wrenches:
    """What each link by itself needs to move as it does (force and moment at its origin), and what
    each joint needs beside that (spins of rotors, armatures, springs, dampers). `a` (gravity taken off) and
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
    links = tree.links
    rddot = vdot[6:]
    acc = accelerations(tree, geo, vel, vdot, ref, refdot, gravity)
    out = np.zeros(len(tree.model.joints), dtype=object)
    force = [link.mass * acc.a[j] + acc.B[j] @ link.S for j, link in enumerate(links)]
    moment = [cross(link.S, acc.a[j]) + _turning(acc.B[j] @ link.G) for j, link in enumerate(links)]
    for j, link in enumerate(links):
        for rotor in link.rotors:
            spin = vel.rdot[rotor.joint]
            rise = rddot[rotor.joint]
            axial = rotor.inertia * rotor.axis
            moment[j] = moment[j] + cross(vel.W[j], axial * spin) + axial * rise
            out[rotor.joint] = axial @ acc.alpha[j] + rotor.inertia * rise
        if link.added is not None or link.drag is not None:
            through = acc.a[j] + geo.R0[j].T @ gravity
            extra = _fluid(link, vel.V_link[j], vel.W[j], through, acc.alpha[j])
            force[j] = force[j] + extra[:3]
            moment[j] = moment[j] + extra[3:]
    for k, joint in enumerate(tree.model.joints):
        out[k] = out[k] + joint.spring * (geo.r[k] - joint.rest) + joint.damper * vel.rdot[k]
        out[k] = out[k] + joint.armature * rddot[k]
    return Wrenches(force, moment, array(out), acc.a, acc.alpha)


def carried_wrenches(
    tree: Tree, geo: Geometry, needed: Wrenches
) -> tuple[list[Array], list[Array]]:
    """Return the force and the moment at its origin that each link needs with all that it
    carries: the inward pass.
    """
    force = list(needed.force)
    moment = list(needed.moment)
    for j in reversed(range(1, len(tree.links))):
        i = tree.links[j].parent
        E = geo.E[j]
        pushed = E @ force[j]
        force[i] = force[i] + pushed
        moment[i] = moment[i] + E @ moment[j] + cross(geo.p[j], pushed)
    return force, moment


def gather(tree: Tree, geo: Geometry, needed: Wrenches, ref: Array) -> Array:
    """Return the wrench (at ref) and the joint forces that the links together need."""
    force, moment = carried_wrenches(tree, geo, needed)
    out = np.zeros(6 + len(tree.model.joints), dtype=object)
    out[6:] = needed.joint
    for j, link in enumerate(tree.links[1:], start=1):
        along = link.slide * force[j][2] + link.turn * moment[j][2]
        out[6 + link.joint] = out[6 + link.joint] + along
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


class Composite:
    """The inertia of a link and of all that it carries, as it stands: mass, first and second moments
    about the link's origin, added masses.
    """

    def __init__(self, link: Link) -> None:
        self.mass = link.mass
        self.S = link.S
        self.G = link.G
        self.added = link.added

    def carry(self, other: "Composite", E: Array, p: Array) -> None:
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
            force = force + extra[:3]
            moment = moment + extra[3:]
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


def composites(tree: Tree, geo: Geometry) -> list[Composite]:
    """Return the links with all that they carry, eq. [composite-bodies]."""
    whole = [Composite(link) for link in tree.links]
    for j in reversed(range(1, len(whole))):
        whole[tree.links[j].parent].carry(whole[j], geo.E[j], geo.p[j])
    return whole


def joint_wrenches(
    tree: Tree, geo: Geometry, whole: Sequence[Composite]
) -> list[dict[int, tuple[Array, Array]]]:
    """Return, for each link and each joint behind it or on it, the force and the moment at the
    link's origin that a unit acceleration of the joint needs.
    """
    out: list[dict[int, tuple[Array, Array]]] = [{} for _ in tree.links]
    for j, link in reversed([*enumerate(tree.links)]):
        for rotor in link.rotors:
            out[j][rotor.joint] = (np.zeros(3), rotor.inertia * rotor.axis)
        if j:
            out[j][link.joint] = whole[j].column(link)
            for k, (force, moment) in out[j].items():
                pushed = geo.E[j] @ force
                arm = cross(geo.p[j], pushed)
                out[link.parent][k] = (pushed, geo.E[j] @ moment + arm)
    return out


def mass_matrix(tree: Tree, geo: Geometry, ref: Array) -> Array:
    """Return M for v = (V at ref, W, rdot), from composite bodies, eq. [composite-bodies]."""
    whole = composites(tree, geo)
    columns = joint_wrenches(tree, geo, whole)
    n = 6 + len(tree.model.joints)
    M = np.zeros((n, n), dtype=object)
    for link, behind in zip(tree.links, columns, strict=True):
        for rotor in link.rotors:
            M[6 + rotor.joint, 6 + rotor.joint] = rotor.inertia
        if link is tree.links[0]:
            continue
        for k, (force, moment) in behind.items():
            value = link.slide * force[2] + link.turn * moment[2]
            M[6 + link.joint, 6 + k] = M[6 + k, 6 + link.joint] = value
    for k, joint in enumerate(tree.model.joints):
        M[6 + k, 6 + k] = M[6 + k, 6 + k] + joint.armature
    M[:6, :6] = whole[0].base_block(ref)
    for k, (force, moment) in columns[0].items():
        M[:6, 6 + k] = M[6 + k, :6] = np.concatenate([force, moment - cross(ref, force)])
    return array(M)
