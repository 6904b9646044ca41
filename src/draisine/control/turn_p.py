"""Turn of a bicycle by proportional torques on steering and rear wheel."""

import math
from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar
from draisine.control import check_limit, saturate, smooth_transition
from draisine.errors import ParameterError
from draisine.mechanics.readings import Readings


@dataclass(frozen=True)
class TurnP:
    """Proportional control that steers to an angle and back, at a constant rate of the rear wheel.

    Mauny, Porez and Boyer 2017, doi:10.1016/j.ifacol.2017.08.1007, (18), (19) and (23):

        tau1 = -steer_gain (steer_target s - steer),   tau3 = drive_gain (wheel_rate_target - rate)

    where s rises smoothly from 0 to 1 between `times[0]` and `times[1]` and falls back between
    `times[2]` and `times[3]`. The minus sign is theirs: with a negative `steer_gain` the bicycle
    falls. `steer_limit` and `drive_limit` bound the torques.

    Parameters
    ----------
    steer_gain
        Gain of the steer angle (N m/rad).
    steer_target
        Steer angle during the turn (rad).
    times
        Start and end of the transition to the turn, and of the transition back (s).
    drive_gain
        Gain of the rate of the rear wheel (N m s/rad).
    wheel_rate_target
        Rate of the rear wheel (rad/s).
    steer_limit, drive_limit
        Largest torques (N m).
    steer, drive
        Names of the steer joint and of the driven joint.
    """

    steer_gain: float
    steer_target: float
    times: tuple[float, float, float, float]
    drive_gain: float
    wheel_rate_target: float
    steer_limit: float = math.inf
    drive_limit: float = math.inf
    steer: str = "steer"
    drive: str = "rear_wheel"

    states: ClassVar[int] = 0

    def __post_init__(self) -> None:
        if list(self.times) != sorted(self.times):
            raise ParameterError(f"turn_p: times = {list(self.times)} are not in ascending order.")
        check_limit("turn_p: steer_limit", self.steer_limit)
        check_limit("turn_p: drive_limit", self.drive_limit)

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) at which the formula of the reference steer angle changes."""
        return self.times

    def reference(self, t: Scalar) -> Scalar:
        """Return the reference of the steer angle (rad) at time t (s)."""
        up = smooth_transition(t, *self.times[:2])
        down = smooth_transition(t, *self.times[2:])
        return self.steer_target * (up - down)

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return steer and drive torque (N m); the control law has no states."""
        steer = -self.steer_gain * (self.reference(readings.t) - readings.joint(self.steer))
        drive = self.drive_gain * (self.wheel_rate_target - readings.rate(self.drive))
        return {
            self.steer: saturate(steer, self.steer_limit),
            self.drive: saturate(drive, self.drive_limit),
        }, ()


LAW = TurnP
