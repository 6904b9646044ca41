"""Contacts of one system with one terrain as records of arrays, the input of compiled routines.

A feature is a face, edge, vertex or smooth patch of the ground, a flat of a body or a stop of a joint.

Programs and sizes depend on the pair of a wheel and a kind of feature only (`PairTable`, shared by all runs
of a system). Coordinates, borders and bounding boxes belong to single features (`FeatureTable`, one per
terrain). A set of contacts is packed by indexing the columns of `PairTable` and the rows of `FeatureTable`.
"""

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
from draisine.terrain.feature import Features, ObstacleMotion, concatenate_features, stack_features

MAX_BLADE_DEPTH = 0.05
"""Largest penetration (m) of a blade; a deeper blade counts as below the ground, not as penetrating."""

MAX_CACHED_SETS = 256
"""Largest number of packed contact sets in the cache; a run rarely has as many contact modes."""

MAX_CACHED_SURROUNDINGS = 16
"""Largest number of packed surroundings (contacts near the wheels) in the cache. They need more memory than
contact sets, and only the latest ones recur.
"""


class WheelOnFeature(NamedTuple):
    """A contact, identified by the indices of its wheel and its ground feature."""

    wheel: int
    feature: int
    # side of the contact if a torus touches an edge twice: 1 is further along the edge than the
    # axle, -1 before it; 0 if it touches once
    side: int = 0


INTEGER_COLUMNS = (
    "row_programs", "gap_programs", "row_tables", "gap_tables", "faces", "wheels", "pair", "planes",
    "moved", "folds", "carried", "patches",
)  # fmt: skip
FLOAT_COLUMNS = ("reach", "radius", "bend", "crown")
"""Fields of `ContactColumns` that depend on the pair of wheel and kind of feature only."""

GROUND_KINDS = ("face", "edge", "vertex", "patch")
"""Kinds of features of the terrain. All other features, flats of bodies and stops of joints, move with the
system.
"""

LEVEL_PLANE = Feature(
    "", "face", np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), np.zeros((0, 7)), *np.zeros((2, 3))
)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Contacts that can close while the wheels' centres stay inside boxes, in ascending order."""

    boxes: Floats  # (wheels, 2, 3) m, low and high corner of each box, flat
    wheels: Integers  # (contacts) index of the wheel of each contact
    features: Integers  # (contacts) index of the feature of each contact
    sides: Integers  # (contacts) side of each contact, see `WheelOnFeature`
    packed: Packed  # the contacts as packed `ContactColumns`

    def __len__(self) -> int:
        return len(self.wheels)

    def __getitem__(self, k: int) -> WheelOnFeature:
        return WheelOnFeature(int(self.wheels[k]), int(self.features[k]), int(self.sides[k]))

    @cached_property
    def index(self) -> dict[WheelOnFeature, int]:
        """The index of each contact in these surroundings."""
        numbers: dict[Any, int] = dict(zip(self._triples(), range(len(self)), strict=True))
        return numbers

    @property
    def contacts(self) -> tuple[WheelOnFeature, ...]:
        """All contacts of these surroundings, in ascending order."""
        return tuple(map(WheelOnFeature._make, self._triples()))

    def _triples(self) -> "zip[tuple[int, int, int]]":
        """Return (wheel, feature, side) of each contact."""
        return zip(self.wheels.tolist(), self.features.tolist(), self.sides.tolist(), strict=True)

    def encloses(self, boxes: Floats) -> bool:
        """Return whether other boxes (wheels, 2, 3) lie inside the boxes of these surroundings."""
        outer = self.boxes.reshape(-1, 2, 3)
        inner = boxes.reshape(-1, 2, 3)
        return bool((outer[:, 0] <= inner[:, 0]).all() and (inner[:, 1] <= outer[:, 1]).all())


_lock = threading.RLock()
hold_over_fork(_lock)


class PairTable:
    """Properties of contacts that depend only on wheel and kind of feature, one array column per pair, and
    the closed-form solutions of contact modes.

    All runs of a system share it. Arrays are replaced when a pair is added, never changed in place.
    """

    def __init__(self, machine: Generic) -> None:
        self.machine = machine
        self.forms = ClosedForms(machine)
        # A compliant tyre touches at its unloaded radius, larger than the radius in the model,
        # which is that under load.
        self.free = [float(free_gap(wheel)) for wheel in machine.wheels]
        reaches = [float(wheel.surface.reach) for wheel in machine.wheels]
        self.longest = [reach + free for reach, free in zip(reaches, self.free, strict=True)]
        self.columns: dict[tuple[int, str, ObstacleMotion | None], int] = {}
        self.integers = np.zeros((len(INTEGER_COLUMNS), 1), np.int64)
        self.floats = np.zeros((len(FLOAT_COLUMNS), 1))
        self.tables = np.zeros(0)

    def column(self, wheel: int, kind: str, motion: ObstacleMotion | None) -> int:
        """Return the column index of the pair of a wheel and a kind of feature, fixed or with a given
        motion.
        """
        with _lock:
            if (wheel, kind, motion) not in self.columns:
                self._add_pair(wheel, kind, motion)
            return self.columns[wheel, kind, motion]

    def _add_pair(self, wheel: int, kind: str, motion: ObstacleMotion | None) -> None:
        """Add the column of the pair of a wheel and a kind of feature, fixed or with a prescribed motion."""
        bend = 0.0
        crown = np.nan
        radius = self.longest[wheel] if wheel < len(self.longest) else np.inf
        if kind in GROUND_KINDS:
            surface = self.machine.wheels[wheel].surface
            ring = float(surface.ring)
            thickness = float(surface.thickness)
            bend = thickness or ring if kind in ("edge", "vertex") else 0.0
            if ring + thickness == float(surface.reach):
                crown = thickness + self.free[wheel]
        rows = self.machine.contacts[wheel, kind, motion]
        gaps = self.machine.contacts.geometry((wheel, kind, motion))
        pair = self.integers.shape[1]
        integers = {
            "row_programs": rows.address,
            "gap_programs": gaps.address,
            "row_tables": len(self.tables),
            "gap_tables": len(self.tables) + len(rows.table),
            "faces": int(kind in ("face", "patch") and radius > 0),
            "wheels": wheel,
            "pair": pair,
            "planes": int(kind in ("face", "patch")),
            "moved": 0 if motion is None else 1 + self.machine.motions.index(motion),
            "folds": int(kind == "patch" or self.count_sides(wheel, kind) > 1),
            "carried": int(kind not in GROUND_KINDS),
            "patches": int(kind == "patch"),
        }
        floats = (self.reach(wheel), radius or MAX_BLADE_DEPTH, bend, crown)
        self.tables = np.concatenate([self.tables, rows.table, gaps.table])
        self.integers = np.column_stack(
            [self.integers, [integers[name] for name in INTEGER_COLUMNS]]
        )
        self.floats = np.column_stack([self.floats, floats])
        self.columns[wheel, kind, motion] = pair

    def count_sides(self, wheel: int, kind: str) -> int:
        """Return the number of contacts that a wheel may have with one feature: three for a torus and an edge
        (a single contact, or one on either side), none for a disc and a vertex.
        """
        if (wheel, kind, None) not in self.machine.contacts:
            return 0
        if kind != "edge":
            return 1
        surface = self.machine.wheels[wheel].surface
        return 3 if surface.ring and surface.thickness else 1

    def reach(self, wheel: int) -> float:
        """Return the largest depth (m) that counts as penetration of a wheel: its radius, or
        `MAX_BLADE_DEPTH` for a blade. The deflection of a tyre on a vertical spring does not count (0).
        """
        if wheel >= len(self.longest):
            return np.inf
        model = self.machine.wheels[wheel]
        if isinstance(model, Wheel) and getattr(model.tyre, "sprung", False):
            return 0.0
        return self.longest[wheel] or MAX_BLADE_DEPTH

    def add_closed_form(
        self, closed: Sequence[tuple[int, str, ObstacleMotion | None, Status]]
    ) -> None:
        """Add the closed-form solution of a contact mode, given by wheels on kinds of features with their
        statuses.
        """
        pairs = [self.column(wheel, kind, motion) for wheel, kind, motion, _ in closed]
        statuses = [status for *_, status in closed]
        signature = tuple((wheel, kind, count_rows(status)) for wheel, kind, _, status in closed)
        moved = any(motion is not None for *_, motion, _ in closed)
        with _lock:
            self.forms.add(pairs, statuses, signature, moved)


def shared_pair_table(machine: Generic) -> PairTable:
    """Return the pair table that all runs of a system share."""
    with _lock:
        table = machine.shared.get(PairTable) or PairTable(machine)
        machine.shared[PairTable] = table
    return table


class FeatureTable:
    """Features of one terrain that have been near a wheel of one system, stored as rows of arrays.

    `attached` contains the features that move with the system: stops of joints and flats of bodies.
    """

    def __init__(
        self, machine: Generic, terrain: Terrain, attached: Mapping[WheelOnFeature, Feature]
    ) -> None:
        self.machine = machine
        self.terrain = terrain
        self._attached = attached
        self.pairs = shared_pair_table(machine)
        self._features = stack_features([LEVEL_PLANE, *attached.values()])
        # Row indices in `_features`: by contact for attached features, by index for terrain
        # features.
        self._rows: dict[Any, int] = {contact: 1 + k for k, contact in enumerate(attached)}
        self._packed: dict[tuple[WheelOnFeature, ...], Packed] = {}
        self._surroundings: dict[Any, tuple[Integers, Integers, Integers, Packed]] = {}

    def feature(self, contact: WheelOnFeature) -> Feature:
        """Return the feature of a contact: of the terrain, a joint's stop, or a flat of another body."""
        attached = self._attached.get(contact)
        return self.terrain[contact.feature] if attached is None else attached

    def name(self, contact: WheelOnFeature) -> str:
        """Return the name of the feature of a contact."""
        attached = self._attached.get(contact)
        return self.terrain.name(contact.feature) if attached is None else attached.name

    def kind(self, contact: WheelOnFeature) -> tuple[str, ObstacleMotion | None]:
        """Return kind and prescribed motion (None if fixed) of the feature of a contact."""
        row = self._row(contact)  # must precede the use of `_features`, which `_row` may replace
        return self._features.kinds[self._features.kind[row]]

    # --- contacts for routines

    def pack(self, contacts: Sequence[WheelOnFeature]) -> Packed:
        """Return contacts as packed `ContactColumns`; the latest sets are cached."""
        key = tuple(contacts)
        if key not in self._packed:
            rows = [self._row(contact) for contact in key]
            wheels, _, sides = np.array(key, int).reshape(-1, 3).T
            cache_latest(self._packed, key, self._pack(wheels, sides, np.array(rows, int)))
        return self._packed[key]

    def surroundings(self, boxes: Floats, features: Sequence[Sequence[int]]) -> Surroundings:
        """Return the contacts that can close while the wheels' centres stay inside boxes (wheels, 2, 3).

        `features` lists the terrain features near each wheel in ascending order. Attached features are
        added. The latest surroundings are cached.
        """
        key = tuple(map(tuple, features))
        if key not in self._surroundings:
            cache_latest(self._surroundings, key, self._surround(key), MAX_CACHED_SURROUNDINGS)
        return Surroundings(boxes, *self._surroundings[key])

    def _surround(
        self, features: tuple[tuple[int, ...], ...]
    ) -> tuple[Integers, Integers, Integers, Packed]:
        """Return wheels, features and sides of the contacts in ascending order, and their packed columns."""
        attached = [(*contact, self._rows[contact]) for contact in self._attached]
        contacts = [np.array(attached, int).reshape(-1, 4)]
        # Add all new features at once: each addition copies the table.
        self._add_features(list(dict.fromkeys(chain(*features))))
        for wheel, numbers in enumerate(features):
            rows = np.array(self._add_features(numbers), int)
            sides_of_kind = np.array(
                [self.pairs.count_sides(wheel, kind) for kind, _ in self._features.kinds]
            )
            counts = sides_of_kind[self._features.kind[rows]]
            which = np.repeat(np.arange(len(rows)), counts)
            # Three contacts with an edge have the sides -1, 0, 1 in this order.
            side = np.where(
                counts[which] > 1, np.arange(len(which)) - counts.cumsum()[which] + 2, 0
            )
            wheels = np.full(len(which), wheel)
            columns = (wheels, np.array(numbers, int)[which], side, rows[which])
            contacts.append(np.column_stack(columns))
        table = np.concatenate(contacts)
        if attached:
            table = table[np.lexsort(table[:, 2::-1].T)]
        wheels, indices, sides, rows = np.ascontiguousarray(table.T)
        return wheels, indices, sides, self._pack(wheels, sides, rows)

    def level(self) -> Packed:
        """Return the packed contacts of all wheels with a level plane; their contact rows contain the wheel
        centres.
        """
        wheels = np.arange(len(self.machine.wheels))
        return self._pack(wheels, 0 * wheels, 0 * wheels)

    def _pack(self, wheels: Integers, sides: Integers, rows: Integers) -> Packed:
        """Return wheels on features as packed `ContactColumns`.

        A dummy contact follows the last one, so that no array is empty.
        """
        near = self._features.take(np.append(rows, 0))
        pairs = self.pairs
        count = len(rows)
        pair = np.zeros(count + 1, int)
        for wheel in np.unique(wheels).tolist():
            is_of_wheel = wheels == wheel
            kinds = np.unique(near.kind[:-1][is_of_wheel]).tolist()
            columns = np.zeros(len(near.kinds), int)
            columns[kinds] = [pairs.column(wheel, *near.kinds[kind]) for kind in kinds]
            pair[:-1][is_of_wheel] = columns[near.kind[:-1][is_of_wheel]]
        features = np.zeros((count + 1, FEATURE))
        features[:, :SIDE] = near.numbers
        features[:-1, SIDE] = sides
        by_pair: dict[str, Any] = dict(
            zip(INTEGER_COLUMNS, pairs.integers.take(pair, axis=1), strict=True)
        )
        by_pair |= zip(FLOAT_COLUMNS, pairs.floats.take(pair, axis=1), strict=True)
        return Packed(
            ContactColumns(
                count,
                tables=pairs.tables,
                x_f=self.machine.inputs.f.start,
                features=features.ravel(),
                borders=near.borders.ravel(),
                first=near.first,
                low=near.low.ravel(),
                high=near.high.ravel(),
                cells=near.cells.ravel() if near.cells.size else np.zeros(1),
                x_cell=self.machine.inputs.cell.start,
                **by_pair,
            )
        )

    def pick(self, features: Sequence[int]) -> Features:
        """Return features of the terrain by their indices; features of earlier searches are reused."""
        rows = np.array(self._add_features(features), int)  # must precede the use of `_features`
        return self._features.take(rows)

    # --- rows of the feature table

    def _row(self, contact: WheelOnFeature) -> int:
        """Return the row index of a contact's feature in the feature table; a missing row is added."""
        row = self._rows.get(contact)
        return self._add_features([contact.feature])[0] if row is None else row

    def _add_features(self, features: Sequence[int]) -> list[int]:
        """Return the row indices of terrain features in the feature table; missing rows are added."""
        rows = self._rows
        new = sorted({k for k in features if k not in rows})
        if new:
            first = len(self._features)
            rows |= zip(new, range(first, first + len(new)), strict=True)
            self._features = concatenate_features([self._features, self.terrain.pick(new)])
        return [rows[k] for k in features]


def cache_latest(cache: dict[Any, Any], key: Any, value: Any, most: int = MAX_CACHED_SETS) -> None:
    """Add an entry to a cache; if it exceeds `most` entries, the oldest one is removed."""
    if len(cache) >= most:
        del cache[next(iter(cache))]
    cache[key] = value
