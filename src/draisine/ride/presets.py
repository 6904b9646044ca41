"""Predefined rides (presets), each with a lesson: vehicle, initial values, commands and texts.

The texts of the page in all its languages are in `page/words.js`.
"""

import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from draisine.errors import ParameterError, UnknownNameError, expect_known
from draisine.model.quantity import parse_number
from draisine.registry import find, is_file, names
from draisine.ride.limits import brake_limit, wheelie_limit
from draisine.scenario.library import load
from draisine.scenario.terrain import GROUND_TABLES as GROUND_SHAPES
from draisine.scenario.terrain import WheelPlace
from draisine.terrain import Terrain

SteeringCommand = Literal["torque", "angle", "lean"]
"""Quantity that the rider controls: steer torque, steer angle, or lean of the upper body."""


@cache
def page_words() -> dict[str, dict[str, str]]:
    """Return the texts of the page by key, then by language.

    >>> page_words()["weave.title"]["de"]
    'Pendeln'
    """
    text = files("draisine.ride").joinpath("page", "words.js").read_text(encoding="utf-8")
    table = text.partition("export const WORDS = ")[2].rstrip().rstrip(";")
    words: dict[str, dict[str, str]] = json.loads(table)
    return words


def ride_text(name: str, part: str) -> str:
    """Return a part of the English text of a preset (title, lesson, question, answer); "" if it has none."""
    return page_words().get(f"{name}.{part}", {}).get("en", "")


@dataclass(frozen=True)
class Preset:
    """A predefined ride."""

    title: str
    """Title of the ride on the page."""
    lesson: str
    """Instruction for the user."""
    question: str
    """Question to the user about the observed motion."""
    answer: str
    """Answer to the question about the observed motion."""
    start: Mapping[str, float]
    """Initial values of outputs by name, SI units."""
    way: SteeringCommand = "torque"
    """Quantity that the rider controls initially."""
    commands: dict[str, float] = field(default_factory=dict)
    """Initial commands of the rider by name."""
    keys: dict[str, float] = field(default_factory=dict)
    """Values that keyboard keys command, by key, if they differ from the defaults."""
    vehicle: str = "whipple"
    """Name of the vehicle, or FILE.py:function."""
    parameter_set: str | None = None
    """Name of the parameter set; None for the default parameters of the vehicle."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameter values that replace those of the parameter set."""
    ground: Callable[[], Terrain] | None = None
    """Function that returns the terrain; None for the ground plane."""
    place: WheelPlace | None = None
    """Initial position of a wheel on the terrain."""
    mu: float = math.inf
    """Friction coefficient of all contacts."""
    pace: float = 1.0
    """Time scale: simulated seconds per second of real time."""
    sticks: bool = False
    """Whether normal forces may be negative (wheels never lift off)."""
    shown: bool = False
    """Whether an automatic rider demonstrates the ride until the user steers."""
    task: bool = False
    """Whether the ride is a task that the page judges (`page/tasks.js`)."""
    fact: Callable[[Mapping[str, float]], tuple[float, float]] | None = None
    """Function from the parameters to the acceleration (m/s2) and torque (N m) in a displayed sentence."""
    rate: str | None = None
    """The user's equations of motion as FILE.py:function; None for those of the package."""

    @property
    def kind(self) -> tuple[object, ...]:
        """Key of the compiled code, which depends on vehicle, parameter set and ground."""
        return self.vehicle, self.parameter_set, self.ground


EASY_COMMANDS = {"hold": 1.0, "lean_help": 5.0}
"""Commands of an easy first ride: `hold` 1 = speed control on, `lean_help` = steer torque per lean rate
(N m s/rad), which steers into the fall.
"""

FACTS = {"brake": brake_limit, "wheelie": wheelie_limit}
"""Functions for `Preset.fact` by name."""


def _presets() -> dict[str, Preset]:
    """Read the presets of `presets.toml`; presets on equal ground share one terrain. Texts are English."""
    text = files("draisine.ride").joinpath("presets.toml").read_text(encoding="utf-8")
    presets: dict[str, Preset] = {}
    grounds: dict[str, Callable[[], Terrain]] = {}
    for name, table in tomllib.loads(text).items():
        for key in {"start", "commands", "keys", "parameters"} & table.keys():
            table[key] = {word: parse_number(value) for word, value in table[key].items()}
        if "ground" in table:
            ground: Any = GROUND_SHAPES[table["ground"]["shape"]].model_validate(table["ground"])
            table["ground"] = grounds.setdefault(repr(ground), ground.terrain)
            table["place"] = WheelPlace.model_validate(table["place"])
        texts = {part: ride_text(name, part) for part in ("title", "lesson", "question", "answer")}
        presets[name] = Preset(**table | texts | {"fact": FACTS.get(table.get("fact", ""))})
    return presets


PRESETS = _presets()
"""Presets by name, tasks last; the first one is the default."""

RIDE_GROUNDS = {
    "smooth": PRESETS["steer-torque"],
    "flat, wheels may lift": PRESETS["brake"],
    "slope": PRESETS["slope"],
    "hills": PRESETS["hills"],
    "ramp": PRESETS["ramp"],
    "kerb": PRESETS["kerb"],
}
"""Grounds that the page offers: name of the ground -> a preset whose ground and place are used."""


def on_ground(ride: Preset, name: str) -> Preset:
    """Return a preset on another ground, with the initial position of that ground.

    >>> on_ground(find_preset("weave"), "kerb").place
    WheelPlace(wheel='rear', centre=[0.0, 0.0], on='before')
    """
    expect_known("no ground", name, RIDE_GROUNDS, UnknownNameError)
    return replace(ride, ground=RIDE_GROUNDS[name].ground, place=RIDE_GROUNDS[name].place)


def ground_of(ride: Preset) -> str:
    """Return the name of the ground of a preset; "" if it is not in `RIDE_GROUNDS`.

    >>> ground_of(find_preset("ramp")), ground_of(find_preset("wheelie"))
    ('ramp', 'flat, wheels may lift')
    """
    return next((n for n, other in RIDE_GROUNDS.items() if other.ground is ride.ground), "")


def find_preset(name: str) -> Preset:
    """Return the preset with the given name; raise `UnknownNameError` if there is none.

    >>> find_preset("weave").start["forward_speed"]
    3.5
    """
    expect_known("no ride", name, PRESETS, UnknownNameError)
    return PRESETS[name]


def presets_with_rate(rate: str, name: str) -> dict[str, Preset]:
    """Return the presets that the user's own equations of motion can ride, by name.

    They are those of the benchmark bicycle on level ground. Only the preset `steer-lean` has a leaning upper
    body; it is offered alone, because the size of y must be the same in all rides of one function.

    Parameters
    ----------
    rate
        The user's function, as FILE.py:function.
    name
        Preset of the first ride.

    >>> list(presets_with_rate("mine.py:rate", "steer-angle"))[:6]
    ['steer-torque', 'steer-angle', 'self-stable', 'weave', 'fall', 'capsize']
    >>> list(presets_with_rate("mine.py:rate", "steer-lean"))
    ['steer-lean']
    """
    has_body = find_preset(name).way == "lean"
    rides = {
        key: replace(ride, rate=rate)
        for key, ride in PRESETS.items()
        if ride.ground is None and ride.parameter_set is None and not ride.parameters
        if (ride.way == "lean") == has_body
    }
    expect_known("no ride of the benchmark bicycle on level ground", name, rides, ParameterError)
    return rides


def make_preset(name: str) -> Preset:
    """Return a preset for a vehicle (name or FILE.py:function) or for a scenario of the kind `run`.

    >>> make_preset("rolling_disc").start
    {'forward_speed': 5.0}
    """
    lesson = page_words()["machine.lesson"]["en"]
    if is_file(name) or name in names("vehicle"):
        model = find("vehicle", name)()
        has_speed = any(output.name == "forward_speed" for output in model.outputs)
        lifts = any(wheel.flats for wheel in model.wheels)
        return Preset(
            name,
            lesson,
            "",
            "",
            {"forward_speed": 5.0} if has_speed else {},
            commands=dict(EASY_COMMANDS),
            vehicle=name,
            ground=RIDE_GROUNDS["flat, wheels may lift"].ground if lifts else None,
        )
    plan = load(name).plan
    if plan.scenario.kind != "run":
        raise ParameterError(
            f"{name} is a scenario of kind {plan.scenario.kind!r}; a ride needs the kind 'run'."
        )
    if plan.motion is not None:
        raise ParameterError(
            f"{name} starts in a steady motion (initial.steady); a ride needs values in [initial] instead."
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
        commands={"lean_help": EASY_COMMANDS["lean_help"]},
        vehicle=plan.scenario.vehicle.name,
        parameters=system.parameters | system.structure,
        ground=None if terrain is None else lambda: terrain,
        place=plan.start.place,
        mu=mu if isinstance(mu, float) else math.inf,
    )
