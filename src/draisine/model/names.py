"""What can be asked of a machine and what its runs tell, by name: one table of units, meanings and
dimensions. Datasets, questions, initial states, reserved names and `draisine show` read it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from draisine.errors import ParameterError

if TYPE_CHECKING:
    from draisine.model.model import Model


@dataclass(frozen=True, slots=True)
class Variable:
    """A quantity of a run: its unit, its meaning, and its dimensions after time.

    A unit with "or" in it differs from label to label; `label_units` tells.
    """

    unit: str
    meaning: str
    dims: tuple[str, ...] = ()


ANGLES = {
    "yaw": Variable("rad", "heading, positive to the left"),
    "lean": Variable("rad", "lean, positive to the right"),
    "pitch": Variable("rad", "pitch, positive nose down"),
}
"""The base's angles, R = Rz(yaw) Rx(lean) Ry(pitch)."""

ACCELERATIONS = {
    f"{name}_acceleration": Variable("rad/s2", f"second time derivative of the {name}")
    for name in ANGLES
}
"""Second derivatives of the base's angles."""

PLACE = {axis: Variable("m", f"position of the drawing's origin, {axis}") for axis in "xyz"}
"""Where the base is."""

STORED = {
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
    "motion_torque": Variable("N m or N", "what prescribed joints need", ("prescribed",)),
    "coupling_force": Variable(
        "N m or N", "what couplings of joints and pins of loops hold with", ("coupling",)
    ),
    "control_state": Variable("", "states of the control law", ("state",)),
    "element_state": Variable("", "states of the force elements", ("memory",)),
    "stop_torque": Variable("N m or N", "what the stops of joints push with", ("joint",)),
}
"""What a run stores beside joints and outputs; variables of contacts, prescribed joints and couplings
where the machine has some, states of a law and torques of stops where the run has."""

RESERVED = frozenset(
    {"time", *ANGLES, *ACCELERATIONS, *PLACE, *STORED}
    | {dim for one in STORED.values() for dim in one.dims}
)
"""Names that results have uses of their own for; no joint and no output is called so."""


def dimensions(model: "Model") -> dict[str, tuple[str, ...]]:
    """Return the labels along each dimension of a model's runs.

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
    """Return names for people of so many hidden states: deflections of tyres, what other elements
    remember, states of the control law.

    >>> from draisine.vehicles.motorcycle import motorcycle
    >>> hidden_states(motorcycle(tyres="sharp_tyre"), 3)
    ['rear_tyre_slip', 'front_tyre_slip', 'law']
    >>> hidden_states(motorcycle(), 4)[:2]
    ['rear_tyre_slip', 'rear_tyre_twist']
    """
    tyres = {wheel.name for wheel in model.wheels if wheel.tyre is not None}
    own = []
    for element in model.elements:
        names = getattr(element, "state_names", ())
        if len(names) != element.states:  # an element that does not name its own
            names = ("slip",) * element.states
        is_tyre = element.name in tyres
        own += [f"{element.name}_tyre_{name}" if is_tyre else element.name for name in names]
    return [*own, *["law"] * (count - len(own))]


def variables(model: "Model") -> dict[str, Variable]:
    """Return what every run of a model stores: the variables of `STORED` that the machine has, its
    joints and outputs, and their rates.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> variables(whipple())["steer_rate"].unit
    'rad/s'
    """
    labels = dimensions(model)
    missing = {
        dim for dim in ("contact", "tyre", "prescribed", "coupling", "memory") if not labels[dim]
    }
    missing |= {"state"}
    own = {
        name: one
        for name, one in STORED.items()
        if not missing & set(one.dims) and name != "stop_torque"
    }
    joints = {joint.name: Variable(joint.unit, "joint coordinate") for joint in model.joints}
    told = joints | outputs(model)
    rates = {
        key: one
        for name, variable in told.items()
        for key, one in ((name, variable), (f"{name}_rate", rate(name, variable)))
    }
    second = {
        f"{joint.name}_acceleration": Variable(f"{joint.unit}/s2", f"acceleration of {joint.name}")
        for joint in model.joints
    }
    return own | rates | ACCELERATIONS | second


def outputs(model: "Model") -> dict[str, Variable]:
    """Return the outputs of a model: the base's angles, then its own."""
    return ANGLES | {o.name: Variable(o.unit, o.meaning) for o in model.outputs}


def rate(name: str, variable: Variable) -> Variable:
    """Return the rate of a variable."""
    return Variable(f"{variable.unit}/s" if variable.unit else "", f"rate of {name}")


def label_units(model: "Model", name: str) -> dict[str, str]:
    """Return the units of a stored variable label by label, where they differ; else nothing.

    >>> from draisine.vehicles.cart_pole import cart_pole
    >>> label_units(cart_pole(), "inputs")
    {'cart': 'N', 'pole': 'N m'}
    """
    efforts = {joint.name: joint.effort for joint in model.joints}
    speeds = {n: "m/s" if n[0] == "V" else "rad/s" for n in model.speeds[: len(model.twist)]}
    speeds |= {f"{joint.name}_rate": f"{joint.unit}/s" for joint in model.joints}
    known = {
        "shape": {joint.name: joint.unit for joint in model.joints},
        "speeds": speeds,
        "accelerations": {n: f"{unit}2" for n, unit in speeds.items()},
        "inputs": {n: efforts.get(n, "N") for n in model.inputs},
        "motion_torque": efforts,
        "stop_torque": efforts,
    }
    return known.get(name, {})


def output_names(model: "Model") -> list[str]:
    """Return the names of all outputs: the base's angles, then the model's own."""
    return [*ANGLES, *(o.name for o in model.outputs)]


SYNONYMS = {"speed": "forward_speed"}
"""Other words that people have for what an initial state can be asked for."""


def state_names(model: "Model") -> list[str]:
    """Return the names of all that an initial state can be asked for, in the order of the program
    `initial`.
    """
    own = [o.name for o in model.outputs]
    placed = [*ANGLES, *PLACE, *(j.name for j in model.joints), *own]
    return [*placed, *(f"{name}_rate" for name in [*ANGLES, *own]), *model.speeds]


def state_units(model: "Model") -> dict[str, str]:
    """Return the unit of everything that an initial state can be asked for.

    >>> from draisine.vehicles.bicycle.whipple import whipple
    >>> units = state_units(whipple())
    >>> units["lean"], units["forward_speed"], units["Vx"]
    ('rad', 'm/s', 'm/s')
    """
    known = variables(model) | PLACE
    units = {name: one.unit for name, one in known.items()} | label_units(model, "speeds")
    return {name: units[name] for name in state_names(model)}


def observation_units(model: "Model") -> dict[str, str]:
    """Return the units of what the program `variation` tells of a state."""
    places = {f"{name}_rate": rate(name, one).unit for name, one in PLACE.items()}
    known = state_units(model) | places
    return {name: known[name] for name in observation_names(model)}


def observation_names(model: "Model") -> list[str]:
    """Return the names of what the program `variation` tells of a state, in its order."""
    placed, joints = [*ANGLES, *PLACE], [j.name for j in model.joints]
    own = [o.name for o in model.outputs]
    return [*placed, *joints, *own, *(f"{name}_rate" for name in placed), *model.speeds]


def paced_speed_names(model: "Model") -> list[str]:
    """Return the names of the speeds whose rates the program `variation` gives, in its order."""
    return [*(f"{name}_rate" for name in ANGLES), *model.speeds]


# Signs in the axes of the benchmark bicycle: Meijaard, Papadopoulos, Ruina and Schwab 2007,
# doi:10.1098/rspa.2007.1857, have x forward, y to the right and z down, which is half a turn about x from
# ours. Vectors keep x and change the signs of y and z, and so do joints by the direction of their axis. A
# torque changes with its joint, so that its power stays. Outputs of a vehicle and states of force elements
# and of laws have definitions of their own, and stay.

Axes = Literal["draisine", "benchmark"]
"""Axes of results: ours (z up), or those of the benchmark (z down)."""

AXES: tuple[Axes, ...] = ("draisine", "benchmark")

_FLIPPED = frozenset({"yaw", "pitch", "y", "z", "Vy", "Vz", "Wy", "Wz"})
"""Coordinates and speeds of the base that change their sign."""


def check_axes(axes: str) -> None:
    """Raise if axes are not known."""
    if axes not in AXES:
        raise ParameterError(f"Unknown axes {axes!r}. Available: {', '.join(AXES)}.")


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
    """Return the factor of a joint: 1 if its axis is rather along x than across."""
    x, y, z = np.abs(np.asarray(axis, float))
    return 1.0 if x > max(y, z) else -1.0
