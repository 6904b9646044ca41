"""The folder is the registry: find the one file of a name, or FILE.py:function."""

import importlib
import importlib.util
import pkgutil
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
    "law": "draisine.control",
    "figure": "draisine.view",
}
"""What can be found by name, and where it lives."""

ENTRY = {
    "vehicle": "def {name}(",
    "integrator": "\nADAPTIVE = ",
    "impact": "def impact(",
    "formulation": "\nFORMULATION = ",
    "target": "def emit(",
    "law": "\nLAW = ",
    "figure": "def draw(",
}
"""The text that makes a file an entry of its kind; a vehicle's function has the file's own name."""


@cache
def names(kind: str) -> tuple[str, ...]:
    """Return what there is of a kind.

    >>> "whipple" in names("vehicle"), "rk4" in names("integrator"), "turn_pi" in names("law")
    (True, True, True)
    """
    package = importlib.import_module(FOLDERS[kind])
    folder = Path(package.__path__[0])
    found = []
    for module in pkgutil.iter_modules([str(folder)]):
        text = (folder / f"{module.name}.py").read_text() if not module.ispkg else ""
        if ENTRY[kind].format(name=module.name) in text:
            found.append(module.name)
    return tuple(found)


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
    if name not in names(kind):
        raise UnknownNameError(f"no {kind} {name!r}. {did_you_mean(name, names(kind))}")
    return importlib.import_module(f"{FOLDERS[kind]}.{name}")
