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
    """A screw between two bodies, with a spring, a damper, or a motion r(t) that is prescribed.

    The coordinate r is zero in the drawing: the child turns by `turn r` about the axis through the
    point `through` and slides by `slide r` along it. A hinge only turns, a slide only slides, a
    screw of pitch h (m per revolution) has the slide h / (2 pi). A torque (or force) input of the
    joint's name does work on r; `spring` and `damper` add `-spring (r - rest)
    - damper rdot`. `armature` is the inertia of its drive as the joint feels it (that of a motor's rotor
    times the square of the gear's ratio): it resists rddot, and its gyroscopic effects are left out.
    `motion` returns (r, rdot, rddot) at time t; such a joint follows it whatever torque that needs.
    """

    name: str
    parent: str
    child: str
    axis: Vector
    through: Vector = field(default_factory=lambda: np.zeros(3))
    spring: Scalar = 0.0
    damper: Scalar = 0.0
    rest: Scalar = 0.0
    motion: JointMotion | None = None
    turn: float = field(default=1.0, kw_only=True)
    slide: Scalar = field(default=0.0, kw_only=True)
    armature: Scalar = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        where = f"joint {self.name!r}"
        object.__setattr__(self, "axis", vector(self.axis, f"{where}, axis"))
        object.__setattr__(self, "through", vector(self.through, f"{where}, through"))
        if self.axis.dtype != object and not np.any(self.axis):
            raise ModelError(f"{where}: the axis is zero; give it a direction.")
        for what in ("spring", "damper", "rest", "slide", "armature"):
            value = getattr(self, what)
            if isinstance(value, (int, float)) and not np.isfinite(value):
                raise ModelError(f"{where}: {what} {value} is not a number.")
        if isinstance(self.armature, (int, float)) and self.armature < 0.0:
            raise ModelError(f"{where}: armature {self.armature} is negative; inertias are not.")
        if self.turn not in (0.0, 1.0):
            raise ModelError(
                f"{where}: turn {self.turn}; take 1 where r is an angle, 0 where it is a length."
            )
        if not self.turn and isinstance(self.slide, (int, float)) and self.slide == 0:
            raise ModelError(f"{where}: it neither turns nor slides; give it a slide.")

    @property
    def unit(self) -> str:
        """The unit of r: an angle where the joint turns, else a length."""
        return "rad" if self.turn else "m"

    @property
    def effort(self) -> str:
        """The unit of the input that does work on r."""
        return "N m" if self.turn else "N"


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """What a control law gives a joint in place of a torque: the acceleration that it shall have, by
    whatever torque that needs. Where `active` is zero, `torque` acts instead.
    """

    acceleration: Scalar
    active: Scalar = True
    torque: Scalar = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Revolute(Joint):
    """A hinge about an axis through a point; r is an angle."""

    turn: float = field(default=1.0, init=False)
    slide: Scalar = field(default=0.0, init=False)


@dataclass(frozen=True, slots=True, eq=False)
class Prismatic(Joint):
    """A slide along an axis; r is a length."""

    turn: float = field(default=0.0, init=False)
    slide: Scalar = field(default=1.0, init=False)
