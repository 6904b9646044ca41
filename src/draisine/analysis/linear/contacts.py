"""Equations of motion of a vehicle with its contacts, which analyses differentiate: bilateral contacts on the
level plane, or unilateral ones on a terrain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draisine.algebra.lie import rotation
from draisine.algebra.scalar import Floats
from draisine.analysis.grounded import (
    GroundedMachine,
    ground_symmetry,
    lift_above_ground,
    nearest_contacts,
)
from draisine.analysis.linear.cyclic import GROUND_COORDINATES, cyclic_coordinates
from draisine.analysis.variation import chart, machine_at, vary
from draisine.errors import ConfigurationError, ParameterError, expect
from draisine.mechanics.readings import law_states
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.run import TerrainRun
from draisine.simulation.options import CONTACT, NUMERICS, ContactOptions, Task, memory_start
from draisine.system.configuration import displace_states
from draisine.system.generic import make_generic
from draisine.system.state import State
from draisine.system.state import state as state_of_model
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

SET_GAP = 1e-9
"""Largest gap of a wheel after a vehicle is set on the ground, as a fraction of the vehicle's length; smaller
gaps are rounding errors."""

# Largest number of Newton steps that set a vehicle on the ground. Steps of limited rotation reach
# any slope within a few, and convergence needs a few more.
MAX_SETTING_STEPS = 50

MAX_SETTING_TURN = 0.3  # largest roll or pitch in one of these Newton steps, rad


@dataclass(frozen=True, eq=False)
class ContactSetup:
    """A vehicle with its contacts: ideal (bilateral) ones in a contact mode on the level plane, or unilateral
    ones on a terrain. It selects the equations of motion that analyses use.
    """

    system: System
    terrain: Terrain | None = None  # ground of unilateral contacts
    mode: Mapping[str, str] | None = None  # statuses of bilateral contacts by name
    contact: ContactOptions = CONTACT
    law: Law | None = None
    inputs: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if self.is_level:
            return
        expect("terrain", self.terrain, Terrain, "draisine.terrain.plane() makes one")
        if self.mode is not None:
            raise ParameterError(
                "On a terrain the state determines which contacts are closed. Leave `mode` or `terrain` out."
            )

    @property
    def is_level(self) -> bool:
        """Whether contacts are ideal, on the level plane."""
        return self.terrain is None

    def equations(self, state: State, closed: Sequence[Closed] = ()) -> tuple[Any, Floats]:
        """Return the equations of motion in minimal coordinates, and the state vector y of a state.

        On a terrain, `closed` are the closed contacts; by default those nearest to the wheels.
        """
        if self.is_level:
            return machine_at(self.system, state, self.mode, self.law)
        query, free = self._make_query(state)
        contacts = tuple(closed) or nearest_contacts(query, free, self.contact)
        machine = GroundedMachine(query, contacts, np.zeros((0, query.n)), self.contact)
        machine = replace(machine, B=machine.choose_speeds(free))
        y = machine.reduce(free)
        symmetry = ground_symmetry(machine, y)
        cyclic_joints = find_cyclic_joints(self.system, self.law)
        return replace(machine, cyclic_joints=cyclic_joints, symmetry=symmetry), y

    def closed_contacts(self, state: State) -> tuple[Closed, ...]:
        """Return the contacts on a terrain that are closed at the beginning of a simulation from a state.

        Raises
        ------
        ConfigurationError
            If the simulation would begin with an impact or with the time-stepping scheme.
        """
        if self.is_level:
            return ()
        task = Task(
            self.system, state, 1.0, self.terrain, self.law, self.inputs, self.contact, NUMERICS,
            None,
        )  # fmt: skip
        run = TerrainRun(task)
        run.begin()
        if run.steps is not None or run.events:
            raise ConfigurationError(
                "The state is not consistent with its contacts: a run from it begins with an impact, or "
                "its wheels over-constrain it. Simulate until it rolls (run.final()), or use "
                "analysis.equilibrium.steady(..., terrain=)."
            )
        return tuple(run.now.closed)

    def _make_query(self, state: State) -> tuple[ContactQuery, Floats]:
        """Return the contact query on the terrain, and the state (q, p, r, v, z) of the free machine."""
        assert self.terrain is not None
        z = memory_start(self.system, state, self.law, law_states(self.law))
        machine = make_generic(self.system, self.law, self.terrain.motions)
        inputs = self.system.inputs(self.inputs)
        query = ContactQuery(machine, self.terrain, inputs, self.contact.stops)
        return query, machine.enter(state, z)


def set_on_ground(setup: ContactSetup, state: State) -> State:
    """Set a vehicle on the terrain below it and return the new state.

    Newton's method closes the gaps of the wheels by minimum-norm changes of height, roll and pitch. The
    horizontal position and the joint coordinates do not change; speeds are projected onto the constraints.

    Raises
    ------
    ConfigurationError
        If the gaps do not close.
    """
    query, free = setup._make_query(state)
    machine = GroundedMachine(query, (), np.zeros((0, query.n)), setup.contact)
    layout = query.machine.layout
    joints = len(setup.system.model.joints)
    tolerance = SET_GAP * query.units.length
    free = lift_above_ground(query, free)
    for _ in range(MAX_SETTING_STEPS):
        closed = nearest_contacts(query, free, setup.contact)
        rows = query.evaluate_rows(0.0, free, [contact for contact, *_ in closed])
        gaps = rows[:, query.row.gap.start]
        if np.abs(gaps).max(initial=0.0) < tolerance:
            return query.machine.leave(query.project(0.0, free, closed))
        R = rotation(free[layout.q])
        motions = np.zeros((6 + joints, 3))
        motions[:3, 0] = R[2]
        motions[3:6, 1] = R[0]
        motions[3:6, 2] = R[1]
        normal = query.jacobian(rows)[:, 0] @ motions[machine.columns]
        stretched = gaps / rows[:, query.row.stretch.start]
        step = -np.linalg.lstsq(normal, stretched, rcond=1e-9)[0]
        step *= min(1.0, MAX_SETTING_TURN / max(float(np.abs(step[1:]).max()), 1e-300))
        moved = displace_states(
            machine, machine.reduce(free)[None], (motions[machine.columns] @ step)[None]
        )
        free[query.pose] = moved[0][machine.layout.span("q", "r")]
    raise ConfigurationError(
        "The machine cannot be set on the terrain at its position: its wheels do not reach the ground "
        "together. Start from a state on the terrain: start=, draisine.place."
    )


def find_cyclic_joints(system: System, law: Law | None) -> tuple[str, ...]:
    """Return the names of the cyclic joints, and "pitch" if the base itself is a rolling wheel.

    The equations of motion do not depend on the angle of a cyclic joint, such as that of a round wheel. The
    joints are determined on the level plane, because a round wheel is round on any ground.
    """
    level, y = machine_at(system, state_of_model(system), None, law)
    w = np.zeros(len(system.model.inputs))
    frame = chart(vary(level, y[None], w[None], anchors=level.anchors_at(y)))
    names = cyclic_coordinates(level, frame, y, w)
    return tuple(name for name in names if name not in GROUND_COORDINATES)
