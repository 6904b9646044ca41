"""Constraints of a long tree solved joint by joint, from its leaves to its base: work that grows
with the number of links.

A contact forbids a motion of its own link: a row over that link's twist. At a joint that changes
what the row speaks of, the row says how the joint follows its parent's side, and is done with;
others go on to the parent. What reaches the base is solved there. No row meets more than one link
at a time, and the frame in which it is written is that link's own.
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

Acting = list[tuple[int, Array, Scalar]]
"""Rows at a joint: number, over the twist on its parent's side, over its own rate."""

Choose = Callable[[int, Acting], int | None]
"""Which row decides a joint, None for a joint that stays free."""

FAINT = 1e-6
"""A row below this part of its size does not speak of a joint."""

STEEP = 1e4
"""Where the speeds of a tree grow beyond this from its base to its leaves, its base is no place to
begin.
"""


@dataclass(frozen=True, slots=True, eq=False)
class LocalRow:
    """One row over the twist of a link in its own frame, `w . (V, W)`, and over the rate of a joint
    (of a wheel, or of a prescribed joint), `s rate`.
    """

    link: int
    w: Array
    joint: int | None = None
    s: Scalar = 0.0

    def of(self, vel: Velocities) -> Scalar:
        """Return what the row says of velocities."""
        out = self.w @ np.concatenate([vel.V_link[self.link], vel.W[self.link]])
        return out if self.joint is None else out + self.s * vel.rdot[self.joint]


def directions(tree: Tree, geo: Geometry, world: Ground, a: Active) -> Array:
    """Return the directions in which a contact holds, in the axes of its link, one per row.

    A contact that holds in all directions takes those of the link.
    """
    if len(a.names) == 3 and a.holds_all:
        return np.eye(3)
    axes = a.contact.frame(world.R @ geo.R0[a.at.link], _guide(tree, a))
    return array([list(axes[name]) for name in a.names])


def _guide(tree: Tree, a: Active) -> Array:
    return tree.axes(a.contact.body) @ a.contact.guide


def _place(a: Active) -> Array:
    """Return where a contact touches, in the frame of its link."""
    return a.at.rho if a.at.rotor is None else a.at.rotor.centre + a.at.rho


def local_rows(
    tree: Tree, geo: Geometry, world: Ground, active: Sequence[Active]
) -> list[LocalRow]:
    """Return the rows of all contacts, then those of prescribed joints, each over its own link, eq.
    [local-rows].
    """
    out = []
    for a in active:
        x = _place(a)
        rotor = a.at.rotor
        for n in directions(tree, geo, world, a):
            w = np.concatenate([n, cross(x, n)])
            if rotor is None:
                out.append(LocalRow(a.at.link, w))
            else:
                spun = n @ cross(rotor.axis, a.at.rho)
                out.append(LocalRow(a.at.link, w, rotor.joint, spun))
    places = {link.joint: j for j, link in enumerate(tree.links)}
    places |= {rotor.joint: j for j, link in enumerate(tree.links) for rotor in link.rotors}
    out += [LocalRow(places[k], array([0.0] * 6), k, 1.0) for k in prescribed_joints(tree.model)]
    return out


def local_targets(
    tree: Tree,
    geo: Geometry,
    world: Ground,
    vel: Velocities,
    active: Sequence[Active],
    still: Wrenches,
    gravity: Array,
    t: Scalar,
) -> list[Scalar]:
    """Return what the rows demand of accelerations beyond those of the motion with `vdot = 0`, whose
    wrenches are `still`; gravity is in the base's axes.
    """
    out: list[Scalar] = []
    for a in active:
        j = a.at.link
        x = _place(a)
        rotor = a.at.rotor
        V = vel.V_link[j]
        W = vel.W[j]
        rhodot = support_rate(a.surface, a.at, world, vel)
        Vdot = still.a[j] + geo.R0[j].T @ gravity - cross(W, V)
        velocity = V + cross(W, x)
        rise = Vdot + cross(still.alpha[j], x) + cross(W, rhodot)
        if rotor is not None:
            spin = vel.rdot[rotor.joint]
            velocity = velocity + spin * cross(rotor.axis, a.at.rho)
            rise = rise + spin * cross(rotor.axis, rhodot)
        n = directions(tree, geo, world, a)
        ndot = np.zeros((3, 3))
        if not (len(a.names) == 3 and a.holds_all):
            R = world.R @ geo.R0[j]
            rates = a.contact.frame_rate(R, W, _guide(tree, a), np.zeros(3))
            ndot = array([list(rates[name]) for name in a.names])
        out += [-(n[k] @ rise) - ndot[k] @ velocity for k in range(len(a.names))]
    return out + [joint.motion(t)[2] for joint in tree.model.joints if joint.motion is not None]


@dataclass(frozen=True, slots=True, eq=False)
class JointStep:
    """How one joint follows from the twist `came` on its parent's side: by its row, `rate = (b_row -
    w . came) / pivot` with `rho = w / pivot`, or not at all (row None). `factors` take the row out
    of others.
    """

    joint: int
    link: int
    spins: bool
    row: int | None
    pivot: Scalar
    rho: Array
    factors: list[tuple[int, Scalar]]


@dataclass(frozen=True, slots=True, eq=False)
class TreeElimination:
    """The rows of a tree and its independent speeds taken apart joint by joint: the counterpart of
    `Elimination`, eq. [tree-elimination].
    """

    tree: Tree
    geo: Geometry
    steps: list[JointStep]
    base: Elimination
    base_rows: list[int]
    independent: list[int]
    count: int

    @property
    def pivot(self) -> list[Scalar]:
        """All pivots."""
        return [s.pivot for s in self.steps if s.row is not None] + self.base.pivot

    def _columns(self) -> int:
        return len(self.tree.model.twist)

    def reduce(self, rows: Sequence[Scalar]) -> list[Scalar]:
        """Return the right-hand sides of the rows as they are when their turn comes."""
        out = list(rows)
        for step in self.steps:
            if step.row is not None:
                for k, factor in step.factors:
                    out[k] = out[k] - factor * out[step.row]
        return out

    def solve(self, b: Sequence[Scalar]) -> Array:
        """Return the speeds over the free columns for what the rows demand, then the independent
        speeds.
        """
        n = self._columns()
        links = self.tree.links
        rows = self.reduce(b[: self.count])
        u = b[self.count :]
        known = dict(zip(self.independent, u, strict=True))
        begin = [rows[k] for k in self.base_rows] + [known[k] for k in self.independent if k < n]
        out = np.zeros(n + len(self.tree.model.joints), dtype=object)
        out[:n] = self.base.solve(begin)
        twists = [np.zeros(6, dtype=object)] * len(links)
        twists[0] = np.zeros(6, dtype=object)
        twists[0][list(self.tree.model.twist)] = out[:n]
        for step in reversed(self.steps):
            j = step.link
            link = links[step.link]
            came = twists[j] if step.spins else moved_twist(self.geo, j, twists[link.parent])
            if step.row is None:
                rate = known[n + step.joint]
            else:
                target = rows[step.row]
                rate = (0.0 if is_zero(target) else target / step.pivot) - step.rho @ came
            out[n + step.joint] = rate
            if not step.spins:
                twists[j] = came + screw(link) * rate
        return array(out)

    def solve_transposed(self, c: Sequence[Scalar]) -> Array:
        """Return y with A' y = c: the multipliers of the rows, then forces along the independent
        speeds.
        """
        n = self._columns()
        links = self.tree.links
        push = [array([0.0] * 6) for _ in links]
        y: dict[int, Scalar] = {}
        along: dict[int, Scalar] = {}
        for step in self.steps:
            j = step.link
            link = links[step.link]
            force = c[n + step.joint]
            if not step.spins:
                force = force + screw(link) @ push[j]
            if step.row is None:
                along[n + step.joint] = force
            else:
                y[step.row] = force / step.pivot
                push[j] = push[j] - step.rho * force
            if not step.spins:
                push[link.parent] = push[link.parent] + moved_wrench(self.geo, j, push[j])
        whole = push[0][list(self.tree.model.twist)] + array(list(c[:n]))
        found = list(self.base.solve_transposed(list(whole)))
        first = [k for k in self.independent if k < n]
        y |= dict(zip(self.base_rows, found, strict=False))
        along |= dict(zip(first, found[len(self.base_rows) :], strict=True))
        for step in reversed(self.steps):
            if step.row is not None:
                for k, factor in step.factors:
                    y[step.row] = y[step.row] - factor * y[k]
        return array([y[k] for k in range(self.count)] + [along[k] for k in self.independent])


def screw(link: Link) -> Array:
    """Return the twist of a link per unit rate of its joint, in its own frame."""
    return array([0.0, 0.0, link.slide, 0.0, 0.0, link.turn])


def moved_twist(geo: Geometry, j: int, twist: Array) -> Array:
    """Return a twist of the parent of link j at j, as if the joint were locked."""
    E = geo.E[j]
    V = twist[:3]
    W = twist[3:]
    return np.concatenate([E.T @ (V + cross(W, geo.p[j])), E.T @ W])


def moved_wrench(geo: Geometry, j: int, wrench: Array) -> Array:
    """Return a wrench on link j at the origin of its parent."""
    E = geo.E[j]
    force = E @ wrench[:3]
    return np.concatenate([force, E @ wrench[3:] + cross(geo.p[j], force)])


def _inward(
    tree: Tree, geo: Geometry, rows: Sequence[LocalRow], choose: Choose
) -> tuple[list[JointStep], list[tuple[int, Array]]]:
    """Return the steps from the leaves to the base, and the rows that reach it."""
    waiting: list[list[tuple[int, Array]]] = [[] for _ in tree.links]
    spoken: dict[int, Acting] = {}
    for k, row in enumerate(rows):
        if row.joint is None:
            waiting[row.link].append((k, row.w))
        else:
            spoken.setdefault(row.joint, []).append((k, row.w, row.s))
    steps: list[JointStep] = []
    for j in reversed(range(len(tree.links))):
        link = tree.links[j]
        for rotor in link.rotors:
            left = _take(steps, rotor.joint, j, True, spoken.get(rotor.joint, []), choose)
            waiting[j] += left
        if j == 0:
            break
        S = screw(link)
        acting = [*spoken.get(link.joint, []), *((k, w, S @ w) for k, w in waiting[j])]
        left = _take(steps, link.joint, j, False, acting, choose)
        waiting[link.parent] += [(k, moved_wrench(geo, j, w)) for k, w in left]
    return steps, waiting[0]


def _take(
    steps: list[JointStep], joint: int, j: int, spins: bool, acting: Acting, choose: Choose
) -> list[tuple[int, Array]]:
    """Add the step of one joint; return the rows that are left."""
    row = choose(joint, acting)
    if row is None:
        steps.append(JointStep(joint, j, spins, None, 1.0, array([0.0] * 6), []))
        return [(k, w) for k, w, _ in acting]
    w, pivot = next((w, s) for k, w, s in acting if k == row)
    inverse = 1.0 / pivot
    factors = [(k, s * inverse) for k, _, s in acting if k != row and not is_zero(s)]
    taken = dict(factors)
    steps.append(JointStep(joint, j, spins, row, pivot, w * inverse, factors))
    return [(k, v - taken[k] * w if k in taken else v) for k, v, _ in acting if k != row]


def eliminate_tree(
    tree: Tree,
    geo: Geometry,
    rows: Sequence[LocalRow],
    independent: Sequence[int],
    pivots: Sequence[Pivot],
) -> TreeElimination:
    """Return the elimination along pivots (row, free column) of the rows alone."""
    n = len(tree.model.twist)
    row_of = {column - n: row for row, column in pivots}

    def choose(joint: int, acting: Acting) -> int | None:
        return row_of.get(joint)

    steps, left = _inward(tree, geo, rows, choose)
    twist = list(tree.model.twist)
    at = [k for k, _ in left]
    free = [k for k in independent if k < n]
    A = np.zeros((n, n), dtype=object)
    for i, (_, w) in enumerate(left):
        A[i] = w[twist]
    for i, k in enumerate(free, start=len(left)):
        A[i, k] = 1.0
    own = [(len(left) + i, k) for i, k in enumerate(free)]
    own += [(at.index(row), column) for row, column in pivots if column < n]
    base = eliminate(array(A), own)
    return TreeElimination(tree, geo, steps, base, at, list(independent), len(rows))


def plan_tree(
    tree: Tree, geo: Geometry, rows: Sequence[LocalRow], evaluate: Evaluate
) -> tuple[list[int], list[Pivot]] | None:
    """Return independent speeds and the pivots of the rows at the nominal configuration, or None
    where rows cannot be solved joint by joint there.

    At each joint the row that speaks loudest of it decides it. Where a row speaks of a joint only
    elsewhere, where those at the base repeat each other, or where speeds grow too much along the
    tree, the whole system has to be seen at once.
    """
    n = len(tree.model.twist)
    numbers = _numbers(tree, geo, rows, evaluate)
    pivots: list[Pivot] = []

    def choose(joint: int, acting: Acting) -> int | None:
        sizes = {k: abs(s) for k, w, s in acting if abs(s) > FAINT * np.abs([*w, s]).max()}
        if not sizes:
            return None
        row = max(sizes, key=sizes.__getitem__)
        pivots.append((row, n + joint))
        return row

    steps, left = _inward(*numbers, choose)
    B = np.array([w[list(tree.model.twist)] for _, w in left], dtype=float).reshape(len(left), n)
    scale = max([np.abs(w).max() for _, w in left], default=0.0)
    own = _plan_base(B, sum(k < 3 for k in tree.model.twist), scale)
    if own is None:
        return None
    pivots += [(left[i][0], column) for i, column in own]
    taken = {column for _, column in pivots}
    independent = [k for k in range(n + len(tree.model.joints)) if k not in taken]
    solver = eliminate_tree(*numbers, independent, pivots)
    size = len(rows)
    for e in np.eye(len(independent)):
        if not np.abs(solver.solve([0.0] * size + list(e))).max(initial=0.0) < STEEP:
            return None
    deaf = [s.joint for s in steps if s.row is None]
    return (independent, pivots) if _stay_deaf(tree, geo, rows, pivots, deaf) else None


def _plan_base(B: Array, moves: int, scale: float) -> list[Pivot] | None:
    """Return pivots for the rows that reach the base, the largest first, its translations (the first
    columns) before its turns. None: they are not independent.
    """
    A = B.copy()
    pivots = list[Pivot]()
    while len(pivots) < len(B):
        sizes = np.abs(A)
        if sizes[:, :moves].max(initial=0.0) > 0.1 * scale:
            sizes = sizes[:, :moves]
        if not sizes.max(initial=0.0) > FAINT * scale:
            return None
        i, j = map(int, np.unravel_index(np.argmax(sizes), sizes.shape))
        pivots.append((i, j))
        A = A - np.outer(A[:, j] / A[i, j], A[i])
    return pivots


def _numbers(
    tree: Tree, geo: Geometry, rows: Sequence[LocalRow], evaluate: Evaluate
) -> tuple[Tree, Geometry, list[LocalRow]]:
    """Return tree, geometry and rows as floats."""
    parts = [np.ravel(x) for x in (*geo.E, *geo.p)]
    parts += [np.array([link.slide], dtype=object) for link in tree.links]
    parts += [np.array([*row.w, row.s], dtype=object) for row in rows]
    flat = evaluate([x for part in parts for x in part])
    cut = np.split(flat, np.cumsum([len(part) for part in parts])[:-1])
    n = len(tree.links)
    E = [x.reshape(3, 3) for x in cut[:n]]
    p = cut[n : 2 * n]
    links = [
        replace(link, slide=float(x[0])) for link, x in zip(tree.links, cut[2 * n :], strict=False)
    ]
    local = [
        LocalRow(row.link, x[:6], row.joint, float(x[6]))
        for row, x in zip(rows, cut[3 * n :], strict=True)
    ]
    return replace(tree, links=tuple(links)), replace(geo, E=E, p=p), local


def _stay_deaf(
    tree: Tree,
    geo: Geometry,
    rows: Sequence[LocalRow],
    pivots: Sequence[Pivot],
    joints: Sequence[int],
) -> bool:
    """Return whether rows that go past the given joints never speak of them: numbers, which were
    looked at before, and traced zeros do not.
    """
    n = len(tree.model.twist)
    row_of = {column - n: row for row, column in pivots}
    sound = []

    def choose(joint: int, acting: Acting) -> int | None:
        if joint in joints:
            sound.append(all(isinstance(s, float) or is_zero(s) for _, _, s in acting))
        return row_of.get(joint)

    _inward(tree, geo, rows, choose)
    return all(sound)
