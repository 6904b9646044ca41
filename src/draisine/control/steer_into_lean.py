"""A rider's simplest rule: steer into the fall, after a delay."""

from dataclasses import dataclass

from draisine.algebra.scalar import Array, Scalar
from draisine.control import delay
from draisine.mechanics.readings import Readings


@dataclass(frozen=True)
class SteerIntoLean:
    """The steer torque `-(lean_gain lean + rate_gain lean_rate) - damping steer_rate`, of what was
    `delay` seconds ago: lean is positive to the right and steer to the left, so the minus sign steers into
    the fall.

    The delay is Padé's rational function of an `order`, so that eigenvalues include it, eq. [delay];
    without a delay the law has no states.
    """

    lean_gain: float
    rate_gain: float
    damping: float = 0.0
    delay: float = 0.0
    steer: str = "steer"
    order: int = 2

    @property
    def states(self) -> int:
        """As many as the order of the delay, if there is one."""
        return self.order if self.delay > 0.0 else 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the torque, and the rates of the delay's states."""
        wanted = -(
            self.lean_gain * readings.lean
            + self.rate_gain * readings.lean_rate
            + self.damping * readings.rate(self.steer)
        )
        given, rates = delay(wanted, z, self.delay)
        return {self.steer: given}, rates


LAW = SteerIntoLean
