"""Forward kinematics of a stored run: pose, velocity and acceleration of every body.

The vehicle is compiled again from the dataset's attributes. One outward recursion over the tree of bodies
(`mechanics.kinematics`), traced once, is evaluated for all sample times together.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

import draisine
from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Array, Floats
from draisine.algebra.trace import Graph
from draisine.codegen.program import Program, run_program
from draisine.errors import DataError, DraisineError, UnknownNameError
from draisine.mechanics.readings import body_kinematics
from draisine.model import Model, Wheel
from draisine.model.motion import motion_from_table
from draisine.model.sensor import build_sensor
from draisine.registry import check_trust
from draisine.results.attributes import read_table_attribute
from draisine.simulation.dataset import sensor_attributes
from draisine.system.layout import state_sizes
from draisine.system.system import UNNAMED_SYSTEMS, System, compile
from draisine.system.tracing import Tracing
from draisine.vehicles import plain_structure

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """Motion of one body in world axes; the first axis of each array is time.

    Points of the body are identified by their coordinates (m) in the zero configuration.
    """

    R: Floats
    """Rotation matrices from the zero configuration to the world, (times, 3, 3)."""
    p: Floats
    """World position, m, (times, 3), of the body point that is at the origin in the zero configuration."""
    v: Floats
    """World velocity, m/s, (times, 3), of the body point that is at the origin in the zero configuration."""
    w: Floats
    """Angular velocity in world axes, rad/s, (times, 3)."""
    a: Floats
    """World acceleration, m/s2, (times, 3), of the body point at the origin in the zero configuration."""
    dw: Floats
    """Angular acceleration in world axes, rad/s2, (times, 3)."""

    def at(self, time_index: int) -> "BodyMotion":
        """Return the motion at the time with index; its arrays have no time axis."""
        return BodyMotion(
            self.R[time_index],
            self.p[time_index],
            self.v[time_index],
            self.w[time_index],
            self.a[time_index],
            self.dw[time_index],
        )

    def position(self, point: Floats) -> Floats:
        """Return the world position, m, (times, 3), of a body point.

        `point` (3,) is its position in the zero configuration, m.
        """
        return self.p + self.R @ point

    def velocity(self, point: Floats) -> Floats:
        """Return the world velocity, m/s, (times, 3), of a body point.

        `point` (3,) is its position in the zero configuration, m.
        """
        return self.v + np.cross(self.w, self.R @ point)

    def acceleration(self, point: Floats) -> Floats:
        """Return the world acceleration, m/s2, (times, 3), of a body point.

        `point` (3,) is its position in the zero configuration, m.
        """
        d = self.R @ point
        return self.a + np.cross(self.dw, d) + np.cross(self.w, np.cross(self.w, d))


def restore_system(data: "Dataset") -> System:
    """Compile the vehicle of a stored dataset again, from vehicle name and parameters in its attributes.

    Raises
    ------
    DataError
        If the dataset is in the benchmark's axes, does not name its vehicle, names untrusted code, or if
        the vehicle cannot be compiled again.
    """
    if data.attrs.get("axes") == "benchmark" and "time" in data.dims:
        raise DataError(
            "The dataset is in the benchmark's axes. Replays, figures of the machine and queries need "
            "draisine's axes: use to_xarray() without `axes`."
        )
    name = data.attrs.get("vehicle")
    if name is None or data.attrs.get("parameters") is None:
        raise DataError(
            "The dataset does not name its vehicle (attributes 'vehicle' and 'parameters')."
        )
    vehicle = str(data.attrs.get("vehicle_path", name))
    check_trust(vehicle, "the dataset")
    arguments = read_table_attribute(data, "parameters") | read_table_attribute(data, "structure")
    motions = read_table_attribute(data, "motions")
    process_key = data.attrs.get("vehicle_here")

    def compile_stored() -> System:
        """Compile the vehicle with the stored arguments and parameter values."""
        # A vehicle that another process defined cannot be rebuilt: a vehicle of the same name in
        # this process may differ.
        if process_key is not None:
            raise UnknownNameError(
                f"Vehicle {vehicle!r} was defined in another process and is not stored. (Only arguments "
                "that are numbers, texts, lists, tables and records are stored.)"
            )
        sensors = json.loads(data.attrs.get("sensors", "[]"))
        return compile(vehicle, **arguments).with_sensors(*map(build_sensor, sensors))

    try:
        arguments |= {key: motion_from_table(entry) for key, entry in motions.items()}
        return UNNAMED_SYSTEMS.get(process_key, compile_stored)
    except (DraisineError, TypeError) as error:
        raise DataError(
            f"The dataset's vehicle cannot be compiled again: {error} Define your own vehicles in a file "
            "and compile them as FILE.py:function, so that results can refer to them."
        ) from error


def machine_attributes(system: System, title: str) -> dict[str, str]:
    """Return the dataset attributes from which `restore_system` compiles the vehicle again.

    Prescribed joint motions are Python functions and are left out; scenarios store them by name.
    """
    return {
        "title": title,
        "draisine": draisine.__version__,
        "parameters": json.dumps(system.parameters),
        "structure": json.dumps(plain_structure(system.structure)),
        **sensor_attributes(system),
    }


def restore_model(data: "Dataset") -> Model:
    """Compile the vehicle of a stored dataset again and return its model."""
    return restore_system(data).model


class Bodies:
    """Motion of all bodies in a dataset of a run; the first axis of each array is time."""

    def __init__(self, data: "Dataset", model: Model | None = None) -> None:
        """Keep a dataset and, optionally, its model; without one, the model is compiled when needed."""
        self.data = data
        if model is not None:
            self.model = model

    @cached_property
    def model(self) -> Model:
        """Model of the vehicle, compiled at first use because stored variables do not need it."""
        return restore_model(self.data)

    @cached_property
    def motions(self) -> dict[str, BodyMotion]:
        """Motion of every body by body name."""
        names = {"q": "orientation", "p": "position", "r": "shape", "v": "speeds"}
        names |= {"vdot": "accelerations"}
        if missing := [name for name in names.values() if name not in self.data]:
            raise DataError(f"The result is incomplete: it has no variable named {missing[0]!r}.")
        arrays = {key: self.data[name].values.T for key, name in names.items()}
        return body_motions(self.model, run_program(trace_bodies(self.model), **arrays))

    @cached_property
    def wheels(self) -> dict[str, Wheel]:
        """Contacts of the vehicle that are wheels, by name."""
        return {c.name: c for c in self.model.wheels}

    def find_carrier(self, wheel: Wheel) -> BodyMotion:
        """Return the motion of the body to which a wheel's axle is attached (fork, frame)."""
        for joint in self.model.joints:
            misalignment = np.cross(np.asarray(joint.axis, float), np.asarray(wheel.axle, float))
            # The bearing of a wheel is a joint about its axle. The tolerance 1e-12 allows for
            # round-off of unit vectors.
            if joint.child == wheel.body and not np.any(np.abs(misalignment) > 1e-12):
                return self.motions[joint.parent]
        return self.motions[wheel.body]


def body_motions(model: Model, outputs: Mapping[str, Floats]) -> dict[str, BodyMotion]:
    """Return the motion of every body by name from the outputs (values, times) of `trace_bodies`."""
    vectors = ("p", "v", "w", "a", "dw")
    return {
        body.name: BodyMotion(
            outputs[f"{body.name}.R"].T.reshape(-1, 3, 3),
            *(outputs[f"{body.name}.{vector}"].T for vector in vectors),
        )
        for body in model.bodies
    }


def trace_bodies(model: Model) -> Program:
    """Return the program of the forward kinematics: from state and accelerations to all `BodyMotion`."""
    tracing = Tracing(Graph(), model, {}, {})
    speeds = len(model.speeds)
    inputs = tracing.symbols(state_sizes(model, v=speeds, vdot=speeds))
    outputs: dict[str, Array] = {}
    base = rotation(inputs["q"])
    motions = body_kinematics(model, base, inputs["p"], inputs["r"], inputs["v"], inputs["vdot"])
    for name, motion in motions.items():
        for field in ("R", "p", "v", "w", "a", "dw"):
            outputs[f"{name}.{field}"] = getattr(motion, field).ravel()
    return tracing.make_program("bodies", inputs, outputs)
