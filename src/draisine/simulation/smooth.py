"""Runs: from a state through smooth stretches, each in one native call."""

import math
import warnings
from collections.abc import Callable
from itertools import pairwise
from weakref import WeakKeyDictionary

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import RedundancyError, SimulationError, SingularityError
from draisine.mechanics.readings import law_states
from draisine.simulation.integrators import (
    CHUNK,
    DEGENERATE,
    DONE,
    ENDLESS,
    FELL,
    FLAT,
    INTERRUPTED,
    NO_END,
    NOT_FINITE,
    PLACES,
    SMOOTHER,
    TOO_SMALL,
    Problem,
    Span,
)
from draisine.simulation.options import Task
from draisine.simulation.python_law import PythonRate
from draisine.simulation.singular import (
    WIDTH,
    SingularShape,
    find_singular_shape,
    gauss_step,
    shape_at,
)
from draisine.simulation.trajectory import DenseOutput, SmoothArc, Trajectory
from draisine.simulation.validity.fall import fall_rule
from draisine.system.closed_form import PIVOT_FIRM, ClosedForm
from draisine.system.state import State
from draisine.system.tracing import UntraceableLawError

NodeStates = tuple[Floats, Floats]
"""Times (steps, nodes) and states (steps, nodes, n) at the nodes of steps."""

REASONS = {
    NOT_FINITE: "a value is no longer a number",
    DEGENERATE: "the configuration is degenerate: the constraints lose rank",
    TOO_SMALL: "no step is small enough for the tolerances",
    FLAT: "a wheel fell flat",
    INTERRUPTED: "interrupted",
    ENDLESS: NO_END,
}
HINTS = {
    REASONS[NOT_FINITE]: " Smaller steps may help.",
    NO_END: f" {SMOOTHER}",
    REASONS[FLAT]: " (Or it turned by over 90 degrees in one step, which was too long then.)",
}

FULL_RANK = 1e-4
"""Smallest singular value of rows of unit length; rows that make pivots degenerate are far below it."""

_POSED: WeakKeyDictionary[ClosedForm, tuple[tuple[bool, bytes, bytes], Problem]] = (
    WeakKeyDictionary()
)
"""The last problem of each machine, with its workspaces."""


def run_smooth(task: Task) -> Trajectory:
    """Return the motion in one mode, whose contacts hold whatever the force."""
    until, start = task.until, task.numerics.start
    run = SmoothRun(task)
    reason, outcome = None, "completed"

    def tick(t: float) -> None:
        if task.progress is not None:
            task.progress((t - start) / (until - start))

    try:
        for t0, t1 in pairwise(task.edges):
            status = run.go(t0, t1, tick)
            if status == FELL:
                outcome = run.fall.outcome(run.pose())
                break
            if status != DONE:
                reason = run.failure(status) or REASONS[status]
                break
            tick(t1)
    except KeyboardInterrupt:
        reason = "interrupted"
    except (RedundancyError, SingularityError) as error:
        reason = str(error).removesuffix(".")
    if reason is None:
        return run.trajectory(outcome)
    told = f"after {run.last:.6g} s of {until:.6g} s"
    told = f"interrupted {told}" if reason == "interrupted" else f"stopped {told}: {reason}"
    raise SimulationError(
        f"the run was {told}.{HINTS.get(reason, '')} The part before is in the error's `partial`.",
        run.trajectory(reason),
    ) from run.cause


class SmoothRun:
    """A run under way: the machine in its present chart, the present y, and the samples so far."""

    def __init__(self, task: Task) -> None:
        system, law, mode = task.system, task.law, task.mode
        self.system, self.law, self.numerics = system, law, task.numerics
        self.states, drift = law_states(law), task.numerics.drift
        self.projects = drift == "project"
        self.fall = fall_rule(system.model, task.contact.fall)
        correction = None if isinstance(drift, str) else float(drift)
        self.given = system.inputs(task.inputs)
        self.slow: PythonRate | None = None
        try:
            self.machine = system.machine(mode, law, self.states, correction)
            self.machine.rate  # noqa: B018 - traces the law
        except UntraceableLawError as error:
            warnings.warn(
                f"the control law cannot be compiled ({error.reason}); it runs in Python, slowly. "
                "Functions of draisine.algebra.scalar (where, clip, sin, ...) can be.",
                stacklevel=4,
            )
            self.machine = system.machine(mode, None, self.states, correction)
            self.slow = PythonRate(law, self.states)
        self.way = (mode, None if self.slow else law, self.states, correction)
        self.task = task
        self.ahead: SingularShape | None = None
        self._begin()

    def _begin(self) -> None:
        """Take the state as the present one."""
        task = self.task
        t, state = task.numerics.start, task.state
        self.done: list[tuple[ClosedForm, list[Floats], list[Floats], list[NodeStates]]] = []
        self.anchors = anchors(self.machine, state, t)
        z = task.law_start(self.states)
        closed = 1e-6 if self.projects else np.inf  # projection would pull it down
        self.y, self.last = self.machine.enter(state, t, z, anchors=self.anchors, gap=closed), t
        self.done.append((self.machine, [np.array([t])], [self.y[None, :]], []))
        self._pose_problem()

    def _begin_elsewhere(self) -> bool:
        """Begin with pivots that serve at the start, where one of the present ones vanishes there;
        return whether that was so. Where none serve, the error names the rows.
        """
        if self.machine.least_pivot(self.y, self.last) > 0.0:
            return False
        parts = self.machine.layout.split(self.y)
        self.machine = self.system.machine(*self.way, (parts["q"], parts["r"]))
        self._begin()
        return True

    def _pose_problem(self) -> None:
        machine, rate = self.machine, self.machine.rate
        tail = np.concatenate([self.given, self.anchors])
        watch = self.fall.watch(machine.frame[0])
        key = (self.projects, tail.tobytes(), watch.tobytes())
        known, problem = _POSED.get(machine, (None, None))
        if self.slow is None and problem is not None and known == key:
            self.problem = problem
            return
        self.problem = Problem(
            rate.address if self.slow is None else self.slow.bind(machine),
            rate.table,
            rate.outputs.size,
            tail,
            machine.floors,
            machine.project if self.projects else None,
            pose=machine.layout.r.stop,
            chunk=CHUNK if self.slow is None else CHUNK // 50,
            keep=(rate, self.slow),
            watch=watch,
        )
        if self.slow is None:
            _POSED[machine] = (key, self.problem)

    def go(self, t0: float, t1: float, tick: Callable[[float], None]) -> int:
        """Go on until t1, with other pivots where the present ones degenerate; return how it ended."""
        numerics, method = self.numerics, self.numerics.method
        start, dt = numerics.start, numerics.dt
        t, stalled = t0, False
        while True:
            end = t1 if self.ahead is None else min(t1, self.ahead.t - WIDTH / 2)
            if end <= t:
                t = self._pass_through(t, t1)
                if t >= t1:
                    return DONE
                continue
            grid = _grid(start, t, end, dt) if method.ADAPTIVE else np.array([end])
            span = Span(t, end, dt, grid, numerics.rtol, numerics.atol, self.done[-1][3])
            times, samples, status = method.advance(self.problem, self.y, span, tick)
            if status == NOT_FINITE:
                sound = np.isfinite(samples).all(axis=1)
                times, samples = times[sound], samples[sound]
                if t == start and not np.any(times > t) and self._begin_elsewhere():
                    continue
            short = end < t1 if status == DONE else not np.isin(times[-1:], grid).all()
            extra = method.ADAPTIVE and short and status != FELL
            self.append(times, samples, extra)
            moved = len(times) > 0 and times[-1] > t
            if status == DEGENERATE and moved and times[-1] >= t1 - 1e-12 * max(1.0, abs(t1)):
                return DONE  # what comes next chooses other pivots
            if status == DONE and end < t1:
                t = end
                continue
            if status != DEGENERATE or (stalled and not moved):
                return int(status)
            t, stalled = float(times[-1]) if moved else t, not moved
            if self.ahead is None and self.slow is None:
                self.ahead = find_singular_shape(self.machine, t)
                if self.ahead is not None and not self.ahead.removable:
                    return DEGENERATE
            self.change_pivots(t)

    def _pass_through(self, t: float, t1: float) -> float:
        """Go through a singular shape by one step and return the time behind it, or t1 before; a
        sample that falls on the instant is taken a microsecond later.
        """
        assert self.ahead is not None
        instant, dt = self.ahead.t, self.numerics.dt
        far = instant + max(instant - t, WIDTH / 4)
        self.change_pivots(t, shape_at(self.system.model, instant - (instant - t) / 8))
        y = gauss_step(self.machine, self.y, (t, far), self.given, self.anchors)
        grid = _grid(self.numerics.start, t, min(far, t1), dt)
        times = np.where(np.abs(grid - instant) < 1e-6, instant + 1e-6, grid)
        self.append(times, np.array([y(x) for x in times]), far < t1)
        for begin, end in ((t, instant - 1e-6), (instant + 1e-6, min(far, t1))):
            nodes = begin + PLACES * (end - begin)
            if end > begin:
                self.done[-1][3].append((nodes[None], np.array([[y(x) for x in nodes]])))
        if far < t1:
            self.ahead = None
            self.change_pivots(far)
        return min(far, t1)

    def append(self, times: Floats, samples: Floats, extra: bool) -> None:
        """Keep the samples that are new, but an extra last one only to go on from."""
        _, t, y, _ = self.done[-1]
        count = len(times) - extra
        if count > 1 and times[count - 1] <= times[count - 2]:  # it stopped at a sample
            count -= 1
        first = int(count > 0 and times[0] <= self.last)
        if first and len(t) == 1 and len(t[0]) == 1:  # they begin with the start, all we have
            t.clear()
            y.clear()
            first = 0
        t.append(times[first:count])
        y.append(samples[first:count])
        if len(samples):
            self.y, self.last = samples[-1], float(times[-1])

    def change_pivots(self, t: float, shape: Floats | None = None) -> None:
        """Choose pivots and independent speeds anew where the present ones degenerate: some that the
        run had before and that are firm here, or else those that are best here; or those that are
        best in a given shape.
        """
        seen = self.machine.observation(self.y, t, self.given)
        parts = self.machine.layout.split(self.y)
        q, r, z = parts["q"], parts["r"], parts["z"]
        user, place = self.machine.user_pose(q, parts["p"])
        state = State(user, place, r, seen["v"])
        known = () if shape is not None else dict.fromkeys(machine for machine, *_ in self.done)
        for machine in known:
            y = machine.enter(state, t, z, tolerance=1e-6)
            if machine.least_pivot(y, t) > PIVOT_FIRM:
                break
        else:
            machine = self.system.machine(*self.way, (q, r if shape is None else shape))
            y = machine.enter(state, t, z, tolerance=1e-6)
        self.machine, self.y = machine, y
        self.done.append((self.machine, [], [], []))
        self._pose_problem()

    @property
    def cause(self) -> BaseException | None:
        """What went wrong inside a Python law."""
        return None if self.slow is None else self.slow.error

    def failure(self, status: int) -> str | None:
        """Return the cause if a run stopped inside a Python law, in a singular shape or by the loads of
        its tyres, in words; None for other causes.
        """
        if self.ahead is not None and not self.ahead.removable:
            return str(self.ahead)
        if isinstance(self.cause, KeyboardInterrupt):
            return "interrupted"
        if self.cause:
            return f"the control law failed, {type(self.cause).__name__}: {self.cause}"
        if status == DEGENERATE:
            return load_failure(self.machine, self.y, self.last, self.given)
        return None

    def trajectory(self, outcome: str) -> Trajectory:
        """Return the run so far."""
        numerics, arcs = self.numerics, []
        for machine, times, samples, nodes in self.done:
            if any(map(len, times)) or nodes:
                t, y = _joined(times, 1), _joined(samples, len(self.y))
                dense = self._dense(machine, nodes) if nodes else None
                inputs = self._inputs(machine, t, y)
                arcs.append(SmoothArc(machine, t, y, inputs, self.anchors, dense))
        made = {"integrator": numerics.integrator, "dt": numerics.dt, "drift": str(numerics.drift)}
        made |= {"rtol": numerics.rtol, "atol": numerics.atol}
        sampled = tuple(arc for arc in arcs if len(arc.t))
        between = tuple(arc for arc in arcs if not len(arc.t))
        return Trajectory(sampled, outcome, made, contact=self.task.contact, unsampled=between)

    def _dense(self, machine: ClosedForm, nodes: "list[NodeStates]") -> DenseOutput:
        """Return the dense output of an arc."""
        t, y = (np.concatenate([part[k] for part in nodes]) for k in (0, 1))
        return DenseOutput(t, y, self._inputs(machine, t.ravel(), y.reshape(-1, y.shape[2])))

    def _inputs(self, machine: ClosedForm, t: Floats, y: Floats) -> Floats:
        """Return the inputs at samples, time last."""
        inputs = np.empty((len(self.given), len(t)))
        inputs.T[:] = self.given
        if self.slow is not None:
            for k in range(len(t)):
                inputs[:, k] += self.slow.inputs(machine, t[k], y[k])
        return inputs

    def pose(self) -> Floats:
        """Return the present quaternion of the user's base."""
        at = self.machine.layout
        return self.machine.user_pose(self.y[at.q], self.y[at.p])[0]


def load_failure(machine: ClosedForm, y: Floats, t: float, inputs: Floats) -> str | None:
    """Return why the loads of tyres have no solution at a state, in words; None if it has other causes.

    Forces of tyres are solved together with their loads, so a run also stops if these equations
    degenerate, although the constraints keep their rank.
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
    """Return whether the constraints of a machine nearly lose rank at a state."""
    parts = machine.layout.split(y)
    rows = machine.rows(t=[t], q=parts["q"], p=parts["p"], r=parts["r"])["C"]
    C = rows.reshape(-1, 6 + len(machine.system.model.joints))
    sizes = np.linalg.svd(C / np.linalg.norm(C, axis=1)[:, None], compute_uv=False)
    return bool(sizes[-1] < FULL_RANK)


def _joined(parts: list[Floats], width: int) -> Floats:
    """Return parts one after the other; one alone is not copied. Without any there is no row of `width`."""
    if not parts:
        return np.zeros((0, width) if width > 1 else 0)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _grid(start: float, t0: float, t1: float, dt: float) -> Floats:
    """Return the sample times of a stretch: its start, multiples of dt from the start of the run, and
    the stretch's end.
    """
    first = math.floor((t0 - start) / dt + 1e-9)
    last = max(first + 1, math.ceil((t1 - start) / dt - 1e-9))
    grid = start + dt * np.arange(first, last + 1)
    grid[0], grid[-1] = t0, t1
    return grid


def anchors(machine: ClosedForm, state: State, t: float) -> Floats:
    """Return where the pins hold their points: where they are at the start."""
    model = machine.system.model
    pins = [k for k, c in enumerate(model.contacts) if c.anchored]
    if not pins:
        return np.zeros(0)
    points = machine.observation(machine.enter(state, t), t)["points"].reshape(-1, 3)
    return points[pins].ravel()
