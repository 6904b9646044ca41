"""Scenarios carried out: each kind leaves a dataset."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import draisine
from draisine.control.time_inputs import SIGNALS, TimeInputs
from draisine.control.together import Together
from draisine.errors import SimulationError
from draisine.experiment.bodies import Bodies
from draisine.experiment.library import Loaded
from draisine.experiment.maps import mapped
from draisine.experiment.mistakes import is_numeric, make_law, state_units
from draisine.experiment.numbers import number
from draisine.experiment.scenario import MapScenario, RunScenario, StateScenario
from draisine.initial import state
from draisine.registry import find
from draisine.simulation.loop import simulate
from draisine.simulation.trajectory import Arc, Trajectory
from draisine.system import State, System, compile
from draisine.vehicles.sets import parameter_set

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True)
class Result:
    """What a scenario left: its data, how it ended, and the seconds that the computation took."""

    loaded: Loaded
    data: "Dataset"
    outcome: str
    seconds: float
    system: System

    @property
    def bodies(self) -> Bodies:
        """The bodies of the machine, for questions."""
        return Bodies(self.data, self.system.model)


def run(loaded: Loaded) -> Result:
    """Return what a scenario leaves.

    A run that had to stop raises `SimulationError`, whose `partial` is the result until then.
    """
    scenario = loaded.scenario
    system = build(loaded)
    match scenario:
        case RunScenario():
            return _run(loaded, scenario, system)
        case StateScenario():
            start = _start(system, scenario.initial)
            begun = time.perf_counter()
            data = _at(system, start, scenario.inputs).to_xarray()
            return _result(loaded, data, "completed", time.perf_counter() - begun, system)
        case MapScenario():
            begun = time.perf_counter()
            data = mapped(system, scenario.map)
            return _result(loaded, data, "completed", time.perf_counter() - begun, system)


def build(loaded: Loaded) -> System:
    """Return the machine of a scenario."""
    vehicle = loaded.scenario.vehicle
    name = vehicle.name
    arguments: dict[str, Any] = dict(parameter_set(name, vehicle.set)) if vehicle.set else {}
    function = getattr(find("vehicle", name), name.rpartition(":")[2])
    for key, value in vehicle.parameters.items():
        arguments[key] = number(value) if is_numeric(function, key) else value
    return compile(name, **arguments)


def law_of(scenario: RunScenario) -> Any:
    """Return the control laws and inputs of a scenario as one law; None where there are none."""
    laws = [make_law(entry) for entry in scenario.control]
    signals = []
    for signal in scenario.inputs:
        given = {k: v for k, v in signal.model_dump(exclude={"shape"}).items() if v is not None}
        fixed = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
        signals.append(SIGNALS[signal.shape](**fixed))
    if signals:
        laws.append(TimeInputs(tuple(signals)))
    if not laws:
        return None
    return laws[0] if len(laws) == 1 else Together(tuple(laws))


def _start(system: System, initial: Mapping[str, Any]) -> State:
    units = state_units(system.model)
    asked = {k: number(v, units[k]) for k, v in initial.items() if k != "contacts"}
    contacts = initial.get("contacts")
    return state(system, mode=contacts, **asked)


def _run(loaded: Loaded, scenario: RunScenario, system: System) -> Result:
    start, law, how = _start(system, scenario.initial), law_of(scenario), scenario.run
    begun = time.perf_counter()
    try:
        trajectory = simulate(
            system,
            start,
            how.until,
            dt=how.dt,
            integrator=how.integrator,
            mode=how.contacts or None,
            law=law,
            drift=how.drift,
            rtol=how.rtol,
            atol=how.atol,
        )
    except SimulationError as error:
        if error.partial is None:
            raise
        seconds = time.perf_counter() - begun
        data = error.partial.to_xarray()
        partial = _result(loaded, data, error.partial.outcome, seconds, system)
        raise SimulationError(str(error).partition(" The part before")[0], partial) from error
    seconds = time.perf_counter() - begun
    return _result(loaded, trajectory.to_xarray(), trajectory.outcome, seconds, system)


def _at(system: System, start: State, inputs: Mapping[str, float]) -> Trajectory:
    """Return one state as a trajectory of one sample."""
    machine = system.machine()
    y = machine.enter(start)
    given = system.inputs(inputs)
    tail = np.zeros(machine.observe.native.size_in - 1 - len(y))
    tail[: len(given)] = given
    arc = Arc(machine, np.zeros(1), y[None, :], tail[:, None])
    return Trajectory((arc,), "completed")


def _result(
    loaded: Loaded, data: "Dataset", outcome: str, seconds: float, system: System
) -> Result:
    name = loaded.scenario.vehicle.name
    data.attrs |= {
        "title": loaded.scenario.title,
        "scenario": loaded.text,
        "draisine": draisine.__version__,
        "structure": json.dumps(system.structure),
    }
    if ".py:" in name:
        path, _, function = name.rpartition(":")
        data.attrs["vehicle_path"] = f"{Path(path).resolve()}:{function}"
    return Result(loaded, data, outcome, seconds, system)
