"""Outputs and outcomes of the runs of a sweep as a dataset with one entry per run."""

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
from draisine.model.quantity import parse_number
from draisine.registry import find
from draisine.results.queries import parse_query
from draisine.results.runs import GRID_ATTRIBUTE
from draisine.scenario.overrides import short_names
from draisine.scenario.schema import SweepScenario
from draisine.simulation.contact.many import NOT_RUN
from draisine.vehicles import meanings

if TYPE_CHECKING:
    from xarray import Dataset

NO_MACHINE = "no such machine"
"""Outcome of a run whose vehicle has physically invalid parameters."""

NO_START = "no such start"
"""Outcome of a run with infeasible initial values."""

FELL_OUTCOME = "fell"
"""Outcome of a run that stopped with a fall."""

STEER_LIMIT_OUTCOME = "the steer is turned too far"
"""Outcome of a run that stopped because its steer angle reached the limit."""


def shorten_outcome(text: str) -> str:
    """Return the outcome of a run without details, equal for all runs that stopped for the same reason.

    >>> shorten_outcome("fell: its lean passed 80 degrees")
    'fell'
    """
    return text.partition(":")[0]


@dataclass(frozen=True)
class SweepRows:
    """Outputs and outcomes of consecutive runs of a sweep.

    Attributes
    ----------
    outputs
        Values (runs,) by name of the output; NaN for runs that did not start. The values of a run that
        stopped early cover the time until it stopped.
    outcome
        Outcome of each run, (runs,): "completed", or the reason why the run stopped.
    """

    outputs: Mapping[str, Floats]
    outcome: NDArray[np.object_]

    @classmethod
    def make_empty(cls, names: list[str], count: int) -> "SweepRows":
        """Return an empty table for `count` runs that have not been simulated, outputs NaN."""
        blank = {text: np.full(count, np.nan) for text in names}
        return cls(blank, np.full(count, NOT_RUN, dtype=object))

    def put_rows(self, indices: slice | list[int], rows: "SweepRows") -> None:
        """Overwrite outputs and outcomes of the runs at the given indices."""
        for text, values in rows.outputs.items():
            self.outputs[text][indices] = values
        self.outcome[indices] = rows.outcome

    @property
    def finished(self) -> bool:
        """Whether all runs of this table have been simulated."""
        return not (self.outcome == NOT_RUN).any()


def make_sweep_table(
    scenario: SweepScenario,
    model: Model,
    columns: Columns,
    rows: SweepRows,
    numbers: NDArray[np.int64],
) -> "Dataset":
    """Return consecutive runs of a sweep as a dataset along the dimension `run`.

    `results.runs.unflatten_runs` arranges these runs on the grid of the sweep.
    """
    import xarray

    names = short_names(columns)
    units = {text: parse_query(text, model).unit(model) for text in rows.outputs}
    coordinates: dict[str, Any] = {
        names[path]: ("run", _as_column(values), {"units": _find_unit(path, scenario, model)})
        for path, values in columns.items()
    }
    if "run" not in coordinates:
        coordinates["run"] = ("run", numbers)
    data = xarray.Dataset(
        {text: ("run", rows.outputs[text], {"units": units[text]}) for text in rows.outputs}
        | {"outcome": ("run", rows.outcome.astype(str))},
        coordinates,
        {"vehicle": scenario.vehicle.name},
    )
    if scenario.sweep.design == "grid":
        values = scenario.sweep.values()
        data.attrs[GRID_ATTRIBUTE] = json.dumps({names[path]: len(values[path]) for path in values})
    return data


def _find_unit(path: str, scenario: SweepScenario, model: Model) -> str:
    """Return the unit of the varied quantity at a key path; values written in degrees are angles in rad."""
    table, _, name = path.rpartition(".")
    if table == "vehicle.parameters":
        return meanings(find("vehicle", scenario.vehicle.name)).get(name, ("", ""))[0]
    if table == "initial":
        return state_units(model).get(name, "")
    if path in ("run.dt", "run.until"):
        return "s"
    written = scenario.sweep.over.get(path, [])
    return "rad" if any(isinstance(x, str) and x.endswith("deg") for x in written) else ""


def _as_column(values: NDArray[Any]) -> NDArray[Any]:
    """Return varied values as floats if all are numbers, otherwise as text."""
    floats = as_numbers(values)
    return np.array([str(x) for x in values]) if floats is None else floats


def as_numbers(values: NDArray[Any]) -> Floats | None:
    """Convert values to floats in SI units; None if any value is not a number."""
    try:
        return values if values.dtype == float else np.array([parse_number(x) for x in values])
    except ValueError:
        return None
