"""The same ride once more."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from draisine.registry import check_trust
from draisine.results.store import code_files
from draisine.ride.presets import PRESETS, preset_of
from draisine.ride.session import Session

if TYPE_CHECKING:
    from xarray import Dataset


def repeat_ride(data: "Dataset") -> Session:
    """Return the session of a stored ride, ridden once more: same parameters, same steps, same
    inputs.
    """
    told = json.loads(data.attrs["ride"])
    for file in code_files(data):
        check_trust(file, "the ride")
    name = told["preset"]
    ride = replace(PRESETS.get(name) or preset_of(name), parameter_set=told["parameter_set"])
    session = Session(name, {name: ride})
    if told["first"] != session.system.parameters:
        session.change(told["first"])
        session.reset()
    names = [str(name) for name in data["ride_input"].values]
    steps, given = data["ride_steps"].values, data["ride_inputs"].values
    for k, (count, row) in enumerate(zip(steps, given, strict=True)):
        if str(k) in told["changes"]:
            session.change(told["changes"][str(k)])
        session.advance(int(count), dict(zip(names, row.tolist(), strict=True)))
    return session


def differences(data: "Dataset", again: "Dataset") -> dict[str, float]:
    """Return by how much two rides differ, for every variable that does."""
    out = {}
    for name in data.data_vars:
        here, there = data[name].values, again[name].values
        if here.shape != there.shape or not np.array_equal(here, there, equal_nan=True):
            same = here.shape == there.shape
            out[str(name)] = float(np.nanmax(np.abs(here - there))) if same else np.inf
    return out
