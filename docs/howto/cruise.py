"""A speed that is held by a proportional and integral torque."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Cruise:
    """Hold the rear wheel's rate."""

    rate: float
    gain: float = 5.0
    integral_gain: float = 1.0
    drive: str = "rear_wheel"

    states: ClassVar[int] = 1

    def __call__(self, readings, z):
        """Return the torque, and the error as the rate of its integral."""
        error = self.rate - readings.rate(self.drive)
        return {self.drive: self.gain * error + self.integral_gain * z[0]}, (error,)


LAW = Cruise
