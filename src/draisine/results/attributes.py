"""What a stored dataset tells of itself, in attributes that are JSON: read, or told to be damaged."""

import json
from typing import TYPE_CHECKING, Any

from draisine.errors import DataError
from draisine.simulation.validity import Validity

if TYPE_CHECKING:
    from xarray import Dataset


def table(data: "Dataset", name: str) -> dict[str, Any]:
    """Return an attribute that holds a table; an empty one where there is none."""
    found = _parse(data, name, "{}")
    if not isinstance(found, dict):
        raise DataError(f"the dataset's attribute {name!r} is damaged: it is no table.")
    return found


def records(data: "Dataset", name: str) -> list[Any]:
    """Return an attribute that holds a list; an empty one where there is none."""
    found = _parse(data, name, "[]")
    if not isinstance(found, list):
        raise DataError(f"the dataset's attribute {name!r} is damaged: it is no list.")
    return found


def measured_of(data: "Dataset") -> dict[str, tuple[list[float], list[float]]]:
    """Return the series that were measured, by name, in a run that is held against them: times, values."""
    if "time" not in data.dims:
        return {}
    try:
        return {
            name: (block["at"], values)
            for block in table(data, "scenario").get("content", {}).get("expected", ())
            if block.get("origin") == "measured" and "at" in block
            for name, values in block["values"].items()
            if isinstance(values, list)
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"the dataset's attribute 'scenario' is damaged: {error}.") from error


def validity_of(data: "Dataset") -> Validity | None:
    """Return whether a run can be believed; None of what is no run."""
    if "validity" not in data.attrs:
        return None
    try:
        return Validity.loads(json.dumps(table(data, "validity")))
    except TypeError as error:
        raise DataError(f"the dataset's attribute 'validity' is damaged: {error}.") from error


def _parse(data: "Dataset", name: str, default: str) -> Any:
    try:
        return json.loads(str(data.attrs.get(name, default)))
    except ValueError as error:
        raise DataError(f"the dataset's attribute {name!r} is damaged: {error}.") from error
