"""Time stepping of a run without Python: its start and its samples.

`stepping.grid` takes the steps and chooses their length; `stepping.switch` decides about the changes between
event location and time stepping.
"""

from enum import IntEnum

from draisine.codegen.routine import routine
from draisine.simulation.contact.event_driven.run_loop import RunLoop
from draisine.simulation.contact.kernels import put_state
from draisine.simulation.contact.nearby.search import SearchResult, locate_centres
from draisine.simulation.contact.stepping.grid import (
    ADAPT_STEPS,
    StepSamples,
    begin_grid,
    take_grid_steps,
)
from draisine.simulation.contact.stepping.search import search_for_steps
from draisine.simulation.contact.stepping.step import StepResult, TimeStepping
from draisine.simulation.contact.stepping.switch import SolverChoice, Switch


class StepFailure(IntEnum):
    """Reasons why a run ends during time stepping; their values follow those of `RunStatus`."""

    OVER_CONSTRAINED = 19  # ideal contacts over-constrain the system
    INFEASIBLE = 20  # a prescribed motion pushes a contact into the ground
    NOT_FINITE = 21
    SINGULAR_MASS = 22
    TOO_FAST = 23  # a wheel moves by more than its size in the shortest step


# --- time steps


@routine
def begin_steps(r: RunLoop, s: TimeStepping, samples: StepSamples, w: Switch, h: float) -> bool:
    """Begin time stepping with steps of length h (s) at the present state; return whether the table of
    contacts has room for those near the wheels.
    """
    arc = r.arc
    n = arc.stages.n
    t = arc.clock.time
    w.is_stepping = True
    w.is_settled = False
    w.grid.block = 0
    w.grid.error = 0.0
    begin_grid(w.grid, t, h)
    s.y[:n] = arc.stages.y[:n]
    s.before[:n] = arc.stages.y[:n]
    s.middle[:n] = arc.stages.y[:n]
    s.has_trend = False
    s.trend[: s.motion.speeds] = 0.0
    s.error = 0.0
    s.travel = 0.0
    s.settled = 0
    s.required = w.required if w.solver is SolverChoice.AUTO else 0
    s.warmed_count = 0
    s.loaded_count = 0
    s.kept_count = -1
    s.blocked = -1
    s.accepts_blocked = False
    s.airborne[: s.wheels.size] = 0.0
    put_state(arc.mode.x, t, arc.stages.y, n)
    locate_centres(arc.mode.motion, arc.mode.x, arc.wheels, arc.rows, r.near.begin)
    for wheel in range(s.wheels.size):
        for j in range(3):
            s.centre[wheel, j] = r.near.begin[3 * wheel + j]
            s.box[6 * wheel + j] = r.near.begin[3 * wheel + j]
            s.box[6 * wheel + 3 + j] = r.near.begin[3 * wheel + j]
    samples.count = 0
    samples.begin = t
    samples.number = int((t - samples.first) / samples.dt + 1e-9) + 1
    # The present state is the first sample of the trajectory arc.
    arc.times[arc.clock.samples] = t
    arc.samples[arc.clock.samples * n :][:n] = s.y[:n]
    arc.clock.samples += 1
    arc.clock.latest_sample = t
    return search_for_steps(r.near, r.ground, s, False) is SearchResult.FOUND


@routine
def advance_grid(
    r: RunLoop, s: TimeStepping, samples: StepSamples, w: Switch, until: float
) -> StepResult:
    """Take the next time steps of the grid, at most until time `until` (s), and store their samples."""
    arc = r.arc
    n = arc.stages.n
    result = take_grid_steps(w.grid, s, samples, until, ADAPT_STEPS)
    for i in range(samples.count):
        arc.times[arc.clock.samples] = samples.times[i]
        arc.samples[arc.clock.samples * n :][:n] = samples.states[i][:n]
        arc.clock.samples += 1
        arc.clock.latest_sample = samples.times[i]
    samples.count = 0
    arc.clock.time = w.grid.time
    arc.stages.y[:n] = s.y[:n]
    w.is_settled = result is StepResult.SETTLED
    return result
