"""The full system with multipliers (thesis 3.11): every mode of every machine from one set of
expressions.

`M vdot + F = Q + C' lam`, `C vdot = c`, in the user's own speeds v. The saddle-point matrix is
solved as it stands, never by the inverse of M, so that massless bodies are allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.errors import RedundancyError, SingularityError
from draisine.mechanics import constraints, couplings
from draisine.mechanics.applied import generalised
from draisine.mechanics.kinematics import geometry, point_drift, point_matrix, velocities
from draisine.mechanics.newton_euler import inverse_dynamics, mass_matrix
from draisine.mechanics.tree import Tree
from draisine.model import Model

FORMULATION = "the saddle-point system of accelerations and multipliers"


@dataclass(frozen=True, slots=True, eq=False)
class FreeDynamics:
    """Free dynamics, and three rows per contact (normal, along, across; or x, y, z) whether active
    or not.
    """

    M: Array
    F: Array
    C: Array
    c: Array
    gaps: list[Scalar]


def free(
    tree: Tree, R: Array, p: Array, r: Array, speeds: Array, inputs: Array, t: Scalar = 0.0
) -> FreeDynamics:
    """Return everything that the saddle-point system of any mode is made of; `speeds` is (V, W,
    rdot), all six of the base.

    F holds the inputs' generalised forces already: `M vdot + F = C' lam`.
    """
    zero = np.zeros(3)
    geo = geometry(tree, r)
    world = constraints.ground(tree, geo, R)
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    still = array([0.0] * len(speeds))
    gravity = world.R.T @ tree.model.gravity
    F = inverse_dynamics(tree, geo, vel, still, zero, zero, gravity)
    F = F - generalised(tree, geo, world, inputs, zero)
    rows = []
    targets = []
    found = []
    for contact in tree.model.contacts:
        at, surface = constraints.contact_point(tree, geo, world, contact)
        found.append((at, surface))
        P = point_matrix(tree, geo, at, zero)
        rhodot = constraints.support_rate(surface, at, world, vel)
        drift, cdot = point_drift(tree, geo, vel, at, rhodot, zero)
        carried = constraints.ground_velocity(tree.model, world, p, at, t)
        wanted = constraints.ground_rate(tree.model, world, vel, p, at, cdot, t) - drift
        axes = constraints.contact_axes(tree, geo, world, contact, at)
        turns = constraints.contact_axes_rates(tree, geo, world, vel, contact, at)
        w = P @ speeds - carried
        for name, axis in axes.items():
            rows.append(axis @ P)
            targets.append(axis @ wanted - turns[name] @ w)
    C = array([list(row) for row in rows]).reshape(len(rows), len(speeds))
    gaps = constraints.gaps(world, p, found)
    return FreeDynamics(mass_matrix(tree, geo, zero), F, C, array(targets), gaps)


def active_rows(model: Model, mode: constraints.Mode) -> list[int]:
    """Return which rows of `Free.C` a mode switches on."""
    chosen = constraints.mode_rows(model, mode)
    return [3 * k + contact.directions.index(name) for k, contact, name in chosen]


def joint_rows(model: Model) -> list[int]:
    """Return which rows belong to prescribed joints and couplings; they stand after those of
    contacts.
    """
    first = 3 * len(model.contacts)
    count = len(constraints.prescribed_joints(model)) + len(couplings.labels(model))
    return list(range(first, first + count))


def motion_rows(model: Model) -> list[int]:
    """Return which rows belong to prescribed joints, where theirs stand after those of contacts."""
    first = 3 * len(model.contacts)
    return list(range(first, first + len(constraints.prescribed_joints(model))))


def scaled_saddle(M: Floats, C: Floats) -> tuple[Floats, Floats]:
    """Return the matrix of the saddle-point system with rows and columns of like sizes, and what they
    were divided by.
    """
    K = np.block([[M, -C.T], [C, np.zeros((len(C), len(C)))]])
    scale = np.sqrt(np.maximum(np.abs(K).max(axis=1), 1e-300))
    return K / scale[:, None] / scale[None, :], scale


def saddle_point(
    M: Floats, F: Floats, C: Floats, c: Floats, labels: Sequence[str], freedoms: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return vdot and lam of `M vdot + F = C' lam`, `C vdot = c`, eq. [saddle-point].

    Rows that repeat others, and freedoms without inertia, are named errors.
    """
    n = len(F)
    (K, scale) = scaled_saddle(M, C)
    rhs = np.concatenate([-F, c]) / scale
    U, s, Vt = np.linalg.svd(K)
    if s[-1] < 1e-13 * s[0]:
        _explain(M, C, labels, freedoms)
    x = (Vt.T @ ((U.T @ rhs) / s)) / scale
    return x[:n], x[n:]


def shared_saddle_point(
    M: Floats,
    F: Floats,
    C: Floats,
    c: Floats,
    labels: Sequence[str],
    freedoms: Sequence[str],
    rank: int,
    compliances: Floats,
) -> tuple[Floats, Floats]:
    """Return vdot and lam where `rank` rows of C are independent in general: an orthogonal basis of
    the rows takes their place, and lam has the least forces, weighed by
    `compliances` (zero for torques), eq. [shared-forces].
    """
    U, s, Vt = np.linalg.svd(C)
    if s[rank - 1] < 1e-9 * s[0]:
        _explain(M, C, labels, freedoms)
    N = U[:, rank:]
    U = U[:, :rank]
    s = s[:rank]
    vdot, y = saddle_point(M, F, Vt[:rank], (U.T @ c) / s, labels, freedoms)
    lam = U @ (y / s)
    scale = np.sqrt(compliances)
    return vdot, lam - N @ np.linalg.lstsq(scale[:, None] * N, scale * lam, rcond=None)[0]


def _explain(M: Floats, C: Floats, labels: Sequence[str], freedoms: Sequence[str]) -> None:
    """Raise the error that tells why a saddle-point system has no solution."""
    if len(C):
        norms = np.linalg.norm(C, axis=1)
        U, s, _ = np.linalg.svd(C / np.maximum(norms, 1e-300)[:, None])
        rank = int((s > 1e-11 * s[0]).sum())
        if rank < len(C):
            involved = np.abs(U[:, rank:]).max(axis=1) > 1e-6
            names = [label for label, yes in zip(labels, involved, strict=True) if yes]
            raise RedundancyError(
                f"constraint rows {', '.join(names)} repeat or contradict each other in this configuration; "
                "open one of the contacts."
            )
    raise weightless(_weakest(M, C)[0], freedoms)


def weightless(mode: Floats, freedoms: Sequence[str]) -> SingularityError:
    """Return the error that names the freedom which moves most in a motion without inertia."""
    return SingularityError(
        f"no inertia resists {freedoms[int(np.argmax(np.abs(mode)))]!r}: the reduced mass matrix is "
        "singular. Give the bodies that it moves some mass, or prescribe the joint."
    )


def idle(M: Floats, C: Floats) -> Floats | None:
    """Return a motion that the rows C allow and no inertia resists, if there is one."""
    mode, inertia = _weakest(M, C)
    return mode if inertia < 1e-13 else None


def _weakest(M: Floats, C: Floats) -> tuple[Floats, float]:
    """Return the motion that the rows allow with the least inertia, and that inertia, each speed
    measured by its own inertia.
    """
    size = np.sqrt(np.maximum(np.diagonal(M), 0.0))
    size[size == 0.0] = 1.0
    H = np.eye(len(M))
    if len(C):
        _, s, Vt = np.linalg.svd(C / size)
        H = Vt[int((s > 1e-11 * s[0]).sum()) :].T
    if not H.shape[1]:
        return np.zeros(len(M)), 1.0
    values, vectors = np.linalg.eigh(H.T @ (M / size / size[:, None]) @ H)
    return (H @ vectors[:, 0]) / size, float(values[0])


def nullspace(M: Floats, F: Floats, C: Floats, c: Floats) -> tuple[Floats, Floats]:
    """Return vdot and lam by an orthogonal basis of the kernel: for configurations where the closed
    form's pivots fail.
    """
    Q, R = np.linalg.qr(C.T, mode="complete")
    m = len(c)
    Y = Q[:, :m]
    H = Q[:, m:]
    L = R[:m].T
    still = Y @ np.linalg.solve(L, c)
    udot = np.linalg.solve(H.T @ M @ H, -H.T @ (F + M @ still))
    vdot = still + H @ udot
    return vdot, np.linalg.solve(L.T, Y.T @ (M @ vdot + F))
