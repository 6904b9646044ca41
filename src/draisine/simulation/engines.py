"""The choice between the two engines of a run, for `simulate`, `Stepper` and `simulate_many` alike.

Contacts are either ideal (bilateral), without limits of their forces, or unilateral, with guards, impacts and
friction. The contact mode of ideal contacts never changes. The bilateral engine therefore eliminates the
constraints when the equations are derived, and integrates minimal coordinates. The unilateral engine
integrates all speeds, because any contact can open. docs/architecture.md compares the costs of both.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.errors import ParameterError, SimulationError
from draisine.simulation import run_kinds
from draisine.simulation.bilateral.lanes import run_lanes
from draisine.simulation.bilateral.run import run_bilateral
from draisine.simulation.compare.by_formulation import run_by_formulation
from draisine.simulation.compare.compliant import Compliant, run_compliant
from draisine.simulation.compare.kinematic import SpeedLaw, run_kinematic
from draisine.simulation.contact.many import run_threads
from draisine.simulation.contact.run import run_on_terrain
from draisine.simulation.options import NUMERICS, Batch, GripSchedule, Numerics, Task
from draisine.simulation.regrip import run_grips
from draisine.simulation.run_kinds import RunKind, check_options
from draisine.simulation.stepper_runs import BilateralSteps, StepperRun, UnilateralSteps
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity.assess import check_finite
from draisine.terrain import Terrain

RunFunction = Callable[[Task], Trajectory]
"""Type of a function that simulates a task."""

ManyResult = tuple[dict[str, NDArray[Any]], dict[str, NDArray[np.bool_]]]
"""Result of `simulate_many`, and for each kind of fault a mask (machines,) of the machines that have it. The
keys of the masks describe the fault.
"""


@dataclass(frozen=True)
class RunEngine:
    """Functions and default options for runs with one type of contacts, bilateral or unilateral."""

    classify: Callable[
        [Task], tuple[RunKind, RunFunction]
    ]  # kind of run of a task, and its function
    start_steps: Callable[[Task], StepperRun]  # begins a run that a `Stepper` advances
    run_many: Callable[[Batch], ManyResult]
    stepper_kind: RunKind  # options that a `Stepper` uses
    many_kind: RunKind  # options that `simulate_many` uses
    stepper_integrator: str  # default integrator of a `Stepper`
    many_numerics: Numerics  # default numerical options of `simulate_many`


def _classify_bilateral(task: Task) -> tuple[RunKind, RunFunction]:
    """Return the kind of a run with ideal contacts, and the function that runs it."""
    if isinstance(task.law, SpeedLaw):
        return run_kinds.KINEMATIC_RUN, run_kinematic
    if isinstance(task.contact.mode, GripSchedule):
        return run_kinds.RUN_WITH_GRIPS, run_grips
    if task.numerics.formulation != "projected":
        return run_kinds.RUN_BY_FORMULATION, run_by_formulation
    return run_kinds.BILATERAL_RUN, run_bilateral


def _classify_unilateral(task: Task) -> tuple[RunKind, RunFunction]:
    """Return the kind of a run with unilateral contacts, and the function that runs it."""
    if isinstance(task.law, SpeedLaw):
        raise ParameterError("A SpeedLaw works on the level plane only; leave the terrain out.")
    if isinstance(task.contact.solver, Compliant):
        return run_kinds.COMPLIANT_RUN, run_compliant
    if task.contact.solver == "time_stepping":
        return run_kinds.TIME_STEPPING_RUN, run_on_terrain
    return run_kinds.UNILATERAL_RUN, run_on_terrain


BILATERAL = RunEngine(
    classify=_classify_bilateral,
    start_steps=BilateralSteps,
    run_many=run_lanes,
    stepper_kind=run_kinds.BILATERAL_STEPPER,
    many_kind=run_kinds.BILATERAL_MANY,
    stepper_integrator="rk4",
    many_numerics=Numerics(integrator="rk4", dt=0.005),
)
"""Ideal contacts on the level plane, in minimal coordinates."""

UNILATERAL = RunEngine(
    classify=_classify_unilateral,
    start_steps=UnilateralSteps,
    run_many=lambda batch: run_threads(batch, run_task),
    stepper_kind=run_kinds.UNILATERAL_STEPPER,
    many_kind=run_kinds.UNILATERAL_MANY,
    stepper_integrator="dop853",
    many_numerics=NUMERICS,
)
"""Unilateral contacts on a terrain, in all speeds."""


def choose_engine(terrain: Terrain | None) -> RunEngine:
    """Return the engine for a ground: unilateral on a terrain, bilateral without one.

    >>> from draisine.terrain import plane
    >>> choose_engine(None) is BILATERAL, choose_engine(plane()) is UNILATERAL
    (True, True)
    """
    return BILATERAL if terrain is None else UNILATERAL


def run_task(task: Task) -> Trajectory:
    """Simulate a task and return its trajectory.

    The trajectory stores the task. If an error stops the run, this also holds for the trajectory in
    `partial`.
    """
    try:
        kind, run = choose_engine(task.terrain).classify(task)
        check_options(kind, task)
        trajectory = replace(run(task), task=task, simulate=run_task)
        check_finite(trajectory)
    except SimulationError as error:
        if isinstance(error.partial, Trajectory):
            error.partial = replace(error.partial, task=task, simulate=run_task)
        raise
    return trajectory
