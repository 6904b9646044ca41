"""Sweeps: runs that differ in some values, and what is asked of each."""

from collections.abc import Callable, Iterable, Sequence

from draisine.experiment.sweep.chunks import Runner
from draisine.experiment.sweep.engines import Found, Stretch
from draisine.experiment.sweep.table import SweepRows
from draisine.simulation.options import Progress, report_progress

Engine = Callable[[Runner, Sequence[Stretch]], Found]
"""Who carries out stretches of runs."""


def tasks_of(runner: Runner, chunks: Iterable[int]) -> list[Stretch]:
    """Return the stretches of runs that are given away together: chunks that go side by side, or each
    run by itself.
    """
    count, tasks = runner.design.count, []
    for k in chunks:
        first, last = k * runner.chunk, min((k + 1) * runner.chunk, count)
        tasks += [(first, last)] if runner.lanes else [(j, j + 1) for j in range(first, last)]
    return tasks


def run_sweep(
    runner: Runner,
    engine: Engine,
    chunks: Iterable[int],
    keep: Callable[[int, SweepRows], None],
    progress: Progress = None,
) -> None:
    """Carry out chunks of runs by an engine, and keep each as soon as all its runs are known; an
    interruption ends it, with the chunks that it hit kept as far as they are.
    """
    open_chunks: dict[int, SweepRows] = {}
    tasks, chunk = tasks_of(runner, chunks), runner.chunk
    total, done = sum(last - first for first, last in tasks), 0
    with report_progress(progress, f"running {runner.loaded.name}", total) as tell:
        try:
            for (first, last), rows in engine(runner, tasks):
                k = first // chunk
                size = min(chunk, runner.design.count - k * chunk)
                if k not in open_chunks:
                    open_chunks[k] = SweepRows.empty(runner.questions, size)
                open_chunks[k].put(slice(first - k * chunk, last - k * chunk), rows)
                if open_chunks[k].finished:
                    keep(k, open_chunks.pop(k))
                done += last - first
                if tell is not None:
                    tell(done / total)
        except KeyboardInterrupt:
            for k, rows in open_chunks.items():
                keep(k, rows)
