"""Allocation of the records of a standalone run, which needs no Python, from the arguments of `simulate`."""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import numpy as np

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import Packed, make_record
from draisine.errors import ParameterError, SimulationError
from draisine.mechanics.contact.elements import tyre_rows
from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.mechanics.contact.modes import MAX_CLOSED_FORM_WHEELS
from draisine.model import Wheel
from draisine.simulation.contact.driver import EVENTS_PER_CALL, ArcDriver, Capacity
from draisine.simulation.contact.event_driven.arc_integration import SAMPLE_CAPACITY
from draisine.simulation.contact.event_driven.impact import ImpactSolver
from draisine.simulation.contact.kernels import (
    ANY_MODE,
    MAX_CLOSED_FORMS,
    SIGNATURE_SIZE,
    ContactColumns,
)
from draisine.simulation.contact.query import UNBOUNDED_CORNER, Closed, ContactQuery
from draisine.simulation.contact.run import place_on_terrain, run_on_terrain
from draisine.simulation.contact.standalone.ground import GroundTable
from draisine.simulation.contact.standalone.run import Schedule, StandaloneRun
from draisine.simulation.contact.start import lift_start
from draisine.simulation.contact.status import TYRE_STATUSES
from draisine.simulation.contact.stepping.arc import TimeStepper, make_switch, search_margin
from draisine.simulation.contact.stepping.grid import ADAPT_STEPS, StepSamples, longest_step
from draisine.simulation.contact.stepping.step import TimeStepping
from draisine.simulation.contact.table import (
    FLOAT_COLUMNS,
    INTEGER_COLUMNS,
    Surroundings,
)
from draisine.simulation.options import Task
from draisine.simulation.trajectory import Trajectory
from draisine.system.compiled import Compiled
from draisine.terrain.feature import Features

SLOTS_PER_CONTACT = 2  # slots per contact near the start; elsewhere the ground may be finer

MIN_SLOTS = 256  # smallest number of slots of the table of contacts on a large ground

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
    lift_start(query, t, y, task.contact.margin)
    closed_forms = _add_closed_forms(query, _choose_modes(task, choice))
    driver = ArcDriver(query, task.contact, task.numerics, t, query.boxes(t, y))
    ground, near, capacity = _make_ground(query, task, len(driver.near))
    loop = driver.reserve(near, capacity)
    # The records become data of the export: clear scratch arrays, which contain arbitrary values.
    loop.record.arc.record.stages.k[:] = 0.0
    loop.record.arc.record.clock.assign(
        horizon=math.inf, longest_step=0.5 * SAMPLE_CAPACITY * task.numerics.dt
    )
    steps, samples = _make_steps(query, task, y, near, capacity.touching)
    w = query.machine.inputs.w
    run = StandaloneRun(
        loop=loop,  # type: ignore[arg-type]
        ground=ground,
        schedule=_make_schedule(task),
        method=make_switch(query, task.contact, capacity.touching),
        steps=steps,
        samples=samples,
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


def _make_schedule(task: Task) -> Schedule:
    """Return the schedule of a task: times of the jumps of its inputs, and largest number of events."""
    start = task.numerics.start
    jumps = [*sorted(time for time in set(task.jumps) if time > start), math.inf]
    before = [math.nextafter(time, start) for time in jumps]
    return Schedule(
        jumps=np.array(jumps, float),
        before=np.array(before, float),
        max_events=int(task.contact.events),
    )


def _make_steps(
    query: ContactQuery, task: Task, y: Floats, near: Surroundings, touching: int
) -> tuple[TimeStepping, StepSamples]:
    """Return the record of time stepping, and an empty record for the samples of one call."""
    numerics = task.numerics
    stepper = TimeStepper(query, task.contact, numerics.start, y, numerics.dt)
    stepper.reserve(near, touching)
    samples = stepper.samples
    # A call takes at most ADAPT_STEPS steps of at most the length `longest_step`.
    count = int(ADAPT_STEPS * (longest_step(stepper.grid) / numerics.dt + 1.0)) + 2
    if count > SAMPLE_CAPACITY // 2:
        raise ParameterError(
            f"dt = {numerics.dt} s makes too many samples per time step for an exported simulator. Choose a "
            "larger one."
        )
    samples.assign(
        first=numerics.start,
        dt=numerics.dt,
        times=np.zeros(count),
        states=np.zeros((count, len(y))),
        totals=np.zeros((count, samples.size)),
        energies=np.zeros((count, samples.energies.shape[1])),
    )
    return stepper.record, samples


def _make_ground(
    query: ContactQuery, task: Task, near_start: int
) -> tuple[GroundTable, Surroundings, Capacity]:
    """Return all contacts of a system with its ground, an empty table for those near the wheels, and its
    sizes; `near_start` is the number of contacts near the start.
    """
    machine = query.machine
    wheels = len(machine.wheels)
    features = query.table.pick(range(len(query.ground)))
    attached = query.table.surroundings(UNBOUNDED_CORNER, [()] * wheels)
    pairs, sides = _make_pairs(query, features)
    has_patches = features.cells.size > 0
    all_contacts = len(attached) + int(sides[:, features.kind].sum())
    most_borders = int(np.diff(features.first).max(initial=0))
    slots = all_contacts
    if not query.watches_all:
        slots = min(all_contacts, max(SLOTS_PER_CONTACT * near_start, MIN_SLOTS))
    border_slots = slots * max(1, most_borders) + len(attached.packed.record.borders) // 7
    statuses, mu = query.contact_laws(attached, task.contact)
    touching = max(MIN_TOUCHING_CONTACTS, TOUCHING_PER_WHEEL * wheels)
    columns = _pair_columns(query)
    mu_of_surface, surface = _friction(query, task, features)
    ground: GroundTable = make_record(
        GroundTable,
        size=len(features),
        kinds=np.append(features.kind, 0),
        numbers=np.vstack([features.numbers, np.zeros((1, SIDE))]),
        borders=np.append(features.borders.ravel(), np.zeros(7)),
        first=features.first.copy(),
        low=np.vstack([features.low, np.zeros((1, 3))]),
        high=np.vstack([features.high, np.zeros((1, 3))]),
        cells=np.vstack([features.cells, np.zeros((1, PATCH))]) if has_patches else (1, 1),
        wheels=wheels,
        pairs=pairs,
        sides=sides,
        columns=Packed(columns),
        reach=np.array([*query.longest, 0.0]) + query.tol.gap_search,
        surface=surface,
        mu=mu_of_surface,
        tyres=_tyre_statuses(query),
        is_disc=query.discs.copy(),
        is_edge=np.array([kind == "edge" for kind, _ in features.kinds] + [False]),
        is_vertex=np.array([kind == "vertex" for kind, _ in features.kinds] + [False]),
        attached=attached.packed,
        attached_status=statuses,
        attached_mu=mu,
        owners=wheels + machine.joints,
        margin=math.inf if query.watches_all else float(task.contact.margin),
        slots=slots,
        border_slots=border_slots,
        step_margin=math.inf if query.watches_all else search_margin(query, task.contact),
        begin=3 * wheels + 1,
        kept=(touching + 2 * slots + 1, 3),
        carried=(2 * touching, 4),
    )
    near = _empty_table(query, slots, border_slots, has_patches)
    return ground, near, Capacity(slots + 1, max(1, most_borders), touching)


def _make_pairs(query: ContactQuery, features: Features) -> tuple[Any, Any]:
    """Return column index and number of possible contacts of each pair of a wheel and a kind of feature."""
    wheels = len(query.machine.wheels)
    table = query.table.pairs
    shape = (max(1, wheels), max(1, len(features.kinds)))
    pairs = np.zeros(shape, np.int64)
    sides = np.zeros(shape, np.int64)
    present = set(features.kind.tolist())
    for wheel in range(wheels):
        for k, (kind, motion) in enumerate(features.kinds):
            count = table.count_sides(wheel, kind) if k in present else 0
            sides[wheel, k] = count
            if count:
                pairs[wheel, k] = table.column(wheel, kind, motion)
    return pairs, sides


def _pair_columns(query: ContactQuery) -> ContactColumns:
    """Return `ContactColumns` with one contact of each pair of a wheel and a kind of feature; only fields
    that depend on the pair alone are valid.
    """
    pairs = query.table.pairs
    by_pair: dict[str, Any] = dict(
        zip(INTEGER_COLUMNS, np.ascontiguousarray(pairs.integers), strict=True)
    )
    by_pair |= zip(FLOAT_COLUMNS, np.ascontiguousarray(pairs.floats), strict=True)
    return ContactColumns(
        size=pairs.integers.shape[1],
        tables=np.zeros(1),
        x_f=0,
        features=np.zeros(1),
        borders=np.zeros(1),
        first=np.zeros(1, np.int64),
        low=np.zeros(1),
        high=np.zeros(1),
        cells=np.zeros(1),
        x_cell=0,
        **by_pair,
    )


def _empty_table(
    query: ContactQuery, slots: int, border_slots: int, has_patches: bool
) -> Surroundings:
    """Return an empty table of contacts, which routines fill; on request with space for smooth patches."""
    size = slots + 1
    columns: ContactColumns = make_record(
        ContactColumns,
        size=slots,
        tables=query.table.pairs.tables,
        x_f=query.machine.inputs.f.start,
        features=size * FEATURE,
        borders=7 * (border_slots + 1),
        first=size + 1,
        low=3 * size,
        high=3 * size,
        cells=size * PATCH if has_patches else 1,
        x_cell=query.machine.inputs.cell.start,
        **dict.fromkeys((*INTEGER_COLUMNS, *FLOAT_COLUMNS), size),
    )
    none = np.zeros(slots, np.int64)
    return Surroundings(np.zeros(6 * len(query.machine.wheels)), none, none, none, Packed(columns))


def _friction(query: ContactQuery, task: Task, features: Features) -> tuple[Any, Any]:
    """Return the friction coefficients of the wheels on each surface (wheels, surfaces), and the surface of
    each feature: features with equal coefficients share it.
    """
    options = task.contact
    mu = np.zeros((max(1, len(query.machine.wheels)), len(features) + 1))
    for w, wheel in enumerate(query.machine.wheels):
        if isinstance(wheel, Wheel) and wheel.tyre is not None:
            continue
        if isinstance(options.mu, Mapping):
            names = [query.ground.name(k) for k in range(len(features))]
            mu[w, :-1] = [options.friction(wheel, name) for name in names]
        else:
            mu[w] = options.friction(wheel, "")
    columns, surface = np.unique(mu, axis=1, return_inverse=True)
    return np.ascontiguousarray(columns), np.ascontiguousarray(surface.ravel(), dtype=np.int64)


def _tyre_statuses(query: ContactQuery) -> Any:
    """Return the contact status of each wheel with a tyre, -1 for wheels without a tyre (wheels)."""
    return np.array(
        [
            TYRE_STATUSES[tyre_rows(wheel)]
            if isinstance(wheel, Wheel) and wheel.tyre is not None
            else -1
            for wheel in query.machine.wheels
        ]
        + [-1],
        np.int64,
    )
