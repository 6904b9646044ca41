"""Base class of tyres: wheel, rolling speed and direction of travel, with the condition of passivity.

Let s be the side slip and w the spin about the ground's normal (yaw rate and camber), both per unit of
rolling speed V. The steady law F = -(a s + b w), M = -(c s + d w) dissipates the power
V (a s^2 + (b + c) s w + d w^2). It is passive (creates no energy) if and only if a, d >= 0 and
(b + c)^2 <= 4 a d, eq. [tyre-passivity]. A trail t on the side force of the slip is c = -t a.

Relaxation adds a condition. Lags of s and w, however short, create energy in fast motion unless b = c: the
coupling from spin to side force must initially equal that from side slip to moment. Therefore the side
force acts b / a ahead of the contact at first, and moves back to the trail over a second lag,
eq. [linear-tyre].
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from draisine.algebra.scalar import Array, Scalar, sqrt, where
from draisine.errors import ModelError

TWIST_RELAXATION = 1.0 / 3.0
"""Ratio of the relaxation lengths of twist and slip: l / 3 and l for a line of bristles of half length l
(Pacejka 2012, chapter 3).
"""

SMOOTHING_SPEED = 1e-3
"""Rolling speed (m/s) below which the sign of the direction of travel is smoothed.

It is far below walking speed, but so large that the integrator resolves the change of direction of a
starting or stopping wheel by many steps.
"""


@dataclass(frozen=True, eq=False)
class OnWheel:
    """Base class of tyres: force elements that a wheel attaches to its contact with the method
    `on`.
    """

    contact: str = field(default="", kw_only=True)

    states: ClassVar[int] = 1
    state_names: ClassVar[tuple[str, ...]] = ("slip",)
    holds: ClassVar[tuple[str, ...]] = ("along",)

    @property
    def name(self) -> str:
        """Name of the wheel that has this tyre."""
        return self.contact

    def on(self, contact: str) -> Self:
        """Return a copy of this tyre, attached to the wheel with the name `contact`."""
        return replace(self, contact=contact)

    def stored_energy(self, readings: Any, z: Array) -> Scalar:
        """Return the energy (J) stored in the tyre deflections z."""
        return 0.0

    def rolling_speed(self, readings: Any) -> Scalar:
        """Return the speed (m/s) at which the tread passes through the contact, negative backwards.

        It is the faster of travel speed and rolling speed, so that the contact patch of locked and
        of spinning wheels is renewed, too.
        """
        travel = readings.travel(self.contact)
        if "along" in self.holds:
            return travel
        rolling = travel - readings.slip(self.contact).along
        return where(travel * travel < rolling * rolling, rolling, travel)

    def rolling_speed_magnitude(self, readings: Any) -> Scalar:
        """Return the magnitude of `rolling_speed`, m/s."""
        speed = self.rolling_speed(readings)
        return where(speed < 0.0, -speed, speed)

    def direction(self, readings: Any) -> Scalar:
        """Return the sign of the rolling speed, smoothed at rest."""
        speed = self.rolling_speed(readings)
        return speed / sqrt(SMOOTHING_SPEED * SMOOTHING_SPEED + speed * speed)

    def refuse_negative(self, *names: str) -> None:
        """Raise an error if a named parameter of the tyre is negative; symbolic parameters are not
        checked.
        """
        for name in names:
            value = getattr(self, name)
            if isinstance(value, int | float) and not value >= 0.0:
                raise ModelError(
                    f"Tyre {type(self).__name__}: {name} = {value:g} would create energy. Use a value of at "
                    "least 0."
                )
