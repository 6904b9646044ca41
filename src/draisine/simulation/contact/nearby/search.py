"""The search of the contacts near the wheels, as a routine of native runs and of exported simulators.

Problem: within one step, wheels can reach few of the features (faces, edges, vertices, patches) of a large
ground. The records of a run contain the contacts that are possible while the wheel centres stay inside boxes,
and a wheel that leaves its box needs another search.

Method, `find_nearby`:

1. Widen the boxes of the wheel centres by a margin: more ahead of the wheels than beside and behind them.
2. Compare the box of every feature with the box of every wheel, and write each pair within reach into the
   table of nearby contacts.
3. If the table has no room for all of them, repeat with half of the margin.

`GroundTable` contains all features of a small ground. Of a large one it contains those in a region, which
`contacts.Nearby` replaces when the boxes exceed it.

A search changes the indices of contacts. `keep_contact` stores wheel, feature and side of a contact before a
search, and `find_kept` returns its new index.
"""

from enum import IntEnum

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Flags, IntegerMatrix, Integers, Matrix, Record, routine
from draisine.mechanics.contact.features import FEATURE, LOAD, SIDE
from draisine.simulation.contact.kernels import ContactColumns, Dynamics, evaluate_gap
from draisine.simulation.contact.status import Status

SMALLEST_MARGIN = 1.0 / 256.0
"""Smallest search margin around the wheels, as a fraction of the requested margin."""

SIDE_MARGIN = 0.5
"""Search margin beside and behind the path of a wheel, as a fraction of the requested margin. The other
half is left to the motion of moving ground.
"""

AHEAD_MARGIN = 4.0
"""Additional search margin ahead of a wheel, as a multiple of the requested margin."""

SMALLEST_PATH = 1e-12  # m, displacement of a wheel below which its direction is undefined

ATTACHED = -1
"""Index of the first feature that moves with the system; further ones count down, and indices of ground
features are not negative.
"""


UNLIMITED_TIME = float("inf")  # s, validity of a search on ground at rest


class SearchResult(IntEnum):
    """Result of a search of nearby contacts."""

    FOUND = 0  # all contacts within the boxes are in the table
    OUTSIDE_REGION = 1  # the boxes exceed the region whose features the ground table contains
    TABLE_FULL = 2  # there are more contacts than the table can store


class GroundTable(Record):
    """All contacts that a system may have with the ground in a region: the ground features, and the
    properties of each pair of a wheel and a kind of feature.
    """

    # Features of the ground
    size: int  # number of ground features
    index: Integers  # (size) index of each feature in the terrain
    kinds: Integers  # (size) index of the kind of each feature
    numbers: Matrix  # (size, SIDE) coordinates of each feature
    borders: Floats  # (borders, 7) border coefficients, feature by feature
    first: Integers  # (size + 1) index of the first border of each feature
    low: Matrix  # (size, 3) m, lower corner of the bounding box of each feature
    high: Matrix  # (size, 3) m, upper corner of the bounding box of each feature
    cells: Matrix  # (size, PATCH) polynomial coefficients of patches, if there are any
    region: Floats  # (wheels, 2, 3) m, boxes in which wheel centres can touch no other features
    moves: bool = False  # whether the ground moves

    # Wheels on kinds of features
    wheels: int  # number of wheels
    pairs: IntegerMatrix  # (wheels, kinds) index in `columns` of each pair
    sides: IntegerMatrix  # (wheels, kinds) number of possible contacts of each pair
    # one contact of each pair, for the fields that depend on the pair alone
    columns: ContactColumns
    reach: Floats  # (wheels) m, largest distance of a touched feature from the wheel centre
    surface: Integers  # (size) column of `mu` for each feature
    mu: Matrix  # (wheels, surfaces) friction coefficients
    tyres: Integers  # (wheels) Status of the tyre, -1 for a wheel without a tyre
    is_disc: Flags  # (wheels) whether the wheel is a knife edge
    is_vertex: Flags  # (kinds) whether a kind of feature is a vertex
    motions: Integers  # (kinds) one plus the index of the motion of a kind of feature, 0 if fixed

    # Features that move with the system
    attached: ContactColumns
    attached_status: Integers  # Status of each closed contact with an attached feature
    attached_mu: Floats
    owners: int  # number of wheels and joints

    # Distances (m) by which boxes of wheel centres are widened
    margin: float  # in event location
    step_margin: float  # in time steps


class NearbyContacts(Record):
    """The contacts that are possible while the wheel centres stay inside boxes, with one entry per contact in
    each array.
    """

    contacts: ContactColumns  # its size is the number of nearby contacts
    capacity: int  # largest number of contacts
    border_capacity: int  # largest number of borders of all contacts
    features: Integers  # (capacity) index of the ground feature of each contact, see ATTACHED
    closed_status: Integers  # (capacity) Status of each contact, if it is closed without slip
    mu: Floats  # (capacity) friction coefficient
    is_sharp: Flags  # (capacity) whether the feature is an edge or a vertex under a disc
    boxes: Floats  # (wheels, 2, 3) m, boxes that were searched
    begin: Floats  # (wheels, 3) m, wheel centres at the beginning of a step
    kept: IntegerMatrix  # (kept, 3) wheel, feature and side of contacts whose indices change
    kept_impulses: Matrix  # (kept, 4) impulses (N s) and load (N) of these contacts in time steps
    until: float = UNLIMITED_TIME  # s, time until which the last search is valid
    searches: int = 0  # number of searches; each one changes the indices of contacts


# --- the table of nearby contacts


@routine
def find_closed_status(tyre: int, mu: float) -> int:
    """Return the `Status` of a contact that is closed without slip: that of its wheel's tyre (-1 for none),
    rolling with friction, sliding without.
    """
    if tyre >= 0:
        return tyre
    return Status.ROLLING if mu > 0.0 else Status.SLIDING


@routine
def copy_pair(source: ContactColumns, i: int, near: ContactColumns, k: int) -> None:
    """Copy the fields that depend on wheel and kind of feature alone from contact i to contact k."""
    near.row_programs[k] = source.row_programs[i]
    near.gap_programs[k] = source.gap_programs[i]
    near.row_tables[k] = source.row_tables[i]
    near.gap_tables[k] = source.gap_tables[i]
    near.faces[k] = source.faces[i]
    near.wheels[k] = source.wheels[i]
    near.pair[k] = source.pair[i]
    near.planes[k] = source.planes[i]
    near.moved[k] = source.moved[i]
    near.folds[k] = source.folds[i]
    near.carried[k] = source.carried[i]
    near.patches[k] = source.patches[i]
    near.reach[k] = source.reach[i]
    near.radius[k] = source.radius[i]
    near.bend[k] = source.bend[i]
    near.crown[k] = source.crown[i]


@routine
def add_contact(
    near: NearbyContacts,
    pairs: ContactColumns,
    pair: int,
    numbers: Floats,
    low: Floats,
    high: Floats,
    borders: Floats,
    count: int,
) -> bool:
    """Add a contact with the properties of contact `pair` in `pairs`, and with the coordinates, bounding box
    and `count` borders of its feature; return whether the table has room for it.
    """
    contacts = near.contacts
    k = contacts.size
    first = contacts.first[k]
    if k >= near.capacity or first + count > near.border_capacity:
        return False
    copy_pair(pairs, pair, contacts, k)
    contacts.features[k * FEATURE :][:SIDE] = numbers[:SIDE]
    contacts.features[k * FEATURE + SIDE] = 0.0
    contacts.features[k * FEATURE + LOAD] = 0.0
    contacts.low[3 * k :][:3] = low[:3]
    contacts.high[3 * k :][:3] = high[:3]
    contacts.borders[7 * first :][: 7 * count] = borders[: 7 * count]
    contacts.first[k + 1] = first + count
    contacts.size = k + 1
    return True


@routine
def add_attached(near: NearbyContacts, g: GroundTable, i: int) -> bool:
    """Add the contact with attached feature i; return whether the table has room for it."""
    a = g.attached
    k = near.contacts.size
    numbers = a.features[i * FEATURE :]
    borders = a.borders[7 * a.first[i] :]
    count = a.first[i + 1] - a.first[i]
    if not add_contact(near, a, i, numbers, a.low[3 * i :], a.high[3 * i :], borders, count):
        return False
    near.closed_status[k] = g.attached_status[i]
    near.mu[k] = g.attached_mu[i]
    near.is_sharp[k] = False
    near.features[k] = ATTACHED - i
    return True


@routine
def add_feature(near: NearbyContacts, g: GroundTable, wheel: int, i: int, side: int) -> bool:
    """Add the contact of a wheel with feature i of the ground table; return whether the table has room for
    it.
    """
    contacts = near.contacts
    k = contacts.size
    pair = g.pairs[wheel, g.kinds[i]]
    borders = g.borders[7 * g.first[i] :]
    count = g.first[i + 1] - g.first[i]
    if not add_contact(near, g.columns, pair, g.numbers[i], g.low[i], g.high[i], borders, count):
        return False
    contacts.features[k * FEATURE + SIDE] = float(side)
    if contacts.patches[k] == 1:
        contacts.cells[k * PATCH :][:PATCH] = g.cells[i, :PATCH]
    near.mu[k] = g.mu[wheel, g.surface[i]]
    near.closed_status[k] = find_closed_status(g.tyres[wheel], near.mu[k])
    near.is_sharp[k] = g.is_disc[wheel] and contacts.planes[k] == 0
    near.features[k] = g.index[i]
    return True


# --- the search


@routine
def widen_boxes(
    near: NearbyContacts, g: GroundTable, box: Floats, margin: float, has_path: bool
) -> bool:
    """Write the boxes of the wheel centres (wheels, 2, 3), widened by a margin (m), into
    `NearbyContacts.boxes`: on all sides by `SIDE_MARGIN`, and by `AHEAD_MARGIN` along the paths of the wheels
    over fixed ground, if these begin at `NearbyContacts.begin`. Return whether the boxes lie inside the
    region of the ground table.
    """
    is_inside = True
    for w in range(g.wheels):
        length = SMALLEST_PATH
        for j in range(3):
            length = max(length, box[6 * w + 3 + j] - box[6 * w + j])
        for corner in range(2):
            sign = 2.0 * corner - 1.0
            for j in range(3):
                k = 6 * w + 3 * corner + j
                shift = SIDE_MARGIN * sign
                if has_path and not g.moves:
                    shift += AHEAD_MARGIN * (box[k] - near.begin[3 * w + j]) / length
                near.boxes[k] = box[k] + margin * shift
                is_inside = is_inside and sign * near.boxes[k] <= sign * g.region[k]
    return is_inside


@routine
def is_within_reach(near: NearbyContacts, g: GroundTable, wheel: int, feature: int) -> bool:
    """Return whether a wheel, whose centre stays in its box, can touch the box of a feature."""
    apart = 0.0
    for j in range(3):
        low = g.low[feature, j] - near.boxes[6 * wheel + 3 + j]
        high = near.boxes[6 * wheel + j] - g.high[feature, j]
        outside = max(max(low, high), 0.0)
        apart += outside * outside
    return apart <= g.reach[wheel] * g.reach[wheel]


@routine
def fill_table(near: NearbyContacts, g: GroundTable) -> bool:
    """Write all contacts within reach of `NearbyContacts.boxes` into the table, in the order of wheel,
    feature and side; return whether it has room for all of them.
    """
    near.searches += 1
    near.contacts.size = 0
    near.contacts.first[0] = 0
    for owner in range(g.owners):
        for i in range(g.attached.size):
            if g.attached.wheels[i] == owner and not add_attached(near, g, i):
                return False
        for feature in range(g.size if owner < g.wheels else 0):
            sides = g.sides[owner, g.kinds[feature]]
            if sides > 0 and is_within_reach(near, g, owner, feature):
                for i in range(sides):
                    # Three contacts with an edge have the sides -1, 0, 1 in this order.
                    if not add_feature(near, g, owner, feature, i - 1 if sides > 1 else 0):
                        return False
    return True


@routine
def find_within(near: NearbyContacts, g: GroundTable, box: Floats, margin: float) -> SearchResult:
    """Find all contacts that are possible while the wheel centres stay within a margin (m) of boxes."""
    if not widen_boxes(near, g, box, margin / SIDE_MARGIN, False):
        return SearchResult.OUTSIDE_REGION
    return SearchResult.FOUND if fill_table(near, g) else SearchResult.TABLE_FULL


@routine
def find_nearby(
    near: NearbyContacts, g: GroundTable, box: Floats, requested: float, has_path: bool
) -> SearchResult:
    """Find the contacts that are possible near boxes of the wheel centres, within the requested margin (m)
    or, if the table has no room for all of them, within a smaller one.
    """
    margin = requested
    if not widen_boxes(near, g, box, margin, has_path):
        return SearchResult.OUTSIDE_REGION
    is_complete = fill_table(near, g)
    while not is_complete and margin > SMALLEST_MARGIN * requested:
        margin *= 0.5
        widen_boxes(near, g, box, margin, has_path)
        is_complete = fill_table(near, g)
    return SearchResult.FOUND if is_complete else SearchResult.TABLE_FULL


@routine
def locate_centres(
    m: Dynamics, x: Floats, wheels: ContactColumns, row: Floats, centres: Floats
) -> None:
    """Write the wheel centres (wheels, 3) in m at the state in x into `centres`."""
    for w in range(wheels.size):
        evaluate_gap(x, wheels, w, row)
        centres[3 * w :][:3] = row[m.centre :][:3]


# --- contacts before and after a search


@routine
def keep_contact(near: NearbyContacts, place: int, k: int) -> None:
    """Store wheel, feature and side of contact k in entry `place` of `NearbyContacts.kept` before a
    search.
    """
    near.kept[place, 0] = near.contacts.wheels[k]
    near.kept[place, 1] = near.features[k]
    near.kept[place, 2] = int(near.contacts.features[k * FEATURE + SIDE])


@routine
def find_kept(near: NearbyContacts, place: int) -> int:
    """Return the index of the contact in entry `place` of `NearbyContacts.kept` after a search, or -1 if it
    is not nearby any more.
    """
    contacts = near.contacts
    for k in range(contacts.size):
        is_same = (
            contacts.wheels[k] == near.kept[place, 0] and near.features[k] == near.kept[place, 1]
        )
        if is_same and int(contacts.features[k * FEATURE + SIDE]) == near.kept[place, 2]:
            return k
    return -1


@routine
def keep_flagged(near: NearbyContacts, flags: Flags, first: int) -> int:
    """Store the contacts whose flags are set in `NearbyContacts.kept`, from entry `first` on, and clear the
    flags; return the index of the next free entry.
    """
    place = first
    for k in range(near.contacts.size):
        if flags[k]:
            keep_contact(near, place, k)
            place += 1
        flags[k] = False
    return place
