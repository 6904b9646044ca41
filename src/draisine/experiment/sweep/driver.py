"""Driver of a sweep: divides chunks into tasks, runs them by an engine, and stores complete chunks."""

from collections.abc import Callable, Iterable, Sequence

from draisine.experiment.sweep.chunks import Runner
from draisine.experiment.sweep.engines import RunRange, TaskResults
from draisine.experiment.sweep.table import SweepRows
from draisine.simulation.options import Progress, report_progress

Engine = Callable[[Runner, Sequence[RunRange]], TaskResults]
"""Type of a function that runs tasks (ranges of runs) and yields their results in any order."""


def make_tasks(runner: Runner, chunks: Iterable[int]) -> list[RunRange]:
    """Divide chunks into tasks: ranges of runs that are computed together."""
    count = runner.design.count
    size = runner.task_size
    tasks = []
    for k in chunks:
        first = k * runner.chunk
        last = min((k + 1) * runner.chunk, count)
        tasks += [(j, min(j + size, last)) for j in range(first, last, size)]
    return tasks


def run_sweep(
    runner: Runner,
    engine: Engine,
    chunks: Iterable[int],
    keep: Callable[[int, SweepRows], None],
    progress: Progress = None,
) -> None:
    """Run the chunks of a sweep by an engine and pass each complete chunk to the function `keep`.

    After Ctrl-C, incomplete chunks are passed to `keep` with the results computed until then.
    """
    open_chunks: dict[int, SweepRows] = {}
    tasks = make_tasks(runner, chunks)
    chunk = runner.chunk
    total = sum(last - first for first, last in tasks)
    completed = 0
    with report_progress(progress, f"running {runner.loaded.name}", total) as report:
        try:
            for (first, last), rows in engine(runner, tasks):
                k = first // chunk
                size = min(chunk, runner.design.count - k * chunk)
                if k not in open_chunks:
                    open_chunks[k] = SweepRows.make_empty(runner.outputs, size)
                open_chunks[k].put_rows(slice(first - k * chunk, last - k * chunk), rows)
                if open_chunks[k].finished:
                    keep(k, open_chunks.pop(k))
                completed += last - first
                if report is not None:
                    report(completed / total)
        except KeyboardInterrupt:
            for k, rows in open_chunks.items():
                keep(k, rows)
