"""Balance assist: a steer motor that stabilises a slow bicycle."""

from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar, where
from draisine.control import saturate
from draisine.mechanics.readings import Readings

FADING_SPEED = 1.5
"""Speed (m/s) below which the published motor reduces its gain in proportion to the speed."""

MAX_MOTOR_TORQUE = 7.0
"""Largest torque of the published motor (N m)."""


def assist_torque(readings: Readings, gain: Scalar, speed: Scalar) -> Scalar:
    """Return the assist torque on the steer, -gain (speed - v) lean rate (N m).

    It is zero if v is above `speed`, fades below 1.5 m/s to zero at rest, and is limited to 7 N m.
    """
    v = readings.output("forward_speed")
    deficit = where(
        v < FADING_SPEED,
        (speed - FADING_SPEED) * v / FADING_SPEED,
        where(v < speed, speed - v, 0.0),
    )
    return saturate(-gain * deficit * readings.lean_rate, MAX_MOTOR_TORQUE)


@dataclass(frozen=True)
class BalanceAssist:
    """Control law that steers into the fall, with a gain that grows as the speed falls.

    Haitjema, Alizadehsaravi and Moore (IATSS Research, 2026, doi:10.1016/j.iatssr.2026.02.001), with
    the motor of Alizadehsaravi and Moore (PeerJ 11, e16206, 2023, doi:10.7717/peerj.16206): a steer
    torque proportional to the lean rate and to the difference between weave speed and forward speed v,

        tau = -gain (speed - v) lean rate      while 1.5 m/s < v < speed

    Below 1.5 m/s, the gain fades with the speed; the torque is limited to 7 N m. Here steer is
    positive to the left and lean to the right; the minus sign steers into the fall. The published
    gains, 8 and 10, are settings of the motor's electronics: 3.9 and 5.2 N s2 fit the measured
    weave. The default gain keeps the benchmark bicycle with its rider upright from 1.5 m/s on.

    Parameters
    ----------
    gain
        Gain, N s2.
    speed
        Speed above which the assist is off, m/s.
    steer
        Name of the steer joint.
    """

    gain: float = 8.0
    speed: float = 4.7
    steer: str = "steer"

    states: ClassVar[int] = 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return the steer torque (N m); the control law has no states."""
        return {self.steer: assist_torque(readings, self.gain, self.speed)}, ()


LAW = BalanceAssist
