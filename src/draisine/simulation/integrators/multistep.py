"""Adams methods of fixed step, started by Runge-Kutta: a predictor alone, or predict, evaluate,
correct, evaluate.
"""

import math

import numpy as np

from draisine.simulation.integrators import rk4
from draisine.simulation.integrators.native import Floats, Problem, evaluate, jit, settle, trouble

AB4 = np.array([55.0, -59.0, 37.0, -9.0]) / 24.0
"""Adams-Bashforth of fourth order: weights of f at steps n, n-1, n-2, n-3."""

PARTS = 8
"""Runge-Kutta steps per step at the start."""


@jit
def _run(
    rate: int,
    rate_table: Floats,
    rate_size: int,
    project: int,
    project_table: Floats,
    project_size: int,
    pose_size: int,
    wheels: int,
    tail: Floats,
    floors: Floats,
    t0: float,
    t1: float,
    steps: int,
    samples: Floats,
    predictor: Floats,
    corrector: Floats,
) -> tuple[int, int]:
    n, h = samples.shape[1], (t1 - t0) / steps
    last = np.nextafter(t1, t0)
    x = np.empty(1 + n + len(tail))
    x[1 + n :] = tail
    f0, f1, f2, f3 = (
        np.empty(rate_size),
        np.empty(rate_size),
        np.empty(rate_size),
        np.empty(rate_size),
    )
    out = np.empty(rate_size)
    settled = np.empty(max(project_size, 1))
    headings = np.full(2 * wheels, np.nan)
    for i in range(4):
        x[0] = t0 + i * h
        x[1 : 1 + n] = samples[i]
        f0, f1, f2, f3 = f3, f0, f1, f2
        evaluate(rate, rate_table, x, f0)
    p0, p1, p2, p3 = h * predictor[0], h * predictor[1], h * predictor[2], h * predictor[3]
    c = np.zeros(5)
    c[: len(corrector)] = h * corrector
    for i in range(3, steps):
        wrong = trouble(f0, n, floors)
        if wrong:
            return wrong, i
        x[0] = min(t0 + (i + 1) * h, last)
        for k in range(n):
            x[1 + k] = samples[i, k] + (p0 * f0[k] + p1 * f1[k] + p2 * f2[k] + p3 * f3[k])
        if len(corrector):
            evaluate(rate, rate_table, x, out)
            for k in range(n):
                step = c[0] * out[k] + c[1] * f0[k] + c[2] * f1[k] + c[3] * f2[k] + c[4] * f3[k]
                x[1 + k] = samples[i, k] + step
        wrong = settle(project, project_table, x, settled, pose_size, headings)
        if wrong:
            return wrong, i
        for k in range(n):
            samples[i + 1, k] = x[1 + k]
        f0, f1, f2, f3 = f3, f0, f1, f2
        evaluate(rate, rate_table, x, f0)
    return 0, steps


def adams(
    problem: Problem, y: Floats, t0: float, t1: float, dt: float, corrector: Floats
) -> tuple[Floats, Floats, int]:
    """Return times, samples and status of an Adams method with the given corrector (empty: the
    predictor alone).

    The first three steps are Runge-Kutta's, each in eight parts: at full length they would excite
    the stiff correction (2.41) a thousand times as much as all later steps.
    """
    steps = max(4, math.ceil((t1 - t0) / dt - 1e-9))
    h = (t1 - t0) / steps
    times = t0 + np.arange(steps + 1) * h
    samples = np.empty((steps + 1, len(y)))
    _, start, status = rk4.advance(problem, y, t0, t0 + 3 * h, h / PARTS, times, 0.0, 0.0)
    start = start[::PARTS]
    done = len(start) - 1
    samples[: done + 1] = start
    if status == 0:
        status, done = _run(*(*problem.arguments, t0, t1, steps, samples, AB4, corrector))
    return times[: done + 1], samples[: done + 1], status
