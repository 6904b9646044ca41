"""Runs on a terrain: arcs of continuous motion, one mode each, and the events between them.

Collisions and lift-offs are located on dense output and reached by a step of their own; which
contacts carry afterwards is decided at impulse and at acceleration level by `selection`.
"""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from typing import NoReturn

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
    expect_known,
)
from draisine.mechanics.contact.elements import contact_elements
from draisine.simulation.contact import events, guards, march
from draisine.simulation.contact.active_set import Selection, no_contact_set
from draisine.simulation.contact.arc import TerrainArc
from draisine.simulation.contact.driver import ArcDriver, Cause, drive_arcs, workspace
from draisine.simulation.contact.query import Closed, ContactQuery, look_back
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.options import ContactOptions, Task
from draisine.simulation.trajectory import Event, Key, TerrainMode, Trajectory
from draisine.system.generic import generic
from draisine.system.state import State
from draisine.terrain import Terrain

SHALLOW = 1e-8
"""So many metres (or radians, of a joint's stop) below the ground a start may be: it is put onto it."""

CHUNK = 200
"""After so many steps machine code comes up for air: there a run can be interrupted."""

LOCKS = 0.1
"""A sliding contact is about to lock where friction leaves less than this part of its inverse
inertia.
"""


class EnergyWarning(UserWarning):
    """An impact that creates energy."""


class TerrainRun:
    """A run in the making."""

    def __init__(self, task: Task) -> None:
        self.look, self.y = place_on_terrain(task)
        self.contact, self.numerics, self.progress = task.contact, task.numerics, task.progress
        self.impact = task.contact.model
        self.start, self.t, self.until = task.numerics.start, task.numerics.start, task.until
        self.jumps = sorted(b for b in set(task.jumps) if b > self.start)
        self.closed: list[Closed] = []
        self.arc_closed: list[Closed] = []
        self.arcs: list[TerrainArc] = []
        self.events: list[Event] = []
        self.times: list[float] = []
        self.samples: list[Floats] = []
        self.grazes: list[tuple[float, Key]] = []
        self.outcome = ""
        self.room = workspace(self.look, self.numerics)
        self.h = 1e-3
        self.stuck = 0
        self.ended: dict[int, frozenset[WheelOnFeature]] = {}
        self.driver: ArcDriver | None = None
        self.first = self.fresh = True
        self.leaving: frozenset[WheelOnFeature] = frozenset()

    # --- what is seen of a state

    @property
    def mode(self) -> TerrainMode:
        """The closed contacts by name."""
        return self.look.mode(self.closed)

    @property
    def next_jump(self) -> float:
        """When inputs may jump next."""
        return min((b for b in self.jumps if self.t < b), default=np.inf)

    def state(self) -> State:
        """Return the present state."""
        return self.look.machine.leave(self.y)

    # --- events

    def begin(self) -> None:
        """Decide which contacts carry at the start; a start below the ground is an error, unless by so
        little that it is lifted.
        """
        look, shallow = self.look, []
        boxes, begin = look.ways(self.t, self.y)
        near = look.sweep(self.t, boxes, self.contact.margin, begin)
        for contact, row in look.in_ground(self.t, self.y, near):
            gap = look.gap(row)
            if not 0.0 > gap > -look.table.reach(contact.wheel):
                continue
            if gap < -SHALLOW:
                name, feature = look.key(contact)
                raise ConfigurationError(
                    f"{name!r} starts {-gap:.3g} below {feature!r}; lift it, or turn it back."
                )
            shallow.append((contact, 1, 0.0))
        if shallow:
            self.y[look.pose] = look.settle(self.t, self.y, shallow)[look.pose]
        self._open_arc()
        self.resolve(Cause("collision"), start=True)

    def _gone(self, under: int = -1) -> frozenset[WheelOnFeature]:
        """Return the contacts whose wheel, other than one, has just left their feature."""
        return frozenset().union(*(some for wheel, some in self.ended.items() if wheel != under))

    def _drive(self) -> ArcDriver:
        """Return what leads on from here; on ground that moves one looks around at every arc."""
        if self.driver is None:
            box = self.look.boxes(self.t, self.y)
            self.driver = drive_arcs(self.look, self.contact, self.room, self.t, box)
        return self.driver

    def resolve(self, cause: Cause, start: bool = False) -> None:
        """Decide what happens here and which contacts carry from here on; make the event."""
        y, mode, closed, driver = self.y, self.mode, self.closed, self._drive()
        avoid = self.leaving if cause.kind == "lift-off" and self.stuck > 0 else frozenset()
        gone = self._gone(-1 if cause.ends is None else cause.ends.wheel)
        cause = replace(cause, avoid=avoid, gone=gone)
        how, blow = driver.resolve(self.t, y, closed, cause), None
        cause = replace(cause, fired=self._fired(driver, cause))
        if how == events.STRUCK:
            try:
                how, blow = self._strike(driver, cause)
            except ContactSetError as error:
                self._stop(error, self.y)
        if how != events.DONE:
            self._refuse(how, driver, blow)
        after, self.y, self.closed = driver.outcome()
        self._relax({c.wheel for c, *_ in self.closed} - {c.wheel for c, *_ in closed})
        if start and blow is None:
            self._open_arc()
        elif blow is not None or self.mode != mode or not self._idle(cause):
            self._tell(cause, (y, after), closed, blow)

    def _fired(self, driver: ArcDriver, cause: Cause) -> Sequence[WheelOnFeature]:
        """Return the contacts that fired, in what an event has left; keep what leaves at its instant,
        which does not take turns, and what has ended.
        """
        if cause.ends is not None:
            self.ended[cause.ends.wheel] = frozenset(driver.marked("ended"))
        if cause.kind != "lift-off":
            return cause.fired
        marked = driver.marked("fired")
        self.leaving |= frozenset(marked)
        others = [c for c, *_ in self.closed if c in marked and c not in cause.fired]
        return [*cause.fired, *others]

    def _strike(self, driver: ArcDriver, cause: Cause) -> tuple[int, Selection]:
        """Return how far an event is resolved after its impact, and that."""
        options, (M, held) = self.contact, driver.mass_and_held()
        blow: Selection = self.impact(
            M,
            held,
            driver.hits(),
            self.look.speeds(self.y),
            rest_speed=options.rest_speed,
            resolution=options.resolution,
            **options.restitution,
        )
        after = self.y.copy()
        after[self.look.y.v] = blow.chosen.result
        return driver.carry_on(self.t, after, cause), blow

    def _refuse(self, how: int, driver: ArcDriver, blow: Selection | None) -> NoReturn:
        """Raise what stops an event from being resolved."""
        if how == events.CONTRADICTED:
            raise ConfigurationError("the contacts contradict each other in this configuration.")
        keys, trials = driver.trials()
        error = no_contact_set(keys, trials)
        if how == events.NO_FRICTION:
            error = ContactSetError(
                f"no forces at the contacts {', '.join(map(':'.join, keys))} satisfy the law of "
                "friction: a sliding contact locks (Painleve's paradox). A smaller mu may solve it."
            )
        y = self.y.copy()
        if blow is not None:
            y[self.look.y.v] = blow.chosen.result
        self._stop(error, y)

    def _stop(self, error: ContactSetError, y: Floats) -> NoReturn:
        """Raise an error with the time, the state and what was computed before it."""
        error.args = (f"at {self.t:.9g} s: {error}",)
        error.state = self.look.machine.leave(y) if error.state is None else error.state
        error.partial = self.partial("no admissible contact set")
        raise error

    def _idle(self, cause: Cause) -> bool:
        """Return whether what changes nothing is no event: a contact cannot be released (the next
        steps tell whether it is pulled), or is exactly on a border: what it does not take, it has
        left.
        """
        if cause.kind == "collision" and self.stuck > 2:
            for contact in cause.fired:
                gone_from = self.ended.get(contact.wheel, frozenset())
                self.ended[contact.wheel] = gone_from | {contact}
            return True
        return cause.kind == "lift-off"

    def _tell(
        self,
        cause: Cause,
        states: tuple[Floats, Floats],
        closed: Sequence[Closed],
        blow: Selection | None,
    ) -> None:
        """Keep the event that leads from a state and its closed contacts to the present ones, by way
        of a blow, perhaps, and the state after it.
        """
        look, kind, fired, soft = self.look, cause.kind, cause.fired, blow is None
        energy, after = [look.energy(self.t, y) for y in states]
        pushes, trials = ({}, ()) if blow is None else (blow.chosen.pushes, blow.trials)
        if blow is not None:
            kind = "collision"
            self._warn(after - energy, energy)
        still, shut = {c.wheel for c, *_ in self.closed}, [c for c, *_ in closed]
        gone = [c for c in shut if c.wheel not in still]
        if kind in ("hand-over", "input") and gone:
            kind, fired, soft = "lift-off", gone, False
        names = tuple(look.key(c) for c in fired) or tuple(pushes)
        if kind == "hand-over":
            names = tuple(look.key(c) for c, *_ in self.closed if c not in shut)
        ends = (look.machine.leave(states[0]), self.state())
        modes = (look.mode(closed), self.mode)
        self._close_arc(
            Event(self.t, kind, names, soft, *ends, *modes, energy, after, pushes, trials)
        )

    def _relax(self, landed: set[int]) -> None:
        """Let the tyres of wheels that have come down begin without slip."""
        machine = self.look.machine
        if not machine.system.model.memory:
            return
        for wheel in landed & set(range(len(machine.wheels))):
            for first, element in contact_elements(machine.system.model, machine.wheels[wheel]):
                start = machine.layout.z.start + first
                self.y[start : start + element.states] = 0.0

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
            count = min(len(self.times), len(self.samples))  # an interrupt may come between them
            self.arcs.append(
                TerrainArc(
                    look.machine,
                    np.array(self.times[:count]),
                    np.array(self.samples[:count]),
                    look.inputs,
                    tuple(closed),
                    look.terrain,
                    look.mode(closed),
                    look.stops,
                    tuple(self.grazes),
                )
            )
            self.times, self.grazes = [], []
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
            self.move(CHUNK)
        return self.trajectory(self.outcome or "completed")

    def move(self, steps: int = 1) -> None:
        """Take some steps, to the first event at most, which is resolved."""
        if self.fresh:
            self.first, self.fresh, self.h = True, False, min(self.h, 1e-3)
            moves = self.look.terrain.motions and not self.look.whole
            self.driver = None if moves else self.driver
        driver = self._drive()
        driver.open(self.closed, self._gone())
        ends = (self.next_jump, self.until)
        how = driver.go(self.t, self.y, self.h, self.first, ends, steps)
        self._pass(driver)
        if how == march.OUTSIDE:
            box, begin = driver.record.box, self.look.centres(self.t, self.y)
            self.driver = drive_arcs(self.look, self.contact, self.room, self.t, box, begin)
        elif how in (march.SINGULAR, march.TOO_SMALL):
            self._fail(how)
        elif how == march.SUNK:
            self._sink(driver)
        elif how == march.LOCKED:
            self._lock(driver)
        elif how == march.EVENT:
            self._reach(driver)
        elif how == march.ENDED:
            self._end()

    def _pass(self, driver: ArcDriver) -> None:
        """Take over what a call has left: samples, the last step's end, the length of the next."""
        course = driver.record
        clock, count = course.clock, int(course.clock[march.COUNT])
        self.times += course.times[:count].tolist()
        self.samples += list(course.samples.reshape(march.ROOM, -1)[:count].copy())
        self.grazes += [(t, self.look.key(contact)) for t, contact in driver.grazes()]
        self.t, self.h = float(clock[march.T]), float(clock[march.H])
        self.first = bool(clock[march.FIRST])
        self.y = driver.begin.copy()
        if self.progress is not None:
            self.progress((self.t - self.start) / (self.until - self.start))

    def _reach(self, driver: ArcDriver) -> None:
        """Go on to an event inside a step, and resolve it."""
        before, when = self.t, float(driver.record.clock[march.WHEN])
        self.t, self.y = before + when, driver.record.state.copy()
        self.mark()
        kind, k = driver.guard()
        if self.t > before:  # a step may be too short to be seen on the clock
            self.stuck, self.leaving = 0, frozenset()
        else:
            self.stuck += 1
        if self.stuck > 8:
            self._give_up(kind, k)
        self.fresh = True
        self._handle(kind, k, driver)
        self._check_count()

    def _end(self) -> None:
        """End an arc where inputs may jump, or the run."""
        self.mark()
        self.fresh = True
        if self.t < self.until:
            self.resolve(Cause("input"))
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
        for name in ("arcs", "events", "times", "samples", "grazes"):
            setattr(other, name, list(getattr(self, name)))
        other.ended, other.until = dict(self.ended), until
        return other

    def _fail(self, how: int) -> None:
        """Raise why there is no step: an edge comes to lie in the plane of a disc on it, or a sliding
        contact locks, whose force grows while the part of its inverse inertia that friction leaves
        goes to zero.
        """
        look, y = self.look, self.y
        M = look.dynamics(self.t, y)["M"].reshape(look.n, look.n)
        rows = look.meet(self.t, y, [contact for contact, *_ in self.closed])
        for (contact, held, mu), row in zip(self.closed, rows, strict=True):
            look.check_plane(self.t, contact, row)
            k = look.candidate(contact, row, mu, held)
            if held and (0 < mu < np.inf or look.tyre(contact) is not None):
                C, G = k.C[0], k.column(look.speeds(y))[:, 0]
                if C @ np.linalg.solve(M, G) < LOCKS * (C @ np.linalg.solve(M, C)):
                    raise self._locked(contact, y)
        singular = how == march.SINGULAR
        why = "its contacts contradict each other" if singular else "no step is small enough"
        raise SimulationError(f"the run stopped at {self.t:.9g} s: {why}.")

    def _locked(self, contact: WheelOnFeature, y: Floats) -> ContactSetError:
        """Return the error of a sliding contact whose force grows without bound."""
        wheel, feature = self.look.key(contact)
        less = "A smaller mu" if self.look.tyre(contact) is None else "Less grip of its tyre"
        return ContactSetError(
            f"at {self.t:.9g} s: the force on wheel {wheel!r}, which slides on {feature!r}, grows "
            f"without bound: it locks (Painleve's paradox). {less} may solve it.",
            state=self.look.machine.leave(y),
        )

    def _lock(self, driver: ArcDriver) -> None:
        """Raise what stops a run in which a contact force jumps to a pull: a sliding contact locks.
        The last state is the last one in which all contacts push, unless their forces have no bound
        there already.
        """
        course = driver.record
        when, y = self.t + float(course.clock[march.WHEN]), course.state.copy()
        with suppress(ConfigurationError):
            self.look.accelerate(when, y, self.closed)
            self.t, self.y = when, y
            self.mark()
        contact = self.closed[int(course.clock[march.WHICH])][0]
        error = self._locked(contact, course.rows[: len(self.y)])
        error.partial = self.partial("no admissible contact set")
        raise error

    def _sink(self, driver: ArcDriver) -> None:
        """Raise where a wheel is in the ground, though no gap has told of it."""
        contact = driver.near[int(driver.record.clock[march.WHICH])]
        self.look.check_plane(self.t, contact, self.look.meet(self.t, self.y, [contact])[0])
        if any(contact == shut for shut, *_ in self.closed):
            self._fail(march.TOO_SMALL)
        wheel, feature = self.look.key(contact)
        raise TerrainError(
            f"wheel {wheel!r} sinks into {feature!r}: it came over a point of the ground that its "
            "shape cannot meet. A disc meets no vertices and no edges in its plane: give the wheel "
            "a crown."
        )

    def _give_up(self, kind: int, k: int) -> None:
        """Raise what stops a run that makes no progress."""
        if kind != guards.FORCE:
            raise ZenoError(
                f"the run makes no progress at {self.t:.9g} s: events follow each other without end. "
                "A rest_speed (m/s) turns slower bounces into plastic impacts.",
                self.partial("no progress"),
                self.state(),
            )
        contact = self.closed[k][0]
        wheel, feature = self.look.key(contact)
        slip = "Friction (a finite mu)"
        if self.look.tyre(contact) is not None:
            slip = "A tyre that slips along its heading, too (brush_tyre, magic_formula),"
        error = ContactSetError(
            f"at {self.t:.9g} s wheel {wheel!r} is about to be pulled by {feature!r}, and would sink "
            f"into it if released: no contact set is admissible. {slip} may solve it.",
            state=self.state(),
        )
        error.partial = self.partial("no admissible contact set")
        raise error

    def _handle(self, kind: int, k: int, driver: ArcDriver) -> None:
        """Resolve an event, or end the run."""
        if kind in (guards.LEAN, guards.OVER):
            lean = f"lean beyond {np.degrees(self.contact.fall):.3g} deg"
            self.outcome = f"fell: {'it turned over' if kind == guards.OVER else lean}"
            self._close_arc(None)
        elif kind == guards.GAP:
            self.resolve(Cause("collision", [driver.near[k]]))
        elif kind in (guards.BORDER, guards.FOLD):
            self.resolve(Cause("hand-over", ends=self.closed[k][0]))
        else:
            name = {guards.FORCE: "lift-off", guards.CONE: "slip", guards.SLIP: "stick"}[kind]
            self.resolve(Cause(name, [self.closed[k][0]]))

    def mark(self) -> None:
        """Keep the present state as a sample, unless it is there."""
        if self.times and self.t > self.times[-1]:
            self.times.append(self.t)
            self.samples.append(self.y.copy())


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
    except ParameterError as error:  # of the impact model, at the first impact
        run.mark()
        raise SimulationError(f"at {run.t:.9g} s: {error}", run.partial(str(error))) from error
    except SimulationError as error:
        if error.partial is None:
            run.mark()
            error.partial = run.partial(str(error))
        raise
    finally:
        look_back(run.look)


def place_on_terrain(task: Task) -> tuple[ContactQuery, Floats]:
    """Return the machine of a task on its terrain, and y at the start."""
    terrain = task.terrain
    assert terrain is not None
    machine = generic(task.system, task.law, terrain.motions)
    _check_friction(task.contact, [wheel.name for wheel in machine.wheels], terrain)
    _check_tyres(task)
    y = machine.enter(task.state, task.law_start(machine.states))
    look = ContactQuery(machine, terrain, task.system.inputs(task.inputs), task.contact.stops)
    return look, y


def _check_tyres(task: Task) -> None:
    """Raise where a machine on tyres is asked for what these do not do."""
    tyred = [wheel for wheel in task.system.model.wheels if wheel.tyre is not None]
    contact = task.contact
    for wheel in tyred:
        finite = contact.mu.values() if isinstance(contact.mu, Mapping) else [contact.mu]
        if any(np.isfinite(mu) for mu in finite):
            raise ParameterError(
                f"mu: wheel {wheel.name!r} has a tyre, whose law is its friction; leave mu out."
            )
        if contact.solver != "events":
            raise ParameterError(
                f"wheel {wheel.name!r}: tyres run on terrain by events alone; leave `solver` out."
            )
        if "along" in wheel.rows["tyre"] and contact.impact not in ("plastic", "newton"):
            raise ParameterError(
                f"wheel {wheel.name!r}: its tyre holds along, in impacts too; these are 'plastic' or "
                f"'newton', not {contact.impact!r}."
            )


def _check_friction(contact: ContactOptions, wheels: list[str], terrain: Terrain) -> None:
    """Raise where friction is given for a wheel or a feature that is not there."""
    for name in contact.mu if isinstance(contact.mu, Mapping) else ():
        wheel, _, feature = name.partition("/")
        expect_known("mu: no wheel", wheel, wheels)
        known = [terrain[k].name for k in range(len(terrain))] if feature else [feature]
        expect_known("mu: no feature", feature, known)
