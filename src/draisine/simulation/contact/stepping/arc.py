"""Trajectory arcs computed by time stepping: records, samples and mean contact forces.

The steps are those of `step` (Moreau and Jean's scheme); the routine `loop.advance_steps` takes them.
"""

import math
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import Packed, make_record, routine_code
from draisine.errors import ContactSetError, SimulationError
from draisine.mechanics.applied import limited_joints
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.complementarity.impulses import make_impulse_problem
from draisine.simulation.contact.event_driven.rank import make_rank_work
from draisine.simulation.contact.kernels import make_mode
from draisine.simulation.contact.nearby.contacts import Nearby, enlarge
from draisine.simulation.contact.nearby.search import SearchResult
from draisine.simulation.contact.query import Closed, ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.grid import (
    ADAPT_STEPS,
    StepGrid,
    StepSamples,
    choose_first_step,
    interpolate_state,
)
from draisine.simulation.contact.stepping.loop import (
    StepLoop,
    advance_steps,
    begin_steps,
    change_step_inputs,
)
from draisine.simulation.contact.stepping.method_change import (
    leave_events,
    leave_steps,
    return_to_steps,
)
from draisine.simulation.contact.stepping.motors import Motors
from draisine.simulation.contact.stepping.search import search_for_steps
from draisine.simulation.contact.stepping.step import (
    INFEASIBLE_APPROACH,
    StepResult,
    TimeStepping,
    group_speeds,
)
from draisine.simulation.contact.stepping.switch import (
    RANK_SETS,
    STORED_EVENTS,
    SolverChoice,
    Switch,
    begin_switch,
    find_obstruction,
    remember_events,
    watch_rank,
)
from draisine.simulation.options import SOLVERS, ContactOptions
from draisine.simulation.validity.fall import describe_fall, fall_rule
from draisine.simulation.validity.record import TimeStepped

REST_SPEED_RATIO = 0.03
"""Approach velocity below which contacts do not rebound, as a fraction of sqrt(g * wheel size)."""
TYRE_FLIGHT_RATIO = 0.1
"""Longest flight of a wheel after which its tyre keeps its deflection, as a fraction of sqrt(wheel size / g):
a tenth of the period of a tyre that deflects by 2 %.
"""
SAME_SAMPLE_RATIO = 1e-9
"""Time difference, as a fraction of a regular step, below which two samples count as one sample."""
INITIAL_CONTACTS = 8
"""Number of contacts per step for which records are allocated first; it is doubled when needed."""
MAX_STEPS_PER_CALL = 200
"""Largest number of time steps in one native call; a run can be interrupted between calls."""
REACH_SLACK_RATIO = 0.25
"""Distance of a wheel centre from the sides of the box around it, as a fraction of the wheel size, when the
contacts within reach of the box are listed. The list is valid until the centre leaves the box, for at least
25 steps.
"""


@cache
def step_code() -> Any:
    """Return the compiled time-stepping routines that Python calls, as attributes of one object."""
    entries = (
        begin_steps,
        advance_steps,
        change_step_inputs,
        interpolate_state,
        search_for_steps,
    )
    codes = routine_code(*entries, passes="few")
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, codes, strict=True)}
    )


@cache
def switch_code() -> Any:
    """Return the compiled routines for changing the method, as attributes of one object."""
    entries = (
        begin_switch,
        remember_events,
        watch_rank,
        find_obstruction,
        choose_first_step,
        leave_events,
        leave_steps,
        return_to_steps,
    )
    codes = routine_code(*entries, passes="few")
    return SimpleNamespace(
        **{entry.__name__: code for entry, code in zip(entries, codes, strict=True)}
    )


def tyre_flight(query: ContactQuery) -> float:
    """Return the longest flight (s) after which a tyre keeps its deflection."""
    return TYRE_FLIGHT_RATIO * min(query.time_unit, 1.0)


def make_step_grid(query: ContactQuery, contact: ContactOptions) -> StepGrid:
    """Return the grid for the time steps of a system; `begin_grid` sets its start and its spacing."""
    grid: StepGrid = make_record(
        StepGrid,
        given_step=0.0 if contact.step is None else float(contact.step),
        wheel_size=query.wheel_size,
        time_unit=query.time_unit,
        later=query.y.size,
        centres=np.zeros(3 * len(query.machine.wheels) + 1),
        row=query.row.size,
        out=query.machine.motion.outputs.size,
    )
    return grid


def make_switch(query: ContactQuery, contact: ContactOptions, touching: int) -> Switch:
    """Return the data of a run for changing its method; `touching` is the largest number of contacts that
    touch at one instant.
    """
    switch: Switch = make_record(
        Switch,
        solver=SolverChoice(SOLVERS.index(contact.solver)),
        grid=make_step_grid(query, contact),
        ranks=RANK_SETS,
        recent_time=STORED_EVENTS,
        recent_kind=STORED_EVENTS,
        recent_state=(STORED_EVENTS, query.y.size),
        turn_entries=query.y.count("q"),
        position_entries=query.y.count("p"),
        **rank_arrays(query, touching),
    )
    return switch


def rank_arrays(query: ContactQuery, touching: int) -> dict[str, Any]:
    """Return the fields of `Switch` whose size depends on the number of touching contacts."""
    return {
        "rank_sets": np.zeros((RANK_SETS, 1 + 3 * touching), np.int64),
        "rank_work": make_rank_work(touching, query.n, query.row.size),
    }


def take_switch(query: ContactQuery, contact: ContactOptions, touching: int) -> Switch:
    """Return the data of a run for changing its method: those of the last run of the query if the options are
    equal, otherwise new ones, which cost more than a short step.
    """
    switch: Switch | None = query.switch
    options = (SOLVERS.index(contact.solver), contact.step or 0.0)
    if switch is None or (switch.solver, switch.grid.given_step) != options:
        query.switch = switch = make_switch(query, contact, touching)
    # The parameters of the system may have changed.
    switch.grid.assign(wheel_size=query.wheel_size, time_unit=query.time_unit)
    switch_code().begin_switch(switch)
    return switch


def reserve_ranks(switch: Switch, query: ContactQuery, touching: int) -> None:
    """Enlarge the arrays for the ranks of contact sets to a number of touching contacts."""
    if switch.rank_sets.shape[1] < 1 + 3 * touching:
        switch.assign(rank_count=0, **rank_arrays(query, touching))


def copy_switch(switch: Switch) -> Switch:
    """Return a copy of the data for changing the method; the scratch arrays are shared."""
    values = switch.values()
    own = ("ranks", "rank_sets", "recent_time", "recent_kind", "recent_state")
    copied: Switch = make_record(Switch, **values | {name: values[name].copy() for name in own})
    return copied


def make_motors(query: ContactQuery) -> Motors:
    """Return the torque limits of the motors of a system."""
    model = query.machine.system.model
    joints = limited_joints(model)
    limits = [model.joints[k].motor for k in joints]
    motors: Motors = make_record(
        Motors,
        count=len(joints),
        speed=np.array([len(model.twist) + k for k in [*joints, 0]], np.int64),
        torque=np.array([*(motor.torque for motor in limits if motor), 0.0]),
        no_load_speed=np.array([*(motor.no_load_speed for motor in limits if motor), 0.0]),
        stall_torque=np.array([*(motor.line_torque for motor in limits if motor), 0.0]),
        requested=query.machine.motion.outputs.requested.start,
        piece=len(joints) + 1,
        slope=(len(joints) + 1, query.n),
    )
    return motors


class TimeStepper:
    """Integrates a system on a terrain in time steps.

    The steps are those of the routine `advance_steps`. This class makes the records, performs the tasks for
    which the routine returns to Python, and reports the result.

    Parameters
    ----------
    query
        System and terrain.
    contact
        Friction, restitution, fall limit, step length.
    t, y
        Time (s) and state at the start.
    h
        Length of the first steps (s).
    reason
        Reason why the run uses time stepping, for its report.
    switch
        Data for changing the method; by default those of a run that never changes it.
    near
        The contacts near the wheels; by default a new table.
    sampling
        Time (s) of sample 0 and sample interval (s); by default only the last step is stored.
    """

    def __init__(
        self,
        query: ContactQuery,
        contact: ContactOptions,
        t: float,
        y: Floats,
        h: float,
        reason: str = "requested",
        switch: Switch | None = None,
        near: Nearby | None = None,
        sampling: tuple[float, float] = (0.0, math.inf),
    ) -> None:
        self.query = query
        self.contact = contact
        if switch is None:
            switch = make_switch(query, replace(contact, solver="time_stepping"), INITIAL_CONTACTS)
        self.switch = switch
        # Branches of the run share their grids until then.
        self.grid = switch.grid = make_step_grid(query, contact)
        self.taken = 0
        self.outcome = ""
        self.reason = reason
        self.is_over_constrained = False  # whether ideal contacts over-constrain the system
        self._first_step = h
        self._most = INITIAL_CONTACTS
        self.near = Nearby(query, contact) if near is None else near
        self._make_records(len(y), *sampling)
        query.fill(t, y)
        step_code().begin_steps(self.loop, t, y, h)
        self._search(has_path=False)
        self._energy = query.energy(t, y)

    @property
    def is_settled(self) -> bool:
        """Whether the same contacts have carried a load for the required number of steps."""
        return self.switch.is_settled

    @property
    def t(self) -> float:
        """The present time (s)."""
        return self.grid.time

    @property
    def h(self) -> float:
        """The present length of the steps (s)."""
        return self.grid.h

    # --- records

    def _make_records(self, entries: int, first: float, dt: float) -> None:
        """Allocate the records for states of a number of entries, and for samples at the times first + i dt
        (s).
        """
        query = self.query
        model = query.machine.system.model
        n = query.n
        rows = query.machine.motion.outputs.count("held_c")
        wheels = len(query.machine.wheels)
        parts = wheels + query.machine.joints
        fall = fall_rule(model, self.contact.fall)
        size = query.wheel_size
        rest = REST_SPEED_RATIO * math.sqrt(float(np.linalg.norm(model.gravity)) * size)
        group, acting = group_speeds(query.machine.force_dependencies)
        slides = [*(i < 3 for i in model.twist), *(joint.turn == 0.0 for joint in model.joints)]
        # The accumulated sums are views of one array, so that storing a sample copies one array.
        sums = np.zeros(7 * parts + rows + 1)
        local, world, equality_sum, tyre_work = self.split_sums(sums[None], parts, rows)
        self.samples: StepSamples = make_record(
            StepSamples,
            sums=sums,
            before=len(sums),
            first=first,
            dt=dt,
            times=1,
            states=(1, entries),
            totals=(1, len(sums)),
            energies=(1, parts),
            size=len(sums),
            capacity=1,
        )
        self.record: TimeStepping = make_record(
            TimeStepping,
            motion=query.motion,
            contacts=self.near.record.contacts,
            wheels=query.level,
            **self._contact_capacity(n, rows),
            rows=rows,
            applied=query.machine.motion.outputs.applied.start,
            lengths=np.where(slides, 1.0, size),
            groups=int(group.max()) + 1,
            group=group,
            acting=acting,
            motors=make_motors(query),
            along=query.row.along.start,
            restitution=float(dict(self.contact.restitution).get("normal", 0.0)),
            rest_speed=max(rest, float(self.contact.rest_speed)),
            lean_limit=fall.sine,
            overturns=fall.over,
            weight=query.motion.record.share * max(1, wheels),
            x=query.x,
            **dict.fromkeys(("y", "before", "middle"), entries),
            **dict.fromkeys(("after", "trend", "free"), n),
            **dict.fromkeys(("out", "shifted"), query.machine.motion.outputs.size),
            **dict.fromkeys(("mass", "damping"), (n, n)),
            equality=(rows + 1, n),
            schur=(rows + 1, rows + 1),
            multiplier=rows + 1,
            **dict.fromkeys(("closed_status", "tyred", "mu", "carried", "reach"), 1),
            warm=(1, 3),
            around=6 * wheels,
            slack=REACH_SLACK_RATIO * size,
            centre=(wheels, 3),
            box=6 * wheels,
            swept=self.near.record.boxes,
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
        self.y: Floats = self.record.y  # the present state
        self.loop = Packed(
            StepLoop(
                steps=self.record,
                samples=self.samples,
                method=self.switch,
                mode=self._make_mode(),
                near=self.near.record,
                ground=self.near.ground,
            )
        )

    def _make_mode(self) -> Any:
        """Return a contact mode for the contacts of a step, and adapt the size of `switch` to it."""
        query = self.query
        reserve_ranks(self.switch, query, self._most)
        forms = query.table.pairs.forms
        contacts = self.near.record.contacts
        return make_mode(query.machine, query.motion, contacts, self._most, query.x, forms)

    def _contact_capacity(self, n: int, rows: int) -> dict[str, Any]:
        """Return the fields of the record whose size depends on the number of contacts of a step; n is the
        number of speeds.
        """
        most = self._most
        names = ("which", "status", "loaded", "settled_status", "warmed", "kept_loaded")
        sizes = dict.fromkeys(names, most + 1)
        capacity: dict[str, Any] = {name: np.zeros(size, np.int64) for name, size in sizes.items()}
        capacity |= {
            "response": np.zeros((3 * most, n)),
            "reaction": np.zeros((3 * most, rows + 1)),
        }
        capacity["seen"] = np.zeros((most + 2, self.query.row.size))
        return capacity | {"most": most, "problem": make_impulse_problem(most)}

    @staticmethod
    def split_sums(sums: Floats, parts: int, rows: int) -> list[Floats]:
        """Return the parts of the sums (times, k): contact impulses per wheel and joint in contact axes and
        in world axes, impulses of the equality constraints, work of the tyres.
        """
        ends = np.cumsum([3 * parts, 3 * parts, rows + 1])
        local, world, equality, work = np.split(sums, ends, axis=1)
        shape = (len(sums), parts, 3)
        return [local.reshape(shape), world.reshape(shape), equality, work]

    def _search(self, has_path: bool = True) -> None:
        """Find the contacts that are possible near the present state, and write them into the record. With
        `has_path` the boxes of the record enclose a step.
        """
        near = self.near
        record = self.record

        def find() -> SearchResult:
            size = near.record.capacity + 1
            if size > len(record.mu):
                names = ("closed_status", "tyred", "mu", "carried", "reach", "warm")
                record.assign(**{name: enlarge(getattr(record, name), size) for name in names})
            search = step_code().search_for_steps
            result: SearchResult = search(near.record, near.ground, record, has_path)
            return result

        near.search(self.t, record.box, find)

    def _grow(self) -> None:
        """Double the number of contacts per step that the records can store."""
        self.reserve(2 * self._most)
        self.record.assign(loaded_count=0, settled=0)
        self.loop.replace(mode=self._make_mode())

    def reserve(self, most: int) -> None:
        """Make capacity for `most` contacts per step."""
        self._most = most
        self.record.assign(**self._contact_capacity(self.query.n, self.record.rows))

    # --- steps

    def steps_until(self, t: float) -> int:
        """Return the number of steps of the present length that reach time t (s); at least one."""
        # A step that ends within rounding of time t counts as reaching it.
        steps = (t - self.grid.start) / self.h * (1.0 - 1e-14) - 1e-9
        return max(1, math.ceil(steps) - self.grid.index)

    def state_at(self, t: float) -> Floats:
        """Return the state at a time t (s) within the last step, by interpolation."""
        state = self.y.copy()
        if t < self.t:
            ratio = 1.0 - (self.t - t) / self.grid.span
            step_code().interpolate_state(self.record, ratio, state)
        return state

    def restart(self, t: float, y: Floats) -> None:
        """Continue from a state y at a time t (s) within the last step, with the present inputs of the
        system.
        """
        self.query.fill(t, y)
        step_code().change_step_inputs(self.loop, t, y)

    def advance(self, count: int, until: float) -> None:
        """Take `count` steps, or fewer if time `until` is reached, the system falls or its contacts are
        settled.

        The last step before `until` (s) may be shorter than the others. After a fall `outcome` describes it.

        Raises
        ------
        ContactSetError
            If a prescribed motion pushes a contact into the ground.
        SimulationError
            If a value is not finite, the mass matrix is singular, or a wheel is too fast.
        """
        last = self.taken + count
        goes_on = True
        while goes_on and self.taken < last and self.t < until:
            most = min(last - self.taken, MAX_STEPS_PER_CALL)
            result = step_code().advance_steps(self.loop, until, most)
            self.taken += self.record.steps
            self.near.read_table()
            goes_on = self._resolve(result)

    def _resolve(self, result: StepResult) -> bool:
        """Perform the task for which the routine returned; return whether the steps go on."""
        match result:
            case StepResult.LEFT_SURROUNDINGS:
                # Moving ground may come near before a wheel leaves.
                near = self.near.record
                self._search(has_path=self.t + self.h <= near.until)
                # A search is valid for at least one step, however fast the ground moves.
                near.until = max(near.until, self.t + self.h)
            case StepResult.TOO_MANY_CONTACTS:
                self._grow()
            case StepResult.SAMPLES_FULL:
                added = ADAPT_STEPS * (2 + int(1.1 * self.h / self.samples.dt))
                self.reserve_samples(2 * (self.samples.capacity + added))
            case StepResult.INFEASIBLE:
                self._check_feasible()
            case StepResult.NOT_FINITE:
                raise SimulationError(
                    f"the run stopped at {self.t:.9g} s: time steps of {self.grid.span:.3g} s produced a "
                    "value that is not finite. Smaller steps, ContactOptions(step=...), may solve it."
                )
            case StepResult.SINGULAR_MASS:
                raise SimulationError(
                    f"the run stopped at {self.t:.9g} s: the mass matrix is singular."
                )
            case StepResult.TOO_FAST:
                self._refuse_speed()
            case StepResult.FALLEN:
                self.outcome = describe_fall(math.asin(min(1.0, self.record.lean_limit)))
            case StepResult.TURNED_OVER:
                self.outcome = describe_fall(None)
        self.is_over_constrained = result is StepResult.OVER_CONSTRAINED
        ends = (StepResult.SETTLED, StepResult.OVER_CONSTRAINED)
        return not self.outcome and result not in ends

    def reserve_samples(self, capacity: int) -> None:
        """Make capacity for a number of samples."""
        samples = self.samples
        names = ("times", "states", "totals", "energies")
        samples.assign(**{name: enlarge(getattr(samples, name), capacity) for name in names})
        samples.capacity = capacity

    def _refuse_speed(self) -> None:
        """Raise SimulationError because a wheel moves by more than its size in the shortest step, so that
        contacts are missed.
        """
        ends = [self.query.centres(self.t, y).copy() for y in (self.record.before, self.y)]
        moved = np.linalg.norm(ends[1] - ends[0], axis=1)
        w = int(moved.argmax())
        raise SimulationError(
            f"the run stopped at {self.t:.9g} s: {self.query.machine.wheels[w].name!r} moves at "
            f"{moved[w] / self.grid.span:.3g} m/s, further than its size in the shortest time step. A force "
            "acts on a body that is almost massless; give it mass, or limit the force."
        )

    def _check_feasible(self) -> None:
        """Raise ContactSetError if no velocity satisfies all prescribed motions without pushing a contact
        into the ground; otherwise accept the next step unconditionally.
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
        """Return the contacts that carry a load, with their statuses and friction coefficients."""
        r = self.record
        closed = []
        for i, k in enumerate(r.loaded[: r.loaded_count].tolist()):
            status = Status.ROLLING if r.settled_status[i] == Status.ROLLING else Status.SLIDING
            if r.tyred[k]:
                status = Status(r.closed_status[k])
            closed.append((self.near[k], status, float(r.mu[k])))
        return closed

    def made(self) -> TimeStepped:
        """Return the report of the time steps: reason, step lengths and residuals."""
        r = self.record
        contact = self.contact
        chosen = contact.solver == "auto" and contact.impact_name != "moreau"
        return TimeStepped(
            reason=self.reason,
            step=self.grid.largest,
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
        """Return the stored samples as a trajectory arc that ends at the present time or at time `until` (s)
        within the last step. Without samples, the trajectory arc is the last step.

        Accelerations and forces of a sample are mean values since the previous sample, so that their sum over
        time is the impulse for any sample interval. The first sample has the values of the first interval.
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
        if 0.0 < end - times[-1] < SAME_SAMPLE_RATIO * self.h:
            times[-1] = end  # otherwise forces would be means over a rounding error
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
        spans = np.where(spans > 0.0, spans, np.inf)  # zero forces for intervals of zero length
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
