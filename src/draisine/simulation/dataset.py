"""A run as labelled data: the variables of `draisine.model.names`, time first."""

import inspect
import json
import secrets
from collections.abc import Mapping
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import draisine
from draisine.algebra.scalar import Floats
from draisine.codegen.fingerprint import fingerprint
from draisine.model import Model
from draisine.model.axes import Axes, benchmark_sign, check_axes
from draisine.model.names import STORED, dimensions, output_names, variables
from draisine.registry import label, trust
from draisine.system.closed_form import ClosedForm
from draisine.system.system import HERE
from draisine.vehicles import lost_structure, plain_structure

if TYPE_CHECKING:
    import pandas
    import xarray

    from draisine.simulation.trajectory import Trajectory

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
    values, told = _values(run, known), STORED | known
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
    from draisine.simulation.provenance import law_attributes, write_recipe

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
