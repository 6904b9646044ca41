"""Wheelie: the drive lifts the front wheel, and steering the spinning front wheel controls the
lean.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar, where
from draisine.control import check_limit, saturate
from draisine.mechanics.readings import Readings


@dataclass(frozen=True)
class Wheelie:
    """Control law that lifts the front wheel to an angle and holds it.

    Mauny 2018, section 4.3.5 (pitch here is positive nose down, there nose up):

        tau3 = pitch_gain (pitch_target + pitch) + pitch_damping Wy      bounded; target 0 until `lift_at`
        tau2 = spin_gain (spin_target - front wheel's rate)              from `spin_at` on
        tau1 = -lean_gain lean - steer_damping steer rate                always

    Without `held` tau3 is zero until `lift_at`. With `spin_gain`, `lean_gain` and `steer_damping` zero only
    the rear wheel is driven. The same control law with another target pitches a bicycle in flight (4.3.2).

    Parameters
    ----------
    pitch_target
        Angle to which the front wheel is lifted (rad).
    pitch_gain, pitch_damping
        Gains of pitch (N m/rad) and pitch rate (N m s/rad).
    drive_limit
        Largest drive torque (N m).
    lift_at
        Time at which the front wheel is lifted (s).
    held
        Whether the pitch is controlled before `lift_at`, too.
    spin_gain
        Gain of the rate of the front wheel (N m s/rad).
    spin_target
        Rate of the front wheel (rad/s).
    spin_at
        Time from which on the front wheel is driven (s).
    lean_gain, steer_damping
        Gains of lean (N m/rad) and steer rate (N m s/rad).
    steer, front, rear
        Names of the joints of handlebar, front wheel and rear wheel.
    """

    pitch_target: float = math.radians(30.0)
    pitch_gain: float = 2000.0
    pitch_damping: float = 200.0
    drive_limit: float = 130.0
    lift_at: float = 0.1
    held: bool = True
    spin_gain: float = 0.0
    spin_target: float = 100.0 * math.pi
    spin_at: float = 1.0
    lean_gain: float = 0.0
    steer_damping: float = 0.0
    steer: str = "steer"
    front: str = "front_wheel"
    rear: str = "rear_wheel"

    states: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_limit("wheelie: drive_limit", self.drive_limit)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) at which torques may be discontinuous."""
        return (self.lift_at, self.spin_at) if self.spin_gain else (self.lift_at,)

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return the torques by joint (N m); the control law has no states."""
        target = where(readings.t < self.lift_at, 0.0, self.pitch_target)
        turning = self.pitch_damping * readings.angular_velocity[1]
        drive = saturate(self.pitch_gain * (target + readings.pitch) + turning, self.drive_limit)
        torques = {self.rear: drive if self.held else where(readings.t < self.lift_at, 0.0, drive)}
        if self.spin_gain:
            spin = self.spin_gain * (self.spin_target - readings.rate(self.front))
            torques[self.front] = where(readings.t < self.spin_at, 0.0, spin)
        if self.lean_gain or self.steer_damping:
            torques[self.steer] = (
                -self.lean_gain * readings.lean - self.steer_damping * readings.rate(self.steer)
            )
        return torques, ()


LAW = Wheelie
