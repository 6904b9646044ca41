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
    and loads of the last step stay with their contacts.
    """
    kept = 0
    for i in range(s.warmed_count):
        k = s.warmed[i]
        if s.warm[k, 0] != 0.0:
            keep_contact(near, kept, k)
            for j in range(3):
                near.kept_impulses[kept, j] = s.warm[k, j]
            near.kept_impulses[kept, 3] = s.carried[k]
            kept += 1
    for wheel in range(g.wheels):
        for j in range(3):
            near.begin[3 * wheel + j] = s.centre[wheel, j]
    result = find_nearby(near, g, s.box, g.step_margin, has_path)
    if result is not SearchResult.FOUND:
        return result
    begin_contacts(near, g, s)
    for i in range(kept):
        k = find_kept(near, i)
        if k >= 0:
            for j in range(3):
                s.warm[k, j] = near.kept_impulses[i, j]
            s.carried[k] = near.kept_impulses[i, 3]
            s.warmed[s.warmed_count] = k
            s.warmed_count += 1
    return result


@routine
def begin_contacts(near: NearbyContacts, g: GroundTable, s: TimeStepping) -> None:
    """Write status and friction coefficient of each nearby contact into the record of time stepping, and
    clear the impulses of earlier steps. The count of settled steps is reset, because contact indices change.
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
    s.loaded_count = 0
    s.settled = 0
    s.warmed_count = 0
