"""Runs of a sweep in SIMD lanes, for vehicles of one structure on the plane that differ in numbers only.

All lanes take equal time steps in one contact mode. The samples of a block of lanes are reduced to the
outputs of the sweep as soon as they are computed; no trajectory is stored. All lanes share the pivots of the
constraint elimination. If a pivot becomes too small in a lane, its run is repeated alone with other pivots.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.lie import quaternion_product
from draisine.algebra.scalar import Floats
from draisine.codegen.program import select_outputs
from draisine.control.follow_path import FollowPath
from draisine.control.lqr import LQR
from draisine.errors import DraisineError
from draisine.experiment.sweep.free_law import FreeLaw, replace_constants
from draisine.experiment.sweep.samples import Indices, Samples
from draisine.experiment.sweep.table import (
    FELL_OUTCOME,
    NO_MACHINE,
    NO_START,
    STEER_LIMIT_OUTCOME,
    SweepRows,
    short_outcome,
)
from draisine.mechanics.readings import law_states
from draisine.model.names import state_names
from draisine.registry import find
from draisine.results.queries import (
    SeriesQuery,
    ValidityQuery,
    observed_entry,
    parse_query,
)
from draisine.scenario.plan import Plan
from draisine.simulation.bilateral.lanes import Fleet
from draisine.simulation.bilateral.run import STOP_REASONS
from draisine.simulation.integrators import DEGENERATE_PIVOT
from draisine.simulation.options import GripSchedule, Task
from draisine.simulation.validity.assess import (
    FORCE_RESOLUTION,
    MAX_STEER_ANGLE,
    NEGLIGIBLE_LOAD_RATIO,
    conserves_energy,
    energy_drift,
    friction_ratio,
)
from draisine.simulation.validity.fall import fall_rule
from draisine.simulation.validity.margins import crossing_times
from draisine.simulation.validity.record import MAX_ENERGY_DRIFT
from draisine.system.artifacts import find_invalid_machines
from draisine.system.closed_form import ClosedForm
from draisine.system.compiled import Compiled, pad_columns
from draisine.system.state import State, states
from draisine.system.tracing import UntraceableLawError

PARAMETER_TABLE = "vehicle.parameters."
"""Prefix of the key paths of vehicle parameters, which may differ between lanes."""

INITIAL_TABLE = "initial."
"""Prefix of the key paths of initial values, which may differ between lanes."""

MAX_BLOCK_BYTES = 2**28
"""Largest memory (bytes) for the samples of one block of lanes, 256 MiB."""

LANE_PIVOT_FACTOR = 1e-4
"""Smallest allowed pivot of the constraint elimination in lanes, as a fraction of that of a single run.

A single run would choose other pivots. Only vehicles that are about to fall approach this bound, and their
runs stop. At this bound five of sixteen digits are lost instead of one, which is less than the error of fixed
time steps.
"""

OUTCOME_BY_STATUS = np.array(
    [short_outcome(STOP_REASONS.get(k, "completed")) for k in range(8)], dtype=object
)
"""Short outcomes of a run, indexed by the status code of its integration."""


class Lanes:
    """Simulation of runs in SIMD lanes; they may differ in parameters, initial values and control constants.

    Parameters
    ----------
    plan
        Compiled vehicle, initial values, control law and options that the runs share.
    until
        End time in s.
    outputs
        Names of the outputs of each run.
    free
        Key paths of control-law constants that differ between lanes.
    """

    def __init__(
        self, plan: Plan, until: float, outputs: Sequence[str], free: Sequence[str] = ()
    ) -> None:
        """Prepare the queries and the control law that all lanes share."""
        self.plan = plan
        self.until = until
        self.free = tuple(free)
        model = plan.system.model
        self.law: Any = FreeLaw(plan.law, self.free) if free else plan.law
        self.queries = {text: parse_query(text, model) for text in outputs}

    def fits(self, paths: Sequence[str]) -> bool:
        """Return whether runs that differ in the values at these key paths may share lanes.

        Results in lanes must equal those of single runs. This requires fixed time steps, one contact
        mode, and outputs that are functions of single states.
        """
        plan = self.plan
        numerics = plan.numerics
        parameters = paths_in_table(paths, PARAMETER_TABLE)
        initial = paths_in_table(paths, INITIAL_TABLE)
        return (
            plan.terrain is None
            and plan.start.mode is None
            and plan.motion is None
            and not isinstance(plan.contact.mode, GripSchedule)
            and plan.contact.mu == math.inf
            and numerics.formulation == "projected"
            and numerics.drift == "project"
            and not numerics.method.ADAPTIVE
            and len(parameters) + len(initial) + len(self.free) == len(paths)
            and all(name in plan.system.parameters for name in parameters)
            and all(name in state_names(plan.system.model) for name in initial)
            and all(self._is_observed(query) for query in self.queries.values())
            and not (is_law_designed(plan) and (parameters or "forward_speed" in initial))
            and not any(
                set(row.parameters) & set(parameters)
                for row in plan.system.survey(plan.contact.mode).redundant
            )
            and self._is_traced()
            and self._bytes() < MAX_BLOCK_BYTES
        )

    def _is_observed(self, query: object) -> bool:
        """Return whether an output follows from single states or from the validity record of the run."""
        if isinstance(query, SeriesQuery):
            return observed_entry(query.series, self.plan.system.model) is not None
        return isinstance(query, ValidityQuery)

    def _is_traced(self) -> bool:
        """Return whether the control law can be traced; a plain Python law cannot control lanes."""
        try:
            self.machine.rate  # noqa: B018 - traces the law
        except UntraceableLawError:
            return False
        return True

    def _bytes(self) -> float:
        """Return the memory in bytes for the samples of one block (four SIMD vectors of lanes)."""
        steps = self.until / self.plan.numerics.dt
        return 8.0 * steps * 4 * self.machine.rate.lanes * self.machine.observe.inputs.size

    @cached_property
    def machine(self) -> ClosedForm:
        """Compiled equations of the vehicle in its contact mode, under its control law."""
        plan = self.plan
        assert not isinstance(plan.contact.mode, GripSchedule)
        return plan.system.machine(plan.contact.mode, self.law, law_states(self.law))

    @cached_property
    def _entries(self) -> dict[str, list[int]]:
        """Indices of the required entries in each output of the program `observe`, by name of the output."""
        model = self.plan.system.model
        entries: list[tuple[str, int]] = []
        for query in self.queries.values():
            if isinstance(query, SeriesQuery):
                entry = observed_entry(query.series, model)
                if entry is not None:
                    entries.append(entry)
        # Validity queries need contact forces, and the energy if the system is conservative.
        if any(isinstance(query, ValidityQuery) for query in self.queries.values()):
            entries += [("forces", 3 * k + i) for k in self._wheels for i in range(3)]
            entries += [("kinetic", 0), ("potential", 0)] if self._conserves_energy else []
        by_array: dict[str, list[int]] = {}
        for name, k in dict.fromkeys(entries):
            # Joint coordinates and time are part of the samples and need no program.
            if name not in ("r", "time"):
                by_array.setdefault(name, []).append(k)
        return by_array

    @cached_property
    def _observe(self) -> Compiled | None:
        """Compiled part of the program `observe` that computes `_entries`; None if none are needed."""
        if not self._entries:
            return None
        program = select_outputs(self.machine.programs["observe"], self._entries)
        return self.machine.artifacts.bind(program, self.plan.system.values)

    @property
    def _wheels(self) -> list[int]:
        """Indices of the contacts that are wheels."""
        model = self.plan.system.model
        return [k for k, contact in enumerate(model.contacts) if contact in model.wheels]

    @property
    def _conserves_energy(self) -> bool:
        """Whether the system has neither a control law nor dissipation, so that its energy is constant."""
        return self.plan.law is None and conserves_energy(self.plan.system.model)

    def run(self, columns: Mapping[str, Floats]) -> tuple[SweepRows, list[int]]:
        """Simulate runs with varied values, given as arrays (runs,) by key path.

        Returns
        -------
        SweepRows
            Outputs and outcomes of all runs.
        list of int
            Indices of the runs with too small pivots of the constraint elimination; they must be simulated
            one by one.
        """
        count = len(next(iter(columns.values())))
        system = self.plan.system
        rows = SweepRows.empty(list(self.queries), count)
        # Parameters (parameters, runs). Runs with invalid parameters or law constants are skipped.
        parameters = np.repeat(system.values[:, None], count, axis=1)
        for name, path in paths_in_table(columns, PARAMETER_TABLE).items():
            parameters[list(system.parameters).index(name)] = columns[path]
        invalid = [
            *find_invalid_machines(system.artifacts, parameters),
            *self._invalid_laws(columns),
        ]
        rows.outcome[invalid] = NO_MACHINE
        valid = np.flatnonzero(rows.outcome != NO_MACHINE)
        # Initial states. Runs with infeasible initial values are skipped.
        initial = {name: np.full(count, x) for name, x in self.plan.start.values.items()}
        for name, path in paths_in_table(columns, INITIAL_TABLE).items():
            initial[name] = columns[path]
        arrays, errors = states(
            system,
            {name: x[valid] for name, x in initial.items()},
            at_rest=self.plan.start.at_rest,
            parameters=parameters[:, valid].T,
        )
        feasible = np.array([not text for text in errors], dtype=bool)
        rows.outcome[valid[~feasible]] = NO_START
        runs = valid[feasible]
        if not len(runs):
            return rows, []
        constants = np.array([columns[path][runs] for path in self.free]).reshape(-1, len(runs))
        start_states = {n: x[:, feasible] for n, x in arrays.items()}
        return rows, self._record(start_states, parameters, constants, runs, rows)

    def _invalid_laws(self, columns: Mapping[str, Floats]) -> Iterator[int]:
        """Yield the indices of runs whose constants the control law rejects."""
        constants = (columns[path].tolist() for path in self.free)
        for k, numbers in enumerate(zip(*constants, strict=True)):
            try:
                replace_constants(self.plan.law, dict(zip(self.free, numbers, strict=True)))
            except DraisineError:
                yield k

    def _make_fleet(
        self, arrays: Mapping[str, Floats], parameters: Floats, constants: Floats
    ) -> tuple[Fleet, Floats, list[float]]:
        """Return the lanes, their initial states y (states, runs), and the breakpoints (s) of inputs.

        `arrays` contains q, p, r, v of the initial states; `parameters` (parameters, runs) and `constants`
        (law constants, runs) contain the values of each lane.
        """
        plan = self.plan
        machine = self.machine
        count = parameters.shape[1]

        def make_task(k: int) -> Task:
            """Return the integration task of lane k."""
            q, p, r, v = (arrays[name][:, k] for name in "qprv")
            start = State(q, p, r, v)
            return Task(
                plan.system,
                start,
                self.until,
                None,
                self.law,
                None,
                plan.contact,
                plan.numerics,
                None,
            )

        task = make_task(0)
        inputs = np.repeat(plan.system.inputs()[:, None], count, axis=1)
        z = np.repeat(task.law_start(machine.states)[:, None], count, axis=1)
        pose = np.concatenate([arrays["p"][:2], arrays["q"]])
        if hasattr(self.law, "start_at") and np.any(pose != pose[:, :1]):
            # The initial states of a control law may depend on the initial pose of the vehicle.
            for k in range(count):
                z[:, k] = make_task(k).law_start(machine.states)
        # The varied constants are the last states of the control law, see `FreeLaw`.
        z[len(z) - len(constants) :] = constants
        rule = fall_rule(plan.system.model, plan.contact.fall)
        fleet, y = Fleet.start(machine, arrays, inputs, parameters, z, rule)
        return replace(fleet, slack=LANE_PIVOT_FACTOR), y, task.edges

    def _record(
        self,
        arrays: Mapping[str, Floats],
        parameters: Floats,
        constants: Floats,
        runs: Floats,
        rows: SweepRows,
    ) -> list[int]:
        """Simulate the lanes of these runs and store their outputs in `rows`.

        Return the indices of runs that must be simulated one by one, because a pivot of their constraint
        elimination became too small.
        """
        fleet, y, edges = self._make_fleet(arrays, parameters[:, runs], constants)
        frame = fleet.frames[0]
        tables = None if self._observe is None else self._observe.tables(fleet.values)

        # A diverging run may overflow; its outcome reports the failure.
        @np.errstate(all="ignore")
        def reduce_block(
            block: slice, times: Floats, x: Floats, ends: Indices, status: Floats
        ) -> None:
            """Reduce the samples of one block of lanes to outputs of the sweep, and store them."""
            width = x.shape[2]
            count = block.stop - block.start
            lane_frames = pad_columns(frame[:, block], width)
            fall_times, limit_times = self._fall_times(Samples(times, x, ends), lane_frames)
            # A run ends with the last sample before its fall.
            first = np.fmin(fall_times, limit_times)
            ends = np.minimum(ends, np.maximum(np.searchsorted(times, first, side="right") - 1, 0))
            observed: Mapping[str, Floats] = {}
            if self._observe is not None and tables is not None:
                out = self._observe.batches(x, pad_columns(tables[:, block], width))
                observed = self._observe.outputs.split(out.transpose(1, 0, 2))
            outputs = self._evaluate(Samples(times, x, ends), observed, fall_times, limit_times)
            for text, values in outputs.items():
                rows.outputs[text][runs[block]] = values[:count]
            outcomes = OUTCOME_BY_STATUS[status.astype(int)]
            outcomes[~np.isnan(fall_times)] = FELL_OUTCOME
            outcomes[~np.isnan(limit_times)] = STEER_LIMIT_OUTCOME
            rows.outcome[runs[block]] = outcomes[:count]
            degenerate = (status == DEGENERATE_PIVOT) & np.isnan(first)
            single.extend(runs[block][degenerate[:count]].tolist())

        single: list[int] = []
        fleet.record(y, edges, self.plan.numerics, reduce_block)
        return sorted(single)

    def _fall_times(self, samples: Samples, frames: Floats) -> tuple[Floats, Floats]:
        """Return the times (s) of falls and of steer angles beyond their limit, each (columns,).

        Each column is one run. A time is NaN if the event does not occur, or if the other event occurs first.
        `frames` contains the quaternions (4, columns) of the frames in which the lanes are integrated.
        """
        model = self.plan.system.model
        layout = self.machine.layout
        rule = fall_rule(model, self.plan.contact.fall)
        y = samples.x[:, 1:].transpose(1, 0, 2)
        t = samples.held_times
        fall_times = np.full(len(t), np.nan)
        limit_times = fall_times
        if rule.watches:
            # Falls are defined in world axes: rotate back by the conjugate quaternion.
            conjugate = frames * np.array([[1.0], [-1.0], [-1.0], [-1.0]])
            q = quaternion_product(y[layout.q], conjugate[:, None])
            fall_times = crossing_times(t, samples.hold(rule.margin(q)))
        steer_joints = [k for k, joint in enumerate(model.joints) if joint.name == "steer"]
        if steer_joints:
            margin = MAX_STEER_ANGLE - np.abs(y[layout.r][steer_joints[0]])
            limit_times = crossing_times(t, samples.hold(margin))
        falls_first = fall_times <= np.fmin(fall_times, limit_times)
        return (
            np.where(falls_first, fall_times, np.nan),
            np.where(falls_first, np.nan, limit_times),
        )

    def _evaluate(
        self,
        samples: Samples,
        observed: Mapping[str, Floats],
        fall_times: Floats,
        limit_times: Floats,
    ) -> dict[str, Floats]:
        """Return the outputs of the sweep by name, one value per run (columns,).

        `observed` contains the required entries of the program `observe`, (time, columns).
        """
        model = self.plan.system.model
        t = samples.held_times
        shape = samples.x[:, 1:][:, self.machine.layout.r].transpose(1, 0, 2)

        def series(text: str) -> Floats:
            """Return an observed or sampled time series of all runs, (columns, time)."""
            entry = observed_entry(text, model)
            assert entry is not None
            name, k = entry
            if name == "time":
                return t
            return samples.hold(shape[k] if name == "r" else observed[name][self._entry(name, k)])

        def validity_output(text: str) -> Floats:
            """Return the values of a validity query, one per run (columns,)."""
            if text == "time to fall":
                return fall_times
            forces = self._contact_forces(samples, observed)
            if text == "friction needed":
                ratios = [
                    friction_ratio(
                        force, NEGLIGIBLE_LOAD_RATIO * force[0].max(axis=-1, keepdims=True)
                    )
                    for force in forces
                ]
                return np.max(ratios, axis=0, initial=0.0)
            # A run is valid until the first fall, negative normal force, or energy drift beyond its bound.
            largest = np.abs(forces).max(axis=(0, 1, 3), initial=0.0)[:, None] if forces else 0.0
            pulls = [crossing_times(t, force[0] + FORCE_RESOLUTION * largest) for force in forces]
            drifts = self._energy_drift_times(samples, observed)
            return np.fmin.reduce([fall_times, limit_times, *pulls, drifts])

        return {
            text: query.reduce(t, series(query.series))
            if isinstance(query, SeriesQuery)
            else validity_output(" ".join(text.split()))
            for text, query in self.queries.items()
        }

    def _contact_forces(self, samples: Samples, observed: Mapping[str, Floats]) -> list[Floats]:
        """Return the ground forces on each wheel in N, (3, columns, time): normal, along, across.

        Each column is one run.
        """
        entries = [[self._entry("forces", 3 * k + i) for i in range(3)] for k in self._wheels]
        return [np.array([samples.hold(observed["forces"][i]) for i in rows]) for rows in entries]

    def _energy_drift_times(self, samples: Samples, observed: Mapping[str, Floats]) -> Floats:
        """Return the time (s) at which the energy drift of each run exceeds its bound, (columns,).

        The time is NaN if the drift never exceeds its bound.
        """
        t = samples.held_times
        if not self._conserves_energy:
            return np.full(len(t), np.nan)
        T, U = (
            samples.hold(observed[name][self._entry(name, 0)]) for name in ("kinetic", "potential")
        )
        drift = energy_drift(T, U) > MAX_ENERGY_DRIFT
        return np.where(drift.any(axis=1), t[np.arange(len(t)), drift.argmax(axis=1)], np.nan)

    def _entry(self, name: str, k: int) -> int:
        """Return the index, among the compiled `_entries`, of entry k of the `observe` output `name`."""
        return self._entries[name].index(k)


def is_law_designed(plan: Plan) -> bool:
    """Return whether a control law is designed for each vehicle and speed (LQR, path following)."""
    laws = getattr(plan.scenario, "law", None) or ()
    return any(find("law", str(entry["name"])) in (LQR, FollowPath) for entry in laws)


def paths_in_table(paths: Sequence[str] | Mapping[str, object], table: str) -> dict[str, str]:
    """Return the key paths of one table of the scenario, by the last word of each path.

    >>> paths_in_table(["initial.lean", "run.dt"], INITIAL_TABLE)
    {'lean': 'initial.lean'}
    """
    return {path.removeprefix(table): path for path in paths if path.startswith(table)}
