"""The one verb: from a state through a motion, by the driver that the task asks for."""

import logging
from collections.abc import Callable, Mapping
from typing import Never

from draisine.errors import ParameterError, SimulationError, expect
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
from draisine.simulation.smooth import run_smooth
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity import demand
from draisine.system.artifacts import check_system
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
    """Return the motion of a system from a state until a time (s).

    Without `terrain` the ground is the level plane and contacts hold whatever the force
    (`contact.mode` says which); on a terrain wheels touch, roll, slide, leave and hit, and the events
    are told. `law` is a control law, traced into the compiled code where it can be, or a `SpeedLaw`,
    which leads the configuration without dynamics; `inputs` are constant inputs by name. `contact`
    and `numerics` hold everything else. `progress` is told from time to time which fraction of the
    run is done; True shows a bar. Its `validity` tells whether the run can be believed: with `strict`,
    one in which the ground would have to pull, friction passes `contact.mu`, the machine falls or a
    value is no number raises `ValidityError`.

    A run that cannot go on, or that is interrupted from the keyboard, raises `SimulationError`, with
    the motion until then in its `partial`.

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
    check_system("simulate", system)
    expect("simulate", state, State, "draisine.state(system, ...) makes one")
    text = f"simulating {system.vehicle.__name__}"
    try:
        with report_progress(progress, text) as tell:
            task = Task(system, state, until, terrain, law, inputs, contact, numerics, tell)
            run = _driver(task)(task)
    except SimulationError as error:
        if strict and error.partial is not None:
            demand(error.partial)
        raise
    if strict:
        demand(run)
    for event in run.events:
        _log.debug("%s", event)
    _log.debug("%s: %s at %g s", text, run.outcome, run.arcs[-1].t[-1])
    return run


def _driver(task: Task) -> Callable[[Task], Trajectory]:
    """Return what carries out a task; what it could not heed is refused."""
    contact, numerics = task.contact, task.numerics
    _refuse("a run by itself", numerics, "precision")
    if task.terrain is not None:
        _refuse("a run on a terrain", contact, "mode")
        _refuse("a run on a terrain", numerics, "formulation")
        if isinstance(contact.solver, Compliant):
            return run_compliant
        _refuse("a run on a terrain", numerics, "integrator", "drift")
        return run_on_terrain
    _refuse("a run without a terrain", contact, "solver", "stops")
    if isinstance(task.law, SpeedLaw):
        _refuse("a run without dynamics", numerics, "formulation", "drift", "breakpoints")
        return run_kinematic
    if isinstance(contact.mode, GripSchedule):
        _refuse("a change of grips", numerics, "formulation", "start")
        return run_grips
    if numerics.formulation != "projected":
        what = f"a run by {numerics.formulation!r}"
        _refuse(what, contact, "mode")
        _refuse(what, numerics, "drift", "breakpoints", "start")
        _refuse(what, task, "law")
        return run_by_formulation
    return run_smooth


def _refuse(what: str, options: ContactOptions | Numerics | Task, *names: str) -> None:
    """Raise where one of the named options is not as it is by default."""
    plain = CONTACT if isinstance(options, ContactOptions) else NUMERICS
    for name in names:
        value = getattr(options, name)
        if value != getattr(plain, name, None):
            raise ParameterError(f"{what} knows no {name} (it is {value!r}); leave it out.")
