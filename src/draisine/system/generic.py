"""A machine without ground, and each of its wheels on each kind of feature, compiled: what every
mode on every terrain is made of.
"""

import json
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.fingerprint import fingerprint
from draisine.codegen.program import Program
from draisine.mechanics.base import is_free
from draisine.model import Wheel
from draisine.system.closed_form import State
from draisine.system.compiled import Compiled
from draisine.system.contact_programs import (
    FEATURE,
    ObstacleMotion,
    TerrainDerivation,
    contact_row,
)
from draisine.system.layout import Layout, state_sizes
from draisine.system.system import System, versions
from draisine.system.tracing import Law, trace


@dataclass(frozen=True, eq=False)
class Generic:
    """The free machine: `motion` gives M and F, `meetings[wheel, kind, motion]` a wheel's rows on a
    feature that is fixed (None) or moves.

    After the wheels the joints are counted on, each with its `stop`. Its state is y = (q, p, r, v,
    z) in the user's own frame and speeds.
    """

    system: System
    states: int
    motion: Compiled
    meetings: dict[tuple[int, str, ObstacleMotion | None], Compiled]
    programs: dict[str, Program]

    @cached_property
    def sight(self) -> Compiled:
        """What a user may ask of a state and its accelerations."""
        return Compiled(self.programs["sight"], self.system.values, self.system.store)

    @cached_property
    def layout(self) -> Layout:
        """Where q, p, r, v, z stand in y."""
        return Layout(state_sizes(self.system.model, v=self.speeds, z=self.states))

    @cached_property
    def inputs(self) -> Layout:
        """What the programs of contacts read: what `motion` reads, then the numbers of a feature."""
        return Layout(self.motion.program.inputs | {"parameters": 0, "f": FEATURE})

    @cached_property
    def row(self) -> Layout:
        """What the program of a contact tells of it."""
        return contact_row(self.speeds)

    @property
    def joints(self) -> int:
        """How many joints there are."""
        return len(self.system.model.joints)

    @property
    def speeds(self) -> int:
        """How many speeds there are."""
        return len(self.system.model.speeds)

    @cached_property
    def wheels(self) -> tuple[Wheel, ...]:
        """The wheels in the model's order."""
        return self.system.model.wheels

    @cached_property
    def framed(self) -> bool:
        """Whether the base is a frame that can turn over, not a wheel that rolls."""
        model = self.system.model
        carriers = {wheel.body for wheel in self.wheels}
        return is_free(model) and model.bodies[0].name not in carriers

    @cached_property
    def driven(self) -> Floats:
        """The columns of v that belong to prescribed and guided joints."""
        model = self.system.model
        first = len(model.twist)
        held = [first + k for k, j in enumerate(model.joints) if j.motion or k in self.guided]
        return np.array(held, dtype=np.int64)

    @cached_property
    def guided(self) -> list[int]:
        """The joints that the law guides."""
        return np.flatnonzero(self.motion()["guided"]).tolist()

    def enter(self, state: State, z: Floats) -> Floats:
        """Return y for a state."""
        return self.layout.pack(q=state.q, p=state.p, r=state.r, v=state.v, z=z)

    def leave(self, y: Floats) -> State:
        """Return the state of y."""
        at = self.layout
        return State(y[at.q].copy(), y[at.p].copy(), y[at.r].copy(), y[at.v].copy())


def generic(
    system: System, law: Law | None = None, motions: tuple[ObstacleMotion, ...] = ()
) -> Generic:
    """Return a system as a free machine; `law` and the motions of obstacles are traced into it."""
    return system.keep(("free", law, motions), lambda: _make(system, law, motions))


def _make(system: System, law: Law | None, motions: tuple[ObstacleMotion, ...]) -> Generic:
    states = int(getattr(law, "states", 0))
    tracing = trace(system.vehicle, system.parameters, system.structure, law, states)
    key, stored = None, None
    if system.store is not None:
        key = fingerprint(
            ("meetings", tracing.model, law, motions, states, system.parameters, versions())
        )
        stored = system.store.get(key) if key is not None else None
    if stored is None:
        programs = TerrainDerivation(tracing, motions).derive()
        if system.store is not None and key is not None:
            packed = [[p.name, p.inputs, p.steps, p.outputs, p.fixed] for p in programs.values()]
            system.store.put(key, json.dumps([list(programs), packed]).encode())
    else:
        names, packed = json.loads(stored)
        programs = {
            name: Program(p[0], p[1], [tuple(s) for s in p[2]], p[3], p[4])
            for name, p in zip(names, packed, strict=True)
        }
    named: list[tuple[ObstacleMotion | None, str]] = [(None, "")]
    named += [(motion, f".{i}") for i, motion in enumerate(motions)]
    made = {
        (k, kind, motion): Compiled(
            programs[f"{wheel.name}.{kind}{suffix}"], system.values, system.store
        )
        for k, wheel in enumerate(system.model.wheels)
        for kind in wheel.surface.kinds
        for motion, suffix in named
    }
    first = len(system.model.contacts)
    for k, joint in enumerate(system.model.joints):
        stop = Compiled(programs[f"{joint.name}.stop"], system.values, system.store)
        made[first + k, "stop", None] = stop
    motion = Compiled(programs["motion"], system.values, system.store)
    return Generic(system, states, motion, made, programs)
