"""The grid of the time steps of a run: its spacing, the steps on it, and their samples, as routines.

Steps lie on a grid, t + i h, so that a run does not depend on the division of time into calls. A new grid
begins if the length of the steps changes, and after a shorter step at the end of a run.

Length of the steps, unless `ContactOptions.step` fixes it:

1. `choose_first_step`: the longest step in which no wheel moves further than `MAX_TRAVEL_RATIO`.
2. `adapt_step`, every `ADAPT_STEPS` steps and after a step in which a wheel moves further than
   `ABRUPT_TRAVEL_RATIO`: halve or double the length by the position error and by the displacement of the
   wheels. The position error is proportional to the unpredicted change of the speeds per step, and is
   averaged over `ERROR_MEMORY_RATIO`. The average is converted to the new length.
"""

import math
from math import isfinite, sqrt

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Matrix, Record, call, routine
from draisine.simulation.contact.complementarity.linear import dot
from draisine.simulation.contact.kernels import ContactColumns, Dynamics, evaluate_gap, put_state
from draisine.simulation.contact.stepping.step import StepResult, TimeStepping, take_time_steps

LONGEST_STEP_RATIO = 0.016
"""Length of the longest time step, as a fraction of sqrt(wheel size / g): 0.9 ms for a wheel of 33 mm, 3 ms
for 350 mm.
"""
SPEED_INTERVAL_RATIO = 1e-3
"""Time increment of the difference quotient for wheel speeds, as a fraction of sqrt(wheel size / g). It is
long enough that rounding errors are 1e-13 of the speed, not 1e-10.
"""
MAX_TRAVEL_RATIO = 0.01
"""Largest displacement of a wheel in one time step, as a fraction of the wheel size."""
POSITION_ERROR_RATIO = 1e-3
"""Largest growth of the estimated position error, in wheel sizes per time sqrt(wheel size / g)."""
ERROR_MEMORY_RATIO = 20.0
"""Time constant over which the position error is averaged, in units of sqrt(wheel size / g); long enough to
average single impacts.
"""
ERROR_MARGIN = 8.0
"""Ratio of the allowed to the estimated position error above which the time step is doubled."""
ADAPT_STEPS = 32
"""Largest number of time steps between two adaptations of the step length."""
ABRUPT_TRAVEL_RATIO = 5.0 * MAX_TRAVEL_RATIO
"""Displacement of a wheel in one time step, as a fraction of the wheel size, after which the step length is
adapted at once. An unstable control law can multiply the speed of a wheel in the air by five per step, so
that `ADAPT_STEPS` such steps exceed all numbers.
"""
SHORTEST_RATIO = 1 / 64
"""Ratio of the shortest to the longest time step."""
SHORTEST_REMAINDER_RATIO = 0.01
"""Length of the shortest last step of a run, as a fraction of a regular step; a shorter remainder lengthens
the step before it.
"""
EULER = 2.718281828459045  # base of the exponential function

UNBOUNDED = float("inf")  # s, length of a step that neither gravity nor speeds bound

UNLIMITED_TRAVEL = float("inf")  # m, displacement of a wheel in steps that cannot be shortened

UNBOUNDED_STEP = 1.0  # s, length of a time step if neither gravity nor speeds bound it


class StepGrid(Record):
    """The grid of the time steps of a run, and the data that determine its spacing.

    Sizes: n entries of a state, w wheels.
    """

    given_step: float  # s, requested length of the steps; 0 if it is adapted
    wheel_size: float  # m, radius of the largest wheel
    time_unit: float  # s, sqrt(wheel size / g); infinite without gravity
    time: float = 0.0  # s, present time
    start: float = 0.0  # s, start of the grid
    index: int = 0  # number of steps since the start of the grid
    h: float = 0.0  # s, spacing of the grid
    largest: float = 0.0  # s, largest spacing of all grids
    span: float = 0.0  # s, length of the last step
    block: int = 0  # number of steps since their length was chosen
    error: float = 0.0  # m, mean position error over ERROR_MEMORY_RATIO

    # Scratch
    later: Floats  # (n) extrapolated state
    centres: Floats  # (3 w) m, wheel centres
    row: Floats  # one contact row
    out: Floats  # output of the system's program


# --- length of a step


@routine
def longest_step(g: StepGrid) -> float:
    """Return the length (s) of the longest time step: the requested one, or `LONGEST_STEP_RATIO` times the
    time unit.
    """
    return g.given_step if g.given_step > 0.0 else LONGEST_STEP_RATIO * g.time_unit


@routine
def choose_first_step(
    g: StepGrid, m: Dynamics, wheels: ContactColumns, x: Floats, t: float, y: Floats
) -> float:
    """Return the length of the first time step (s) from state y at time t (s): the requested one, or the
    longest in which no wheel moves further than `MAX_TRAVEL_RATIO` wheel sizes. Afterwards x contains t and
    y.
    """
    n = m.y_z + m.states
    put_state(x, t, y, n)
    if g.given_step > 0.0:
        return g.given_step
    unit = min(g.time_unit, 1.0)
    moment = SPEED_INTERVAL_RATIO * unit
    call(m.call, x, m.table, g.out, 1)
    for w in range(wheels.size):
        evaluate_gap(x, wheels, w, g.row)
        g.centres[3 * w :][:3] = g.row[m.centre :][:3]
    g.later[:n] = y[:n]
    g.later[: m.y_v] += moment * g.out[m.flow :][: m.y_v]
    if m.turns > 0:
        length = sqrt(dot(g.later, g.later, 4))
        g.later[:4] /= length
    put_state(x, t, g.later, n)
    fastest = 0.0
    for w in range(wheels.size):
        evaluate_gap(x, wheels, w, g.row)
        moved = 0.0
        for j in range(3):
            shift = g.row[m.centre + j] - g.centres[3 * w + j]
            moved += shift * shift
        fastest = max(fastest, sqrt(moved) / moment)
    put_state(x, t, y, n)
    by_speed = MAX_TRAVEL_RATIO * g.wheel_size / fastest if fastest > 0.0 else UNBOUNDED
    # A massless foot may move arbitrarily fast: steps adapted to it would become arbitrarily short.
    shortest = SHORTEST_RATIO * LONGEST_STEP_RATIO * unit
    step = max(min(longest_step(g), by_speed), shortest)
    return step if isfinite(step) else UNBOUNDED_STEP


@routine
def begin_grid(g: StepGrid, t: float, h: float) -> None:
    """Begin a new grid of time steps of length h (s) at time t (s)."""
    g.time = t
    g.start = t
    g.index = 0
    g.h = h
    g.largest = max(h, g.largest)


@routine
def adapt_step(g: StepGrid, s: TimeStepping) -> bool:
    """Choose the length of the next time steps by the position error of the latest steps and by the distance
    that wheels moved in a step; return whether a wheel is too fast for the shortest step.
    """
    # exp(-x) as a power of e, because compiled routines have no exponential function.
    g.error = g.error * EULER ** (-ADAPT_STEPS * g.h / (ERROR_MEMORY_RATIO * g.time_unit)) + s.error
    far = s.travel / (MAX_TRAVEL_RATIO * g.wheel_size)
    s.error = 0.0
    s.travel = 0.0
    g.block = 0
    if g.given_step > 0.0 or not isfinite(g.time_unit):
        return False
    used = g.error / (POSITION_ERROR_RATIO * g.wheel_size * ERROR_MEMORY_RATIO)
    longest = longest_step(g)
    if far > 1.0 / MAX_TRAVEL_RATIO and g.h <= SHORTEST_RATIO * longest:
        return True
    # Unpredicted changes of speed contribute to the error in proportion to the step. With the error of the
    # long steps before, a single transient would halve the steps again and again.
    if (used > 1.0 or far > 1.5) and g.h > SHORTEST_RATIO * longest:
        begin_grid(g, g.time, 0.5 * g.h)
        g.error *= 0.5
    elif used < 1.0 / ERROR_MARGIN and far < 0.5 and 2.0 * g.h <= longest * (1.0 + 1e-9):
        begin_grid(g, g.time, 2.0 * g.h)
        g.error *= 2.0
    return False


# --- steps and their samples


class StepSamples(Record):
    """Samples of a time-stepping arc at the times first + i dt, and data of its last step. States between two
    steps are interpolated.

    Sizes: k accumulated sums (impulses and work), n entries of a state, w wheels and joints.
    """

    first: float = 0.0  # s, time of sample 0
    dt: float = math.inf  # s, sample interval; infinite for no samples (only the last step is kept)
    number: int = 1  # index i of the next sample
    count: int = 0  # number of stored samples
    begin: float = 0.0  # s, start of the last step
    sums: Floats  # (k) impulses (N s) and work (J) up to now
    before: Floats  # (k) impulses (N s) and work (J) up to the start of the last step
    times: Floats  # (samples) s, sample times
    states: Matrix  # (samples, n) sampled states y
    totals: Matrix  # (samples, k) impulses (N s) and work (J) up to each sample
    energies: Matrix  # (samples, w) J, energy stored in tyres
    size: int  # number k of sums
    capacity: int  # number of samples that the arrays can store


@routine
def interpolate_state(s: TimeStepping, ratio: float, into: Floats) -> None:
    """Write the state at the fraction `ratio` (0 start, 1 end) of the last time step to `into`."""
    n = s.motion.y_z + s.motion.states
    into[:n] = (1.0 - ratio) * s.before[:n] + ratio * s.y[:n]
    length = sqrt(dot(into, into, 4))
    into[:4] /= length


@routine
def keep_samples(s: TimeStepping, r: StepSamples, end: float) -> None:
    """Store the samples that are due within the last step, which ends at time `end` (s)."""
    n = s.motion.y_z + s.motion.states
    due = r.first + r.number * r.dt
    while due <= end * (1.0 + 1e-14) + 1e-300:
        due = min(due, end)
        ratio = (due - r.begin) / (end - r.begin)
        if due < end:
            interpolate_state(s, 1.0 - (end - due) / (end - r.begin), r.states[r.count])
        else:
            r.states[r.count, :n] = s.y[:n]
        r.times[r.count] = due
        r.totals[r.count, : r.size] = r.before[: r.size]
        r.totals[r.count, : r.size] += ratio * (r.sums[: r.size] - r.before[: r.size])
        r.energies[r.count, : s.wheels.size] = s.tyre_energy[: s.wheels.size]
        r.count += 1
        r.number += 1
        due = r.first + r.number * r.dt


@routine
def can_store_samples(g: StepGrid, r: StepSamples, steps: int) -> bool:
    """Return whether the samples of the next `steps` time steps can be stored."""
    if not isfinite(r.dt):
        return True
    # The last step may be longer than a regular one, because it includes a short remainder.
    span = (1.0 + SHORTEST_REMAINDER_RATIO) * g.h
    return r.count + int(steps * (span / r.dt + 1.0)) + 1 <= r.capacity


@routine
def abrupt_travel(g: StepGrid) -> float:
    """Return the displacement of a wheel in one step (m) after which the step length is adapted at once;
    infinite if steps cannot be shortened.
    """
    is_adapted = g.given_step == 0.0 and isfinite(g.time_unit)
    if is_adapted and g.h > SHORTEST_RATIO * longest_step(g):
        return ABRUPT_TRAVEL_RATIO * g.wheel_size
    return UNLIMITED_TRAVEL


@routine
def take_sampled_steps(
    s: TimeStepping,
    r: StepSamples,
    start: float,
    h: float,
    first: int,
    count: int,
    travel_limit: float,
) -> StepResult:
    """Take `count` time steps like `take_time_steps`, or fewer if a wheel moves further than `travel_limit`
    (m) in a step, and store samples.
    """
    taken = 0
    result = StepResult.ADVANCED
    while result is StepResult.ADVANCED and taken < count and s.travel <= travel_limit:
        if isfinite(r.dt):
            r.before[: r.size] = r.sums[: r.size]
        else:
            r.sums[: r.size] = 0.0
        result = take_time_steps(s, start, h, first + taken, 1)
        if s.steps > 0:
            r.begin = start + (first + taken) * h
            taken += 1
            keep_samples(s, r, start + (first + taken) * h)
    s.steps = taken
    return result


@routine
def take_grid_steps(
    g: StepGrid, s: TimeStepping, r: StepSamples, until: float, most: int
) -> StepResult:
    """Take the next time steps of a grid, at most `most` of them, until time `until` (s) or until their
    length has to be chosen again, and store their samples. `TimeStepping.steps` is the number of steps taken.
    """
    # Steps that end within rounding of `until` count as regular steps of the grid.
    steps = int((until - g.start) / g.h * (1.0 + 1e-14) + 1e-9) - g.index
    # A very short last step would turn gaps of rounding size into large speeds (gap / h): merge it
    # with the step before.
    rest = until - (g.start + (g.index + steps) * g.h)
    if steps > 0 and rest > 0.0 and rest < SHORTEST_REMAINDER_RATIO * g.h:
        steps -= 1
    if steps > 0:
        count = min(min(steps, most), ADAPT_STEPS - g.block)
        limit = abrupt_travel(g)
        result = take_sampled_steps(s, r, g.start, g.h, g.index, count, limit)
        g.span = g.h
        g.index += s.steps
        g.time = g.start + g.index * g.h
    else:
        h = until - g.time
        result = take_sampled_steps(s, r, g.time, h, 0, 1, UNLIMITED_TRAVEL)
        g.span = h
        begin_grid(g, g.time + s.steps * h, g.h)
    g.block = ADAPT_STEPS if s.travel > abrupt_travel(g) else g.block + s.steps
    return result
