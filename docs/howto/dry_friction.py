"""Coulomb friction in a joint, regularised below a small rate."""

from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import sqrt


@dataclass(frozen=True)
class DryFriction:
    """A torque (N m) or force (N) of constant magnitude, opposite to the joint rate."""

    joint: str
    size: float
    smooth: float = 1e-3

    states: ClassVar[int] = 0

    @property
    def name(self):
        """The name of the element."""
        return f"friction of {self.joint}"

    def __call__(self, readings, z):
        """Return the torque on the joint; the element has no states."""
        rate = readings.rate(self.joint)
        return {self.joint: -self.size * rate / sqrt(rate * rate + self.smooth**2)}, []


FORCE = DryFriction
