"""Couplings: equality constraints on the shape of a machine.

A `Coupling` relates joints (a gear, a chain, a steering linkage), a `Loop` pins two bodies together.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from draisine.algebra.scalar import Scalar, Vector
from draisine.errors import ModelError
from draisine.model.body import vector


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """A constraint `value(r1, r2, ...) = 0` on joint coordinates.

    Its Lagrange multiplier acts on each joint by the derivative of the value, so for `r1 - f(r2)` it is the
    torque on the first joint. A gear is `Coupling("gear", ("pinion", "wheel"), lambda a, b: a + 3.0 * b)`; a
    differential that is driven by its cage `lambda cage, left, right: cage - (left + right) / 2`.
    """

    name: str
    joints: tuple[str, ...]  # names, in the order of the arguments of `value`
    value: Callable[..., Scalar] = field(repr=False)  # over any scalar

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        if not self.joints:
            raise ModelError(f"coupling {self.name!r}: name at least one joint.")

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the constraint rows."""
        return (self.name,)

    @property
    def ends(self) -> tuple[str, ...]:
        """The coupled joints."""
        return self.joints


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A pin that closes a kinematic loop: two bodies share a point.

    Its Lagrange multipliers are the force on the first body (N), in the axes of the base.
    """

    name: str
    body: str
    other: str
    point: Vector  # in the drawing, m

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector(self.point, f"loop {self.name!r}, point"))
        if self.body == self.other:
            raise ModelError(
                f"loop {self.name!r}: {self.body!r} cannot be pinned to itself. Name two bodies."
            )

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the constraint rows."""
        return tuple(f"{self.name}.{axis}" for axis in "xyz")

    @property
    def ends(self) -> tuple[str, ...]:
        """The connected bodies."""
        return self.body, self.other
