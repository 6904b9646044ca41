"""Registry of plug-ins (vehicles, integrators, figures ...): lookup by name, file, object or entry point.

A plug-in is one file that defines one object (`PLUGIN_OBJECTS`). The registry finds it

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
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from draisine.errors import DataError, DraisineError, UnknownNameError, did_you_mean

FOLDERS = {
    "vehicle": "draisine.vehicles",
    "integrator": "draisine.simulation.integrators",
    "force": "draisine.mechanics.forces",
    "sensor": "draisine.mechanics.sensors",
    "impact": "draisine.simulation.impacts",
    "formulation": "draisine.mechanics.formulations",
    "target": "draisine.codegen.targets",
    "printer": "draisine.codegen.paper",
    "law": "draisine.control",
    "figure": "draisine.view.figures",
    "command": "draisine.cli",
}
"""Package that contains the shipped plug-ins of each kind."""

PLUGIN_OBJECTS = {
    "force": "FORCE",
    "sensor": "SENSOR",
    "impact": "impact",
    "target": "emit",
    "law": "LAW",
    "figure": "draw",
}
"""Name of the object that a plug-in file must define, by kind of plug-in.

A vehicle or command is a function with the name of its file. An integrator, a formulation or a
printer is the module itself (`MODULE_PLUGINS`).

"""

ALIASES = {
    ("vehicle", "bicycle"): "whipple",
    ("vehicle", "bike"): "whipple",
    ("vehicle", "sharp"): "motorcycle",
}
"""Alternative names of shipped plug-ins: (kind, alternative name) -> name."""

ROBOT_SUFFIXES = (".urdf", ".xml", ".mjcf")
"""Suffixes of robot description files (URDF, MJCF), which are not plug-ins but input of a vehicle."""

PARAMETER_SUFFIXES = (".txt", ".yml", ".yaml", ".m")
"""Suffixes of bicycle parameter files: BicycleParameters (.txt, .yml, .yaml) and JBike6 (.m)."""

MODULE_PLUGINS = ("integrator", "formulation", "printer")
"""Kinds of plug-ins that consist of a whole module with several functions and constants."""


@cache
def shipped_plugins(kind: str) -> dict[str, str]:
    """Return the dotted module names of the plug-ins of one kind that ship with draisine, by name.

    >>> shipped_plugins("vehicle")["whipple"]
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

    The result is cached, because reading the entry points opens a file of every installed
    package.
    """
    from importlib.metadata import entry_points

    return entry_points()


@cache
def external_plugins(kind: str) -> dict[str, str]:
    """Return the plug-ins of one kind that other installed packages declare as entry points.

    The result maps names to `module` or `module:object`. Names of shipped plug-ins are left out.
    """
    declared: dict[str, str] = {}
    for point in all_entry_points().select(group=f"draisine.{kind}"):
        if declared.get(point.name, point.value) != point.value:
            raise UnknownNameError(
                f"Two packages declare the {kind} {point.name!r}: {declared[point.name]} and "
                f"{point.value}. Uninstall one of them, or specify the file: FILE.py:name."
            )
        declared[point.name] = point.value
    return {
        name: home for name, home in sorted(declared.items()) if name not in shipped_plugins(kind)
    }


def names(kind: str) -> tuple[str, ...]:
    """Return the sorted names of all shipped and external plug-ins of one kind.

    Parameters
    ----------
    kind
        A key of `FOLDERS`: "vehicle", "integrator", "force" ...

    Examples
    --------
    >>> "whipple" in names("vehicle"), "rk4" in names("integrator"), "turn_pi" in names("law")
    (True, True, True)
    """
    return tuple(sorted(shipped_plugins(kind) | external_plugins(kind)))


def find(kind: str, which: Any) -> Any:
    """Return the plug-in of a kind with a name, from a file, or as an object.

    Parameters
    ----------
    kind
        A key of `FOLDERS`: "vehicle", "integrator", "force" ...
    which
        Name, file (`FILE.py` or `FILE.py:object`), module or object of the plug-in.

    Raises
    ------
    UnknownNameError
        If there is no such plug-in; the message suggests a similar name.
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
        return _plugin_of_module(kind, which, which.__name__.rpartition(".")[2], which.__name__)
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
    home = shipped_plugins(kind).get(which) or external_plugins(kind).get(which)
    if home is None:
        plugins = [*names(kind), *(word for of, word in ALIASES if of == kind)]
        hint = did_you_mean(which, plugins)
        matches = find_by_description(kind, which)
        if matches and not hint.startswith("Did you mean"):
            hint = f"These {kind}s have {which!r} in their descriptions: {', '.join(matches)}."
        listing = "" if kind == "command" else f" See `draisine list {kind}s`."
        raise UnknownNameError(f"Unknown {kind} {which!r}. {hint}{listing}")
    place, _, wanted = home.partition(":")
    # Not from sys.modules, where another thread may have put a module that it still executes.
    module = importlib.import_module(place)
    return _plugin_of_module(kind, module, which, place, wanted)


def find_by_description(kind: str, word: str) -> tuple[str, ...]:
    """Return the names of shipped plug-ins of one kind whose description contains a word.

    The description is the first paragraph of the module docstring.

    >>> find_by_description("vehicle", "pendulum")
    ('acrobot', 'cart_pole', 'segway')
    """
    text = re.escape(word.replace("_", " "))
    # Whole words of at least three letters: shorter words and parts of words match by chance.
    pattern = re.compile(rf"\b{text}s?\b", re.IGNORECASE)
    if len(word) < 3:
        return ()
    modules = shipped_plugins(kind).items()
    return tuple(name for name, module in modules if pattern.search(description(module)))


def description(module: str) -> str:
    """Return the first paragraph of a module docstring as one line, without importing the module."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    return " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())


def is_file(which: str) -> bool:
    """Return whether a string denotes a plug-in file (`FILE.py` or `FILE.py:object`).

    >>> is_file("whipple"), is_file("mine.py"), is_file("folder/mine.py:tricycle")
    (False, True, True)
    """
    return which.endswith(".py") or ".py:" in which


def is_parameter_file(which: str) -> bool:
    """Return whether a string denotes a parameter file of BicycleParameters or JBike6 by its suffix.

    >>> is_parameter_file("mine.txt"), is_parameter_file("pista_jason")
    (True, False)
    """
    return which.lower().endswith(PARAMETER_SUFFIXES)


def is_robot(which: str) -> bool:
    """Return whether a string denotes a robot description file (URDF or MJCF) by its suffix."""
    return which.lower().endswith(ROBOT_SUFFIXES)


_TRUSTED: set[tuple[Path, str]] = set()
"""Plug-in files that the user named in this process, as (resolved path, name of the object)."""


def trust(which: str) -> None:
    """Mark an object of a plug-in file as trusted, so that stored results may execute it."""
    _TRUSTED.add(_file_and_object(which))


def check_trust(which: str, who: str) -> None:
    """Raise `DataError` if a stored result names a plug-in file that the user did not name.

    Parameters
    ----------
    which
        Name or file of the plug-in in the stored result.
    who
        Description of the stored result for the error message.
    """
    if is_file(which) and _file_and_object(which) not in _TRUSTED:
        path, name = _file_and_object(which)
        raise DataError(
            f"{who} refers to the Python object {name} in {path}, which is executed only if you trust it. "
            "Read the file, then use --trust, or trust=True in `draisine.load`. Plots of stored series "
            "need no trust: `draisine plot FILE --series NAME`."
        )


def _file_and_object(which: str) -> tuple[Path, str]:
    """Return the resolved path of a plug-in file and the name of its object (default: the file's stem)."""
    file, _, name = (which, "", "") if which.endswith(".py") else which.rpartition(":")
    return Path(file).resolve(), name or Path(file).stem


def plugin_label(which: Any) -> str:
    """Return a text that identifies a plug-in in stored results: its name, file or object name.

    >>> from draisine.simulation.integrators import rk4
    >>> plugin_label("dop853"), plugin_label(rk4)
    ('dop853', 'draisine.simulation.integrators.rk4')
    """
    return (
        which if isinstance(which, str) else str(getattr(which, "__name__", type(which).__name__))
    )


def _from_file(kind: str, which: str) -> Any:
    """Execute a plug-in file and return the object of the given kind that it defines."""
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
    return _plugin_of_module(kind, module, wanted or path.stem, file, wanted)


def _plugin_of_module(
    kind: str, module: ModuleType, name: str, where: str, wanted: str = ""
) -> Any:
    """Return the object `wanted` of a module, or by default the object that the kind of plug-in
    prescribes.
    """
    if kind in MODULE_PLUGINS and not wanted:
        return module
    attribute = wanted or PLUGIN_OBJECTS.get(kind, name)
    if not hasattr(module, attribute):
        defined = [n for n in vars(module) if not n.startswith("_")]
        raise UnknownNameError(
            f"{where} does not define {attribute!r}, which a plug-in of kind {kind!r} must define. "
            f"{did_you_mean(attribute, defined)}"
        )
    return getattr(module, attribute)
