"""Recordings in CSV files: a column of times, and columns with the names of quantities."""

import csv
import re
import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError
from draisine.model.names import BASE_POSITION, variables
from draisine.model.quantity import in_si_units
from draisine.vehicles.bicycle.whipple import whipple

if TYPE_CHECKING:
    from xarray import Dataset

_HEADING = re.compile(r"\s*([^()]+?)\s*(?:\(([^()]*)\))?\s*")


def read_recording(path: Path) -> "Dataset":
    """Return a file of values with commas between them (or semicolons, or tabs) as a dataset over `time`.

    The first line names the columns, `time` among them; lines that begin with # are left out. A unit may
    follow a name, `lean_rate (deg/s)`; without one, quantities of a bicycle are in their own (rad/s), and
    what else there is in none. Empty cells hold no number.
    """
    import xarray

    names, rows = _read(path)
    told = [
        (one[1], one[2]) if (one := _HEADING.fullmatch(name)) else (name, None) for name in names
    ]
    columns = dict(zip((name for name, _ in told), _numbers(rows, len(names)), strict=True))
    if len(columns) < len(names):
        raise DataError(f"{path}: two columns have the same name.")
    times = columns.pop("time", None)
    if times is None:
        raise DataError(f"{path}: no column is called time; it has {', '.join(names)!s:.200}.")
    if len(times) < 2 or not np.isfinite(times).all() or np.any(np.diff(times) < 0.0):
        raise DataError(f"{path}: its times are no numbers that rise, two at least.")
    units, found = dict(told), {}
    for name, values in columns.items():
        if np.isnan(values).all():
            warnings.warn(f"{path}: {name!r} holds no numbers, and is left out.", stacklevel=2)
            continue
        told_unit = units[name]
        factor, unit = in_si_units(usual_unit(name) if told_unit is None else told_unit)
        found[name] = ("time", factor * values, {"units": unit})
    if not found:
        raise DataError(f"{path}: has no column of numbers beside time.")
    factor, _ = in_si_units(units["time"] or "s")
    time = ("time", factor * times, {"units": "s"})
    return xarray.Dataset(found, coords={"time": time}, attrs={"title": path.stem})


def usual_unit(name: str) -> str:
    """Return the unit of a quantity of a bicycle; none of what has no such name.

    >>> usual_unit("steer_rate"), usual_unit("contact_force[rear, normal]"), usual_unit("brake")
    ('rad/s', 'N', '')
    """
    unit = _usual_units().get(name.partition("[")[0], "")
    return "" if " or " in unit else unit


@cache
def _usual_units() -> dict[str, str]:
    return {name: one.unit for name, one in (variables(whipple()) | BASE_POSITION).items()}


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the cells of all lines."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not a text file in UTF-8.") from None
    if not lines:
        raise DataError(f"{path}: is empty.")
    between = next((sign for sign in "\t;" if sign in lines[0]), ",")
    names, *rows = csv.reader(lines, delimiter=between, skipinitialspace=True)
    return [name.strip() for name in names], rows


def _numbers(rows: list[list[str]], count: int) -> list[Floats]:
    """Return the columns of some lines as numbers, nan where a cell holds none."""
    out = np.full((count, len(rows)), np.nan)
    for k, row in enumerate(rows):
        for column, cell in enumerate(row[:count]):
            try:
                out[column, k] = float(cell)
            except ValueError:
                continue
    return list(out)
