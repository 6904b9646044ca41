"""Position and speed servos of joints: set-points are commands, motors limit the torque."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from draisine.algebra.scalar import Array, Scalar
from draisine.errors import ParameterError
from draisine.mechanics.readings import Readings


@dataclass(frozen=True)
class Servo:
    """Servos that keep joints at set-points of position or speed.

    A position servo applies the torque `stiffness (target - r) - damping rdot`, a speed servo
    `damping (target - rdot)`. The set-points are commands: `Stepper.step(dt, {"left_axle": 2.0})` changes
    them, and they stay constant in between. `Joint.motor` limits the torques. Read forces for slides.

    Parameters
    ----------
    joints
        Names of the joints.
    targets
        Initial set-points, rad, m, rad/s or m/s; zero by default.
    damping
        Gain of the joint rate, N m s/rad or N s/m.
    stiffness
        Gain of the position, N m/rad or N/m; position servos only.
    kind
        "position" or "speed".

    Examples
    --------
    >>> import draisine
    >>> pole = draisine.compile("cart_pole")
    >>> servo = Servo(("cart",), (0.3,), damping=40.0, stiffness=100.0)
    >>> run = draisine.simulate(pole, draisine.state(pole, pole=3.141592653589793), 5.0, law=servo)
    >>> print(f"{float(run.to_xarray().cart[-1]):.2f} m")
    0.30 m
    """

    joints: Sequence[str]
    targets: Sequence[float] = ()
    damping: float = 0.0
    stiffness: float = 0.0
    kind: Literal["position", "speed"] = "position"

    def __post_init__(self) -> None:
        if isinstance(self.joints, str) or not len(self.joints):
            raise ParameterError(
                "servo: joints must be a list of names, such as ['left', 'right']."
            )
        if len(set(self.joints)) != len(self.joints):
            raise ParameterError("servo: a joint is named twice; each joint has one set-point.")
        if not all(math.isfinite(target) for target in self.targets):
            raise ParameterError(f"servo: the targets {list(self.targets)} must be finite numbers.")
        if len(self.targets) and len(self.targets) != len(self.joints):
            raise ParameterError(
                f"servo: {len(self.targets)} targets for {len(self.joints)} joints; pass one for each."
            )
        if self.kind not in ("position", "speed"):
            raise ParameterError(f"servo: unknown kind {self.kind!r}. Available: position, speed.")
        if self.kind == "speed" and self.stiffness:
            raise ParameterError("servo: a speed servo has no stiffness; set damping alone.")
        if self.damping < 0.0 or self.stiffness < 0.0 or not self.damping + self.stiffness > 0.0:
            raise ParameterError(
                "servo: stiffness and damping must not be negative, nor both zero."
            )

    @property
    def states(self) -> int:
        """Number of states: one set-point for each joint."""
        return len(self.joints)

    @property
    def start(self) -> list[float]:
        """Initial states: the initial set-points."""
        return [float(x) for x in self.targets] or [0.0] * self.states

    @property
    def commands(self) -> tuple[str, ...]:
        """Names of the set-points: those of the joints."""
        return tuple(self.joints)

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], list[Scalar]]:
        """Return the torques (N m) or forces (N) by joint, and zero rates, because set-points are
        constant states.
        """
        torques: dict[str, Scalar] = {}
        for joint, target in zip(self.joints, z, strict=True):
            if self.kind == "speed":
                torques[joint] = self.damping * (target - readings.rate(joint))
            else:
                error = target - readings.joint(joint)
                torques[joint] = self.stiffness * error - self.damping * readings.rate(joint)
        return torques, [0.0] * self.states


LAW = Servo
