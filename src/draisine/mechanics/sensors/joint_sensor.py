"""Joint sensor: position, rate and effort of a joint, as in the joint states of ROS."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from draisine.algebra.scalar import Scalar
from draisine.model.sensor import Sampled, SensorChannel

if TYPE_CHECKING:
    from draisine.model import Model


@dataclass(frozen=True, eq=False)
class JointSensor(Sampled):
    """Position, rate and effort of a joint.

    The effort is the torque or force of the drive: the input within the limits of its motor, or the required
    torque of a prescribed motion. Springs, dampers and friction of the joint are not part of it.

    Parameters
    ----------
    name
        Name of the sensor. Its signals are `name_position` (rad or m), `name_rate` (rad/s or m/s) and
        `name_effort` (N m or N).
    joint
        Name of the joint.

    Examples
    --------
    >>> import draisine
    >>> cart = draisine.compile("cart_pole").with_sensors(JointSensor("pole_sensor", "pole"))
    >>> ride = draisine.Stepper(cart, draisine.state(cart, pole=0.2), inputs={"pole": 0.3})
    >>> print(ride.values()["pole_sensor_position"], ride.values()["pole_sensor_effort"])
    0.2 0.3
    """

    name: str
    joint: str

    def channels(self, model: "Model") -> tuple[SensorChannel, ...]:
        """Return the channels `position`, `rate` and `effort`."""
        joint = model.joint(self.joint)
        return (
            SensorChannel("position", joint.unit, f"coordinate of {self.joint}"),
            SensorChannel("rate", f"{joint.unit}/s", f"rate of {self.joint}"),
            SensorChannel("effort", joint.effort, f"torque or force of the drive of {self.joint}"),
        )

    def measure(self, readings: Any) -> Sequence[Scalar]:
        """Return coordinate (rad or m), rate and effort (N m or N) of the joint."""
        name = self.joint
        return [readings.joint(name), readings.rate(name), readings.effort(name)]


SENSOR = JointSensor
