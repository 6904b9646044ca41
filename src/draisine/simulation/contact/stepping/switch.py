"""When a run changes between event location and time stepping.

Event-driven arcs are of high order. They stop making progress if wheels over-constrain the machine on
uneven ground, so that they stick and slip in quick succession, if bounces accumulate, or if no set of
contacts is admissible at acceleration level (Painlevé paradox, ideal wheels at an edge). Time steps
always advance. A run returns to event location when the same contacts have carried their loads with
margin for some steps. If that fails soon, it takes twice as many steps the next time.
"""

from collections.abc import Sequence
from enum import IntEnum
from itertools import takewhile

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError, DraisineError, TerrainError, ZenoError
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.arc import TimeStepper
from draisine.simulation.trajectory import Event

CROWDED_EVENTS = 20  # events; if there were as many time steps meanwhile, these would cost less
UNCROWDED = ("collision", "input")  # kinds of events that say nothing about progress
FEW_STEPS = 100  # integration steps over which progress is measured
MIN_STEP_RATIO = 0.1  # of a time step; shorter integration steps cost more than time steps
FIRST_SETTLED = 10  # steps with the same contacts before event location resumes
RETRY_STEPS = 20  # steps; a switch back within so many doubles the number required
MOST_SETTLED = 1 << 20  # steps; never more are required
MAX_PROJECTION = 1e-4  # of the wheel size, or rad; no projection onto the constraints moves further
NEARLY_REDUNDANT = (
    0.1  # singular value of unit rows; on a plane those of ten machines are 0 or above 0.06
)
PARALLEL = (
    1e-6  # difference of unit normals; on parallel faces rows are redundant exactly or not at all
)
REDUNDANT = 1e-5  # singular value of redundant rows: on a plane, up to rounding after impacts


def count_events(events: Sequence[Event], begin: float) -> int:
    """Return the number of events after a time (s), without jumps of the inputs."""
    recent = takewhile(lambda event: event.t > begin, reversed(events))
    return sum(event.kind != "input" for event in recent)


def is_crowded(events: Sequence[Event], h: float) -> bool:
    """Return whether the latest events follow each other faster than time steps of length h would.

    Collisions do not count, because bounces that accumulate come to rest. Jumps of the inputs do not count
    either: a controller that acts every millisecond must not cost the run its accuracy.
    """
    latest = [event.t for event in events[-2 * CROWDED_EVENTS :] if event.kind not in UNCROWDED]
    if len(latest) < CROWDED_EVENTS:
        return False
    return latest[-1] - latest[-CROWDED_EVENTS] < CROWDED_EVENTS * h


def reason_of(error: DraisineError) -> str:
    """Return why event location stopped, in a few words."""
    if isinstance(error, ZenoError):
        return "events accumulate"
    if isinstance(error, ContactSetError):
        return "no admissible contact set"
    if isinstance(error, TerrainError):
        return "a point of the ground that the wheel's shape cannot meet"
    return "no step is small enough"


class Rank(IntEnum):
    """How independent the rows of rolling contacts are."""

    INDEPENDENT = 0
    REDUNDANT = 1  # exactly: wheels of one axle on a plane
    OVER_CONSTRAINED = 2  # nearly redundant: wheels of one axle on faces of different slope


def rank_of(query: ContactQuery, t: float, y: Floats, closed: Sequence[Closed]) -> Rank:
    """Return how independent the rows of the rolling contacts are.

    If rows are nearly redundant, lateral forces have no bound but friction, and one wheel creeps.
    """
    rolling = [contact for contact, status, _ in closed if status == Status.ROLLING]
    if len(rolling) < 2:
        return Rank.INDEPENDENT
    contact_rows = query.evaluate_rows(t, y, rolling)
    rows = query.jacobian(contact_rows).reshape(-1, query.n)
    M = query.dynamics(t, y)["M"].reshape(query.n, query.n)
    if _are_far_from_redundant(M, rows):
        return Rank.INDEPENDENT
    normals = contact_rows[:, query.row.normal]
    parallel = np.square(normals - normals[0]).sum(axis=1).max() < PARALLEL**2
    try:
        scaled = np.linalg.solve(np.linalg.cholesky(M), rows.T).T
    except np.linalg.LinAlgError:
        return Rank.INDEPENDENT
    length = np.sqrt((scaled * scaled).sum(axis=1))
    units = scaled[length > 0.0] / length[length > 0.0, None]
    values = np.linalg.svd(units, compute_uv=False)
    if not parallel and ((values > REDUNDANT) & (values < NEARLY_REDUNDANT)).any():
        return Rank.OVER_CONSTRAINED
    full = len(values) == len(units) and (values > REDUNDANT).all()
    return Rank.INDEPENDENT if full else Rank.REDUNDANT


def _are_far_from_redundant(M: Floats, rows: Floats) -> bool:
    """Return whether all singular values of rows (m, n), of unit length in the metric of the mass matrix, are
    above `NEARLY_REDUNDANT`. That costs less than the singular values, and holds for most machines.
    """
    try:
        gram = rows @ np.linalg.solve(M, rows.T)
        squares = gram.diagonal()
        if not (squares > 0.0).all():
            return False
        # The eigenvalues of the scaled Gram matrix are the squares of the singular values.
        lengths = np.sqrt(squares)
        gram /= lengths * lengths[:, None]
        gram.flat[:: len(gram) + 1] -= NEARLY_REDUNDANT**2
        np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return False
    return True


def project_state(stepper: TimeStepper) -> Floats | None:
    """Return the state of a stepper projected onto the constraints of the contacts that carry a load;
    None if they over-constrain the machine or the projection moves it too far.
    """
    query = stepper.query
    t = stepper.t
    y = stepper.y
    closed = stepper.loaded()
    if rank_of(query, t, y, closed) is Rank.OVER_CONSTRAINED:
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
