"""A brush tyre: side and longitudinal slip together, and sliding once friction is used up.

Pacejka, Tire and vehicle dynamics, 3rd edition 2012, doi:10.1016/C2010-0-68548-8, chapter 3: bristles in a
contact of parabolic pressure stick at its front and slide at its rear, eq. [brush-tyre].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, sqrt, where
from draisine.mechanics.forces._tyre import OnWheel
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class BrushTyre(OnWheel):
    """Forces against the slips z = (along, across), which follow the wheel's own over the relaxation
    length: `stiffness` per unit of load and slip where slips are small, `friction` times the load where
    they are large. Half of the contact is `half_length` m long: what the pneumatic trail follows from.
    """

    stiffness: Annotated[Scalar, "1", "force per load and slip where slips are small"]
    friction: Annotated[Scalar, "1", "coefficient of friction"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    half_length: Annotated[Scalar, "m", "half of the contact's length"] = 0.0

    states: ClassVar[int] = 2
    holds: ClassVar[tuple[str, ...]] = ()

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the forces, the aligning moment, and the rates of the slips."""
        V, slip = self.pace(readings), readings.slip(self.contact)
        load = readings.load(self.contact)
        grip, trail = self.grip(sqrt(z[0] * z[0] + z[1] * z[1] + TINY))
        along, across = load * grip * z[0], load * grip * z[1]
        rates = [
            (-v - V * x) / self.relaxation
            for v, x in zip((slip.along, slip.across), z, strict=True)
        ]
        wrench = Wrench(along=along, across=across, aligning=-(trail * across))
        return {self.contact: wrench}, rates

    def grip(self, slip: Scalar) -> tuple[Scalar, Scalar]:
        """Return the force per load and slip, and the pneumatic trail, at the size of a slip."""
        used = (self.stiffness / (3.0 * self.friction)) * slip
        stuck = used < 1.0
        x = where(stuck, used, 1.0)
        force = self.friction * x * (3.0 - 3.0 * x + x * x)
        left = 1.0 - x
        trail = (self.half_length / 3.0) * left * left * left / (1.0 - x + x * x / 3.0)
        return force / slip, trail


TINY = 1e-16
"""Added to the square of a slip, where the root has no derivative."""

FORCE = BrushTyre
