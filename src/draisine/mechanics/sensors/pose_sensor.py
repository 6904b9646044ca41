"""Pose sensor: position and orientation of a body, as of motion capture or satellite navigation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.lie import yaw_lean_pitch
from draisine.algebra.scalar import Scalar, Vector
from draisine.model.body import vector
from draisine.model.sensor import Sampled, SensorChannel

if TYPE_CHECKING:
    from draisine.model import Model


@dataclass(frozen=True, eq=False)
class PoseSensor(Sampled):
    """Position of a point of a body and angles of the body, in world axes.

    Parameters
    ----------
    name
        Name of the sensor. Its signals are `name_position_x`, ... (m) and `name_yaw`, `name_lean`,
        `name_pitch` (rad).
    body
        Name of the body.
    point
        Point of the body in the zero configuration, m.

    Examples
    --------
    >>> import draisine
    >>> disc = draisine.compile("rolling_disc").with_sensors(PoseSensor("mocap", "disc"))
    >>> ride = draisine.Stepper(disc, draisine.state(disc, yaw=0.5, x=2.0))
    >>> print(f"{ride.values()['mocap_yaw']:.9g} {ride.values()['mocap_position_x']:.9g}")
    0.5 2
    """

    name: str
    body: str
    point: Vector = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "point", vector(self.point, f"sensor {self.name!r}, point"))

    def channels(self, model: "Model") -> tuple[SensorChannel, ...]:
        """Return three channels of the position and three angles."""
        model.body(self.body)
        return (
            *(SensorChannel(f"position_{axis}", "m", f"position, {axis}") for axis in "xyz"),
            SensorChannel("yaw", "rad", f"heading of {self.body}, positive to the left"),
            SensorChannel("lean", "rad", f"lean of {self.body}, positive to the right"),
            SensorChannel("pitch", "rad", f"pitch of {self.body}, positive nose down"),
        )

    def measure(self, readings: Any) -> Sequence[Scalar]:
        """Return position (m) and angles (rad)."""
        motion = readings.body(self.body)
        return [*motion.position(self.point), *yaw_lean_pitch(motion.R)]


SENSOR = PoseSensor
