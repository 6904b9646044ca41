"""The compiled vehicle on a terrain: its dynamics without ground, and each of its wheels on each kind of
ground feature.

Every contact mode on every terrain is assembled from these programs.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Floats
from draisine.codegen.fingerprint import fingerprint
from draisine.codegen.program import find_dependencies
from draisine.errors import RedundancyError, SingularityError
from draisine.mechanics.contact.features import FEATURE
from draisine.mechanics.contact.modes import MAX_CLOSED_FORM_WHEELS, Signature, mode_name
from draisine.mechanics.readings import law_states
from draisine.model import Contact
from draisine.system.artifacts import Programs
from draisine.system.compiled import Compiled
from draisine.system.contact_programs import (
    GEOMETRY_SUFFIX,
    contact_layout,
    program_names,
    trace_motion,
)
from draisine.system.layout import Layout, state_sizes
from draisine.system.state import State, find_wrong_lengths, make_state_error
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain.feature import ObstacleMotion

ContactPair = tuple[int, str, ObstacleMotion | None]
"""Pair in contact: the index of a wheel or blade (joints with stops follow them), the kind of ground
feature, and the motion of that feature (None if it is fixed).
"""


@dataclass(frozen=True, eq=False)
class Generic:
    """The compiled vehicle on a terrain, from which the contact engine assembles every contact mode.

    The program `motion` computes the mass matrix M and the bias force F of the vehicle without ground,
    `contacts[wheel, kind, motion]` the constraint rows of a wheel on a ground feature. The state is y = (q,
    p, r, v, z), with the base frame and the speeds of the user.
    """

    system: System
    law: Law | None  # control law, or None
    motions: tuple[ObstacleMotion, ...]  # motions of moving ground
    ground: Floats  # numerical constants of the ground motions, inputs of the programs
    programs: Programs

    def __reduce__(self) -> Any:
        return make_generic, (self.system, self.law, self.motions)

    def has_programs_of(self, other: "Generic") -> bool:
        """Return whether this vehicle differs from another one in the numbers of its parameters only, under
        the same control law and on the same moving ground.
        """
        return (
            self.programs is other.programs
            and self.law is other.law
            and self.motions == other.motions
        )

    @property
    def states(self) -> int:
        """The number of states of the control law."""
        return law_states(self.law)

    @cached_property
    def motion(self) -> Compiled:
        """The program of the vehicle without ground: rates of the configuration, mass matrix M and bias
        force F.
        """
        return self.programs.bind("motion", self.system.values)

    @cached_property
    def force_dependencies(self) -> NDArray[np.bool_]:
        """Which applied forces depend on which speeds, (forces, speeds)."""
        return find_dependencies(self.motion.program, "applied", "v")

    @property
    def memory(self) -> int:
        """The number of states z: those of the force elements, then those of the control law."""
        return self.system.model.memory + self.states

    @cached_property
    def observe(self) -> Compiled:
        """The program that computes all outputs from a state and its accelerations."""
        return self.programs.bind("observe", self.system.values)

    def observations(self, y: Floats, t: Floats, w: Floats, a: Floats) -> dict[str, Floats]:
        """Return all outputs of `observe` as arrays whose last axis is time.

        Parameters
        ----------
        y
            States (times, n).
        t
            Times, s.
        w
            Inputs (inputs, times).
        a
            Accelerations vdot (times, speeds).
        """
        x = self.observe.inputs.pack(t=t[None], **self.layout.split(y.T), w=w, a=a.T)
        return self.observe.batch(x)

    @cached_property
    def contacts(self) -> "ContactPrograms":
        """The compiled programs of the contacts, by contact pair."""
        return ContactPrograms(self.system, self.programs, self.motions)

    @cached_property
    def layout(self) -> Layout:
        """The layout of the state vector y: slices q, p, r, v, z."""
        return Layout(state_sizes(self.system.model, v=self.speeds, z=self.memory))

    @cached_property
    def inputs(self) -> Layout:
        """The layout of the inputs of contact programs: those of `motion`, the coordinates of a ground
        feature, and the numerical constants of the ground motions.
        """
        further = {"parameters": 0, "f": FEATURE, "ground": len(self.ground), "cell": PATCH}
        return Layout(self.motion.program.inputs | further)

    @cached_property
    def row(self) -> Layout:
        """The layout of the outputs of a contact program."""
        return contact_layout(self.system.model)

    @property
    def givens(self) -> int:
        """The number of further inputs of closed forms, after those of `motion`: for each contact the
        coordinates of its ground feature and a friction coefficient. It is that of the contact mode with the
        most contacts, so that all closed forms can use one array.
        """
        return MAX_CLOSED_FORM_WHEELS * (FEATURE + 1)

    def closed_form(self, signature: Signature) -> Compiled | None:
        """Return the closed form of a contact mode on fixed ground features; None if the mode is solved as
        a dense linear system: for many wheels, two contacts of one wheel, stops, flats, couplings and
        redundant constraint rows.
        """
        name = mode_name(self.system.model, signature)
        if name not in self._closed_forms:
            compiled = None
            # A redundant or singular contact mode is detected when its closed form is derived, at
            # the first access by name. It has no closed form.
            with suppress(RedundancyError, SingularityError):
                if name in self.programs:
                    compiled = self.programs.bind(name, self.system.values)
            self._closed_forms[name] = compiled
        return self._closed_forms[name]

    @cached_property
    def _closed_forms(self) -> dict[str, Compiled | None]:
        """The closed forms requested so far, by name."""
        return {}

    @cached_property
    def shared(self) -> dict[Any, Any]:
        """A cache for objects that all runs of this compiled vehicle share, each under a key of its own."""
        return {}

    @property
    def joints(self) -> int:
        """The number of joints."""
        return len(self.system.model.joints)

    @property
    def speeds(self) -> int:
        """The number of speeds."""
        return len(self.system.model.speeds)

    @cached_property
    def wheels(self) -> tuple[Contact, ...]:
        """The wheels and blades, in the order of the model."""
        return tuple(self.system.model.contacts)

    @cached_property
    def held(self) -> list[int]:
        """The indices of the joints that are prescribed or guided. The constraint rows that are active in
        every contact mode are the rows of these joints, followed by the rows of couplings.
        """
        joints = self.system.model.joints
        return [k for k, joint in enumerate(joints) if joint.motion or k in self.guided]

    @cached_property
    def guided(self) -> list[int]:
        """The indices of the joints that the control law guides."""
        return np.flatnonzero(self.motion()["guided"]).tolist()

    def enter(self, state: State, z: Floats) -> Floats:
        """Return the state vector y of a state and of the states z, after checking that the state fits this
        vehicle.
        """
        if find_wrong_lengths(self.system, state):
            raise make_state_error(self.system, state)
        y = self.layout.pack(q=state.q, p=state.p, r=state.r, v=state.v, z=z)
        if not np.isfinite(y).all():
            raise make_state_error(self.system, state)
        return y

    def leave(self, y: Floats, t: float = 0.0) -> State:
        """Return the state of a state vector y; it does not depend on the time t (s)."""
        layout = self.layout
        y = y.copy()  # the arrays of a state are views of one array
        z = y[layout.z][: self.system.model.memory]
        return State(y[layout.q], y[layout.p], y[layout.r], y[layout.v], element_state=z)


def make_generic(
    system: System, law: Law | None = None, motions: tuple[ObstacleMotion, ...] = ()
) -> Generic:
    """Return the compiled vehicle of a system on a terrain; the control law and the ground motions are part
    of its programs. The most recently compiled vehicles are cached.
    """

    def make_compiled() -> Generic:
        """Return the newly compiled vehicle on a terrain."""
        traced = [trace_motion(motion) for motion in motions]
        ground = np.array([x for _, numbers in traced for x in numbers])
        forms = tuple(form for form, _ in traced)
        programs = system.artifacts.contact_programs(law, law_states(law), forms)
        return Generic(system, law, motions, ground, programs)

    # Most vehicles have neither control law nor moving ground. For them, skip the fingerprint,
    # which takes as long as a few native calls.
    key = "generic" if law is None and not motions else fingerprint(("generic", law, motions))
    return system.keep(key, make_compiled)


class ContactPrograms(Mapping[ContactPair, Compiled]):
    """Compiled programs of contacts by contact pair, bound to the parameters of a system at their first
    use.
    """

    def __init__(
        self, system: System, programs: Programs, motions: tuple[ObstacleMotion, ...]
    ) -> None:
        self._programs = programs
        self._values = system.values
        subjects = program_names(system.artifacts.drawing, len(motions))
        self.names: dict[ContactPair, str] = {
            (of, kind, None if motion is None else motions[motion]): name
            for name, (of, kind, motion) in subjects.items()
            if kind
        }
        self._bound: dict[ContactPair, Compiled] = {}

    def __getitem__(self, pair: ContactPair) -> Compiled:
        if pair not in self._bound:
            self._bound[pair] = self._programs.bind(self.names[pair], self._values)
        return self._bound[pair]

    def geometry(self, pair: ContactPair) -> Compiled:
        """Return the program that computes only the geometry of a contact (gap, point, normal, ...) and no
        constraint rows.
        """
        return self._programs.bind(self.names[pair] + GEOMETRY_SUFFIX, self._values)

    def __contains__(self, pair: object) -> bool:
        return pair in self.names

    def __iter__(self) -> Iterator[ContactPair]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)
