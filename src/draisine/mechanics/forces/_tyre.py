"""What all tyres have: the wheel that they belong to, and how fast they are rolled through."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from draisine.algebra.scalar import Array, Scalar, where


@dataclass(frozen=True, eq=False)
class OnWheel:
    """A tyre of the wheel whose contact has this name; wheels put it in."""

    contact: str = field(default="", kw_only=True)

    states: ClassVar[int] = 1
    holds: ClassVar[tuple[str, ...]] = ("along",)

    @property
    def name(self) -> str:
        """The wheel that it belongs to."""
        return self.contact

    def on(self, contact: str) -> Self:
        """Return the tyre of a wheel by its name."""
        return replace(self, contact=contact)

    def camber_power(self, readings: Any, z: Array) -> Scalar:
        """Return the power, W, that camber brings in; a tyre without camber, or with a passive one, has
        none.
        """
        return 0.0

    def pace(self, readings: Any) -> Scalar:
        """Return how fast the contact is rolled through, never negative: the larger of how fast it
        travels and how fast the wheel rolls, so that locked and spinning wheels renew it too.
        """
        travel = readings.travel(self.contact)
        if "along" in self.holds:
            return where(travel < 0.0, -travel, travel)
        rolling = travel - readings.slip(self.contact).along
        larger = where(travel * travel < rolling * rolling, rolling, travel)
        return where(larger < 0.0, -larger, larger)
