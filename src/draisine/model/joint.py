"""Joints: screws in the drawing, with what acts along them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from draisine.algebra.scalar import Scalar, Vector
from draisine.errors import ModelError
from draisine.model.body import vector

JointMotion = Callable[[Scalar], tuple[Scalar, Scalar, Scalar]]


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """What every joint has: two bodies, an axis, a spring, a damper, or a motion r(t) that is
    prescribed.

    The coordinate r is zero in the drawing and grows along the axis. A torque (or force) input of
    the joint's name acts on the child along the axis; `spring` and `damper` add `-spring (r - rest)
    - damper rdot`. `law` returns (r, rdot, rddot) at time t; such a joint follows it whatever
    torque that needs.
    """

    name: str
    parent: str
    child: str
    axis: Vector
    through: Vector = field(default_factory=lambda: np.zeros(3))
    spring: Scalar = 0.0
    damper: Scalar = 0.0
    rest: Scalar = 0.0
    law: JointMotion | None = None

    def __post_init__(self) -> None:
        where = f"joint {self.name!r}"
        object.__setattr__(self, "axis", vector(self.axis, f"{where}, axis"))
        object.__setattr__(self, "through", vector(self.through, f"{where}, through"))
        if self.axis.dtype != object and not np.any(self.axis):
            raise ModelError(f"{where}: the axis is zero; give it a direction.")
        for what, value in (("spring", self.spring), ("damper", self.damper), ("rest", self.rest)):
            if isinstance(value, (int, float)) and not np.isfinite(value):
                raise ModelError(f"{where}: {what} {value} is not a number.")


class Revolute(Joint):
    """A hinge about an axis through a point; r is an angle."""

    __slots__ = ()


class Prismatic(Joint):
    """A slide along an axis; r is a length."""

    __slots__ = ()
