"""Rides as data: what was done at which step, and what came of it."""

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import DataError
from draisine.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.ride.session import Session

MOST = 60 * 600
"""The most frames that are kept: ten minutes of them."""


@dataclass
class Record:
    """What was done, frame by frame: how many steps under which inputs; parameters that changed
    before a frame; and what was then.
    """

    steps: list[int] = field(default_factory=list)
    inputs: list[dict[str, float]] = field(default_factory=list)
    changes: dict[int, dict[str, float]] = field(default_factory=dict)
    parts: list[dict[str, Floats]] = field(default_factory=list)
    seen: list[dict[str, Floats]] = field(default_factory=list)

    def add(self, count: int, inputs: dict[str, float], session: "Session") -> None:
        """Keep a frame."""
        if count and len(self.steps) < MOST:
            self.steps.append(count)
            self.inputs.append(inputs)
            self.parts.append(session.parts())
            self.seen.append(session.seen)


@dataclass(frozen=True, eq=False)
class RideArc:
    """The frames of a ride as a stretch of motion."""

    machine: Any
    parts: list[dict[str, Floats]]
    frames: list[dict[str, Floats]]
    mode: Any = None

    @property
    def t(self) -> Floats:
        """The times."""
        return np.array([parts["time"][0] for parts in self.parts])

    @property
    def y(self) -> Floats:
        """Joints and states of the rider, where a machine has them."""
        at = self.machine.layout
        return np.array([at.pack(r=parts["r"], z=parts["rider"]) for parts in self.parts])

    @property
    def states(self) -> int:
        """How many states the rider has."""
        return self.machine.states

    @property
    def observations(self) -> dict[str, Floats]:
        """Everything that was seen, time last."""
        return {name: np.array([f[name] for f in self.frames]).T for name in self.frames[0]}

    def pose(self) -> tuple[Floats, Floats]:
        """Return quaternions and positions, time last."""
        q, p = (np.array([parts[name] for parts in self.parts]).T for name in ("q", "p"))
        return q, p

    def redundant_rows(self) -> list[str]:
        """Return none: two wheels in line repeat nothing."""
        return []


def ride_dataset(session: "Session") -> "Dataset":
    """Return a ride as a dataset: the motion at its frames, and all that repeats it."""
    record = session.record
    if not record.steps:
        raise DataError("nothing has been ridden yet; there is nothing to keep.")
    arc = RideArc(session.machine, record.parts, record.seen)
    data = Trajectory((arc,), "ridden", {"integrator": "rk4"}).to_xarray()
    names = list(record.inputs[0])
    data["ride_steps"] = ("time", record.steps, {"long_name": "steps of 1/1024 s up to here"})
    given = np.array([list(inputs.values()) for inputs in record.inputs])
    meaning = {"long_name": "what the rider commanded on the way"}
    data["ride_inputs"] = (("time", "ride_input"), given, meaning)
    data = data.assign_coords(ride_input=names)
    told = {
        "preset": session.name,
        "parameter_set": session.preset.parameter_set,
        "changes": record.changes,
        "first": session.first_parameters,
    }
    return data.assign_attrs(ride=json.dumps(told), title=f"A ride: {session.preset.title}")
