"""Some runs of a sweep carried out: side by side where that can be, the others one after the other."""

from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.codegen.fingerprint import fingerprint
from draisine.errors import ConfigurationError, DataError, SimulationError
from draisine.experiment.kinds.run import run_dataset, simulate_plan, was_interrupted
from draisine.experiment.sweep.designs import Columns, Design, design_of, side
from draisine.experiment.sweep.free_law import can_differ
from draisine.experiment.sweep.lanes import INITIAL, PARAMETERS, Lanes
from draisine.experiment.sweep.table import (
    FELL,
    NO_MACHINE,
    NO_START,
    TURNED,
    SweepRows,
    as_numbers,
    outcome_words,
)
from draisine.results.bodies import Bodies
from draisine.results.queries import parse_query
from draisine.scenario.library import Loaded, accept
from draisine.scenario.overrides import single
from draisine.scenario.plan import Plan
from draisine.scenario.schema import RunScenario, SweepScenario
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity import Validity
from draisine.simulation.validity.assess import part_until
from draisine.system.system import System


class Runner:
    """Carries out runs of a sweep; lanes are shared out over `threads`, by default all there are."""

    def __init__(self, loaded: Loaded, threads: int | None = None) -> None:
        assert isinstance(loaded.scenario, SweepScenario)
        self.loaded, self.scenario, self.threads = loaded, loaded.scenario, threads
        self.questions, self.chunk = self.scenario.sweep.outputs, self.scenario.sweep.chunk
        self._lanes = lru_cache(maxsize=64)(self._find_lanes)

    @cached_property
    def design(self) -> Design:
        """Which values each run has."""
        return design_of(self.scenario.sweep, self.loaded)

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The key paths of numbers of laws that may differ from lane to lane."""
        found, plan = [], self.loaded.plan
        for path, values in self.scenario.sweep.values().items():
            numbers = as_numbers(side(values))
            if numbers is not None and can_differ(plan.law, path, numbers):
                found.append(path)
        fits = found and Lanes(plan, self.scenario.run.until, self.questions, found).fits(found)
        return tuple(found) if fits else ()

    @cached_property
    def lanes(self) -> bool:
        """Whether runs go side by side, judged by the first one."""
        return self._lanes(*self._split(self.design.columns(0, 1), 0)) is not None

    def rows(self, first: int, last: int) -> SweepRows:
        """Return what is known of the runs from number `first` to `last`."""
        columns = self.design.columns(first, last)
        count = len(next(iter(columns.values())))
        rows, groups = SweepRows.empty(self.questions, count), dict[Any, list[int]]()
        for k in range(count) if self._structural(columns) else [0]:
            groups.setdefault(self._split(columns, k), []).append(k)
        if not self._structural(columns):
            groups = {key: list(range(count)) for key in groups}
        for (paths, at), members in groups.items():
            lanes, alone = self._lanes(paths, at), members
            if lanes is not None:
                own = {path: as_numbers(columns[path][members]) for path in paths}
                found, again = lanes.run({path: x for path, x in own.items() if x is not None})
                rows.put(members, found)
                alone = [members[k] for k in again]
            for k in alone:
                self._run_alone(columns, k, rows)
        return rows

    def _structural(self, columns: Columns) -> list[str]:
        """Return the key paths whose values cannot differ from lane to lane."""
        return [
            path
            for path, values in columns.items()
            if not (path.startswith((PARAMETERS, INITIAL)) or path in self.free)
            or as_numbers(values) is None
        ]

    def _split(self, columns: Columns, k: int) -> tuple[tuple[str, ...], tuple[Any, ...]]:
        """Return the key paths whose numbers may differ from lane to lane, and the values of a run at
        all others, as something that can be told from others.
        """
        fixed = self._structural(columns)
        at = tuple((path, _plain(columns[path], k)) for path in fixed)
        return tuple(path for path in columns if path not in fixed), _Key(at)

    def _find_lanes(self, paths: tuple[str, ...], at: "_Key") -> Lanes | None:
        """Return what runs machines side by side that have some values, if that can be."""
        plan = self.loaded.plan
        if not paths:  # there is one of each
            return None
        if at:
            try:
                plan = self._plan(dict(at))
            except DataError:
                return None
        scenario = plan.scenario
        assert isinstance(scenario, RunScenario | SweepScenario)
        threads = plan.numerics.threads if self.threads is None else self.threads
        plan = replace(plan, numerics=replace(plan.numerics, threads=threads))
        free = [path for path in paths if path in self.free]
        lanes = Lanes(plan, scenario.run.until, self.questions, free)
        return lanes if lanes.fits(paths) else None

    def _plan(self, at: dict[str, Any]) -> Plan:
        """Return what a run plans; machines of one structure share what is derived and compiled."""
        plan = accept(self.loaded.name, self.loaded.file, single(self.loaded.content, at)).plan
        own, shared = plan.system.artifacts, self.loaded.plan.system.artifacts
        alike = own.vehicle is shared.vehicle and (
            fingerprint(own.structure) == fingerprint(shared.structure) is not None
        )
        return replace(plan, system=System(shared, plan.system.parameters)) if alike else plan

    def _run_alone(self, columns: Columns, k: int, rows: SweepRows) -> None:
        """Fill in one run: as far as it went, or until it fell."""
        try:
            plan = self._plan({path: _plain(values, k) for path, values in columns.items()})
        except DataError:
            rows.outcome[k] = NO_MACHINE
            return
        try:
            found = simulate_plan(plan)
        except ConfigurationError:
            rows.outcome[k] = NO_START
            return
        except SimulationError as error:
            found = error.partial
            if found is None:
                rows.outcome[k] = outcome_words(str(error))
                return
            if was_interrupted(error):
                raise KeyboardInterrupt from error
        found, validity = _ridden(found)
        data, model = run_dataset(found), plan.system.model
        data.attrs["validity"] = validity.dumps()
        bodies = Bodies(data, model)
        for text in self.questions:
            rows.answers[text][k] = parse_query(text, model).evaluate(bodies)
        rows.outcome[k] = outcome_words(found.outcome)


def _ridden(found: Trajectory) -> tuple[Trajectory, Validity]:
    """Return a run until it falls or its steer is turned too far, and whether it can be believed."""
    fall, turn = found.validity.fall_from, found.validity.steer_beyond
    if fall is None and turn is None:
        return found, found.validity
    if turn is None or (fall is not None and fall <= turn):
        assert fall is not None
        part = part_until(found, fall, FELL)
        return part, replace(part.validity, fall_from=fall)
    part = part_until(found, turn, TURNED)
    return part, replace(part.validity, steer_beyond=turn)


class _Key(tuple[tuple[str, Any], ...]):
    """Values by key path that are told from others by how they are written."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(repr(tuple(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and repr(tuple(self)) == repr(tuple(other))


def _plain(values: NDArray[Any], k: int) -> Any:
    """Return a value as it stands in a file."""
    return values[k].item() if isinstance(values[k], np.generic) else values[k]
