"""A steer motor that keeps a slow bicycle upright."""

from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar, where
from draisine.mechanics.readings import Readings


def assist_torque(readings: Readings, gain: Scalar, speed: Scalar) -> Scalar:
    """Return the steer torque -gain (speed - v) lean rate, none where v is above the speed."""
    lack = speed - readings.output("forward_speed")
    return -gain * where(lack > 0.0, lack, 0.0) * readings.lean_rate


@dataclass(frozen=True)
class BalanceAssist:
    """Steer into the fall, the more the slower the bicycle is.

    Schwab, Kooijman and Meijaard, "Some recent developments in bicycle dynamics and control", 2008:
    a steer torque in proportion to the lean rate and to what the forward speed v lacks of the speed
    from which the bicycle is stable by itself,

        tau = -gain (speed - v) lean rate      while v < speed

    Here steer is positive to the left and lean to the right; the minus sign steers into the fall.
    """

    gain: float = 8.0
    speed: float = 4.7
    steer: str = "steer"

    states: ClassVar[int] = 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return the torque; the law has no states."""
        return {self.steer: assist_torque(readings, self.gain, self.speed)}, ()


LAW = BalanceAssist
