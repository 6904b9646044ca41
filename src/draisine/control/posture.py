"""Posture of a standing rider: legs, hips and arms are guided through way points and react to the pitch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array, Scalar, where
from draisine.control import check_limit, saturate
from draisine.errors import ParameterError
from draisine.mechanics.readings import Readings
from draisine.model import Guide
from draisine.model.motion import way_points


@dataclass(frozen=True)
class Posture:
    """Control law that guides the joints `legs`, `hips` and `arms` of a rider who stands on the pedals.

    Each joint r follows its set-point s(t), a smooth step between way points, as a critically damped
    oscillator,

        rddot = sddot + 2 frequency (sdot - rdot) + frequency^2 (s - r)

    so that it follows exactly once it is on it. From `react_at` on the arms react to the pitch (positive
    nose down): their set-point becomes

        s - reach tanh((pitch_gain (pitch - pitch_target) + pitch_damping pitch_rate) / reach)

    Arms that shorten pull the bicycle up against the rider. In flight the angular momentum about the mass
    centre is constant, so that the rider rotates nose down and the bicycle nose up.

    Parameters
    ----------
    times
        Times of the way points (s), rising, at least two.
    legs, hips, arms
        Set-points at these times: extension of the legs (m), forward rotation of the trunk against the legs
        (rad), extension of the arms (m). A joint without way points keeps zero, the posture of the drawing.
    frequency
        Natural frequency with which deviations vanish (rad/s).
    pitch_gain, pitch_damping
        Reaction of the arms to the pitch (m/rad) and its rate (m s/rad); zero for none.
    pitch_target
        Pitch of the bicycle that the reaction aims at (rad), the slope of the landing downwards.
    reach
        Largest reaction of the arms (m).
    react_at
        Time from which on the arms react (s).
    """

    times: Sequence[float] = ()
    legs: Sequence[float] = ()
    hips: Sequence[float] = ()
    arms: Sequence[float] = ()
    frequency: float = 20.0
    pitch_gain: float = 0.0
    pitch_damping: float = 0.0
    pitch_target: float = 0.0
    reach: float = 0.15
    react_at: float = 0.0

    states: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_limit("posture: reach", self.reach)
        if not self.frequency > 0.0 or not math.isfinite(self.frequency):
            raise ParameterError(
                f"posture: frequency = {self.frequency} rad/s must be positive and finite."
            )
        if any(late <= early for early, late in zip(self.times, self.times[1:], strict=False)):
            raise ParameterError(f"posture: the times {list(self.times)} s must rise.")
        for name in ("legs", "hips", "arms"):
            count = len(getattr(self, name))
            if count and (count != len(self.times) or count < 2):
                raise ParameterError(
                    f"posture: {name} has {count} way points for {len(self.times)} times; state one per "
                    "time, at least two."
                )

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Times (s) of the way points and of the first reaction."""
        start = (self.react_at,) if self.pitch_gain or self.pitch_damping else ()
        return tuple(sorted({*map(float, self.times), *start}))

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Guide], tuple[()]]:
        """Return the prescribed accelerations by joint (m/s2, rad/s2); the control law has no states."""
        return {
            name: Guide(self._prescribed_acceleration(readings, name))
            for name in ("legs", "hips", "arms")
        }, ()

    def _prescribed_acceleration(self, readings: Readings, name: str) -> Scalar:
        """Return the prescribed acceleration of a joint."""
        points = getattr(self, name)
        s: Scalar = 0.0
        rate: Scalar = 0.0
        acceleration: Scalar = 0.0
        if points:
            s, rate, acceleration = way_points(self.times, points)(readings.t)
        if name == "arms" and (self.pitch_gain or self.pitch_damping):
            s = s - where(readings.t < self.react_at, 0.0, self._shortening_of_arms(readings))
        error = s - readings.joint(name)
        lag = rate - readings.rate(name)
        return acceleration + self.frequency * (2.0 * lag + self.frequency * error)

    def _shortening_of_arms(self, readings: Readings) -> Scalar:
        """Return the distance (m) by which the arms shorten in reaction to the pitch."""
        turn = self.pitch_gain * (readings.pitch - self.pitch_target)
        return saturate(turn + self.pitch_damping * readings.pitch_rate, self.reach)


LAW = Posture
