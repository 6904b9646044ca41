"""The folder is the registry: a file at any depth is found by its name, or as FILE.py:name.

Files and folders whose names begin with an underscore are helpers.
"""

import importlib
import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

from draisine.errors import UnknownNameError, did_you_mean

FOLDERS = {
    "vehicle": "draisine.vehicles",
    "integrator": "draisine.simulation.integrators",
    "impact": "draisine.simulation.impacts",
    "formulation": "draisine.mechanics.formulations",
    "target": "draisine.codegen.targets",
    "printer": "draisine.codegen.paper",
    "law": "draisine.control",
    "figure": "draisine.view.figures",
    "command": "draisine.cli",
}
"""What can be found by name, and where it lives."""


@cache
def homes(kind: str) -> dict[str, str]:
    """Return the module of every plug of a kind, by its name.

    >>> homes("vehicle")["whipple"]
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


def names(kind: str) -> tuple[str, ...]:
    """Return what there is of a kind.

    >>> "whipple" in names("vehicle"), "rk4" in names("integrator"), "turn_pi" in names("law")
    (True, True, True)
    """
    return tuple(homes(kind))


def find(kind: str, name: str) -> ModuleType:
    """Return the module of that kind and name, or say what was meant."""
    if kind == "vehicle" and ".py:" in name:
        path = Path(name.rpartition(":")[0])
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None or not path.exists():
            raise UnknownNameError(f"vehicle {name!r}: no file {str(path)!r}.")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    if name not in homes(kind):
        raise UnknownNameError(f"no {kind} {name!r}. {did_you_mean(name, names(kind))}")
    return importlib.import_module(homes(kind)[name])
