"""Plugs by name, by file or as objects: the folder is the registry.

A plug is one file that defines one object (`PLUG_OBJECTS`). It is found

- by its name, if its file is in the folder of its kind, at any depth; files and folders whose names
  begin with an underscore are helpers;
- by its name, if another installed package declares it as an entry point: group
  `draisine.vehicle`, `draisine.law` ..., value `package.module` or `package.module:object`;
- as `FILE.py` (the object of its kind) or `FILE.py:name` (the object of that name);
- as the object itself.

Code that only a stored result names is never executed (`check_trust`).
"""

import ast
import importlib
import importlib.util
import os
import re
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
"""The kinds of plugs, and the folders of the shipped ones."""

PLUG_OBJECTS = {
    "force": "FORCE",
    "impact": "impact",
    "target": "emit",
    "law": "LAW",
    "figure": "draw",
}
"""The object that a file of a kind defines. Vehicles and commands are functions with the name of
their file; of integrators, formulations and printers the module is the plug (`MODULE_PLUGS`).
"""

ALIASES = {
    ("vehicle", "bicycle"): "whipple",
    ("vehicle", "bike"): "whipple",
    ("vehicle", "sharp"): "motorcycle",
}
"""Other names of plugs, by kind and name."""

ROBOT_SUFFIXES = (".urdf", ".xml", ".mjcf")
"""Suffixes of robot files. A plug reads such a file; it is not itself a plug."""

PARAMETER_SUFFIXES = (".txt", ".yml", ".yaml", ".m")
"""Suffixes of parameter files of BicycleParameters and of JBike6 (.m)."""

MODULE_PLUGS = ("integrator", "formulation", "printer")
"""The kinds whose plug is the module itself, because it has several parts."""


@cache
def own_plugs(kind: str) -> dict[str, str]:
    """Return the modules of the plugs of a kind that ship with draisine, by name.

    >>> own_plugs("vehicle")["whipple"]
    'draisine.vehicles.bicycle.whipple'
    """
    package = importlib.util.find_spec(FOLDERS[kind])
    assert package is not None and package.submodule_search_locations is not None
    folder = Path(package.submodule_search_locations[0])
    modules = {}
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        if not any(part.startswith("_") for part in parts):
            modules[parts[-1]] = ".".join((FOLDERS[kind], *parts))
    return dict(sorted(modules.items()))


@cache
def all_entry_points() -> Any:
    """Return the entry points of all installed packages.

    They are cached, because reading them opens a file of every package.
    """
    from importlib.metadata import entry_points

    return entry_points()


@cache
def foreign_plugs(kind: str) -> dict[str, str]:
    """Return the plugs of a kind that other packages add, by name: `module` or `module:object`.

    They cannot replace shipped plugs.
    """
    declared: dict[str, str] = {}
    for point in all_entry_points().select(group=f"draisine.{kind}"):
        if declared.get(point.name, point.value) != point.value:
            raise UnknownNameError(
                f"Two packages declare the {kind} {point.name!r}: {declared[point.name]} and "
                f"{point.value}. Uninstall one, or give the file: FILE.py:name."
            )
        declared[point.name] = point.value
    return {name: home for name, home in sorted(declared.items()) if name not in own_plugs(kind)}


def names(kind: str) -> tuple[str, ...]:
    """Return the names of the plugs of a kind.

    Parameters
    ----------
    kind
        A key of `FOLDERS`: "vehicle", "integrator", "force" ...

    Examples
    --------
    >>> "whipple" in names("vehicle"), "rk4" in names("integrator"), "turn_pi" in names("law")
    (True, True, True)
    """
    return tuple(sorted(own_plugs(kind) | foreign_plugs(kind)))


def find(kind: str, which: Any) -> Any:
    """Return a plug.

    Parameters
    ----------
    kind
        A key of `FOLDERS`: "vehicle", "integrator", "force" ...
    which
        Its name, its file (`FILE.py`, `FILE.py:name`), its module, or the plug itself.

    Raises
    ------
    UnknownNameError
        If there is no such plug; the message suggests a similar name.
    DataError
        If the file cannot be executed.

    Examples
    --------
    >>> find("vehicle", "whipple").__name__, find("impact", "plastic").__name__
    ('whipple', 'impact')
    >>> from draisine.control.wheelie import Wheelie
    >>> find("law", "wheelie") is Wheelie, find("law", Wheelie) is Wheelie
    (True, True)
    """
    if isinstance(which, ModuleType):
        return _plug_of_module(kind, which, which.__name__.rpartition(".")[2], which.__name__)
    if not isinstance(which, str):
        return which
    if is_file(which):
        return _from_file(kind, which)
    if kind == "vehicle" and is_robot(which):
        raise UnknownNameError(
            f"{which} is a robot file, which does not say which links are wheels. `draisine new "
            f"vehicle robot --from {which}` writes robot.py; use that file as the vehicle. In Python, "
            "use read_urdf or read_mjcf of draisine.interop.robots."
        )
    which = ALIASES.get((kind, which), which)
    home = own_plugs(kind).get(which) or foreign_plugs(kind).get(which)
    if home is None:
        plugs = [*names(kind), *(word for of, word in ALIASES if of == kind)]
        hint = did_you_mean(which, plugs)
        described = find_by_description(kind, which)
        if described and not hint.startswith("Did you mean"):
            hint = f"These {kind}s have {which!r} in their descriptions: {', '.join(described)}."
        listing = "" if kind == "command" else f" See `draisine list {kind}s`."
        raise UnknownNameError(f"Unknown {kind} {which!r}. {hint}{listing}")
    place, _, wanted = home.partition(":")
    module = sys.modules.get(place) or importlib.import_module(place)
    return _plug_of_module(kind, module, which, place, wanted)


def find_by_description(kind: str, word: str) -> tuple[str, ...]:
    """Return the shipped plugs of a kind with a word in the first paragraph of their docstrings.

    >>> find_by_description("vehicle", "pendulum")
    ('acrobot', 'cart_pole', 'segway')
    """
    text = re.escape(word.replace("_", " "))
    # A word of one or two letters, or part of another word, is no description.
    pattern = re.compile(rf"\b{text}s?\b", re.IGNORECASE)
    if len(word) < 3:
        return ()
    modules = own_plugs(kind).items()
    return tuple(name for name, module in modules if pattern.search(description(module)))


def description(module: str) -> str:
    """Return the first paragraph of a module's docstring as one line, without importing the module."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())


def is_file(which: str) -> bool:
    """Return whether a plug is given as a file.

    >>> is_file("whipple"), is_file("mine.py"), is_file("folder/mine.py:tricycle")
    (False, True, True)
    """
    return which.endswith(".py") or ".py:" in which


def is_parameter_file(which: str) -> bool:
    """Return whether a parameter set is given as a file of BicycleParameters or JBike6.

    >>> is_parameter_file("mine.txt"), is_parameter_file("pista_jason")
    (True, False)
    """
    return which.lower().endswith(PARAMETER_SUFFIXES)


def is_robot(which: str) -> bool:
    """Return whether a name is that of a robot file, URDF or MJCF."""
    return which.lower().endswith(ROBOT_SUFFIXES)


_TRUSTED: set[tuple[Path, str]] = set()
"""Code that the user named in this process: files, and names of objects in them."""


def trust(which: str) -> None:
    """Allow stored results to execute this object of a file."""
    _TRUSTED.add(_place(which))


def check_trust(which: str, who: str) -> None:
    """Raise if a plug is given as a file that only a stored result names, not the user.

    Parameters
    ----------
    which
        Name or file of the plug.
    who
        The stored result, for the message.
    """
    if is_file(which) and _place(which) not in _TRUSTED:
        path, name = _place(which)
        raise DataError(
            f"{who} names code of its own, {name} in {path}, which is executed only if you trust it. "
            "Read it, then use --trust, or trust=True in `draisine.load`. Curves of the stored numbers "
            "need no trust: `draisine plot FILE --series NAME`."
        )


def _place(which: str) -> tuple[Path, str]:
    """Return the file of a plug, and the name of the object in it: that of the file by default."""
    file, _, name = (which, "", "") if which.endswith(".py") else which.rpartition(":")
    return Path(file).resolve(), name or Path(file).stem


def plug_label(which: Any) -> str:
    """Return the name of a plug for results: the given name or file, or the name of the object.

    >>> from draisine.simulation.integrators import rk4
    >>> plug_label("dop853"), plug_label(rk4)
    ('dop853', 'draisine.simulation.integrators.rk4')
    """
    return (
        which if isinstance(which, str) else str(getattr(which, "__name__", type(which).__name__))
    )


def _from_file(kind: str, which: str) -> Any:
    file, _, wanted = (which, "", "") if which.endswith(".py") else which.rpartition(":")
    path = Path(file)
    if not os.path.isfile(path):
        raise UnknownNameError(f"{kind} {which!r}: the file {file!r} does not exist.")
    trust(which)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except DraisineError:
        raise
    except Exception as error:
        raise DataError(f"{file} raised {type(error).__name__}: {error}.") from error
    return _plug_of_module(kind, module, wanted or path.stem, file, wanted)


def _plug_of_module(kind: str, module: ModuleType, name: str, where: str, wanted: str = "") -> Any:
    """Return the plug that a module defines: the object `wanted`, or the one of its kind."""
    if kind in MODULE_PLUGS and not wanted:
        return module
    attribute = wanted or PLUG_OBJECTS.get(kind, name)
    if not hasattr(module, attribute):
        defined = [n for n in vars(module) if not n.startswith("_")]
        raise UnknownNameError(
            f"{where} does not define {attribute!r}, which a {kind} must have. "
            f"{did_you_mean(attribute, defined)}"
        )
    return getattr(module, attribute)
