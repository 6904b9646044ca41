"""Speed control by a proportional-integral torque."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Cruise:
    """Control the rate of a wheel (rad/s) by a PI torque (N m)."""

    rate: float
    gain: float = 5.0
    integral_gain: float = 1.0
    drive: str = "rear_wheel"

    states: ClassVar[int] = 1

    def __call__(self, readings, z):
        """Return the torque by input name, and the error, which is the rate of the state `z[0]`."""
        error = self.rate - readings.rate(self.drive)
        return {self.drive: self.gain * error + self.integral_gain * z[0]}, (error,)


LAW = Cruise
