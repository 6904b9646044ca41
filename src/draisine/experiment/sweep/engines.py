"""Engines that run the tasks of a sweep: in this process, in worker processes, or on a Dask cluster.

A task is a range of runs (first, last). An engine yields the results of the tasks (`SweepRows`: one row of
outputs per run) in any order. Workers receive the scenario once and then ranges of runs; only the main
process (the driver) writes to the store. If a worker process dies, another worker repeats its task; after
`MAX_ATTEMPTS` deaths the sweep stops.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any

import draisine
from draisine.errors import ParameterError, SimulationError, import_extra
from draisine.experiment.sweep.chunks import Runner
from draisine.experiment.sweep.table import SweepRows
from draisine.scenario.library import Loaded, validate_scenario

RunRange = tuple[int, int]
"""Type of a range of runs: (first, last), where the last run is excluded."""
TaskResults = Iterator[tuple[RunRange, SweepRows]]
"""Type of the results of tasks: (range of runs, outputs and outcomes of these runs), in any order."""
SerialisedScenario = tuple[str, str, str, str]
"""Type of a serialised scenario for worker processes: (name, file, tables as JSON, draisine version)."""

MAX_ATTEMPTS = 3
"""Number of workers that may die during a task before the sweep stops with an error.

A worker may die for lack of memory; a task that ended three workers is likely to end the next one.

"""

TASKS_PER_THREAD = 4
"""Number of submitted tasks per thread of a Dask cluster; several tasks hide the scheduler latency."""

SILENCE_WORKER_LOGS = "import logging; logging.getLogger('distributed').setLevel('CRITICAL')"
"""Python code that silences the logs of local Dask workers; the driver reports their errors."""

ESTIMATION_TIME = 1.0
"""Time (s) before the remaining time of a sweep is first estimated.

It is also the interval between updates of the number of Dask workers.

"""

MIN_PARALLEL_TIME = 5.0
"""Smallest remaining time (s) for which worker processes are started; their start takes a second or two."""


def run_tasks(
    runner: Runner,
    tasks: Sequence[RunRange],
    engine: str = "processes",
    workers: int | None = None,
    scheduler: str | None = None,
) -> TaskResults:
    """Run the tasks of a sweep by an engine and yield their results in the order of completion.

    The engine "processes" begins in this process and continues with one worker process per core if the
    remaining runs take long. If the number of `workers` is set, they are started immediately (1: only this
    process). The engine "dask" uses the cluster at the address `scheduler`, or a local cluster.
    """
    if engine == "dask":
        return _run_on_dask(serialise_scenario(runner.loaded), tasks, workers, scheduler)
    if scheduler is not None:
        raise ParameterError("A scheduler applies to the engine 'dask' only. Set engine='dask'.")
    if engine != "processes":
        raise ParameterError(f"Unknown engine {engine!r}. Available engines: processes, dask.")
    if workers is None:
        return _run_adaptively(runner, tasks)
    if workers > 1:
        return _run_in_processes(serialise_scenario(runner.loaded), tasks, workers)
    return ((task, runner.simulate_range(*task)) for task in tasks)


def _run_adaptively(runner: Runner, tasks: Sequence[RunRange]) -> TaskResults:
    """Run tasks in this process, and continue with one worker process per core if that saves time."""
    cores = os.cpu_count() or 1
    start_time = 0.0
    for completed, task in enumerate(tasks):
        # The first task includes the compilation. Leave it out of the time estimate.
        start_time = time.perf_counter() if completed < 2 else start_time
        elapsed = time.perf_counter() - start_time
        remaining = len(tasks) - completed
        workers = min(cores, remaining)
        if (
            elapsed > ESTIMATION_TIME
            and elapsed / (completed - 1) * remaining > MIN_PARALLEL_TIME
            and workers > 1
        ):
            yield from _run_in_processes(
                serialise_scenario(runner.loaded), tasks[completed:], workers
            )
            return
        yield task, runner.simulate_range(*task)


def serialise_scenario(loaded: Loaded) -> SerialisedScenario:
    """Serialise a scenario for worker processes."""
    return loaded.name, loaded.file, json.dumps(loaded.content), draisine.__version__


@lru_cache(maxsize=1)
def make_runner(source: SerialisedScenario) -> Runner:
    """Build the runner of a serialised scenario in a worker process, with one thread."""
    name, file, content, version = source
    if version != draisine.__version__:
        raise SimulationError(
            f"A worker has draisine {draisine.__version__}, the driver has {version}. Install the same "
            "version on both."
        )
    return Runner(validate_scenario(name, file, json.loads(content)), threads=1)


def run_range(source: SerialisedScenario, first: int, last: int) -> SweepRows:
    """Simulate the runs `first` <= k < `last` in a worker process; return their outputs and outcomes."""
    return make_runner(source).simulate_range(first, last)


class Worker:
    """Worker process that receives tasks through a pipe; it ends with the main process."""

    CODE = "from draisine.experiment.sweep.engines import serve_tasks; serve_tasks()"

    def __init__(self, source: SerialisedScenario) -> None:
        """Start the worker process and send the scenario."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(source)

    def _send(self, message: Any) -> None:
        """Send a pickled message to the worker process."""
        assert self.process.stdin is not None
        pickle.dump(message, self.process.stdin)
        self.process.stdin.flush()

    def run_task(self, task: RunRange) -> SweepRows | Exception:
        """Run a task; return its results or the exception that it raised.

        Raise EOFError if the worker process died.
        """
        assert self.process.stdout is not None
        try:
            self._send(task)
            reply: SweepRows | Exception = pickle.load(self.process.stdout)
        except (OSError, pickle.UnpicklingError) as error:
            raise EOFError from error
        return reply

    def end(self) -> None:
        """End the worker process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def serve_tasks() -> None:
    """Run tasks that arrive on standard input until it is closed; write results to standard output."""
    # Ctrl-C reaches all processes of a terminal. Ignore it here, because the driver ends its
    # workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Standard output transmits pickled results. Redirect text that user code prints to standard
    # error.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source: SerialisedScenario = pickle.load(sys.stdin.buffer)
    while True:
        reply: SweepRows | Exception
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            reply = run_range(source, *task)
        except Exception as error:
            reply = error
        try:
            pickle.dump(reply, replies)
            replies.flush()
        except BrokenPipeError:
            # The driver has ended. Exit without the usual clean-up, which would write to the closed
            # pipe.
            os._exit(1)


def _run_in_processes(
    source: SerialisedScenario, tasks: Sequence[RunRange], workers: int
) -> TaskResults:
    """Run tasks in worker processes, each fed by one thread; replace workers that die."""
    queue = deque(tasks)
    replies = SimpleQueue[tuple[RunRange, SweepRows | Exception]]()
    started: list[Worker] = []

    def feed_worker() -> None:
        """Send tasks to one worker process until no task is left."""
        worker = start_worker()
        while queue and not stopped:
            # Another thread may take the last task between the test of the queue and `popleft`.
            with suppress(IndexError):
                task = queue.popleft()
                for _ in range(MAX_ATTEMPTS):
                    try:
                        replies.put((task, worker.run_task(task)))
                        break
                    except EOFError:
                        worker.end()
                        if stopped:
                            return
                        worker = start_worker()
                else:
                    replies.put((task, _make_death_error(task)))
        worker.end()

    def start_worker() -> Worker:
        """Start a worker process and register it for termination."""
        started.append(Worker(source))
        return started[-1]

    stopped = False
    threads = [Thread(target=feed_worker, daemon=True) for _ in range(min(workers, len(tasks)))]
    for thread in threads:
        thread.start()
    try:
        yield from (_check_rows(*replies.get()) for _ in tasks)
    finally:
        stopped = True
        for worker in started:
            worker.process.kill()
        for thread in threads:
            thread.join()


def _make_death_error(task: RunRange) -> SimulationError:
    """Return the error for a task during which every worker died."""
    return SimulationError(
        f"Every worker died during the runs {task[0]} to {task[1] - 1}. Check the memory of the "
        "workers, or compute these runs alone."
    )


def _check_rows(task: RunRange, rows_or_error: SweepRows | Exception) -> tuple[RunRange, SweepRows]:
    """Return a task with its results, or raise the exception that the worker returned."""
    if isinstance(rows_or_error, Exception):
        raise rows_or_error
    return task, rows_or_error


def _run_on_dask(
    source: SerialisedScenario,
    tasks: Sequence[RunRange],
    workers: int | None,
    scheduler: str | None,
) -> TaskResults:
    """Run tasks on a Dask cluster, a few per thread at a time; Dask reassigns tasks of dead workers."""
    distributed = import_extra("distributed", "dask")
    with _connect_to_dask(distributed, workers, scheduler) as client:
        queue = deque(tasks)
        running: dict[Any, RunRange] = {}
        futures = distributed.as_completed(loop=client.loop)
        last_count = -ESTIMATION_TIME
        capacity = 0
        while queue or running:
            # Workers may join or leave a cluster. Update their number once per second.
            if time.monotonic() - last_count >= ESTIMATION_TIME:
                last_count = time.monotonic()
                capacity = TASKS_PER_THREAD * max(1, sum(client.nthreads().values()))
            while queue and len(running) < capacity:
                task = queue.popleft()
                future = client.submit(run_range, source, *task, pure=False)
                running[future] = task
                futures.add(future)
            future = next(futures)
            task = running.pop(future)
            try:
                rows = future.result()
            except distributed.KilledWorker as error:
                raise _make_death_error(task) from error
            yield task, rows


def _connect_to_dask(distributed: Any, workers: int | None, scheduler: str | None) -> Any:
    """Return a client of the Dask cluster at a scheduler address, or of a new local cluster."""
    if scheduler is not None:
        if workers is not None:
            raise ParameterError(
                f"The cluster at {scheduler} has workers of its own. Remove workers={workers}."
            )
        try:
            return distributed.Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ParameterError(f"No Dask scheduler responds at {scheduler}: {error}") from error
    options: dict[str, Any] = {"dashboard_address": None, "preload": [SILENCE_WORKER_LOGS]}
    options |= {"n_workers": workers or os.cpu_count() or 1, "threads_per_worker": 1}
    if current_thread() is not main_thread():
        return distributed.Client(set_as_default=False, **options)
    # Workers inherit the ignored SIGINT, so that the driver alone handles Ctrl-C. Only the main
    # thread of Python may change signal handlers.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return distributed.Client(set_as_default=False, **options)
    finally:
        signal.signal(signal.SIGINT, before)
