"""Couplings: holonomic equality constraints on the joint coordinates of a multibody system.

A `Coupling` relates joint coordinates (gear, chain, steering linkage). A `Loop` pins two bodies
together.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from draisine.algebra.scalar import Scalar, Vector
from draisine.errors import ModelError
from draisine.model.body import vector


@dataclass(frozen=True, slots=True, eq=False)
class Coupling:
    """Constraint `value(r1, r2, ...) = 0` on joint coordinates.

    The Lagrange multiplier acts on each joint by the derivative of the value, so that for `r1 -
    f(r2)` it is the torque on the first joint. A gear is `Coupling("gear", ("pinion", "wheel"),
    lambda a, b: a + 3.0 * b)`; a differential that is driven by its cage is `lambda cage, left,
    right: cage - (left + right) / 2`.
    """

    name: str
    joints: tuple[str, ...]  # names of the joints, in the order of the arguments of `value`
    # Function of the joint coordinates, for any scalar type; the coupling keeps its value at zero
    value: Callable[..., Scalar] = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "joints", tuple(self.joints))
        if not self.joints:
            raise ModelError(f"coupling {self.name!r}: it has no joints. Name at least one joint.")

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the constraint rows."""
        return (self.name,)

    @property
    def ends(self) -> tuple[str, ...]:
        """Names of the joints that the coupling relates."""
        return self.joints


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Pin that closes a kinematic loop: two bodies share a point.

    The Lagrange multipliers are the force on the first body (N), in the axes of the base.
    """

    name: str
    body: str
    other: str
    point: Vector  # common point in the zero configuration, m

    def __post_init__(self) -> None:
        object.__setattr__(self, "point", vector(self.point, f"loop {self.name!r}, point"))
        if self.body == self.other:
            raise ModelError(
                f"loop {self.name!r}: both ends are on body {self.body!r}. Name two different bodies."
            )

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the constraint rows."""
        return tuple(f"{self.name}.{axis}" for axis in "xyz")

    @property
    def ends(self) -> tuple[str, ...]:
        """Names of the connected bodies."""
        return self.body, self.other
