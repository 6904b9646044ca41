"""Objects that a valid scenario describes: vehicle, initial state, control law, terrain, numerics."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from draisine.analysis.equilibrium import Steady
from draisine.analysis.gradient import StartRule
from draisine.errors import ParameterError
from draisine.scenario.schema import Scenario
from draisine.scenario.terrain import WheelPlace, place_state, start_on
from draisine.simulation.options import ContactOptions, Numerics
from draisine.system.state import State
from draisine.system.system import System
from draisine.terrain import Terrain


@dataclass(frozen=True)
class SteadyRequest:
    """Specification of the steady motion in which a run starts."""

    prescribed: Mapping[str, float]  # prescribed quantities by name, SI units and radians
    # Names of the inputs that the steady motion determines; None for a default choice that can
    # maintain the motion
    free: tuple[str, ...] | None = None
    inputs: Mapping[str, float] = field(default_factory=dict)  # given inputs by name, N m or N


@dataclass(frozen=True)
class Start:
    """Specification of an initial state: initial values, or a steady motion."""

    # Initial values by name, in SI units and radians
    values: Mapping[str, float] = field(default_factory=dict)
    mode: Mapping[str, str] | None = None  # status of each contact (open, rolling, sliding) by name
    at_rest: bool | None = None  # whether unspecified speeds minimise the kinetic energy
    place: WheelPlace | None = None  # initial position of a wheel on a terrain
    steady: SteadyRequest | None = None  # steady motion in which the run starts


@dataclass(frozen=True)
class Plan:
    """The objects that a valid scenario describes, ready for simulation or analysis."""

    scenario: Scenario  # validated tables
    system: System  # compiled vehicle
    start: Start = field(default_factory=Start)
    law: Any = None  # combined control law, including input signals; None without
    terrain: Terrain | None = None  # None: contacts with level ground are bilateral
    contact: ContactOptions = field(default_factory=ContactOptions)
    numerics: Numerics = field(default_factory=Numerics)
    motion: Steady | None = None  # steady motion in which the run starts; `law` contains its inputs

    def copy_state(self) -> State:
        """Return a copy of the initial state; on a terrain the vehicle is at its specified place."""
        return deepcopy(self._initial_state)  # callers may modify the arrays of the state

    def start_rule(self) -> StartRule:
        """Return the initial state as a function of initial values and parameters, for `gradient`.

        Its result is placed on the terrain, as the run places it.

        Raises
        ------
        ParameterError
            The run starts in a steady motion.

        Examples
        --------
        >>> from draisine.scenario.library import load
        >>> load("mauny2018/ramp-jump").plan.start_rule().values
        {'forward_speed': 9.84807753012208}
        """
        start = self.start
        if start.steady is not None:
            raise ParameterError(
                "This scenario starts in a steady motion, for which no gradient is available. Specify "
                "initial values instead."
            )
        options = {"mode": start.mode, "at_rest": start.at_rest}

        def solve_initial_state(system: System, values: Mapping[str, float]) -> State:
            """Return the initial state of a system at the place of the scenario."""
            return start_on(system, values, self.terrain, start.place, **options)

        return StartRule(dict(start.values), solve_initial_state)

    @cached_property
    def _initial_state(self) -> State:
        """The initial state, cached because its solution may take longer than a short run."""
        start = self.start
        options = {"mode": start.mode, "at_rest": start.at_rest}
        if self.motion is not None:
            state = self.motion.state
            if self.terrain is None or start.place is None:
                return state
            return place_state(self.system.tree, self.terrain, state, start.place)
        return start_on(self.system, start.values, self.terrain, start.place, **options)
