"""Scenarios by name or file: those that ship with the package, a user's own, and those inside
results.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draisine.errors import DataError, UnknownNameError, check_file, did_you_mean
from draisine.registry import ALIASES, check_trust, find, is_file, is_robot, names
from draisine.scenario.overrides import override, sides

if TYPE_CHECKING:
    from draisine.scenario.plan import Plan
    from draisine.scenario.schema import Scenario

FILES = ("file", "name", "impact", "integrator", "formulation")
"""The keys that may name a file beside the scenario's."""


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

    >>> named_together("meijaard2007")
    ('meijaard2007/eigenvalues', 'meijaard2007/matrices')
    """
    folder = where.rstrip("/") + "/" if where else ""
    return tuple(name for name in scenarios() if name.startswith(folder)) or (where,)


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
    origins: Mapping[str, str] | None = None,
) -> Loaded:
    """Return a scenario by name, by its TOML file, or as a result (.nc, .zarr) carries it. The last
    part of a name is enough where it stands once: "ramp-jump".

    `changes` are values by key path ("run.until", "vehicle.parameters.mB"). Numbers that were
    expected of the scenario as published do not hold after a change and are left out, and its title
    tells what was changed: by the name of a file, where `origins` name one for a key path. Code that a
    result names is run only if you `trust` it.
    """
    name, file, content = _content(where, trust)
    if changes:
        if "terrain.shape" in changes:
            from draisine.scenario.terrain import change_shape

            content = change_shape(content, changes)
        content = override(content, _titled(name, changes, origins or {}) | dict(changes))
    return accept(name, file, content)


def _titled(name: str, changes: Mapping[str, Any], origins: Mapping[str, str]) -> dict[str, str]:
    """Return the title of a scenario of which something was changed, but for how it is computed: what
    it was called may not be true any more.

    >>> _titled("mauny2018/ramp-jump", {"terrain.slope": "12deg", "run.dt": 0.1}, {})
    {'title': 'ramp-jump with slope = 12deg'}
    """
    told = [
        short if isinstance(changes[path], list | dict) else f"{short} = {_short(changes[path])}"
        for path, short in sides(changes).items()
        if path not in origins and (not path.startswith("run.") or path.startswith("run.mode."))
    ]
    told = [*dict.fromkeys(origins.values()), *told]
    return {"title": f"{name.rpartition('/')[2]} with {few(told)}"} if told else {}


def few(told: Sequence[str]) -> str:
    """Return what is told one after the other, but not more than fits into a line.

    >>> few(["a = 1", "b = 2"]), few(["a = 1", "b = 2", "c = 3", "d = 4", "e = 5"])
    ('a = 1, b = 2', 'a = 1, b = 2, c = 3 and 2 more')
    """
    more = len(told) - MOST
    return ", ".join(told[:MOST]) + (f" and {more} more" if more > 0 else "")


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def accept(name: str, file: str, content: dict[str, Any]) -> Loaded:
    """Return the content of a scenario that was found right, or tell all its mistakes."""
    from draisine.scenario.validate.mistakes import Mistakes
    from draisine.scenario.validate.scenario import read_scenario

    mistakes = Mistakes()
    plan = read_scenario(content, mistakes)
    mistakes.check(file)
    assert plan is not None
    return Loaded(name, file, content, plan)


def _content(where: str, trust: bool) -> tuple[str, str, dict[str, Any]]:
    path = Path(where)
    if path.suffix in (".nc", ".zarr"):
        return _inside(path, trust)
    if path.suffix == ".toml":
        return path.stem, where, _anchored(_parsed(where, _text(path)), path.parent)
    name, text = _named(where)
    return name, f"{name}.toml", _parsed(name, text)


def read_text(where: str) -> str:
    """Return the text of a scenario's file, by name or by file, to be copied and changed: without the
    numbers that are expected of it as it is.

    >>> text = read_text("ramp-jump")
    >>> 'shape = "ramp"' in text, "expected" in text
    (True, False)
    """
    text = _text(Path(where)) if where.endswith(".toml") else _named(where)[1]
    tables = re.split(r"^(?=\[)", text, flags=re.MULTILINE)
    return (
        "".join(one for one in tables if not one.lstrip("[").startswith("expected")).rstrip() + "\n"
    )


def _named(where: str) -> tuple[str, str]:
    """Return name and text of a scenario that ships, or say what was meant."""
    shipped, dashed = _shipped(), where.replace("_", "-")
    ends = [name for name in shipped if name == where] or [
        name for name in shipped if dashed in (name, name.rpartition("/")[2])
    ]
    if len(ends) != 1:
        if is_robot(where):
            find("vehicle", where)  # tells what such a file wants
        if is_file(where) or ALIASES.get(("vehicle", where), where) in names("vehicle"):
            raise UnknownNameError(
                f"{where} is a vehicle, not a scenario; `draisine new scenario mine --vehicle {where}` "
                f"writes one for it.{tell_scenarios(ALIASES.get(('vehicle', where), where))}"
            )
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
    found = [name.rpartition("/")[2] for name in shipped_runs(vehicle)]
    return f" `draisine run` knows {few(found)}." if found else ""


def shipped_runs(vehicle: str) -> list[str]:
    """Return the names of the runs of a vehicle that ship with the package.

    >>> shipped_runs("rattleback")
    ['kane1982/rattleback']
    """
    found = []
    for name in scenarios():
        content = _parsed(name, _shipped()[name].read_text(encoding="utf-8"))
        if content["kind"] == "run" and content["vehicle"]["name"] == vehicle:
            found.append(name)
    return found


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
        named = isinstance(told, str) and (key == "file" or is_file(told))
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
    from draisine.results.attributes import table
    from draisine.results.store import code_files, load

    data = load(path, trust)
    found = table(data, "scenario")
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
