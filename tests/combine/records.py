"""Runs as columns with names and units, and what changes them without changing the physics: other
units of measurement, another place and heading, a mirror.

Columns are compared norm-wise: differences are divided by the largest value of the same unit.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np

import draisine
from draisine.algebra.lie import quaternion_product, rot_z
from draisine.model import Force, Model
from draisine.model.names import label_units

# --- columns


@dataclass(frozen=True, eq=False)
class Column:
    """Values of one quantity over time."""

    unit: str
    values: np.ndarray


Record = dict[str, Column]


def record(run: Any) -> Record:
    """Return everything that the dataset of a run holds, one column per number."""
    return columns_of(run.to_xarray(), run.arcs[0].machine.system.model)


def columns_of(data: Any, model: Model) -> Record:
    """Return the columns of a dataset."""
    found: Record = {"time": Column("s", data["time"].values)}
    for name, variable in data.data_vars.items():
        units = label_units(model, str(name))
        values = variable.values
        if values.ndim == 1:
            found[str(name)] = Column(variable.attrs.get("units", ""), values)
            continue
        labels = [
            [str(x) for x in data[dim].values] if dim in data.coords else map(str, range(size))
            for dim, size in zip(variable.dims[1:], values.shape[1:], strict=True)
        ]
        flat = values.reshape(len(values), -1)
        for k, parts in enumerate(_product(labels)):
            unit = units.get(parts[0], variable.attrs.get("units", ""))
            found[f"{name}[{', '.join(parts)}]"] = Column(unit, flat[:, k])
    return found


def _product(labels: Any) -> list[tuple[str, ...]]:
    """Return all tuples of labels, the last changing first."""
    out: list[tuple[str, ...]] = [()]
    for own in labels:
        own = list(own)
        out = [(*begin, label) for begin in out for label in own]
    return out


AMBIGUOUS = ("N m or N", "rad or m")
"""Units that differ from label to label where nothing tells which is meant."""


def common_samples(reference: Record, found: Record) -> tuple[Record, Record]:
    """Return two records at the times that both have, the start and the end among them.

    A contact that creeps at the border of sticking may have one event more, which changes nothing else.
    Times of events differ by round-off, those of samples do not: what is left are the samples.
    """
    times = [each["time"].values for each in (reference, found)]
    if times[0].shape == times[1].shape:
        return reference, found
    _, *rows = np.intersect1d(*times, return_indices=True)
    first, second = (
        {name: Column(column.unit, column.values[kept]) for name, column in each.items()}
        for each, kept in zip((reference, found), rows, strict=True)
    )
    return first, second


def deviation(reference: Record, found: Record) -> tuple[float, str]:
    """Return the largest difference of two records and the column that has it.

    Differences are relative to the largest value of the same unit in the reference, and rates at least
    to that of their quantity over the duration of the run; numbers without a dimension are relative to
    the largest of their variable, ratios at least to one.
    """
    scales = _scales(reference)
    worst, where = 0.0, ""
    for name, column in reference.items():
        if name not in found:
            return np.inf, f"{name} is missing"
        there, here = column.values, found[name].values
        if there.shape != here.shape:
            return np.inf, f"{name} has the shape {here.shape} instead of {there.shape}"
        if not np.array_equal(np.isnan(there), np.isnan(here)):
            return np.inf, f"{name} has other values that are not numbers"
        apart = here - there
        if column.unit == "rad":
            apart = (apart + np.pi) % (2.0 * np.pi) - np.pi  # whole turns are the same angle
        scale = scales[_group(name, column.unit)]
        away = float(np.nanmax(np.abs(apart), initial=0.0)) / (scale or 1.0)
        if not away <= worst:
            worst, where = away, name
    return worst, where


RATES = (("m", "m/s"), ("m/s", "m/s2"), ("rad", "rad/s"), ("rad/s", "rad/s2"), ("N s", "N"))
"""Pairs of units, that of a quantity and that of its rate."""


def _scales(columns: Record) -> dict[str, float]:
    """Return the largest values by unit; those of rates are at least those of their quantities over the
    duration, so that round-off of a motion that hardly changes is not taken for its size.
    """
    scales: dict[str, float] = {}
    for name, column in columns.items():
        group = _group(name, column.unit)
        size = float(np.nanmax(np.abs(column.values), initial=0.0))
        floor = 1.0 if column.unit == "1" else 0.0
        scales[group] = max(scales.get(group, floor), size)
    duration = float(np.ptp(columns["time"].values)) or 1.0
    for unit, rate in RATES:
        scales[rate] = max(scales.get(rate, 0.0), scales.get(unit, 0.0) / duration)
    return scales


def _group(name: str, unit: str) -> str:
    """Return with which columns a column is compared."""
    if unit in ("", "1") or unit in AMBIGUOUS:
        return name.partition("[")[0]
    return unit.replace("/s/s", "/s2")


# --- units of measurement


@dataclass(frozen=True)
class Units:
    """How many new units of mass, length and time make one old one."""

    mass: float = 1.0
    length: float = 1.0
    time: float = 1.0

    def factor(self, unit: str) -> float:
        """Return by what numbers in a unit are multiplied.

        >>> round(Units(2.0, 3.0, 5.0).factor("N m s/rad"), 12)  # kg m2/s: 2 * 9 / 5
        3.6
        """
        total = 1.0
        for k, part in enumerate(unit.split("/")):
            for symbol, power in re.findall(r"([A-Za-z]+|1)(\d*)", part):
                mass, length, time = DIMENSIONS[symbol]
                own = self.mass**mass * self.length**length * self.time**time
                total *= own ** ((1 if k == 0 else -1) * int(power or 1))
        return total

    def record(self, columns: Record) -> Record:
        """Return a record in the new units; columns whose unit is not known are left out."""
        return {
            name: Column(column.unit, self.factor(column.unit) * column.values)
            for name, column in columns.items()
            if column.unit not in AMBIGUOUS
        }

    def state(self, state: draisine.State, model: Model) -> draisine.State:
        """Return a state in the new units."""
        joints = [self.factor(joint.unit) for joint in model.joints]
        speeds = list(label_units(model, "speeds").values())
        rates = [self.factor(unit) for unit in speeds]
        return draisine.State(state.q, self.length * state.p, state.r * joints, state.v * rates)


DIMENSIONS = {
    "kg": (1, 0, 0),
    "m": (0, 1, 0),
    "s": (0, 0, 1),
    "N": (1, 1, -2),
    "J": (1, 2, -2),
    "W": (1, 2, -3),
    "Hz": (0, 0, -1),
    "rad": (0, 0, 0),
    "1": (0, 0, 0),
}
"""Powers of mass, length and time in a unit."""


# --- the world turned and moved


def turn_state(state: draisine.State, angle: float, way: np.ndarray) -> draisine.State:
    """Return a state turned about the vertical through the origin, then moved."""
    half = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
    return draisine.State(
        quaternion_product(half, state.q), rot_z(angle) @ state.p + way, state.r, state.v
    )


def turn_record(columns: Record, angle: float, way: np.ndarray) -> Record:
    """Return the record of a run in a world that is turned and moved, without outputs in world axes."""
    found = {name: x for name, x in columns.items() if not name.startswith(WORLD_OUTPUTS)}
    R = np.asarray(rot_z(angle), float)

    def put(names: list[str], rows: np.ndarray) -> None:
        for name, row in zip(names, rows, strict=True):
            found[name] = Column(columns[name].unit, row)

    momentum = None
    for names in _vectors(columns):
        rows = R @ np.array([columns[name].values for name in names])
        kind = names[0].partition("[")[0]
        if kind in ("position", "contact_point"):
            rows = rows + way[:, None]
        if kind == "momentum":
            momentum = rows
        put(names, rows)
    if momentum is not None:
        names = [f"angular_momentum[{axis}]" for axis in "xyz"]
        rows = np.array([found[name].values for name in names])
        put(names, rows + np.cross(way, momentum.T).T)
    half = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
    names = [f"orientation[{part}]" for part in "wxyz"]
    put(names, quaternion_product(half, np.array([columns[name].values for name in names])))
    found["yaw"] = Column("rad", columns["yaw"].values + angle)
    return found


WORLD_OUTPUTS = ("x_speed", "y_speed")
"""Outputs that count along the world's axes."""

WORLD_AXES = ("contact_point", "contact_force_world")
"""Variables with a vector in world axes per contact."""


def _vectors(columns: Record) -> list[list[str]]:
    """Return the names of the columns that are components of a vector in world axes."""
    found = [
        [f"{kind}[{axis}]" for axis in "xyz"]
        for kind in ("position", "momentum", "angular_momentum")
    ]
    for name in columns:
        kind, _, label = name.partition("[")
        if kind in WORLD_AXES and label.endswith(", x]"):
            own = label.removesuffix(", x]")
            found.append([f"{kind}[{own}, {axis}]" for axis in "xyz"])
    return found


def same_sign(reference: Record, found: Record) -> Record:
    """Return a record with its quaternions given the sign that they have in another: q and -q are the
    same orientation.
    """
    names = [f"orientation[{part}]" for part in "wxyz"]
    if any(reference[name].values.shape != found[name].values.shape for name in names):
        return found
    sign = np.sign(sum(reference[name].values * found[name].values for name in names))
    return found | {name: Column("1", sign * found[name].values) for name in names}


# --- the mirror image: y changes its sign

MIRROR = np.diag([1.0, -1.0, 1.0])


def mirror_state(state: draisine.State, model: Model) -> draisine.State:
    """Return a state seen in the mirror; joints keep their coordinates."""
    q = state.q * [1.0, -1.0, 1.0, -1.0]
    signs = dict(zip(("Vx", "Vy", "Vz", "Wx", "Wy", "Wz"), (1, -1, 1, -1, 1, -1), strict=True))
    v = state.v * [signs.get(name, 1) for name in model.speeds]
    return draisine.State(q, MIRROR @ state.p, state.r, v)


ODD = (
    *("yaw", "lean", "yaw_rate", "lean_rate", "yaw_acceleration", "lean_acceleration"),
    *("orientation[x]", "orientation[z]"),
    *("speeds[Vy]", "speeds[Wx]", "speeds[Wz]"),
    *("accelerations[Vy]", "accelerations[Wx]", "accelerations[Wz]"),
    *("position[y]", "momentum[y]", "angular_momentum[x]", "angular_momentum[z]"),
)
"""Columns that change their sign in the mirror, beside those of contacts."""

ODD_ENDS = (
    *("contact_point[", ", y]"),
    *("contact_force[", ", across]"),
    *("contact_force_world[", ", y]"),
    *("contact_force_base[", ", y]"),
)


def mirror_record(columns: Record, model: Model) -> Record:
    """Return the record of a run seen in the mirror. Outputs of the vehicle are left out: their signs
    are their own.
    """
    own = {name for output in model.outputs for name in (output.name, f"{output.name}_rate")}
    pairs = list(zip(ODD_ENDS[::2], ODD_ENDS[1::2], strict=True))
    found = {}
    for name, column in columns.items():
        if name in own or name.startswith(("inputs[", "coupling_force[", "element_state[")):
            continue
        odd = name in ODD or any(
            name.startswith(begin) and name.endswith(end) for begin, end in pairs
        )
        found[name] = Column(column.unit, -column.values if odd else column.values)
    return found


def mirror_model(model: Model) -> Model:
    """Return a machine seen in the mirror: all joints keep their coordinates, so that axes of turning
    change their sense.
    """

    def tensor(x: Any) -> Any:
        return MIRROR @ x @ MIRROR

    def fluid(x: Any) -> Any:
        if x is None:
            return None
        whole = np.diag([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
        return whole @ x @ whole

    bodies = [
        replace(
            body,
            com=MIRROR @ body.com,
            inertia=tensor(body.inertia),
            added=fluid(body.added),
            drag=fluid(body.drag),
            boxes=(),
        )
        for body in model.bodies
    ]
    joints = []
    for joint in model.joints:
        axis, through = MIRROR @ joint.axis, MIRROR @ joint.through
        if joint.turn:
            axis = -axis
        changes = {"slide": -joint.slide} if joint.turn and type(joint).__name__ == "Joint" else {}
        joints.append(replace(joint, axis=axis, through=through, **changes))
    contacts = []
    for contact in model.contacts:
        if hasattr(contact, "axle"):
            contacts.append(
                replace(contact, centre=MIRROR @ contact.centre, axle=-(MIRROR @ contact.axle))
            )
        elif hasattr(contact, "heading"):
            contacts.append(
                replace(contact, point=MIRROR @ contact.point, heading=MIRROR @ contact.heading)
            )
        else:
            contacts.append(replace(contact, point=MIRROR @ contact.point))
    couplings = [
        replace(one, point=MIRROR @ one.point) if hasattr(one, "point") else one
        for one in model.couplings
    ]
    forces = [
        replace(force, point=MIRROR @ force.point) if isinstance(force, Force) else force
        for force in model.forces
    ]
    return replace(
        model,
        bodies=bodies,
        joints=joints,
        contacts=contacts,
        couplings=couplings,
        forces=forces,
        gravity=MIRROR @ model.gravity,
    )


# --- the same machine, described otherwise

Vehicle = Callable[..., Model]


def changed_vehicle(change: Callable[[Model], Model]) -> Callable[[Vehicle], Vehicle]:
    """Return what makes a vehicle draw changed models, with its own arguments."""

    def wrap(vehicle: Vehicle) -> Vehicle:
        @wraps(vehicle)
        def drawn(**arguments: Any) -> Model:
            return change(vehicle(**arguments))

        return drawn

    return wrap


def reorder_model(model: Model) -> Model:
    """Return a model with bodies, joints, contacts, forces and couplings in the reverse order; the
    first body stays the base.
    """
    base, *others = model.bodies
    return replace(
        model,
        bodies=[base, *reversed(others)],
        joints=list(reversed(model.joints)),
        contacts=list(reversed(model.contacts)),
        forces=list(reversed(model.forces)),
        couplings=list(reversed(model.couplings)),
    )


def unfold_model(model: Model) -> Model:
    """Return a model in which no body is folded into its carrier: each leaf can be pushed."""
    parents = {joint.parent for joint in model.joints}
    leaves = [body for body in model.bodies[1:] if body.name not in parents]
    pushes = [Force(f"unfold {body.name}", body.name, body.com) for body in leaves]
    return replace(model, forces=[*model.forces, *pushes])


reordered = changed_vehicle(reorder_model)
unfolded = changed_vehicle(unfold_model)
mirrored = changed_vehicle(mirror_model)


def reorder_state(
    state: draisine.State, model: Model, other: Model, z: np.ndarray | None = None
) -> draisine.State:
    """Return a state of one model for another that has its joints in another order."""
    joints = [joint.name for joint in model.joints]
    r = [state.r[joints.index(joint.name)] for joint in other.joints]
    v = [state.v[model.speeds.index(name)] for name in other.speeds]
    return draisine.State(state.q, state.p, np.array(r), np.array(v))


def by_name(columns: Mapping[str, Column], names: Any) -> Record:
    """Return the columns of some names."""
    return {name: columns[name] for name in names if name in columns}
