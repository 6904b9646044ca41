"""Allocation of the records of a standalone run, which needs no Python, from the arguments of `simulate`."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, SimulationError
from draisine.mechanics.contact.modes import MAX_CLOSED_FORM_WHEELS
from draisine.simulation.contact.driver import EVENTS_PER_CALL, ArcDriver, jump_times
from draisine.simulation.contact.event_driven.arc_integration import SAMPLE_CAPACITY
from draisine.simulation.contact.event_driven.impact import ImpactSolver
from draisine.simulation.contact.kernels import (
    ANY_MODE,
    MAX_CLOSED_FORMS,
    SIGNATURE_SIZE,
)
from draisine.simulation.contact.nearby.ground import load_whole_ground
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.run import place_on_terrain, run_on_terrain
from draisine.simulation.contact.standalone.run import Schedule, StandaloneRun
from draisine.simulation.contact.start import lift_start
from draisine.simulation.contact.stepping.arc import TimeStepper, make_switch
from draisine.simulation.contact.stepping.grid import (
    ADAPT_STEPS,
    SHORTEST_REMAINDER_RATIO,
    longest_step,
)
from draisine.simulation.contact.stepping.loop import StepLoop
from draisine.simulation.options import Task
from draisine.simulation.trajectory import Trajectory
from draisine.system.compiled import Compiled

EXPORTED_RATIO = 2  # entries in the table of contacts per contact near the start of a run

MIN_EXPORTED_CONTACTS = (
    256  # smallest number of entries on a large ground, which may be finer elsewhere
)

TOUCHING_PER_WHEEL = 3  # largest number of contacts per wheel that touch at one instant

MIN_TOUCHING_CONTACTS = 12  # smallest capacity in touching contacts, for systems of few wheels


@dataclass(frozen=True, eq=False)
class Standalone:
    """A run that needs no Python: its records, and its initial state, inputs and closed-form programs."""

    query: ContactQuery
    run: StandaloneRun
    start: Floats  # state y at the start
    inputs: Floats  # inputs of the system at the start
    closed_forms: dict[str, Compiled]  # for contact modes of the run, by name


class ModeChoice(Enum):
    """Contact modes whose closed-form solutions a standalone run contains."""

    RUN = auto()  # all that occur in the run of the task
    START = auto()  # that of the start
    WHEELS = auto()  # that of the start, and those in which one of its contacts is closed


def make_standalone(task: Task, choice: ModeChoice = ModeChoice.RUN) -> Standalone:
    """Return the records of a standalone run of a task, with the closed-form solutions of some contact modes.

    Raises
    ------
    ParameterError
        If a part of the run needs Python: an impact model or a control law without a compiled form, or large
        ground that moves.
    """
    _check_exportable(task)
    query, y = place_on_terrain(task)
    t = task.numerics.start
    # Use a new query and new tables: the result must not depend on earlier runs of the system.
    query = ContactQuery(replace(query.machine), query.terrain, query.inputs, query.stops)
    if query.terrain.motions and not query.watches_all:
        raise ParameterError(
            "An exported simulator does not search moving ground. Use a moving ground of at most 64 features."
        )
    lift_start(query, t, y)
    closed_forms = _add_closed_forms(query, _choose_modes(task, choice))
    driver = _make_driver(query, task, y)
    loop = driver.packed_loop
    # The records become data of the export: clear scratch arrays, which contain arbitrary values.
    driver.arc.stages.k[:] = 0.0
    driver.arc.clock.assign(horizon=math.inf, longest_step=0.5 * SAMPLE_CAPACITY * task.numerics.dt)
    stepping = _make_steps(query, task, y, driver)
    driver.near.clear()
    # `begin_run` determines the boxes; without values they are part of the zeros.
    w = query.machine.inputs.w
    run = StandaloneRun(
        loop=loop,  # type: ignore[arg-type]
        schedule=Schedule(max_events=int(task.contact.events)),
        method=stepping.method,
        stepping=stepping,
        described=np.zeros((EVENTS_PER_CALL + 1, 4), np.int64),
        x_inputs=w.start,
        inputs=w.stop - w.start,
    )
    return Standalone(query, run, y, query.inputs.copy(), closed_forms)


def _modes_of_run(task: Task) -> list[tuple[Closed, ...]]:
    """Return the contact modes that occur in the run of a task."""
    trajectory: Trajectory | None = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trajectory = run_on_terrain(task)
        except SimulationError as error:
            trajectory = error.partial
    arcs = () if trajectory is None else trajectory.arcs
    return [tuple(getattr(arc, "closed", ())) for arc in arcs]


def _choose_modes(task: Task, choice: ModeChoice) -> list[tuple[Closed, ...]]:
    """Return the contact modes whose closed-form solutions are added."""
    if choice is ModeChoice.RUN:
        return _modes_of_run(task)
    first = _modes_of_run(replace(task, until=task.numerics.start + task.numerics.dt))[0]
    return [first, *((closed,) for closed in first if choice is ModeChoice.WHEELS)]


def _add_closed_forms(
    query: ContactQuery, run_modes: Iterable[tuple[Closed, ...]]
) -> dict[str, Compiled]:
    """Add the closed-form solutions of contact modes, and return them by name. They make a run faster; all
    other contact modes are solved as dense linear systems.
    """
    forms = query.table.pairs.forms
    modes: dict[Any, None] = {}
    for closed in run_modes:
        kinds = tuple((c.wheel, *query.table.kind(c), status) for c, status, _ in closed)
        if kinds not in modes and len(closed) <= MAX_CLOSED_FORM_WHEELS:
            modes[kinds] = None
            if len(modes) < MAX_CLOSED_FORMS:
                query.add_closed_form(closed)
    count = int(forms.signatures[0])
    forms.signatures[0] = count + 1
    forms.signatures[1 + count * SIGNATURE_SIZE] = ANY_MODE
    return {f"form_{k}": form for k, form in enumerate(forms.compiled.values())}


def _check_exportable(task: Task) -> None:
    """Raise ParameterError if a part of the run needs Python, so that it cannot be exported."""
    contact = task.contact
    if not isinstance(contact.solver, str):
        raise ParameterError(
            f"solver = {contact.solver!r:.40} cannot be exported. Use 'auto', 'events' or 'time_stepping'."
        )
    if getattr(contact.model, "solver", ImpactSolver.PYTHON) == ImpactSolver.PYTHON:
        raise ParameterError(
            f"The impact model {contact.impact_name!r} is written in Python and cannot be exported. Use "
            "'plastic', 'newton' or 'moreau'."
        )


def _make_driver(query: ContactQuery, task: Task, y: Floats) -> ArcDriver:
    """Return the records of event location, with the whole ground and room for the contacts that may be near
    the wheels anywhere.
    """
    t = task.numerics.start
    region = load_whole_ground(query)
    capacity = region.contacts
    if not query.watches_all:
        near_start = len(query.find_surroundings(t, y, task.contact.margin))
        capacity = min(capacity, max(EXPORTED_RATIO * near_start, MIN_EXPORTED_CONTACTS))
    driver = ArcDriver(query, task.contact, task.numerics, capacity)
    touching = max(MIN_TOUCHING_CONTACTS, TOUCHING_PER_WHEEL * len(query.machine.wheels))
    driver.jumps.assign(**jump_times(task))
    driver.reserve(t, y, touching)
    return driver


def _make_steps(query: ContactQuery, task: Task, y: Floats, driver: ArcDriver) -> StepLoop:
    """Return the records of time stepping, with room for the samples of one call."""
    numerics = task.numerics
    method = make_switch(query, task.contact, driver.touching)
    # A call takes at most ADAPT_STEPS steps of at most the length `longest_step`; the start is a sample, too.
    span = (1.0 + SHORTEST_REMAINDER_RATIO) * longest_step(method.grid)
    count = int(ADAPT_STEPS * (span / numerics.dt + 1.0)) + 3
    if count > SAMPLE_CAPACITY // 2:
        raise ParameterError(
            f"dt = {numerics.dt} s makes too many samples per time step for an exported simulator. Choose a "
            "larger one."
        )
    sampling = (numerics.start, numerics.dt)
    stepper = TimeStepper(
        query,
        task.contact,
        numerics.start,
        y,
        numerics.dt,
        switch=method,
        near=driver.near,
        sampling=sampling,
    )
    stepper.reserve(driver.touching)
    stepper.reserve_samples(count)
    loop: StepLoop = stepper.loop.record._replace(mode=driver.packed_mode)
    return loop
