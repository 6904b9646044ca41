"""What a wheel loses by rolling and by turning on the spot, in proportion to its load."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.scalar import Array, Scalar
from draisine.mechanics.forces.joint_friction import smooth_sign
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class RollingResistance:
    """Moments at the contact of a wheel, eq. [rolling-resistance]: about its axle `rolling` times the
    load, against rolling; about the ground's normal `spinning` times the load, against its spin. Both
    are lengths in m: for a coefficient of rolling resistance without unit, times the wheel's radius.

    They are smooth about rest: below `speed` m/s of travel and `rate` rad/s of spin they are dampers.
    """

    contact: str
    rolling: Scalar
    spinning: Scalar = 0.0
    speed: Scalar = 0.01
    rate: Scalar = 0.01

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The resistance of its wheel."""
        return f"rolling resistance of {self.contact}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return both moments."""
        load = readings.load(self.contact)
        rolls = smooth_sign(readings.travel(self.contact) / self.speed)
        turns = smooth_sign(readings.spin(self.contact) / self.rate)
        wrench = Wrench(
            rolling=-(self.rolling * load * rolls), aligning=-(self.spinning * load * turns)
        )
        return {self.contact: wrench}, []


FORCE = RollingResistance
