"""Aerodynamic drag: a force against the velocity of a body through the air."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array, sqrt, where


@dataclass(frozen=True, eq=False)
class AirDrag:
    """Aerodynamic drag `-density area |v| v / 2` on the mass centre of a body.

    v is the velocity of the mass centre relative to the wind.

    Parameters
    ----------
    body
        Name of the body.
    area
        Drag area in m2, including the drag coefficient.
    wind
        Velocity of the wind in world axes, m/s.
    density
        Density of the air, kg/m3.
    side_area
        Drag area in m2 for the component of v across the heading (cross-wind); `area` by default.
    """

    body: str
    area: Scalar
    wind: tuple[Scalar, Scalar, Scalar] = (0.0, 0.0, 0.0)
    density: Scalar = 1.2
    side_area: Scalar | None = None

    states: ClassVar[int] = 0

    @property
    def name(self) -> str:
        """Name of the element, followed by the name of its body."""
        return f"drag of {self.body}"

    def __call__(self, readings: Any, z: Array) -> tuple[Mapping[str, Array], Sequence[Scalar]]:
        """Return the drag force (N) on the body; the element has no states."""
        body = readings.tree.model.body(self.body)
        v = readings.velocity(self.body, body.com) - array(list(self.wind))
        speed_squared = v @ v
        # Below 1e-12 m/s the drag is zero. This avoids the infinite derivative of the square root
        # at zero speed.
        at_rest = speed_squared < 1e-24
        speed = where(at_rest, 0.0, sqrt(where(at_rest, 1.0, speed_squared)))
        area_velocity = self.area * v
        if self.side_area is not None:
            across = cross(array([0.0, 0.0, 1.0]), readings.heading)
            area_velocity = area_velocity + ((self.side_area - self.area) * (v @ across)) * across
        return {self.body: (-0.5 * self.density) * speed * area_velocity}, []


FORCE = AirDrag
