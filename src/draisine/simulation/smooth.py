"""Runs: from a state through smooth stretches, each in one native call."""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, SimulationError
from draisine.registry import find
from draisine.simulation.integrators import (
    DEGENERATE,
    DONE,
    FLAT,
    INTERRUPTED,
    NOT_FINITE,
    TOO_SMALL,
    Problem,
    Span,
)
from draisine.simulation.python_law import PythonRate
from draisine.simulation.trajectory import SmoothArc, Trajectory
from draisine.system.closed_form import PIVOT_FIRM, ClosedForm, State
from draisine.system.system import System
from draisine.system.tracing import Law, UntraceableLawError

REASONS = {
    NOT_FINITE: "a value is no longer a number",
    DEGENERATE: "the configuration is degenerate: the constraints lose rank",
    TOO_SMALL: "no step is small enough for the tolerances",
    FLAT: "a wheel fell flat",
    INTERRUPTED: "interrupted",
}
HINTS = {
    REASONS[NOT_FINITE]: " Smaller steps may help.",
    REASONS[FLAT]: " (Or it turned by over 90 degrees in one step, which was too long then.)",
}


def simulate(
    system: System,
    state: State,
    until: float,
    *,
    dt: float = 0.01,
    integrator: str = "dop853",
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    breakpoints: Iterable[float] = (),
    start: float = 0.0,
    drift: str | float = "project",
    rtol: float = 1e-10,
    atol: float = 1e-12,
    progress: Callable[[float], None] | None = None,
) -> Trajectory:
    """Return the motion from a state until a time.

    `dt` is the step of fixed-step integrators and the spacing of samples of adaptive ones. `law` is
    a control law, traced into the compiled code where it can be; `inputs` are constant inputs. The
    integrator stops and starts afresh at `breakpoints`, where laws may jump (they are taken as
    continuous from the right). `drift` says what keeps the contacts closed: "project" (one Newton
    step per step), "none", or the epsilon of the thesis's correction (2.41), in seconds: stiff, so
    that explicit methods need steps below about epsilon / 8. `progress` is told from time to time
    which fraction of the run is done.

    A run that cannot go on, or that is interrupted from the keyboard, raises `SimulationError`, with
    the motion until then in its `partial`.

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> simulate(bicycle, start, until=1.0, integrator="rk4", dt=0.005).outcome
    'completed'
    """
    breakpoints = [float(b) for b in breakpoints]
    _check(until, start, dt, drift, rtol, atol, breakpoints)
    method: Any = find("integrator", integrator)
    run = _Run(system, mode, law, None if isinstance(drift, str) else float(drift), inputs, drift)
    run.begin(state, start)
    edges = edges_of(start, until, [*breakpoints, *getattr(law, "breakpoints", ())])
    made = {"integrator": integrator, "dt": dt, "drift": str(drift), "rtol": rtol, "atol": atol}
    reason = None

    def tick(t: float) -> None:
        if progress is not None:
            progress((t - start) / (until - start))

    try:
        for t0, t1 in pairwise(edges):
            status = run.go(method, t0, t1, start, dt, rtol, atol, tick)
            if status != DONE:
                reason = run.failure() or REASONS[status]
                break
            tick(t1)
    except KeyboardInterrupt:
        reason = "interrupted"
    if reason is None:
        return Trajectory(run.arcs(), "completed", made)
    told = f"after {run.last:.6g} s of {until:.6g} s"
    told = f"interrupted {told}" if reason == "interrupted" else f"stopped {told}: {reason}"
    raise SimulationError(
        f"the run was {told}.{HINTS.get(reason, '')} The part before is in the error's `partial`.",
        Trajectory(run.arcs(), reason, made),
    ) from run.cause


def _check(
    until: Any, start: Any, dt: Any, drift: Any, rtol: Any, atol: Any, breakpoints: Any
) -> None:
    for name, value in {
        "until": until,
        "start": start,
        "dt": dt,
        "rtol": rtol,
        "atol": atol,
    }.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise ParameterError(f"{name} = {value!r} is not a number.")
    if not (math.isfinite(until) and until > start):
        raise ParameterError(f"until = {until} s does not lie after the start at {start} s.")
    if not (math.isfinite(dt) and dt > 0):
        raise ParameterError(f"dt = {dt} s is not a positive time.")
    if (until - start) / dt > 1e8:
        raise ParameterError(f"dt = {dt} s makes more than 1e8 samples; take a larger one.")
    if not (rtol >= 0 and atol >= 0 and rtol + atol > 0):
        raise ParameterError(f"rtol = {rtol} and atol = {atol}: tolerances are positive.")
    if not all(map(math.isfinite, breakpoints)):
        raise ParameterError(f"breakpoints {breakpoints} must be finite times.")
    if isinstance(drift, str):
        if drift not in ("project", "none"):
            raise ParameterError(f"drift = {drift!r}: take 'project', 'none', or an epsilon in s.")
    elif isinstance(drift, bool) or not (math.isfinite(drift) and drift > 0):
        raise ParameterError(f"drift = {drift}: epsilon must be a positive time.")


class _Run:
    """A run under way: the machine in its present chart, the present y, and the samples so far."""

    def __init__(
        self,
        system: System,
        mode: Mapping[str, str] | None,
        law: Law | None,
        correction: float | None,
        inputs: Mapping[str, float] | None,
        drift: str | float,
    ) -> None:
        self.system, self.mode, self.law, self.drift = system, mode, law, drift
        self.states, self.correction = int(getattr(law, "states", 0)), correction
        self.given = system.inputs(inputs)
        self.slow: PythonRate | None = None
        try:
            self.machine = system.machine(mode, law, self.states, correction)
            self.machine.rate  # noqa: B018 - traces the law
        except UntraceableLawError as error:
            warnings.warn(
                f"the control law cannot be compiled ({error}); it runs in Python, slowly.",
                stacklevel=3,
            )
            self.machine = system.machine(mode, None, self.states, correction)
            self.slow = PythonRate(law, self.states)
        self.done: list[tuple[ClosedForm, list[Floats], list[Floats]]] = []

    def begin(self, state: State, t: float) -> None:
        """Take the state as the present one."""
        z = np.asarray(getattr(self.law, "start", np.zeros(self.states)), float)
        self.anchors = anchors(self.machine, state, t)
        if z.shape != (self.states,):
            raise ParameterError(
                f"law: its start has shape {z.shape}, its states are {self.states}."
            )
        closed = 1e-6 if self.drift == "project" else np.inf  # projection would pull it down
        self.y, self.last = self.machine.enter(state, t, z, anchors=self.anchors, gap=closed), t
        self.done.append((self.machine, [np.array([t])], [self.y[None, :]]))
        self._pose_problem()

    def _pose_problem(self) -> None:
        rate, project = self.machine.rate, self.machine.project
        address = rate.address
        if self.slow is not None:
            address = self.slow.bind(self.machine)
        self.problem = Problem(
            address,
            rate.table,
            rate.outputs.size,
            np.concatenate([self.given, self.anchors]),
            self.machine.floors,
            project if self.drift == "project" else None,
            pose=self.machine.layout.r.stop,
            keep=(rate, self.slow),
        )

    def go(
        self,
        method: Any,
        t0: float,
        t1: float,
        start: float,
        dt: float,
        rtol: float,
        atol: float,
        tick: Callable[[float], None],
    ) -> int:
        """Go on until t1, with other pivots where the present ones degenerate; return how it ended."""
        t, stalled = t0, False
        while True:
            grid = _grid(start, t, t1, dt) if method.ADAPTIVE else np.array([t1])
            span = Span(t, t1, dt, grid, rtol, atol)
            times, samples, status = method.advance(self.problem, self.y, span, tick)
            if status == NOT_FINITE:
                sound = np.isfinite(samples).all(axis=1)
                times, samples = times[sound], samples[sound]
            extra = method.ADAPTIVE and status != DONE and not np.isin(times[-1:], grid).all()
            self.append(times, samples, extra)
            moved = len(times) > 0 and times[-1] > t
            if status == DEGENERATE and moved and times[-1] >= t1 - 1e-12 * max(1.0, abs(t1)):
                return DONE  # what comes next chooses other pivots
            if status != DEGENERATE or (stalled and not moved):
                return int(status)
            t, stalled = float(times[-1]) if moved else t, not moved
            self.change_pivots(t)

    def append(self, times: Floats, samples: Floats, extra: bool) -> None:
        """Keep the samples that are new, but an extra last one only to go on from."""
        _, t, y = self.done[-1]
        first = int(len(times) > 0 and times[0] <= self.last)
        if first and len(t) == 1 and len(t[0]) == 1:  # they begin with the start, all we have
            t.clear()
            y.clear()
            first = 0
        t.append(times[first : len(times) - extra])
        y.append(samples[first : len(times) - extra])
        if len(samples):
            self.y, self.last = samples[-1], float(times[-1])

    def change_pivots(self, t: float) -> None:
        """Choose pivots and independent speeds anew where the present ones degenerate: some that are
        known and firm here, or else those that are best here.
        """
        seen = self.machine.look(self.y, t, self.given)
        parts = self.machine.layout.split(self.y)
        q, r, z = parts["q"], parts["r"], parts["z"]
        task = (self.mode, None if self.slow else self.law, self.states, self.correction)
        user, place = self.machine.user_pose(q, parts["p"])
        state = State(user, place, r, seen["v"])
        for machine in self.system.charts(*task):
            y = machine.enter(state, t, z, tolerance=1e-6)
            if machine.least_pivot(y, t) > PIVOT_FIRM:
                break
        else:
            machine = self.system.machine(*task, (q, r))
            y = machine.enter(state, t, z, tolerance=1e-6)
        self.machine, self.y = machine, y
        self.done.append((self.machine, [], []))
        self._pose_problem()

    @property
    def cause(self) -> BaseException | None:
        """What went wrong inside a Python law."""
        return None if self.slow is None else self.slow.error

    def failure(self) -> str | None:
        """Return what went wrong inside a Python law, in words, if that was the cause."""
        if isinstance(self.cause, KeyboardInterrupt):
            return "interrupted"
        kind = type(self.cause).__name__
        return f"the control law failed, {kind}: {self.cause}" if self.cause else None

    def arcs(self) -> tuple[SmoothArc, ...]:
        """Return the arcs so far."""
        out = []
        for machine, times, samples in self.done:
            if not sum(map(len, times)):
                continue
            t, y = _joined(times), _joined(samples)
            inputs = np.empty((len(self.given), len(t)))
            inputs.T[:] = self.given
            if self.slow is not None:
                for k in range(len(t)):
                    inputs[:, k] += self.slow.inputs(machine, t[k], y[k])
            out.append(SmoothArc(machine, t, y, inputs, self.anchors))
        return tuple(out)


def _joined(parts: list[Floats]) -> Floats:
    """Return parts one after the other; one alone is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def edges_of(start: float, until: float, stops: Iterable[float]) -> list[float]:
    """Return where smooth stretches begin and end: start, the stops between, and until."""
    apart = 1e-12 * max(1.0, abs(start), abs(until))
    edges = [start]
    for stop in sorted({float(b) for b in stops if b < until - apart}):
        if stop > edges[-1] + apart:
            edges.append(stop)
    return [*edges, until]


def _grid(start: float, t0: float, t1: float, dt: float) -> Floats:
    """Return the sample times of a stretch: multiples of dt from the start of the run, and the
    stretch's end.
    """
    first = math.floor((t0 - start) / dt + 1e-9) + 1
    last = max(first, math.ceil((t1 - start) / dt - 1e-9))
    grid = start + dt * np.arange(first, last + 1)
    grid[-1] = t1
    return grid


def anchors(machine: ClosedForm, state: State, t: float) -> Floats:
    """Return where the pins hold their points: where they are at the start."""
    model = machine.system.model
    pins = [k for k, c in enumerate(model.contacts) if c.anchored]
    if not pins:
        return np.zeros(0)
    points = machine.look(machine.enter(state, t), t)["points"].reshape(-1, 3)
    return points[pins].ravel()
