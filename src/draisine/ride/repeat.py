"""Repeat recorded rides exactly, and convert rides to datasets for storage and figures."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from draisine.errors import DataError
from draisine.registry import check_trust
from draisine.results.events import event_records
from draisine.results.store import code_files
from draisine.ride.presets import PRESETS, Preset, ground_of, make_preset, on_ground
from draisine.ride.record import RideArc, RideRecord
from draisine.ride.session import Session
from draisine.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from xarray import Dataset


def ride_again(name: str, ride: Preset, record: RideRecord) -> Iterator[Session]:
    """Repeat a recorded ride exactly; yield the session after each frame.

    `name` and `ride` are the name and the preset of the ride, `record` contains its inputs.
    """
    session = Session(name, {name: replace(ride, mu=record.mu)})
    if record.first != session.system.parameters:
        session.change(record.first)
        session.reset()
    for k, (count, inputs) in enumerate(zip(record.steps, record.inputs, strict=True)):
        if k in record.changes:
            session.change(record.changes[k])
        session.advance(count, inputs)
        yield session


def ride_dataset(session: Session) -> "Dataset":
    """Convert a ride to a dataset with the motion at its frames, and with its record for `repeat_ride`.

    Parameters
    ----------
    session
        Session of the ride.

    Returns
    -------
    Dataset
        Dataset of a run; the attribute `ride` and the variables `ride_steps` and `ride_inputs` are the
        record.

    Raises
    ------
    DataError
        If the ride has no frames yet.
    """
    name = session.name
    record = session.record
    ride = session.presets[session.name]
    if not record.steps:
        raise DataError("The ride has no frames yet, so there is nothing to record.")
    frames = [(again.parts(), again.seen, again) for again in ride_again(name, ride, record)]
    blocks, observations, (again, *_) = zip(*frames, strict=True)
    arc = RideArc(session.machine, list(blocks), list(observations))
    events = tuple(event for event in again.stepper.events if event.kind != "input")
    data = Trajectory((arc,), "ridden", {"integrator": "rk4"}).to_xarray()
    data["ride_steps"] = ("time", record.steps, {"long_name": "steps of 1/1024 s up to here"})
    commands = np.array([list(inputs.values()) for inputs in record.inputs])
    meaning = {"long_name": "commands of the rider up to here"}
    data["ride_inputs"] = (("time", "ride_input"), commands, meaning)
    data = data.assign_coords(ride_input=list(record.inputs[0]))
    description = {
        "preset": name,
        "parameter_set": ride.parameter_set,
        "ground": ground_of(ride),
        "mu": record.mu if math.isfinite(record.mu) else None,
        "changes": record.changes,
        "first": record.first,
    }
    attributes = {"ride": json.dumps(description), "title": f"A ride: {ride.title}"}
    return data.assign_attrs(attributes | {"events": json.dumps(event_records(events))})


def repeat_ride(data: "Dataset") -> Session:
    """Repeat a ride that `ride_dataset` has stored; return the session at the end of the ride.

    `DataError` is raised if the ride needs a file with code that the user has not trusted.
    """
    stored = json.loads(data.attrs["ride"])
    for file in code_files(data):
        check_trust(file, "the ride")
    name = stored["preset"]
    ride = replace(PRESETS.get(name) or make_preset(name), parameter_set=stored["parameter_set"])
    ride = on_ground(ride, stored["ground"]) if stored["ground"] else ride
    names = [str(name) for name in data["ride_input"].values]
    record = RideRecord(
        stored["first"],
        math.inf if stored["mu"] is None else stored["mu"],
        data["ride_steps"].values.tolist(),
        [dict(zip(names, row, strict=True)) for row in data["ride_inputs"].values.tolist()],
        {int(k): change for k, change in stored["changes"].items()},
    )
    *_, session = ride_again(name, ride, record)
    return session


def compare_frames(data: "Dataset", again: "Dataset") -> dict[str, float]:
    """Return the largest absolute difference between two rides for each variable that differs.

    The result maps names of variables to differences in the unit of the variable; infinity stands for arrays
    of different shapes. It is empty if the rides are equal to the last bit.
    """
    out = {}
    for name in data.data_vars:
        first = data[name].values
        second = again[name].values
        if first.shape != second.shape or not np.array_equal(first, second, equal_nan=True):
            same = first.shape == second.shape
            out[str(name)] = float(np.nanmax(np.abs(first - second))) if same else np.inf
    return out
