"""Connections: when constraints or momentum alone decide how a machine moves (thesis 1.4-1.6).

Some joints are driven: their motion r(t) is given. What has to be found, `eta`, is the base's twist
and the rates of the passive joints. The active contacts ask for `A eta + B rdot = 0` (1.12). Where
A has full rank, `eta = -calA rdot` follows at once, and so it does where no external force acts and
the momentum stays zero. Otherwise a few speeds eta_r remain, `eta = H eta_r + J rdot` (1.14), and
have a dynamics of their own (1.15).

All runs over any scalar by elimination; rows, free speeds and pivots are chosen by the numbers that
`evaluate` gives. Only `classify` needs numbers through and through.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.errors import ConfigurationError, ModelError, SingularityError, expect_known
from draisine.mechanics import constraints
from draisine.mechanics.base import free_columns
from draisine.mechanics.constraints import Active, Ground, Mode
from draisine.mechanics.formulations.multiplier import idle, weightless
from draisine.mechanics.kernel import (
    Elimination,
    choose_pivots,
    eliminate,
    independent_vectors,
    kernel_basis,
    solve_symmetric,
    static_multipliers,
)
from draisine.mechanics.kinematics import Geometry, geometry, velocities
from draisine.mechanics.newton_euler import inverse_dynamics, mass_matrix
from draisine.mechanics.tree import Evaluate, Tree, as_floats
from draisine.model import BASE_TWIST

ORIGIN = np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class Locomotion:
    """A machine in one shape: the rows `A eta + B rdot = 0` of its contacts, with their labels.

    `outer` are the columns of v = (V, W, rdot) that make up eta, `inner` those of the driven
    joints.
    """

    tree: Tree
    geo: Geometry
    world: Ground
    active: list[Active]
    labels: list[str]
    outer: list[int]
    inner: list[int]
    A: Array
    B: Array

    @property
    def names(self) -> list[str]:
        """The names of the speeds in eta."""
        joints = [f"{joint.name}_rate" for joint in self.tree.model.joints]
        return [[*BASE_TWIST, *joints][k] for k in self.outer]

    def whole(self, outer: Array, inner: Array) -> Array:
        """Return eta and rdot, or their rates, as the whole (V, W, rdot)."""
        out = np.zeros(6 + len(self.tree.model.joints), dtype=object)
        out[self.outer], out[self.inner] = outer, inner
        return array(out)


def locomotion(
    tree: Tree, mode: Mode, R: Array, r: Array, driven: Sequence[str] | None = None
) -> Locomotion:
    """Return the rows (1.12) for the base's rotation R and the shape r.

    `driven` names the joints whose motion is given, all of them by default; joints with a motion are
    driven in any case.
    """
    model = tree.model
    if model.ground is not None:
        raise ModelError("connections need ground that rests; this model's ground moves.")
    joints = [joint.name for joint in model.joints]
    chosen = joints if driven is None else list(driven)
    expect_known("driven: no joint", chosen, joints, ModelError)
    chosen += [j.name for j in model.joints if j.motion is not None and j.name not in chosen]
    inner = [6 + joints.index(name) for name in chosen]
    outer = [k for k in free_columns(tree.model) if k not in inner]
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, R)
    found = [constraints.contact_point(tree, geo, world, c) for c in model.contacts]
    active = [
        replace(a, holds_all=False)  # rows along the directions that their labels name
        for a in constraints.activate(tree, geo, mode, found, ORIGIN)
    ]
    m = sum(len(a.names) for a in active)
    C = constraints.matrix(tree, geo, world, active)[:m]
    labels = constraints.labels(model, mode)[:m]
    return Locomotion(tree, geo, world, active, labels, outer, inner, C[:, outer], C[:, inner])


@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """`eta = H eta_r + J rdot` (1.14) and the compatibility condition `K rdot = 0` (1.13).

    `rows` decide, the `spare` ones only ask for compatibility; eta_r are the speeds `free` of eta.
    """

    at: Locomotion
    rows: list[int]
    spare: list[int]
    free: list[int]
    solver: Elimination
    H: Array
    J: Array
    K: Array

    @property
    def reduced_names(self) -> list[str]:
        """The names of the speeds in eta_r."""
        return [self.at.names[k] for k in self.free]


def kinematics(at: Locomotion, evaluate: Evaluate = as_floats) -> Kinematics:
    """Return H, J and K = B~ + A~ J (rows that are spare), by one elimination, (1.13)-(1.14).

    J takes eta_r for the values of those speeds themselves: a generalised inverse of A, not that of
    least norm.
    """
    A, B, n = at.A, at.B, len(at.outer)
    values = evaluate(list(A.ravel())).reshape(A.shape)
    basis: list[Floats] = []
    rows = independent_vectors(values, basis)
    free = independent_vectors(np.eye(n), basis)
    spare = [k for k in range(len(A)) if k not in rows]
    square = np.vstack([A[rows], np.eye(n)[free]])
    pivots = choose_pivots(square, evaluate)
    if len(pivots) < n:
        raise SingularityError(
            f"rows {', '.join(at.labels[k] for k in rows)} nearly repeat each other in this shape."
        )
    solver = eliminate(square, pivots)
    H = kernel_basis(solver.solve, len(rows), n)
    J = _columns([solver.solve([*-b, *[0.0] * len(free)]) for b in B[rows].T], n)
    return Kinematics(at, rows, spare, free, solver, H, J, B[spare] + A[spare] @ J)


def _columns(columns: Sequence[Array], n: int) -> Array:
    """Return a matrix with n rows from its columns."""
    return np.column_stack(columns) if len(columns) else np.zeros((n, 0))


def kinematic(at: Locomotion, evaluate: Evaluate = as_floats) -> tuple[Array, Array]:
    """Return calA of the kinematic connection `eta = -calA rdot` and K of the compatibility
    condition `K rdot = 0`, (1.13).
    """
    found = kinematics(at, evaluate)
    if found.free:
        raise ConfigurationError(
            f"the contacts decide {len(found.rows)} of {len(at.outer)} speeds in this shape; "
            f"{', '.join(found.reduced_names)} need a dynamics (`reduced`)."
        )
    return -found.J, found.K


def mechanical(at: Locomotion, evaluate: Evaluate = as_floats) -> Array:
    """Return calA of `eta = -calA rdot` where the momentum of body and fluid is zero, (1.3), (1.10).

    The mass matrix holds the added mass of the fluid.
    """
    M = mass_matrix(at.tree, at.geo, ORIGIN)
    locked, coupling = M[np.ix_(at.outer, at.outer)], M[np.ix_(at.outer, at.inner)]
    _check_inertia(evaluate(list(locked.ravel())), at.names)
    return _columns([solve_symmetric(locked, b) for b in coupling.T], len(at.outer))


def _check_inertia(M: Floats, names: Sequence[str]) -> None:
    """Raise the error that names a speed which no inertia resists."""
    n = len(names)
    still = idle(M.reshape(n, n), np.zeros((0, n)))
    if still is not None:
        raise weightless(still, names)


def stokes(at: Locomotion, evaluate: Evaluate = as_floats) -> Array:
    """Return calA of `eta = -calA rdot` where inertia is nothing against drag, so that the forces
    of the fluid balance (thesis, remark 1.5).
    """
    D, n = resistance(at), len(at.outer)
    locked, coupling = D[np.ix_(at.outer, at.outer)], D[np.ix_(at.outer, at.inner)]
    pivots = choose_pivots(locked, evaluate)
    if len(pivots) < n:
        weak = [at.names[k] for k in range(n) if k not in [j for _, j in pivots]]
        raise SingularityError(f"no drag resists {', '.join(weak)}: give the bodies drag there.")
    solver = eliminate(locked, pivots)
    return _columns([solver.solve(list(b)) for b in coupling.T], n)


def resistance(at: Locomotion) -> Array:
    """Return D with `D v` the forces of drag and dampers at the speeds v, fed with unit speeds."""
    tree, zero = at.tree, array([0.0] * (6 + len(at.tree.model.joints)))
    bare = [
        replace(
            link,
            mass=0.0,
            S=np.zeros(3),
            G=np.zeros((3, 3)),
            added=None,
            rotors=tuple(replace(rotor, inertia=0.0) for rotor in link.rotors),
        )
        for link in tree.links
    ]
    weightless_tree = replace(tree, links=tuple(bare))

    def needed(v: Array) -> Array:
        vel = velocities(tree, at.geo, v[:3], v[3:6], v[6:], ORIGIN)
        return inverse_dynamics(weightless_tree, at.geo, vel, zero, ORIGIN, ORIGIN, ORIGIN)

    springs = needed(zero)
    return np.column_stack([needed(e) - springs for e in np.eye(len(zero))])


ConnectionKind = Literal[
    "kinematic", "over-constrained", "mixed", "mechanical", "hydrodynamic", "stokes", "dynamic"
]


@dataclass(frozen=True, slots=True)
class Case:
    """Which case a machine is in, and why.

    `rank` is that of A, `mobility` the number of independent shape motions that the contacts allow,
    `free` the speeds in eta_r, `spare` the rows that ask for compatibility or merely repeat others.
    """

    kind: ConnectionKind
    why: str
    rank: int
    mobility: int
    free: tuple[str, ...]
    spare: tuple[str, ...]


def classify(at: Locomotion) -> Case:
    """Return the case of the thesis (1.4, 1.5) that a machine of numbers is in, in this shape."""
    found = kinematics(at)
    rank, n, p = len(found.rows), len(at.outer), len(at.inner)
    demands = int(np.linalg.matrix_rank(found.K, tol=1e-9)) if found.K.size else 0
    free, spare = tuple(found.reduced_names), tuple(at.labels[k] for k in found.spare)
    kind: ConnectionKind
    if rank == n:
        kind = "kinematic"
        why = f"the contacts decide all {n} speeds" if n else "the base stays where it is"
    elif rank:
        kind = "mixed"
        follow = "follows" if len(free) == 1 else "follow"
        why = f"the contacts decide {rank} of {n} speeds, {', '.join(free)} {follow} the dynamics"
    else:
        kind, why = _afloat(at)
    if demands:
        kind = "over-constrained" if rank == n else kind
        possible = f"{p - demands} of {p} shape motions"
        why += f"; {possible} {'is' if p - demands == 1 else 'are'} possible"
    if len(spare) > demands:
        more = len(spare) - demands
        why += f"; of the rows {', '.join(spare)}, {more} {'repeats' if more == 1 else 'repeat'} others"
    return Case(kind, f"{why}.", rank, p - demands, free, spare)


def _afloat(at: Locomotion) -> tuple[ConnectionKind, str]:
    """Return the case of a machine that no contact guides, and why."""
    tree, model = at.tree, at.tree.model
    M = mass_matrix(tree, at.geo, ORIGIN)[np.ix_(at.outer, at.outer)]
    dragged = [link.name for link in tree.links if link.drag is not None and np.any(link.drag)]
    fluid = any(link.added is not None and np.any(link.added) for link in tree.links)
    if dragged and not np.any(M):
        return "stokes", "drag acts on bodies without inertia"
    if dragged:
        return "dynamic", f"drag on {', '.join(dragged)} takes momentum away"
    for k in at.outer[len(model.twist) :]:
        joint = model.joints[k - 6]
        if joint.spring or joint.damper:
            return "dynamic", f"a spring or damper acts on the passive joint {joint.name!r}"
    still = np.zeros(6 + len(model.joints))
    rest = velocities(tree, at.geo, ORIGIN, ORIGIN, still[6:], ORIGIN)
    gravity = at.world.R.T @ model.gravity
    falling = [k for k in model.twist if k < 3 and abs(gravity[k]) > 0]
    gravity[falling] = 0.0  # a base that can fall that way does not feel it
    inputs = (tree, at.geo, rest, still, ORIGIN, ORIGIN)
    weight = inverse_dynamics(*inputs, gravity) - inverse_dynamics(*inputs, ORIGIN)
    if np.abs(weight[at.outer]).max(initial=0.0) > 1e-12 * max(1.0, np.abs(weight).max()):
        return "dynamic", "weight acts on it"
    kind: ConnectionKind = "hydrodynamic" if fluid else "mechanical"
    why = f"no external force changes the momentum{' of body and fluid' if fluid else ''}"
    if falling:
        why += " in a frame that falls with it"
    pushing = [f.name for f in model.pushes] + [element.name for element in model.elements]
    if pushing:
        why += f", as long as {', '.join(pushing)} do not push"
    return kind, why


@dataclass(frozen=True, slots=True, eq=False)
class DrivenMotion:
    """How a machine moves under driven joints: etardot, all speeds v and their rates vdot, and
    what the motion needs, `M vdot + F` less the forces given.
    """

    etardot: Array
    v: Array
    vdot: Array
    needed: Array


def reduced_motion(
    found: Kinematics, eta_r: Array, rdot: Array, rddot: Array, force: Array | None = None
) -> DrivenMotion:
    """Return the motion under given joint accelerations, by the reduced dynamics (1.15).

    `Hdot eta_r + Jdot rdot + J rddot` is the particular solution of the rows `A etadot = c - B
    rddot`. `force` holds generalised forces from outside, for (V, W, rdot).
    """
    at, H = found.at, found.H
    tree, geo, world = at.tree, at.geo, at.world
    v = at.whole(H @ eta_r + found.J @ rdot, rdot)
    vel = velocities(tree, geo, v[:3], v[3:6], v[6:], ORIGIN)
    c = _targets(found, v)
    wanted = [c[k] - at.B[k] @ rddot for k in found.rows]
    still = at.whole(found.solver.solve([*wanted, *[0.0] * len(found.free)]), rddot)
    given = array([0.0] * len(v)) if force is None else force
    down = world.R.T @ tree.model.gravity
    needed = inverse_dynamics(tree, geo, vel, still, ORIGIN, ORIGIN, down) - given
    if not found.free:
        return DrivenMotion(array([]), v, still, needed)
    M = mass_matrix(tree, geo, ORIGIN)[:, at.outer] @ H
    left = H.T @ M[at.outer]
    if left.dtype != object:
        _check_inertia(left, found.reduced_names)
    etardot = solve_symmetric(left, -(H.T @ needed[at.outer]))
    rise = at.whole(H @ etardot, array([0.0] * len(rdot)))
    return DrivenMotion(etardot, v, still + rise, needed + M @ etardot)


def _targets(found: Kinematics, v: Array) -> list[Scalar]:
    """Return c of `A etadot + B rddot = c` for every row of the contacts."""
    at = found.at
    vel = velocities(at.tree, at.geo, v[:3], v[3:6], v[6:], ORIGIN)
    inputs = (at.tree, at.geo, at.world, vel, at.active, ORIGIN, ORIGIN, 0.0)
    return constraints.acceleration_targets(*inputs)[: len(at.A)]


@dataclass(frozen=True, slots=True, eq=False)
class Torques:
    """The torques of the driven joints and the forces of the contacts, with what motion leaves open.

    For every z, `tau + tau_static z` with `lam + lam_static z` gives the same motion, (1.18)-(1.19);
    lam is the least of them.
    """

    tau: Array
    lam: Array
    tau_static: Array
    lam_static: Array
    motion: DrivenMotion


def torques(
    found: Kinematics, eta_r: Array, rdot: Array, rddot: Array, force: Array | None = None
) -> Torques:
    """Return the torques that a motion of the joints needs, by inverse dynamics (1.16)-(1.19).

    `A' lam_kin` balances what eta needs, by the pseudo-inverse of A'; the columns of lam_static span
    the kernel of A', and `tau_static = -B' lam_static`.
    """
    at = found.at
    moved = reduced_motion(found, eta_r, rdot, rddot, force)
    _check(found, moved)
    m, k = len(at.A), len(found.rows)
    lam = np.zeros(m, dtype=object)
    lam[found.rows] = found.solver.solve_transposed(list(moved.needed[at.outer]))[:k]
    lam, static = array(lam), static_multipliers(found.solver, at.A, found.rows).reshape(m, m - k)
    if m > k:
        lam = lam - static @ solve_symmetric(static.T @ static, static.T @ lam)
    tau = moved.needed[at.inner] - at.B.T @ lam
    return Torques(tau, lam, -(at.B.T @ static), static, moved)


def _check(found: Kinematics, moved: DrivenMotion) -> None:
    """Raise the error that names the row which a motion of numbers breaks."""
    at = found.at
    if not found.spare or moved.vdot.dtype == object or at.A.dtype == object:
        return
    C = np.zeros((len(at.A), len(moved.v)))
    C[:, at.outer], C[:, at.inner] = at.A, at.B
    for what, wrong, like in (
        ("speeds", C @ moved.v, moved.v),
        ("accelerations", C @ moved.vdot - np.array(_targets(found, moved.v)), moved.vdot),
    ):
        worst = int(np.argmax(np.abs(wrong)))
        if abs(wrong[worst]) > 1e-8 * max(1.0, np.abs(like).max()):
            raise ConfigurationError(
                f"the {what} of the joints break the constraint {at.labels[worst]!r} by "
                f"{abs(wrong[worst]):.3g}; they must satisfy the compatibility condition K rdot = 0."
            )
