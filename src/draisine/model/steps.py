"""Steps of a walker: the order of its feet, and the symmetry that maps one step to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from draisine.algebra.scalar import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A step begins with the touch-down of the first foot and ends with that of the second.

    Exchanging joints and shifting angles maps its end to the beginning of the next step.
    """

    feet: tuple[str, str]
    exchange: Mapping[str, str] = field(default_factory=dict)  # from joint to joint
    turn: Mapping[str, Scalar] = field(default_factory=dict)  # rad, added to each joint

    @property
    def joints(self) -> tuple[str, ...]:
        """The stepping joints."""
        return tuple(dict.fromkeys([*self.exchange, *self.turn]))

    @property
    def components(self) -> tuple[str, ...]:
        """The state of a step: angles of the stepping joints, and their rates."""
        return (*self.joints, *(f"{name}_rate" for name in self.joints))
