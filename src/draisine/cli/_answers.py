"""What people may mean by what is no command, no option, or not enough of one."""

from collections.abc import Iterable, Sequence
from itertools import pairwise, takewhile
from pathlib import Path

from cyclopts import CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError
from cyclopts.exceptions import CoercionError, RepeatArgumentError

from draisine.cli._options import EXAMPLES as VALUES
from draisine.errors import ParameterError, did_you_mean
from draisine.registry import ALIASES, ROBOT_SUFFIXES, names

COMMANDS = {
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
    "export": "fmu fmi simulink",
    "ride": "play game drive",
    "check": "test validate verify",
    "identify": "fit estimate calibrate identification",
    "equations": "derive latex code paper",
    "sweep": "study vary scan",
    "torques": "forces inverse",
    "--version": "version",
}
"""What people may mean by words that are no commands."""

FILES = {
    ".toml": "run FILE",
    ".nc": "plot FILE",
    ".zarr": "plot FILE",
    ".html": "open FILE",
    ".png": "open FILE",
    ".jpg": "open FILE",
    ".svg": "open FILE",
    ".gif": "open FILE",
} | dict.fromkeys(ROBOT_SUFFIXES, "new vehicle STEM --from FILE")
"""What people may want with a file, by its ending."""

EXAMPLES = {
    "animate": "animate run.nc --out run.html",
    "compare": "compare a.nc b.nc",
    "export": "export whipple bicycle.fmu",
    "identify": "identify ride.csv --unknowns c,lean_rate",
    "new": "new vehicle scooter, new scenario push, new sweep study",
    "open": "open jump.html",
    "plot": "plot run.nc --figure top",
    "show": "show whipple",
    "sweep": "sweep study.toml",
    "torques": "torques run.nc",
}
"""How commands look that say of themselves what they are about."""

ANYWHERE = {"o": "--out VALUE", "output": "--out VALUE", "save": "--out VALUE"}

OPTIONS = {
    "run": {
        "terrain": "--set terrain.shape=VALUE",
        "ground": "--set terrain.shape=VALUE",
        "slope": "--set terrain.slope=VALUE",
        "time": "--until VALUE",
        "t": "--until VALUE",
        "duration": "--until VALUE",
        "friction": "--mu VALUE",
        "figure": "--plot VALUE",
        "parameters": "--parameter-set VALUE",
        "vehicle": "draisine new scenario mine --vehicle VALUE",
        "controller": "--law VALUE",
        "push": "--initial lean_rate=VALUE",
        "csv": "--out VALUE",
        "slow": "draisine animate run.nc --speed VALUE",
        "open": "--show",
    }
    | dict.fromkeys(("gif", "html", "video", "film", "movie", "animation"), "--animate VALUE"),
    "eigenvalues": {"v": "--speed VALUE", "velocity": "--speed VALUE", "speeds": "--speed VALUE"},
    "equations": {
        "format": "--as VALUE",
        "language": "--as VALUE",
        "simulator": "--program simulate",
    }
    | {name: f"--as {name}" for name in ("c", "html", "latex", "python", "javascript", "sympy")},
}
"""What people may mean by words that are no options, by command."""

SEVERAL = ("--figure", "--series", "--speed", "--unknowns", "--outputs", "--offsets")
"""Options that take several values with commas between them."""

EXPORTS = {
    "fmu": "--as fmi3, as without --as",
    "fmi": "--as fmi3, as without --as",
    "matlab": "--as simulink, or draisine equations VEHICLE --as matlab --out FILE.m",
    "jax": "draisine equations VEHICLE --as jax --out FILE.py",
    "c": "draisine equations VEHICLE --program simulate --out FOLDER",
    "javascript": "draisine equations VEHICLE --as javascript --program simulate --out FOLDER",
    "casadi": "draisine.interop.casadi in Python",
    "gymnasium": "draisine.interop.gymnasium in Python",
}
"""What people may mean by formats that `export` does not write."""


def meant_command(given: Sequence[str], known: Iterable[str]) -> str:
    """Return what to type in place of a command line whose first word is no command.

    >>> meant_command(["linearise", "segway"], []), meant_command(["ramp-jump"], [])
    ('Did you mean draisine eigenvalues segway?', 'Did you mean draisine run ramp-jump?')
    >>> meant_command(["rover.urdf"], [])
    'Did you mean draisine new vehicle rover --from rover.urdf?'
    """
    from draisine.scenario.library import scenarios

    word, file = given[0], Path(given[0])
    meant = next((right for right, words in COMMANDS.items() if word in words.split()), "")
    if meant and " " not in meant:
        meant = " ".join([meant, *given[1:]])
    elif meant and given[1:]:
        meant = meant.replace("FILE.urdf", given[1]).replace("segway", given[1])
    elif word in names("vehicle") or ("vehicle", word) in ALIASES:
        meant = f"show {word}"
    elif any(word in (name, name.rpartition("/")[2]) for name in scenarios()):
        meant = f"run {word}"
    elif file.suffix in FILES:
        meant = FILES[file.suffix].replace("FILE", word).replace("STEM", file.stem)
    return f"Did you mean draisine {meant}?" if meant else did_you_mean(word, known)


def check_several(given: Sequence[str]) -> None:
    """Refuse several numbers after `--speed` with spaces between them, and several values after one
    option that takes one.
    """
    for option, value, following in zip(given, given[1:], given[2:], strict=False):
        both = "=" in value and "=" in following and not following.startswith("-")
        if option in ("--initial", "--set", "--mode") and both:
            raise ParameterError(
                f"each value has an option of its own: {option} {value} {option} {following}"
            )
    after = list(given[given.index("--speed") + 1 :]) if "--speed" in given else []
    several = list(takewhile(lambda x: x.replace(".", "", 1).isdigit(), after))
    if len(several) > 1:
        told = ",".join(several)
        raise ParameterError(f"several speeds have commas between them: --speed {told}")


def meant(error: CycloptsError, given: Sequence[str]) -> str:
    """Return an error in words that lead on."""
    command = given[0]
    if command == "new" and len(given) == 2 and given[1] not in ("vehicle", "scenario", "sweep"):
        name = Path(given[1]).stem
        return f"Did you mean draisine new vehicle {name}, or draisine new scenario {name}?"
    match error:
        case UnknownOptionError():
            return _meant_option(error, given) or str(error)
        case MissingArgumentError() if given[-1] in VALUES:
            return f"{given[-1]} wants a value, as in {VALUES[given[-1]]}"
        case MissingArgumentError() if command in EXAMPLES:
            return f"there is more to say, as in draisine {EXAMPLES[command]}"
        case CoercionError() if command == "export" and given[-1] in EXPORTS:
            right = EXPORTS[given[-1]].replace("VEHICLE", given[1])
            return f"{error} Did you mean {right}?"
        case RepeatArgumentError() if (option := error.token.keyword or "") in SEVERAL:
            values = [value for word, value in pairwise(given) if word == option]
            return f"several have commas between them: {option} {','.join(values)}"
        case RepeatArgumentError() if error.token.keyword == "--animate":
            return "a run makes one film; draisine animate run.nc --out FILE makes others of its --out run.nc"
        case UnusedCliTokensError() if command == "new" and len(given) > 3:
            return f"Did you mean draisine {' '.join(given[:3])} --from {given[3]}?"
    return str(error)


def _meant_option(error: UnknownOptionError, given: Sequence[str]) -> str:
    """Return what was meant by an option that a command has not; an initial value, perhaps."""
    from draisine.model.names import SYNONYMS

    command = given[0]
    option = str(error.token.keyword or error.token.value).partition("=")[0]
    name = option.lstrip("-").replace("-", "_")
    right = (ANYWHERE | OPTIONS.get(command, {})).get(name, "")
    if command == "run" and name in ("speed", "forward_speed", "lean", "steer", "yaw", "pitch"):
        right = f"--initial {SYNONYMS.get(name, name)}=VALUE"
    elif command == "list":
        right = f"draisine list {name}"
    elif option in ("-v", "-V") and not right:
        right = "--version"
    if command == "run" and name == "vehicle" and not given[1].startswith("-"):
        right += f" --from {given[1]}"
    value = _value(option, given) or "VALUE"
    if name == "slope" and value.replace(".", "", 1).lstrip("+-").isdigit():
        value += "deg"
    right = right.replace("VALUE", value)
    return right and f"Unknown option: {option}. Did you mean {right}?"


def _value(option: str, given: Sequence[str]) -> str:
    """Return what stands behind an option.

    >>> _value("--time", ["run", "--time=3"]), _value("--time", ["run", "--time", "3"])
    ('3', '3')
    """
    for word, following in zip(given, [*given[1:], ""], strict=True):
        name, sign, value = word.partition("=")
        if name == option:
            return value if sign else "" if following.startswith("-") else following
    return ""
