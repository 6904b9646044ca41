"""Scenarios by name or file: those that ship with the package, a user's own, and those inside
results.
"""

import json
import os
import re
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import DataError, UnknownNameError, check_file, did_you_mean
from draisine.registry import (
    ALIASES,
    check_trust,
    find,
    is_file,
    is_parameter_file,
    is_robot,
    names,
)
from draisine.scenario.overrides import is_measured, override, sides, unused_tolerances

if TYPE_CHECKING:
    from draisine.scenario.plan import Plan
    from draisine.scenario.schema import Scenario
    from draisine.system.system import System

FILES = ("file", "name", "path", "parameter_set", "impact", "integrator", "formulation")
"""The keys that may name a file beside the scenario's."""


FIRST = "mauny2018/passive-stabilisation"
"""What is run when nothing else is asked for."""

MOTIONS = ("run", "cycle")
"""The kinds of scenarios that are motions."""


@dataclass(frozen=True)
class Loaded:
    """A scenario that was read and found right: its name, its file, what it says and means."""

    name: str
    file: str
    content: dict[str, Any]
    plan: "Plan"

    @property
    def scenario(self) -> "Scenario":
        """The tables of the file."""
        return self.plan.scenario

    @property
    def text(self) -> str:
        """The content as one line of JSON, from which it can be loaded again."""
        return json.dumps({"name": self.name, "content": self.content})


def scenarios() -> tuple[str, ...]:
    """Return the names of all scenarios that ship with the package.

    >>> "mauny2018/passive-stabilisation" in scenarios()
    True
    """
    return tuple(sorted(_shipped()))


def named_together(where: str) -> tuple[str, ...]:
    """Return the names of all scenarios in a folder (of the whole library: ""), or of the one.

    >>> named_together("meijaard2007"), named_together("ramp-jump")
    (('meijaard2007/eigenvalues', 'meijaard2007/matrices'), ('mauny2018/ramp-jump',))
    """
    folder = where.rstrip("/") + "/" if where else ""
    inside = tuple(name for name in scenarios() if name.startswith(folder))
    called = tuple(n for n in scenarios() if n.rpartition("/")[2] == where.replace("_", "-"))
    return inside or (called if len(called) == 1 else (where,))


def titles() -> dict[str, tuple[str, str]]:
    """Return kind and title of every scenario that ships with the package."""
    found = {}
    for name, file in sorted(_shipped().items()):
        head = re.split(r"^\[", file.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
        content = tomllib.loads(head)
        found[name] = (str(content.get("kind")), str(content.get("title")))
    return found


MOST = 3
"""No more changes than this are told one by one."""


def load(
    where: str,
    changes: Mapping[str, Any] | None = None,
    trust: bool = False,
) -> Loaded:
    """Return a scenario by name, by its TOML file, or as a result (.nc, .zarr) carries it. The last
    part of a name is enough where it stands once: "ramp-jump". A vehicle stands for a scenario of its
    own, or for a first run of it.

    `changes` are values by key path ("run.until", "vehicle.parameters.mB"). Numbers that were
    expected of the scenario as published do not hold after a change and are left out, measured ones
    are not judged any more, and its title tells what was changed. Code that a result names is run only
    if you `trust` it.
    """
    name, file, content = _content(where, trust, changes or {})
    if changes:
        if "terrain.shape" in changes:
            from draisine.scenario.terrain import change_shape

            content = change_shape(content, changes)
        for given, value in unused_tolerances(content, changes).items():
            warnings.warn(
                f"run.{given} = {value:g} of the scenario is left out: {changes['run.integrator']} takes "
                "equal steps.",
                stacklevel=2,
            )
        content = override(content, _titled(name, changes) | dict(changes))
    return accept(name, file, content)


def _titled(name: str, changes: Mapping[str, Any]) -> dict[str, str]:
    """Return the title of a scenario of which something was changed, but for how it is computed: what
    it was called may not be true any more.

    >>> _titled("mauny2018/ramp-jump", {"terrain.slope": "12deg", "run.dt": 0.1})
    {'title': 'ramp-jump with slope = 12deg'}
    """
    told = [
        _short(short, changes[path])
        for path, short in sides(changes).items()
        if not path.startswith("run.") or path.startswith("run.mode.")
    ]
    return {"title": f"{name.rpartition('/')[2]} with {few(told)}"} if told else {}


def few(told: Sequence[str]) -> str:
    """Return what is told one after the other, but not more than fits into a line.

    >>> few(["a = 1", "b = 2"]), few(["a = 1", "b = 2", "c = 3", "d = 4", "e = 5"])
    ('a = 1, b = 2', 'a = 1, b = 2, c = 3 and 2 more')
    """
    more = len(told) - MOST
    return ", ".join(told[:MOST]) + (f" and {more} more" if more > 0 else "")


def _short(name: str, value: Any) -> str:
    """Return a change in few words: a file and a table by their names alone.

    >>> _short("mB", 90.0), _short("parameter_set", "bicycles/mine.txt"), _short("law", [])
    ('mB = 90', 'mine.txt', 'law')
    """
    if isinstance(value, list | dict):
        return name
    if isinstance(value, str) and is_parameter_file(value):
        return Path(value).name
    return f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"


def accept(name: str, file: str, content: dict[str, Any]) -> Loaded:
    """Return the content of a scenario that was found right, or tell all its mistakes."""
    from draisine.scenario.validate.mistakes import Mistakes
    from draisine.scenario.validate.scenario import read_scenario

    mistakes = Mistakes()
    plan = read_scenario(content, mistakes)
    mistakes.check(file)
    assert plan is not None
    return Loaded(name, file, _with_values(content, plan), plan)


def _with_values(content: dict[str, Any], plan: "Plan") -> dict[str, Any]:
    """Return the content of a scenario with the numbers of its parameter file in place of that file:
    what is kept with a result does not need it again.
    """
    named = plan.scenario.vehicle.parameter_set
    if not isinstance(named, str) or not is_parameter_file(named):
        return content
    from draisine.vehicles.bicycle import BENCHMARK

    values = {n: x for n, x in plan.system.parameters.items() if n in BENCHMARK}
    return content | {"vehicle": content["vehicle"] | {"parameter_set": values}}


def _content(
    where: str, trust: bool, changes: Mapping[str, Any]
) -> tuple[str, str, dict[str, Any]]:
    path = Path(where)
    if path.suffix in (".nc", ".zarr"):
        return _inside(path, trust)
    if path.suffix == ".toml":
        return path.stem, where, _anchored(_parsed(where, _text(path)), path.parent)
    if _is_vehicle(where):
        return _first_of(where, changes)
    name, text = _named(where)
    return name, f"{name}.toml", _parsed(name, text)


def _is_vehicle(where: str) -> bool:
    """Return whether a name stands for a vehicle that is to move: no scenario with a motion is called so.

    >>> _is_vehicle("car"), _is_vehicle("unicycle"), _is_vehicle("segway")
    (True, True, False)
    """
    if is_file(where):
        return True
    if ALIASES.get(("vehicle", where), where) not in names("vehicle"):
        return False
    called = [n for n in scenarios() if n.rpartition("/")[2] == where.replace("_", "-")]
    return all(_shipped_content(name)["kind"] not in MOTIONS for name in called)


def _first_of(where: str, changes: Mapping[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return a scenario of a vehicle, or else a first run of it; a note tells which, and what of its start
    is kept beside the initial values that are changed.
    """
    vehicle = ALIASES.get(("vehicle", where), where)
    known = motions_of(vehicle)
    way = f"`draisine new scenario mine --vehicle {where}` writes a run of your own"
    if known:
        name = FIRST if FIRST in known else known[0]
        others = [each.rpartition("/")[2] for each in known if each != name]
        more = f"; `draisine run` knows {few(others)}, too" if others else ""
        content, told = _shipped_content(name), f"this is its scenario {name}{more}"
    else:
        from draisine.scenario.first_run import first_run

        name = Path(vehicle).stem if vehicle.endswith(".py") else vehicle.rpartition(":")[2]
        content, told = first_run(vehicle, name), "this is a first run of it"
    kept = _kept_start(content, changes)
    warnings.warn(f"{where} is a vehicle; {told}. {kept}{way}.", stacklevel=4)
    return name, f"{name}.toml" if known else where, content


def _kept_start(content: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """Return a sentence with the initial values of a scenario that stay as they are where others are
    changed; empty where none are.

    >>> _kept_start({"initial": {"lean_rate": 0.5, "lean": 0.0}}, {"initial.lean": 0.1})
    'Of its start it keeps lean_rate = 0.5. '
    """
    changed = {path.removeprefix("initial.") for path in changes if path.startswith("initial.")}
    own = content.get("initial", {})
    kept = [f"{n} = {x}" for n, x in own.items() if n not in changed and not isinstance(x, dict)]
    return f"Of its start it keeps {few(kept)}. " if changed and kept else ""


def motions_of(vehicle: str) -> list[str]:
    """Return the scenarios of a vehicle that are motions: runs first, then cycles."""
    found = {name: _shipped_content(name) for name in scenarios()}
    own = [name for name, told in found.items() if told["vehicle"]["name"] == vehicle]
    return [name for kind in MOTIONS for name in own if found[name]["kind"] == kind]


def shipped_start(system: "System") -> dict[str, float]:
    """Return how the first run that ships starts a machine that is one wheel or stone, if there is one: to
    roll straight ahead is not what it is looked at for.
    """
    for name in () if system.model.joints else motions_of(system.vehicle.__name__):
        loaded = load(name)
        level = loaded.scenario.kind == "run" and loaded.plan.terrain is None
        if level and loaded.plan.system.parameters == system.parameters:
            return dict(loaded.plan.start.values)
    return {}


def read_text(where: str) -> str:
    """Return the text of a scenario's file, by name or by file, to be copied and changed: without the
    numbers that are expected of it as it is, but for measured ones.

    >>> text = read_text("ramp-jump")
    >>> 'shape = "ramp"' in text, "expected" in text
    (True, False)
    >>> read_text("kooijman2008/weave").count('origin = "measured"')
    4
    """
    text = _text(Path(where)) if where.endswith(".toml") else _named(where)[1]
    kept, measured = [], False
    for one in re.split(r"^(?=\[+[a-z])", text, flags=re.MULTILINE):
        if one.startswith("[[expected]]"):
            measured = is_measured(_parsed(where, one)["expected"][0])
        if measured or not one.lstrip("[").startswith("expected"):
            kept.append(one)
    return "".join(kept).rstrip() + "\n"


def _named(where: str) -> tuple[str, str]:
    """Return name and text of a scenario that ships, or say what was meant."""
    shipped, dashed = _shipped(), where.replace("_", "-")
    ends = [name for name in shipped if name == where] or [
        name for name in shipped if dashed in (name, name.rpartition("/")[2])
    ]
    if len(ends) != 1:
        if is_robot(where):
            find("vehicle", where)  # tells what such a file wants
        if os.path.exists(f"{where}.toml"):
            raise UnknownNameError(f"no scenario {where!r}. Did you mean the file {where}.toml?")
        if os.path.exists(where):
            raise DataError(f"{where}: scenarios are .toml files, results .nc or .zarr.")
        if ends:
            raise UnknownNameError(
                f"{where!r} is the name of several: {' or '.join(sorted(ends))}?"
            )
        raise UnknownNameError(
            f"no scenario {where!r}. {did_you_mean(where, shipped)} `draisine list scenarios` "
            "tells all; a file of your own ends with .toml."
        )
    (name,) = ends
    return name, shipped[name].read_text(encoding="utf-8")


def tell_scenarios(vehicle: str) -> str:
    """Return a sentence with runs of a vehicle that ship, if there are some.

    >>> tell_scenarios("chaplygin_sleigh"), tell_scenarios("mine.py")
    (' `draisine run` knows chaplygin-sleigh, chaplygin-sleigh-back.', '')
    """
    found = [name.rpartition("/")[2] for name in motions_of(vehicle)]
    return f" `draisine run` knows {few(found)}." if found else ""


def _shipped_content(name: str) -> dict[str, Any]:
    return _parsed(name, _shipped()[name].read_text(encoding="utf-8"))


def _text(path: Path) -> str:
    check_file(path)
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file.") from None
    except IsADirectoryError:
        raise DataError(f"{path}: is a folder, not a scenario file.") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not a text file in UTF-8.") from None
    except (OSError, ValueError) as error:  # a null byte in its name is the latter
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read: {reason}.") from None


def _parsed(file: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{file}: not TOML: {error}.") from None


def _anchored(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return a scenario whose files (of its terrain and of its plugs, those of a sweep included) are
    found from anywhere: they stand beside the scenario's.
    """

    def anchored(key: str, told: Any) -> Any:
        named = isinstance(told, str) and (
            key == "file" or is_file(told) or is_parameter_file(told)
        )
        return str((folder / told).resolve()) if key in FILES and named else told

    tables = [content.get(name) for name in ("terrain", "vehicle", "contact", "run")]
    laws, sweep = content.get("law"), content.get("sweep")
    for table in [*tables, *(laws if isinstance(laws, list) else [])]:
        if isinstance(table, dict):
            table |= {key: anchored(key, told) for key, told in table.items()}
    over = sweep.get("over") if isinstance(sweep, dict) else None
    for path, values in over.items() if isinstance(over, dict) else ():
        if isinstance(values, list):
            values[:] = [anchored(path.rpartition(".")[2], told) for told in values]
    return content


def _inside(path: Path, trust: bool) -> tuple[str, str, dict[str, Any]]:
    from draisine.results.attributes import read_table
    from draisine.results.store import code_files, load

    data = load(path, trust)
    found = read_table(data, "scenario")
    if not found:
        raise DataError(f"{path}: carries no scenario; it was not made by `draisine run`.")
    for file in code_files(data):
        check_trust(file, str(path))
    content = found.get("content")
    if not isinstance(content, dict):
        raise DataError(f"{path}: its scenario is damaged: it has no content.")
    return str(found.get("name")), str(path), content


@cache
def _shipped() -> dict[str, Traversable]:
    return dict(_walk(files("draisine").joinpath("scenarios"), ""))


def _walk(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".toml"):
            yield prefix + entry.name.removesuffix(".toml"), entry
