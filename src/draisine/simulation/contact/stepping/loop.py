"""The loop of the time steps of an arc, as routines: its start, and steps with searches of the contacts near
the wheels, choices of their length and samples.

`advance_steps` returns to its caller if the contacts are settled, so that event location may resume, if
Python has to load another region of the ground or to enlarge a record, and if the run ends.
"""

from math import isfinite
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import routine
from draisine.simulation.contact.kernels import ContactMode, put_state
from draisine.simulation.contact.nearby.search import (
    GroundTable,
    NearbyContacts,
    SearchResult,
    locate_centres,
)
from draisine.simulation.contact.stepping.grid import (
    ADAPT_STEPS,
    StepSamples,
    adapt_step,
    begin_grid,
    can_store_samples,
    take_grid_steps,
)
from draisine.simulation.contact.stepping.search import search_for_steps
from draisine.simulation.contact.stepping.step import StepResult, TimeStepping
from draisine.simulation.contact.stepping.switch import SolverChoice, Switch, has_stepped_conflict


class StepLoop(NamedTuple):
    """Records of a run for its arcs in time steps."""

    steps: TimeStepping
    samples: StepSamples  # samples of the present arc
    method: Switch  # the grid of the time steps, and data for changing the method
    mode: ContactMode  # scratch: contact mode of the loaded contacts
    near: NearbyContacts  # contacts near the wheels
    ground: GroundTable  # ground features around the wheels


@routine
def begin_steps(s: StepLoop, t: float, y: Floats, h: float) -> None:
    """Begin an arc in time steps of length h (s) at time t (s) and state y, with its first sample. The caller
    searches the contacts near the wheels next.
    """
    w = s.method
    g = s.method.grid
    steps = s.steps
    samples = s.samples
    n = steps.motion.y_z + steps.motion.states
    w.is_stepping = True
    w.is_settled = False
    g.block = 0
    g.error = 0.0
    g.largest = 0.0
    begin_grid(g, t, h)
    steps.y[:n] = y[:n]
    steps.before[:n] = y[:n]
    steps.middle[:n] = y[:n]
    steps.has_trend = False
    steps.trend[: steps.motion.speeds] = 0.0
    steps.error = 0.0
    steps.travel = 0.0
    steps.settled = 0
    steps.required = w.required if w.solver is SolverChoice.AUTO else 0
    steps.warmed_count = 0
    steps.loaded_count = 0
    steps.kept_count = -1
    steps.blocked = -1
    steps.accepts_blocked = False
    steps.airborne[: steps.wheels.size] = 0.0
    put_state(steps.x, t, y, n)
    locate_centres(steps.motion, steps.x, steps.wheels, g.row, s.near.begin)
    for wheel in range(steps.wheels.size):
        for j in range(3):
            steps.centre[wheel, j] = s.near.begin[3 * wheel + j]
            steps.box[6 * wheel + j] = s.near.begin[3 * wheel + j]
            steps.box[6 * wheel + 3 + j] = s.near.begin[3 * wheel + j]
    samples.begin = t
    samples.count = 0
    samples.sums[: samples.size] = 0.0
    samples.before[: samples.size] = 0.0
    if isfinite(samples.dt):
        samples.number = int((t - samples.first) / samples.dt + 1e-9) + 1
        samples.count = 1
        samples.times[0] = t
        samples.states[0, :n] = y[:n]
        samples.totals[0, : samples.size] = 0.0


@routine
def change_step_inputs(s: StepLoop, t: float, y: Floats) -> None:
    """Continue from state y at time t (s) within the last step, after a jump of the inputs."""
    n = s.steps.motion.y_z + s.steps.motion.states
    s.steps.y[:n] = y[:n]
    s.samples.begin = t
    begin_grid(s.method.grid, t, s.method.grid.h)


@routine
def advance_steps(s: StepLoop, until: float, most: int) -> StepResult:
    """Take time steps until time `until` (s), at most `most` of them, and store their samples; return
    ADVANCED, or the reason why the loop stopped before. `TimeStepping.steps` is the number of steps taken.
    """
    g = s.method.grid
    steps = s.steps
    taken = 0
    result = StepResult.ADVANCED
    while result is StepResult.ADVANCED and taken < most and g.time < until:
        # After a search in Python the length of the steps may have to be chosen first.
        if g.block < ADAPT_STEPS:
            result = take_valid_steps(s, until, most - taken)
            taken += steps.steps
        if result is StepResult.STRAINED:
            has_conflict = has_stepped_conflict(s.mode, s.near.features, steps, s.method, g.time)
            result = StepResult.OVER_CONSTRAINED if has_conflict else StepResult.ADVANCED
        if g.block >= ADAPT_STEPS and not is_interrupted(result) and adapt_step(g, steps):
            result = StepResult.TOO_FAST
    s.method.is_settled = result is StepResult.SETTLED
    steps.steps = taken
    return result


@routine
def is_interrupted(result: StepResult) -> bool:
    """Return whether Python has to act before the steps go on, or the run ends."""
    is_stopped = result is StepResult.NOT_FINITE or result is StepResult.SINGULAR_MASS
    is_refused = result is StepResult.OVER_CONSTRAINED
    is_full = result is StepResult.TOO_MANY_CONTACTS or result is StepResult.SAMPLES_FULL
    is_blocked = result is StepResult.LEFT_SURROUNDINGS or result is StepResult.INFEASIBLE
    return is_stopped or is_refused or is_full or is_blocked


@routine
def take_valid_steps(s: StepLoop, until: float, most: int) -> StepResult:
    """Take time steps of one length while the contacts near the wheels are known. On moving ground these are
    known for a limited time; a search of large moving ground needs Python.
    """
    g = s.method.grid
    steps = s.steps
    steps.steps = 0
    count = most
    if isfinite(s.near.until):
        if g.time + g.h > s.near.until:
            return StepResult.LEFT_SURROUNDINGS
        count = min(count, max(1, int((s.near.until - g.time) / g.h)))
    if not can_store_samples(g, s.samples, min(count, ADAPT_STEPS)):
        return StepResult.SAMPLES_FULL
    result = take_grid_steps(g, steps, s.samples, until, count)
    if result is not StepResult.LEFT_SURROUNDINGS or not is_searchable(s.ground):
        return result
    is_found = search_for_steps(s.near, s.ground, steps, True) is SearchResult.FOUND
    return StepResult.ADVANCED if is_found else result


@routine
def is_searchable(g: GroundTable) -> bool:
    """Return whether the table of the ground is valid at any time, so that no search needs Python first."""
    return not g.moves or not isfinite(g.margin)
