"""Brush tyre: combined longitudinal and side slip, with sliding at the friction limit.

Pacejka, Tire and vehicle dynamics, 3rd edition 2012, doi:10.1016/C2010-0-68548-8, chapter 3: bristles in a
contact patch of parabolic pressure stick at its front and slide at its rear, eq. [brush-tyre].
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from draisine.algebra.scalar import Array, Scalar, sqrt, where
from draisine.mechanics.forces._tyre import TWIST_RELAXATION, OnWheel
from draisine.model import Wrench


@dataclass(frozen=True, eq=False)
class BrushTyre(OnWheel):
    """Brush tyre with combined slip and sliding.

    The states slip_along and slip follow the longitudinal and side slip of the wheel over the
    relaxation length. The force opposes them: `stiffness` times load and slip at small slips,
    `friction` times load at large slips. The third state, the twist, determines the aligning
    moment: pneumatic trail times side force, plus the smallest moment against the spin that makes
    the tyre passive.

    Parameters
    ----------
    stiffness
        Force per unit of load and slip at small slips.
    friction
        Coefficient of friction.
    relaxation
        Relaxation length, m.
    half_length
        Half of the length of the contact patch, m. The pneumatic trail is a third of it at small slips.
    """

    stiffness: Annotated[Scalar, "1", "force per load and slip at small slips"]
    friction: Annotated[Scalar, "1", "coefficient of friction"]
    relaxation: Annotated[Scalar, "m", "relaxation length"]
    half_length: Annotated[Scalar, "m", "half of the contact's length"] = 0.0

    states: ClassVar[int] = 3
    state_names: ClassVar[tuple[str, ...]] = ("slip_along", "slip", "twist")
    holds: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        self.refuse_negative("half_length")

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Wrench], Sequence[Scalar]]:
        """Return force (N) and aligning moment (N m) on the contact, and the rates of slips and
        twist.
        """
        speed = self.rolling_speed(readings)
        speed_magnitude = self.rolling_speed_magnitude(readings)
        slip = readings.slip(self.contact)
        load = readings.load(self.contact)
        grip, sticking = self._sticking_ratios(sqrt(z[0] * z[0] + z[1] * z[1] + SLIP_SQUARE_OFFSET))
        along = load * grip * z[0]
        across = load * grip * z[1]
        rates = [
            (-v - speed_magnitude * x) / self.relaxation
            for v, x in zip((slip.along, slip.across), z[:2], strict=True)
        ]
        # Side force divided by the stiffness. The factor two follows from the lever arm, which is
        # half of the trail at small slips.
        trail_slip = 2.0 * sticking * (grip / self.stiffness) * z[1]
        arm = self._largest_trail / 2.0
        rates.append(
            (-arm * readings.spin(self.contact) - speed_magnitude * z[2] - speed * trail_slip)
            / (TWIST_RELAXATION * self.relaxation)
        )
        moment = load * self.stiffness * arm * z[2]
        return {self.contact: Wrench(along=along, across=across, aligning=moment)}, rates

    @property
    def _largest_trail(self) -> Scalar:
        """Pneumatic trail at small slips (m), its largest value."""
        return self.half_length / 3.0

    def grip(self, slip_magnitude: Scalar) -> tuple[Scalar, Scalar]:
        """Return the force per load and slip, and the pneumatic trail (m), at a slip magnitude."""
        force, sticking = self._sticking_ratios(slip_magnitude)
        return force, self._largest_trail * sticking

    def _sticking_ratios(self, slip_magnitude: Scalar) -> tuple[Scalar, Scalar]:
        """Return the force per load and slip, and the trail, both relative to their values at small
        slips.
        """
        utilisation = (self.stiffness / (3.0 * self.friction)) * slip_magnitude
        stuck = utilisation < 1.0
        x = where(stuck, utilisation, 1.0)
        force = self.friction * x * (3.0 - 3.0 * x + x * x)
        sticking_length = 1.0 - x
        return force / slip_magnitude, sticking_length * sticking_length * sticking_length / (
            1.0 - x + x * x / 3.0
        )

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy (J) of the deflected bristles and of the twist.

        The energy of the bristles is the relaxation length times the integral of the force over the
        slip.
        """
        slip = sqrt(z[0] * z[0] + z[1] * z[1] + SLIP_SQUARE_OFFSET)
        sliding_slip = (
            3.0 * self.friction / self.stiffness
        )  # slip (dimensionless) above which all bristles slide
        x = where(slip < sliding_slip, slip / sliding_slip, 1.0)
        sliding = where(slip < sliding_slip, 0.0, slip - sliding_slip)
        bending = self.friction * (sliding_slip * x * x * (1.5 - x + x * x / 4.0) + sliding)
        twisting = 0.5 * TWIST_RELAXATION * self.stiffness * z[2] * z[2]
        return readings.load(self.contact) * self.relaxation * (bending + twisting)


SLIP_SQUARE_OFFSET = 1e-16
"""Offset of a squared slip, which avoids the infinite derivative of the square root at zero.

Slips are resolved down to its root, 1e-8.
"""

FORCE = BrushTyre
