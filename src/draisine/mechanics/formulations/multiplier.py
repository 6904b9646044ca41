"""The saddle-point (KKT) system with Lagrange multipliers (Mauny 2018, 3.11), for every contact mode of every
model.

`M vdot + F = Q + C' lam`, `C vdot = c`, in the user's speeds v. One set of expressions serves all contact
modes: a contact mode selects constraint rows of C. The saddle-point matrix is solved as a whole, never by the
inverse of M, so that massless bodies are allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.errors import RedundancyError, SingularityError
from draisine.mechanics import constraints, couplings
from draisine.mechanics.applied import generalised_input_force, limit_motor_torques
from draisine.mechanics.kinematics import geometry, point_drift, point_matrix, velocities
from draisine.mechanics.newton_euler import inverse_dynamics, mass_matrix
from draisine.mechanics.tree import Tree
from draisine.model import Model

FORMULATION = "the saddle-point system of accelerations and multipliers"
"""Description of the method; the attribute marks this module as a formulation."""


@dataclass(frozen=True, slots=True, eq=False)
class FreeDynamics:
    """Free dynamics with the constraint rows of all contacts, active or not: `M vdot + F = C' lam`,
    `C vdot = c`.
    """

    M: Array  # mass matrix, (6 + n, 6 + n)
    F: Array  # bias force including the generalised forces of the inputs, (6 + n,)
    # Constraint rows of k contacts, three per contact: normal, along, across, or x, y, z for a pin,
    # (3 k, 6 + n)
    C: Array
    c: Array  # right-hand side of the acceleration rows, (3 k,)
    gaps: list[Scalar]  # gap of each contact, m


def evaluate_free_dynamics(
    tree: Tree, R: Array, p: Array, r: Array, speeds: Array, inputs: Array, t: Scalar = 0.0
) -> FreeDynamics:
    """Return the terms of the saddle-point system for all contact modes; `speeds` is (V, W, rdot)."""
    zero = np.zeros(3)
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, R)
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    zero_rates = array([0.0] * len(speeds))
    gravity = world.R.T @ tree.model.gravity
    F = inverse_dynamics(tree, geo, vel, zero_rates, zero, zero, gravity)
    supplied = limit_motor_torques(tree.model, inputs, speeds[6:])
    F = F - generalised_input_force(tree, geo, world, supplied, zero)
    rows = []
    targets = []
    contact_points = []
    for contact in tree.model.contacts:
        point, surface = constraints.contact_point(tree, geo, world, contact)
        contact_points.append((point, surface))
        P = point_matrix(tree, geo, point, zero)
        rhodot = constraints.support_rate(surface, point, world, vel)
        drift, cdot = point_drift(tree, geo, vel, point, rhodot, zero)
        ground = constraints.ground_velocity(tree.model, world, p, point, t)
        target = constraints.ground_rate(tree.model, world, vel, p, point, cdot, t) - drift
        axes = constraints.contact_directions(tree, geo, world, contact, point)
        axes_rates = constraints.contact_direction_rates(tree, geo, world, vel, contact, point)
        slip = P @ speeds - ground
        for name, axis in axes.items():
            rows.append(axis @ P)
            targets.append(axis @ target - axes_rates[name] @ slip)
    C = array([list(row) for row in rows]).reshape(len(rows), len(speeds))
    gaps = constraints.gaps(world, p, contact_points)
    return FreeDynamics(mass_matrix(tree, geo, zero), F, C, array(targets), gaps)


def active_row_indices(model: Model, mode: constraints.Mode) -> list[int]:
    """Return the indices of the rows of `FreeDynamics.C` that are active in a contact mode."""
    chosen = constraints.mode_rows(model, mode)
    return [3 * k + contact.directions.index(name) for k, contact, name in chosen]


def coupled_row_indices(model: Model) -> list[int]:
    """Return the indices of the rows of prescribed joints and couplings, which follow the contact
    rows.
    """
    first = 3 * len(model.contacts)
    count = len(constraints.prescribed_joints(model)) + len(couplings.coupling_labels(model))
    return list(range(first, first + count))


def motion_row_indices(model: Model) -> list[int]:
    """Return the indices of the rows of prescribed joints, which follow the contact rows."""
    first = 3 * len(model.contacts)
    return list(range(first, first + len(constraints.prescribed_joints(model))))


def scaled_saddle(M: Floats, C: Floats) -> tuple[Floats, Floats]:
    """Return the saddle-point matrix (n + m, n + m), scaled symmetrically so that its entries have similar
    magnitudes, and the factors by which rows and columns were divided.
    """
    K = np.block([[M, -C.T], [C, np.zeros((len(C), len(C)))]])
    scale = np.sqrt(np.maximum(np.abs(K).max(axis=1), 1e-300))
    return K / scale[:, None] / scale[None, :], scale


def solve_kkt_system(
    M: Floats, F: Floats, C: Floats, c: Floats, labels: Sequence[str], speed_names: Sequence[str]
) -> tuple[Floats, Floats]:
    """Solve the saddle-point system `M vdot + F = C' lam`, `C vdot = c`, eq. [saddle-point].

    Parameters
    ----------
    M, F
        Mass matrix (n, n) and forces (n,).
    C, c
        Independent constraint rows (m, n) and their prescribed accelerations (m,).
    labels
        Names of the rows, for errors.
    speed_names
        Names of the speeds, for errors.

    Returns
    -------
    vdot : (n,) array
        Accelerations.
    lam : (m,) array
        Lagrange multipliers.

    Raises
    ------
    RedundancyError
        If rows are dependent.
    SingularityError
        If no inertia resists a motion that the rows allow.
    """
    n = len(F)
    (K, scale) = scaled_saddle(M, C)
    rhs = np.concatenate([-F, c]) / scale
    U, s, Vt = np.linalg.svd(K)
    # Below a reciprocal condition number of 1e-13 of the scaled system, rounding errors dominate
    # the solution.
    if s[-1] < 1e-13 * s[0]:
        _raise_singularity(M, C, labels, speed_names)
    x = (Vt.T @ ((U.T @ rhs) / s)) / scale
    return x[:n], x[n:]


def solve_redundant_kkt_system(
    M: Floats,
    F: Floats,
    C: Floats,
    c: Floats,
    labels: Sequence[str],
    speed_names: Sequence[str],
    rank: int,
    compliances: Floats,
) -> tuple[Floats, Floats]:
    """Solve the saddle-point system with redundant constraint rows; `rank` of them are independent.

    Arguments and results are those of `solve_kkt_system`. An orthogonal basis of the row space replaces the
    rows. The multipliers are those of minimum norm, weighted by `compliances` (m,) (zero for torques), eq.
    [shared-forces].
    """
    U, s, Vt = np.linalg.svd(C)
    # In a singular configuration fewer than `rank` rows are independent. Relative tolerance 1e-9 of
    # singular values.
    if s[rank - 1] < 1e-9 * s[0]:
        _raise_singularity(M, C, labels, speed_names)
    N = U[:, rank:]
    U = U[:, :rank]
    s = s[:rank]
    vdot, y = solve_kkt_system(M, F, Vt[:rank], (U.T @ c) / s, labels, speed_names)
    lam = U @ (y / s)
    scale = np.sqrt(compliances)
    return vdot, lam - N @ np.linalg.lstsq(scale[:, None] * N, scale * lam, rcond=None)[0]


def _raise_singularity(
    M: Floats, C: Floats, labels: Sequence[str], speed_names: Sequence[str]
) -> None:
    """Raise the error that names the cause of a singular saddle-point system: the dependent constraint rows,
    or the speed without inertia.
    """
    if len(C):
        norms = np.linalg.norm(C, axis=1)
        U, s, _ = np.linalg.svd(C / np.maximum(norms, 1e-300)[:, None])
        # Relative tolerance 1e-11 of the unit constraint rows: larger than the bound 1e-13 of the
        # scaled system, so that a singular system always finds its dependent rows.
        rank = int((s > 1e-11 * s[0]).sum())
        if rank < len(C):
            # Rows with weights below 1e-6 in the dependent combinations are rounding errors; leave
            # them out of the message.
            involved = np.abs(U[:, rank:]).max(axis=1) > 1e-6
            names = [label for label, yes in zip(labels, involved, strict=True) if yes]
            raise RedundancyError(
                f"The constraint rows {', '.join(names)} are linearly dependent in this configuration. "
                "Open one of the contacts."
            )
    raise massless_motion_error(_least_inertia_motion(M, C)[0], speed_names)


def massless_motion_error(mode: Floats, speed_names: Sequence[str]) -> SingularityError:
    """Return the error that names the largest speed of a motion without inertia."""
    return SingularityError(
        f"no inertia resists {speed_names[int(np.argmax(np.abs(mode)))]!r}: the reduced mass matrix is "
        "singular. Give the bodies that move with it some mass, or prescribe the joint."
    )


def find_massless_motion(M: Floats, C: Floats) -> Floats | None:
    """Return a velocity v (n,) with `C v = 0` and zero kinetic energy; None if there is none."""
    mode, inertia = _least_inertia_motion(M, C)
    return mode if inertia < 1e-13 else None


def _least_inertia_motion(M: Floats, C: Floats) -> tuple[Floats, float]:
    """Return the velocity (n,) with the least inertia among those that C allows, and this inertia.

    Each speed is scaled by its own inertia, so that the measure does not depend on units.
    """
    scale = np.sqrt(np.maximum(np.diagonal(M), 0.0))
    scale[scale == 0.0] = 1.0
    H = np.eye(len(M))
    if len(C):
        _, s, Vt = np.linalg.svd(C / scale)
        H = Vt[int((s > 1e-11 * s[0]).sum()) :].T
    if not H.shape[1]:
        return np.zeros(len(M)), 1.0
    values, vectors = np.linalg.eigh(H.T @ (M / scale / scale[:, None]) @ H)
    return (H @ vectors[:, 0]) / scale, float(values[0])


def solve_by_nullspace(M: Floats, F: Floats, C: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return vdot (n,) and lam (m,) of `M vdot + F = C' lam`, `C vdot = c` with independent rows.

    The method is the projection onto an orthonormal basis of the kernel of C (QR factorisation of C'). It
    replaces the closed form in configurations in which pivots of the latter vanish.
    """
    Q, R = np.linalg.qr(C.T, mode="complete")
    m = len(c)
    Y = Q[:, :m]
    H = Q[:, m:]
    L = R[:m].T
    particular = Y @ np.linalg.solve(L, c)
    udot = np.linalg.solve(H.T @ M @ H, -H.T @ (F + M @ particular))
    vdot = particular + H @ udot
    return vdot, np.linalg.solve(L.T, Y.T @ (M @ vdot + F))
