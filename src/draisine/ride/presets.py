"""Predefined rides (presets): vehicle, ground, initial values, commands, and the texts of a lesson.

`presets.toml` contains the values, `page/words.js` the texts in all languages of the page.
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
"""Quantity by which the rider steers: steer torque, steer angle, or lean angle of the upper body."""


@cache
def page_words() -> dict[str, dict[str, str]]:
    """Return the texts of the page as nested dictionaries: key of the text, then code of the language.

    >>> page_words()["weave.title"]["de"]
    'Pendeln'
    """
    text = files("draisine.ride").joinpath("page", "words.js").read_text(encoding="utf-8")
    table = text.partition("export const WORDS = ")[2].rstrip().rstrip(";")
    words: dict[str, dict[str, str]] = json.loads(table)
    return words


def ride_text(name: str, part: str) -> str:
    """Return an English text of the preset `name`; an empty string if the preset has no such text.

    `part` is "title", "lesson", "question" or "answer".
    """
    return page_words().get(f"{name}.{part}", {}).get("en", "")


@dataclass(frozen=True)
class Preset:
    """A predefined ride: vehicle, ground, initial values, commands and texts of its lesson."""

    title: str
    """Title of the ride on the page."""
    lesson: str
    """Text that tells the user what to try during the ride."""
    question: str
    """Question to the user about the observed motion; may be empty."""
    answer: str
    """Answer to `question`, which the page shows on request; may be empty."""
    start: Mapping[str, float]
    """Initial values of outputs by name (for example `forward_speed`), SI units."""
    way: SteeringCommand = "torque"
    """Quantity by which the rider steers at the start of the ride."""
    commands: dict[str, float] = field(default_factory=dict)
    """Initial commands of the rider by name, see `Rider.commands`."""
    keys: dict[str, float] = field(default_factory=dict)
    """Command values of keyboard keys by key; keys that are not listed have their default values."""
    vehicle: str = "whipple"
    """Name of the vehicle, or FILE.py:function."""
    parameter_set: str | None = None
    """Name of the parameter set of the vehicle; None for its default parameters."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameter values by name (SI units) that replace values of the parameter set."""
    ground: Callable[[], Terrain] | None = None
    """Function without arguments that returns the terrain; None for the ground plane."""
    place: WheelPlace | None = None
    """Initial position of a wheel on the terrain; None on the ground plane."""
    mu: float = math.inf
    """Friction coefficient of all contacts."""
    pace: float = 1.0
    """Initial time scale: simulated seconds per second of real time."""
    sticks: bool = False
    """Whether contacts are bilateral: normal forces may be negative, and wheels never lift off."""
    shown: bool = False
    """Whether an automatic rider demonstrates the ride until the user steers."""
    task: bool = False
    """Whether the ride is a task whose result the page assesses (`page/tasks.js`)."""
    fact: Callable[[Mapping[str, float]], tuple[float, float]] | None = None
    """Function from the parameters by name to the lift-off limit that the page displays: acceleration (m/s2)
    and torque (N m), see `limits`; None without such a limit.
    """
    rate: str | None = None
    """The user's own equations of motion as "FILE.py:function"; None for the equations of the package."""

    @property
    def kind(self) -> tuple[object, ...]:
        """Key of the compiled code: presets with equal vehicle, parameter set and ground share their code."""
        return self.vehicle, self.parameter_set, self.ground


EASY_COMMANDS = {"hold": 1.0, "lean_help": 5.0}
"""Commands that make a first ride easy. `hold` = 1 switches the speed control on. `lean_help` is the gain
from lean rate to steer torque (N m s/rad), which steers into a fall.
"""

FACTS = {"brake": brake_limit, "wheelie": wheelie_limit}
"""Functions for the field `Preset.fact`, by the names that `presets.toml` uses."""


def _presets() -> dict[str, Preset]:
    """Read all presets of `presets.toml` with their English texts.

    Presets on equal ground share one terrain function, so that they share compiled code.
    """
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
"""Predefined rides by name, with the tasks at the end. The first one is the default ride."""

RIDE_GROUNDS = {
    "smooth": PRESETS["steer-torque"],
    "flat, wheels may lift": PRESETS["brake"],
    "slope": PRESETS["slope"],
    "hills": PRESETS["hills"],
    "ramp": PRESETS["ramp"],
    "kerb": PRESETS["kerb"],
}
"""Presets that define the grounds that the page offers: each name of a ground maps to a preset, of which only
`ground` and `place` are used.
"""


def on_ground(ride: Preset, name: str) -> Preset:
    """Return a copy of a preset on the ground `name`, which also determines the initial wheel position.

    >>> on_ground(find_preset("weave"), "kerb").place
    WheelPlace(wheel='rear', centre=[0.0, 0.0], on='before')
    """
    expect_known("no ground", name, RIDE_GROUNDS, UnknownNameError)
    return replace(ride, ground=RIDE_GROUNDS[name].ground, place=RIDE_GROUNDS[name].place)


def ground_of(ride: Preset) -> str:
    """Return the name of the ground of a preset; an empty string if `RIDE_GROUNDS` does not contain it.

    >>> ground_of(find_preset("ramp")), ground_of(find_preset("wheelie"))
    ('ramp', 'flat, wheels may lift')
    """
    return next((n for n, other in RIDE_GROUNDS.items() if other.ground is ride.ground), "")


def find_preset(name: str) -> Preset:
    """Return the predefined ride with the given name.

    Parameters
    ----------
    name
        Name of the ride, see `PRESETS`.

    Returns
    -------
    Preset
        The ride.

    Raises
    ------
    UnknownNameError
        If no predefined ride has this name.

    Examples
    --------
    >>> find_preset("weave").start["forward_speed"]
    3.5
    """
    expect_known("no ride", name, PRESETS, UnknownNameError)
    return PRESETS[name]


def presets_with_rate(rate: str, name: str) -> dict[str, Preset]:
    """Return the presets for rides with the user's own equations of motion, by name.

    These are the rides of the benchmark bicycle on level ground. If the first ride is `steer-lean`, it is the
    only one: its bicycle has a leaning upper body, and the size of the state y must not change between rides.

    Parameters
    ----------
    rate
        The user's function, as "FILE.py:function".
    name
        Name of the preset of the first ride.

    Returns
    -------
    dict
        Presets with the field `rate` set, by name.

    Raises
    ------
    ParameterError
        If the first ride is not a ride of the benchmark bicycle on level ground.

    Examples
    --------
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
    """Make a preset for a vehicle, or for a scenario of the kind `run`.

    Parameters
    ----------
    name
        Name of a vehicle or of a scenario, or "FILE.py:function" of the user's own vehicle.

    Returns
    -------
    Preset
        Ride of the vehicle, or with the vehicle, the terrain and the initial values of the scenario.

    Raises
    ------
    ParameterError
        If the scenario is not a run, or starts in a steady motion.

    Examples
    --------
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
