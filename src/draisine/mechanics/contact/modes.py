"""Accelerations and contact forces of contact modes on ground features, in closed form.

Problem. Accelerations and contact forces of a multibody system whose wheels roll or slide on ground features
(faces, edges, vertices), as straight-line code: M vdot + F = C' lam + friction and tyre forces, C vdot = c.
The numbers of the features (normals, points, friction) are inputs, so that one program serves all features of
a kind.

Method.

1. `_assemble_rows`: the constraint rows of the closed contacts, and the forces that grow with a normal
   force: friction drag of a sliding contact, the forces of a tyre.
2. `eliminate_constraints`: eliminate [C; S] along pivots that are chosen in the nominal configuration,
   which yields the null space H of C.
3. `_solve_normal_forces`: normal forces that cause friction or tyre forces follow from the response of
   the multipliers to forces, eq. [sliding-closed-form]; for tyres that are nonlinear in the load, by
   unrolled Newton steps.
4. `ConstrainedMachine.respond`: H' M H udot = H' f, then the multipliers.

Pivots are outputs. If a pivot falls below a tenth of its nominal value, the run uses the dense system
instead.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from draisine.algebra.scalar import Array, Scalar, array, sqrt, substitute, where
from draisine.algebra.trace import Expr, evaluate, tangent
from draisine.mechanics.contact.elements import FeatureForces, tyre_rows
from draisine.mechanics.contact.features import FEATURE, LOAD, ContactRows, contact_rows
from draisine.mechanics.formulations.projected import choose_speeds
from draisine.mechanics.kernel import Elimination, eliminate, kernel_basis, plan, solve_symmetric
from draisine.mechanics.kinematics import Geometry
from draisine.mechanics.loads import (
    LOAD_NEWTON_STEPS,
    limit_loads,
    measure_load_convergence,
    weight,
)
from draisine.mechanics.tree import Tree
from draisine.model import Model, Wheel

MAX_CLOSED_FORM_WHEELS = 2
"""Largest number of wheels of a model for which closed forms of contact modes are generated.

Three wheels on a plane have redundant constraint rows, and it depends on the ground features which rows are
redundant. Models with three or more wheels therefore use the dense linear system, whose rank is computed
numerically.
"""

FACE_NORMAL = (0.0, 0.0, 1.0)
"""Normal of the faces below the wheels in the nominal configuration, in which pivots are chosen."""

EDGE_DIRECTION = (0.0, 1.0, 0.0)
"""Direction of the edges below the wheels in the nominal configuration: across the heading, like a
kerb.
"""

Signature = tuple[tuple[int, str, int], ...]
"""Contact mode on ground features: index of the wheel, kind of ground feature and number of
constraint rows of each closed contact.
"""

EvaluateElements = Callable[[Any, ContactRows, Array, Expr], FeatureForces | None]
"""Type of a function that returns the forces of the force elements at a wheel, linearised about a load, or
None if the wheel has no force elements.

Its arguments are the wheel, its constraint rows on a ground feature, the velocity of the ground at the
contact (m/s, (3,)), and the load (N).
"""


def mode_names(model: Model) -> dict[str, Signature]:
    """Return the signatures of all contact modes with a closed form, by the names of their
    programs.

    In these modes each wheel touches one fixed ground feature that is not a patch. Models with
    couplings have no such contact mode, because rows of couplings may be redundant with those of
    wheels.
    """
    wheels = [k for k, contact in enumerate(model.contacts) if isinstance(contact, Wheel)]
    if model.couplings or len(wheels) > MAX_CLOSED_FORM_WHEELS:
        return {}
    choices: list[list[tuple[int, str, int] | None]] = [
        [
            None,
            *(
                (k, *case)
                for case in product(_closed_form_kinds(model, k), _possible_row_counts(model, k))
            ),
        ]
        for k in wheels
    ]
    signatures = [
        tuple(case for case in combination if case is not None) for combination in product(*choices)
    ]
    return {mode_name(model, signature): signature for signature in signatures}


def _closed_form_kinds(model: Model, wheel_index: int) -> list[str]:
    """Return the kinds of ground features on which contact modes of one wheel have closed forms.

    These are all kinds except patches, whose iteration would be part of the program of every
    contact mode.
    """
    return [kind for kind in model.contacts[wheel_index].surface.kinds if kind != "patch"]


def _possible_row_counts(model: Model, wheel_index: int) -> tuple[int, ...]:
    """Return the possible numbers of constraint rows of one wheel: 3 rolling, 1 sliding, or those of
    its tyre.
    """
    wheel = model.contacts[wheel_index]
    assert isinstance(wheel, Wheel)
    return (3, 1) if wheel.tyre is None else (tyre_rows(wheel),)


def mode_name(model: Model, signature: Signature) -> str:
    """Return the name of the compiled program of a contact mode; joints with stops are numbered
    after the contacts.
    """
    names = [*(c.name for c in model.contacts), *(joint.name for joint in model.joints)]
    return " ".join(["mode", *(f"{names[k]}.{kind}.{rows}" for k, kind, rows in signature)])


@dataclass(frozen=True, slots=True, eq=False)
class FreeMachine:
    """Multibody system without contacts at one state: poses, speeds and terms of `M vdot + F = C' lam`."""

    tree: Tree
    geo: Geometry
    R: Array  # rotation of the base, (3, 3)
    p: Array  # position of the base, m, (3,)
    speeds: Array  # all speeds (V, W, rdot)
    # Time derivatives of the symbols of pose and joint coordinates, by name of the symbol
    along: Mapping[str, Any]
    columns: list[int]  # indices of the free speeds among all speeds; a planar base excludes some
    M: Array  # mass matrix for the free speeds, (n, n)
    F: Array  # bias force, (n,)
    held: Array  # constraint rows that are active in every contact mode, `held vdot = held_c`
    held_c: list[Scalar]  # right-hand sides of these rows


@dataclass(frozen=True, slots=True, eq=False)
class ModeMotion:
    """Accelerations and contact forces of a contact mode."""

    vdot: Array  # accelerations of the free speeds, (n,)
    forces: list[Scalar]  # contact forces (normal, along, across) of each contact, N
    rates: Array  # time derivatives of the states of the force elements at contacts
    pivots: list[Scalar]  # pivots of the elimination, relative to their nominal values


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Constraint rows `C vdot = c` of a contact mode, and the forces of friction and tyres."""

    C: Array  # (m, n)
    c: list[Scalar]  # (m,)
    # Friction and tyre force per newton of normal force, by index of the contacts that have such a
    # force: generalised force (n,), and components normal, along, across (3,)
    drags: dict[int, tuple[Array, Array]]
    push: Array  # generalised force of the force elements at zero load, (n,)
    # Force (N) of the force elements at zero load, by contact: components normal, along, across
    forces: list[Array]
    rates: Array  # time derivatives of the states of all force elements
    # Contacts whose tyre is nonlinear in the load, by index: the symbol of the load (N) about which
    # the tyre is linearised
    uneven: dict[int, Expr]

    def linearise_tyres(self, loads: Mapping[int, Scalar]) -> "_Rows":
        """Return the constraint rows and forces, with nonlinear tyres linearised about the given
        loads (N) by contact.
        """
        if not self.uneven:
            return self
        n = len(self.push)
        arrays = [self.push, *self.forces, *(np.concatenate(x) for x in self.drags.values())]
        graph = next(iter(self.uneven.values())).graph
        at_loads = {graph.ops[symbol.index][1]: loads[i] for i, symbol in self.uneven.items()}
        flat = array(substitute(graph, [x for values in arrays for x in values], at_loads))
        push, *per_contact = np.split(flat, np.cumsum([len(values) for values in arrays])[:-1])
        forces = per_contact[: len(self.forces)]
        drag_values = per_contact[len(self.forces) :]
        drags = {i: (x[:n], x[n:]) for i, x in zip(self.drags, drag_values, strict=True)}
        return replace(self, push=push, forces=forces, drags=drags)


@dataclass(frozen=True, slots=True, eq=False)
class ConstrainedMachine:
    """Multibody system with n speeds under m constraint rows C, prepared for solving its dynamics."""

    solver: Elimination  # factors of [C; S], with the selection S of the independent speeds
    H: Array  # basis of the null space of C, (n, n - m)
    MH: Array  # product of mass matrix and H, (n, n - m)
    inertia: Array  # reduced mass matrix H' M H, (n - m, n - m)

    def respond(self, force: Array) -> tuple[Array, Array]:
        """Return the accelerations vdot (n,) and the multipliers (m,) under `C vdot = 0` for a generalised
        force (n,).
        """
        udot = solve_symmetric(self.inertia, self.H.T @ force)
        rows = len(self.H) - self.H.shape[1]
        return self.H @ udot, self.solver.solve_transposed(list(self.MH @ udot - force))[:rows]

    def multiplier_row(self, row: int) -> Array:
        """Return the vector a (n,) for which `a @ Q` is the multiplier of constraint row `row`
        under a generalised force Q.
        """
        s = self.solver.solve(list(np.eye(len(self.H))[row]))
        return self.H @ solve_symmetric(self.inertia, self.MH.T @ s) - s


def solve_mode(
    free: FreeMachine,
    signature: Signature,
    features: Array,
    mu: Array,
    drawing: Mapping[str, float],
    act: EvaluateElements,
) -> ModeMotion:
    """Return accelerations and contact forces of a contact mode, eqs. [reduced-dynamics] and
    [multipliers].

    Parameters
    ----------
    free
        The multibody system without contacts.
    signature
        Closed contacts.
    features
        Symbols of the values of their ground features, one array per closed contact.
    mu
        Symbols of their friction coefficients.
    drawing
        Values of all symbols in the nominal configuration, in which pivots are chosen.
    act
        Function that returns the forces of the force elements at a contact.
    """
    point = dict(drawing)
    rows = _assemble_rows(free, signature, features, mu, point, act)
    constrained = eliminate_constraints(rows.C, free.M, len(free.tree.model.twist), point)
    particular = constrained.solver.solve([*rows.c, *[0.0] * constrained.H.shape[1]])
    free_force = -(free.F + free.M @ particular)
    starts = np.cumsum([0, *(count for *_, count in signature)]).tolist()
    responses = {i: constrained.multiplier_row(starts[i]) for i in rows.drags}
    loads, pivots = _solve_normal_forces(rows, responses, free_force, weight(free.tree.model))
    rows = rows.linearise_tyres(loads)
    force = free_force + rows.push
    for i, load in loads.items():
        force = force + load * rows.drags[i][0]
    change, lam = constrained.respond(force)
    accuracies = [
        measure_load_convergence(loads[i], loads[i] - lam[starts[i]]) for i in rows.uneven
    ]
    pivots = relative_pivots([*constrained.solver.pivot, *pivots, *accuracies], point)
    return ModeMotion(
        particular + change, _contact_forces(rows, signature, lam), rows.rates, pivots
    )


def relative_pivots(pivots: Sequence[Scalar], point: Mapping[str, float]) -> list[Scalar]:
    """Return the pivots that depend on the state, each divided by its magnitude in the nominal
    configuration `point`.
    """
    varying = [x for x in pivots if isinstance(x, Expr) and not x.fixed]
    nominal_sizes = np.abs(np.asarray(evaluate(varying, point), float)) if varying else []
    return [x / size for x, size in zip(varying, nominal_sizes, strict=True)]


def _solve_normal_forces(
    rows: _Rows, responses: Mapping[int, Array], free_force: Array, total_weight: Scalar
) -> tuple[dict[int, Scalar], list[Scalar]]:
    """Return the normal forces of contacts with friction or tyres, and the pivots of their coupled
    equations.

    `free_force` is the generalised force without contacts, `total_weight` the weight of the multibody system.
    """
    if not responses:
        return {}, []
    loads = dict.fromkeys(responses, total_weight / len(responses))
    for _ in range(LOAD_NEWTON_STEPS if rows.uneven else 1):
        linearised = rows.linearise_tyres(loads)
        R = [[a @ linearised.drags[j][0] for j in responses] for a in responses.values()]
        coupled = eliminate(np.eye(len(R)) - array(R), [(i, i) for i in range(len(R))])
        new = coupled.solve([a @ (free_force + linearised.push) for a in responses.values()])
        bounded = limit_loads(list(new), list(loads.values())) if rows.uneven else new
        loads = dict(zip(responses, bounded, strict=True))
    return loads, coupled.pivot


def _contact_forces(rows: _Rows, signature: Signature, lam: Array) -> list[Scalar]:
    """Return normal, along and across force of each contact: multipliers, friction and element
    forces (N).
    """
    forces: list[Scalar] = []
    start = 0
    for i, ((*_, row_count), force) in enumerate(zip(signature, rows.forces, strict=True)):
        total = force + array([*lam[start : start + row_count], *[0.0] * (3 - row_count)])
        if i in rows.drags:
            total = total + lam[start] * rows.drags[i][1]
        forces += list(total)
        start += row_count
    return forces


def _assemble_rows(
    free: FreeMachine,
    signature: Signature,
    features: Array,
    mu: Array,
    point: dict[str, float],
    act: EvaluateElements,
) -> _Rows:
    """Return the constraint rows of a contact mode, and friction and tyre forces.

    The values of the ground features in the nominal configuration are added to `point`.
    """
    rows: list[Array] = []
    targets: list[Scalar] = []
    drags = dict[int, tuple[Array, Array]]()
    push = 0.0 * free.F
    forces = list[Array]()
    uneven = dict[int, Expr]()
    rates = array([0.0] * free.tree.model.memory)
    for i, (k, kind, row_count) in enumerate(signature):
        wheel: Any = free.tree.model.contacts[k]
        f = features[FEATURE * i : FEATURE * (i + 1)]
        contact = contact_rows(free.tree, free.geo, free.R, free.p, wheel, kind, f)
        numbers = _place_feature_below(kind, wheel, contact.centre, point)
        point |= {f"features[{FEATURE * i + j}]": value for j, value in enumerate(numbers)}
        slips = contact.C @ free.speeds
        C = contact.C[:, free.columns]
        drift = tangent(list(slips), free.along, contact.meeting.held)
        rows += list(C[:row_count])
        targets += [-x for x in drift[:row_count]]
        acting = act(wheel, contact, np.zeros(3), f[LOAD])
        if row_count == 1 and wheel.tyre is None:
            drags[i] = _friction_per_normal_force(mu[i], slips, C)
        forces.append(np.zeros(3) if acting is None else acting.reported_at_zero_load[:3])
        if acting is not None:
            push = push + acting.force_at_zero_load[free.columns]
            rates = rates + array(acting.rates)
        if acting is not None and row_count:
            force_per_load = acting.force_per_load[free.columns]
            components_per_load = acting.reported_per_load[:3]
            if i in drags:
                friction, components = drags[i]
                force_per_load = friction + force_per_load
                components_per_load = components + components_per_load
            drags[i] = force_per_load, components_per_load
            if acting.is_nonlinear:
                uneven[i] = f[LOAD]
    all_rows = array([list(row) for row in [*rows, *free.held]])
    C = all_rows.reshape(-1, len(free.columns))
    return _Rows(C, [*targets, *free.held_c], drags, push, forces, rates, uneven)


def _place_feature_below(
    kind: str, wheel: Wheel, centre: Array, point: Mapping[str, float]
) -> list[float]:
    """Return the values of a ground feature that touches a wheel from below in the nominal
    configuration.
    """
    hub = np.asarray(evaluate(list(centre), point), float)
    below = hub - float(evaluate([wheel.surface.reach], point)[0]) * np.array(FACE_NORMAL)
    if kind == "face":
        return [*FACE_NORMAL, float(below[2]), 0.0, 0.0, 0.0, 0.0]
    return [*below.tolist(), *(EDGE_DIRECTION if kind == "edge" else (0.0, 0.0, 0.0)), 0.0, 0.0]


def _friction_per_normal_force(mu: Scalar, slip_velocities: Array, C: Array) -> tuple[Array, Array]:
    """Return the friction force per newton of normal force, opposite to the slip velocities (m/s):
    as a generalised force (n,), and as components normal, along, across (3,).
    """
    slip_squared = slip_velocities[1] * slip_velocities[1] + slip_velocities[2] * slip_velocities[2]
    sliding = slip_squared > 0.0
    slip = sqrt(where(sliding, slip_squared, 1.0))
    along, across = (-mu * where(sliding, slip_velocities[k] / slip, 0.0) for k in (1, 2))
    return along * C[1] + across * C[2], array([0.0, along, across])


def eliminate_constraints(
    C: Array, M: Array, first_joint_column: int, point: Mapping[str, float]
) -> ConstrainedMachine:
    """Return a multibody system with mass matrix M under the constraint rows C, for which [C; S] is
    eliminated along pivots chosen at the nominal `point`.

    S selects the independent speeds: joint rates (from index `first_joint_column` on) before angular
    and linear velocities.
    """
    n = len(M)
    m = len(C)
    values = np.asarray(evaluate(list(C.ravel()), point), float).reshape(m, n)
    order = [*range(first_joint_column, n), *range(first_joint_column - 1, -1, -1)]
    labels = [f"row {k}" for k in range(m)]
    S = np.eye(n)[choose_speeds(n, values, labels, order)]
    A = np.vstack([C, S])
    traced = np.array([[isinstance(x, Expr) for x in row] for row in A])
    nonzero = traced | (np.vstack([values, S]) != 0)
    pivots = plan(np.vstack([values, S]), nonzero, np.where(traced, 2.0, 0.0))
    solver = eliminate(A, pivots)
    H = kernel_basis(solver.solve, m, n)
    MH = M @ H
    return ConstrainedMachine(solver, H, MH, H.T @ MH)
