"""Contacts of one machine with one ground, as routines read them."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.cache import hold_over_fork
from draisine.codegen.routine import Integers
from draisine.codegen.targets.native import Packed
from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.model import Wheel
from draisine.simulation.contact.kernels import ClosedForms, ContactColumns
from draisine.simulation.contact.status import Status, count_rows
from draisine.system.contact_programs import free_gap
from draisine.system.generic import Generic
from draisine.terrain import Feature, Terrain
from draisine.terrain.feature import Features, ObstacleMotion, gather, join

DEEP = 0.05
"""By how many metres a blade may be in the ground at most, where one looks for mistakes."""

KEPT, FEW = 256, 16
"""How many sets of contacts are at hand for routines, and how many of all that are around."""


class WheelOnFeature(NamedTuple):
    """A wheel on a feature, by index.

    Where a line has two points next to a torus, `side` tells them apart: 1 lies further along the
    edge than the axle does, -1 less far. The only one is 0.
    """

    wheel: int
    feature: int
    side: int = 0


INTEGERS = (
    "calls", "looks", "starts", "look_starts", "faces", "wheels", "likes", "planes", "moved", "folds",
    "carried",
)  # fmt: skip
FLOATS = ("reach", "radius", "bend", "crown")
"""Values that all contacts of a wheel with a kind of feature share: addresses of its programs and offsets of
their tables, whether the wheel is above a face, its index, an index of the pair, whether the feature is a
plane, the index of its motion, whether the wheel may touch it twice, whether the machine itself carries it;
how deep the wheel may be in it (m), how far from its centre it touches at most (m), the radius that curves
the gap (m), the radius of its ring's cross-section (m, NaN if it has none).
"""

LEVEL = Feature(
    "", "face", np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.zeros((0, 7)), *np.zeros((2, 3))
)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Contacts that may come about while wheels' centres stay in boxes (low and high corner of each,
    one after the other): their wheels, features and sides, in order, and all for routines.
    """

    boxes: Floats
    wheels: Integers
    features: Integers
    sides: Integers
    packed: Packed

    def __len__(self) -> int:
        return len(self.wheels)

    def __getitem__(self, k: int) -> WheelOnFeature:
        return WheelOnFeature(int(self.wheels[k]), int(self.features[k]), int(self.sides[k]))

    @cached_property
    def index(self) -> dict[WheelOnFeature, int]:
        """Where each contact stands."""
        found: dict[Any, int] = dict(zip(self._triples(), range(len(self)), strict=True))
        return found

    @property
    def contacts(self) -> tuple[WheelOnFeature, ...]:
        """The contacts."""
        return tuple(map(WheelOnFeature._make, self._triples()))

    def _triples(self) -> "zip[tuple[int, int, int]]":
        """Return wheel, feature and side of each contact."""
        return zip(self.wheels.tolist(), self.features.tolist(), self.sides.tolist(), strict=True)

    def holds(self, boxes: Floats) -> bool:
        """Return whether boxes lie in these."""
        own, other = self.boxes.reshape(-1, 2, 3), boxes.reshape(-1, 2, 3)
        return bool((own[:, 0] <= other[:, 0]).all() and (other[:, 1] <= own[:, 1]).all())


_lock = threading.RLock()
hold_over_fork(_lock)


class Meetings:
    """What is alike in all contacts of a wheel of one machine with a kind of feature that stands still or
    moves, met so far, as columns; and the closed forms of modes. Runs share it: its arrays are new ones
    where there is more to hold.
    """

    def __init__(self, machine: Generic) -> None:
        self.machine, self.forms = machine, ClosedForms(machine)
        # A compliant tyre touches by its free radius, before the wheel that is drawn under its load does.
        self.free = [float(free_gap(wheel)) for wheel in machine.wheels]
        reaches = [float(wheel.surface.reach) for wheel in machine.wheels]
        self.longest = [reach + free for reach, free in zip(reaches, self.free, strict=True)]
        self.columns: dict[tuple[int, str, ObstacleMotion | None], int] = {}
        self.integers = np.zeros((len(INTEGERS), 1), np.int64)
        self.floats = np.zeros((len(FLOATS), 1))
        self.tables = np.zeros(0)

    def column(self, wheel: int, kind: str, motion: ObstacleMotion | None) -> int:
        """Return where a wheel on a kind of feature stands."""
        with _lock:
            if (wheel, kind, motion) not in self.columns:
                self._meet(wheel, kind, motion)
            return self.columns[wheel, kind, motion]

    def _meet(self, wheel: int, kind: str, motion: ObstacleMotion | None) -> None:
        """Take up a wheel on a kind of feature."""
        bend, crown = 0.0, np.nan
        long = self.longest[wheel] if wheel < len(self.longest) else np.inf
        if kind in ("face", "edge", "vertex"):
            surface = self.machine.wheels[wheel].surface
            ring, thick = float(surface.ring), float(surface.thickness)
            bend = 0.0 if kind == "face" else thick or ring
            if ring + thick == float(surface.reach):
                crown = thick + self.free[wheel]
        face, plane = int(kind == "face" and long > 0), int(kind == "face")
        moved = 0 if motion is None else 1 + self.machine.motions.index(motion)
        twice = int(len(self.sides(wheel, kind)) > 1)
        own, like = (wheel, kind, motion), self.integers.shape[1]
        code, sight = self.machine.contacts[own], self.machine.contacts.geometry(own)
        starts = (len(self.tables), len(self.tables) + len(code.table))
        carried = int(kind not in ("face", "edge", "vertex"))
        whole = [code.address, sight.address, *starts, face, wheel, like, plane, moved, twice]
        whole.append(carried)
        size = (self.reach(wheel), long or DEEP, bend, crown)
        self.tables = np.concatenate([self.tables, code.table, sight.table])
        self.integers = np.column_stack([self.integers, whole])
        self.floats = np.column_stack([self.floats, size])
        self.columns[wheel, kind, motion] = like

    def sides(self, wheel: int, kind: str) -> tuple[int, ...]:
        """Return which points of a feature a wheel may touch: a torus may touch an edge twice, a disc
        no vertex.
        """
        if (wheel, kind, None) not in self.machine.contacts:
            return ()
        if kind != "edge":
            return (0,)
        surface = self.machine.wheels[wheel].surface
        return (0, 1, -1) if surface.ring and surface.thickness else (0,)

    def reach(self, wheel: int) -> float:
        """Return how deep a wheel may be at most before it counts as sunk: a wheel's radius; for a
        blade DEEP; a tyre on a spring never does.
        """
        if wheel >= len(self.longest):
            return np.inf
        it = self.machine.wheels[wheel]
        if isinstance(it, Wheel) and getattr(it.tyre, "sprung", False):
            return 0.0
        return self.longest[wheel] or DEEP

    def take_mode(self, closed: Sequence[tuple[int, str, ObstacleMotion | None, Status]]) -> None:
        """Let routines know a mode: wheels on kinds of features, and the status of each."""
        likes = [self.column(wheel, kind, motion) for wheel, kind, motion, _ in closed]
        statuses = [status for *_, status in closed]
        signature = tuple((wheel, kind, count_rows(status)) for wheel, kind, _, status in closed)
        moved = any(motion is not None for *_, motion, _ in closed)
        with _lock:
            self.forms.add(likes, statuses, signature, moved)


def meetings(machine: Generic) -> Meetings:
    """Return what runs of a machine share."""
    with _lock:
        found = machine.shared.get(Meetings) or Meetings(machine)
        machine.shared[Meetings] = found
    return found


class FeatureTable:
    """The features of one ground that were asked for so far, for one machine; stops of joints and flats of
    bodies are its own.
    """

    def __init__(
        self, machine: Generic, terrain: Terrain, own: Mapping[WheelOnFeature, Feature]
    ) -> None:
        self.machine, self.terrain, self._own = machine, terrain, own
        self.meetings = meetings(machine)
        self._features = gather([LEVEL, *own.values()])
        self._rows: dict[Any, int] = {contact: 1 + k for k, contact in enumerate(own)}
        self._known: dict[tuple[WheelOnFeature, ...], Packed] = {}
        self._around: dict[Any, tuple[Integers, Integers, Integers, Packed]] = {}

    def feature(self, contact: WheelOnFeature) -> Feature:
        """Return what a contact touches: a feature of the terrain, a joint's stop, or a flat of
        another body.
        """
        return self._own[contact] if contact in self._own else self.terrain[contact.feature]

    def name(self, contact: WheelOnFeature) -> str:
        """Return the name of what a contact touches."""
        own = self._own.get(contact)
        return self.terrain.name(contact.feature) if own is None else own.name

    def kind(self, contact: WheelOnFeature) -> tuple[str, ObstacleMotion | None]:
        """Return the kind of what a contact touches, and how it moves."""
        return self._features.kinds[self._features.kind[self._row(contact)]]

    # --- contacts for routines

    def bundle(self, contacts: Sequence[WheelOnFeature]) -> Packed:
        """Return contacts for routines; sets asked for lately are at hand."""
        wanted = tuple(contacts)
        if wanted not in self._known:
            rows = [self._row(c) for c in wanted]
            wheels, _, sides = np.array(wanted, int).reshape(-1, 3).T
            remember(self._known, wanted, self._pack(wheels, sides, np.array(rows, int)))
        return self._known[wanted]

    def surroundings(self, boxes: Floats, features: Sequence[Sequence[int]]) -> Surroundings:
        """Return the contacts that may come about while wheels' centres stay in boxes: with features of
        the terrain, ascending, given for each wheel, and with what is the machine's own; those asked for
        lately are at hand.
        """
        wanted = tuple(map(tuple, features))
        if wanted not in self._around:
            remember(self._around, wanted, self._surround(wanted), FEW)
        return Surroundings(boxes, *self._around[wanted])

    def _surround(
        self, features: tuple[tuple[int, ...], ...]
    ) -> tuple[Integers, Integers, Integers, Packed]:
        """Return wheels, features and sides of contacts in order, and all for routines."""
        found = [(*c, self._rows[c]) for c in self._own]
        parts = [np.array(found, int).reshape(-1, 4)]
        self._take(list(dict.fromkeys(chain(*features))))  # all that are new at once
        for wheel, some in enumerate(features):
            rows, numbers = np.array(self._take(some), int), np.array(some, int)
            count = np.array(
                [len(self.meetings.sides(wheel, kind)) for kind, _ in self._features.kinds]
            )
            times = count[self._features.kind[rows]]
            each = np.repeat(np.arange(len(rows)), times)
            side = np.where(times[each] > 1, np.arange(len(each)) - times.cumsum()[each] + 2, 0)
            columns = (np.full(len(each), wheel), numbers[each], side, rows[each])
            parts.append(np.column_stack(columns))
        whole = np.concatenate(parts)
        if found:
            whole = whole[np.lexsort(whole[:, 2::-1].T)]
        wheels, numbers, sides, rows = np.ascontiguousarray(whole.T)
        return wheels, numbers, sides, self._pack(wheels, sides, rows)

    def level(self) -> Packed:
        """Return all wheels on the level plane, to ask for their centres."""
        wheels = np.arange(len(self.machine.wheels))
        return self._pack(wheels, 0 * wheels, 0 * wheels)

    def _pack(self, wheels: Integers, sides: Integers, rows: Integers) -> Packed:
        """Return wheels on features as a record of arrays. Behind the last contact there is one that
        is none: no array is empty.
        """
        near, shared, count = self._features.take(np.append(rows, 0)), self.meetings, len(rows)
        alike = np.zeros(count + 1, int)
        for wheel in np.unique(wheels).tolist():
            own = wheels == wheel
            kinds = np.unique(near.kind[:-1][own]).tolist()
            columns = np.zeros(len(near.kinds), int)
            columns[kinds] = [shared.column(wheel, *near.kinds[kind]) for kind in kinds]
            alike[:-1][own] = columns[near.kind[:-1][own]]
        some: dict[str, Any] = dict(zip(INTEGERS, shared.integers.take(alike, axis=1), strict=True))
        some |= zip(FLOATS, shared.floats.take(alike, axis=1), strict=True)
        features = np.zeros((count + 1, FEATURE))
        features[:, :SIDE], features[:-1, SIDE] = near.numbers, sides
        some["borders"], some["features"] = near.borders.ravel(), features.ravel()
        some["low"], some["high"], some["first"] = near.low.ravel(), near.high.ravel(), near.first
        x_f = self.machine.inputs.f.start
        return Packed(ContactColumns(count, tables=shared.tables, x_f=x_f, **some))

    def pick(self, features: Sequence[int]) -> Features:
        """Return features of the terrain by their numbers; known ones are not made again."""
        rows = np.array(self._take(features), int)
        return self._features.take(rows)

    # --- what is taken up

    def _row(self, contact: WheelOnFeature) -> int:
        """Return the row of what a contact touches."""
        own = self._rows.get(contact)
        return self._take([contact.feature])[0] if own is None else own

    def _take(self, features: Sequence[int]) -> list[int]:
        """Return the rows of features of the terrain, which are taken up where they are new."""
        known = self._rows
        new = sorted({k for k in features if k not in known})
        if new:
            known |= zip(
                new, range(len(self._features), len(self._features) + len(new)), strict=True
            )
            self._features = join([self._features, self.terrain.pick(new)])
        return [known[k] for k in features]


def remember(known: dict[Any, Any], key: Any, made: Any, most: int = KEPT) -> None:
    """Keep what was made, and forget the oldest where there is too much."""
    if len(known) >= most:
        del known[next(iter(known))]
    known[key] = made
