"""How a machine steps: which foot follows which, and what makes the next step look like this one."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from draisine.algebra.scalar import Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A step begins when the first of two feet takes hold, and ends when the second does. The next
    one is like it once joints have changed their parts (`exchange`, from name to name) and angles
    are counted anew (`turn`, by joint, added).
    """

    feet: tuple[str, str]
    exchange: Mapping[str, str] = field(default_factory=dict)
    turn: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def joints(self) -> tuple[str, ...]:
        """The joints that make the steps."""
        return tuple(dict.fromkeys([*self.exchange, *self.turn]))

    @property
    def components(self) -> tuple[str, ...]:
        """What tells a step: the angles of these joints, and their rates."""
        return (*self.joints, *(f"{name}_rate" for name in self.joints))
