"""Rides to choose from, each with a lesson: what is ridden, how it starts and what helps."""

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Literal

from draisine.errors import ParameterError, UnknownNameError, expect_known
from draisine.model.quantity import number
from draisine.registry import find, is_file, names
from draisine.ride.limits import brake_limit, wheelie_limit
from draisine.scenario.library import load
from draisine.scenario.terrain import GROUND_TABLES as SHAPES
from draisine.scenario.terrain import WheelPlace
from draisine.terrain import Terrain

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

FACTS = {"brake": brake_fact, "wheelie": wheelie_fact}
"""What can stand beside a ride."""


def _presets() -> dict[str, Preset]:
    """Return the rides of the file `presets.toml`; those on the same ground share it."""
    text = files("draisine.ride").joinpath("presets.toml").read_text(encoding="utf-8")
    presets: dict[str, Preset] = {}
    grounds: dict[str, Callable[[], Terrain]] = {}
    for name, table in tomllib.loads(text).items():
        for key in {"start", "commands", "keys", "parameters"} & table.keys():
            table[key] = {word: number(value) for word, value in table[key].items()}
        if "ground" in table:
            ground: Any = SHAPES[table["ground"]["shape"]].model_validate(table["ground"])
            table["ground"] = grounds.setdefault(repr(ground), ground.terrain)
            table["place"] = WheelPlace.model_validate(table["place"])
        presets[name] = Preset(**table | {"fact": FACTS.get(table.get("fact", ""))})
    return presets


PRESETS = _presets()
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
        model = find("vehicle", what)()
        fast = any(output.name == "forward_speed" for output in model.outputs)
        lifts = any(wheel.flats for wheel in model.wheels)
        return Preset(
            what,
            lesson,
            "",
            "",
            {"forward_speed": 5.0} if fast else {},
            commands=dict(HELD),
            vehicle=what,
            ground=GROUNDS["flat, wheels may lift"].ground if lifts else None,
        )
    plan = load(what).plan
    if plan.scenario.kind != "run":
        raise ParameterError(f"{what} is of the kind {plan.scenario.kind!r}; only runs are ridden.")
    if plan.motion is not None:
        raise ParameterError(
            f"{what} starts in a steady motion (initial.steady). Rides start from values in [initial]."
        )
    system = plan.system
    terrain = plan.terrain
    mu = plan.contact.mu
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
