"""Rider under interactive commands: steer torque or angle, upper body, drive, brakes, balance
assistance.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from draisine.algebra.scalar import Array, Scalar, exp, where
from draisine.control import saturate
from draisine.control.balance_assist import assist_torque
from draisine.mechanics.readings import Readings
from draisine.model import Guide

RIDER_COMMANDS = {
    "steer_torque": ("N m", 0.0, "torque of the hands, to the left"),
    "steer_angle": ("rad", 0.0, "target angle of the handlebar, to the left"),
    "torso": ("rad", 0.0, "target angle of the upper body, to the right"),
    "by_angle": ("", 0.0, "1: the steer angle is prescribed, with any torque that this needs"),
    "lean_help": ("N m s/rad", 0.0, "steer torque into the fall, per lean rate"),
    "balance_help": ("N s2", 0.0, "the gain of the balance assist"),
    "angle_help": ("", 0.0, "1: the prescribed angle steers into the fall"),
    "drive": ("N m", 0.0, "torque of the rear wheel"),
    "lift": ("rad", 0.0, "angle to which the drive lifts the front wheel, if not zero"),
    "rear_brake": ("N m", 0.0, "largest torque of the rear brake"),
    "front_brake": ("N m", 0.0, "largest torque of the front brake"),
    "hold": ("", 0.0, "1: the drive keeps the speed"),
    "speed": ("m/s", 5.0, "speed to keep"),
}
"""Unit, initial value and meaning of every command, by name."""


def brake_torque(limit: Scalar, wheel_rate: Scalar) -> Scalar:
    """Return the brake torque -limit tanh(rate / (1 rad/s)) (N m), which never drives a wheel
    backwards.

    >>> brake_torque(100.0, 30.0), brake_torque(100.0, -30.0)
    (-100.0, 100.0)
    """
    return -limit * (1.0 - 2.0 / (exp(2.0 * saturate(wheel_rate, 300.0)) + 1.0))


@dataclass(frozen=True)
class Rider:
    """Control law that converts commands to torques and prescribed joint accelerations.

    The commands are states that can be set while the control law runs. The torque of the hands follows its
    command with a limited rate. The upper body, and the handlebar if the command `by_angle` is set, follow
    their target angles like a critically damped oscillator,

        rddot = omega^2 (target - r) - 2 omega rdot

    Balance help adds the steer torque -lean_help (lean rate) and that of `BalanceAssist`, or subtracts 0.8
    lean + 0.3 s (lean rate) from the target angle. Brake torques vanish with the rate of their wheels. On a
    terrain a joint is either always prescribed or never: there `bar` is "free" or "guided" regardless of the
    command, and `Stepper.obey` changes from one rider object to the other.

    Parameters
    ----------
    body_guided
        Whether the upper body follows its target angle.
    bar
        Whether the steer angle is prescribed by command ("either"), never ("free") or always ("guided").
    hand_rate
        Largest rate of the hands' torque, N m/s.
    bar_frequency, body_frequency
        Frequencies omega of the oscillators, rad/s.
    assisted_below
        Speed above which the balance assist is off, m/s.
    hold_gain, hold_limit
        Gain (N s) and largest torque (N m) of the drive that keeps the speed.
    lift_limit
        Largest torque of the drive that lifts the front wheel, N m.
    """

    body_guided: bool = True
    bar: Literal["either", "free", "guided"] = "either"
    hand_rate: float = 10.0
    bar_frequency: float = 10.0
    body_frequency: float = 5.0
    assisted_below: float = 4.7
    hold_gain: float = 200.0
    hold_limit: float = 60.0
    lift_limit: float = 130.0

    commands: ClassVar[tuple[str, ...]] = tuple(RIDER_COMMANDS)
    states: ClassVar[int] = 1 + len(RIDER_COMMANDS)

    @property
    def start(self) -> Array:
        """Initial states of the control law: torque of the hands, then the commands."""
        return np.array([0.0, *(value for _, value, _ in RIDER_COMMANDS.values())])

    def __call__(
        self, readings: Readings, z: Array
    ) -> tuple[dict[str, Scalar | Guide], list[Scalar]]:
        """Return torques and prescribed accelerations by joint; the commands are constant states."""
        hands = z[0]
        command = dict(zip(RIDER_COMMANDS, z[1:], strict=True))
        rear = readings.rate("rear_wheel")
        front = readings.rate("front_wheel")
        speed_error = command["speed"] - rim_speed(readings, "rear_wheel")
        holding = command["hold"] * saturate(self.hold_gain * speed_error, self.hold_limit)
        inputs: dict[str, Scalar | Guide] = {
            "steer": self._handlebar_torque(readings, command, hands),
            "rear_wheel": command["drive"]
            + holding
            + self._lifting_torque(readings, command["lift"])
            + brake_torque(command["rear_brake"], rear),
            "front_wheel": brake_torque(command["front_brake"], front),
        }
        if self.body_guided:
            acceleration = approach_target(readings, "torso", command["torso"], self.body_frequency)
            inputs["torso"] = Guide(acceleration)
        # Rate constant 50 1/s: the torque follows a small step within 0.02 s, and a large one at
        # the limited rate.
        hand_rate = saturate(50.0 * (command["steer_torque"] - hands), self.hand_rate)
        return inputs, [hand_rate, *[0.0] * len(RIDER_COMMANDS)]

    def _lifting_torque(self, readings: Readings, angle: Scalar) -> Scalar:
        """Return the drive torque (N m) that lifts the front wheel to an angle (rad), with the
        gains of `Wheelie`.
        """
        error = 2000.0 * (angle + readings.pitch) + 200.0 * readings.angular_velocity[1]
        return where(angle > 0.0, saturate(error, self.lift_limit), 0.0)

    def _handlebar_torque(
        self, readings: Readings, command: dict[str, Scalar], hand_torque: Scalar
    ) -> Scalar | Guide:
        """Return the torque on the handlebar (N m), or its prescribed acceleration as a `Guide`."""
        assist = assist_torque(readings, command["balance_help"], self.assisted_below)
        torque = hand_torque - command["lean_help"] * readings.lean_rate + assist
        if self.bar == "free":
            return torque
        into_fall = 0.8 * readings.lean + 0.3 * readings.lean_rate
        target = command["steer_angle"] - command["angle_help"] * into_fall
        acceleration = approach_target(readings, "steer", target, self.bar_frequency)
        if self.bar == "guided":
            return Guide(acceleration)
        return Guide(acceleration, command["by_angle"], torque)


def rim_speed(readings: Readings, joint: str) -> Scalar:
    """Return the rim speed (m/s) of the wheel at a joint: radius times joint rate."""
    model = readings.tree.model
    body = next(each.child for each in model.joints if each.name == joint)
    wheel = next(each for each in model.wheels if each.body == body)
    return wheel.surface.reach * readings.rate(joint)


def approach_target(readings: Readings, joint: str, target: Scalar, frequency: float) -> Scalar:
    """Return the joint acceleration (rad/s2) of a critically damped oscillator about a target angle
    (rad).
    """
    error = target - readings.joint(joint)
    return frequency * frequency * error - 2.0 * frequency * readings.rate(joint)


LAW = Rider
