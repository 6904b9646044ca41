"""Two runs side by side: what both tell, at times that both have, and how far they differ."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError

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


def compare(
    first: "Dataset", second: "Dataset", names: tuple[str, str] = ("first", "second")
) -> "Dataset":
    """Return the numbers over time that two runs have in common, with a dimension `run` of two; runs of
    the same title are told apart by `names`.

    At times that both have, numbers are taken as they are; where the samples of two runs share no
    times, the second is interpolated linearly, and the attribute `interpolated` is 1.
    """
    import xarray

    for data in (first, second):
        if "time" not in data.dims or data.sizes["time"] < 2:
            raise ParameterError("only runs over time can be compared; this result is none.")
    columns = [_columns(data) for data in (first, second)]
    common = [
        name
        for name, ours in columns[0].items()
        if name in columns[1] and _unit(ours) == _unit(columns[1][name])
    ]
    if not common:
        raise ParameterError("these two runs have no quantity in common.")
    t, pick, interpolated = _common(first["time"].values, second["time"].values)
    found = {}
    for name in common:
        ours, theirs = columns[0][name], columns[1][name]
        both = np.array([ours.values[pick[0]], _taken(theirs.values, second, t, pick[1])])
        found[name] = (("run", "time"), both, {"units": _unit(ours)})
    labels = [
        str(data.attrs.get("title") or data.attrs.get("vehicle", "")) for data in (first, second)
    ]
    if labels[0] == labels[1]:
        labels = list(names)
    return xarray.Dataset(
        found,
        coords={"run": labels, "time": ("time", t, {"units": "s"})},
        attrs={"title": "two runs compared", "interpolated": int(interpolated)},
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
        if values.dims == ("time",) and values.dtype.kind == "f"
    }
    if "contact_force" in data:
        for contact in data["contact"].values:
            for direction in data["direction"].values:
                force = data["contact_force"].sel(contact=contact, direction=direction)
                found[f"contact_force[{contact}, {direction}]"] = force
    return found


def _unit(column: "DataArray") -> str:
    return str(column.attrs.get("units", ""))


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
    if len(shared) > 1:
        return ours[shared], (shared, right[shared]), False
    inside = np.flatnonzero((ours >= theirs[0]) & (ours <= theirs[-1]))
    if len(inside) < 2:
        raise ParameterError("these two runs have no times in common.")
    return ours[inside], (inside, None), True


def _taken(values: Floats, data: "Dataset", t: Floats, pick: Floats | None) -> Floats:
    """Return values at picked samples, or interpolated at times."""
    return np.interp(t, data["time"].values, values) if pick is None else values[pick]
