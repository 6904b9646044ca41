"""Runs of a sweep on terrain, for vehicles of one structure that differ in numbers only.

The scenario is validated once. Initial states of all runs are computed together, runs are distributed over
threads (`simulation.contact.many`), and the outputs of the sweep are computed from the states of all runs
together, without building a dataset per run. Motions equal those of single runs bit by
bit; outputs may differ in the last place.
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.program import select_outputs
from draisine.errors import (
    ConfigurationError,
    DraisineError,
    ModelError,
    ParameterError,
    SimulationError,
)
from draisine.experiment.kinds.run import run_dataset
from draisine.experiment.sweep.designs import Columns, scenario_value
from draisine.experiment.sweep.lanes import (
    INITIAL_TABLE,
    PARAMETER_TABLE,
    is_law_designed,
    select_paths_of_table,
)
from draisine.experiment.sweep.table import (
    NO_MACHINE,
    NO_START,
    SweepRows,
    as_numbers,
    shorten_outcome,
)
from draisine.model.names import state_names
from draisine.results.bodies import Bodies
from draisine.results.events import EventQuery, event_records
from draisine.results.queries import SeriesQuery, ValidityQuery, observed_entry, parse_query
from draisine.scenario.plan import Plan
from draisine.scenario.terrain import find_tilt, make_placer
from draisine.simulation.compare.compliant import Compliant
from draisine.simulation.contact.many import run_each
from draisine.simulation.contact.run import EnergyWarning
from draisine.simulation.engines import run_task
from draisine.simulation.options import Task
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity.assess import may_end_early
from draisine.system.compiled import Compiled
from draisine.system.generic import Generic, make_generic
from draisine.system.state import State, states
from draisine.system.system import System
from draisine.terrain import Terrain

TERRAIN_TABLE = "terrain."
"""Prefix of the key paths of the terrain's dimensions (lengths, slopes), which may differ between runs."""

NOT_A_FUNCTION_OF_STATES = frozenset({"inputs", "motion_torques", "coupling_forces"})
"""Outputs of the program `observe` that also depend on constraint forces, which are added afterwards."""


class StartGround(NamedTuple):
    """The ground of a run, and the rotation of the vehicle onto its slope."""

    terrain: Terrain
    turn: Floats | None  # quaternion (4,) from level ground to the slope at the initial position


class TerrainRuns:
    """Runs of one plan on terrain that differ in parameters, initial values and dimensions of the terrain.

    Parameters
    ----------
    plan
        Compiled vehicle, initial values, control law, ground and options that the runs share.
    until
        End time in s.
    outputs
        Names of the outputs of each run.
    """

    def __init__(self, plan: Plan, until: float, outputs: Sequence[str]) -> None:
        self.plan = plan
        self.until = until
        self.queries = {text: parse_query(text, plan.system.model) for text in outputs}

    def can_run_together(self, paths: Sequence[str]) -> bool:
        """Return whether runs that differ in the values at these key paths can be computed together."""
        plan = self.plan
        parameters = select_paths_of_table(paths, PARAMETER_TABLE)
        initial = select_paths_of_table(paths, INITIAL_TABLE)
        ground = select_paths_of_table(paths, TERRAIN_TABLE)
        return (
            plan.terrain is not None
            and plan.motion is None
            and not isinstance(plan.contact.solver, Compliant)
            and len(parameters) + len(initial) + len(ground) == len(paths)
            and all(name in plan.system.parameters for name in parameters)
            and all(name in state_names(plan.system.model) for name in initial)
            and all("." not in name and "[" not in name for name in ground)
            and not (is_law_designed(plan) and (parameters or "forward_speed" in initial))
        )

    def simulate_runs(
        self, columns: Columns, threads: int | None = 1
    ) -> tuple[SweepRows, list[int]]:
        """Simulate runs with varied values, given as arrays (runs,) by key path, in the scenario's units.

        Returns
        -------
        SweepRows
            Outputs and outcomes of all runs.
        list of int
            Indices of the runs that must be simulated one by one: their ground is invalid, the vehicle
            falls, or its steer angle may exceed its limit.
        """
        count = len(next(iter(columns.values())))
        rows = SweepRows.make_empty(list(self.queries), count)
        numbers = {
            path: as_numbers(values)
            for path, values in columns.items()
            if not path.startswith(TERRAIN_TABLE)
        }
        systems = self._compile_systems(numbers, rows)
        grounds = self._build_grounds(columns, list(systems))
        alone = [k for k in systems if k not in grounds]
        starts = self._solve_starts(numbers, systems, grounds, rows)
        runs = sorted(starts)

        def simulate_one(run_index: int) -> Trajectory:
            k = runs[run_index]
            plan = self.plan
            return run_task(
                Task(
                    systems[k],
                    starts[k],
                    self.until,
                    grounds[k].terrain,
                    plan.law,
                    None,
                    plan.contact,
                    plan.numerics,
                    None,
                )
            )

        # Suppress the warning about energy that an impact model creates, because each event records
        # this energy.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EnergyWarning)
            results, is_interrupted = run_each(
                simulate_one, len(runs), threads, None, lambda result: result
            )
        if is_interrupted:
            raise KeyboardInterrupt
        completed: dict[int, Trajectory] = {}
        for k, result in zip(runs, results, strict=True):
            if isinstance(result, ConfigurationError):
                rows.outcome[k] = NO_START
                continue
            trajectory = result.partial if isinstance(result, SimulationError) else result
            if not isinstance(trajectory, Trajectory):
                rows.outcome[k] = shorten_outcome(str(result))
            elif may_end_early(trajectory):
                alone.append(k)
            else:
                completed[k] = trajectory
        self._evaluate_outputs(completed, rows)
        return rows, sorted(alone)

    def _compile_systems(self, numbers: Mapping[str, Any], rows: SweepRows) -> dict[int, System]:
        """Return the compiled vehicle of each run by run index; physically invalid ones are missing."""
        system = self.plan.system
        count = len(rows.outcome)
        names = select_paths_of_table(numbers, PARAMETER_TABLE)
        if not names:
            return dict.fromkeys(range(count), system)
        values = np.repeat(system.values[:, None], count, axis=1)
        for name, path in names.items():
            values[list(system.parameters).index(name)] = numbers[path]
        # Runs with equal parameters share a vehicle; it is None if they are invalid.
        vehicles: dict[bytes, System | None] = {}
        systems: dict[int, System] = {}
        for k, column in enumerate(values.T):
            key = column.tobytes()
            if key not in vehicles:
                vehicles[key] = _compile_vehicle(system, column.tolist())
            vehicle = vehicles[key]
            if vehicle is None:
                rows.outcome[k] = NO_MACHINE
            else:
                systems[k] = vehicle
        return systems

    def _build_grounds(self, columns: Columns, runs: Sequence[int]) -> dict[int, StartGround]:
        """Return the ground of each run by run index; invalid grounds are missing."""
        plan = self.plan
        names = select_paths_of_table(columns, TERRAIN_TABLE)
        if not names:
            assert plan.terrain is not None
            return dict.fromkeys(runs, self._find_start_ground(plan.terrain))
        table: Any = getattr(plan.scenario, "terrain", None)
        written = table.model_dump(exclude_unset=True)
        grounds: dict[int, StartGround] = {}
        for k in runs:
            changes = {name: scenario_value(columns[path], k) for name, path in names.items()}
            # Pydantic's ValidationError is a ValueError. A ground with invalid dimensions is left
            # out.
            with suppress(DraisineError, ValueError):
                terrain = type(table).model_validate(written | changes).terrain()
                grounds[k] = self._find_start_ground(terrain)
        return grounds

    def _find_start_ground(self, terrain: Terrain) -> StartGround:
        """Return the ground of a terrain, with the rotation of the vehicle onto the slope at its start."""
        place = self.plan.start.place
        return StartGround(terrain, None if place is None else find_tilt(terrain, place))

    def _solve_starts(
        self,
        numbers: Mapping[str, Any],
        systems: Mapping[int, System],
        grounds: Mapping[int, StartGround],
        rows: SweepRows,
    ) -> dict[int, State]:
        """Return the initial states on the ground by run index; infeasible ones are missing."""
        plan = self.plan
        start = plan.start
        starts: dict[int, State] = {}
        placers: dict[tuple[int, int], Any] = {}  # by vehicle and ground
        # Compute the initial states of all vehicles on the same slope together.
        groups: dict[bytes, list[int]] = {}
        for k, ground in grounds.items():
            key = b"" if ground.turn is None else ground.turn.tobytes()
            groups.setdefault(key, []).append(k)
        initial = select_paths_of_table(numbers, INITIAL_TABLE)
        for members in groups.values():
            requested = {name: np.full(len(members), x) for name, x in start.values.items()}
            requested |= {name: numbers[path][members] for name, path in initial.items()}
            arrays, errors = states(
                plan.system,
                requested,
                mode=start.mode,
                at_rest=start.at_rest,
                parameters=np.array([systems[k].values for k in members]),
                tilt=grounds[members[0]].turn,
            )
            for i, k in enumerate(members):
                if errors[i]:
                    rows.outcome[k] = NO_START
                    continue
                q, p, r, v = (arrays[name][:, i].copy() for name in "qprv")
                starts[k] = State(q, p, r, v)
                if start.place is not None:
                    pair = (id(systems[k]), id(grounds[k]))
                    if pair not in placers:
                        terrain = grounds[k].terrain
                        placers[pair] = make_placer(systems[k].tree, terrain, start.place)
                    starts[k] = placers[pair](starts[k])
        return starts

    # --- outputs

    @cached_property
    def _required_entries(self) -> dict[str, tuple[str, int]]:
        """Entries (name, index) of the program `observe` that the outputs need, by text of the output."""
        model = self.plan.system.model
        entries = {
            text: observed_entry(query.series, model)
            for text, query in self.queries.items()
            if isinstance(query, SeriesQuery)
        }
        return {text: entry for text, entry in entries.items() if entry is not None}

    @cached_property
    def _selected_program(self) -> tuple[Compiled | None, dict[tuple[str, int], int]]:
        """Compiled part of the program `observe`, and the index of each entry in its output array.

        It computes the required entries that are functions of the state; None if there are none.
        """
        assert self.plan.terrain is not None
        machine = make_generic(self.plan.system, self.plan.law, self.plan.terrain.motions)
        program = machine.programs["observe"]
        by_array: dict[str, list[int]] = {}
        for name, k in dict.fromkeys(self._required_entries.values()):
            if name not in program.outputs or name in NOT_A_FUNCTION_OF_STATES:
                continue
            needed = select_outputs(program, {name: [k]})
            if not any(step[0] == "input" and step[1] == "a" for step in needed.steps):
                by_array.setdefault(name, []).append(k)
        if not by_array:
            return None, {}
        entries = [(name, k) for name, numbers in by_array.items() for k in numbers]
        compiled = self.plan.system.artifacts.bind(select_outputs(program, by_array), np.zeros(0))
        return compiled, {entry: row for row, entry in enumerate(entries)}

    def _evaluate_outputs(self, runs: Mapping[int, Trajectory], rows: SweepRows) -> None:
        """Compute outcomes and outputs from the trajectories (by run index) and store them in `rows`."""
        by_machine: dict[int, list[int]] = {}
        for k, run in runs.items():
            by_machine.setdefault(id(run.arcs[0].machine), []).append(k)
        for members in by_machine.values():
            observed = self._observe_runs([runs[k] for k in members])
            for k, states_of_run in zip(members, observed, strict=True):
                rows.outcome[k] = shorten_outcome(runs[k].outcome)
                for text, query in self.queries.items():
                    rows.outputs[text][k] = self._evaluate_output(
                        text, query, runs[k], states_of_run
                    )

    def _observe_runs(self, runs: Sequence[Trajectory]) -> list[Floats]:
        """Return the entries of `_selected_program` along runs of one vehicle: one array (entries,
        times) per run.
        """
        compiled, _ = self._selected_program
        if compiled is None:
            return [np.zeros((0, len(run.t))) for run in runs]
        arcs: list[Any] = [arc for run in runs for arc in run.arcs]
        machine: Generic = arcs[0].machine
        times = [arc.t_before for arc in arcs]
        y = np.concatenate([arc.y for arc in arcs]).T
        inputs = np.array([arc.inputs for arc in arcs]).repeat([len(t) for t in times], axis=0)
        x = compiled.inputs.pack(
            t=np.concatenate(times)[None],
            **machine.layout.split(y),
            w=inputs.T,
            a=np.zeros((machine.speeds, y.shape[1])),
        )
        bound = compiled.rebind(machine.system.values)
        values = np.concatenate(list(bound.batch(x).values()))
        ends = np.cumsum([len(run.t) for run in runs])[:-1]
        return np.split(values, ends, axis=1)

    def _evaluate_output(
        self, query_text: str, query: Any, run: Trajectory, observed: Floats
    ) -> float:
        """Return the value of an output of a run from its observed entries, (entries, times)."""
        if isinstance(query, ValidityQuery):
            return query.evaluate_validity(run.validity)
        if isinstance(query, EventQuery):
            return query.evaluate_records(event_records(run.events))
        assert isinstance(query, SeriesQuery)
        if query_text not in self._required_entries:
            return query.evaluate(Bodies(run_dataset(run), self.plan.system.model))
        name, k = self._required_entries[query_text]
        rows = self._selected_program[1]
        if name == "time":
            series = run.t
        elif name == "r":
            first = run.arcs[0].machine.layout.r.start
            series = np.concatenate([arc.y[:, first + k] for arc in run.arcs])
        elif (name, k) in rows:
            series = observed[rows[name, k]]
        else:
            series = run.observations[name][k]
        return float(query.reduce_series(run.t[None], series[None])[0])


def _compile_vehicle(system: System, values: Sequence[float]) -> System | None:
    """Return a system with other values of all its parameters, or None if they are physically invalid."""
    parameters = dict(zip(system.parameters, values, strict=True))
    vehicle = System(system.artifacts, parameters, system.added_sensors)
    try:
        vehicle.model  # noqa: B018 - checks the model
    except (ModelError, ParameterError):
        return None
    return vehicle
