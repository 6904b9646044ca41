"""The objects of a valid scenario: machine, start, control law, terrain, numerics."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from draisine.analysis.equilibrium import Steady
from draisine.scenario.schema import Scenario
from draisine.scenario.terrain import WheelPlace, place_state, start_on
from draisine.simulation.options import ContactOptions, Numerics
from draisine.system.state import State
from draisine.system.system import System
from draisine.terrain import Terrain


@dataclass(frozen=True)
class SteadyRequest:
    """The steady motion in which a run starts."""

    asked: Mapping[str, float]  # prescribed quantities by name, SI units and radians
    free: tuple[str, ...] | None = None  # unknown inputs; None: those that can maintain a motion
    inputs: Mapping[str, float] = field(default_factory=dict)  # N m or N, by name


@dataclass(frozen=True)
class Start:
    """The start of a machine: initial values, or a steady motion."""

    values: Mapping[str, float] = field(default_factory=dict)  # by name, SI units and radians
    mode: Mapping[str, str] | None = None  # statuses of contacts at the start
    at_rest: bool | None = None  # whether unspecified speeds minimise the kinetic energy
    place: WheelPlace | None = None  # on a terrain
    steady: SteadyRequest | None = None


@dataclass(frozen=True)
class Plan:
    """A valid scenario with the objects that it describes."""

    scenario: Scenario
    system: System
    start: Start = field(default_factory=Start)
    law: Any = None
    terrain: Terrain | None = None
    contact: ContactOptions = field(default_factory=ContactOptions)
    numerics: Numerics = field(default_factory=Numerics)
    motion: Steady | None = None  # the steady motion of the start; `law` has its inputs

    def state(self) -> State:
        """Return the initial state, on a terrain at its place."""
        return deepcopy(self._state)  # the caller may change its arrays

    @cached_property
    def _state(self) -> State:
        """The initial state, cached because solving for it may take longer than a short run."""
        start = self.start
        options = {"mode": start.mode, "at_rest": start.at_rest}
        if self.motion is not None:
            state = self.motion.state
            if self.terrain is None or start.place is None:
                return state
            return place_state(self.system.tree, self.terrain, state, start.place)
        return start_on(self.system, start.values, self.terrain, start.place, **options)
