"""Dry friction of a joint, such as that of a headset or a hub's bearings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, sqrt


def smooth_sign(x: Scalar) -> Scalar:
    """Return x / sqrt(1 + x^2): a sign without a jump.

    >>> smooth_sign(0.0), round(smooth_sign(1e3), 6), round(smooth_sign(-1e3), 6)
    (0.0, 1.0, -1.0)
    """
    return x / sqrt(1.0 + x * x)


@dataclass(frozen=True, eq=False)
class JointFriction:
    """The torque `-torque r' / sqrt(rate^2 + r'^2)` on a joint that moves at r', eq. [joint-friction].

    Far above `rate` (rad/s, or m/s) it is dry friction of the size `torque` (N m, or N), far below a
    damper `torque / rate`: so linear systems see it. It only takes energy.
    """

    joint: str
    torque: Scalar
    rate: Scalar = 0.01

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The friction of its joint."""
        return f"friction of {self.joint}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Scalar], Sequence[Scalar]]:
        """Return the torque."""
        return {self.joint: -self.torque * smooth_sign(readings.rate(self.joint) / self.rate)}, []


FORCE = JointFriction
