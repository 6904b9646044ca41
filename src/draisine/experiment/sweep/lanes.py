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
    shorten_outcome,
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
    [shorten_outcome(STOP_REASONS.get(k, "completed")) for k in range(8)], dtype=object
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

    def can_share_lanes(self, paths: Sequence[str]) -> bool:
        """Return whether runs that differ in the values at these key paths may share lanes.

        Results in lanes must equal those of single runs. This requires fixed time steps, one contact
        mode, and outputs that are functions of single states.
        """
        plan = self.plan
        numerics = plan.numerics
        parameters = select_paths_of_table(paths, PARAMETER_TABLE)
        initial = select_paths_of_table(paths, INITIAL_TABLE)
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
            and all(self._is_observable(query) for query in self.queries.values())
            and not (is_law_designed(plan) and (parameters or "forward_speed" in initial))
            and not any(
                set(row.parameters) & set(parameters)
                for row in plan.system.survey(plan.contact.mode).redundant
            )
            and self._is_law_traceable()
            and self._block_memory() < MAX_BLOCK_BYTES
        )

    def _is_observable(self, query: object) -> bool:
        """Return whether an output follows from single states or from the validity record of the run."""
        if isinstance(query, SeriesQuery):
            return observed_entry(query.series, self.plan.system.model) is not None
        return isinstance(query, ValidityQuery)

    def _is_law_traceable(self) -> bool:
        """Return whether the control law can be traced; a plain Python law cannot control lanes."""
        try:
            self.machine.rate  # noqa: B018 - traces the law
        except UntraceableLawError:
            return False
        return True

    def _block_memory(self) -> float:
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
    def _required_entries(self) -> dict[str, list[int]]:
        """Indices of the required entries in each output of the program `observe`, by name of the output."""
        model = self.plan.system.model
        entries: list[tuple[str, int]] = []
        for query in self.queries.values():
            if isinstance(query, SeriesQuery):
                entry = observed_entry(query.series, model)
                if entry is not None:
                    entries.append(entry)
        # Validity queries need the contact forces, and the energy if the system conserves it.
        if any(isinstance(query, ValidityQuery) for query in self.queries.values()):
            entries += [("forces", 3 * k + i) for k in self._wheel_indices for i in range(3)]
            entries += [("kinetic", 0), ("potential", 0)] if self._conserves_energy else []
        by_array: dict[str, list[int]] = {}
        for name, k in dict.fromkeys(entries):
            # Joint coordinates and time are sampled directly and need no program.
            if name not in ("r", "time"):
                by_array.setdefault(name, []).append(k)
        return by_array

    @cached_property
    def _observe_program(self) -> Compiled | None:
        """Compiled part of the program `observe` that computes `_required_entries`; None if none are
        needed.
        """
        if not self._required_entries:
            return None
        program = select_outputs(self.machine.programs["observe"], self._required_entries)
        return self.machine.artifacts.bind(program, self.plan.system.values)

    @property
    def _wheel_indices(self) -> list[int]:
        """Indices of the contacts that are wheels."""
        model = self.plan.system.model
        return [k for k, contact in enumerate(model.contacts) if contact in model.wheels]

    @property
    def _conserves_energy(self) -> bool:
        """Whether the system has neither a control law nor dissipation, so that its energy is constant."""
        return self.plan.law is None and conserves_energy(self.plan.system.model)

    def simulate_runs(self, columns: Mapping[str, Floats]) -> tuple[SweepRows, list[int]]:
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
        rows = SweepRows.make_empty(list(self.queries), count)
        # Parameters, (parameters, runs). Skip runs with invalid parameters or law constants.
        parameters = np.repeat(system.values[:, None], count, axis=1)
        for name, path in select_paths_of_table(columns, PARAMETER_TABLE).items():
            parameters[list(system.parameters).index(name)] = columns[path]
        invalid = [
            *find_invalid_machines(system.artifacts, parameters),
            *self._find_invalid_laws(columns),
        ]
        rows.outcome[invalid] = NO_MACHINE
        valid = np.flatnonzero(rows.outcome != NO_MACHINE)
        # Initial states. Skip runs with infeasible initial values.
        initial = {name: np.full(count, x) for name, x in self.plan.start.values.items()}
        for name, path in select_paths_of_table(columns, INITIAL_TABLE).items():
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
        return rows, self._simulate_group(start_states, parameters, constants, runs, rows)

    def _find_invalid_laws(self, columns: Mapping[str, Floats]) -> Iterator[int]:
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

        def make_task(lane: int) -> Task:
            """Return the integration task of one lane."""
            q, p, r, v = (arrays[name][:, lane] for name in "qprv")
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
            # The initial states of a control law may depend on the initial pose of the vehicle,
            # which differs between runs.
            for k in range(count):
                z[:, k] = make_task(k).law_start(machine.states)
        # The varied constants are the last states of the control law (see `FreeLaw`).
        z[len(z) - len(constants) :] = constants
        rule = fall_rule(plan.system.model, plan.contact.fall)
        fleet, y = Fleet.start(machine, arrays, inputs, parameters, z, rule)
        return replace(fleet, slack=LANE_PIVOT_FACTOR), y, task.edges

    def _simulate_group(
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
        tables = (
            None if self._observe_program is None else self._observe_program.tables(fleet.values)
        )

        # Ignore floating-point errors: a diverging run may overflow, and its outcome reports the
        # failure.
        @np.errstate(all="ignore")
        def reduce_block(
            block: slice, times: Floats, states: Floats, last_samples: Indices, status: Floats
        ) -> None:
            """Reduce the samples of one block of lanes to outputs of the sweep, and store them."""
            width = states.shape[2]
            count = block.stop - block.start
            lane_frames = pad_columns(frame[:, block], width)
            fall_times, limit_times = self._find_fall_times(
                Samples(times, states, last_samples), lane_frames
            )
            # End a run with the last sample before its fall.
            first = np.fmin(fall_times, limit_times)
            last_samples = np.minimum(
                last_samples, np.maximum(np.searchsorted(times, first, side="right") - 1, 0)
            )
            observed: Mapping[str, Floats] = {}
            if self._observe_program is not None and tables is not None:
                out = self._observe_program.batches(states, pad_columns(tables[:, block], width))
                observed = self._observe_program.outputs.split(out.transpose(1, 0, 2))
            outputs = self._evaluate_outputs(
                Samples(times, states, last_samples), observed, fall_times, limit_times
            )
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

    def _find_fall_times(self, samples: Samples, frames: Floats) -> tuple[Floats, Floats]:
        """Return the times (s) of falls and of steer angles beyond their limit, each (columns,).

        Each column is one run. A time is NaN if the event does not occur, or if the other event occurs first.
        `frames` contains the quaternions (4, columns) of the frames in which the lanes are integrated.
        """
        model = self.plan.system.model
        layout = self.machine.layout
        rule = fall_rule(model, self.plan.contact.fall)
        y = samples.x[:, 1:].transpose(1, 0, 2)
        t = samples.repeated_times
        fall_times = np.full(len(t), np.nan)
        limit_times = fall_times
        if rule.watches:
            # Falls are defined in the world axes of the user: rotate the base back by the conjugate
            # quaternion.
            conjugate = frames * np.array([[1.0], [-1.0], [-1.0], [-1.0]])
            q = quaternion_product(y[layout.q], conjugate[:, None])
            fall_times = crossing_times(t, samples.repeat_last_values(rule.margin(q)))
        steer_joints = [k for k, joint in enumerate(model.joints) if joint.name == "steer"]
        if steer_joints:
            margin = MAX_STEER_ANGLE - np.abs(y[layout.r][steer_joints[0]])
            limit_times = crossing_times(t, samples.repeat_last_values(margin))
        falls_first = fall_times <= np.fmin(fall_times, limit_times)
        return (
            np.where(falls_first, fall_times, np.nan),
            np.where(falls_first, np.nan, limit_times),
        )

    def _evaluate_outputs(
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
        t = samples.repeated_times
        shape = samples.x[:, 1:][:, self.machine.layout.r].transpose(1, 0, 2)

        def read_series(query: str) -> Floats:
            """Return an observed or sampled time series of all runs, (columns, time)."""
            entry = observed_entry(query, model)
            assert entry is not None
            name, k = entry
            if name == "time":
                return t
            return samples.repeat_last_values(
                shape[k] if name == "r" else observed[name][self._entry_index(name, k)]
            )

        def evaluate_validity(query: str) -> Floats:
            """Return the values of a validity query, one per run (columns,)."""
            if query == "time to fall":
                return fall_times
            forces = self._read_contact_forces(samples, observed)
            if query == "friction needed":
                ratios = [
                    friction_ratio(
                        force, NEGLIGIBLE_LOAD_RATIO * force[0].max(axis=-1, keepdims=True)
                    )
                    for force in forces
                ]
                return np.max(ratios, axis=0, initial=0.0)
            # A run is valid until it falls, until a normal force becomes negative, or until the
            # energy drift exceeds its bound.
            largest = np.abs(forces).max(axis=(0, 1, 3), initial=0.0)[:, None] if forces else 0.0
            pulls = [crossing_times(t, force[0] + FORCE_RESOLUTION * largest) for force in forces]
            drifts = self._find_energy_drift_times(samples, observed)
            return np.fmin.reduce([fall_times, limit_times, *pulls, drifts])

        return {
            text: query.reduce_series(t, read_series(query.series))
            if isinstance(query, SeriesQuery)
            else evaluate_validity(" ".join(text.split()))
            for text, query in self.queries.items()
        }

    def _read_contact_forces(
        self, samples: Samples, observed: Mapping[str, Floats]
    ) -> list[Floats]:
        """Return the ground forces on each wheel in N, (3, columns, time): normal, along, across.

        Each column is one run.
        """
        entries = [
            [self._entry_index("forces", 3 * k + i) for i in range(3)] for k in self._wheel_indices
        ]
        return [
            np.array([samples.repeat_last_values(observed["forces"][i]) for i in rows])
            for rows in entries
        ]

    def _find_energy_drift_times(self, samples: Samples, observed: Mapping[str, Floats]) -> Floats:
        """Return the time (s) at which the energy drift of each run exceeds its bound, (columns,).

        The time is NaN if the drift never exceeds its bound.
        """
        t = samples.repeated_times
        if not self._conserves_energy:
            return np.full(len(t), np.nan)
        T, U = (
            samples.repeat_last_values(observed[name][self._entry_index(name, 0)])
            for name in ("kinetic", "potential")
        )
        drift = energy_drift(T, U) > MAX_ENERGY_DRIFT
        return np.where(drift.any(axis=1), t[np.arange(len(t)), drift.argmax(axis=1)], np.nan)

    def _entry_index(self, name: str, entry: int) -> int:
        """Return the index, among the compiled entries, of one entry of the output `name` of the
        program `observe`.
        """
        return self._required_entries[name].index(entry)


def is_law_designed(plan: Plan) -> bool:
    """Return whether a control law is designed for each vehicle and speed (LQR, path following)."""
    laws = getattr(plan.scenario, "law", None) or ()
    return any(find("law", str(entry["name"])) in (LQR, FollowPath) for entry in laws)


def select_paths_of_table(
    paths: Sequence[str] | Mapping[str, object], table: str
) -> dict[str, str]:
    """Return the key paths of one table of the scenario, by the last word of each path.

    >>> select_paths_of_table(["initial.lean", "run.dt"], INITIAL_TABLE)
    {'lean': 'initial.lean'}
    """
    return {path.removeprefix(table): path for path in paths if path.startswith(table)}
