"""The changes between event location and time stepping, as routines.

`stepping.switch` contains the criteria. A change to time stepping goes back over the latest short arcs
(`leave_events`), and `stepping.loop.begin_steps` follows. A change to event location projects the state of
the time steps onto the constraints of the loaded contacts (`leave_steps`), and the event `EventCause.START`
follows, which finds the closed contacts. If this event fails, the time steps go on (`return_to_steps`).
"""

from draisine.codegen.routine import routine
from draisine.simulation.contact.event_driven.run_loop import RunLoop, add_sample
from draisine.simulation.contact.stepping.loop import StepLoop
from draisine.simulation.contact.stepping.switch import (
    MethodChange,
    Switch,
    discard_short_arcs,
    first_step,
    has_ideal_conflict,
    project_stepped_state,
    remember_event,
    require_after_change,
    require_more,
)

NO_STEP = 0.0  # s, length of the first time step if time stepping cannot continue either


@routine
def leave_events(r: RunLoop, w: Switch) -> tuple[float, int]:
    """Go back over the latest short arcs, and remember the change to time stepping. Return the length of the
    first time step (s), or NO_STEP if ideal contacts over-constrain the system, and the number of arcs that
    time steps replace, each with the event before it.
    """
    clock = r.arc.clock
    n = r.arc.stages.n
    if has_ideal_conflict(r.arc.mode, r.near.features, r.event.mu, w, clock.time, r.arc.stages.y):
        return NO_STEP, 0
    h = first_step(r, w)
    require_after_change(w, clock.time, h)
    add_sample(r)
    discarded = discard_short_arcs(r, w, h)
    remember_event(w, clock.time, MethodChange.TIME_STEPPING, r.arc.stages.y, n)
    return h, discarded


@routine
def leave_steps(s: StepLoop) -> bool:
    """Project the state of the time steps onto the constraints of the loaded contacts, and remember the
    change to event location; return whether event location can begin at the result, which is in x.
    """
    w = s.method
    t = s.method.grid.time
    near = s.near.contacts.size
    n = s.steps.motion.y_z + s.steps.motion.states
    if not project_stepped_state(s.mode, w.grid.row, s.steps, w, t, near, s.steps.most):
        require_more(w, s.steps)
        return False
    remember_event(w, t, MethodChange.EVENT_LOCATION, s.steps.y, n)
    w.is_stepping = False
    w.resumed = t
    return True


@routine
def return_to_steps(s: StepLoop, resumed: float) -> None:
    """Continue with time steps, because event location could not begin. `resumed` is the time (s) at which it
    resumed before.
    """
    w = s.method
    w.recent_count -= 1
    w.arcs -= 1
    w.resumed = resumed
    w.is_stepping = True
    require_more(w, s.steps)
