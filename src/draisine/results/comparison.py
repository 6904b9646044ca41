"""Comparison of two runs: common time series at common sample times, and their differences.

If the runs share at least half of the sample times of the run with fewer samples, the shared samples are
compared as stored. Otherwise the second run is interpolated linearly at the sample times of the first.
"""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.attributes import STAMP_ATTRIBUTES
from draisine.results.store import to_dataset

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

EQUAL_TIME_TOLERANCE = 1e-9
"""Largest difference (s) between equal sample times, above round-off and far below sample spacings."""


@dataclass(frozen=True)
class Difference:
    """Difference between two runs in one time series, in the SI unit of the series."""

    name: str
    """Name of the time series, like `lean` or `contact_force[rear, normal]`."""
    unit: str
    """SI unit of the time series."""
    largest: float
    """Largest absolute difference over time."""
    time: float
    """Time of the largest absolute difference, s."""
    rms: float
    """Root mean square of the differences over time."""
    range: float
    """Maximum minus minimum of the time series in the first run."""
    unmatched: int
    """Number of sample times at which only one of the runs has a finite value."""


def compare(first: Any, second: Any, names: tuple[str, str] = ("first", "second")) -> "Dataset":
    """Return the common time series of two runs in one dataset with a dimension `run` of length two.

    Parameters
    ----------
    first, second
        Trajectory, dataset, pandas table with time as index, or path of a stored result.
    names
        Labels of the dimension `run` if both runs have the same title.

    Returns
    -------
    xarray.Dataset
        Series (run, time) in SI units. If the runs share fewer than half of the sparser run's times, the
        second is interpolated linearly at the times of the first and the attribute `interpolated` is 1.

    Raises
    ------
    ParameterError
        If a result has no time, or if the runs have no series or no times in common.

    Warns
    -----
    UserWarning
        If a series is left out because its units differ. A series without a unit is assumed to be in
        the other run's unit.
    """
    import xarray

    first, second = to_dataset(first), to_dataset(second)
    for data in (first, second):
        if "time" not in data.dims or data.sizes["time"] < 2:
            raise ParameterError(
                "Only results over time can be compared, and this result has no time. The index of a pandas "
                "table must be the time."
            )
    columns = [_collect_series(data) for data in (first, second)]
    common = _match_units(*columns)
    t, indices, interpolated = _match_times(first["time"].values, second["time"].values)
    series = {}
    for name, unit in common.items():
        ours = columns[0][name].values[indices[0]]
        theirs = _sample_series(columns[1][name].values, second, t, indices[1])
        series[name] = (("run", "time"), np.array([ours, theirs]), {"units": unit})
    labels = [
        str(data.attrs.get("title") or data.attrs.get("vehicle", "")) for data in (first, second)
    ]
    if labels[0] == labels[1]:
        labels = list(names)
    provenance = {
        f"{which}_{name}": data.attrs[name]
        for which, data in (("first", first), ("second", second))
        for name in ("law", "recipe", *STAMP_ATTRIBUTES)
        if name in data.attrs
    }
    return xarray.Dataset(
        series,
        coords={"run": labels, "time": ("time", t, {"units": "s"})},
        attrs={"title": "two runs compared", "interpolated": int(interpolated), **provenance},
    )


def differences(compared: "Dataset") -> list[Difference]:
    """Return the difference between two runs in each common time series.

    Parameters
    ----------
    compared
        Dataset of `compare`, with a dimension `run` of length two.

    Returns
    -------
    list of Difference
        One entry per series that has a finite value in at least one run, in SI units.
    """
    entries = []
    for name in compared.data_vars:
        first, second = compared[name].values
        finite_first = np.isfinite(first)
        finite_second = np.isfinite(second)
        if not (finite_first | finite_second).any():
            continue
        # Count samples that only one run has separately, instead of as an infinite difference.
        shared = finite_first & finite_second
        error = np.abs(np.where(shared, second, 0.0) - np.where(shared, first, 0.0))
        k = int(np.argmax(error))
        entries.append(
            Difference(
                str(name),
                str(compared[name].attrs["units"]),
                float(error[k]),
                float(compared["time"].values[k]),
                float(np.sqrt(np.sum(error**2) / max(1, np.sum(shared)))),
                float(np.ptp(first[finite_first])) if finite_first.any() else 0.0,
                int(np.sum(finite_first != finite_second)),
            )
        )
    return entries


def _collect_series(data: "Dataset") -> "dict[str, DataArray]":
    """Return the scalar time series of a run by name: outputs and components of contact forces."""
    columns = {
        str(name): values
        for name, values in data.data_vars.items()
        if values.dims == ("time",) and values.dtype.kind in "fiu"
    }
    if "contact_force" in data:
        for contact in data["contact"].values:
            for direction in data["direction"].values:
                force = data["contact_force"].sel(contact=contact, direction=direction)
                columns[f"contact_force[{contact}, {direction}]"] = force
    return columns


def _match_units(
    first_series: "dict[str, DataArray]", second_series: "dict[str, DataArray]"
) -> dict[str, str]:
    """Return the units of the time series that two runs share, by name; warn if units differ."""
    units = {}
    conflicts = []
    for name in first_series:
        if name not in second_series:
            continue
        first, second = (
            str(columns[name].attrs.get("units", "")) for columns in (first_series, second_series)
        )
        if first and second and first != second:
            conflicts.append(f"{name} has unit {first} in the first run and {second} in the second")
        else:
            units[name] = first or second
    if not units:
        available = ", the other ".join(
            f"{', '.join(columns) or 'nothing':.120}" for columns in (first_series, second_series)
        )
        reason = "; ".join(conflicts) or f"one has {available}"
        raise ParameterError(f"The two runs have no quantity in common: {reason}.")
    if conflicts:
        warnings.warn(f"Not compared: {'; '.join(conflicts)}.", UserWarning, stacklevel=3)
    return units


def _match_times(
    first_times: Floats, second_times: Floats
) -> tuple[Floats, tuple[Floats, Floats | None], bool]:
    """Return common sample times (s), their indices in both runs, and whether to interpolate the second run.

    If the second run must be interpolated, its indices are None.
    """
    if (
        len(first_times) == len(second_times)
        and np.abs(first_times - second_times).max() < EQUAL_TIME_TOLERANCE
    ):
        every = np.arange(len(first_times))
        return first_times, (every, every), False
    # A run stores two samples at the time of an event, before and after it. `repeats` numbers
    # samples of equal time, so that samples before the event are compared with each other.
    repeats = np.arange(len(first_times)) - np.searchsorted(
        first_times, first_times - EQUAL_TIME_TOLERANCE
    )
    right = np.searchsorted(second_times, first_times - EQUAL_TIME_TOLERANCE) + repeats
    right = np.clip(right, 0, len(second_times) - 1)
    shared = np.flatnonzero(np.abs(second_times[right] - first_times) < EQUAL_TIME_TOLERANCE)
    inside = np.flatnonzero((first_times >= second_times[0]) & (first_times <= second_times[-1]))
    sparser = min(
        len(inside),
        int(np.sum((second_times >= first_times[0]) & (second_times <= first_times[-1]))),
    )
    if len(shared) > 1 and 2 * len(shared) >= sparser:
        return first_times[shared], (shared, right[shared]), False
    if len(inside) < 2:
        raise ParameterError("The two runs have no times in common.")
    return first_times[inside], (inside, None), True


def _sample_series(
    values: Floats, data: "Dataset", times: Floats, indices: Floats | None
) -> Floats:
    """Return samples of a time series at the indices, or interpolated at times (s) if they are None."""
    return np.interp(times, data["time"].values, values) if indices is None else values[indices]
