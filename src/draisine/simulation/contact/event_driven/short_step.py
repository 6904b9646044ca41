"""A short integration step within one contact mode, valid if no event can occur during it.

Problem: a controller changes the inputs every millisecond, and each change ends an arc. A step of order eight
with its guards evaluates the equations of motion 24 times. So short an arc needs fewer evaluations for the
same accuracy. Method: one step of order five (Dormand and Prince, doi:10.1016/0771-050X(80)90013-3) with
seven evaluations, under the new inputs. It is accepted only if its error is within the tolerances and if no
event can occur during it:

1. `observe_closed_guards`: the guards of closed contacts and of falls, and the motion of the wheels, at the
   start and at three stages.
2. `are_guards_clear`: each guard is further from zero than it changes during the step; wheels stay in
   the searched boxes, and those that come near a feature stay clear of it by the same rule.

Otherwise the state at the start of the step is restored, and the run loop takes the general path: an event at
which the contact problem selects the contact mode, and steps with event location.
"""

from math import isfinite, sqrt

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import routine
from draisine.simulation.contact.event_driven.arc_integration import (
    ArcState,
    Proximity,
    evaluate_closed_gaps,
    extend_wheel_motion,
    find_proximity_of,
    guard_value,
)
from draisine.simulation.contact.event_driven.guards import GUARD_NODES
from draisine.simulation.contact.kernels import (
    CLOSED,
    FORM,
    evaluate_gap,
    flow,
    project_state,
    put_state,
)
from draisine.simulation.trajectory import GuardKind

SHORT_STAGES = 7
"""Number of evaluations of the equations of motion in a short step, including one at the end of the step."""

SHORT_NODES = SHORT_STAGES * SHORT_STAGES
SHORT_ERROR = SHORT_NODES + SHORT_STAGES
SHORT_OBSERVED = SHORT_ERROR + SHORT_STAGES
"""Offsets in `SHORT_METHOD` of the parts after the 7 x 7 weights of the stages.

SHORT_NODES: nodes of the stages. SHORT_ERROR: weights of the error estimate. SHORT_OBSERVED: for each stage,
its index among the stages at which guards are evaluated, or -1 if guards are not evaluated there.
"""

OBSERVED_STAGES = 4
"""Number of stages at which guards are evaluated; they lie at the fractions 0, 0.3, 0.8 and 1 of the step."""

CLEARANCE = 1.0
"""Ratio of the smallest guard value to the change of the guard in a step; above it the guard has no zero.

Guards are smooth on a step that satisfies the tolerances. Between the observed stages they change by much
less than between the smallest and the largest observed value.
"""


def _coefficients() -> Floats:
    """Return all coefficients of the Runge-Kutta method of a short step as one flat array."""
    weights = np.zeros((SHORT_STAGES, SHORT_STAGES))
    weights[1, :1] = 1 / 5
    weights[2, :2] = (3 / 40, 9 / 40)
    weights[3, :3] = (44 / 45, -56 / 15, 32 / 9)
    weights[4, :4] = (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729)
    weights[5, :5] = (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656)
    weights[6, :6] = (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
    fourth_order = (
        5179 / 57600, 0, 7571 / 16695, 393 / 640, -92097 / 339200, 187 / 2100, 1 / 40,
    )  # fmt: skip
    observed = (0, -1, 1, 2, -1, -1, 3)
    return np.concatenate(
        [weights.ravel(), weights.sum(axis=1), weights[6] - fourth_order, observed]
    )


SHORT_METHOD = _coefficients()
"""Coefficients of the Runge-Kutta method of a short step, as one flat array with the offsets above."""


@routine
def take_short_step(c: ArcState, end: float) -> bool:
    """Take one step of order five from the present state to time `end` (s); return whether it is accepted.

    If the step is accepted, the clock advances to its end, and the new state is projected onto the
    constraints of the closed contacts. Otherwise clock and state do not change.
    """
    s = c.mode
    g = c.stages
    t = c.clock.time
    h = end - t
    stays = h <= c.clock.longest_step and end <= c.clock.horizon
    reference = c.rows[c.wheels.size * s.motion.row :]
    put_state(s.x, t, g.y, g.n)
    for stage in range(SHORT_STAGES):
        if stage > 0:
            weigh_short_stage(c, stage, h)
            s.x[0] = min(t + c.short_method[SHORT_NODES + stage] * h, c.clock.last_time)
        node = int(c.short_method[SHORT_OBSERVED + stage])
        # Guards need the forces; the other stages need accelerations alone, as in `take_accepted_step`.
        s.system.motion_only = node < 0 and s.motion.acted == 0
        is_singular = flow(s, g.k[stage * g.n :], s.lam) != 0
        s.system.motion_only = False
        if is_singular or not stays:
            return False
        if node >= 0:
            observe_closed_guards(c, node)
            stays = extend_wheel_motion(c, reference, node == 0)
    g.new[: g.n] = s.x[1 : 1 + g.n]
    if not (stays and short_error(c, h) < 1.0):
        return False
    if not are_guards_clear(c, reference):
        return False
    put_state(s.x, end, g.new, g.n)
    project_state(s)
    g.y[: g.n] = s.x[1 : 1 + g.n]
    c.clock.time = end
    c.clock.is_first = False
    return True


@routine
def weigh_short_stage(c: ArcState, stage: int, h: float) -> None:
    """Write the state of one Runge-Kutta stage of a short step of length h (s) to x."""
    g = c.stages
    weights = c.short_method[stage * SHORT_STAGES :]
    x = c.mode.x[1:]
    for i in range(g.n):
        total = 0.0
        for j in range(stage):
            total += weights[j] * g.k[j * g.n + i]
        x[i] = g.y[i] + h * total


@routine
def short_error(c: ArcState, h: float) -> float:
    """Return the estimated error of a short step of length h (s), relative to the integration tolerances.

    It is the root mean square over the entries of the state.
    """
    g = c.stages
    weights = c.short_method[SHORT_ERROR:]
    total = 0.0
    for i in range(g.n):
        error = 0.0
        for j in range(SHORT_STAGES):
            error += weights[j] * g.k[j * g.n + i]
        error *= h / (g.atol[i] + g.rtol * max(abs(g.y[i]), abs(g.new[i])))
        total += error * error
    return sqrt(total / g.n)


@routine
def observe_closed_guards(c: ArcState, node: int) -> None:
    """Store the values of all guards except gaps at the state in x, as those of the observed stage `node`.

    On entry the contact forces at this state are in `lam`.
    """
    s = c.mode
    if s.plan[CLOSED] > 0 and s.plan[FORM] != 0:
        evaluate_closed_gaps(s)
    for j in range(c.guards[0]):
        kind = c.kinds[j]
        k = c.contacts[j]
        if kind == GuardKind.GAP:
            continue
        row = c.rows[0:]
        lam = s.lam[0:]
        if kind > GuardKind.GAP:
            row = s.seen[k * s.motion.row :]
            lam = s.lam[3 * k :]
        c.values[j * GUARD_NODES + node] = guard_value(c, j, row, lam)


@routine
def are_guards_clear(c: ArcState, reference: Floats) -> bool:
    """Return whether no guard can become zero during the step.

    `reference` contains the contact rows of the wheels at the start of the step.
    """
    s = c.mode
    g = c.stages
    for j in range(c.guards[0]):
        values = c.values[j * GUARD_NODES :]
        count = OBSERVED_STAGES
        if c.kinds[j] == GuardKind.GAP:
            k = c.contacts[j]
            if find_proximity_of(c, k, reference) is not Proximity.NEAR:
                continue
            # Few wheels come near a ground feature; for these the gaps at both ends of the step suffice.
            count = 2
            put_state(s.x, c.clock.time, g.y, g.n)
            evaluate_gap(s.x, s.contacts, k, c.rows)
            values[0] = guard_value(c, j, c.rows, s.lam)
            put_state(s.x, c.clock.time, g.new, g.n)
            evaluate_gap(s.x, s.contacts, k, c.rows)
            values[1] = guard_value(c, j, c.rows, s.lam)
        least = values[0]
        largest = values[0]
        for i in range(count):
            # A value that is not a number counts as not clear of zero; `min` and `max` would ignore it.
            if not isfinite(values[i]):
                return False
            least = min(least, values[i])
            largest = max(largest, values[i])
        if not least - c.slack[c.kinds[j]] > CLEARANCE * (largest - least):
            return False
    return True
