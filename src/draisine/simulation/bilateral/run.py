"""Runs with ideal (bilateral) contacts on the level plane, in one contact mode without events.

Closed contacts are constraints for any sign of their force; they neither lift off, nor slide, nor collide.
The motion is integrated in minimal coordinates, the independent speeds u of the closed form
(`system.closed_form`), in one native call per interval between jumps of the inputs. `validity` reports when a
real contact would have lifted off. Runs on a terrain have unilateral contacts (`simulation.contact`).

The native integration is interrupted for two reasons only:

* The pivots (the speeds by which the constraint rows are solved) degenerate. `change_pivots` chooses others.
* The shape (the joint coordinates) becomes singular, for example that of a snake with all joints straight. If
  the speeds have a limit there, one step of Gauss collocation passes the shape (`singular`).
"""

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import (
    ConfigurationError,
    RedundancyError,
    SimulationError,
    SingularityError,
)
from draisine.mechanics.readings import law_states
from draisine.simulation.bilateral.singular import (
    SINGULAR_STEP_LENGTH,
    SingularShape,
    find_singular_shape,
    prescribed_shape,
    take_gauss_step,
)
from draisine.simulation.integrators import (
    DEGENERATE_PIVOT,
    DENSE_NODE_POSITIONS,
    ENDLESS,
    ENDLESS_REASON,
    ENDLESS_REMEDY,
    FELL_FLAT,
    INTERRUPTED,
    MACHINE_FELL,
    REACHED_END,
    STEP_BELOW_LIMIT,
    STEPS_PER_NATIVE_CALL,
    VALUE_NOT_FINITE,
    Problem,
    PythonRate,
    Span,
)
from draisine.simulation.options import Task
from draisine.simulation.trajectory import BilateralArc, DenseOutput, Trajectory
from draisine.simulation.validity.fall import fall_rule
from draisine.system.closed_form import REUSED_PIVOT_RATIO, ClosedForm
from draisine.system.state import State
from draisine.system.tracing import UntraceableLawError

NodeStates = tuple[Floats, Floats]
"""Times (steps, nodes) and states (steps, nodes, n) at the nodes of the dense output."""

STOP_REASONS = {
    VALUE_NOT_FINITE: "a value is no longer a number",
    DEGENERATE_PIVOT: "the configuration is degenerate: the constraints lose rank",
    STEP_BELOW_LIMIT: "no step is small enough for the tolerances",
    FELL_FLAT: "a wheel fell flat",
    INTERRUPTED: "interrupted",
    ENDLESS: ENDLESS_REASON,
}
"""Reason in the outcome of a run, by status of the integrator."""

STOP_HINTS = {
    STOP_REASONS[VALUE_NOT_FINITE]: " Smaller steps may help.",
    ENDLESS_REASON: f" {ENDLESS_REMEDY}",
    STOP_REASONS[
        FELL_FLAT
    ]: " (Or it turned by over 90 degrees in one step, which was too long then.)",
}
"""Further sentence of the error message, by reason."""

MIN_SINGULAR_VALUE = 1e-4
"""Smallest singular value of constraint rows of full rank, scaled to unit length (dimensionless).

Rows with degenerate pivots have much smaller singular values.
"""

CLOSED_GAP = 1e-6
"""Largest initial gap (m) of a closed contact.

A larger gap raises an error; otherwise the projection onto the constraints would move the vehicle to the
ground.
"""

ENTRY_TOLERANCE = 1e-6
"""Largest allowed violation of the constraints (m, m/s or rad) at a change of pivots.

The drift of sufficiently short integration steps is smaller.
"""

SINGULAR_INSTANT = 1e-6
"""Smallest time (s) between a singular shape and a sample.

A sample that is closer is moved to this time after the singular shape, where the speeds are defined.
"""

PYTHON_LAW_CHUNK = 50
"""Ratio of the evaluation times of a control law in Python and in compiled code.

With a law in Python, the number of steps per native call is divided by this ratio, so that native calls take
similar times and a run can be interrupted.
"""

_PROBLEMS: WeakKeyDictionary[ClosedForm, tuple[tuple[bool, bytes, bytes], Problem]] = (
    WeakKeyDictionary()
)
"""Cache: the latest initial value problem of each compiled model, with its settings as key.

The next run with the same settings reuses the workspaces of the problem.
"""


def run_bilateral(task: Task) -> Trajectory:
    """Simulate a task with ideal contacts in one contact mode, and return the trajectory."""
    start = task.numerics.start
    until = task.until
    run = BilateralRun(task)
    reason = None
    outcome = "completed"

    def report(t: float) -> None:
        if task.progress is not None:
            task.progress((t - start) / (until - start))

    try:
        for t0, t1 in pairwise(task.edges):
            status = run.integrate(t0, t1, report)
            if status == MACHINE_FELL:
                outcome = run.fall.outcome(run.pose())
                break
            if status != REACHED_END:
                reason = run.find_cause(status) or STOP_REASONS[status]
                break
            report(t1)
    except KeyboardInterrupt:
        reason = "interrupted"
    except (RedundancyError, SingularityError) as error:
        reason = str(error).removesuffix(".")
    if reason is None:
        return run.trajectory(outcome)
    place = f"after {run.last:.6g} s of {until:.6g} s"
    text = f"interrupted {place}" if reason == "interrupted" else f"stopped {place}: {reason}"
    raise SimulationError(
        f"the run was {text}.{STOP_HINTS.get(reason, '')} The part before is in the error's `partial`.",
        run.trajectory(reason),
    ) from run.law_error


class _Part(NamedTuple):
    """Samples and dense output of the part of a run between two changes of pivots."""

    machine: ClosedForm
    times: list[Floats]  # (k) sample times of each call, s
    samples: list[Floats]  # (k, n) states y at the sample times of each call
    nodes: list[NodeStates]  # dense output of each call


class BilateralRun:
    """A run with ideal contacts: compiled model with its present pivots, present state y, and samples."""

    def __init__(self, task: Task) -> None:
        system = task.system
        law = task.law
        drift = task.numerics.drift
        self.task = task
        self.system = system
        self.law = law
        self.numerics = task.numerics
        self.states = law_states(law)
        self.projects = drift == "project"
        self.fall = fall_rule(system.model, task.contact.fall)
        self.inputs = system.inputs(task.inputs)
        self.python_law: PythonRate | None = None
        self.ahead: SingularShape | None = None
        correction = None if isinstance(drift, str) else float(drift)
        try:
            self.machine = system.machine(task.mode, law, self.states, correction)
            self.machine.rate  # noqa: B018 - traces the law
        except UntraceableLawError as error:
            warnings.warn(
                f"the control law cannot be compiled ({error.reason}); it runs in Python, slowly. "
                "Functions of draisine.algebra.scalar (where, clip, sin, ...) can be.",
                stacklevel=4,
            )
            self.machine = system.machine(task.mode, None, self.states, correction)
            self.python_law = PythonRate(law, self.states)
        compiled_law = None if self.python_law else law
        self.derivation = (task.mode, compiled_law, self.states, correction)
        self._begin()

    def _begin(self) -> None:
        """Set the present state to the initial state, and check the constraints."""
        t = self.task.numerics.start
        state = self.task.state
        pinned = find_pin_anchors(self.machine, state, t)
        z = self.task.law_start(self.states)
        gap = CLOSED_GAP if self.projects else np.inf
        y = self.machine.enter(state, t, z, anchors=pinned, gap=gap)
        # Compute all new values before replacing any: an error then leaves the run unchanged.
        self.anchors = pinned
        self.y = y
        self.last = t
        self.parts = [_Part(self.machine, [np.array([t])], [y[None, :]], [])]
        self._make_problem()

    def _begin_with_other_pivots(self) -> bool:
        """Begin again with other pivots if a pivot vanishes at the start; return whether this was necessary.

        If the constraint rows have no valid pivots, the raised error names the rows.
        """
        if self.machine.least_pivot(self.y, self.last) > 0.0:
            return False
        parts = self.machine.layout.split(self.y)
        self.machine = self.system.machine(*self.derivation, (parts["q"], parts["r"]))
        self._begin()
        return True

    def _make_problem(self) -> None:
        """Make the initial value problem of the integrator, or reuse the cached one."""
        machine = self.machine
        rate = machine.rate
        tail = np.concatenate([self.inputs, self.anchors])
        watch = self.fall.watch(machine.frame[0])
        key = (self.projects, tail.tobytes(), watch.tobytes())
        known_key, known = _PROBLEMS.get(machine, (None, None))
        if self.python_law is None and known is not None and known_key == key:
            self.problem = known
            return
        self.problem = Problem(
            rate.address if self.python_law is None else self.python_law.bind(machine),
            rate.table,
            rate.outputs.size,
            tail,
            machine.floors,
            machine.project if self.projects else None,
            pose=machine.layout.r.stop,
            chunk=STEPS_PER_NATIVE_CALL
            if self.python_law is None
            else STEPS_PER_NATIVE_CALL // PYTHON_LAW_CHUNK,
            keep=(rate, self.python_law),
            watch=watch,
        )
        if self.python_law is None:
            _PROBLEMS[machine] = (key, self.problem)

    def integrate(self, t0: float, t1: float, report: Callable[[float], None]) -> int:
        """Integrate from t0 to t1 (s), and change the pivots if they degenerate.

        `report` receives the present time (s). Return the status of the integrator.
        """
        numerics = self.numerics
        method = numerics.method
        start = numerics.start
        t = t0
        is_stalled = False
        while True:
            end = t1 if self.ahead is None else min(t1, self.ahead.t - SINGULAR_STEP_LENGTH / 2)
            if end <= t:
                t = self._pass_singular_shape(t, t1)
                if t >= t1:
                    return REACHED_END
                continue
            grid = np.array([end])
            if method.ADAPTIVE:
                grid = _sample_times(start, t, end, numerics.dt)
            span = Span(
                t, end, numerics.dt, grid, numerics.rtol, numerics.atol, self.parts[-1].nodes
            )
            times, samples, status = method.advance(self.problem, self.y, span, report)
            if status == VALUE_NOT_FINITE:
                finite = np.isfinite(samples).all(axis=1)
                times = times[finite]
                samples = samples[finite]
                at_start = t == start and not np.any(times > t)
                if at_start and self._begin_with_other_pivots():
                    continue
            # An adaptive method that stops between two samples returns its last state as an extra sample,
            # from which the integration continues.
            is_short = end < t1 if status == REACHED_END else not np.isin(times[-1:], grid).all()
            self._append(times, samples, method.ADAPTIVE and is_short and status != MACHINE_FELL)
            has_moved = len(times) > 0 and times[-1] > t
            at_end = has_moved and times[-1] >= t1 - 1e-12 * max(1.0, abs(t1))
            if status == DEGENERATE_PIVOT and at_end:
                return REACHED_END  # the next interval chooses other pivots
            if status == REACHED_END and end < t1:
                t = end
                continue
            if status != DEGENERATE_PIVOT or (is_stalled and not has_moved):
                return int(status)
            t = float(times[-1]) if has_moved else t
            is_stalled = not has_moved
            if self.ahead is None and self.python_law is None:
                self.ahead = find_singular_shape(self.machine, t)
                if self.ahead is not None and not self.ahead.removable:
                    return DEGENERATE_PIVOT
            self.change_pivots(t)

    def _pass_singular_shape(self, t: float, t1: float) -> float:
        """Take one step from time t (s) through a singular shape; return the end time (s), at most t1."""
        assert self.ahead is not None
        instant = self.ahead.t
        far = instant + max(instant - t, SINGULAR_STEP_LENGTH / 4)
        self.change_pivots(t, prescribed_shape(self.system.model, instant - (instant - t) / 8))
        y = take_gauss_step(self.machine, self.y, (t, far), self.inputs, self.anchors)
        grid = _sample_times(self.numerics.start, t, min(far, t1), self.numerics.dt)
        times = np.where(
            np.abs(grid - instant) < SINGULAR_INSTANT, instant + SINGULAR_INSTANT, grid
        )
        self._append(times, np.array([y(time) for time in times]), far < t1)
        for begin, end in (
            (t, instant - SINGULAR_INSTANT),
            (instant + SINGULAR_INSTANT, min(far, t1)),
        ):
            if end > begin:
                nodes = begin + DENSE_NODE_POSITIONS * (end - begin)
                self.parts[-1].nodes.append((nodes[None], np.array([[y(x) for x in nodes]])))
        if far < t1:
            self.ahead = None
            self.change_pivots(far)
        return min(far, t1)

    def _append(self, times: Floats, samples: Floats, has_extra: bool) -> None:
        """Store times (s) and samples (times, n) of an integrator call.

        If `has_extra`, the last sample is not stored: it is only the initial state of the next call.
        """
        part = self.parts[-1]
        count = len(times) - has_extra
        if count > 1 and times[count - 1] <= times[count - 2]:  # stopped exactly at a sample time
            count -= 1
        first = int(count > 0 and times[0] <= self.last)
        if first and len(part.times) == 1 and len(part.times[0]) == 1:
            # The new samples begin with the initial sample, the only one stored so far.
            part.times.clear()
            part.samples.clear()
            first = 0
        part.times.append(times[first:count])
        part.samples.append(samples[first:count])
        if len(samples):
            self.y = samples[-1]
            self.last = float(times[-1])

    def change_pivots(self, t: float, shape: Floats | None = None) -> None:
        """Choose other pivots and independent speeds at the present state at time t (s).

        Earlier pivots of this run are reused if they are large enough at the present state. Otherwise the
        largest pivots are chosen, at the present state or at the joint coordinates `shape`.
        """
        values = self.machine.layout.split(self.y)
        q = values["q"]
        r = values["r"]
        z = values["z"]
        state = self.machine.leave(self.y, t)
        earlier = dict.fromkeys(part.machine for part in self.parts) if shape is None else ()
        try:
            for machine in earlier:
                y = machine.enter(state, t, z, tolerance=ENTRY_TOLERANCE)
                if machine.least_pivot(y, t) > REUSED_PIVOT_RATIO:
                    break
            else:
                machine = self.system.machine(*self.derivation, (q, r if shape is None else shape))
                y = machine.enter(state, t, z, tolerance=ENTRY_TOLERANCE)
        except ConfigurationError as error:
            # The initial state satisfied the constraints, so the integration steps were too long.
            hint = (
                "" if self.projects else ", or drift='project', which closes contacts at each step"
            )
            raise SingularityError(
                f"closed contacts and prescribed joints have drifted apart; take smaller steps{hint}."
            ) from error
        self.machine = machine
        self.y = y
        self.parts.append(_Part(machine, [], [], []))
        self._make_problem()

    @property
    def law_error(self) -> BaseException | None:
        """The exception that a control law in Python raised, or None."""
        return None if self.python_law is None else self.python_law.error

    def find_cause(self, status: int) -> str | None:
        """Return why a run stopped, if a law in Python, a singular shape or the tyre loads are the cause.

        Return None for other causes. `status` is the status of the integrator.
        """
        if self.ahead is not None and not self.ahead.removable:
            return str(self.ahead)
        if isinstance(self.law_error, KeyboardInterrupt):
            return "interrupted"
        if self.law_error:
            return f"the control law failed, {type(self.law_error).__name__}: {self.law_error}"
        if status == DEGENERATE_PIVOT:
            return find_load_failure(self.machine, self.y, self.last, self.inputs)
        return None

    def trajectory(self, outcome: str) -> Trajectory:
        """Return the trajectory up to the present state."""
        numerics = self.numerics
        arcs = []
        for part in self.parts:
            if any(map(len, part.times)) or part.nodes:
                t = _concatenate(part.times, 1)
                y = _concatenate(part.samples, len(self.y))
                dense = self._dense_output(part) if part.nodes else None
                inputs = self._inputs_at(part.machine, t, y)
                arcs.append(BilateralArc(part.machine, t, y, inputs, self.anchors, dense))
        settings = {
            "integrator": numerics.integrator,
            "dt": numerics.dt,
            "drift": str(numerics.drift),
            "rtol": numerics.rtol,
            "atol": numerics.atol,
        }
        sampled = tuple(arc for arc in arcs if len(arc.t))
        between = tuple(arc for arc in arcs if not len(arc.t))
        return Trajectory(sampled, outcome, settings, contact=self.task.contact, unsampled=between)

    def _dense_output(self, part: _Part) -> DenseOutput:
        """Return the dense output of a part of the run."""
        t = np.concatenate([times for times, _ in part.nodes])
        y = np.concatenate([states for _, states in part.nodes])
        inputs = self._inputs_at(part.machine, t.ravel(), y.reshape(-1, y.shape[2]))
        return DenseOutput(t, y, inputs.T)

    def _inputs_at(self, machine: ClosedForm, t: Floats, y: Floats) -> Floats:
        """Return the inputs (samples, inputs) at the sample times t (s) and states y."""
        inputs = np.empty((len(t), len(self.inputs)))
        inputs[:] = self.inputs
        if self.python_law is not None:
            for k in range(len(t)):
                inputs[k] += self.python_law.inputs(machine, t[k], y[k])
        return inputs

    def pose(self) -> Floats:
        """Return the orientation quaternion (4,) of the user's base frame at the present state."""
        layout = self.machine.layout
        return self.machine.user_pose(self.y[layout.q], self.y[layout.p])[0]


def find_load_failure(machine: ClosedForm, y: Floats, t: float, inputs: Floats) -> str | None:
    """Return why the tyre loads have no solution at state y and time t (s); None if they have one.

    Tyre forces and wheel loads are solved together. A run therefore also stops if these equations degenerate,
    although the constraint rows keep their rank.
    """
    model = machine.system.model
    tyred = [
        k
        for k, (contact, (_, status)) in enumerate(zip(model.contacts, machine.mode, strict=True))
        if status == "tyre" and "normal" in contact.rows[status]
    ]
    if not tyred or _loses_rank(machine, y, t):
        return None
    loads = machine.observation(y, t, inputs)["forces"][::3]
    lowest = min(tyred, key=lambda k: loads[k])
    name = model.contacts[lowest].name
    if loads[lowest] < 0.0:
        return (
            f"the load of the tyre {name!r} is {loads[lowest]:.4g} N, negative: the ground would have to "
            "pull it. In a run on a terrain (terrain=plane() for level ground) the wheel lifts off"
        )
    names = ", ".join(repr(model.contacts[k].name) for k in tyred)
    return (
        f"the loads of the tyres {names} have no solution: side forces in proportion to the loads raise "
        "them without bound (Painlevé paradox), or a load nearly vanishes. Less grip of the tyres may "
        "solve it"
    )


def _loses_rank(machine: ClosedForm, y: Floats, t: float) -> bool:
    """Return whether the constraint rows of a compiled model nearly lose rank at state y and time t (s)."""
    values = machine.layout.split(y)
    rows = machine.rows(t=[t], q=values["q"], p=values["p"], r=values["r"])["C"]
    C = rows.reshape(-1, 6 + len(machine.system.model.joints))
    unit_rows = C / np.linalg.norm(C, axis=1)[:, None]
    return bool(np.linalg.svd(unit_rows, compute_uv=False)[-1] < MIN_SINGULAR_VALUE)


def _concatenate(parts: list[Floats], width: int) -> Floats:
    """Return the concatenation of arrays; without arrays, an empty array with `width` columns.

    A single array is returned without a copy.
    """
    if not parts:
        return np.zeros((0, width) if width > 1 else 0)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _sample_times(start: float, t0: float, t1: float, dt: float) -> Floats:
    """Return the sample times (s) of the interval from t0 to t1: both ends, and the times `start` + k dt."""
    # Times within rounding of a multiple of dt count as multiples.
    first = math.floor((t0 - start) / dt + 1e-9)
    last = max(first + 1, math.ceil((t1 - start) / dt - 1e-9))
    grid = start + dt * np.arange(first, last + 1)
    grid[0] = t0
    grid[-1] = t1
    return grid


def find_pin_anchors(machine: ClosedForm, state: State, t: float) -> Floats:
    """Return the anchor points (3 pins,), m, of all pins: their contact points at the initial `state`."""
    model = machine.system.model
    pins = [k for k, contact in enumerate(model.contacts) if contact.anchored]
    if not pins:
        return np.zeros(0)
    points = machine.observation(machine.enter(state, t), t)["points"].reshape(-1, 3)
    return points[pins].ravel()
