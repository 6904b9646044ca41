"""The function `simulate`: it checks the arguments, selects the kind of run and returns the trajectory."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Never

from draisine.errors import ParameterError, SimulationError, expect
from draisine.simulation import run_kinds
from draisine.simulation.bilateral import run_bilateral
from draisine.simulation.compare.by_formulation import run_by_formulation
from draisine.simulation.compare.compliant import Compliant, run_compliant
from draisine.simulation.compare.kinematic import SpeedLaw, run_kinematic
from draisine.simulation.contact.run import run_on_terrain
from draisine.simulation.options import (
    CONTACT,
    NUMERICS,
    ContactOptions,
    GripSchedule,
    Numerics,
    Progress,
    Task,
    misplaced_option,
    report_progress,
)
from draisine.simulation.regrip import run_grips
from draisine.simulation.run_kinds import RunKind, check_options
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity.assess import check_finite, require_valid, warn_invalid
from draisine.system.artifacts import require_system
from draisine.system.state import State
from draisine.system.system import System
from draisine.system.tracing import Law
from draisine.terrain import Terrain

_log = logging.getLogger(__name__)


def simulate(
    system: System,
    state: State,
    until: float,
    *,
    terrain: Terrain | None = None,
    law: Law | SpeedLaw | None = None,
    inputs: Mapping[str, float] | None = None,
    contact: ContactOptions = CONTACT,
    numerics: Numerics = NUMERICS,
    strict: bool = False,
    progress: Progress = None,
    **unknown: Never,
) -> Trajectory:
    """Simulate a system from an initial state until a time.

    A run ends if the vehicle falls; its `outcome` then states the fall. Its `validity` states whether the run
    is physically valid.

    Parameters
    ----------
    system
        Compiled system.
    state
        Initial state.
    until
        Time of the end, s.
    terrain
        The ground, with unilateral contacts: wheels touch down, roll, slide, lift off and collide, and the
        events are part of the result. Without a terrain the ground is the level plane and contacts are ideal
        (bilateral).
    law
        Control law, compiled if possible, or a `SpeedLaw`, which prescribes speeds without dynamics.
    inputs
        Constant inputs by name (N m or N).
    contact
        Friction, impacts, falls and the solver of contacts.
    numerics
        Integrator, tolerances and spacing of samples.
    strict
        Whether an invalid run raises `ValidityError` instead of a warning.
    progress
        True shows a progress bar; a function receives the finished fraction (0 to 1) of the run.
    **unknown
        Not allowed: an option of `contact` or `numerics` that is passed here raises an error, which names the
        argument that it belongs to.

    Returns
    -------
    Trajectory
        Smooth trajectory arcs and the events between them.

    Raises
    ------
    SimulationError
        If the run cannot continue, or is interrupted from the keyboard; the motion until then is in
        `partial`.

    Warns
    -----
    ValidityWarning
        If the run is not physically valid: the ground would have to pull, friction exceeds `contact.mu`, the
        vehicle falls, or the energy or the constraints drift.

    Examples
    --------
    >>> import draisine
    >>> from draisine.terrain import plane
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> simulate(bicycle, start, until=1.0, numerics=Numerics(integrator="rk4", dt=0.005)).outcome
    'completed'
    >>> held = draisine.state(bicycle, mode={"rear": "open", "front": "open"}, z=0.1)
    >>> run = simulate(bicycle, held, 0.2, terrain=plane(), contact=ContactOptions(mu=0.8))
    >>> [event.kind for event in run.events]
    ['collision']
    """
    if unknown:
        raise misplaced_option("simulate", unknown)
    run = compute_run(
        system,
        state,
        until,
        terrain=terrain,
        law=law,
        inputs=inputs,
        contact=contact,
        numerics=numerics,
        strict=strict,
        progress=progress,
    )
    warn_invalid(run)
    return run


def compute_run(
    system: System,
    state: State,
    until: float,
    *,
    terrain: Terrain | None = None,
    law: Any = None,
    inputs: Mapping[str, float] | None = None,
    contact: ContactOptions = CONTACT,
    numerics: Numerics = NUMERICS,
    strict: bool = False,
    progress: Progress = None,
) -> Trajectory:
    """Return the trajectory like `simulate`, without a warning if it is not physically valid."""
    require_system("simulate", system)
    expect("simulate", state, State, "draisine.state(system, ...) makes one")
    text = f"simulating {system.vehicle.__name__}"
    try:
        with report_progress(progress, text) as report:
            task = Task(system, state, until, terrain, law, inputs, contact, numerics, report)
            run = run_task(task)
    except SimulationError as error:
        if strict and error.partial is not None:
            require_valid(error.partial)
        raise
    if strict:
        require_valid(run)
    for event in run.events:
        _log.debug("%s", event)
    _log.debug("%s: %s at %g s", text, run.outcome, run.arcs[-1].t[-1])
    return run


def run_task(task: Task) -> Trajectory:
    """Simulate a task and return its trajectory. The task is stored with the trajectory, also if an error
    stops the run.
    """
    try:
        run = replace(_find_runner(task)(task), task=task, simulate=run_task)
        check_finite(run)
    except SimulationError as error:
        if isinstance(error.partial, Trajectory):
            error.partial = replace(error.partial, task=task, simulate=run_task)
        raise
    return run


def _find_runner(task: Task) -> Callable[[Task], Trajectory]:
    """Return the function that runs a task, after a check of its options."""
    kind, driver = _classify_task(task)
    check_options(kind, task)
    return driver


def _classify_task(task: Task) -> tuple[RunKind, Callable[[Task], Trajectory]]:
    """Return the kind of run of a task, and the function that runs it."""
    if task.terrain is not None:
        if isinstance(task.law, SpeedLaw):
            raise ParameterError("A SpeedLaw works on the level plane only; leave the terrain out.")
        if isinstance(task.contact.solver, Compliant):
            return run_kinds.COMPLIANT_RUN, run_compliant
        if task.contact.solver == "time_stepping":
            return run_kinds.TIME_STEPPING_RUN, run_on_terrain
        return run_kinds.RUN_ON_TERRAIN, run_on_terrain
    if isinstance(task.law, SpeedLaw):
        return run_kinds.KINEMATIC_RUN, run_kinematic
    if isinstance(task.contact.mode, GripSchedule):
        return run_kinds.RUN_WITH_GRIPS, run_grips
    if task.numerics.formulation != "projected":
        return run_kinds.RUN_BY_FORMULATION, run_by_formulation
    return run_kinds.RUN_ON_PLANE, run_bilateral
