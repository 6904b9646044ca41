"""A run as labelled data (xarray, pandas) with units and provenance.

The provenance contains the control law with all its numbers, and a script that repeats the run.

The variables are those of `draisine.model.names`; time is the first axis.
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
from draisine.model.sensor import sensor_table
from draisine.registry import plugin_label, trust
from draisine.simulation.options import CONTACT, NUMERICS, Task
from draisine.simulation.sensing import held_readings
from draisine.system.system import UNNAMED_SYSTEMS, System
from draisine.terrain import Terrain
from draisine.vehicles import level_vehicle, plain_structure, unstored_arguments

if TYPE_CHECKING:
    import pandas
    import xarray

    from draisine.simulation.trajectory import Trajectory

P = ParamSpec("P")

Labels = tuple[tuple[str, tuple[str, ...]], ...]
"""Labels along each dimension: pairs of dimension name and labels."""

PROCESS_ID = secrets.token_hex(8)
"""Random identifier of this process; it marks vehicles that exist only in the memory of the process."""


OBSERVED_VARIABLES = {
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
"""Names of the outputs of the program `observe`, by the variable of a dataset."""


def make_dataset(run: "Trajectory", axes: Axes = "draisine") -> "xarray.Dataset":
    """Return a run as a dataset with units and long names; its attributes contain the run's arguments."""
    import xarray

    check_axes(axes)

    system = run.arcs[0].machine.system
    labels = dimensions(system.model)
    of_model = variables(system.model)
    values = _values(run, of_model)
    meanings = STORED_VARIABLES | of_model
    if axes == "benchmark":
        values = to_benchmark(system.model, values, labels)
    sizes = {dim: len(names) for dim, names in labels.items()}
    used = {dim for name in values for dim in meanings[name].dims}
    return xarray.Dataset(
        {
            name: xarray.Variable(
                ("time", *meanings[name].dims),
                x.reshape(len(x), *(sizes.get(dim, -1) for dim in meanings[name].dims)),
                {"units": meanings[name].unit, "long_name": meanings[name].meaning},
                fastpath=True,  # otherwise xarray imports Dask to find out whether the array is lazy
            )
            for name, x in values.items()
        },
        coords=_coordinates(run.t, tuple((d, x) for d, x in labels.items() if d in used)),
        attrs={
            **maker_attributes(system),
            "mode": json.dumps(run.arcs[0].mode),
            "outcome": run.outcome,
            "validity": run.validity.dumps(),
            **_redundant_rows(run),
            **{
                k: v if isinstance(v, float | int) else plugin_label(v)
                for k, v in run.settings.items()
                if v is not None
            },
            **({"events": json.dumps([str(e) for e in run.events])} if run.events else {}),
            **_recipe(run),
            **({} if axes == "draisine" else {"axes": axes}),
        },
    )


def _recipe(run: "Trajectory") -> dict[str, str]:
    """Return the dataset attributes with which a user can repeat a run: version, control law and a script."""
    version = {"draisine": draisine.__version__}
    if run.task is None:
        return version
    return version | law_attributes(run.task.law) | {"recipe": write_recipe(run.task)}


def _coordinates(t: Floats, labels: Labels) -> "xarray.Coordinates":
    """Return the coordinates of a dataset: the times (s), and the labels of the other dimensions."""
    import pandas
    import xarray

    variables, indexes = _label_coordinates(labels)
    time = xarray.indexes.PandasIndex(pandas.Index(t), "time")
    times = xarray.Variable(("time",), t, {"units": "s", "long_name": "time"}, fastpath=True)
    return xarray.Coordinates(
        {**time.create_variables({"time": times}), **variables}, {"time": time, **indexes}
    )


@lru_cache(maxsize=16)
def _label_coordinates(labels: Labels) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Return the coordinate variables and indexes for the labels of all dimensions except time.

    They are cached, because their construction takes longer than the rest of a dataset.
    """
    import pandas
    import xarray

    indexes = {
        dim: xarray.indexes.PandasIndex(pandas.Index(names), dim, np.array(names).dtype)
        for dim, names in labels
    }
    variables = [index.create_variables() for index in indexes.values()]
    return {dim: variable for group in variables for dim, variable in group.items()}, indexes


VECTOR_VARIABLES = {"position", "momentum", "angular_momentum", "contact_point"}
VECTOR_VARIABLES |= {"contact_force_world", "contact_force_base"}
"""Names of the variables whose last dimension is a spatial axis (x, y, z)."""

LABEL_DIMENSIONS = {
    "shape": "joint",
    "speeds": "speed",
    "accelerations": "speed",
    "inputs": "input",
}
LABEL_DIMENSIONS |= {"motion_torque": "prescribed", "stop_torque": "joint"}
"""Dimension of the labels of each variable with one entry per coordinate, speed or input."""


def to_benchmark(
    model: Model, values: Mapping[str, Floats], labels: Mapping[str, tuple[str, ...]]
) -> dict[str, Floats]:
    """Convert the variables of a run to the axes of the bicycle benchmark (Meijaard et al. 2007).

    `values` are arrays (times, entries) by name; `labels` are the labels of each dimension.
    """
    half_turn = np.array([1.0, -1.0, -1.0])
    converted = {}
    for name, x in values.items():
        if name in VECTOR_VARIABLES:
            factors = np.tile(half_turn, x.shape[1] // 3)
        elif name == "orientation":
            factors = np.array([1.0, *half_turn])
        elif name == "contact_force":  # out of the ground, along the heading, across it
            factors = np.tile([1.0, 1.0, -1.0], x.shape[1] // 3)
        elif name in LABEL_DIMENSIONS:
            factors = np.array(
                [benchmark_sign(model, label) for label in labels[LABEL_DIMENSIONS[name]]]
            )
        else:
            factors = np.array(benchmark_sign(model, name))
        converted[name] = x * factors
    return converted


def make_table(run: "Trajectory", axes: Axes = "draisine") -> "pandas.DataFrame":
    """Return a run as a table with time (s) as its index and one column per scalar."""
    import pandas

    data = make_dataset(run, axes)
    columns: dict[str, Floats] = {}
    for name, values in data.data_vars.items():
        flat = values.values.reshape(len(run.t), -1)
        labels = [list(data[dim].values) if dim in data.coords else range(n)
                  for dim, n in zip(values.dims[1:], values.shape[1:], strict=True)]  # fmt: skip
        for k, indices in enumerate(product(*labels)):
            suffix = f"[{', '.join(map(str, indices))}]" if indices else ""
            columns[f"{name}{suffix}"] = flat[:, k]
    return pandas.DataFrame(columns, index=pandas.Index(run.t, name="time"))


def _values(run: "Trajectory", of_model: Mapping[str, Any]) -> dict[str, Floats]:
    """Return the values (times, labels) of all variables of the model of a run, by variable name."""
    arcs = run.arcs
    model = arcs[0].machine.system.model
    outputs = {key: values.T for key, values in run.observations.items()}
    shape = np.concatenate([arc.y[:, arc.machine.layout.r] for arc in arcs])
    values = {
        "orientation": np.concatenate([arc.pose()[0] for arc in arcs], axis=1).T,
        **{name: outputs[key] for name, key in OBSERVED_VARIABLES.items()},
        "shape": shape,
        "energy": outputs["kinetic"] + outputs["potential"],
        "friction_needed": _friction(outputs["forces"].reshape(len(shape), -1, 3)),
    }
    values = {name: x for name, x in values.items() if name in of_model}
    z = np.concatenate([a.y[:, a.machine.layout.z] for a in arcs])
    memory = {"element_state": z[:, : model.memory], "control_state": z[:, model.memory :]}
    values |= {name: x for name, x in memory.items() if x.shape[1]}
    if "stop_torques" in outputs:
        values["stop_torque"] = outputs["stop_torques"]
    values |= named_values(model, shape, outputs) | named_accelerations(model, outputs)
    return values | held_readings(run)


def named_accelerations(model: Model, outputs: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the second derivatives of the base's angles and of the joints by name, one entry per time.

    They follow from the rate of the base's angular velocity, by differentiation of eq. [angle-rates].
    Components that the symmetry group of the base excludes are zero.
    """
    vdot = outputs["vdot"]
    names = model.speeds
    Wdot = [
        vdot[..., names.index(name)] if name in names else np.zeros(vdot.shape[:-1])
        for name in ("Wx", "Wy", "Wz")
    ]
    lean = outputs["outputs"][..., 1]
    pitch = outputs["outputs"][..., 2]
    yaw_rate, lean_rate, pitch_rate = (outputs["output_rates"][..., k] for k in range(3))
    forward = np.cos(pitch) * Wdot[0] + np.sin(pitch) * Wdot[2]
    upward = np.cos(pitch) * Wdot[2] - np.sin(pitch) * Wdot[0]
    coupling = np.sin(lean) * lean_rate * yaw_rate - pitch_rate * lean_rate
    yaw = (upward + coupling) / np.cos(lean)
    accelerations = {
        "yaw_acceleration": yaw,
        "lean_acceleration": forward + pitch_rate * np.cos(lean) * yaw_rate,
        "pitch_acceleration": Wdot[1] - np.sin(lean) * yaw - np.cos(lean) * lean_rate * yaw_rate,
    }
    return accelerations | {
        f"{joint.name}_acceleration": vdot[..., names.index(f"{joint.name}_rate")]
        for joint in model.joints
    }


def named_values(model: Model, shape: Floats, outputs: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return joint coordinates and outputs with their rates, by name.

    `shape` contains the joint coordinates (..., joints), `outputs` the results of the program `observe`. The
    leading axes are times or machines.
    """
    values = {}
    for k, joint in enumerate(model.joints):
        values[joint.name] = shape[..., k]
        values[f"{joint.name}_rate"] = outputs["v"][..., model.speeds.index(f"{joint.name}_rate")]
    for k, name in enumerate(output_names(model)):
        values[name] = outputs["outputs"][..., k]
        values[f"{name}_rate"] = outputs["output_rates"][..., k]
    return values


def _redundant_rows(run: "Trajectory") -> dict[str, str]:
    """Return the dataset attribute with the redundant constraint rows of a run; empty without any.

    The contact forces of a run with redundant rows have minimum norm.
    """
    redundant = run.validity.redundant_rows
    return {"spare_rows": json.dumps(redundant)} if redundant else {}


def maker_attributes(system: Any) -> dict[str, str]:
    """Return the dataset attributes that identify a system: vehicle, parameters and structure.

    For a vehicle in a module of the user, `vehicle_path` is the file of this module, which is trusted from
    then on. Two kinds of vehicles are only kept in memory while the program runs (`vehicle_here`): a vehicle
    that the running script defines, because loading this script would run it again, and a vehicle with an
    argument that cannot be stored.
    """
    attributes = {
        "vehicle": system.vehicle.__name__,
        "parameters": json.dumps(system.parameters),
        "structure": json.dumps(plain_structure(system.structure)),
        **sensor_attributes(system),
    }
    vehicle = system.vehicle
    module = getattr(vehicle, "__module__", None) or "__main__"
    is_of_user = module != "__main__" and not module.startswith("draisine.")
    is_importable = is_of_user and vehicle.__qualname__ == vehicle.__name__
    is_incomplete = unstored_arguments(system.structure)
    if is_importable and (path := Path(inspect.getfile(vehicle))).is_file():
        attributes["vehicle_path"] = f"{path.resolve()}:{vehicle.__name__}"
        trust(attributes["vehicle_path"])
    is_findable = "vehicle_path" in attributes or module.startswith("draisine.vehicles.")
    if is_incomplete or not is_findable:
        digest = fingerprint((vehicle, system.structure, system.parameters, *system.added_sensors))
        attributes["vehicle_here"] = str(digest or f"{PROCESS_ID} {id(system.artifacts)}")
        UNNAMED_SYSTEMS.get(attributes["vehicle_here"], lambda: system)
    return attributes


def sensor_attributes(system: System) -> dict[str, str]:
    """Return the dataset attribute `sensors`, which describes the added sensors; empty if there are none."""
    tables = [sensor_table(sensor) for sensor in system.added_sensors]
    return {"sensors": json.dumps([table for table in tables if table])} if tables else {}


def _friction(forces: Floats) -> Floats:
    """Return the ratio of tangential to normal force, from forces (..., 3), N; NaN without a push."""
    tangential = np.hypot(forces[..., 1], forces[..., 2])
    normal = forces[..., 0]
    return np.divide(tangential, normal, out=np.full_like(normal, np.nan), where=normal > 0)


# Provenance: the arguments of a result, as data and as a Python script that repeats it. A function without an
# importable name is described by its source text.

MAX_RECIPE_FEATURES = 100
"""Largest number of features of a terrain in a recipe, the script that repeats a run.

A recipe names a larger terrain, and the user must define it before the script can run.
"""


def describe(thing: Any) -> Any:
    """Return an object with all its numbers as data that JSON can store.

    A record becomes a table with its class under `kind`, a function becomes its name and source text, and an
    array becomes a list.

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
        fields = {
            field.name: describe(getattr(thing, field.name)) for field in dataclasses.fields(thing)
        }
        return {"kind": _full_name(type(thing)), **fields}
    if callable(thing) and hasattr(thing, "__qualname__"):
        return {"function": _full_name(thing), "source": _source(thing)}
    attributes = getattr(thing, "__dict__", {})
    public = {key: describe(value) for key, value in attributes.items() if key[:1] != "_"}
    return {"kind": _full_name(type(thing)), **public}


def law_attributes(law: Any) -> dict[str, str]:
    """Return the dataset attributes that describe a control law.

    `law` contains the law with all its numbers, and `law_digest` a hash, which is equal for laws that
    act alike. The hash is left out if the law has none.
    """
    if law is None:
        return {}
    digest = fingerprint(law)
    attributes = {"law": json.dumps(describe(law))}
    return attributes if digest is None else attributes | {"law_digest": digest}


def provenance(system: System, law: Any, recipe: str) -> dict[str, str]:
    """Return the dataset attributes with which a user can repeat a result.

    They contain the system, the control law with all its numbers, the version of draisine, and the recipe (a
    script that repeats the result).
    """
    attributes = maker_attributes(system) | law_attributes(law)
    return attributes | {"draisine": draisine.__version__, "recipe": recipe}


def call_recipe(name: str, function: Any, *arguments: Any, **options: Any) -> str:
    """Return a Python script that repeats a result by one call; options that are None are left out.

    Examples
    --------
    >>> print(call_recipe("result", math.hypot, 3.0, 4.0), end="")  # doctest: +ELLIPSIS
    # Made with draisine ...
    import draisine
    import math
    result = math.hypot(3.0, 4.0)
    """
    script = _Script()
    lines: list[str] = []
    call = script.write(function, "function")
    inside = [script.argument(value, f"argument_{k}", lines) for k, value in enumerate(arguments)]
    for key, value in options.items():
        if value is not None:
            inside.append(f"{key}={script.argument(value, key, lines)}")
    return script.text([*lines, f"{name} = {call}({', '.join(inside)})"])


def with_recipe(function: "Callable[P, xarray.Dataset]") -> "Callable[P, xarray.Dataset]":
    """Decorate a function so that the dataset it returns contains a recipe: the call of the function."""

    @wraps(function)
    def call(*arguments: "P.args", **options: "P.kwargs") -> "xarray.Dataset":
        data = function(*arguments, **options)
        repeatable = {k: v for k, v in options.items() if k != "progress"}
        return data.assign_attrs(recipe=call_recipe("data", call, *arguments, **repeatable))

    return call


def write_recipe(task: Task) -> str:
    """Return a Python script that repeats a run with bitwise equal results."""
    script = _Script()
    return script.text(_run_lines(task, script))


def _run_lines(task: Task, script: "_Script") -> list[str]:
    """Return the lines of the script that repeats a run."""
    options = {
        "law": task.law,
        "inputs": dict(task.inputs) if task.inputs else None,
        "contact": None if task.contact == CONTACT else task.contact,
        "numerics": None if task.numerics == NUMERICS else task.numerics,
        "terrain": task.terrain,
    }
    lines = [f"system = {_write_compile_call(task.system, script)}"]
    if task.system.added_sensors:
        sensors = script.write(list(task.system.added_sensors), "sensors")
        lines.append(f"system = system.with_sensors(*{sensors})")
    numbers = {name: getattr(task.state, name) for name in ("q", "p", "r", "v", "element_state")}
    state = ", ".join(f"{name}={script.write(x, name)}" for name, x in numbers.items())
    lines.append(f"start = draisine.State({state})")
    set_options = {name: value for name, value in options.items() if value is not None}
    for name, value in set_options.items():
        lines.append(f"{name} = {script.write(value, name)}")
    arguments = "".join(f", {name}={name}" for name in set_options)
    lines.append(f"run = draisine.simulate(system, start, {task.until!r}{arguments})")
    return lines


def _write_compile_call(system: System, script: "_Script") -> str:
    """Return the source of the call `draisine.compile(...)` that makes the system."""
    vehicle = level_vehicle(system.vehicle)
    module = getattr(vehicle, "__module__", "") or ""
    is_shipped = module.startswith("draisine.vehicles.")
    name_or_function = repr(vehicle.__name__) if is_shipped else script.write(vehicle, "vehicle")
    arguments = dict(system.parameters) | plain_structure(system.structure)
    for name in unstored_arguments(system.structure):
        script.missing.append((name, f"argument {name} of {vehicle.__name__}: not plain data"))
    for name, value in system.structure.items():
        if name not in arguments and callable(value):
            arguments[name] = value
    return f"draisine.compile({name_or_function}, **{script.write(arguments, 'arguments')})"


class _Script:
    """A script under construction: the modules that it imports, and the objects that it cannot write."""

    def __init__(self) -> None:
        self.modules = {"draisine"}
        self.missing: list[tuple[str, str]] = []

    def text(self, lines: list[str]) -> str:
        """Return the whole script with imports and comments."""
        imports = [f"import {name}" for name in sorted(self.modules)]
        notes = [
            f"# Define {name} before you run this: {text}".replace("\n", "\n#     ")
            for name, text in self.missing
        ]
        head = f"# Made with draisine {draisine.__version__}."
        return "\n".join([head, *imports, *notes, *lines]) + "\n"

    def argument(self, value: Any, name: str, lines: list[str]) -> str:
        """Return the expression of a call's argument; append definitions of systems and runs to `lines`."""
        if isinstance(value, System):
            lines.append(f"system = {_write_compile_call(value, self)}")
            return "system"
        task = getattr(value, "task", None)
        if isinstance(task, Task):
            lines += _run_lines(task, self)
            return "run"
        return self.write(value, name)

    def write(self, value: Any, name: str) -> str:
        """Return the Python expression of a value.

        If the value cannot be written, the expression is `name` with a number, and a comment asks the user to
        define it.
        """
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
        if type(value) is Terrain and len(value) <= MAX_RECIPE_FEATURES:
            self.modules.add("draisine.terrain")
            return f"draisine.terrain.Terrain({self.write(list(value.features), name)})"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._write_record(value, name)
        if callable(value) and _is_importable(value):
            self.modules.add(value.__module__)
            return _full_name(value)
        return self._leave_out(value, name)

    def _write_record(self, value: Any, name: str) -> str:
        """Return the expression of a dataclass: a call of its class."""
        kind = type(value)
        if not _is_importable(kind):
            return self._leave_out(value, name)
        self.modules.add(kind.__module__)
        names = [field.name for field in dataclasses.fields(value) if field.init]
        inside = (f"{field}={self.write(getattr(value, field), field)}" for field in names)
        return f"{_full_name(kind)}({', '.join(inside)})"

    def _leave_out(self, value: Any, name: str) -> str:
        """Return the name of a value that the user must define, and add a comment with its definition."""
        name = name if name.isidentifier() else "value"
        name = f"{name}_{len(self.missing) + 1}"
        source = _source(value) if isinstance(value, FunctionType) else ""
        self.missing.append((name, source or f"{plugin_label(value)!s:.200}"))
        return name


def _full_name(thing: Any) -> str:
    """Return module and name of a class or function, such as `draisine.control.turn_p.TurnP`."""
    return f"{thing.__module__}.{thing.__qualname__}"


def _is_importable(thing: Any) -> bool:
    """Return whether another program can import the same object by its module and name."""
    module = getattr(thing, "__module__", None)
    name = getattr(thing, "__qualname__", "<none>")
    if module in (None, "__main__") or "<" in name:
        return False
    try:
        imported = importlib.import_module(module)
        for attribute in name.split("."):
            imported = getattr(imported, attribute)
    except (ImportError, AttributeError):
        return False
    return imported is thing


def _source(thing: Any) -> str:
    """Return the source text of a function, or an empty text if it is not available."""
    try:
        return inspect.cleandoc(inspect.getsource(thing)).strip()
    except (OSError, TypeError):
        return ""
