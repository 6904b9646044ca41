"""An interval in time steps: from a state to a sampled motion with its contact forces."""

import math
from collections.abc import Mapping
from functools import cache
from math import isfinite, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Matrix, Record, routine
from draisine.codegen.targets.native import make_record, routine_code
from draisine.errors import ContactSetError, SimulationError
from draisine.model import Wheel
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.complementarity.impulses import make_impulse_problem
from draisine.simulation.contact.complementarity.linear import dot
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.step import (
    INFEASIBLE_APPROACH,
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
SHORTEST_RATIO = 1 / 64  # of the longest step; shorter steps are not chosen
TYRE_FLIGHT = 0.1  # of sqrt(wheel size / g); a tenth of the period of a tyre that deflects by 2 %
SHORTEST_REMAINDER = (
    0.01  # of a regular step; a shorter remainder of the run lengthens its last step
)
SAME_SAMPLE = 1e-9  # of a regular step; samples that are nearer in time are one
INITIAL_CONTACTS = 8  # contacts of a step; grows when needed
REACH_SLACK = 0.25  # wheel sizes; a wheel moves as far in 25 steps or more
SEARCH_MARGIN = 2.0  # wheel sizes; a wider search finds more features than a step should test


class StepSamples(Record):
    """Samples of a motion in time steps at the times first + i dt, and the beginning of its last step. States
    between two steps are interpolated.

    k sums, n entries of a state, w wheels and joints.
    """

    first: float = 0.0  # s
    dt: float = math.inf  # s; infinite: no samples, and sums of the last step alone
    number: int = 1  # i of the next sample
    count: int = 0  # samples
    begin: float = 0.0  # s, beginning of the last step
    sums: Floats  # (k) impulses and work until now
    before: Floats  # (k) the same at the beginning of the last step
    times: Floats  # s
    states: Matrix  # (samples, n)
    totals: Matrix  # (samples, k) sums
    energies: Matrix  # (samples, w) J, stored in tyres
    size: int  # k


@routine
def interpolate_state(s: TimeStepping, ratio: float, into: Floats) -> None:
    """Write the state at a fraction (`ratio`) of the last step."""
    n = s.motion.y_z + s.motion.states
    into[:n] = (1.0 - ratio) * s.before[:n] + ratio * s.y[:n]
    length = sqrt(dot(into, into, 4))
    into[:4] /= length


@routine
def keep_samples(s: TimeStepping, r: StepSamples, end: float) -> None:
    """Keep the samples that are due within the last step, which ends at a time."""
    n = s.motion.y_z + s.motion.states
    due = r.first + r.number * r.dt
    while due <= end * (1.0 + 1e-14) + 1e-300:
        due = min(due, end)
        ratio = (due - r.begin) / (end - r.begin)
        if due < end:
            interpolate_state(s, 1.0 - (end - due) / (end - r.begin), r.states[r.count])
        else:
            r.states[r.count, :n] = s.y[:n]
        r.times[r.count] = due
        r.totals[r.count, : r.size] = r.before[: r.size]
        r.totals[r.count, : r.size] += ratio * (r.sums[: r.size] - r.before[: r.size])
        r.energies[r.count, : s.wheels.size] = s.tyre_energy[: s.wheels.size]
        r.count += 1
        r.number += 1
        due = r.first + r.number * r.dt


@routine
def take_sampled_steps(
    s: TimeStepping, r: StepSamples, start: float, h: float, first: int, count: int
) -> StepResult:
    """Take steps as `take_steps` does, and keep samples."""
    taken = 0
    result = StepResult.ADVANCED
    while result is StepResult.ADVANCED and taken < count:
        if isfinite(r.dt):
            r.before[: r.size] = r.sums[: r.size]
        else:
            r.sums[: r.size] = 0.0
        result = take_steps(s, start, h, first + taken, 1)
        if s.steps > 0:
            r.begin = start + (first + taken) * h
            taken += 1
            keep_samples(s, r, start + (first + taken) * h)
    s.steps = taken
    return result


@cache
def step_code() -> Any:
    """Return the routines that Python calls, compiled."""
    entries = (take_sampled_steps, interpolate_state)
    codes = routine_code(*entries, passes="few")
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, codes, strict=True)}
    )


def tyre_flight(query: ContactQuery) -> float:
    """Return the time (s) within which a tyre in the air does not lose its deflection."""
    return TYRE_FLIGHT * min(query.time_unit, 1.0)


def longest_step(query: ContactQuery, contact: ContactOptions) -> float:
    """Return the length of the longest time step (s): the requested one, or `STEP`."""
    return STEP * query.time_unit if contact.step is None else contact.step


def choose_step(query: ContactQuery, contact: ContactOptions, t: float, y: Floats) -> float:
    """Return the length of the first time step (s): the requested one, or the longest in which no wheel moves
    further than `TRAVEL`.
    """
    if contact.step is not None:
        return contact.step
    unit = query.time_unit
    moment = SPEED_INTERVAL * min(unit, 1.0)
    later = y.copy()
    later[query.pose] += moment * query.flow(t, y)
    q = later[query.y.q]
    q /= math.sqrt(q @ q)
    moved = np.square(query.centres(t, later) - query.centres(t, y)).sum(axis=1)
    speed = math.sqrt(moved.max(initial=0.0)) / moment
    by_speed = TRAVEL * query.wheel_size / speed if speed > 0.0 else math.inf
    # A massless foot moves without bound: steps that follow it would never end.
    shortest = SHORTEST_RATIO * STEP * min(unit, 1.0)
    step = max(min(longest_step(query, contact), by_speed), shortest)
    return step if math.isfinite(step) else 1.0


class TimeStepper:
    """A machine that moves over a terrain in time steps.

    Steps lie on a grid, t + i h. The grid begins anew when the length of steps changes: after
    `ADAPT_STEPS` steps by their position error, unless `ContactOptions.step` fixes it; and after a
    shorter step at an end of the run. Nothing depends on the number of calls that take the steps.

    Parameters
    ----------
    query
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
        query: ContactQuery,
        contact: ContactOptions,
        t: float,
        y: Floats,
        h: float,
        reason: str = "requested",
    ) -> None:
        self.query = query
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
        self._most = INITIAL_CONTACTS
        self.near = query.find_surroundings(t, query.boxes(t, y), self._margin)
        self._make_records(y)
        self._surround()
        self._energy = query.energy(t, y)

    @property
    def _margin(self) -> float:
        """How far around the wheels' paths features are searched (m)."""
        return min(self.contact.margin, SEARCH_MARGIN * self.query.wheel_size)

    # --- records

    def _make_records(self, y: Floats) -> None:
        """Make the record of the machine at a state; `_surround` adds the contacts nearby."""
        query = self.query
        model = query.machine.system.model
        n = query.n
        rows = query.machine.motion.outputs.count("held_c")
        wheels = len(query.machine.wheels)
        parts = wheels + query.machine.joints
        fall = fall_rule(model, self.contact.fall)
        size = query.wheel_size
        rest = REST_SPEED * math.sqrt(float(np.linalg.norm(model.gravity)) * size)
        slides = [*(i < 3 for i in model.twist), *(joint.turn == 0.0 for joint in model.joints)]
        # The sums are parts of one array, so that samples copy one array.
        sums = np.zeros(7 * parts + rows + 1)
        local, world, equality_sum, tyre_work = self.split_sums(sums[None], parts, rows)
        self.samples: StepSamples = make_record(
            StepSamples,
            sums=sums,
            before=len(sums),
            begin=self.t,
            times=1,
            states=(1, len(y)),
            totals=(1, len(sums)),
            energies=(1, parts),
            size=len(sums),
        )
        self.record: TimeStepping = make_record(
            TimeStepping,
            motion=query.motion,
            contacts=self.near.packed,
            wheels=query.level,
            **self._contact_capacity(n, rows),
            rows=rows,
            applied=query.machine.motion.outputs.applied.start,
            lengths=np.where(slides, 1.0, size),
            along=query.row.along.start,
            restitution=float(dict(self.contact.restitution).get("normal", 0.0)),
            rest_speed=max(rest, float(self.contact.rest_speed)),
            lean_limit=fall.sine,
            overturns=fall.over,
            weight=query.motion.record.share * max(1, wheels),
            x=query.x,
            **{name: y.copy() for name in ("y", "before", "middle")},
            **dict.fromkeys(("after", "trend", "free"), n),
            **dict.fromkeys(("out", "shifted"), query.machine.motion.outputs.size),
            **dict.fromkeys(("mass", "damping"), (n, n)),
            equality=(rows + 1, n),
            schur=(rows + 1, rows + 1),
            multiplier=rows + 1,
            **dict.fromkeys(("closed_status", "tyred", "mu", "carried", "reach"), 1),
            warm=(1, 3),
            around=6 * wheels,
            slack=REACH_SLACK * size,
            centre=query.centres(self.t, y).copy(),
            box=6 * wheels,
            swept=6 * wheels,
            airborne=wheels + 1,
            flight=tyre_flight(query),
            owners=query.tyre_wheels,
            relaxed=query.machine.memory + 1,
            own=local[0],
            world=world[0],
            equality_sum=equality_sum[0],
            tyre_work=tyre_work[0],
            tyre_energy=parts,
        )
        self.y: Floats = self.record.y  # the state that is reached

    def _contact_capacity(self, n: int, rows: int) -> dict[str, Any]:
        """Return the fields of the record that have room for the contacts of a step; n speeds."""
        most = self._most
        sizes = dict.fromkeys(("which", "status", "loaded", "settled_status", "warmed"), most + 1)
        room: dict[str, Any] = {name: np.zeros(size, np.int64) for name, size in sizes.items()}
        room |= {"response": np.zeros((3 * most, n)), "reaction": np.zeros((3 * most, rows + 1))}
        room["seen"] = np.zeros((most + 2, self.query.row.size))
        return room | {"most": most, "problem": make_impulse_problem(most)}

    def _surround(
        self, previous: Mapping[WheelOnFeature, tuple[Floats, float]] | None = None
    ) -> None:
        """Write the contacts nearby into the record, with `previous` impulses and loads of the last step.
        Contacts have other numbers now: counting settled steps begins again.
        """
        record = self.record
        size = len(self.near) + 1
        statuses, mu, tyred = self._laws()
        self.has_ideal_contacts = bool(np.isinf(mu).any())
        record.assign(contacts=self.near.packed, closed_status=statuses, mu=mu, tyred=tyred)
        record.assign(swept=self.near.boxes.copy(), reach=np.zeros(size, np.int64), reach_count=-1)
        record.assign(warm=np.zeros((size, 3)), carried=np.full(size, record.motion.share))
        record.assign(loaded_count=0, settled=0, warmed_count=0)
        for contact, (impulse, load) in (previous or {}).items():
            k = self.near.index.get(contact)
            if k is not None:
                record.warm[k] = impulse
                record.carried[k] = load
                record.warmed[record.warmed_count] = k
                record.warmed_count += 1

    @staticmethod
    def split_sums(sums: Floats, parts: int, rows: int) -> list[Floats]:
        """Return the sums at some times, time first: contact impulses per wheel and joint in the contact's
        own axes and in world axes, impulses of the equality rows, work of the tyres.
        """
        ends = np.cumsum([3 * parts, 3 * parts, rows + 1])
        local, world, equality, work = np.split(sums, ends, axis=1)
        shape = (len(sums), parts, 3)
        return [local.reshape(shape), world.reshape(shape), equality, work]

    def _laws(self) -> tuple[Integers, Floats, NDArray[np.bool_]]:
        """Return for each contact nearby its status if closed without slip, its friction, and whether a
        tyre makes forces.
        """
        statuses, mu = self.query.contact_laws(self.near, self.contact)
        tyred = np.zeros(len(self.near) + 1, dtype=np.bool_)
        for w, wheel in enumerate(self.query.machine.wheels):
            if isinstance(wheel, Wheel) and wheel.tyre is not None:
                contacts = np.flatnonzero(self.near.wheels == w)
                tyred[contacts] = True
                # A tyre that holds its contact along (two rows) does so without limit.
                is_tracking = statuses[contacts] == Status.TRACKING_TYRE
                mu[contacts] = np.where(is_tracking, np.inf, 0.0)
        return statuses, mu, tyred

    def _search(self) -> None:
        """Search the surroundings of the present state for contacts."""
        record = self.record
        previous = {
            self.near[k]: (record.warm[k].copy(), float(record.carried[k]))
            for k in record.warmed[: record.warmed_count].tolist()
            if record.warm[k, 0] != 0.0
        }
        begin = record.centre.copy()
        self.near = self.query.find_surroundings(self.t, record.box, self._margin, begin)
        self._surround(previous)

    def _grow(self) -> None:
        """Double the number of contacts for which a step has room."""
        self._most *= 2
        self.record.assign(**self._contact_capacity(self.query.n, self.record.rows))
        self.record.assign(loaded_count=0, settled=0)

    # --- steps

    def steps_until(self, t: float) -> int:
        """Return how many steps of the present length reach a time, at least one."""
        # A step that ends within rounding of the time reaches it.
        steps = (t - self._start) / self.h * (1.0 - 1e-14) - 1e-9
        return max(1, math.ceil(steps) - self._index)

    def state_at(self, t: float) -> Floats:
        """Return the state at a time within the last step, by interpolation."""
        state = self.y.copy()
        if t < self.t:
            ratio = 1.0 - (self.t - t) / self._span
            step_code().interpolate_state(self.record, ratio, state)
        return state

    def restart(self, t: float, y: Floats) -> None:
        """Continue from a state at a time within the last step, with the present inputs of the machine."""
        self.record.y[:] = y
        self.samples.begin = t
        self.query.fill(t, y)
        self._begin_grid(t, self.h)

    def begin_samples(self, first: float, dt: float) -> None:
        """Keep the present state and samples at the times first + i dt from now on."""
        samples = self.samples
        number = math.floor((self.t - first) / dt + 1e-9) + 1
        samples.assign(first=first, dt=dt, count=1, number=number)
        samples.times[0] = self.t
        samples.states[0] = self.y

    def require(self, settled: int) -> None:
        """End calls after `settled` successive steps in which the same contacts carry a load."""
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
        """Take `count` steps, or fewer if a time is reached, the machine falls or its contacts are settled.

        The last step before `until` (s) may be shorter than the others. After a fall `outcome` names it.

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
            steps = math.floor((until - self._start) / self.h * (1.0 + 1e-14) + 1e-9) - self._index
            # Gaps of rounding errors over a very short last step would be speeds: it joins the one before.
            rest = until - (self._start + (self._index + steps) * self.h)
            steps -= 1 if steps > 0 and 0.0 < rest < SHORTEST_REMAINDER * self.h else 0
            if steps > 0:
                many = min(steps, last - self.taken, ADAPT_STEPS - self._block)
                self._take_steps(self._start, self.h, self._index, many)
            else:
                self._take_steps(self.t, until - self.t, 0, 1)
                self._begin_grid(self.t, self.h)
            if self._block >= ADAPT_STEPS:
                self._adapt()
            if self.is_settled:
                return

    def _adapt(self) -> None:
        """Choose the length of the next steps by the position error of the latest ones, averaged over
        some time, and by the distance that wheels moved in a step.
        """
        r = self.record
        unit = self.query.time_unit
        size = self.query.wheel_size
        memory = ERROR_MEMORY * unit
        self._error = self._error * math.exp(-ADAPT_STEPS * self.h / memory) + r.error
        far = r.travel / (TRAVEL * size)
        r.error = 0.0
        r.travel = 0.0
        self._block = 0
        if self.contact.step is not None or not math.isfinite(unit):
            return
        used = self._error / (POSITION_ERROR * size * ERROR_MEMORY)
        longest = longest_step(self.query, self.contact)
        if far > 1.0 / TRAVEL and self.h <= SHORTEST_RATIO * longest:
            self._refuse_speed()
        if (used > 1.0 or far > 1.5) and self.h > SHORTEST_RATIO * longest:
            self._begin_grid(self.t, 0.5 * self.h)
        elif used < 1.0 / ERROR_MARGIN and far < 0.5 and 2.0 * self.h <= longest * (1.0 + 1e-9):
            self._begin_grid(self.t, 2.0 * self.h)

    def _refuse_speed(self) -> None:
        """Raise because a wheel passes its own size in the shortest step: no step finds its contacts."""
        ends = [self.query.centres(self.t, y).copy() for y in (self.record.before, self.y)]
        moved = np.linalg.norm(ends[1] - ends[0], axis=1)
        w = int(moved.argmax())
        raise SimulationError(
            f"the run stopped at {self.t:.9g} s: {self.query.machine.wheels[w].name!r} moves at "
            f"{moved[w] / self._span:.3g} m/s, further than its size in the shortest time step. A force acts "
            "on a body that is almost massless; give it mass, or limit the force."
        )

    def _take_steps(self, start: float, h: float, first: int, count: int) -> None:
        """Take steps on the grid start + i h from number `first` on."""
        r = self.record
        if math.isfinite(self.samples.dt):
            self._grow_records(int(count * (h / self.samples.dt + 1.0)) + 1)
        result = step_code().take_sampled_steps(r, self.samples, start, h, first, count)
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
                self._grow()
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

    def _grow_records(self, count: int) -> None:
        """Make room for `count` more samples."""
        samples = self.samples
        if samples.count + count <= len(samples.times):
            return
        for name in ("times", "states", "totals", "energies"):
            kept = getattr(samples, name)
            shape = (2 * (samples.count + count), *kept.shape[1:])
            setattr(samples, name, np.resize(kept, shape))

    def _check_feasible(self) -> None:
        """Raise if no velocity satisfies all prescribed motions without pushing a contact into the
        ground; otherwise accept the next step as it is.
        """
        from scipy.optimize import linprog

        r = self.record
        n = self.query.n
        m = self.query.motion.record
        count = r.contact_count
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
        wheel, feature = self.query.key(self.near[r.blocked])
        joints = self.query.machine.system.model.joints
        names = ", ".join(repr(joints[k].name) for k in self.query.machine.held) or "couplings"
        raise ContactSetError(
            f"at {self.t:.9g} s: the prescribed motion of {names} pushes {wheel!r} into {feature!r}, and "
            "nothing can give way. Let the joint follow a torque or a servo instead of a motion, or change "
            "its motion."
        )

    # --- results

    def loaded(self) -> list[Closed]:
        """Return the contacts that carry a load, with their statuses and friction."""
        r = self.record
        closed = []
        for i, k in enumerate(r.loaded[: r.loaded_count].tolist()):
            status = Status.ROLLING if r.settled_status[i] == Status.ROLLING else Status.SLIDING
            if r.tyred[k]:
                status = Status(r.closed_status[k])
            closed.append((self.near[k], status, float(r.mu[k])))
        return closed

    def made(self) -> TimeStepped:
        """Return how the steps were made: why, their length and quality."""
        r = self.record
        contact = self.contact
        chosen = contact.solver == "auto" and contact.impact_name != "moreau"
        return TimeStepped(
            reason=self.reason,
            step=self._largest_step,
            first_step=self._first_step,
            residual=r.residual,
            penetration=r.penetration,
            work=r.work,
            projection_work=r.projection_work,
            energy_drift=self.query.energy(self.t, self.y) - self._energy - r.supplied,
            unsolved=r.unsolved,
            replaced_impact=str(contact.impact_name) if chosen and r.restitution > 0.0 else "",
        )

    def arc(self, until: float = math.inf) -> SteppedArc:
        """Return the samples, or without any the last step, as an arc that ends at the present time, or at
        a time within the last step.

        Accelerations and forces of a sample are means over the interval since the sample before: their sum
        over time is the impulse, whatever the spacing. The first sample has those of the first interval.
        """
        samples = self.samples
        record = self.record
        query = self.query
        count = samples.count
        times, states, sums, energies = (
            getattr(samples, name)[:count] for name in ("times", "states", "totals", "energies")
        )
        if not math.isfinite(samples.dt):
            state = record.before if samples.begin < self.t else self.y
            last_step = (samples.begin, state, samples.before, record.tyre_energy)
            times, states, sums, energies = (np.array([start]) for start in last_step)
        end = min(until, self.t)
        times = times.copy()
        if 0.0 < end - times[-1] < SAME_SAMPLE * self.h:
            times[-1] = end  # a mean over the rounding error of a time is not a force
        if end > times[-1] or len(times) == 1:
            times = np.append(times, max(end, times[0]))
            ratio = 1.0 if end >= self.t else (end - times[0]) / (self.t - times[0])
            total = sums[-1] + ratio * (samples.sums - sums[-1])
            states, sums, energies = (
                np.concatenate([values, [last]])
                for values, last in (
                    (states, self.state_at(end)),
                    (sums, total),
                    (energies, record.tyre_energy),
                )
            )
        spans = np.diff(times)
        spans = np.where(spans > 0.0, spans, np.inf)  # an instant has no means
        rows = record.rows
        wheels = len(query.machine.wheels)
        means = []
        for values in (states[:, query.y.v], sums):
            mean = np.diff(values, axis=0) / spans[:, None]
            means.append(np.concatenate([mean[:1], mean]))
        rates, forces = means
        parts = wheels + query.machine.joints
        local, world, equality, power = self.split_sums(forces, parts, rows)
        return SteppedArc(
            query.machine, times, states.copy(), query.inputs, query.terrain, rates,
            local[:, :wheels], world[:, :wheels], equality[:, :rows],
            world[:, wheels:, 0] if query.stops else None,
            np.stack([power, energies], axis=-1)[:, :wheels],
            self.made(),
        )  # fmt: skip
