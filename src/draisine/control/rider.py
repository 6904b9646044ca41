"""A rider at the controls: hands on the bar, a leaning body, pedals, brakes, and help."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from draisine.algebra.scalar import Array, Scalar, exp, where
from draisine.control import saturate
from draisine.control.balance_assist import assist_torque
from draisine.mechanics.readings import Readings
from draisine.model import Guide

COMMANDS = {
    "steer_torque": ("N m", 0.0, "torque of the hands, to the left"),
    "steer_angle": ("rad", 0.0, "angle to which the bar is guided, to the left"),
    "torso": ("rad", 0.0, "angle to which the upper body is guided, to the right"),
    "by_angle": ("", 0.0, "1: the bar is guided to its angle, whatever torque that needs"),
    "lean_help": ("N m s/rad", 0.0, "steer torque into the fall, per lean rate"),
    "balance_help": ("N s2", 0.0, "the gain of the balance assist"),
    "angle_help": ("", 0.0, "1: the guided angle steers into the fall"),
    "drive": ("N m", 0.0, "torque of the rear wheel"),
    "lift": ("rad", 0.0, "angle to which the drive raises the front wheel, if it is not zero"),
    "rear_brake": ("N m", 0.0, "largest torque of the rear brake"),
    "front_brake": ("N m", 0.0, "largest torque of the front brake"),
    "hold": ("", 0.0, "1: the rear wheel is driven so that the speed is kept"),
    "speed": ("m/s", 5.0, "the speed that is kept"),
}
"""Unit, value at the start and meaning of every command."""


def brake_torque(limit: Scalar, rate: Scalar) -> Scalar:
    """Return -limit tanh(rate / (1 rad/s)): a brake stops a wheel and never turns it backwards.

    >>> brake_torque(100.0, 30.0), brake_torque(100.0, -30.0)
    (-100.0, 100.0)
    """
    return -limit * (1.0 - 2.0 / (exp(2.0 * saturate(rate, 300.0)) + 1.0))


@dataclass(frozen=True)
class Rider:
    """Turn commands into torques; the commands are written from outside while the law runs.

    The torque of the hands follows its command at no more than `hand_rate`. The upper body, and the
    bar where the command `by_angle` is set, are guided to their angles as a critically damped
    oscillator of the frequency `body_frequency` or `bar_frequency` would go there,

        rddot = omega^2 (target - r) - 2 omega rdot

    Help adds the steer torque -lean_help (lean rate) and that of `BalanceAssist`, or takes 0.8 lean
    + 0.3 s (lean rate) from the guided angle. Brakes vanish with the rate of their wheels. On a
    terrain a joint is guided always or never: there the `bar` is "free" or "guided" whatever the
    command says, and `Stepper.obey` goes from one rider to the other.
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

    commands: ClassVar[tuple[str, ...]] = tuple(COMMANDS)
    states: ClassVar[int] = 1 + len(COMMANDS)

    @property
    def start(self) -> Array:
        """The torque of the hands and the commands at the start."""
        return np.array([0.0, *(value for _, value, _ in COMMANDS.values())])

    def __call__(
        self, readings: Readings, z: Array
    ) -> tuple[dict[str, Scalar | Guide], list[Scalar]]:
        """Return torques and guides by joint; commands stay as they were written."""
        hands = z[0]
        told = dict(zip(COMMANDS, z[1:], strict=True))
        rear = readings.rate("rear_wheel")
        front = readings.rate("front_wheel")
        lack = told["speed"] - rim_speed(readings, "rear_wheel")
        kept = told["hold"] * saturate(self.hold_gain * lack, self.hold_limit)
        given: dict[str, Scalar | Guide] = {
            "steer": self._bar(readings, told, hands),
            "rear_wheel": told["drive"]
            + kept
            + self._raise(readings, told["lift"])
            + brake_torque(told["rear_brake"], rear),
            "front_wheel": brake_torque(told["front_brake"], front),
        }
        if self.body_guided:
            given["torso"] = Guide(approach(readings, "torso", told["torso"], self.body_frequency))
        follow = saturate(50.0 * (told["steer_torque"] - hands), self.hand_rate)
        return given, [follow, *[0.0] * len(COMMANDS)]

    def _raise(self, readings: Readings, angle: Scalar) -> Scalar:
        """Return the torque that raises the front wheel to an angle, as `Wheelie` does."""
        error = 2000.0 * (angle + readings.pitch) + 200.0 * readings.angular_velocity[1]
        return where(angle > 0.0, saturate(error, self.lift_limit), 0.0)

    def _bar(self, readings: Readings, told: dict[str, Scalar], hands: Scalar) -> Scalar | Guide:
        """Return the torque on the bar, or the acceleration that guides it."""
        help = assist_torque(readings, told["balance_help"], self.assisted_below)
        torque = hands - told["lean_help"] * readings.lean_rate + help
        if self.bar == "free":
            return torque
        into_fall = 0.8 * readings.lean + 0.3 * readings.lean_rate
        target = told["steer_angle"] - told["angle_help"] * into_fall
        guided = approach(readings, "steer", target, self.bar_frequency)
        return Guide(guided) if self.bar == "guided" else Guide(guided, told["by_angle"], torque)


def rim_speed(readings: Readings, joint: str) -> Scalar:
    """Return how fast the rim of the wheel at a joint runs, in m/s: its radius times its rate, on the
    ground and in the air.
    """
    model = readings.tree.model
    body = next(each.child for each in model.joints if each.name == joint)
    wheel = next(each for each in model.wheels if each.body == body)
    return wheel.surface.reach * readings.rate(joint)


def approach(readings: Readings, joint: str, target: Scalar, frequency: float) -> Scalar:
    """Return the acceleration of a critically damped oscillator about a target."""
    error = target - readings.joint(joint)
    return frequency * frequency * error - 2.0 * frequency * readings.rate(joint)


LAW = Rider
