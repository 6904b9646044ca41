"""Rides to choose from, each with a lesson: what is ridden, how it starts and what helps."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from draisine.errors import ParameterError, UnknownNameError, expect_known
from draisine.registry import find, is_file, names
from draisine.ride.limits import brake_limit, wheelie_limit
from draisine.scenario.library import load
from draisine.scenario.terrain import WheelPlace
from draisine.terrain import Terrain, kerb, plane, ramp

Way = Literal["torque", "angle", "lean"]
"""How the rider steers: by a torque on the bar, by its angle, or by leaning the upper body."""


@dataclass(frozen=True)
class Preset:
    """A ride: its vehicle and parameter set, its start (values of outputs), the commands of its
    rider, what its keys give where that is unusual, its ground and where on it the machine
    starts, how fast time passes, whether the ground holds wheels that would lift, whether a rider
    shows it while nobody steers, what stands beside it for the present parameters, and what there
    is to learn.
    """

    title: str
    lesson: str
    question: str
    answer: str
    start: Mapping[str, float]
    way: Way = "torque"
    commands: dict[str, float] = field(default_factory=dict)
    keys: dict[str, float] = field(default_factory=dict)
    vehicle: str = "whipple"
    parameter_set: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ground: Callable[[], Terrain] | None = None
    place: WheelPlace | None = None
    mu: float = math.inf
    pace: float = 1.0
    sticks: bool = False
    shown: bool = False
    fact: Callable[[Mapping[str, float]], str] | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """What decides which code is compiled for it."""
        return self.vehicle, self.parameter_set, self.ground


def on_face(x: float, face: str) -> WheelPlace:
    """Return the place of a machine whose rear wheel stands on a face."""
    return WheelPlace(wheel="rear", centre=[x, 0.0], on=face)


def brake_fact(parameters: Mapping[str, float]) -> str:
    """Return at which brake torque the rear wheel lifts."""
    a, torque = brake_limit(parameters)
    return (
        f"This bicycle lifts its rear wheel at {a:.2f} m/s2: {torque:.0f} N m at the front brake."
    )


def wheelie_fact(parameters: Mapping[str, float]) -> str:
    """Return at which drive torque the front wheel lifts."""
    a, torque = wheelie_limit(parameters)
    return (
        f"This bicycle lifts its front wheel at {a:.2f} m/s2: {torque:.0f} N m at the rear wheel."
    )


HELD = {"hold": 1.0, "lean_help": 5.0}
"""Speed hold, and steering into the fall: what makes the first ride easy."""

PRESETS: dict[str, Preset] = {
    "steer-torque": Preset(
        "Steer by torque",
        "Tap right: the bar turns right, and the bicycle leans left. To turn left, first push right.",
        "Why does a short push to the right start a turn to the left?",
        "The wheels roll out to the right from under the mass centre, and so the bicycle leans left; "
        "then the front wheel turns into the lean by itself.",
        {"forward_speed": 5.0},
        commands={"speed": 5.0} | HELD,
        shown=True,
    ),
    "steer-angle": Preset(
        "Steer by angle",
        "The bar goes to the angle you ask for, whatever torque that needs. Switch the help off: "
        "nobody rides that by keys.",
        "Why is a bicycle with a guided bar harder to ride than one with a free bar?",
        "A guided bar cannot turn into the fall by itself: what keeps a bicycle up is taken away.",
        {"forward_speed": 5.0},
        way="angle",
        commands={"hold": 1.0, "speed": 5.0, "angle_help": 1.0},
        shown=True,
    ),
    "steer-lean": Preset(
        "Steer by leaning",
        "Hands off: lean the upper body left, and the frame goes right at first. The bar follows.",
        "Where does the frame go when the rider leans left, and why?",
        "To the right at first: nothing pushes from outside, so the rest moves against the body. "
        "Then the bar turns into the lean and the turn begins.",
        {"forward_speed": 5.0},
        way="lean",
        commands={"hold": 1.0, "speed": 5.0},
        shown=True,
    ),
    "self-stable": Preset(
        "It rides by itself",
        "Hands off at 5 m/s: push it (P) and watch it steady itself.",
        "Which speeds keep this bicycle up without a rider?",
        "From 4.292 to 6.024 m/s all eigenvalues have negative real parts: weave is damped, and "
        "capsize does not grow yet.",
        {"forward_speed": 5.0, "lean_rate": 0.3},
        commands={"hold": 1.0, "speed": 5.0},
    ),
    "weave": Preset(
        "Weave",
        "A little slower, 3.5 m/s: after a push it wobbles from side to side.",
        "What do lean and steer do in the weave, and which comes first?",
        "They swing with one frequency, the steer after the lean; below 4.292 m/s the swing grows.",
        {"forward_speed": 3.5, "lean_rate": 0.15},
        commands={"hold": 1.0, "speed": 3.5},
    ),
    "fall": Preset(
        "Too slow",
        "At 2.5 m/s it falls within two seconds. Can you keep it up? The balance assist can.",
        "Why does the balance assist steer into the fall?",
        "Steering into the fall rolls the wheels back below the mass centre; it needs more of it the "
        "slower it rolls.",
        {"forward_speed": 2.5, "lean_rate": 0.1},
        commands={"hold": 1.0, "speed": 2.5},
    ),
    "capsize": Preset(
        "Capsize",
        "At 8 m/s it leans over slowly, in an ever tighter spiral; time runs four times as fast.",
        "How fast does the lean grow?",
        "By some 14 % in each second: the capsize eigenvalue at 8 m/s is 0.14 1/s.",
        {"forward_speed": 8.0, "lean": math.radians(10.0)},
        commands={"hold": 1.0, "speed": 8.0},
        pace=4.0,
    ),
    "skate": Preset(
        "No gyroscopes, no trail",
        "Two point masses on massless wheels: no gyroscopic effect, no trail, and it steadies itself. "
        "(Its mass is so far in front that the ground has to hold the rear wheel down.)",
        "What keeps it up, if neither gyroscopes nor trail do?",
        "The front mass is low and ahead of the steer axis: when the frame falls, it falls faster, "
        "and so the bar turns into the fall (Kooijman and others 2011).",
        {"forward_speed": 5.0, "lean_rate": 0.1},
        keys={"torque": 0.01, "helped": 0.01, "assisted": 0.01},
        parameter_set="two_mass_skate",
        sticks=True,
    ),
    "slope": Preset(
        "Down a slope",
        "Five degrees down without brakes: it passes through all its speeds, from weave to capsize.",
        "How fast does it get in ten seconds?",
        "The slope pulls with g sin 5 deg = 0.855 m/s2; the wheels' inertia takes 4 % of it.",
        {"forward_speed": 4.0},
        commands={"lean_help": 5.0},
        parameters={"slope": math.radians(-5.0)},
    ),
    "ramp": Preset(
        "Ramp jump",
        "Up a ramp of ten degrees and half a metre down. Keep straight, fly, land.",
        "Which wheel lands first, and what could change that in flight?",
        "The front wheel: the frame turns while the rear wheel is still on the ramp. Braking a wheel "
        "in flight turns the frame the other way.",
        {"forward_speed": 8.0},
        commands={"speed": 8.0} | HELD,
        ground=lambda: ramp(math.radians(10.0), 0.5),
        place=on_face(-16.0, "ramp"),
    ),
    "kerb": Preset(
        "Kerb",
        "Five centimetres up at 4 m/s: each wheel loses energy at the edge.",
        "How much speed does the kerb take?",
        "Compare the energy before and after: each plastic impact takes the part of the motion that "
        "points into the edge.",
        {"forward_speed": 4.0},
        commands={"speed": 4.0} | HELD,
        ground=lambda: kerb(8.0, 0.05),
        place=on_face(0.0, "before"),
    ),
    "wheelie": Preset(
        "Wheelie with help",
        "Hold up: the drive raises the front wheel by 20 degrees and holds it there.",
        "Which torque lifts the front wheel?",
        "The one whose acceleration is g times the distance of the mass centre from the rear contact, "
        "by its height: some 112 N m for this bicycle.",
        {"forward_speed": 5.0},
        commands={"lean_help": 5.0},
        keys={"lift": math.radians(20.0)},
        fact=wheelie_fact,
        ground=plane,
        place=on_face(0.0, "ground"),
    ),
    "brake": Preset(
        "Braking until the rear wheel lifts",
        "Brake in front (B), with 300 N m: the rear wheel comes up. Let go before it turns over.",
        "At which deceleration does it lift?",
        "At g times (distance from the mass centre to the front contact) / (height of the mass "
        "centre), whatever the mass.",
        {"forward_speed": 8.0},
        commands={"lean_help": 5.0},
        keys={"front": 300.0},
        fact=brake_fact,
        ground=plane,
        place=on_face(0.0, "ground"),
    ),
}
"""The rides by name; the first is the one to begin with."""

GROUNDS = {
    "smooth": PRESETS["steer-torque"],
    "flat, wheels may lift": PRESETS["brake"],
    "ramp": PRESETS["ramp"],
    "kerb": PRESETS["kerb"],
}
"""Grounds by name, each with a ride on it."""


def on_ground(ride: Preset, name: str) -> Preset:
    """Return a ride on the ground of another one, begun at its place.

    >>> on_ground(preset("weave"), "kerb").place
    WheelPlace(wheel='rear', centre=[0.0, 0.0], on='before')
    """
    expect_known("no ground", name, GROUNDS, UnknownNameError)
    return replace(ride, ground=GROUNDS[name].ground, place=GROUNDS[name].place)


def ground_of(ride: Preset) -> str:
    """Return the name of a ride's ground; nothing where it is its own.

    >>> ground_of(preset("ramp")), ground_of(preset("wheelie"))
    ('ramp', 'flat, wheels may lift')
    """
    return next((n for n, other in GROUNDS.items() if other.ground is ride.ground), "")


def preset(name: str) -> Preset:
    """Return a ride by its name.

    >>> preset("weave").start["forward_speed"]
    3.5
    """
    expect_known("no ride", name, PRESETS, UnknownNameError)
    return PRESETS[name]


def preset_of(what: str) -> Preset:
    """Return the ride of a vehicle (by name, or FILE.py:function) or of a scenario of the kind run.

    >>> preset_of("rolling_disc").start
    {'forward_speed': 5.0}
    """
    lesson = "Push it (P), turn its joints (arrow keys)."
    if is_file(what) or what in names("vehicle"):
        outputs = [output.name for output in find("vehicle", what)().outputs]
        start = {"forward_speed": 5.0} if "forward_speed" in outputs else {}
        return Preset(what, lesson, "", "", start, commands=dict(HELD), vehicle=what)
    plan = load(what).plan
    if plan.scenario.kind != "run":
        raise ParameterError(f"{what} is of the kind {plan.scenario.kind!r}; only runs are ridden.")
    system, terrain, mu = plan.system, plan.terrain, plan.contact.mu
    return Preset(
        plan.scenario.title,
        plan.scenario.about.strip() or lesson,
        "",
        "",
        plan.start.values,
        commands={"lean_help": HELD["lean_help"]},
        vehicle=plan.scenario.vehicle.name,
        parameters=system.parameters | system.structure,
        ground=None if terrain is None else lambda: terrain,
        place=plan.start.place,
        mu=mu if isinstance(mu, float) else math.inf,
    )
