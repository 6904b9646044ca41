"""What all tyres share: their wheel, its rolling speed, and the springs between rim and contact patch.

Passivity: let s be the side slip and w the spin about the ground's normal (yaw rate and camber), both
per unit of rolling speed V. The steady law F = -(a s + b w), M = -(c s + d w) takes the power
V (a s^2 + (b + c) s w + d w^2) from the wheel. It creates no energy if and only if a, d >= 0 and
(b + c)^2 <= 4 a d, eq. [tyre-passivity]. A trail t on the side force of the slip is c = -t a.

Relaxation: lags of s and w by themselves break that condition in every unsteady motion, unless b = c. A
lateral and a torsional spring between rim and patch keep it: the patch obeys the steady law, the springs
store energy, eq. [tyre-patch].
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from draisine.algebra.scalar import Array, Scalar, where
from draisine.errors import ModelError

TWIST_RELAXATION = 1.0 / 3.0
"""Relaxation length of the torsional spring per that of the lateral one: that of a line of bristles, of
half length l, whose two relaxation lengths are l / 3 and l (Pacejka 2012, chapter 3).
"""


@dataclass(frozen=True, eq=False)
class OnWheel:
    """A tyre of the wheel whose contact has this name; wheels put it in."""

    contact: str = field(default="", kw_only=True)

    states: ClassVar[int] = 1
    state_names: ClassVar[tuple[str, ...]] = ("slip",)
    holds: ClassVar[tuple[str, ...]] = ("along",)

    @property
    def name(self) -> str:
        """The wheel that it belongs to."""
        return self.contact

    def on(self, contact: str) -> Self:
        """Return the tyre of a wheel by its name."""
        return replace(self, contact=contact)

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy stored in the deflections z, J."""
        return 0.0

    def rolling_speed(self, readings: Any) -> Scalar:
        """Return the speed at which the wheel rolls through its contact, m/s, negative backwards.

        Of travel and rolling speed it is the faster one, so that locked and spinning wheels renew their
        contact, too.
        """
        travel = readings.travel(self.contact)
        if "along" in self.holds:
            return travel
        rolling = travel - readings.slip(self.contact).along
        return where(travel * travel < rolling * rolling, rolling, travel)

    def pace(self, readings: Any) -> Scalar:
        """Return the magnitude of the rolling speed, m/s."""
        speed = self.rolling_speed(readings)
        return where(speed < 0.0, -speed, speed)

    def refuse_negative(self, *names: str) -> None:
        """Raise if one of the named numbers is negative; symbols pass."""
        for name in names:
            value = getattr(self, name)
            if isinstance(value, int | float) and not value >= 0.0:
                raise ModelError(
                    f"tyre {type(self).__name__}: {name} = {value:g} is negative; it would create energy."
                )
