"""A steer motor that keeps a slow bicycle upright."""

from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar, where
from draisine.control import saturate
from draisine.mechanics.readings import Readings

SLOW = 1.5
STRONGEST = 7.0
"""The published motor fades below this speed, m/s, and gives no more than this torque, N m."""


def assist_torque(readings: Readings, gain: Scalar, speed: Scalar) -> Scalar:
    """Return the steer torque -gain (speed - v) lean rate: none where v is above the speed, fading to
    none as a bicycle slower than 1.5 m/s comes to rest, and never more than 7 N m.
    """
    v = readings.output("forward_speed")
    lack = where(v < SLOW, (speed - SLOW) * v / SLOW, where(v < speed, speed - v, 0.0))
    return saturate(-gain * lack * readings.lean_rate, STRONGEST)


@dataclass(frozen=True)
class BalanceAssist:
    """Steer into the fall, the more the slower the bicycle is.

    Haitjema, Alizadehsaravi and Moore (IATSS Research, 2026, doi:10.1016/j.iatssr.2026.02.001), with
    the motor of Alizadehsaravi and Moore (PeerJ 11, e16206, 2023, doi:10.7717/peerj.16206): a steer
    torque in proportion to the lean rate and to what the forward speed v lacks of the weave speed,

        tau = -gain (speed - v) lean rate      while 1.5 m/s < v < speed

    Below, the gain fades with the speed; the motor gives 7 N m at most. Here steer is positive to the
    left and lean to the right; the minus sign steers into the fall. The published gains, 8 and 10,
    are settings of the motor's own electronics: 3.9 and 5.2 N s2 fit the measured weave. The one here
    keeps the benchmark bicycle with its rider upright from 1.5 m/s on.
    """

    gain: float = 8.0
    speed: float = 4.7
    steer: str = "steer"

    states: ClassVar[int] = 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return the torque; the law has no states."""
        return {self.steer: assist_torque(readings, self.gain, self.speed)}, ()


LAW = BalanceAssist
