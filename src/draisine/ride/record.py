"""Record of a ride: inputs frame by frame, and the motion at the frames as a trajectory arc."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats


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
class RideArc:
    """The motion at the frames of a ride, with the interface of a trajectory arc."""

    machine: Any
    parts: list[dict[str, Floats]]
    frames: list[dict[str, Floats]]
    mode: Any = None

    @property
    def t(self) -> Floats:
        """Times of the frames, s, (frames,)."""
        return np.array([parts["time"][0] for parts in self.parts])

    @property
    def y(self) -> Floats:
        """Joint coordinates and states of the rider, (frames, states)."""
        layout = self.machine.layout
        return np.array([layout.pack(r=parts["r"], z=parts["rider"]) for parts in self.parts])

    @property
    def is_instant(self) -> bool:
        """Whether the arc has zero duration and therefore no forces; always False for a ride."""
        return False

    @property
    def states(self) -> int:
        """Number of states of the rider."""
        return self.machine.states

    @property
    def dense(self) -> None:
        """Dense output; None, because a ride is stored at its frames only."""
        return None

    @property
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

    def redundant_rows(self) -> list[str]:
        """Return the names of redundant constraint rows: an empty list, as two wheels in line have none."""
        return []
