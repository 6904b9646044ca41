"""The Python side of the search of nearby contacts: it makes the records, loads ground features and names the
contacts that a search finds.
"""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import make_record, routine_code
from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact.kernels import ContactColumns
from draisine.simulation.contact.nearby.ground import (
    MAX_WATCHED_FEATURES,
    REGION_RATIO,
    Region,
    change_wheels,
    find_region,
    forget_region,
    load_region,
    load_whole_ground,
    make_ground_table,
)
from draisine.simulation.contact.nearby.search import (
    ATTACHED,
    SMALLEST_MARGIN,
    NearbyContacts,
    SearchResult,
    find_within,
)
from draisine.simulation.contact.table import FLOAT_COLUMNS, INTEGER_COLUMNS, WheelOnFeature
from draisine.simulation.options import ContactOptions

if TYPE_CHECKING:
    from draisine.simulation.contact.query import ContactQuery

MIN_CAPACITY = 128
"""Smallest capacity of a table in contacts, so that other small grounds need no new records."""

STEP_MARGIN_RATIO = 2.0
"""Largest search margin of time steps, in wheel sizes; a wider search finds more ground features than a step
should test.
"""


@cache
def search_code() -> Any:
    """Return the machine code of the search, as attributes of one object."""
    (code,) = routine_code(find_within, passes="few")
    return SimpleNamespace(find_within=code)


class Nearby:
    """The contacts near the wheels of a system.

    Parameters
    ----------
    query
        The system on its terrain.
    options
        Friction coefficients and search margin.

    Attributes
    ----------
    terrain
        The ground to which the features belong; `change_ground` replaces it.
    record
        The table of nearby contacts, which routines fill.
    ground
        The ground features of the present region.
    """

    def __init__(self, query: "ContactQuery", options: ContactOptions, capacity: int = 0) -> None:
        self.query = query
        self.options = options
        self.terrain = query.ground
        self.ground = make_ground_table(query, options)
        self.most_borders = 1
        self._searches = 0  # number of searches of which this object knows the result
        self.is_complete = False  # whether the table contains all contacts with a small ground
        self._capacity = capacity
        self._ratio = 1.0  # search margins, as a multiple of the requested ones
        self._region: Region | None = None
        self._size = 0  # number of contacts; reading it from the record costs more
        self._index: dict[WheelOnFeature, int] | None = None
        wheels = len(query.machine.wheels)
        contacts: ContactColumns = make_record(
            ContactColumns,
            size=0,
            tables=query.table.pairs.tables,
            x_f=query.machine.inputs.f.start,
            x_cell=query.machine.inputs.cell.start,
            **dict.fromkeys(("features", "borders", "first", "low", "high", "cells"), 1),
            **dict.fromkeys((*INTEGER_COLUMNS, *FLOAT_COLUMNS), 1),
        )
        self.record: NearbyContacts = make_record(
            NearbyContacts,
            contacts=contacts,
            capacity=0,
            border_capacity=0,
            **dict.fromkeys(("features", "closed_status", "mu", "is_sharp"), 1),
            boxes=6 * wheels,
            begin=3 * wheels + 1,
            kept=(1, 3),
            kept_impulses=(1, 4),
        )

    # --- search

    def change_machine(self) -> None:
        """Adapt the records to the parameters of the system, which the query has replaced."""
        change_wheels(self.query, self.ground, self.options)
        self.change_ground()

    def change_ground(self) -> None:
        """Forget the features of a ground that the query has replaced. The records are kept."""
        self.terrain = self.query.ground
        self._region = None
        self.is_complete = False
        self._index = None

    @property
    def is_fixed(self) -> bool:
        """Whether the result of a search is independent of time."""
        return not self.ground.moves or self.query.watches_all

    def find_within(self, t: float, boxes: Floats, margin: float) -> None:
        """Find all contacts that are possible while the wheel centres stay within a margin (m) of boxes
        (wheels, 2, 3), flat, at time t (s).
        """
        find = search_code().find_within
        self.search(t, boxes, lambda: find(self.record, self.ground, boxes, margin), 1.0)

    def search(
        self,
        t: float,
        boxes: Floats,
        find: Callable[[], SearchResult],
        least: float = REGION_RATIO * SMALLEST_MARGIN,
    ) -> None:
        """Call a compiled search until it finds the contacts, and load ground or enlarge the table before
        each repetition.

        Parameters
        ----------
        t
            Time (s).
        boxes
            (wheels, 2, 3) m, flat: boxes of the wheel centres.
        find
            Call of the search. It widens the boxes and writes them into the record.
        least
            Smallest size of a region, as a multiple of this widening. If a region has too many features, it
            is reduced, and with it the margin of the next searches.
        """
        if self._region is None or not self.is_fixed:
            self._set_margins(1.0)
            if self.query.watches_all:
                self._load(load_whole_ground(self.query))
            else:
                # The first call of the search determines the region.
                forget_region(self.query, self.ground)
                self._region = None
        while (result := find()) is not SearchResult.FOUND:
            # A machine without wheels needs no ground, but its stops may need room in the table.
            if result is SearchResult.TABLE_FULL and self._region is not None:
                self._enlarge_table(2 * self.record.capacity)
                continue
            widening = (self.record.boxes - boxes) / self._ratio
            region = find_region(self.query, t, boxes, widening, least)
            self._load(region)
            if least < 1.0:
                self._set_margins(region.ratio / REGION_RATIO)
            if not self.is_fixed:
                speed = self.query.ground_speed(t, boxes)
                spare = self._ratio * float(np.abs(widening).max(initial=0.0))
                self.record.until = t + spare / speed if speed > 0.0 else np.inf
        self.read_table()
        self.is_complete = self.query.watches_all

    def read_table(self) -> None:
        """Read the result of the searches that a routine has made since the last one."""
        if self.record.searches != self._searches:
            self._searches = self.record.searches
            self._index = None
            self._size = self.record.contacts.size

    def _set_margins(self, ratio: float) -> None:
        """Set the search margins to a multiple of those that are requested."""
        query = self.query
        self._ratio = ratio
        margin = np.inf if query.watches_all else ratio * self.options.margin
        most = np.inf if query.watches_all else ratio * STEP_MARGIN_RATIO * query.wheel_size
        self.ground.assign(margin=margin, step_margin=min(margin, most))

    def _load(self, region: Region) -> None:
        """Write the features of a region into the ground table, and make room for its contacts."""
        load_region(self.query, self.ground, region, self.options)
        self.record.contacts.assign(tables=self.query.table.pairs.tables)
        self._region = region
        self._enlarge_table(self._choose_capacity(region))

    def _choose_capacity(self, region: Region) -> int:
        """Return the number of contacts for which the table has capacity first."""
        if self._capacity or self.query.watches_all:
            return self._capacity or max(region.contacts, MIN_CAPACITY)
        return min(max(region.contacts, MIN_CAPACITY), MAX_WATCHED_FEATURES)

    def _enlarge_table(self, capacity: int) -> None:
        """Enlarge the table to a number of contacts, and to their borders in the present region."""
        assert self._region is not None
        record = self.record
        contacts = record.contacts
        fields = self._region.fields
        attached = self.ground.attached
        capacity = max(record.capacity, capacity)
        borders = np.diff(fields["first"])
        self.most_borders = max(self.most_borders, int(borders.max(initial=0)))
        all_borders = int((borders * fields["sides"].sum(axis=0)[fields["kinds"][:-1]]).sum())
        border_capacity = (
            min(capacity * self.most_borders, all_borders) + len(attached.borders) // 7
        )
        border_capacity = max(record.border_capacity, border_capacity)
        cells = capacity + 1 if fields["cells"].shape[1] > 1 else 0
        is_large_enough = capacity <= record.capacity and border_capacity <= record.border_capacity
        if is_large_enough and PATCH * cells <= len(record.contacts.cells):
            return
        # Contacts found before remain, because a search that continues after a change of the region must
        # recognise them.
        size = capacity + 1
        per_contact = dict.fromkeys((*INTEGER_COLUMNS, *FLOAT_COLUMNS), size)
        per_contact |= {"features": size * FEATURE, "borders": 7 * (border_capacity + 1)}
        per_contact |= {"first": size + 1, "low": 3 * size, "high": 3 * size}
        # A record that has served smooth ground keeps its cells on a ground without patches.
        per_contact |= {"cells": max(1, PATCH * cells, len(contacts.cells))}
        contacts.assign(
            **{name: enlarge(getattr(contacts, name), n) for name, n in per_contact.items()}
        )
        names = ("features", "closed_status", "mu", "is_sharp")
        record.assign(**{name: enlarge(getattr(record, name), size) for name in names})
        kept = {
            name: enlarge(getattr(record, name), 3 * size) for name in ("kept", "kept_impulses")
        }
        record.assign(**kept)
        record.assign(capacity=capacity, border_capacity=border_capacity)

    # --- the contacts found

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, k: int) -> WheelOnFeature:
        contacts = self.record.contacts
        side = int(contacts.features[k * FEATURE + SIDE])
        return self._name((int(contacts.wheels[k]), int(self.record.features[k]), side))

    def _name(self, triple: tuple[int, int, int]) -> WheelOnFeature:
        """Return the contact with given wheel, feature and side in the table."""
        feature = triple[1]
        if feature <= ATTACHED:
            return self.query.table.attached[ATTACHED - feature]
        return WheelOnFeature._make(triple)

    @property
    def index(self) -> dict[WheelOnFeature, int]:
        """The index of each contact in the table."""
        if self._index is None:
            n = len(self)
            contacts = self.record.contacts
            sides = contacts.features[SIDE : n * FEATURE : FEATURE].astype(int).tolist()
            triples = zip(
                contacts.wheels[:n].tolist(), self.record.features[:n].tolist(), sides, strict=True
            )
            self._index = dict(zip(map(self._name, triples), range(n), strict=True))
        return self._index

    @property
    def contacts(self) -> tuple[WheelOnFeature, ...]:
        """All contacts in the order of the table: by wheel, feature and side."""
        return tuple(self.index)

    def clear(self) -> None:
        """Remove all contacts, so that exported records contain zeros."""
        arrays = [*self.record.contacts.values().values(), *self.record.values().values()]
        tables = self.record.contacts.tables
        for array in arrays:
            if isinstance(array, np.ndarray) and array is not tables:
                array[:] = 0
        self.record.contacts.size = self._size = 0
        self._index = None


def enlarge(array: Any, size: int) -> Any:
    """Return a copy of an array with `size` rows, the new ones filled with zeros."""
    enlarged = np.zeros((size, *array.shape[1:]), array.dtype)
    enlarged[: len(array)] = array
    return enlarged
