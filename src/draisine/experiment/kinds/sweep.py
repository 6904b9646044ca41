"""Sweeps: one run for each combination of some values, and what is asked of each."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import SimulationError
from draisine.model import Model
from draisine.model.names import state_units
from draisine.model.quantity import number
from draisine.registry import find
from draisine.results.questions import parse_question
from draisine.scenario.library import Loaded, accept
from draisine.scenario.overrides import sides, single
from draisine.scenario.schema import SweepScenario
from draisine.vehicles import meanings

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.experiment.run import Result


NOT_RUN = "not run"
"""How a run of a sweep ended that was interrupted before it."""


def was_interrupted(error: SimulationError) -> bool:
    """Return whether a run had to stop because somebody asked for it."""
    return getattr(error.partial, "outcome", None) == "interrupted"


def run_sweep(
    loaded: Loaded,
    scenario: SweepScenario,
    model: Model,
    carry_out: "Callable[[Loaded], Result]",
    progress: Callable[[float], None] | None = None,
) -> "Dataset":
    """Return the answers of all runs over the sides of a sweep, and how each run ended; of one that
    had to stop, or that an interruption left out, they are not numbers.
    """
    import xarray

    over, questions = scenario.sweep.over, scenario.sweep.outputs
    shape = tuple(len(values) for values in over.values())
    answers = {text: np.full(shape, np.nan) for text in questions}
    outcome = np.full(shape, NOT_RUN, dtype=object)
    units = {text: parse_question(text, model).unit(model) for text in questions}
    for k, place in enumerate(np.ndindex(*shape)):
        at = {path: over[path][i] for path, i in zip(over, place, strict=True)}
        try:
            found = carry_out(accept(loaded.name, loaded.file, single(loaded.content, at)))
            for text in questions:
                question = parse_question(text, found.system.model)
                answers[text][place] = question.answer(found.bodies)
            outcome[place] = found.outcome
        except KeyboardInterrupt:
            break
        except SimulationError as error:
            if was_interrupted(error):
                break
            outcome[place] = str(error)
        if progress is not None:
            progress((k + 1) / outcome.size)
    names = sides(over)
    dims = tuple(names.values())
    along = {p: {"units": _unit(p, scenario.vehicle.name, model)} for p in over}
    return xarray.Dataset(
        {text: (dims, answers[text], {"units": units[text]}) for text in questions}
        | {"outcome": (dims, outcome.astype(str))},
        {names[path]: (names[path], _side(over[path]), along[path]) for path in over},
        {"vehicle": loaded.scenario.vehicle.name},
    )


def _unit(path: str, vehicle: str, model: Model) -> str:
    """Return the unit of what stands at a key path."""
    table, _, name = path.rpartition(".")
    if table == "vehicle.parameters":
        return meanings(find("vehicle", vehicle)).get(name, ("", ""))[0]
    if table == "initial":
        return state_units(model).get(name, "")
    return "s" if path in ("run.dt", "run.until") else ""


def _side(values: list[Any]) -> Any:
    """Return the values along a side: numbers where all are, or else words."""
    try:
        return np.array([number(x) for x in values])
    except ValueError:
        return np.array([str(x) for x in values])
