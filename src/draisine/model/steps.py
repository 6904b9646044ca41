"""Steps of a walker: the order of its feet, and the symmetry that maps one step to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from draisine.algebra.scalar import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Symmetry of the steps of a walker.

    A step begins with the touch-down of the first foot and ends with that of the second. Exchanging
    joints and shifting angles maps the end of a step to the beginning of the next.
    """

    feet: tuple[str, str]
    # Partner with which each joint is exchanged after a step, by name
    exchange: Mapping[str, str] = field(default_factory=dict)
    # Angle that is added to each joint, rad
    turn: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the stepping joints."""
        return tuple(dict.fromkeys([*self.exchange, *self.turn]))

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components of the reduced state: angles of the stepping joints, then their
        rates.
        """
        return (*self.joints, *(f"{name}_rate" for name in self.joints))
