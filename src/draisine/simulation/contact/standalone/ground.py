"""The search of ground features near the wheels, as a routine: the broad phase of a run without Python.

Problem: within one step, wheels can reach few of the features (faces, edges, vertices, patches) of a large
ground. The records of a run contain the contacts that are possible within boxes around the wheel centres, and
a wheel that leaves its box needs another search.

Method, `search_nearby`:

1. Widen the boxes of the wheel centres by a margin.
2. Compare the box of every feature with the box of every wheel, and write each pair within reach into a slot
   of the table of contacts.
3. If there are more pairs than slots, repeat with half of the margin.
4. The search changes the indices of contacts: find the new indices of the closed contacts, and of those that
   have just ended at a border.

An unused slot of the table contains a contact that is out of reach of every wheel.
"""

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Flags, IntegerMatrix, Integers, Matrix, Record, routine
from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact.complementarity.linear import dot
from draisine.simulation.contact.event_driven.arc_integration import ArcState
from draisine.simulation.contact.event_driven.events import TOUCHING
from draisine.simulation.contact.event_driven.run_loop import EDGE_IN_PLANE, RunLoop
from draisine.simulation.contact.kernels import (
    CLOSED,
    ContactColumns,
    evaluate_gap,
    evaluate_row,
)
from draisine.simulation.contact.query import AHEAD_MARGIN, SIDE_MARGIN, SMALLEST_MARGIN
from draisine.simulation.contact.status import Status

UNUSED_POSITION = 1e150  # m, coordinate of the feature of an unused slot; its square is finite

SMALLEST_PATH = 1e-12  # m, displacement of a wheel below which its direction is undefined

ATTACHED = -1
"""Index of the first feature that moves with the system; further ones count down, and indices of ground
features are not negative.
"""


class GroundTable(Record):
    """All contacts that a system may have with its ground: the ground features, and the properties of each
    pair of a wheel and a kind of feature.
    """

    # Features of the ground
    size: int  # number of ground features
    kinds: Integers  # (size) index of the kind of each feature
    numbers: Matrix  # (size, SIDE) coordinates of each feature
    borders: Floats  # (borders, 7) border coefficients, feature by feature
    first: Integers  # (size + 1) index of the first border of each feature
    low: Matrix  # (size, 3) m, lower corner of the bounding box of each feature
    high: Matrix  # (size, 3) m, upper corner of the bounding box of each feature
    cells: Matrix  # (size, PATCH) polynomial coefficients of patches, if there are any

    # Wheels on kinds of features
    wheels: int  # number of wheels
    pairs: IntegerMatrix  # (wheels, kinds) index in `columns` of each pair
    sides: IntegerMatrix  # (wheels, kinds) number of possible contacts of each pair
    columns: (
        ContactColumns  # one contact of each pair, for the fields that depend on the pair alone
    )
    reach: Floats  # (wheels) m, largest distance of a touched feature from the wheel centre
    surface: Integers  # (size) column of `mu` for each feature
    mu: Matrix  # (wheels, surfaces) friction coefficients
    tyres: Integers  # (wheels) Status of the tyre, -1 for a wheel without a tyre
    is_disc: Flags  # (wheels) whether the wheel is a knife edge
    is_edge: Flags  # (kinds) whether a kind of feature is an edge
    is_vertex: Flags  # (kinds) whether a kind of feature is a vertex

    # Features that move with the system
    attached: ContactColumns
    attached_status: Integers  # Status of each closed contact with an attached feature
    attached_mu: Floats
    owners: int  # number of wheels and joints

    # Search
    margin: float  # m, distance by which the boxes of wheel centres are widened
    slots: int  # number of slots of the table of contacts
    border_slots: int  # number of borders that the table of contacts can store
    used: int = 0  # number of used slots, which are the first ones
    step_margin: float  # m, the margin for time steps
    begin: Floats  # (3 wheels) m, wheel centres at the beginning of a step
    kept: IntegerMatrix  # (kept, 3) wheel, feature and side of contacts whose indices change
    carried: Matrix  # (kept, 4) impulses (N s) and load (N) of these contacts in time steps


@routine
def clear_slot(near: ContactColumns, k: int) -> None:
    """Clear slot k of the table of contacts: write a contact that is out of reach of every wheel."""
    for j in range(3):
        near.low[3 * k + j] = UNUSED_POSITION
        near.high[3 * k + j] = UNUSED_POSITION
    near.radius[k] = 0.0
    near.wheels[k] = 0
    near.planes[k] = 0
    near.moved[k] = 0
    near.carried[k] = 0
    near.folds[k] = 0
    near.patches[k] = 0
    near.first[k + 1] = near.first[k]


@routine
def copy_pair(source: ContactColumns, i: int, near: ContactColumns, k: int) -> None:
    """Copy the fields that depend on wheel and kind of feature alone from contact i to slot k."""
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
def add_attached(r: RunLoop, g: GroundTable, i: int, k: int) -> bool:
    """Write the contact with attached feature i into slot k; return whether the table has room for it."""
    near = r.arc.mode.contacts
    a = g.attached
    first = near.first[k]
    borders = a.first[i + 1] - a.first[i]
    if k >= g.slots or first + borders > g.border_slots:
        return False
    copy_pair(a, i, near, k)
    near.features[k * FEATURE :][:FEATURE] = a.features[i * FEATURE :][:FEATURE]
    near.low[3 * k :][:3] = a.low[3 * i :][:3]
    near.high[3 * k :][:3] = a.high[3 * i :][:3]
    near.borders[7 * first :][: 7 * borders] = a.borders[7 * a.first[i] :][: 7 * borders]
    near.first[k + 1] = first + borders
    r.event.closed_status[k] = g.attached_status[i]
    r.event.mu[k] = g.attached_mu[i]
    r.is_sharp[k] = False
    r.features[k] = ATTACHED - i
    return True


@routine
def add_feature(r: RunLoop, g: GroundTable, wheel: int, feature: int, side: int, k: int) -> bool:
    """Write the contact of a wheel with a ground feature into slot k; return whether the table has room for
    it.
    """
    near = r.arc.mode.contacts
    first = near.first[k]
    source = g.first[feature]
    borders = g.first[feature + 1] - source
    if k >= g.slots or first + borders > g.border_slots:
        return False
    copy_pair(g.columns, g.pairs[wheel, g.kinds[feature]], near, k)
    near.features[k * FEATURE :][:SIDE] = g.numbers[feature, :SIDE]
    near.features[k * FEATURE + SIDE] = float(side)
    if near.patches[k] == 1:
        near.cells[k * PATCH :][:PATCH] = g.cells[feature, :PATCH]
    near.low[3 * k :][:3] = g.low[feature, :3]
    near.high[3 * k :][:3] = g.high[feature, :3]
    near.borders[7 * first :][: 7 * borders] = g.borders[7 * source :][: 7 * borders]
    near.first[k + 1] = first + borders
    mu = g.mu[wheel, g.surface[feature]]
    r.event.closed_status[k] = Status.ROLLING if mu > 0.0 else Status.SLIDING
    if g.tyres[wheel] >= 0:
        r.event.closed_status[k] = g.tyres[wheel]
    r.event.mu[k] = mu
    r.is_sharp[k] = g.is_disc[wheel] and near.planes[k] == 0
    r.features[k] = feature
    return True


@routine
def is_within_reach(g: GroundTable, boxes: Floats, wheel: int, feature: int) -> bool:
    """Return whether a wheel, whose centre stays in its box, can touch the box of a feature."""
    apart = 0.0
    for j in range(3):
        low = g.low[feature, j] - boxes[6 * wheel + 3 + j]
        high = boxes[6 * wheel + j] - g.high[feature, j]
        outside = max(max(low, high), 0.0)
        apart += outside * outside
    return apart <= g.reach[wheel] * g.reach[wheel]


@routine
def fill_slots(r: RunLoop, g: GroundTable) -> bool:
    """Write all contacts within reach of the boxes `ArcState.swept` into slots, in the order of wheel,
    feature and side; return whether the table has room for all of them.
    """
    near = r.arc.mode.contacts
    boxes = r.arc.swept
    k = 0
    near.first[0] = 0
    for owner in range(g.owners):
        for i in range(g.attached.size):
            if g.attached.wheels[i] == owner:
                if not add_attached(r, g, i, k):
                    return False
                k += 1
        for feature in range(g.size if owner < g.wheels else 0):
            sides = g.sides[owner, g.kinds[feature]]
            if sides > 0 and is_within_reach(g, boxes, owner, feature):
                for i in range(sides):
                    # Three contacts with an edge have the sides -1, 0, 1 in this order.
                    side = i - 1 if sides > 1 else 0
                    if not add_feature(r, g, owner, feature, side, k):
                        return False
                    k += 1
    g.used = k
    for unused in range(k, g.slots):
        clear_slot(near, unused)
        r.features[unused] = ATTACHED - g.attached.size
        r.is_sharp[unused] = False
    return True


@routine
def widen_boxes(arc: ArcState, g: GroundTable, margin: float, has_path: bool) -> None:
    """Write the boxes of the wheel centres, widened by a margin (m), into `ArcState.swept`: equally on all
    sides or, if the path of the wheels is known, less beside and behind it and more ahead of it.
    """
    for w in range(g.wheels):
        box = arc.box[6 * w :]
        length = SMALLEST_PATH
        for j in range(3):
            length = max(length, box[3 + j] - box[j])
        for corner in range(2):
            sign = 2.0 * corner - 1.0
            for j in range(3):
                place = 3 * corner + j
                shift = sign
                if has_path:
                    ahead = (box[place] - g.begin[3 * w + j]) / length
                    shift = SIDE_MARGIN * sign + AHEAD_MARGIN * ahead
                arc.swept[6 * w + place] = box[place] + margin * shift


@routine
def locate_centres(arc: ArcState, g: GroundTable) -> None:
    """Write the wheel centres (m) at the state in x into `GroundTable.begin`."""
    m = arc.mode.motion
    row = arc.rows
    for w in range(g.wheels):
        evaluate_gap(arc.mode.x, arc.wheels, w, row)
        g.begin[3 * w :][:3] = row[m.centre :][:3]


@routine
def is_untouchable(r: RunLoop, g: GroundTable) -> bool:
    """Return whether a disc wheel is on an edge or a vertex that its shape cannot touch."""
    return is_on_edge_in_plane(r, g) or is_on_vertex(r, g)


@routine
def is_on_edge_in_plane(r: RunLoop, g: GroundTable) -> bool:
    """Return whether a disc touches a fixed edge that lies almost in its plane: it has no contact point."""
    event = r.event
    m = r.event.mode.motion
    near = r.event.mode.contacts
    for i in range(event.sizes[TOUCHING]):
        k = event.touching[i]
        axle = event.gaps[i * m.row + m.axle :]
        inclination = dot(axle, near.features[k * FEATURE + 3 :], 3)
        is_edge = r.features[k] >= 0 and g.is_edge[g.kinds[max(r.features[k], 0)]]
        if r.is_sharp[k] and is_edge and near.moved[k] == 0 and abs(inclination) < EDGE_IN_PLANE:
            return True
    return False


@routine
def is_on_vertex(r: RunLoop, g: GroundTable) -> bool:
    """Return whether a disc has reached the end of an edge without another contact, at a vertex, which it
    cannot touch.
    """
    event = r.event
    near = r.event.mode.contacts
    for k in range(near.size if r.progress.ending >= 0 else 0):
        is_alone = r.is_sharp[k] and event.ended[k]
        for i in range(event.sizes[TOUCHING] if is_alone else 0):
            is_alone = is_alone and near.wheels[event.touching[i]] != near.wheels[k]
        if is_alone and finds_vertex(r, g, k):
            return True
    return False


@routine
def finds_vertex(r: RunLoop, g: GroundTable, k: int) -> bool:
    """Return whether contact k of the state in x is at a vertex of the ground, within its borders."""
    m = r.arc.mode.motion
    row = r.arc.rows
    evaluate_row(r.arc.mode.x, r.arc.mode.contacts, k, row)
    point = row[m.local_point :]
    normal = row[m.local_normal :]
    for feature in range(g.size):
        is_here = g.is_vertex[g.kinds[feature]]
        for j in range(3):
            is_here = is_here and abs(g.numbers[feature, j] - point[j]) < m.tol.gap_search
        for i in range(g.first[feature], g.first[feature + 1] if is_here else 0):
            border = g.borders[7 * i :]
            excess = dot(border, point, 3) + dot(border[3:], normal, 3) - border[6]
            is_here = is_here and excess <= m.tol.border
        if is_here:
            return True
    return False


@routine
def keep_contact(r: RunLoop, g: GroundTable, place: int, k: int) -> None:
    """Store wheel, feature and side of slot k in entry `place` of `GroundTable.kept` before a search."""
    near = r.arc.mode.contacts
    g.kept[place, 0] = near.wheels[k]
    g.kept[place, 1] = r.features[k]
    g.kept[place, 2] = int(near.features[k * FEATURE + SIDE])


@routine
def find_slot(r: RunLoop, g: GroundTable, place: int) -> int:
    """Return the slot of the contact in entry `place` of `GroundTable.kept`, or -1 if it is not nearby any
    more.
    """
    near = r.arc.mode.contacts
    for k in range(near.size):
        is_same = near.wheels[k] == g.kept[place, 0] and r.features[k] == g.kept[place, 1]
        if is_same and int(near.features[k * FEATURE + SIDE]) == g.kept[place, 2]:
            return k
    return -1


@routine
def keep_flagged(r: RunLoop, g: GroundTable, flags: Flags, first: int) -> int:
    """Store the contacts whose flags are set in `GroundTable.kept`, from entry `place` on, and clear the
    flags; return the index of the next free entry.
    """
    place = first
    for k in range(r.arc.mode.contacts.size):
        if flags[k]:
            keep_contact(r, g, place, k)
            place += 1
        flags[k] = False
    return place


@routine
def search_nearby(r: RunLoop, g: GroundTable, has_path: bool) -> bool:
    """Find the contacts that are possible near the boxes `ArcState.box` of the wheel centres; return whether
    the table has room for them. If the path is known, the boxes enclose a step that begins at
    `GroundTable.begin`.
    """
    mode = r.arc.mode
    closed = mode.plan[CLOSED]
    for i in range(closed):
        keep_contact(r, g, i, mode.which[i])
    left = keep_flagged(r, g, r.left, closed)
    leaving = keep_flagged(r, g, r.leaving, left)

    margin = g.margin
    widen_boxes(r.arc, g, margin, has_path)
    fits = fill_slots(r, g)
    while not fits and margin > SMALLEST_MARGIN * g.margin:
        margin *= 0.5
        widen_boxes(r.arc, g, margin, has_path)
        fits = fill_slots(r, g)
    if not fits:
        return False

    for i in range(closed):
        mode.which[i] = find_slot(r, g, i)
    for i in range(closed, leaving):
        k = find_slot(r, g, i)
        if k >= 0 and i < left:
            r.left[k] = True
        elif k >= 0:
            r.leaving[k] = True
    return True
