"""Drag proportional to the velocity of a body."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, eq=False)
class LinearDrag:
    """The force `-coefficient v` on a body's mass centre; the coefficient is in N s/m."""

    body: str
    coefficient: float

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The name of the element."""
        return f"linear drag of {self.body}"

    def __call__(self, readings, z):
        """Return the force on the body; the element has no states."""
        v = readings.velocity(self.body, readings.tree.model.body(self.body).com)
        return {self.body: -self.coefficient * v}, []


FORCE = LinearDrag
