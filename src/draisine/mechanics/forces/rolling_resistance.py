"""Rolling and spinning resistance of a wheel, in proportion to its load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces.joint_friction import smooth_sign
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class RollingResistance:
    """Moments that oppose rolling and spinning of a wheel at its contact, eq. [rolling-resistance].

    Both moments are proportional to the load and smooth at rest.

    Parameters
    ----------
    contact
        Name of the contact.
    rolling
        Moment about the axle per load, m: coefficient of rolling resistance times radius.
    spinning
        Moment about the ground's normal per load, m.
    speed
        Speed of travel below which the rolling moment becomes a damper, m/s.
    rate
        Spin below which the spinning moment becomes a damper, rad/s.
    """

    contact: str
    rolling: Scalar
    spinning: Scalar = 0.0
    speed: Scalar = 0.01
    rate: Scalar = 0.01

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """Name of the element, followed by the name of its wheel."""
        return f"rolling resistance of {self.contact}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return both moments (N m) on the contact; the element has no states."""
        load = readings.load(self.contact)
        rolls = smooth_sign(readings.travel(self.contact) / self.speed)
        turns = smooth_sign(readings.spin(self.contact) / self.rate)
        wrench = Wrench(
            rolling=-(self.rolling * load * rolls), aligning=-(self.spinning * load * turns)
        )
        return {self.contact: wrench}, []


FORCE = RollingResistance
