"""The classical Runge-Kutta method of fourth order."""

import math

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.integrators._native import Code, Problem, evaluate, jit, settle, trouble

ORDER = 4
ADAPTIVE = False


@jit
def _run(
    code: Code,
    y: Floats,
    t0: float,
    t1: float,
    steps: int,
    samples: Floats,
) -> tuple[int, int]:
    n, h = len(y), (t1 - t0) / steps
    last = np.nextafter(t1, t0)
    x = np.empty(1 + n + len(code.tail))
    for k in range(n):
        x[1 + k] = y[k]
        samples[0, k] = y[k]
    for k in range(len(code.tail)):
        x[1 + n + k] = code.tail[k]
    start = np.empty(n)
    k1, k2 = np.empty(code.rate_size), np.empty(code.rate_size)
    k3, k4 = np.empty(code.rate_size), np.empty(code.rate_size)
    settled = np.empty(max(code.project_size, 1))
    headings = np.empty(2 * code.wheels)
    for k in range(len(headings)):
        headings[k] = np.nan
    for i in range(steps):
        t = t0 + i * h
        x[0] = t
        for k in range(n):
            start[k] = x[1 + k]
        evaluate(code.rate, code.rate_table, x, k1)
        wrong = trouble(k1, n, code.floors)
        if wrong:
            return wrong, i
        x[0] = min(t + 0.5 * h, last)
        for k in range(n):
            x[1 + k] = start[k] + 0.5 * h * k1[k]
        evaluate(code.rate, code.rate_table, x, k2)
        for k in range(n):
            x[1 + k] = start[k] + 0.5 * h * k2[k]
        evaluate(code.rate, code.rate_table, x, k3)
        x[0] = min(t + h, last)
        for k in range(n):
            x[1 + k] = start[k] + h * k3[k]
        evaluate(code.rate, code.rate_table, x, k4)
        for k in range(n):
            x[1 + k] = start[k] + h * (k1[k] + 2.0 * (k2[k] + k3[k]) + k4[k]) / 6.0
        x[0] = t0 + (i + 1) * h
        wrong = settle(code.project, code.project_table, x, settled, code.pose_size, headings)
        if wrong:
            return wrong, i
        for k in range(n):
            samples[i + 1, k] = x[1 + k]
    return 0, steps


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
    steps = max(1, math.ceil((t1 - t0) / dt - 1e-9))
    samples = np.empty((steps + 1, len(y)))
    status, done = _run(problem.code, y, t0, t1, steps, samples)
    times = t0 + np.arange(steps + 1) * ((t1 - t0) / steps)
    return times[: done + 1], samples[: done + 1], status
