"""Time stepping of a run without Python: its start, its contacts near the wheels, and its samples.

`stepping.grid` takes the steps and chooses their length; `stepping.switch` decides about the changes between
event location and time stepping.
"""

from enum import IntEnum

from draisine.codegen.routine import routine
from draisine.simulation.contact.event_driven.run_loop import RunLoop
from draisine.simulation.contact.kernels import put_state
from draisine.simulation.contact.standalone.ground import (
    GroundTable,
    fill_slots,
    find_slot,
    keep_contact,
    locate_centres,
    widen_boxes,
)
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.stepping.grid import (
    ADAPT_STEPS,
    StepSamples,
    begin_grid,
    take_grid_steps,
)
from draisine.simulation.contact.stepping.step import StepResult, TimeStepping
from draisine.simulation.contact.stepping.switch import SolverChoice, Switch

UNLIMITED_FRICTION = float("inf")  # friction coefficient of a tyre without longitudinal slip


class StepFailure(IntEnum):
    """Reasons why a run ends during time stepping; their values follow those of `RunStatus`."""

    OVER_CONSTRAINED = 19  # ideal contacts over-constrain the system
    INFEASIBLE = 20  # a prescribed motion pushes a contact into the ground
    NOT_FINITE = 21
    SINGULAR_MASS = 22
    TOO_FAST = 23  # a wheel moves by more than its size in the shortest step


# --- contacts near the wheels


@routine
def follow_slots(r: RunLoop, g: GroundTable, s: TimeStepping) -> None:
    """Write status and friction coefficient of each slot into the record of time stepping, and clear the
    impulses of earlier steps.
    """
    for k in range(g.slots):
        wheel = r.arc.mode.contacts.wheels[k]
        s.tyred[k] = wheel < g.wheels and r.features[k] >= 0 and g.tyres[min(wheel, g.wheels)] >= 0
        s.closed_status[k] = r.event.closed_status[k]
        s.mu[k] = r.event.mu[k]
        if s.tyred[k]:
            # A tyre without longitudinal slip (two constraint rows) has no friction limit along.
            s.mu[k] = UNLIMITED_FRICTION if s.closed_status[k] == Status.TRACKING_TYRE else 0.0
        s.carried[k] = s.motion.share
        for j in range(3):
            s.warm[k, j] = 0.0
    s.reach_count = -1
    s.loaded_count = 0
    s.settled = 0
    s.warmed_count = 0


@routine
def search_for_steps(r: RunLoop, g: GroundTable, s: TimeStepping, has_path: bool) -> bool:
    """Find the contacts that are possible near the boxes `TimeStepping.box` of the wheel centres; return
    whether the table has room for them. Impulses and loads of the last step stay with their contacts.
    """
    arc = r.arc
    kept = 0
    for i in range(s.warmed_count):
        k = s.warmed[i]
        if s.warm[k, 0] != 0.0:
            keep_contact(r, g, kept, k)
            for j in range(3):
                g.carried[kept, j] = s.warm[k, j]
            g.carried[kept, 3] = s.carried[k]
            kept += 1
    for i in range(6 * g.wheels):
        arc.box[i] = s.box[i]
    for wheel in range(g.wheels):
        for j in range(3):
            g.begin[3 * wheel + j] = s.centre[wheel, j]
    margin = g.step_margin
    widen_boxes(arc, g, margin, has_path)
    fits = fill_slots(r, g)
    for _ in range(8):
        if not fits:
            margin *= 0.5
            widen_boxes(arc, g, margin, has_path)
            fits = fill_slots(r, g)
    if not fits:
        return False
    follow_slots(r, g, s)
    s.swept[: 6 * g.wheels] = arc.swept[: 6 * g.wheels]
    for i in range(kept):
        k = find_slot(r, g, i)
        if k >= 0:
            for j in range(3):
                s.warm[k, j] = g.carried[i, j]
            s.carried[k] = g.carried[i, 3]
            s.warmed[s.warmed_count] = k
            s.warmed_count += 1
    return True


# --- time steps


@routine
def begin_steps(
    r: RunLoop, g: GroundTable, s: TimeStepping, samples: StepSamples, w: Switch, h: float
) -> bool:
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
    s.blocked = -1
    s.accepts_blocked = False
    s.airborne[: g.wheels] = 0.0
    put_state(arc.mode.x, t, arc.stages.y, n)
    locate_centres(arc, g)
    for wheel in range(g.wheels):
        for j in range(3):
            s.centre[wheel, j] = g.begin[3 * wheel + j]
            s.box[6 * wheel + j] = g.begin[3 * wheel + j]
            s.box[6 * wheel + 3 + j] = g.begin[3 * wheel + j]
    samples.count = 0
    samples.begin = t
    samples.number = int((t - samples.first) / samples.dt + 1e-9) + 1
    # The present state is the first sample of the trajectory arc.
    arc.times[arc.clock.samples] = t
    arc.samples[arc.clock.samples * n :][:n] = s.y[:n]
    arc.clock.samples += 1
    arc.clock.latest_sample = t
    return search_for_steps(r, g, s, False)


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
