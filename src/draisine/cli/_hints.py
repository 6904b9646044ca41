"""Suggestions for wrong command lines: unknown commands and options, missing or repeated values."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise, takewhile
from pathlib import Path

from cyclopts import CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError
from cyclopts.exceptions import CoercionError, RepeatArgumentError

from draisine.cli._options import OPTION_EXAMPLES
from draisine.errors import SUGGESTED_NAMES, DraisineError, ParameterError, did_you_mean
from draisine.registry import ALIASES, ROBOT_SUFFIXES, names

COMMAND_SYNONYMS = {
    "eigenvalues": "critical critical-speeds modes stability linearise linearize linear weave",
    "eigenvalues segway --law lqr": "lqr control controller balance stabilise stabilize",
    "run": "simulate sim start integrate",
    "run ramp-jump --show": "jump leap",
    "steady --speed 5 --radius 20": "turn turns circle circles corner",
    "animate": "film movie video replay",
    "plot": "figure figures draw picture",
    "show": "info describe vehicle machine parameters drawing",
    "explore": "sliders interactive",
    "list": "vehicles scenarios sets terrains laws machines search find",
    "new": "create init template model",
    "new vehicle robot --from FILE.urdf": "import urdf mjcf robot read load",
    "export": "fmu fmi simulink rosbag bag mcap",
    "ride": "play game drive",
    "ros": "ros2 rviz node",
    "check": "test validate verify",
    "identify": "fit estimate calibrate identification",
    "equations": "derive latex code paper",
    "sweep": "study vary scan",
    "torques": "forces inverse",
    "--version": "version",
}
"""Words (separated by spaces) that users type instead of a command: correct command line -> words."""

COMMANDS_FOR_FILES = {
    ".toml": "run FILE",
    ".nc": "plot FILE",
    ".zarr": "plot FILE",
    ".html": "open FILE",
    ".png": "open FILE",
    ".jpg": "open FILE",
    ".svg": "open FILE",
    ".gif": "open FILE",
} | dict.fromkeys(ROBOT_SUFFIXES, "new vehicle STEM --from FILE")
"""Command line that uses a file as input, by suffix of the file."""

COMMAND_EXAMPLES = {
    "animate": "animate run.nc --out run.html",
    "compare": "compare a.nc b.nc",
    "export": "export whipple bicycle.fmu",
    "identify": "identify ride.csv --unknowns c,lean_rate",
    "new": "new vehicle scooter, new scenario push, new sweep study",
    "open": "open jump.html",
    "plot": "plot run.nc --figure top",
    "ros": "ros differential_platform",
    "show": "show whipple",
    "sweep": "sweep study.toml",
    "torques": "torques run.nc",
}
"""Example of a complete command line for each command with required arguments."""

COMMON_OPTION_SYNONYMS = {"o": "--out VALUE", "output": "--out VALUE", "save": "--out VALUE"}
"""Options that all commands share, by the words that users type instead of them."""

OPTION_SYNONYMS = {
    "run": {
        "terrain": "--set terrain.shape=VALUE",
        "ground": "--set terrain.shape=VALUE",
        "slope": "--set terrain.slope=VALUE",
        "time": "--until VALUE",
        "t": "--until VALUE",
        "duration": "--until VALUE",
        "end": "--until VALUE",
        "friction": "--mu VALUE",
        "step": "--dt VALUE",
        "timestep": "--dt VALUE",
        "steps": "--dt SECONDS",
        "fps": "draisine animate run.nc --fps VALUE",
        "method": "--integrator VALUE",
        "solver": "--set contact.solver=VALUE",
        "figure": "--plot VALUE",
        "parameters": "--parameter-set VALUE",
        "vehicle": "draisine new scenario mine --vehicle VALUE",
        "controller": "--law VALUE",
        "push": "--initial lean_rate=VALUE",
        "torque": "--input steer=VALUE",
        "steer_torque": "--input steer=VALUE",
        "csv": "--out VALUE",
        "slow": "draisine animate run.nc --speed VALUE",
        "open": "--show",
    }
    | dict.fromkeys(("gif", "html", "video", "film", "movie", "animation"), "--animate VALUE"),
    "eigenvalues": dict.fromkeys(
        ("v", "velocity", "speeds", "at", "forward_speed"), "--speed VALUE"
    ),
    "steady": dict.fromkeys(("v", "velocity", "forward_speed"), "--speed VALUE")
    | {"r": "--radius VALUE", "roll": "--lean VALUE"},
    "equations": {
        "format": "--as VALUE",
        "language": "--as VALUE",
        "simulator": "--program simulate",
    }
    | {name: f"--as {name}" for name in ("c", "html", "latex", "python", "javascript", "sympy")},
    "plot": dict.fromkeys(("quantity", "quantities", "variable", "variables"), "--series VALUE")
    | {"type": "--figure VALUE", "kind": "--figure VALUE"},
    "ride": {"scenario": "draisine ride VALUE", "vehicle": "draisine ride VALUE"},
}
"""Options of a command by the words that users type instead of them: command -> word -> option."""

LIST_OPTIONS = ("--figure", "--series", "--speed", "--unknowns", "--outputs", "--offsets")
"""Options that accept several values, separated by commas."""

EXPORT_FORMATS = {
    "fmu": "--as fmi3, which is the default",
    "fmi": "--as fmi3, which is the default",
    "mcap": "--as rosbag, which writes the format MCAP",
    "ros": "--as rosbag for a result, or draisine ros VEHICLE",
    "matlab": "--as simulink, or draisine equations VEHICLE --as matlab --out FILE.m",
    "jax": "draisine equations VEHICLE --as jax --out FILE.py",
    "c": "draisine equations VEHICLE --program simulate --out FOLDER",
    "javascript": "draisine equations VEHICLE --as javascript --program simulate --out FOLDER",
    "casadi": "draisine.interop.casadi in Python",
    "gymnasium": "draisine.interop.gymnasium in Python",
}
"""Advice for formats that the command `export` does not write, by name of the format."""


def suggest_command(arguments: Sequence[str], known: Iterable[str]) -> str:
    """Return a suggestion for a command line whose first word is not a command, or "".

    >>> suggest_command(["linearise", "segway"], []), suggest_command(["ramp-jump"], [])
    ('Did you mean draisine eigenvalues segway?', 'Did you mean draisine run ramp-jump?')
    >>> suggest_command(["rover.urdf"], [])
    'Did you mean draisine new vehicle rover --from rover.urdf?'
    """
    from draisine.scenario.library import scenarios

    word = arguments[0]
    file = Path(word)
    command = next((c for c, words in COMMAND_SYNONYMS.items() if word in words.split()), "")
    if command and " " not in command:
        command = " ".join([command, *arguments[1:]])
    elif command and arguments[1:]:
        command = command.replace("FILE.urdf", arguments[1]).replace("segway", arguments[1])
    elif word in names("vehicle") or ("vehicle", word) in ALIASES:
        command = f"show {word}"
    elif any(word in (name, name.rpartition("/")[2]) for name in scenarios()):
        command = f"run {word}"
    elif file.suffix in COMMANDS_FOR_FILES:
        command = COMMANDS_FOR_FILES[file.suffix].replace("FILE", word).replace("STEM", file.stem)
    return f"Did you mean draisine {command}?" if command else did_you_mean(word, known)


def check_separators(arguments: Sequence[str]) -> None:
    """Raise an error if several values of one option are separated by spaces.

    Cyclopts would interpret the second value as an argument and report a misleading error.
    """
    for option, value, following in zip(arguments, arguments[1:], arguments[2:], strict=False):
        are_assignments = "=" in value and "=" in following and not following.startswith("-")
        if option in ("--initial", "--set", "--mode") and are_assignments:
            raise ParameterError(
                f"Repeat {option} for each value: {option} {value} {option} {following}"
            )
    after = list(arguments[arguments.index("--speed") + 1 :]) if "--speed" in arguments else []
    speeds = list(takewhile(lambda x: x.replace(".", "", 1).isdigit(), after))
    if len(speeds) > 1:
        raise ParameterError(f"Separate the speeds by commas: --speed {','.join(speeds)}")


def explain_error(error: CycloptsError, arguments: Sequence[str]) -> str:
    """Return the message of a command line error with a suggestion."""
    command = arguments[0]
    if (
        command == "new"
        and len(arguments) == 2
        and arguments[1] not in ("vehicle", "scenario", "sweep")
    ):
        name = Path(arguments[1]).stem
        return f"Did you mean draisine new vehicle {name}, or draisine new scenario {name}?"
    match error:
        case UnknownOptionError():
            return _suggest_option(error, arguments) or str(error)
        case MissingArgumentError() if arguments[-1] in OPTION_EXAMPLES:
            return f"{arguments[-1]} needs a value, for example {OPTION_EXAMPLES[arguments[-1]]}"
        case MissingArgumentError() if command in COMMAND_EXAMPLES:
            return (
                f"{command} needs more arguments, for example draisine {COMMAND_EXAMPLES[command]}"
            )
        case CoercionError() if command == "export" and arguments[-1] in EXPORT_FORMATS:
            right = EXPORT_FORMATS[arguments[-1]].replace("VEHICLE", arguments[1])
            return f"{error} Did you mean {right}?"
        case RepeatArgumentError() if (option := error.token.keyword or "") in LIST_OPTIONS:
            values = [value for word, value in pairwise(arguments) if word == option]
            return f"Separate several values by commas: {option} {','.join(values)}"
        case RepeatArgumentError() if error.token.keyword == "--animate":
            return (
                "A run writes one animation. Store the run with --out run.nc and write further "
                "animations with draisine animate run.nc --out FILE"
            )
        case UnusedCliTokensError() if command == "new" and len(arguments) > 3:
            return f"Did you mean draisine {' '.join(arguments[:3])} --from {arguments[3]}?"
    return str(error)


def _suggest_option(error: UnknownOptionError, arguments: Sequence[str]) -> str:
    """Return the error message for an unknown option with a suggested option, or "" if none is known."""
    command = arguments[0]
    option = str(error.token.keyword or error.token.value).partition("=")[0]
    name = option.lstrip("-").replace("-", "_")
    value = _find_option_value(option, arguments) or "VALUE"
    # A plain number after --slope is most likely an angle in degrees.
    if name == "slope" and value.replace(".", "", 1).lstrip("+-").isdigit():
        value += "deg"
    right = (COMMON_OPTION_SYNONYMS | OPTION_SYNONYMS.get(command, {})).get(name, "")
    if command == "run" and not right:
        right = _suggest_run_option(name, arguments)
    elif command == "plot" and name in ("x", "y", "xy"):
        right = _suggest_series(arguments)
    elif command == "list":
        right = f"draisine list {name}"
    elif option in ("-v", "-V") and not right:
        right = "--version"
    if command == "run" and name == "vehicle" and not arguments[1].startswith("-"):
        right += f" --from {arguments[1]}"
    right = right.replace("VALUE", value)
    return right and f"Unknown option: {option}. Did you mean {right}?"


def _suggest_run_option(name: str, arguments: Sequence[str]) -> str:
    """Return the option of `run` that sets an initial value, a parameter, or a ground dimension, or "".

    >>> _suggest_run_option("v", ["run", "--v", "5"]), _suggest_run_option("mB", ["run", "--mB", "9"])
    ('--initial forward_speed=VALUE', '--set mB=VALUE')
    """
    from draisine.model.names import SYNONYMS, state_units
    from draisine.scenario.library import DEFAULT_SCENARIO, load

    has_scenario = len(arguments) > 1 and not arguments[1].startswith("-")
    with suppress(DraisineError):
        loaded = load(arguments[1] if has_scenario else DEFAULT_SCENARIO)
        system = loaded.plan.system
        quantities = state_units(system.model)
        for quantity in (name, SYNONYMS.get(name), _find_synonym(name)):
            if quantity in quantities:
                return f"--initial {quantity}=VALUE"
        if name in system.parameters:
            return f"--set {name}=VALUE"
        dimensions = getattr(type(getattr(loaded.scenario, "terrain", None)), "model_fields", {})
        for dimension in (name, _find_synonym(name)):
            if dimension in dimensions:
                return f"--set terrain.{dimension}=VALUE"
    return ""


def _find_synonym(name: str) -> str:
    """Return the draisine name of a quantity (or its rate) that other programs name differently."""
    quantity = name.removesuffix("_rate")
    return SUGGESTED_NAMES.get(quantity, quantity) + name.removeprefix(quantity)


def _suggest_series(arguments: Sequence[str]) -> str:
    """Return the options of `plot` that draw one quantity over time or over another quantity.

    >>> _suggest_series(["plot", "run.nc", "--x", "time", "--y", "lean"])
    '--series lean'
    >>> _suggest_series(["plot", "run.nc", "--x", "lean", "--y", "steer"])
    '--figure phase --series lean,steer'
    """
    x = _find_option_value("--x", arguments)
    y = _find_option_value("--y", arguments) or _find_option_value("--xy", arguments) or "lean"
    if x in ("", "t", "time"):
        return f"--series {y}"
    return f"--figure phase --series {x},{y}"


def _find_option_value(option: str, arguments: Sequence[str]) -> str:
    """Return the value of an option in a command line; "" if the option is missing.

    >>> _option_value("--time", ["run", "--time=3"]), _option_value("--time", ["run", "--time", "3"])
    ('3', '3')
    """
    for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
        name, sign, value = word.partition("=")
        if name == option:
            return value if sign else "" if following.startswith("-") else following
    return ""
