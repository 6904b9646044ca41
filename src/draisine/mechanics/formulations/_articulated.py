"""Accelerations of a long tree by articulated bodies: work that grows with the number of links.

Accelerations are taken relative to the motion with `vdot = 0`, whose wrenches the outward pass has
already found. Inertias are 6x6 with the linear part first.
"""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.lie import hat
from draisine.algebra.scalar import Array, Scalar, array, blocks, is_zero
from draisine.mechanics.formulations._tree_kernel import (
    JointStep,
    TreeElimination,
    moved_twist,
    moved_wrench,
    screw,
)
from draisine.mechanics.kernel import kernel_basis, solve_symmetric
from draisine.mechanics.newton_euler import Wrenches
from draisine.mechanics.tree import Link, Rotor

LONG = 8
"""From this many joints on articulated bodies take less work than composite ones."""


class _Bodies:
    """The links of a tree as they are once the joints beyond them are accounted for."""

    def __init__(self, solver: TreeElimination, needed: Wrenches, force: Array) -> None:
        self.geo = solver.geo
        self.links = solver.tree.links
        self.lag = force[6:] - needed.joint
        self.armatures = [joint.armature for joint in solver.tree.model.joints]
        self.I = [_inertia(link) for link in self.links]
        self.p = [
            np.concatenate([needed.force[j], needed.moment[j]]) for j in range(len(self.links))
        ]
        self.p[0] = self.p[0] - force[:6]
        self.rates: dict[int, tuple[Scalar, Array]] = {}

    def take(self, step: JointStep, target: Scalar) -> None:
        """Let a joint go: its rate follows from what came, `rate = first - along . came`."""
        j = step.link
        if step.spins:
            rotor = next(r for r in self.links[j].rotors if r.joint == step.joint)
            self._spin(j, rotor, step, target)
            return
        link = self.links[j]
        lag = self.lag[step.joint]
        armature = self.armatures[step.joint]
        S = screw(link)
        U = self.I[j] @ S
        D = S @ U + armature
        if step.row is None:
            inverse = 1.0 / D
            u = lag - S @ self.p[j]
            first = inverse * u
            along = U * inverse
            I_left = self.I[j] - np.outer(along, U)
            p_left = self.p[j] + U * first
        else:
            first = target / step.pivot
            along = step.rho
            half = U - along * (0.5 * D)
            I_left = self.I[j] - np.outer(along, half) - np.outer(half, along)
            pushed = self.p[j] + U * first
            p_left = pushed - along * (S @ pushed + armature * first - lag)
        self.rates[step.joint] = (first, along)
        i = link.parent
        self.I[i] = self.I[i] + _moved(I_left, self.geo.E[j], self.geo.p[j])
        self.p[i] = self.p[i] + moved_wrench(self.geo, j, p_left)

    def _spin(self, j: int, rotor: Rotor, step: JointStep, target: Scalar) -> None:
        """Let a wheel go that turns about its own axis of symmetry."""
        lag = self.lag[rotor.joint]
        axle = np.concatenate([np.zeros(3), rotor.axis])
        axial = rotor.inertia * axle
        armature = self.armatures[rotor.joint]
        whole = rotor.inertia + armature
        if step.row is None:
            part = 1.0 if is_zero(armature) else rotor.inertia / whole
            first = lag / whole
            along = part * axle
            self.I[j] = self.I[j] - np.outer(axial, along)
            self.p[j] = self.p[j] + along * lag
        else:
            first = target / step.pivot
            along = step.rho
            half = axial - along * (0.5 * whole)
            self.I[j] = self.I[j] - np.outer(along, half) - np.outer(half, along)
            self.p[j] = self.p[j] + axial * first - along * (whole * first - lag)
        self.rates[rotor.joint] = (first, along)


def accelerations(
    solver: TreeElimination, needed: Wrenches, force: Array, targets: Sequence[Scalar]
) -> Array:
    """Return vdot over the free columns, V at the base's origin, eq. [articulated-bodies].

    `targets` are what the rows demand beyond the motion with `vdot = 0`, which needs `needed`.
    """
    tree = solver.tree
    links = solver.tree.links
    bodies = _Bodies(solver, needed, force)
    rows = solver.reduce(targets)
    for step in solver.steps:
        bodies.take(step, 0.0 if step.row is None else rows[step.row])
    twist = list(tree.model.twist)
    n = len(twist)
    a = [np.zeros(6, dtype=object)] + [array([])] * (len(links) - 1)
    if twist:
        wanted = [rows[k] for k in solver.base_rows]
        a[0][twist] = _base(solver, bodies.I[0][np.ix_(twist, twist)], bodies.p[0][twist], wanted)
    out = np.zeros(n + len(tree.model.joints), dtype=object)
    out[:n] = a[0][twist]
    for step in reversed(solver.steps):
        j = step.link
        link = links[step.link]
        came = a[j] if step.spins else moved_twist(solver.geo, j, a[link.parent])
        first, along = bodies.rates[step.joint]
        rise = first - along @ came
        out[n + step.joint] = rise
        if not step.spins:
            a[j] = came + screw(link) * rise
    return array(out)


def _base(solver: TreeElimination, I: Array, p: Array, targets: list[Scalar]) -> Array:  # noqa: E741
    """Return the acceleration of the base, free but for the rows that reached it."""
    if not targets:
        return solve_symmetric(I, -p)
    free = len(I) - len(targets)
    still = solver.base.solve([*targets, *[0.0] * free])
    if not free:
        return still
    H = kernel_basis(solver.base.solve, len(targets), len(I))
    return still + H @ solve_symmetric(H.T @ (I @ H), H.T @ -(p + I @ still))


def _inertia(link: Link) -> Array:
    """Return the inertia of a link about its origin."""
    G = link.G
    S = link.S
    J = (G[0, 0] + G[1, 1] + G[2, 2]) * np.eye(3) - G
    own = blocks([[link.mass * np.eye(3), -hat(S)], [hat(S), J]]).astype(object)
    return own if link.added is None else own + link.added


def _moved(I: Array, E: Array, p: Array) -> Array:  # noqa: E741
    """Return an inertia of the child in the parent's frame."""
    A = E @ I[:3, :3] @ E.T
    B = E @ I[:3, 3:] @ E.T
    J = E @ I[3:, 3:] @ E.T
    P = hat(p)
    mixed = B - A @ P
    turned = J + P @ B + (P @ B).T - P @ A @ P
    return blocks([[A, mixed], [mixed.T, turned]])
