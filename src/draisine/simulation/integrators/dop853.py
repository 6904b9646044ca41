"""Dormand and Prince's method of eighth order with adaptive steps and dense output of seventh order.

Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, 2nd ed., section II.10,
doi:10.1007/978-3-540-78862-1.
"""

from math import isfinite, sqrt
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import each, routine
from draisine.codegen.targets.native import Packed, lanes, routine_code
from draisine.simulation.integrators import _dop853_tableau as tableau
from draisine.simulation.integrators._drivers import (
    ALONE,
    CHUNKS,
    DEGENERATE,
    ENDLESS,
    FELL,
    INTERRUPTED,
    NODES,
    PLACES,
    TOO_SMALL,
    March,
    Problem,
    Span,
    Tick,
    Workspace,
    check,
    evaluate,
    fall_margins,
    project,
    settle,
)
from draisine.simulation.integrators._explicit import explicit

ORDER, ADAPTIVE = 8, True

STAGES, DENSE, END = 16, 13, 12
"""All stages; the first of those beside the step, and the one at its end, whose rate is the first that
only the dense output needs.
"""

TIMES, E5, E3, D = 256, 272, 285, 298
"""Where the stages' times, the error's and the dense output's weights stand behind the 16 by 16 of the
stages.
"""

T, H, COUNT, RAW, RAW_END, KEPT, CLOCK = range(7)
"""What a `Sampling.clock` holds: time, length of the next step, number of samples, the first and the end
of those that are not projected yet, number of nodes kept; how many that are.
"""

ROOM = 1000
"""How many steps the buffer of nodes has room for."""

WIDTH = 4
"""The vectors of one state's sums: two registers, or half a one."""


def _coefficients() -> Floats:
    """Return all coefficients one after the other."""
    weights = np.zeros((STAGES, STAGES))
    for row, given in zip(weights, [*tableau.A, *tableau.A_EXTRA], strict=True):
        row[: len(given)] = given
    return np.concatenate(
        [weights.ravel(), tableau.C, tableau.C_EXTRA, tableau.E5, tableau.E3, np.ravel(tableau.D)]
    )


METHOD = _coefficients()

equal = explicit(tableau.A[:-1], tableau.A[-1])


class Stages(NamedTuple):
    """A step under way: from y to `new`, of n entries, with rates k that are `row` apart, what the
    tolerances allow (`atol` for each entry), and the polynomial of the dense output; `errors` also has room
    for sums.
    """

    method: Floats
    n: int
    row: int
    rtol: float
    atol: Floats
    y: Floats
    new: Floats
    k: Floats
    polynomial: Floats
    errors: Floats


class Sampling(NamedTuple):
    """When a stretch ends, `last` being the time just before, and where its samples go.

    `clock` holds what outlasts a pause. With `dense` 1 the dense output of each step is kept at its
    `places`, with its times; `margins` has room for how far these are from a fall.
    """

    end: float
    last: float
    points: int
    grid: Floats
    samples: Floats
    clock: Floats
    dense: int
    places: Floats
    times: Floats
    nodes: Floats
    margins: Floats


def stages(y: Floats, k: Floats, row: int, rtol: float, atol: float | Floats) -> Packed:
    """Return a step from y with rates k; `atol` is one for all entries, or one for each."""
    n = len(y)
    room = (np.zeros(n), k, np.zeros(7 * n), np.zeros(2 * n))
    return Packed(Stages(METHOD, n, row, rtol, np.full(n, atol), y, *room))


@routine
def sum_older(s: Stages, stage: int) -> None:
    """Keep the sum of a stage without its newest rate, for `add_newest`."""
    for i in each(s.n):
        total = 0.0
        for j in range(stage - 1):
            total += s.method[stage * STAGES + j] * s.k[j * s.row + i]
        s.errors[i] = total


@routine
def add_newest(s: Stages, stage: int, h: float, into: Floats) -> None:
    """Write the state of a stage: y + h sum a_j k_j. The newest rate was written number by number just
    now: it is read so, too, or the core would wait until all are in memory.
    """
    newest = stage - 1
    weight = s.method[stage * STAGES + newest]
    for i in range(s.n):
        into[i] = s.y[i] + h * (s.errors[i] + weight * s.k[newest * s.row + i])


@routine
def weigh(s: Stages, stage: int, h: float, into: Floats) -> None:
    """Write the state of a stage."""
    sum_older(s, stage)
    add_newest(s, stage, h, into)


@routine
def error_norm(s: Stages, h: float, rates: int) -> float:
    """Return the error of a step against what the tolerances allow, from its first rates. That at its
    end weighs nothing: it matters only where it is no number, and neither is the error then.
    """
    n = s.n
    for i in each(n):
        scale = s.atol[i] + s.rtol * max(abs(s.y[i]), abs(s.new[i]))
        e5, e3 = 0.0, 0.0
        for j in range(rates):
            e5 += s.method[E5 + j] * s.k[j * s.row + i]
            e3 += s.method[E3 + j] * s.k[j * s.row + i]
        s.errors[i] = (e5 / scale) * (e5 / scale)
        s.errors[n + i] = (e3 / scale) * (e3 / scale)
    error5, error3 = 0.0, 0.0
    for i in range(n):
        error5 += s.errors[i]
        error3 += s.errors[n + i]
    both = error5 + 0.01 * error3
    return 0.0 if both == 0.0 else h * error5 / sqrt(both * n)


@routine
def interpolate(s: Stages, h: float) -> None:
    """Write the polynomial of the dense output of a step."""
    n, F, k = s.n, s.polynomial, s.k
    for i in each(n):
        delta = s.new[i] - s.y[i]
        F[i] = delta
        F[n + i] = h * k[i] - delta
        F[2 * n + i] = 2.0 * delta - h * (k[END * s.row + i] + k[i])
        for m in range(4):
            total = 0.0
            for j in range(STAGES):
                total += s.method[D + m * STAGES + j] * k[j * s.row + i]
            F[(3 + m) * n + i] = h * total


@routine
def dense(s: Stages, z: float, into: Floats) -> None:
    """Write the state at the part z of a step."""
    for i in each(s.n):
        value = 0.0
        for m in range(7):
            value += s.polynomial[(6 - m) * s.n + i]
            value *= z if m % 2 == 0 else 1.0 - z
        into[i] = s.y[i] + value


@routine
def shrink(error: float) -> float:
    """Return by how much to shorten a step with too large an error."""
    return max(0.2, 0.9 * error ** (-1.0 / 8.0)) if isfinite(error) else 0.1


@routine
def grow(error: float) -> float:
    """Return by how much to change the length of the next step."""
    return 10.0 if error == 0.0 else min(10.0, max(0.2, 0.9 * error ** (-1.0 / 8.0)))


@routine
def attempt(p: Workspace, s: Stages, last: float, t: float, h: float) -> float:
    """Write the state after a step of length h; return its error."""
    sum_older(s, 1)
    for stage in range(1, END):
        add_newest(s, stage, h, p.x[1:])
        sum_older(s, stage + 1)  # while the core waits for the rates
        evaluate(p, min(t + s.method[TIMES + stage] * h, last), s.k[stage * s.row :])
    add_newest(s, END, h, p.x[1:])
    s.new[: s.n] = p.x[1 : 1 + s.n]
    return error_norm(s, h, END)


@routine
def sample(p: Workspace, s: Stages, g: Sampling, t: float, h: float, end: float) -> float:
    """Write the samples of the grid and the nodes that lie inside a step; return which part of it stands:
    all, or that before a fall.
    """
    at = int(g.clock[COUNT])
    inside = 1 if at < g.points and g.grid[at] < end else 0
    if inside + g.dense + p.watched == 0:
        return 1.0
    evaluate(p, min(t + h, g.last), s.k[END * s.row :])  # x still holds the state at the end
    for stage in range(DENSE, STAGES):
        weigh(s, stage, h, p.x[1:])
        evaluate(p, min(t + s.method[TIMES + stage] * h, g.last), s.k[stage * s.row :])
    interpolate(s, h)
    part = find_fall(p, s, g) if p.watched > 0 else 1.0
    stop = end if part == 1.0 else t + part * h
    if g.dense == 1:
        keep_nodes(s, g, t, part * h, part, stop)
    while at < g.points and g.grid[at] < stop:
        dense(s, (g.grid[at] - t) / h, g.samples[at * s.n :])
        at += 1
    g.clock[COUNT], g.clock[RAW_END] = at, at
    return part


@routine
def keep_nodes(s: Stages, g: Sampling, t: float, h: float, part: float, stop: float) -> None:
    """Write the dense output of a part of a step, of length h; what jumps at the end of the stretch is
    taken from the left.
    """
    at = int(g.clock[KEPT])
    for i in range(NODES):
        dense(s, part * g.places[i], g.nodes[(at + i) * s.n :])
        g.times[at + i] = t + g.places[i] * h
    g.times[at + NODES - 1] = min(stop, g.last)
    g.clock[KEPT] += float(NODES)


@routine
def margin_at(p: Workspace, s: Stages, g: Sampling, z: float) -> float:
    """Return how far from a fall the state at the part z of a step is."""
    dense(s, z, p.x[1:])
    fall_margins(p, p.x[1:], g.margins)
    return g.margins[0]


@routine
def find_fall(p: Workspace, s: Stages, g: Sampling) -> float:
    """Return the part of a step before a fall, located by bisection on the dense output; 1 without a fall.
    A machine falls if it is beyond the limit at a node, and further than at the start of the step.
    """
    begin = margin_at(p, s, g, 0.0)
    low, high = 0.0, 2.0
    for i in range(1, NODES):
        here = margin_at(p, s, g, g.places[i])
        if here < 0.0 and here < begin:
            high = g.places[i]
            break
        low = g.places[i]
    if high > 1.0:
        return 1.0
    if begin < 0.0:
        return 0.0
    while high - low > 1e-15:
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        if margin_at(p, s, g, middle) < 0.0:
            high = middle
        else:
            low = middle
    return high


@routine
def start(p: Workspace, g: Sampling) -> int:
    """Write samples of the beginning and the first rates; return whether something is wrong."""
    t, at = g.clock[T], int(g.clock[COUNT])
    while at < g.points and g.grid[at] <= t:
        g.samples[at * p.n :][: p.n] = p.y[: p.n]
        at += 1
    g.clock[COUNT], g.clock[RAW], g.clock[RAW_END] = at, at, at
    p.x[1 : 1 + p.n] = p.y[: p.n]
    evaluate(p, t, p.k)
    return check(p, p.k)


@routine
def march(p: Workspace, s: Stages, g: Sampling, first: int, limit: int) -> int:
    """Try up to so many steps; return 1 where the end is reached or something is wrong."""
    if first == 1 and start(p, g) > 0:
        return 1
    for _ in range(limit):
        t, h = g.clock[T], g.clock[H]
        if not t < g.end:
            return 1
        if h < 1e-14 * max(abs(t), 1.0):
            p.wrong[0] = TOO_SMALL
            return 1
        final = 1 if t + h >= g.end - 1e-14 * max(abs(g.end), 1.0) else 0
        h = g.end - t if final == 1 else h
        error = attempt(p, s, g.last, t, h)
        if not error < 1.0:
            evaluate(p, min(t + h, g.last), s.k[END * s.row :])
            g.clock[H] = h * shrink(error_norm(s, h, DENSE))
            continue
        end = g.end if final == 1 else t + h
        count, kept = g.clock[COUNT], g.clock[KEPT]
        part = sample(p, s, g, t, h, end)
        if part < 1.0:
            return end_fallen(p, s, g, t + part * h, part)
        p.x[1 : 1 + s.n] = s.new[: s.n]
        if settle(p, end) > 0:
            if p.wrong[0] == FELL:  # at the start of the step
                g.clock[COUNT], g.clock[KEPT], g.clock[RAW_END] = count, kept, count
            return 1
        g.clock[T] = end
        s.y[: s.n] = p.x[1 : 1 + s.n]
        if final == 1 and g.clock[COUNT] < g.points:
            g.samples[int(g.clock[COUNT]) * s.n :][: s.n] = s.y[: s.n]
            g.clock[COUNT] += 1.0
        evaluate(p, min(end, g.last), s.k)
        if check(p, s.k) > 0:
            return 1
        g.clock[H] = h * grow(error)
    return 0


@routine
def end_fallen(p: Workspace, s: Stages, g: Sampling, t: float, part: float) -> int:
    """End the run where it fell, at a part of the step: y is the state there."""
    dense(s, part, p.x[1:])
    p.x[0] = t
    project(p)
    s.y[: s.n] = p.x[1 : 1 + s.n]
    g.clock[T], p.wrong[0] = t, FELL
    return 1


@routine
def settle_samples(p: Workspace, g: Sampling, first: int, end: int) -> None:
    """Replace samples by their projections, as many at once as there are lanes."""
    c, n = p.lanes, p.n
    at = first
    while at < end:
        for j in range(c):
            one = min(at + j, end - 1)
            p.x[j] = g.grid[one]
            p.x[c + j :: c][:n] = g.samples[one * n :][:n]
        project(p)
        for j in range(min(c, end - at)):
            g.samples[(at + j) * n :][: p.pose] = p.x[c + j :: c][: p.pose]
        at += c


def advance(problem: Problem, y: Floats, span: Span, tick: Tick | None = None) -> March:
    """Return times, samples and status at the times of the grid; steps are as long as the tolerances
    allow. Where the run stops short, the last good step is one more sample; where it fell, the fall is.
    """
    n, points = len(y), len(span.grid)
    p = problem.workspace(n, STAGES, METHOD)
    w: Workspace = p.record
    w.y[:] = y
    if (span.rtol, span.atol) not in p.others:
        p.others[span.rtol, span.atol] = stages(w.y, w.k, w.row, span.rtol, span.atol)
    s = p.others[span.rtol, span.atol]
    samples, clock = np.empty((points, n)), np.zeros(CLOCK)
    clock[T], clock[H] = span.start, min(0.01, span.end - span.start)
    room = 0 if span.dense is None else NODES * min(ROOM, problem.chunk)
    kept = (int(room > 0), PLACES, np.empty(room), np.empty(room * n), np.zeros(1))
    g = Packed(Sampling(span.end, span.last, points, span.grid, samples.ravel(), clock, *kept))
    status = _go(p, s, g, problem.chunk, span.dense, tick)
    done, raw = int(clock[COUNT]), (int(clock[RAW]), int(clock[RAW_END]))
    if problem.project is not None and raw[0] < raw[1]:
        wide = problem.side_by_side.workspace(n, 1, METHOD)
        routine_code(settle_samples, width=lanes())[0](wide, g, *raw)
        problem.side_by_side.give_back(wide)
    times, samples = span.grid[:done], samples[:done]
    if status in (DEGENERATE, TOO_SMALL, INTERRUPTED, ENDLESS, FELL):
        times, samples = np.append(times, clock[T]), np.vstack([samples, w.y])
    problem.give_back(p)
    return times, samples, status


def _go(
    p: Packed,
    s: Packed,
    g: Packed,
    chunk: int,
    found: list[tuple[Floats, Floats]] | None,
    tick: Tick | None,
) -> int:
    """Take all steps, and add the dense output of each to what was found; return how it ended."""
    (go,), first = routine_code(march, width=WIDTH, known=ALONE), 1
    clock, before, end = g.record.clock, float(g.record.clock[T]), g.record.end
    limit = chunk if found is None else min(ROOM, chunk)
    tried = 0
    try:
        while not go(p, s, g, first, limit):
            first, tried = 0, tried + limit
            _take_nodes(g.record, found)
            if tried < chunk:
                continue
            if CHUNKS * (clock[T] - before) < end - clock[T]:
                return ENDLESS
            tried, before = 0, float(clock[T])
            if tick is not None:
                tick(before)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _take_nodes(g.record, found)
    return int(p.record.wrong[0])


def _take_nodes(g: Sampling, found: list[tuple[Floats, Floats]] | None) -> None:
    """Add the nodes in the buffer to what was found, and empty it."""
    kept = int(g.clock[KEPT])
    if found is None or not kept:
        return
    n = len(g.nodes) // len(g.times)
    states = g.nodes[: kept * n].reshape(-1, NODES, n)
    found.append((g.times[:kept].reshape(-1, NODES).copy(), states.copy()))
    g.clock[KEPT] = 0.0
