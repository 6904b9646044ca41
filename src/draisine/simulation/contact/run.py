"""Runs on a terrain: arcs of continuous motion, one mode each, and the events between them.

Collisions and lift-offs are located on dense output and reached by a step of their own; which
contacts carry afterwards is decided at impulse and at acceleration level by `active_set`.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import NoReturn

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    ConfigurationError,
    ContactSetError,
    DeadEndError,
    DraisineError,
    ParameterError,
    SimulationError,
    TerrainError,
    ZenoError,
    expect_known,
)
from draisine.simulation.contact.arc import SteppedArc, TerrainArc, observe_states
from draisine.simulation.contact.complementarity.active_set import no_contact_set
from draisine.simulation.contact.driver import ArcDriver, Cause, EventRecord, Standing
from draisine.simulation.contact.march import RunStatus
from draisine.simulation.contact.passage import EventCause
from draisine.simulation.contact.query import Closed, ContactQuery, look_back
from draisine.simulation.contact.start import place_start
from draisine.simulation.contact.stepping import switch
from draisine.simulation.contact.stepping.arc import SteppedSamples, TimeStepper, choose_step
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.integrators import CHUNKS, NO_END, SMOOTHER
from draisine.simulation.options import ContactOptions, Task
from draisine.simulation.trajectory import DenseOutput, Event, Guard, GuardKind, Key, Trajectory
from draisine.simulation.validity.fall import fall_words
from draisine.system.generic import generic
from draisine.system.state import State
from draisine.terrain import Terrain

CHUNK, WATCH = 200, 50
"""After so many steps machine code comes up for air: there a run can be interrupted; after so many
breaths it is asked whether there is an end of them.
"""

LOCKS = 0.1
"""A sliding contact is about to lock where friction leaves less than this part of its inverse
inertia.
"""


EVENT_WINDOW = 1.0  # s of simulated time in which there may be `ContactOptions.events` events

SAME_TIME = 1e-9  # s; times of samples this close are equal up to rounding, after a year as well

LAST = 8
"""Of how many last events one looks whether something bounces."""


class EnergyWarning(UserWarning):
    """An impact that creates energy."""


class TerrainRun:
    """A run in the making: where it stands, the arc under way, and what was made before."""

    def __init__(self, task: Task) -> None:
        self.look, y = place_on_terrain(task)
        self.contact, self.numerics, self.progress = task.contact, task.numerics, task.progress
        self.start, self.until = task.numerics.start, task.until
        self.jumps = sorted(b for b in set(task.jumps) if b > self.start)
        self.at = Standing(self.start, y)
        self.arc_closed: tuple[Closed, ...] = ()
        self.samples: list[tuple[Floats, Floats]] = []
        self.grazes: list[tuple[float, Key]] = []
        self.nodes: list[tuple[Floats, Floats]] = []
        self.keeps_dense = True
        self.arcs: list[TerrainArc | SteppedArc] = []
        self.events: list[Event] = []
        self.outcome = ""
        self.driver: ArcDriver | None = None
        self.steps: SteppedSamples | None = None  # the arc in time steps that is under way
        self.watched = task.contact.solver == "auto"  # whether contacts may over-constrain it
        self.ranks: dict[tuple[WheelOnFeature, ...], switch.Rank] = {}
        self.ended = ""  # outcome of a run that cannot go on
        self.reason = ""  # of the arc in time steps
        self.required = switch.FIRST_SETTLED  # settled steps before event location resumes
        self.resumed = -np.inf  # when event location resumed last, s

    @property
    def next_jump(self) -> float:
        """When inputs may jump next."""
        return min((b for b in self.jumps if self.at.t < b), default=np.inf)

    def state(self) -> State:
        """Return the present state."""
        return self.look.machine.leave(self.at.y)

    def observe(self, t: float = math.inf) -> dict[str, Floats]:
        """Return everything that can be observed of the present state, time last. In time steps the
        state may be at a time within the last step, and forces are means since the last sample.
        """
        if self.steps is not None:
            return self.steps.arc(t).observations
        here = (np.array([self.at.t]), self.at.y[None], self.at.closed)
        return observe_states(self.look, [here])

    def sample_at(self, t: float) -> Floats | None:
        """Return the sample at a time of the last event-driven arc; None if there is none."""
        arcs = [(arc.t, arc.y) for arc in self.arcs[-1:]]
        for times, states in (*reversed(self.samples), *arcs):
            k = min(int(np.searchsorted(times, t - SAME_TIME)), len(times) - 1)
            if abs(times[k] - t) <= SAME_TIME:
                return np.asarray(states[k])
        return None

    def forget(self) -> None:
        """Forget the samples and arcs of the past; a `Stepper` does not report them."""
        del self.samples[:-1], self.grazes[:], self.arcs[:-1]
        del self.events[: -self.contact.events - switch.CROWDED_EVENTS]

    def branch(self, until: float) -> "TerrainRun":
        """Return a run that goes on from here on its own, until a time; not in time steps."""
        other = copy(self)
        for name in ("arcs", "events", "samples", "grazes", "nodes"):
            setattr(other, name, list(getattr(self, name)))
        other.at, other.until = replace(self.at, y=self.at.y.copy()), until
        return other

    # --- on and on

    def begin(self) -> None:
        """Decide which contacts carry at the start."""
        place_start(self.look, self.at.t, self.at.y, self.contact.margin)
        if self.contact.solver == "time_stepping":
            self._enter_steps("requested")
            return
        try:
            self._proceed(0, 1, Cause(EventCause.START))
        except (ConfigurationError, ContactSetError) as error:
            self._switch(error)
        if not self.events:
            self.arc_closed = self.at.closed

    def restart(self, look: ContactQuery, y: Floats, inputs: Floats) -> None:
        """Go on from a state, under other inputs and perhaps by another law. In time steps no event marks
        it: their forces are piecewise constant anyway.
        """
        self.driver = self.driver if look is self.look else None
        self.look, look.inputs = look, inputs
        self.at = replace(self.at, y=y)
        if self.steps is not None:
            if look is self.steps.stepper.look:
                self.steps.restart(self.at.t, y)
            else:
                self._begin_steps(self.steps.stepper.h)
            return
        try:
            self._proceed(0, 1, Cause(EventCause.INPUT))
        except (ConfigurationError, SimulationError, TerrainError) as error:
            self._switch(error)

    def go(self) -> Trajectory:
        """Return the whole run."""
        self.begin()
        before, moves = self.at.t, 0
        while self.at.t < self.until and not self.outcome:
            self.move(CHUNK, 1 if self.watched else CHUNK)
            moves += 1
            if moves % WATCH == 0:
                if CHUNKS * (self.at.t - before) < self.until - self.at.t and self.steps is None:
                    self._switch(
                        SimulationError(
                            f"the run stopped at {self.at.t:.9g} s: {NO_END}. {SMOOTHER}"
                        )
                    )
                before = self.at.t
        return self.trajectory(self.outcome or "completed")

    def move(self, steps: int = 1, events: int = 1) -> None:
        """Take some steps, through some events at most."""
        if self.steps is not None:
            self._move_steps(steps)
        else:
            before = self.at.t
            try:
                self._move_events(steps, events)
            except (ConfigurationError, SimulationError, TerrainError) as error:
                self._switch(error)
            else:
                if self.contact.solver == "auto":
                    self._watch_progress(before)
        if self.progress is not None:
            self.progress((self.at.t - self.start) / (self.until - self.start))

    def _watch_progress(self, before: float) -> None:
        """Go on in time steps if the run advances more slowly than by these."""
        if self.outcome or self.at.t >= self.until or self.driver is None:
            return
        if self.watched and self._rank() is switch.Rank.OVER_CONSTRAINED:
            self._refuse_ideal()
            self._enter_steps("contacts over-constrain the machine")
            return
        if self.watched and sum(rows == 3 for _, rows, _ in self.at.closed) > 1:
            # Machines whose wheels are independent once are so everywhere: events need no watching.
            self.watched = self._rank() is not switch.Rank.INDEPENDENT
        taken = self.driver.course.clock.steps
        since = self.at.t - before
        if taken < switch.FEW_STEPS and len(self.events) < switch.CROWDED_EVENTS:
            return
        h = choose_step(self.look, self.contact, self.at.t, self.at.y)
        if switch.is_crowded(self.events, h):
            self._enter_steps("events accumulate")
        elif taken >= switch.FEW_STEPS and since < switch.SLOW * taken * h:
            self._enter_steps("integration steps are too short")

    def _move_events(self, steps: int, events: int) -> None:
        """Integrate some steps, through some events at most."""
        if self._proceed(steps, events if self.progress is None else 1) == RunStatus.ARC_END:
            if self.at.t < self.until:
                self._proceed(0, 1, Cause(EventCause.INPUT))
            else:
                self.mark()
                self._close_arc(None)

    # --- time stepping

    def _switch(self, error: DraisineError) -> None:
        """Go on in time steps after an error of event location, or raise it."""
        if self.contact.solver != "auto" or isinstance(error, DeadEndError):
            raise self._with_partial(error)
        self._refuse_ideal()
        guard = None if self.driver is None else self.driver.unresolved()
        self._enter_steps(switch.reason_of(error), guard)

    def _rank(self) -> switch.Rank:
        """Return how independent the rows of the rolling contacts are; each set is examined once."""
        wanted = tuple(contact for contact, rows, _ in self.at.closed if rows == 3)
        if wanted not in self.ranks:
            look, t, y = self.look, self.at.t, self.at.y
            self.ranks[wanted] = switch.rank_of(look, t, y, self.at.closed)
        return self.ranks[wanted]

    def _refuse_ideal(self) -> None:
        """Raise if ideal contacts over-constrain the machine: friction with a limit decides which of
        them creeps, and they have none.
        """
        ideal = [c for c, rows, mu in self.at.closed if rows == 3 and not np.isfinite(mu)]
        if len(ideal) < 2 or self._rank() is not switch.Rank.OVER_CONSTRAINED:
            return
        names = ", ".join(":".join(self.look.key(contact)) for contact in ideal)
        self.ended = "over-constrained"
        error = ContactSetError(
            f"at {self.at.t:.9g} s: the ideal contacts {names} over-constrain the machine on this ground: "
            "wheels on one axle cannot all roll without slip where it is uneven. Give friction a limit, "
            "ContactOptions(mu=0.8).",
            state=self.state(),
        )
        raise self._with_partial(error)

    def _with_partial(self, error: DraisineError) -> DraisineError:
        """Return an error with the motion that was computed before it."""
        if isinstance(error, SimulationError) and error.partial is None:
            self.mark()
            error.partial = self.partial(self.ended or str(error))
        return error

    def _enter_steps(self, reason: str, guard: Guard | None = None) -> None:
        """Begin an arc in time steps at the present state, where a guard may have fired, or where events
        began to accumulate.
        """
        h = choose_step(self.look, self.contact, self.at.t, self.at.y)
        if self.at.t - self.resumed < switch.SOON * h:
            self.required = min(2 * self.required, switch.MOST_SETTLED)
        if self.samples:
            self.mark()
            self._close_arc(None)
            guard = self._rewind(h, guard)
            closed = getattr(self.arcs[-1], "closed", ())
            event = self._change("time-stepping", self.at.y, self.at.y, closed, ())
            self.events.append(replace(event, guard=guard))
        self.reason = reason
        self._begin_steps(h)

    def _begin_steps(self, h: float) -> None:
        """Begin time steps of a length at the present state."""
        stepper = TimeStepper(self.look, self.contact, self.at.t, self.at.y, h, self.reason)
        if self.contact.solver == "auto":
            stepper.require(self.required)
        dt = self.numerics.dt if self.keeps_dense else math.inf
        self.steps = SteppedSamples(stepper, self.start, dt)

    def _rewind(self, h: float, guard: Guard | None) -> Guard | None:
        """Discard the latest arcs that are shorter than half a time step, with the events before them:
        time steps replace them. Impacts stay. Return the guard that decides when the time steps begin:
        that of the first discarded event, or the given one.
        """
        while len(self.arcs) > 1 and self.events[-1].kind != "collision":
            last = self.arcs[-1]
            if isinstance(last, SteppedArc) or last.t[-1] - last.t[0] >= 0.5 * h:
                break
            self.arcs.pop()
            guard = self.events.pop().guard
        last = self.arcs[-1]
        self.at = Standing(float(last.t[-1]), last.y[-1].copy())
        return guard

    def _move_steps(self, steps: int) -> None:
        """Take some time steps; resume event location if the same contacts carry with margin."""
        assert self.steps is not None
        stepper = self.steps.stepper
        if stepper.is_settled:
            self._resume_events(stepper)
            if self.steps is None:
                return
        self.steps.advance(steps, self.until)
        self.at = Standing(stepper.t, stepper.y.copy())
        if self.contact.solver == "auto" and stepper.has_ideal_contacts:
            self.at.closed = tuple(stepper.loaded())
            self._refuse_ideal()
        if stepper.outcome or self.at.t >= self.until:
            self.outcome = stepper.outcome
            self._close_steps(None)

    def _resume_events(self, stepper: TimeStepper) -> None:
        """Return to event location, if the state can be projected onto the constraints."""
        found = switch.resume_events(stepper)
        kept = self.at
        if found is not None:
            y, _closed = found
            try:
                self.at = Standing(stepper.t, y)
                self._proceed(0, 1, Cause(EventCause.START))
            except (ConfigurationError, SimulationError, TerrainError):
                found = None
        if found is None:
            self.at, self.samples = kept, []
            self.required = min(2 * self.required, switch.MOST_SETTLED)
            stepper.require(self.required)
            return
        self.resumed = self.at.t
        begun, self.samples = self.samples, []
        self._close_steps(self._change("event-location", kept.y, self.at.y, (), self.at.closed))
        self.samples, self.arc_closed = begun, self.at.closed

    def _change(
        self, kind: str, y: Floats, after: Floats, closed: Sequence[Closed], later: Sequence[Closed]
    ) -> Event:
        """Return the event at which a run changes its solver."""
        look, t = self.look, self.at.t
        ends = (look.machine.leave(y), look.machine.leave(after))
        energies = (look.energy(t, y), look.energy(t, after))
        return Event(t, kind, (), True, *ends, look.mode(closed), look.mode(later), *energies)

    def _close_steps(self, event: Event | None) -> None:
        """Keep the arc in time steps that ends here, and what ends it."""
        assert self.steps is not None
        self.arcs.append(self.steps.arc())
        self.steps = None
        if event is not None:
            self.events.append(event)

    def _drive(self) -> ArcDriver:
        """Return what leads on from here."""
        look, t, y = self.look, self.at.t, self.at.y
        if self.driver is None:
            box = look.boxes(t, y)
            self.driver = ArcDriver(look, self.contact, self.numerics, t, box)
        elif not self.driver.holds(self.at.closed):  # another branch has been elsewhere
            self.driver.look_around(t, look.boxes(t, y))
        return self.driver

    def _proceed(self, steps: int, events: int, cause: Cause | None = None) -> int:
        """Go on for so many steps and events at most, or from an event on; return why not further."""
        driver, refusal = self._drive(), None
        most = min(events, self.contact.events + 1)
        driver.load(self.at, self.next_jump, self.until, cause)
        try:
            how = self._call(driver, steps, most)
        except ContactSetError as error:  # of an impact
            how, refusal = RunStatus.IMPACT, error
        finally:
            self._take_over(driver)
        if refusal is not None:
            self._stop(refusal, self.at.y)
        if how is RunStatus.TOO_MANY_CONTACTS:
            cause = driver.cause()
            driver.grow()
            return self._proceed(steps, events, cause)
        if how is RunStatus.OUTSIDE_SEARCH:
            begin = self.look.centres(self.at.t, self.at.y)
            driver.look_around(self.at.t, driver.course.box, begin)
        self._check(how, driver)
        return how

    def _call(self, driver: ArcDriver, steps: int, events: int) -> int:
        """Let routines go on, and do for them what they do not know; return why not further."""
        while True:
            how = driver.go(steps, events)
            if how is RunStatus.UNKNOWN_MODE:
                driver.meet_mode()
            elif how is RunStatus.SHARP_FEATURE:
                driver.check()
            elif how is RunStatus.IMPACT:
                driver.strike()
            else:
                return how

    def _take_over(self, driver: ArcDriver) -> None:
        """Take over what a call has left: samples, events, where the run stands."""
        (times, states), grazes, records = driver.samples(), driver.grazes(), driver.events()
        self.at, (node_times, nodes) = driver.standing(), driver.nodes()
        begins = node_times[:, 0]
        ends = [(one.samples, one.grazes) for one in records]
        bounds = [(0, 0), *ends, (len(times), len(grazes))]
        for k, ((first, graze), (last, until)) in enumerate(pairwise(bounds)):
            if last > first:
                self.samples.append((times[first:last], states[first:last]))
            self.grazes += grazes[graze:until]
            # A step belongs to the arc in which it begins; arcs of one instant have none.
            early = begins < (records[k].t if k < len(records) else np.inf)
            if self.keeps_dense and early.any():
                self.nodes.append((node_times[early], nodes[early]))
            node_times, nodes, begins = node_times[~early], nodes[~early], begins[~early]
            if k < len(records):
                self._tell(records[k])

    # --- arcs and events

    def mark(self) -> None:
        """Keep the present state as a sample, unless it is there."""
        if self.samples and self.at.t > self.at.latest:
            self.samples.append((np.array([self.at.t]), self.at.y[None].copy()))
            self.at.latest = self.at.t

    def _tell(self, found: EventRecord) -> None:
        """Keep an event, and the arc before it."""
        look, kind, fired, blow = self.look, found.kind, found.fired, found.blow
        pushes, trials = ({}, ()) if blow is None else (blow.chosen.pushes, blow.trials)
        soft, (energy, after) = blow is None, found.energies
        if blow is not None:
            kind = "collision"
            self._warn(found.t, after - energy, energy)
        still, shut = {c.wheel for c, *_ in found.closed_after}, [c for c, *_ in found.closed]
        gone = [c for c in shut if c.wheel not in still]
        if kind in ("hand-over", "input") and gone:
            kind, fired, soft = "lift-off", gone, False
        began = [
            c for c, rows, mu in found.closed_after if rows == 1 and (c, 3, mu) in found.closed
        ]
        if kind == "input" and began:
            kind, fired = "slip", began
        names = tuple(look.key(c) for c in fired) or tuple(pushes)
        if kind == "hand-over":
            names = tuple(look.key(c) for c, *_ in found.closed_after if c not in shut)
        ends = (look.machine.leave(found.before), look.machine.leave(found.after))
        modes = (look.mode(found.closed), look.mode(found.closed_after))
        event = Event(
            found.t, kind, names, soft, *ends, *modes, energy, after, pushes, trials, found.guard
        )
        self._close_arc(event)
        self.arc_closed = found.closed_after

    def _warn(self, t: float, gain: float, energy: float) -> None:
        """Warn of an impact on fixed ground that creates energy."""
        if not self.look.terrain.motions and gain > 1e-9 * max(1.0, abs(energy)):
            warnings.warn(
                f"the impact at {t:.9g} s creates {gain:.3g} J; "
                "restitution with friction, or with unequal coefficients, can.",
                EnergyWarning,
                stacklevel=8,
            )

    def _close_arc(self, event: Event | None) -> None:
        """Keep the arc that ends here, and what ends it."""
        if self.samples:
            closed, look = self.arc_closed, self.look
            times, states = (np.concatenate(parts) for parts in zip(*self.samples, strict=True))
            mode, grazes = look.mode(closed), tuple(self.grazes)
            own = (look.machine, times, states, look.inputs, closed, look.terrain, mode, look.stops)
            dense = None
            if self.nodes:
                t, y = (np.concatenate(parts) for parts in zip(*self.nodes, strict=True))
                dense = DenseOutput(t, y, look.inputs)
            self.arcs.append(TerrainArc(*own, grazes, dense))
            self.samples, self.grazes, self.nodes = [], [], []
        if event is not None:
            self.events.append(event)

    def trajectory(self, outcome: str) -> Trajectory:
        """Return what was computed so far."""
        numerics = self.numerics
        made = {"impact": self.contact.impact_name, "dt": numerics.dt, "rtol": numerics.rtol}
        made["atol"] = numerics.atol
        made["solver"] = self.contact.solver
        return Trajectory(tuple(self.arcs), outcome, made, tuple(self.events), self.contact)

    def partial(self, outcome: str) -> Trajectory:
        """Return what was computed so far, the arc in the making included."""
        if self.steps is not None:
            self._close_steps(None)
            return self.trajectory(outcome)
        if len(self.arcs) <= len(self.events) and not self.samples:
            self.samples.append((np.array([self.at.t]), self.at.y[None].copy()))
        self._close_arc(None)
        return self.trajectory(outcome)

    # --- what stops a run

    def _check(self, how: int, driver: ArcDriver) -> None:
        """Raise, or end the run, where it cannot go on."""
        if how in (RunStatus.SINGULAR, RunStatus.STEP_TOO_SMALL):
            self._fail(how)
        elif how is RunStatus.PENETRATION:
            self._sink(driver)
        elif how is RunStatus.PULL:
            self._lock(driver)
        elif how in (
            RunStatus.CONTRADICTION,
            RunStatus.NO_CONTACT_SET,
            RunStatus.NO_FRICTION_FORCES,
        ):
            self._refuse(how, driver)
        elif how is RunStatus.NO_PROGRESS:
            self._give_up(*driver.guard())
        elif how is RunStatus.FALL:
            over = driver.guard()[0] == GuardKind.OVER
            self.outcome = fall_words(None if over else math.asin(driver.course.fall))
            self._close_arc(None)
        most = self.contact.events
        if len(self.events) > most and self.at.t - self.events[-1 - most].t < EVENT_WINDOW:
            self.ended = "too many events"
            raise ZenoError(
                f"more than {most} events within a second until {self.at.t:.9g} s; "
                "a rest_speed turns small bounces into plastic impacts.",
                state=self.state(),
            )

    def _refuse(self, how: int, driver: ArcDriver) -> NoReturn:
        """Raise what stops an event from being resolved."""
        if how is RunStatus.CONTRADICTION:
            raise ConfigurationError("the contacts contradict each other in this configuration.")
        keys, trials = driver.trials()
        error = no_contact_set(keys, trials)
        if how is RunStatus.NO_FRICTION_FORCES:
            error = ContactSetError(
                f"no forces at the contacts {', '.join(map(':'.join, keys))} satisfy the law of "
                "friction: a sliding contact locks (Painleve's paradox). A smaller mu may solve it."
            )
        struck = driver.struck()
        self._stop(error, self.at.y if struck is None else struck)

    def _stop(self, error: ContactSetError, y: Floats) -> NoReturn:
        """Raise an error with the time, the state and what was computed before it."""
        error.args = (f"at {self.at.t:.9g} s: {error}",)
        error.state = self.look.machine.leave(y) if error.state is None else error.state
        self.ended = "no admissible contact set"
        raise error

    def _fail(self, how: int) -> None:
        """Raise why there is no step: an edge comes to lie in the plane of a disc on it, or a sliding
        contact locks, whose force grows while the part of its inverse inertia that friction leaves
        goes to zero.
        """
        look, t, y = self.look, self.at.t, self.at.y
        M = look.dynamics(t, y)["M"].reshape(look.n, look.n)
        rows = look.meet(t, y, [contact for contact, *_ in self.at.closed])
        for (contact, held, mu), row in zip(self.at.closed, rows, strict=True):
            look.check_plane(t, contact, row)
            k = look.candidate(contact, row, mu, held)
            regular = bool(np.linalg.cond(M) < 1.0 / np.finfo(float).eps)
            if regular and held and (0 < mu < np.inf or look.tyre(contact) is not None):
                C, G = k.C[0], k.column(look.speeds(y))[:, 0]
                if C @ np.linalg.solve(M, G) < LOCKS * (C @ np.linalg.solve(M, C)):
                    raise self._locked(contact, y)
        singular = how is RunStatus.SINGULAR
        why = "its contacts contradict each other" if singular else "no step is small enough"
        raise SimulationError(f"the run stopped at {t:.9g} s: {why}. {self._way_out()}")

    def _way_out(self) -> str:
        """Return what helps where wheels that roll or stick and slip leave no way on."""
        if len(self.look.machine.wheels) < 3:
            return "Another start, by a little, may go on."
        return (
            "Wheels that hold each other, on one axle or on ground that is not even, leave no way on: tyres "
            "that slip (brush_tyre) or ContactOptions(solver='time_stepping') do."
        )

    def _locked(self, contact: WheelOnFeature, y: Floats) -> ContactSetError:
        """Return the error of a sliding contact whose force grows without bound."""
        wheel, feature = self.look.key(contact)
        less = "A smaller mu" if self.look.tyre(contact) is None else "Less grip of its tyre"
        return ContactSetError(
            f"at {self.at.t:.9g} s: the force on wheel {wheel!r}, which slides on {feature!r}, grows "
            f"without bound: it locks (Painleve's paradox). {less} may solve it.",
            state=self.look.machine.leave(y),
        )

    def _lock(self, driver: ArcDriver) -> None:
        """Raise what stops a run in which a contact force jumps to a pull: a sliding contact locks.
        The last state is the last one in which all contacts push, unless their forces have no bound
        there already.
        """
        course, closed = driver.course, self.at.closed
        when, y = self.at.t + course.clock.event_delay, course.state.copy()
        with suppress(ConfigurationError):
            self.look.accelerate(when, y, closed)
            self.at.t, self.at.y = when, y
            self.mark()
        contact = closed[course.clock.subject][0]
        error = self._locked(contact, course.rows[: len(y)])
        self.ended = "no admissible contact set"
        raise error

    def _sink(self, driver: ArcDriver) -> None:
        """Raise where a wheel is in the ground, though no gap has told of it."""
        contact, t, y = driver.near[driver.course.clock.subject], self.at.t, self.at.y
        self.look.check_plane(t, contact, self.look.meet(t, y, [contact])[0])
        if any(contact == shut for shut, *_ in self.at.closed):
            self._fail(RunStatus.STEP_TOO_SMALL)
        wheel, feature = self.look.key(contact)
        if not self.look.discs[contact.wheel]:
            raise SimulationError(
                f"the run stopped at {t:.9g} s: no step keeps wheel {wheel!r} out of {feature!r}."
            )
        raise TerrainError(
            f"wheel {wheel!r} sinks into {feature!r}: it came over a point of the ground that its "
            "shape cannot meet. A disc meets no vertices and no edges in its plane: give the wheel "
            "a crown."
        )

    def _give_up(self, kind: int, k: int) -> None:
        """Raise what stops a run that makes no progress."""
        if kind != GuardKind.FORCE:
            bounces = any(event.kind == "collision" for event in self.events[-LAST:])
            rest = "A rest_speed (m/s) turns slower bounces into plastic impacts."
            self.ended = "no progress"
            raise ZenoError(
                f"the run makes no progress at {self.at.t:.9g} s: events follow each other without end. "
                f"{rest if bounces else self._way_out()}",
                state=self.state(),
            )
        contact = self.at.closed[k][0]
        wheel, feature = self.look.key(contact)
        slip = "Friction (a finite mu)"
        if self.look.tyre(contact) is not None:
            slip = "A tyre that slips along its heading, too (brush_tyre, magic_formula),"
        error = ContactSetError(
            f"at {self.at.t:.9g} s wheel {wheel!r} is about to be pulled by {feature!r}, and would sink "
            f"into it if released: no contact set is admissible. {slip} may solve it.",
            state=self.state(),
        )
        self.ended = "no admissible contact set"
        raise error


def run_on_terrain(task: Task) -> Trajectory:
    """Return the motion on a terrain, with its events."""
    run = TerrainRun(task)
    try:
        return run.go()
    except KeyboardInterrupt:
        raise SimulationError(
            f"the run was interrupted after {run.at.t:.6g} s of {task.until:.6g} s. "
            "The part before is in the error's `partial`.",
            run.partial("interrupted"),
        ) from None
    except (ParameterError, TerrainError) as error:  # a parameter's is of the impact model
        run.mark()
        kind = DeadEndError if isinstance(error, TerrainError) else SimulationError
        raise kind(f"at {run.at.t:.9g} s: {error}", run.partial(str(error))) from error
    except SimulationError as error:
        raise run._with_partial(error) from error.__cause__
    finally:
        look_back(run.look)


def place_on_terrain(task: Task) -> tuple[ContactQuery, Floats]:
    """Return the machine of a task on its terrain, and y at the start."""
    terrain = task.terrain
    assert terrain is not None
    machine = generic(task.system, task.law, terrain.motions)
    _check_friction(task.contact, terrain)
    _check_tyres(task)
    y = machine.enter(task.state, task.law_start(machine.states))
    look = ContactQuery(machine, terrain, task.system.inputs(task.inputs), task.contact.stops)
    return look, y


def _check_tyres(task: Task) -> None:
    """Raise if friction is given for a wheel on a tyre, or an impact model that its tyre excludes."""
    contact, model = task.contact, task.system.model
    tyred = [wheel for wheel in model.wheels if wheel.tyre is not None]
    others = len(model.contacts) > len(tyred)
    for wheel in tyred:
        if isinstance(contact.mu, Mapping):
            named = any(name.partition("/")[0] == wheel.name for name in contact.mu)
        else:
            named = np.isfinite(contact.mu) and not others
        if named:
            raise ParameterError(
                f"mu: wheel {wheel.name!r} has a tyre, whose law is its friction; leave mu out."
            )
        if "along" in wheel.rows["tyre"] and contact.impact_name not in ("plastic", "newton"):
            raise ParameterError(
                f"wheel {wheel.name!r}: its tyre holds along, in impacts too; these are 'plastic' or "
                f"'newton', not {contact.impact_name!r}."
            )


def _check_friction(contact: ContactOptions, terrain: Terrain) -> None:
    """Raise where friction is given for a feature that is not there."""
    for name in contact.mu if isinstance(contact.mu, Mapping) else ():
        feature = name.partition("/")[2]
        if feature:
            known = [terrain.name(k) for k in range(len(terrain))]
            expect_known("mu: no feature", feature, known)
