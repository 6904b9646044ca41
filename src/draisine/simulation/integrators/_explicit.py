"""Methods with equal steps: the loop over steps, and explicit Runge-Kutta methods from their tableaux."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Routine, each, routine
from draisine.codegen.targets.native import Packed
from draisine.simulation.integrators._drivers import (
    INTERRUPTED,
    IntegrationResult,
    Problem,
    Span,
    Tick,
    Workspace,
    check_rates,
    evaluate_rates,
    keep_ended,
    mark_fallen,
    project_and_mark_fallen,
    step_loop_code,
)


def make_step_loop(step: Routine, ring: int) -> Routine:
    """Return the routine that takes many steps of a method, with the checks after each step.

    Parameters
    ----------
    step
        Routine `step(p, t0, h, last, i)` that writes the state after step i into x.
    ring
        Number of earlier states whose rates are kept in k.
    """

    @routine
    def take_steps(
        p: Workspace, t0: float, h: float, last: float, first: int, end: int, samples: Floats
    ) -> int:
        """Take the steps from number `first` to `end`; return the number of finished steps.

        The loop stops early if all lanes have ended. `t0` is the start time, `h` the step length and `last`
        the latest time at which rates are evaluated (s). A lane that falls keeps the state after its last
        step.
        """
        c = p.lanes
        size = p.n * p.lanes
        for i in range(first, end):
            t = t0 + i * h
            rates = p.k[i % ring * p.row :]
            evaluate_rates(p, t, rates)
            if check_rates(p, rates) == c:
                return i
            p.y[:size] = p.x[c : c + size]
            step(p, t0, h, last, i)
            ended = project_and_mark_fallen(p, t0 + (i + 1) * h)
            if ended == c:
                return i
            if ended > 0:
                keep_ended(p)
            if p.watched > 0:
                ended = mark_fallen(p, i + 1)
            if p.keep == 1:
                samples[(i + 1) * size :][:size] = p.x[c : c + size]
            if ended == c:
                return i + 1
        # Check the rates at the last state as at all earlier ones.
        rates = p.k[end % ring * p.row :]
        evaluate_rates(p, min(t0 + end * h, last), rates)
        check_rates(p, rates)
        return end

    return take_steps


class EqualSteps:
    """An integration method with steps of equal length.

    Parameters
    ----------
    step
        Routine of one step, see `make_step_loop`.
    stages
        Number of stored rates, including the rates at the last `ring` states.
    ring
        Number of earlier states whose rates the method uses.
    coefficients
        Coefficients that the routine `step` reads from `Workspace.method`.
    """

    def __init__(
        self, step: Routine, stages: int, ring: int = 1, coefficients: Sequence[float] = ()
    ) -> None:
        self.take_steps = make_step_loop(step, ring)
        self.stages = stages
        self.ring = ring
        self.coefficients = np.array([*coefficients, 0.0])

    def __call__(
        self, problem: Problem, y: Floats, span: Span, tick: Tick | None = None
    ) -> IntegrationResult:
        """Return times, samples and status of equal steps no longer than dt."""
        p = problem.workspace(len(y), self.stages, self.coefficients)
        samples = np.empty((self.steps(span) + 1, len(y)))
        samples[0] = y
        done, status = self.integrate(problem, p, span, samples, tick)
        problem.give_back(p)
        return self.times(span)[: done + 1], samples[: done + 1], status

    def many(self, problem: Problem, y: Floats, span: Span) -> tuple[Floats, Floats, Floats]:
        """Return the final states (n, columns), the status of each column and the times (s) of falls.

        A column that falls keeps the state after its last step; a column that fails keeps the state before.
        """
        p = problem.workspace(len(y), self.stages, self.coefficients, keep=False)
        self.integrate(problem, p, span, np.ascontiguousarray(y)[None], None)
        c = problem.count
        w = p.record
        return w.x[c : c + y.size].reshape(y.shape).copy(), w.wrong, self.times_of(span, w.ended)

    def record(self, problem: Problem, y: Floats, span: Span) -> tuple[Floats, Floats, Floats]:
        """Return the times (s), the states (times, n, columns) and the status of each column.

        A column that fails keeps its last valid state.
        """
        p = problem.workspace(len(y), self.stages, self.coefficients)
        samples = np.empty((self.steps(span) + 1, y.size))
        samples[0] = y.ravel()
        done, _ = self.integrate(problem, p, span, samples, None)
        samples[done + 1 :] = samples[done]
        return self.times(span), samples.reshape(-1, *y.shape), p.record.wrong

    def steps(self, span: Span) -> int:
        """Return the number of equal steps of an interval, each no longer than dt."""
        return max(1, math.ceil((span.end - span.start) / span.dt - 1e-9))

    def times(self, span: Span) -> Floats:
        """Return the times (s) at which the steps of an interval begin, and its end."""
        return self.times_of(span, np.arange(self.steps(span) + 1))

    def times_of(self, span: Span, numbers: Any) -> Floats:
        """Return the times (s) after the given numbers of steps of an interval."""
        return np.asarray(span.start + numbers * ((span.end - span.start) / self.steps(span)))

    def start(self, problem: Problem, p: Packed, span: Span, samples: Floats) -> int:
        """Write the initial state, samples[0], into the workspace; return the number of finished steps."""
        p.record.x[problem.count :][: samples[0].size] = samples[0].ravel()
        return 0

    def integrate(
        self, problem: Problem, p: Packed, span: Span, samples: Floats, tick: Tick | None
    ) -> tuple[int, int]:
        """Integrate over the interval; return the number of finished steps and the status of the first lane.

        The states after all steps are written to `samples`. `tick` receives the present time (s).
        """
        steps = self.steps(span)
        h = (span.end - span.start) / steps
        last = span.last
        w = p.record
        done = 0
        take_steps = step_loop_code(self.take_steps, w.lanes)
        try:
            done = self.start(problem, p, span, samples)
            while done < steps and not w.wrong.all():
                end = min(done + problem.chunk, steps)
                done = take_steps(p, span.start, h, last, done, end, samples)
                if tick is not None:
                    tick(span.start + done * h)
        except KeyboardInterrupt:
            return done, INTERRUPTED
        return done, int(w.wrong[0])


def explicit(A: Sequence[Sequence[float]], b: Sequence[float]) -> EqualSteps:
    """Return the explicit Runge-Kutta method with the weights A (one row per stage) and b (of the solution).

    >>> ralston = explicit([[], [2 / 3]], [1 / 4, 3 / 4])
    """
    stages = len(b)
    nodes = [sum(row) for row in A]
    weights = [[*row, *[0.0] * (stages - len(row))] for row in [*A, b]]

    @routine
    def step(p: Workspace, t0: float, h: float, last: float, i: int) -> None:
        """Write y + h sum b_j k_j, the k_j = f(t + c_j h, y + h sum a_jl k_l)."""
        t = t0 + i * h
        c = p.lanes
        x = p.x
        weight = p.method
        node = p.method[(stages + 1) * stages :]
        for s in range(1, stages + 1):
            for k in each(p.n * c):
                total = 0.0
                for j in range(s):
                    total += weight[s * stages + j] * p.k[j * p.row + k]
                x[c + k] = p.y[k] + h * total
            if s < stages:
                evaluate_rates(p, min(t + node[s] * h, last), p.k[s * p.row :])

    return EqualSteps(step, stages, coefficients=[*np.ravel(weights), *nodes])
