"""A run as labelled data: the variables of `draisine.model.names`, time first; and its provenance: its law
with all numbers, and a script that makes it again.
"""

import dataclasses
import importlib
import inspect
import json
import math
import secrets
from collections.abc import Callable, Mapping
from enum import Enum
from functools import lru_cache, wraps
from itertools import product
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.codegen.fingerprint import fingerprint
from draisine.model import Model
from draisine.model.names import (
    STORED_VARIABLES,
    Axes,
    benchmark_sign,
    check_axes,
    dimensions,
    output_names,
    variables,
)
from draisine.registry import label, trust
from draisine.simulation.options import CONTACT, NUMERICS, Task
from draisine.system.closed_form import ClosedForm
from draisine.system.system import HERE, System
from draisine.terrain import Terrain
from draisine.vehicles import lost_structure, plain_structure

if TYPE_CHECKING:
    import pandas
    import xarray

    from draisine.simulation.trajectory import Trajectory

P = ParamSpec("P")

Labels = tuple[tuple[str, tuple[str, ...]], ...]
"""The labels along dimensions."""

PROCESS = secrets.token_hex(8)
"""What tells machines of this process from those of others."""


OBSERVED = {
    "position": "position",
    "speeds": "v",
    "accelerations": "vdot",
    "inputs": "inputs",
    "kinetic_energy": "kinetic",
    "potential_energy": "potential",
    "momentum": "momentum",
    "angular_momentum": "angular_momentum",
    "contact_point": "points",
    "contact_force": "forces",
    "contact_force_world": "forces_world",
    "contact_force_base": "forces_base",
    "gap": "gaps",
    "tyre_power": "tyre_powers",
    "tyre_energy": "tyre_energies",
    "motion_torque": "motion_torques",
    "coupling_force": "coupling_forces",
}
"""Variables that are a part of what the program `observe` tells, and that part."""


def dataset(run: "Trajectory", axes: Axes = "draisine") -> "xarray.Dataset":
    """Return a run as a dataset, with units and meanings; what it was made with is in its
    attributes.
    """
    import xarray

    check_axes(axes)

    system = run.arcs[0].machine.system
    labels, known = dimensions(system.model), variables(system.model)
    values, told = _values(run, known), STORED_VARIABLES | known
    if axes == "benchmark":
        values = to_benchmark(system.model, values, labels)
    sizes = {dim: len(names) for dim, names in labels.items()}
    used = {dim for name in values for dim in told[name].dims}
    return xarray.Dataset(
        {
            name: xarray.Variable(
                ("time", *told[name].dims),
                x.reshape(len(x), *(sizes.get(dim, -1) for dim in told[name].dims)),
                {"units": told[name].unit, "long_name": told[name].meaning},
                fastpath=True,  # or it would look whether the numbers are of Dask, and import it
            )
            for name, x in values.items()
        },
        coords=_coordinates(run.t, tuple((d, x) for d, x in labels.items() if d in used)),
        attrs={
            **maker_attributes(system),
            "mode": json.dumps(run.arcs[0].mode),
            "outcome": run.outcome,
            "validity": run.validity.dumps(),
            **_spare_rows(run),
            **{
                k: v if isinstance(v, float | int) else label(v)
                for k, v in run.settings.items()
                if v is not None
            },
            **({"events": json.dumps([str(e) for e in run.events])} if run.events else {}),
            **_recipe(run),
            **({} if axes == "draisine" else {"axes": axes}),
        },
    )


def _recipe(run: "Trajectory") -> dict[str, str]:
    """Return the attributes that say how to make a run again: version, law, and a script."""
    told = {"draisine": draisine.__version__}
    if run.task is None:
        return told
    return told | law_attributes(run.task.law) | {"recipe": write_recipe(run.task)}


def _coordinates(t: Floats, labels: Labels) -> "xarray.Coordinates":
    """Return the coordinates of a run: its times, and the labels along its other dimensions."""
    import pandas
    import xarray

    variables, indexes = _label_coordinates(labels)
    time = xarray.indexes.PandasIndex(pandas.Index(t), "time")
    told = xarray.Variable(("time",), t, {"units": "s", "long_name": "time"}, fastpath=True)
    return xarray.Coordinates(
        {**time.create_variables({"time": told}), **variables}, {"time": time, **indexes}
    )


@lru_cache(maxsize=16)
def _label_coordinates(labels: Labels) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return variables and indexes of labels: they take longer to make than all else."""
    import pandas
    import xarray

    indexes = {
        dim: xarray.indexes.PandasIndex(pandas.Index(names), dim, np.array(names).dtype)
        for dim, names in labels
    }
    variables = [index.create_variables() for index in indexes.values()]
    return {dim: one for each in variables for dim, one in each.items()}, indexes


VECTORS = {"position", "momentum", "angular_momentum", "contact_point"}
VECTORS |= {"contact_force_world", "contact_force_base"}
"""Variables whose last dimension is an axis of space."""

LABELLED = {"shape": "joint", "speeds": "speed", "accelerations": "speed", "inputs": "input"}
LABELLED |= {"motion_torque": "prescribed", "stop_torque": "joint"}
"""Variables whose labels are names of coordinates, speeds or inputs, and the dimension of these."""


def to_benchmark(
    model: Model, values: Mapping[str, Floats], labels: Mapping[str, tuple[str, ...]]
) -> dict[str, Floats]:
    """Return the variables of a run (time first, labels flat) in the benchmark's axes."""
    half_turn = np.array([1.0, -1.0, -1.0])
    found = {}
    for name, x in values.items():
        if name in VECTORS:
            factors = np.tile(half_turn, x.shape[1] // 3)
        elif name == "orientation":
            factors = np.array([1.0, *half_turn])
        elif name == "contact_force":  # out of the ground, along the heading, across it
            factors = np.tile([1.0, 1.0, -1.0], x.shape[1] // 3)
        elif name in LABELLED:
            factors = np.array([benchmark_sign(model, one) for one in labels[LABELLED[name]]])
        else:
            factors = np.array(benchmark_sign(model, name))
        found[name] = x * factors
    return found


def table(run: "Trajectory", axes: Axes = "draisine") -> "pandas.DataFrame":
    """Return a run as a table: time as its index, one column per number."""
    import pandas

    data = dataset(run, axes)
    columns: dict[str, Floats] = {}
    for name, values in data.data_vars.items():
        flat = values.values.reshape(len(run.t), -1)
        labels = [list(data[dim].values) if dim in data.coords else range(n)
                  for dim, n in zip(values.dims[1:], values.shape[1:], strict=True)]  # fmt: skip
        for k, place in enumerate(product(*labels)):
            where = f"[{', '.join(map(str, place))}]" if place else ""
            columns[f"{name}{where}"] = flat[:, k]
    return pandas.DataFrame(columns, index=pandas.Index(run.t, name="time"))


def _values(run: "Trajectory", known: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the values of all variables of a run that are known of its model, time first, labels
    flat.
    """
    arcs, model = run.arcs, run.arcs[0].machine.system.model
    seen = {key: values.T for key, values in run.observations.items()}
    shape = np.concatenate([arc.y[:, arc.machine.layout.r] for arc in arcs])
    found = {
        "orientation": np.concatenate([arc.pose()[0] for arc in arcs], axis=1).T,
        **{name: seen[key] for name, key in OBSERVED.items()},
        "shape": shape,
        "energy": seen["kinetic"] + seen["potential"],
        "friction_needed": _friction(seen["forces"].reshape(len(shape), -1, 3)),
    }
    found = {name: x for name, x in found.items() if name in known}
    z = np.concatenate([a.y[:, a.machine.layout.z] for a in arcs])
    remembered = {"element_state": z[:, : model.memory], "control_state": z[:, model.memory :]}
    found |= {name: x for name, x in remembered.items() if x.shape[1]}
    if "stop_torques" in seen:
        found["stop_torque"] = seen["stop_torques"]
    return found | named_values(model, shape, seen) | named_accelerations(model, seen)


def named_accelerations(model: Model, seen: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the second derivatives of the base's angles and of the joints, one line per time.

    They follow from the rate of the body's angular velocity, eq. [angle-rates] differentiated; rates
    of a base that cannot turn about an axis are zero there.
    """
    speeds, names = seen["vdot"], model.speeds
    turns = [
        speeds[..., names.index(name)] if name in names else np.zeros(speeds.shape[:-1])
        for name in ("Wx", "Wy", "Wz")
    ]
    angles, rates = seen["outputs"], seen["output_rates"]
    yaw_rate, lean_rate, pitch_rate = (rates[..., k] for k in range(3))
    lean, pitch = angles[..., 1], angles[..., 2]
    along = np.cos(pitch) * turns[0] + np.sin(pitch) * turns[2]
    upward = np.cos(pitch) * turns[2] - np.sin(pitch) * turns[0]
    coupled = np.sin(lean) * lean_rate * yaw_rate - pitch_rate * lean_rate
    yaw = (upward + coupled) / np.cos(lean)
    found = {
        "yaw_acceleration": yaw,
        "lean_acceleration": along + pitch_rate * np.cos(lean) * yaw_rate,
        "pitch_acceleration": turns[1] - np.sin(lean) * yaw - np.cos(lean) * lean_rate * yaw_rate,
    }
    return found | {
        f"{joint.name}_acceleration": speeds[..., names.index(f"{joint.name}_rate")]
        for joint in model.joints
    }


def named_values(model: Model, shape: Floats, seen: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return joints and outputs as variables of their own, each with its rate; of a shape and of what
    is seen, or with one line per time (or per machine).
    """
    found = {}
    for k, joint in enumerate(model.joints):
        found[joint.name] = shape[..., k]
        found[f"{joint.name}_rate"] = seen["v"][..., model.speeds.index(f"{joint.name}_rate")]
    for k, name in enumerate(output_names(model)):
        found[name], found[f"{name}_rate"] = seen["outputs"][..., k], seen["output_rates"][..., k]
    return found


def _spare_rows(run: "Trajectory") -> dict[str, str]:
    """Return which rows of the first arc were left out since they repeat others, if some were: their
    forces are shared by least norm.
    """
    machine = run.arcs[0].machine
    spare = machine.choice.spare if isinstance(machine, ClosedForm) else []
    return {"spare_rows": json.dumps(spare)} if spare else {}


def maker_attributes(system: Any) -> dict[str, str]:
    """Return what tells a machine: its vehicle's name and, if that is in a module of the user's (not
    in the script that runs, which would run again), where; parameters, and what decided its
    structure. What was run is trusted. A vehicle that has no such place is kept `here`, and so is one with
    an argument that cannot be told.
    """
    told = {
        "vehicle": system.vehicle.__name__,
        "parameters": json.dumps(system.parameters),
        "structure": json.dumps(plain_structure(system.structure)),
    }
    vehicle = system.vehicle
    home = getattr(vehicle, "__module__", None) or "__main__"
    own = home != "__main__" and not home.startswith("draisine.")
    top = own and vehicle.__qualname__ == vehicle.__name__
    lost = lost_structure(system.structure)
    if top and (path := Path(inspect.getfile(vehicle))).is_file():
        told["vehicle_path"] = f"{path.resolve()}:{vehicle.__name__}"
        trust(told["vehicle_path"])
    if lost or ("vehicle_path" not in told and not home.startswith("draisine.vehicles.")):
        made_of = fingerprint((vehicle, system.structure, system.parameters))
        told["vehicle_here"] = str(made_of or f"{PROCESS} {id(system.artifacts)}")
        HERE.get(told["vehicle_here"], lambda: system)
    return told


def _friction(forces: Floats) -> Floats:
    """Return tangential over normal force; not a number where nothing pushes."""
    tangential = np.hypot(forces[..., 1], forces[..., 2])
    normal = forces[..., 0]
    return np.divide(tangential, normal, out=np.full_like(normal, np.nan), where=normal > 0)


# Provenance: what a result was made with, as data and as a Python script that makes it again. What neither
# can write, a function without an importable name, is described by its source text.

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


def provenance(system: System, law: Any, recipe: str) -> dict[str, str]:
    """Return the attributes of a result that tell how to make it again: machine, law with all its numbers,
    version, and the recipe.
    """
    told = maker_attributes(system) | law_attributes(law)
    return told | {"draisine": draisine.__version__, "recipe": recipe}


def call_recipe(name: str, function: Any, *arguments: Any, **options: Any) -> str:
    """Return the Python script that makes a result again by one call; options that are None are left out.

    Examples
    --------
    >>> print(call_recipe("found", math.hypot, 3.0, 4.0), end="")  # doctest: +ELLIPSIS
    # Made with draisine ...
    import draisine
    import math
    found = math.hypot(3.0, 4.0)
    """
    script = _Script()
    lines: list[str] = []
    call = script.write(function, "function")
    inside = [script.argument(value, f"argument_{k}", lines) for k, value in enumerate(arguments)]
    for key, value in options.items():
        if value is not None:
            inside.append(f"{key}={script.argument(value, key, lines)}")
    return script.text([*lines, f"{name} = {call}({', '.join(inside)})"])


def recorded(function: "Callable[P, xarray.Dataset]") -> "Callable[P, xarray.Dataset]":
    """Let the dataset that a function returns have the recipe: the call of that function."""

    @wraps(function)
    def call(*arguments: "P.args", **options: "P.kwargs") -> "xarray.Dataset":
        found = function(*arguments, **options)
        plain = {k: v for k, v in options.items() if k != "progress"}
        return found.assign_attrs(recipe=call_recipe("data", call, *arguments, **plain))

    return call


def write_recipe(task: Task) -> str:
    """Return the Python script that makes a run again, with the same bits."""
    script = _Script()
    return script.text(_run_lines(task, script))


def _run_lines(task: Task, script: "_Script") -> list[str]:
    """Return the lines of the script that makes a run again."""
    options = {
        "law": task.law,
        "inputs": dict(task.inputs) if task.inputs else None,
        "contact": None if task.contact == CONTACT else task.contact,
        "numerics": None if task.numerics == NUMERICS else task.numerics,
        "terrain": task.terrain,
    }
    lines = [f"system = {_compiled(task.system, script)}"]
    numbers = {name: getattr(task.state, name) for name in ("q", "p", "r", "v", "element_state")}
    state = ", ".join(f"{name}={script.write(x, name)}" for name, x in numbers.items())
    lines.append(f"start = draisine.State({state})")
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        lines.append(f"{name} = {script.write(value, name)}")
    named = "".join(f", {name}={name}" for name in given)
    lines.append(f"run = draisine.simulate(system, start, {task.until!r}{named})")
    return lines


def _compiled(system: System, script: "_Script") -> str:
    """Return the expression that makes the machine."""
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
    return f"draisine.compile({which}, **{script.write(arguments, 'arguments')})"


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

    def argument(self, value: Any, name: str, lines: list[str]) -> str:
        """Return an argument of a call as an expression; a machine and a run get lines of their own."""
        if isinstance(value, System):
            lines.append(f"system = {_compiled(value, self)}")
            return "system"
        task = getattr(value, "task", None)
        if isinstance(task, Task):
            lines += _run_lines(task, self)
            return "run"
        return self.write(value, name)

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
