"""A machine without ground, and each of its wheels on each kind of feature, compiled: what every
mode on every terrain is made of.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.fingerprint import fingerprint
from draisine.errors import RedundancyError, SingularityError
from draisine.mechanics.contact.features import FEATURE
from draisine.mechanics.contact.modes import MOST, Signature, mode_name
from draisine.mechanics.readings import law_states
from draisine.model import Contact
from draisine.system.artifacts import Programs
from draisine.system.compiled import Compiled
from draisine.system.contact_programs import (
    GEOMETRY,
    program_names,
    row_layout,
    trace_motion,
)
from draisine.system.layout import Layout, state_sizes
from draisine.system.state import State, misfit, misshapen
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain.feature import ObstacleMotion

Meeting = tuple[int, str, ObstacleMotion | None]
"""What meets: a wheel or blade (or, counted on after them, a joint) by its number, the kind of
feature, and how the feature moves.
"""


@dataclass(frozen=True, eq=False)
class Generic:
    """The free machine: `motion` gives M and F, `contacts[wheel, kind, motion]` a wheel's rows on a
    feature that is fixed (None) or moves.

    After the wheels the joints are counted on, each with its `stop`. Its state is y = (q, p, r, v,
    z) in the user's own frame and speeds. `ground` are the numbers of the motions.
    """

    system: System
    law: Law | None
    motions: tuple[ObstacleMotion, ...]
    ground: Floats
    programs: Programs

    def __reduce__(self) -> Any:
        return generic, (self.system, self.law, self.motions)

    @property
    def states(self) -> int:
        """How many states the law has."""
        return law_states(self.law)

    @cached_property
    def motion(self) -> Compiled:
        """The free machine: rates of the configuration, M and F."""
        return self.programs.bind("motion", self.system.values)

    @property
    def memory(self) -> int:
        """How many states z there are: those of the force elements, then those of the law."""
        return self.system.model.memory + self.states

    @cached_property
    def observe(self) -> Compiled:
        """What a user may ask of a state and its accelerations."""
        return self.programs.bind("observe", self.system.values)

    def observations(self, y: Floats, t: Floats, w: Floats, a: Floats) -> dict[str, Floats]:
        """Return everything that `observe` knows of many y (time first) that move with accelerations
        a, time last.
        """
        x = self.observe.inputs.pack(t=t[None], **self.layout.split(y.T), w=w, a=a.T)
        return self.observe.batch(x)

    @cached_property
    def contacts(self) -> "ContactPrograms":
        """The programs of contacts."""
        return ContactPrograms(self.system, self.programs, self.motions)

    @cached_property
    def layout(self) -> Layout:
        """Where q, p, r, v, z stand in y."""
        return Layout(state_sizes(self.system.model, v=self.speeds, z=self.memory))

    @cached_property
    def inputs(self) -> Layout:
        """What the programs of contacts read: what `motion` reads, then the numbers of a feature and of
        how grounds move.
        """
        more = {"parameters": 0, "f": FEATURE, "ground": len(self.ground)}
        return Layout(self.motion.program.inputs | more)

    @cached_property
    def row(self) -> Layout:
        """What the program of a contact tells of it."""
        return row_layout(self.system.model)

    @property
    def givens(self) -> int:
        """How many numbers of features and friction closed forms read at most, behind all else."""
        return MOST * (FEATURE + 1)

    def closed_form(self, signature: Signature) -> Compiled | None:
        """Return the closed form of a mode on fixed features; None where the dense system is to be
        taken: for many wheels, for two contacts of one, for stops, flats and couplings, and where
        rows repeat each other.
        """
        name = mode_name(self.system.model, signature)
        if name not in self._closed_forms:
            try:
                there = name in self.programs
                found = self.programs.bind(name, self.system.values) if there else None
            except (RedundancyError, SingularityError):
                found = None
            self._closed_forms[name] = found
        return self._closed_forms[name]

    @cached_property
    def _closed_forms(self) -> dict[str, Compiled | None]:
        """The closed forms that were asked for so far."""
        return {}

    @cached_property
    def shared(self) -> dict[Any, Any]:
        """What runs of this machine share, by whose it is."""
        return {}

    @property
    def joints(self) -> int:
        """How many joints there are."""
        return len(self.system.model.joints)

    @property
    def speeds(self) -> int:
        """How many speeds there are."""
        return len(self.system.model.speeds)

    @cached_property
    def wheels(self) -> tuple[Contact, ...]:
        """What touches, wheels and blades, in the model's order."""
        return tuple(self.system.model.contacts)

    @cached_property
    def held(self) -> list[int]:
        """The joints that are prescribed or guided: the first of the rows that hold whatever touches;
        the others are those of couplings.
        """
        joints = self.system.model.joints
        return [k for k, joint in enumerate(joints) if joint.motion or k in self.guided]

    @cached_property
    def guided(self) -> list[int]:
        """The joints that the law guides."""
        return np.flatnonzero(self.motion()["guided"]).tolist()

    def enter(self, state: State, z: Floats) -> Floats:
        """Return y for a state, after checking that it is one of this machine."""
        if misshapen(self.system, state):
            raise misfit(self.system, state)
        y = self.layout.pack(q=state.q, p=state.p, r=state.r, v=state.v, z=z)
        if not np.isfinite(y).all():
            raise misfit(self.system, state)
        return y

    def leave(self, y: Floats) -> State:
        """Return the state of y."""
        at = self.layout
        z = y[at.z][: self.system.model.memory].copy()
        pose, shape, speeds = (y[at.q].copy(), y[at.p].copy()), y[at.r].copy(), y[at.v].copy()
        return State(*pose, shape, speeds, element_state=z)


def generic(
    system: System, law: Law | None = None, motions: tuple[ObstacleMotion, ...] = ()
) -> Generic:
    """Return a system as a free machine; `law` and the motions of obstacles are traced into it. The latest
    are kept.
    """

    def make() -> Generic:
        traced = [trace_motion(motion) for motion in motions]
        ground = np.array([x for _, numbers in traced for x in numbers])
        forms = tuple(form for form, _ in traced)
        programs = system.artifacts.contact_programs(law, law_states(law), forms)
        return Generic(system, law, motions, ground, programs)

    return system.keep(fingerprint(("generic", law, motions)), make)


class ContactPrograms(Mapping[Meeting, Compiled]):
    """The programs of contacts by what meets, bound to a system's parameters when first asked for."""

    def __init__(
        self, system: System, programs: Programs, motions: tuple[ObstacleMotion, ...]
    ) -> None:
        self._programs, self._values = programs, system.values
        named = program_names(system.artifacts.drawing, len(motions))
        self.names: dict[Meeting, str] = {
            (of, kind, None if motion is None else motions[motion]): name
            for name, (of, kind, motion) in named.items()
            if kind
        }
        self._bound: dict[Meeting, Compiled] = {}

    def __getitem__(self, meeting: Meeting) -> Compiled:
        if meeting not in self._bound:
            self._bound[meeting] = self._programs.bind(self.names[meeting], self._values)
        return self._bound[meeting]

    def geometry(self, meeting: Meeting) -> Compiled:
        """Return the program that tells the first part of a contact's row, what it looks like."""
        return self._programs.bind(self.names[meeting] + GEOMETRY, self._values)

    def __contains__(self, meeting: object) -> bool:
        return meeting in self.names

    def __iter__(self) -> Iterator[Meeting]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
