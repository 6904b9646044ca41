"""Execution of scenarios of every kind; each result is a dataset with its provenance.

`run` dispatches on the kind of the scenario: runs are integrated (`kinds.run`), sweeps are divided into
chunks of runs (`sweep`), and the other kinds call their analysis. Each dataset stores the scenario, the
vehicle and a recipe (a script that repeats the computation).
"""

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
from draisine.results.attributes import read_validity
from draisine.results.bodies import Bodies, machine_attributes
from draisine.results.runs import unflatten_runs
from draisine.scenario.library import Loaded, load, validate_scenario
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
    """Result of a scenario.

    Attributes
    ----------
    loaded
        Validated scenario with its file and its plan.
    data
        Computed quantities, one variable each, with units as attributes.
    outcome
        "completed", or the reason why the run or sweep stopped before its end.
    seconds
        Wall time of the computation in s.
    system
        Compiled vehicle.
    events
        Events of a run (impacts, lift-offs, changes between stick and slip) in the order of time.
    """

    loaded: Loaded
    data: "Dataset"
    outcome: str
    seconds: float
    system: System
    events: tuple[Event, ...] = ()

    def __repr__(self) -> str:
        """Return a summary of the result: outcome, dimensions, events and validity."""
        sizes = ", ".join(f"{n} along {name}" for name, n in self.data.sizes.items())
        lines = [f"Result of {self.loaded.name}: {self.outcome}", f"  data: {sizes}"]
        if self.events:
            lines.append(f"  events: {', '.join(event.kind for event in self.events)}")
        if self.validity is not None:
            lines.append(f"  {self.validity}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the summary as HTML for notebooks."""
        return f"<pre>{escape(repr(self))}</pre>"

    def plot(
        self, figure: str | None = None, path: str | Path | None = None, **options: Any
    ) -> Any:
        """Draw the result and return the matplotlib axes, see `draisine.plot`."""
        return draisine.plot(self, figure, path, **options)

    def animate(self, path: str | Path | None = None, **options: Any) -> Any:
        """Write an animation or an interactive replay page; without a path, return the page for a notebook.

        See `draisine.animate`.
        """
        return draisine.animate(self, path, **options)

    @property
    def validity(self) -> Validity | None:
        """Physical validity of a run; None for results of other kinds."""
        return read_validity(self.data)

    @property
    def unexpected_faults(self) -> list[str]:
        """Descriptions of the validity faults of a run that `run.expects` of its scenario does not list."""
        run = getattr(self.loaded.scenario, "run", None)
        if self.validity is None or run is None:
            return []
        return self.validity.unexpected_faults(run.expects)

    @cached_property
    def bodies(self) -> Bodies:
        """Motions of all bodies of the run, see `results.bodies.Bodies`."""
        return Bodies(self.data, self.system.model)


def run(
    scenario: str | Loaded,
    progress: Progress = None,
    *,
    changes: Mapping[str, Any] | None = None,
    mu: float | None = None,
    strict: bool = False,
) -> Result:
    """Run a scenario of any kind and return its result.

    Parameters
    ----------
    scenario
        Name of a shipped scenario, path of a TOML file, or a loaded scenario.
    progress
        Function that is called with the completed fraction (0 to 1); True shows a progress bar.
    changes
        Values that replace those of the scenario, by key path ("run.until",
        "vehicle.parameters.mB").
    mu
        Coefficient of friction for the validity assessment, see `simulate`. Only for the kind `run`.
    strict
        Raise if the run is not physically valid. Only for the kind `run`.

    Returns
    -------
    Result
        Dataset, outcome, events and compiled vehicle.

    Raises
    ------
    SimulationError
        The run stopped before its final time; the attribute `partial` is the result until then.
    ValidityError
        The run is not physically valid and `strict` is set. Without `strict`, such a run issues a
        `ValidityWarning`, unless `run.expects` of the scenario lists the fault.
    ParameterError
        An option does not apply to the kind of the scenario.

    Examples
    --------
    >>> import draisine
    >>> result = draisine.run("mauny2018/passive-stabilisation", changes={"run.until": 0.5})
    >>> result.outcome, result.data.sizes["time"]
    ('completed', 51)
    """
    loaded = load(scenario, changes) if isinstance(scenario, str) else scenario
    content = loaded.scenario
    system = loaded.plan.system
    start_time = time.perf_counter()
    if not isinstance(content, RunScenario) and (mu is not None or strict):
        option = "strict" if strict else "mu"
        raise ParameterError(
            f"The option {option} applies to scenarios of the kind 'run', but {loaded.name} is of the "
            f"kind {content.kind!r}. Remove it."
        )
    match content:
        case RunScenario():
            return _simulate_scenario(loaded, progress, mu, strict)
        case SweepScenario():
            return sweep(loaded, progress=progress)
        case StateScenario():
            trajectory = _make_single_sample(system, loaded.plan.copy_state(), content.inputs)
            return _make_result(loaded, system, trajectory, time.perf_counter() - start_time)
        case CycleScenario():
            from draisine.experiment.kinds.cycle import find_cycle

            trajectory, data = find_cycle(loaded.plan, content.cycle)
            return _make_result(loaded, system, trajectory, time.perf_counter() - start_time, data)
        case _:
            data = _analyse_scenario(content, system, loaded.plan.law)
            seconds = time.perf_counter() - start_time
            data = _add_provenance(loaded, system, data)
            return Result(loaded, data, "completed", seconds, system)


def _analyse_scenario(
    scenario: MapScenario | LinearScenario | GaitScenario, system: System, law: Any
) -> "Dataset":
    """Return the dataset of a scenario whose result is not a motion (map, linear, gait)."""
    # Import the analysis of one kind of scenario only, so that the other kinds start faster.
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
    scenario: str | Loaded,
    out: str | Path | None = None,
    *,
    resume: bool = False,
    engine: str = "processes",
    workers: int | None = None,
    scheduler: str | None = None,
    changes: Mapping[str, Any] | None = None,
    progress: Progress = None,
) -> Result:
    """Run all variants of a scenario of the kind `sweep` and return one dataset of their outputs.

    Parameters
    ----------
    scenario
        Name of a shipped scenario, path of a TOML file, or a loaded scenario.
    out
        Path of a Zarr store. Each chunk of runs is written as soon as it is computed.
    resume
        Compute only the missing chunks of an interrupted store.
    engine
        "processes" starts worker processes on this computer if the sweep takes longer than a few
        seconds; "dask" uses a Dask cluster.
    workers
        Number of worker processes; by default one per core.
    scheduler
        Address of a Dask scheduler; by default a local cluster is started. Only for "dask".
    changes
        Values that replace those of the scenario, by key path.
    progress
        Function that is called with the completed fraction (0 to 1); True shows a progress bar.

    Returns
    -------
    Result
        Outputs of all runs. The dataset of a grid has one dimension per varied quantity, other datasets
        have the dimension `run`.

    Raises
    ------
    ParameterError
        The scenario is not a sweep, or options contradict each other.
    DataError
        The store exists, or belongs to another sweep or another version of draisine.
    SimulationError
        The sweep was interrupted; the attribute `partial` has the completed runs, or the store
        keeps the completed chunks.

    Examples
    --------
    >>> import draisine
    >>> draisine.sweep("mauny2018/drift", changes={"run.until": 0.1}).data["outcome"].dims
    ('integrator', 'dt')
    """
    from draisine.experiment.sweep.chunks import Runner
    from draisine.experiment.sweep.driver import run_sweep
    from draisine.experiment.sweep.engines import run_tasks
    from draisine.experiment.sweep.store import open_store
    from draisine.experiment.sweep.table import SweepRows

    loaded = load(scenario, changes) if isinstance(scenario, str) else scenario
    if not isinstance(loaded.scenario, SweepScenario):
        raise ParameterError(
            f"{loaded.name} is of the kind {loaded.scenario.kind!r}, not a sweep. "
            "Add a table [sweep] with kind = 'sweep', or use `run`."
        )
    if resume and out is None:
        raise ParameterError(
            "To resume a sweep, state the path of the interrupted store: set `out`."
        )
    system = loaded.plan.system
    start_time = time.perf_counter()
    runner = Runner(loaded)
    count = runner.design.count
    chunk = runner.chunk
    execute = partial(run_tasks, engine=engine, workers=workers, scheduler=scheduler)
    run_chunks = partial(run_sweep, runner, execute, progress=progress)
    if out is None:
        rows = SweepRows.make_empty(runner.outputs, count)
        run_chunks(
            range(-(-count // chunk)),
            lambda k, block: rows.put_rows(slice(k * chunk, k * chunk + len(block.outcome)), block),
        )
        data = unflatten_runs(_make_sweep_table(runner, 0, rows))
        return _make_sweep_result(loaded, system, data, time.perf_counter() - start_time)
    # The table of one run without results defines variables, types and attributes of the store.
    template = _make_sweep_table(runner, 0, SweepRows.make_empty(runner.outputs, 1))
    with open_store(template, count, Path(out), chunk, resume) as store:
        run_chunks(store.find_missing_chunks(), partial(_write_chunk, runner, store))
        data = store.add_content_hash()
    return Result(loaded, data, "completed", time.perf_counter() - start_time, system)


def _write_chunk(
    runner: "Runner", store: "SweepStore", chunk_index: int, rows: "SweepRows"
) -> None:
    """Write a chunk of runs to the store if it is complete; otherwise it is computed again on resuming."""
    if rows.finished:
        store.write_chunk(chunk_index, _make_sweep_table(runner, chunk_index * runner.chunk, rows))


def _make_sweep_table(runner: "Runner", first: int, rows: "SweepRows") -> "Dataset":
    """Return the outputs of consecutive runs, starting with run number `first`, as a dataset."""
    from draisine.experiment.sweep.table import make_sweep_table

    loaded = runner.loaded
    last = first + len(rows.outcome)
    columns = runner.design.columns(first, last)
    numbers = np.arange(first, last)
    system = loaded.plan.system
    data = make_sweep_table(runner.scenario, system.model, columns, rows, numbers)
    return _add_provenance(loaded, system, data)


def _simulate_scenario(
    loaded: Loaded, progress: Progress, mu: float | None, strict: bool
) -> Result:
    """Return the result of a run; raise `SimulationError` with the partial result if the run stopped."""
    system = loaded.plan.system
    start_time = time.perf_counter()
    try:
        trajectory = simulate_plan(loaded.plan, progress, mu, strict)
    except SimulationError as error:
        if error.partial is None:
            raise
        partial = _make_result(loaded, system, error.partial, time.perf_counter() - start_time)
        # The message of `simulate` refers to its partial trajectory. Remove this part, because the
        # error contains a partial result instead.
        message = str(error).partition(" The part before")[0].partition("; the part before")[0]
        error_type = ValidityError if isinstance(error, ValidityError) else SimulationError
        raise error_type(message, partial) from error
    assert isinstance(loaded.scenario, RunScenario)
    # With this stack level the warning refers to the caller of `draisine.run`.
    warn_invalid(trajectory, loaded.scenario.run.expects, stacklevel=4)
    return _make_result(loaded, system, trajectory, time.perf_counter() - start_time)


def _make_sweep_result(loaded: Loaded, system: System, data: "Dataset", seconds: float) -> Result:
    """Return the result of a complete sweep; raise `SimulationError` if it was interrupted."""
    from draisine.simulation.contact.many import NOT_RUN

    outcomes = data["outcome"].values
    missing = int((outcomes == NOT_RUN).sum())
    outcome = "interrupted" if missing else "completed"
    result = Result(loaded, data, outcome, seconds, system)
    if missing:
        completed = f"{outcomes.size - missing} of {outcomes.size} runs"
        raise SimulationError(f"the sweep was interrupted after {completed}.", result)
    return result


def _make_single_sample(system: System, start: State, inputs: Mapping[str, float]) -> Trajectory:
    """Return one state with its accelerations and forces as a trajectory of one sample."""
    machine = system.machine()
    y = machine.enter(start)
    arc = BilateralArc(machine, np.zeros(1), y[None, :], system.inputs(inputs)[None])
    return Trajectory((arc,), "completed")


def _make_result(
    loaded: Loaded,
    system: System,
    trajectory: Trajectory,
    seconds: float,
    data: "Dataset | None" = None,
) -> Result:
    """Return the result of a motion; if given, `data` replaces the dataset of the trajectory."""
    data = _add_provenance(loaded, system, run_dataset(trajectory) if data is None else data)
    return Result(loaded, data, trajectory.outcome, seconds, system, trajectory.events)


def _add_provenance(loaded: Loaded, system: System, data: "Dataset") -> "Dataset":
    """Add scenario, vehicle and recipe as attributes, so that the dataset can be computed again."""
    name = loaded.scenario.vehicle.name
    data.attrs |= machine_attributes(system, loaded.scenario.title) | {"scenario": loaded.text}
    # The dataset of a run contains its control law and its recipe already.
    if not isinstance(loaded.scenario, RunScenario):
        content = call_recipe("loaded", validate_scenario, loaded.name, loaded.name, loaded.content)
        recipe = f"{content}result = draisine.run(loaded)\n"
        data.attrs |= law_attributes(loaded.plan.law) | {"recipe": recipe}
    if loaded.scenario.vehicle.motions:
        data.attrs["motions"] = json.dumps(loaded.scenario.vehicle.motions)
    if ".py:" in name:
        path, _, function = name.rpartition(":")
        data.attrs["vehicle_path"] = f"{Path(path).resolve()}:{function}"
    return data
