"""Import of measured time series from CSV files whose columns are named by quantity and unit."""

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
from draisine.model.quantity import si_factor
from draisine.vehicles.bicycle.whipple import whipple

if TYPE_CHECKING:
    from xarray import Dataset

_HEADING_PATTERN = re.compile(r"\s*([^()]+?)\s*(?:\(([^()]*)\))?\s*")
"""Heading of a column: the name of a quantity, optionally followed by its unit in parentheses."""


def read_recording(path: Path) -> "Dataset":
    """Read a CSV file of measurements (comma, semicolon or tab separated) as a dataset over `time`.

    The first line names the columns, one of them `time`; lines that begin with # are comments. A unit may
    follow a name, `lean_rate (deg/s)`. Without one, quantities of a bicycle are in SI units (rad/s) and
    other columns have no unit. Empty cells are NaN.

    Parameters
    ----------
    path
        The .csv file, UTF-8.

    Returns
    -------
    xarray.Dataset
        One variable per column of numbers, converted to SI units, with the attribute `units`.

    Raises
    ------
    DataError
        If the file is not text, has no column `time` or no other column of numbers, repeats a name, or if
        its times are not finite and increasing.

    Warns
    -----
    UserWarning
        If a column without numbers is left out.
    """
    import xarray

    names, rows = _read_csv_cells(path)
    headings = [
        (match[1], match[2]) if (match := _HEADING_PATTERN.fullmatch(name)) else (name, None)
        for name in names
    ]
    columns = dict(
        zip((name for name, _ in headings), _parse_numbers(rows, len(names)), strict=True)
    )
    if len(columns) < len(names):
        raise DataError(f"{path}: two columns have the same name.")
    times = columns.pop("time", None)
    if times is None:
        raise DataError(
            f"{path}: there is no column named time. Its columns: {', '.join(names)!s:.200}."
        )
    if len(times) < 2 or not np.isfinite(times).all() or np.any(np.diff(times) < 0.0):
        raise DataError(f"{path}: the times must be at least two finite, increasing numbers.")
    units = dict(headings)
    series = {}
    for name, values in columns.items():
        if np.isnan(values).all():
            warnings.warn(f"{path}: column {name!r} has no numbers and is ignored.", stacklevel=2)
            continue
        stated_unit = units[name]
        factor, unit = si_factor(default_unit(name) if stated_unit is None else stated_unit)
        series[name] = ("time", factor * values, {"units": unit})
    if not series:
        raise DataError(f"{path}: there is no column of numbers besides time.")
    factor, _ = si_factor(units["time"] or "s")
    time = ("time", factor * times, {"units": "s"})
    return xarray.Dataset(series, coords={"time": time}, attrs={"title": path.stem})


def default_unit(name: str) -> str:
    """Return the SI unit of a quantity of the bicycle by name; an empty string for unknown names.

    >>> default_unit("steer_rate"), default_unit("contact_force[rear, normal]"), default_unit("brake")
    ('rad/s', 'N', '')
    """
    unit = _collect_default_units().get(name.partition("[")[0], "")
    # Variables whose components have different units (metres or radians, depending on the joint)
    # have no common unit.
    return "" if " or " in unit else unit


@cache
def _collect_default_units() -> dict[str, str]:
    """Return the SI units of all dataset variables of the bicycle by name."""
    return {
        name: variable.unit for name, variable in (variables(whipple()) | BASE_POSITION).items()
    }


def _read_csv_cells(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the column headings (columns,) and the cells (rows, columns) of a CSV file."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [line for line in file if line.strip() and not line.startswith("#")]
    except UnicodeDecodeError:
        raise DataError(f"{path}: the file is not a text file in UTF-8.") from None
    if not lines:
        raise DataError(f"{path}: the file is empty.")
    # Look for tabs and semicolons first. Such files may contain commas in names such as
    # `force[rear, normal]`.
    separator = next((sign for sign in "\t;" if sign in lines[0]), ",")
    names, *rows = csv.reader(lines, delimiter=separator, skipinitialspace=True)
    return [name.strip() for name in names], rows


def _parse_numbers(rows: list[list[str]], column_count: int) -> list[Floats]:
    """Convert the cells of a CSV file to one array (rows,) per column; NaN for cells without a number."""
    out = np.full((column_count, len(rows)), np.nan)
    for k, row in enumerate(rows):
        for column, cell in enumerate(row[:column_count]):
            try:
                out[column, k] = float(cell)
            except ValueError:
                continue
    return list(out)
