"""Contacts of one system with one terrain as records of arrays, the input of compiled routines.

A feature is a face, edge, vertex or smooth patch of the ground, a flat of a body or a stop of a joint.

Programs and sizes depend on the pair of a wheel and a kind of feature only (`PairTable`, shared by all runs
of a system). Coordinates, borders and bounding boxes belong to single features (`FeatureTable`, one per
terrain). A set of contacts is packed by indexing the columns of `PairTable` and the rows of `FeatureTable`.
The contacts near the wheels of a run are searched by routines (`nearby`).
"""

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.cache import hold_over_fork
from draisine.codegen.routine import Integers
from draisine.codegen.targets.native import make_record
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
        self._contacts: ContactColumns | None = None  # see `contacts`; None after a pair was added

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
        pair = self.integers.shape[1]
        integers, floats, tables = self._describe_pair(wheel, kind, motion, pair, len(self.tables))
        self.tables = np.concatenate([self.tables, *tables])
        self.integers = np.column_stack([self.integers, integers])
        self.floats = np.column_stack([self.floats, floats])
        self.columns[wheel, kind, motion] = pair
        self._contacts = None

    def _describe_pair(
        self, wheel: int, kind: str, motion: ObstacleMotion | None, pair: int, first: int
    ) -> tuple[list[int], list[float], tuple[Floats, Floats]]:
        """Return the column of a pair: its integers, its floats, and the constants of its two programs.
        `pair` is its index, and `first` the offset of the constants in `tables`.
        """
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
        integers = {
            "row_programs": rows.address,
            "gap_programs": gaps.address,
            "row_tables": first,
            "gap_tables": first + len(rows.table),
            "faces": int(kind in ("face", "patch") and radius > 0),
            "wheels": wheel,
            "pair": pair,
            "planes": int(kind in ("face", "patch")),
            "moved": 0 if motion is None else 1 + self.machine.motions.index(motion),
            "folds": int(kind == "patch" or self.count_sides(wheel, kind) > 1),
            "carried": int(kind not in GROUND_KINDS),
            "patches": int(kind == "patch"),
        }
        floats = [self.reach(wheel), radius or MAX_BLADE_DEPTH, bend, crown]
        return [integers[name] for name in INTEGER_COLUMNS], floats, (rows.table, gaps.table)

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

    def take(self, pairs: Integers) -> dict[str, Any]:
        """Return the fields of `ContactColumns` that depend on the pair alone, for contacts of some pairs."""
        fields: dict[str, Any] = dict(
            zip(INTEGER_COLUMNS, self.integers.take(pairs, axis=1), strict=True)
        )
        return fields | dict(zip(FLOAT_COLUMNS, self.floats.take(pairs, axis=1), strict=True))

    def contacts(self) -> ContactColumns:
        """Return one contact of each pair; only fields that depend on the pair alone are valid."""
        with _lock:
            if self._contacts is None:
                count = self.integers.shape[1]
                self._contacts = make_record(
                    ContactColumns,
                    size=count,
                    tables=self.tables if len(self.tables) else 1,
                    x_f=0,
                    x_cell=0,
                    **dict.fromkeys(("features", "borders", "first", "low", "high", "cells"), 1),
                    **self.take(np.arange(count)),
                )
            return self._contacts

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

    def with_parameters(self, machine: Generic) -> "PairTable":
        """Return the table of the same pairs for a system with other parameters."""
        with _lock:
            other = PairTable(machine)
            integers = [other.integers[:, 0]]
            floats = [other.floats[:, 0]]
            tables: list[Floats] = []
            first = 0
            for key, pair in self.columns.items():
                column, properties, constants = other._describe_pair(*key, pair, first)
                integers.append(np.array(column, np.int64))
                floats.append(np.array(properties))
                tables += constants
                first += sum(map(len, constants))
            other.columns = dict(self.columns)
            other.integers = np.stack(integers, axis=1)
            other.floats = np.stack(floats, axis=1)
            other.tables = np.concatenate([other.tables, *tables])
            other.forms = self.forms.with_parameters(machine)
        return other


def shared_pair_table(machine: Generic, known: PairTable | None = None) -> PairTable:
    """Return the pair table that all runs of a system share. A new one contains the pairs of `known`, the
    table of a system with other parameters, because deriving a closed-form solution again costs more.
    """
    with _lock:
        table: PairTable | None = machine.shared.get(PairTable)
        if table is None:
            table = PairTable(machine) if known is None else known.with_parameters(machine)
            machine.shared[PairTable] = table
    return table


class FeatureTable:
    """Features that the wheels of one system may touch on one terrain, as arrays for routines.

    `attached` contains the features that move with the system: stops of joints and flats of bodies.
    """

    def __init__(
        self, machine: Generic, terrain: Terrain, attached: Mapping[WheelOnFeature, Feature]
    ) -> None:
        self.machine = machine
        self.terrain = terrain
        self._attached = dict(attached)
        self.regions: list[Any] = []  # the latest loaded regions of the ground, see `nearby.ground`
        self.pairs = shared_pair_table(machine)
        # The level plane, then the attached features; features of the terrain follow in a set of contacts.
        self._features = stack_features([LEVEL_PLANE, *attached.values()])
        self._rows = {contact: 1 + k for k, contact in enumerate(attached)}
        self._packed: dict[tuple[WheelOnFeature, ...], ContactColumns] = {}

    def change_machine(self, machine: Generic) -> None:
        """Replace the parameters of the system. The features that move with it remain the same."""
        self.machine = machine
        self.pairs = shared_pair_table(machine, self.pairs)
        kinds = [(contact.wheel, *self.kind(contact)) for contact in self.attached]
        self._change_pairs(self.attached_contacts, kinds)

    def change_ground(self, terrain: Terrain) -> None:
        """Replace the features of the ground. Those that move with the system remain packed."""
        self.terrain = terrain
        self.regions.clear()
        self._packed.clear()

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
        feature = self.feature(contact)
        return feature.kind, feature.motion

    # --- contacts for routines

    @cached_property
    def attached(self) -> tuple[WheelOnFeature, ...]:
        """The contacts with features that move with the system, in ascending order."""
        return tuple(sorted(self._attached))

    @cached_property
    def attached_contacts(self) -> ContactColumns:
        """The contacts of `attached` as `ContactColumns`; they do not depend on the ground."""
        rows = np.array([*(self._rows[contact] for contact in self.attached), 0], int)
        wheels, _, sides = np.array(self.attached, int).reshape(-1, 3).T
        return self._pack(wheels, sides, self._features.take(rows))

    def pack(self, contacts: Sequence[WheelOnFeature]) -> ContactColumns:
        """Return contacts as `ContactColumns`; the latest sets are cached."""
        key = tuple(contacts)
        if key not in self._packed:
            ground = sorted({contact.feature for contact in key if contact not in self._rows})
            features = self._features
            if ground:
                features = concatenate_features([features, self.terrain.pick(ground)])
            rows: dict[Any, int] = {k: len(self._features) + i for i, k in enumerate(ground)}
            indices = [self._rows.get(c) or rows[c.feature] for c in key]
            wheels, _, sides = np.array(key, int).reshape(-1, 3).T
            columns = self._pack(wheels, sides, features.take(np.array([*indices, 0], int)))
            cache_latest(self._packed, key, columns)
        return self._packed[key]

    def level(self) -> ContactColumns:
        """Return the contacts of all wheels with a level plane; their contact rows contain the wheel
        centres.
        """
        wheels = np.arange(len(self.machine.wheels))
        planes = self._features.take(np.zeros(len(wheels) + 1, int))
        return self._pack(wheels, 0 * wheels, planes)

    def change_wheels(self, contacts: ContactColumns) -> None:
        """Write the parameters of the system into contacts with fixed faces, one per wheel, that `level`
        returned.
        """
        wheels = range(len(self.machine.wheels))
        self._change_pairs(contacts, [(wheel, "face", None) for wheel in wheels])

    def _change_pairs(
        self, contacts: ContactColumns, kinds: Sequence[tuple[int, str, ObstacleMotion | None]]
    ) -> None:
        """Write the fields that depend on the pairs alone into contacts, whose pairs are given."""
        pairs = self.pairs
        columns = [pairs.column(*kind) for kind in kinds]
        contacts.assign(tables=pairs.tables, **pairs.take(np.array([*columns, 0])))

    def _pack(self, wheels: Integers, sides: Integers, near: Features) -> ContactColumns:
        """Return wheels on features as `ContactColumns`.

        A dummy contact follows the last one, so that no array is empty.
        """
        pairs = self.pairs
        count = len(wheels)
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
        return ContactColumns(
            size=count,
            tables=pairs.tables,
            x_f=self.machine.inputs.f.start,
            features=features.ravel(),
            borders=near.borders.ravel(),
            first=near.first,
            low=near.low.ravel(),
            high=near.high.ravel(),
            cells=near.cells.ravel() if near.cells.size else np.zeros(1),
            x_cell=self.machine.inputs.cell.start,
            **pairs.take(pair),
        )


def cache_latest(cache: dict[Any, Any], key: Any, value: Any, most: int = MAX_CACHED_SETS) -> None:
    """Add an entry to a cache; if it exceeds `most` entries, the oldest one is removed."""
    if len(cache) >= most:
        del cache[next(iter(cache))]
    cache[key] = value
