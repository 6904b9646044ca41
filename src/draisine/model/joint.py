"""Screw joints between bodies, with springs, dampers and prescribed motions."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from draisine.algebra.scalar import Scalar, Vector
from draisine.errors import ModelError
from draisine.model.body import vector

JointMotion = Callable[[Scalar], tuple[Scalar, Scalar, Scalar]]
"""Function from time (s) to (r, rdot, rddot) of a joint."""


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """Screw joint between two bodies.

    The coordinate r is zero in the zero configuration: the child rotates by `turn r` about the axis
    through the point `through` and translates by `slide r` along it. A hinge only rotates, a slide
    only translates, a screw of pitch h (m per revolution) has the slide h / (2 pi). An input with
    the name of the joint acts on r.

    Parameters
    ----------
    name
        Name of the joint and of its input.
    parent, child
        Names of the bodies.
    axis, through
        Direction of the axis, and a point on it (m), in the zero configuration.
    spring, damper, rest
        Torque or force `-spring (r - rest) - damper rdot` (N m/rad, N m s/rad, rad; or N/m, N s/m, m).
    motion
        Prescribed motion, from time to (r, rdot, rddot). The required torque is computed.
    turn, slide
        Rotation (1 or 0) and translation (m/rad, or 1) per r.
    armature
        Reflected inertia of the drive: that of the rotor times the squared gear ratio (kg m2, or kg). Its
        gyroscopic effects are neglected.
    stops
        Lower and upper limit of r (rad or m), where the joint hits a stop in runs on a terrain. None without
        stops. `ContactOptions.stops` replaces them.
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
    stops: tuple[float, float] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        where = f"joint {self.name!r}"
        object.__setattr__(self, "axis", vector(self.axis, f"{where}, axis"))
        object.__setattr__(self, "through", vector(self.through, f"{where}, through"))
        if self.axis.dtype != object and not np.any(self.axis):
            raise ModelError(f"{where}: the axis must not be zero. Give it a direction.")
        for what in ("spring", "damper", "rest", "slide", "armature"):
            value = getattr(self, what)
            if isinstance(value, (int, float)) and not np.isfinite(value):
                raise ModelError(f"{where}: {what} {value} is not a number.")
        if isinstance(self.armature, (int, float)) and self.armature < 0.0:
            raise ModelError(f"{where}: armature {self.armature} must not be negative.")
        if self.stops is not None and not self.stops[0] < self.stops[1]:
            raise ModelError(
                f"{where}: stops {self.stops} must be (lower, upper) with lower < upper."
            )
        if self.turn not in (0.0, 1.0):
            raise ModelError(
                f"{where}: turn must be 1 (r is an angle) or 0 (r is a length), not {self.turn}."
            )
        if not self.turn and isinstance(self.slide, (int, float)) and self.slide == 0:
            raise ModelError(f"{where}: it neither rotates nor translates. Set turn=1 or a slide.")

    @property
    def unit(self) -> str:
        """Unit of the joint coordinate r: rad if the joint rotates, else m."""
        return "rad" if self.turn else "m"

    @property
    def effort(self) -> str:
        """Unit of the input that acts on r: N m or N."""
        return "N m" if self.turn else "N"


@dataclass(frozen=True, slots=True, eq=False)
class Guide:
    """Result of a control law that prescribes the acceleration of a joint instead of its torque."""

    acceleration: Scalar  # prescribed joint acceleration, rad/s2 or m/s2
    active: Scalar = True  # whether the acceleration is prescribed; if zero, `torque` acts instead
    torque: Scalar = 0.0  # joint torque if the guide is inactive, N m or N


@dataclass(frozen=True, slots=True, eq=False)
class Revolute(Joint):
    """Hinge about an axis through a point; the coordinate r is an angle (rad)."""

    turn: float = field(default=1.0, init=False)
    slide: Scalar = field(default=0.0, init=False)


@dataclass(frozen=True, slots=True, eq=False)
class Prismatic(Joint):
    """Slide along an axis; the coordinate r is a length (m)."""

    turn: float = field(default=0.0, init=False)
    slide: Scalar = field(default=1.0, init=False)
