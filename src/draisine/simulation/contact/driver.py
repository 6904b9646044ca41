"""What leads a run through arcs and events: its records for routines, and what is read from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address
from draisine.codegen.targets.native import Packed, make_record
from draisine.mechanics.contact.elements import contact_elements
from draisine.simulation.contact.complementarity.active_set import (
    Candidate,
    ImpactProblem,
    Selection,
    Trial,
    empty_choice,
    independent,
    make_trials,
    trial_layout,
    trials_of,
)
from draisine.simulation.contact.complementarity.coulomb import friction_law
from draisine.simulation.contact.event_driven import run_loop
from draisine.simulation.contact.event_driven.arc_integration import (
    FEW,
    ROOM,
    ArcClock,
    ArcState,
    RunStatus,
)
from draisine.simulation.contact.event_driven.events import MET, TOUCHING, EventState
from draisine.simulation.contact.event_driven.guards import BASIS, NODES, guard_tolerances
from draisine.simulation.contact.event_driven.impact import OTHER, PUSH
from draisine.simulation.contact.event_driven.radau import turning_room
from draisine.simulation.contact.event_driven.run_loop import (
    EventCause,
    EventStage,
    RunLoop,
    RunProgress,
)
from draisine.simulation.contact.kernels import CLOSED, saddle
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.stepping.arc import tyre_flight
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.contact.tolerances import follow_accuracy
from draisine.simulation.integrators import NODES as STEP_NODES
from draisine.simulation.integrators import PLACES
from draisine.simulation.integrators.dop853 import STAGES, stages
from draisine.simulation.options import RESOLUTIONS, ContactOptions, Numerics
from draisine.simulation.trajectory import Guard, GuardKind, Key
from draisine.simulation.validity.fall import fall_rule
from draisine.system.layout import Layout

MOST, EVENTS = 6, 32
"""For how many contacts that touch at once there is room at first, if there are no more wheels, and for how
many events in a call.
"""


@dataclass(slots=True, eq=False)
class RunState:
    """Time, state and contact mode of a run, and the memory of its last events."""

    t: float  # s
    y: Floats  # state (q, p, r, v, z)
    step: float = np.inf  # s, length of the next step, as long as possible if infinite
    is_first: bool = True  # whether that is the first step of an arc
    closed: tuple[Closed, ...] = ()
    left: frozenset[WheelOnFeature] = frozenset()  # contacts whose features wheels have just left
    leaving: frozenset[WheelOnFeature] = frozenset()  # contacts that lift off at this instant
    stalled: int = 0  # number of events without progress of time
    latest_sample: float = -np.inf  # s


@dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """What an event is about: the contact that fired, or that whose feature has ended."""

    kind: EventCause
    actor: WheelOnFeature | None = None
    own: WheelOnFeature | None = None
    guard: int = -1  # kind of the guard that fired, -1 for none
    border: int = -1  # index of its border, -1 for none


@dataclass(frozen=True, slots=True, eq=False)
class EventRecord:
    """An event as routines tell it: states and energies before and after, contacts that were and are
    closed, those that fired; the impact; how many samples and grazes there were before it.
    """

    t: float
    kind: str
    energies: tuple[float, float]
    before: Floats
    after: Floats
    closed: tuple[Closed, ...]
    closed_after: tuple[Closed, ...]
    fired: list[WheelOnFeature]
    guard: Guard | None
    blow: Selection | None
    samples: int
    grazes: int


class ArcDriver:
    """Leads through arcs and events; what wheels are near is looked for anew where they leave it."""

    def __init__(
        self, look: ContactQuery, contact: ContactOptions, numerics: Numerics, t: float, box: Floats
    ) -> None:
        self.look, self.contact, self.numerics = look, contact, numerics
        follow_accuracy(look.tol, look.units, numerics.rtol)
        self._blows: dict[int, Selection] = {}
        self.near = look.sweep(t, box, contact.margin)
        self._surround((0, 0, max(MOST, len(look.machine.wheels))))
        self.look_around(t, box)

    # --- what is near

    def look_around(self, t: float, box: Floats, begin: Floats | None = None) -> None:
        """Watch all that wheels may touch while their centres are around boxes (low, high of each), which
        may hold a step's ways that begin somewhere.
        """
        look, margin = self.look, self.contact.margin
        near, speed = look.sweep(t, box, margin, begin), look.ground_speed(t, box)
        wide, stay = near.boxes, np.inf
        if speed > 0:  # half of the margin is for the wheels, the other half for the ground
            wide, half = 0.5 * (box + wide), 0.5 * float(np.abs(wide - box).max())
            stay = half / speed
        if near is not self.near:
            self.near = near
            self._surround(self._sizes)
        self.arc.swept[:] = wide
        longest = min(0.5 * stay, 0.5 * ROOM * self.numerics.dt)
        self.arc.clock.assign(horizon=t + stay, longest_step=longest)

    def _surround(self, sizes: tuple[int, int, int]) -> None:
        """Watch what is near, in records of sizes or, where there is more, in new ones."""
        near, count, bundle = self.near, len(self.near), self.near.packed.record
        borders = int(np.diff(bundle.first[: count + 1]).max(initial=0))
        room, edges, most = sizes
        if count >= room or borders > edges:
            self._make((2 * count + 1, max(borders, edges), most))
        else:
            self._bundle.replace(**bundle._asdict())
        e, whole = self.event, self.passage
        e.rows[: count + 1], e.mu[: count + 1] = self.look.grips(near, self.contact)
        whole.is_sharp[:count] = (bundle.planes[:count] == 0) & (self.look.discs[near.wheels] == 1)

    def _make(self, sizes: tuple[int, int, int]) -> None:
        """Make the records: for so many contacts near, with so many borders each, of which so many touch
        at once.
        """
        self._sizes, look, (count, _, most) = sizes, self.look, sizes
        self._bundle = Packed(self.near.packed.record)
        forms = look.table.meetings.forms
        self.mode = saddle(look.machine, look.motion, self._bundle, most, look.x, forms)
        self._shared, inside = Packed(self.mode), np.zeros(count)
        course = Packed(self._make_course(inside))
        event = Packed(self._make_event(course.record.box, inside))
        self.arc, self.event = course.record, event.record
        self.packed = Packed(self._make_passage(course, event))
        self.passage: RunLoop = self.packed.record
        self.begin: Floats = self.arc.stages.record.y

    def _make_course(self, inside: Floats) -> ArcState:
        """Return the record of arcs."""
        look, numerics, n = self.look, self.numerics, self.look.y.size
        atol = numerics.atol * look.state_units
        model, asked = look.machine.system.model, self.contact.fall
        rule = fall_rule(model, asked)
        wheels, (count, borders, most) = len(look.machine.wheels), self._sizes
        guards = 2 + count + most * (borders + 3)
        sizes = dict.fromkeys(("live", "kinds", "contacts", "borders"), guards)
        sizes |= {"box": 6 * wheels, "swept": 6 * wheels, "moved": 2 * wheels + 1, "near": count}
        sizes |= {
            "times": ROOM,
            "samples": ROOM * n,
            "node_times": ROOM,
            "nodes": ROOM * n,
            "grazes": 2 * FEW,
            "guards": 2,
        }
        sizes |= {"values": guards * NODES, "local": 4 * NODES, "state": n}
        found: ArcState = make_record(
            ArcState,
            mode=self._shared,
            stages=stages(np.zeros(n), np.empty(STAGES * n), n, numerics.rtol, atol),
            turning=turning_room(n, look.n, look.row.size, most),
            inside=inside,
            wheels=look.level,
            falls=np.array([rule.lean < np.pi / 2, rule.over], dtype=np.int64),
            slack=guard_tolerances(look.tol),
            fall=float(np.sin(min(rule.lean, np.pi / 2))),
            start=numerics.start,
            dt=numerics.dt,
            basis=BASIS,
            places=PLACES,
            clock=ArcClock(),
            rows=(count + 2 * wheels) * look.row.size,
            **sizes,
        )
        return found

    def _make_event(self, box: Floats, inside: Floats) -> EventState:
        """Return the record of events."""
        look, (count, _, most), holds = self.look, self._sizes, self.mode.holds
        names = ("met", "who", "chosen", "held", "part", "slides", "beyond")
        touching = dict.fromkeys(names, most + 1)
        touching |= dict.fromkeys(("seen", "near"), (most + 1) * look.row.size)
        near = dict.fromkeys(("shut", "fired", "ended", "avoid", "rows", "mu"), count)
        state = {"sizes": 2, "ways": 2 * most + 2, "y": look.y.size + 1, "rates": look.y.size}
        found: EventState = make_record(
            EventState,
            mode=self._shared,
            wheels=look.level,
            choice=Packed(empty_choice(look.n, holds, most, self.mode.system)),
            law=Packed(friction_law(most)),
            most=most,
            box=box,
            inside=inside,
            dents=look.dents,
            **touching,
            **near,
            **state,
        )
        return found

    def _make_passage(self, course: Packed, event: Packed) -> RunLoop:
        """Return the record of the run."""
        look, options, (count, _, most) = self.look, self.contact, self._sizes
        model = look.machine.system.model
        observe, tries = look.machine.observe, len(event.record.choice.record.trials)
        owners = np.full(model.memory + 1, -1)
        for w, wheel in enumerate(look.machine.wheels):
            for first, element in contact_elements(model, wheel):
                owners[first : first + element.states] = w
        known = signature(options.model).parameters
        given = {name: one.default for name, one in known.items()} | dict(options.restitution)
        states = dict.fromkeys(("before", "struck", "after"), look.y.size)
        self.told = Layout({"t": 1, "energies": 2} | states | {"push": PUSH * (most + 1)})
        found: RunLoop = make_record(
            RunLoop,
            arc=course,
            event=event,
            progress=RunProgress(),
            **dict.fromkeys(("is_sharp", "left", "leaving"), count),
            model=getattr(options.model, "strikes", OTHER),
            reduced=RESOLUTIONS.index(options.resolution),
            normal=float(given.get("normal", 0.0)),
            along=float(given.get("tangential", 0.0)),
            rest=float(options.rest_speed),
            owners=owners,
            lifted=look.lifted,
            flight=tyre_flight(look),
            observe=Address(observe.address),
            table=observe.table,
            seen=observe.outputs.size,
            kinetic=observe.outputs.kinetic.start,
            potential=observe.outputs.potential.start,
            told=EVENTS * (run_loop.HEAD + run_loop.LISTS * (most + 1)),
            numbers=EVENTS * self.told.size,
            trials=5 * tries,
            room=4 * tries,
        )
        return found

    # --- calls

    def load(self, at: RunState, stop: float, until: float, cause: Cause | None = None) -> None:
        """Put where a run stands in place: in an arc that may go on until inputs jump or the run ends, or
        at an event.
        """
        course, whole, e, index = self.arc, self.passage, self.event, self._index
        self.begin[:] = at.y
        self.look.fill(at.t, at.y)
        last = float(np.nextafter(stop, at.t))
        step = min(at.step, self.look.tol.first_step) if at.is_first else at.step
        course.clock.assign(time=at.t, step=step, next_step=step, is_first=at.is_first)
        course.clock.assign(last_time=last, input_jump=stop, end_time=until)
        course.clock.assign(samples=0, nodes=0, grazes=0, latest_sample=at.latest_sample)
        self.close(at.closed)
        for flags, some in ((whole.left, at.left), (whole.leaving, at.leaving), (e.fired, ())):
            flags[:] = False
            for contact in some:
                if contact in index:
                    flags[index[contact]] = True
        stand = whole.progress
        stand.assign(stage=EventStage.ARC, stalled=at.stalled, events=0, trials=0)
        stand.assign(actor=-1, ending=-1, guard=-1, border=-1)
        if cause is not None:
            actor, own = (-1 if c is None else index[c] for c in (cause.actor, cause.own))
            stand.assign(stage=EventStage.CONTACTS, cause=cause.kind, actor=actor, ending=own)
            stand.assign(guard=cause.guard, border=cause.border)
            if actor >= 0:
                e.fired[actor] = True

    @property
    def _index(self) -> dict[WheelOnFeature, int]:
        """Where contacts stand among those that are near."""
        return self.near.index

    def holds(self, contacts: Sequence[Closed]) -> bool:
        """Return whether closed contacts are among those that are near."""
        return all(contact in self.near.index for contact, *_ in contacts)

    def close(self, closed: Sequence[Closed]) -> None:
        """Put the closed contacts in place."""
        s = self.mode
        s.plan[CLOSED] = len(closed)
        for i, (contact, rows, mu) in enumerate(closed):
            s.which[i], s.status[i] = self._index[contact], rows
            s.mu[i] = mu if mu < np.inf else 0.0

    def go(self, steps: int, events: int) -> RunStatus:
        """Go on for so many steps and events at most; return why not further."""
        found: RunStatus = self.look.code.run_arcs(self.packed, steps, min(events, EVENTS))
        return found

    def meet_mode(self) -> None:
        """Take up the mode of the closed contacts, which routines do not know yet."""
        self.look.take_mode(self.closed())
        forms = self.look.table.meetings.forms
        arrays = {"modes": forms.signatures, "tables": forms.tables}
        self._shared.replace(**arrays, mode_out=np.zeros(forms.size))

    def grow(self) -> None:
        """Make room for more contacts that touch at once."""
        course = self.arc
        self._surround((0, 0, 2 * self._sizes[2]))
        self.arc.clock.assign(**course.clock.values())
        self.arc.swept[:] = course.swept

    # --- what is found in the records

    def closed(self) -> tuple[Closed, ...]:
        """Return the closed contacts."""
        s = self.mode
        count = int(s.plan[CLOSED])
        return self._closed(s.which[:count].tolist(), s.status[:count].tolist())

    def _closed(self, which: Sequence[int], rows: Sequence[int]) -> tuple[Closed, ...]:
        mu, near = self.event.mu, self.near
        return tuple((near[k], held, float(mu[k])) for k, held in zip(which, rows, strict=True))

    def standing(self) -> RunState:
        """Return where the run stands."""
        clock, whole = self.arc.clock, self.passage
        return RunState(
            clock.time,
            self.begin.copy(),
            clock.step,
            clock.is_first,
            self.closed(),
            self._marked(whole.left),
            self._marked(whole.leaving),
            whole.progress.stalled,
            clock.latest_sample,
        )

    def cause(self) -> Cause:
        """Return what the present event is about."""
        stand = self.passage.progress
        actor, own = (None if k < 0 else self.near[k] for k in (stand.actor, stand.ending))
        return Cause(stand.cause, actor, own, stand.guard, stand.border)

    def _marked(self, flags: Any) -> frozenset[WheelOnFeature]:
        return frozenset(self.near[k] for k in np.flatnonzero(flags[: len(self.near)]).tolist())

    def guard(self) -> tuple[int, int]:
        """Return the kind of the guard that told of an event, and its contact's number."""
        which = self.arc.clock.subject
        return int(self.arc.kinds[which]), int(self.arc.contacts[which])

    def samples(self) -> tuple[Floats, Floats]:
        """Return times and states."""
        count = self.arc.clock.samples
        return self.arc.times[:count].copy(), self.arc.samples.reshape(ROOM, -1)[:count].copy()

    def nodes(self) -> tuple[Floats, Floats]:
        """Return the dense output of steps: times (steps, nodes), states (steps, nodes, n)."""
        count = self.arc.clock.nodes
        times, states = self.arc.node_times[:count], self.arc.nodes.reshape(ROOM, -1)[:count]
        return (
            times.reshape(-1, STEP_NODES).copy(),
            states.reshape(-1, STEP_NODES, self.look.y.size).copy(),
        )

    def grazes(self) -> list[tuple[float, Key]]:
        """Return when which open contacts came near and did not touch."""
        found = self.arc.grazes[: 2 * self.arc.clock.grazes]
        return [(t, self.look.key(self.near[int(k)])) for t, k in found.reshape(-1, 2).tolist()]

    def events(self) -> list[EventRecord]:
        """Return the events that are told."""
        whole, count = self.passage, self.passage.progress.events
        if not count:
            return []
        told = whole.told.reshape(EVENTS, -1)[:count].tolist()
        numbers = whole.numbers.reshape(EVENTS, -1)[:count].copy()
        return [self._event(i, *one) for i, one in enumerate(zip(told, numbers, strict=True))]

    def _event(self, i: int, told: list[int], numbers: Floats) -> EventRecord:
        """Return one of them."""
        at, wide = self.told, self._sizes[2] + 1
        lists = [told[run_loop.HEAD + k * wide :][:wide] for k in range(run_loop.LISTS)]
        before, after, fired = (told[k] for k in (run_loop.BEFORE, run_loop.AFTER, run_loop.FIRED))
        energy, energy_after = numbers[at.energies].tolist()
        return EventRecord(
            float(numbers[0]),
            run_loop.KINDS[told[run_loop.WHAT]],
            (energy, energy_after),
            numbers[at.before],
            numbers[at.after],
            self._closed(lists[run_loop.SHUT][:before], lists[run_loop.ROWS][:before]),
            self._closed(lists[run_loop.SHUT_AFTER][:after], lists[run_loop.ROWS_AFTER][:after]),
            [self.near[k] for k in lists[run_loop.FIRE][:fired]],
            self._guard(*told[run_loop.GUARD : run_loop.HEAD]),
            self._blow(i, told, numbers, lists[run_loop.HIT]),
            told[run_loop.SAMPLE],
            told[run_loop.GRAZED],
        )

    def _guard(self, kind: int, contact: int, border: int) -> Guard | None:
        """Return the guard of a kind (-1: none) at a contact."""
        if kind < 0:
            return None
        return Guard(GuardKind(kind), self.look.key(self.near[contact]), border)

    def unresolved(self) -> Guard | None:
        """Return the guard of the event that the last call could not resolve, if there is one."""
        stand = self.passage.progress
        if stand.stage is not EventStage.ARC:
            return self._guard(stand.guard, max(stand.actor, stand.ending), stand.border)
        if stand.stalled <= run_loop.MOST_STUCK:
            return None
        # Too many events at one instant: the last one was not begun.
        kind, k = self.guard()
        contact = k if kind == GuardKind.GAP else int(self.mode.which[k])
        border = int(self.arc.borders[self.arc.clock.subject])
        first = int(self.near.packed.record.first[contact])
        return self._guard(kind, contact, border - first if kind == GuardKind.BORDER else -1)

    def _blow(self, i: int, told: list[int], numbers: Floats, hit: list[int]) -> Selection | None:
        """Return the impact of an event."""
        if told[run_loop.BLOW] != 1:
            return self._blows.get(i) if told[run_loop.BLOW] else None
        n, count, at = self.look.n, told[run_loop.HITS], self.told
        keys = [self.look.key(self.near[k]) for k in hit[:count]]
        v, result = (numbers[part][self.look.y.v] for part in (at.before, at.struck))
        if told[run_loop.TRIES]:
            first, wide = told[run_loop.TRIAL], trial_layout(n, count).size
            rows = self.passage.trials[first : first + told[run_loop.TRIES] * wide]
            trials = make_trials(rows.reshape(-1, wide), keys, v)
            return Selection(trials[told[run_loop.CHOSEN]], trials)
        push = numbers[at.push].reshape(-1, PUSH)[:count]
        pushes = {key: one[:3] for key, one in zip(keys, push, strict=True) if one[0] > 0}
        away = {key: float(x) for key, x in zip(keys, push[:, 3], strict=True) if key not in pushes}
        trial = Trial(tuple(pushes), pushes, away, result, True)
        return Selection(trial, (trial,))

    # --- what routines do not do

    def check(self) -> None:
        """Raise where a disc has come onto what it cannot meet."""
        e, look, sharp, near = self.event, self.look, self.passage.is_sharp, self.near
        t, y = self.arc.clock.time, self.begin
        met, rows = e.met[: e.sizes[MET]].tolist(), e.seen.reshape(-1, look.row.size)
        for k, row in zip(met, rows, strict=False):
            if sharp[k]:
                look.check_plane(t, near[k], row)
        if self.passage.progress.ending >= 0:
            for k in (e.ended & sharp)[: len(near)].nonzero()[0].tolist():
                if all(near.wheels[other] != near.wheels[k] for other in met):
                    look.check_end(t, y, near[k])

    def strike(self) -> None:
        """Let the impact model change the speeds."""
        options, stand, y = self.contact, self.passage.progress, self.begin
        M, held = self._mass_and_held()
        rest, way = options.rest_speed, options.resolution
        given = ImpactProblem(M, held, self._hits(), self.look.speeds(y), rest, way)
        blow: Selection = options.model(given, **options.restitution)
        after = y.copy()
        after[self.look.y.v] = blow.chosen.result
        self.look.fill(self.arc.clock.time, after)
        self._blows[stand.events] = blow
        self.passage.told.reshape(EVENTS, -1)[stand.events, run_loop.BLOW] = 2
        stand.stage = EventStage.ACTIVE_SET

    def _hits(self) -> list[Candidate]:
        """Return the contacts that touch and hold rows in an impact."""
        e, look = self.event, self.look
        rows, out = e.near.reshape(-1, look.row.size), []
        for j, k in enumerate(e.who[: e.sizes[TOUCHING]].tolist()):
            if e.rows[k] > 0:
                found = (self.near[k], rows[j], float(e.mu[k]), int(e.rows[k]))
                out.append(look.candidate(*found))
        return out

    def _mass_and_held(self) -> tuple[Floats, Floats]:
        """Return the mass matrix at an event, and independent rows that hold whatever touches."""
        m, n, out = self.look.motion.record, self.look.n, self.mode.out
        held = out[m.held : m.held + self.mode.holds * n].reshape(-1, n).copy()
        M = out[m.M : m.M + n * n].reshape(n, n).copy()
        return M, independent(held, np.zeros(len(held)))[0]

    def struck(self) -> Floats | None:
        """Return the state that the impact of the present event has left, if there was one."""
        number = self.passage.progress.events
        if not self.passage.told.reshape(EVENTS, -1)[number, run_loop.BLOW]:
            return None
        return self.passage.numbers.reshape(EVENTS, -1)[number, self.told.struck].copy()

    def trials(self) -> tuple[list[Key], tuple[Trial, ...]]:
        """Return the contacts of the last choice at acceleration level, and the sets that were tried."""
        e = self.event
        touching = int(e.sizes[TOUCHING])
        pairs = zip(e.who[:touching].tolist(), e.part[:touching].tolist(), strict=True)
        keys = [self.look.key(self.near[k]) for k, part in pairs if part >= 0]
        return keys, trials_of(e.choice.record, keys)
