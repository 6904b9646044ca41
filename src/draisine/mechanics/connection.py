"""Locomotion as a connection: constraints or momentum determine the motion of the base (Mauny 2018, sections
1.4-1.6).

Some joints are driven: their motion r(t) is prescribed. The unknowns `eta` are the base's twist and the
rates of the passive joints. The closed contacts require `A eta + B rdot = 0` (1.12). If A has full column
rank, this is a kinematic connection `eta = -calA rdot`. If no external force acts and the momentum is zero,
it is a mechanical connection of the same form. Otherwise some speeds eta_r stay free, `eta = H eta_r +
J rdot` (1.14), with a reduced dynamics (1.15).

Everything is computed over any scalar type by elimination. Rows, free speeds and pivots are chosen from the
nominal numbers that `evaluate` returns; only `classify` requires a model whose parameters are numbers.
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
from draisine.mechanics.formulations.multiplier import find_massless_motion, massless_motion_error
from draisine.mechanics.kernel import (
    Elimination,
    choose_pivots,
    eliminate,
    independent_vectors,
    kernel_basis,
    solve_symmetric,
    static_multipliers,
)
from draisine.mechanics.kinematics import BASE_ORIGIN, Geometry, geometry, velocities
from draisine.mechanics.newton_euler import inverse_dynamics, mass_matrix
from draisine.mechanics.tree import Evaluate, Tree, as_floats
from draisine.model import BASE_TWIST


@dataclass(frozen=True, slots=True, eq=False)
class Locomotion:
    """Multibody system at given joint coordinates, with the constraint rows `A eta + B rdot = 0` of
    its contacts.
    """

    tree: Tree
    geo: Geometry  # poses of the links
    world: Ground  # orientation of the ground
    active: list[Active]  # closed contacts
    labels: list[str]  # label of each constraint row, (m,)
    outer: list[int]  # indices of the components of v = (V, W, rdot) that form eta
    inner: list[int]  # indices of the rates of the driven joints in v
    A: Array  # coefficients of eta, (m, len(outer))
    B: Array  # coefficients of the driven joint rates, (m, len(inner))

    @property
    def names(self) -> list[str]:
        """Names of the unknown speeds eta: components of the base's twist and rates of passive
        joints.
        """
        joints = [f"{joint.name}_rate" for joint in self.tree.model.joints]
        return [[*BASE_TWIST, *joints][k] for k in self.outer]

    def assemble_speeds(self, unknown_speeds: Array, driven_rates: Array) -> Array:
        """Return v = (V, W, rdot), or its time derivative, from the unknown speeds eta and the
        driven joint rates.
        """
        combined = np.zeros(6 + len(self.tree.model.joints), dtype=object)
        combined[self.outer] = unknown_speeds
        combined[self.inner] = driven_rates
        return array(combined)


def locomotion(
    tree: Tree, mode: Mode, R: Array, r: Array, driven: Sequence[str] | None = None
) -> Locomotion:
    """Assemble the constraint rows (1.12) of the contacts for driven joints.

    Parameters
    ----------
    tree
        Links of the model.
    mode
        Contact mode.
    R
        (3, 3), rotation of the base.
    r
        (n,), joint coordinates in rad or m.
    driven
        Names of the driven joints, all by default. Joints with a prescribed motion are always driven.

    Returns
    -------
    Locomotion
        Rows `A eta + B rdot = 0` with their labels.

    Raises
    ------
    ModelError
        If the ground moves, or a driven joint does not exist.
    """
    model = tree.model
    if model.ground is not None:
        raise ModelError(
            "A connection requires ground at rest, but the ground of this model moves. Remove the "
            "motion of the ground."
        )
    joints = [joint.name for joint in model.joints]
    driven_names = joints if driven is None else list(driven)
    expect_known("driven: no joint", driven_names, joints, ModelError)
    driven_names += [
        j.name for j in model.joints if j.motion is not None and j.name not in driven_names
    ]
    inner = [6 + joints.index(name) for name in driven_names]
    outer = [k for k in free_columns(tree.model) if k not in inner]
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, R)
    contact_points = [constraints.contact_point(tree, geo, world, c) for c in model.contacts]
    active = [
        # Write each constraint row along the direction that its label names, because error messages
        # name rows by their labels.
        replace(a, holds_all=False)
        for a in constraints.active_contacts(tree, geo, mode, contact_points, BASE_ORIGIN)
    ]
    m = sum(len(a.names) for a in active)
    C = constraints.constraint_matrix(tree, geo, world, active)[:m]
    labels = constraints.row_labels(model, mode)[:m]
    return Locomotion(tree, geo, world, active, labels, outer, inner, C[:, outer], C[:, inner])


@dataclass(frozen=True, slots=True, eq=False)
class Kinematics:
    """Solution `eta = H eta_r + J rdot` (1.14), with the compatibility condition `K rdot = 0`
    (1.13).
    """

    machine: Locomotion
    rows: list[int]  # indices of the independent constraint rows
    # Indices of the redundant constraint rows. They do not determine eta; they only add conditions
    # on the joint rates, `K rdot = 0`.
    redundant: list[int]
    free: list[int]  # indices of the components of eta that form eta_r
    solver: Elimination  # factors of the independent rows and the selection of eta_r
    H: Array  # eta per free speed, (len(eta), len(eta_r))
    J: Array  # eta per rate of a driven joint, (len(eta), number of driven joints)
    K: Array  # compatibility condition, (len(redundant), number of driven joints)

    @property
    def reduced_names(self) -> list[str]:
        """Names of the free speeds eta_r."""
        return [self.machine.names[k] for k in self.free]


def solve_kinematics(machine: Locomotion, evaluate: Evaluate = as_floats) -> Kinematics:
    """Return H, J and the compatibility matrix K = B~ + A~ J of the redundant constraint rows,
    (1.13)-(1.14).

    The free speeds eta_r are components of eta, so J contains a generalised inverse of A, but not
    the minimum-norm one.
    """
    A = machine.A
    B = machine.B
    n = len(machine.outer)
    values = evaluate(list(A.ravel())).reshape(A.shape)
    basis: list[Floats] = []
    rows = independent_vectors(values, basis)
    free = independent_vectors(np.eye(n), basis)
    redundant = [k for k in range(len(A)) if k not in rows]
    square = np.vstack([A[rows], np.eye(n)[free]])
    pivots = choose_pivots(square, evaluate)
    if len(pivots) < n:
        raise SingularityError(
            f"The constraint rows {', '.join(machine.labels[k] for k in rows)} are nearly dependent in this "
            "shape. Choose another shape, or open one of the contacts."
        )
    solver = eliminate(square, pivots)
    H = kernel_basis(solver.solve, len(rows), n)
    J = _stack_columns([solver.solve([*-b, *[0.0] * len(free)]) for b in B[rows].T], n)
    return Kinematics(machine, rows, redundant, free, solver, H, J, B[redundant] + A[redundant] @ J)


def _stack_columns(columns: Sequence[Array], row_count: int) -> Array:
    """Return a matrix (rows, columns) from a list of its columns, each (rows,)."""
    return np.column_stack(columns) if len(columns) else np.zeros((row_count, 0))


def kinematic_connection(
    machine: Locomotion, evaluate: Evaluate = as_floats
) -> tuple[Array, Array]:
    """Compute the kinematic connection, (1.13).

    Parameters
    ----------
    machine
        Multibody system whose contacts determine all speeds of eta.
    evaluate
        Nominal numbers of symbolic entries, used to choose pivots.

    Returns
    -------
    calA : (len(eta), p) array
        Connection: `eta = -calA rdot` for the rates of the p driven joints.
    K : array with p columns
        Compatibility condition `K rdot = 0`.

    Raises
    ------
    ConfigurationError
        If some speeds stay free.
    """
    solution = solve_kinematics(machine, evaluate)
    if solution.free:
        raise ConfigurationError(
            f"The contacts determine {len(solution.rows)} of {len(machine.outer)} speeds in this shape; "
            f"{', '.join(solution.reduced_names)} are free. Use `reduced_motion` for their dynamics."
        )
    return -solution.J, solution.K


def mechanical_connection(machine: Locomotion, evaluate: Evaluate = as_floats) -> Array:
    """Compute the mechanical connection of zero momentum of bodies and fluid, (1.3), (1.10).

    Parameters
    ----------
    machine
        Multibody system without contacts and external forces. Its mass matrix includes the added
        mass.
    evaluate
        Nominal numbers of symbolic entries, used to check the inertia.

    Returns
    -------
    (len(eta), p) array
        calA of `eta = -calA rdot`.

    Raises
    ------
    SingularityError
        If no inertia resists a speed of eta.
    """
    M = mass_matrix(machine.tree, machine.geo, BASE_ORIGIN)
    locked = M[np.ix_(machine.outer, machine.outer)]
    coupling = M[np.ix_(machine.outer, machine.inner)]
    _check_inertia_of_speeds(evaluate(list(locked.ravel())), machine.names)
    return _stack_columns([solve_symmetric(locked, b) for b in coupling.T], len(machine.outer))


@dataclass(frozen=True, slots=True, eq=False)
class MassCentreFrame:
    """Change of velocity to the floating frame: origin at the mass centre, axes of the base.

    Its twist is `eta' = T eta + D rdot` (Mauny 2018, section 1.4.1).
    """

    T: Array  # invertible, (len(eta), len(eta))
    D: Array  # velocity of the mass centre per rate of a driven joint, (len(eta), p)
    back: Array  # inverse of T, (len(eta), len(eta))

    def transform_connection(self, A: Array) -> Array:
        """Return the connection in the floating frame, `A' = T A - D`, from A of the base's frame."""
        return self.T @ A - self.D

    def transform_rows(self, L: Array, G: Array) -> tuple[Array, Array]:
        """Return L' and G' of `L' eta' + G' rdot = 0` from the rows `L eta + G rdot = 0`."""
        moved = L @ self.back
        return moved, G - moved @ self.D


def mass_centre_frame(machine: Locomotion) -> MassCentreFrame:
    """Return the change of velocity from the base's frame to the floating frame at the mass centre.

    The linear momentum is the total mass times the velocity of the mass centre. The first three rows
    of the mass matrix, divided by the mass, are therefore `(1, -hat(c), dc/dr)`.

    Parameters
    ----------
    machine
        Multibody system whose base is free to translate.

    Returns
    -------
    MassCentreFrame
        Matrices of `eta' = T eta + D rdot`.

    Raises
    ------
    ModelError
        If the base cannot translate in all directions in which the mass centre moves, or no body has
        mass.
    """
    model = machine.tree.model
    translations = [k for k in machine.outer if k < 3]
    # A planar base turns about z only. Its mass centre can be the origin of a frame if all bodies
    # move in the plane, so two translations suffice.
    required = [0, 1] if model.base == "SE(2)" else [0, 1, 2]
    if translations != required:
        raise ModelError(
            f"The base {model.base} cannot follow the mass centre. A frame at the mass centre requires a "
            "base that is free to translate: SE(3), SE(2) or translations."
        )
    # Leave the added mass of the fluid out: the fluid moves with the bodies, but it does not shift
    # their mass centre.
    dry = replace(
        machine.tree, links=tuple(replace(link, added=None) for link in machine.tree.links)
    )
    mass = sum((body.mass for body in model.bodies), start=0.0)
    if isinstance(mass, (int, float)) and mass == 0.0:
        raise ModelError("A frame at the mass centre requires bodies with mass.")
    velocity = mass_matrix(dry, machine.geo, BASE_ORIGIN)[translations] / mass
    n = len(machine.outer)
    T = np.eye(n, dtype=velocity.dtype)
    back = np.eye(n, dtype=velocity.dtype)
    D = np.zeros((n, len(machine.inner)), dtype=velocity.dtype)
    moving = [k for k in range(n) if machine.outer[k] >= 3]
    columns = [machine.outer[k] for k in moving]
    count = len(translations)
    T[:count, moving] = velocity[:, columns]
    # The velocity map T is the identity plus a block above the diagonal. Its inverse has the same
    # block with the opposite sign.
    back[:count, moving] = -velocity[:, columns]
    D[:count] = velocity[:, machine.inner]
    return MassCentreFrame(T, D, back)


def _check_inertia_of_speeds(mass_matrix: Floats, speed_names: Sequence[str]) -> None:
    """Raise an error that names a speed without inertia, if one exists."""
    n = len(speed_names)
    massless = find_massless_motion(mass_matrix.reshape(n, n), np.zeros((0, n)))
    if massless is not None:
        raise massless_motion_error(massless, speed_names)


def stokes_connection(machine: Locomotion, evaluate: Evaluate = as_floats) -> Array:
    """Compute the connection of a swimmer at low Reynolds number (Mauny 2018, remark 1.5).

    Inertia is negligible against drag, so the drag forces of the fluid are in equilibrium.

    Parameters
    ----------
    machine
        Multibody system whose bodies have drag.
    evaluate
        Nominal numbers of symbolic entries, used to choose pivots.

    Returns
    -------
    (len(eta), p) array
        calA of `eta = -calA rdot`.

    Raises
    ------
    SingularityError
        If no drag resists a speed of eta.
    """
    D = resistance_matrix(machine)
    n = len(machine.outer)
    locked = D[np.ix_(machine.outer, machine.outer)]
    coupling = D[np.ix_(machine.outer, machine.inner)]
    pivots = choose_pivots(locked, evaluate)
    if len(pivots) < n:
        unresisted = [machine.names[k] for k in range(n) if k not in [j for _, j in pivots]]
        raise SingularityError(
            f"No drag resists {', '.join(unresisted)}. Give the bodies drag in these directions."
        )
    solver = eliminate(locked, pivots)
    return _stack_columns([solver.solve(list(b)) for b in coupling.T], n)


def resistance_matrix(machine: Locomotion) -> Array:
    """Return the matrix D (6 + n, 6 + n) whose product `D v` is the force of drag and dampers.

    The columns are the inverse dynamics of a massless copy of the multibody system at unit speeds.
    """
    tree = machine.tree
    zero = array([0.0] * (6 + len(machine.tree.model.joints)))
    massless_links = [
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
    massless_tree = replace(tree, links=tuple(massless_links))

    def sum_resistance(v: Array) -> Array:
        """Return the generalised force (6 + n,) that opposes drag and dampers at the speeds v."""
        vel = velocities(tree, machine.geo, v[:3], v[3:6], v[6:], BASE_ORIGIN)
        return inverse_dynamics(
            massless_tree, machine.geo, vel, zero, BASE_ORIGIN, BASE_ORIGIN, BASE_ORIGIN
        )

    spring_force = sum_resistance(zero)
    return np.column_stack([sum_resistance(e) - spring_force for e in np.eye(len(zero))])


ConnectionKind = Literal[
    "kinematic", "over-constrained", "mixed", "mechanical", "hydrodynamic", "stokes", "dynamic"
]


@dataclass(frozen=True, slots=True)
class Case:
    """Classification of the locomotion of a system: which connection relates the motion of its base to that
    of its joints, and why.
    """

    kind: ConnectionKind
    why: str  # reason for the classification, one sentence
    rank: int  # rank of the matrix A
    mobility: int  # number of independent shape motions that the contacts allow
    free: tuple[str, ...]  # names of the free speeds eta_r
    # Labels of the redundant constraint rows: they hold for some joint rates only
    redundant: tuple[str, ...]


def classify(machine: Locomotion) -> Case:
    """Classify the locomotion at given joint coordinates by the cases of Mauny's thesis (2018),
    sections 1.4 and 1.5.

    Parameters
    ----------
    machine
        Model whose parameters are numbers, without symbols.

    Returns
    -------
    Case
        Kind of the connection, its reason, rank and mobility.
    """
    solution = solve_kinematics(machine)
    rank = len(solution.rows)
    n = len(machine.outer)
    p = len(machine.inner)
    # Relative rank tolerance 1e-9: rounding errors of the elimination are some 1e-15 of the largest
    # entry.
    compatibility_rank = int(np.linalg.matrix_rank(solution.K, tol=1e-9)) if solution.K.size else 0
    free = tuple(solution.reduced_names)
    redundant = tuple(machine.labels[k] for k in solution.redundant)
    kind: ConnectionKind
    if rank == n:
        kind = "kinematic"
        reason = f"the contacts determine all {n} speeds" if n else "the base does not move"
    elif rank:
        kind = "mixed"
        verb = "follows" if len(free) == 1 else "follow"
        reason = f"the contacts determine {rank} of {n} speeds, {', '.join(free)} {verb} from the dynamics"
    else:
        kind, reason = _classify_without_contacts(machine)
    if compatibility_rank:
        kind = "over-constrained" if rank == n else kind
        possible = f"{p - compatibility_rank} of {p} shape motions"
        reason += f"; {possible} {'is' if p - compatibility_rank == 1 else 'are'} possible"
    if len(redundant) > compatibility_rank:
        repeated = len(redundant) - compatibility_rank
        verb = "is" if repeated == 1 else "are"
        reason += f"; of the rows {', '.join(redundant)}, {repeated} {verb} redundant"
    return Case(kind, f"{reason}.", rank, p - compatibility_rank, free, redundant)


def _classify_without_contacts(machine: Locomotion) -> tuple[ConnectionKind, str]:
    """Return the case of a multibody system without closed contacts, and its reason."""
    tree = machine.tree
    model = machine.tree.model
    M = mass_matrix(tree, machine.geo, BASE_ORIGIN)[np.ix_(machine.outer, machine.outer)]
    dragged = [link.name for link in tree.links if link.drag is not None and np.any(link.drag)]
    has_added_mass = any(link.added is not None and np.any(link.added) for link in tree.links)
    if dragged and not np.any(M):
        return "stokes", "drag acts on bodies without inertia"
    if dragged:
        return "dynamic", f"drag on {', '.join(dragged)} changes the momentum"
    for k in machine.outer[len(model.twist) :]:
        joint = model.joints[k - 6]
        if joint.spring or joint.damper:
            return "dynamic", f"a spring or damper acts on the passive joint {joint.name!r}"
    zero_rates = np.zeros(6 + len(model.joints))
    rest_velocities = velocities(
        tree, machine.geo, BASE_ORIGIN, BASE_ORIGIN, zero_rates[6:], BASE_ORIGIN
    )
    gravity = machine.world.R.T @ model.gravity
    falling = [k for k in model.twist if k < 3 and abs(gravity[k]) > 0]
    # The base falls freely along its free translations. Relative to it, the weight along these
    # translations vanishes.
    gravity[falling] = 0.0
    inputs = (tree, machine.geo, rest_velocities, zero_rates, BASE_ORIGIN, BASE_ORIGIN)
    weight = inverse_dynamics(*inputs, gravity) - inverse_dynamics(*inputs, BASE_ORIGIN)
    if np.abs(weight[machine.outer]).max(initial=0.0) > 1e-12 * max(1.0, np.abs(weight).max()):
        return "dynamic", "gravity changes the momentum"
    kind: ConnectionKind = "hydrodynamic" if has_added_mass else "mechanical"
    reason = (
        f"no external force changes the momentum{' of body and fluid' if has_added_mass else ''}"
    )
    if falling:
        reason += " in a frame that falls with it"
    actuators = [f.name for f in model.pushes] + [element.name for element in model.elements]
    if actuators:
        reason += f", if the forces {', '.join(actuators)} are zero"
    return kind, reason


@dataclass(frozen=True, slots=True, eq=False)
class DrivenMotion:
    """Speeds, accelerations and required forces of a multibody system under driven joints."""

    etardot: Array  # time derivatives of the free speeds eta_r
    v: Array  # all speeds (V, W, rdot), (6 + n,)
    vdot: Array  # time derivatives of all speeds, (6 + n,)
    required: Array  # required generalised force, M vdot + F minus the applied forces, (6 + n,)


def reduced_motion(
    solution: Kinematics, eta_r: Array, rdot: Array, rddot: Array, force: Array | None = None
) -> DrivenMotion:
    """Compute the motion under prescribed joint accelerations by the reduced dynamics (1.15).

    `Hdot eta_r + Jdot rdot + J rddot` is the particular solution of the rows `A etadot = c - B rddot`.

    Parameters
    ----------
    solution
        Kinematic solution at the current joint coordinates.
    eta_r
        Free speeds, in the order of `solution.reduced_names`.
    rdot, rddot
        (p,), rates and accelerations of the driven joints.
    force
        (6 + n,), applied generalised forces for (V, W, rdot); none by default.

    Returns
    -------
    DrivenMotion
        All speeds, their rates, and the required generalised force.
    """
    machine = solution.machine
    H = solution.H
    tree = machine.tree
    geo = machine.geo
    world = machine.world
    v = machine.assemble_speeds(H @ eta_r + solution.J @ rdot, rdot)
    vel = velocities(tree, geo, v[:3], v[3:6], v[6:], BASE_ORIGIN)
    c = _acceleration_targets(solution, v)
    targets = [c[k] - machine.B[k] @ rddot for k in solution.rows]
    particular = machine.assemble_speeds(
        solution.solver.solve([*targets, *[0.0] * len(solution.free)]), rddot
    )
    applied = array([0.0] * len(v)) if force is None else force
    gravity = world.R.T @ tree.model.gravity
    required = (
        inverse_dynamics(tree, geo, vel, particular, BASE_ORIGIN, BASE_ORIGIN, gravity) - applied
    )
    if not solution.free:
        return DrivenMotion(array([]), v, particular, required)
    M = mass_matrix(tree, geo, BASE_ORIGIN)[:, machine.outer] @ H
    reduced_mass = H.T @ M[machine.outer]
    if reduced_mass.dtype != object:
        _check_inertia_of_speeds(reduced_mass, solution.reduced_names)
    etardot = solve_symmetric(reduced_mass, -(H.T @ required[machine.outer]))
    free_rates = machine.assemble_speeds(H @ etardot, array([0.0] * len(rdot)))
    return DrivenMotion(etardot, v, particular + free_rates, required + M @ etardot)


def _acceleration_targets(solution: Kinematics, v: Array) -> list[Scalar]:
    """Return the right-hand side c (m,) of the acceleration constraints `A etadot + B rddot = c` of
    all contacts.
    """
    machine = solution.machine
    vel = velocities(machine.tree, machine.geo, v[:3], v[3:6], v[6:], BASE_ORIGIN)
    inputs = (
        machine.tree,
        machine.geo,
        machine.world,
        vel,
        machine.active,
        BASE_ORIGIN,
        BASE_ORIGIN,
        0.0,
    )
    return constraints.acceleration_targets(*inputs)[: len(machine.A)]


@dataclass(frozen=True, slots=True, eq=False)
class Torques:
    """Torques of the driven joints and contact forces, with their statically indeterminate part.

    For every z, `tau + tau_static z` with `lam + lam_static z` causes the same motion, (1.18)-(1.19).
    """

    tau: Array  # torques of the driven joints, N m or N, (p,)
    lam: Array  # minimum-norm multipliers of the contact constraint rows, (m,)
    # Torques of the driven joints that do not change the motion, one per column, (p, m - rank)
    tau_static: Array
    # Contact forces that balance the columns of `tau_static`: a basis of the kernel of A', (m, m -
    # rank)
    lam_static: Array
    motion: DrivenMotion


def solve_torques(
    solution: Kinematics, eta_r: Array, rdot: Array, rddot: Array, force: Array | None = None
) -> Torques:
    """Compute the required torques of the driven joints by inverse dynamics (1.16)-(1.19).

    The multipliers balance the required force on eta by the pseudo-inverse of A'. The columns of
    lam_static span the kernel of A', and `tau_static = -B' lam_static`.

    Parameters
    ----------
    solution
        Kinematic solution at the current joint coordinates.
    eta_r
        Free speeds, in the order of `solution.reduced_names`.
    rdot, rddot
        (p,), rates and accelerations of the driven joints.
    force
        (6 + n,), applied generalised forces for (V, W, rdot); none by default.

    Returns
    -------
    Torques
        Torques (N m or N), contact forces (N) and their indeterminate directions.

    Raises
    ------
    ConfigurationError
        If the motion of the joints violates a redundant constraint row.
    """
    machine = solution.machine
    motion = reduced_motion(solution, eta_r, rdot, rddot, force)
    _check_compatibility(solution, motion)
    m = len(machine.A)
    k = len(solution.rows)
    lam = np.zeros(m, dtype=object)
    lam[solution.rows] = solution.solver.solve_transposed(list(motion.required[machine.outer]))[:k]
    lam = array(lam)
    static = static_multipliers(solution.solver, machine.A, solution.rows).reshape(m, m - k)
    if m > k:
        lam = lam - static @ solve_symmetric(static.T @ static, static.T @ lam)
    tau = motion.required[machine.inner] - machine.B.T @ lam
    return Torques(tau, lam, -(machine.B.T @ static), static, motion)


def _check_compatibility(solution: Kinematics, motion: DrivenMotion) -> None:
    """Raise an error that names the most violated constraint row, if a numerical motion violates
    one.
    """
    machine = solution.machine
    if not solution.redundant or motion.vdot.dtype == object or machine.A.dtype == object:
        return
    C = np.zeros((len(machine.A), len(motion.v)))
    C[:, machine.outer] = machine.A
    C[:, machine.inner] = machine.B
    for quantity, violation, scale in (
        ("speeds", C @ motion.v, motion.v),
        (
            "accelerations",
            C @ motion.vdot - np.array(_acceleration_targets(solution, motion.v)),
            motion.vdot,
        ),
    ):
        worst = int(np.argmax(np.abs(violation)))
        # Relative tolerance 1e-8 of the constraint rows: joint motions computed in double precision
        # are consistent to about 1e-12.
        if abs(violation[worst]) > 1e-8 * max(1.0, np.abs(scale).max()):
            raise ConfigurationError(
                f"The {quantity} of the joints violate the constraint {machine.labels[worst]!r} by "
                f"{abs(violation[worst]):.3g}. They must satisfy the compatibility condition K rdot = 0."
            )
