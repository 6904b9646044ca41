"""Elimination of the constraints of a long tree, joint by joint from its leaves to its base, in O(n).

A contact blocks a motion of its link: a row over the link's twist, in the link's frame. At each joint, from
the leaves inwards, at most one of the rows that contain the joint's rate determines this rate from the twist
of the parent, and is eliminated. The other rows are transformed to the parent. The constraint rows that
remain at the base are solved there. Each row involves one link at a time, so the number of operations is
linear in the number of links, eq. [tree-elimination].
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array, is_zero
from draisine.mechanics.constraints import (
    Active,
    Ground,
    prescribed_joints,
    support_rate,
)
from draisine.mechanics.kernel import Elimination, Pivot, eliminate
from draisine.mechanics.kinematics import Geometry, Velocities
from draisine.mechanics.newton_euler import Wrenches
from draisine.mechanics.tree import Evaluate, Link, Tree

RowsAtJoint = list[tuple[int, Array, Scalar]]
"""Constraint rows at a joint: index, coefficients (6,) of the parent's twist, coefficient of the
joint rate.
"""

ChooseRow = Callable[[int, RowsAtJoint], int | None]
"""Function from the index of a joint and its constraint rows to the index of the row that
determines the joint rate; None if the rate is free.
"""

MIN_RELATIVE_PIVOT = 1e-6
"""Smallest pivot, as a fraction of the largest coefficient of its constraint row; with a smaller
pivot, the row does not determine the joint rate.
"""

MAX_SPEED_GROWTH = 1e4
"""Largest ratio of a dependent speed to the independent speed that causes it.

Above it, the elimination along the tree loses four digits, and all rows are solved at once instead.
"""


@dataclass(frozen=True, slots=True, eq=False)
class LocalRow:
    """Constraint row `w . (V, W) + s rate`: linear in the twist of one link and the rate of one
    joint.
    """

    link: int  # index of the link
    w: Array  # coefficients of the link's twist in the link's frame, (6,)
    # Index of the joint whose rate enters the row (a rotor's or a prescribed joint); None for a
    # contact of a link
    joint: int | None = None
    s: Scalar = 0.0

    def evaluate(self, vel: Velocities) -> Scalar:
        """Return the value of the constraint row, `w . (V, W) + s rate`, for given velocities."""
        value = self.w @ np.concatenate([vel.V_link[self.link], vel.W[self.link]])
        return value if self.joint is None else value + self.s * vel.rdot[self.joint]


def blocked_directions(tree: Tree, geo: Geometry, world: Ground, contact: Active) -> Array:
    """Return the blocked directions of a contact in the axes of its link, one per row.

    A contact that blocks all directions has rows along the link's axes.
    """
    if len(contact.names) == 3 and contact.holds_all:
        return np.eye(3)
    axes = contact.contact.frame(
        world.R @ geo.R0[contact.point.link], _guiding_direction(tree, contact)
    )
    return array([list(axes[name]) for name in contact.names])


def _guiding_direction(tree: Tree, contact: Active) -> Array:
    """Return the guiding direction of a contact (the axle of a wheel), in the frame of its link."""
    return tree.axes_in_link(contact.contact.body) @ contact.contact.guide


def _touching_point(contact: Active) -> Array:
    """Return the touching point of a contact in the frame of its link (m)."""
    return (
        contact.point.rho
        if contact.point.rotor is None
        else contact.point.rotor.centre + contact.point.rho
    )


def local_rows(
    tree: Tree, geo: Geometry, world: Ground, active: Sequence[Active]
) -> list[LocalRow]:
    """Return the constraint rows of contacts and prescribed joints, each over one link, eq.
    [local-rows].
    """
    rows = []
    for a in active:
        x = _touching_point(a)
        rotor = a.point.rotor
        for n in blocked_directions(tree, geo, world, a):
            w = np.concatenate([n, cross(x, n)])
            if rotor is None:
                rows.append(LocalRow(a.point.link, w))
            else:
                spin_term = n @ cross(rotor.axis, a.point.rho)
                rows.append(LocalRow(a.point.link, w, rotor.joint, spin_term))
    link_of = {link.joint: j for j, link in enumerate(tree.links)}
    link_of |= {rotor.joint: j for j, link in enumerate(tree.links) for rotor in link.rotors}
    rows += [LocalRow(link_of[k], array([0.0] * 6), k, 1.0) for k in prescribed_joints(tree.model)]
    return rows


def local_targets(
    tree: Tree,
    geo: Geometry,
    world: Ground,
    vel: Velocities,
    active: Sequence[Active],
    reference: Wrenches,
    gravity: Array,
    t: Scalar,
) -> list[Scalar]:
    """Return the right-hand sides of the acceleration rows, relative to the motion with `vdot = 0`.

    `reference` contains the accelerations of that motion; gravity is in the base's axes.
    """
    targets: list[Scalar] = []
    for a in active:
        j = a.point.link
        x = _touching_point(a)
        rotor = a.point.rotor
        V = vel.V_link[j]
        W = vel.W[j]
        rhodot = support_rate(a.surface, a.point, world, vel)
        Vdot = reference.a[j] + geo.R0[j].T @ gravity - cross(W, V)
        velocity = V + cross(W, x)
        acceleration = Vdot + cross(reference.alpha[j], x) + cross(W, rhodot)
        if rotor is not None:
            spin = vel.rdot[rotor.joint]
            velocity = velocity + spin * cross(rotor.axis, a.point.rho)
            acceleration = acceleration + spin * cross(rotor.axis, rhodot)
        n = blocked_directions(tree, geo, world, a)
        ndot = np.zeros((3, 3))
        if not (len(a.names) == 3 and a.holds_all):
            R = world.R @ geo.R0[j]
            rates = a.contact.frame_rate(R, W, _guiding_direction(tree, a), np.zeros(3))
            ndot = array([list(rates[name]) for name in a.names])
        targets += [-(n[k] @ acceleration) - ndot[k] @ velocity for k in range(len(a.names))]
    return targets + [joint.motion(t)[2] for joint in tree.model.joints if joint.motion is not None]


@dataclass(frozen=True, slots=True, eq=False)
class JointStep:
    """Elimination of one joint rate: `rate = (b_row - w . incoming) / pivot`, with the parent's
    twist.
    """

    joint: int
    link: int
    spins: bool  # whether the joint is that of a rotor, not that of the link itself
    # Index of the constraint row that determines the joint rate; None if the joint rate is an
    # independent speed
    row: int | None
    pivot: Scalar
    rho: Array  # coefficients w divided by the pivot
    # Elimination factors of the other constraint rows at this joint, as (index of the row, factor)
    factors: list[tuple[int, Scalar]]


@dataclass(frozen=True, slots=True, eq=False)
class TreeElimination:
    """Factors of the constraint rows of a tree, eliminated joint by joint: the counterpart of
    `Elimination`.
    """

    tree: Tree
    geo: Geometry
    steps: list[JointStep]  # elimination steps from the leaves to the base
    base: Elimination  # factors of the constraint rows that remain at the base
    base_rows: list[int]
    independent: list[int]  # indices of the independent speeds among the free components of v
    count: int  # number of constraint rows

    @property
    def pivot(self) -> list[Scalar]:
        """Values of all pivots of the elimination, those of joints first, then those of the base."""
        return [s.pivot for s in self.steps if s.row is not None] + self.base.pivot

    def _count_base_speeds(self) -> int:
        """Return the number of free components of the base's twist."""
        return len(self.tree.model.twist)

    def eliminate_right_side(self, targets: Sequence[Scalar]) -> list[Scalar]:
        """Return the right-hand sides of the constraint rows after forward elimination."""
        reduced = list(targets)
        for step in self.steps:
            if step.row is not None:
                for k, factor in step.factors:
                    reduced[k] = reduced[k] - factor * reduced[step.row]
        return reduced

    def solve(self, right_side: Sequence[Scalar]) -> Array:
        """Return the free speeds for a right-hand side that contains the targets of the constraint
        rows, then the independent speeds u.
        """
        n = self._count_base_speeds()
        links = self.tree.links
        rows = self.eliminate_right_side(right_side[: self.count])
        u = right_side[self.count :]
        independent_speeds = dict(zip(self.independent, u, strict=True))
        base_targets = [rows[k] for k in self.base_rows] + [
            independent_speeds[k] for k in self.independent if k < n
        ]
        speeds = np.zeros(n + len(self.tree.model.joints), dtype=object)
        speeds[:n] = self.base.solve(base_targets)
        twists = [np.zeros(6, dtype=object)] * len(links)
        twists[0] = np.zeros(6, dtype=object)
        twists[0][list(self.tree.model.twist)] = speeds[:n]
        for step in reversed(self.steps):
            j = step.link
            link = links[step.link]
            incoming = (
                twists[j] if step.spins else twist_from_parent(self.geo, j, twists[link.parent])
            )
            if step.row is None:
                rate = independent_speeds[n + step.joint]
            else:
                target = rows[step.row]
                rate = (0.0 if is_zero(target) else target / step.pivot) - step.rho @ incoming
            speeds[n + step.joint] = rate
            if not step.spins:
                twists[j] = incoming + joint_screw(link) * rate
        return array(speeds)

    def solve_transposed(self, right_side: Sequence[Scalar]) -> Array:
        """Return the solution y of A' y = right_side, with the factorised matrix A: multipliers of
        the constraint rows, then forces along the independent speeds.
        """
        n = self._count_base_speeds()
        links = self.tree.links
        wrenches = [array([0.0] * 6) for _ in links]
        y: dict[int, Scalar] = {}
        independent_forces: dict[int, Scalar] = {}
        for step in self.steps:
            j = step.link
            link = links[step.link]
            force = right_side[n + step.joint]
            if not step.spins:
                force = force + joint_screw(link) @ wrenches[j]
            if step.row is None:
                independent_forces[n + step.joint] = force
            else:
                y[step.row] = force / step.pivot
                wrenches[j] = wrenches[j] - step.rho * force
            if not step.spins:
                wrenches[link.parent] = wrenches[link.parent] + wrench_to_parent(
                    self.geo, j, wrenches[j]
                )
        base_wrench = wrenches[0][list(self.tree.model.twist)] + array(list(right_side[:n]))
        base_multipliers = list(self.base.solve_transposed(list(base_wrench)))
        base_speeds = [k for k in self.independent if k < n]
        y |= dict(zip(self.base_rows, base_multipliers, strict=False))
        independent_forces |= dict(
            zip(base_speeds, base_multipliers[len(self.base_rows) :], strict=True)
        )
        for step in reversed(self.steps):
            if step.row is not None:
                for k, factor in step.factors:
                    y[step.row] = y[step.row] - factor * y[k]
        return array(
            [y[k] for k in range(self.count)] + [independent_forces[k] for k in self.independent]
        )


def joint_screw(link: Link) -> Array:
    """Return the twist (6,) of a link per unit rate of its joint, in the link's frame."""
    return array([0.0, 0.0, link.slide, 0.0, 0.0, link.turn])


def twist_from_parent(geo: Geometry, j: int, twist: Array) -> Array:
    """Return the parent's twist at the origin of link j, with the joint locked."""
    E = geo.E[j]
    V = twist[:3]
    W = twist[3:]
    return np.concatenate([E.T @ (V + cross(W, geo.p[j])), E.T @ W])


def wrench_to_parent(geo: Geometry, j: int, wrench: Array) -> Array:
    """Return a wrench on link j, transferred to the origin of its parent."""
    E = geo.E[j]
    force = E @ wrench[:3]
    return np.concatenate([force, E @ wrench[3:] + cross(geo.p[j], force)])


def _eliminate_inward(
    tree: Tree, geo: Geometry, rows: Sequence[LocalRow], choose: ChooseRow
) -> tuple[list[JointStep], list[tuple[int, Array]]]:
    """Return the elimination steps from the leaves to the base, and the constraint rows that remain
    at the base.
    """
    rows_at: list[list[tuple[int, Array]]] = [[] for _ in tree.links]
    joint_rows: dict[int, RowsAtJoint] = {}
    for k, row in enumerate(rows):
        if row.joint is None:
            rows_at[row.link].append((k, row.w))
        else:
            joint_rows.setdefault(row.joint, []).append((k, row.w, row.s))
    steps: list[JointStep] = []
    for j in reversed(range(len(tree.links))):
        link = tree.links[j]
        for rotor in link.rotors:
            remaining = _eliminate_joint(
                steps, rotor.joint, j, True, joint_rows.get(rotor.joint, []), choose
            )
            rows_at[j] += remaining
        if j == 0:
            break
        S = joint_screw(link)
        acting = [*joint_rows.get(link.joint, []), *((k, w, S @ w) for k, w in rows_at[j])]
        remaining = _eliminate_joint(steps, link.joint, j, False, acting, choose)
        rows_at[link.parent] += [(k, wrench_to_parent(geo, j, w)) for k, w in remaining]
    return steps, rows_at[0]


def _eliminate_joint(
    steps: list[JointStep],
    joint: int,
    link: int,
    spins: bool,
    rows_at_joint: RowsAtJoint,
    choose: ChooseRow,
) -> list[tuple[int, Array]]:
    """Append the elimination step of one joint to `steps`; return the constraint rows that remain for the
    parent, as (index of the row, coefficients (6,) of the parent's twist).

    `joint` is the index of the joint, j that of its link. `spins` is true for the joint of a rotor on that
    link. `rows_at_joint` are the constraint rows at the joint, among which `choose` selects the pivot row.
    """
    row = choose(joint, rows_at_joint)
    if row is None:
        steps.append(JointStep(joint, link, spins, None, 1.0, array([0.0] * 6), []))
        return [(k, w) for k, w, _ in rows_at_joint]
    w, pivot = next((w, s) for k, w, s in rows_at_joint if k == row)
    inverse = 1.0 / pivot
    factors = [(k, s * inverse) for k, _, s in rows_at_joint if k != row and not is_zero(s)]
    factor_of = dict(factors)
    steps.append(JointStep(joint, link, spins, row, pivot, w * inverse, factors))
    return [
        (k, v - factor_of[k] * w if k in factor_of else v) for k, v, _ in rows_at_joint if k != row
    ]


def eliminate_tree(
    tree: Tree,
    geo: Geometry,
    rows: Sequence[LocalRow],
    independent: Sequence[int],
    pivots: Sequence[Pivot],
) -> TreeElimination:
    """Return the factors of the constraint rows along given pivots (row, free column)."""
    n = len(tree.model.twist)
    row_of = {column - n: row for row, column in pivots}

    def choose_given_row(joint: int, rows_at_joint: RowsAtJoint) -> int | None:
        """Return the constraint row that is the given pivot of a joint."""
        return row_of.get(joint)

    steps, remaining = _eliminate_inward(tree, geo, rows, choose_given_row)
    twist = list(tree.model.twist)
    base_rows = [k for k, _ in remaining]
    free = [k for k in independent if k < n]
    A = np.zeros((n, n), dtype=object)
    for i, (_, w) in enumerate(remaining):
        A[i] = w[twist]
    for i, k in enumerate(free, start=len(remaining)):
        A[i, k] = 1.0
    base_pivots = [(len(remaining) + i, k) for i, k in enumerate(free)]
    base_pivots += [(base_rows.index(row), column) for row, column in pivots if column < n]
    base = eliminate(array(A), base_pivots)
    return TreeElimination(tree, geo, steps, base, base_rows, list(independent), len(rows))


def plan_tree(
    tree: Tree, geo: Geometry, rows: Sequence[LocalRow], evaluate: Evaluate
) -> tuple[list[int], list[Pivot]] | None:
    """Return independent speeds and pivots at the nominal configuration, or None if not possible.

    At each joint, the row with the largest coefficient of the joint rate becomes the pivot row. The
    rows cannot be solved joint by joint if a row contains a joint rate only in other
    configurations, if the rows at the base are dependent, or if speeds grow too much along the
    tree.
    """
    n = len(tree.model.twist)
    numbers = _evaluate_rows(tree, geo, rows, evaluate)
    pivots: list[Pivot] = []

    def choose_largest_row(joint: int, rows_at_joint: RowsAtJoint) -> int | None:
        """Return the row with the largest coefficient of the joint rate."""
        magnitudes = {
            k: abs(s)
            for k, w, s in rows_at_joint
            if abs(s) > MIN_RELATIVE_PIVOT * np.abs([*w, s]).max()
        }
        if not magnitudes:
            return None
        row = max(magnitudes, key=magnitudes.__getitem__)
        pivots.append((row, n + joint))
        return row

    steps, remaining = _eliminate_inward(*numbers, choose_largest_row)
    B = np.array([w[list(tree.model.twist)] for _, w in remaining], dtype=float).reshape(
        len(remaining), n
    )
    scale = max([np.abs(w).max() for _, w in remaining], default=0.0)
    base_pivots = _plan_base_pivots(B, sum(k < 3 for k in tree.model.twist), scale)
    if base_pivots is None:
        return None
    pivots += [(remaining[i][0], column) for i, column in base_pivots]
    pivot_columns = {column for _, column in pivots}
    independent = [k for k in range(n + len(tree.model.joints)) if k not in pivot_columns]
    solver = eliminate_tree(*numbers, independent, pivots)
    size = len(rows)
    for e in np.eye(len(independent)):
        if not np.abs(solver.solve([0.0] * size + list(e))).max(initial=0.0) < MAX_SPEED_GROWTH:
            return None
    free_joints = [s.joint for s in steps if s.row is None]
    return (
        (independent, pivots)
        if _are_coefficients_zero(tree, geo, rows, pivots, free_joints)
        else None
    )


def _plan_base_pivots(base_rows: Array, translations: int, scale: float) -> list[Pivot] | None:
    """Return pivots for the constraint rows that remain at the base, or None if the rows are
    dependent.

    The largest entries come first. Translations (the first columns) are preferred to rotations,
    whose entries have another unit.
    """
    A = base_rows.copy()
    pivots = list[Pivot]()
    while len(pivots) < len(base_rows):
        magnitudes = np.abs(A)
        if magnitudes[:, :translations].max(initial=0.0) > 0.1 * scale:
            magnitudes = magnitudes[:, :translations]
        if not magnitudes.max(initial=0.0) > MIN_RELATIVE_PIVOT * scale:
            return None
        i, j = map(int, np.unravel_index(np.argmax(magnitudes), magnitudes.shape))
        pivots.append((i, j))
        A = A - np.outer(A[:, j] / A[i, j], A[i])
    return pivots


def _evaluate_rows(
    tree: Tree, geo: Geometry, rows: Sequence[LocalRow], evaluate: Evaluate
) -> tuple[Tree, Geometry, list[LocalRow]]:
    """Return tree, geometry and constraint rows with all symbolic entries replaced by floats."""
    arrays = [np.ravel(x) for x in (*geo.E, *geo.p)]
    arrays += [np.array([link.slide], dtype=object) for link in tree.links]
    arrays += [np.array([*row.w, row.s], dtype=object) for row in rows]
    flat = evaluate([x for entries in arrays for x in entries])
    values = np.split(flat, np.cumsum([len(entries) for entries in arrays])[:-1])
    n = len(tree.links)
    E = [x.reshape(3, 3) for x in values[:n]]
    p = values[n : 2 * n]
    links = [
        replace(link, slide=float(x[0]))
        for link, x in zip(tree.links, values[2 * n :], strict=False)
    ]
    local = [
        LocalRow(row.link, x[:6], row.joint, float(x[6]))
        for row, x in zip(rows, values[3 * n :], strict=True)
    ]
    return replace(tree, links=tuple(links)), replace(geo, E=E, p=p), local


def _are_coefficients_zero(
    tree: Tree,
    geo: Geometry,
    rows: Sequence[LocalRow],
    pivots: Sequence[Pivot],
    joints: Sequence[int],
) -> bool:
    """Return whether the constraint rows at the given joints have zero coefficients of the joint
    rates in every configuration, so that these rows pass to the parent links.

    Coefficients that are numbers were checked at the nominal configuration; traced zeros are structural.
    """
    n = len(tree.model.twist)
    row_of = {column - n: row for row, column in pivots}
    independent = []

    def choose_and_record_row(joint: int, rows_at_joint: RowsAtJoint) -> int | None:
        """Return the index of the pivot row of a joint, and record whether its rows have constant
        coefficients.
        """
        if joint in joints:
            independent.append(all(isinstance(s, float) or is_zero(s) for _, _, s in rows_at_joint))
        return row_of.get(joint)

    _eliminate_inward(tree, geo, rows, choose_and_record_row)
    return all(independent)
