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
    # Name of the joint with which each joint exchanges its role after a step, by name of the joint
    exchange: Mapping[str, str] = field(default_factory=dict)
    # Angle (rad) that is added to each joint coordinate after a step, by name of the joint
    turn: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints whose angles form the reduced state of a step."""
        return tuple(dict.fromkeys([*self.exchange, *self.turn]))

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components of the reduced state: joint angles, then joint rates."""
        return (*self.joints, *(f"{name}_rate" for name in self.joints))
