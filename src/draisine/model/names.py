"""Names, units, meanings and dimensions of states, outputs and results.

Datasets, metrics, initial states, reserved names and `draisine show` use these tables.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from draisine.errors import ParameterError
from draisine.model.sensor import signal_name

if TYPE_CHECKING:
    from draisine.model.model import Model


@dataclass(frozen=True, slots=True)
class Variable:
    """Quantity of a run: unit, meaning and dimensions."""

    unit: str  # SI unit; with "or" if it depends on the label, see `label_units`
    meaning: str
    dims: tuple[str, ...] = ()  # names of the array dimensions that follow the time dimension


BASE_ANGLES = {
    "yaw": Variable("rad", "heading, positive to the left"),
    "lean": Variable("rad", "lean, positive to the right"),
    "pitch": Variable("rad", "pitch, positive nose down"),
}
"""Angles of the base, R = Rz(yaw) Rx(lean) Ry(pitch)."""

BASE_ACCELERATIONS = {
    f"{name}_acceleration": Variable("rad/s2", f"second time derivative of the {name}")
    for name in BASE_ANGLES
}
"""Second time derivatives of the angles of the base."""

BASE_POSITION = {axis: Variable("m", f"position of the drawing's origin, {axis}") for axis in "xyz"}
"""Components of the position (m) of the base in the world: that of the point of the base that is at the
origin of the drawing (the zero configuration).
"""

STORED_VARIABLES = {
    "orientation": Variable("1", "unit quaternion of the base, scalar first", ("quaternion",)),
    "position": Variable("m", "position of the drawing's origin on the base", ("axis",)),
    "shape": Variable("rad or m", "joint coordinates", ("joint",)),
    "speeds": Variable("m/s or rad/s", "base twist in its own axes, joint rates", ("speed",)),
    "accelerations": Variable("m/s2 or rad/s2", "rates of the speeds", ("speed",)),
    "inputs": Variable("N m or N", "joint torques and outer forces", ("input",)),
    "kinetic_energy": Variable("J", "kinetic energy"),
    "potential_energy": Variable("J", "energy of weight and springs"),
    "energy": Variable("J", "mechanical energy"),
    "momentum": Variable("N s", "linear momentum", ("axis",)),
    "angular_momentum": Variable("N m s", "angular momentum about the world's origin", ("axis",)),
    "contact_point": Variable("m", "where each contact touches", ("contact", "axis")),
    "contact_force": Variable("N", "force of the ground on the machine", ("contact", "direction")),
    "contact_force_world": Variable(
        "N", "force of the ground on the machine, world axes", ("contact", "axis")
    ),
    "contact_force_base": Variable(
        "N", "force of the ground on the machine, the base body's axes", ("contact", "axis")
    ),
    "friction_needed": Variable("1", "tangential over normal force", ("contact",)),
    "gap": Variable("m", "height of the contact point over the ground", ("contact",)),
    "tyre_power": Variable("W", "power of each tyre on the machine", ("tyre",)),
    "tyre_energy": Variable("J", "energy stored in the deflections of each tyre", ("tyre",)),
    "motion_torque": Variable("N m or N", "torque or force of prescribed joints", ("prescribed",)),
    "coupling_force": Variable(
        "N m or N", "constraint force of couplings and of pins of loops", ("coupling",)
    ),
    "control_state": Variable("", "states of the control law", ("state",)),
    "element_state": Variable("", "states of the force elements", ("memory",)),
    "stop_torque": Variable("N m or N", "torque or force of joint stops", ("joint",)),
}
"""Variables that a run stores in addition to joints and outputs, if they apply to the multibody
system.
"""

RESERVED_RESULT_NAMES = frozenset(
    {"time", *BASE_ANGLES, *BASE_ACCELERATIONS, *BASE_POSITION, *STORED_VARIABLES}
    | {dim for one in STORED_VARIABLES.values() for dim in one.dims}
)
"""Names of variables and dimensions of results; joints and outputs must have other names."""


def dimensions(model: "Model") -> dict[str, tuple[str, ...]]:
    """Return the labels along each dimension of the results of a model.

    >>> from draisine.vehicles.rolling_disc import rolling_disc
    >>> dimensions(rolling_disc())["contact"]
    ('ground',)
    """
    return {
        "quaternion": ("w", "x", "y", "z"),
        "axis": ("x", "y", "z"),
        "joint": tuple(joint.name for joint in model.joints),
        "speed": model.speeds,
        "input": model.inputs,
        "contact": tuple(contact.name for contact in model.contacts),
        "direction": ("normal", "along", "across"),
        "tyre": tuple(wheel.name for wheel in model.wheels if wheel.tyre is not None),
        "prescribed": tuple(joint.name for joint in model.joints if joint.motion is not None),
        "coupling": tuple(row for coupling in model.couplings for row in coupling.rows),
        "memory": tuple(
            f"{element.name}.{k}" for element in model.elements for k in range(element.states)
        ),
    }


def hidden_states(model: "Model", count: int) -> list[str]:
    """Return the names of `count` hidden states: those of tyres, other force elements and the
    control law.

    >>> from draisine.vehicles.motorcycle import motorcycle
    >>> hidden_states(motorcycle(tyres="sharp_tyre"), 3)
    ['rear_tyre_slip', 'front_tyre_slip', 'law']
    >>> hidden_states(motorcycle(), 4)[:2]
    ['rear_tyre_slip', 'rear_tyre_twist']
    """
    tyres = {wheel.name for wheel in model.wheels if wheel.tyre is not None}
    labels = []
    for element in model.elements:
        names = getattr(element, "state_names", ())
        # The force element names fewer states than it has: use the default name `slip` for all of
        # them.
        if len(names) != element.states:
            names = ("slip",) * element.states
        is_tyre = element.name in tyres
        labels += [f"{element.name}_tyre_{name}" if is_tyre else element.name for name in names]
    return [*labels, *["law"] * (count - len(labels))]


def variables(model: "Model") -> dict[str, Variable]:
    """Return the variables that every run of a model stores, by name.

    These are the `STORED_VARIABLES` that apply to the multibody system, its joints and outputs,
    their rates, and the signals of its sensors.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> variables(whipple())["steer_rate"].unit
    'rad/s'
    """
    return motion_variables(model) | sensor_variables(model)


def motion_variables(model: "Model") -> dict[str, Variable]:
    """Return the variables that every run of a model stores, by name, except the signals of
    sensors.
    """
    labels = dimensions(model)
    missing = {
        dim for dim in ("contact", "tyre", "prescribed", "coupling", "memory") if not labels[dim]
    }
    missing |= {"state"}
    stored = {
        name: variable
        for name, variable in STORED_VARIABLES.items()
        if not missing & set(variable.dims) and name != "stop_torque"
    }
    joints = {joint.name: Variable(joint.unit, "joint coordinate") for joint in model.joints}
    named = joints | output_variables(model)
    rates = {
        key: entry
        for name, variable in named.items()
        for key, entry in ((name, variable), (f"{name}_rate", rate_variable(name, variable)))
    }
    second = {
        f"{joint.name}_acceleration": Variable(f"{joint.unit}/s2", f"acceleration of {joint.name}")
        for joint in model.joints
    }
    return stored | rates | BASE_ACCELERATIONS | second


def sensor_variables(model: "Model") -> dict[str, Variable]:
    """Return the signals of the sensors of a model as variables."""
    return {
        signal_name(sensor, channel): Variable(channel.unit, channel.meaning)
        for sensor in model.sensors
        for channel in sensor.channels(model)
    }


def output_variables(model: "Model") -> dict[str, Variable]:
    """Return the outputs of a model as variables: angles of the base, then the outputs of the
    vehicle.
    """
    return BASE_ANGLES | {o.name: Variable(o.unit, o.meaning) for o in model.outputs}


def rate_variable(name: str, variable: Variable) -> Variable:
    """Return the variable that is the time derivative of a variable."""
    return Variable(f"{variable.unit}/s" if variable.unit else "", f"rate of {name}")


def label_units(model: "Model", name: str) -> dict[str, str]:
    """Return the units of a stored variable by label if they differ, or else an empty dictionary.

    >>> from draisine.vehicles.cart_pole import cart_pole
    >>> label_units(cart_pole(), "inputs")
    {'cart': 'N', 'pole': 'N m'}
    """
    efforts = {joint.name: joint.effort for joint in model.joints}
    speeds = {n: "m/s" if n[0] == "V" else "rad/s" for n in model.speeds[: len(model.twist)]}
    speeds |= {f"{joint.name}_rate": f"{joint.unit}/s" for joint in model.joints}
    units = {
        "shape": {joint.name: joint.unit for joint in model.joints},
        "speeds": speeds,
        "accelerations": {n: f"{unit}2" for n, unit in speeds.items()},
        "inputs": {n: efforts.get(n, "N") for n in model.inputs},
        "motion_torque": efforts,
        "stop_torque": efforts,
    }
    return units.get(name, {})


def output_names(model: "Model") -> list[str]:
    """Return the names of all outputs: angles of the base, then the outputs of the vehicle."""
    return [*BASE_ANGLES, *(o.name for o in model.outputs)]


SYNONYMS = {"speed": "forward_speed"}
"""Alternative names of quantities of an initial state."""


def state_names(model: "Model") -> list[str]:
    """Return the names of the quantities of an initial state, in the order of the program
    `initial`.
    """
    outputs_only = [o.name for o in model.outputs]
    placed = [*BASE_ANGLES, *BASE_POSITION, *(j.name for j in model.joints), *outputs_only]
    return [*placed, *(f"{name}_rate" for name in [*BASE_ANGLES, *outputs_only]), *model.speeds]


def state_units(model: "Model") -> dict[str, str]:
    """Return the units of the quantities of an initial state, by name.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> units = state_units(whipple())
    >>> units["lean"], units["forward_speed"], units["Vx"]
    ('rad', 'm/s', 'm/s')
    """
    all_variables = variables(model) | BASE_POSITION
    units = {name: variable.unit for name, variable in all_variables.items()} | label_units(
        model, "speeds"
    )
    return {name: units[name] for name in state_names(model)}


def observation_units(model: "Model") -> dict[str, str]:
    """Return the units of the observations of the program `variation`, by name."""
    places = {
        f"{name}_rate": rate_variable(name, variable).unit
        for name, variable in BASE_POSITION.items()
    }
    units = state_units(model) | places
    return {name: units[name] for name in observation_names(model)}


def observation_names(model: "Model") -> list[str]:
    """Return the names of the observations of the program `variation`, in its order."""
    placed = [*BASE_ANGLES, *BASE_POSITION]
    joints = [j.name for j in model.joints]
    outputs_only = [o.name for o in model.outputs]
    return [*placed, *joints, *outputs_only, *(f"{name}_rate" for name in placed), *model.speeds]


def paced_speed_names(model: "Model") -> list[str]:
    """Return the names of the speeds whose time derivatives the program `variation` computes, in
    its order.
    """
    return [*(f"{name}_rate" for name in BASE_ANGLES), *model.speeds]


# Signs in the axes of the benchmark bicycle. Meijaard, Papadopoulos, Ruina and Schwab (2007,
# doi:10.1098/rspa.2007.1857) use x forward, y to the right and z down: half a turn about x from
# draisine's axes. Vectors keep x and change the signs of y and z, and so do joints by the direction
# of their axis. A torque changes its sign with its joint, so that its power is the same. Outputs of
# a vehicle and states of force elements and of control laws have their own definitions and keep
# their signs.

Axes = Literal["draisine", "benchmark"]
"""Name of the axes of results: "draisine" (z up), or "benchmark" (z down)."""

AXES_NAMES: tuple[Axes, ...] = ("draisine", "benchmark")

_FLIPPED = frozenset({"yaw", "pitch", "y", "z", "Vy", "Vz", "Wy", "Wz"})
"""Coordinates and speeds of the base that change their sign in the benchmark's axes."""


def check_axes(axes: str) -> None:
    """Raise an error if the name of the axes is unknown."""
    if axes not in AXES_NAMES:
        raise ParameterError(f"Unknown axes {axes!r}. Available: {', '.join(AXES_NAMES)}.")


def benchmark_sign(model: "Model", name: str) -> float:
    """Return the factor, 1 or -1, of a coordinate, speed, acceleration or input in the benchmark's axes.

    Examples
    --------
    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> [benchmark_sign(whipple(), name) for name in ("lean", "steer_rate", "Vy", "forward_speed")]
    [1.0, -1.0, -1.0, 1.0]
    """
    base = name.removesuffix("_rate").removesuffix("_acceleration")
    if base in _FLIPPED:
        return -1.0
    for joint in model.joints:
        if joint.name == base:
            return joint_sign(joint.axis)
    force, dot, axis = base.rpartition(".")
    if dot and axis in ("x", "y", "z") and force in {one.name for one in model.forces}:
        return 1.0 if axis == "x" else -1.0
    return 1.0


def joint_sign(axis: "np.ndarray") -> float:
    """Return the sign of a joint coordinate in the benchmark's axes: 1 if its axis is closest to x,
    else -1.
    """
    x, y, z = np.abs(np.asarray(axis, float))
    return 1.0 if x > max(y, z) else -1.0
