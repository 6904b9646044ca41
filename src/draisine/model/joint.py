"""Screw joints between bodies, with springs, dampers, stops, motors and prescribed motions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from draisine.algebra.scalar import Scalar, Vector, clip, where
from draisine.errors import ModelError
from draisine.model.body import vector

JointMotion = Callable[[Scalar], tuple[Scalar, Scalar, Scalar]]
"""Function from time (s) to (r, rdot, rddot) of a joint."""


LIMITED_SPEED_SLOPE = 10.0
"""Ratio of stall torque to largest torque for a motor that has a no-load speed but no stall torque. The
torque decreases over the last tenth of the speed range; a jump to zero would be an event at each crossing.
"""


@dataclass(frozen=True, slots=True)
class Motor:
    """Limits of the torque of a motor at its joint, eq. [motor-limits].

    The supplied torque is the request, limited to `-torque ... torque` and to the torque-speed line: at the
    joint rate w it is at most `stall_torque (1 - w / no_load_speed)` and at least
    `-stall_torque (1 + w / no_load_speed)`. Beyond the no-load speed the motor supplies no driving torque,
    but it does not brake by itself. For slides read force (N) and speed (m/s).

    All values are those at the joint, behind the gear: torques of the motor times the gear ratio, speeds
    divided by it. The rotor inertia is `Joint.armature`.

    Parameters
    ----------
    torque
        Largest torque, N m (or N); also the largest current times the torque constant and the gear ratio.
    no_load_speed
        Joint rate at which the torque of the full voltage vanishes, rad/s (or m/s).
    stall_torque
        Torque of the full voltage at rest, N m (or N). Infinite: ten times `torque`, so that the speed is
        limited and the torque is available over nine tenths of its range.

    Raises
    ------
    ModelError
        If a limit is not positive, or a line has neither a largest nor a stall torque.

    Examples
    --------
    >>> motor = Motor(torque=2.0, no_load_speed=50.0, stall_torque=4.0)
    >>> [motor.limit(request, rate) for request, rate in ((1.5, 0.0), (9.0, 0.0), (9.0, 37.5), (9.0, 60.0))]
    [1.5, 2.0, 1.0, 0.0]
    """

    torque: float = math.inf
    no_load_speed: float = math.inf
    stall_torque: float = math.inf

    def __post_init__(self) -> None:
        for name in ("torque", "no_load_speed", "stall_torque"):
            limit = getattr(self, name)
            if not isinstance(limit, (int, float)) or not limit > 0.0:
                raise ModelError(f"motor: {name} = {limit!r} must be a positive number.")
        if math.isfinite(self.no_load_speed) and math.isinf(min(self.torque, self.stall_torque)):
            raise ModelError(
                "motor: `no_load_speed` is given without a torque. State `torque` or `stall_torque`, "
                "too."
            )
        if math.isfinite(self.stall_torque) and math.isinf(self.no_load_speed):
            raise ModelError(
                "motor: `stall_torque` is given without `no_load_speed`. State both, or use `torque`, "
                "which limits the torque at any speed."
            )

    @property
    def line_torque(self) -> float:
        """The torque of the torque-speed line at rest, N m (or N); infinite without a line."""
        if math.isinf(self.no_load_speed):
            return math.inf
        if math.isinf(self.stall_torque):
            return LIMITED_SPEED_SLOPE * self.torque
        return self.stall_torque

    def limit(self, request: Scalar, joint_rate: Scalar) -> Scalar:
        """Return the supplied torque for a requested one (N m or N) at a joint rate (rad/s or m/s)."""
        supplied = request
        if math.isfinite(self.torque):
            supplied = clip(supplied, -self.torque, self.torque)
        if math.isfinite(self.no_load_speed):
            stall = self.line_torque
            upper = stall * (1.0 - joint_rate / self.no_load_speed)
            lower = -stall * (1.0 + joint_rate / self.no_load_speed)
            supplied = clip(
                supplied, where(lower > 0.0, 0.0, lower), where(upper < 0.0, 0.0, upper)
            )
        return supplied


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
        stops. `ContactOptions.stops` replaces them. In a run without a terrain stops do not act, and passing
        one is a fault of the run (`Validity.stop_from`).
    motor
        Limits of the torque or force that the input can have; None for an ideal drive.
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
    motor: Motor | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        where = f"joint {self.name!r}"
        object.__setattr__(self, "axis", vector(self.axis, f"{where}, axis"))
        object.__setattr__(self, "through", vector(self.through, f"{where}, through"))
        if self.axis.dtype != object and not np.any(self.axis):
            raise ModelError(f"{where}: the axis must not be zero. State a direction.")
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
            raise ModelError(
                f"{where}: the joint neither rotates nor translates. Set turn=1 or a slide."
            )

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
    """Result of a control law that prescribes an acceleration by the torque of a joint.

    The torque produces the acceleration of the joint itself, or of another coordinate `of`: a virtual
    constraint, or input-output linearisation of that coordinate.
    """

    acceleration: Scalar  # prescribed acceleration, rad/s2 or m/s2
    # Whether the control law prescribes the acceleration (nonzero); if zero, the joint has the
    # torque `torque`
    active: Scalar = True
    torque: Scalar = 0.0  # joint torque if the guide is inactive, N m or N
    of: str | None = None  # accelerated coordinate: a joint or "lean"; None for the joint itself
    limit: float = math.inf  # largest torque, N m or N; beyond it the acceleration is not reached


@dataclass(frozen=True, slots=True, eq=False)
class Revolute(Joint):
    """Hinge about an axis through a point; the coordinate r is an angle (rad).

    Parameters
    ----------
    name, parent, child, axis, through, spring, damper, rest, motion, armature, stops
        As in `Joint`, with r in rad.
    """

    turn: float = field(default=1.0, init=False)
    slide: Scalar = field(default=0.0, init=False)


@dataclass(frozen=True, slots=True, eq=False)
class Prismatic(Joint):
    """Slide along an axis; the coordinate r is a length (m).

    Parameters
    ----------
    name, parent, child, axis, through, spring, damper, rest, motion, armature, stops
        As in `Joint`, with r in m.
    """

    turn: float = field(default=0.0, init=False)
    slide: Scalar = field(default=1.0, init=False)
