"""A brush tyre: side and longitudinal slip together, and sliding once friction is used up.

Pacejka, Tire and vehicle dynamics, 3rd edition 2012, doi:10.1016/C2010-0-68548-8, chapter 3: bristles in a
contact of parabolic pressure stick at its front and slide at its rear, eq. [brush-tyre].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, sqrt, where
from draisine.mechanics.forces._tyre import TWIST_RELAXATION, OnWheel
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class BrushTyre(OnWheel):
    """Forces against the slips z = (along, across), which follow the wheel's own over the relaxation
    length: `stiffness` per unit of load and slip where slips are small, `friction` times the load where
    they are large. Half of the contact is `half_length` m long: what the pneumatic trail follows from.

    A third state, the twist, carries the aligning moment: the trail times the side force, and the least
    moment against the spin with which that creates no energy.
    """

    stiffness: Annotated[Scalar, "1", "force per load and slip where slips are small"]
    friction: Annotated[Scalar, "1", "coefficient of friction"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    half_length: Annotated[Scalar, "m", "half of the contact's length"] = 0.0

    states: ClassVar[int] = 3
    state_names: ClassVar[tuple[str, ...]] = ("slip_along", "slip", "twist")
    holds: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self.refuse_negative("half_length")

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return the forces, the aligning moment, and the rates of slips and twist."""
        speed = self.rolling_speed(readings)
        pace = self.pace(readings)
        slip = readings.slip(self.contact)
        load = readings.load(self.contact)
        grip, sticking = self._sticking(sqrt(z[0] * z[0] + z[1] * z[1] + TINY))
        along = load * grip * z[0]
        across = load * grip * z[1]
        rates = [
            (-v - pace * x) / self.relaxation
            for v, x in zip((slip.along, slip.across), z[:2], strict=True)
        ]
        # Side force over stiffness, twice since the arm is half of the trail at small slips.
        lag = 2.0 * sticking * (grip / self.stiffness) * z[1]
        arm = self._small_slip_trail / 2.0
        rates.append(
            (-arm * readings.spin(self.contact) - pace * z[2] - speed * lag)
            / (TWIST_RELAXATION * self.relaxation)
        )
        moment = load * self.stiffness * arm * z[2]
        return {self.contact: Wrench(along=along, across=across, aligning=moment)}, rates

    @property
    def _small_slip_trail(self) -> Scalar:
        """The pneumatic trail at small slips, m, its largest."""
        return self.half_length / 3.0

    def grip(self, slip: Scalar) -> tuple[Scalar, Scalar]:
        """Return the force per load and slip, and the pneumatic trail, at the size of a slip."""
        force, sticking = self._sticking(slip)
        return force, self._small_slip_trail * sticking

    def _sticking(self, slip: Scalar) -> tuple[Scalar, Scalar]:
        """Return the force per load and slip, and the part that is left of the trail at small slips."""
        used = (self.stiffness / (3.0 * self.friction)) * slip
        stuck = used < 1.0
        x = where(stuck, used, 1.0)
        force = self.friction * x * (3.0 - 3.0 * x + x * x)
        left = 1.0 - x
        return force / slip, left * left * left / (1.0 - x + x * x / 3.0)

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy of the bent bristles, J: relaxation length times the integral of the force
        over the slip, and that of the twist.
        """
        size = sqrt(z[0] * z[0] + z[1] * z[1] + TINY)
        full = 3.0 * self.friction / self.stiffness  # the slip from which on all bristles slide
        x = where(size < full, size / full, 1.0)
        sliding = where(size < full, 0.0, size - full)
        bent = self.friction * (full * x * x * (1.5 - x + x * x / 4.0) + sliding)
        twisted = 0.5 * TWIST_RELAXATION * self.stiffness * z[2] * z[2]
        return readings.load(self.contact) * self.relaxation * (bent + twisted)


TINY = 1e-16
"""Added to the square of a slip, where the root has no derivative."""

FORCE = BrushTyre
