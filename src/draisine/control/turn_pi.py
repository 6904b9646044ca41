"""Turn of a bicycle by proportional-integral torques on steering and rear wheel."""

import math
from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar
from draisine.control import check_limit, saturate, smooth_transition
from draisine.errors import ParameterError
from draisine.mechanics.readings import Readings


@dataclass(frozen=True)
class TurnPI:
    """Proportional-integral control that steers to an angle and holds it, at a constant rate of the
    rear wheel.

    Mauny 2018, section 2.7.5. With e1 = steer_target f_s - steer, e3 = wheel_rate_target - rate and
    their integrals z over time,

        tau1 = -(steer_gain e1 + steer_integral_gain z1)
        tau3 = drive_gain e3 + drive_integral_gain z3

    The minus sign is that of Mauny (2018): with negative steer gains the bicycle falls. `times` are start and
    end of the smooth step f_s. `steer_limit` and `drive_limit` bound the torques; while a torque is
    saturated, `anti_windup` (1/s, off at 0) drives the integral back to the onset of saturation.

    Parameters
    ----------
    steer_gain, steer_integral_gain
        Gains of the steer error (N m/rad) and of its integral (N m/(rad s)).
    steer_target
        Steer angle during the turn (rad).
    times
        Start and end of the transition to the turn (s).
    drive_gain, drive_integral_gain
        Gains of the error of the wheel rate (N m s/rad) and of its integral (N m/rad).
    wheel_rate_target
        Rate of the rear wheel (rad/s).
    steer_limit, drive_limit
        Largest torques (N m).
    anti_windup
        Rate at which a saturated integral is driven back (1/s); zero switches it off.
    steer, drive
        Names of the steer joint and of the driven joint.
    """

    steer_gain: float
    steer_integral_gain: float
    steer_target: float
    times: tuple[float, float]
    drive_gain: float
    drive_integral_gain: float
    wheel_rate_target: float
    steer_limit: float = math.inf
    drive_limit: float = math.inf
    anti_windup: float = 0.0
    steer: str = "steer"
    drive: str = "rear_wheel"

    states: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if list(self.times) != sorted(self.times):
            raise ParameterError(f"turn_pi: times = {list(self.times)} are not in ascending order.")
        check_limit("turn_pi: steer_limit", self.steer_limit)
        check_limit("turn_pi: drive_limit", self.drive_limit)
        if not self.anti_windup >= 0.0:
            raise ParameterError(
                f"turn_pi: anti_windup = {self.anti_windup} is negative; use zero to switch it off."
            )

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) at which the formula of the reference steer angle changes."""
        return self.times

    def reference(self, t: Scalar) -> Scalar:
        """Return the reference of the steer angle (rad) at time t (s)."""
        return self.steer_target * smooth_transition(t, *self.times)

    def __call__(
        self, readings: Readings, z: Array
    ) -> tuple[dict[str, Scalar], tuple[Scalar, Scalar]]:
        """Return steer and drive torque (N m), and the errors as the rates of their integrals."""
        e1 = self.reference(readings.t) - readings.joint(self.steer)
        e3 = self.wheel_rate_target - readings.rate(self.drive)
        steer, steer_rate = self._limited_torque(
            e1, z[0], -self.steer_gain, -self.steer_integral_gain, self.steer_limit
        )
        drive, drive_rate = self._limited_torque(
            e3, z[1], self.drive_gain, self.drive_integral_gain, self.drive_limit
        )
        return {self.steer: steer, self.drive: drive}, (steer_rate, drive_rate)

    def _limited_torque(
        self, error: Scalar, integral: Scalar, gain: float, integral_gain: float, limit: float
    ) -> tuple[Scalar, Scalar]:
        """Return a torque (N m) limited to -limit ... limit, and the rate of its error integral."""
        demand = gain * error + integral_gain * integral
        command = saturate(demand, limit)
        if self.anti_windup == 0.0 or math.isinf(limit) or integral_gain == 0.0:
            return command, error
        return command, error + (self.anti_windup / integral_gain) * (command - demand)


LAW = TurnPI
