"""The model of a multibody system: a tree of bodies on a base, with joints, contacts, forces and
outputs.

Names, references between the parts and the tree are checked when a model is built.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Scalar, Vector
from draisine.errors import ModelError, did_you_mean, expect_known
from draisine.model.body import Body, vector
from draisine.model.contact import Contact, Pin, Wheel
from draisine.model.coupling import Coupling, Loop
from draisine.model.force import Force, ForceElement
from draisine.model.joint import Joint
from draisine.model.names import RESERVED_RESULT_NAMES, motion_variables, sensor_variables
from draisine.model.sensor import Sensor

BASE_TWIST = ("Vx", "Vy", "Vz", "Wx", "Wy", "Wz")
"""Names of the components of the base's twist in the axes of the base: linear (m/s), then angular
(rad/s).
"""

BASE_GROUPS: dict[str, tuple[int, ...]] = {
    "SE(3)": (0, 1, 2, 3, 4, 5),
    "SE(2)": (0, 1, 5),
    "SO(3)": (3, 4, 5),
    "translations": (0, 1, 2),
    "fixed": (),
}
"""Indices of the free twist components of the base, by group of motions."""


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """Symmetry of the steps of a walker.

    A step begins with the touch-down of the first foot and ends with that of the second. Exchanging
    joints and shifting angles maps the end of a step to the beginning of the next.
    """

    feet: tuple[str, str]
    # Joint that takes over the role of each joint after a step, by name of the joint
    exchange: Mapping[str, str] = field(default_factory=dict)
    # Angle (rad) that is added to each joint coordinate after a step, by name of the joint
    turn: Mapping[str, Scalar] = field(default_factory=dict)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints whose angles form the reduced state of a step."""
        return tuple(dict.fromkeys([*self.exchange, *self.turn]))

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components of the reduced state: joint angles, then joint rates."""
        return (*self.joints, *(f"{name}_rate" for name in self.joints))


NAMED_IN_RESULTS = ("joint", "contact", "output", "sensor")
"""Kinds of model parts whose names appear in results."""

NAME_PATTERN = re.compile(r"[^/\\\x00-\x1f\x7f]{1,100}")
"""Pattern of names that all file formats can store."""


@dataclass(frozen=True, slots=True)
class Output:
    """Named scalar function of the state that results contain.

    Parameters
    ----------
    name
        Name of the output.
    value
        Function of `mechanics.readings.Readings` that returns the value.
    unit
        SI unit.
    meaning
        Description in a few words.
    """

    name: str
    # Function that returns the value from `mechanics.readings.Readings`
    value: Callable[[Any], Scalar] = field(repr=False)
    unit: str = ""
    meaning: str = ""


def forward_speed(body: str, point: Vector, meaning: str) -> Output:
    """Return the output `forward_speed`: velocity of a point of a body along the heading (m/s).

    The heading is horizontal, so that on a slope the output is the horizontal component.
    """
    return Output(
        "forward_speed",
        lambda readings: readings.heading @ readings.velocity(body, point),
        "m/s",
        meaning,
    )


Drift = Callable[[Scalar], tuple[Sequence[Scalar], Sequence[Scalar]]]
"""Function from time t (s) to the velocity of the ground in its plane, (vx, vy, yaw rate) in m/s
and rad/s, and its time derivative.
"""


@dataclass(frozen=True, eq=False)
class Model:
    """Multibody system: a tree of bodies on a base, with joints, contacts, forces and outputs.

    The pose of the base is that of a frame fixed to the base body, which is the world frame in the
    zero configuration. The ground is the plane z = 0 of the world.

    Parameters
    ----------
    bodies
        Bodies; the first one is the base.
    joints
        Joints, which connect the bodies to a tree.
    contacts
        Wheels, blades and pins.
    forces
        Forces that are inputs, and force elements that read the state.
    gravity
        Acceleration of gravity in world axes (m/s2).
    base
        Group of motions of the base: "SE(3)", "SE(2)", "SO(3)", "translations" or "fixed".
    outputs
        Named scalar functions of the state that results contain.
    ground
        Motion of the ground in its plane, such as a treadmill, or a turntable about the world's origin.
    couplings
        Couplings of joints, and pins that close loops.
    steps
        Feet and joints of a walker.
    sensors
        Sensors, whose readings results contain. They do not influence the motion.

    Raises
    ------
    ModelError
        If names are invalid or repeated, or bodies and joints do not form a tree.
    """

    bodies: Sequence[Body]
    joints: Sequence[Joint] = ()
    contacts: Sequence[Contact] = ()
    forces: Sequence[Force | ForceElement] = ()
    gravity: Vector = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    base: str = "SE(3)"
    outputs: Sequence[Output] = ()
    ground: Drift | None = None
    couplings: Sequence[Coupling | Loop] = ()
    steps: Steps | None = None
    sensors: Sequence[Sensor] = ()

    def __post_init__(self) -> None:
        for name in ("bodies", "joints", "contacts", "forces", "outputs", "couplings", "sensors"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "gravity", vector(self.gravity, "gravity"))
        expect_known("base group", self.base, BASE_GROUPS, ModelError)
        if not self.bodies:
            raise ModelError("A model needs at least one body.")
        self._check_names()
        self._check_references()
        self._check_tree()
        self._check_steps()
        self._check_sensors()

    @property
    def twist(self) -> tuple[int, ...]:
        """Indices of the free twist components of the base."""
        return BASE_GROUPS[self.base]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Couplings that close kinematic loops by a pin between two bodies."""
        return tuple(c for c in self.couplings if isinstance(c, Loop))

    @cached_property
    def speeds(self) -> tuple[str, ...]:
        """Names of the components of the speeds v = (eta, rdot)."""
        return tuple(BASE_TWIST[i] for i in self.twist) + tuple(
            f"{j.name}_rate" for j in self.joints
        )

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs: joint torques, then the components of the external forces."""
        pushes = tuple(f"{f.name}.{axis}" for f in self.pushes for axis in "xyz")
        return tuple(j.name for j in self.joints) + pushes

    @property
    def pushes(self) -> tuple[Force, ...]:
        """External forces that are inputs."""
        return tuple(f for f in self.forces if isinstance(f, Force))

    @cached_property
    def elements(self) -> tuple[ForceElement, ...]:
        """Force elements: tyres in the order of their wheels, then the others."""
        tyres = [c.tyre for c in self.contacts if isinstance(c, Wheel) and c.tyre is not None]
        return (*tyres, *[f for f in self.forces if not isinstance(f, Force)])

    @cached_property
    def memory(self) -> int:
        """Total number of states of the force elements."""
        return sum([element.states for element in self.elements])

    @cached_property
    def wheels(self) -> tuple[Wheel, ...]:
        """Contacts that are wheels."""
        return tuple([c for c in self.contacts if isinstance(c, Wheel)])

    @property
    def pins(self) -> tuple[Pin, ...]:
        """Contacts that grip a fixed point of the world."""
        return tuple(c for c in self.contacts if isinstance(c, Pin))

    def body(self, name: str) -> Body:
        """Return the body with a given name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise ModelError(
            f"Unknown body {name!r}. {did_you_mean(name, (b.name for b in self.bodies))}"
        )

    def joint(self, name: str) -> Joint:
        """Return the joint with a given name."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise ModelError(
            f"Unknown joint {name!r}. {did_you_mean(name, (j.name for j in self.joints))}"
        )

    def _check_names(self) -> None:
        """Raise an error if a name cannot be stored, is repeated, or is reserved for results."""
        for kind, parts in (
            ("body", self.bodies),
            ("joint", self.joints),
            ("contact", self.contacts),
            ("force", self.forces),
            ("output", self.outputs),
            ("coupling", self.couplings),
            ("sensor", self.sensors),
        ):
            names: set[str] = set()
            for part in parts:
                if kind in NAMED_IN_RESULTS and not NAME_PATTERN.fullmatch(part.name):
                    raise ModelError(
                        f"{kind} {part.name!r:.60}: invalid name. Use 1 to 100 characters without slashes "
                        "and line breaks, because results and files contain it."
                    )
                if part.name in names:
                    raise ModelError(f"The {kind} name {part.name!r} is used twice. Rename one.")
                names.add(part.name)
        taken = {j.name for j in self.joints} | set(self.speeds)
        for kind, name in [("output", o.name) for o in self.outputs] + [
            ("joint", j.name) for j in self.joints
        ]:
            if name in RESERVED_RESULT_NAMES or (kind == "output" and name in taken):
                raise ModelError(f"{kind} {name!r}: this name is reserved for results. Rename it.")

    def _check_references(self) -> None:
        """Raise an error if a part refers to a body or a joint that does not exist."""
        bodies = [b.name for b in self.bodies]
        for kind, pairs in (
            ("joint", [(j.name, b) for j in self.joints for b in (j.parent, j.child)]),
            ("contact", [(c.name, c.body) for c in self.contacts]),
            ("force", [(f.name, f.body) for f in self.pushes]),
            ("loop", [(c.name, b) for c in self.loops for b in (c.body, c.other)]),
            ("wheel", [(w.name, flat.body) for w in self.wheels for flat in w.flats]),
        ):
            for name, body in pairs:
                expect_known(f"{kind} {name!r}: no body", body, bodies, ModelError)
        joints = [j.name for j in self.joints]
        for coupling in (c for c in self.couplings if isinstance(c, Coupling)):
            context = f"coupling {coupling.name!r}: no joint"
            expect_known(context, coupling.joints, joints, ModelError)

    def _check_steps(self) -> None:
        """Raise an error if the steps refer to feet or joints that do not exist."""
        if self.steps is None:
            return
        joints = {j.name for j in self.joints}
        feet = {c.name for c in self.wheels}
        named = {*self.steps.exchange, *self.steps.exchange.values(), *self.steps.turn}
        for name, names in [
            *((name, feet) for name in self.steps.feet),
            *((name, joints) for name in sorted(named)),
        ]:
            expect_known("steps: no", name, names, ModelError)

    def _check_sensors(self) -> None:
        """Raise an error if a sensor refers to a part that does not exist, or a signal has the name of
        another result.
        """
        if not self.sensors:
            return
        for sensor in self.sensors:
            sensor.errors(self)
        signals = sensor_variables(self)
        others = motion_variables(self)
        count = sum(len(sensor.channels(self)) for sensor in self.sensors)
        for name in signals:
            if name in RESERVED_RESULT_NAMES or name in others or name in self.speeds:
                raise ModelError(
                    f"The sensor signal {name!r} has the name of another result. Rename the sensor."
                )
        if len(signals) < count:
            raise ModelError("Two sensors have a signal of the same name. Rename one of them.")

    def _check_tree(self) -> None:
        """Raise an error if bodies and joints do not form a tree with the base as its root."""
        base = self.bodies[0].name
        parents: dict[str, Joint] = {}
        for joint in self.joints:
            if joint.child in parents:
                raise ModelError(
                    f"Body {joint.child!r} has two parents: joints {parents[joint.child].name!r} "
                    f"and {joint.name!r}. A tree allows one; close the loop by a `Loop` among the couplings."
                )
            if joint.child == base:
                raise ModelError(
                    f"Joint {joint.name!r}: its child {base!r} is the base (the first body), which has no "
                    "parent. Exchange parent and child, or list another body first."
                )
            parents[joint.child] = joint
        for body in self.bodies[1:]:
            path = [body.name]
            name = body.name
            while name != base:
                if name not in parents:
                    raise ModelError(
                        f"Body {name!r} is not the child of any joint. Only the base, {base!r}, may be "
                        "without a parent."
                    )
                name = parents[name].parent
                if name in path:
                    raise ModelError(
                        f"The joints form a cycle through the bodies {', '.join(map(repr, path))}. Close the "
                        "loop by a `Loop` among the couplings."
                    )
                path.append(name)
