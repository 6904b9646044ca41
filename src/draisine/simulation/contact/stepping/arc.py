"""An interval in time steps: from a state to a sampled motion with its contact forces."""

import math
from copy import copy
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Record
from draisine.codegen.routine.kinds import fields
from draisine.codegen.targets.native import NativeRoutine, make_record, routine_code
from draisine.errors import ContactSetError, SimulationError
from draisine.mechanics.contact.elements import contact_elements
from draisine.model import Wheel
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.complementarity.impulses import impulse_problem
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.stepping.step import (
    INFEASIBLE_APPROACH,
    ContactStatus,
    StepResult,
    TimeStepping,
    take_steps,
)
from draisine.simulation.contact.table import WheelOnFeature
from draisine.simulation.options import ContactOptions
from draisine.simulation.validity.fall import fall_rule, fall_words
from draisine.simulation.validity.record import TimeStepped

REST_SPEED = 0.03  # of sqrt(g * wheel size); slower contacts do not rebound
STEP = 0.016  # of sqrt(wheel size / g): 0.9 ms for a wheel of 33 mm, 3 ms for one of 350 mm
TRAVEL = 0.01  # of the wheel size; a wheel moves no further in a step at the initial speed
SHORTEST_STEP = 0.01  # of a regular step; a shorter remainder of the run lengthens its last step
SAME_TIME = 1e-9  # of a regular step; samples that are nearer in time are one
FIRST_ROOM = 8  # contacts of a step; grows when needed
QUALITY = ("residual", "penetration", "work", "unsolved")  # what a record knows of the whole arc
SEARCH_MARGIN = 2.0  # wheel sizes; a wider search finds more features than a step should test


@cache
def step_code() -> NativeRoutine:
    """Return the routine that takes steps, compiled."""
    return routine_code(take_steps, passes="few")[0]


def wheel_size(look: ContactQuery) -> float:
    """Return the largest wheel's size (m), the length scale of a machine."""
    return max((x for x in look.longest if np.isfinite(x)), default=1.0) or 1.0


def choose_step(look: ContactQuery, contact: ContactOptions, t: float, y: Floats) -> float:
    """Return the length of time steps (s): the one that is asked for, or what suits the size of the
    wheels, gravity and the speed.
    """
    if contact.step is not None:
        return contact.step
    size = wheel_size(look)
    gravity = float(np.linalg.norm(look.machine.system.model.gravity))
    moment = 1e-6 * math.sqrt(size / max(gravity, 1e-300)) if gravity > 0.0 else 1e-6
    later = y.copy()
    later[look.pose] += moment * look.dynamics(t, y)["flow"]
    speed = float(np.abs(look.centres(t, later) - look.centres(t, y)).max(initial=0.0)) / moment
    by_gravity = STEP * math.sqrt(size / gravity) if gravity > 0.0 else math.inf
    by_speed = TRAVEL * size / speed if speed > 0.0 else math.inf
    found = min(by_gravity, by_speed)
    return found if math.isfinite(found) else 1.0


class TimeStepper:
    """A machine that moves over a terrain in time steps.

    Parameters
    ----------
    look
        Machine and terrain.
    contact
        Friction, restitution, fall limit.
    t, y
        Time (s) and state at the start.
    h
        Length of a step (s). Steps lie on the grid t + i h; only the last one before an end of the run
        is shorter.
    reason
        Why the run takes time steps.
    """

    def __init__(
        self,
        look: ContactQuery,
        contact: ContactOptions,
        t: float,
        y: Floats,
        h: float,
        reason: str = "requested",
    ) -> None:
        self.look = look
        self.contact = contact
        self.start = t
        self.h = h
        self.count = 0
        self.t = t
        self.outcome = ""
        self.reason = reason
        self._warm: dict[WheelOnFeature, tuple[Floats, float]] = {}
        self._most = FIRST_ROOM
        self._boxes = look.boxes(t, y)
        self.near = look.sweep(t, self._boxes, self._margin)
        self._make(y)
        # Tyres keep the deflections of the start; only later touchdowns begin without.
        self.record.down[:] = True

    @property
    def y(self) -> Floats:
        """The state that is reached."""
        state: Floats = self.record.y
        return state

    @property
    def _margin(self) -> float:
        """How far around the wheels' paths features are searched (m)."""
        return min(self.contact.margin, SEARCH_MARGIN * wheel_size(self.look))

    # --- records

    def _make(self, y: Floats) -> None:
        """Make the record of the machine and its surroundings at a state."""
        look = self.look
        model = look.machine.system.model
        n, rows = look.n, look.machine.motion.outputs.count("held_c")
        wheels, near = len(look.machine.wheels), len(self.near)
        parts = wheels + look.machine.joints
        fall = fall_rule(model, self.contact.fall)
        held, mu, tyred = self._laws()
        owners = np.full(model.memory + 1, -1)
        for w, wheel in enumerate(look.machine.wheels):
            for first, element in contact_elements(model, wheel):
                owners[first : first + element.states] = w
        rest = REST_SPEED * math.sqrt(float(np.linalg.norm(model.gravity)) * wheel_size(self.look))
        self.record: TimeStepping = make_record(
            TimeStepping,
            motion=look.motion,
            contacts=self.near.packed,
            wheels=look.level,
            problem=impulse_problem(self._most),
            most=self._most,
            rows=rows,
            along=look.row.along.start,
            restitution=float(dict(self.contact.restitution).get("normal", 0.0)),
            rest_speed=max(rest, float(self.contact.rest_speed)),
            lean_limit=fall.sine,
            overturns=fall.over,
            weight=look.motion.record.share * max(1, wheels),
            x=look.x,
            y=y.copy(),
            middle=y.copy(),
            **dict.fromkeys(("after", "free"), n),
            **dict.fromkeys(("out", "centred", "shifted"), look.machine.motion.outputs.size),
            **dict.fromkeys(("mass", "damping"), (n, n)),
            equality=(rows + 1, n),
            schur=(rows + 1, rows + 1),
            multiplier=rows + 1,
            response=(3 * self._most, n),
            reaction=(3 * self._most, rows + 1),
            seen=(self._most + 2, look.row.size),
            **dict.fromkeys(("which", "grip", "loaded", "status"), self._most + 1),
            held=held,
            tyred=tyred,
            mu=mu,
            warm=(near + 1, 3),
            carried=near + 1,
            centre=look.centres(self.t, y).copy(),
            box=6 * wheels,
            swept=self.near.boxes.copy(),
            down=wheels + 1,
            owners=owners,
            relaxed=look.machine.memory + 1,
            **dict.fromkeys(("own", "world"), (parts, 3)),
            equality_sum=rows + 1,
            **dict.fromkeys(("tyre_work", "tyre_energy"), parts),
        )
        self._restore_warm()

    def _laws(self) -> tuple[Integers, Floats, NDArray[np.bool_]]:
        """Return for each contact nearby the rows that the law of contact acts on, its friction, and
        whether a tyre makes the other forces.
        """
        held, mu = self.look.grips(self.near, self.contact)
        tyred = np.zeros(len(self.near) + 1, dtype=np.bool_)
        for w, wheel in enumerate(self.look.machine.wheels):
            if isinstance(wheel, Wheel) and wheel.tyre is not None:
                own = np.flatnonzero(self.near.wheels == w)
                tyred[own] = True
                # A tyre that holds its contact along (two rows) does so without limit.
                mu[own] = np.where(held[own] > 1, np.inf, 0.0)
        return held, mu, tyred

    def _keep_warm(self) -> None:
        """Keep the impulses and loads of the last step by contact."""
        self._warm = {}
        for k in np.flatnonzero(self.record.warm[: len(self.near), 0]).tolist():
            impulse = self.record.warm[k].copy()
            self._warm[self.near[k]] = (impulse, float(self.record.carried[k]))

    def _restore_warm(self) -> None:
        """Put the impulses and loads that were kept into the present record."""
        share = self.look.motion.record.share
        self.record.carried[:] = share
        for contact, (impulse, load) in self._warm.items():
            k = self.near.index.get(contact)
            if k is not None:
                self.record.warm[k] = impulse
                self.record.carried[k] = load

    def _remake(self) -> None:
        """Make new records for other surroundings or for more contacts, from the present state."""
        old = self.record
        self._keep_warm()
        self._make(old.y)
        # Contacts nearby have other numbers now: counting settled steps begins again.
        for name in ("own", "world", "equality_sum", "tyre_work", "tyre_energy", "down", "centre"):
            getattr(self.record, name)[:] = getattr(old, name)
        for name in QUALITY:
            setattr(self.record, name, getattr(old, name))

    def _search(self) -> None:
        """Search the surroundings of the present state for contacts."""
        begin = self.record.centre.copy()
        self.near = self.look.sweep(self.t, self.record.box, self._margin, begin)
        self._remake()

    # --- steps

    def advance(self, count: int, until: float = math.inf) -> None:
        """Take so many steps, or fewer if a time is reached or the machine falls (then `outcome` says
        so). The last step before `until` is shorter than the others, if need be.

        Raises
        ------
        ContactSetError
            If a prescribed motion pushes a contact into the ground.
        SimulationError
            If a value is not finite or the mass matrix is singular.
        """
        last = self.count + count
        while self.count < last and self.t < until and not self.outcome:
            # Steps that end within rounding of `until` belong to the grid.
            whole = math.floor((until - self.start) / self.h * (1.0 + 1e-14) + 1e-9) - self.count
            # Gaps of rounding errors over a very short last step would be speeds: it joins the one before.
            rest = until - (self.start + (self.count + whole) * self.h)
            whole -= 1 if whole > 0 and 0.0 < rest < SHORTEST_STEP * self.h else 0
            if whole > 0:
                self._take(self.start, self.h, self.count, min(whole, last - self.count), True)
            else:
                self._take(self.t, until - self.t, 0, 1, False)

    def _take(self, start: float, h: float, first: int, count: int, on_grid: bool) -> None:
        """Take steps on the grid start + i h from number `first` on, or one step off the grid."""
        r = self.record
        result = step_code()(r, start, h, first, count)
        if r.steps and on_grid:
            self.count += r.steps
            self.t = self.start + self.count * self.h
        elif r.steps:
            # The grid begins anew after a step of another length.
            self.start, self.count, self.t = start + h, 0, start + h
        match result:
            case StepResult.LEFT_SURROUNDINGS:
                self._search()
            case StepResult.TOO_MANY_CONTACTS:
                self._most *= 2
                self._remake()
            case StepResult.INFEASIBLE:
                self._check_feasible()
            case StepResult.FALLEN:
                self.outcome = fall_words(math.asin(min(1.0, r.lean_limit)))
            case StepResult.TURNED_OVER:
                self.outcome = fall_words(None)
            case StepResult.NOT_FINITE:
                raise SimulationError(
                    f"the run stopped at {self.t:.9g} s: time stepping with steps of {h:.3g} s produced a "
                    "value that is not finite. Smaller steps, ContactOptions(step=...), may solve it."
                )
            case StepResult.SINGULAR_MASS:
                raise SimulationError(
                    f"the run stopped at {self.t:.9g} s: the mass matrix is singular."
                )

    def _check_feasible(self) -> None:
        """Raise if no velocity satisfies all prescribed motions without pushing a contact into the
        ground; otherwise accept the next step as it is.
        """
        from scipy.optimize import linprog

        r, n = self.record, self.look.n
        m, count = self.look.motion.record, r.contact_count
        rows = r.seen[:count]
        normals = rows[:, m.C : m.C + n]
        moving = rows[:, m.b]
        J = r.out[m.held : m.held + r.rows * n].reshape(-1, n)
        target = r.out[m.held_b : m.held_b + r.rows]
        # Find v and the least approach s with J v = target, C_n v - w_n + s >= 0.
        found: Any = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=-np.column_stack([normals, np.ones(count)]),
            b_ub=-moving,
            A_eq=np.column_stack([J, np.zeros(len(J))]),
            b_eq=target,
            bounds=[(None, None)] * n + [(0.0, None)],
        )
        scale = np.abs(r.problem.b[: 3 * count]).max(initial=1e-300)
        if found.status == 0 and found.x[-1] <= INFEASIBLE_APPROACH * scale:
            r.accepts_blocked = True
            return
        wheel, feature = self.look.key(self.near[r.blocked])
        joints = self.look.machine.system.model.joints
        names = ", ".join(repr(joints[k].name) for k in self.look.machine.held) or "couplings"
        raise ContactSetError(
            f"at {self.t:.9g} s: the prescribed motion of {names} pushes {wheel!r} into {feature!r}, and "
            "nothing can give way. Let the joint follow a torque or a servo instead of a motion, or change "
            "its motion."
        )

    # --- results

    @property
    def settled(self) -> int:
        """The number of successive steps in which the same contacts carried a load with margin."""
        return self.record.settled

    def loaded(self) -> list[Closed]:
        """Return the contacts that carry a load, as constraints: rows and friction of each."""
        r = self.record
        found = []
        for k, status in zip(r.loaded.tolist(), r.status[: r.loaded_count].tolist(), strict=False):
            free = int(r.held[k]) if r.tyred[k] else 1
            rows = 3 if status == ContactStatus.ROLLING else free
            found.append((self.near[k], rows, float(r.mu[k])))
        return found

    def copy(self) -> "TimeStepper":
        """Return a stepper in the same state that goes on by itself."""
        other = copy(self)
        other.record = copy_record(self.record, shared=("x",))
        return other

    def take_sums(self) -> list[Floats]:
        """Return the sums since the last call, then set them to zero: contact impulses per wheel and joint
        in the contact's own axes and in world axes, impulses of the equality rows, work of the tyres.
        """
        r = self.record
        sums = (r.own, r.world, r.equality_sum, r.tyre_work)
        found = [part.copy() for part in sums]
        for part in sums:
            part[:] = 0.0
        return found

    def made(self) -> TimeStepped:
        """Return how the steps were made: why, their length and quality."""
        return TimeStepped(self.reason, self.h, **{n: getattr(self.record, n) for n in QUALITY})


def copy_record(record: Any, shared: tuple[str, ...]) -> Any:
    """Return a record with copies of its arrays and records, except of those that are shared."""
    owner: type = type(record)
    values = {}
    for name in fields(owner):
        value = getattr(record, name)
        if isinstance(value, np.ndarray) and name not in shared:
            value = value.copy()
        elif isinstance(value, Record):
            value = copy_record(value, ())
        values[name] = value
    return owner(**values)


class SteppedSamples:
    """Samples of a motion in time steps, at the times that a run is sampled.

    States between two steps are interpolated. Accelerations and forces of a sample are means over the
    interval since the sample before: their sum over time is the impulse, whatever the spacing.
    """

    def __init__(self, stepper: TimeStepper, first: float, dt: float) -> None:
        self.stepper = stepper
        self._origin = first
        self._dt = dt
        self._v = stepper.look.y.v
        self._sums = [np.zeros_like(part) for part in stepper.take_sums()]
        self.times = [stepper.t]
        self.states = [stepper.y.copy()]
        self._totals = [[part.copy() for part in self._sums]]
        self._energies = [stepper.record.tyre_energy.copy()]

    def copy(self) -> "SteppedSamples":
        """Return the same samples with a stepper that goes on by itself."""
        other = copy(self)
        other.stepper = self.stepper.copy()
        other._sums = [total.copy() for total in self._sums]
        other.times, other.states = list(self.times), list(self.states)
        other._totals = list(self._totals)
        other._energies = list(self._energies)
        return other

    def _next(self) -> float:
        """Return the time of the next sample."""
        number = math.floor((self.times[-1] - self._origin) / self._dt + 1e-9) + 1
        return self._origin + number * self._dt

    def advance(self, count: int, until: float) -> None:
        """Take so many steps at most, until a time, and keep the samples on the way."""
        stepper = self.stepper
        last = stepper.count + count
        while stepper.count < last and stepper.t < until and not stepper.outcome:
            due = self._next()
            ahead = max(1, math.ceil((due - stepper.t) / stepper.h * (1.0 - 1e-14) - 1e-9))
            if ahead > 1:
                self._step(min(ahead - 1, last - stepper.count), until)
            else:
                self._step_over(until)

    def _step(self, count: int, until: float) -> None:
        """Take steps and add up their impulses."""
        self.stepper.advance(count, until)
        for total, part in zip(self._sums, self.stepper.take_sums(), strict=True):
            total += part

    def _step_over(self, until: float) -> None:
        """Take one step and keep all samples that are due within it."""
        stepper = self.stepper
        begin, before = stepper.t, stepper.y.copy()
        sums = [total.copy() for total in self._sums]
        self._step(1, until)
        span = stepper.t - begin
        while span > 0.0 and self._next() <= stepper.t * (1.0 + 1e-14) + 1e-300:
            due = min(self._next(), stepper.t)
            part = (due - begin) / span
            state = (1.0 - part) * before + part * stepper.y
            state[:4] /= np.linalg.norm(state[:4])
            totals = [a + part * (b - a) for a, b in zip(sums, self._sums, strict=True)]
            self._keep(due, state, totals)

    def _keep(self, t: float, state: Floats, totals: list[Floats]) -> None:
        self.times.append(t)
        self.states.append(state)
        self._totals.append(totals)
        self._energies.append(self.stepper.record.tyre_energy.copy())

    def arc(self, latest: int = 0) -> SteppedArc:
        """Return the samples, or only the latest ones, as an arc that ends at the present time. The first
        sample has the means of the first interval.
        """
        stepper = self.stepper
        if 0.0 < stepper.t - self.times[-1] < SAME_TIME * stepper.h:
            # A mean over the rounding error of a time is not a force.
            self.times[-1] = stepper.t
        elif stepper.t > self.times[-1]:
            self._keep(stepper.t, stepper.y.copy(), [total.copy() for total in self._sums])
        elif len(self.times) == 1:
            self._keep(self.times[0], self.states[0], self._totals[0])
        times, states = np.array(self.times[-latest:]), np.array(self.states[-latest:])
        spans = np.diff(times)
        spans = np.where(spans > 0.0, spans, np.inf)  # an instant has no means
        means = []
        for part in (states[:, self._v], *map(np.array, zip(*self._totals[-latest:], strict=True))):
            mean = np.diff(part, axis=0) / spans.reshape(-1, *[1] * (part.ndim - 1))
            means.append(np.concatenate([mean[:1], mean]))
        rates, own, world, equality, power = means
        energies = np.array(self._energies[-latest:])
        look, wheels = stepper.look, len(stepper.look.machine.wheels)
        return SteppedArc(
            look.machine, times, states, look.inputs, look.terrain, rates,
            own[:, :wheels], world[:, :wheels], equality[:, : stepper.record.rows],
            world[:, wheels:, 0] if look.stops else None,
            np.stack([power, energies], axis=-1)[:, :wheels],
            stepper.made(),
        )  # fmt: skip
