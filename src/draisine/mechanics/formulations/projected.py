"""Projection of the free dynamics onto the kernel of the constraints, in closed form (Mauny 2018, section
2.3; Mauny, Porez and Boyer 2017, section 5).

Internally, the base's frame is aligned with its first joint and wheel (`tree.assemble(aligned=True)`),
and its velocity is taken at the first rolling contact. Both are changes of coordinates that shorten the
constraint rows; `speed_transformation` maps back to the user's speeds v.

1. `constraint_rows`: geometry and constraint rows.
2. `choose_speeds`, `plan_pivots`: independent speeds and pivots of the elimination.
3. `reconstruct_velocities`: all velocities from the independent speeds.
4. `solve_reduced_dynamics`: accelerations and multipliers.

Long trees are solved joint by joint instead (`_tree_kernel`, `_articulated`), if their rows allow it.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.lie import cross, hat
from draisine.algebra.scalar import Array, Scalar, array, clip, is_zero, sqrt, where
from draisine.errors import ModelError, RedundancyError, SingularityError, did_you_mean
from draisine.mechanics import constraints, couplings
from draisine.mechanics.base import expand_speeds, free_columns, is_free
from draisine.mechanics.constraints import Ground, Mode
from draisine.mechanics.formulations._articulated import MIN_ARTICULATED_LINKS, accelerations
from draisine.mechanics.formulations._tree_kernel import (
    LocalRow,
    TreeElimination,
    blocked_directions,
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
    minimum_norm_multipliers,
    solve_symmetric,
)
from draisine.mechanics.kinematics import (
    BASE_ORIGIN,
    Geometry,
    Point,
    Velocities,
    geometry,
    point_drift,
    velocities,
)
from draisine.mechanics.newton_euler import (
    inverse_dynamics,
    link_wrenches,
    mass_matrix,
    sum_wrenches,
)
from draisine.mechanics.tree import Evaluate, Tree
from draisine.model import Guide, Model, Surface

FORMULATION = "the free dynamics projected on the kernel of the constraints, in closed form"
"""Description of the method; the attribute marks this module as a formulation."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Geometry, contacts and constraint rows `C v = b` of one configuration."""

    tree: Tree
    mode: Mode
    geo: Geometry  # poses of the links
    world: Ground  # orientation of the ground
    contact_points: list[tuple[Point, Surface]]  # touching point and surface of every contact
    active: list[constraints.Active]  # closed contacts
    reference: int | None  # index of the contact at which the velocity of the base is taken
    ref: Array  # position of that contact point in the base's frame, m
    p: Array  # position of the base's origin, m
    keep: list[int]  # indices of constraint rows that are independent in almost all configurations
    redundant: list[int]  # indices of the redundant constraint rows

    @cached_property
    def C(self) -> Array:
        """Constraint matrix over all speeds, (m, 6 + n)."""
        return constraints.constraint_matrix(self.tree, self.geo, self.world, self.active)

    @cached_property
    def local(self) -> list[LocalRow]:
        """The same constraint rows, each as a linear form of the twist of one link, for long trees."""
        return local_rows(self.tree, self.geo, self.world, self.active)


def reference_contact(tree: Tree, mode: Mode) -> int | None:
    """Return the index of the contact at which the base's velocity is taken.

    It is the rolling contact, or tyre with a longitudinal row, with the shortest path to the base: its
    rows are then nearly constant.
    """
    if not is_free(tree.model):
        return None
    rolling = [
        k
        for k, (contact, (_, status)) in enumerate(zip(tree.model.contacts, mode, strict=True))
        if len(contact.rows[status]) == 3 or (status == "tyre" and len(contact.rows[status]) == 2)
    ]
    paths = {k: len(tree.path_to_link(tree.place[tree.model.contacts[k].body][0])) for k in rolling}
    return min(rolling, key=lambda k: paths[k]) if rolling else None


def constraint_rows(
    tree: Tree,
    mode: Mode,
    R: Array,
    r: Array,
    p: Array = BASE_ORIGIN,
    redundant: Collection[str] = (),
    at_origin: bool = False,
) -> Rows:
    """Return the constraint rows of a contact mode in one configuration.

    R is the rotation of the internal base frame, r are the joint coordinates, p is the position of
    the base (m). `redundant` names redundant constraint rows. The velocity of the base is taken at
    a rolling contact, or at the origin of its frame if `at_origin`.
    """
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, R)
    contact_points = [constraints.contact_point(tree, geo, world, c) for c in tree.model.contacts]
    static_reference = at_origin or _is_solved_by_joints(tree, redundant)
    reference = None if static_reference else reference_contact(tree, mode)
    ref = np.zeros(3) if reference is None else contact_points[reference][0].c
    active = constraints.active_contacts(tree, geo, mode, contact_points, ref, redundant)
    labels = constraints.row_labels(tree.model, mode)
    keep = [k for k, label in enumerate(labels) if label not in redundant]
    redundant_rows = [k for k, label in enumerate(labels) if label in redundant]
    return Rows(
        tree, mode, geo, world, contact_points, active, reference, ref, p, keep, redundant_rows
    )


def _is_solved_by_joints(tree: Tree, redundant: Collection[str]) -> bool:
    """Return whether a tree is solved joint by joint: it is long, and its rows couple only
    neighbouring links.
    """
    model = tree.model
    couples_links = (
        bool(couplings.coupling_labels(model)) or model.ground is not None or bool(redundant)
    )
    return len(tree.links) > MIN_ARTICULATED_LINKS and not couples_links


def velocity_residual(constraint_rows: Rows, speeds: Array, t: Scalar, along_tree: bool) -> Array:
    """Return the residual `C v - b` (m,) of the velocity constraints for the speeds (V at ref, W,
    rdot).
    """
    tree = constraint_rows.tree
    geo = constraint_rows.geo
    b = constraints.velocity_targets(
        tree, geo, constraint_rows.world, constraint_rows.active, constraint_rows.p, t
    )
    if not along_tree:
        return constraint_rows.C @ speeds - b
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], constraint_rows.ref)
    return array([row.evaluate(vel) - x for row, x in zip(constraint_rows.local, b, strict=True)])


def holonomic_residuals(
    constraint_rows: Rows, r: Array, t: Scalar, pin_positions: Array
) -> tuple[list[Scalar], list[Array], list[int]]:
    """Return the residuals (m or rad) of the holonomic constraints, their gradients (6 + n,) over (V, W,
    rdot), and the indices of their rows in C.

    Pins are attached at their `pin_positions` (m, concatenated). A pin in moving ground has no
    residual, because only its velocity is constrained.
    """
    tree = constraint_rows.tree
    p = constraint_rows.p
    model = tree.model
    n = len(tree.model.joints)
    heights = constraints.gaps(constraint_rows.world, p, constraint_rows.contact_points)
    pins = [c.name for c in model.pins]
    active = {a.contact.name: a for a in constraint_rows.active}
    labels = constraints.row_labels(model, constraint_rows.mode)
    values: list[Scalar] = []
    rows: list[Array] = []
    indices: list[int] = []
    for k, name in constraints.holonomic_rows(constraint_rows.mode, model):
        contact = model.contacts[k]
        if contact.anchored and model.ground is not None:
            continue
        a = active[contact.name]
        axes = constraints.contact_directions(
            tree, constraint_rows.geo, constraint_rows.world, contact, a.point
        )
        rows.append(axes[name] @ a.P)
        indices.append(labels.index(f"{contact.name}.{name}"))
        if contact.anchored:
            axis = "xyz".index(name)
            anchor = pin_positions[3 * pins.index(contact.name) + axis]
            values.append(p[axis] + constraint_rows.world.R[axis, :] @ a.point.c - anchor)
        else:
            values.append(heights[k])
    first = sum(len(a.names) for a in constraint_rows.active)
    for k in constraints.prescribed_joints(model):
        motion = model.joints[k].motion
        assert motion is not None
        rows.append(np.eye(6 + n)[6 + k])
        values.append(r[k] - motion(t)[0])
    values += couplings.coupling_residuals(tree, constraint_rows.geo)
    rows += couplings.coupling_rows(tree, constraint_rows.geo)
    indices += range(first, len(labels))
    return values, rows, indices


def speed_transformation(tree: Tree, ref: Array) -> Array:
    """Return the matrix T (6 + n, 6 + n) that maps internal speeds v' (V at ref, aligned axes) to
    the user's speeds v = T v'.
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
    """Raise an error that names a constraint row with non-finite entries, if one exists."""
    for label, row in zip(labels, C, strict=True):
        if not np.isfinite(row).all():
            raise SingularityError(
                f"The constraint row {label!r} is not defined in the configuration in which pivots are "
                "chosen: a wheel lies flat, or a blade is vertical. Draw the machine upright."
            )


def speed_order(model: Model, columns: Sequence[int]) -> list[int]:
    """Return the order of preference of independent speeds: joint rates, angular, then linear
    velocities.
    """
    n = len(model.twist)
    turning = [k for k in range(n) if columns[k] >= 3]
    return [*range(n, len(columns)), *turning, *[k for k in range(n) if columns[k] < 3]]


def choose_speeds(
    model_speeds: int, C: np.ndarray, labels: Sequence[str], preferred: Sequence[int]
) -> list[int]:
    """Return the indices of independent speeds, for the constraint rows C at a nominal state.

    C (m, n) is over the user's speeds. The speeds are tried in the order `preferred`. A speed is accepted if
    its unit row is independent of the constraint rows and of the speeds accepted before it. If a constraint
    row depends on the rows before it in this configuration, RedundancyError names it.
    """
    basis: list[np.ndarray] = []
    check_rows(C, labels)
    for label, row in zip(labels, C, strict=True):
        if not independent_vectors(row[None], basis):
            raise RedundancyError(
                f"The constraint row {label!r} depends on the rows before it in this configuration, but not "
                "near it: the shape is singular. Start from another shape, or let wheels that block one "
                "another slip, by tyres or by the status 'sliding'."
            )
    # An independent speed must be at least 1e-6 away from the span of the constraint rows:
    # otherwise pivots are ill-conditioned.
    return independent_vectors(np.eye(model_speeds), basis, 1e-6, preferred)


def system_matrix(rows: Rows, independent: Sequence[int]) -> Array:
    """Return the square matrix [C; S] over the free components of v: constraint rows, then
    independent speeds.
    """
    columns = free_columns(rows.tree.model)
    return np.vstack([rows.C[np.ix_(rows.keep, columns)], np.eye(len(columns))[list(independent)]])


def plan_joint_elimination(rows: Rows, evaluate: Evaluate) -> tuple[list[int], list[Pivot]] | None:
    """Return independent speeds and pivots for an elimination along the tree; None if not possible."""
    if rows.redundant or not _is_solved_by_joints(rows.tree, ()):
        return None
    return plan_tree(rows.tree, rows.geo, rows.local, evaluate)


def plan_pivots(rows: Rows, independent: Sequence[int], evaluate: Evaluate) -> list[Pivot]:
    """Return pivots for the constraint rows, chosen by rank at the nominal configuration."""
    A = system_matrix(rows, independent)
    if not len(rows.C):
        return [(k, k) for k in range(len(A))]
    pivots = choose_pivots(A, evaluate)
    if len(pivots) < A.shape[0]:
        raise RedundancyError(
            "The constraint rows and the independent speeds are dependent in the nominal configuration. "
            "Start from another configuration."
        )
    return pivots


def factorise(
    rows: Rows, independent: Sequence[int], pivots: Sequence[Pivot], along_tree: bool = False
) -> Elimination | TreeElimination:
    """Return the factors of the constraint rows for given pivots, eliminated all at once or joint
    by joint.

    If the rows are eliminated joint by joint, only constraint rows have pivots, not the selected
    speeds.
    """
    if along_tree:
        return eliminate_tree(rows.tree, rows.geo, rows.local, independent, pivots)
    return eliminate(system_matrix(rows, independent), pivots)


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """All velocities at one state, reconstructed from the independent speeds, eq. [kernel]."""

    rows: Rows
    solver: Elimination | TreeElimination
    speeds: Array  # all speeds (V at ref, W, rdot) = H u + particular solution
    vel: Velocities
    refdot: Array  # velocity of ref relative to the base, m/s

    @cached_property
    def H(self) -> Array:
        """Null-space basis H of the constraint rows, (free speeds, k); column j is the motion at
        unit independent speed j.
        """
        m = len(self.rows.keep)
        n = len(free_columns(self.rows.tree.model))
        return kernel_basis(self.solver.solve, m, n)


def reconstruct_velocities(
    rows: Rows,
    u: Array,
    t: Scalar,
    independent: Sequence[int],
    pivots: Sequence[Pivot],
    along_tree: bool = False,
) -> Reconstruction:
    """Reconstruct all velocities from the independent speeds, eq. [kernel].

    Parameters
    ----------
    rows
        Rows of the configuration.
    u
        (k,), independent speeds.
    t
        Time in s, for prescribed joints and moving ground.
    independent
        Indices of the independent speeds among the free components of v.
    pivots
        Pivots of the elimination, chosen at a nominal configuration.
    along_tree
        Eliminate joint by joint.

    Returns
    -------
    Reconstruction
        Speeds, velocities of all links, and the factors of the rows.
    """
    tree = rows.tree
    geo = rows.geo
    ref = rows.ref
    m = len(rows.keep)
    k = len(independent)
    solver = factorise(rows, independent, pivots, along_tree)
    by_joints = isinstance(solver, TreeElimination)
    free_speeds = (
        array([0.0] * m) if by_joints or not k else kernel_basis(solver.solve, m, m + k) @ u
    )
    b = constraints.velocity_targets(tree, geo, rows.world, rows.active, rows.p, t)
    if by_joints:
        free_speeds = solver.solve([*b, *u])
    elif not all(is_zero(x) for x in b):
        free_speeds = free_speeds + solver.solve([b[i] for i in rows.keep] + [0.0] * k)
    speeds = expand_speeds(tree.model, free_speeds)
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], ref)
    refdot = np.zeros(3)
    if rows.reference is not None:
        point, surface = rows.contact_points[rows.reference]
        rhodot = constraints.support_rate(surface, point, rows.world, vel)
        _, refdot = point_drift(tree, geo, vel, point, rhodot, np.zeros(3))
    return Reconstruction(rows, solver, speeds, vel, refdot)


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """Solution of the reduced dynamics at one state."""

    udot: Array  # time derivatives of the independent speeds, (k,)
    vdot: Array  # time derivatives of (V at ref, W, rdot), (6 + n,)
    multipliers: Array  # multipliers of all constraint rows, (m,)
    guiding: Array  # torques of joints whose acceleration a control law prescribes, N m or N, (n,)


def solve_reduced_dynamics(
    moving: Reconstruction, force: Array, t: Scalar, gravity: Array, guides: Mapping[int, Guide]
) -> Reduced:
    """Solve the reduced dynamics, eqs. [reduced-dynamics]-[multipliers].

    `Hdot u` is the particular solution of the rows `C vdot = c`.

    Parameters
    ----------
    moving
        Velocities at the state.
    force
        (6 + n,), generalised force for (V at ref, W, rdot).
    t
        Time in s.
    gravity
        (3,), in world axes, m/s2.
    guides
        Joints whose accelerations a control law prescribes, by index.

    Returns
    -------
    Reduced
        Accelerations, multipliers, and torques of the joints with prescribed accelerations.
    """
    rows = moving.rows
    solver = moving.solver
    if isinstance(solver, TreeElimination) and not guides:
        return _accelerate_by_joints(moving, solver, force, t, gravity)
    H = moving.H
    tree = rows.tree
    columns = free_columns(tree.model)
    k = H.shape[1]
    particular, unbalanced_force = _particular_solution(moving, force, t, gravity)
    no_torques = array([0.0] * len(tree.model.joints))
    unbalanced = unbalanced_force[columns]
    MH = mass_matrix(tree, rows.geo, rows.ref)[np.ix_(columns, columns)] @ H
    udot = solve_symmetric(H.T @ MH, H.T @ unbalanced) if k else array([])
    guiding = no_torques
    if guides:
        guiding, change = solve_guides(moving, MH, udot, particular, guides)
        unbalanced = unbalanced + np.concatenate([np.zeros(len(tree.model.twist)), guiding])
        udot = udot + change
    vdot = particular + expand_speeds(tree.model, H @ udot) if k else particular
    reaction = MH @ udot - unbalanced if k else -unbalanced
    return Reduced(udot, vdot, _solve_multipliers(moving, reaction), guiding)


def _particular_solution(
    moving: Reconstruction, force: Array, t: Scalar, gravity: Array
) -> tuple[Array, Array]:
    """Return accelerations (6 + n,) that satisfy the constraint rows at zero udot, and the applied force
    (6 + n,) minus the force that these accelerations require.
    """
    rows = moving.rows
    vel = moving.vel
    tree = rows.tree
    geo = rows.geo
    world = rows.world
    ref = rows.ref
    c = constraints.acceleration_targets(
        tree, geo, world, vel, rows.active, moving.refdot, rows.p, t
    )
    free_rates = moving.solver.solve([c[i] for i in rows.keep] + [0.0] * moving.H.shape[1])
    particular = expand_speeds(tree.model, free_rates)
    required = link_wrenches(tree, geo, vel, particular, ref, moving.refdot, world.R.T @ gravity)
    return particular, force - sum_wrenches(tree, geo, required, ref)


def force_imbalance(moving: Reconstruction, force: Array, t: Scalar, gravity: Array) -> Array:
    """Return an applied force (6 + n,) minus the force that admissible accelerations require.

    The loads are linear in this difference, whichever accelerations are chosen among those that satisfy the
    constraint rows.
    """
    rows = moving.rows
    solver = moving.solver
    if not isinstance(solver, TreeElimination):
        return _particular_solution(moving, force, t, gravity)[1]
    vdot = _accelerate_by_joints(moving, solver, force, t, gravity).vdot
    gravity_base = rows.world.R.T @ gravity
    geo = rows.geo
    return force - inverse_dynamics(
        rows.tree, geo, moving.vel, vdot, rows.ref, moving.refdot, gravity_base
    )


def _accelerate_by_joints(
    moving: Reconstruction, solver: TreeElimination, force: Array, t: Scalar, gravity: Array
) -> Reduced:
    """Return the accelerations of a long tree by articulated bodies."""
    rows = moving.rows
    vel = moving.vel
    tree = rows.tree
    geo = rows.geo
    world = rows.world
    ref = rows.ref
    gravity_base = world.R.T @ gravity
    zero_rates = array([0.0] * (6 + len(tree.model.joints)))
    required = link_wrenches(tree, geo, vel, zero_rates, ref, moving.refdot, gravity_base)
    targets = local_targets(tree, geo, world, vel, rows.active, required, gravity_base, t)
    free_rates = accelerations(solver, required, force, targets)
    vdot = expand_speeds(tree.model, free_rates)
    lam = array([])
    if rows.keep:
        required_force = inverse_dynamics(tree, geo, vel, vdot, ref, moving.refdot, gravity_base)
        lam = _solve_multipliers(moving, (required_force - force)[free_columns(tree.model)])
    return Reduced(free_rates[solver.independent], vdot, lam, zero_rates[6:])


def _solve_multipliers(moving: Reconstruction, reaction: Array) -> Array:
    """Return the multipliers of all constraint rows for a reaction force over the free components
    of v, eq. [multipliers].
    """
    multipliers = moving.solver.solve_transposed(list(reaction))[: len(moving.rows.keep)]
    return _include_redundant_rows(moving, multipliers)


def _include_redundant_rows(moving: Reconstruction, lam: Array) -> Array:
    """Return the multipliers of all constraint rows from the multipliers `lam` of the independent rows."""
    rows = moving.rows
    solver = moving.solver
    model = moving.rows.tree.model
    if isinstance(solver, TreeElimination):
        return _multipliers_of_contact_rows(rows, lam)
    if rows.redundant:
        compliances = constraints.row_compliances(model, rows.mode)
        lam = minimum_norm_multipliers(
            solver, lam, rows.C[:, free_columns(model)], rows.keep, compliances
        )
    return lam


def _multipliers_of_contact_rows(rows: Rows, multipliers: Array) -> Array:
    """Return the multipliers of rows that are written link by link (`local`) as multipliers of the
    rows of C.

    Local rows are along the axes of the contact; in C, the rows of a contact that blocks all
    directions are along the base's axes.
    """
    multipliers = multipliers.copy()
    first = 0
    for a in rows.active:
        indices = slice(first, first + len(a.names))
        first = indices.stop
        if a.holds_all:
            axes = blocked_directions(rows.tree, rows.geo, rows.world, a)
            multipliers[indices] = (rows.geo.R0[a.point.link] @ (axes.T @ multipliers[indices]))[
                : len(a.names)
            ]
    return multipliers


def normal_forces(rows: Rows, multipliers: Array) -> dict[str, Scalar]:
    """Return the normal forces of the contacts (N, by name) from the multipliers of the rows."""
    normal_forces: dict[str, Scalar] = {}
    first = 0
    for a in rows.active:
        forces = multipliers[first : first + len(a.names)]
        first += len(a.names)
        if "normal" in a.names:
            normal_forces[a.contact.name] = (
                rows.world.up[0] @ array(list(forces))
                if a.holds_all
                else forces[a.names.index("normal")]
            )
    return normal_forces


def load_sensitivities(moving: Reconstruction, names: Sequence[str]) -> list[Array]:
    """Return, for each named contact, the row a (6 + n,) by which a generalised force Q changes its load:
    `dN = a Q`, eq. [loads].

    Joints whose accelerations a control law prescribes are not supported.
    """
    rows = moving.rows
    H = moving.H
    model = moving.rows.tree.model
    columns = free_columns(model)
    m = len(rows.keep)
    k = moving.H.shape[1]
    MH = mass_matrix(rows.tree, rows.geo, rows.ref)[np.ix_(columns, columns)] @ H
    unit_loads = [
        normal_forces(rows, _include_redundant_rows(moving, array(list(e)))) for e in np.eye(m)
    ]
    sensitivities = []
    for name in names:
        s = moving.solver.solve([*(unit_load[name] for unit_load in unit_loads), *[0.0] * k])
        row = H @ solve_symmetric(H.T @ MH, MH.T @ s) - s
        sensitivities.append(expand_speeds(model, row))
    return sensitivities


def solve_guides(
    moving: Reconstruction,
    MH: Array,
    udot: Array,
    particular: Array,
    guides: Mapping[int, Guide],
) -> tuple[Array, Array]:
    """Return the torques (n,) that produce accelerations prescribed by a control law, and their
    effect on udot.

    Eq. [guide]. `MH` is the mass matrix times H, `particular` are the accelerations at zero udot.
    Inactive `Guide`s have zero torque. A guide of another coordinate comes last, so that the pivots before
    it are those of a positive definite matrix.
    """
    H = moving.H
    columns = free_columns(moving.rows.tree.model)
    first = len(moving.rows.tree.model.twist)
    joints = sorted(guides, key=lambda joint: guides[joint].of is not None)
    if sum(guides[joint].of is not None for joint in joints) > 1:
        raise ModelError(
            "law: more than one Guide accelerates another coordinate than its joint (option "
            "`of`). Only one Guide can do so: leave the others out."
        )
    responses = [solve_symmetric(H.T @ MH, H[first + joint]) for joint in joints]
    residuals = list[Scalar]()
    gain = np.zeros((len(joints), len(joints)), dtype=object)
    for i, joint in enumerate(joints):
        active = guides[joint].active
        row, drift = _guided_coordinate(moving, joint, guides[joint].of)
        reduced_row = row[columns] @ H
        residual = guides[joint].acceleration - drift - row @ particular - reduced_row @ udot
        residuals.append(where(active, residual, 0.0))
        for j, other in enumerate(joints):
            both = active if i == j else where(active, guides[other].active, 0.0)
            gain[i, j] = where(both, reduced_row @ responses[j], float(i == j))
    torques = _solve_in_order(gain, residuals)
    torques = [
        x if math.isinf(guides[k].limit) else clip(x, -guides[k].limit, guides[k].limit)
        for x, k in zip(torques, joints, strict=True)
    ]
    all_torques = np.zeros(len(H) - first, dtype=object)
    all_torques[joints] = torques
    return array(all_torques), sum(
        (x * tau for x, tau in zip(responses, torques, strict=True)), 0.0 * udot
    )


def _guided_coordinate(
    moving: Reconstruction, joint: int, coordinate: str | None
) -> tuple[Array, Scalar]:
    """Return row a (6 + n,) and drift b of the acceleration `a vdot + b` of the coordinate of a guide.

    The lean rate is the component of the angular velocity along the heading h, so that the lean accelerates
    with h' R Wdot + yaw_rate (z x h)' R W, eq. [guide-lean].
    """
    rows = moving.rows
    model = rows.tree.model
    names = [each.name for each in model.joints]
    row = np.zeros(6 + len(names), dtype=object)
    if coordinate is None or coordinate in names:
        row[6 + (joint if coordinate is None else names.index(coordinate))] = 1.0
        return array(row), 0.0
    if coordinate != "lean" or not is_free(model):
        raise ModelError(
            f"law: a Guide of joint {names[joint]!r} cannot accelerate {coordinate!r}. It accelerates a joint"
            f"{' or the lean' if is_free(model) else ''}. {did_you_mean(str(coordinate), names)}"
        )
    R = rows.world.R
    axis = R @ rows.tree.links[0].R.T[:, 1]
    level = sqrt(axis[0] * axis[0] + axis[1] * axis[1])
    heading = array([axis[1] / level, -axis[0] / level, 0.0])
    across = array([axis[0] / level, axis[1] / level, 0.0])
    W = R @ moving.vel.W[0]
    # The heading turns about the vertical with the yaw rate, eq. [angle-rates]; its variation is
    # that of the heading angle.
    yaw_rate = (W[2] - axis[2] * (axis @ W)) / (level * level)
    row[3:6] = heading @ R
    return array(row), yaw_rate * (across @ W)


def _solve_in_order(matrix: Array, right_side: list[Scalar]) -> list[Scalar]:
    """Return the solution of a linear system by elimination with the pivots in the given order."""
    A = np.array(matrix, dtype=object)
    x = list(right_side)
    count = len(x)
    for k in range(count):
        for i in range(k + 1, count):
            factor = A[i, k] / A[k, k]
            A[i, k:] = A[i, k:] - factor * A[k, k:]
            x[i] = x[i] - factor * x[k]
    for k in reversed(range(count)):
        for j in range(k + 1, count):
            x[k] = x[k] - A[k, j] * x[j]
        x[k] = x[k] / A[k, k]
    return x


def speed_transformation_rate(tree: Tree, W: Array, refdot: Array) -> Array:
    """Return the product `Tdot v'` (6 + n,) with the matrix T of `speed_transformation`. It is
    nonzero because the reference point moves relative to the base with the velocity `refdot` (m/s).
    """
    drift = tree.links[0].R @ cross(refdot, W)
    return np.concatenate([drift, np.zeros(3 + len(tree.model.joints))])
