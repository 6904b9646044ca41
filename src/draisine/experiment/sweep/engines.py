"""Engines: who carries out the runs of a sweep, and what happens when one of them dies.

A task is a stretch of runs, (first, last). An engine gives back what is known of each, in any order.
Workers get the scenario once and then numbers of runs; they never write: the driver does, alone.
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
from draisine.scenario.library import Loaded, accept

Stretch = tuple[int, int]
Found = Iterator[tuple[Stretch, SweepRows]]
Source = tuple[str, str, str, str]
"""A scenario for other processes: its name, its file, its content in JSON, and the version that runs it."""

TRIES = 3
"""How often a stretch is given to another worker after one died of it."""

AHEAD = 4
"""How many stretches lie ready for each thread of a Dask cluster."""

QUIET = "import logging; logging.getLogger('distributed').setLevel('CRITICAL')"
"""What workers of a cluster of one's own do first: what fails comes back to the driver, which tells of it;
a scheduler that ends while they ask it is no news.
"""

SOON, LONG = 1.0, 5.0
"""After so many seconds one looks how long the rest will take; workers are worth it from so many."""


def run_tasks(
    runner: Runner,
    tasks: Sequence[Stretch],
    engine: str = "processes",
    workers: int | None = None,
    scheduler: str | None = None,
) -> Found:
    """Return what is known of each stretch of runs, as it becomes known.

    `processes` begins in this process, and starts workers, one per core, where the rest takes long; a
    number of `workers` is started at once (1: none but this process). `dask` uses the cluster of a
    scheduler, or one of its own on this computer.
    """
    if engine == "dask":
        return _by_dask(source_of(runner.loaded), tasks, workers, scheduler)
    if scheduler is not None:
        raise ParameterError("a scheduler goes with the engine 'dask'.")
    if engine != "processes":
        raise ParameterError(f"engine {engine!r}: take 'processes' or 'dask'.")
    if workers is None:
        return _here_first(runner, tasks)
    if workers > 1:
        return _by_processes(source_of(runner.loaded), tasks, workers)
    return ((task, runner.rows(*task)) for task in tasks)


def _here_first(runner: Runner, tasks: Sequence[Stretch]) -> Found:
    """Begin in this process; go on with one worker per core where that pays. The first stretch
    compiles, and tells nothing of the others.
    """
    begun, cores = 0.0, os.cpu_count() or 1
    for done, task in enumerate(tasks):
        begun = time.perf_counter() if done < 2 else begun
        spent, left = time.perf_counter() - begun, len(tasks) - done
        if spent > SOON and spent / (done - 1) * left > LONG and min(cores, left) > 1:
            yield from _by_processes(source_of(runner.loaded), tasks[done:], min(cores, left))
            return
        yield task, runner.rows(*task)


def source_of(loaded: Loaded) -> Source:
    """Return a scenario for other processes."""
    return loaded.name, loaded.file, json.dumps(loaded.content), draisine.__version__


@lru_cache(maxsize=1)
def runner_of(source: Source) -> Runner:
    """Return what carries out the runs of a scenario in another process, one thread each."""
    name, file, content, version = source
    if version != draisine.__version__:
        raise SimulationError(
            f"a worker has draisine {draisine.__version__}, who asks it {version}: install the same."
        )
    return Runner(accept(name, file, json.loads(content)), threads=1)


def run_stretch(source: Source, first: int, last: int) -> SweepRows:
    """Return what is known of a stretch of runs; what a worker does."""
    return runner_of(source).rows(first, last)


class Worker:
    """Another process that carries out stretches; it ends with this one."""

    CODE = "from draisine.experiment.sweep.engines import serve; serve()"

    def __init__(self, source: Source) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(source)

    def _send(self, thing: Any) -> None:
        assert self.process.stdin is not None
        pickle.dump(thing, self.process.stdin)
        self.process.stdin.flush()

    def run(self, task: Stretch) -> SweepRows | Exception:
        """Return what is known of a stretch, or what went wrong with it; EOFError: it died."""
        assert self.process.stdout is not None
        try:
            self._send(task)
            found: SweepRows | Exception = pickle.load(self.process.stdout)
        except (OSError, pickle.UnpicklingError) as error:
            raise EOFError from error
        return found

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


def serve() -> None:
    """Carry out stretches that come by standard input until that ends; nothing else is printed there."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source: Source = pickle.load(sys.stdin.buffer)
    while True:
        found: SweepRows | Exception
        try:
            task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            found = run_stretch(source, *task)
        except Exception as error:
            found = error
        try:
            pickle.dump(found, answers)
            answers.flush()
        except BrokenPipeError:
            os._exit(1)  # nobody is there any more


def _by_processes(source: Source, tasks: Sequence[Stretch], workers: int) -> Found:
    """Give stretches to other processes; one that dies is replaced."""
    waiting, found = deque(tasks), SimpleQueue[tuple[Stretch, SweepRows | Exception]]()
    alive: list[Worker] = []

    def attend() -> None:
        worker = start()
        while waiting and not stopped:
            with suppress(IndexError):
                task = waiting.popleft()
                for _ in range(TRIES):
                    try:
                        found.put((task, worker.run(task)))
                        break
                    except EOFError:
                        worker.end()
                        if stopped:
                            return
                        worker = start()
                else:
                    found.put((task, _deadly(task)))
        worker.end()

    def start() -> Worker:
        alive.append(Worker(source))
        return alive[-1]

    stopped = False
    threads = [Thread(target=attend, daemon=True) for _ in range(min(workers, len(tasks)))]
    for thread in threads:
        thread.start()
    try:
        yield from (_sound(*found.get()) for _ in tasks)
    finally:
        stopped = True
        for worker in alive:
            worker.process.kill()
        for thread in threads:
            thread.join()


def _deadly(task: Stretch) -> SimulationError:
    """Return the error that a stretch is which no worker survived."""
    runs = f"the runs {task[0]} to {task[1] - 1}"
    return SimulationError(f"{runs} ended one worker after the other.")


def _sound(task: Stretch, rows: SweepRows | Exception) -> tuple[Stretch, SweepRows]:
    """Return what is known of a stretch; raise what went wrong with it."""
    if isinstance(rows, Exception):
        raise rows
    return task, rows


def _by_dask(
    source: Source, tasks: Sequence[Stretch], workers: int | None, scheduler: str | None
) -> Found:
    """Give stretches to the workers of a Dask cluster, a few for each at a time; Dask itself gives those
    of one that died to others.
    """
    distributed = import_extra("distributed", "dask")
    with _dask_client(distributed, workers, scheduler) as client:
        waiting, running = deque(tasks), dict[Any, Stretch]()
        futures, looked, room = distributed.as_completed(loop=client.loop), -SOON, 0
        while waiting or running:
            if time.monotonic() - looked >= SOON:  # workers come and go
                looked, room = time.monotonic(), AHEAD * max(1, sum(client.nthreads().values()))
            while waiting and len(running) < room:
                task = waiting.popleft()
                future = client.submit(run_stretch, source, *task, pure=False)
                running[future] = task
                futures.add(future)
            future = next(futures)
            task = running.pop(future)
            try:
                rows = future.result()
            except distributed.KilledWorker as error:
                raise _deadly(task) from error
            yield task, rows


def _dask_client(distributed: Any, workers: int | None, scheduler: str | None) -> Any:
    """Return who asks the cluster of a scheduler, or one of its own whose workers leave Ctrl-C to the
    driver.
    """
    if scheduler is not None:
        if workers is not None:
            raise ParameterError(
                f"workers = {workers}: the cluster at {scheduler} has its own; leave them out."
            )
        try:
            return distributed.Client(scheduler, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ParameterError(f"no Dask scheduler answers at {scheduler}: {error}") from error
    options: dict[str, Any] = {"dashboard_address": None, "preload": [QUIET]}
    options |= {"n_workers": workers or os.cpu_count() or 1, "threads_per_worker": 1}
    if current_thread() is not main_thread():
        return distributed.Client(set_as_default=False, **options)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # processes inherit it
    try:
        return distributed.Client(set_as_default=False, **options)
    finally:
        signal.signal(signal.SIGINT, before)
