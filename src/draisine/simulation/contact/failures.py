"""Errors of event-driven runs, with cause, time, state and a remedy for the user.

The compiled run loop returns a `RunStatus`. `find_failure` turns a status that stops a run into an error. It
checks for the physical cause first: a wheel whose shape cannot touch the ground, a sliding contact whose
force grows without bound (Painlevé paradox), contacts without an admissible contact mode.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    ConfigurationError,
    ContactSetError,
    DraisineError,
    SimulationError,
    TerrainError,
    ZenoError,
)
from draisine.simulation.contact.complementarity.active_set import make_contact_set_error
from draisine.simulation.contact.driver import ArcDriver, RunState
from draisine.simulation.contact.event_driven.arc_integration import RunStatus
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.status import count_rows
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.trajectory import Event, GuardKind

LOCKING_RATIO = 0.1
"""Ratio of the inverse inertia along the contact normal with friction to that without friction; below it, a
sliding contact counts as locking. The ratio is 1 without friction and tends to 0 at the Painlevé paradox.
"""

BOUNCE_EVENTS = 8
"""Number of latest events that are examined; if one is a collision, the system is considered to bounce."""


@dataclass(frozen=True)
class Failure:
    """The reason why an event-driven run cannot continue."""

    outcome: str  # outcome of the partial trajectory; if empty, the text of the error
    error: DraisineError
    last: tuple[float, Floats] | None = None  # last time (s) and state that are physically valid


def find_failure(
    status: RunStatus,
    query: ContactQuery,
    run: RunState,
    driver: ArcDriver,
    events: Sequence[Event],
) -> Failure | None:
    """Return the reason why a run cannot continue after a call of the compiled run loop, or None if it can.

    Parameters
    ----------
    status
        Status that the run loop returned.
    query
        System and terrain.
    run
        Time, state and closed contacts at which the run loop stopped.
    driver
        Arc driver, which owns the records of the compiled run loop.
    events
        All events of the run so far.

    Returns
    -------
    Failure or None
        The error with the outcome of the partial trajectory.
    """
    if status in (RunStatus.SINGULAR, RunStatus.STEP_TOO_SMALL):
        return Failure("", _find_step_failure(status, query, run))
    if status is RunStatus.PENETRATION:
        return Failure("", _find_penetration(query, run, driver))
    if status is RunStatus.PULL:
        return _find_locking(query, run, driver)
    if status is RunStatus.CONTRADICTION:
        return Failure(
            "", ConfigurationError("the contacts contradict each other in this configuration.")
        )
    if status in (RunStatus.NO_CONTACT_SET, RunStatus.NO_FRICTION_FORCES):
        return _find_missing_mode(status, query, run, driver)
    if status is RunStatus.NO_PROGRESS:
        return _find_stall(query, run, driver, events)
    return None


def make_contact_set_failure(
    query: ContactQuery, run: RunState, error: ContactSetError, y: Floats
) -> Failure:
    """Return the `Failure` for an event at which no contact set is admissible, with time and state added to
    the message of `error`.
    """
    error.args = (f"at {run.t:.9g} s: {error}",)
    if error.state is None:
        error.state = query.machine.leave(y)
    return Failure("no admissible contact set", error)


def _find_missing_mode(
    status: RunStatus, query: ContactQuery, run: RunState, driver: ArcDriver
) -> Failure:
    """Return the failure of an event after which no contact mode is admissible."""
    keys, trials = driver.trials()
    error = make_contact_set_error(keys, trials)
    if status is RunStatus.NO_FRICTION_FORCES:
        error = ContactSetError(
            f"no forces at the contacts {', '.join(map(':'.join, keys))} satisfy Coulomb's law: a "
            "sliding contact locks (Painlevé paradox). A smaller mu may solve it."
        )
    after_impact = driver.state_after_impact()
    return make_contact_set_failure(
        query, run, error, run.y if after_impact is None else after_impact
    )


def _find_step_failure(
    status: RunStatus, query: ContactQuery, run: RunState
) -> SimulationError | ContactSetError:
    """Return the error of a step that cannot satisfy the integration tolerances.

    An edge may lie in the plane of a disc on it (raised as `TerrainError`), or a sliding contact may lock:
    its force grows while the inverse inertia along the normal, reduced by friction, tends to zero.
    """
    M = query.dynamics(run.t, run.y)["M"].reshape(query.n, query.n)
    is_regular = bool(np.linalg.cond(M) < 1.0 / np.finfo(float).eps)
    rows = query.evaluate_rows(run.t, run.y, [contact for contact, *_ in run.closed])
    for (contact, contact_status, mu), row in zip(run.closed, rows, strict=True):
        query.refuse_edge_in_plane(run.t, contact, row)
        has_drag = 0 < mu < np.inf or query.tyre(contact) is not None
        if not (is_regular and count_rows(contact_status) and has_drag):
            continue
        candidate = query.candidate(contact, row, mu, contact_status)
        normal = candidate.C[0]
        # Generalised force per newton of normal force: normal direction plus friction against the
        # slip.
        loaded = candidate.column(query.speeds(run.y))[:, 0]
        with_friction = normal @ np.linalg.solve(M, loaded)
        without_friction = normal @ np.linalg.solve(M, normal)
        if with_friction < LOCKING_RATIO * without_friction:
            return _locking_error(query, run.t, contact, run.y)
    cause = "no step is small enough"
    if status is RunStatus.SINGULAR:
        cause = "its contacts contradict each other"
    return SimulationError(f"the run stopped at {run.t:.9g} s: {cause}. {_advice(query)}")


def _find_penetration(query: ContactQuery, run: RunState, driver: ArcDriver) -> DraisineError:
    """Return the error of a wheel that penetrates the ground although no gap guard fired."""
    contact = driver.subject
    query.refuse_edge_in_plane(run.t, contact, query.evaluate_rows(run.t, run.y, [contact])[0])
    if any(contact == closed for closed, *_ in run.closed):
        return _find_step_failure(RunStatus.STEP_TOO_SMALL, query, run)
    wheel, feature = query.key(contact)
    if not query.discs[contact.wheel]:
        return SimulationError(
            f"the run stopped at {run.t:.9g} s: no step keeps wheel {wheel!r} out of {feature!r}."
        )
    return TerrainError(
        f"wheel {wheel!r} penetrates {feature!r}: it came over a point of the ground that its shape "
        "cannot touch. A disc touches no vertices and no edges in its plane: give the wheel a crown."
    )


def _find_locking(query: ContactQuery, run: RunState, driver: ArcDriver) -> Failure:
    """Return the failure of a normal force that jumps to a pull: a sliding contact locks.

    The run is physically valid up to the last state in which all contacts push, unless the forces are
    unbounded there already.
    """
    arc = driver.arc
    time = run.t + arc.clock.event_delay
    state = arc.state.copy()
    last = None
    with suppress(ConfigurationError):
        query.accelerate(time, state, run.closed)
        last = time, state
    contact = run.closed[arc.clock.subject][0]
    when = time if last is not None else run.t
    error = _locking_error(query, when, contact, arc.rows[: len(state)])
    return Failure("no admissible contact set", error, last)


def _locking_error(
    query: ContactQuery, t: float, contact: WheelOnFeature, y: Floats
) -> ContactSetError:
    """Return the error of a sliding contact whose force grows without bound (Painlevé paradox)."""
    wheel, feature = query.key(contact)
    remedy = "A smaller mu" if query.tyre(contact) is None else "Less grip of its tyre"
    return ContactSetError(
        f"at {t:.9g} s: the force on wheel {wheel!r}, which slides on {feature!r}, grows without "
        f"bound: it locks (Painlevé paradox). {remedy} may solve it.",
        state=query.machine.leave(y),
    )


def _find_stall(
    query: ContactQuery, run: RunState, driver: ArcDriver, events: Sequence[Event]
) -> Failure:
    """Return the failure of a run in which events follow each other without progress of time."""
    state = query.machine.leave(run.y)
    kind, k = driver.guard()
    if kind != GuardKind.NORMAL_FORCE:
        bounces = any(event.kind == "collision" for event in events[-BOUNCE_EVENTS:])
        advice = _advice(query)
        if bounces:
            advice = "A rest_speed (m/s) turns slower bounces into plastic impacts."
        error = ZenoError(
            f"the run makes no progress at {run.t:.9g} s: events follow each other without end. {advice}",
            state=state,
        )
        return Failure("no progress", error)
    contact = run.closed[k][0]
    wheel, feature = query.key(contact)
    remedy = "Friction (a finite mu)"
    if query.tyre(contact) is not None:
        remedy = "A tyre that also slips along its heading (brush_tyre, magic_formula)"
    pull = ContactSetError(
        f"at {run.t:.9g} s wheel {wheel!r} is about to be pulled by {feature!r}, and would penetrate it "
        f"if released: no contact set is admissible. {remedy} may solve it.",
        state=state,
    )
    return Failure("no admissible contact set", pull)


def _advice(query: ContactQuery) -> str:
    """Return the sentence of an error message that suggests a remedy if event location makes no progress."""
    if len(query.machine.wheels) < 3:
        return "A slightly different start may work."
    return (
        "Wheels that over-constrain the machine (on one axle, on uneven ground) stop event location: "
        "use tyres that slip (brush_tyre) or ContactOptions(solver='time_stepping')."
    )
