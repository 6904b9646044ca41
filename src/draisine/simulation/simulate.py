"""The function `simulate`: it checks the arguments and returns the trajectory that an engine computes."""

import logging
from collections.abc import Mapping
from typing import Any, Never

from draisine.errors import SimulationError, expect
from draisine.simulation.compare.kinematic import SpeedLaw
from draisine.simulation.engines import run_task
from draisine.simulation.options import (
    CONTACT,
    NUMERICS,
    ContactOptions,
    Numerics,
    Progress,
    Task,
    misplaced_option,
    report_progress,
)
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity.assess import require_valid, warn_invalid
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
        Not allowed. If you pass an option of `contact` or `numerics` here, the error names the right
        argument.

    Returns
    -------
    Trajectory
        Smooth trajectory arcs and the events between them.

    Raises
    ------
    SimulationError
        If the run cannot continue, or is interrupted from the keyboard. The attribute `partial` of the error
        is the motion until then.

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
    """Simulate a system like `simulate`, but without the warning about a physically invalid run."""
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
