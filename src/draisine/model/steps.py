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
