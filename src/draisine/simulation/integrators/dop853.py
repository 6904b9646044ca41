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
    DEGENERATE_PIVOT,
    DENSE_NODE_COUNT,
    DENSE_NODE_POSITIONS,
    ENDLESS,
    INTERRUPTED,
    MACHINE_FELL,
    MAX_REMAINING_CALLS,
    SINGLE_LANE,
    STEP_BELOW_LIMIT,
    IntegrationResult,
    Problem,
    Span,
    Tick,
    Workspace,
    check_rates,
    evaluate_rates,
    fall_margins,
    project_and_mark_fallen,
    project_lanes,
)
from draisine.simulation.integrators._explicit import explicit

ORDER = 8
ADAPTIVE = True

STAGE_COUNT = 16
"""Number of stages, including the three stages that only the dense output needs."""
END_STAGE = 12
"""Index of the stage at the end of the step; its rate has zero weight in the error estimates."""
FIRST_DENSE_STAGE = 13
"""Index of the first of three stages for the dense output."""

NODE_OFFSET = STAGE_COUNT * STAGE_COUNT
FIFTH_ORDER_OFFSET = NODE_OFFSET + STAGE_COUNT
THIRD_ORDER_OFFSET = FIFTH_ORDER_OFFSET + FIRST_DENSE_STAGE
DENSE_OFFSET = THIRD_ORDER_OFFSET + FIRST_DENSE_STAGE
"""Offsets in `DOP853_COEFFICIENTS`, after the 16 x 16 weights of the stages.

They belong to the nodes of the stages, the weights of the error estimates of fifth and third order, and the
weights of the dense output.
"""

CLOCK_TIME = 0  # present time, s
CLOCK_NEXT_STEP = 1  # length of the next step, s
CLOCK_SAMPLE_COUNT = 2
CLOCK_FIRST_UNPROJECTED = 3  # index of the first sample that is not yet projected
CLOCK_END_UNPROJECTED = 4  # index after the last sample that is not yet projected
CLOCK_NODE_COUNT = 5  # number of stored nodes of the dense output
CLOCK_SIZE = 6
"""Indices of the entries of `Sampling.clock`; CLOCK_SIZE is their number."""

BUFFERED_STEPS = 1000
"""Number of steps whose dense-output nodes fit into the buffer.

Five nodes of about 20 numbers per step need 0.8 MB.
"""

VECTOR_WIDTH = 4
"""Number of doubles per vector instruction in sums over one state: two registers of two, or one of four."""


def _coefficients() -> Floats:
    """Return all coefficients of the method as one array."""
    weights = np.zeros((STAGE_COUNT, STAGE_COUNT))
    for row, stage_weights in zip(weights, [*tableau.A, *tableau.A_EXTRA], strict=True):
        row[: len(stage_weights)] = stage_weights
    return np.concatenate(
        [weights.ravel(), tableau.C, tableau.C_EXTRA, tableau.E5, tableau.E3, np.ravel(tableau.D)]
    )


DOP853_COEFFICIENTS = _coefficients()
"""All coefficients of the method in one array, for the compiled routines.

The order is: weights of the stages, nodes, weights of both error estimates, weights of the dense output. The
offsets above are indices into this array.
"""

FIRST_STEP_LENGTH = 0.01
"""Length of the first step (s); the error estimate corrects it."""

equal = explicit(tableau.A[:-1], tableau.A[-1])


class Stages(NamedTuple):
    """Stages and dense output of one step from y to `new`."""

    method: Floats  # coefficients of the method
    n: int  # number of entries of y
    row: int  # offset between the rates of two stages in k
    rtol: float  # relative tolerance
    atol: Floats  # (n) absolute tolerance of each entry
    y: Floats  # (n) state at the start of the step
    new: Floats  # (n) state at the end of the step
    k: Floats  # rates of the stages
    polynomial: Floats  # (7 n) coefficients of the dense output
    errors: Floats  # (2 n) scaled errors; scratch of the sums


class Sampling(NamedTuple):
    """End of an interval, and storage of its samples and dense output."""

    end: float  # s, end of the interval
    last: float  # s, last time before the end
    points: int  # number of samples
    grid: Floats  # s, sample times
    samples: Floats  # states at the sample times
    clock: Floats  # numbers that persist between native calls, see CLOCK_SIZE
    dense: int  # 1 if the dense output is stored, else 0
    places: Floats  # positions of the dense-output nodes in a step, 0 to 1
    times: Floats  # s, times of the stored nodes
    nodes: Floats  # states at the stored nodes
    margins: Floats  # scratch of the fall margins


def make_stages(y: Floats, k: Floats, row: int, rtol: float, atol: float | Floats) -> Packed:
    """Return the record of a step from y with rates k; `atol` is one number, or one per entry."""
    n = len(y)
    return Packed(
        Stages(
            method=DOP853_COEFFICIENTS,
            n=n,
            row=row,
            rtol=rtol,
            atol=np.full(n, atol),
            y=y,
            new=np.zeros(n),
            k=k,
            polynomial=np.zeros(7 * n),
            errors=np.zeros(2 * n),
        )
    )


@routine
def sum_previous_rates(s: Stages, stage: int) -> None:
    """Store the weighted sum of the rates of all stages before the latest one, for `add_latest_rate`."""
    for i in each(s.n):
        total = 0.0
        for j in range(stage - 1):
            total += s.method[stage * STAGE_COUNT + j] * s.k[j * s.row + i]
        s.errors[i] = total


@routine
def add_latest_rate(s: Stages, stage: int, h: float, into: Floats) -> None:
    """Compute the state of a stage, y + h sum a_j k_j, from the stored sum and the latest rate.

    The loop is not vectorised. The latest rates were just written one by one, and a vector load would wait
    until all of them are in memory.
    """
    newest = stage - 1
    weight = s.method[stage * STAGE_COUNT + newest]
    for i in range(s.n):
        into[i] = s.y[i] + h * (s.errors[i] + weight * s.k[newest * s.row + i])


@routine
def compute_stage_state(s: Stages, stage: int, h: float, into: Floats) -> None:
    """Compute the state of a stage, y + h sum a_j k_j, into `into`."""
    sum_previous_rates(s, stage)
    add_latest_rate(s, stage, h, into)


@routine
def error_norm(s: Stages, h: float, rates: int) -> float:
    """Return the estimated error of a step of length h (s) relative to the tolerances; below 1 is acceptable.

    The estimate uses the rates of the first `rates` stages. The rate at the end of the step has zero weight,
    but it makes the error not finite if it is not finite itself.
    """
    n = s.n
    for i in each(n):
        scale = s.atol[i] + s.rtol * max(abs(s.y[i]), abs(s.new[i]))
        e5 = 0.0
        e3 = 0.0
        for j in range(rates):
            e5 += s.method[FIFTH_ORDER_OFFSET + j] * s.k[j * s.row + i]
            e3 += s.method[THIRD_ORDER_OFFSET + j] * s.k[j * s.row + i]
        s.errors[i] = (e5 / scale) * (e5 / scale)
        s.errors[n + i] = (e3 / scale) * (e3 / scale)
    error5 = 0.0
    error3 = 0.0
    for i in range(n):
        error5 += s.errors[i]
        error3 += s.errors[n + i]
    # Combination of both estimates as in DOP853 (Hairer et al., section II.10).
    combined = error5 + 0.01 * error3
    return 0.0 if combined == 0.0 else h * error5 / sqrt(combined * n)


@routine
def fit_dense_output(s: Stages, h: float) -> None:
    """Compute the polynomial of the dense output of a step of length h (s)."""
    n = s.n
    F = s.polynomial
    k = s.k
    for i in each(n):
        delta = s.new[i] - s.y[i]
        F[i] = delta
        F[n + i] = h * k[i] - delta
        F[2 * n + i] = 2.0 * delta - h * (k[END_STAGE * s.row + i] + k[i])
        for m in range(4):
            total = 0.0
            for j in range(STAGE_COUNT):
                total += s.method[DENSE_OFFSET + m * STAGE_COUNT + j] * k[j * s.row + i]
            F[(3 + m) * n + i] = h * total


@routine
def evaluate_dense_output(s: Stages, z: float, into: Floats) -> None:
    """Compute the state at the fraction z (0 to 1) of a step from the dense output."""
    for i in each(s.n):
        value = 0.0
        for m in range(7):
            value += s.polynomial[(6 - m) * s.n + i]
            value *= z if m % 2 == 0 else 1.0 - z
        into[i] = s.y[i] + value


@routine
def step_reduction(error: float) -> float:
    """Return the factor (below 1) by which a rejected step with relative error `error` is shortened."""
    return max(0.2, 0.9 * error ** (-1.0 / 8.0)) if isfinite(error) else 0.1


@routine
def step_growth(error: float) -> float:
    """Return the ratio of the next step length to that of an accepted step with relative error `error`."""
    return 10.0 if error == 0.0 else min(10.0, max(0.2, 0.9 * error ** (-1.0 / 8.0)))


@routine
def try_step(p: Workspace, s: Stages, last: float, t: float, h: float) -> float:
    """Compute the state after a step of length h (s); return its error relative to the tolerances."""
    sum_previous_rates(s, 1)
    for stage in range(1, END_STAGE):
        add_latest_rate(s, stage, h, p.x[1:])
        sum_previous_rates(s, stage + 1)  # overlaps with the evaluation of the rates
        evaluate_rates(p, min(t + s.method[NODE_OFFSET + stage] * h, last), s.k[stage * s.row :])
    add_latest_rate(s, END_STAGE, h, p.x[1:])
    s.new[: s.n] = p.x[1 : 1 + s.n]
    return error_norm(s, h, END_STAGE)


@routine
def store_samples(p: Workspace, s: Stages, g: Sampling, t: float, h: float, end: float) -> float:
    """Store the samples and dense-output nodes inside the step from t to `end` (s).

    Return the valid fraction of the step: 1, or the fraction before a fall.
    """
    count = int(g.clock[CLOCK_SAMPLE_COUNT])
    has_sample = 1 if count < g.points and g.grid[count] < end else 0
    if has_sample + g.dense + p.watched == 0:
        return 1.0
    evaluate_rates(
        p, min(t + h, g.last), s.k[END_STAGE * s.row :]
    )  # x still contains the state at the end of the step
    for stage in range(FIRST_DENSE_STAGE, STAGE_COUNT):
        compute_stage_state(s, stage, h, p.x[1:])
        evaluate_rates(p, min(t + s.method[NODE_OFFSET + stage] * h, g.last), s.k[stage * s.row :])
    fit_dense_output(s, h)
    fraction = find_fall(p, s, g) if p.watched > 0 else 1.0
    stop = end if fraction == 1.0 else t + fraction * h
    if g.dense == 1:
        store_nodes(s, g, t, fraction * h, fraction, stop)
    while count < g.points and g.grid[count] < stop:
        evaluate_dense_output(s, (g.grid[count] - t) / h, g.samples[count * s.n :])
        count += 1
    g.clock[CLOCK_SAMPLE_COUNT] = count
    g.clock[CLOCK_END_UNPROJECTED] = count
    return fraction


@routine
def store_nodes(s: Stages, g: Sampling, t: float, h: float, fraction: float, stop: float) -> None:
    """Store the dense output of the first `fraction` of a step; h is the length (s) of this part.

    The last node is at `stop` (s), or just before the end of the interval, where inputs may jump.
    """
    first = int(g.clock[CLOCK_NODE_COUNT])
    for i in range(DENSE_NODE_COUNT):
        evaluate_dense_output(s, fraction * g.places[i], g.nodes[(first + i) * s.n :])
        g.times[first + i] = t + g.places[i] * h
    g.times[first + DENSE_NODE_COUNT - 1] = min(stop, g.last)
    g.clock[CLOCK_NODE_COUNT] += float(DENSE_NODE_COUNT)


@routine
def fall_margin_at(p: Workspace, s: Stages, g: Sampling, z: float) -> float:
    """Return the margin to a fall (negative after the fall) at the fraction z (0 to 1) of a step."""
    evaluate_dense_output(s, z, p.x[1:])
    fall_margins(p, p.x[1:], g.margins)
    return g.margins[0]


@routine
def find_fall(p: Workspace, s: Stages, g: Sampling) -> float:
    """Return the fraction of a step before a fall, by bisection on the dense output; 1 if there is no fall.

    A system falls if it is beyond the limit at a node, and further beyond it than at the start of the step.
    """
    begin = fall_margin_at(p, s, g, 0.0)
    low = 0.0
    high = 2.0
    for i in range(1, DENSE_NODE_COUNT):
        margin = fall_margin_at(p, s, g, g.places[i])
        if margin < 0.0 and margin < begin:
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
        if fall_margin_at(p, s, g, middle) < 0.0:
            high = middle
        else:
            low = middle
    return high


@routine
def start_sampling(p: Workspace, g: Sampling) -> int:
    """Store the samples at the start and evaluate the first rates; return 1 if these are invalid, else 0."""
    t = g.clock[CLOCK_TIME]
    count = int(g.clock[CLOCK_SAMPLE_COUNT])
    while count < g.points and g.grid[count] <= t:
        g.samples[count * p.n :][: p.n] = p.y[: p.n]
        count += 1
    g.clock[CLOCK_SAMPLE_COUNT] = count
    g.clock[CLOCK_FIRST_UNPROJECTED] = count
    g.clock[CLOCK_END_UNPROJECTED] = count
    p.x[1 : 1 + p.n] = p.y[: p.n]
    evaluate_rates(p, t, p.k)
    return check_rates(p, p.k)


@routine
def take_steps(p: Workspace, s: Stages, g: Sampling, first: int, limit: int) -> int:
    """Try up to `limit` steps; return 1 at the end of the interval or of the run, 0 if more steps follow."""
    if first == 1 and start_sampling(p, g) > 0:
        return 1
    for _ in range(limit):
        t = g.clock[CLOCK_TIME]
        h = g.clock[CLOCK_NEXT_STEP]
        if not t < g.end:
            return 1
        if h < 1e-14 * max(abs(t), 1.0):
            p.wrong[0] = STEP_BELOW_LIMIT
            return 1
        # A remainder at the level of rounding is added to the last step.
        final = 1 if t + h >= g.end - 1e-14 * max(abs(g.end), 1.0) else 0
        h = g.end - t if final == 1 else h
        error = try_step(p, s, g.last, t, h)
        if not error < 1.0:
            evaluate_rates(p, min(t + h, g.last), s.k[END_STAGE * s.row :])
            g.clock[CLOCK_NEXT_STEP] = h * step_reduction(error_norm(s, h, FIRST_DENSE_STAGE))
            continue
        end = g.end if final == 1 else t + h
        count_before = g.clock[CLOCK_SAMPLE_COUNT]
        nodes_before = g.clock[CLOCK_NODE_COUNT]
        fraction = store_samples(p, s, g, t, h, end)
        if fraction < 1.0:
            return end_fallen(p, s, g, t + fraction * h, fraction)
        p.x[1 : 1 + s.n] = s.new[: s.n]
        if project_and_mark_fallen(p, end) > 0:
            if p.wrong[0] == MACHINE_FELL:
                # A wheel fell flat within the step: discard the samples of this step, and end the run at
                # its start.
                g.clock[CLOCK_SAMPLE_COUNT] = count_before
                g.clock[CLOCK_NODE_COUNT] = nodes_before
                g.clock[CLOCK_END_UNPROJECTED] = count_before
            return 1
        g.clock[CLOCK_TIME] = end
        s.y[: s.n] = p.x[1 : 1 + s.n]
        if final == 1 and g.clock[CLOCK_SAMPLE_COUNT] < g.points:
            g.samples[int(g.clock[CLOCK_SAMPLE_COUNT]) * s.n :][: s.n] = s.y[: s.n]
            g.clock[CLOCK_SAMPLE_COUNT] += 1.0
        evaluate_rates(p, min(end, g.last), s.k)
        if check_rates(p, s.k) > 0:
            return 1
        g.clock[CLOCK_NEXT_STEP] = h * step_growth(error)
    return 0


@routine
def end_fallen(p: Workspace, s: Stages, g: Sampling, t: float, fraction: float) -> int:
    """End the run at a fall at time t (s), the given fraction of the step; write the state there to y."""
    evaluate_dense_output(s, fraction, p.x[1:])
    p.x[0] = t
    project_lanes(p)
    s.y[: s.n] = p.x[1 : 1 + s.n]
    g.clock[CLOCK_TIME] = t
    p.wrong[0] = MACHINE_FELL
    return 1


@routine
def project_samples(p: Workspace, g: Sampling, first: int, end: int) -> None:
    """Project the samples from index `first` to `end` onto closed contacts, one sample per SIMD lane."""
    c = p.lanes
    n = p.n
    i = first
    while i < end:
        for j in range(c):
            index = min(i + j, end - 1)
            p.x[j] = g.grid[index]
            p.x[c + j :: c][:n] = g.samples[index * n :][:n]
        project_lanes(p)
        for j in range(min(c, end - i)):
            g.samples[(i + j) * n :][: p.pose] = p.x[c + j :: c][: p.pose]
        i += c


def advance(problem: Problem, y: Floats, span: Span, tick: Tick | None = None) -> IntegrationResult:
    """Integrate y over the interval `span` with adaptive steps.

    Return the sample times (s), the samples (times, n) and the status. If the integration stops early, the
    state after the last valid step (or at the fall) is an additional sample.
    """
    n = len(y)
    points = len(span.grid)
    p = problem.workspace(n, STAGE_COUNT, DOP853_COEFFICIENTS)
    w: Workspace = p.record
    w.y[:] = y
    if (span.rtol, span.atol) not in p.others:
        p.others[span.rtol, span.atol] = make_stages(w.y, w.k, w.row, span.rtol, span.atol)
    s = p.others[span.rtol, span.atol]
    samples = np.empty((points, n))
    clock = np.zeros(CLOCK_SIZE)
    clock[CLOCK_TIME] = span.start
    clock[CLOCK_NEXT_STEP] = min(FIRST_STEP_LENGTH, span.end - span.start)
    buffered = 0 if span.dense is None else DENSE_NODE_COUNT * min(BUFFERED_STEPS, problem.chunk)
    g = Packed(
        Sampling(
            end=span.end,
            last=span.last,
            points=points,
            grid=span.grid,
            samples=samples.ravel(),
            clock=clock,
            dense=int(buffered > 0),
            places=DENSE_NODE_POSITIONS,
            times=np.empty(buffered),
            nodes=np.empty(buffered * n),
            margins=np.zeros(1),
        )
    )
    status = _take_steps(p, s, g, problem.chunk, span.dense, tick)
    done = int(clock[CLOCK_SAMPLE_COUNT])
    first_raw = int(clock[CLOCK_FIRST_UNPROJECTED])
    end_raw = int(clock[CLOCK_END_UNPROJECTED])
    if problem.project is not None and first_raw < end_raw:
        wide = problem.side_by_side.workspace(n, 1, DOP853_COEFFICIENTS)
        routine_code(project_samples, width=lanes())[0](wide, g, first_raw, end_raw)
        problem.side_by_side.give_back(wide)
    times = span.grid[:done]
    samples = samples[:done]
    if status in (DEGENERATE_PIVOT, STEP_BELOW_LIMIT, INTERRUPTED, ENDLESS, MACHINE_FELL):
        times = np.append(times, clock[CLOCK_TIME])
        samples = np.vstack([samples, w.y])
    problem.give_back(p)
    return times, samples, status


def _take_steps(
    p: Packed,
    s: Packed,
    g: Packed,
    chunk: int,
    dense_output: list[tuple[Floats, Floats]] | None,
    tick: Tick | None,
) -> int:
    """Take all steps of an interval in native calls of at most `chunk` steps; return the status code.

    The dense output of each call is appended to `dense_output`; `tick` receives the present time (s).
    """
    (take_native_steps,) = routine_code(take_steps, width=VECTOR_WIDTH, known=SINGLE_LANE)
    clock = g.record.clock
    end = g.record.end
    limit = chunk if dense_output is None else min(BUFFERED_STEPS, chunk)
    before = float(clock[CLOCK_TIME])
    tried = 0
    first = 1
    try:
        while not take_native_steps(p, s, g, first, limit):
            first = 0
            tried += limit
            _append_nodes(g.record, dense_output)
            if tried < chunk:
                continue
            if MAX_REMAINING_CALLS * (clock[CLOCK_TIME] - before) < end - clock[CLOCK_TIME]:
                return ENDLESS
            tried = 0
            before = float(clock[CLOCK_TIME])
            if tick is not None:
                tick(before)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _append_nodes(g.record, dense_output)
    return int(p.record.wrong[0])


def _append_nodes(g: Sampling, dense_output: list[tuple[Floats, Floats]] | None) -> None:
    """Append the buffered nodes to the dense output, and clear the buffer."""
    count = int(g.clock[CLOCK_NODE_COUNT])
    if dense_output is None or not count:
        return
    n = len(g.nodes) // len(g.times)
    states = g.nodes[: count * n].reshape(-1, DENSE_NODE_COUNT, n)
    dense_output.append((g.times[:count].reshape(-1, DENSE_NODE_COUNT).copy(), states.copy()))
    g.clock[CLOCK_NODE_COUNT] = 0.0
