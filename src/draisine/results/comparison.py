"""Two runs side by side: what both tell, at times that both have, and how far they differ."""

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.results.attributes import STAMP
from draisine.results.store import dataset_of

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

SAME = 1e-9
"""Times that differ by less, s, are one."""


@dataclass(frozen=True)
class Difference:
    """How far two runs differ in one quantity: where most, by how much, in the mean square, how far
    the quantity itself ranges in the first, and at how many times only one of them has a number.
    """

    name: str
    unit: str
    largest: float
    time: float
    rms: float
    range: float
    alone: int


def compare(first: Any, second: Any, names: tuple[str, str] = ("first", "second")) -> "Dataset":
    """Return the numbers over time that two runs have in common, with a dimension `run` of two; runs of
    the same title are told apart by `names`. Each is a run, a dataset, a table of pandas by time, or a file.

    What one tells without a unit is taken to be in that of the other; what they tell in different units is
    left out, with a warning. At times that both have, numbers are taken as they are; where the samples of
    two runs share few times, less than half of the sparser one's, the second is interpolated linearly, and
    the attribute `interpolated` is 1.
    """
    import xarray

    first, second = dataset_of(first), dataset_of(second)
    for data in (first, second):
        if "time" not in data.dims or data.sizes["time"] < 2:
            raise ParameterError(
                "only runs over time can be compared; this result is none. Of a table, let time be the index."
            )
    columns = [_columns(data) for data in (first, second)]
    common = _common_units(*columns)
    t, pick, interpolated = _common(first["time"].values, second["time"].values)
    found = {}
    for name, unit in common.items():
        ours, theirs = columns[0][name], columns[1][name]
        both = np.array([ours.values[pick[0]], _taken(theirs.values, second, t, pick[1])])
        found[name] = (("run", "time"), both, {"units": unit})
    labels = [
        str(data.attrs.get("title") or data.attrs.get("vehicle", "")) for data in (first, second)
    ]
    if labels[0] == labels[1]:
        labels = list(names)
    made = {
        f"{which}_{name}": data.attrs[name]
        for which, data in (("first", first), ("second", second))
        for name in ("law", "recipe", *STAMP)
        if name in data.attrs
    }
    return xarray.Dataset(
        found,
        coords={"run": labels, "time": ("time", t, {"units": "s"})},
        attrs={"title": "two runs compared", "interpolated": int(interpolated), **made},
    )


def differences(both: "Dataset") -> list[Difference]:
    """Return how far two compared runs differ in each quantity, in SI units."""
    found = []
    for name in both.data_vars:
        one, other = both[name].values
        here, there = np.isfinite(one), np.isfinite(other)
        gap = np.abs(np.where(here & there, other, 0.0) - np.where(here & there, one, 0.0))
        if not (here | there).any():
            continue
        k = int(np.argmax(gap))
        found.append(
            Difference(
                str(name),
                str(both[name].attrs["units"]),
                float(gap[k]),
                float(both["time"].values[k]),
                float(np.sqrt(np.sum(gap**2) / max(1, np.sum(here & there)))),
                float(np.ptp(one[here])) if here.any() else 0.0,
                int(np.sum(here != there)),
            )
        )
    return found


def _columns(data: "Dataset") -> "dict[str, DataArray]":
    """Return the numbers of a run that have one value at a time: its outputs, the contacts' forces."""
    found = {
        str(name): values
        for name, values in data.data_vars.items()
        if values.dims == ("time",) and values.dtype.kind in "fiu"
    }
    if "contact_force" in data:
        for contact in data["contact"].values:
            for direction in data["direction"].values:
                force = data["contact_force"].sel(contact=contact, direction=direction)
                found[f"contact_force[{contact}, {direction}]"] = force
    return found


def _common_units(ours: "dict[str, DataArray]", theirs: "dict[str, DataArray]") -> dict[str, str]:
    """Return the units of all that two runs tell in the same, or without one; what differs is told."""
    found, apart = {}, []
    for name in ours:
        if name not in theirs:
            continue
        mine, other = (str(columns[name].attrs.get("units", "")) for columns in (ours, theirs))
        if mine and other and mine != other:
            apart.append(f"{name} is in {mine} in the first, in {other} in the second")
        else:
            found[name] = mine or other
    if not found:
        known = ", the other ".join(
            f"{', '.join(columns) or 'nothing':.120}" for columns in (ours, theirs)
        )
        reason = "; ".join(apart) or f"one has {known}"
        raise ParameterError(f"these two runs have no quantity in common: {reason}.")
    if apart:
        warnings.warn(f"left out: {'; '.join(apart)}.", UserWarning, stacklevel=3)
    return found


def _common(ours: Floats, theirs: Floats) -> tuple[Floats, tuple[Floats, Floats | None], bool]:
    """Return times that two runs share, where they stand in each, and whether there are too few, so
    that the second has to be interpolated.
    """
    if len(ours) == len(theirs) and np.abs(ours - theirs).max() < SAME:
        every = np.arange(len(ours))
        return ours, (every, every), False
    again = np.arange(len(ours)) - np.searchsorted(ours, ours - SAME)  # before and after an event
    right = np.clip(np.searchsorted(theirs, ours - SAME) + again, 0, len(theirs) - 1)
    shared = np.flatnonzero(np.abs(theirs[right] - ours) < SAME)
    inside = np.flatnonzero((ours >= theirs[0]) & (ours <= theirs[-1]))
    sparser = min(len(inside), int(np.sum((theirs >= ours[0]) & (theirs <= ours[-1]))))
    if len(shared) > 1 and 2 * len(shared) >= sparser:
        return ours[shared], (shared, right[shared]), False
    if len(inside) < 2:
        raise ParameterError("these two runs have no times in common.")
    return ours[inside], (inside, None), True


def _taken(values: Floats, data: "Dataset", t: Floats, pick: Floats | None) -> Floats:
    """Return values at picked samples, or interpolated at times."""
    return np.interp(t, data["time"].values, values) if pick is None else values[pick]
