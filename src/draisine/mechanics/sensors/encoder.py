"""Incremental encoder of a joint."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draisine.algebra.scalar import Scalar
from draisine.errors import ModelError
from draisine.model.sensor import Sampled, SensorChannel

if TYPE_CHECKING:
    from draisine.model import Model


@dataclass(frozen=True, eq=False)
class Encoder(Sampled):
    """Incremental encoder: the coordinate of a joint, rounded to whole counts.

    Parameters
    ----------
    name
        Name of the sensor and of its signal (rad or m).
    joint
        Name of the joint.
    counts
        Counts per revolution, with all edges of a quadrature encoder. The quantum is then 2 pi / counts. None
        for another `quantum`, as that of a linear encoder in m.

    Examples
    --------
    >>> Encoder("left_encoder", "left_axle", counts=1000).quantum == 2.0 * math.pi / 1000
    True
    """

    name: str
    joint: str
    counts: int | None = None

    def __post_init__(self) -> None:
        if self.counts is not None:
            if isinstance(self.counts, bool) or not isinstance(self.counts, int) or self.counts < 1:
                raise ModelError(
                    f"sensor {self.name!r}: counts = {self.counts!r} must be a positive integer."
                )
            quantum = 2.0 * math.pi / self.counts
            if self.quantum not in (0.0, quantum):
                raise ModelError(
                    f"sensor {self.name!r}: `counts` and `quantum` exclude each other."
                )
            object.__setattr__(self, "quantum", quantum)
        super().__post_init__()

    def channels(self, model: "Model") -> tuple[SensorChannel, ...]:
        """Return the only channel: the coordinate of the joint."""
        return (SensorChannel("", model.joint(self.joint).unit, f"encoder of {self.joint}"),)

    def measure(self, readings: Any) -> Sequence[Scalar]:
        """Return the coordinate of the joint (rad or m)."""
        return [readings.joint(self.joint)]


SENSOR = Encoder
