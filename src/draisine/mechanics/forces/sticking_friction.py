"""Dry friction of a joint that sticks: below the friction torque the joint does not creep."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, clip


@dataclass(frozen=True, eq=False)
class StickingFriction:
    """Coulomb friction of a joint with an elastic deflection while it sticks, eq. [sticking-friction].

    A spring of `torque / deflection` and a damper of `torque / rate` act while their sum is below `torque`.
    Beyond it the joint slides against exactly `torque`, and the spring keeps its largest deflection. A
    constant load below `torque` does not make the joint creep: a slowly growing load moves it by less than
    `deflection`, a sudden load of the fraction p by at most `deflection / (2 (1 - p))`. `JointFriction`,
    which has no state, creeps. A linear system about rest contains the spring and the damper. Vanishing
    `rate` and `deflection` give Coulomb's law.

    Parameters
    ----------
    joint
        Name of the joint.
    torque
        Torque of dry friction, N m, or force, N.
    rate
        Joint rate above which the friction has its full torque at once, rad/s or m/s.
    deflection
        Largest elastic deflection of the sticking joint, rad or m.

    Examples
    --------
    A load of half of the friction deflects the joint by half a milliradian, and the joint rests there:

    >>> from types import SimpleNamespace
    >>> friction = StickingFriction("axle", 2.0)
    >>> at_rest = SimpleNamespace(rate=lambda joint: 0.0)
    >>> friction(at_rest, [0.5e-3])
    ({'axle': -1.0}, [0.0])
    """

    joint: str
    torque: Scalar
    rate: Scalar = 0.05
    deflection: Scalar = 1e-3

    states: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """Name of the element, followed by the name of its joint."""
        return f"friction of {self.joint}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Scalar], Sequence[Scalar]]:
        """Return the friction torque (N m or N) on the joint, and the rate of the deflection z."""
        load = clip(z[0] / self.deflection + readings.rate(self.joint) / self.rate, -1.0, 1.0)
        # While the joint sticks, this rate is the joint rate. While it slides, z tends to the
        # positive or negative `deflection`.
        deflection_rate = self.rate * (load - z[0] / self.deflection)
        return {self.joint: -self.torque * load}, [deflection_rate]


FORCE = StickingFriction
