"""Plugs by name, by file, by object: the folder is the registry, and other packages may add to it.

A plug is one file with one thing in it (`THINGS`). It is found

- by its name, where it lies in the folder of its kind at any depth; files and folders whose names
  begin with an underscore are helpers;
- by its name, where another installed package tells it as an entry point: group
  `draisine.vehicle`, `draisine.law` ..., value `package.module` or `package.module:object`;
- as `FILE.py` (the one thing of its kind) or `FILE.py:name` (the thing of that name);
- as the thing itself.

A stored result never has code run that only it names (`check_trust`).
"""

import importlib
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from draisine.errors import DataError, DraisineError, UnknownNameError, did_you_mean

FOLDERS = {
    "vehicle": "draisine.vehicles",
    "integrator": "draisine.simulation.integrators",
    "force": "draisine.mechanics.forces",
    "impact": "draisine.simulation.impacts",
    "formulation": "draisine.mechanics.formulations",
    "target": "draisine.codegen.targets",
    "printer": "draisine.codegen.paper",
    "law": "draisine.control",
    "figure": "draisine.view.figures",
    "command": "draisine.cli",
}
"""The kinds of plugs, and where those that ship live."""

THINGS = {
    "force": "FORCE",
    "impact": "impact",
    "target": "emit",
    "law": "LAW",
    "figure": "draw",
}
"""The one thing in a file of a kind. Vehicles and commands are functions of their file's name;
integrators, formulations and printers have several parts, so that the file itself is the thing.
"""

ALIASES = {
    ("vehicle", "bicycle"): "whipple",
    ("vehicle", "bike"): "whipple",
    ("vehicle", "sharp"): "motorcycle",
}
"""Other words that people have for a plug, by kind and word."""

ROBOTS = (".urdf", ".xml", ".mjcf")
"""How files of robots end: they are no plugs, but vehicles are made of them."""

PARAMETER_FILES = (".txt", ".yml", ".yaml", ".m")
"""How files of BicycleParameters and of JBike6 (.m) end, which stand for a parameter set."""

WHOLE = ("integrator", "formulation", "printer")
"""The kinds of which the file itself is the thing."""


@cache
def own_plugs(kind: str) -> dict[str, str]:
    """Return the module of every plug of a kind that ships with draisine, by its name.

    >>> own_plugs("vehicle")["whipple"]
    'draisine.vehicles.bicycle.whipple'
    """
    package = importlib.util.find_spec(FOLDERS[kind])
    assert package is not None and package.submodule_search_locations is not None
    folder = Path(package.submodule_search_locations[0])
    found = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        if not any(part.startswith("_") for part in parts):
            found[parts[-1]] = ".".join((FOLDERS[kind], *parts))
    return dict(sorted(found.items()))


@cache
def all_entry_points() -> Any:
    """Return the entry points of all packages, read once: every package is asked for a file."""
    from importlib.metadata import entry_points

    return entry_points()


@cache
def foreign_plugs(kind: str) -> dict[str, str]:
    """Return where the plugs of a kind are that other packages add, by name: `module` or
    `module:object`. What ships cannot be replaced.
    """
    found: dict[str, str] = {}
    for point in all_entry_points().select(group=f"draisine.{kind}"):
        if found.get(point.name, point.value) != point.value:
            raise UnknownNameError(
                f"{kind} {point.name!r} stands in two packages: {found[point.name]} and "
                f"{point.value}. Remove one, or name the file that you mean, FILE.py:name."
            )
        found[point.name] = point.value
    return {name: home for name, home in sorted(found.items()) if name not in own_plugs(kind)}


def names(kind: str) -> tuple[str, ...]:
    """Return what there is of a kind.

    >>> "whipple" in names("vehicle"), "rk4" in names("integrator"), "turn_pi" in names("law")
    (True, True, True)
    """
    return tuple(sorted(own_plugs(kind) | foreign_plugs(kind)))


def find(kind: str, which: Any) -> Any:
    """Return the plug of a kind that a name, a file or the thing itself stands for, or say what was
    meant.

    >>> find("vehicle", "whipple").__name__, find("impact", "plastic").__name__
    ('whipple', 'impact')
    >>> from draisine.control.wheelie import Wheelie
    >>> find("law", "wheelie") is Wheelie, find("law", Wheelie) is Wheelie
    (True, True)
    """
    if isinstance(which, ModuleType):
        return _thing(kind, which, which.__name__.rpartition(".")[2], which.__name__)
    if not isinstance(which, str):
        return which
    if is_file(which):
        return _from_file(kind, which)
    if kind == "vehicle" and is_robot(which):
        raise UnknownNameError(
            f"{which}: which links of a robot are wheels is told in a file of Python: `draisine new "
            f"vehicle robot --from {which}` writes robot.py, which goes here. In Python, read_urdf and "
            "read_mjcf of draisine.interop.robots read it."
        )
    which = ALIASES.get((kind, which), which)
    home = own_plugs(kind).get(which) or foreign_plugs(kind).get(which)
    if home is None:
        known = [*names(kind), *(word for of, word in ALIASES if of == kind)]
        everything = "" if kind == "command" else f" `draisine list {kind}s` tells all."
        raise UnknownNameError(f"no {kind} {which!r}. {did_you_mean(which, known)}{everything}")
    place, _, wanted = home.partition(":")
    module = sys.modules.get(place) or importlib.import_module(place)
    return _thing(kind, module, which, place, wanted)


def is_file(which: str) -> bool:
    """Return whether a plug is told by its file.

    >>> is_file("whipple"), is_file("mine.py"), is_file("folder/mine.py:tricycle")
    (False, True, True)
    """
    return which.endswith(".py") or ".py:" in which


def is_parameter_file(which: str) -> bool:
    """Return whether what stands for a parameter set is a file of BicycleParameters.

    >>> is_parameter_file("mine.txt"), is_parameter_file("pista_jason")
    (True, False)
    """
    return which.lower().endswith(PARAMETER_FILES)


def is_robot(which: str) -> bool:
    """Return whether a name is that of a robot's file, URDF or MJCF."""
    return which.lower().endswith(ROBOTS)


_TRUSTED: set[tuple[Path, str]] = set()
"""Code that the user named in this process: files, and what in them."""


def trust(which: str) -> None:
    """Let a result name this thing in a file of code: it may be run."""
    _TRUSTED.add(_place(which))


def check_trust(which: str, who: str) -> None:
    """Raise where a plug is told by a file, or a name in it, that nobody but a stored result has
    named: such code is not run, be it the user's own, Python's or ours.
    """
    if is_file(which) and _place(which) not in _TRUSTED:
        path, name = _place(which)
        raise DataError(
            f"{who} names code of its own, {name} in {path}: it is run only if you trust it. Look at "
            "it, then say --trust, or trust=True to `draisine.load`. Curves of its numbers need no trust: "
            "`draisine plot FILE --series NAME`."
        )


def _place(which: str) -> tuple[Path, str]:
    """Return the file that a plug is told by, and its name there: that of the file if none is given."""
    file, _, name = (which, "", "") if which.endswith(".py") else which.rpartition(":")
    return Path(file).resolve(), name or Path(file).stem


def label(which: Any) -> str:
    """Return what a result tells of a plug: the name or file that was given, or the thing's own name.

    >>> from draisine.simulation.integrators import rk4
    >>> label("dop853"), label(rk4)
    ('dop853', 'draisine.simulation.integrators.rk4')
    """
    return (
        which if isinstance(which, str) else str(getattr(which, "__name__", type(which).__name__))
    )


def _from_file(kind: str, which: str) -> Any:
    file, _, wanted = (which, "", "") if which.endswith(".py") else which.rpartition(":")
    path = Path(file)
    if not os.path.isfile(path):
        raise UnknownNameError(f"{kind} {which!r}: no file {file!r}.")
    trust(which)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except DraisineError:
        raise
    except Exception as error:
        raise DataError(f"{file}: cannot be read: {type(error).__name__}: {error}.") from error
    return _thing(kind, module, wanted or path.stem, file, wanted)


def _thing(kind: str, module: ModuleType, name: str, where: str, wanted: str = "") -> Any:
    """Return the thing that a module has to give: the one `wanted`, or the one of its kind."""
    if kind in WHOLE and not wanted:
        return module
    attribute = wanted or THINGS.get(kind, name)
    if not hasattr(module, attribute):
        own = [n for n in vars(module) if not n.startswith("_")]
        raise UnknownNameError(
            f"{where}: has no {attribute!r}, which a {kind} must have. "
            f"{did_you_mean(attribute, own)}"
        )
    return getattr(module, attribute)
