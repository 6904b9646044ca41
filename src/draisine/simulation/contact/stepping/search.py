"""The search of the contacts near the wheels in time steps, as a routine."""

from draisine.codegen.routine import routine
from draisine.simulation.contact.nearby.search import (
    GroundTable,
    NearbyContacts,
    SearchResult,
    find_kept,
    find_nearby,
    keep_contact,
)
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.step import TimeStepping

UNLIMITED_FRICTION = float("inf")  # friction coefficient of a tyre without longitudinal slip


@routine
def search_for_steps(
    near: NearbyContacts, g: GroundTable, s: TimeStepping, has_path: bool
) -> SearchResult:
    """Find the contacts that are possible near the boxes `TimeStepping.box` of the wheel centres. Impulses
    and loads of the last step stay with their contacts, and so does the count of settled steps.
    """
    # A search that is repeated with more room has lost the indices of the contacts already.
    if s.kept_count < 0:
        keep_contacts(near, s)
    for wheel in range(g.wheels):
        for j in range(3):
            near.begin[3 * wheel + j] = s.centre[wheel, j]
    result = find_nearby(near, g, s.box, g.step_margin, has_path)
    if result is not SearchResult.FOUND:
        return result
    begin_contacts(near, g, s)
    restore_contacts(near, s)
    return result


@routine
def keep_contacts(near: NearbyContacts, s: TimeStepping) -> None:
    """Store wheel, feature, side, impulse and load of the contacts that carry a load, before a search. The
    list of loaded contacts then contains their places in `NearbyContacts.kept`.
    """
    kept = 0
    for i in range(s.warmed_count):
        k = s.warmed[i]
        if s.warm[k, 0] != 0.0:
            keep_contact(near, kept, k)
            for j in range(3):
                near.kept_impulses[kept, j] = s.warm[k, j]
            near.kept_impulses[kept, 3] = s.carried[k]
            for loaded in range(s.loaded_count):
                if s.loaded[loaded] == k:
                    s.kept_loaded[loaded] = kept
            kept += 1
    s.kept_count = kept


@routine
def restore_contacts(near: NearbyContacts, s: TimeStepping) -> None:
    """Write impulses, loads and settled contacts with their new indices into the record of time stepping,
    after a search. If a loaded contact is not nearby any more, contacts are not settled.
    """
    for i in range(s.kept_count):
        k = find_kept(near, i)
        if k >= 0:
            for j in range(3):
                s.warm[k, j] = near.kept_impulses[i, j]
            s.carried[k] = near.kept_impulses[i, 3]
            s.warmed[s.warmed_count] = k
            s.warmed_count += 1
    # Contacts of a step are in the order of their indices. A search orders contacts by wheel, feature of the
    # ground table and side, and another region of the ground may order the features anew.
    count = 0
    for i in range(s.loaded_count):
        k = find_kept(near, s.kept_loaded[i])
        status = s.settled_status[i]
        if k < 0:
            s.settled = 0
            continue
        place = count
        count += 1
        while place > 0 and s.loaded[place - 1] > k:
            s.loaded[place] = s.loaded[place - 1]
            s.settled_status[place] = s.settled_status[place - 1]
            place -= 1
        s.loaded[place] = k
        s.settled_status[place] = status
    s.loaded_count = count
    s.kept_count = -1


@routine
def begin_contacts(near: NearbyContacts, g: GroundTable, s: TimeStepping) -> None:
    """Write status and friction coefficient of each nearby contact into the record of time stepping, and
    clear the impulses of earlier steps.
    """
    for k in range(near.contacts.size):
        wheel = near.contacts.wheels[k]
        s.tyred[k] = g.tyres[min(wheel, g.wheels)] >= 0
        s.closed_status[k] = near.closed_status[k]
        s.mu[k] = near.mu[k]
        if s.tyred[k]:
            # A tyre without longitudinal slip (two constraint rows) has no friction limit along.
            s.mu[k] = UNLIMITED_FRICTION if s.closed_status[k] == Status.TRACKING_TYRE else 0.0
        s.carried[k] = s.motion.share
        for j in range(3):
            s.warm[k, j] = 0.0
    s.reach_count = -1
    s.warmed_count = 0
