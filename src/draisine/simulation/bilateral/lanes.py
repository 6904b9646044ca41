"""Many runs with ideal contacts at once, in SIMD lanes and threads.

Each SIMD lane integrates the state of one machine with the parameters of this machine. Threads share the
blocks of lanes.
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
from draisine.errors import ParameterError, SimulationError
from draisine.mechanics.readings import law_states
from draisine.simulation.bilateral.run import STOP_REASONS, run_bilateral
from draisine.simulation.integrators import (
    DEGENERATE_PIVOT,
    FELL_FLAT,
    MACHINE_FELL,
    VALUE_NOT_FINITE,
    EqualSteps,
    Problem,
    Span,
)
from draisine.simulation.options import Batch, Numerics, Task, memory_start
from draisine.simulation.validity.assess import FORCE_RESOLUTION
from draisine.simulation.validity.fall import FallRule, fall_rule, has_fallen
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import pad_columns
from draisine.system.system import System

REGISTERS_PER_BLOCK = 4
"""Number of SIMD registers per state variable in a block of lanes.

Four registers keep the pipelines of a core busy, and the block fits into the cache of the core.
"""

BLOCKS_PER_GROUP = 8
"""Number of blocks of lanes that `Fleet.record` passes on together, for one evaluation of the samples."""

LONG_STEP_OUTCOMES = (STOP_REASONS[VALUE_NOT_FINITE], STOP_REASONS[FELL_FLAT])
"""Outcomes that too long integration steps may cause; such runs are repeated with shorter steps."""

RETRY_STEP_FACTOR = 5
"""Ratio of the step length of a run to that of its repetition, which checks whether steps were too long."""


def run_lanes(batch: Batch) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.bool_]]]:
    """Simulate many machines with ideal contacts by equal steps, see `simulate_many`.

    Return the result of `simulate_many`, and the faults: description -> mask (machines,) of the machines with
    this fault.
    """
    if batch.progress is not None or batch.trajectories:
        raise ParameterError(
            "simulate_many: progress and trajectories need a terrain; leave them out."
        )
    task = batch.task
    system = task.system
    numerics = task.numerics
    _check_redundant_rows(batch)
    machine = system.machine(task.mode, task.law, law_states(task.law))
    count = len(batch.states)
    starts = [memory_start(system, state, task.law, machine.states) for state in batch.states]
    z = np.array(starts).T.reshape(machine.memory, count)
    rule = fall_rule(system.model, task.contact.fall)
    columns = machine.columns_of(batch.states)
    fleet, y = Fleet.start(machine, columns, batch.inputs, batch.parameters, z, rule)
    end, times, status = fleet.advance(y, task.edges, numerics)
    out = fleet.observe(end, times)
    error = {}
    if numerics.precision == "single":
        valid = np.where(status, np.nan, end)
        error["error"] = fleet.single_error(y, valid, task.edges, numerics)
    ends = [("completed", task.until)] * count
    for k in np.flatnonzero(status == MACHINE_FELL).tolist():
        ends[k] = rule.outcome(out["q"][:, k]), float(times[k])
    # Machines that stopped, perhaps because their pivots degenerate, are simulated one by one.
    singles = {}
    for k in np.flatnonzero((status != 0) & (status != MACHINE_FELL)).tolist():
        singles[k] = batch.task_of(k)
        ends[k] = _simulate_single(singles[k], k, out)
    outcome, time = zip(*ends, strict=True)
    _warn_long_steps(singles, outcome)
    result = out | error | {"outcome": np.array(outcome), "time": np.array(time)}
    return result, _find_faults(system, outcome, out["forces"])


def _find_faults(
    system: System, outcome: Sequence[str], forces: Floats
) -> dict[str, NDArray[np.bool_]]:
    """Return masks (machines,) of runs with a fault, by description, from outcomes and final forces (N)."""
    fallen = np.array([has_fallen(text) for text in outcome])
    largest = np.nanmax(np.abs(forces), axis=0, initial=0.0)
    pulled = np.zeros(len(fallen), bool)
    for k, contact in enumerate(system.model.contacts):
        if contact in system.model.wheels:
            pulled |= forces[3 * k] < -FORCE_RESOLUTION * largest
    return {"fell": fallen, "end while the ground pulls a wheel": pulled & ~fallen}


def _warn_long_steps(singles: Mapping[int, Task], outcome: Sequence[str]) -> None:
    """Repeat the first run that stopped with shorter steps; warn if it then completes without a fall."""
    k = next((k for k in singles if outcome[k] in LONG_STEP_OUTCOMES), None)
    if k is None:
        return
    task = singles[k]
    short = replace(task.numerics, dt=task.numerics.dt / RETRY_STEP_FACTOR)
    try:
        run = run_bilateral(replace(task, numerics=short))
    except SimulationError:
        return
    if has_fallen(run.outcome):
        return
    warnings.warn(
        f"machine {k} stopped: {outcome[k]}; with shorter steps it does not: "
        f"Numerics(integrator={short.integrator!r}, dt={short.dt:g}).",
        stacklevel=4,
    )


def _check_redundant_rows(batch: Batch) -> None:
    """Raise ParameterError if a varied parameter decides whether a constraint row is redundant."""
    if not batch.changed:
        return
    for row in batch.task.system.survey(batch.task.mode).redundant:
        for name in row.parameters:
            if name in batch.changed:
                raise ParameterError(
                    f"parameter {name}: for other values the constraint row {row.label!r} is no longer "
                    "redundant. Simulate these machines one by one, with `with_parameters`."
                )


@dataclass(frozen=True, eq=False)
class Fleet:
    """Many instances of a system (machines), with different states, inputs and parameters."""

    machine: ClosedForm
    tail: Floats  # (inputs and anchors, machines) inputs of the programs that follow y
    values: Floats  # (parameters, machines) values of the parameters
    slack: float = 1.0  # ratio of the smallest allowed pivots to those of single runs
    rule: FallRule | None = None  # conditions of a fall; None if falls do not end a run

    @cached_property
    def floors(self) -> Floats:
        """The smallest allowed magnitudes of the pivots, (pivots, machines), before a machine stops."""
        return self.slack * self.machine.floors_for(self.values, self.frames)

    @cached_property
    def tables(self) -> list[Floats]:
        """The constants of the programs for rates and projection, (entries, machines) each."""
        return [code.tables(self.values) for code in (self.machine.rate, self.machine.project)]

    @cached_property
    def frames(self) -> tuple[Floats, Floats]:
        """The internal base frames of all machines: the frames of the compiled equations."""
        return self.machine.frames_for(self.values)

    @cached_property
    def watch(self) -> Floats:
        """The fall conditions of each machine, see `Problem.watch`; empty if falls do not end a run."""
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
        """Return a fleet, and the array y (n, machines) of its initial states q, p, r and v."""
        y = machine.enter_all(states, parameters, z)
        tail = np.vstack([inputs, _anchors(machine, y, parameters)])
        return cls(machine, tail, parameters, rule=rule), y

    def advance(
        self, y: Floats, stops: list[float], numerics: Numerics
    ) -> tuple[Floats, Floats, Floats]:
        """Integrate all machines through intervals between stops (s), in blocks distributed over threads.

        Returns
        -------
        y
            Final states (n, machines). A machine that fell keeps the state of its fall.
        times
            Times of the final states, s.
        status
            Reason why each machine ended, 0 if it reached the end.
        """
        method = numerics.method.equal
        width = self._width
        count = y.shape[1]
        padded = -(-count // width) * width
        problem = self._problem(padded, numerics)
        spans = _spans(stops, numerics)
        y = pad_columns(y, padded)
        status = np.zeros(padded)
        times = np.full(padded, float(method.times_of(spans[-1], method.steps(spans[-1]))))

        def advance_block(first: int) -> None:
            block = slice(first, first + width)
            for span in spans:
                ended = status[block] != 0
                states, new_status, falls = method.many(problem(block), y[:, block], span)
                y[:, block] = np.where(ended, y[:, block], states)
                times[block] = np.where(~ended & (new_status == MACHINE_FELL), falls, times[block])
                status[block] = np.where(ended, status[block], new_status)

        _distribute(advance_block, range(0, padded, width), numerics.threads)
        return y[:, :count], times[:count], status[:count]

    def single_error(
        self, y: Floats, end: Floats, stops: list[float], numerics: Numerics
    ) -> Floats:
        """Return the largest error of single precision in the final states of the first block.

        `y` and `end` are initial and final states (n, machines). Differences are relative to 1 + |exact|.
        """
        block = slice(self._width)
        first = Fleet(self.machine, self.tail[:, block], self.values[:, block], rule=self.rule)
        exact, *_ = first.advance(y[:, block], stops, replace(numerics, precision="double"))
        difference = np.abs((end[:, block] - exact) / (1.0 + np.abs(exact)))
        return np.array(np.max(difference, where=np.isfinite(difference), initial=0.0))

    def record(self, y: Floats, stops: list[float], numerics: Numerics, take: "Take") -> None:
        """Integrate all machines in threads, and pass the samples to `take` in groups of blocks."""
        width = self._width
        count = y.shape[1]
        spans = _spans(stops, numerics)
        size = -(-count // width) * width
        method = numerics.method.equal
        problem = self._problem(size, numerics)
        times = _sample_times(spans, method)
        tail = pad_columns(self.tail, size)
        y = pad_columns(y, size)

        def record_group(first: int) -> None:
            columns = slice(first, min(first + BLOCKS_PER_GROUP * width, size))
            problems = [problem(slice(k, k + width)) for k in range(first, columns.stop, width)]
            x = np.empty((len(times), 1 + len(y) + len(tail), columns.stop - first))
            samples = x[:, 1 : 1 + len(y)]
            x[:, 0] = times[:, None]
            samples[0] = y[:, columns]
            x[:, 1 + len(y) :] = tail[:, columns]
            ends, status = _record(problems, samples, spans, method)
            take(slice(first, min(columns.stop, count)), times, x, ends, status)

        _distribute(record_group, range(0, size, BLOCKS_PER_GROUP * width), numerics.threads)

    @property
    def _width(self) -> int:
        """The number of machines in a block."""
        return self.machine.rate.lanes * REGISTERS_PER_BLOCK

    def _problem(self, padded: int, numerics: Numerics) -> Callable[[slice], Problem]:
        """Return a function that makes the initial value problem of a block (slice) of machines.

        `padded` is the number of machines after padding to whole blocks.
        """
        rate = self.machine.rate
        project = self.machine.project
        tables = [pad_columns(table, padded) for table in self.tables]
        tail, floors, watch = (pad_columns(x, padded) for x in (self.tail, self.floors, self.watch))
        single = numerics.precision == "single"
        return lambda block: Problem(
            rate.single_address if single else rate.wide_address,
            _to_single(tables[0][:, block]) if single else tables[0][:, block],
            rate.outputs.size,
            tail[:, block],
            floors[:, block],
            project,
            tables[1][:, block],
            self.machine.layout.r.stop,
            block.stop - block.start,
            watch=watch[:, block],
        )

    def observe(self, y: Floats, times: Floats) -> dict[str, Floats]:
        """Return all outputs by name at states y (n, machines) and times (machines,), s."""
        machine = self.machine
        layout = machine.layout
        x = np.vstack([times, y, self.tail])
        outputs = machine.observe.batch(x, machine.observe.tables(self.values))
        q, p = machine.user_pose(y[layout.q], y[layout.p], self.frames)
        return {"q": q, "p": p, "r": y[layout.r]} | outputs


def _distribute(work: Callable[[int], None], blocks: range, threads: int | None) -> None:
    """Call `work` for each block on `threads` threads, by default one per core."""
    workers = min(threads or os.cpu_count() or 1, len(blocks))
    if workers == 1:
        # Without a pool, an interruption from the keyboard stops at once.
        list(map(work, blocks))
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, blocks))


def _to_single(table: Floats) -> Floats:
    """Return a table of constants in single precision, as an array of doubles that holds two numbers each."""
    return np.ascontiguousarray(table, dtype=np.float32).view(float)


Take = Callable[[slice, Floats, Floats, NDArray[np.intp], Floats], None]
"""Type of a function that receives the samples of a group of machines.

Arguments: columns of the machines, times (s), inputs of the programs (times, inputs, columns), index of the
last sample of each machine, and status of each machine (0: it reached the end).
"""


def _sample_times(spans: list[Span], method: EqualSteps) -> Floats:
    """Return the times (s) of all steps of successive intervals, without repeated end points."""
    parts = [method.times(span) for span in spans]
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])


def _record(
    problems: list[Problem], samples: Floats, spans: list[Span], method: EqualSteps
) -> tuple[NDArray[np.intp], Floats]:
    """Integrate and store all samples (times, n, columns); the first sample is given.

    Return the index of the last valid sample and the status of each column, (columns,).
    """
    width = problems[0].count
    last = len(samples) - 1
    status = np.zeros(samples.shape[2])
    ends = np.full(samples.shape[2], last)
    begin = 0
    for span in spans:
        new_status = np.zeros(len(status))
        end = begin + method.steps(span)
        for k, problem in enumerate(problems):
            block = slice(k * width, (k + 1) * width)
            _, states, new_status[block] = method.record(problem, samples[begin, :, block], span)
            samples[begin + 1 : end + 1, :, block] = states[1:]
        stopped = np.flatnonzero((status == 0) & (new_status != 0))
        # A column that stops repeats its last valid state: its end is the last change.
        states = samples[begin : end + 1, :, stopped]
        changes = (states[1:] != states[:-1]).any(axis=1) & np.isfinite(states[1:]).all(axis=1)
        last_change = len(changes) - changes[::-1].argmax(axis=0)
        ends[stopped] = begin + np.where(changes.any(axis=0), last_change, 0)
        status[stopped] = new_status[stopped]
        begin = end
    # A pivot that degenerates at the final state is no error: it matters only if the run were continued.
    status[(status == DEGENERATE_PIVOT) & (ends == last)] = 0
    return ends, status


def _spans(stops: list[float], numerics: Numerics) -> list[Span]:
    """Return the intervals between successive stops (s)."""
    return [Span(t0, t1, numerics.dt, np.array([t1])) for t0, t1 in pairwise(stops)]


def _anchors(machine: ClosedForm, y: Floats, parameters: Floats) -> Floats:
    """Return the anchor points (3 pins, machines), m, of the pins: their initial contact points."""
    pins = [k for k, c in enumerate(machine.system.model.contacts) if c.anchored]
    if not pins:
        return np.zeros((0, y.shape[1]))
    observe = machine.observe
    x = observe.inputs.pack(**machine.layout.split(y))
    points = observe.batch(x, observe.tables(parameters))["points"]
    return points.reshape(-1, 3, y.shape[1])[pins].reshape(-1, y.shape[1])


def _simulate_single(task: Task, k: int, out: dict[str, Floats]) -> tuple[str, float]:
    """Fill column k of the outputs `out` by a separate run of the task; return outcome and final time (s)."""
    try:
        run = run_bilateral(task)
    except SimulationError as error:
        for array in out.values():
            array[:, k] = np.nan
        return error.partial.outcome, float(error.partial.t[-1])
    arc = run.arcs[-1]
    end = run.final()
    pose = {"q": end.q[:, None], "p": end.p[:, None], "r": end.r[:, None]}
    values = arc.observations | pose
    for name, array in out.items():
        array[:, k] = values[name][:, -1]
    return run.outcome, float(arc.t[-1]) if has_fallen(run.outcome) else task.until
