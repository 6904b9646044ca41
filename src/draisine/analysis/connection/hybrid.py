"""Inverse dynamics of runs with events: joint torques and contact forces on every arc and at every impact.

Problem: `M vdot + F = C' lam + tau` with torques tau at the driven joints only, thesis (1.16)-(1.19). The
rows without torque, `A' lam = h`, leave the static forces in the kernel of A' open. Contacts can only push,
and friction is limited, so not every choice of them is physically possible.

Method: the static forces of minimum norm that satisfy signs and friction limits solve a quadratic programme
in z of `lam = lam_0 + N z`, `G lam >= 0`. It is a least-distance problem, solved by non-negative least
squares (Lawson and Hanson, Solving Least Squares Problems, chapter 23, doi:10.1137/1.9781611971217). At an
impact the same equations hold for impulses, with `h = M (v+ - v-)`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.inverse import RequiredTorques
from draisine.errors import ConfigurationError, ParameterError, expect_known
from draisine.simulation.contact.arc import UnilateralArc
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.trajectory import Trajectory

PYRAMID_FACETS = 32
"""Number of facets of the pyramid inside the friction cone; it excludes 0.5 % of the cone's radius."""

INFEASIBLE_RESIDUAL = 1e-9
"""Residual of the least-distance problem, relative to its right side, below which it is infeasible; and
residual of the rows without torque, relative to the largest force, up to which they are satisfied."""

FORCE_WEIGHT = 1e-3
"""Factor of contact forces (N) beside joint torques (N m) in a sum of squares that minimises the torques."""

ROW_DIRECTIONS = ("normal", "along", "across")


def choose_static_forces(
    required: RequiredTorques,
    *,
    signs: Mapping[str, int] | None = None,
    mu: float | Mapping[str, float] | None = None,
    minimise: Literal["forces", "torques"] = "forces",
) -> RequiredTorques:
    """Choose the statically indeterminate forces by a quadratic programme, thesis (1.18)-(1.19).

    Parameters
    ----------
    required
        Torques and forces with their static combinations.
    signs
        1 or -1 by name of a contact row: the force is not negative, or not positive. By default all
        rows that end in "normal" push.
    mu
        Friction coefficient, for all contacts or by contact; by default friction is not limited.
    minimise
        Squared sum to minimise: of all contact forces, or of the joint torques (contact forces then
        count with a weight of 1e-6, which makes the choice unique).

    Returns
    -------
    RequiredTorques
        The chosen torques and forces, with the same static combinations.

    Raises
    ------
    ConfigurationError
        If no static forces satisfy the signs and friction limits: the motion is infeasible with these
        contacts, one of them must open or slip (thesis, remark 1.13).
    ParameterError
        If `signs` or `mu` name an unknown row or contact.

    Examples
    --------
    A rigid table on four legs carries 8 N near one leg. The minimum-norm forces pull at the opposite leg;
    a feasible choice exists:

    >>> legs = {"a.normal": 5.0, "b.normal": 2.0, "c.normal": -1.0, "d.normal": 2.0}
    >>> warp = {"a.normal": [0.5], "b.normal": [-0.5], "c.normal": [0.5], "d.normal": [-0.5]}
    >>> found = choose_static_forces(RequiredTorques({}, legs, {}, {k: np.array(x) for k, x in warp.items()}))
    >>> {name: round(force, 9) + 0.0 for name, force in found.forces.items()}
    {'a.normal': 6.0, 'b.normal': 1.0, 'c.normal': 0.0, 'd.normal': 1.0}
    """
    rows = list(required.forces)
    lam = np.array([required.forces[row] for row in rows])
    N = np.array([required.static_forces[row] for row in rows]).reshape(len(rows), -1)
    joints = list(required.torques)
    tau = np.array([required.torques[joint] for joint in joints])
    T = np.array([required.static_torques[joint] for joint in joints]).reshape(
        len(joints), N.shape[1]
    )
    G = _inequality_matrix(rows, signs, mu)
    if minimise == "forces":
        E, f = N, -lam
    elif minimise == "torques":
        E, f = np.vstack([T, FORCE_WEIGHT * N]), -np.concatenate([tau, FORCE_WEIGHT * lam])
    else:
        raise ParameterError(f"minimise = {minimise!r} must be 'forces' or 'torques'.")
    z = _solve_quadratic_programme(E, f, G @ N, -(G @ lam))
    if z is None:
        violated = [rows[k] for k in np.flatnonzero((G @ lam < 0.0) @ (G != 0.0))]
        raise ConfigurationError(
            "No static forces satisfy the signs and friction limits of the contact rows "
            f"{', '.join(violated)}. The motion is infeasible with these contacts: open one of them, let it "
            "slide, or change the motion."
        )
    return replace(
        required,
        torques=dict(zip(joints, (tau + T @ z).tolist(), strict=True)),
        forces=dict(zip(rows, (lam + N @ z).tolist(), strict=True)),
    )


def _inequality_matrix(
    rows: Sequence[str],
    signs: Mapping[str, int] | None,
    mu: float | Mapping[str, float] | None,
) -> Floats:
    """Return the matrix G of `G lam >= 0`, one column per contact row."""
    chosen = {row: 1 for row in rows if row.endswith(".normal")} if signs is None else dict(signs)
    expect_known("signs: no contact row", list(chosen), rows, ParameterError)
    out = []
    for row, sign in chosen.items():
        if sign not in (1, -1):
            raise ParameterError(f"signs: {row} = {sign} must be 1 or -1.")
        out.append([float(sign) if other == row else 0.0 for other in rows])
    contacts = {row.removesuffix(".normal") for row in rows if row.endswith(".normal")}
    limits = mu if isinstance(mu, Mapping) else {} if mu is None else dict.fromkeys(contacts, mu)
    expect_known("mu: no contact", list(limits), sorted(contacts), ParameterError)
    angles = 2.0 * np.pi * np.arange(PYRAMID_FACETS) / PYRAMID_FACETS
    # Put the edges of the friction pyramid on the friction cone. Its facets are then closer to the
    # axis by this factor.
    inner = np.cos(np.pi / PYRAMID_FACETS)
    for contact, limit in limits.items():
        if np.isinf(limit):
            continue
        for angle in angles:
            column = dict.fromkeys(rows, 0.0)
            column[f"{contact}.normal"] = limit * inner
            for direction, share in (("along", np.cos(angle)), ("across", np.sin(angle))):
                if f"{contact}.{direction}" in column:
                    column[f"{contact}.{direction}"] = -share
            out.append(list(column.values()))
    return np.array(out, float).reshape(-1, len(rows))


def _solve_quadratic_programme(E: Floats, f: Floats, G: Floats, g: Floats) -> Floats | None:
    """Return z that minimises |E z - f|^2 subject to `G z >= g`, or None if no z satisfies the rows.

    E has independent columns. With E = Q R and x = R z - Q'f it is the least-distance problem |x|^2 with
    `G R^-1 x >= g - G R^-1 Q'f`, whose dual is a non-negative least-squares problem.
    """
    from scipy.optimize import nnls

    n = E.shape[1]
    # Relax the constraints by rounding errors: forces that a constraint bounds by zero must not
    # make the programme infeasible.
    g = g - 1e-12 * max(1.0, float(np.abs(f).max(initial=0.0)))
    if n == 0:
        return np.zeros(0) if (g <= 0.0).all() else None
    Q, R = np.linalg.qr(E)
    target = Q.T @ f
    if not len(G):
        return np.asarray(np.linalg.solve(R, target))
    H = np.linalg.solve(R.T, G.T).T
    h = g - H @ target
    scale = max(float(np.abs(h).max()), np.finfo(float).tiny)
    dual, _ = nnls(np.vstack([H.T, h / scale]), np.append(np.zeros(n), 1.0))
    residual = np.append(H.T @ dual, h / scale @ dual - 1.0)
    if np.linalg.norm(residual) < INFEASIBLE_RESIDUAL:
        return None
    # The dual solution shows which constraints are active. Solve for these directly, which avoids
    # the squared condition number of the dual.
    active = dual > 0.0
    x = np.linalg.pinv(H[active], rcond=1e-12) @ h[active]
    return np.asarray(np.linalg.solve(R, x + target))


@dataclass(frozen=True, eq=False)
class HybridTorques:
    """Required torques at one instant of a run with events."""

    time: float  # s
    impulsive: bool  # whether forces and torques are impulses (N s, N m s) of an impact
    required: RequiredTorques


def solve_hybrid_torques(
    run: Trajectory,
    driven: Sequence[str] | None = None,
    *,
    minimise: Literal["forces", "torques"] = "forces",
) -> Iterator[HybridTorques]:
    """Compute required torques and contact forces of a run on a terrain, at its samples and impacts.

    On each arc the closed contacts with their normals and friction coefficients determine the rows, so
    that every sample is treated in its own contact mode. Signs and friction limits of static forces are
    satisfied by `choose_static_forces`.

    Parameters
    ----------
    run
        Trajectory of `simulate(..., terrain=...)`.
    driven
        Names of the joints with torques; all by default.
    minimise
        Squared sum that static forces minimise.

    Yields
    ------
    HybridTorques
        For each sample, and with `impulsive` for each impact, in the order of time.

    Raises
    ------
    ParameterError
        If the run is not event-driven on a terrain, a joint does not exist, or the machine has tyres.
    ConfigurationError
        If the driven joints and contacts cannot produce the motion.

    Examples
    --------
    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=3.0)
    >>> run = draisine.simulate(bicycle, start, 0.02, terrain=draisine.terrain.plane())
    >>> first = next(solve_hybrid_torques(run))
    >>> round(sum(force for row, force in first.required.forces.items() if row.endswith("normal")), 6)
    922.14
    """
    before: UnilateralArc | None = None
    arcs: tuple[Any, ...] = run.arcs
    for arc in arcs:
        if arc.stores_forces or not run.is_unilateral:
            raise ParameterError(
                "Hybrid inverse dynamics needs an event-driven run on a terrain. Use "
                "`solve_inverse_dynamics` for runs with one contact mode."
            )
        query = arc.query()
        if before is not None:
            # Contacts that separate in the impact have pushed, too. Static forces of impulses need
            # no friction limit, because the impact model has applied it.
            touching = {contact: (contact, Status.ROLLING, np.inf) for contact, *_ in before.closed}
            touching |= {contact: (contact, Status.ROLLING, np.inf) for contact, *_ in arc.closed}
            jump = query.speeds(arc.y[0]) - query.speeds(before.y[-1])
            # Events without impact (lift-off, change of the ground feature) leave the speeds
            # unchanged to the last bit.
            if np.any(jump):
                t = float(arc.t[0])
                h = query.dynamics(t, arc.y[0])["M"].reshape(query.n, query.n) @ jump
                closed = tuple(touching.values())
                yield _solve_instant(arc, closed, t, arc.y[0], h, driven, minimise, impulsive=True)
        for t, y in zip(arc.t, arc.y, strict=True):
            query = arc.query()  # the caller may have run another system since the last instant
            vdot = query.accelerate(t, y, arc.closed)[0]
            # Set the inputs of actuators to zero, so that the required torques are total ones,
            # inputs included.
            query.inputs = np.zeros_like(arc.inputs)
            outputs = query.dynamics(t, y)
            query.inputs = arc.inputs
            h = outputs["M"].reshape(query.n, query.n) @ vdot + outputs["F"]
            yield _solve_instant(arc, arc.closed, float(t), y, h, driven, minimise, impulsive=False)
        before = arc


def _solve_instant(
    arc: UnilateralArc,
    closed: Sequence[Closed],
    t: float,
    state: Floats,
    force: Floats,
    driven: Sequence[str] | None,
    minimise: Literal["forces", "torques"],
    *,
    impulsive: bool,
) -> HybridTorques:
    """Return the torques and contact forces that produce the generalised force or impulse `force`
    (n,).
    """
    query = arc.query()
    model = arc.machine.system.model
    joints = [joint.name for joint in model.joints]
    chosen = joints if driven is None else list(driven)
    expect_known("driven: no joint", chosen, joints, ParameterError)
    first = len(model.twist)
    inner = [first + joints.index(name) for name in chosen]
    outer = [k for k in range(query.n) if k not in inner]
    labels, C, mu = _collect_contact_rows(query, t, state, closed)
    A = C[:, outer]
    B = C[:, inner]
    lam = np.linalg.pinv(A.T, rcond=1e-12) @ force[outer]
    missing = A.T @ lam - force[outer]
    if np.abs(missing).max(initial=0.0) > INFEASIBLE_RESIDUAL * max(
        1.0, float(np.abs(force).max())
    ):
        names = [
            model.speeds[outer[k]] for k in np.flatnonzero(np.abs(missing) > INFEASIBLE_RESIDUAL)
        ]
        raise ConfigurationError(
            f"The driven joints {', '.join(chosen)} and the contacts cannot produce the motion at {t:g} s: a "
            f"force on {', '.join(names)} is missing. Name more driven joints."
        )
    static = _kernel_basis(A.T)
    required = RequiredTorques(
        dict(zip(chosen, (force[inner] - B.T @ lam).tolist(), strict=True)),
        dict(zip(labels, lam.tolist(), strict=True)),
        dict(zip(chosen, -(B.T @ static), strict=True)),
        dict(zip(labels, static, strict=True)),
    )
    if static.shape[1]:
        required = choose_static_forces(required, mu=mu, minimise=minimise)
    return HybridTorques(t, impulsive, required)


def _collect_contact_rows(
    query: ContactQuery, t: float, state: Floats, closed: Sequence[Closed]
) -> tuple[list[str], Floats, dict[str, float]]:
    """Return labels, rows (m, n) and friction coefficients of closed contacts.

    A sliding contact has one row: normal force with the friction against its slip.
    """
    labels: list[str] = []
    rows: list[Floats] = []
    friction: dict[str, float] = {}
    table = query.evaluate_rows(t, state, [contact for contact, *_ in closed])
    for (contact, status, mu), row in zip(closed, table, strict=True):
        name = ":".join(query.key(contact))
        J = query.jacobian(row)
        match status:
            case Status.ROLLING:
                labels += [f"{name}.{direction}" for direction in ROW_DIRECTIONS]
                rows += list(J)
                friction[name] = float(mu)
            case Status.SLIDING:
                slip = J[1:] @ query.speeds(state) - query.ground_velocity(row)[1:]
                speed = float(np.linalg.norm(slip))
                direction = slip / speed if speed > 0.0 else np.zeros(2)
                labels.append(f"{name}.normal")
                rows.append(J[0] - (mu * direction @ J[1:] if mu else 0.0))
            case _:
                raise ParameterError(
                    f"Hybrid inverse dynamics has no rows for the tyre of {name!r}. Use a machine without "
                    "tyres."
                )
    return labels, np.array(rows).reshape(len(rows), query.n), friction


def _kernel_basis(matrix: Floats) -> Floats:
    """Return an orthonormal basis of the kernel of a matrix, (columns, dimension)."""
    if not matrix.size:
        return np.eye(matrix.shape[1])
    _, s, V = np.linalg.svd(matrix)
    rank = int((s > 1e-10 * max(1.0, float(s.max(initial=0.0)))).sum())
    return np.asarray(V[rank:].T)
