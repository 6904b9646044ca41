"""What is known of the runs of a sweep, as a dataset: one line per run."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.experiment.sweep.designs import Columns
from draisine.model import Model
from draisine.model.names import state_units
from draisine.model.quantity import number
from draisine.registry import find
from draisine.results.questions import parse_question
from draisine.results.runs import GRID
from draisine.scenario.overrides import sides
from draisine.scenario.schema import SweepScenario
from draisine.vehicles import meanings

if TYPE_CHECKING:
    from xarray import Dataset

NOT_RUN = "not run"
"""How a run of a sweep ended that was interrupted before it."""


@dataclass(frozen=True)
class SweepRows:
    """The answers to each question, not numbers where there are none, and how each run ended."""

    answers: Mapping[str, Floats]
    outcome: NDArray[np.object_]

    @classmethod
    def empty(cls, questions: list[str], count: int) -> "SweepRows":
        """Return the lines of runs that were not run yet."""
        blank = {text: np.full(count, np.nan) for text in questions}
        return cls(blank, np.full(count, NOT_RUN, dtype=object))

    def put(self, first: int, part: "SweepRows") -> None:
        """Write lines in their place."""
        here = slice(first, first + len(part.outcome))
        for text, values in part.answers.items():
            self.answers[text][here] = values
        self.outcome[here] = part.outcome

    @property
    def finished(self) -> bool:
        """Whether every run was run."""
        return not (self.outcome == NOT_RUN).any()


def sweep_table(
    scenario: SweepScenario, model: Model, columns: Columns, rows: SweepRows
) -> "Dataset":
    """Return the runs of a sweep, one after the other; `results.runs.unfold` lays them on a grid."""
    import xarray

    count, names = len(rows.outcome), sides(columns)
    units = {text: parse_question(text, model).unit(model) for text in rows.answers}
    coordinates: dict[str, Any] = {
        names[path]: ("run", _column(values), {"units": _unit(path, scenario.vehicle.name, model)})
        for path, values in columns.items()
    }
    if "run" not in coordinates:
        coordinates["run"] = ("run", np.arange(count))
    data = xarray.Dataset(
        {text: ("run", rows.answers[text], {"units": units[text]}) for text in rows.answers}
        | {"outcome": ("run", rows.outcome.astype(str))},
        coordinates,
        {"vehicle": scenario.vehicle.name},
    )
    if scenario.sweep.design == "grid":
        values = scenario.sweep.values()
        data.attrs[GRID] = json.dumps({names[path]: len(values[path]) for path in values})
    return data


def _unit(path: str, vehicle: str, model: Model) -> str:
    """Return the unit of what stands at a key path."""
    table, _, name = path.rpartition(".")
    if table == "vehicle.parameters":
        return meanings(find("vehicle", vehicle)).get(name, ("", ""))[0]
    if table == "initial":
        return state_units(model).get(name, "")
    return "s" if path in ("run.dt", "run.until") else ""


def _column(values: list[Any]) -> Any:
    """Return values as numbers where all are, or else as words."""
    try:
        return np.array([number(x) for x in values])
    except ValueError:
        return np.array([str(x) for x in values])
