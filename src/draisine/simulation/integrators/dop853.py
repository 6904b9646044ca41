"""Dormand and Prince's method of eighth order with adaptive steps and dense output of seventh
order.

Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, 2nd ed., section II.10,
doi:10.1007/978-3-540-78862-1; the coefficients are SciPy's.
"""

from typing import NamedTuple

import numpy as np
from scipy.integrate import DOP853

from draisine.algebra.scalar import Floats
from draisine.simulation.integrators._native import (
    DEGENERATE,
    TOO_SMALL,
    Code,
    Problem,
    evaluate,
    jit,
    settle,
    trouble,
)

ORDER = 8
ADAPTIVE = True

STAGES = 12


class Tableau(NamedTuple):
    """The method's coefficients, as compiled functions take them."""

    A: Floats
    C: Floats
    E3: Floats
    E5: Floats
    D: Floats
    A_extra: Floats
    C_extra: Floats


TABLEAU = Tableau(
    np.ascontiguousarray(np.vstack([DOP853.A, DOP853.B[None, :]])[:, :STAGES]),
    np.append(DOP853.C, 1.0),
    *(np.ascontiguousarray(x) for x in (DOP853.E3, DOP853.E5, DOP853.D)),
    *(np.ascontiguousarray(x) for x in (DOP853.A_EXTRA, DOP853.C_EXTRA)),
)


@jit
def error_norm(
    y: Floats, new: Floats, K: Floats, h: float, rtol: float, atol: float, method: Tableau
) -> float:
    """Return the error of a step against what the tolerances allow."""
    n = len(y)
    error5, error3 = 0.0, 0.0
    for k in range(n):
        scale = atol + rtol * max(abs(y[k]), abs(new[k]))
        e5, e3 = 0.0, 0.0
        for j in range(13):
            e5 += method.E5[j] * K[j, k]
            e3 += method.E3[j] * K[j, k]
        error5 += (e5 / scale) * (e5 / scale)
        error3 += (e3 / scale) * (e3 / scale)
    both = error5 + 0.01 * error3
    return 0.0 if both == 0.0 else h * error5 / np.sqrt(both * n)


@jit
def polynomial(y: Floats, new: Floats, K: Floats, h: float, method: Tableau, F: Floats) -> None:
    """Write the polynomial of the dense output of a step into F."""
    for k in range(len(y)):
        delta = new[k] - y[k]
        F[0, k] = delta
        F[1, k] = h * K[0, k] - delta
        F[2, k] = 2.0 * delta - h * (K[12, k] + K[0, k])
        for i in range(4):
            step = 0.0
            for j in range(16):
                step += method.D[i, j] * K[j, k]
            F[3 + i, k] = h * step


@jit
def dense(F: Floats, y: Floats, z: float, into: Floats) -> None:
    """Write the state at the part z of a step that began with y."""
    for k in range(len(y)):
        value = 0.0
        for i in range(7):
            value += F[6 - i, k]
            value *= z if i % 2 == 0 else 1.0 - z
        into[k] = y[k] + value


@jit
def _run(
    code: Code,
    y0: Floats,
    t0: float,
    t1: float,
    grid: Floats,
    samples: Floats,
    y: Floats,
    rtol: float,
    atol: float,
    method: Tableau,
) -> tuple[int, int, float]:
    """Return status, number of samples and time of the end; y becomes what it is there."""
    n = len(y0)
    last = np.nextafter(t1, t0)
    x = np.empty(1 + n + len(code.tail))
    for k in range(len(code.tail)):
        x[1 + n + k] = code.tail[k]
    new = np.empty(n)
    K = np.empty((16, n))
    out = np.empty(code.rate_size)
    settled = np.empty(max(code.project_size, 1))
    headings, aside = np.empty(2 * code.wheels), np.empty(2 * code.wheels)
    for k in range(len(headings)):
        headings[k] = np.nan
    t, h, at = t0, min(0.01, t1 - t0), 0
    for k in range(n):
        y[k] = y0[k]
        x[1 + k] = y0[k]
    while at < len(grid) and grid[at] <= t0:
        for k in range(n):
            samples[at, k] = y[k]
        at += 1
    x[0] = t
    evaluate(code.rate, code.rate_table, x, out)
    for k in range(n):
        K[0, k] = out[k]
    wrong = trouble(out, n, code.floors)
    if wrong:
        return wrong, at, t
    while t < t1:
        if h < 1e-14 * max(abs(t), 1.0):
            return 3, at, t
        final = t + h >= t1 - 1e-14 * max(abs(t1), 1.0)
        if final:
            h = t1 - t
        for s in range(1, 13):
            for k in range(n):
                step = 0.0
                for j in range(s):
                    step += method.A[s, j] * K[j, k]
                new[k] = y[k] + h * step
                x[1 + k] = new[k]
            x[0] = min(t + method.C[s] * h, last)
            evaluate(code.rate, code.rate_table, x, out)
            for k in range(n):
                K[s, k] = out[k]
        error = error_norm(y, new, K, h, rtol, atol, method)
        if not (error < 1.0):
            if not np.isfinite(error):
                h *= 0.1
            else:
                h *= max(0.2, 0.9 * error ** (-1.0 / 8.0))
            continue
        end = t1 if final else t + h
        if at < len(grid) and grid[at] < end:
            before = at
            for k in range(len(aside)):
                aside[k] = np.nan
            at = _sample(
                code,
                x,
                out,
                y,
                new,
                t,
                h,
                end,
                last,
                K,
                method,
                grid,
                samples,
                at,
            )
            for i in range(before, at):
                x[0] = grid[i]
                for k in range(n):
                    x[1 + k] = samples[i, k]
                settle(code.project, code.project_table, x, settled, code.pose_size, aside)
                for k in range(n):
                    samples[i, k] = x[1 + k]
        t = end
        x[0] = t
        for k in range(n):
            x[1 + k] = new[k]
        wrong = settle(code.project, code.project_table, x, settled, code.pose_size, headings)
        if wrong:
            return wrong, at, t
        write = final and at < len(grid)
        for k in range(n):
            y[k] = x[1 + k]
            if write:
                samples[at, k] = y[k]
        at += write
        x[0] = min(t, last)
        evaluate(code.rate, code.rate_table, x, out)
        for k in range(n):
            K[0, k] = out[k]
        wrong = trouble(out, n, code.floors)
        if wrong:
            return wrong, at, t
        h *= 10.0 if error == 0.0 else min(10.0, max(0.2, 0.9 * error ** (-1.0 / 8.0)))
    return 0, at, t


@jit
def _sample(
    code: Code,
    x: Floats,
    out: Floats,
    y: Floats,
    new: Floats,
    t: float,
    h: float,
    end: float,
    last: float,
    K: Floats,
    method: Tableau,
    grid: Floats,
    samples: Floats,
    at: int,
) -> int:
    """Write the samples of the grid that lie inside a step; return the first that does not."""
    n = len(y)
    for s in range(3):
        for k in range(n):
            step = 0.0
            for j in range(13 + s):
                step += method.A_extra[s, j] * K[j, k]
            x[1 + k] = y[k] + h * step
        x[0] = min(t + method.C_extra[s] * h, last)
        evaluate(code.rate, code.rate_table, x, out)
        for k in range(n):
            K[13 + s, k] = out[k]
    F = np.empty((7, n))
    polynomial(y, new, K, h, method, F)
    while at < len(grid) and grid[at] < end:
        dense(F, y, (grid[at] - t) / h, samples[at])
        at += 1
    return at


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
    """Return times, samples and status at the times of the grid, which ends with t1; steps are as
    long as the tolerances allow. Where the run stops short, the last good step is one more sample.
    """
    samples, end = np.empty((len(grid), len(y))), np.empty(len(y))
    status, done, t = _run(problem.code, y, t0, t1, grid, samples, end, rtol, atol, TABLEAU)
    if status in (DEGENERATE, TOO_SMALL):
        return np.append(grid[:done], t), np.vstack([samples[:done], end]), status
    return grid[:done], samples[:done], status
