"""What is near for a while, and the calls that go through arcs and events there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import Packed
from draisine.mechanics.base import has_frame
from draisine.simulation.contact import march
from draisine.simulation.contact.active_set import (
    Candidate,
    Trial,
    empty_choice,
    independent,
    trials_of,
)
from draisine.simulation.contact.coulomb import friction_law
from draisine.simulation.contact.events import FULL, MET, TOUCHING, Encounter
from draisine.simulation.contact.guards import BASIS, NODES, SLACK
from draisine.simulation.contact.kernels import CLOSED, saddle
from draisine.simulation.contact.march import FEW, ROOM, Course
from draisine.simulation.contact.query import BORDER, Closed, ContactQuery
from draisine.simulation.contact.table import Surroundings, WheelOnFeature
from draisine.simulation.integrators.dop853 import STAGES, stages
from draisine.simulation.options import ContactOptions, Numerics
from draisine.simulation.trajectory import Key

MOST = 6
"""For how many contacts that touch at once there is room at first."""


def workspace(look: ContactQuery, numerics: Numerics) -> dict[str, Any]:
    """Return what all arcs of a run have in common: the step, the clock, samples, and room to work;
    and what its events have, by how many contacts touch at once.
    """
    n = look.y.size
    course = {
        "stages": stages(np.zeros(n), np.empty(STAGES * n), n, numerics.rtol, numerics.atol),
        "wheels": look.level,
        "box": np.zeros(6 * len(look.machine.wheels)),
        "start": numerics.start,
        "dt": numerics.dt,
        "slack": np.array(SLACK),
        "basis": BASIS,
        "clock": np.zeros(12),
        "times": np.empty(ROOM),
        "samples": np.empty(ROOM * n),
        "grazes": np.empty(2 * FEW),
        "local": np.empty(3 * NODES),
        "state": np.empty(n),
    }
    return {"course": course, "events": {}}


def event_room(look: ContactQuery, holds: int, most: int) -> dict[str, Any]:
    """Return room for events at which so many contacts touch at most."""
    names, wide = ("met", "who", "chosen", "held", "part", "slides"), look.row.size
    lists = zip(names, np.zeros((len(names), most + 1), dtype=np.int64), strict=True)
    return {
        "choice": Packed(empty_choice(look.n, holds, most)),
        "law": Packed(friction_law(most)),
        "most": most,
        "sizes": np.zeros(2, dtype=np.int64),
        "dents": look.dents,
        "beyond": np.empty(most + 1),
        "seen": np.empty((most + 1) * wide),
        "near": np.empty((most + 1) * wide),
        "ways": np.empty(2 * most + 2),
        "y": np.empty(look.y.size + 1),
        "rates": np.empty(look.y.size),
    } | dict(lists)


@dataclass(frozen=True, eq=False)
class Cause:
    """What made an event: contacts that fired, one whose feature ends, and those that are to be
    avoided, and whose features wheels have just left.
    """

    kind: str
    fired: Sequence[WheelOnFeature] = ()
    ends: WheelOnFeature | None = None
    avoid: frozenset[WheelOnFeature] = frozenset()
    gone: frozenset[WheelOnFeature] = frozenset()


@dataclass(frozen=True, eq=False)
class Stay:
    """Where a driver serves: contacts near while wheels' centres stay in boxes (low, high corner of
    each), until a time, by steps of a length; with so many contacts touching at once.
    """

    near: Surroundings
    boxes: Floats
    horizon: float
    longest: float
    most: int


class ArcDriver:
    """Leads through arcs and events while wheels are near the same features."""

    def __init__(
        self, look: ContactQuery, contact: ContactOptions, room: Mapping[str, Any], span: Stay
    ) -> None:
        self.look, self.near, self.begin = look, span.near, room["course"]["stages"].record.y
        self._contact, self._room, self._span = contact, room, span
        self._opened: tuple[Any, ...] = ()
        self._make(span.most)

    def _make(self, most: int) -> None:
        """Make the records for so many contacts that touch at once."""
        look, count, whole = self.look, len(self.near), np.int64
        self.most, self._opened = most, ()
        self.saddle = saddle(look.machine, look.motion, self.near.packed, most, look.x, look.modes)
        shared, inside = Packed(self.saddle), np.full(count + 1, BORDER)
        borders = int(np.diff(self.near.packed.record.first[: count + 1]).max(initial=0))
        self._make_course(shared, inside, 2 + count + most * (borders + 3))
        rooms = self._room["events"]
        if most not in rooms:
            rooms[most] = event_room(look, self.saddle.holds, most)
        rows, mu = look.grips(self.near, self._contact)
        edges = 1 - self.near.packed.record.planes[:count]
        self._sharp = edges * look.discs[self.near.wheels]  # edges that discs meet
        marks = zip(
            ("shut", "fired", "ended", "avoid"), np.zeros((4, count + 1), whole), strict=True
        )
        make: Any = Encounter  # of records that are packed already
        self.event: Encounter = make(
            saddle=shared,
            wheels=self._room["course"]["wheels"],
            box=self._room["course"]["box"],
            inside=inside,
            rows=rows,
            mu=mu,
            **dict(marks),
            **rooms[most],
        )
        self.packed_event = Packed(self.event)

    def _make_course(self, shared: Packed, inside: Floats, guards: int) -> None:
        """Make the record of arcs, with room for so many guards."""
        look, span, limit = self.look, self._span, self._contact.fall
        wheels = len(look.machine.wheels)
        count, numbers = len(self.near) + 1, np.zeros((4, guards), dtype=np.int64)
        make: Any = Course  # of records that are packed already
        self.record: Course = make(
            saddle=shared,
            inside=inside,
            swept=span.boxes,
            horizon=span.horizon,
            longest=span.longest,
            near=np.zeros(count, dtype=np.int64),
            guards=np.zeros(2, dtype=np.int64),
            fall=float(np.sin(min(limit, np.pi / 2))),
            values=np.empty(guards * NODES),
            moved=np.zeros(2 * wheels + 1),
            rows=np.empty((count + 2 * wheels) * look.row.size),
            **dict(zip(("live", "kinds", "contacts", "borders"), numbers, strict=True)),
            **self._room["course"],
        )
        self.packed = Packed(self.record)
        over = np.isfinite(limit) and has_frame(look.machine.system.model)
        self.falls = np.array([limit < np.pi / 2, over], dtype=np.int64)

    def close(self, closed: Sequence[Closed]) -> None:
        """Put the closed contacts in place."""
        s = self.saddle
        s.plan[CLOSED] = len(closed)
        for i, (contact, rows, mu) in enumerate(closed):
            s.which[i], s.status[i] = self.near.index[contact], rows
            s.mu[i] = mu if mu < np.inf else 0.0

    def open(self, closed: Sequence[Closed], gone: frozenset[WheelOnFeature]) -> None:
        """Make ready for an arc with closed contacts; features of contacts that are `gone` count only
        well inside their borders.
        """
        if self._opened == (wanted := (tuple(closed), gone)):
            return
        if len(closed) > self.most:
            self._make(len(closed))
        self.close(closed)
        self._leave_out(gone)
        look, record = self.look, self.record
        if look.code.find_mode(record.saddle):
            look.take_mode(closed)
            if (
                self.saddle.tables is not look.modes.tables
                or self.saddle.mode_out is not look.modes.out
            ):
                self._make(self.most)
                self.open(closed, gone)
                return
            look.code.find_mode(record.saddle)
        found = (record.saddle, self.falls, record.kinds, record.contacts, record.borders)
        record.guards[0] = look.code.set_guards(*found)
        self._opened = wanted

    def _leave_out(self, gone: frozenset[WheelOnFeature]) -> None:
        """Let features of contacts that are gone count only well inside their borders."""
        index, inside = self.near.index, self.record.inside
        inside[:] = BORDER
        for contact in gone:
            if contact in index:
                inside[index[contact]] = -BORDER

    # --- arcs

    def go(
        self, t: float, y: Floats, h: float, first: bool, ends: tuple[float, float], steps: int
    ) -> int:
        """Take some steps from a state until inputs jump or the run ends; what comes of them is in the
        record.
        """
        course, (stop, until) = self.record, ends
        self.begin[:] = y
        self.look.fill(t, y)
        last = float(np.nextafter(stop, t))
        course.clock[: march.PART] = t, h, last, h, stop, until, float(first), 0.0, 0.0
        return int(self.look.code.march(self.packed, steps))

    def grazes(self) -> list[tuple[float, WheelOnFeature]]:
        """Return when which open contacts came near on the last steps and did not touch."""
        found = self.record.grazes[: 2 * int(self.record.clock[march.GRAZES])]
        return [(t, self.near[int(k)]) for t, k in found.reshape(-1, 2).tolist()]

    def guard(self) -> tuple[int, int]:
        """Return the kind of the guard that told of an event, and its contact's number."""
        which = int(self.record.clock[march.WHICH])
        return int(self.record.kinds[which]), int(self.record.contacts[which])

    # --- events

    def resolve(self, t: float, y: Floats, closed: Sequence[Closed], cause: Cause) -> int:
        """Decide what the contacts that touch make of a state, as far as there is no impact; return how
        far that went.
        """
        index, how = self.near.index, FULL
        while how == FULL:
            self._opened, e = (), self.event
            self._leave_out(cause.gone)
            self.close(closed)
            for flags, some in ((e.fired, cause.fired), (e.ended, ()), (e.avoid, cause.avoid)):
                flags[:] = 0
                for contact in some:
                    if contact in index:
                        flags[index[contact]] = 1
            self.look.fill(t, y)
            own = -1 if cause.ends is None else index[cause.ends]
            unloads, slips = cause.kind == "lift-off", cause.kind == "slip"
            how = self.look.code.resolve(self.packed_event, own, int(unloads), int(slips))
            if how == FULL:
                self._make(2 * self.most)
        self._check(t, y, cause.ends is not None)
        return int(how)

    def _check(self, t: float, y: Floats, ends: bool) -> None:
        """Raise where a disc comes onto what it cannot meet."""
        e, look, wheels, sharp = self.event, self.look, self.near.wheels, self._sharp
        met, rows = e.met[: e.sizes[MET]].tolist(), e.seen.reshape(-1, look.row.size)
        for k, row in zip(met, rows, strict=False):
            if sharp[k]:
                look.check_plane(t, self.near[k], row)
        for k in (e.ended[: len(sharp)] * sharp).nonzero()[0].tolist() if ends else ():
            if all(wheels[other] != wheels[k] for other in met):
                look.check_end(t, y, self.near[k])

    def carry_on(self, t: float, y: Floats, cause: Cause) -> int:
        """Decide which contacts carry after an impact that left a state; return how far that went."""
        self.look.fill(t, y)
        return int(self.look.code.carry_on(self.packed_event, int(cause.kind == "slip")))

    def marked(self, name: str) -> list[WheelOnFeature]:
        """Return the contacts of an event that met, are left touching, fired or ended."""
        sizes, found = {"met": MET, "who": TOUCHING}, getattr(self.event, name)
        if name in sizes:
            return [self.near[k] for k in found[: self.event.sizes[sizes[name]]].tolist()]
        return [self.near[k] for k in found.nonzero()[0].tolist()]

    def hits(self) -> list[Candidate]:
        """Return the contacts that touch and hold rows in an impact."""
        e, look = self.event, self.look
        rows, out = e.near.reshape(-1, look.row.size), []
        for j, k in enumerate(e.who[: e.sizes[TOUCHING]].tolist()):
            if e.rows[k] > 0:
                found = (self.near[k], rows[j], float(e.mu[k]), int(e.rows[k]))
                out.append(look.candidate(*found))
        return out

    def mass_and_held(self) -> tuple[Floats, Floats]:
        """Return the mass matrix at an event, and independent rows that hold whatever touches."""
        m, n, out = self.look.motion.record, self.look.n, self.saddle.out
        held = out[m.held : m.held + self.saddle.holds * n].reshape(-1, n).copy()
        M = out[m.M : m.M + n * n].reshape(n, n).copy()
        return M, independent(held, np.zeros(len(held)))[0]

    def outcome(self) -> tuple[Floats, Floats, list[Closed]]:
        """Return the state that an event leaves, before and after it is settled, and the contacts that
        are closed then.
        """
        s, look = self.saddle, self.look
        some = s.which[: s.plan[CLOSED]].tolist()
        rows, mu = s.status.tolist(), self.event.mu[some].tolist()
        closed = [(self.near[k], rows[i], mu[i]) for i, k in enumerate(some)]
        return self.event.y[:-1].copy(), look.x[1 : 1 + look.y.size].copy(), closed

    def trials(self) -> tuple[list[Key], tuple[Trial, ...]]:
        """Return the contacts of the last choice at acceleration level, and the sets that were tried."""
        part = self.event.part[: self.event.sizes[TOUCHING]].tolist()
        who = self.marked("who")
        keys = [self.look.key(who[j]) for j in range(len(part)) if part[j] >= 0]
        return keys, trials_of(self._room["events"][self.most]["choice"].record, keys)


def drive_arcs(
    look: ContactQuery,
    contact: ContactOptions,
    room: Mapping[str, Any],
    t: float,
    box: Floats,
    begin: Floats | None = None,
) -> ArcDriver:
    """Return what leads through arcs and events from a time on, while wheels' centres are around boxes
    (low, high of each), which may hold a step's ways that begin somewhere.
    """
    near, speed = look.sweep(t, box, contact.margin, begin), look.ground_speed(t, box)
    wide, stay = near.boxes, np.inf
    if speed > 0:  # half of the margin is for the wheels, the other half for the ground
        wide, half = 0.5 * (box + wide), 0.5 * float(np.abs(wide - box).max())
        stay = half / speed
    longest = min(0.5 * stay, 0.5 * ROOM * room["course"]["dt"])
    return ArcDriver(look, contact, room, Stay(near, wide, t + stay, longest, MOST))
