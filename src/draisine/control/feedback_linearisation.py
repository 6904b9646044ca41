"""Input-output linearisation of the lean by the steer torque, from the closed form of the dynamics."""

import math
from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import Array
from draisine.control import check_limit
from draisine.errors import ParameterError
from draisine.mechanics.readings import Readings
from draisine.model import Guide


@dataclass(frozen=True)
class FeedbackLinearisation:
    """Steer torque under which the lean phi obeys a linear equation of second order exactly,

        phiddot + 2 damping frequency phidot + frequency^2 (phi - lean_target) = 0,    eq. [guide-lean]

    Input-output linearisation (Isidori, Nonlinear Control Systems, Springer 1995, section 4.2,
    doi:10.1007/978-1-84628-615-5) of the closed form of the nonlinear bicycle: the lean has relative degree
    two, because the steer torque accelerates it through the mass matrix. The steer angle and the speed are
    the zero dynamics. They are stable above the speed of eq. [zero-dynamics], 0.58 m/s for the benchmark
    bicycle; below it the steer angle grows while the lean obeys its equation.

    While the torque is at its limit, the lean does not obey the equation.

    Parameters
    ----------
    frequency
        Natural frequency of the lean, rad/s.
    damping
        Damping ratio of the lean.
    lean_target
        Lean to settle at, rad, positive to the right.
    torque_limit
        Largest torque of the actuator, N m.
    steer
        Name of the steer joint.
    """

    frequency: float = 3.0
    damping: float = 1.0
    lean_target: float = 0.0
    torque_limit: float = math.inf
    steer: str = "steer"

    states: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_limit("feedback_linearisation: torque_limit", self.torque_limit)
        for name in ("frequency", "damping"):
            value = getattr(self, name)
            if not value > 0.0 or not math.isfinite(value):
                raise ParameterError(
                    f"feedback_linearisation: {name} = {value} must be positive and finite, so that the lean "
                    "settles."
                )

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Guide], tuple[()]]:
        """Return the steer torque as a guide of the lean; the control law has no states."""
        error = self.lean_target - readings.lean
        acceleration = self.frequency * (
            self.frequency * error - 2.0 * self.damping * readings.lean_rate
        )
        return {self.steer: Guide(acceleration, of="lean", limit=self.torque_limit)}, ()


LAW = FeedbackLinearisation
