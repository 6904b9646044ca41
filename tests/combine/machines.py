"""Machines and options that the tests of combinations draw from, by name or by seed.

A `Machine` is a vehicle with one choice per axis of options (tyres, flexible parts, rider, crown, ...)
and the motion that it starts from. A `Combination` adds how it is run: control law, integrator,
projection, inputs. `SAMPLE` is the fixed selection of the tests; `draw_machine` and `draw_combination`
make random ones for the campaigns of `bench/combine.py`. Everything can be written down: `str(machine)`
and `str(combination)` are read back by `read_machine` and `read_combination`.
"""

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Annotated, Any, Literal

import draisine
from draisine import Numerics
from draisine.algebra.scalar import cos, exp, sin, sqrt, where
from draisine.mechanics.forces.air_drag import AirDrag
from draisine.mechanics.forces.rolling_resistance import RollingResistance
from draisine.model import (
    Ball,
    Body,
    Force,
    Guide,
    Joint,
    Model,
    Motor,
    Output,
    Revolute,
    Wheel,
    forward_speed,
    inertia,
)
from draisine.model.motion import sine, uniform
from draisine.registry import find

# --- vehicles of our own: what no shipped vehicle has


def trolley(
    *,
    mass: Annotated[float, "kg", "mass of the chassis"] = 20.0,
    moment: Annotated[float, "kg m2", "chassis, central moment of inertia about any axis"] = 1.0,
    radius: Annotated[float, "m", "radius of the wheels"] = 0.2,
    track: Annotated[float, "m", "distance of the wheels"] = 0.6,
    wheel: Annotated[float, "kg", "mass of each wheel"] = 1.0,
    nut: Annotated[float, "kg", "mass of the nut on the screw"] = 2.0,
    pitch: Annotated[float, "m", "travel of the nut per radian"] = 0.05,
    stiffness: Annotated[float, "N m/rad", "spring of the screw"] = 8.0,
    damping: Annotated[float, "N m s/rad", "damper of the screw"] = 0.1,
    rotor: Annotated[float, "kg m2", "armature of the left wheel's motor"] = 0.02,
    rolling: Annotated[float, "m", "arm of the rolling resistance"] = 0.004,
    area: Annotated[float, "m2", "drag area"] = 0.5,
    density: Annotated[float, "kg/m3", "density of the air"] = 1.2,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    motors: Literal["unlimited", "limited"] = "unlimited",
    stops: Literal["none", "near"] = "none",
) -> Model:
    """A trolley on two wheels and a ball that slides, with a nut on a spring-loaded screw, a geared
    motor, rolling resistance, drag and a push; outputs tell where the valve of its left wheel is.

    With `motors="limited"` the torque of the screw reaches its limit, and that of the left wheel its
    torque-speed line; with `stops="near"` the nut reaches its upper stop.

    It is not symmetric, so that no error hides behind its symmetry.
    """
    left, right = (0.0, track / 2, radius), (0.0, -track / 2, radius)
    axle = (0.0, 1.0, 0.0)
    ahead = (2.0 * radius, 0.0, radius / 2)
    nut_place = (radius, radius / 2, 2.0 * radius)
    valve = (0.0, track / 2, 1.8 * radius)
    rim = inertia(
        wheel * radius * radius / 4, wheel * radius * radius / 2, wheel * radius * radius / 4
    )
    is_limited = motors == "limited"
    drive = Motor(no_load_speed=8.0, stall_torque=0.5) if is_limited else None
    turner = Motor(torque=0.05) if is_limited else None
    return Model(
        bodies=[
            Body("chassis", mass, (radius / 2, 0.0, 1.5 * radius), inertia(moment, moment, moment)),
            Body("left", wheel, left, rim),
            Body("right", wheel, right, rim),
            Body("nut", nut, nut_place, inertia(0.02 * moment, 0.03 * moment, 0.04 * moment)),
        ],
        joints=[
            Revolute("left", "chassis", "left", axle, left, armature=rotor, motor=drive),
            Revolute("right", "chassis", "right", axle, right),
            Joint(
                "screw",
                "chassis",
                "nut",
                (0.0, 0.6, 0.8),
                (radius, 0.0, 2.0 * radius),
                spring=stiffness,
                damper=damping,
                rest=0.2,
                slide=pitch,
                motor=turner,
                stops=(-0.55, 0.55) if stops == "near" else None,
            ),
        ],
        contacts=[
            Wheel("left", "left", left, axle, radius),
            Wheel("right", "right", right, axle, radius),
            Wheel("caster", "chassis", ahead, axle, Ball(radius / 2), slides=True),
        ],
        forces=[
            Force("push", "chassis", (0.0, 0.0, 2.0 * radius)),
            AirDrag("chassis", area, density=density),
            RollingResistance("left", rolling),
        ],
        gravity=(0.0, 0.0, -g),
        outputs=[
            forward_speed("chassis", (0.0, 0.0, radius), "velocity of the axle's middle"),
            Output("valve_height", lambda readings: readings.position("left", valve)[2], "m"),
            Output("valve_speed", lambda readings: readings.velocity("left", valve)[2], "m/s"),
        ],
    )


# --- control laws, with gains whose units are known


@dataclass(frozen=True)
class Feedback:
    """The effort `-gain angle - damping rate` on a joint, from an angle that is read by name.

    With `memory` its integral acts, too, through a state; `guided` uses the effort per inertia as the
    acceleration of the joint instead.
    """

    joint: str
    angle: str
    gain: Annotated[float, "effort/rad", "gain on the angle"]
    damping: Annotated[float, "effort s/rad", "gain on its rate"]
    memory: Annotated[float, "effort/rad s", "gain on its integral"] = 0.0
    guided: bool = False

    @property
    def states(self) -> int:
        return 1 if self.memory else 0

    def __call__(self, readings, z):
        angle, rate = readings.value(self.angle), readings.value(f"{self.angle}_rate")
        effort = -self.gain * angle - self.damping * rate
        if self.guided:
            return {self.joint: Guide(effort)}, ()
        if self.memory:
            return {self.joint: effort - self.memory * z[0]}, (angle,)
        return {self.joint: effort}, ()


class PythonFeedback(Feedback):
    """The same law in a form that cannot be traced: it only runs in Python."""

    def __call__(self, readings, z):
        angle, rate = readings.value(self.angle), readings.value(f"{self.angle}_rate")
        return {self.joint: -self.gain * float(angle) - self.damping * float(rate)}, ()


@dataclass(frozen=True)
class RandomLaw:
    """A law by chance: an expression of readings, the time and two states, small and smooth enough to
    be followed by every integrator.
    """

    joint: str
    readings: tuple[str, ...]
    effort: float
    seed: int

    states = 2

    def __call__(self, readings, z):
        rng = random.Random(self.seed)
        known = [*(readings.value(name) for name in self.readings), z[0], z[1], sin(readings.t)]
        values = [self._expression(rng, known, 3) for _ in range(3)]
        return {self.joint: self.effort * values[0]}, (values[1] - z[0], values[2] - z[1])

    def _expression(self, rng: random.Random, known: list[Any], depth: int) -> Any:
        """Return an expression between about -1 and 1."""
        if depth == 0 or rng.random() < 0.2:
            x = rng.choice(known)
            return rng.uniform(0.2, 1.0) * x / sqrt(1.0 + x * x)
        kind = rng.randrange(6)
        a = self._expression(rng, known, depth - 1)
        b = self._expression(rng, known, depth - 1)
        if kind == 0:
            return 0.5 * (a + b)
        if kind == 1:
            return a * b
        if kind == 2:
            return sin(2.0 * a) * cos(b)
        if kind == 3:
            return a / sqrt(1.0 + b * b)
        if kind == 4:
            return exp(a - 1.0) - exp(b - 1.0)
        return where(a < b, a * (b - a), b * (b - a))  # continuous, with a kink


@dataclass(frozen=True)
class InPython:
    """A law that is called with numbers only, so that it cannot be traced."""

    law: Any

    @property
    def states(self) -> int:
        return self.law.states

    def __call__(self, readings, z):
        float(readings.t + readings.lean + sum(z, 0.0))  # a traced value is no number
        return self.law(readings, z)


LAWS = ("none", "feedback", "memory", "guided", "python")
"""Kinds of control laws: none, proportional, with a state, a guided joint, one that runs in Python.
There are also random ones, such as "random7".
"""


# --- what each vehicle can be combined with

Arguments = Mapping[str, Any]

LOAD_TYRE = {"name": "load_tyre", "parameter_set": "city_bicycle"}
LINEAR_TYRE = {"name": "linear_tyre", "cornering": 6000.0, "camber": 300.0, "relaxation": 0.15}
TRAILED_TYRE = LINEAR_TYRE | {"trail": 0.03}
PASSIVE_TYRE = {"name": "passive_tyre", "cornering": 6000.0, "arm": 0.015, "relaxation": 0.15}
BRUSH_TYRE = {
    "name": "brush_tyre",
    "stiffness": 12.0,
    "friction": 0.9,
    "relaxation": 0.15,
    "half_length": 0.05,
}
MAGIC_TYRE = {"name": "magic_formula", "parameter_set": "schwalbe_t03_400kpa", "relaxation": 0.15}
SPRUNG_TYRE = MAGIC_TYRE | {"vertical": 8e4, "damping": 800.0, "preload": 450.0}

ARMS = {
    "shoulder_x": 0.2, "shoulder_y": 0.2, "shoulder_z": 1.3, "elbow_x": 0.5, "elbow_y": 0.3,
    "elbow_z": 1.1, "grip_x": 0.75, "grip_y": 0.25, "grip_z": 0.95, "upper": 2.0, "lower": 1.5,
}  # fmt: skip
LEGS = {
    "hip_x": 0.2, "hip_z": 0.95, "axle_x": 0.45, "axle_z": 0.28, "thigh": 0.44, "shank": 0.45,
    "crank": 0.17, "upper": 5.0, "lower": 2.5,
}  # fmt: skip
UPPER_BODY = {"mU": 30.0, "zU": -1.05, "kU": 0.15, "zP": -0.75}
TORSO = UPPER_BODY | {"torso_spring": 900.0, "torso_damper": 20.0}


def both_tyres(table: Mapping[str, Any]) -> Arguments:
    """Return the arguments of a bicycle with the same tyre at both wheels."""
    return {"rear_tyre": dict(table), "front_tyre": dict(table)}


WHIPPLE: dict[str, dict[str, Arguments]] = {
    "tyres": {
        "ideal": {},
        "linear": both_tyres(LINEAR_TYRE),
        "trailed": both_tyres(TRAILED_TYRE),
        "load": both_tyres(LOAD_TYRE),
        "passive": both_tyres(PASSIVE_TYRE),
        "brush": both_tyres(BRUSH_TYRE),
        "magic": both_tyres(MAGIC_TYRE),
        "sprung": both_tyres(SPRUNG_TYRE),
        "rear": {"rear_tyre": LOAD_TYRE},
    },
    "flexible": {
        "rigid": {},
        "steering": {"flexible": {"steer_spring": 3.0, "steer_damper": 1.5}},
        "friction": {"flexible": {"steer_friction": 0.5}},
        "fork": {
            "flexible": {
                "fork_bend": 2e3,
                "fork_bend_damper": 5.0,
                "fork_twist": 1e3,
                "fork_twist_damper": 1.0,
            }
        },
        "frame": {"flexible": {"frame_twist": 2e3, "frame_twist_damper": 10.0}},
        "suspension": {
            "flexible": {
                "front_suspension": 2e4,
                "front_suspension_damper": 500.0,
                "rear_suspension": 1e4,
                "rear_suspension_damper": 200.0,
                "arm": 0.4,
            }
        },
    },
    "rider": {
        "rigid": {},
        "torso": TORSO,
        "seat": TORSO | {"seat": {"aside": 5e4, "up": 4e4, "up_damper": 500.0}},
        "held": TORSO | {"seat": {}},
        "leaning": UPPER_BODY | {"torso": sine(0.1, 1.0)},
        "arms": {"arms": ARMS},
        "legs": {"legs": LEGS, "pedalling": uniform(8.0)},
    },
    "crown": {"disc": {}, "torus": {"crown": 0.02}},
    "slope": {"level": {}, "uphill": {"slope": 0.05}},
    "steering": {"free": {}, "prescribed": {"steering": sine(0.05, 0.7)}},
    "set": {
        "benchmark": {},
        "browser": {"parameter_set": "browser_jason"},
        "pista": {"parameter_set": "pista_jason"},
    },
}


@dataclass(frozen=True)
class Recipe:
    """What a vehicle can be combined with, and how it starts.

    `start` holds intervals of initial values by name; `steady` names the initial values that describe a
    motion that does not change (all others being zero). `joint` and `angle` are what laws act on and
    read, `effort` the gain of a law in N m/rad (N/m for a slide). `step` is the longest step in s that
    resolves the fastest motion. `fixed` tells that its numbers are no parameters.
    """

    vehicle: Any
    start: Mapping[str, tuple[float, float]]
    options: Mapping[str, Mapping[str, Arguments]] = field(default_factory=dict)
    joint: str = ""
    angle: str = ""
    effort: float = 1.0
    steady: tuple[str, ...] = ()
    step: float = 2.0**-10
    fixed: bool = False


def _crowns(crown: float) -> dict[str, dict[str, Arguments]]:
    return {"crown": {"disc": {}, "torus": {"crown": crown}}}


def _drives() -> dict[str, dict[str, Arguments]]:
    return {"drive": {"free": {"drive": "free"}, "sine": {"drive": "sine"}}}


RECIPES: dict[str, Recipe] = {
    "whipple": Recipe(
        "whipple",
        {
            "forward_speed": (3.0, 7.0),
            "lean": (-0.15, 0.15),
            "steer": (-0.1, 0.1),
            "lean_rate": (-0.4, 0.4),
            "steer_rate": (-0.4, 0.4),
        },
        WHIPPLE,
        joint="steer",
        angle="lean",
        effort=4.0,
        steady=("forward_speed",),
        step=2.0**-11,
    ),
    "motorcycle": Recipe(
        "motorcycle",
        {"forward_speed": (8.0, 30.0), "lean": (-0.1, 0.1), "steer": (-0.02, 0.02)},
        joint="steer",
        angle="lean",
        effort=10.0,
        steady=("forward_speed",),
    ),
    "rolling_disc": Recipe(
        "rolling_disc",
        {"forward_speed": (1.0, 4.0), "lean": (-0.3, 0.3), "yaw_rate": (-0.5, 0.5)},
        _crowns(0.05),
        steady=("forward_speed",),
    ),
    "unicycle": Recipe(
        "unicycle",
        {"forward_speed": (0.5, 2.0), "lean": (-0.1, 0.1), "pitch": (-0.1, 0.1)},
        _crowns(0.02),
        joint="turntable",
        angle="turntable",
        effort=1.0,
    ),
    "ball": Recipe("ball", {"Wy": (0.5, 2.0), "Wz": (-3.0, 3.0)}),
    "rattleback": Recipe("rattleback", {"Wz": (-2.0, 2.0), "Wx": (-0.3, 0.3), "lean": (-0.1, 0.1)}),
    "car": Recipe(
        "car",
        {"forward_speed": (2.0, 6.0), "steer": (-0.2, 0.2), "steer_rate": (-0.3, 0.3)},
        {"drive": {"free": {}, "differential": {"differential": True}}},
        joint="steer",
        angle="steer",
        effort=2.0,
        steady=("forward_speed",),
    ),
    "tricycle": Recipe(
        "tricycle",
        {"forward_speed": (1.0, 4.0), "steer": (-0.2, 0.2), "steer_rate": (-0.3, 0.3)},
        joint="steer",
        angle="steer",
        effort=1.0,
        steady=("forward_speed",),
    ),
    "road_train": Recipe(
        "road_train",
        {"forward_speed": (1.0, 4.0), "steer": (-0.2, 0.2), "hitch1": (-0.3, 0.3)},
        joint="steer",
        angle="steer",
        effort=1.0,
    ),
    "segway": Recipe(
        "segway",
        {"forward_speed": (0.3, 2.0), "pitch": (-0.1, 0.1), "yaw_rate": (-0.5, 0.5)},
        joint="left",
        angle="pitch",
        effort=20.0,
    ),
    "skateboard": Recipe(
        "skateboard",
        {"forward_speed": (1.0, 4.0), "lean": (-0.1, 0.1), "lean_rate": (-0.3, 0.3)},
        joint="rear_truck",
        angle="lean",
        effort=20.0,
        steady=("forward_speed",),
    ),
    "trolley": Recipe(
        trolley,
        {"forward_speed": (0.5, 3.0), "yaw_rate": (-1.0, 1.0), "screw": (-0.5, 0.5)},
        {
            "motors": {"unlimited": {}, "limited": {"motors": "limited"}},
            "stops": {"none": {}, "near": {"stops": "near"}},
        },
        joint="screw",
        angle="screw",
        effort=1.0,
    ),
    "car_with_trailers": Recipe(
        "car_with_trailers",
        {"rolled_rate": (0.5, 2.0), "steer": (-0.3, 0.3), "hitch1": (-0.3, 0.3)},
        joint="steer",
        angle="steer",
        effort=1.0,
    ),
    "differential_platform": Recipe(
        "differential_platform",
        {"left_rate": (2.0, 6.0), "right_rate": (2.0, 6.0)},
        joint="left",
        angle="right",
        effort=0.1,
    ),
    "penny": Recipe("penny", {"roll_rate": (2.0, 9.0), "yaw_rate": (-1.0, 1.0)}, joint="roll",
                    angle="yaw", effort=0.01),
    "roller_racer": Recipe(
        "roller_racer",
        {"forward_speed": (0.3, 1.0), "arm": (-0.4, 0.4), "arm_rate": (-0.5, 0.5)},
        _drives(),
        joint="arm",
        angle="arm",
        effort=1.0,
    ),
    "snakeboard": Recipe(
        "snakeboard",
        {"forward_speed": (0.3, 1.0), "front_truck": (0.1, 0.4), "rear_truck": (-0.4, -0.1)},
        _drives(),
        joint="rotor",
        angle="rotor",
        effort=0.1,
    ),
    "chaplygin_sleigh": Recipe("chaplygin_sleigh", {"Vx": (0.5, 2.0), "Wz": (-1.0, 1.0)}),
    "trikke": Recipe("trikke", {}, {"drive": {"sine": {}, "free": {"drive": "free"}}}, joint="rider",
                     angle="rider", effort=1.0),
    "trailing_wheel": Recipe("trailing_wheel", {"swivel": (-0.1, 0.1)}, joint="swivel",
                             angle="swivel", effort=1.0),
    "chain": Recipe(
        "chain",
        {"hinge1": (-0.5, 0.5), "hinge3_rate": (-1.0, 1.0)},
        {
            "base": {"free": {"base": "SE(3)"}, "hung": {"base": "fixed"}},
            "links": {"four": {}, "nine": {"links": 9}},
        },
        joint="hinge2",
        angle="hinge2",
        effort=0.1,
    ),
    "cart_pole": Recipe("cart_pole", {"cart_rate": (-1.0, 1.0), "pole": (-0.5, 0.5)},
                        joint="cart", angle="pole", effort=2.0),
    "acrobot": Recipe("acrobot", {"bar": (-0.5, 0.5), "hip": (-0.5, 0.5)}, joint="hip",
                      angle="bar", effort=1.0),
    "satellite": Recipe("satellite", {"Wx": (-1.0, 1.0), "rotor2_rate": (-5.0, 5.0)},
                        joint="rotor1", angle="rotor1", effort=0.01),
    "falling_cat": Recipe("falling_cat", {"bend": (-0.4, 0.4), "Wx": (-1.0, 1.0)}, _drives(),
                          joint="bend", angle="bend", effort=0.1),
    "fish": Recipe("fish", {"Vx": (0.1, 0.5), "rear": (-0.4, 0.4)}, _drives(), joint="front",
                   angle="front", effort=0.05),
    "purcell_swimmer": Recipe("purcell_swimmer", {"rear": (-0.4, 0.4), "front_rate": (-0.4, 0.4)},
                              joint="front", angle="front", effort=0.05, step=2.0**-13),
    "steering_linkage": Recipe("steering_linkage", {"left": (-0.2, 0.2), "left_rate": (-1.0, 1.0)},
                               joint="left", angle="left", effort=0.1),
}  # fmt: skip
"""The vehicles that are combined, by name."""


# --- machines


@dataclass(frozen=True)
class Machine:
    """A vehicle and its choices, (axis, choice) for each axis that is not at its first choice."""

    vehicle: str
    choices: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return " ".join([self.vehicle, *(f"{axis}={choice}" for axis, choice in self.choices)])

    @property
    def recipe(self) -> Recipe:
        return RECIPES[self.vehicle]

    def has(self, axis: str, *choices: str) -> bool:
        """Return whether one of these choices is taken (any but the first, if none is named)."""
        taken = dict(self.choices).get(axis)
        return taken is not None and (not choices or taken in choices)

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the vehicle."""
        given: dict[str, Any] = {}
        for axis, choice in self.choices:
            given |= self.recipe.options[axis][choice]
        return given

    @property
    def draw(self) -> Callable[..., Model]:
        """The function that draws the vehicle."""
        return find("vehicle", self.recipe.vehicle)

    def without(self, axis: str) -> "Machine":
        """Return the machine with the first choice of an axis."""
        return replace(self, choices=tuple(c for c in self.choices if c[0] != axis))


@lru_cache(maxsize=128)
def compiled(machine: Machine, wrap: Callable[[Any], Any] | None = None) -> draisine.System:
    """Return a machine as a system, compiled once; `wrap` changes what its vehicle draws."""
    vehicle = machine.draw if wrap is None else wrap(machine.draw)
    return draisine.compile(vehicle, **machine.arguments)


def read_machine(text: str) -> Machine:
    """Return the machine that a text describes.

    >>> read_machine("whipple tyres=load crown=torus").arguments["crown"]
    0.02
    """
    vehicle, *choices = text.split()
    pairs = tuple(tuple(choice.split("=")) for choice in choices)
    return Machine(vehicle, pairs)  # type: ignore[arg-type]


def draw_machine(rng: random.Random) -> Machine:
    """Return a random machine: half of them bicycles, which have most options."""
    vehicle = "whipple" if rng.random() < 0.5 else rng.choice(list(RECIPES))
    choices = []
    for axis, known in RECIPES[vehicle].options.items():
        first, *others = known
        keep = 0.55 if vehicle == "whipple" else 0.3
        choice = first if rng.random() < keep else rng.choice(others)
        if choice != first:
            choices.append((axis, choice))
    return Machine(vehicle, tuple(choices))


# --- combinations


@dataclass(frozen=True)
class Combination:
    """A machine, and how it is run. On a terrain: its friction `mu`, the solver, the impact model ("" is the
    default one) and the ground of `GROUNDS` onto which it drops.
    """

    machine: Machine
    law: str = "none"
    integrator: str = "rk4"
    drift: str | float = "project"
    mu: float = math.inf
    driven: bool = False
    solver: str = "auto"
    impact: str = ""
    ground: str = "incline"
    seed: int = 0

    def __str__(self) -> str:
        parts = [
            f"law={self.law}" if self.law != "none" else "",
            f"integrator={self.integrator}" if self.integrator != "rk4" else "",
            f"drift={self.drift}" if self.drift != "project" else "",
            f"mu={self.mu}" if self.mu < math.inf else "",
            "driven" if self.driven else "",
            f"solver={self.solver}" if self.solver != "auto" else "",
            f"impact={self.impact}" if self.impact else "",
            f"ground={self.ground}" if self.ground != "incline" else "",
            f"seed={self.seed}" if self.seed else "",
        ]
        return ", ".join([str(self.machine), *(part for part in parts if part)])

    @property
    def system(self) -> draisine.System:
        return compiled(self.machine)

    @property
    def start_values(self) -> dict[str, float]:
        """The initial values, drawn by the seed."""
        rng = random.Random(f"{self.machine.vehicle} {self.seed}")
        recipe = self.machine.recipe
        values = {name: rng.uniform(*ends) for name, ends in recipe.start.items()}
        prescribed = {"steering": ("steer", "steer_rate"), "drive": tuple(values)}
        for axis, names in prescribed.items():
            if self.machine.has(axis, "prescribed", "sine"):
                values = {name: x for name, x in values.items() if name not in names}
        return values

    @property
    def state(self) -> draisine.State:
        return draisine.state(self.system, **self.start_values)

    @property
    def control(self) -> Any:
        """The control law, or None."""
        return make_law(self)

    @property
    def inputs(self) -> dict[str, float]:
        """Constant inputs: a part of the law's gain on the driven joint, and pushes of 0.1 m/s2."""
        if not self.driven:
            return {}
        recipe = self.machine.recipe
        given = {recipe.joint: 0.1 * recipe.effort} if recipe.joint else {}
        model = self.system.model
        mass = sum(float(body.mass) for body in model.bodies)
        pushes = [name for name in model.inputs if "." in name]
        return given | {name: 0.1 * mass / (1 + k) for k, name in enumerate(pushes)}

    def numerics(self, **changes: Any) -> Numerics:
        """Return the numerics; steps are powers of two, so that times have no rounding errors."""
        given = {
            "integrator": self.integrator,
            "dt": self.machine.recipe.step,
            "drift": self.drift,
        }
        return Numerics(**(given | changes))

    @property
    def until(self) -> float:
        """The end of the run in s."""
        return 256 * self.machine.recipe.step


def make_law(combination: Combination) -> Any:
    """Return the control law of a combination, or None."""
    recipe, kind = combination.machine.recipe, combination.law
    if kind == "none" or not recipe.joint:
        return None
    gains = {"gain": recipe.effort, "damping": 0.1 * recipe.effort}
    if kind == "memory":
        gains["memory"] = recipe.effort
    if kind.startswith("random"):
        model = combination.system.model
        names = ["lean", "yaw_rate", recipe.joint, f"{recipe.joint}_rate", *model.speeds[:2]]
        return RandomLaw(
            recipe.joint, tuple(names), recipe.effort, int(kind.removeprefix("random"))
        )
    law = PythonFeedback if kind == "python" else Feedback
    return law(recipe.joint, recipe.angle, **gains, guided=kind == "guided")


def read_combination(text: str) -> Combination:
    """Return the combination that a text describes.

    >>> one = Combination(read_machine("whipple tyres=load"), law="memory", driven=True, seed=3)
    >>> read_combination(str(one)) == one
    True
    """
    first, *rest = (part.strip() for part in text.split(","))
    values: dict[str, Any] = {"machine": read_machine(first)}
    for part in rest:
        name, _, value = part.partition("=")
        values[name] = True if not value else int(value) if name == "seed" else value
    for name in ("drift", "mu"):
        if values.get(name, "none") != "none":
            values[name] = float(values[name])
    return Combination(**values)


def draw_combination(rng: random.Random, machine: Machine) -> Combination:
    """Return a random way to run a machine."""
    c = Combination(
        machine,
        law=rng.choice(("none", "none", *LAWS[1:], f"random{rng.randrange(1000)}")),
        integrator=rng.choice(("rk4", "rk4", "dop853", "ab4", "abm4", "abm5")),
        drift=rng.choice(("project", "project", "none", 0.5)),
        mu=rng.choice((math.inf, math.inf, 0.9, 0.4)),
        driven=rng.random() < 0.4,
        seed=rng.randrange(1, 1000),
    )
    # Drawn last, so that the options above are those of campaigns without these.
    solver = rng.choice(("auto", "auto", "time_stepping", "time_stepping", "events"))
    models = ["moreau"]
    if solver != "time_stepping":
        models += ["poisson", "newton" if c.mu == math.inf else "keller"]
    return replace(
        c, solver=solver, impact=rng.choice(("", "", *models)), ground=rng.choice(GROUNDS)
    )


GROUNDS = ("incline", "incline", "shaken", "kerb", "hills", "smooth")
"""Grounds onto which machines drop: an inclined plane at rest or shaken, a kerb, hills of triangles, smooth
hills.
"""


# --- the fixed sample of the tests

SAMPLE = {
    text.split("  ")[0]: read_machine(text.split("  ")[1])
    for text in (
        "benchmark  whipple",
        "linear  whipple tyres=linear flexible=steering crown=torus",
        "load  whipple tyres=load rider=torso slope=uphill",
        "passive  whipple tyres=passive flexible=fork set=browser",
        "brush  whipple tyres=brush flexible=suspension rider=seat",
        "magic  whipple tyres=magic crown=torus steering=prescribed",
        "half  whipple tyres=rear flexible=frame rider=leaning",
        "arms  whipple flexible=friction rider=arms slope=uphill",
        "legs  whipple rider=legs crown=torus set=pista",
        "motorcycle  motorcycle",
        "torus  rolling_disc crown=torus",
        "car  car drive=differential",
        "trolley  trolley",
        "limited  trolley motors=limited stops=near",
        "skateboard  skateboard",
        "racer  roller_racer drive=sine",
        "belt  trailing_wheel",
        "chain  chain base=hung",
        "fish  fish",
        "linkage  steering_linkage",
    )
}
"""Twenty structures, every option of the bicycle in at least one of them; others are made of them by
mirrors, other orders and unfolded wheels."""
