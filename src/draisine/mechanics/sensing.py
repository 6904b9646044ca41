"""Quantities that sensors read: motions of bodies with accelerations, joints, drives and contacts, over any
scalar type. Sensors as tables, for files.

`body_kinematics` is the outward pass over the tree of bodies: from the user's state and accelerations to the
motion of every body in world axes.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar
from draisine.errors import ModelError, expect_known
from draisine.mechanics.base import expand_speeds
from draisine.mechanics.kinematics import geometry, link_accelerations, velocities
from draisine.mechanics.tree import Evaluate, as_floats, assemble
from draisine.model import Model, Sensor
from draisine.registry import find, names


@dataclass(frozen=True, slots=True, eq=False)
class BodyKinematics:
    """Motion of one body in world axes; points are identified by their coordinates in the zero
    configuration.
    """

    R: Array  # rotation matrix from the zero configuration to the world, (3, 3)
    p: Array  # m, position of the point at the origin in the zero configuration, (3,)
    v: Array  # m/s, velocity of that point, (3,)
    w: Array  # rad/s, angular velocity, (3,)
    a: Array  # m/s2, acceleration of that point, (3,)
    dw: Array  # rad/s2, angular acceleration, (3,)

    def position(self, point: Array) -> Array:
        """Return the position (m) of a point of the body."""
        return self.p + self.R @ point

    def acceleration(self, point: Array) -> Array:
        """Return the acceleration (m/s2) of a point of the body."""
        lever = self.R @ point
        return self.a + cross(self.dw, lever) + cross(self.w, cross(self.w, lever))


def body_kinematics(
    model: Model,
    base: Array,
    p: Array,
    r: Array,
    v: Array,
    vdot: Array,
    evaluate: Evaluate = as_floats,
) -> dict[str, BodyKinematics]:
    """Return the motion of all bodies by name, from rotation matrix (3, 3) and position p (m) of the user's
    base frame, joint coordinates r, speeds v and accelerations vdot.

    `evaluate` returns numbers for expressions in parameters.
    """
    # Wheels are not folded into their carriers, because every body needs its own motion.
    tree = assemble(model, evaluate=evaluate, fold=False)
    zero = np.zeros(3)
    speeds = expand_speeds(model, v)
    geo = geometry(tree, r)
    vel = velocities(tree, geo, speeds[:3], speeds[3:6], speeds[6:], zero)
    acc = link_accelerations(tree, geo, vel, expand_speeds(model, vdot), zero, zero, zero)
    motions = {}
    for j, link in enumerate(tree.links):
        R = base @ geo.R0[j]
        x = -(link.R.T @ link.o)  # origin of the zero configuration in the link's axes
        motions[link.name] = BodyKinematics(
            R @ link.R.T,
            p + base @ geo.o0[j] + R @ x,
            R @ (vel.V_link[j] + cross(vel.W[j], x)),
            R @ vel.W[j],
            R @ (acc.a[j] + acc.B[j] @ x),
            R @ acc.alpha[j],
        )
    return motions


@dataclass(frozen=True, slots=True, eq=False)
class SensorReadings:
    """Quantities of a multibody system at one instant that sensors read."""

    model: Model
    motions: Mapping[str, BodyKinematics]  # by body
    r: Array  # joint coordinates, rad or m
    v: Array  # speeds of the model
    inputs: Array  # supplied inputs, N m or N
    held: Array  # torques of prescribed joints, N m or N
    loads: Array  # normal forces of contacts, N
    gaps: Array  # gaps of contacts, m

    @property
    def gravity(self) -> Array:
        """Acceleration of gravity in world axes, m/s2, (3,)."""
        return self.model.gravity

    def body(self, name: str) -> BodyKinematics:
        """Return the motion of a body."""
        return self.motions[self.model.body(name).name]

    def joint(self, name: str) -> Scalar:
        """Return the coordinate of a joint, rad or m."""
        return self.r[self._joint(name)]

    def rate(self, name: str) -> Scalar:
        """Return the rate of a joint, rad/s or m/s."""
        self._joint(name)
        return self.v[self.model.speeds.index(f"{name}_rate")]

    def effort(self, name: str) -> Scalar:
        """Return the torque (N m) or force (N) of the drive of a joint."""
        prescribed = [joint.name for joint in self.model.joints if joint.motion is not None]
        effort = self.inputs[self._joint(name)]
        return effort + self.held[prescribed.index(name)] if name in prescribed else effort

    def normal_force(self, name: str) -> Scalar:
        """Return the normal force (N) of the ground on a contact."""
        return self.loads[self._contact(name)]

    def gap(self, name: str) -> Scalar:
        """Return the gap (m) of a contact."""
        return self.gaps[self._contact(name)]

    def _joint(self, name: str) -> int:
        names = [joint.name for joint in self.model.joints]
        expect_known("no joint", name, names, ModelError)
        return names.index(name)

    def _contact(self, name: str) -> int:
        names = [contact.name for contact in self.model.contacts]
        expect_known("no contact", name, names, ModelError)
        return names.index(name)


def build_sensor(table: Mapping[str, Any]) -> Sensor:
    """Return the sensor that a table describes: its `kind` (see `draisine list sensors`) and its options.

    Raises
    ------
    UnknownNameError
        If the kind is unknown.
    ModelError
        If an option is missing, unknown or wrong.

    Examples
    --------
    >>> build_sensor({"kind": "encoder", "name": "turns", "joint": "rear_wheel", "counts": 500}).joint
    'rear_wheel'
    """
    kind = table.get("kind")
    if not isinstance(kind, str):
        raise ModelError(f"A sensor needs a `kind`: {', '.join(names('sensor'))}.")
    sensor: Any = find("sensor", kind)
    options = {key: value for key, value in table.items() if key != "kind"}
    fields = {field.name: field for field in dataclasses.fields(sensor)}
    for name in options:
        expect_known(f"sensor {kind!r}: no option", name, fields, ModelError)
    for name, field in fields.items():
        has_default = (field.default, field.default_factory) != (dataclasses.MISSING,) * 2
        if name not in options and not has_default:
            raise ModelError(f"sensor {kind!r}: the option {name!r} is missing.")
    built: Sensor = sensor(**options)
    return built


def sensor_table(sensor: Sensor) -> dict[str, Any] | None:
    """Return the table that describes a sensor, see `build_sensor`; None if its kind has no name."""
    kind = next((name for name in names("sensor") if find("sensor", name) is type(sensor)), None)
    if kind is None:
        return None
    record: Any = sensor
    options = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    return {"kind": kind} | {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in options.items()
    }
