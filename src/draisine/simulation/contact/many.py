"""Many simulation runs on terrain, distributed over threads.

Each run equals that of `simulate` bit by bit, whatever the number of threads. A thread takes the next run as
soon as it has finished a run. Compiled routines release Python's global lock, so that threads run at the same
time; each thread reuses the records of its last run (`query.borrow_query`). The last sample of each
run is kept, and those of one system on one ground are observed together.
"""

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, SimulationError, TerrainError
from draisine.simulation.options import Batch, Task, report_progress
from draisine.simulation.trajectory import FORCE_VARIABLES, Arc, Trajectory
from draisine.simulation.validity.fall import has_fallen

NOT_RUN = "not run"
"""Outcome of a run that was not started because the call was interrupted."""

RUN_ERRORS = (SimulationError, ConfigurationError, TerrainError)
"""Types of errors that end a single run. Other errors, such as an unknown option, end the whole call."""


@dataclass(frozen=True, eq=False)
class RunEnd:
    """Outcome, time, last sample and error of a finished run."""

    outcome: str  # outcome of the trajectory, or the text of the error
    time: float = np.nan  # s, time of the last sample
    events: int = 0  # number of events
    arc: Arc | None = None  # last sample; None if the run did not start
    is_instant: bool = False  # whether the last arc is too short to report forces
    error: Exception | None = None
    trajectory: Trajectory | None = None


def run_each(
    simulate_one: Callable[[int], Trajectory],
    count: int,
    threads: int | None,
    report: Callable[[float], None] | None,
    finish: Callable[[Trajectory | Exception], Any],
) -> tuple[list[Any], bool]:
    """Simulate many runs on threads.

    Parameters
    ----------
    simulate_one
        Function that simulates run k and returns its trajectory.
    count
        Number of runs.
    threads
        Number of threads; None for one per core.
    report
        Function that is called with the completed fraction of the runs, 0 to 1.
    finish
        Function that is called with the trajectory of each run, or with its error, in the thread of the run.

    Returns
    -------
    results
        What `finish` returned for each run; None for runs that were not started.
    interrupted
        Whether the user interrupted the call. Runs that had started are complete then.
    """
    results: list[Any] = [None] * count
    numbers = iter(range(count))
    lock = threading.Lock()
    stopped = threading.Event()
    completed = 0

    def run_next(k: int) -> None:
        nonlocal completed
        try:
            result: Trajectory | Exception = simulate_one(k)
        except RUN_ERRORS as error:
            result = error
        results[k] = finish(result)
        if was_interrupted(result):
            raise KeyboardInterrupt
        with lock:
            completed += 1
            if report is not None:
                report(completed / count)

    def work() -> None:
        while not stopped.is_set():
            with lock:
                k = next(numbers, None)
            if k is None:
                return
            try:
                run_next(k)
            except BaseException:
                stopped.set()
                raise

    workers = min(threads or os.cpu_count() or 1, count)
    try:
        if workers == 1:
            work()
            return results, False
        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(work) for _ in range(workers)]
            try:
                wait(futures)
            finally:
                stopped.set()
            for future in futures:
                future.result()
    except KeyboardInterrupt:
        return results, True
    return results, False


def run_threads(
    batch: Batch, simulate_one: Callable[[Task], Trajectory]
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.bool_]]]:
    """Simulate many machines with unilateral contacts, each by `simulate_one`; see `simulate_many`.

    Return its result, and for each fault of a run, by description, a mask of the machines that have it.
    """
    count = len(batch.states)
    threads = batch.task.numerics.threads
    # `simulate` does not use threads.
    numerics = replace(batch.task.numerics, threads=None)
    single = replace(batch, task=replace(batch.task, numerics=numerics))
    text = f"simulating {count} runs of {batch.task.system.vehicle.__name__}"
    with report_progress(batch.progress, text, count) as report:
        endings, interrupted = run_each(
            lambda k: simulate_one(single.task_of(k)),
            count,
            threads,
            report,
            partial(end_of, keeps=batch.trajectories),
        )
    result = tabulate(endings)
    if batch.trajectories:
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
    stopped = np.array([error is not None for error in result["errors"]])
    fallen = np.array([has_fallen(text) for text in result["outcome"]]) & ~stopped
    return result, {"fell": fallen, "stopped by an error": stopped}


def was_interrupted(result: Trajectory | Exception) -> bool:
    """Return whether a run stopped because the user interrupted it."""
    partial = result.partial if isinstance(result, SimulationError) else None
    return getattr(partial, "outcome", None) == "interrupted"


def end_of(result: Trajectory | Exception, keeps: bool) -> RunEnd:
    """Return the end of a run from its trajectory or error; the trajectory is included if `keeps` is set."""
    error = result if isinstance(result, Exception) else None
    run = getattr(result, "partial", None) if error is not None else result
    if not isinstance(run, Trajectory):
        return RunEnd(str(error), error=error)
    last = run.arcs[-1]
    return RunEnd(
        run.outcome,
        float(last.t[-1]),
        len(run.events),
        last.last_sample(),
        last.is_instant,
        error,
        run if keeps and error is None else None,
    )


def tabulate(endings: Sequence[RunEnd | None]) -> dict[str, NDArray[Any]]:
    """Return all variables at the ends of runs by name, as arrays (..., runs); failed runs have NaN."""
    known = [ending or RunEnd(NOT_RUN) for ending in endings]
    completed = [k for k, ending in enumerate(known) if ending.error is None and ending.arc]
    table = _observe([known[k] for k in completed])
    columns: dict[str, NDArray[Any]] = {}
    for name, values in table.items():
        columns[name] = np.full((len(values), len(known)), np.nan)
        columns[name][:, completed] = values
    columns["outcome"] = np.array([ending.outcome for ending in known])
    columns["time"] = np.array([ending.time for ending in known])
    columns["events"] = np.array([ending.events for ending in known])
    columns["errors"] = as_objects([ending.error for ending in known])
    return columns


def as_objects(values: Sequence[Any]) -> NDArray[np.object_]:
    """Return values as a one-dimensional array of Python objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _observe(endings: Sequence[RunEnd]) -> dict[str, Floats]:
    """Return pose, joints and all output variables at the ends of runs by name, as arrays (..., runs)."""
    # Runs of one system on one ground are observed together.
    groups: dict[tuple[int, int, type], list[int]] = {}
    arcs = [ending.arc for ending in endings if ending.arc is not None]
    for k, arc in enumerate(arcs):
        groups.setdefault((id(arc.machine), id(arc.terrain), type(arc)), []).append(k)
    table: dict[str, Floats] = {}
    for members in groups.values():
        for name, values in _observe_together([arcs[k] for k in members]).items():
            if name not in table:
                table[name] = np.full((len(values), len(endings)), np.nan)
            table[name][:, members] = values
    instants = [k for k, ending in enumerate(endings) if ending.is_instant]
    for name in FORCE_VARIABLES & table.keys() if instants else ():
        table[name][:, instants] = np.nan
    return table


def _observe_together(arcs: Sequence[Arc]) -> dict[str, Floats]:
    """Return pose, joints and all variables of arcs of one sample and one type, of runs of one system on one
    ground, one column each.
    """
    layout = arcs[0].machine.layout
    y = np.concatenate([arc.y for arc in arcs]).T
    variables = arcs[0].__class__.observe_together(arcs)
    return variables | {"q": y[layout.q], "p": y[layout.p], "r": y[layout.r]}
