"""Runs on a terrain: arcs of continuous motion, one mode each, and the events between them.

Collisions and lift-offs are located on dense output and reached by a step of their own; which
contacts carry afterwards is decided at impulse and at acceleration level by `selection`.
"""

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    ConfigurationError,
    ContactSetError,
    DeadEndError,
    ParameterError,
    SimulationError,
    TerrainError,
    ZenoError,
    did_you_mean,
)
from draisine.simulation.contact import guards
from draisine.simulation.contact.arc import TerrainArc
from draisine.simulation.contact.events import Resolver
from draisine.simulation.contact.query import BORDER, DEEP, Closed, ContactQuery, WheelOnFeature
from draisine.simulation.contact.step import OVER, ContactStep, Course, lock_error
from draisine.simulation.options import ContactOptions, Task
from draisine.simulation.trajectory import Event, TerrainMode, Trajectory
from draisine.system.generic import generic
from draisine.system.state import State
from draisine.terrain import Terrain

NOTHING = 1e-7
"""Normal forces below this many N carry nothing."""


class EnergyWarning(UserWarning):
    """An impact that creates energy."""


class TerrainRun:
    """A run in the making."""

    def __init__(self, task: Task) -> None:
        self.look, self.y = place_on_terrain(task)
        self.contact, self.numerics, self.progress = task.contact, task.numerics, task.progress
        self.start, self.t, self.until = task.numerics.start, task.numerics.start, task.until
        self.jumps = sorted(b for b in set(task.jumps) if b > self.start)
        self.closed: list[Closed] = []
        self.arc_closed: list[Closed] = []
        self.arcs: list[TerrainArc] = []
        self.events: list[Event] = []
        self.times: list[float] = []
        self.samples: list[Floats] = []
        self.outcome = ""
        self.resolver = Resolver(self.look, self.contact)
        self.h, self.margin = 1e-3, self.contact.margin
        self.stuck = 0
        self.ended: dict[int, frozenset[WheelOnFeature]] = {}
        self.course: Course | None = None
        self.first, self.around = True, np.zeros(0)
        self.leaving: frozenset[WheelOnFeature] = frozenset()

    # --- what is seen of a state

    @property
    def mode(self) -> TerrainMode:
        """The closed contacts by name."""
        return tuple((self.look.key(c), self.look.status(c, rows)) for c, rows, _ in self.closed)

    @property
    def next_stop(self) -> float:
        """When the present arc ends at the latest: inputs may jump, or the run is over."""
        return min((b for b in self.jumps if self.t < b < self.until), default=self.until)

    def energy(self, t: float, y: Floats) -> float:
        """Return the mechanical energy."""
        machine = self.look.machine
        seen = machine.observe(t=[t], **machine.layout.split(y), w=self.look.inputs)
        return float(seen["kinetic"][0] + seen["potential"][0])

    def state(self) -> State:
        """Return the present state."""
        return self.look.machine.leave(self.y)

    # --- events

    def begin(self) -> None:
        """Decide which contacts carry at the start; a start below the ground is an error."""
        margin = self.look.fit_margin(self.t, self.y, DEEP, 1e-3)
        near = self.look.near(self.t, self.y, margin)
        for contact, row in zip(near, self.look.meet(self.t, self.y, near), strict=True):
            gap = self.look.gap(row)
            deep = gap < -1e-8 and self.look.excess(contact, row) <= 0
            if deep and self.look.above(contact, row) and gap > -self.look.reach(contact):
                name, feature = self.look.key(contact)
                raise ConfigurationError(
                    f"{name!r} starts {-gap:.3g} below {feature!r}; lift it, or turn it back."
                )
        self._open_arc()
        self.resolve("collision", [], frozenset(), start=True)

    def valid(self, contact: WheelOnFeature, row: Floats) -> bool:
        """Return whether a feature is there for a contact; one that a wheel has just left only if
        the wheel is well inside it again.
        """
        left = contact in self.ended.get(contact.wheel, ())
        return self.look.excess(contact, row) <= (-BORDER if left else BORDER)

    def resolve(
        self,
        kind: str,
        fired: Sequence[WheelOnFeature],
        ended: frozenset[WheelOnFeature],
        start: bool = False,
    ) -> None:
        """Decide what happens here and which contacts carry from here on; make the event.

        `fired` are the contacts that caused it, `ended` those whose feature has ended under them.
        """
        look, t = self.look, self.t
        before, mode, shut = self.state(), self.mode, [c for c, *_ in self.closed]
        energy = self.energy(t, self.y)
        touching = self.resolver.touching(t, self.y, self.closed, fired, ended, self.valid)
        avoid = frozenset(fired) if kind == "lift-off" else frozenset()
        if avoid:  # what leaves at one instant does not take turns
            self.leaving |= avoid
            avoid = self.leaving if self.stuck > 0 else avoid
        slipping = frozenset(fired) if kind == "slip" else frozenset()
        try:
            outcome = self.resolver.resolve(t, self.y, self.closed, touching, avoid, slipping)
        except ContactSetError as error:
            error.args = (f"at {t:.9g} s: {error}",)
            error.state = self.state() if error.state is None else error.state
            error.partial = self.partial("no admissible contact set")
            raise
        self.closed = outcome.closed
        self.y = look.settle(t, outcome.y, self.closed)
        if start and not outcome.struck:
            self._open_arc()
            return
        if kind == "lift-off" and not outcome.struck and self.mode == mode:
            return  # it cannot be released: the next steps tell whether it is pulled
        if kind == "collision" and self.stuck > 2 and not outcome.struck and self.mode == mode:
            for contact in fired:  # exactly on a border: what it does not take, it has left
                gone_from = self.ended.get(contact.wheel, frozenset())
                self.ended[contact.wheel] = gone_from | {contact}
            return
        after = self.energy(t, outcome.y)
        if outcome.struck:
            kind = "collision"
            self._warn(after - energy, energy)
        still = {c.wheel for c, *_ in self.closed}
        gone = [c for c in shut if c.wheel not in still]
        if kind in ("hand-over", "input") and gone:
            kind, fired = "lift-off", gone
        names = tuple(look.key(c) for c in fired) or tuple(outcome.impulses)
        if kind == "hand-over":
            names = tuple(look.key(c) for c, *_ in self.closed if c not in shut)
        soft = not outcome.struck if kind != "lift-off" else bool(avoid)
        self._close_arc(
            Event(
                t,
                kind,
                names,
                soft,
                before,
                self.state(),
                mode,
                self.mode,
                energy,
                after,
                outcome.impulses,
                outcome.trials,
            )
        )

    def _warn(self, gain: float, energy: float) -> None:
        """Warn of an impact on fixed ground that creates energy."""
        if not self.look.terrain.motions and gain > 1e-9 * max(1.0, abs(energy)):
            warnings.warn(
                f"the impact at {self.t:.9g} s creates {gain:.3g} J; "
                "restitution with friction, or with unequal coefficients, can.",
                EnergyWarning,
                stacklevel=8,
            )

    # --- arcs

    def _open_arc(self) -> None:
        self.arc_closed = list(self.closed)
        self.times, self.samples = [self.t], [self.y.copy()]

    def _close_arc(self, event: Event | None) -> None:
        """Keep the arc that ends here; the next begins with the present state."""
        if self.times:
            closed, look = self.arc_closed, self.look
            names = tuple((look.key(c), look.status(c, rows)) for c, rows, _ in closed)
            count = min(len(self.times), len(self.samples))  # an interrupt may come between them
            self.arcs.append(
                TerrainArc(
                    look.machine,
                    np.array(self.times[:count]),
                    np.array(self.samples[:count]),
                    look.inputs,
                    tuple(closed),
                    look.terrain,
                    names,
                    look.stops,
                )
            )
            self.times = []
        if event is not None:
            self.events.append(event)
            self._open_arc()

    def trajectory(self, outcome: str) -> Trajectory:
        """Return what was computed so far."""
        numerics = self.numerics
        made = {"impact": self.contact.impact, "dt": numerics.dt, "rtol": numerics.rtol}
        return Trajectory(
            tuple(self.arcs), outcome, made | {"atol": numerics.atol}, tuple(self.events)
        )

    def partial(self, outcome: str) -> Trajectory:
        """Return what was computed so far, the arc in the making included."""
        if len(self.arcs) <= len(self.events) and not self.times:
            self._open_arc()
        self._close_arc(None)
        return self.trajectory(outcome)

    def go(self) -> Trajectory:
        """Return the whole run."""
        self.begin()
        while self.t < self.until and not self.outcome:
            self.move()
        return self.trajectory(self.outcome or "completed")

    def _course(self, stop: float) -> Course:
        """Return what stays the same from here on, until a wheel has moved far."""
        look = self.look
        widest = self.contact.margin
        asked = min(widest, 2.0 * self.margin)
        self.margin = look.fit_margin(self.t, self.y, asked, widest / 256.0)
        near = look.near(self.t, self.y, self.margin)
        watch = [c for c in near if not any(self._same(c, shut) for shut, *_ in self.closed)]
        watched, borders = look.bundle(watch), look.borders(watch)
        return Course(
            look,
            self.contact,
            self.numerics,
            stop,
            self.closed,
            watch,
            watched,
            borders,
            self.margin,
            self.valid,
        )

    def _same(self, a: WheelOnFeature, b: WheelOnFeature) -> bool:
        """Return whether two contacts are one, or of one wheel on coplanar faces."""
        if a.wheel != b.wheel or a.feature == b.feature:
            return a == b
        one, two = self.look.feature(a), self.look.feature(b)
        both = one.kind == two.kind == "face" and one.motion == two.motion
        return both and bool(np.abs(one.numbers - two.numbers).max() < 1e-9)

    def move(self) -> None:
        """Take one step: to its first event, which is resolved, or to its end."""
        course = self._set_out() if self.course is None else self.course
        step = ContactStep(course, self.t, self.y, self.h, self.first)
        found = step.first_event()
        sunk = step.sunk(1.0 if found is None else found.part)
        if sunk is not None:
            self._look_closer(step, sunk)
        elif found is not None:
            self._reach(step, found)
            self.course = None
            self._handle(found, course)
            self._check_count()
        else:
            self._pass(step)

    def _set_out(self) -> Course:
        """Begin an arc."""
        self.course = self._course(self.next_stop)
        self.around = self.look.whereabouts(self.t, self.y)
        self.first, self.h = True, min(self.h, 1e-3)
        return self.course

    def _reach(self, step: ContactStep, found: guards.Crossing) -> None:
        """Go on to an event inside a step."""
        when, self.y = step.reach(found)
        if (k := step.pulled(when, self.y)) is not None:
            bad, (when, self.y) = self.y, step.last_push(when)
            if step.force(when, self.y, k) > 1.0:
                self._lock(step, when, k, bad)
        self._keep(step, when)
        self.t = step.t + when
        self.mark()
        if self.t > step.t:  # a step may be too short to be seen on the clock
            self.stuck, self.leaving = 0, frozenset()
        else:
            self.stuck += 1
        if self.stuck > 8:
            self._give_up(found)

    def _pass(self, step: ContactStep) -> None:
        """Go on to the end of a step without events."""
        look, stop = self.look, step.course.stop
        self._keep(step, step.h)
        self.t = stop if step.t + step.h >= stop else step.t + step.h
        self.y, self.h, self.first = step.end(step.h), step.proposal, False
        if self.progress is not None:
            self.progress((self.t - self.start) / (self.until - self.start))
        moved = look.whereabouts(self.t, self.y) - self.around
        if np.abs(moved).max(initial=0.0) > step.course.margin / 2:
            self.course, self.around = self._course(stop), self.around + moved
        if self.t < stop:
            return
        self.mark()
        self.course = None
        if self.t < self.until:
            self.resolve("input", [], frozenset())
            self._check_count()
        else:
            self._close_arc(None)

    def _check_count(self) -> None:
        """Raise where there were too many events."""
        if len(self.events) > self.contact.events:
            raise ZenoError(
                f"more than {self.contact.events} events until {self.t:.9g} s; "
                "a rest_speed turns small bounces into plastic impacts.",
                self.partial("too many events"),
                self.state(),
            )

    def branch(self, until: float) -> "TerrainRun":
        """Return a run that goes on from here on its own, until a time."""
        other = copy(self)
        for name in ("arcs", "events", "times", "samples"):
            setattr(other, name, list(getattr(self, name)))
        other.ended, other.until = dict(self.ended), until
        if self.course is not None:
            other.course = replace(self.course, stop=other.next_stop)
        return other

    def _look_closer(self, step: ContactStep, sunk: WheelOnFeature) -> None:
        """Make the next step shorter, so that what was missed is found; raise where nothing was."""
        self.h = 0.2 * step.h
        if self.h < 1e-8:
            wheel, feature = self.look.key(sunk)
            raise TerrainError(
                f"wheel {wheel!r} sinks into {feature!r} without having touched it: it came over a "
                "point of the ground that its shape cannot meet. A disc meets no vertices and no "
                "edges in its plane: give the wheel a crown."
            )

    def _give_up(self, found: guards.Crossing) -> None:
        """Raise what stops a run that makes no progress."""
        if found.kind != "force":
            raise ZenoError(
                f"the run makes no progress at {self.t:.9g} s: events follow each other without end. "
                "A rest_speed (m/s) turns slower bounces into plastic impacts.",
                self.partial("no progress"),
                self.state(),
            )
        wheel, feature = self.look.key(self.closed[found.contact][0])
        error = ContactSetError(
            f"at {self.t:.9g} s wheel {wheel!r} is about to be pulled by {feature!r}, and would sink "
            "into it if released: no contact set is admissible. Friction (a finite mu) may solve it.",
            state=self.state(),
        )
        error.partial = self.partial("no admissible contact set")
        raise error

    def _lock(self, step: ContactStep, when: float, k: int, bad: Floats) -> None:
        """Raise what stops a run in which a contact force jumps to a pull: a sliding contact locks.
        The last state is the last one in which all contacts push.
        """
        self._keep(step, when)
        self.t = step.t + when
        self.mark()
        key, state = self.look.key(self.closed[k][0]), self.look.machine.leave(bad)
        error = lock_error(self.t, key, state)
        error.partial = self.partial("no admissible contact set")
        raise error

    def _handle(self, found: guards.Crossing, course: Course) -> None:
        """Resolve an event, or end the run."""
        if found.kind == "fall":
            lean = f"lean beyond {np.degrees(self.contact.fall):.3g} deg"
            self.outcome = f"fell: {'it turned over' if found.contact == OVER else lean}"
            self._close_arc(None)
        elif found.kind == "gap":
            self.resolve("collision", [course.watch[found.contact]], frozenset())
        elif found.kind == "border":
            contact = self.closed[found.contact][0]
            ended = self.resolver.ending(self.t, self.y, contact)
            self.ended[contact.wheel] = ended
            self.resolve("hand-over", [], ended)
        else:
            kind = {"force": "lift-off", "cone": "slip", "slip": "stick"}[found.kind]
            fired = [self.closed[found.contact][0]]
            if found.kind == "force":
                fired += [c for c in self._unloaded() if c not in fired]
            self.resolve(kind, fired, frozenset())

    def _unloaded(self) -> list[WheelOnFeature]:
        """Return the closed contacts that no longer carry: several may cease to at once."""
        push = self.look.accelerate(self.t, self.y, self.closed)[1][:, 0]
        return [c for (c, *_), x in zip(self.closed, push, strict=True) if x < NOTHING]

    def mark(self) -> None:
        """Keep the present state as a sample, unless it is there."""
        if self.times and self.t > self.times[-1]:
            self.times.append(self.t)
            self.samples.append(self.y.copy())

    def _keep(self, step: ContactStep, until: float) -> None:
        """Keep the samples inside the first part of a step."""
        dt = self.numerics.dt
        end = step.t + until
        k = int(np.floor((step.t - self.start) / dt + 1e-9)) + 1
        while self.start + k * dt < end - 1e-9 * dt:
            t = self.start + k * dt
            self.times.append(t)
            self.samples.append(step.at((t - step.t) / step.h))
            k += 1


def run_on_terrain(task: Task) -> Trajectory:
    """Return the motion on a terrain, with its events."""
    run = TerrainRun(task)
    try:
        return run.go()
    except KeyboardInterrupt:
        raise SimulationError(
            f"the run was interrupted after {run.t:.6g} s of {task.until:.6g} s. "
            "The part before is in the error's `partial`.",
            run.partial("interrupted"),
        ) from None
    except TerrainError as error:
        run.mark()
        raise DeadEndError(f"at {run.t:.9g} s: {error}", run.partial(str(error))) from error
    except SimulationError as error:
        if error.partial is None:
            run.mark()
            error.partial = run.partial(str(error))
        raise


def place_on_terrain(task: Task) -> tuple[ContactQuery, Floats]:
    """Return the machine of a task on its terrain, and y at the start."""
    terrain = task.terrain
    assert terrain is not None
    machine = generic(task.system, task.law, terrain.motions)
    _check_friction(task.contact, [wheel.name for wheel in machine.wheels], terrain)
    y = machine.enter(task.state, task.law_start(machine.states))
    look = ContactQuery(machine, terrain, task.system.inputs(task.inputs), task.contact.stops)
    return look, y


def _check_friction(contact: ContactOptions, wheels: list[str], terrain: Terrain) -> None:
    """Raise where friction is given for a wheel or a feature that is not there."""
    for name in contact.mu if isinstance(contact.mu, Mapping) else ():
        wheel, _, feature = name.partition("/")
        if wheel not in wheels:
            raise ParameterError(f"mu: no wheel {wheel!r}. {did_you_mean(wheel, wheels)}")
        known = [terrain[k].name for k in range(len(terrain))] if feature else [feature]
        if feature not in known:
            raise ParameterError(f"mu: no feature {feature!r}. {did_you_mean(feature, known)}")
