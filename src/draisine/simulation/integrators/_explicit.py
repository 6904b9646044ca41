"""Methods of equal steps: the march from step to step, and Runge-Kutta methods as tableaux."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Routine, each, routine
from draisine.codegen.targets.native import Packed
from draisine.simulation.integrators._drivers import (
    INTERRUPTED,
    March,
    Problem,
    Span,
    Tick,
    Workspace,
    check,
    evaluate,
    keep_ended,
    march_code,
    mark_fallen,
    settle,
)


def march_of(step: Routine, ring: int) -> Routine:
    """Return the loop of a method over its steps: `step(p, t0, h, last, i)` writes the state after
    step i into x; the rates of the last `ring` states are at hand in k.
    """

    @routine
    def march(
        p: Workspace, t0: float, h: float, last: float, first: int, end: int, samples: Floats
    ) -> int:
        """Take the steps from number `first` to `end`; return how many are done: fewer where all
        lanes have ended. The state that is reached is checked, too. A lane that falls keeps the state
        after the step in which it did.
        """
        c, size = p.lanes, p.n * p.lanes
        for i in range(first, end):
            t = t0 + i * h
            rates = p.k[i % ring * p.row :]
            evaluate(p, t, rates)
            if check(p, rates) == c:
                return i
            p.y[:size] = p.x[c : c + size]
            step(p, t0, h, last, i)
            over = settle(p, t0 + (i + 1) * h)
            if over == c:
                return i
            if over > 0:
                keep_ended(p)
            if p.watched > 0:
                over = mark_fallen(p, i + 1)
            if p.keep == 1:
                samples[(i + 1) * size :][:size] = p.x[c : c + size]
            if over == c:
                return i + 1
        rates = p.k[end % ring * p.row :]
        evaluate(p, min(t0 + end * h, last), rates)
        check(p, rates)
        return end

    return march


class EqualSteps:
    """A method of equal steps: `step` as a routine, how many rates it needs room for (the last
    `ring` states' among them), its coefficients.
    """

    def __init__(
        self, step: Routine, stages: int, ring: int = 1, coefficients: Sequence[float] = ()
    ) -> None:
        self.march, self.stages, self.ring = march_of(step, ring), stages, ring
        self.coefficients = np.array([*coefficients, 0.0])

    def __call__(self, problem: Problem, y: Floats, span: Span, tick: Tick | None = None) -> March:
        """Return times, samples and status of equal steps no longer than dt."""
        p = problem.workspace(len(y), self.stages, self.coefficients)
        samples = np.empty((self.steps(span) + 1, len(y)))
        samples[0] = y
        done, status = self.go(problem, p, span, samples, tick)
        problem.give_back(p)
        return self.times(span)[: done + 1], samples[: done + 1], status

    def many(self, problem: Problem, y: Floats, span: Span) -> tuple[Floats, Floats, Floats]:
        """Return the states at the end, one per column, what is wrong with each, and the times of
        falls. A column that falls keeps the state after the step in which it did, others that ended
        early the last state before.
        """
        p = problem.workspace(len(y), self.stages, self.coefficients, keep=False)
        self.go(problem, p, span, np.ascontiguousarray(y)[None], None)
        c, w = problem.count, p.record
        return w.x[c : c + y.size].reshape(y.shape).copy(), w.wrong, self.times_of(span, w.ended)

    def record(self, problem: Problem, y: Floats, span: Span) -> tuple[Floats, Floats, Floats]:
        """Return the times, the states at all of them (time, entries, columns), and what is wrong with
        each column: those keep the last state before.
        """
        p = problem.workspace(len(y), self.stages, self.coefficients)
        samples = np.empty((self.steps(span) + 1, y.size))
        samples[0] = y.ravel()
        done, _ = self.go(problem, p, span, samples, None)
        samples[done + 1 :] = samples[done]
        return self.times(span), samples.reshape(-1, *y.shape), p.record.wrong

    def steps(self, span: Span) -> int:
        """Return how many equal steps no longer than dt a stretch has."""
        return max(1, math.ceil((span.end - span.start) / span.dt - 1e-9))

    def times(self, span: Span) -> Floats:
        """Return where the steps of a stretch begin, and its end."""
        return self.times_of(span, np.arange(self.steps(span) + 1))

    def times_of(self, span: Span, numbers: Any) -> Floats:
        """Return the times after so many steps of a stretch."""
        return np.asarray(span.start + numbers * ((span.end - span.start) / self.steps(span)))

    def start(self, problem: Problem, p: Packed, span: Span, samples: Floats) -> int:
        """Put the state at the beginning, samples[0], in place; return with which step to go on."""
        p.record.x[problem.count :][: samples[0].size] = samples[0].ravel()
        return 0

    def go(
        self, problem: Problem, p: Packed, span: Span, samples: Floats, tick: Tick | None
    ) -> tuple[int, int]:
        """Take all steps; return how many are done, and how the first lane ended."""
        steps, w, done = self.steps(span), p.record, 0
        h, last = (span.end - span.start) / steps, span.last
        march = march_code(self.march, w.lanes)
        try:
            done = self.start(problem, p, span, samples)
            while done < steps and not w.wrong.all():
                end = min(done + problem.chunk, steps)
                done = march(p, span.start, h, last, done, end, samples)
                if tick is not None:
                    tick(span.start + done * h)
        except KeyboardInterrupt:
            return done, INTERRUPTED
        return done, int(w.wrong[0])


def explicit(A: Sequence[Sequence[float]], b: Sequence[float]) -> EqualSteps:
    """Return the Runge-Kutta method with a tableau: row s of A are the weights of stage s, b those of
    the step.

    >>> ralston = explicit([[], [2 / 3]], [1 / 4, 3 / 4])
    """
    stages = len(b)
    nodes = [sum(row) for row in A]
    weights = [[*row, *[0.0] * (stages - len(row))] for row in [*A, b]]

    @routine
    def step(p: Workspace, t0: float, h: float, last: float, i: int) -> None:
        """Write y + h sum b_j k_j, the k_j = f(t + c_j h, y + h sum a_jl k_l)."""
        t, c, x, weight = t0 + i * h, p.lanes, p.x, p.method
        node = p.method[(stages + 1) * stages :]
        for s in range(1, stages + 1):
            for k in each(p.n * c):
                total = 0.0
                for j in range(s):
                    total += weight[s * stages + j] * p.k[j * p.row + k]
                x[c + k] = p.y[k] + h * total
            if s < stages:
                evaluate(p, min(t + node[s] * h, last), p.k[s * p.row :])

    return EqualSteps(step, stages, coefficients=[*np.ravel(weights), *nodes])
