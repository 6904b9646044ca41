"""Python interface of event-driven integration: write the records of the compiled run loop, call it and read
its results.

`ArcDriver` owns the records of `event_driven`: the trajectory arc, the event and the run loop. `load` writes
the state of a run into them, `run` calls the compiled loop, and `samples`, `nodes`, `grazes` and `events`
read its output. The loop returns to Python for a contact mode without a compiled closed-form solution
(`compile_mode`), for features that a disc cannot touch (`ContactQuery.refuse_sharp_feature`) and for impact
models in Python (`resolve_impact`). `search` calls the compiled search of the contacts near the wheels.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address, Flags, Integers
from draisine.codegen.targets.native import Packed, make_record
from draisine.simulation.contact.complementarity.active_set import (
    Candidate,
    ImpactProblem,
    Selection,
    Trial,
    Trials,
    make_choice,
    read_trials,
    select_independent_rows,
    trial_layout,
)
from draisine.simulation.contact.complementarity.coulomb import make_friction_problem
from draisine.simulation.contact.event_driven import run_loop
from draisine.simulation.contact.event_driven.arc_integration import (
    GRAZE_CAPACITY,
    SAMPLE_CAPACITY,
    ArcClock,
    ArcState,
    RunStatus,
)
from draisine.simulation.contact.event_driven.events import CANDIDATES, EventState
from draisine.simulation.contact.event_driven.guards import (
    GUARD_NODES,
    INTERPOLATION_BASIS,
    guard_tolerances,
)
from draisine.simulation.contact.event_driven.impact import IMPULSE_ENTRIES, ImpactSolver
from draisine.simulation.contact.event_driven.radau import make_implicit_slip_step
from draisine.simulation.contact.event_driven.run_loop import (
    EventCause,
    EventLog,
    EventStage,
    ImpactOrigin,
    InputJumps,
    RunLoop,
    RunProgress,
)
from draisine.simulation.contact.event_driven.short_step import SHORT_METHOD
from draisine.simulation.contact.kernels import CLOSED, make_mode
from draisine.simulation.contact.nearby.contacts import Nearby
from draisine.simulation.contact.nearby.search import SearchResult
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status, count_rows
from draisine.simulation.contact.stepping.arc import switch_code, tyre_flight
from draisine.simulation.contact.stepping.switch import Switch
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.contact.tolerances import scale_slip_onset
from draisine.simulation.integrators import DENSE_NODE_COUNT as STEP_NODES
from draisine.simulation.integrators import DENSE_NODE_POSITIONS
from draisine.simulation.integrators.dop853 import STAGE_COUNT, make_stages
from draisine.simulation.options import RESOLUTIONS, ContactOptions, Numerics, Task
from draisine.simulation.trajectory import Guard, GuardKind, Key
from draisine.simulation.validity.fall import fall_rule

MIN_TOUCHING = 6
"""Number of touching contacts for which records are allocated first, unless there are more wheels.
`ArcDriver.grow` makes larger records when they are needed.
"""

EVENTS_PER_CALL = 32
"""Number of events that the log of one call of the run loop can store."""


class Capacity(NamedTuple):
    """Sizes of the arrays in the records of the run loop."""

    nearby: int  # largest number of contacts in the search boxes
    borders: int  # largest number of borders of one contact
    touching: int  # largest number of contacts that touch at one instant


@dataclass(slots=True, eq=False)
class RunState:
    """Time, state and contact mode of a run, and the data about previous events that the next event needs."""

    t: float  # present time, s
    y: Floats  # state (q, p, r, v, z)
    step: float = np.inf  # s, length of the next step; infinite for the longest possible one
    is_first: bool = True  # whether the next step is the first step of a trajectory arc
    closed: tuple[Closed, ...] = ()  # closed contacts
    # contacts that have just ended at a border of their features
    left: frozenset[WheelOnFeature] = frozenset()
    leaving: frozenset[WheelOnFeature] = frozenset()  # contacts that lift off at this instant
    stalled: int = 0  # number of consecutive events without progress of time
    latest_sample: float = -np.inf  # s, time of the latest sample

    def at(self, t: float, y: Floats) -> "RunState":
        """Return the run state at the start of a trajectory arc at another time and state, in the same
        contact mode.
        """
        mode = (self.closed, self.left, self.leaving)
        return RunState(t, y, self.step, True, *mode, 0, self.latest_sample)

    def copy(self) -> "RunState":
        """Return an independent copy of the run state."""
        mode = (self.closed, self.left, self.leaving)
        return RunState(
            self.t, self.y, self.step, self.is_first, *mode, self.stalled, self.latest_sample
        )


class EventRecord(NamedTuple):
    """One event of the event log of a call of the run loop. Its state arrays are views of the log, which the
    next call of the run loop overwrites.
    """

    t: float  # s, time of the event
    kind: str  # kind of the event
    energies: tuple[float, float]  # J, mechanical energy before and after the event
    before: Floats  # state y before the event
    after: Floats  # state y after the event
    closed: tuple[Closed, ...]  # contacts closed before the event
    closed_after: tuple[Closed, ...]  # contacts closed after the event
    fired: list[WheelOnFeature]  # contacts whose guards fired
    guard: Guard | None  # guard that fired, or None
    impact: Selection | None  # impulses and contact sets of the impact, or None
    samples: int  # number of samples before the event in this call
    grazes: int  # number of grazing contacts before the event in this call


class ArcDriver:
    """Integrates event-driven trajectory arcs with the compiled run loop.

    Parameters
    ----------
    query
        The system on its terrain.
    contact
        Friction, impact model and search margin.
    numerics
        Tolerances of the integration and spacing of the samples.
    most_nearby
        Largest number of nearby contacts; by default it follows from the ground.

    Attributes
    ----------
    near
        The contacts near the wheels; records number contacts in its order.
    mode, arc, event, loop
        The records: the contact mode, the trajectory arc, the event and the run loop.
    y
        The state at the present time, shared with the trajectory arc.
    """

    def __init__(
        self,
        query: ContactQuery,
        contact: ContactOptions,
        numerics: Numerics,
        most_nearby: int = 0,
    ) -> None:
        self.query = query
        self.contact = contact
        self.numerics = numerics
        # a copy, because the caller may change mappings of the original
        self.options = deepcopy((contact, numerics))
        self.tol = query.tol  # the query replaces them with the parameters of the system
        scale_slip_onset(self.tol, query.units, numerics.rtol)
        self.near = Nearby(query, self.options[0], most_nearby)
        endless = np.array([np.inf])
        self.jumps = InputJumps(times=endless, before=endless)
        self._python_impacts: dict[int, Selection] = {}  # by index of the event in the log
        self._capacity = Capacity(0, 0, max(MIN_TOUCHING, len(query.machine.wheels)))
        self._forget()

    # --- the contacts near the wheels

    def _forget(self) -> None:
        """Forget what depends on the indices of contacts, which a search changes."""
        # State that the records contain; None after a search.
        self._latest: Floats | None = None
        self._closed_sets: dict[tuple[bytes, bytes], tuple[Closed, ...]] = {}
        self._contacts: dict[int, WheelOnFeature] = {}

    def begin(self, t: float, y: Floats) -> None:
        """Find the contacts near the wheels at time t (s) and state y, at which a run begins."""
        query = self.query
        if self.tol is not query.tol:
            self._change_machine()
        if self.near.terrain is not query.ground:
            self.near.change_ground()
        # The contacts that a run watches must not depend on earlier runs.
        if not self.near.is_complete:
            self.search(t, y, query.boxes(t, y))
        self._latest = None

    def search(self, t: float, y: Floats, boxes: Floats, has_path: bool = False) -> None:
        """Find all contacts that are possible while the wheel centres stay near boxes.

        Parameters
        ----------
        t, y
            Time (s) and state.
        boxes
            (wheels, 2, 3) m, boxes around the wheel centres.
        has_path
            Whether the boxes enclose a step from the present state; the search extends further in its
            direction.
        """
        box = boxes.copy()  # new records do not contain them

        def find() -> SearchResult:
            self._fit_records()
            self.arc.box[:] = box
            self.y[:] = y
            self.arc.clock.time = t
            result: SearchResult = self.query.code.search_ahead(self.packed_loop, has_path)
            return result

        self.near.search(t, box, find)
        self._forget()
        until = self.near.record.until
        longest = min(0.5 * (until - t), 0.5 * SAMPLE_CAPACITY * self.numerics.dt)
        self.arc.clock.assign(horizon=until, longest_step=longest)

    def _fit_records(self, touching: int = 0) -> None:
        """Make larger records if the nearby contacts, or a number of touching contacts, do not fit."""
        old = self._capacity
        near = self.near.record
        capacity = Capacity(
            max(near.capacity + 1, old.nearby),
            max(self.near.most_borders, old.borders),
            max(touching, old.touching),
        )
        if capacity != old or self.event.closed_status is not near.closed_status:
            self._make_records(capacity)

    def _make_records(self, capacity: Capacity) -> None:
        """Allocate the records of the run loop for a capacity."""
        query = self.query
        self._capacity = capacity
        forms = query.table.pairs.forms
        contacts = self.near.record.contacts
        self.mode = make_mode(
            query.machine, query.motion, contacts, capacity.touching, query.x, forms
        )
        self.packed_mode = Packed(self.mode)
        # border excess at which contacts may touch, shared
        inside = np.zeros(capacity.nearby)
        self._packed_arc = Packed(self._make_arc(inside))
        event = Packed(self._make_event(self._packed_arc.record.box, inside))
        self.arc: ArcState = self._packed_arc.record
        self.event: EventState = event.record
        self.packed_loop = Packed(self._make_loop(self._packed_arc, event))
        self.loop: RunLoop = self.packed_loop.record
        self.y: Floats = self.arc.stages.y

    def _change_machine(self) -> None:
        """Adapt the records to the parameters of the system, which the query has replaced."""
        query = self.query
        self.tol = query.tol
        scale_slip_onset(self.tol, query.units, self.numerics.rtol)
        self.near.change_machine()
        self._use_closed_forms()
        self._packed_arc.replace(**self._scaled_fields())
        self.arc = self._packed_arc.record
        self.arc.stages.atol[:] = self.numerics.atol * query.state_units
        table = query.machine.observe.table
        self.packed_loop.replace(table=table, flight=tyre_flight(query))
        self.loop = self.packed_loop.record

    def _use_closed_forms(self) -> None:
        """Write the present closed-form solutions into the contact mode."""
        forms = self.query.table.pairs.forms
        self.packed_mode.replace(
            modes=forms.signatures, tables=forms.tables, mode_out=np.zeros(forms.size)
        )

    def _scaled_fields(self) -> dict[str, Any]:
        """Return the fields of an `ArcState` that depend on the parameters of the system."""
        rule = fall_rule(self.query.machine.system.model, self.contact.fall)
        return {
            "falls": np.array([rule.lean < np.pi / 2, rule.over], dtype=np.int64),
            "slack": guard_tolerances(self.query.tol),
            "fall": float(np.sin(min(rule.lean, np.pi / 2))),
        }

    def _make_arc(self, inside: Floats) -> ArcState:
        """Return an empty record of a trajectory arc."""
        query = self.query
        numerics = self.numerics
        capacity = self._capacity
        n = query.y.size
        atol = numerics.atol * query.state_units
        wheels = len(query.machine.wheels)
        guards = 2 + capacity.nearby + capacity.touching * (capacity.borders + 3)
        arc: ArcState = make_record(
            ArcState,
            mode=self.packed_mode,
            stages=make_stages(np.zeros(n), np.empty(STAGE_COUNT * n), n, numerics.rtol, atol),
            turning=make_implicit_slip_step(n, query.n, query.row.size, capacity.touching),
            inside=inside,
            wheels=query.level,
            box=6 * wheels,
            swept=self.near.record.boxes,
            near=capacity.nearby,
            moved=2 * wheels + 1,
            guards=2,
            live=guards,
            kinds=guards,
            contacts=guards,
            borders=guards,
            start=numerics.start,
            dt=numerics.dt,
            basis=INTERPOLATION_BASIS,
            short_method=SHORT_METHOD,
            clock=ArcClock(),
            times=SAMPLE_CAPACITY,
            samples=SAMPLE_CAPACITY * n,
            places=DENSE_NODE_POSITIONS,
            node_times=SAMPLE_CAPACITY,
            nodes=SAMPLE_CAPACITY * n,
            grazes=2 * GRAZE_CAPACITY,
            values=guards * GUARD_NODES,
            local=4 * GUARD_NODES,
            state=n,
            rows=(capacity.nearby + 2 * wheels) * query.row.size,
            **self._scaled_fields(),
        )
        return arc

    def _make_event(self, boxes: Floats, inside: Floats) -> EventState:
        """Return an empty record of an event."""
        query = self.query
        near = self.near.record
        touching = self._capacity.touching
        per_nearby = dict.fromkeys(("was_closed", "fired", "ended", "avoid"), self._capacity.nearby)
        names = ("touching", "candidates", "later_excess", "status", "choice_index", "chosen")
        per_touching = dict.fromkeys((*names, "slip_plan"), touching + 1)
        choice = make_choice(query.n, self.mode.holds, touching, self.mode.system)
        event: EventState = make_record(
            EventState,
            mode=self.packed_mode,
            wheels=query.level,
            choice=Packed(choice),
            law=Packed(make_friction_problem(touching)),
            most=touching,
            sizes=2,
            box=boxes,
            inside=inside,
            max_deflections=query.max_deflections,
            closed_status=near.closed_status,
            mu=near.mu,
            gaps=(touching + 1) * query.row.size,
            rows=(touching + 1) * query.row.size,
            slip_directions=2 * touching + 2,
            y=query.y.size + 1,
            rates=query.y.size,
            **per_nearby,
            **per_touching,
        )
        return event

    def _make_loop(self, arc: Packed, event: Packed) -> RunLoop:
        """Return an empty record of the run loop."""
        query = self.query
        options = self.contact
        observe = query.machine.observe
        nearby = self._capacity.nearby
        defaults = signature(options.model).parameters
        restitution = {name: parameter.default for name, parameter in defaults.items()}
        restitution |= options.restitution
        loop: RunLoop = make_record(
            RunLoop,
            arc=arc,
            event=event,
            progress=RunProgress(),
            jumps=self.jumps,
            log=self._make_log(len(event.record.choice.record.trials)),
            near=self.near.record,
            ground=self.near.ground,
            left=nearby,
            leaving=nearby,
            model=getattr(options.model, "solver", ImpactSolver.PYTHON),
            reduced=RESOLUTIONS.index(options.resolution),
            normal=float(restitution.get("normal", 0.0)),
            along=float(restitution.get("tangential", 0.0)),
            rest=float(options.rest_speed),
            owners=query.tyre_wheels,
            lifted=query.lifted,
            flight=tyre_flight(query),
            observe=Address(observe.address),
            table=observe.table,
            observed=observe.outputs.size,
            kinetic=observe.outputs.kinetic.start,
            potential=observe.outputs.potential.start,
        )
        return loop

    def _make_log(self, trial_size: int) -> EventLog:
        """Return an empty event log; the contact sets of one event need at most `trial_size` entries."""
        states = ("y", "y_impact", "y_after")
        lists = ("closed", "status", "closed_after", "status_after", "fired", "impact_contacts")
        width = self._capacity.touching + 1
        shapes: dict[str, Any] = dict.fromkeys(EventLog._fields, EVENTS_PER_CALL)
        shapes |= dict.fromkeys(states, (EVENTS_PER_CALL, self.query.y.size))
        shapes |= dict.fromkeys(lists, (EVENTS_PER_CALL, width))
        shapes["impulses"] = (EVENTS_PER_CALL, IMPULSE_ENTRIES * width)
        shapes["trials"] = 5 * trial_size
        shapes["trial_limit"] = 4 * trial_size
        log: EventLog = make_record(EventLog, **shapes)
        return log

    def reserve(self, t: float, y: Floats, touching: int) -> None:
        """Make the records for a run from a state y at time t (s) with up to `touching` touching contacts."""
        self._fit_records(touching)
        self.search(t, y, self.query.boxes(t, y))

    # --- calls of the run loop

    def load(self, run: RunState, until: float, cause: EventCause | None = None) -> None:
        """Write the state of a run into the records.

        Parameters
        ----------
        run
            Time, state and closed contacts.
        until
            Time (s) at which the run ends.
        cause
            Cause of the event to resolve first: the start of the run, or a jump of its inputs. Without it
            the run continues with a trajectory arc.
        """
        clock = self.arc.clock
        progress = self.loop.progress
        if run.y is self._latest and run.t == clock.time and cause is None:
            # The records already contain this state, at which the last call ended.
            clock.assign(end_time=until, samples=0, nodes=0, grazes=0)
            clock.latest_sample = run.latest_sample
            progress.assign(stage=EventStage.ARC, events=0, trials=0, waits=False)
            self.query.fill(run.t, run.y)
            return
        self.y[:] = run.y
        self.query.fill(run.t, run.y)
        clock.assign(
            time=run.t,
            step=run.step,
            next_step=run.step,
            is_first=run.is_first,
            end_time=until,
            samples=0,
            nodes=0,
            grazes=0,
            latest_sample=run.latest_sample,
        )
        self._set_closed(run.closed)
        self._set_flags(self.loop.left, run.left)
        self._set_flags(self.loop.leaving, run.leaving)
        self._set_flags(self.event.fired, ())
        progress.assign(stalled=run.stalled, events=0, trials=0, waits=False)
        progress.assign(actor=-1, ending=-1, guard=-1, border=-1)
        if cause is None:
            progress.stage = EventStage.ARC
        else:
            progress.assign(stage=EventStage.CONTACTS, cause=cause)

    def _set_closed(self, closed: Sequence[Closed]) -> None:
        """Write the closed contacts into the contact mode."""
        mode = self.mode
        mode.plan[CLOSED] = len(closed)
        for i, (contact, status, mu) in enumerate(closed):
            mode.which[i] = self.near.index[contact]
            mode.status[i] = status
            # An ideal contact (infinite friction) never slides: it has no friction drag.
            mode.mu[i] = mu if mu < np.inf else 0.0

    def _set_flags(self, flags: Flags, contacts: Iterable[WheelOnFeature]) -> None:
        """Set the flags of the given contacts that are nearby, and clear all other flags."""
        flags[:] = False
        for contact in contacts:
            if contact in self.near.index:
                flags[self.near.index[contact]] = True

    def contains(self, contacts: Sequence[Closed]) -> bool:
        """Return whether all given closed contacts are among the nearby ones."""
        return all(contact in self.near.index for contact, *_ in contacts)

    def run(self, steps: int, events: int) -> RunStatus:
        """Call the compiled run loop for up to `steps` steps and `events` events; return the reason why it
        stopped.
        """
        most_events = min(events, EVENTS_PER_CALL)
        status: RunStatus = self.query.code.advance_events(self.packed_loop, steps, most_events)
        return status

    def continue_mode(self, run: RunState, until: float, end: float) -> RunState | None:
        """Take a short step in the same contact mode under the present inputs.

        Parameters
        ----------
        run
            Time, state and closed contacts at the start.
        until
            Time (s) at which the run ends.
        end
            Time (s) at the end of the step.

        Returns
        -------
        RunState or None
            The state at the end of the step; None if an event may lie on it.
        """
        is_loaded = run.y is not self._latest or run.t != self.arc.clock.time
        if is_loaded:
            self.load(run, until)
        else:
            self.query.fill(run.t, run.y)
        self._latest = None
        if not self.query.code.continue_mode(self.packed_loop, end, is_loaded):
            return None
        self._latest = y = self.y.copy()
        return RunState(
            end, y, run.step, False, run.closed, run.left, latest_sample=run.latest_sample
        )

    def leave_events(self, switch: Switch, t: float, y: Floats) -> tuple[float, int]:
        """End event location at a time t (s) and state y; see the routine `leave_events`."""
        self.arc.clock.time = t
        self.y[:] = y
        self._latest = None
        left: tuple[float, int] = switch_code().leave_events(self.packed_loop, switch)
        return left

    @property
    def touching(self) -> int:
        """The largest number of touching contacts that the records can store."""
        return self._capacity.touching

    def grow(self, run: RunState, until: float) -> None:
        """Double the number of touching contacts that the records can store, and continue the present event.
        The events of the log have been read.
        """
        event = self.loop.progress.values()
        event["most_events"] -= event["events"]
        clock = self.arc.clock.values()
        self._fit_records(2 * self._capacity.touching)
        self._forget()
        self.arc.clock.assign(**clock)
        self.load(run, until)
        self.loop.progress.assign(**event | {"events": 0, "trials": 0})
        if event["actor"] >= 0:
            self.event.fired[event["actor"]] = True

    # --- tasks for which the run loop returns to Python

    def compile_mode(self) -> None:
        """Compile the closed-form solution of the present contact mode and add it to the list of closed-form
        solutions.
        """
        self.query.add_closed_form(self.closed())
        self._use_closed_forms()

    @property
    def subject(self) -> WheelOnFeature:
        """The contact that penetrates its feature, or cannot touch it."""
        return self.near[self.arc.clock.subject]

    def resolve_impact(self) -> None:
        """Resolve the impact of the present event by an impact model in Python."""
        query = self.query
        options = self.contact
        progress = self.loop.progress
        M, held = self._mass_and_held()
        problem = ImpactProblem(
            M,
            held,
            self._impact_candidates(),
            query.speeds(self.y),
            options.rest_speed,
            options.resolution,
        )
        impact: Selection = options.model(problem, **options.restitution)
        after = self.y.copy()
        after[query.y.v] = impact.chosen.result
        query.fill(self.arc.clock.time, after)
        self._python_impacts[progress.events] = impact
        self.loop.log.impact[progress.events] = ImpactOrigin.PYTHON
        progress.stage = EventStage.ACTIVE_SET

    def _impact_candidates(self) -> list[Candidate]:
        """Return the touching contacts with constraint rows in an impact."""
        event = self.event
        rows = event.rows.reshape(-1, self.query.row.size)
        return [
            self.query.candidate(
                self.near[k], rows[j], float(event.mu[k]), Status(event.closed_status[k])
            )
            for j, k in enumerate(event.candidates[: event.sizes[CANDIDATES]].tolist())
            if count_rows(event.closed_status[k]) > 0
        ]

    def _mass_and_held(self) -> tuple[Floats, Floats]:
        """Return the mass matrix (n, n) at an event, and the linearly independent equality constraints (r,
        n).
        """
        motion = self.query.motion.record
        n = self.query.n
        out = self.mode.out
        held = out[motion.held : motion.held + self.mode.holds * n].reshape(-1, n).copy()
        M = out[motion.M : motion.M + n * n].reshape(n, n).copy()
        return M, select_independent_rows(held, np.zeros(len(held)))[0]

    # --- results of the run loop

    def run_state(self) -> RunState:
        """Return time, state and closed contacts that the last call of the run loop reached."""
        clock = self.arc.clock
        self._latest = self.y.copy()
        return RunState(
            t=clock.time,
            y=self._latest,
            step=clock.step,
            is_first=clock.is_first,
            closed=self.closed(),
            left=self._flagged(self.loop.left),
            leaving=self._flagged(self.loop.leaving),
            stalled=self.loop.progress.stalled,
            latest_sample=clock.latest_sample,
        )

    def closed(self) -> tuple[Closed, ...]:
        """Return the presently closed contacts with statuses and friction coefficients."""
        count = int(self.mode.plan[CLOSED])
        return self._closed(self.mode.which[:count], self.mode.status[:count])

    def _closed(self, contacts: Integers, statuses: Integers) -> tuple[Closed, ...]:
        """Return closed contacts with their statuses and friction coefficients; equal sets are cached."""
        key = (contacts.tobytes(), statuses.tobytes())
        if key not in self._closed_sets:
            pairs = zip(contacts.tolist(), statuses.tolist(), strict=True)
            self._closed_sets[key] = tuple(
                (self._contact(k), Status(status), float(self.event.mu[k])) for k, status in pairs
            )
        return self._closed_sets[key]

    def _flagged(self, flags: Flags) -> frozenset[WheelOnFeature]:
        """Return the nearby contacts whose entries in `flags` are set."""
        if not np.count_nonzero(flags):
            return frozenset()
        return frozenset(self.near[k] for k in np.flatnonzero(flags[: len(self.near)]).tolist())

    def guard(self) -> tuple[int, int]:
        """Return the kind of the guard that fired, and the index of its contact."""
        subject = self.arc.clock.subject
        return int(self.arc.kinds[subject]), int(self.arc.contacts[subject])

    def unresolved(self) -> Guard | None:
        """Return the guard of the event that the last call could not resolve, or None."""
        progress = self.loop.progress
        if progress.stage is not EventStage.ARC:
            contact = max(progress.actor, progress.ending)
            return self._guard(progress.guard, contact, progress.border)
        if progress.stalled <= run_loop.MAX_EVENTS_AT_INSTANT:
            return None
        # With too many events at one instant, the resolution of the last event was not begun.
        kind, k = self.guard()
        contact = k if kind == GuardKind.GAP else int(self.mode.which[k])
        border = -1
        if kind == GuardKind.BORDER:
            first = int(self.near.record.contacts.first[contact])
            border = int(self.arc.borders[self.arc.clock.subject]) - first
        return self._guard(kind, contact, border)

    def _guard(self, kind: int, contact: int, border: int) -> Guard | None:
        """Return the guard of a kind (-1 for none) at a contact, or None."""
        if kind < 0:
            return None
        return Guard(GuardKind(kind), self.query.key(self._contact(contact)), border)

    def samples(self) -> tuple[Floats, Floats]:
        """Return the samples of the last call: times (samples) in s, states (samples, n)."""
        count = self.arc.clock.samples
        states = self.arc.samples.reshape(SAMPLE_CAPACITY, -1)
        return self.arc.times[:count].copy(), states[:count].copy()

    def nodes(self, keeps_dense: bool) -> tuple[Floats, Floats]:
        """Return the dense output of the last call, if it is kept: times (steps, nodes) in s, states (steps,
        nodes, n).
        """
        count = self.arc.clock.nodes if keeps_dense else 0
        times = self.arc.node_times[:count].reshape(-1, STEP_NODES)
        states = self.arc.nodes.reshape(SAMPLE_CAPACITY, -1)[:count]
        return times.copy(), states.reshape(-1, STEP_NODES, self.query.y.size).copy()

    def grazes(self) -> list[tuple[float, Key]]:
        """Return time (s) and names of each grazing contact that the last call of the run loop recorded."""
        pairs = self.arc.grazes[: 2 * self.arc.clock.grazes].reshape(-1, 2).tolist()
        return [(t, self.query.key(self.near[int(k)])) for t, k in pairs]

    def events(self) -> list[EventRecord]:
        """Return the events of the last call."""
        count = self.loop.progress.events
        if not count:
            return []
        # Convert log columns to lists: reading single array entries would dominate the cost.
        log = self.loop.log
        columns = {name: getattr(log, name)[:count].tolist() for name in run_loop.EVENT_COLUMNS}
        return [
            self._event(k, dict(zip(columns, entries, strict=True)))
            for k, entries in enumerate(zip(*columns.values(), strict=True))
        ]

    def _event(self, k: int, entry: dict[str, Any]) -> EventRecord:
        """Return event k of the log, whose entries in single columns are given by name."""
        log = self.loop.log
        count = entry["closed_count"]
        count_after = entry["closed_after_count"]
        fired = log.fired[k, : entry["fired_count"]].tolist() if entry["fired_count"] else ()
        return EventRecord(
            t=entry["time"],
            kind=run_loop.EVENT_KIND_NAMES[entry["kind"]],
            energies=(entry["energy"], entry["energy_after"]),
            before=log.y[k],
            after=log.y_after[k],
            closed=self._closed(log.closed[k, :count], log.status[k, :count]),
            closed_after=self._closed(
                log.closed_after[k, :count_after], log.status_after[k, :count_after]
            ),
            fired=[self._contact(i) for i in fired],
            guard=self._guard(entry["guard"], entry["guard_contact"], entry["guard_border"]),
            impact=None if entry["impact"] == ImpactOrigin.NONE else self._impact(k),
            samples=entry["samples"],
            grazes=entry["grazes"],
        )

    def _contact(self, k: int) -> WheelOnFeature:
        """Return nearby contact k, cached because few contacts take part in events, and these often."""
        if k not in self._contacts:
            self._contacts[k] = self.near[k]
        return self._contacts[k]

    def _impact(self, k: int) -> Selection:
        """Return the impact of event k of the log."""
        log = self.loop.log
        query = self.query
        origin = ImpactOrigin(int(log.impact[k]))
        if origin is ImpactOrigin.PYTHON:
            return self._python_impacts[k]
        count = int(log.impact_count[k])
        keys = [query.key(self._contact(i)) for i in log.impact_contacts[k, :count].tolist()]
        trial_count = int(log.trial_count[k])
        if trial_count > 0:
            size = trial_layout(query.n, count).size
            first = int(log.trial_offset[k])
            rows = log.trials[first : first + trial_count * size].reshape(-1, size)
            trials = Trials(rows, keys, log.y[k, query.y.v])
            return Selection(trials[log.chosen_trial[k]], trials)
        # Impacts with Coulomb friction have one result; no alternative contact sets were tried.
        impulses = log.impulses[k].reshape(-1, IMPULSE_ENTRIES)[:count].copy()
        pairs = list(zip(keys, impulses, strict=True))
        pushes = {key: values[:3] for key, values in pairs if values[0] > 0}
        separations = {key: float(values[3]) for key, values in pairs if key not in pushes}
        after = log.y_impact[k, query.y.v].copy()
        trial = Trial(tuple(pushes), pushes, separations, after, True)
        return Selection(trial, (trial,))

    def state_after_impact(self) -> Floats | None:
        """Return the state y after the impact of the present event, or None without an impact."""
        log = self.loop.log
        k = self.loop.progress.events
        return None if log.impact[k] == ImpactOrigin.NONE else log.y_impact[k].copy()

    def trials(self) -> tuple[list[Key], Trials]:
        """Return the contacts of the last active-set problem at acceleration level, and the contact sets that
        were tried as solutions.
        """
        event = self.event
        count = int(event.sizes[CANDIDATES])
        pairs = zip(
            event.candidates[:count].tolist(), event.choice_index[:count].tolist(), strict=True
        )
        keys = [self.query.key(self.near[k]) for k, part in pairs if part >= 0]
        return keys, read_trials(event.choice, keys)


def jump_times(task: Task) -> dict[str, Floats]:
    """Return the fields of `InputJumps` for a task: the times of its jumps, and those before them."""
    start = task.numerics.start
    times = [*sorted(time for time in set(task.jumps) if time > start), math.inf]
    before = [math.nextafter(time, start) for time in times]
    return {"times": np.array(times, float), "before": np.array(before, float)}


def take_driver(
    query: ContactQuery,
    contact: ContactOptions,
    numerics: Numerics,
    jumps: Mapping[str, Floats],
    t: float,
    y: Floats,
) -> ArcDriver:
    """Return the `ArcDriver` for a run from a state y at time t (s) with jumps of the inputs (`jump_times`):
    that of the last run of the query if the options are equal, otherwise a new one. Allocating new records
    costs more than a short run.
    """
    driver: ArcDriver | None = query.driver
    if driver is None or driver.options != (contact, numerics):
        query.driver = driver = ArcDriver(query, contact, numerics)
    driver.contact = contact
    driver.numerics = numerics
    driver.jumps.assign(**jumps, next=0)
    driver.begin(t, y)
    return driver
