"""Modes on features in closed form.

Problem. Accelerations and contact forces of a machine whose wheels roll or slide on features of a terrain,
as straight-line code: M vdot + F = C' lam + friction and tyre forces, C vdot = c. The numbers of the features
(normals, points, friction) are inputs, so that one program serves all features of a kind.

Method.

1. `_rows`: the constraint rows of the closed contacts, and the forces that grow with a normal force: friction
   drag of a sliding contact, the forces of a tyre.
2. `hold`: eliminate [C; S] along pivots that are chosen in the drawing, which leads to the null space H of C.
3. `_loads`: the normal forces that bring others with them follow from the response of the multipliers to
   forces, eq. [sliding-closed-form]; for tyres that are nonlinear in the load by Newton's method in line.
4. `HeldMachine.respond`: H' M H udot = H' f, then the multipliers.

Pivots are outputs. A run takes the dense system instead if one of them has lost nine tenths of its size.
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
from draisine.mechanics.loads import STEPS, accuracy, limit_loads, weight
from draisine.mechanics.tree import Tree
from draisine.model import Model, Wheel

MOST = 2
"""Largest number of wheels with closed forms: three wheels on a plane have redundant rows, and which rows are
redundant depends on the features. Machines with more wheels use the dense system, whose rank is numerical.
"""

UP = (0.0, 0.0, 1.0)
ACROSS = (0.0, 1.0, 0.0)

Signature = tuple[tuple[int, str, int], ...]
"""A mode: for each closed contact its wheel, the kind of feature, and the number of rows that it holds."""

Act = Callable[[Any, ContactRows, Array, Expr], FeatureForces | None]
"""From a wheel, its rows on a feature, the velocity of the ground and a load to the forces of the elements
there, linearised at the load; None without elements.
"""


def mode_names(model: Model) -> dict[str, Signature]:
    """Return the signatures of all modes with a closed form, by the names of their programs: wheels on fixed
    features, one contact each, and no couplings, whose rows may be redundant with those of wheels.
    """
    wheels = [k for k, contact in enumerate(model.contacts) if isinstance(contact, Wheel)]
    if model.couplings or len(wheels) > MOST:
        return {}
    choices: list[list[tuple[int, str, int] | None]] = [
        [None, *((k, *one) for one in product(model.contacts[k].surface.kinds, _counts(model, k)))]
        for k in wheels
    ]
    signatures = [tuple(one for one in some if one is not None) for some in product(*choices)]
    return {mode_name(model, signature): signature for signature in signatures}


def _counts(model: Model, k: int) -> tuple[int, ...]:
    """Return the possible numbers of rows of a wheel: 3 if it rolls, 1 if it slides; those of its tyre."""
    wheel = model.contacts[k]
    assert isinstance(wheel, Wheel)
    return (3, 1) if wheel.tyre is None else (tyre_rows(wheel),)


def mode_name(model: Model, signature: Signature) -> str:
    """Return the name of a mode's program; joints, with their stops, are numbered after the contacts."""
    names = [*(c.name for c in model.contacts), *(joint.name for joint in model.joints)]
    return " ".join(["mode", *(f"{names[k]}.{kind}.{rows}" for k, kind, rows in signature)])


@dataclass(frozen=True, slots=True, eq=False)
class FreeMachine:
    """A machine without contacts: configuration, speeds, and `M vdot + F = C' lam`."""

    tree: Tree
    geo: Geometry
    R: Array  # rotation of the base
    p: Array  # position of the base
    speeds: Array  # all of (V, W, rdot)
    along: Mapping[str, Any]  # rates of the symbols of the configuration
    columns: list[int]  # speeds that the base's group leaves free
    M: Array
    F: Array
    held: Array  # rows that hold whatever touches: held vdot = held_c
    held_c: list[Scalar]


@dataclass(frozen=True, slots=True, eq=False)
class ModeMotion:
    """Accelerations and forces of a mode."""

    vdot: Array
    forces: list[Scalar]  # normal, along, across of each contact
    rates: Array  # of the states of elements at contacts
    pivots: list[Scalar]  # relative to their sizes in the drawing


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows `C vdot = c` of a mode, and the forces of friction and tyres."""

    C: Array
    c: list[Scalar]
    drags: list[
        tuple[Array, Array] | None
    ]  # per unit normal force: generalised, and along the axes
    push: Array  # generalised force of elements at zero load
    forces: list[Array]  # the same per contact: normal, along, across
    rates: Array  # of the states of all elements
    uneven: dict[
        int, Expr
    ]  # symbols of the loads at which nonlinear tyres are linearised, by contact

    def about(self, loads: Mapping[int, Scalar]) -> "_Rows":
        """Return the rows with nonlinear tyres linearised at loads."""
        if not self.uneven:
            return self
        n = len(self.push)
        drags = {i: drag for i, drag in enumerate(self.drags) if drag is not None}
        parts = [self.push, *self.forces, *(np.concatenate(drag) for drag in drags.values())]
        graph = next(iter(self.uneven.values())).graph
        there = {graph.ops[symbol.index][1]: loads[i] for i, symbol in self.uneven.items()}
        flat = array(substitute(graph, [x for part in parts for x in part], there))
        push, *rest = np.split(flat, np.cumsum([len(part) for part in parts])[:-1])
        forces = rest[: len(self.forces)]
        found = rest[len(self.forces) :]
        drags |= {i: (x[:n], x[n:]) for i, x in zip(drags, found, strict=True)}
        every = [drags.get(i) for i in range(len(self.drags))]
        return replace(self, push=push, forces=forces, drags=every)


@dataclass(frozen=True, slots=True, eq=False)
class HeldMachine:
    """A machine under rows: their elimination, the null space H, `M H` and `H' M H`."""

    solver: Elimination
    H: Array
    MH: Array
    inertia: Array

    def respond(self, force: Array) -> tuple[Array, Array]:
        """Return the vdot under rows `C vdot = 0` and a generalised force, and the multipliers of these."""
        udot = solve_symmetric(self.inertia, self.H.T @ force)
        rows = len(self.H) - self.H.shape[1]
        return self.H @ udot, self.solver.solve_transposed(list(self.MH @ udot - force))[:rows]

    def answer(self, row: int) -> Array:
        """Return a such that `a @ Q` is the multiplier of a row under a generalised force Q."""
        s = self.solver.solve(list(np.eye(len(self.H))[row]))
        return self.H @ solve_symmetric(self.inertia, self.MH.T @ s) - s


def solve_mode(
    free: FreeMachine,
    signature: Signature,
    features: Array,
    mu: Array,
    drawing: Mapping[str, float],
    act: Act,
) -> ModeMotion:
    """Return the motion of a mode, eqs. [reduced-dynamics] and [multipliers].

    Parameters
    ----------
    free
        The machine without contacts.
    signature
        Closed contacts.
    features
        Symbols of the numbers of their features.
    mu
        Symbols of their friction coefficients.
    drawing
        Values of all symbols in the drawing, where pivots are chosen.
    act
        Forces of elements at contacts.
    """
    point = dict(drawing)
    rows = _rows(free, signature, features, mu, point, act)
    held = hold(rows.C, free.M, len(free.tree.model.twist), point)
    still = held.solver.solve([*rows.c, *[0.0] * held.H.shape[1]])
    alone = -(free.F + free.M @ still)
    starts = np.cumsum([0, *(count for *_, count in signature)]).tolist()
    answers = {i: held.answer(starts[i]) for i, drag in enumerate(rows.drags) if drag is not None}
    loads, pivots = _loads(rows, answers, alone, weight(free.tree.model))
    rows = rows.about(loads)
    force = alone + rows.push
    for i, load in loads.items():
        force = force + load * _drag_of(rows, i)
    change, lam = held.respond(force)
    inexact = [accuracy(loads[i], loads[i] - lam[starts[i]]) for i in rows.uneven]
    pivots = watch([*held.solver.pivot, *pivots, *inexact], point)
    return ModeMotion(still + change, _contact_forces(rows, signature, lam), rows.rates, pivots)


def watch(pivots: Sequence[Scalar], point: Mapping[str, float]) -> list[Scalar]:
    """Return the pivots that depend on the state, relative to their sizes in the drawing."""
    watched = [x for x in pivots if isinstance(x, Expr) and not x.fixed]
    sizes = np.abs(np.asarray(evaluate(watched, point), float)) if watched else []
    return [x / size for x, size in zip(watched, sizes, strict=True)]


def _loads(
    rows: _Rows, answers: Mapping[int, Array], alone: Array, heavy: Scalar
) -> tuple[dict[int, Scalar], list[Scalar]]:
    """Return the normal forces of contacts with friction or tyres, and the pivots of their coupling; `alone`
    is the generalised force without contacts, `heavy` the weight of the machine.
    """
    if not answers:
        return {}, []
    loads = dict.fromkeys(answers, heavy / len(answers))
    for _ in range(STEPS if rows.uneven else 1):
        here = rows.about(loads)
        R = [[a @ _drag_of(here, j) for j in answers] for a in answers.values()]
        coupled = eliminate(np.eye(len(R)) - array(R), [(i, i) for i in range(len(R))])
        new = coupled.solve([a @ (alone + here.push) for a in answers.values()])
        found = limit_loads(list(new), list(loads.values())) if rows.uneven else new
        loads = dict(zip(answers, found, strict=True))
    return loads, coupled.pivot


def _drag_of(rows: _Rows, i: int) -> Array:
    """Return the generalised force of friction and tyre per unit normal force."""
    drag = rows.drags[i]
    assert drag is not None
    return drag[0]


def _contact_forces(rows: _Rows, signature: Signature, lam: Array) -> list[Scalar]:
    """Return normal, along and across of each contact: multipliers, friction and forces of elements."""
    forces: list[Scalar] = []
    start = 0
    for (*_, held), drag, force in zip(signature, rows.drags, rows.forces, strict=True):
        total = force + array([*lam[start : start + held], *[0.0] * (3 - held)])
        forces += list(total if drag is None else total + lam[start] * drag[1])
        start += held
    return forces


def _rows(
    free: FreeMachine,
    signature: Signature,
    features: Array,
    mu: Array,
    point: dict[str, float],
    act: Act,
) -> _Rows:
    """Return the rows of a mode; adds the numbers of the features below the wheels to the drawing's point."""
    rows: list[Array] = []
    targets: list[Scalar] = []
    drags: list[tuple[Array, Array] | None] = []
    push = 0.0 * free.F
    forces = list[Array]()
    uneven = dict[int, Expr]()
    rates = array([0.0] * free.tree.model.memory)
    for i, (k, kind, held) in enumerate(signature):
        wheel: Any = free.tree.model.contacts[k]
        f = features[FEATURE * i : FEATURE * (i + 1)]
        met = contact_rows(free.tree, free.geo, free.R, free.p, wheel, kind, f)
        numbers = _feature_below(kind, wheel, met.centre, point)
        point |= {f"features[{FEATURE * i + j}]": value for j, value in enumerate(numbers)}
        slips = met.C @ free.speeds
        C = met.C[:, free.columns]
        drift = tangent(list(slips), free.along, met.meeting.held)
        rows += list(C[:held])
        targets += [-x for x in drift[:held]]
        done = act(wheel, met, np.zeros(3), f[LOAD])
        drag = _drag(mu[i], slips, C) if held == 1 and wheel.tyre is None else None
        forces.append(np.zeros(3) if done is None else done.reported_at_zero_load[:3])
        if done is not None:
            push = push + done.force_at_zero_load[free.columns]
            rates = rates + array(done.rates)
        if done is not None and held:
            lift = done.force_per_load[free.columns]
            lifted = done.reported_per_load[:3]
            drag = (lift, lifted) if drag is None else (drag[0] + lift, drag[1] + lifted)
            if done.is_nonlinear:
                uneven[i] = f[LOAD]
        drags.append(drag)
    every = array([list(row) for row in [*rows, *free.held]])
    C = every.reshape(-1, len(free.columns))
    return _Rows(C, [*targets, *free.held_c], drags, push, forces, rates, uneven)


def _feature_below(
    kind: str, wheel: Wheel, centre: Array, point: Mapping[str, float]
) -> list[float]:
    """Return the numbers of a feature below a wheel in the drawing."""
    at = np.asarray(evaluate(list(centre), point), float)
    below = at - float(evaluate([wheel.surface.reach], point)[0]) * np.array(UP)
    if kind == "face":
        return [*UP, float(below[2]), 0.0, 0.0, 0.0, 0.0]
    return [*below.tolist(), *(ACROSS if kind == "edge" else (0.0, 0.0, 0.0)), 0.0, 0.0]


def _drag(mu: Scalar, slips: Array, C: Array) -> tuple[Array, Array]:
    """Return the generalised force of friction per unit normal force, and its components (normal, along,
    across).
    """
    square = slips[1] * slips[1] + slips[2] * slips[2]
    moves = square > 0.0
    size = sqrt(where(moves, square, 1.0))
    along, across = (-mu * where(moves, slips[k] / size, 0.0) for k in (1, 2))
    return along * C[1] + across * C[2], array([0.0, along, across])


def hold(C: Array, M: Array, first: int, point: Mapping[str, float]) -> HeldMachine:
    """Return a machine of inertia M under rows C: [C; S] is eliminated along pivots that are chosen in the
    drawing. S selects the independent speeds: joint rates (from the `first` on) before angular and linear
    velocities.
    """
    n = len(M)
    m = len(C)
    values = np.asarray(evaluate(list(C.ravel()), point), float).reshape(m, n)
    order = [*range(first, n), *range(first - 1, -1, -1)]
    labels = [f"row {k}" for k in range(m)]
    S = np.eye(n)[choose_speeds(n, values, labels, order)]
    A = np.vstack([C, S])
    traced = np.array([[isinstance(x, Expr) for x in row] for row in A])
    there = traced | (np.vstack([values, S]) != 0)
    pivots = plan(np.vstack([values, S]), there, np.where(traced, 2.0, 0.0))
    solver = eliminate(A, pivots)
    H = kernel_basis(solver.solve, m, n)
    MH = M @ H
    return HeldMachine(solver, H, MH, H.T @ MH)
