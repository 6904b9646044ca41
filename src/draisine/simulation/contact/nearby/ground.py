"""The ground features near a run as arrays, the input of the search of nearby contacts.

A ground of up to `MAX_WHOLE_FEATURES` features is loaded as a whole. Of a larger one, `find_region` loads the
features in boxes that are some times as large as those of a search, by the terrain's own search
(`Terrain.near`). The latest regions are kept for further runs and observations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Floats
from draisine.mechanics.contact.features import SIDE
from draisine.simulation.contact.nearby.search import GroundTable
from draisine.simulation.options import ContactOptions
from draisine.terrain.feature import Features

if TYPE_CHECKING:
    from draisine.simulation.contact.query import ContactQuery

MAX_UNSEARCHED_WATCHED = 64
"""Largest number of terrain features for which the gaps of all features are guards, without a search."""

MAX_WHOLE_FEATURES = 1000
"""Largest number of features of a ground at rest that is loaded as a whole: computing all of them takes half
a millisecond, hardly longer than computing those of one region.
"""

MAX_WATCHED_FEATURES = 1000
"""Largest number of terrain features whose gaps are guards; if a search finds more, its margin is halved."""

MAX_REGION_FEATURES = 4096
"""Number of features above which a smaller region is loaded. A search compares each of them with each wheel,
which takes some 10 us.
"""

REGION_RATIO = 2.0
"""Distance by which a region exceeds the boxes of the wheels, as a multiple of that of a search."""

ROUNDING_RATIO = 1.01
"""Factor by which a region is larger than computed. Without it, rounding errors decide whether a search lies
inside the region that was loaded for it.
"""

MAX_REGIONS = 8
"""Largest number of regions that are kept for one ground; one needs at most some megabytes."""


@dataclass(frozen=True, eq=False)
class Region:
    """Boxes of the wheel centres, and the ground features that wheels inside them can touch."""

    boxes: Floats  # (wheels, 2, 3) m, flat
    ratio: float  # distance by which they exceed the wheels, as a multiple of that of a search
    features: Features
    contacts: int  # number of possible contacts, with all features and with those that move with the system
    fields: dict[str, Any]  # fields of `GroundTable`

    def encloses(self, boxes: Floats) -> bool:
        """Return whether other boxes (wheels, 2, 3), flat, lie inside those of the region."""
        outer = self.boxes.reshape(-1, 2, 3)
        inner = boxes.reshape(-1, 2, 3)
        return bool((outer[:, 0] <= inner[:, 0]).all() and (inner[:, 1] <= outer[:, 1]).all())


# --- regions of a ground


def load_whole_ground(query: "ContactQuery") -> Region:
    """Return the region that contains all features of the ground."""
    regions: list[Region] = query.table.regions
    if not (regions and np.isneginf(regions[-1].boxes[:1]).all()):
        whole = np.tile(np.repeat([-np.inf, np.inf], 3), len(query.machine.wheels))
        regions.append(_make_region(query, whole, REGION_RATIO, range(len(query.ground))))
    return regions[-1]


def find_region(
    query: "ContactQuery", t: float, boxes: Floats, widening: Floats, least: float
) -> Region:
    """Return a region that contains the boxes of a search.

    Parameters
    ----------
    query
        The system on its terrain.
    t
        Time (s), for moving ground.
    boxes
        (wheels, 2, 3) m, flat: boxes of the wheel centres.
    widening
        (wheels, 2, 3) m, flat: distances by which the search exceeds them. The region exceeds them by
        `REGION_RATIO` times these distances, or less if it would contain too many features.
    least
        Smallest multiple of these distances.
    """
    moves = bool(query.terrain.motions)
    if query.watches_all or (not moves and len(query.ground) <= MAX_WHOLE_FEATURES):
        return load_whole_ground(query)
    regions: list[Region] = query.table.regions
    for region in () if moves else reversed(regions):
        if region.encloses(boxes + max(least, region.ratio / REGION_RATIO) * widening):
            return region
    most = MAX_WATCHED_FEATURES if moves else MAX_REGION_FEATURES
    ratio = REGION_RATIO
    while True:
        wide = boxes + ROUNDING_RATIO * ratio * widening
        indices = _features_within(query, t, wide)
        if len(indices) <= most or ratio <= least:
            break
        ratio = max(0.5 * ratio, least)
    region = _make_region(query, wide, ratio, indices)
    regions[:] = [*regions[1 - MAX_REGIONS :], region]
    return region


def _features_within(query: "ContactQuery", t: float, boxes: Floats) -> list[int]:
    """Return the ascending indices of the features that wheels can touch whose centres lie in boxes."""
    indices: set[int] = set()
    for (low, high), longest in zip(boxes.reshape(-1, 2, 3), query.longest, strict=True):
        reach = longest + query.tol.gap_search
        indices |= set(query.ground.near(0.5 * (low + high), reach, t, 0.5 * (high - low)))
    return sorted(indices)


def _make_region(
    query: "ContactQuery", boxes: Floats, ratio: float, indices: Sequence[int]
) -> Region:
    """Return the region of the features with given ascending indices."""
    features = query.ground.pick(indices or [0])
    if not indices:  # there is no ground near the wheels
        features = features.take(np.zeros(0, np.int64))
    has_patches = features.cells.size > 0
    kinds = [kind for kind, _ in features.kinds]
    motions = [motion for _, motion in features.kinds]
    known = query.machine.motions
    pairs, sides = _make_pairs(query, features)
    fields = {
        "size": len(features),
        "index": np.append(np.array(indices, np.int64), 0),
        "kinds": np.append(features.kind, 0),
        "numbers": np.vstack([features.numbers, np.zeros((1, SIDE))]),
        "borders": np.append(features.borders.ravel(), np.zeros(7)),
        "first": features.first.copy(),
        "low": np.vstack([features.low, np.zeros((1, 3))]),
        "high": np.vstack([features.high, np.zeros((1, 3))]),
        "cells": np.vstack([features.cells, np.zeros((1, PATCH))])
        if has_patches
        else np.zeros((1, 1)),
        "region": boxes,
        "pairs": pairs,
        "sides": sides,
        "is_vertex": np.array([*(kind == "vertex" for kind in kinds), False]),
        "motions": np.array([*(0 if m is None else 1 + known.index(m) for m in motions), 0]),
    }
    contacts = len(query.table.attached) + int(sides[:, features.kind].sum())
    return Region(boxes, ratio, features, contacts, fields)


def _make_pairs(query: "ContactQuery", features: Features) -> tuple[Any, Any]:
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


# --- the table of a run


def make_ground_table(query: "ContactQuery", options: ContactOptions) -> GroundTable:
    """Return a `GroundTable` without ground features, for the wheels of a system and with the friction
    coefficients of `options`.
    """
    wheels = len(query.machine.wheels)
    region = _make_region(query, np.full(6 * wheels, np.nan), REGION_RATIO, [])
    return GroundTable(
        **_region_fields(query, region, options),
        **_wheel_fields(query, options),
        margin=0.0,
        step_margin=0.0,
    )


def change_wheels(query: "ContactQuery", table: GroundTable, options: ContactOptions) -> None:
    """Replace what a table contains about the wheels, after the parameters of the system have changed."""
    table.assign(**_wheel_fields(query, options))


def _wheel_fields(query: "ContactQuery", options: ContactOptions) -> dict[str, Any]:
    """Return the fields of a `GroundTable` that depend on the system only."""
    wheels = len(query.machine.wheels)
    laws = [query.contact_law(contact, options) for contact in query.table.attached]
    return {
        "wheels": wheels,
        "reach": np.array([*query.longest, 0.0]) + query.tol.gap_search,
        "tyres": query.tyre_statuses,
        "is_disc": query.discs,
        "attached": query.table.attached_contacts,
        "attached_status": np.array([*(status for status, _ in laws), 0], np.int64),
        "attached_mu": np.array([*(mu for _, mu in laws), 0.0]),
        "owners": wheels + query.machine.joints,
    }


def load_region(
    query: "ContactQuery", table: GroundTable, region: Region, options: ContactOptions
) -> None:
    """Replace the ground features of a table by those of a region."""
    table.assign(**_region_fields(query, region, options))


def forget_region(query: "ContactQuery", table: GroundTable) -> None:
    """Make the next search request a region. The features of the table are not read before."""
    # No box lies inside a box whose corners are not numbers.
    region = np.full(6 * len(query.machine.wheels), np.nan)
    table.assign(region=region, moves=bool(query.terrain.motions))


def _region_fields(
    query: "ContactQuery", region: Region, options: ContactOptions
) -> dict[str, Any]:
    """Return the fields of a `GroundTable` that depend on its region."""
    mu, surface = _friction(query, region, options)
    return region.fields | {
        "moves": bool(query.terrain.motions),
        "columns": query.table.pairs.contacts(),
        "surface": surface,
        "mu": mu,
    }


def _friction(query: "ContactQuery", region: Region, options: ContactOptions) -> tuple[Any, Any]:
    """Return the friction coefficients of the wheels on each surface (wheels, surfaces), and the surface of
    each feature of a region: features with equal coefficients share it.
    """
    count = region.fields["size"]
    by_name: Mapping[str, float] = options.mu if isinstance(options.mu, Mapping) else {}
    names = [""]
    if any("/" in name for name in by_name):
        names = [query.ground.name(int(k)) for k in region.fields["index"][:count]]
    mu = np.zeros((max(1, len(query.machine.wheels)), len(names)))
    for w, wheel in enumerate(query.machine.wheels):
        if query.tyre_statuses[w] < 0:
            mu[w] = [options.friction(wheel, name) for name in names]
    if len(names) == 1:
        return mu, np.zeros(count + 1, np.int64)
    columns, surface = np.unique(mu, axis=1, return_inverse=True)
    return np.ascontiguousarray(columns), np.append(surface.ravel(), 0)
