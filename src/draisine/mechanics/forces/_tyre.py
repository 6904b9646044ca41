"""What all tyres share: their wheel, its rolling speed, and what it takes to create no energy.

Let s be the side slip and w the spin about the ground's normal (yaw rate and camber), both per unit of
rolling speed V. The steady law F = -(a s + b w), M = -(c s + d w) takes the power
V (a s^2 + (b + c) s w + d w^2) from the wheel. It creates no energy if and only if a, d >= 0 and
(b + c)^2 <= 4 a d, eq. [tyre-passivity]. A trail t on the side force of the slip is c = -t a.

Relaxation asks for more. Lags of s and w, however short, create energy in fast motion unless b = c: what
the spin does to the side force the side slip must at first do to the moment. So the side force acts b / a
ahead of the contact at first, and moves back to the trail over a second lag, eq. [linear-tyre].
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from draisine.algebra.scalar import Array, Scalar, sqrt, where
from draisine.errors import ModelError

TWIST_RELAXATION = 1.0 / 3.0
"""Relaxation length of the twist per that of the slip: that of a line of bristles, of half length l, whose
relaxation lengths are l / 3 and l (Pacejka 2012, chapter 3).
"""

SLOW = 1e-3
"""Rolling speed, m/s, below which the direction of travel fades: far below walking, and passed in many
steps by a machine that starts or stops.
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

    def direction(self, readings: Any) -> Scalar:
        """Return 1 if the wheel rolls forwards and -1 backwards, without a jump at rest."""
        speed = self.rolling_speed(readings)
        return speed / sqrt(SLOW * SLOW + speed * speed)

    def refuse_negative(self, *names: str) -> None:
        """Raise if one of the named numbers is negative; symbols pass."""
        for name in names:
            value = getattr(self, name)
            if isinstance(value, int | float) and not value >= 0.0:
                raise ModelError(
                    f"tyre {type(self).__name__}: {name} = {value:g} is negative; it would create energy."
                )
