"""Dry friction of a joint, such as a headset or the bearings of a hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, sqrt


def smooth_sign(x: Scalar) -> Scalar:
    """Return x / sqrt(1 + x^2), a smooth approximation of the sign of x.

    >>> smooth_sign(0.0), round(smooth_sign(1e3), 6), round(smooth_sign(-1e3), 6)
    (0.0, 1.0, -1.0)
    """
    return x / sqrt(1.0 + x * x)


@dataclass(frozen=True, eq=False)
class JointFriction:
    """Regularised dry friction of a joint, `-torque r' / sqrt(rate^2 + r'^2)`, eq. [joint-friction].

    At rates far above `rate` the element is dry friction; far below it is a damper of `torque /
    rate`, which linear systems contain. It always dissipates energy.

    Parameters
    ----------
    joint
        Name of the joint.
    torque
        Torque of dry friction, N m, or force, N.
    rate
        Joint rate of the transition, rad/s or m/s.
    """

    joint: str
    torque: Scalar
    rate: Scalar = 0.01

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """Name of the element, followed by the name of its joint."""
        return f"friction of {self.joint}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Scalar], Sequence[Scalar]]:
        """Return the friction torque (N m or N) on the joint; the element has no states."""
        return {self.joint: -self.torque * smooth_sign(readings.rate(self.joint) / self.rate)}, []


FORCE = JointFriction
