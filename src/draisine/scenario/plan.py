"""What a scenario means: the machine, its start, its law, the ground, and how it is computed."""

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
    free: tuple[str, ...] | None = None  # inputs to be found; None: those that keep a motion up
    inputs: Mapping[str, float] = field(default_factory=dict)  # N m or N, by name


@dataclass(frozen=True)
class Start:
    """How a machine starts: numbers by name, statuses of contacts while it is placed, whether from
    rest, and where; or the steady motion that it starts in.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    mode: Mapping[str, str] | None = None
    at_rest: bool | None = None
    place: WheelPlace | None = None
    steady: SteadyRequest | None = None


@dataclass(frozen=True)
class Plan:
    """A scenario that was found right, with everything built that it names."""

    scenario: Scenario
    system: System
    start: Start = field(default_factory=Start)
    law: Any = None
    terrain: Terrain | None = None
    contact: ContactOptions = field(default_factory=ContactOptions)
    numerics: Numerics = field(default_factory=Numerics)
    motion: Steady | None = None  # the steady motion of the start; `law` has its inputs

    def state(self) -> State:
        """Return the initial state; on a terrain where it is placed."""
        return deepcopy(self._state)  # its arrays are the caller's

    @cached_property
    def _state(self) -> State:
        """The initial state, which takes longer to find than a short run."""
        start, options = self.start, {"mode": self.start.mode, "at_rest": self.start.at_rest}
        if self.motion is not None:
            state = self.motion.state
            if self.terrain is None or start.place is None:
                return state
            return place_state(self.system.tree, self.terrain, state, start.place)
        return start_on(self.system, start.values, self.terrain, start.place, **options)
