"""The machine as a whole: a tree of bodies on a base, checked when built."""

import re
from collections.abc import Callable, Sequence
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
from draisine.model.names import RESERVED
from draisine.model.steps import Steps

TWIST = ("Vx", "Vy", "Vz", "Wx", "Wy", "Wz")
"""The components of the base's twist, in its own axes."""

GROUPS: dict[str, tuple[int, ...]] = {
    "SE(3)": (0, 1, 2, 3, 4, 5),
    "SE(2)": (0, 1, 5),
    "SO(3)": (3, 4, 5),
    "translations": (0, 1, 2),
    "fixed": (),
}
"""The motions that a base can have: its group and the twist components that it leaves free."""


SHOWN = ("joint", "contact", "output")
"""What has its name in results."""

NAME = re.compile(r"[^/\\\x00-\x1f\x7f]{1,100}")
"""Names that every kind of file can hold."""


@dataclass(frozen=True, slots=True)
class Output:
    """A named scalar of interest; `value(readings)` computes it over any scalar from a
    `mechanics.readings.Readings`.
    """

    name: str
    value: Callable[[Any], Scalar] = field(repr=False)
    unit: str = ""
    meaning: str = ""


def forward_speed(body: str, point: Vector, meaning: str) -> Output:
    """Return the output `forward_speed`: the velocity of a body's point along the heading, in m/s; the
    heading is level, so that on a slope it is the horizontal part.
    """
    return Output(
        "forward_speed",
        lambda readings: readings.heading @ readings.velocity(body, point),
        "m/s",
        meaning,
    )


Drift = Callable[[Scalar], tuple[Sequence[Scalar], Sequence[Scalar]]]
"""How the ground moves in its own plane at time t: (vx, vy, turning rate), and their derivatives."""


@dataclass(frozen=True, eq=False)
class Model:
    """A machine: bodies, joints, contacts, forces, gravity, the group of its base, named outputs, and
    couplings of its joints.

    The first body is the base. The pose g of the base is that of the drawing's frame, fixed to the
    base body; the ground is the plane z = 0 of the world; `gravity` is an acceleration in world
    axes. `ground` lets the plane move in itself, as a treadmill or a turntable does (turning about
    the world's origin). `steps` tells of a walker which foot follows which.
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

    def __post_init__(self) -> None:
        for name in ("bodies", "joints", "contacts", "forces", "outputs", "couplings"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "gravity", vector(self.gravity, "gravity"))
        expect_known("base group", self.base, GROUPS, ModelError)
        if not self.bodies:
            raise ModelError("a model needs at least one body.")
        self._check_names()
        self._check_partners()
        self._check_tree()
        self._check_steps()

    @property
    def twist(self) -> tuple[int, ...]:
        """Which of the six twist components of the base are free."""
        return GROUPS[self.base]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The pins that close loops."""
        return tuple(c for c in self.couplings if isinstance(c, Loop))

    @cached_property
    def speeds(self) -> tuple[str, ...]:
        """The names of the components of v = (eta, rdot)."""
        return tuple(TWIST[i] for i in self.twist) + tuple(f"{j.name}_rate" for j in self.joints)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs: joint torques, then the components of the forces."""
        pushes = tuple(f"{f.name}.{axis}" for f in self.pushes for axis in "xyz")
        return tuple(j.name for j in self.joints) + pushes

    @property
    def pushes(self) -> tuple[Force, ...]:
        """The forces that are inputs."""
        return tuple(f for f in self.forces if isinstance(f, Force))

    @cached_property
    def elements(self) -> tuple[ForceElement, ...]:
        """The forces that read the state: tyres in the order of their wheels, then the others."""
        tyres = [c.tyre for c in self.contacts if isinstance(c, Wheel) and c.tyre is not None]
        return (*tyres, *[f for f in self.forces if not isinstance(f, Force)])

    @cached_property
    def memory(self) -> int:
        """How many states the force elements have."""
        return sum([element.states for element in self.elements])

    @cached_property
    def wheels(self) -> tuple[Wheel, ...]:
        """The contacts that roll."""
        return tuple([c for c in self.contacts if isinstance(c, Wheel)])

    @property
    def pins(self) -> tuple[Pin, ...]:
        """The contacts that are held where they are."""
        return tuple(c for c in self.contacts if isinstance(c, Pin))

    def body(self, name: str) -> Body:
        """Return the body of that name."""
        for body in self.bodies:
            if body.name == name:
                return body
        raise ModelError(f"no body {name!r}. {did_you_mean(name, (b.name for b in self.bodies))}")

    def _check_names(self) -> None:
        """Raise where a name cannot be written down, stands twice, or is taken by results."""
        for kind, things in (
            ("body", self.bodies),
            ("joint", self.joints),
            ("contact", self.contacts),
            ("force", self.forces),
            ("output", self.outputs),
            ("coupling", self.couplings),
        ):
            seen: set[str] = set()
            for thing in things:
                if kind in SHOWN and not NAME.fullmatch(thing.name):
                    raise ModelError(
                        f"{kind} {thing.name!r:.60}: results and files use that name; take 1 to 100 "
                        "letters without slashes and breaks."
                    )
                if thing.name in seen:
                    raise ModelError(f"{kind} {thing.name!r} is there twice; names must differ.")
                seen.add(thing.name)
        taken = {j.name for j in self.joints} | set(self.speeds)
        for kind, name in [("output", o.name) for o in self.outputs] + [
            ("joint", j.name) for j in self.joints
        ]:
            if name in RESERVED or (kind == "output" and name in taken):
                raise ModelError(f"{kind} {name!r}: results use that name; take another.")

    def _check_partners(self) -> None:
        """Raise where something is on a body, or couples a joint, that is not there."""
        known = [b.name for b in self.bodies]
        for kind, pairs in (
            ("joint", [(j.name, b) for j in self.joints for b in (j.parent, j.child)]),
            ("contact", [(c.name, c.body) for c in self.contacts]),
            ("force", [(f.name, f.body) for f in self.pushes]),
            ("loop", [(c.name, b) for c in self.loops for b in (c.body, c.other)]),
            ("wheel", [(w.name, flat.body) for w in self.wheels for flat in w.flats]),
        ):
            for name, body in pairs:
                expect_known(f"{kind} {name!r}: no body", body, known, ModelError)
        joints = [j.name for j in self.joints]
        for coupling in (c for c in self.couplings if isinstance(c, Coupling)):
            told = f"coupling {coupling.name!r}: no joint"
            expect_known(told, coupling.joints, joints, ModelError)

    def _check_steps(self) -> None:
        """Raise where steps speak of feet or joints that the machine does not have."""
        if self.steps is None:
            return
        joints, feet = {j.name for j in self.joints}, {c.name for c in self.wheels}
        named = {*self.steps.exchange, *self.steps.exchange.values(), *self.steps.turn}
        for name, known in [
            *((name, feet) for name in self.steps.feet),
            *((name, joints) for name in sorted(named)),
        ]:
            expect_known("steps: no", name, known, ModelError)

    def _check_tree(self) -> None:
        base = self.bodies[0].name
        parents: dict[str, Joint] = {}
        for joint in self.joints:
            if joint.child in parents:
                raise ModelError(
                    f"body {joint.child!r} has two parents: joints {parents[joint.child].name!r} and "
                    f"{joint.name!r}. A tree allows one; close the loop by a `Loop` among the couplings."
                )
            if joint.child == base:
                raise ModelError(
                    f"joint {joint.name!r}: {base!r} is the base (the first body) and has no parent."
                )
            parents[joint.child] = joint
        for body in self.bodies[1:]:
            path, name = [body.name], body.name
            while name != base:
                if name not in parents:
                    raise ModelError(
                        f"body {name!r} hangs on no joint; only the base, {base!r}, may."
                    )
                name = parents[name].parent
                if name in path:
                    raise ModelError(
                        f"joints form a cycle through bodies {', '.join(map(repr, path))}."
                    )
                path.append(name)
