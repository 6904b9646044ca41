"""Criteria for changing between event location and time stepping.

Event-driven arcs have high order. They make no progress if wheels over-constrain the system on uneven
ground, so that they stick and slip in quick succession, if bounces accumulate, or if no set of contacts is
admissible at acceleration level (Painlevé paradox, ideal wheels at an edge). Time steps always advance. A run
resumes event location when its contacts are settled: the same contacts have carried loads, with margin to
lift-off and slip, for a required number of steps. If the run soon changes back, this number is doubled.
"""

from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError, DraisineError, TerrainError, ZenoError
from draisine.simulation.contact.event_driven.rank import Rank, make_rank_work
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.arc import TimeStepper
from draisine.simulation.trajectory import Event

CROWDED_EVENTS = 20
"""Number of latest events that are examined; if they lie within as many time steps, time stepping costs less
than event location.
"""
IGNORED_EVENT_KINDS = ("collision", "input")
"""Kinds of events that do not count when the rate of events is compared with that of time steps."""
PROGRESS_STEPS = 100
"""Number of integration steps over which the progress of a run is measured."""
MIN_STEP_RATIO = 0.1
"""Mean length of integration steps, as a fraction of the time step, below which event-driven integration
costs more than time stepping.
"""
FIRST_SETTLED = 10
"""Number of successive time steps with the same loaded contacts before event location resumes first."""
RETRY_STEPS = 20
"""Number of time steps after event location resumed; a change back to time stepping within this time doubles
the number of settled steps that the next resumption requires.
"""
MOST_SETTLED = 1 << 20
"""Upper bound of the number of settled steps (same loaded contacts) before event location resumes."""
MAX_PROJECTION = 1e-4
"""Largest change of a state by the projection onto the contact constraints, as a fraction of the wheel size
for positions and in rad for angles.
"""


def count_events(events: Sequence[Event], begin: float) -> int:
    """Return the number of events after time `begin` (s), without jumps of the inputs."""
    recent = takewhile(lambda event: event.t > begin, reversed(events))
    return sum(event.kind != "input" for event in recent)


def is_crowded(events: Sequence[Event], h: float) -> bool:
    """Return whether the latest events follow each other faster than time steps of length h (s) would.

    Collisions do not count, because accumulating bounces come to rest. Jumps of the inputs do not count
    either: a controller that acts every millisecond must not reduce the accuracy of the run.
    """
    latest = [
        event.t for event in events[-2 * CROWDED_EVENTS :] if event.kind not in IGNORED_EVENT_KINDS
    ]
    if len(latest) < CROWDED_EVENTS:
        return False
    return latest[-1] - latest[-CROWDED_EVENTS] < CROWDED_EVENTS * h


def describe_failure(error: DraisineError) -> str:
    """Return a short description of the error that stopped event location."""
    if isinstance(error, ZenoError):
        return "events accumulate"
    if isinstance(error, ContactSetError):
        return "no admissible contact set"
    if isinstance(error, TerrainError):
        return "a point of the ground that the wheel's shape cannot meet"
    return "no step is small enough"


def classify_rank(query: ContactQuery, t: float, y: Floats, closed: Sequence[Closed]) -> Rank:
    """Return whether the constraint rows of the rolling contacts among closed contacts are independent,
    redundant or nearly redundant (`event_driven.rank`).
    """
    packed = query.packed_mode(closed)
    mode = packed.record
    query.fill(t, y)
    work = make_rank_work(len(closed), query.n, query.row.size)
    rank: Rank = query.code.compute_rank(packed, work, mode.which, mode.status, len(closed))
    return rank


def project_onto_loaded_contacts(stepper: TimeStepper) -> Floats | None:
    """Return the present state of a time stepper projected onto the constraints of the contacts that carry a
    load; None if these contacts over-constrain the system or the projection moves the state too far.
    """
    query = stepper.query
    t = stepper.t
    y = stepper.y
    closed = stepper.loaded()
    if classify_rank(query, t, y, closed) is Rank.OVER_CONSTRAINED:
        return None
    touching = {contact for contact, *_ in closed}
    size = query.wheel_size
    below = [
        (contact, Status.SLIDING, 0.0)
        for contact, row in query.find_penetrating(t, y, stepper.near)
        if contact not in touching and query.gap(row) < 0.0
    ]
    moved = query.project(t, y, [*closed, *below]) if closed or below else y.copy()
    if not np.isfinite(moved).all():
        return None
    change = moved - y
    change[query.y.p] /= size
    parts = (np.linalg.norm(change[query.y.q]), np.linalg.norm(change[query.y.p]))
    if max(*parts, np.abs(change[query.y.r]).max(initial=0.0)) > MAX_PROJECTION:
        return None
    return moved
