"""Simulation of a range of the runs of a sweep.

Runs whose vehicles have the same structure and differ in numbers only are computed together (in SIMD lanes on
the plane, in threads on terrain), all others one by one.
"""

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

from draisine.codegen.fingerprint import fingerprint
from draisine.errors import ConfigurationError, DataError, SimulationError
from draisine.experiment.kinds.run import run_dataset, simulate_plan
from draisine.experiment.sweep.designs import (
    Columns,
    Design,
    as_column,
    make_design,
    scenario_value,
)
from draisine.experiment.sweep.free_law import can_differ
from draisine.experiment.sweep.lanes import INITIAL_TABLE, PARAMETER_TABLE, Lanes
from draisine.experiment.sweep.table import (
    FELL_OUTCOME,
    NO_MACHINE,
    NO_START,
    STEER_LIMIT_OUTCOME,
    SweepRows,
    as_numbers,
    shorten_outcome,
)
from draisine.experiment.sweep.terrain_runs import TERRAIN_TABLE, TerrainRuns
from draisine.results.bodies import Bodies
from draisine.results.queries import parse_query
from draisine.scenario.library import Loaded, validate_scenario
from draisine.scenario.overrides import single_run
from draisine.scenario.plan import Plan
from draisine.scenario.schema import RunScenario, SweepScenario
from draisine.simulation.contact.many import was_interrupted
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity import Validity
from draisine.simulation.validity.assess import cut_trajectory
from draisine.system.system import System

TERRAIN_TASK = 64
"""Number of runs on terrain that are computed together.

With this number, the initial states cost less than a tenth of the time of short runs, and an interruption
loses at most some seconds of computation.

"""

VARIED_TABLES = (PARAMETER_TABLE, INITIAL_TABLE, TERRAIN_TABLE)
"""Prefixes of the key paths whose numbers may differ between runs that are computed together."""


class Runner:
    """Simulates the runs of a sweep by ranges of run numbers.

    Attributes
    ----------
    loaded
        The scenario of the sweep.
    threads
        Number of threads that share the lanes; by default that of the scenario.
    outputs
        Names of the outputs of each run.
    chunk
        Number of runs per chunk.
    """

    def __init__(self, loaded: Loaded, threads: int | None = None) -> None:
        """Prepare the runs of a sweep scenario."""
        assert isinstance(loaded.scenario, SweepScenario)
        self.loaded = loaded
        self.scenario = loaded.scenario
        self.threads = threads
        self.outputs = self.scenario.sweep.outputs
        self.chunk = self.scenario.sweep.chunk
        self._lanes = lru_cache(maxsize=64)(self._make_group)

    @cached_property
    def design(self) -> Design:
        """Experimental design: the varied values of each run."""
        return make_design(self.scenario.sweep, self.loaded)

    @cached_property
    def free_constants(self) -> tuple[str, ...]:
        """Key paths of control-law constants that may differ between lanes."""
        plan = self.loaded.plan
        paths = []
        for path, values in self.scenario.sweep.values().items():
            numbers = as_numbers(as_column(values))
            if numbers is not None and can_differ(plan.law, path, numbers):
                paths.append(path)
        fits = paths and Lanes(plan, self.scenario.run.until, self.outputs, paths).can_share_lanes(
            paths
        )
        return tuple(paths) if fits else ()

    @cached_property
    def task_size(self) -> int:
        """Number of runs that are computed together: a chunk in lanes, `TERRAIN_TASK` on terrain, or one."""
        group = self._lanes(*self._split_values(self.design.columns(0, 1), 0))
        if group is None:
            return 1
        return TERRAIN_TASK if isinstance(group, TerrainRuns) else self.chunk

    def simulate_range(self, first: int, last: int) -> SweepRows:
        """Simulate the runs with numbers `first` <= k < `last`; return their outputs and outcomes."""
        columns = self.design.columns(first, last)
        count = len(next(iter(columns.values())))
        rows = SweepRows.make_empty(self.outputs, count)
        # Runs with equal structural values form a group that may share lanes. Without structural
        # values all runs form one group, so that only the first run has to be examined.
        groups: dict[Any, list[int]] = {}
        for k in range(count) if self._structural_paths(columns) else [0]:
            groups.setdefault(self._split_values(columns, k), []).append(k)
        if not self._structural_paths(columns):
            groups = {key: list(range(count)) for key in groups}
        for (paths, values), members in groups.items():
            lanes = self._lanes(paths, values)
            single = members
            if isinstance(lanes, TerrainRuns):
                values_of_runs = {path: columns[path][members] for path in paths}
                group_rows, alone = lanes.simulate_runs(values_of_runs, self.threads)
                rows.put_rows(members, group_rows)
                single = [members[k] for k in alone]
            elif lanes is not None:
                numbers = {path: as_numbers(columns[path][members]) for path in paths}
                lane_rows, degenerate = lanes.simulate_runs(
                    {path: x for path, x in numbers.items() if x is not None}
                )
                rows.put_rows(members, lane_rows)
                single = [members[k] for k in degenerate]
            for k in single:
                self._run_single(columns, k, rows)
        return rows

    def _structural_paths(self, columns: Columns) -> list[str]:
        """Return the key paths of structural values, which must be equal in all lanes of a group."""
        return [
            path
            for path, values in columns.items()
            if not (path.startswith(VARIED_TABLES) or path in self.free_constants)
            or as_numbers(values) is None
        ]

    def _split_values(
        self, columns: Columns, run_number: int
    ) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Return the key paths that may differ between lanes, and the structural values of one run."""
        structural = self._structural_paths(columns)
        values = tuple((path, scenario_value(columns[path], run_number)) for path in structural)
        return tuple(path for path in columns if path not in structural), _Key(values)

    def _make_group(
        self, paths: tuple[str, ...], structural_values: "_Key"
    ) -> Lanes | TerrainRuns | None:
        """Return the group of runs with these structural values (lanes or terrain); None for single runs."""
        plan = self.loaded.plan
        if not paths:  # every run has its own structure, so that no lanes can be shared
            return None
        if structural_values:
            try:
                plan = self._make_plan(dict(structural_values))
            except DataError:
                return None
        scenario = plan.scenario
        assert isinstance(scenario, RunScenario | SweepScenario)
        if plan.terrain is not None:
            runs = TerrainRuns(plan, scenario.run.until, self.outputs)
            return runs if runs.can_run_together(paths) else None
        threads = plan.numerics.threads if self.threads is None else self.threads
        plan = replace(plan, numerics=replace(plan.numerics, threads=threads))
        free = [path for path in paths if path in self.free_constants]
        lanes = Lanes(plan, scenario.run.until, self.outputs, free)
        return lanes if lanes.can_share_lanes(paths) else None

    def _make_plan(self, values: dict[str, Any]) -> Plan:
        """Return the plan of the run with these values by key path."""
        plan = validate_scenario(
            self.loaded.name, self.loaded.file, single_run(self.loaded.content, values)
        ).plan
        # Vehicles that differ in parameter values only share their derivation and compiled code.
        artifacts = plan.system.artifacts
        shared = self.loaded.plan.system.artifacts
        same_structure = artifacts.vehicle is shared.vehicle and (
            fingerprint(artifacts.structure) == fingerprint(shared.structure) is not None
        )
        if not same_structure:
            return plan
        return replace(
            plan, system=System(shared, plan.system.parameters, plan.system.added_sensors)
        )

    def _run_single(self, columns: Columns, run_number: int, rows: SweepRows) -> None:
        """Simulate one run by itself and store its outputs and outcome in `rows`."""
        try:
            plan = self._make_plan(
                {path: scenario_value(values, run_number) for path, values in columns.items()}
            )
        except DataError:
            rows.outcome[run_number] = NO_MACHINE
            return
        try:
            trajectory = simulate_plan(plan)
        except ConfigurationError:
            rows.outcome[run_number] = NO_START
            return
        except SimulationError as error:
            trajectory = error.partial
            if trajectory is None:
                rows.outcome[run_number] = shorten_outcome(str(error))
                return
            if was_interrupted(error):
                raise KeyboardInterrupt from error
        trajectory, validity = _cut_at_fall(trajectory)
        data = run_dataset(trajectory)
        model = plan.system.model
        data.attrs["validity"] = validity.dumps()
        bodies = Bodies(data, model)
        for text in self.outputs:
            rows.outputs[text][run_number] = parse_query(text, model).evaluate(bodies)
        rows.outcome[run_number] = shorten_outcome(trajectory.outcome)


def _cut_at_fall(trajectory: Trajectory) -> tuple[Trajectory, Validity]:
    """Cut a trajectory when the vehicle falls or exceeds its steer limit; return it with its validity."""
    fall = trajectory.validity.fall_from
    steer_limit = trajectory.validity.steer_beyond
    if fall is None and steer_limit is None:
        return trajectory, trajectory.validity
    if steer_limit is None or (fall is not None and fall <= steer_limit):
        assert fall is not None
        run = cut_trajectory(trajectory, fall, FELL_OUTCOME)
        return run, replace(run.validity, fall_from=fall)
    run = cut_trajectory(trajectory, steer_limit, STEER_LIMIT_OUTCOME)
    return run, replace(run.validity, steer_beyond=steer_limit)


class _Key(tuple[tuple[str, Any], ...]):
    """Hashable values by key path, compared by their `repr`.

    Tables and lists of a scenario are not hashable, and 1 must differ from 1.0.
    """

    __slots__ = ()

    def __hash__(self) -> int:
        """Return a hash of the representation of all values."""
        return hash(repr(tuple(self)))

    def __eq__(self, other: object) -> bool:
        """Return whether both dictionaries have equal representations."""
        return isinstance(other, _Key) and repr(tuple(self)) == repr(tuple(other))
