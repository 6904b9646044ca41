"""Runs: a machine that moves from an initial state until a time."""

import json
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from draisine.errors import SimulationError
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
    """Return the motion that a scenario of the kind `run` plans. If `strict`, raise `ValidityError` if it
    is not physically valid.
    """
    assert isinstance(plan.scenario, RunScenario)
    contact = plan.contact if mu is None else replace(plan.contact, mu=mu)
    with warnings.catch_warnings():  # events tell of energy that an impact creates
        warnings.simplefilter("ignore", EnergyWarning)
        return compute_run(
            plan.system,
            plan.state(),
            plan.scenario.run.until,
            terrain=plan.terrain,
            law=plan.law,
            contact=contact,
            numerics=plan.numerics,
            strict=strict,
            progress=progress,
        )


def was_interrupted(error: SimulationError) -> bool:
    """Return whether a run had to stop because somebody asked for it."""
    return getattr(error.partial, "outcome", None) == "interrupted"


def run_dataset(found: Trajectory) -> "Dataset":
    """Return all that can be seen of a motion; only a second Ctrl-C gives up what is computed."""
    try:
        data = found.to_xarray()
    except KeyboardInterrupt:
        data = found.to_xarray()
    if found.events:
        data.attrs["events"] = json.dumps(event_records(found.events))
    return data
