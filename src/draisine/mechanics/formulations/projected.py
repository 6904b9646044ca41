"""The free dynamics projected on the kernel of the constraints, in closed form (thesis 2.3, IFAC
5).

Inside, the base's frame is aligned with its first joint and wheel (`tree.assemble(aligned=True)`)
and its velocity is taken at the first rolling contact: both only change coordinates, and make the
rows of the constraints short. `user_map` leads back to v. Long trees are solved joint by joint
instead (`_tree_kernel`, `_articulated`), as far as their rows allow.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.lie import cross, hat
from draisine.algebra.scalar import Array, Scalar, array, is_zero, where
from draisine.errors import RedundancyError, SingularityError
from draisine.mechanics import constraints, couplings
from draisine.mechanics.base import free_columns, is_free, spread
from draisine.mechanics.constraints import Ground, Mode
from draisine.mechanics.formulations._articulated import LONG, accelerations
from draisine.mechanics.formulations._tree_kernel import (
    LocalRow,
    TreeElimination,
    directions,
    eliminate_tree,
    local_rows,
    local_targets,
    plan_tree,
)
from draisine.mechanics.kernel import (
    Elimination,
    Pivot,
    choose_pivots,
    eliminate,
    independent_vectors,
    kernel_basis,
    share,
    solve_symmetric,
)
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    Velocities,
    geometry,
    point_drift,
    velocities,
)
from draisine.mechanics.newton_euler import gather, inverse_dynamics, mass_matrix, wrenches
from draisine.mechanics.tree import Evaluate, Tree
from draisine.model import Guide, Model, Surface

FORMULATION = "the free dynamics projected on the kernel of the constraints, in closed form"

ORIGIN = np.zeros(3)


@dataclass(frozen=True, eq=False)
class Rows:
    """What the configuration alone decides: geometry, contacts, and the rows `C v = b`, `S v = u`.

    The rows `keep` are independent in general; the others, `spare`, repeat them. `local` are the
    same rows over the twists of single links.
    """

    tree: Tree
    mode: Mode
    geo: Geometry
    world: Ground
    found: list[tuple[Point, Surface]]
    active: list[constraints.Active]
    reference: int | None
    ref: Array
    p: Array
    keep: list[int]
    spare: list[int]

    @cached_property
    def C(self) -> Array:
        """The rows over all speeds."""
        return constraints.matrix(self.tree, self.geo, self.world, self.active)

    @cached_property
    def local(self) -> list[LocalRow]:
        """The rows over the twists of single links."""
        return local_rows(self.tree, self.geo, self.world, self.active)


def reference_contact(tree: Tree, mode: Mode) -> int | None:
    """Return the rolling contact (or tyre that holds along) with the shortest path to the base; the
    base's velocity is taken there.
    """
    if not is_free(tree.model):
        return None
    rolling = [
        k
        for k, (contact, (_, status)) in enumerate(zip(tree.model.contacts, mode, strict=True))
        if len(contact.rows[status]) == 3 or (status == "tyre" and len(contact.rows[status]) == 2)
    ]
    paths = {k: len(tree.path(tree.place[tree.model.contacts[k].body][0])) for k in rolling}
    return min(rolling, key=lambda k: paths[k]) if rolling else None


def rows(
    tree: Tree,
    mode: Mode,
    R: Array,
    r: Array,
    p: Array = ORIGIN,
    spare: Collection[str] = (),
    at_origin: bool = False,
) -> Rows:
    """Return the constraint rows of a mode for the rotation R of the base's (inner) frame and the
    shape r; `spare` names rows that repeat others. The base's velocity is taken at a rolling contact,
    or at the origin of its frame.
    """
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, R)
    found = [constraints.contact_point(tree, geo, world, c) for c in tree.model.contacts]
    still = at_origin or _by_joints(tree, spare)
    reference = None if still else reference_contact(tree, mode)
    ref = np.zeros(3) if reference is None else found[reference][0].c
    active = constraints.activate(tree, geo, mode, found, ref, spare)
    labels = constraints.labels(tree.model, mode)
    keep = [k for k, label in enumerate(labels) if label not in spare]
    left = [k for k, label in enumerate(labels) if label in spare]
    return Rows(tree, mode, geo, world, found, active, reference, ref, p, keep, left)


def _by_joints(tree: Tree, spare: Collection[str]) -> bool:
    """Return whether a tree is long enough to be solved joint by joint, and free of what ties joints
    that are no neighbours.
    """
    model = tree.model
    tied = bool(couplings.labels(model)) or model.ground is not None or bool(spare)
    return len(tree.links) > LONG and not tied


def residual(found: Rows, speeds: Array, t: Scalar, along_tree: bool) -> Array:
    """Return `C v - b` for the speeds (V at ref, W, rdot)."""
    tree = found.tree
    geo = found.geo
    b = constraints.velocity_targets(tree, geo, found.world, found.active, found.p, t)
    if not along_tree:
        return found.C @ speeds - b
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], found.ref)
    return array([row.of(vel) - x for row, x in zip(found.local, b, strict=True)])


def conditions(
    found: Rows, r: Array, t: Scalar, anchors: Array
) -> tuple[list[Scalar], list[Array], list[int]]:
    """Return the conditions on the configuration that must stay zero, their rows, and which rows of
    C these are; pins hold at their `anchors`.

    A pin in moving ground has none: it holds by its speed alone.
    """
    tree = found.tree
    p = found.p
    model = tree.model
    n = len(tree.model.joints)
    heights = constraints.gaps(found.world, p, found.found)
    pins = [c.name for c in model.pins]
    active = {a.contact.name: a for a in found.active}
    labels = constraints.labels(model, found.mode)
    values: list[Scalar] = []
    rows: list[Array] = []
    where: list[int] = []
    for k, name in constraints.holonomic_rows(found.mode, model):
        contact = model.contacts[k]
        if contact.anchored and model.ground is not None:
            continue
        a = active[contact.name]
        axes = constraints.contact_axes(tree, found.geo, found.world, contact, a.at)
        rows.append(axes[name] @ a.P)
        where.append(labels.index(f"{contact.name}.{name}"))
        if contact.anchored:
            axis = "xyz".index(name)
            anchor = anchors[3 * pins.index(contact.name) + axis]
            values.append(p[axis] + found.world.R[axis, :] @ a.at.c - anchor)
        else:
            values.append(heights[k])
    first = sum(len(a.names) for a in found.active)
    for k in constraints.prescribed_joints(model):
        motion = model.joints[k].motion
        assert motion is not None
        rows.append(np.eye(6 + n)[6 + k])
        values.append(r[k] - motion(t)[0])
    values += couplings.values(tree, found.geo)
    rows += couplings.rows(tree, found.geo)
    where += range(first, len(labels))
    return values, rows, where


def user_map(tree: Tree, ref: Array) -> Array:
    """Return T with v = T v': from the speeds used inside (V at ref, aligned axes) to the user's
    (drawing's frame).
    """
    base = tree.links[0]
    n = len(tree.model.joints)
    origin = -(base.R.T @ base.o)
    T = np.zeros((6 + n, 6 + n), dtype=object)
    T[:3, :3] = base.R
    T[:3, 3:6] = base.R @ -hat(origin - ref)
    T[3:6, 3:6] = base.R
    T[6:, 6:] = np.eye(n)
    return array(T)


def check_rows(C: np.ndarray, labels: Sequence[str]) -> None:
    """Raise the error that names a row which does not exist in a configuration."""
    for label, row in zip(labels, C, strict=True):
        if not np.isfinite(row).all():
            raise SingularityError(
                f"constraint row {label!r} does not exist where the pivots are chosen: a wheel lies flat "
                "there, or a blade stands upright. Draw the machine as it runs."
            )


def speed_order(model: Model, columns: Sequence[int]) -> list[int]:
    """Return the order in which speeds are tried as independent: joints, then angular, then linear
    velocity.
    """
    n = len(model.twist)
    turning = [k for k in range(n) if columns[k] >= 3]
    return [*range(n, len(columns)), *turning, *[k for k in range(n) if columns[k] < 3]]


def choose_speeds(
    model_speeds: int, C: np.ndarray, labels: Sequence[str], preferred: Sequence[int]
) -> list[int]:
    """Return which speeds to keep as independent, from the rows C at a nominal state (in the user's
    speeds).

    Joint rates come first, then angular, then linear velocities; a speed is kept if its row is well
    independent of the constraints and of those kept before. Rows that lose rank here are an error
    that names them.
    """
    basis: list[np.ndarray] = []
    check_rows(C, labels)
    for label, row in zip(labels, C, strict=True):
        if not independent_vectors(row[None], basis):
            raise RedundancyError(
                f"constraint row {label!r} repeats what the rows before it already demand in this "
                "configuration, though not beside it: the shape is singular. Start beside it, or let wheels "
                "that lock one another slip: by tyres, or by the status sliding."
            )
    return independent_vectors(np.eye(model_speeds), basis, 1e-6, preferred)


def system_matrix(found: Rows, independent: Sequence[int]) -> Array:
    """Return the rows [C; S] over the free columns: constraints, then independent speeds."""
    columns = free_columns(found.tree.model)
    return np.vstack(
        [found.C[np.ix_(found.keep, columns)], np.eye(len(columns))[list(independent)]]
    )


def plan_joints(found: Rows, evaluate: Evaluate) -> tuple[list[int], list[Pivot]] | None:
    """Return independent speeds and pivots for an elimination along the tree, None where there is
    none.
    """
    if found.spare or not _by_joints(found.tree, ()):
        return None
    return plan_tree(found.tree, found.geo, found.local, evaluate)


def plan_pivots(found: Rows, independent: Sequence[int], evaluate: Evaluate) -> list[Pivot]:
    """Return pivots for the rows, chosen by rank at the nominal configuration."""
    A = system_matrix(found, independent)
    if not len(found.C):
        return [(k, k) for k in range(len(A))]
    pivots = choose_pivots(A, evaluate)
    if len(pivots) < A.shape[0]:
        raise RedundancyError(
            "the constraints and the independent speeds do not determine the motion."
        )
    return pivots


def factorise(
    found: Rows, independent: Sequence[int], pivots: Sequence[Pivot], along_tree: bool = False
) -> Elimination | TreeElimination:
    """Return the elimination of the rows along pivots: of all rows at once, or joint by joint, where
    the rows of the constraints alone have pivots.
    """
    if along_tree:
        return eliminate_tree(found.tree, found.geo, found.local, independent, pivots)
    return eliminate(system_matrix(found, independent), pivots)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """All velocities at one state: `speeds` = (V at ref, W, rdot) = H u + particular solution, eq.
    [kernel].
    """

    rows: Rows
    solver: Elimination | TreeElimination
    speeds: Array
    vel: Velocities
    refdot: Array

    @cached_property
    def H(self) -> Array:
        """The kernel, over the free columns."""
        m = len(self.rows.keep)
        n = len(free_columns(self.rows.tree.model))
        return kernel_basis(self.solver.solve, m, n)


def motion(
    found: Rows,
    u: Array,
    t: Scalar,
    independent: Sequence[int],
    pivots: Sequence[Pivot],
    along_tree: bool = False,
) -> Reconstruction:
    """Return the velocities that the independent speeds u give."""
    tree = found.tree
    geo = found.geo
    ref = found.ref
    m = len(found.keep)
    k = len(independent)
    solver = factorise(found, independent, pivots, along_tree)
    local = isinstance(solver, TreeElimination)
    inner = array([0.0] * m) if local or not k else kernel_basis(solver.solve, m, m + k) @ u
    b = constraints.velocity_targets(tree, geo, found.world, found.active, found.p, t)
    if local:
        inner = solver.solve([*b, *u])
    elif not all(is_zero(x) for x in b):
        inner = inner + solver.solve([b[i] for i in found.keep] + [0.0] * k)
    speeds = spread(tree.model, inner)
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], ref)
    refdot = np.zeros(3)
    if found.reference is not None:
        at, surface = found.found[found.reference]
        rhodot = constraints.support_rate(surface, at, found.world, vel)
        _, refdot = point_drift(tree, geo, vel, at, rhodot, np.zeros(3))
    return Reconstruction(found, solver, speeds, vel, refdot)


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """The reduced dynamics at one state: udot, the rates of `speeds`, the multipliers of the rows,
    the torques that guide joints.
    """

    udot: Array
    vdot: Array
    multipliers: Array
    guiding: Array


def dynamics(
    moving: Reconstruction, force: Array, t: Scalar, gravity: Array, guides: Mapping[int, Guide]
) -> Reduced:
    """Return the reduced dynamics under generalised forces, eqs. [reduced-dynamics]-[multipliers].

    `Hdot u` is the particular solution of the rows `C vdot = c`; `gravity` is in world axes,
    `force` belongs to (V at ref, W, rdot); `guides` are the joints that a law guides.
    """
    found = moving.rows
    solver = moving.solver
    if isinstance(solver, TreeElimination) and not guides:
        return _dynamics_by_joints(moving, solver, force, t, gravity)
    H = moving.H
    tree = found.tree
    columns = free_columns(tree.model)
    k = H.shape[1]
    still, lack = _balance(moving, force, t, gravity)
    free = array([0.0] * len(tree.model.joints))
    unbalanced = lack[columns]
    MH = mass_matrix(tree, found.geo, found.ref)[np.ix_(columns, columns)] @ H
    udot = solve_symmetric(H.T @ MH, H.T @ unbalanced) if k else array([])
    guiding = free
    if guides:
        guiding, change = guide(H, MH, udot, still[columns], guides, len(tree.model.twist))
        unbalanced = unbalanced + np.concatenate([np.zeros(len(tree.model.twist)), guiding])
        udot = udot + change
    vdot = still + spread(tree.model, H @ udot) if k else still
    reaction = MH @ udot - unbalanced if k else -unbalanced
    return Reduced(udot, vdot, _multipliers(moving, reaction), guiding)


def _balance(
    moving: Reconstruction, force: Array, t: Scalar, gravity: Array
) -> tuple[Array, Array]:
    """Return accelerations that the rows demand, and what a generalised force has beyond these."""
    found = moving.rows
    vel = moving.vel
    tree = found.tree
    geo = found.geo
    world = found.world
    ref = found.ref
    c = constraints.acceleration_targets(
        tree, geo, world, vel, found.active, moving.refdot, found.p, t
    )
    inner = moving.solver.solve([c[i] for i in found.keep] + [0.0] * moving.H.shape[1])
    still = spread(tree.model, inner)
    needed = wrenches(tree, geo, vel, still, ref, moving.refdot, world.R.T @ gravity)
    return still, force - gather(tree, geo, needed, ref)


def imbalance(moving: Reconstruction, force: Array, t: Scalar, gravity: Array) -> Array:
    """Return what a generalised force has beyond accelerations that the rows allow: what contacts
    answer to, whichever these are.
    """
    found = moving.rows
    solver = moving.solver
    if not isinstance(solver, TreeElimination):
        return _balance(moving, force, t, gravity)[1]
    vdot = _dynamics_by_joints(moving, solver, force, t, gravity).vdot
    down = found.world.R.T @ gravity
    geo = found.geo
    return force - inverse_dynamics(
        found.tree, geo, moving.vel, vdot, found.ref, moving.refdot, down
    )


def _dynamics_by_joints(
    moving: Reconstruction, solver: TreeElimination, force: Array, t: Scalar, gravity: Array
) -> Reduced:
    """Return the dynamics of a long tree, joint by joint."""
    found = moving.rows
    vel = moving.vel
    tree = found.tree
    geo = found.geo
    world = found.world
    ref = found.ref
    down = world.R.T @ gravity
    still = array([0.0] * (6 + len(tree.model.joints)))
    needed = wrenches(tree, geo, vel, still, ref, moving.refdot, down)
    targets = local_targets(tree, geo, world, vel, found.active, needed, down, t)
    inner = accelerations(solver, needed, force, targets)
    vdot = spread(tree.model, inner)
    lam = array([])
    if found.keep:
        whole = inverse_dynamics(tree, geo, vel, vdot, ref, moving.refdot, down)
        lam = _multipliers(moving, (whole - force)[free_columns(tree.model)])
    return Reduced(inner[solver.independent], vdot, lam, still[6:])


def _multipliers(moving: Reconstruction, reaction: Array) -> Array:
    """Return the multipliers of all rows whose forces are the reaction, eq. [multipliers]."""
    kept = moving.solver.solve_transposed(list(reaction))[: len(moving.rows.keep)]
    return _of_all_rows(moving, kept)


def _of_all_rows(moving: Reconstruction, lam: Array) -> Array:
    """Return the multipliers of all rows from those of the kept ones, as the elimination has them."""
    found = moving.rows
    solver = moving.solver
    model = moving.rows.tree.model
    if isinstance(solver, TreeElimination):
        return _turned(found, lam)
    if found.spare:
        forces = constraints.compliances(model, found.mode)
        lam = share(solver, lam, found.C[:, free_columns(model)], found.keep, forces)
    return lam


def _turned(found: Rows, lam: Array) -> Array:
    """Return multipliers of local rows as those of C: contacts that hold in every direction count
    along the base's axes.
    """
    lam = lam.copy()
    first = 0
    for a in found.active:
        own = slice(first, first + len(a.names))
        first = own.stop
        if a.holds_all:
            along = directions(found.tree, found.geo, found.world, a)
            lam[own] = (found.geo.R0[a.at.link] @ (along.T @ lam[own]))[: len(a.names)]
    return lam


def loads(found: Rows, multipliers: Array) -> dict[str, Scalar]:
    """Return the normal forces of the contacts among the multipliers of the rows."""
    out: dict[str, Scalar] = {}
    first = 0
    for a in found.active:
        part = multipliers[first : first + len(a.names)]
        first += len(a.names)
        if "normal" in a.names:
            out[a.contact.name] = (
                found.world.up[0] @ array(list(part))
                if a.holds_all
                else part[a.names.index("normal")]
            )
    return out


def load_answers(moving: Reconstruction, names: Sequence[str]) -> list[Array]:
    """Return for each of some contacts the row a with `a @ Q` what its load answers to a generalised
    force Q, eq. [loads]; no joint is guided.
    """
    found = moving.rows
    H = moving.H
    model = moving.rows.tree.model
    columns = free_columns(model)
    m = len(found.keep)
    k = moving.H.shape[1]
    MH = mass_matrix(found.tree, found.geo, found.ref)[np.ix_(columns, columns)] @ H
    parts = [loads(found, _of_all_rows(moving, array(list(e)))) for e in np.eye(m)]
    out = []
    for name in names:
        s = moving.solver.solve([*(part[name] for part in parts), *[0.0] * k])
        row = H @ solve_symmetric(H.T @ MH, MH.T @ s) - s
        out.append(spread(model, row))
    return out


def guide(
    H: Array, MH: Array, udot: Array, still: Array, guides: Mapping[int, Guide], first: int
) -> tuple[Array, Array]:
    """Return the torques of all joints that give the guided ones their accelerations, and what they
    change in udot, eq. [guide].

    `still` are the accelerations where udot is zero; joints are the rows of H from `first` on. A
    guide that is not active asks for no torque.
    """
    joints = list(guides)
    rows = [H[first + joint] for joint in joints]
    responses = [solve_symmetric(H.T @ MH, row) for row in rows]
    missing = list[Scalar]()
    gain = np.zeros((len(joints), len(joints)), dtype=object)
    for i, (joint, row) in enumerate(zip(joints, rows, strict=True)):
        active = guides[joint].active
        lack = guides[joint].acceleration - still[first + joint] - row @ udot
        missing.append(where(active, lack, 0.0))
        for j, other in enumerate(joints):
            both = active if i == j else where(active, guides[other].active, 0.0)
            gain[i, j] = where(both, row @ responses[j], float(i == j))
    torques = solve_symmetric(array(gain), array(missing))
    out = np.zeros(len(H) - first, dtype=object)
    out[joints] = torques
    return array(out), sum((x * tau for x, tau in zip(responses, torques, strict=True)), 0.0 * udot)


def map_rate(tree: Tree, W: Array, refdot: Array) -> Array:
    """Return Tdot v': the reference point wanders, so the user's velocity changes although v' does
    not.
    """
    shift = tree.links[0].R @ cross(refdot, W)
    return np.concatenate([shift, np.zeros(3 + len(tree.model.joints))])
