"""Many machines at once: one state (and one set of parameters) per SIMD lane, shared out over
threads.
"""

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, SimulationError, ValidityWarning, expect_known
from draisine.mechanics.readings import law_states
from draisine.simulation import run_kinds
from draisine.simulation.bilateral import REASONS, run_bilateral
from draisine.simulation.integrators import (
    DEGENERATE,
    FELL,
    FLAT,
    NOT_FINITE,
    EqualSteps,
    Problem,
    Span,
)
from draisine.simulation.options import (
    CONTACT,
    ContactOptions,
    Numerics,
    Task,
    check_quaternion,
    memory_start,
)
from draisine.simulation.run_kinds import check_options
from draisine.simulation.validity.assess import FORCE_RESOLUTION
from draisine.simulation.validity.fall import FallRule, fall_rule, has_fallen
from draisine.system.artifacts import find_invalid_machines
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import pad_columns
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.vehicles import check_numbers

BLOCK = 4
"""How many registers' worth of states a thread advances together: enough to fill the pipes, few
enough for the cache.
"""

GROUP = 8
"""How many blocks are observed together."""

LOST = (REASONS[NOT_FINITE], REASONS[FLAT])
"""How runs end whose steps may be too long."""

SHORTER = 5
"""So much shorter are the steps that are tried where those taken seem too long."""

MANY = Numerics(integrator="rk4", dt=0.005)


def simulate_many(
    system: System,
    states: Sequence[State],
    until: float,
    *,
    parameters: Mapping[str, Sequence[float]] | None = None,
    inputs: Mapping[str, float | Sequence[float]] | None = None,
    law: Law | None = None,
    contact: ContactOptions = CONTACT,
    numerics: Numerics = MANY,
) -> dict[str, Floats]:
    """Return what is seen of many machines at the end, by equal steps no longer than `numerics.dt`.

    `parameters` and `inputs` give values per machine where they differ; `contact.mode` says which
    contacts hold. The result's arrays have one column per machine: `q`, `p`, `r`, `v`, `outputs`, ...
    (the names of `ClosedForm.look`). All numbers are those of `simulate` with the same method
    (dop853 takes equal steps here), which takes over, one by one, the machines that need other
    pivots on their way. `outcome` tells how each run ended and `time` when. A machine that falls stops
    with the step in which it does (`contact.fall = inf` lets it go on), and a warning says how many do;
    whether forces were possible is judged of the ends alone. Of a run that had to stop otherwise, the
    other arrays hold no numbers. Equal steps must be short against the fastest motion, such as
    that of a stiff control loop: a warning tells where shorter ones would do.

    With `numerics.precision` "single" accelerations are computed in single precision, twice as many at
    once; states are summed up and projected in double precision, as ever. `error` then tells how far
    the first machines end from where double precision brings them: the largest difference of a number
    of y = (q, p, r, u, z), against one plus its size. Machines that stop are run again in double.

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> end = simulate_many(bicycle, [start] * 5, 1.0, parameters={"mB": [80, 82, 84, 86, 88]})
    >>> end["v"].shape
    (9, 5)
    """
    _check_states(states)
    task = Task(system, states[0], until, None, law, None, contact, numerics, None)
    check_options(run_kinds.MANY, task)
    _check_spare(system, task, parameters or {})
    machine = system.machine(task.mode, law, law_states(law))
    count = len(states)
    starts = [memory_start(system, one, law, machine.states) for one in states]
    z = np.array(starts).T.reshape(machine.memory, count)
    given = _columns("input", list(system.model.inputs), system.inputs(), count, inputs or {})
    own = _parameters(system, count, parameters or {})
    rule, begin = fall_rule(system.model, contact.fall), machine.columns_of(states)
    fleet, y = Fleet.start(machine, begin, given, own, z, rule)
    end, times, wrong = fleet.advance(y, task.edges, numerics)
    out = fleet.look(end, times)
    told = {}
    if numerics.precision == "single":
        told["error"] = fleet.single_error(y, np.where(wrong, np.nan, end), task.edges, numerics)
    ends = [("completed", until)] * count
    for k in np.flatnonzero(wrong == FELL).tolist():
        ends[k] = rule.outcome(out["q"][:, k]), float(times[k])
    singles = {}
    for k in np.flatnonzero((wrong != 0) & (wrong != FELL)).tolist():
        alone = system.with_parameters(**{n: float(c[k]) for n, c in (parameters or {}).items()})
        named = dict(zip(system.model.inputs, given[:, k].tolist(), strict=True))
        singles[k] = replace(task, system=alone, state=states[k], inputs=named)
        ends[k] = _alone(singles[k], k, out)
    outcome, time = zip(*ends, strict=True)
    _tell_long_steps(singles, outcome)
    _warn_invalid(system, outcome, out["forces"])
    return out | told | {"outcome": np.array(outcome), "time": np.array(time)}


def _warn_invalid(system: System, outcome: Sequence[str], forces: Floats) -> None:
    """Warn once of runs that are not physically valid, as far as their ends tell."""
    fallen = np.array([has_fallen(text) for text in outcome])
    largest = np.nanmax(np.abs(forces), axis=0, initial=0.0)
    pulled = np.zeros(len(fallen), bool)
    for k, contact in enumerate(system.model.contacts):
        if contact in system.model.wheels:
            pulled |= forces[3 * k] < -FORCE_RESOLUTION * largest
    told = [
        f"{int(some.sum())} {what} (the first is machine {int(some.argmax())})"
        for some, what in (
            (fallen, "fell"),
            (pulled & ~fallen, "end while the ground pulls a wheel"),
        )
        if some.any()
    ]
    if told:
        count = int((fallen | pulled).sum())
        warnings.warn(
            f"{count} of {len(fallen)} runs of {system.vehicle.__name__} are not physically valid: "
            f"{'; '.join(told)}.",
            ValidityWarning,
            stacklevel=3,
        )


def _check_states(states: Any) -> None:
    """Raise where states are no list with some."""
    if isinstance(states, State):
        raise ParameterError("simulate_many: a list of states is wanted, as [state] * 100.")
    if not states:
        raise ParameterError("simulate_many: no states given.")
    for state in states:
        if isinstance(state, State):
            check_quaternion(state)


def _parameters(system: System, count: int, changes: Mapping[str, Any]) -> Floats:
    """Return the parameters of many machines, one column for each, all of them possible."""
    changed = check_numbers(system.vehicle, system.parameters, changes)
    own = _columns("parameter", list(system.parameters), system.values, count, changed)
    if changed:  # else the system itself was drawn
        for k, text in find_invalid_machines(system.artifacts, own).items():
            raise ParameterError(f"machine {k}: {text}")
    return own


def _tell_long_steps(singles: Mapping[int, Task], outcome: Sequence[str]) -> None:
    """Warn if the first machine that stopped as too long steps make it would not with shorter ones, and would
    not have fallen either.
    """
    k = next((k for k in singles if outcome[k] in LOST), None)
    if k is None:
        return
    task = singles[k]
    short = replace(task.numerics, dt=task.numerics.dt / SHORTER)
    try:
        run = run_bilateral(replace(task, numerics=short))
    except SimulationError:
        return
    if has_fallen(run.outcome):
        return
    warnings.warn(
        f"machine {k} stopped: {outcome[k]}; with shorter steps it does not: "
        f"Numerics(integrator={short.integrator!r}, dt={short.dt:g}).",
        stacklevel=3,
    )


def _check_spare(system: System, task: Task, parameters: Mapping[str, Any]) -> None:
    """Raise where rows repeat others for one value of a parameter that differs among machines."""
    if not parameters:
        return
    for row in system.survey(task.mode).redundant:
        for name in row.parameters:
            if name in parameters:
                raise ParameterError(
                    f"parameter {name}: for other values the constraint row {row.label!r} no longer "
                    "repeats others; run these machines one by one, by `with_parameters`."
                )


@dataclass(frozen=True, eq=False)
class Fleet:
    """A machine many times over: what follows y, and the parameters, one column for each; the rule by
    which it falls, if falls end its runs.
    """

    machine: ClosedForm
    tail: Floats
    values: Floats
    slack: float = 1.0
    rule: FallRule | None = None

    @cached_property
    def floors(self) -> Floats:
        """The least sizes that the pivots may have, `slack` times those of single runs."""
        return self.slack * self.machine.floors_for(self.values, self.frames)

    @cached_property
    def tables(self) -> list[Floats]:
        """What rates and projections of all machines know of their parameters."""
        return [code.tables(self.values) for code in (self.machine.rate, self.machine.project)]

    @cached_property
    def frames(self) -> tuple[Floats, Floats]:
        """The inner base frames of all machines."""
        return self.machine.frames_for(self.values)

    @cached_property
    def watch(self) -> Floats:
        """What integrators know of the fall of each machine; nothing if none ends a run."""
        if self.rule is None:
            return np.zeros((0, self.values.shape[1]))
        return self.rule.watch(rotation(self.frames[0])).reshape(-1, self.values.shape[1])

    @classmethod
    def start(
        cls,
        machine: ClosedForm,
        states: Mapping[str, Floats],
        inputs: Floats,
        parameters: Floats,
        z: Floats,
        rule: FallRule | None = None,
    ) -> "tuple[Fleet, Floats]":
        """Return machines that start from states (q, p, r, v, one column for each), and their y."""
        y = machine.enter_all(states, parameters, z)
        tail = np.vstack([inputs, _anchors(machine, y, parameters)])
        return cls(machine, tail, parameters, rule=rule), y

    def advance(
        self, y: Floats, stops: list[float], numerics: Numerics
    ) -> tuple[Floats, Floats, Floats]:
        """Return the states at the end, the times there, and what is wrong with each, in blocks that
        are shared out over threads. A machine that fell stays where it did.
        """
        method, width, count = numerics.method.equal, self._width, y.shape[1]
        padded = -(-count // width) * width
        problem, spans = self._problem(padded, numerics), _spans(stops, numerics)
        y, wrong = pad_columns(y, padded), np.zeros(padded)
        times = np.full(padded, float(method.times_of(spans[-1], method.steps(spans[-1]))))

        def go(first: int) -> None:
            block = slice(first, first + width)
            for span in spans:
                ended = wrong[block] != 0
                found, status, falls = method.many(problem(block), y[:, block], span)
                y[:, block] = np.where(ended, y[:, block], found)
                times[block] = np.where(~ended & (status == FELL), falls, times[block])
                wrong[block] = np.where(ended, wrong[block], status)

        _share_out(go, range(0, padded, width), numerics.threads)
        return y[:, :count], times[:count], wrong[:count]

    def single_error(
        self, y: Floats, end: Floats, stops: list[float], numerics: Numerics
    ) -> Floats:
        """Return how far single precision brought the first machines from where double does."""
        few = slice(self.machine.rate.lanes * BLOCK)
        first = Fleet(self.machine, self.tail[:, few], self.values[:, few], rule=self.rule)
        exact, *_ = first.advance(y[:, few], stops, replace(numerics, precision="double"))
        away = np.abs((end[:, few] - exact) / (1.0 + np.abs(exact)))
        return np.array(np.max(away, where=np.isfinite(away), initial=0.0))

    def record(self, y: Floats, stops: list[float], numerics: Numerics, take: "Take") -> None:
        """Let `take` have all samples of all machines, in groups of some blocks that are shared out
        over threads: which columns, the times, what programs read (time, inputs, columns), which sample
        is the last of each, and what is wrong with it.
        """
        width, count, spans = self._width, y.shape[1], _spans(stops, numerics)
        size, method = -(-count // width) * width, numerics.method.equal
        problem, times = self._problem(size, numerics), _sample_times(spans, method)
        tail, y = pad_columns(self.tail, size), pad_columns(y, size)

        def go(first: int) -> None:
            here = slice(first, min(first + GROUP * width, size))
            problems = [problem(slice(k, k + width)) for k in range(first, here.stop, width)]
            x = np.empty((len(times), 1 + len(y) + len(tail), here.stop - first))
            samples = x[:, 1 : 1 + len(y)]
            x[:, 0], samples[0], x[:, 1 + len(y) :] = times[:, None], y[:, here], tail[:, here]
            ends, wrong = _record(problems, samples, spans, method)
            take(slice(first, min(here.stop, count)), times, x, ends, wrong)

        _share_out(go, range(0, size, GROUP * width), numerics.threads)

    @property
    def _width(self) -> int:
        return self.machine.rate.lanes * BLOCK

    def _problem(self, padded: int, numerics: Numerics) -> Callable[[slice], Problem]:
        """Return what gives the problem of a block of machines, of so many."""
        rate, project = self.machine.rate, self.machine.project
        tables = [pad_columns(table, padded) for table in self.tables]
        tail, floors, watch = (pad_columns(x, padded) for x in (self.tail, self.floors, self.watch))
        single = numerics.precision == "single"
        return lambda block: Problem(
            rate.single_address if single else rate.wide_address,
            _halved(tables[0][:, block]) if single else tables[0][:, block],
            rate.outputs.size,
            tail[:, block],
            floors[:, block],
            project,
            tables[1][:, block],
            self.machine.layout.r.stop,
            block.stop - block.start,
            watch=watch[:, block],
        )

    def look(self, y: Floats, times: Floats) -> dict[str, Floats]:
        """Return what is seen of all machines, each at its time."""
        machine, observe = self.machine, self.machine.observe
        at, x = machine.layout, np.vstack([times, y, self.tail])
        seen = observe.batch(x, observe.tables(self.values))
        q, p = machine.user_pose(y[at.q], y[at.p], self.frames)
        return {"q": q, "p": p, "r": y[at.r]} | seen


def _share_out(go: Callable[[int], None], blocks: range, threads: int | None) -> None:
    """Do blocks of work on some threads, by default as many as there are; on one without another."""
    workers = min(threads or os.cpu_count() or 1, len(blocks))
    if workers == 1:
        list(map(go, blocks))
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(go, blocks))


def _halved(table: Floats) -> Floats:
    """Return a table in single precision, two numbers in the place of each double."""
    return np.ascontiguousarray(table, dtype=np.float32).view(float)


Take = Callable[[slice, Floats, Floats, NDArray[np.intp], Floats], None]
"""What takes samples of machines, see `Fleet.record`."""


def _sample_times(spans: list[Span], method: EqualSteps) -> Floats:
    """Return the times of all steps, each once."""
    parts = [method.times(span) for span in spans]
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])


def _record(
    problems: list[Problem], samples: Floats, spans: list[Span], method: EqualSteps
) -> tuple[NDArray[np.intp], Floats]:
    """Fill in samples (time, entries, columns), of which the first are given; return which is the last
    of each column, and what is wrong with it.
    """
    width, last, at = problems[0].count, len(samples) - 1, 0
    wrong, ends = np.zeros(samples.shape[2]), np.full(samples.shape[2], last)
    for span in spans:
        status, end = np.zeros(len(wrong)), at + method.steps(span)
        for k, problem in enumerate(problems):
            here = slice(k * width, (k + 1) * width)
            _, found, status[here] = method.record(problem, samples[at, :, here], span)
            samples[at + 1 : end + 1, :, here] = found[1:]
        bad = np.flatnonzero((wrong == 0) & (status != 0))
        own = samples[at : end + 1, :, bad]
        moves = (own[1:] != own[:-1]).any(axis=1) & np.isfinite(own[1:]).all(axis=1)
        ends[bad] = at + np.where(moves.any(axis=0), len(moves) - moves[::-1].argmax(axis=0), 0)
        wrong[bad], at = status[bad], end
    wrong[(wrong == DEGENERATE) & (ends == last)] = 0  # only what came next would need others
    return ends, wrong


def _spans(stops: list[float], numerics: Numerics) -> list[Span]:
    return [Span(t0, t1, numerics.dt, np.array([t1])) for t0, t1 in pairwise(stops)]


def _anchors(machine: ClosedForm, y: Floats, parameters: Floats) -> Floats:
    """Return where the pins of each machine hold their points: where they are at the start."""
    pins = [k for k, c in enumerate(machine.system.model.contacts) if c.anchored]
    if not pins:
        return np.zeros((0, y.shape[1]))
    observe = machine.observe
    x = observe.inputs.pack(**machine.layout.split(y))
    points = observe.batch(x, observe.tables(parameters))["points"]
    return points.reshape(-1, 3, y.shape[1])[pins].reshape(-1, y.shape[1])


def _alone(task: Task, k: int, out: dict[str, Floats]) -> tuple[str, float]:
    """Fill the k-th column by a run of its own; return how it ended, and when."""
    try:
        run = run_bilateral(task)
    except SimulationError as error:
        for array in out.values():
            array[:, k] = np.nan
        return error.partial.outcome, float(error.partial.t[-1])
    arc, end = run.arcs[-1], run.final()
    found = dict(arc.observations) | {"q": end.q[:, None], "p": end.p[:, None], "r": end.r[:, None]}
    for name, array in out.items():
        array[:, k] = found[name][:, -1]
    return run.outcome, float(arc.t[-1]) if has_fallen(run.outcome) else task.until


def _columns(
    kind: str, names: list[str], nominal: Floats, count: int, changes: Mapping[str, Any]
) -> Floats:
    """Return values by name, one column per machine."""
    values = np.repeat(nominal[:, None], count, axis=1)
    if not isinstance(changes, Mapping):
        raise ParameterError(f"{kind}s: {changes!r:.80} is no table of numbers by name.")
    for name, column in changes.items():
        expect_known(f"no {kind}", name, names)
        if np.ndim(column) > 0 and len(column) != count:
            raise ParameterError(f"{kind} {name}: {len(column)} values for {count} machines.")
        try:
            values[names.index(name)] = column
        except (OverflowError, TypeError, ValueError):
            raise ParameterError(f"{kind} {name}: {column!r:.80} is not numbers.") from None
        if not np.isfinite(values[names.index(name)]).all():
            raise ParameterError(f"{kind} {name}: {column!r} is not finite throughout.")
    return values
