"""Adams methods of fixed step, started by Runge-Kutta: a predictor alone, or predict, evaluate,
correct, evaluate.
"""

import math
from collections.abc import Callable

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.integrators import rk4
from draisine.simulation.integrators._native import Code, Problem, call, jit, settle, trouble

AB4 = np.array([55.0, -59.0, 37.0, -9.0]) / 24.0
"""Adams-Bashforth of fourth order: weights of f at steps n, n-1, n-2, n-3."""

PARTS = 4
"""Runge-Kutta steps per step at the start."""


@jit
def _run(
    code: Code,
    t0: float,
    t1: float,
    steps: int,
    samples: Floats,
    predictor: Floats,
    corrector: Floats,
) -> tuple[int, int]:
    n, h = samples.shape[1], (t1 - t0) / steps
    last = np.nextafter(t1, t0)
    x = np.empty(1 + n + len(code.tail))
    for k in range(len(code.tail)):
        x[1 + n + k] = code.tail[k]
    past = np.empty((4, code.rate_size))  # the last four rates, in a ring that begins at `a`
    out = np.empty(code.rate_size)
    settled = np.empty(max(code.project_size, 1))
    headings = np.empty(2 * code.wheels)
    for k in range(len(headings)):
        headings[k] = np.nan
    x_at, table_at, out_at = x.ctypes.data, code.rate_table.ctypes.data, out.ctypes.data
    past_at, row = past.ctypes.data, 8 * code.rate_size
    a = 0
    for i in range(4):
        x[0] = t0 + i * h
        for k in range(n):
            x[1 + k] = samples[i, k]
        a = (a + 3) % 4
        call(code.rate, x_at, table_at, past_at + a * row, 1)
    p0, p1, p2, p3 = h * predictor[0], h * predictor[1], h * predictor[2], h * predictor[3]
    c = np.zeros(5)
    for k in range(len(corrector)):
        c[k] = h * corrector[k]
    for i in range(3, steps):
        wrong = trouble(past[a], n, code.floors)
        if wrong:
            return wrong, i
        b, d, e = (a + 1) % 4, (a + 2) % 4, (a + 3) % 4
        x[0] = min(t0 + (i + 1) * h, last)
        for k in range(n):
            step = p0 * past[a, k] + p1 * past[b, k] + p2 * past[d, k] + p3 * past[e, k]
            x[1 + k] = samples[i, k] + step
        if len(corrector):
            call(code.rate, x_at, table_at, out_at, 1)
            for k in range(n):
                step = c[1] * past[a, k] + c[2] * past[b, k] + c[3] * past[d, k] + c[4] * past[e, k]
                x[1 + k] = samples[i, k] + (c[0] * out[k] + step)
        wrong = settle(code.project, code.project_table, x, settled, code.pose_size, headings)
        if wrong:
            return wrong, i
        for k in range(n):
            samples[i + 1, k] = x[1 + k]
        a = e
        call(code.rate, x_at, table_at, past_at + a * row, 1)
    return 0, steps


def adams(corrector: Floats) -> Callable[..., tuple[Floats, Floats, int]]:
    """Return the Adams method with the given corrector (empty: the predictor alone).

    The first three steps are Runge-Kutta's, each in four parts: at full length they would excite
    the stiff correction (2.41) a thousand times as much as all later steps.
    """

    def advance(
        problem: Problem,
        y: Floats,
        t0: float,
        t1: float,
        dt: float,
        grid: Floats,
        rtol: float,
        atol: float,
    ) -> tuple[Floats, Floats, int]:
        """Return times, samples and status of equal steps no longer than dt."""
        steps = max(4, math.ceil((t1 - t0) / dt - 1e-9))
        h = (t1 - t0) / steps
        times = t0 + np.arange(steps + 1) * h
        samples = np.empty((steps + 1, len(y)))
        _, start, status = rk4.advance(problem, y, t0, t0 + 3 * h, h / PARTS, times, 0.0, 0.0)
        start = start[::PARTS]
        done = len(start) - 1
        samples[: done + 1] = start
        if status == 0:
            status, done = _run(problem.code, t0, t1, steps, samples, AB4, corrector)
        return times[: done + 1], samples[: done + 1], status

    return advance
