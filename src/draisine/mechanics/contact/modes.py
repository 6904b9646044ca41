"""Modes on features in closed form: the saddle-point system carried through the kernel's elimination,
with the features' numbers as inputs.
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
"""Machines with more wheels are left to the dense system."""

UP, ACROSS = (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)

Signature = tuple[tuple[int, str, int], ...]
"""A mode: for each closed contact the wheel, the kind of feature, and how many rows it holds."""

Act = Callable[[Any, ContactRows, Array, Expr], FeatureForces | None]
"""What elements do at a wheel that meets a feature over ground of a velocity, about a load."""


def mode_names(model: Model) -> dict[str, Signature]:
    """Return the signatures of all modes that have a closed form, by the names of their programs:
    wheels on fixed features, one contact each, and no couplings, which may repeat what they demand.
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
    """Return how many rows a wheel may hold: all where it rolls, one where it slides; on a tyre what
    that holds.
    """
    wheel = model.contacts[k]
    assert isinstance(wheel, Wheel)
    return (3, 1) if wheel.tyre is None else (tyre_rows(wheel),)


def mode_name(model: Model, signature: Signature) -> str:
    """Return the name of a mode's program; joints, with their stops, are counted on after contacts."""
    names = [*(c.name for c in model.contacts), *(joint.name for joint in model.joints)]
    return " ".join(["mode", *(f"{names[k]}.{kind}.{rows}" for k, kind, rows in signature)])


@dataclass(frozen=True, slots=True, eq=False)
class FreeMachine:
    """A machine without contacts: where it is, R and p being its base's pose, its speeds and the
    rates of its symbols, M and F of `M vdot + F = C' lam` over its columns, and the rows
    `held vdot = held_c` that hold whatever touches.
    """

    tree: Tree
    geo: Geometry
    R: Array
    p: Array
    speeds: Array
    along: Mapping[str, Any]
    columns: list[int]
    M: Array
    F: Array
    held: Array
    held_c: list[Scalar]


@dataclass(frozen=True, slots=True, eq=False)
class ModeMotion:
    """What a mode does: vdot, forces (normal, along, across) of its contacts, the rates of the states
    of elements at these, and the pivots to watch, against their sizes in the drawing.
    """

    vdot: Array
    forces: list[Scalar]
    rates: Array
    pivots: list[Scalar]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows `C vdot = c` of a mode; for each contact whose normal force brings others with it
    (friction, a tyre's) the generalised force of these for a normal force of one, and along and
    across; the generalised force that elements at contacts push with besides, for each contact its
    forces, the rates of all elements' states, and the symbols of loads about which all that is true.
    """

    C: Array
    c: list[Scalar]
    drags: list[tuple[Array, Array] | None]
    push: Array
    forces: list[Array]
    rates: Array
    uneven: dict[int, Expr]

    def about(self, loads: Mapping[int, Scalar]) -> "_Rows":
        """Return the same about loads of contacts."""
        if not self.uneven:
            return self
        n = len(self.push)
        drags = {i: drag for i, drag in enumerate(self.drags) if drag is not None}
        parts = [self.push, *self.forces, *(np.concatenate(drag) for drag in drags.values())]
        graph = next(iter(self.uneven.values())).graph
        there = {graph.ops[symbol.index][1]: loads[i] for i, symbol in self.uneven.items()}
        flat = array(substitute(graph, [x for part in parts for x in part], there))
        push, *rest = np.split(flat, np.cumsum([len(part) for part in parts])[:-1])
        forces, found = rest[: len(self.forces)], rest[len(self.forces) :]
        drags |= {i: (x[:n], x[n:]) for i, x in zip(drags, found, strict=True)}
        every = [drags.get(i) for i in range(len(self.drags))]
        return replace(self, push=push, forces=forces, drags=every)


@dataclass(frozen=True, slots=True, eq=False)
class HeldMachine:
    """A machine under rows: their elimination, H of the speeds that they leave, `M H` and `H' M H`."""

    solver: Elimination
    H: Array
    MH: Array
    inertia: Array

    def respond(self, force: Array) -> tuple[Array, Array]:
        """Return vdot, but for what the rows demand, and their multipliers under a generalised force."""
        udot = solve_symmetric(self.inertia, self.H.T @ force)
        rows = len(self.H) - self.H.shape[1]
        return self.H @ udot, self.solver.solve_transposed(list(self.MH @ udot - force))[:rows]

    def answer(self, row: int) -> Array:
        """Return a with `a @ Q` what the multiplier of a row answers to a generalised force Q."""
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
    """Return the motion of a mode on features whose numbers are the symbols `features[k]`, eqs.
    [reduced-dynamics] and [multipliers]; pivots are chosen in the drawing, known by the values of
    its symbols; `act` tells what elements do at contacts.

    A sliding contact pushes by its friction as well, a tyre by its law, in proportion to its normal
    force: that follows from how the loads answer, eq. [sliding-closed-form]; where a tyre is not in
    proportion, by Newton's method in line, whose remainder is watched.
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
    """Return the pivots that are not fixed by parameters, against their sizes in the drawing."""
    watched = [x for x in pivots if isinstance(x, Expr) and not x.fixed]
    sizes = np.abs(np.asarray(evaluate(watched, point), float)) if watched else []
    return [x / size for x, size in zip(watched, sizes, strict=True)]


def _loads(
    rows: _Rows, answers: Mapping[int, Array], alone: Array, heavy: Scalar
) -> tuple[dict[int, Scalar], list[Scalar]]:
    """Return the normal forces that bring others with them, by contact, and pivots of their coupling;
    `alone` is the generalised force without contacts, `heavy` the machine's weight.
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
    """Return the generalised force that a normal force of one brings with it."""
    drag = rows.drags[i]
    assert drag is not None
    return drag[0]


def _contact_forces(rows: _Rows, signature: Signature, lam: Array) -> list[Scalar]:
    """Return normal, along and across of each contact: multipliers, friction, and what elements do."""
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
    """Return the rows of a mode; the drawing's point gets the numbers of features under its wheels."""
    rows: list[Array] = []
    targets: list[Scalar] = []
    drags: list[tuple[Array, Array] | None] = []
    push, forces, uneven = 0.0 * free.F, list[Array](), dict[int, Expr]()
    rates = array([0.0] * free.tree.model.memory)
    for i, (k, kind, held) in enumerate(signature):
        wheel: Any = free.tree.model.contacts[k]
        f = features[FEATURE * i : FEATURE * (i + 1)]
        met = contact_rows(free.tree, free.geo, free.R, free.p, wheel, kind, f)
        numbers = _feature_below(kind, wheel, met.centre, point)
        point |= {f"features[{FEATURE * i + j}]": value for j, value in enumerate(numbers)}
        slips, C = met.C @ free.speeds, met.C[:, free.columns]
        drift = tangent(list(slips), free.along, met.meeting.held)
        rows += list(C[:held])
        targets += [-x for x in drift[:held]]
        done = act(wheel, met, np.zeros(3), f[LOAD])
        drag = _drag(mu[i], slips, C) if held == 1 and wheel.tyre is None else None
        forces.append(np.zeros(3) if done is None else done.reported_at_zero_load[:3])
        if done is not None:
            push, rates = push + done.force_at_zero_load[free.columns], rates + array(done.rates)
        if done is not None and held:
            lift, lifted = done.force_per_load[free.columns], done.reported_per_load[:3]
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
    """Return the numbers of a feature under a wheel of the drawing."""
    at = np.asarray(evaluate(list(centre), point), float)
    below = at - float(evaluate([wheel.surface.reach], point)[0]) * np.array(UP)
    if kind == "face":
        return [*UP, float(below[2]), 0.0, 0.0, 0.0, 0.0]
    return [*below.tolist(), *(ACROSS if kind == "edge" else (0.0, 0.0, 0.0)), 0.0, 0.0]


def _drag(mu: Scalar, slips: Array, C: Array) -> tuple[Array, Array]:
    """Return the generalised force of friction for a normal force of one, and what that adds to the
    force (normal, along, across).
    """
    square = slips[1] * slips[1] + slips[2] * slips[2]
    moves = square > 0.0
    size = sqrt(where(moves, square, 1.0))
    along, across = (-mu * where(moves, slips[k] / size, 0.0) for k in (1, 2))
    return along * C[1] + across * C[2], array([0.0, along, across])


def hold(C: Array, M: Array, first: int, point: Mapping[str, float]) -> HeldMachine:
    """Return a machine of inertia M under rows C: [C; S] is eliminated along pivots chosen in the
    drawing, S being the speeds that stay independent: joint rates, from the `first` on, then angular,
    then linear velocities.
    """
    n, m = len(M), len(C)
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
