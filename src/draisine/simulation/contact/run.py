"""Runs on a terrain: arcs of continuous motion, one mode each, and the events between them.

Collisions and lift-offs are located on dense output and reached by a step of their own; which
contacts carry afterwards is decided at impulse and at acceleration level by `selection`.
"""

import warnings
from collections.abc import Mapping, Sequence
from copy import copy

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
from draisine.mechanics.contact.elements import contact_elements
from draisine.simulation.contact import march
from draisine.simulation.contact.arc import TerrainArc
from draisine.simulation.contact.driver import ArcDriver, drive_arc, workspace
from draisine.simulation.contact.events import NOTHING, Outcome, Resolver
from draisine.simulation.contact.query import BORDER, Closed, ContactQuery, look_back
from draisine.simulation.contact.table import DEEP, WheelOnFeature
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
        self.resolver = Resolver(self.look, self.contact)
        self.room = workspace(self.look, self.numerics)
        self.h = 1e-3
        self.stuck = 0
        self.ended: dict[int, frozenset[WheelOnFeature]] = {}
        self.driver: ArcDriver | None = None
        self.first = True
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
        near = look.near(self.t, self.y, DEEP)
        for contact, row in zip(near, look.meet(self.t, self.y, near), strict=True):
            gap = look.gap(row)
            inside = 0.0 > gap > -look.table.reach(contact.wheel) and look.excess(contact, row) <= 0
            if not inside or not look.above(contact, row):
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
        self.resolve("collision", [], frozenset(), start=True)

    def valid(self, contact: WheelOnFeature, row: Floats) -> bool:
        """Return whether a feature is there for a contact; one that a wheel has just left only if
        the wheel is well inside it again.
        """
        inside = -BORDER if contact in self._gone() else BORDER
        return self.look.armed(row) and self.look.excess(contact, row) <= inside

    def _gone(self) -> frozenset[WheelOnFeature]:
        """Return the contacts whose wheel has just left their feature."""
        return frozenset().union(*self.ended.values())

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
        look, t, y, mode, closed = self.look, self.t, self.y, self.mode, self.closed
        now = look.instant(t, y)
        touching = self.resolver.touching(now, closed, fired, ended, self.valid)
        avoid = frozenset(fired) if kind == "lift-off" else frozenset()
        if avoid:  # what leaves at one instant does not take turns
            self.leaving |= avoid
            avoid = self.leaving if self.stuck > 0 else avoid
        slipping = frozenset(fired) if kind == "slip" else frozenset()
        try:
            outcome = self.resolver.resolve(now, closed, touching, avoid, slipping)
        except ContactSetError as error:
            error.args = (f"at {t:.9g} s: {error}",)
            error.state = self.state() if error.state is None else error.state
            error.partial = self.partial("no admissible contact set")
            raise
        self.closed = outcome.closed
        self.y = look.settle(t, outcome.y, self.closed)
        self._relax({c.wheel for c, *_ in self.closed} - {c.wheel for c, *_ in closed})
        if start and not outcome.struck:
            self._open_arc()
        elif outcome.struck or self.mode != mode or not self._idle(kind, fired):
            self._tell(kind, fired, outcome, y, closed)

    def _idle(self, kind: str, fired: Sequence[WheelOnFeature]) -> bool:
        """Return whether what changes nothing is no event: a contact cannot be released (the next
        steps tell whether it is pulled), or is exactly on a border: what it does not take, it has
        left.
        """
        if kind == "collision" and self.stuck > 2:
            for contact in fired:
                gone_from = self.ended.get(contact.wheel, frozenset())
                self.ended[contact.wheel] = gone_from | {contact}
            return True
        return kind == "lift-off"

    def _tell(
        self,
        kind: str,
        fired: Sequence[WheelOnFeature],
        outcome: Outcome,
        y: Floats,
        closed: Sequence[Closed],
    ) -> None:
        """Keep the event that leads from a state and its closed contacts to the present ones."""
        look, soft = self.look, not outcome.struck
        energy, after = look.energy(self.t, y), look.energy(self.t, outcome.y)
        if outcome.struck:
            kind = "collision"
            self._warn(after - energy, energy)
        still, shut = {c.wheel for c, *_ in self.closed}, [c for c, *_ in closed]
        gone = [c for c in shut if c.wheel not in still]
        if kind in ("hand-over", "input") and gone:
            kind, fired, soft = "lift-off", gone, False
        names = tuple(look.key(c) for c in fired) or tuple(outcome.impulses)
        if kind == "hand-over":
            names = tuple(look.key(c) for c, *_ in self.closed if c not in shut)
        states = (look.machine.leave(y), self.state())
        modes = (look.mode(closed), self.mode)
        found = (outcome.impulses, outcome.trials)
        self._close_arc(Event(self.t, kind, names, soft, *states, *modes, energy, after, *found))

    def _relax(self, landed: set[int]) -> None:
        """Let the tyres of wheels that have come down begin without slip."""
        machine = self.look.machine
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

    def _drive(self, box: Floats, stop: float) -> ArcDriver:
        """Return what leads through the arc from here on, while wheels stay near boxes."""
        return drive_arc(
            self.look, self.contact, self.room, self.closed, self._gone(), box, (self.t, stop)
        )

    def move(self, steps: int = 1) -> None:
        """Take some steps, to the first event at most, which is resolved."""
        if self.driver is None:
            self.driver = self._drive(self.look.boxes(self.t, self.y), self.next_jump)
            self.first, self.h = True, min(self.h, 1e-3)
        driver = self.driver
        how = driver.go(self.t, self.y, self.h, self.first, self.until, steps)
        self._pass(driver)
        if how == march.OUTSIDE:
            self.driver = self._drive(driver.record.box, driver.stop)
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
        self.driver = None
        self._handle(kind, k, driver)
        self._check_count()

    def _end(self) -> None:
        """End an arc where inputs may jump, or the run."""
        self.mark()
        self.driver = None
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
            k = look.candidate((self.t, y), contact, row, mu, held)
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
        The last state is the last one in which all contacts push.
        """
        course = driver.record
        self.t += float(course.clock[march.WHEN])
        self.y = course.state.copy()
        self.mark()
        contact = self.closed[int(course.clock[march.WHICH])][0]
        error = self._locked(contact, course.rows[: len(self.y)])
        error.partial = self.partial("no admissible contact set")
        raise error

    def _sink(self, driver: ArcDriver) -> None:
        """Raise where a wheel is in the ground, though no gap has told of it."""
        contact = driver.watch[int(driver.record.clock[march.WHICH])]
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
        if kind != march.FORCE:
            raise ZenoError(
                f"the run makes no progress at {self.t:.9g} s: events follow each other without end. "
                "A rest_speed (m/s) turns slower bounces into plastic impacts.",
                self.partial("no progress"),
                self.state(),
            )
        wheel, feature = self.look.key(self.closed[k][0])
        error = ContactSetError(
            f"at {self.t:.9g} s wheel {wheel!r} is about to be pulled by {feature!r}, and would sink "
            "into it if released: no contact set is admissible. Friction (a finite mu) may solve it.",
            state=self.state(),
        )
        error.partial = self.partial("no admissible contact set")
        raise error

    def _handle(self, kind: int, k: int, driver: ArcDriver) -> None:
        """Resolve an event, or end the run."""
        if kind in (march.LEAN, march.OVER):
            lean = f"lean beyond {np.degrees(self.contact.fall):.3g} deg"
            self.outcome = f"fell: {'it turned over' if kind == march.OVER else lean}"
            self._close_arc(None)
        elif kind == march.GAP:
            self.resolve("collision", [driver.watch[k]], frozenset())
        elif kind in (march.BORDER, march.FOLD):
            contact = self.closed[k][0]
            ended = self.resolver.ending(self.look.instant(self.t, self.y), contact)
            self.ended[contact.wheel] = ended
            self.resolve("hand-over", [], ended)
        else:
            fired = [self.closed[k][0]]
            if kind == march.FORCE:
                fired += [c for c in self._unloaded() if c not in fired]
            name = {march.FORCE: "lift-off", march.CONE: "slip", march.SLIP: "stick"}[kind]
            self.resolve(name, fired, frozenset())

    def _unloaded(self) -> list[WheelOnFeature]:
        """Return the closed contacts that no longer carry: several may cease to at once."""
        push = self.look.accelerate(self.t, self.y, self.closed)[1][:, 0]
        return [c for (c, *_), x in zip(self.closed, push, strict=True) if x < NOTHING]

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
        if wheel not in wheels:
            raise ParameterError(f"mu: no wheel {wheel!r}. {did_you_mean(wheel, wheels)}")
        known = [terrain[k].name for k in range(len(terrain))] if feature else [feature]
        if feature not in known:
            raise ParameterError(f"mu: no feature {feature!r}. {did_you_mean(feature, known)}")
