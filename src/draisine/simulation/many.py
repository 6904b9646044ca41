"""Many runs at once: SIMD lanes and threads for ideal contacts, threads only on a terrain.

With ideal contacts, each SIMD lane integrates one state (with its own parameters), and blocks of lanes are
distributed over threads. On a terrain, each thread simulates one system after the other (`contact.many`).
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, SimulationError, ValidityWarning, expect, expect_known
from draisine.mechanics.readings import law_states
from draisine.simulation import run_kinds
from draisine.simulation.bilateral import STOP_REASONS, run_bilateral
from draisine.simulation.contact.many import as_objects, end_of, run_each, tabulate
from draisine.simulation.integrators import (
    DEGENERATE_PIVOT,
    FELL_FLAT,
    MACHINE_FELL,
    VALUE_NOT_FINITE,
    EqualSteps,
    Problem,
    Span,
)
from draisine.simulation.options import (
    CONTACT,
    NUMERICS,
    ContactOptions,
    Numerics,
    Progress,
    Task,
    check_quaternion,
    memory_start,
    report_progress,
)
from draisine.simulation.run_kinds import check_options
from draisine.simulation.simulate import run_task
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity.assess import FORCE_RESOLUTION
from draisine.simulation.validity.fall import FallRule, fall_rule, has_fallen
from draisine.system.artifacts import find_invalid_machines
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import pad_columns
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain
from draisine.vehicles import check_numbers

REGISTERS_PER_BLOCK = 4
"""Number of SIMD registers per state variable in a block of lanes: enough to fill the pipelines of a core,
few enough for its cache.
"""

BLOCKS_PER_GROUP = 8
"""Number of blocks of lanes whose samples are evaluated together."""

LONG_STEP_OUTCOMES = (STOP_REASONS[VALUE_NOT_FINITE], STOP_REASONS[FELL_FLAT])
"""Outcomes of runs whose cause may be that the integration steps are too long."""

RETRY_STEP_FACTOR = 5
"""Factor by which steps are shortened to check whether they were too long."""

MANY_NUMERICS = Numerics(integrator="rk4", dt=0.005)
"""Default numerical options of `simulate_many`."""


def simulate_many(
    system: System,
    states: Sequence[State],
    until: float,
    *,
    terrain: Terrain | Sequence[Terrain] | None = None,
    parameters: Mapping[str, Sequence[float]] | None = None,
    inputs: Mapping[str, float | Sequence[float]] | None = None,
    law: Law | None = None,
    contact: ContactOptions = CONTACT,
    numerics: Numerics | None = None,
    progress: Progress = None,
    trajectories: bool = False,
) -> dict[str, NDArray[Any]]:
    """Simulate many instances of a system (machines); return their final states and outputs.

    Without a terrain contacts are ideal. The integration takes equal steps no longer than `numerics.dt`, by
    default by RK4 with 5 ms. Results equal those of `simulate` with the same method (dop853 takes equal
    steps here). Machines that need other pivots are simulated one by one. Equal steps must be short compared
    with the fastest motion, such as that of a stiff control loop; a warning says if shorter ones are needed.

    On a terrain each run equals that of `simulate` with the same arguments. If a run stops by an error, the
    others continue.

    Parameters
    ----------
    system
        Compiled system, of which each machine is an instance.
    states
        Initial state of each machine.
    until
        Time of the end, s.
    terrain
        The ground, with unilateral contacts: one for all machines, or one for each.
    parameters, inputs
        Values by name, one for each machine or one for all.
    law
        Control law.
    contact
        Without a terrain `mode` and `fall` apply. A machine that falls stops after the step in which it
        falls.
    numerics
        `threads` limits the number of threads; by default there is one per core. Without a terrain,
        `precision="single"` computes accelerations in single precision, twice as many at once; states are
        summed and projected in double precision. Machines that stop are simulated again in double precision.
    progress
        On a terrain: True shows a progress bar; a function receives the fraction of the runs that is done.
    trajectories
        On a terrain: whether to return the whole motion of each machine.

    Returns
    -------
    dict
        Arrays with one column per machine: `q`, `p`, `r`, `v`, `outputs`, and the other outputs of
        `ClosedForm.observe`; `outcome` and `time` (s) of the end. Arrays of a run that stopped, other than
        by a fall, are NaN. In single precision `error` is the largest difference of the first machines from
        double precision, over all entries of y = (q, p, r, u, z), each relative to one plus its magnitude.

        On a terrain also `events`, the number of events of each run, `errors`, the exception that stopped a
        run (its `partial` is the motion until then) or None, and on request `trajectories`, the motion of
        each run or None.

    Raises
    ------
    SimulationError
        If the call is interrupted from the keyboard on a terrain. Runs under way finish; `partial` is the
        result of all finished runs, and the outcome of the others is "not run".

    Warns
    -----
    ValidityWarning
        If machines fall or stop by an error, or, without a terrain, if the ground pulls a wheel at the end.
        Earlier forces are not examined.

    Examples
    --------
    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> end = simulate_many(bicycle, [start] * 5, 1.0, parameters={"mB": [80, 82, 84, 86, 88]})
    >>> end["v"].shape
    (9, 5)
    >>> from draisine.terrain import rough
    >>> grounds = [rough(0.01, at=2.0, length=2.0, width=1.0, seed=seed) for seed in range(3)]
    >>> end = simulate_many(bicycle, [start] * 3, 0.5, terrain=grounds)
    >>> end["outcome"].tolist()
    ['completed', 'completed', 'completed']
    """
    _check_states(states)
    if terrain is not None:
        return _simulate_on_terrain(
            system, states, until, terrain, parameters or {}, inputs or {}, law, contact,
            NUMERICS if numerics is None else numerics, progress, trajectories,
        )  # fmt: skip
    if progress is not None or trajectories:
        raise ParameterError(
            "simulate_many: progress and trajectories need a terrain; leave them out."
        )
    numerics = MANY_NUMERICS if numerics is None else numerics
    task = Task(system, states[0], until, None, law, None, contact, numerics, None)
    check_options(run_kinds.MANY_ON_PLANE, task)
    _check_redundant_rows(system, task, parameters or {})
    machine = system.machine(task.mode, law, law_states(law))
    count = len(states)
    starts = [memory_start(system, state, law, machine.states) for state in states]
    z = np.array(starts).T.reshape(machine.memory, count)
    w = _columns("input", list(system.model.inputs), system.inputs(), count, inputs or {})
    values = _parameters(system, count, parameters or {})
    rule = fall_rule(system.model, contact.fall)
    fleet, y = Fleet.start(machine, machine.columns_of(states), w, values, z, rule)
    end, times, status = fleet.advance(y, task.edges, numerics)
    out = fleet.observe(end, times)
    error = {}
    if numerics.precision == "single":
        valid = np.where(status, np.nan, end)
        error["error"] = fleet.single_error(y, valid, task.edges, numerics)
    ends = [("completed", until)] * count
    for k in np.flatnonzero(status == MACHINE_FELL).tolist():
        ends[k] = rule.outcome(out["q"][:, k]), float(times[k])
    # Machines that stopped, perhaps because their pivots degenerate, are simulated one by one.
    singles = {}
    for k in np.flatnonzero((status != 0) & (status != MACHINE_FELL)).tolist():
        changes = {name: float(column[k]) for name, column in (parameters or {}).items()}
        input_values = dict(zip(system.model.inputs, w[:, k].tolist(), strict=True))
        singles[k] = replace(
            task,
            system=system.with_parameters(**changes),
            state=states[k],
            inputs=input_values,
        )
        ends[k] = _simulate_single(singles[k], k, out)
    outcome, time = zip(*ends, strict=True)
    _warn_long_steps(singles, outcome)
    _warn_invalid(system, outcome, out["forces"])
    return out | error | {"outcome": np.array(outcome), "time": np.array(time)}


def _simulate_on_terrain(
    system: System,
    states: Sequence[State],
    until: float,
    terrain: Terrain | Sequence[Terrain],
    parameters: Mapping[str, Any],
    inputs: Mapping[str, Any],
    law: Law | None,
    contact: ContactOptions,
    numerics: Numerics,
    progress: Progress,
    keeps: bool,
) -> dict[str, NDArray[Any]]:
    """Simulate many machines on terrain, each as `simulate` does; see `simulate_many`."""
    count = len(states)
    if isinstance(terrain, str) or not isinstance(terrain, Iterable):
        expect("terrain", terrain, Terrain, "draisine.terrain.plane() makes one")
    grounds = [terrain] * count if isinstance(terrain, Terrain) else list(terrain)
    if len(grounds) != count:
        raise ParameterError(f"terrain: {len(grounds)} grounds for {count} machines.")
    for ground in grounds:
        expect("terrain", ground, Terrain, "draisine.terrain.plane() makes one")
    w = _columns("input", list(system.model.inputs), system.inputs(), count, inputs)
    values = _parameters(system, count, parameters)
    names = list(system.parameters)
    changed = [(name, names.index(name)) for name in parameters]
    threads = numerics.threads
    first = Task(system, states[0], until, grounds[0], law, None, contact, numerics, None)
    check_options(run_kinds.MANY_ON_TERRAIN, first)
    numerics = replace(numerics, threads=None)  # `simulate` does not use it

    def simulate_one(k: int) -> Trajectory:
        machine = system
        if changed:
            machine = system.with_parameters(**{name: float(values[i, k]) for name, i in changed})
        held = dict(zip(system.model.inputs, w[:, k].tolist(), strict=True))
        task = Task(machine, states[k], until, grounds[k], law, held, contact, numerics, None)
        return run_task(task)

    text = f"simulating {count} runs of {system.vehicle.__name__}"
    with report_progress(progress, text, count) as report:
        endings, interrupted = run_each(
            simulate_one, count, threads, report, partial(end_of, keeps=keeps)
        )
    result = tabulate(endings)
    if keeps:
        result["trajectories"] = as_objects(
            [None if ending is None else ending.trajectory for ending in endings]
        )
    if interrupted:
        finished = sum(ending is not None for ending in endings)
        raise SimulationError(
            f"simulate_many was interrupted after {finished} of {count} runs. Their results are in the "
            "error's `partial`.",
            result,
        )
    _warn_stopped(system, result)
    return result


def _warn_stopped(system: System, result: Mapping[str, NDArray[Any]]) -> None:
    """Warn once of the runs on terrain that fell or stopped by an error."""
    stopped = np.array([error is not None for error in result["errors"]])
    fallen = np.array([has_fallen(text) for text in result["outcome"]]) & ~stopped
    _warn_faults(system, {"fell": fallen, "stopped by an error": stopped})


def _warn_invalid(system: System, outcome: Sequence[str], forces: Floats) -> None:
    """Warn once of runs that are not physically valid, judged by their final forces."""
    fallen = np.array([has_fallen(text) for text in outcome])
    largest = np.nanmax(np.abs(forces), axis=0, initial=0.0)
    pulled = np.zeros(len(fallen), bool)
    for k, contact in enumerate(system.model.contacts):
        if contact in system.model.wheels:
            pulled |= forces[3 * k] < -FORCE_RESOLUTION * largest
    faults = {"fell": fallen, "end while the ground pulls a wheel": pulled & ~fallen}
    _warn_faults(system, faults)


def _warn_faults(system: System, faults: Mapping[str, NDArray[np.bool_]]) -> None:
    """Warn once of runs that are not physically valid; `faults` has one mask (runs) per description of a
    fault.
    """
    reasons = [
        f"{int(machines.sum())} {fault} (the first is machine {int(machines.argmax())})"
        for fault, machines in faults.items()
        if machines.any()
    ]
    if reasons:
        marks = np.array(list(faults.values()))
        warnings.warn(
            f"{int(marks.any(axis=0).sum())} of {marks.shape[1]} runs of {system.vehicle.__name__} are not "
            f"physically valid: {'; '.join(reasons)}.",
            ValidityWarning,
            stacklevel=4,
        )


def _check_states(states: Any) -> None:
    """Raise ParameterError unless `states` is a list of at least one state."""
    if isinstance(states, State):
        raise ParameterError("simulate_many: pass a list of states, such as [state] * 100.")
    if not states:
        raise ParameterError("simulate_many: the list of states is empty.")
    for state in states:
        if isinstance(state, State):
            check_quaternion(state)


def _parameters(system: System, count: int, changes: Mapping[str, Any]) -> Floats:
    """Return the parameters (parameters, machines) of many machines; raise ParameterError if a machine is
    physically invalid.
    """
    changed = check_numbers(system.vehicle, system.parameters, changes)
    values = _columns("parameter", list(system.parameters), system.values, count, changed)
    if changed:  # the parameters of the system itself are valid
        for k, text in find_invalid_machines(system.artifacts, values).items():
            raise ParameterError(f"machine {k}: {text}")
    return values


def _warn_long_steps(singles: Mapping[int, Task], outcome: Sequence[str]) -> None:
    """Warn if the first machine that stopped would continue with shorter steps without a fall."""
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
        stacklevel=3,
    )


def _check_redundant_rows(system: System, task: Task, parameters: Mapping[str, Any]) -> None:
    """Raise ParameterError if a constraint row is redundant only for one value of a parameter that differs
    among machines.
    """
    if not parameters:
        return
    for row in system.survey(task.mode).redundant:
        for name in row.parameters:
            if name in parameters:
                raise ParameterError(
                    f"parameter {name}: for other values the constraint row {row.label!r} is no longer "
                    "redundant. Simulate these machines one by one, with `with_parameters`."
                )


@dataclass(frozen=True, eq=False)
class Fleet:
    """Many instances of a system (machines), with the same equations of motion and different states, inputs
    and parameters.
    """

    machine: ClosedForm
    tail: Floats  # (inputs and anchors, machines) inputs of the programs that follow y
    values: Floats  # (parameters, machines) values of the parameters
    slack: float = 1.0  # factor of the smallest allowed pivots, relative to single runs
    rule: FallRule | None = None  # conditions of a fall; None if falls do not end a run

    @cached_property
    def floors(self) -> Floats:
        """The smallest allowed magnitudes of the pivots (pivots, machines), below which a machine stops."""
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
        """Return a fleet with the given initial states (q, p, r, v; one column per machine), and its state
        array y.
        """
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
        """Return the largest difference of the first block's final states from double precision."""
        block = slice(self._width)
        first = Fleet(self.machine, self.tail[:, block], self.values[:, block], rule=self.rule)
        exact, *_ = first.advance(y[:, block], stops, replace(numerics, precision="double"))
        difference = np.abs((end[:, block] - exact) / (1.0 + np.abs(exact)))
        return np.array(np.max(difference, where=np.isfinite(difference), initial=0.0))

    def record(self, y: Floats, stops: list[float], numerics: Numerics, take: "Take") -> None:
        """Integrate all machines and pass all samples to `take`, in groups of blocks distributed over
        threads.
        """
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
        """Return a function that makes the problem of a block of machines; `padded` is the total number of
        machines.
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
        """Return all outputs of all machines, each machine at its own time (s)."""
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
    """Return a table of constants in single precision, with two numbers in the memory of each double."""
    return np.ascontiguousarray(table, dtype=np.float32).view(float)


Take = Callable[[slice, Floats, Floats, NDArray[np.intp], Floats], None]
"""Type of a function that receives the samples of a group of machines: their columns, the times (s), the
inputs of the programs (times, inputs, columns), the index of the last sample of each machine, and its status.
"""


def _sample_times(spans: list[Span], method: EqualSteps) -> Floats:
    """Return the times (s) of all steps, each once."""
    parts = [method.times(span) for span in spans]
    return np.concatenate([parts[0], *(part[1:] for part in parts[1:])])


def _record(
    problems: list[Problem], samples: Floats, spans: list[Span], method: EqualSteps
) -> tuple[NDArray[np.intp], Floats]:
    """Fill samples (times, n, columns) after the first one; return the index of the last sample of each
    column, and its status.
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
    """Return the anchor points of the pins of each machine, which are their initial positions."""
    pins = [k for k, c in enumerate(machine.system.model.contacts) if c.anchored]
    if not pins:
        return np.zeros((0, y.shape[1]))
    observe = machine.observe
    x = observe.inputs.pack(**machine.layout.split(y))
    points = observe.batch(x, observe.tables(parameters))["points"]
    return points.reshape(-1, 3, y.shape[1])[pins].reshape(-1, y.shape[1])


def _simulate_single(task: Task, k: int, out: dict[str, Floats]) -> tuple[str, float]:
    """Fill column k of the outputs by a separate run; return its outcome and its final time (s)."""
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


def _columns(
    kind: str, names: list[str], nominal: Floats, count: int, changes: Mapping[str, Any]
) -> Floats:
    """Return values by name as an array (names, count) with one column per machine."""
    values = np.repeat(nominal[:, None], count, axis=1)
    if not isinstance(changes, Mapping):
        raise ParameterError(f"{kind}s: {changes!r:.80} is not a table of numbers by name.")
    for name, column in changes.items():
        expect_known(f"no {kind}", name, names)
        if np.ndim(column) > 0 and len(column) != count:
            raise ParameterError(f"{kind} {name}: {len(column)} values for {count} machines.")
        try:
            values[names.index(name)] = column
        except (OverflowError, TypeError, ValueError):
            raise ParameterError(
                f"{kind} {name}: {column!r:.80} does not consist of numbers."
            ) from None
        if not np.isfinite(values[names.index(name)]).all():
            raise ParameterError(f"{kind} {name}: {column!r:.80} has values that are not finite.")
    return values
