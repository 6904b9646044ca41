"""Scenarios carried out: each kind leaves a dataset."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import draisine
from draisine.errors import ParameterError, SimulationError, ValidityError
from draisine.experiment.kinds.run import run_dataset, simulate_plan
from draisine.results.attributes import validity_of
from draisine.results.bodies import Bodies, machine_attributes
from draisine.results.runs import unfold
from draisine.scenario.library import Loaded, accept, load
from draisine.scenario.schema import (
    CycleScenario,
    GaitScenario,
    LinearScenario,
    MapScenario,
    RunScenario,
    StateScenario,
    SweepScenario,
)
from draisine.simulation.dataset import call_recipe, law_attributes
from draisine.simulation.options import Progress
from draisine.simulation.trajectory import BilateralArc, Event, Trajectory
from draisine.simulation.validity import Validity
from draisine.simulation.validity.assess import warn_invalid
from draisine.system.state import State
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.experiment.sweep.chunks import Runner
    from draisine.experiment.sweep.store import SweepStore
    from draisine.experiment.sweep.table import SweepRows


@dataclass(frozen=True, repr=False)
class Result:
    """What a scenario left: its data, how it ended, and the seconds that the computation took."""

    loaded: Loaded
    data: "Dataset"
    outcome: str
    seconds: float
    system: System
    events: tuple[Event, ...] = ()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} along {name}" for name, n in self.data.sizes.items())
        lines = [f"Result of {self.loaded.name}: {self.outcome}", f"  data: {sizes}"]
        if self.events:
            lines.append(f"  events: {', '.join(event.kind for event in self.events)}")
        if self.validity is not None:
            lines.append(f"  {self.validity}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def plot(
        self, figure: str | None = None, path: str | Path | None = None, **options: Any
    ) -> Any:
        """Draw the result and return the axes, see `draisine.plot`."""
        return draisine.plot(self, figure, path, **options)

    def animate(self, path: str | Path | None = None, **options: Any) -> Any:
        """Write the run as a film or as a page that replays it, or return the page for a notebook, see
        `draisine.animate`.
        """
        return draisine.animate(self, path, **options)

    @property
    def validity(self) -> Validity | None:
        """Whether a run can be believed; None of what is no run."""
        return validity_of(self.data)

    @property
    def unexpected_faults(self) -> list[str]:
        """The faults of a run that its scenario does not expect, in words."""
        run = getattr(self.loaded.scenario, "run", None)
        if self.validity is None or run is None:
            return []
        return self.validity.unexpected_faults(run.expects)

    @cached_property
    def bodies(self) -> Bodies:
        """The bodies of the machine, for questions."""
        return Bodies(self.data, self.system.model)


def run(
    which: str | Loaded,
    progress: Progress = None,
    *,
    changes: Mapping[str, Any] | None = None,
    mu: float | None = None,
    strict: bool = False,
) -> Result:
    """Return what a scenario leaves: one that ships, by its name, or a TOML file of your own.

    `changes` are values by key path ("run.until", "vehicle.parameters.mB"). `progress` is told which
    fraction of a long run is done; True shows a bar. A run that had to stop raises `SimulationError`,
    whose `partial` is the result until then. A run that is not physically valid (see `simulate`, `mu`
    being the friction there is) issues a `ValidityWarning`, unless the scenario expects that
    (`run.expects`); with `strict`, it raises `ValidityError`. Both go with scenarios of the kind `run`.

    >>> import draisine
    >>> result = draisine.run("mauny2018/passive-stabilisation", changes={"run.until": 0.5})
    >>> result.outcome, result.data.sizes["time"]
    ('completed', 51)
    """
    loaded = load(which, changes) if isinstance(which, str) else which
    scenario = loaded.scenario
    system = loaded.plan.system
    begun = time.perf_counter()
    if not isinstance(scenario, RunScenario) and (mu is not None or strict):
        name = "strict" if strict else "mu"
        raise ParameterError(
            f"{name}: {loaded.name} is of the kind {scenario.kind!r}; a run is judged by it. Leave it out."
        )
    match scenario:
        case RunScenario():
            return _run(loaded, progress, mu, strict)
        case SweepScenario():
            return sweep(loaded, progress=progress)
        case StateScenario():
            found = _at(system, loaded.plan.state(), scenario.inputs)
            return _result(loaded, system, found, time.perf_counter() - begun)
        case CycleScenario():
            from draisine.experiment.kinds.cycle import find_cycle

            ridden, data = find_cycle(loaded.plan, scenario.cycle)
            return _result(loaded, system, ridden, time.perf_counter() - begun, data)
        case _:
            data = _analyse(scenario, system, loaded.plan.law)
            seconds = time.perf_counter() - begun
            return Result(loaded, _signed(loaded, system, data), "completed", seconds, system)


def _analyse(
    scenario: MapScenario | LinearScenario | GaitScenario, system: System, law: Any
) -> "Dataset":
    """Return what a scenario without a motion tells; what it needs is imported with its kind."""
    match scenario:
        case MapScenario():
            from draisine.experiment.kinds.map import compute_contact_map

            return compute_contact_map(system, scenario.map)
        case LinearScenario():
            from draisine.experiment.kinds.linear import analyse_straight_running

            return analyse_straight_running(scenario, system, law)
        case GaitScenario():
            from draisine.experiment.kinds.gait import compute_gait

            return compute_gait(system, scenario.gait)


def sweep(
    which: str | Loaded,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    engine: str = "processes",
    workers: int | None = None,
    scheduler: str | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> Result:
    """Return what the runs of a scenario of the kind `sweep` leave: one dataset of all answers.

    With `out`, a Zarr store, each chunk of runs is kept there as soon as it is computed; to `resume`
    computes only what is missing. A store of another sweep, or of another version, is refused.

    The `engine` "processes" starts workers on this computer, one per core, where a sweep takes long, or
    as many as you say; "dask" uses the cluster with that `scheduler`, or one of its own.

    >>> import draisine
    >>> draisine.sweep("mauny2018/drift", changes={"run.until": 0.1}).data["outcome"].dims
    ('integrator', 'dt')
    """
    from draisine.experiment.sweep.chunks import Runner
    from draisine.experiment.sweep.driver import run_sweep
    from draisine.experiment.sweep.engines import run_tasks
    from draisine.experiment.sweep.store import open_store
    from draisine.experiment.sweep.table import SweepRows

    loaded = load(which, changes) if isinstance(which, str) else which
    if not isinstance(loaded.scenario, SweepScenario):
        kind = loaded.scenario.kind
        raise ParameterError(f"{loaded.name} is of the kind {kind!r}; a sweep is needed.")
    if resume and out is None:
        raise ParameterError("resume: there is no store to go on with; name it by `out`.")
    system, begun, runner = loaded.plan.system, time.perf_counter(), Runner(loaded)
    count, chunk, questions = runner.design.count, runner.chunk, runner.questions
    run = partial(run_tasks, engine=engine, workers=workers, scheduler=scheduler)
    carry = partial(run_sweep, runner, run, progress=progress)
    if out is None:
        rows = SweepRows.empty(questions, count)
        carry(
            range(-(-count // chunk)),
            lambda k, part: rows.put(slice(k * chunk, k * chunk + len(part.outcome)), part),
        )
        data = unfold(_sweep_table(runner, 0, rows))
        return _swept(loaded, system, data, time.perf_counter() - begun)
    like = _sweep_table(runner, 0, SweepRows.empty(questions, 1))
    with open_store(like, count, Path(out), chunk, resume) as store:
        carry(store.missing(), partial(_write_chunk, runner, store))
        data = store.finish()
    return Result(loaded, data, "completed", time.perf_counter() - begun, system)


def _write_chunk(runner: "Runner", store: "SweepStore", k: int, rows: "SweepRows") -> None:
    """Write a chunk of runs that is whole; others are computed again."""
    if rows.finished:
        store.write(k, _sweep_table(runner, k * runner.chunk, rows))


def _sweep_table(runner: "Runner", first: int, rows: "SweepRows") -> "Dataset":
    """Return what is known of the runs from number `first` on as a dataset."""
    from draisine.experiment.sweep.table import sweep_table

    loaded, last = runner.loaded, first + len(rows.outcome)
    columns, numbers = runner.design.columns(first, last), np.arange(first, last)
    system = loaded.plan.system
    found = sweep_table(runner.scenario, system.model, columns, rows, numbers)
    return _signed(loaded, system, found)


def _run(loaded: Loaded, progress: Progress, mu: float | None, strict: bool) -> Result:
    system, begun = loaded.plan.system, time.perf_counter()
    try:
        trajectory = simulate_plan(loaded.plan, progress, mu, strict)
    except SimulationError as error:
        if error.partial is None:
            raise
        partial = _result(loaded, system, error.partial, time.perf_counter() - begun)
        told = str(error).partition(" The part before")[0].partition("; the part before")[0]
        kind = ValidityError if isinstance(error, ValidityError) else SimulationError
        raise kind(told, partial) from error
    assert isinstance(loaded.scenario, RunScenario)
    warn_invalid(trajectory, loaded.scenario.run.expects, stacklevel=4)
    return _result(loaded, system, trajectory, time.perf_counter() - begun)


def _swept(loaded: Loaded, system: System, data: "Dataset", seconds: float) -> Result:
    """Return the result of a sweep, or raise with what there is of one that was interrupted."""
    from draisine.experiment.sweep.table import NOT_RUN

    ends = data["outcome"].values
    missing = int((ends == NOT_RUN).sum())
    outcome = "interrupted" if missing else "completed"
    result = Result(loaded, data, outcome, seconds, system)
    if missing:
        done = f"{ends.size - missing} of {ends.size} runs"
        raise SimulationError(f"the sweep was interrupted after {done}.", result)
    return result


def _at(system: System, start: State, inputs: Mapping[str, float]) -> Trajectory:
    """Return one state as a trajectory of one sample."""
    machine = system.machine()
    y = machine.enter(start)
    arc = BilateralArc(machine, np.zeros(1), y[None, :], system.inputs(inputs)[:, None])
    return Trajectory((arc,), "completed")


def _result(
    loaded: Loaded,
    system: System,
    found: Trajectory,
    seconds: float,
    data: "Dataset | None" = None,
) -> Result:
    data = _signed(loaded, system, run_dataset(found) if data is None else data)
    return Result(loaded, data, found.outcome, seconds, system, found.events)


def _signed(loaded: Loaded, system: System, data: "Dataset") -> "Dataset":
    """Return a dataset that tells what it was made from, so that it can be made again."""
    name = loaded.scenario.vehicle.name
    data.attrs |= machine_attributes(system, loaded.scenario.title) | {"scenario": loaded.text}
    if not isinstance(loaded.scenario, RunScenario):  # a run has its own law and recipe
        content = call_recipe("loaded", accept, loaded.name, loaded.name, loaded.content)
        recipe = f"{content}result = draisine.run(loaded)\n"
        data.attrs |= law_attributes(loaded.plan.law) | {"recipe": recipe}
    if loaded.scenario.vehicle.motions:
        data.attrs["motions"] = json.dumps(loaded.scenario.vehicle.motions)
    if ".py:" in name:
        path, _, function = name.rpartition(":")
        data.attrs["vehicle_path"] = f"{Path(path).resolve()}:{function}"
    return data
