"""Sweeps: one run for each combination of some values, and what is asked of each."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import SimulationError
from draisine.experiment.build import state_units
from draisine.experiment.changes import single
from draisine.experiment.library import Loaded, accept
from draisine.experiment.numbers import number
from draisine.experiment.quantities import parse_question
from draisine.experiment.scenario import SweepScenario
from draisine.model import Model
from draisine.registry import find

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.experiment.run import Result


def sides(over: Mapping[str, Any]) -> dict[str, str]:
    """Return a short name for each key path of a sweep: its last word, where that tells enough.

    >>> sides({"run.dt": [], "run.integrator": []})
    {'run.dt': 'dt', 'run.integrator': 'integrator'}
    """
    last = {path: path.rpartition(".")[2] for path in over}
    return {p: n if list(last.values()).count(n) == 1 else p for p, n in last.items()}


def swept(
    loaded: Loaded, scenario: SweepScenario, model: Model, carry_out: "Callable[[Loaded], Result]"
) -> "Dataset":
    """Return the answers of all runs over the sides of a sweep, and how each run ended; of one that
    had to stop they are not numbers.
    """
    import xarray

    over, questions = scenario.sweep.over, scenario.sweep.outputs
    shape = tuple(len(values) for values in over.values())
    answers = {text: np.full(shape, np.nan) for text in questions}
    outcome = np.empty(shape, dtype=object)
    units = {text: parse_question(text, model).unit(model) for text in questions}
    places = product(*(range(n) for n in shape))
    for place, values in zip(places, product(*over.values()), strict=True):
        at = dict(zip(over, values, strict=True))
        one = accept(loaded.name, loaded.file, single(loaded.content, at))
        try:
            found = carry_out(one)
        except SimulationError as error:
            outcome[place] = str(error)
            continue
        outcome[place] = found.outcome
        for text in questions:
            question = parse_question(text, found.system.model)
            answers[text][place] = question.answer(found.bodies)
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
        return str(getattr(find("vehicle", vehicle), "MEANING", {}).get(name, ("", ""))[0])
    if table == "initial":
        return state_units(model).get(name, "")
    return "s" if path in ("run.dt", "run.until") else ""


def _side(values: list[Any]) -> Any:
    """Return the values along a side: numbers where all are, or else words."""
    try:
        return np.array([number(x) for x in values])
    except ValueError:
        return np.array([str(x) for x in values])
