"""An interval in time steps: from a state to a sampled motion with its contact forces."""

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers
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
SPEED_INTERVAL = 1e-3  # of sqrt(wheel size / g); rounding leaves 1e-13 of the speed, not 1e-10
TRAVEL = 0.01  # of the wheel size; a wheel moves no further in a step
POSITION_ERROR = 1e-3  # of the wheel size per sqrt(wheel size / g); longer steps are not chosen
ERROR_MEMORY = 20.0  # of sqrt(wheel size / g); single impacts are averaged over this time
ERROR_MARGIN = 8.0  # the step is doubled if the error is this much smaller than allowed
ADAPT_STEPS = 32  # steps after which their length is chosen again
SHORTEST = 1 / 64  # of the longest step; shorter steps are not chosen
TYRE_FLIGHT = 0.1  # of sqrt(wheel size / g); a tenth of the period of a tyre that deflects by 2 %
SHORTEST_STEP = 0.01  # of a regular step; a shorter remainder of the run lengthens its last step
SAME_TIME = 1e-9  # of a regular step; samples that are nearer in time are one
FIRST_ROOM = 8  # contacts of a step; grows when needed
REACH_SLACK = 0.25  # wheel sizes; a wheel moves as far in 25 steps or more
SEARCH_MARGIN = 2.0  # wheel sizes; a wider search finds more features than a step should test
KEPT_ARRAYS = (
    "own",
    "world",
    "equality_sum",
    "tyre_work",
    "tyre_energy",
    "airborne",
    "centre",
    "trend",
)
KEPT_NUMBERS = (
    "residual", "penetration", "work", "projection_work", "supplied", "error", "travel", "unsolved",
    "has_trend",
)  # fmt: skip


@cache
def step_code() -> NativeRoutine:
    """Return the routine that takes steps, compiled."""
    return routine_code(take_steps, passes="few")[0]


def wheel_size(look: ContactQuery) -> float:
    """Return the largest wheel's size (m), the length scale of a machine."""
    return max((x for x in look.longest if np.isfinite(x)), default=1.0) or 1.0


def time_unit(look: ContactQuery) -> float:
    """Return sqrt(wheel size / g) (s), the time scale of a machine; infinite without gravity."""
    gravity = float(np.linalg.norm(look.machine.system.model.gravity))
    return math.sqrt(wheel_size(look) / gravity) if gravity > 0.0 else math.inf


def tyre_flight(look: ContactQuery) -> float:
    """Return the time (s) within which a tyre in the air does not lose its deflection."""
    return TYRE_FLIGHT * min(time_unit(look), 1.0)


def choose_step(look: ContactQuery, contact: ContactOptions, t: float, y: Floats) -> float:
    """Return the length of the first time step (s): the requested one, or what suits the size of the
    wheels, gravity and the speed.
    """
    if contact.step is not None:
        return contact.step
    unit = time_unit(look)
    moment = SPEED_INTERVAL * min(unit, 1.0)
    later = y.copy()
    later[look.pose] += moment * look.dynamics(t, y)["flow"]
    later[look.y.q] /= np.linalg.norm(later[look.y.q])
    moved = np.linalg.norm(look.centres(t, later) - look.centres(t, y), axis=1)
    speed = float(moved.max(initial=0.0)) / moment
    by_speed = TRAVEL * wheel_size(look) / speed if speed > 0.0 else math.inf
    # A massless foot moves without bound: steps that follow it would never end.
    found = max(min(STEP * unit, by_speed), SHORTEST * STEP * min(unit, 1.0))
    return found if math.isfinite(found) else 1.0


class TimeStepper:
    """A machine that moves over a terrain in time steps.

    Steps lie on a grid, t + i h. The grid begins anew when the length of steps changes: after
    `ADAPT_STEPS` steps by their position error, unless `ContactOptions.step` fixes it; and after a
    shorter step at an end of the run. Nothing depends on the number of calls that take the steps.

    Parameters
    ----------
    look
        Machine and terrain.
    contact
        Friction, restitution, fall limit, length of steps.
    t, y
        Time (s) and state at the start.
    h
        Length of the first steps (s).
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
        self.h = h
        self.t = t
        self.taken = 0
        self.outcome = ""
        self.reason = reason
        self.is_settled = (
            False  # whether the same contacts have carried a load for `required` steps
        )
        self._start = t  # of the grid
        self._index = 0  # steps since the start of the grid
        self._span = h  # length of the last step
        self._block = 0  # steps since their length was chosen
        self._error = 0.0  # m, mean position error over ERROR_MEMORY
        self._first_step = self._largest_step = h
        self._warm: dict[WheelOnFeature, tuple[Floats, float]] = {}
        self._most = FIRST_ROOM
        self.near = look.sweep(t, look.boxes(t, y), self._margin)
        self._make(y)
        self._energy = look.energy(t, y)

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
        self.has_ideal_contacts = bool(np.isinf(mu[held > 1]).any())
        owners = np.full(model.memory + 1, -1)
        for w, wheel in enumerate(look.machine.wheels):
            for first, element in contact_elements(model, wheel):
                owners[first : first + element.states] = w
        size = wheel_size(look)
        rest = REST_SPEED * math.sqrt(float(np.linalg.norm(model.gravity)) * size)
        slides = [*(i < 3 for i in model.twist), *(joint.turn == 0.0 for joint in model.joints)]
        # The sums are parts of one array, so that samples copy one array.
        self.sums = np.zeros(7 * parts + rows + 1)
        own, world, equality_sum, tyre_work = self.split_sums(self.sums[None], parts, rows)
        self.record: TimeStepping = make_record(
            TimeStepping,
            motion=look.motion,
            contacts=self.near.packed,
            wheels=look.level,
            problem=impulse_problem(self._most),
            most=self._most,
            rows=rows,
            applied=look.machine.motion.outputs.applied.start,
            lengths=np.where(slides, 1.0, size),
            along=look.row.along.start,
            restitution=float(dict(self.contact.restitution).get("normal", 0.0)),
            rest_speed=max(rest, float(self.contact.rest_speed)),
            lean_limit=fall.sine,
            overturns=fall.over,
            weight=look.motion.record.share * max(1, wheels),
            x=look.x,
            **{name: y.copy() for name in ("y", "before", "middle")},
            **dict.fromkeys(("after", "trend", "free"), n),
            **dict.fromkeys(("out", "shifted"), look.machine.motion.outputs.size),
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
            reach=near + 1,
            around=6 * wheels,
            slack=REACH_SLACK * size,
            centre=look.centres(self.t, y).copy(),
            box=6 * wheels,
            swept=self.near.boxes.copy(),
            airborne=wheels + 1,
            flight=tyre_flight(look),
            owners=owners,
            relaxed=look.machine.memory + 1,
            own=own[0],
            world=world[0],
            equality_sum=equality_sum[0],
            tyre_work=tyre_work[0],
            tyre_energy=parts,
        )
        self.y: Floats = self.record.y  # the state that is reached
        self._restore_warm()

    @staticmethod
    def split_sums(sums: Floats, parts: int, rows: int) -> list[Floats]:
        """Return the sums at some times, time first: contact impulses per wheel and joint in the contact's
        own axes and in world axes, impulses of the equality rows, work of the tyres.
        """
        ends = np.cumsum([3 * parts, 3 * parts, rows + 1])
        own, world, equality, work = np.split(sums, ends, axis=1)
        shape = (len(sums), parts, 3)
        return [own.reshape(shape), world.reshape(shape), equality, work]

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
        for name in KEPT_ARRAYS:
            getattr(self.record, name)[:] = getattr(old, name)
        for name in (*KEPT_NUMBERS, "required"):
            setattr(self.record, name, getattr(old, name))

    def _search(self) -> None:
        """Search the surroundings of the present state for contacts."""
        begin = self.record.centre.copy()
        self.near = self.look.sweep(self.t, self.record.box, self._margin, begin)
        self._remake()

    # --- steps

    def steps_until(self, t: float) -> int:
        """Return how many steps of the present length reach a time, at least one."""
        # A step that ends within rounding of the time reaches it.
        steps = (t - self._start) / self.h * (1.0 - 1e-14) - 1e-9
        return max(1, math.ceil(steps) - self._index)

    def state_at(self, t: float) -> Floats:
        """Return the state at a time within the last step, by interpolation."""
        r = self.record
        if t >= self.t:
            return self.y.copy()
        part = 1.0 - (self.t - t) / self._span
        state: Floats = (1.0 - part) * r.before + part * r.y
        state[:4] /= np.linalg.norm(state[:4])
        return state

    def restart(self, t: float, y: Floats) -> None:
        """Continue from a state at a time within the last step, with the present inputs of the machine."""
        self.record.y[:] = y
        self.look.fill(t, y)
        self._begin_grid(t, self.h)

    def require(self, settled: int) -> None:
        """Let calls end after so many successive steps in which the same contacts carry a load."""
        self.record.required = settled
        self.record.settled = 0
        self.is_settled = False

    def _begin_grid(self, t: float, h: float) -> None:
        """Begin a new grid of steps."""
        self.t = self._start = t
        self._index = 0
        self.h = h
        self._largest_step = max(h, self._largest_step)

    def advance(self, count: int, until: float) -> None:
        """Take so many steps, or fewer if a time is reached, the machine falls (then `outcome` says so),
        or its contacts are settled. The last step before `until` is shorter than the others, if need be.

        Raises
        ------
        ContactSetError
            If a prescribed motion pushes a contact into the ground.
        SimulationError
            If a value is not finite or the mass matrix is singular.
        """
        last = self.taken + count
        while self.taken < last and self.t < until and not self.outcome:
            # Steps that end within rounding of `until` belong to the grid.
            whole = math.floor((until - self._start) / self.h * (1.0 + 1e-14) + 1e-9) - self._index
            # Gaps of rounding errors over a very short last step would be speeds: it joins the one before.
            rest = until - (self._start + (self._index + whole) * self.h)
            whole -= 1 if whole > 0 and 0.0 < rest < SHORTEST_STEP * self.h else 0
            if whole > 0:
                many = min(whole, last - self.taken, ADAPT_STEPS - self._block)
                self._take(self._start, self.h, self._index, many)
            else:
                self._take(self.t, until - self.t, 0, 1)
                self._begin_grid(self.t, self.h)
            if self._block >= ADAPT_STEPS:
                self._adapt()
            if self.is_settled:
                return

    def _adapt(self) -> None:
        """Choose the length of the next steps by the position error of the latest ones, averaged over
        some time, and by the distance that wheels moved in a step.
        """
        r, unit, size = self.record, time_unit(self.look), wheel_size(self.look)
        memory = ERROR_MEMORY * unit
        self._error = self._error * math.exp(-ADAPT_STEPS * self.h / memory) + r.error
        far = r.travel / (TRAVEL * size)
        r.error = 0.0
        r.travel = 0.0
        self._block = 0
        if self.contact.step is not None or not math.isfinite(unit):
            return
        used = self._error / (POSITION_ERROR * size * ERROR_MEMORY)
        longest = STEP * unit
        if far > 1.0 / TRAVEL and self.h <= SHORTEST * longest:
            self._refuse_speed()
        if (used > 1.0 or far > 1.5) and self.h > SHORTEST * longest:
            self._begin_grid(self.t, 0.5 * self.h)
        elif used < 1.0 / ERROR_MARGIN and far < 0.5 and 2.0 * self.h <= longest * (1.0 + 1e-9):
            self._begin_grid(self.t, 2.0 * self.h)

    def _refuse_speed(self) -> None:
        """Raise because a wheel passes its own size in the shortest step: no step finds its contacts."""
        ends = [self.look.centres(self.t, y).copy() for y in (self.record.before, self.y)]
        moved = np.linalg.norm(ends[1] - ends[0], axis=1)
        w = int(moved.argmax())
        raise SimulationError(
            f"the run stopped at {self.t:.9g} s: {self.look.machine.wheels[w].name!r} moves at "
            f"{moved[w] / self._span:.3g} m/s, further than its size in the shortest time step. A force acts "
            "on a body that is almost massless; give it mass, or limit the force."
        )

    def _take(self, start: float, h: float, first: int, count: int) -> None:
        """Take steps on the grid start + i h from number `first` on."""
        r = self.record
        result = step_code()(r, start, h, first, count)
        steps = r.steps
        self.taken += steps
        self._index += steps
        self._block += steps
        self.t = start + (first + steps) * h
        self._span = h
        self.is_settled = result is StepResult.SETTLED
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

    def loaded(self) -> list[Closed]:
        """Return the contacts that carry a load, as constraints: rows and friction of each."""
        r = self.record
        found = []
        for k, status in zip(r.loaded.tolist(), r.status[: r.loaded_count].tolist(), strict=False):
            free = int(r.held[k]) if r.tyred[k] else 1
            rows = 3 if status == ContactStatus.ROLLING else free
            found.append((self.near[k], rows, float(r.mu[k])))
        return found

    def made(self) -> TimeStepped:
        """Return how the steps were made: why, their length and quality."""
        r, contact = self.record, self.contact
        chosen = contact.solver == "auto" and contact.impact_name != "moreau"
        return TimeStepped(
            reason=self.reason,
            step=self._largest_step,
            first_step=self._first_step,
            residual=r.residual,
            penetration=r.penetration,
            work=r.work,
            projection_work=r.projection_work,
            energy_drift=self.look.energy(self.t, self.y) - self._energy - r.supplied,
            unsolved=r.unsolved,
            replaced_impact=str(contact.impact_name) if chosen and r.restitution > 0.0 else "",
        )


class SteppedSamples:
    """Samples of a motion in time steps, at the times that a run is sampled.

    States between two steps are interpolated. Accelerations and forces of a sample are means over the
    interval since the sample before: their sum over time is the impulse, whatever the spacing.

    Parameters
    ----------
    stepper
        The machine at the first sample.
    first, dt
        The times of the samples are first + i dt, s. If dt is infinite, the last step is kept only.
    """

    def __init__(self, stepper: TimeStepper, first: float, dt: float) -> None:
        self.stepper = stepper
        self._origin = first
        self._dt = dt
        self._begin()

    def _begin(self) -> None:
        """Forget all samples; the present state is the first one."""
        stepper = self.stepper
        stepper.sums[:] = 0.0
        self.times = [stepper.t]
        self._samples = [(stepper.y.copy(), stepper.sums.copy(), stepper.record.tyre_energy.copy())]

    def restart(self, t: float, y: Floats) -> None:
        """Continue from a state at a time within the last step."""
        self.stepper.restart(t, y)
        self._begin()

    def _next(self) -> float:
        """Return the time of the next sample."""
        number = math.floor((self.times[-1] - self._origin) / self._dt + 1e-9) + 1
        return self._origin + number * self._dt

    def advance(self, count: int, until: float) -> None:
        """Take so many steps at most, until a time, and keep the samples on the way."""
        stepper = self.stepper
        if not math.isfinite(self._dt):
            if count > 1:
                stepper.advance(count - 1, until)
            if not stepper.is_settled and not stepper.outcome:
                # The stepper knows the state before the step: no sample is copied.
                stepper.sums[:] = 0.0
                self.times = [stepper.t]
                self._samples = []
                stepper.advance(1, until)
            return
        last = stepper.taken + count
        while stepper.taken < last and stepper.t < until and not stepper.outcome:
            ahead = stepper.steps_until(self._next())
            if ahead > 1:
                stepper.advance(min(ahead - 1, last - stepper.taken), until)
            else:
                self._step_over(until)
            if stepper.is_settled:
                return

    def _step_over(self, until: float) -> None:
        """Take one step and keep all samples that are due within it."""
        stepper = self.stepper
        begin, before = stepper.t, stepper.sums.copy()
        stepper.advance(1, until)
        span = stepper.t - begin
        while span > 0.0 and self._next() <= stepper.t * (1.0 + 1e-14) + 1e-300:
            due = min(self._next(), stepper.t)
            part = (due - begin) / span
            sums = before + part * (stepper.sums - before)
            self.times.append(due)
            energy = stepper.record.tyre_energy.copy()
            self._samples.append((stepper.state_at(due), sums, energy))

    def arc(self, until: float = math.inf) -> SteppedArc:
        """Return the samples as an arc that ends at the present time, or at a time within the last step.
        The first sample has the means of the first interval.
        """
        stepper = self.stepper
        times, samples = list(self.times), list(self._samples)
        if not samples:
            energy = stepper.record.tyre_energy.copy()
            samples = [(stepper.record.before.copy(), np.zeros_like(stepper.sums), energy)]
        end = min(until, stepper.t)
        if 0.0 < end - times[-1] < SAME_TIME * stepper.h:
            times[-1] = end  # a mean over the rounding error of a time is not a force
        if end > times[-1] or len(times) == 1:
            times.append(max(end, times[0]))
            part = 1.0 if end >= stepper.t else (end - times[0]) / (stepper.t - times[0])
            sums = samples[-1][1] + part * (stepper.sums - samples[-1][1])
            samples.append((stepper.state_at(end), sums, stepper.record.tyre_energy.copy()))
        t = np.array(times)
        states, sums, energies = map(np.array, zip(*samples, strict=True))
        spans = np.diff(t)
        spans = np.where(spans > 0.0, spans, np.inf)  # an instant has no means
        look, rows = stepper.look, stepper.record.rows
        wheels = len(look.machine.wheels)
        means = []
        for values in (states[:, look.y.v], sums):
            mean = np.diff(values, axis=0) / spans[:, None]
            means.append(np.concatenate([mean[:1], mean]))
        rates, forces = means
        parts = wheels + look.machine.joints
        own, world, equality, power = stepper.split_sums(forces, parts, rows)
        return SteppedArc(
            look.machine, t, states, look.inputs, look.terrain, rates,
            own[:, :wheels], world[:, :wheels], equality[:, :rows],
            world[:, wheels:, 0] if look.stops else None,
            np.stack([power, energies], axis=-1)[:, :wheels],
            stepper.made(),
        )  # fmt: skip
