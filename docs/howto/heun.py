"""Heun's method: two evaluations per step, second order."""

import math

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.integrators._native import Problem

ORDER = 2
ADAPTIVE = False


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
    code, (rate, project, _) = problem.code, problem.keep
    steps = max(1, math.ceil((t1 - t0) / dt - 1e-9))
    h, n = (t1 - t0) / steps, len(y)
    times = t0 + h * np.arange(steps + 1)
    samples = np.empty((steps + 1, n))
    samples[0] = y

    def slope(t: float, y: Floats) -> Floats:
        return rate.flat(np.concatenate([[t], y, code.tail]))[:n]

    for i in range(steps):
        first = slope(times[i], y)
        second = slope(times[i + 1], y + h * first)
        y = y + h / 2 * (first + second)
        if code.project:
            x = np.concatenate([[times[i + 1]], y, code.tail])
            settled = project.flat(x)
            y[: code.pose_size] = settled[: code.pose_size]
        if not np.all(np.isfinite(y)):
            return times[: i + 1], samples[: i + 1], 1
        samples[i + 1] = y
    return times, samples, 0
