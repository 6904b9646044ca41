"""Couplings: conditions on the shape of a machine, among joints (a gear, a chain, a steering
linkage) or between two bodies that share a point (a closed loop).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from draisine.algebra.scalar import Scalar, Vector
from draisine.errors import ModelError
from draisine.model.body import vector


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """A condition `value(r1, r2, ...) = 0` among the coordinates of the joints, over any scalar; its
    multiplier acts on each joint by its derivative, so for `r1 - value(r2)` it is the torque on the
    first.

    A gear is `Coupling("gear", ("pinion", "wheel"), lambda a, b: a + 3.0 * b)`; a differential
    that is driven by its cage `lambda cage, left, right: cage - (left + right) / 2`.
    """

    name: str
    joints: tuple[str, ...]
    value: Callable[..., Scalar] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        if not self.joints:
            raise ModelError(f"coupling {self.name!r}: it names no joint.")

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the conditions."""
        return (self.name,)

    @property
    def ends(self) -> tuple[str, ...]:
        """What it couples."""
        return self.joints


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A pin that closes a loop: a body and another one share the `point` of the drawing. Its
    multipliers are the force on the first body, in the drawing's axes as they move with the base.
    """

    name: str
    body: str
    other: str
    point: Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector(self.point, f"loop {self.name!r}, point"))
        if self.body == self.other:
            raise ModelError(f"loop {self.name!r}: {self.body!r} cannot be pinned to itself.")

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the conditions."""
        return tuple(f"{self.name}.{axis}" for axis in "xyz")

    @property
    def ends(self) -> tuple[str, ...]:
        """What it couples."""
        return self.body, self.other
