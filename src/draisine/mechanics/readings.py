"""What outputs, control laws and force elements can read of a moving machine, in the user's terms, over
any scalar.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.lie import cross, yaw_lean_pitch
from draisine.algebra.scalar import Array, Scalar, array, atan2, norm
from draisine.errors import ModelError, did_you_mean, expect_known
from draisine.mechanics.constraints import (
    Ground,
    contact_axes,
    contact_point,
    ground_velocity,
    support_rate,
)
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    Velocities,
    body_point,
    point_drift,
    point_matrix,
    spin_matrix,
)
from draisine.mechanics.tree import Tree
from draisine.model import BASE_TWIST, Contact, Surface
from draisine.model.names import BASE_POSITION
from draisine.registry import find, names

MOST_STATES = 10_000
"""How many states of its own a control law may have."""

CALLED = (
    "a law is called as law(readings, z) and returns (inputs, rates of z), as in "
    "`return {'steer': torque}, ()`"
)
"""How laws are written."""

MAKERS = {"lqr": "draisine.analysis.lqr.balance(system, forward_speed=3.0)"}
"""Who makes laws whose numbers the machine decides."""


class Slip(NamedTuple):
    """Velocities of a contact's material point over the ground, m/s."""

    normal: Scalar
    along: Scalar
    across: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """A machine at one instant. Positions and velocities are in world axes, m and m/s; angles in
    rad.
    """

    tree: Tree
    geo: Geometry
    world: Ground
    base: Array
    vel: Velocities
    speeds: Array
    ref: Array
    t: Scalar
    loads: Mapping[str, Scalar] | None = None
    remembered: Array | None = None

    def joint(self, name: str) -> Scalar:
        """Return the coordinate of a joint."""
        return self.geo.r[self._joint(name)]

    def rate(self, name: str) -> Scalar:
        """Return the rate of a joint."""
        return self.vel.rdot[self._joint(name)]

    def _joint(self, name: str) -> int:
        names = [j.name for j in self.tree.model.joints]
        expect_known("no joint", name, names, ModelError)
        return names.index(name)

    def output(self, name: str) -> Scalar:
        """Return an output of the model."""
        named = {o.name: o for o in self.tree.model.outputs}
        expect_known("no output", name, named, ModelError)
        return named[name].value(self)

    @property
    def rotation(self) -> Array:
        """The rotation from the drawing's (base body's) axes to the world's."""
        return self.world.R @ self.tree.links[0].R.T

    @property
    def angular_velocity(self) -> Array:
        """The base's angular velocity in its own (the drawing's) axes."""
        return self.tree.links[0].R @ self.vel.W[0]

    @property
    def yaw(self) -> Scalar:
        """Heading, positive to the left."""
        return yaw_lean_pitch(self.rotation)[0]

    @property
    def lean(self) -> Scalar:
        """Lean, positive to the right."""
        return yaw_lean_pitch(self.rotation)[1]

    @property
    def lean_rate(self) -> Scalar:
        """The rate of the lean, positive to the right."""
        return self.heading @ (self.rotation @ self.angular_velocity)

    @property
    def pitch(self) -> Scalar:
        """Pitch, positive nose down, zero in the drawing."""
        return yaw_lean_pitch(self.rotation)[2]

    @property
    def yaw_rate(self) -> Scalar:
        """The rate of the heading, positive to the left."""
        return self._turning()[0]

    @property
    def pitch_rate(self) -> Scalar:
        """The rate of the pitch, positive nose down."""
        return self._turning()[1]

    def _turning(self) -> tuple[Scalar, Scalar]:
        """Return the rates of yaw and pitch: the parts of the angular velocity along the vertical
        and along the base's axis to the left, eq. [angle-rates].
        """
        R, W = self.rotation, self.angular_velocity
        s, up, aside = R[2, 1], R[2] @ W, W[1]
        square = 1.0 - s * s
        return (up - s * aside) / square, (aside - s * up) / square

    def element_state(self, k: int) -> Scalar:
        """Return a state of the force elements, such as the slip of a tyre, by its place among all of
        them. Control laws can read it.
        """
        if self.remembered is None:
            raise ModelError("states of force elements are known to control laws alone.")
        if not 0 <= k < len(self.remembered):
            raise ModelError(f"no state {k} of force elements: there are {len(self.remembered)}.")
        return self.remembered[k]

    def value(self, name: str) -> Scalar:
        """Return a coordinate or a speed by the name that it has in linear systems: an angle of the
        base, its place in the world's axes, a joint, an output, a rate of these, a component of the
        base's twist, `z[0]` for the first state of the force elements.
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
        """The unit vector in the ground along which the base heads."""
        R = self.rotation
        x = array([R[1, 1], -R[0, 1], 0.0])
        return x / norm(x)

    def position(self, body: str, where: Any) -> Array:
        """Return the position of a material point of a body, given by its place in the drawing."""
        return self.base + self.world.R @ self._point(body, where).c

    def velocity(self, body: str, where: Any) -> Array:
        """Return the velocity of a material point of a body, given by its place in the drawing."""
        P = point_matrix(self.tree, self.geo, self._point(body, where), self.ref)
        return self.world.R @ (P @ self.speeds)

    def _point(self, body: str, where: Any) -> Point:
        return body_point(self.tree, self.geo, self.tree.model.body(body).name, array(where))

    def contact(self, name: str) -> Array:
        """Return where a contact touches."""
        return self.base + self.world.R @ self._touch(name)[1].c

    def gap(self, name: str) -> Scalar:
        """Return the height of a contact's point above the ground, eq. [gap]."""
        return self.contact(name)[2]

    def slip(self, name: str) -> Slip:
        """Return how fast a contact's material point moves over the ground, out of it, along and
        across; the first is the rate of the gap.
        """
        contact, at, _ = self._touch(name)
        P = point_matrix(self.tree, self.geo, at, self.ref)
        carried = ground_velocity(self.tree.model, self.world, self.base, at, self.t)
        axes = contact_axes(self.tree, self.geo, self.world, contact, at)
        return Slip(*(axes[d] @ (P @ self.speeds - carried) for d in contact.directions))

    def travel(self, name: str) -> Scalar:
        """Return how fast the touching point itself travels over the ground, along the heading."""
        contact, at, surface = self._touch(name)
        rhodot = support_rate(surface, at, self.world, self.vel)
        _, cdot = point_drift(self.tree, self.geo, self.vel, at, rhodot, np.zeros(3))
        moving = self.vel.V + cross(self.vel.W[0], at.c - self.ref) + cdot
        carried = ground_velocity(self.tree.model, self.world, self.base, at, self.t)
        axes = contact_axes(self.tree, self.geo, self.world, contact, at)
        return axes["along"] @ (moving - carried)

    def camber(self, name: str) -> Scalar:
        """Return how far a wheel leans, positive to the right."""
        _, at, surface = self._touch(name)
        up = self.world.up[at.link]
        return atan2(up @ surface.axle, surface.slope(up))

    def rolling_radius(self, name: str) -> Scalar:
        """Return the distance of a wheel's touching point from its axle, m."""
        _, at, surface = self._touch(name)
        return surface.rolling_radius(self.world.up[at.link])

    def spin(self, name: str) -> Scalar:
        """Return how fast a wheel turns about the ground's normal, positive to the left."""
        _, at, _ = self._touch(name)
        return self.world.up[0] @ (spin_matrix(self.tree, self.geo, at) @ self.speeds)

    def load(self, name: str) -> Scalar:
        """Return the ground's normal force on a contact, N. Force elements can read it in the closed
        form, where they are solved together with it, eq. [loads].
        """
        if self.loads is None:
            raise ModelError(
                f"the load of contact {name!r} is not known here: force elements of the closed form "
                "alone can read it (formulation 'projected'), on a terrain those that act at the contact."
            )
        if name not in self.loads:
            known = list(self.loads)
            raise ModelError(
                f"contact {name!r} has no load here; the ground carries: "
                f"{', '.join(known) or 'none'}. {did_you_mean(name, known)}"
            )
        return self.loads[name]

    def _touch(self, name: str) -> tuple[Contact, Point, Surface]:
        """Return a contact, its point and its surface."""
        names = [c.name for c in self.tree.model.contacts]
        expect_known("no contact", name, names, ModelError)
        contact = self.tree.model.contacts[names.index(name)]
        return contact, *contact_point(self.tree, self.geo, self.world, contact)


def law_states(law: Any) -> int:
    """Return how many states of its own a control law has: its attribute `states`, none without it.

    >>> law_states(lambda readings, z: ({}, ()))
    0
    """
    if law is None:
        return 0
    if isinstance(law, str) and law in names("law"):
        kind = find("law", law)
        maker = MAKERS.get(law, f"{kind.__module__}.{kind.__name__}(...)")
        raise ModelError(
            f"law: {law!r} is a name for the command line; in Python {maker} makes it."
        )
    if not callable(law):
        raise ModelError(f"law: {law!r:.80} is none; {CALLED}.")
    try:
        inspect.signature(law).bind(None, None)
    except TypeError as error:
        name = getattr(law, "__name__", type(law).__name__)
        raise ModelError(f"law {name!r}: {error}; {CALLED}.") from None
    except ValueError:
        pass  # what is built in does not tell
    states = getattr(law, "states", 0)
    if not isinstance(states, int) or not 0 <= states <= MOST_STATES:
        raise ModelError(
            f"law: its attribute `states` is {states!r:.80}; it is a number from 0 to {MOST_STATES}."
        )
    return int(states)


def law_start(law: Any, x: float, y: float, yaw: float) -> Array:
    """Return the states of a law at the start: its `start_at` of the machine's place (m) and heading
    (rad) there, or its `start`, or zeros.

    >>> law_start(lambda readings, z: ({}, ()), 0.0, 0.0, 0.0)
    array([], dtype=float64)
    """
    if hasattr(law, "start_at"):
        return np.asarray(law.start_at(x, y, yaw), float)
    return np.asarray(getattr(law, "start", np.zeros(law_states(law))), float)


def call_law(
    law: Any, readings: Readings, z: Array
) -> tuple[Mapping[str, Any], Sequence[Scalar] | Array]:
    """Return what a law gives, inputs by name and the rates of its states; raise where it was written
    by mistake: what it reads is not there, or it returns something else.
    """
    try:
        given = law(readings, z)
    except NameError as error:
        raise ModelError(f"law: {error}.") from error
    except AttributeError as error:
        if not isinstance(error.obj, Readings):
            raise
        inner = {field.name for field in fields(Readings)} - {"t"}
        known = [name for name in dir(Readings) if name[0] != "_" and name not in inner]
        told = f"law: readings have no {error.name!r}. {did_you_mean(str(error.name), known)}"
        raise ModelError(
            f"{told} Joints are read by readings.joint(name), their rates by .rate(name), the model's "
            "outputs by .output(name)."
        ) from None
    if isinstance(given, tuple | list) and len(given) == 2:
        inputs, rates = given
        if isinstance(inputs, Mapping) and isinstance(rates, Sequence | np.ndarray):
            return inputs, rates
    raise ModelError(f"law: it returns {given!r:.80}; {CALLED}.")
