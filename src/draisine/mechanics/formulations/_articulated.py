"""Accelerations of a long tree by Featherstone's articulated-body algorithm, in O(n), with constraints.

Accelerations are taken relative to the motion with `vdot = 0`, whose wrenches `newton_euler` computes.
Inertias are 6x6 with the linear part first. A joint whose rate a constraint row determines is eliminated by
this row instead of its own equation of motion.
"""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.lie import hat
from draisine.algebra.scalar import Array, Scalar, array, blocks, is_zero
from draisine.mechanics.formulations._tree_kernel import (
    JointStep,
    TreeElimination,
    joint_screw,
    twist_from_parent,
    wrench_to_parent,
)
from draisine.mechanics.kernel import kernel_basis, solve_symmetric
from draisine.mechanics.newton_euler import Wrenches
from draisine.mechanics.tree import Link, Rotor

MIN_ARTICULATED_LINKS = 8
"""Number of links of a tree above which articulated bodies are used; for shorter trees composite
bodies need fewer operations.
"""


class _Bodies:
    """Articulated inertias `I` (6, 6) and bias wrenches `p` (6,) of the links, updated joint by
    joint.
    """

    def __init__(self, solver: TreeElimination, required: Wrenches, force: Array) -> None:
        self.geo = solver.geo
        self.links = solver.tree.links
        self.lag = force[6:] - required.joint
        self.armatures = [joint.armature for joint in solver.tree.model.joints]
        self.I = [_spatial_inertia(link) for link in self.links]
        self.p = [
            np.concatenate([required.force[j], required.moment[j]]) for j in range(len(self.links))
        ]
        self.p[0] = self.p[0] - force[:6]
        self.rates: dict[int, tuple[Scalar, Array]] = {}

    def eliminate_joint(self, step: JointStep, target: Scalar) -> None:
        """Eliminate a joint, so that its acceleration is `offset - gain . incoming` with the
        parent's acceleration.
        """
        j = step.link
        if step.spins:
            rotor = next(r for r in self.links[j].rotors if r.joint == step.joint)
            self._eliminate_rotor(j, rotor, step, target)
            return
        link = self.links[j]
        lag = self.lag[step.joint]
        armature = self.armatures[step.joint]
        S = joint_screw(link)
        U = self.I[j] @ S
        D = S @ U + armature
        if step.row is None:
            inverse = 1.0 / D
            u = lag - S @ self.p[j]
            offset = inverse * u
            gain = U * inverse
            I_remaining = self.I[j] - np.outer(gain, U)
            p_remaining = self.p[j] + U * offset
        else:
            offset = target / step.pivot
            gain = step.rho
            # Projected inertia (1 - gain S') I (1 - S gain') of the link, written as two outer
            # products because these need the fewest operations.
            half_term = U - gain * (0.5 * D)
            I_remaining = self.I[j] - np.outer(gain, half_term) - np.outer(half_term, gain)
            bias = self.p[j] + U * offset
            p_remaining = bias - gain * (S @ bias + armature * offset - lag)
        self.rates[step.joint] = (offset, gain)
        i = link.parent
        self.I[i] = self.I[i] + _transfer_inertia(I_remaining, self.geo.E[j], self.geo.p[j])
        self.p[i] = self.p[i] + wrench_to_parent(self.geo, j, p_remaining)

    def _eliminate_rotor(self, j: int, rotor: Rotor, step: JointStep, target: Scalar) -> None:
        """Eliminate a rotor that spins about its axis of symmetry."""
        lag = self.lag[rotor.joint]
        axle = np.concatenate([np.zeros(3), rotor.axis])
        axial = rotor.inertia * axle
        armature = self.armatures[rotor.joint]
        inertia = rotor.inertia + armature
        if step.row is None:
            # Without armature this ratio of inertias is exactly 1. A division would leave a traced
            # expression that is not recognised as 1.
            share = 1.0 if is_zero(armature) else rotor.inertia / inertia
            offset = lag / inertia
            gain = share * axle
            self.I[j] = self.I[j] - np.outer(axial, gain)
            self.p[j] = self.p[j] + gain * lag
        else:
            offset = target / step.pivot
            gain = step.rho
            half_term = axial - gain * (0.5 * inertia)
            self.I[j] = self.I[j] - np.outer(gain, half_term) - np.outer(half_term, gain)
            self.p[j] = self.p[j] + axial * offset - gain * (inertia * offset - lag)
        self.rates[rotor.joint] = (offset, gain)


def accelerations(
    solver: TreeElimination, required: Wrenches, force: Array, targets: Sequence[Scalar]
) -> Array:
    """Compute the accelerations of a tree by articulated bodies, eq. [articulated-bodies].

    Parameters
    ----------
    solver
        Elimination of the constraint rows along the tree.
    required
        Wrenches of the motion with `vdot = 0`.
    force
        Generalised force, (6 + n,).
    targets
        Accelerations that the constraint rows prescribe, minus those of the motion with `vdot = 0`,
        (m,).

    Returns
    -------
    array
        Components of vdot for the free speeds, with V at the base's origin.
    """
    tree = solver.tree
    links = solver.tree.links
    bodies = _Bodies(solver, required, force)
    rows = solver.eliminate_right_side(targets)
    for step in solver.steps:
        bodies.eliminate_joint(step, 0.0 if step.row is None else rows[step.row])
    twist = list(tree.model.twist)
    n = len(twist)
    a = [np.zeros(6, dtype=object)] + [array([])] * (len(links) - 1)
    if twist:
        targets_of_base = [rows[k] for k in solver.base_rows]
        a[0][twist] = _base_acceleration(
            solver, bodies.I[0][np.ix_(twist, twist)], bodies.p[0][twist], targets_of_base
        )
    rates = np.zeros(n + len(tree.model.joints), dtype=object)
    rates[:n] = a[0][twist]
    for step in reversed(solver.steps):
        j = step.link
        link = links[step.link]
        incoming = a[j] if step.spins else twist_from_parent(solver.geo, j, a[link.parent])
        offset, gain = bodies.rates[step.joint]
        joint_acceleration = offset - gain @ incoming
        rates[n + step.joint] = joint_acceleration
        if not step.spins:
            a[j] = incoming + joint_screw(link) * joint_acceleration
    return array(rates)


def _base_acceleration(solver: TreeElimination, I: Array, p: Array, targets: list[Scalar]) -> Array:  # noqa: E741
    """Return the acceleration (6,) of the base under the constraint rows that remain after all
    joints are eliminated.
    """
    if not targets:
        return solve_symmetric(I, -p)
    free = len(I) - len(targets)
    particular = solver.base.solve([*targets, *[0.0] * free])
    if not free:
        return particular
    H = kernel_basis(solver.base.solve, len(targets), len(I))
    return particular + H @ solve_symmetric(H.T @ (I @ H), H.T @ -(p + I @ particular))


def _spatial_inertia(link: Link) -> Array:
    """Return the inertia (6, 6) of a link about its origin."""
    G = link.G
    S = link.S
    J = (G[0, 0] + G[1, 1] + G[2, 2]) * np.eye(3) - G
    inertia = blocks([[link.mass * np.eye(3), -hat(S)], [hat(S), J]]).astype(object)
    return inertia if link.added is None else inertia + link.added


def _transfer_inertia(I: Array, E: Array, p: Array) -> Array:  # noqa: E741
    """Return the inertia (6, 6) of a child link in its parent's frame; the child's frame has axes E
    and origin p (m).
    """
    A = E @ I[:3, :3] @ E.T
    B = E @ I[:3, 3:] @ E.T
    J = E @ I[3:, 3:] @ E.T
    P = hat(p)
    mixed = B - A @ P
    rotational = J + P @ B + (P @ B).T - P @ A @ P
    return blocks([[A, mixed], [mixed.T, rotational]])
