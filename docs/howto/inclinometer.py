"""Inclinometer: the angle of a body about its y axis, from the direction of the specific force."""

from dataclasses import dataclass

from draisine.algebra.scalar import atan2
from draisine.model.sensor import Sampled, SensorChannel


@dataclass(frozen=True, eq=False)
class Inclinometer(Sampled):
    """The angle (rad, nose down) at which a body at rest with this specific force would be inclined."""

    name: str
    body: str

    def channels(self, model):
        """Return the only channel, which needs no name."""
        model.body(self.body)  # raises an error if the body does not exist
        return (SensorChannel("", "rad", f"apparent inclination of {self.body}"),)

    def measure(self, readings):
        """Return the angle between the specific force and the body's z axis."""
        motion = readings.body(self.body)
        centre = readings.model.body(self.body).com
        force = motion.R.T @ (motion.acceleration(centre) - readings.gravity)
        return [atan2(-force[0], force[2])]


SENSOR = Inclinometer
