"""Rider who steers into the fall after a delay."""

from dataclasses import dataclass

from draisine.algebra.scalar import Array, Scalar
from draisine.control import delay
from draisine.mechanics.readings import Readings


@dataclass(frozen=True)
class SteerIntoLean:
    """Control law with the delayed steer torque `-(lean_gain lean + rate_gain lean_rate + damping
    steer_rate)`.

    Lean is positive to the right and steer to the left, so the minus sign steers into the fall. The delay is
    Padé's rational approximation, so that eigenvalues include it, eq. [delay].

    Parameters
    ----------
    lean_gain, rate_gain, damping
        Gains of lean (N m/rad), lean rate and steer rate (N m s/rad).
    delay
        Transport delay, s; without it the control law has no states.
    steer
        Name of the steer joint.
    order
        Order of Padé's approximation.
    """

    lean_gain: float
    rate_gain: float
    damping: float = 0.0
    delay: float = 0.0
    steer: str = "steer"
    order: int = 2

    @property
    def states(self) -> int:
        """Number of states: the order of the delay, or zero without a delay."""
        return self.order if self.delay > 0.0 else 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the steer torque (N m), and the rates of the states of the delay."""
        command = -(
            self.lean_gain * readings.lean
            + self.rate_gain * readings.lean_rate
            + self.damping * readings.rate(self.steer)
        )
        torque, rates = delay(command, z, self.delay)
        return {self.steer: torque}, rates


LAW = SteerIntoLean
