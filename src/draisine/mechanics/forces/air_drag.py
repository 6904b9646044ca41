"""Air that resists a body: a force against its velocity through the wind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array, sqrt, where


@dataclass(frozen=True, eq=False)
class AirDrag:
    """The force `-density area |v| v / 2` on a body's mass centre, v being its velocity through the
    wind (world axes, m/s); `area` is the drag area in m2, coefficient included. Where air comes from the
    side, `side_area` stands for the part of v across the heading, if it is given: a cross-wind.
    """

    body: str
    area: Scalar
    wind: tuple[Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0)
    density: Scalar = 1.2
    side_area: Scalar | None = None

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """The drag of its body."""
        return f"drag of {self.body}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Array], Sequence[Scalar]]:
        """Return the push of the air."""
        body = readings.tree.model.body(self.body)
        v = readings.velocity(self.body, body.com) - array(list(self.wind))
        square = v @ v
        still = square < 1e-24  # where the root has no derivative
        speed = where(still, 0.0, sqrt(where(still, 1.0, square)))
        push = self.area * v
        if self.side_area is not None:
            across = cross(array([0.0, 0.0, 1.0]), readings.heading)
            push = push + ((self.side_area - self.area) * (v @ across)) * across
        return {self.body: (-0.5 * self.density) * speed * push}, []


FORCE = AirDrag
