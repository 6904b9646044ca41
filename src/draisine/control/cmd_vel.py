"""Velocity commands of mobile robots: forward speed and yaw rate become wheel speeds, which servos keep.

Kinematics, with the wheel radius r, the track b (distance of left and right wheels) and the wheelbase l:

* differential: wheel speeds `(v -+ w b / 2) / r` on the left and on the right;
* skid steering: the same with the effective track `b (1 + (l / b)^2)`. Four equally loaded wheels that all
  slide by Coulomb's law turn on the spot at a constant rate w if their yaw moment vanishes. The wheel at
  (x, y) = (+-l / 2, -b / 2) with the rim speed s slides at (w b / 2 - s, w x), so that the moment of its
  friction is proportional to `w l^2 / 4 + (w b / 2 - s) b / 2`: s = (w b / 2) (1 + (l / b)^2). The drive
  force of each wheel is `mu N l / sqrt(l^2 + b^2)`. Mandow et al. measure the effective track
  (doi:10.1109/IROS.2007.4399139);
* Ackermann: the steer angles of the wheels at the lateral positions y = +-b / 2 are atan2(l w, v - w y), and
  the driven rear wheels turn at (v - w y) / r;
* mecanum: wheels with rollers at 45 degrees at (+-l / 2, +-b / 2) turn at
  `(v -+ u -+ w (l + b) / 2) / r` with the sideways speed u.

Siegwart, Nourbakhsh and Scaramuzza, Introduction to autonomous mobile robots, 2nd edition 2011, chapter 3.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from draisine.algebra.scalar import Array, Scalar, atan2, where
from draisine.errors import ParameterError
from draisine.mechanics.readings import Readings

KINEMATICS = ("differential", "skid_steer", "ackermann", "mecanum")
"""Available values of `CmdVel.kinematics`."""

STEER_SPEED_OFFSET = 1e-6
"""Offset (m/s) of the speed in the formula of the steer angle, which is undefined at rest."""


@dataclass(frozen=True)
class CmdVel:
    """Drive a robot by commanded forward speed (m/s, positive forwards) and yaw rate (rad/s, left).

    The commands are `forward_speed`, `yaw_rate` and, for mecanum wheels, `side_speed` (m/s, left). Speed
    servos with the gain `damping` keep the wheel speeds, position servos with `stiffness` the steer angles.

    Parameters
    ----------
    left, right
        Names of the driven wheel joints of each side; for mecanum wheels front, then rear.
    radius, track
        Radius of the wheels and distance between left and right wheels, m.
    kinematics
        "differential", "skid_steer", "ackermann" or "mecanum".
    damping
        Gain of the speed servos, N m s/rad.
    steer
        Names of the left and the right steer joint; Ackermann steering only.
    wheelbase
        Distance of front and rear axle, m; not for differential kinematics.
    stiffness
        Gain of the steer angles, N m/rad. Their damping is `damping`.
    forward_speed, yaw_rate, side_speed
        Initial commands.
    signs
        1 or -1 for each wheel joint, left then right: -1 if the joint turns backwards when the robot moves
        forwards; all 1 by default.
    track_factor
        Effective track over track, at least 1; skid steering only. The default, 1 + (wheelbase / track)^2, is
        that of turning on the spot with Coulomb friction. Set a measured value if you have one.

    Examples
    --------
    >>> law = CmdVel(["l"], ["r"], radius=0.05, track=0.2, damping=0.1)
    >>> {joint: round(speed, 9) for joint, speed in law.wheel_speeds(0.5, 1.0).items()}
    {'l': 8.0, 'r': 12.0}
    """

    left: Sequence[str]
    right: Sequence[str]
    radius: float
    track: float
    damping: float
    kinematics: Literal["differential", "skid_steer", "ackermann", "mecanum"] = "differential"
    steer: Sequence[str] = ()
    wheelbase: float = 0.0
    stiffness: float = 0.0
    forward_speed: float = 0.0
    yaw_rate: float = 0.0
    side_speed: float = 0.0
    signs: Sequence[float] = ()
    track_factor: float | None = None

    def __post_init__(self) -> None:
        for name in ("radius", "track", "damping"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ParameterError(f"cmd_vel: {name} = {getattr(self, name)} must be positive.")
        for name in ("forward_speed", "yaw_rate", "side_speed"):
            if not math.isfinite(getattr(self, name)):
                raise ParameterError(f"cmd_vel: {name} = {getattr(self, name)} must be finite.")
        if self.kinematics not in KINEMATICS:
            raise ParameterError(
                f"cmd_vel: unknown kinematics {self.kinematics!r}. Available: {', '.join(KINEMATICS)}."
            )
        if self.track_factor is not None:
            if self.kinematics != "skid_steer":
                raise ParameterError("cmd_vel: only skid steering has a track_factor.")
            if not 1.0 <= self.track_factor < math.inf:
                raise ParameterError(
                    f"cmd_vel: track_factor = {self.track_factor} must be at least 1."
                )
        if any(isinstance(names, str) or not len(names) for names in (self.left, self.right)):
            raise ParameterError("cmd_vel: name the wheel joints of both sides, as lists.")
        joints = [*self.left, *self.right, *self.steer]
        if len(set(joints)) != len(joints):
            raise ParameterError("cmd_vel: a joint is named twice.")
        needs_wheelbase = self.kinematics != "differential" and self.track_factor is None
        if needs_wheelbase and not self.wheelbase > 0.0:
            raise ParameterError(f"cmd_vel: {self.kinematics} kinematics need a wheelbase, in m.")
        if self.kinematics == "ackermann" and (len(self.steer) != 2 or not self.stiffness > 0.0):
            raise ParameterError("cmd_vel: name two steer joints, left and right, and a stiffness.")
        if self.kinematics == "mecanum" and len(self.left) + len(self.right) != 4:
            raise ParameterError("cmd_vel: mecanum kinematics need two wheels on each side.")
        count = len(self.left) + len(self.right)
        if len(self.signs) and (len(self.signs) != count or not set(self.signs) <= {1, -1}):
            raise ParameterError(
                "cmd_vel: pass one sign, 1 or -1, for each wheel joint, left then right."
            )

    @property
    def effective_track(self) -> float:
        """Difference of the rim speeds of both sides over the yaw rate, m: the track unless wheels skid."""
        if self.kinematics != "skid_steer":
            return self.track
        if self.track_factor is not None:
            return self.track_factor * self.track
        return self.track * (1.0 + (self.wheelbase / self.track) ** 2)

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the commands."""
        names = ("forward_speed", "yaw_rate", "side_speed")
        return names if self.kinematics == "mecanum" else names[:2]

    @property
    def states(self) -> int:
        """Number of states: one per command."""
        return len(self.commands)

    @property
    def start(self) -> list[float]:
        """Initial states: the initial commands (m/s, rad/s)."""
        return [float(getattr(self, name)) for name in self.commands]

    def wheel_speeds(
        self, forward_speed: Scalar, yaw_rate: Scalar, side_speed: Scalar = 0.0
    ) -> dict[str, Scalar]:
        """Return the wheel speeds (rad/s) by joint for commanded speeds (m/s) and yaw rate (rad/s)."""
        joints = (*self.left, *self.right)
        signs = self.signs if len(self.signs) else (1.0,) * len(joints)
        speeds: dict[str, Scalar] = {}
        for k, (joint, sign) in enumerate(zip(joints, signs, strict=True)):
            is_left = k < len(self.left)
            # Velocity of the wheel centre along the heading: v - w y, with y = +-track / 2.
            speed = forward_speed - yaw_rate * ((0.5 if is_left else -0.5) * self.effective_track)
            if self.kinematics == "mecanum":
                is_front = k in (0, len(self.left))
                roller = 1.0 if is_left == is_front else -1.0
                lever = 0.5 * self.wheelbase
                # Rollers at 45 degrees add the lateral velocity u + w x of the wheel centre.
                lateral = side_speed + yaw_rate * (lever if is_front else -lever)
                speed = speed - roller * lateral
            speeds[joint] = sign * speed / self.radius
        return speeds

    def steer_angles(self, forward_speed: Scalar, yaw_rate: Scalar) -> dict[str, Scalar]:
        """Return the steer angles (rad, positive to the left) by joint; empty without steer joints."""
        angles: dict[str, Scalar] = {}
        for joint, side in zip(self.steer, (0.5, -0.5), strict=False):
            along = forward_speed - yaw_rate * (side * self.track)
            # Backwards, the wheels point in the opposite direction of their velocity.
            sense = where(along < 0.0, -1.0, 1.0)
            speed = sense * along + STEER_SPEED_OFFSET
            angles[joint] = atan2(self.wheelbase * yaw_rate * sense, speed)
        return angles

    def body_velocity(self, speeds: Sequence[float]) -> tuple[float, float, float]:
        """Return forward speed (m/s), yaw rate (rad/s) and sideways speed (m/s) of wheel speeds (odometry).

        `speeds` are those of the wheel joints in rad/s, left then right. Wheels that slip are averaged.
        """
        count = len(self.left)
        signs = self.signs if len(self.signs) else (1.0,) * len(speeds)
        rims = [self.radius * s * x for s, x in zip(signs, speeds, strict=True)]
        left = sum(rims[:count]) / count
        right = sum(rims[count:]) / len(self.right)
        forward = 0.5 * (left + right)
        if self.kinematics != "mecanum":
            return forward, (right - left) / self.effective_track, 0.0
        turn = (right - left) / (self.track + self.wheelbase)
        side = 0.25 * (-rims[0] + rims[1] + rims[2] - rims[3])
        return forward, turn, side

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the torques of wheel and steer joints (N m) by joint, and zero rates, because
        commands are constant states.
        """
        torques = {
            joint: self.damping * (speed - readings.rate(joint))
            for joint, speed in self.wheel_speeds(*z).items()
        }
        for joint, angle in self.steer_angles(z[0], z[1]).items():
            error = angle - readings.joint(joint)
            torques[joint] = self.stiffness * error - self.damping * readings.rate(joint)
        return torques, [0.0] * self.states


LAW = CmdVel
