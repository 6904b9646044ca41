"""Sweeps: runs that differ in some values, and what is asked of each."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from draisine.errors import ConfigurationError, SimulationError
from draisine.experiment.sweep.designs import Columns
from draisine.experiment.sweep.lanes import fits_lanes, run_lanes
from draisine.experiment.sweep.table import SweepRows
from draisine.results.questions import parse_question
from draisine.scenario.library import Loaded, accept
from draisine.scenario.overrides import single
from draisine.scenario.schema import SweepScenario

if TYPE_CHECKING:
    from draisine.experiment.run import Result

CarryOut = Callable[[Loaded], "Result"]
"""What runs one scenario."""

Tell = Callable[[float], None] | None
"""What is told which fraction is done."""


def was_interrupted(error: SimulationError) -> bool:
    """Return whether a run had to stop because somebody asked for it."""
    return getattr(error.partial, "outcome", None) == "interrupted"


def run_sweep(
    loaded: Loaded,
    columns: Columns,
    chunks: Iterable[int],
    carry_out: CarryOut,
    keep: Callable[[int, SweepRows], None],
    tell: Tell = None,
) -> None:
    """Run some chunks of a sweep and keep each; an interruption ends it, with the chunk that it hit
    kept as far as it is.
    """
    assert isinstance(loaded.scenario, SweepScenario)
    sweep, wanted = loaded.scenario.sweep, list(chunks)
    for done, k in enumerate(wanted):
        here = slice(k * sweep.chunk, (k + 1) * sweep.chunk)
        part = {path: values[here] for path, values in columns.items()}

        def within(fraction: float, done: int = done) -> None:
            if tell is not None:
                tell((done + fraction) / len(wanted))

        rows = _run_chunk(loaded, part, carry_out, within)
        keep(k, rows)
        if not rows.finished:
            return


def _run_chunk(
    loaded: Loaded,
    columns: Columns,
    carry_out: CarryOut,
    tell: Callable[[float], None],
) -> SweepRows:
    """Return the answers of the runs of a chunk, side by side where that can be, and how each ended; of
    one that had to stop, or that an interruption left out, they are not numbers.
    """
    assert isinstance(loaded.scenario, SweepScenario)
    questions, until = loaded.scenario.sweep.outputs, loaded.scenario.run.until
    count = len(next(iter(columns.values())))
    rows, alone = SweepRows.empty(questions, count), list(range(count))
    if fits_lanes(loaded.plan, questions, columns):
        try:
            alone = run_lanes(loaded.plan, until, columns, rows)
        except KeyboardInterrupt:
            return rows
    for k in alone:
        at = {path: values[k] for path, values in columns.items()}
        try:
            found = carry_out(accept(loaded.name, loaded.file, single(loaded.content, at)))
            for text in questions:
                question = parse_question(text, found.system.model)
                rows.answers[text][k] = question.answer(found.bodies)
            rows.outcome[k] = found.outcome
        except KeyboardInterrupt:
            return rows
        except (SimulationError, ConfigurationError) as error:
            if isinstance(error, SimulationError) and was_interrupted(error):
                return rows
            rows.outcome[k] = str(error)
        tell((k + 1) / count)
    tell(1.0)
    return rows
