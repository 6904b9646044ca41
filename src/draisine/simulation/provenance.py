"""Provenance: what a result was made with, as data and as a Python script that makes it again.

`describe` writes a control law with all its numbers as plain data. `write_recipe` writes the script.
What neither can write, a function without an importable name, is described by its source text, and the
script says what has to be defined before it runs.
"""

import dataclasses
import importlib
import inspect
import json
import math
from collections.abc import Mapping
from enum import Enum
from types import FunctionType
from typing import Any

import numpy as np

import draisine
from draisine.codegen.fingerprint import fingerprint
from draisine.registry import label
from draisine.simulation.options import CONTACT, NUMERICS, Task
from draisine.system.system import System
from draisine.terrain import Terrain
from draisine.vehicles import lost_structure, plain_structure

MOST_FEATURES = 100
"""Number of features up to which a terrain is written into a recipe. Larger ones are named only."""


def describe(thing: Any) -> Any:
    """Return an object with all its numbers as data that JSON can store.

    Records become tables with their class under `kind`, functions their name and source text, arrays
    lists.

    Examples
    --------
    >>> from draisine.control.turn_p import TurnP
    >>> describe(TurnP(10.0, 0.26, (0.0, 1.0, 1.0, 2.0), 40.0, 20.0))["steer_gain"]
    10.0
    """
    if isinstance(thing, np.generic):
        return describe(thing.item())
    if isinstance(thing, float) and not math.isfinite(thing):
        return str(thing)
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, np.ndarray):
        return describe(thing.tolist())
    if isinstance(thing, Mapping):
        return {str(key): describe(value) for key, value in thing.items()}
    if isinstance(thing, tuple | list):
        return [describe(value) for value in thing]
    if isinstance(thing, Enum):
        return thing.name
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        fields = {one.name: describe(getattr(thing, one.name)) for one in dataclasses.fields(thing)}
        return {"kind": _full_name(type(thing)), **fields}
    if callable(thing) and hasattr(thing, "__qualname__"):
        return {"function": _full_name(thing), "source": _source(thing)}
    own = {key: value for key, value in getattr(thing, "__dict__", {}).items() if key[:1] != "_"}
    return {"kind": _full_name(type(thing)), **{key: describe(own[key]) for key in own}}


def law_attributes(law: Any) -> dict[str, str]:
    """Return the attributes that describe the control law of a result: `law` with all its numbers, and
    `law_digest`, equal for laws that act alike, if there is one.
    """
    if law is None:
        return {}
    digest = fingerprint(law)
    told = {"law": json.dumps(describe(law))}
    return told if digest is None else told | {"law_digest": digest}


def write_recipe(task: Task) -> str:
    """Return the Python script that makes a run again, with the same bits."""
    script = _Script()
    options = {
        "law": task.law,
        "inputs": dict(task.inputs) if task.inputs else None,
        "contact": None if task.contact == CONTACT else task.contact,
        "numerics": None if task.numerics == NUMERICS else task.numerics,
        "terrain": task.terrain,
    }
    lines = [_compiled(task.system, script)]
    numbers = {name: getattr(task.state, name) for name in ("q", "p", "r", "v", "element_state")}
    state = ", ".join(f"{name}={script.write(x, name)}" for name, x in numbers.items())
    lines.append(f"start = draisine.State({state})")
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        lines.append(f"{name} = {script.write(value, name)}")
    named = "".join(f", {name}={name}" for name in given)
    lines.append(f"run = draisine.simulate(system, start, {task.until!r}{named})")
    return script.text(lines)


def write_linear_recipe(system: System, law: Any, values: Mapping[str, float]) -> str:
    """Return the Python script that finds the machine and law of a linear system again."""
    script = _Script()
    lines = [_compiled(system, script)]
    if law is not None:
        lines.append(f"law = {script.write(law, 'law')}")
    lines.append(f"motion = {script.write(dict(values), 'motion')}")
    return script.text(lines)


def _compiled(system: System, script: "_Script") -> str:
    """Return the line that makes the machine."""
    vehicle = system.vehicle
    home = getattr(vehicle, "__module__", "") or ""
    shipped = home.startswith("draisine.vehicles.")
    which = repr(vehicle.__name__) if shipped else script.write(vehicle, "vehicle")
    arguments = dict(system.parameters) | plain_structure(system.structure)
    for name in lost_structure(system.structure):
        script.missing.append((name, f"argument {name} of {vehicle.__name__}: not plain data"))
    for name, value in system.structure.items():
        if name not in arguments and callable(value):
            arguments[name] = value
    return f"system = draisine.compile({which}, **{script.write(arguments, 'arguments')})"


class _Script:
    """A script in the making: modules that it imports, and objects that it cannot write."""

    def __init__(self) -> None:
        self.modules = {"draisine"}
        self.missing: list[tuple[str, str]] = []

    def text(self, lines: list[str]) -> str:
        """Return the whole script."""
        imports = [f"import {name}" for name in sorted(self.modules)]
        notes = [
            f"# Define {name} before you run this: {told}".replace("\n", "\n#     ")
            for name, told in self.missing
        ]
        head = f"# Made with draisine {draisine.__version__}."
        return "\n".join([head, *imports, *notes, *lines]) + "\n"

    def write(self, value: Any, name: str) -> str:
        """Return a value as an expression."""
        if isinstance(value, np.generic):
            return self.write(value.item(), name)
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        if isinstance(value, np.ndarray):
            self.modules.add("numpy")
            return f"numpy.array({self.write(value.tolist(), name)})"
        if isinstance(value, Mapping):
            pairs = (f"{key!r}: {self.write(x, str(key))}" for key, x in value.items())
            return f"{{{', '.join(pairs)}}}"
        if isinstance(value, tuple | list):
            inside = ", ".join(self.write(x, name) for x in value)
            if isinstance(value, list):
                return f"[{inside}]"
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if type(value) is Terrain and len(value) <= MOST_FEATURES:
            self.modules.add("draisine.terrain")
            return f"draisine.terrain.Terrain({self.write(list(value.features), name)})"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._write_record(value, name)
        if callable(value) and _is_importable(value):
            self.modules.add(value.__module__)
            return _full_name(value)
        return self._leave_out(value, name)

    def _write_record(self, value: Any, name: str) -> str:
        kind = type(value)
        if not _is_importable(kind):
            return self._leave_out(value, name)
        self.modules.add(kind.__module__)
        fields = [one for one in dataclasses.fields(value) if one.init]
        inside = (f"{one.name}={self.write(getattr(value, one.name), one.name)}" for one in fields)
        return f"{_full_name(kind)}({', '.join(inside)})"

    def _leave_out(self, value: Any, name: str) -> str:
        name = name if name.isidentifier() else "value"
        name = f"{name}_{len(self.missing) + 1}"
        told = _source(value) if isinstance(value, FunctionType) else ""
        self.missing.append((name, told or f"{label(value)!s:.200}"))
        return name


def _full_name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def _is_importable(thing: Any) -> bool:
    """Return whether another program finds the same object by its module and name."""
    home, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "<none>")
    if home in (None, "__main__") or "<" in name:
        return False
    try:
        found = importlib.import_module(home)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return False
    return found is thing


def _source(thing: Any) -> str:
    """Return the source text of a function; empty if it is not known."""
    try:
        return inspect.cleandoc(inspect.getsource(thing)).strip()
    except (OSError, TypeError):
        return ""
