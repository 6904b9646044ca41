"""Scenarios of the kind `run`: time integration from an initial state to a final time."""

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from draisine.results.events import event_records
from draisine.scenario.plan import Plan
from draisine.scenario.schema import RunScenario
from draisine.simulation.contact.run import EnergyWarning
from draisine.simulation.options import Progress
from draisine.simulation.simulate import compute_run
from draisine.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from xarray import Dataset


def simulate_plan(
    plan: Plan, progress: Progress = None, mu: float | None = None, strict: bool = False
) -> Trajectory:
    """Simulate a scenario of the kind `run`.

    Parameters
    ----------
    plan
        Compiled vehicle, initial state, terrain, control law and options of the scenario.
    progress
        Function that is called with the completed fraction (0 to 1); True shows a progress bar.
    mu
        Friction coefficient that replaces that of the scenario.
    strict
        Raise `ValidityError` if the run is not physically valid.
    """
    assert isinstance(plan.scenario, RunScenario)
    contact = plan.contact if mu is None else replace(plan.contact, mu=mu)
    # Suppress the warning about energy that an impact model creates, because each event records
    # this energy.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EnergyWarning)
        return compute_run(
            plan.system,
            plan.copy_state(),
            plan.scenario.run.until,
            terrain=plan.terrain,
            law=plan.law,
            contact=contact,
            numerics=plan.numerics,
            strict=strict,
            progress=progress,
        )


def run_dataset(trajectory: Trajectory) -> "Dataset":
    """Return all recorded quantities of a trajectory as a dataset with its events as attributes."""
    # The first Ctrl-C has stopped the run, whose data are kept. Only a second one, during this
    # conversion, discards them.
    try:
        data = trajectory.to_xarray()
    except KeyboardInterrupt:
        data = trajectory.to_xarray()
    if trajectory.events:
        data.attrs["events"] = json.dumps(event_records(trajectory.events))
    return data
