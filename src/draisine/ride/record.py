"""Record of a ride: inputs frame by frame, and the motion at the frames as a trajectory arc."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.trajectory import Arc


@dataclass
class RideRecord:
    """All data that are needed to repeat a ride exactly."""

    first: dict[str, float]
    """Initial parameter values by name."""
    mu: float
    """Friction coefficient of all contacts."""
    steps: list[int] = field(default_factory=list)
    """Number of simulation steps between the previous frame and each frame."""
    inputs: list[dict[str, float]] = field(default_factory=list)
    """Inputs of each frame by name."""
    changes: dict[int, dict[str, float]] = field(default_factory=dict)
    """Parameters that the user changed before a frame, by index of the frame."""

    def add(self, count: int, inputs: dict[str, float]) -> None:
        """Add a frame with its number of steps and its inputs; equal inputs share memory."""
        if count:
            unchanged = bool(self.inputs) and self.inputs[-1] == inputs
            self.steps.append(count)
            self.inputs.append(self.inputs[-1] if unchanged else dict(inputs))


@dataclass(frozen=True, eq=False)
class RideArc(Arc):
    """The motion at the frames of a ride as a trajectory arc."""

    machine: Any
    parts: list[dict[str, Floats]]
    frames: list[dict[str, Floats]]
    mode = None
    terrain = None

    @cached_property
    def t(self) -> Floats:  # type: ignore[override]
        """Times of the frames, s, (frames,)."""
        return np.array([parts["time"][0] for parts in self.parts])

    @cached_property
    def y(self) -> Floats:  # type: ignore[override]
        """Joint coordinates and states of the rider, (frames, states)."""
        layout = self.machine.layout
        return np.array([layout.pack(r=parts["r"], z=parts["rider"]) for parts in self.parts])

    @cached_property
    def observations(self) -> dict[str, Floats]:
        """Observed quantities by name, time last; gaps of loaded contacts are constraint violations."""
        observed = {name: np.array([f[name] for f in self.frames]).T for name in self.frames[0]}
        forces = np.abs(observed["forces"]).reshape(len(observed["gaps"]), 3, -1)
        loaded = forces.max(axis=1) > 0.0
        return observed | {"violations": np.where(loaded, observed["gaps"], 0.0)}

    def pose(self) -> tuple[Floats, Floats]:
        """Return quaternions (4, frames) and positions (3, frames) of the base."""
        q, p = (np.array([parts[name] for parts in self.parts]).T for name in ("q", "p"))
        return q, p
