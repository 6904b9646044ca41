"""Quantities of a moving multibody system that outputs, control laws, force elements and sensors read, over
any scalar type.

Positions, velocities and angles are in the user's terms: world axes, the frame that coincides with the world
frame in the zero configuration, names of bodies, joints and contacts. Control laws and force elements get
`Readings` of the state. Sensors get `SensorReadings`, which contain accelerations and contact forces;
`body_kinematics` is the outward pass over the tree of bodies for them. The file also checks and calls control
laws.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.lie import cross, yaw_lean_pitch
from draisine.algebra.scalar import Array, Scalar, array, atan2, norm
from draisine.errors import ModelError, did_you_mean, expect_known
from draisine.mechanics.base import expand_speeds
from draisine.mechanics.constraints import (
    Ground,
    contact_directions,
    contact_point,
    ground_velocity,
    support_rate,
)
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    Velocities,
    body_point,
    geometry,
    link_accelerations,
    point_drift,
    point_matrix,
    spin_matrix,
    velocities,
)
from draisine.mechanics.tree import Evaluate, Tree, as_floats, assemble
from draisine.model import BASE_TWIST, Contact, Model, Surface
from draisine.model.names import BASE_POSITION
from draisine.registry import find, names

MAX_CONTROL_STATES = 10_000
"""Largest accepted number of states of a control law; a larger number is assumed to be a mistake.
"""

LAW_SIGNATURE = (
    "a law is called as law(readings, z) and returns (inputs, rates of z), as in "
    "`return {'steer': torque}, ()`"
)
"""Description of the signature of a control law, for error messages."""

LAW_CONSTRUCTORS = {"lqr": "draisine.analysis.lqr.balance(system, forward_speed=3.0)"}
"""Python calls that construct control laws whose gains depend on the model, by the name of the
control law.
"""


class Slip(NamedTuple):
    """Velocity of a contact's material point relative to the ground, m/s."""

    normal: Scalar
    along: Scalar
    across: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Quantities of a multibody system at one instant that control laws, force elements and outputs
    read.

    Positions (m) and velocities (m/s) are in world axes, angles in rad, rates in rad/s or m/s.
    Points of bodies are given by their position in the zero configuration. `t` is the time in s;
    the other fields are internal.

    Examples
    --------
    >>> def damp_steering(readings, z):
    ...     return {"steer": -0.5 * readings.rate("steer")}, ()
    """

    tree: Tree
    geo: Geometry  # poses of the links
    world: Ground  # orientation of the ground
    base: Array  # position of the internal base frame, m, (3,)
    vel: Velocities  # velocities of the links
    speeds: Array  # speeds (V at ref, W, rdot) of the internal base frame, (6 + n,)
    ref: Array  # point of the base at which V is taken, m, (3,)
    t: Scalar  # time, s
    loads: Mapping[str, Scalar] | None = None  # normal forces by contact (N), if they are computed
    remembered: Array | None = None  # states of the force elements, if they may be read

    def joint(self, name: str) -> Scalar:
        """Return the coordinate of a joint, rad or m."""
        return self.geo.r[self._joint_index(name)]

    def rate(self, name: str) -> Scalar:
        """Return the rate of a joint, rad/s or m/s."""
        return self.vel.rdot[self._joint_index(name)]

    def _joint_index(self, name: str) -> int:
        """Return the index of the joint with a given name; raise an error for an unknown name."""
        names = [j.name for j in self.tree.model.joints]
        expect_known("no joint", name, names, ModelError)
        return names.index(name)

    def output(self, name: str) -> Scalar:
        """Return the value of an output of the model by name."""
        named = {o.name: o for o in self.tree.model.outputs}
        expect_known("no output", name, named, ModelError)
        return named[name].value(self)

    @property
    def rotation(self) -> Array:
        """Rotation matrix (3, 3) from the base's axes to world axes."""
        return self.world.R @ self.tree.links[0].R.T

    @property
    def angular_velocity(self) -> Array:
        """Angular velocity (3,) of the base in its own axes, rad/s."""
        return self.tree.links[0].R @ self.vel.W[0]

    @property
    def yaw(self) -> Scalar:
        """Heading angle, rad, positive to the left."""
        return yaw_lean_pitch(self.rotation)[0]

    @property
    def lean(self) -> Scalar:
        """Lean angle, rad, positive to the right."""
        return yaw_lean_pitch(self.rotation)[1]

    @property
    def lean_rate(self) -> Scalar:
        """Rate of the lean angle, rad/s, positive to the right."""
        return self.heading @ (self.rotation @ self.angular_velocity)

    @property
    def pitch(self) -> Scalar:
        """Pitch angle, rad, positive nose down, zero in the zero configuration."""
        return yaw_lean_pitch(self.rotation)[2]

    @property
    def yaw_rate(self) -> Scalar:
        """Rate of the heading, rad/s, positive to the left."""
        return self._yaw_pitch_rates()[0]

    @property
    def pitch_rate(self) -> Scalar:
        """Rate of the pitch angle, rad/s, positive nose down."""
        return self._yaw_pitch_rates()[1]

    def _yaw_pitch_rates(self) -> tuple[Scalar, Scalar]:
        """Return the rates of yaw and pitch, rad/s, eq. [angle-rates].

        They are the oblique components of the angular velocity along the vertical and along the
        base's y axis.
        """
        R = self.rotation
        W = self.angular_velocity
        s = R[2, 1]
        up = R[2] @ W
        about_left = W[1]
        square = 1.0 - s * s
        return (up - s * about_left) / square, (about_left - s * up) / square

    def element_state(self, k: int) -> Scalar:
        """Return state k of the force elements, such as the slip of a tyre.

        Only control laws can read it.
        """
        if self.remembered is None:
            raise ModelError(
                "The states of force elements can be read by control laws only, not by force elements or "
                "outputs."
            )
        if not 0 <= k < len(self.remembered):
            raise ModelError(
                f"State {k} of the force elements does not exist: there are {len(self.remembered)} states."
            )
        return self.remembered[k]

    def value(self, name: str) -> Scalar:
        """Return a coordinate or a speed by its name in linear systems.

        The name is that of an angle of the base, a component of its position (`x`), a joint, an output,
        a rate of these, a component of the base's twist, or `z[0]` for the first state of the force
        elements.
        """
        if name.startswith("z["):
            return self.element_state(int(name[2:-1]))
        model = self.tree.model
        joints = [j.name for j in model.joints]
        if name in ("yaw", "lean", "pitch", "yaw_rate", "lean_rate", "pitch_rate"):
            return getattr(self, name)
        if name in joints:
            return self.joint(name)
        if name.removesuffix("_rate") in joints:
            return self.rate(name.removesuffix("_rate"))
        if name in BASE_POSITION:
            return self.position(model.bodies[0].name, (0.0, 0.0, 0.0))[
                list(BASE_POSITION).index(name)
            ]
        if name in BASE_TWIST:
            V = self.rotation.T @ self.velocity(model.bodies[0].name, (0.0, 0.0, 0.0))
            return [*V, *self.angular_velocity][BASE_TWIST.index(name)]
        return self.output(name)

    @property
    def heading(self) -> Array:
        """Horizontal unit vector along the heading of the base, (3,)."""
        R = self.rotation
        x = array([R[1, 1], -R[0, 1], 0.0])
        return x / norm(x)

    def position(self, body: str, point: Any) -> Array:
        """Return the position (m) of a material point of a body; `point` is given in the zero
        configuration.
        """
        return self.base + self.world.R @ self._material_point(body, point).c

    def velocity(self, body: str, point: Any) -> Array:
        """Return the velocity (m/s) of a material point of a body; `point` is given in the zero
        configuration.
        """
        P = point_matrix(self.tree, self.geo, self._material_point(body, point), self.ref)
        return self.world.R @ (P @ self.speeds)

    def _material_point(self, body: str, position: Any) -> Point:
        """Return a material point of a body from its position in the zero configuration."""
        return body_point(self.tree, self.geo, self.tree.model.body(body).name, array(position))

    def contact(self, name: str) -> Array:
        """Return the position (m) of the touching point of a contact."""
        return self.base + self.world.R @ self._locate_contact(name)[1].c

    def gap(self, name: str) -> Scalar:
        """Return the gap (m) of a contact, eq. [gap]: the height of its lowest point above the
        ground.
        """
        return self.contact(name)[2]

    def slip(self, name: str) -> Slip:
        """Return the velocity (m/s) of a contact's material point relative to the ground.

        The components are normal (the rate of the gap), along and across.
        """
        contact, point, _ = self._locate_contact(name)
        P = point_matrix(self.tree, self.geo, point, self.ref)
        ground = ground_velocity(self.tree.model, self.world, self.base, point, self.t)
        axes = contact_directions(self.tree, self.geo, self.world, contact, point)
        return Slip(*(axes[d] @ (P @ self.speeds - ground) for d in contact.directions))

    def travel(self, name: str) -> Scalar:
        """Return the speed (m/s) of the geometric touching point over the ground, along the wheel's
        heading.
        """
        contact, point, surface = self._locate_contact(name)
        rhodot = support_rate(surface, point, self.world, self.vel)
        _, cdot = point_drift(self.tree, self.geo, self.vel, point, rhodot, np.zeros(3))
        point_velocity = self.vel.V + cross(self.vel.W[0], point.c - self.ref) + cdot
        ground = ground_velocity(self.tree.model, self.world, self.base, point, self.t)
        axes = contact_directions(self.tree, self.geo, self.world, contact, point)
        return axes["along"] @ (point_velocity - ground)

    def camber(self, name: str) -> Scalar:
        """Return the camber angle (rad) of a wheel, positive to the right."""
        _, point, surface = self._locate_contact(name)
        up = self.world.up[point.link]
        return atan2(up @ surface.axle, surface.slope(up))

    def rolling_radius(self, name: str) -> Scalar:
        """Return the distance (m) of a wheel's touching point from its axle."""
        _, point, surface = self._locate_contact(name)
        return surface.rolling_radius(self.world.up[point.link])

    def spin(self, name: str) -> Scalar:
        """Return the angular velocity (rad/s) of a wheel about the ground's normal, positive to the
        left.
        """
        _, point, _ = self._locate_contact(name)
        return self.world.up[0] @ (spin_matrix(self.tree, self.geo, point) @ self.speeds)

    def load(self, name: str) -> Scalar:
        """Return the normal force (N) of the ground on a contact.

        Force elements can read the load if the formulation solves both together, eq. [loads].
        """
        if self.loads is None:
            raise ModelError(
                f"The load of contact {name!r} cannot be read here. Only force elements can read it, with "
                "the formulation 'projected'; on a terrain, only elements of the same contact."
            )
        if name not in self.loads:
            loaded = list(self.loads)
            raise ModelError(
                f"Contact {name!r} has no normal force in this mode. Contacts with a normal force: "
                f"{', '.join(loaded) or '-'}. {did_you_mean(name, loaded)}"
            )
        return self.loads[name]

    def _locate_contact(self, name: str) -> tuple[Contact, Point, Surface]:
        """Return a contact with its touching point and its surface."""
        names = [c.name for c in self.tree.model.contacts]
        expect_known("no contact", name, names, ModelError)
        contact = self.tree.model.contacts[names.index(name)]
        return contact, *contact_point(self.tree, self.geo, self.world, contact)


def law_states(law: Any) -> int:
    """Return the number of states of a control law: its attribute `states`, 0 if it has none.

    >>> law_states(lambda readings, z: ({}, ()))
    0
    """
    if law is None:
        return 0
    if isinstance(law, str) and law in names("law"):
        kind = find("law", law)
        maker = LAW_CONSTRUCTORS.get(law, f"{kind.__module__}.{kind.__name__}(...)")
        raise ModelError(
            f"law: the name {law!r} is for the command line. In Python, pass the law itself: {maker}."
        )
    if not callable(law):
        raise ModelError(f"law: {law!r:.80} is not callable; {LAW_SIGNATURE}.")
    try:
        inspect.signature(law).bind(None, None)
    except TypeError as error:
        name = getattr(law, "__name__", type(law).__name__)
        raise ModelError(f"law {name!r}: {error}; {LAW_SIGNATURE}.") from None
    except ValueError:
        pass  # the signature of a built-in function cannot be checked
    states = getattr(law, "states", 0)
    if not isinstance(states, int) or not 0 <= states <= MAX_CONTROL_STATES:
        raise ModelError(
            f"law: its attribute `states` is {states!r:.80}; it must be an integer from 0 to "
            f"{MAX_CONTROL_STATES}."
        )
    return int(states)


def law_start(law: Any, x: float, y: float, yaw: float) -> Array:
    """Return the initial states of a control law: its `start_at(x, y, yaw)`, its `start`, or zeros.

    x and y are the initial position of the base in m, yaw is its initial heading in rad.

    >>> law_start(lambda readings, z: ({}, ()), 0.0, 0.0, 0.0)
    array([], dtype=float64)
    """
    if hasattr(law, "start_at"):
        return np.asarray(law.start_at(x, y, yaw), float)
    return np.asarray(getattr(law, "start", np.zeros(law_states(law))), float)


def call_law(
    law: Any, readings: Readings, z: Array
) -> tuple[Mapping[str, Any], Sequence[Scalar] | Array]:
    """Return the result of a control law: inputs by name, and the rates of its states.

    If the control law reads a quantity that does not exist, or does not return two values, a
    `ModelError` is raised.
    """
    try:
        result = law(readings, z)
    except NameError as error:
        raise ModelError(f"law: {error}.") from error
    except AttributeError as error:
        # Only errors of `readings` are explained. Other errors come from the code of the control
        # law: their traceback is more helpful.
        if not isinstance(error.obj, Readings):
            raise
        inner = {field.name for field in fields(Readings)} - {"t"}
        attributes = [name for name in dir(Readings) if name[0] != "_" and name not in inner]
        problem = (
            f"law: readings have no {error.name!r}. {did_you_mean(str(error.name), attributes)}"
        )
        raise ModelError(
            f"{problem} Joints are read by readings.joint(name), their rates by .rate(name), the model's "
            "outputs by .output(name)."
        ) from None
    if isinstance(result, tuple | list) and len(result) == 2:
        inputs, rates = result
        if isinstance(inputs, Mapping) and isinstance(rates, Sequence | np.ndarray):
            return inputs, rates
    raise ModelError(f"law: it returns {result!r:.80}; {LAW_SIGNATURE}.")


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
    # Do not fold wheels into the bodies that carry them, because every body needs its own motion.
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
        return self.r[self._joint_index(name)]

    def rate(self, name: str) -> Scalar:
        """Return the rate of a joint, rad/s or m/s."""
        self._joint_index(name)
        return self.v[self.model.speeds.index(f"{name}_rate")]

    def effort(self, name: str) -> Scalar:
        """Return the torque (N m) or force (N) of the drive of a joint."""
        prescribed = [joint.name for joint in self.model.joints if joint.motion is not None]
        effort = self.inputs[self._joint_index(name)]
        return effort + self.held[prescribed.index(name)] if name in prescribed else effort

    def normal_force(self, name: str) -> Scalar:
        """Return the normal force (N) of the ground on a contact."""
        return self.loads[self._contact_index(name)]

    def gap(self, name: str) -> Scalar:
        """Return the gap (m) of a contact."""
        return self.gaps[self._contact_index(name)]

    def _joint_index(self, name: str) -> int:
        """Return the index of a joint; raise an error that names the sensor's joints if it does not
        exist.

        """
        names = [joint.name for joint in self.model.joints]
        expect_known("no joint", name, names, ModelError)
        return names.index(name)

    def _contact_index(self, name: str) -> int:
        """Return the index of a contact by name."""
        names = [contact.name for contact in self.model.contacts]
        expect_known("no contact", name, names, ModelError)
        return names.index(name)
