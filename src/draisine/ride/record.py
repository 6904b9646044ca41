"""Record of a ride: the inputs of every frame, and the motion at the frames as an arc of a trajectory.

A frame is one image of the page; the simulation advances several steps between two frames.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.trajectory import Arc


@dataclass
class RideRecord:
    """Inputs of a ride, from which the ride can be repeated exactly."""

    first: dict[str, float]
    """Parameter values of the vehicle at the start, by name, SI units."""
    mu: float
    """Friction coefficient of all contacts."""
    steps: list[int] = field(default_factory=list)
    """Number of simulation steps of each frame, counted from the previous frame."""
    inputs: list[dict[str, float]] = field(default_factory=list)
    """Inputs of each frame by name: the rider's commands and the disturbing force (N)."""
    changes: dict[int, dict[str, float]] = field(default_factory=dict)
    """Parameter values by name that the user changed during the ride, by index of the next frame."""

    def add(self, count: int, inputs: dict[str, float]) -> None:
        """Append a frame with its number of simulation steps and its inputs by name.

        Inputs that equal the inputs of the previous frame share its dictionary, to save memory. A frame
        without steps is not recorded.
        """
        if count:
            unchanged = bool(self.inputs) and self.inputs[-1] == inputs
            self.steps.append(count)
            self.inputs.append(self.inputs[-1] if unchanged else dict(inputs))


@dataclass(frozen=True, eq=False)
class RideArc(Arc):
    """The motion of a ride at its frames, as an arc of a trajectory.

    Attributes
    ----------
    machine
        Compiled equations of motion of the vehicle, see `Session.machine`.
    parts
        Blocks of each frame by name, see `Session.parts`.
    frames
        Observations at each frame by name, see `Stepper.observe`.
    """

    machine: Any
    parts: list[dict[str, Floats]]
    frames: list[dict[str, Floats]]
    mode = None
    terrain = None

    @cached_property
    def t(self) -> Floats:  # type: ignore[override]
        """Simulated times (frames,) of the frames, s."""
        return np.array([parts["time"][0] for parts in self.parts])

    @cached_property
    def y(self) -> Floats:  # type: ignore[override]
        """Joint coordinates and states of the rider's control law at the frames, (frames, states)."""
        layout = self.machine.layout
        return np.array([layout.pack(r=parts["r"], z=parts["rider"]) for parts in self.parts])

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Observed quantities by name; the last axis of each array is the frame.

        `violations` are the gaps (m) of contacts with a force; they should be zero.
        """
        observed = {name: np.array([f[name] for f in self.frames]).T for name in self.frames[0]}
        forces = np.abs(observed["forces"]).reshape(len(observed["gaps"]), 3, -1)
        loaded = forces.max(axis=1) > 0.0
        return observed | {"violations": np.where(loaded, observed["gaps"], 0.0)}

    def pose(self) -> tuple[Floats, Floats]:
        """Return the orientation quaternions (4, frames) and the positions (3, frames) in m of the base."""
        q, p = (np.array([parts[name] for parts in self.parts]).T for name in ("q", "p"))
        return q, p
