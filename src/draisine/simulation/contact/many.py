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
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError, SimulationError, TerrainError
from draisine.simulation.contact.arc import SteppedArc, TerrainArc, observe_last_samples
from draisine.simulation.trajectory import FORCE_VARIABLES, Trajectory

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
    arc: TerrainArc | SteppedArc | None = None  # last sample; None if the run did not start
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
    assert isinstance(last, TerrainArc | SteppedArc)
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
        for name, values in observe_last_samples([arcs[k] for k in members]).items():
            if name not in table:
                table[name] = np.full((len(values), len(endings)), np.nan)
            table[name][:, members] = values
    instants = [k for k, ending in enumerate(endings) if ending.is_instant]
    for name in FORCE_VARIABLES & table.keys() if instants else ():
        table[name][:, instants] = np.nan
    return table
