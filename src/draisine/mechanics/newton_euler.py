"""Free dynamics `M vdot + F = Q`: recursive Newton-Euler inverse dynamics and composite rigid bodies.

A point x of a link accelerates with `a + B x`, so force and moment of the link are linear in its first and
second moments of mass, eq. [newton-euler]. The outward pass computes the wrenches of single links, the
inward pass sums them; M comes from the inertias of composite bodies.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import Ad, Pose, ad, cross, hat, inverse
from draisine.algebra.scalar import Array, array
from draisine.mechanics.kinematics import Geometry, Velocities, link_accelerations
from draisine.mechanics.tree import Link, Tree, Z


@dataclass(frozen=True, slots=True, eq=False)
class Wrenches:
    """Required forces and moments of each link and joint for a given motion."""

    force: list[Array]  # required force of each link in its frame, N
    moment: list[Array]  # required moment of each link about its origin, in its frame, N m
    joint: Array  # joint forces of rotor spins, armatures, springs and dampers, N m or N, (n,)
    a: list[Array]  # acceleration of the origin of each link minus gravity, m/s2
    alpha: list[Array]  # angular acceleration of each link, rad/s2


def link_wrenches(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    vdot: Array,
    ref: Array,
    refdot: Array,
    gravity: Array,
) -> Wrenches:
    """Return the required wrenches of single links for the accelerations vdot (outward pass).

    `gravity` is in the base's axes.
    """
    links = tree.links
    rddot = vdot[6:]
    acc = link_accelerations(tree, geo, vel, vdot, ref, refdot, gravity)
    joint_forces = np.zeros(len(tree.model.joints), dtype=object)
    force = [link.mass * acc.a[j] + acc.B[j] @ link.S for j, link in enumerate(links)]
    moment = [
        cross(link.S, acc.a[j]) + _gyroscopic_moment(acc.B[j] @ link.G)
        for j, link in enumerate(links)
    ]
    for j, link in enumerate(links):
        for rotor in link.rotors:
            spin = vel.rdot[rotor.joint]
            rotor_acceleration = rddot[rotor.joint]
            axial = rotor.inertia * rotor.axis
            moment[j] = moment[j] + cross(vel.W[j], axial * spin) + axial * rotor_acceleration
            joint_forces[rotor.joint] = axial @ acc.alpha[j] + rotor.inertia * rotor_acceleration
        if link.added is not None or link.drag is not None:
            # The added mass of the fluid resists the acceleration itself, not the acceleration
            # minus gravity. Therefore gravity is added back.
            absolute = acc.a[j] + geo.R0[j].T @ gravity
            fluid = _fluid_wrench(link, vel.V_link[j], vel.W[j], absolute, acc.alpha[j])
            force[j] = force[j] + fluid[:3]
            moment[j] = moment[j] + fluid[3:]
    for k, joint in enumerate(tree.model.joints):
        joint_forces[k] = (
            joint_forces[k] + joint.spring * (geo.r[k] - joint.rest) + joint.damper * vel.rdot[k]
        )
        joint_forces[k] = joint_forces[k] + joint.armature * rddot[k]
    return Wrenches(force, moment, array(joint_forces), acc.a, acc.alpha)


def accumulate_wrenches(
    tree: Tree, geo: Geometry, required: Wrenches
) -> tuple[list[Array], list[Array]]:
    """Return force (N) and moment (N m) of each link with its subtree, at its origin (inward pass)."""
    force = list(required.force)
    moment = list(required.moment)
    for j in reversed(range(1, len(tree.links))):
        i = tree.links[j].parent
        E = geo.E[j]
        force_on_parent = E @ force[j]
        force[i] = force[i] + force_on_parent
        moment[i] = moment[i] + E @ moment[j] + cross(geo.p[j], force_on_parent)
    return force, moment


def sum_wrenches(tree: Tree, geo: Geometry, required: Wrenches, ref: Array) -> Array:
    """Return the generalised force (6 + n,): wrench of all links at ref, then joint forces."""
    force, moment = accumulate_wrenches(tree, geo, required)
    generalised = np.zeros(6 + len(tree.model.joints), dtype=object)
    generalised[6:] = required.joint
    for j, link in enumerate(tree.links[1:], start=1):
        axial = link.slide * force[j][2] + link.turn * moment[j][2]
        generalised[6 + link.joint] = generalised[6 + link.joint] + axial
    generalised[:3] = force[0]
    generalised[3:6] = moment[0] - cross(ref, force[0])
    return array(generalised)


def inverse_dynamics(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    vdot: Array,
    ref: Array,
    refdot: Array,
    gravity: Array,
) -> Array:
    """Compute the generalised force `M vdot + F` of a motion, eq. [inverse-map].

    Parameters
    ----------
    tree, geo, vel
        Links of the model, their poses and velocities.
    vdot
        (6 + n,), rates of (V at ref, W, rdot).
    ref, refdot
        (3,), point of the base at which V is taken (m), and its velocity in the base (m/s).
    gravity
        (3,), in the base's axes, m/s2.

    Returns
    -------
    (6 + n,) array
        Force (N) and moment about ref (N m) on the base, then joint forces (N m or N).
    """
    return sum_wrenches(tree, geo, link_wrenches(tree, geo, vel, vdot, ref, refdot, gravity), ref)


def _gyroscopic_moment(T: Array) -> Array:
    """Return the moment `int x cross (B x) dm` (N m) of a link from T = B G, with B of
    `_acceleration_matrix` and second moments G.
    """
    return array([T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]])


def _fluid_wrench(link: Link, V: Array, W: Array, a: Array, alpha: Array) -> Array:
    """Return the wrench (6,) of added mass and drag that opposes the motion of a link, eq.
    [fluid-wrench].
    """
    eta = np.concatenate([V, W])
    etadot = np.concatenate([a - cross(W, V), alpha])
    wrench = array([0.0] * 6)
    if link.added is not None:
        wrench = wrench + link.added @ etadot - ad(eta).T @ (link.added @ eta)
    if link.drag is not None:
        wrench = wrench + link.drag @ eta
    return wrench


class Composite:
    """Inertia of a composite body: a link with its subtree, rigid at the current joint coordinates.

    It consists of mass, first and second moments about the link's origin, and added mass.
    """

    def __init__(self, link: Link) -> None:
        self.mass = link.mass
        self.S = link.S
        self.G = link.G
        self.added = link.added

    def add_child(self, child: "Composite", E: Array, p: Array) -> None:
        """Add the inertia of a child link, whose frame has axes E and origin p (m) in the frame of
        this link.
        """
        SE = E @ child.S
        mixed = np.outer(p, SE)
        self.mass = self.mass + child.mass
        self.S = self.S + SE + child.mass * p
        self.G = self.G + E @ child.G @ E.T + mixed + mixed.T + child.mass * np.outer(p, p)
        if child.added is not None:
            X = Ad(inverse(Pose(E, p)))
            added_here = X.T @ child.added @ X
            self.added = added_here if self.added is None else self.added + added_here

    def joint_column(self, link: Link) -> tuple[Array, Array]:
        """Return force and moment at the link's origin per unit acceleration of its joint."""
        force = link.slide * self.mass * Z + link.turn * cross(Z, self.S)
        second_moments = array([-self.G[0, 2], -self.G[1, 2], self.G[0, 0] + self.G[1, 1]])
        moment = link.slide * cross(self.S, Z) + link.turn * second_moments
        if self.added is not None:
            fluid = link.slide * self.added[:, 2] + link.turn * self.added[:, 5]
            force = force + fluid[:3]
            moment = moment + fluid[3:]
        return force, moment

    def base_inertia(self, ref: Array) -> Array:
        """Return the inertia matrix (6, 6) for a twist (V at ref, W)."""
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


def composite_bodies(tree: Tree, geo: Geometry) -> list[Composite]:
    """Return the composite body of every link, eq. [composite-bodies]."""
    bodies = [Composite(link) for link in tree.links]
    for j in reversed(range(1, len(bodies))):
        bodies[tree.links[j].parent].add_child(bodies[j], geo.E[j], geo.p[j])
    return bodies


def joint_inertia_wrenches(
    tree: Tree, geo: Geometry, bodies: Sequence[Composite]
) -> list[dict[int, tuple[Array, Array]]]:
    """Return the wrench of each link per unit acceleration of each joint of its subtree.

    Force and moment are taken at the link's origin, in its frame.
    """
    wrenches_of: list[dict[int, tuple[Array, Array]]] = [{} for _ in tree.links]
    for j, link in reversed([*enumerate(tree.links)]):
        for rotor in link.rotors:
            wrenches_of[j][rotor.joint] = (np.zeros(3), rotor.inertia * rotor.axis)
        if j:
            wrenches_of[j][link.joint] = bodies[j].joint_column(link)
            for k, (force, moment) in wrenches_of[j].items():
                force_on_parent = geo.E[j] @ force
                arm = cross(geo.p[j], force_on_parent)
                wrenches_of[link.parent][k] = (force_on_parent, geo.E[j] @ moment + arm)
    return wrenches_of


def mass_matrix(tree: Tree, geo: Geometry, ref: Array) -> Array:
    """Compute the mass matrix by composite rigid bodies, eq. [composite-bodies].

    Parameters
    ----------
    tree, geo
        Links of the model and their poses.
    ref
        (3,), point of the base at which V is taken, m.

    Returns
    -------
    (6 + n, 6 + n) array
        M for v = (V at ref, W, rdot).
    """
    bodies = composite_bodies(tree, geo)
    columns = joint_inertia_wrenches(tree, geo, bodies)
    n = 6 + len(tree.model.joints)
    M = np.zeros((n, n), dtype=object)
    for link, wrenches_behind in zip(tree.links, columns, strict=True):
        for rotor in link.rotors:
            M[6 + rotor.joint, 6 + rotor.joint] = rotor.inertia
        if link is tree.links[0]:
            continue
        for k, (force, moment) in wrenches_behind.items():
            value = link.slide * force[2] + link.turn * moment[2]
            M[6 + link.joint, 6 + k] = M[6 + k, 6 + link.joint] = value
    for k, joint in enumerate(tree.model.joints):
        M[6 + k, 6 + k] = M[6 + k, 6 + k] + joint.armature
    M[:6, :6] = bodies[0].base_inertia(ref)
    for k, (force, moment) in columns[0].items():
        M[:6, 6 + k] = M[6 + k, :6] = np.concatenate([force, moment - cross(ref, force)])
    return array(M)
