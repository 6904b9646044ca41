"""What was done at which step of a ride, and what came of it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats


@dataclass
class RideRecord:
    """What repeats a ride to the bit: parameters and friction at the start; frame by frame how many
    steps under which inputs; parameters that changed before a frame.
    """

    first: dict[str, float]
    mu: float
    steps: list[int] = field(default_factory=list)
    inputs: list[dict[str, float]] = field(default_factory=list)
    changes: dict[int, dict[str, float]] = field(default_factory=dict)

    def add(self, count: int, inputs: dict[str, float]) -> None:
        """Keep a frame; inputs that are held take no memory."""
        if count:
            held = bool(self.inputs) and self.inputs[-1] == inputs
            self.steps.append(count)
            self.inputs.append(self.inputs[-1] if held else dict(inputs))


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
    def is_instant(self) -> bool:
        """Whether the forces of the arc are unknown because it is too short: never."""
        return False

    @property
    def states(self) -> int:
        """How many states the rider has."""
        return self.machine.states

    @property
    def dense(self) -> None:
        """No dense output: frames are all that is known of a ride."""
        return None

    @property
    def observations(self) -> dict[str, Floats]:
        """Everything that was seen, time last; the gaps of contacts that carry are violations of the
        constraints.
        """
        seen = {name: np.array([f[name] for f in self.frames]).T for name in self.frames[0]}
        carries = np.abs(seen["forces"]).reshape(len(seen["gaps"]), 3, -1).max(axis=1) > 0.0
        return seen | {"violations": np.where(carries, seen["gaps"], 0.0)}

    def pose(self) -> tuple[Floats, Floats]:
        """Return quaternions and positions, time last."""
        q, p = (np.array([parts[name] for parts in self.parts]).T for name in ("q", "p"))
        return q, p

    def redundant_rows(self) -> list[str]:
        """Return none: two wheels in line repeat nothing."""
        return []
