"""Dry friction in a joint, smoothed over a small rate: a plug for draisine."""

from dataclasses import dataclass
from typing import ClassVar

from draisine.algebra.scalar import sqrt


@dataclass(frozen=True)
class DryFriction:
    """A torque (or force) of one size against the joint's rate."""

    joint: str
    size: float
    smooth: float = 1e-3

    states: ClassVar[int] = 0

    @property
    def name(self):
        """What it is called."""
        return f"friction of {self.joint}"

    def __call__(self, readings, z):
        """Return what it does to the joint, and that it has no states."""
        rate = readings.rate(self.joint)
        return {self.joint: -self.size * rate / sqrt(rate * rate + self.smooth**2)}, []


FORCE = DryFriction
