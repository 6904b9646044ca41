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
from draisine.results.queries import parse_query
from draisine.results.runs import GRID_ATTRIBUTE
from draisine.scenario.overrides import sides
from draisine.scenario.schema import SweepScenario
from draisine.vehicles import meanings

if TYPE_CHECKING:
    from xarray import Dataset

NOT_RUN, NO_MACHINE, NO_START = "not run", "no such machine", "no such start"
"""How a run of a sweep ended that never began: the sweep was interrupted before it, its parameters are
those of no machine, or its initial values those of no state.
"""

FELL, TURNED = "fell", "the steer is turned too far"
"""How a run of a sweep ended that nobody could ride on."""


def outcome_words(text: str) -> str:
    """Return how a run ended in few words, the same for all that ended so.

    >>> outcome_words("fell: its lean passed 80 degrees")
    'fell'
    """
    return text.partition(":")[0]


@dataclass(frozen=True)
class SweepRows:
    """The answers to each question, of each run as far as it went and not numbers where it never began,
    and how it ended.
    """

    answers: Mapping[str, Floats]
    outcome: NDArray[np.object_]

    @classmethod
    def empty(cls, questions: list[str], count: int) -> "SweepRows":
        """Return the lines of runs that were not run yet."""
        blank = {text: np.full(count, np.nan) for text in questions}
        return cls(blank, np.full(count, NOT_RUN, dtype=object))

    def put(self, places: slice | list[int], part: "SweepRows") -> None:
        """Write lines in their places."""
        for text, values in part.answers.items():
            self.answers[text][places] = values
        self.outcome[places] = part.outcome

    @property
    def finished(self) -> bool:
        """Whether every run was run."""
        return not (self.outcome == NOT_RUN).any()


def sweep_table(
    scenario: SweepScenario,
    model: Model,
    columns: Columns,
    rows: SweepRows,
    numbers: NDArray[np.int64],
) -> "Dataset":
    """Return runs of a sweep with their numbers, one after the other; `results.runs.unfold` lays all of
    them on a grid.
    """
    import xarray

    names = sides(columns)
    units = {text: parse_query(text, model).unit(model) for text in rows.answers}
    coordinates: dict[str, Any] = {
        names[path]: ("run", _column(values), {"units": _unit(path, scenario, model)})
        for path, values in columns.items()
    }
    if "run" not in coordinates:
        coordinates["run"] = ("run", numbers)
    data = xarray.Dataset(
        {text: ("run", rows.answers[text], {"units": units[text]}) for text in rows.answers}
        | {"outcome": ("run", rows.outcome.astype(str))},
        coordinates,
        {"vehicle": scenario.vehicle.name},
    )
    if scenario.sweep.design == "grid":
        values = scenario.sweep.values()
        data.attrs[GRID_ATTRIBUTE] = json.dumps({names[path]: len(values[path]) for path in values})
    return data


def _unit(path: str, scenario: SweepScenario, model: Model) -> str:
    """Return the unit of what stands at a key path; what is written in degrees is an angle."""
    table, _, name = path.rpartition(".")
    if table == "vehicle.parameters":
        return meanings(find("vehicle", scenario.vehicle.name)).get(name, ("", ""))[0]
    if table == "initial":
        return state_units(model).get(name, "")
    if path in ("run.dt", "run.until"):
        return "s"
    written = scenario.sweep.over.get(path, [])
    return "rad" if any(isinstance(x, str) and x.endswith("deg") for x in written) else ""


def _column(values: NDArray[Any]) -> NDArray[Any]:
    """Return values as numbers where all are, or else as words."""
    found = as_numbers(values)
    return np.array([str(x) for x in values]) if found is None else found


def as_numbers(values: NDArray[Any]) -> Floats | None:
    """Return values as numbers, in SI units, if all are."""
    try:
        return values if values.dtype == float else np.array([number(x) for x in values])
    except ValueError:
        return None
