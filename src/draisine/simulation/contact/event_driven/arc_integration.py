"""Integration of one smooth trajectory arc with dense output, and location of its first event.

Problem: integrate the equations of motion of one contact mode until the first guard function
(`trajectory.GuardKind`) becomes negative, without missing an event. Method of one step of `integrate_arc`:

1. `take_accepted_step`: an explicit step of order 8 (Dormand and Prince), or an implicit one (`radau`) if
   friction turns slip directions fast. The integration tolerances determine its length.
2. `bound_wheel_motion`: exclude contacts whose ground features the wheel cannot reach during the step.
3. `sample_guards`, `find_first_event`: evaluate all guards at the nodes, interpolate them by polynomials, and
   find the first zero (`guards`). If a polynomial is not accurate enough, the interval is halved.
4. `find_penetration`: a gap below `Tolerances.gap_penetration` without an event shortens the step.
5. `record_grazing`: record gaps that have a minimum below `Tolerances.gap_grazing` without closing.
6. `locate_event`: repeat the step with the length that ends at the event, and project the state onto the
   constraints.

To add a guard, add all of the following:

- a member of `GuardKind`, after GAP if the guard belongs to a closed contact (`sample_guards` relies on it);
- its tolerance in `guards.guard_tolerances`, and its entry in the list of `guards.set_guards`;
- array space in `driver.ArcDriver._make_arc` (number of guards per closed contact);
- its value in `guard_value` and `evaluate_guard`; if the value needs more than the contact geometry, also the
  evaluation of the full contact row in `evaluate_closed_gaps`;
- the cause of its event in `run_loop.begin_event`, and its derivative in `analysis.gradient.saltation`.
"""

from enum import IntEnum
from math import isfinite, sqrt
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Record, routine
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.linear import (
    add_dot,
    dot,
    max_difference,
    plane_norm,
)
from draisine.simulation.contact.event_driven.guards import (
    GUARD_NODES,
    NO_CROSSING,
    NODE_POSITIONS,
    evaluate_polynomial,
    find_minimum,
    find_next_zero,
    fit_bernstein,
)
from draisine.simulation.contact.event_driven.radau import (
    RADAU_STAGES,
    ImplicitSlipStep,
    slip_turning_rate,
    solve_collocation,
    write_dense_output,
)
from draisine.simulation.contact.kernels import (
    CLOSED,
    FORM,
    ContactColumns,
    ContactMode,
    border_excess,
    evaluate_gap,
    evaluate_gaps,
    evaluate_row,
    flow,
    fold_excess,
    is_above,
    project_state,
    put_state,
    relative_velocity,
    single_border_excess,
    slip_speed,
)
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.tolerances import Tolerances
from draisine.simulation.integrators import DENSE_NODE_COUNT as STEP_NODES
from draisine.simulation.integrators.dop853 import (
    FIRST_DENSE_STAGE,
    NODE_OFFSET,
    STAGE_COUNT,
    Stages,
    compute_stage_state,
    error_norm,
    evaluate_dense_output,
    fit_dense_output,
    step_growth,
    step_reduction,
)
from draisine.simulation.trajectory import GuardKind


class RunStatus(IntEnum):
    """Reason why a routine of the run loop returned to its caller."""

    PAUSED = 0  # within an arc: the limit of steps is reached, or the sample storage is full
    SINGULAR = 1  # the constraint rows contradict each other
    STEP_TOO_SMALL = 2  # no step length satisfies the integration tolerances
    EVENT = 3  # a guard function became negative
    ARC_END = 4  # the inputs jump, or the run ends
    OUTSIDE_SEARCH = 5  # a wheel left the boxes in which ground features were searched
    PENETRATION = 6  # a wheel penetrates the ground although no guard fired
    PULL = 7  # a normal force jumps to a negative value (a pull)
    RESOLVED = 8  # this stage of the event is finished
    # returned by `resolve_event`: an impact must be resolved first; by `run_arcs`: in Python
    IMPACT = 9
    TOO_MANY_CONTACTS = 10  # more contacts touch than the arrays can store
    CONTRADICTION = 11  # the closed contacts contradict each other
    NO_CONTACT_SET = 12  # no set of closed contacts is admissible
    NO_FRICTION_FORCES = 13  # no forces satisfy Coulomb's law of friction
    UNKNOWN_MODE = 14  # the closed-form equations of the contact mode are not compiled yet
    SHARP_FEATURE = 15  # a disc has reached an edge or a vertex that it cannot touch
    NO_PROGRESS = 16  # too many events at one instant
    FALL = 17  # the system has fallen: its lean is too large, or it has turned over
    LOG_FULL = 18  # the limit of events is reached, or the event log is full


class ArcClock(Record):
    """Time, step length, counters and results of the last step of an arc."""

    time: float = 0.0  # s, time at the start of the step
    step: float = 0.0  # s, length of the step
    last_time: float = 0.0  # s, last instant of the arc before the inputs jump
    next_step: float = 0.0  # s, proposed length of the next step
    input_jump: float = 0.0  # s, time of the next jump of the inputs
    end_time: float = 0.0  # s, time at which the run ends
    is_first: bool = False  # whether this is the first step of the arc
    samples: int = 0  # number of samples stored in this call
    nodes: int = 0  # number of dense-output nodes stored in this call
    grazes: int = 0  # number of grazing contacts recorded in this call
    steps: int = 0  # number of steps tried in this call
    # fraction of the step at which the first guard fires, NO_CROSSING if none does
    part: float = 0.0
    event_delay: float = 0.0  # s, time from the start of the step to the event
    # index of the guard that fired, or of the contact that penetrates, pulls or has no contact point
    subject: int = 0
    horizon: float = 0.0  # s, time until which the found features of moving ground remain valid
    # s, largest step length allowed by the found features and by the sample storage
    longest_step: float = 0.0
    latest_sample: float = 0.0  # s, time of the latest sample
    is_implicit: bool = False  # whether the step is implicit


EXPLICIT_LIMIT = 4.0
"""Product of step length (s) and turning rate of slip directions (1/s) above which a step is implicit.

Above this value (dimensionless) an explicit step of this length would be unstable.
"""

SHORTEST_INTERVAL = 1.0 / 64.0
"""Length of the shortest interval of guard interpolation, as a fraction of the step.

An interval is halved, down to this length, if the interpolation error is too large to exclude a zero of the
guard.
"""


class Proximity(IntEnum):
    """Classification of an open contact by its smallest possible gap during a step."""

    AWAY = 0  # the contact cannot close
    NEAR = 1  # the contact may close
    BELOW = 2  # the contact cannot close, because its gap stays negative


SAMPLE_CAPACITY = 4096
"""Number of samples, and number of dense-output nodes, that one call of the run loop can store."""

SAME_PATCH_CONTACT = 1e-3
"""Largest distance between contact points of a wheel on neighbouring patches that are the same contact.

The distance is relative to the wheel radius. Two different minima of the gap are so close to each other only
if the curvatures of wheel and ground agree to 1e-6.
"""

GRAZE_CAPACITY = 64
"""Number of grazing contacts that one call of the run loop can store; further ones are not reported."""


class ArcState(NamedTuple):
    """State of the integration of one arc: contact mode, step, guards, and samples of the present call."""

    mode: ContactMode
    stages: Stages  # stages of the explicit step
    # arrays of the implicit step, which is used if friction turns slip directions fast
    turning: ImplicitSlipStep
    # (contacts) largest border excess at which a contact touches; negative for a feature just left
    inside: Floats
    wheels: ContactColumns  # contacts of all wheels with a level plane, to locate the wheel centres
    box: Floats  # (wheels, 2, 3) m, bounding boxes of the wheels' centres during the step
    swept: Floats  # (wheels, 2, 3) m, boxes in which ground features were searched
    near: Integers  # (contacts) Proximity of each contact during the step
    # (wheels, 2) largest displacement of the centre (m) and of the unit axle vector in the step
    moved: Floats
    guards: Integers  # (2) number of guards, and number of guards that may fire on the step
    live: Integers  # indices of the guards that may fire during the step
    falls: Integers  # (2) 1 if the guards LEAN and OVERTURN are active, else 0
    kinds: Integers  # (guards) GuardKind of each guard
    # (guards) contact of each guard: index in the contact table for GAP, else in the closed list
    contacts: Integers
    borders: Integers  # (guards) index of the border of each BORDER guard
    slack: Floats  # tolerance of each GuardKind, in the unit of the guard
    fall: float  # sine of the lean angle at which the system has fallen
    start: float  # s, time of the first sample
    dt: float  # s, spacing of samples
    basis: Floats  # interpolation matrix from guard values to Bernstein coefficients
    short_method: Floats  # coefficients of short steps
    clock: ArcClock
    times: Floats  # (samples) s, times of the samples
    samples: Floats  # (samples, n) states of the samples
    places: Floats  # positions of the dense-output nodes, as fractions (0 to 1) of a step
    node_times: Floats  # (nodes) s, times of the dense-output nodes
    nodes: Floats  # (nodes, n) states at the dense-output nodes
    grazes: Floats  # (grazes, 2) time (s) and contact index of each grazing contact
    values: Floats  # (guards, GUARD_NODES) values of the guards at the nodes
    local: Floats  # scratch: Bernstein coefficients
    state: Floats  # state at the end of the step or at the event
    rows: Floats  # scratch: evaluated contact rows (gap, frame, Jacobian)


@routine
def take_trial_step(c: ArcState, h: float, into: Floats) -> bool:
    """Write the state after one step of length h (s) to `into` (n), without an error estimate.

    On entry the first stage k contains the time derivative of the state at the start of the step. Return
    False if the equations of motion have no solution at one of the stages.
    """
    s = c.mode
    g = c.stages
    t = c.clock.time
    last = c.clock.last_time
    if c.clock.is_implicit:
        if solve_collocation(s, g, c.turning, t, h, last) != 0:
            return False
        into[: g.n] = c.turning.states[(RADAU_STAGES - 1) * g.n :][: g.n]
        return True
    for stage in range(1, FIRST_DENSE_STAGE):
        compute_stage_state(g, stage, h, s.x[1:])
        into[: g.n] = s.x[1 : 1 + g.n]
        s.x[0] = min(t + g.method[NODE_OFFSET + stage] * h, last)
        if flow(s, g.k[stage * g.n :], s.lam) != 0:
            return False
    return True


@routine
def take_accepted_step(c: ArcState) -> RunStatus:
    """Take one step that satisfies the integration tolerances; compute the new state and the dense output.

    The step is implicit if friction turns slip directions so fast that an explicit step would be unstable.
    Return RESOLVED; otherwise SINGULAR or STEP_TOO_SMALL.
    """
    s = c.mode
    g = c.stages
    put_state(s.x, c.clock.time, g.y, g.n)
    # Stages need accelerations only. Contact forces are needed only with tyres, whose forces depend on the
    # wheel loads.
    s.system.motion_only = s.motion.acted == 0
    status = shorten_step_until_accepted(c)
    s.system.motion_only = False
    return status


@routine
def shorten_step_until_accepted(c: ArcState) -> RunStatus:
    """Repeat the step from the state in x with decreasing length until its error is within the tolerances.

    Return RESOLVED; otherwise SINGULAR or STEP_TOO_SMALL.
    """
    s = c.mode
    g = c.stages
    clock = c.clock
    t = clock.time
    end = clock.input_jump
    if flow(s, g.k, s.lam) != 0:
        return RunStatus.SINGULAR
    h = min(clock.step, clock.longest_step)
    turning = slip_turning_rate(s, g, c.turning)
    error = 2.0
    # Shorten the step until its error is within the tolerances.
    while not error < 1.0:
        if h < max(1e-14 * abs(t), s.motion.tol.shortest_step):
            return RunStatus.STEP_TOO_SMALL
        # If little time remains before the inputs jump, extend the step to the jump.
        if t + 1.01 * h >= end and h != clock.end_time - t:
            h = end - t
        clock.is_implicit = h * turning > EXPLICIT_LIMIT
        if not take_trial_step(c, h, g.new):
            h *= 0.1
        else:
            if clock.is_implicit:
                error = write_dense_output(g, c.turning)
            else:
                error = error_norm(g, h, FIRST_DENSE_STAGE)
            h *= 1.0 if error < 1.0 else step_reduction(error)
    # The dense output of the explicit method needs three more stages.
    if not clock.is_implicit:
        for stage in range(FIRST_DENSE_STAGE, STAGE_COUNT):
            compute_stage_state(g, stage, h, s.x[1:])
            s.x[0] = min(t + g.method[NODE_OFFSET + stage] * h, clock.last_time)
            flow(s, g.k[stage * g.n :], s.lam)
        fit_dense_output(g, h)
    clock.step = h
    clock.next_step = h * step_growth(error)
    return RunStatus.RESOLVED


@routine
def evaluate_dense(c: ArcState, part: float) -> None:
    """Write the state at the fraction `part` (0 to 1) of the step into x, from the dense output."""
    s = c.mode
    g = c.stages
    s.x[0] = min(c.clock.time + part * c.clock.step, c.clock.last_time)
    evaluate_dense_output(g, part, s.x[1:])


@routine
def guard_value(c: ArcState, j: int, row: Floats, lam: Floats) -> float:
    """Return the value of guard j at the state in x, in the unit of its `GuardKind`, eq. [guards].

    `row` is the contact row and `lam` (3) the force (N) of the contact of the guard. The definition of each
    guard makes it nearly a polynomial of time.
    """
    s = c.mode
    m = c.mode.motion
    kind = c.kinds[j]
    k = c.contacts[j]
    q = s.x[m.x_q :]
    if kind == GuardKind.LEAN:
        return c.fall - abs(2.0 * (q[2] * q[3] + q[0] * q[1]))
    if kind == GuardKind.OVERTURN:
        return 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
    if kind == GuardKind.GAP:
        gap = row[m.gap]
        bend = s.contacts.bend[k]
        # For curved wheels this combination is closer to a polynomial of time than the gap, and it has
        # the same zero.
        return gap * (1.0 + 0.5 * gap / bend) if bend > 0.0 else gap
    if kind == GuardKind.NORMAL_FORCE:
        return lam[0]
    if kind == GuardKind.DEFLECTION:
        return -row[m.gap]
    if kind == GuardKind.FRICTION_CONE:
        return s.mu[k] * lam[0] - plane_norm(lam[1], lam[2])
    if kind == GuardKind.SLIP:
        s1 = relative_velocity(s.x, row, m, 1)
        s2 = relative_velocity(s.x, row, m, 2)
        return s1 * s1 + s2 * s2 - m.tol.slip_end * m.tol.slip_end
    if kind == GuardKind.FOLD:
        return -fold_excess(m, s.contacts, s.which[k], row)
    return -single_border_excess(m, s.contacts, c.borders[j], row)


@routine
def evaluate_guard(c: ArcState, j: int) -> float:
    """Return the value of guard j at the state in x; evaluate the necessary contact row or forces first."""
    s = c.mode
    kind = c.kinds[j]
    k = c.contacts[j]
    if kind == GuardKind.GAP:
        evaluate_gap(s.x, s.contacts, k, c.rows)
    elif kind == GuardKind.SLIP:
        evaluate_row(s.x, s.contacts, s.which[k], c.rows)
    elif kind == GuardKind.NORMAL_FORCE or kind == GuardKind.FRICTION_CONE:
        flow(s, c.stages.errors, s.lam)
    elif kind == GuardKind.DEFLECTION or kind == GuardKind.BORDER or kind == GuardKind.FOLD:
        evaluate_gap(s.x, s.contacts, s.which[k], c.rows)
    return guard_value(c, j, c.rows, s.lam[3 * k :])


@routine
def evaluate_guard_at(c: ArcState, j: int, part: float) -> float:
    """Return the value of guard j at the fraction `part` of the step; write the state there to x."""
    evaluate_dense(c, part)
    return evaluate_guard(c, j)


@routine
def bound_wheel_motion(c: ArcState) -> bool:
    """Bound the motion of all wheels during the step, and classify the proximity of all open contacts.

    The bounds of a wheel are the bounding box of its centre, and the largest displacements of its centre (m)
    and of its unit axle vector from the middle of the step. Return whether all wheel centres stay in the
    boxes in which ground features were searched.
    """
    middle = c.rows[c.wheels.size * c.mode.motion.row :]
    stays = True
    # Begin with the node in the middle of the step.
    for i in range(GUARD_NODES):
        evaluate_dense(c, c.basis[NODE_POSITIONS + (i + GUARD_NODES // 2) % GUARD_NODES])
        stays = extend_wheel_motion(c, middle, i == 0) and stays
    for k in range(c.mode.contacts.size):
        c.near[k] = find_proximity_of(c, k, middle)
    return stays


@routine
def extend_wheel_motion(c: ArcState, reference: Floats, is_reference: bool) -> bool:
    """Extend the motion bounds of all wheels by the state in x.

    The bounds are the box of the wheel centre, and the largest displacements of the centre (m) and of the
    unit axle vector from the reference state. If `is_reference`, the state in x becomes the reference. Return
    whether all centres are in the boxes in which ground features were searched.
    """
    m = c.mode.motion
    stays = True
    evaluate_gaps(m, c.mode.x, c.wheels, reference if is_reference else c.rows)
    for w in range(c.wheels.size):
        row = c.rows[w * m.row :]
        reference_row = reference[w * m.row :]
        row = reference_row if is_reference else row
        moved = 0.0
        turned = 0.0
        for j in range(3):
            position = row[m.centre + j]
            box = c.box[6 * w + j :]
            swept = c.swept[6 * w + j :]
            box[0] = position if is_reference else min(box[0], position)
            box[3] = position if is_reference else max(box[3], position)
            stays = stays and not (position < swept[0] or position > swept[3])
            shift = position - reference_row[m.centre + j]
            turn = row[m.axle + j] - reference_row[m.axle + j]
            moved += shift * shift
            turned += turn * turn
        motion = c.moved[2 * w :]
        motion[0] = max(0.0 if is_reference else motion[0], 1.1 * sqrt(moved) + m.tol.gap_search)
        motion[1] = max(0.0 if is_reference else motion[1], 1.1 * sqrt(turned))
    return stays


@routine
def find_proximity_of(c: ArcState, k: int, reference: Floats) -> Proximity:
    """Return the proximity of open contact k during a step, from the motion bounds of its wheel."""
    if not is_in_reach(c.mode.motion.tol, c.mode.contacts, c.box, k):
        return Proximity.AWAY
    return classify_proximity(c, k, reference)


@routine
def classify_proximity(c: ArcState, k: int, middle: Floats) -> Proximity:
    """Return the proximity of contact k during a step.

    The distance (m) between wheel and ground feature in the middle of the step is compared with the largest
    motion of the rim: displacement of the centre plus displacement by the rotation of the axle. `middle`
    contains the contact rows of the wheels in the middle of the step. A foot that is not always armed is
    NEAR, because it may be below the ground.
    """
    m = c.mode.motion
    b = c.mode.contacts
    w = c.mode.contacts.wheels[k]
    crown = b.crown[k]
    f = b.features[k * FEATURE :]
    if b.moved[k] != 0 or not isfinite(crown) or middle[w * m.row + m.armed] != 1.0:
        return Proximity.NEAR
    centre = middle[w * m.row + m.centre :]
    axle = middle[w * m.row + m.axle :]
    ring = b.radius[k] - crown
    largest_motion = c.moved[2 * w] + 1.6 * c.moved[2 * w + 1] * b.radius[k]
    if b.planes[k] == 0:
        return trace_edge_distance(m.tol, b, k, centre, axle, ring, crown + largest_motion)
    # A patch deviates from its plane by at most f[4] (m), which is zero for a face.
    tilt = dot(f, axle, 3)
    flat = sqrt(max(1.0 - tilt * tilt, 0.0))
    gap = add_dot(-f[3] - crown, f, centre, 3) - ring * flat
    if gap > largest_motion + f[4] or stays_beside_face(c, k, middle, tilt, flat):
        return Proximity.AWAY
    return Proximity.BELOW if gap < -largest_motion - f[4] else Proximity.NEAR


@routine
def stays_beside_face(c: ArcState, k: int, middle: Floats, tilt: float, flat: float) -> bool:
    """Return whether a wheel stays beyond a border of a face or patch during the whole step.

    The point of the wheel that is lowest over the plane of the face decides. It moves at most by the
    displacement of the centre plus four times the displacement of the axle vector times its distance from the
    centre. On a patch the normal deviates from the normal of the plane by up to N[5], which moves the point
    by N[5] times the largest radius of curvature of the wheel. `tilt` is the cosine of the angle between axle
    and normal, `flat` its sine.
    """
    m = c.mode.motion
    b = c.mode.contacts
    w = c.mode.contacts.wheels[k]
    centre = middle[w * m.row + m.centre :]
    axle = middle[w * m.row + m.axle :]
    N = b.features[k * FEATURE :]
    ring = b.radius[k] - b.crown[k]
    turn = N[5]
    # The disc lies flat on the plane: its lowest point is undefined.
    if not flat > 1e-9 + turn and ring > 0.0:
        return False
    arm = ring / flat if ring > 0.0 else 0.0
    motion = c.moved[2 * w] + 4.0 * c.moved[2 * w + 1] * arm
    motion += turn * (b.crown[k] + (ring / (flat - turn) if ring > 0.0 else 0.0))
    for i in range(b.first[k], b.first[k + 1]):
        A = b.borders[7 * i :]
        beyond = -b.borders[7 * i + 6]
        for j in range(3):
            low = centre[j] - arm * (N[j] - tilt * axle[j]) - b.crown[k] * N[j]
            beyond += A[j] * low + A[3 + j] * N[j]
        if beyond > motion * sqrt(dot(A, A, 3)):
            return True
    return False


@routine
def trace_edge_distance(
    tol: Tolerances,
    b: ContactColumns,
    k: int,
    centre: Floats,
    axle: Floats,
    ring: float,
    limit: float,
) -> Proximity:
    """Return the proximity of a wheel to an edge or a vertex during a step, by sphere tracing.

    The distance (m) between rim and edge is evaluated at points along the edge; each advance is as long as
    the distance minus `limit` (m). The gap alone does not decide, because it is negative without contact if
    the edge passes inside the rim. `centre` (m) and `axle` describe the wheel, `ring` (m) is the radius of
    the rim.
    """
    Q = b.features[k * FEATURE :]
    e = b.features[k * FEATURE + 3 :]
    low = 0.0
    high = 0.0
    along = 0.0
    aside = 0.0
    slope = dot(axle, e, 3)
    is_inside = False
    for j in range(3):
        along += e[j] * (centre[j] - Q[j])
        aside += axle[j] * (Q[j] - centre[j])
        if e[j] != 0.0:
            first_end = e[j] * (b.low[3 * k + j] - Q[j])
            second_end = e[j] * (b.high[3 * k + j] - Q[j])
            low = low + min(first_end, second_end)
            high = high + max(first_end, second_end)
    first = max(low, along - ring - limit) - tol.gap_search
    last = min(high, along + ring + limit) + tol.gap_search
    position = first
    while position <= last:
        distance = 0.0
        z = 0.0
        for j in range(3):
            offset = Q[j] + position * e[j] - centre[j]
            distance += offset * offset
            z += offset * axle[j]
        radial = sqrt(max(distance - z * z, 0.0)) - ring
        distance = plane_norm(z, radial) - limit
        if distance < tol.edge_trace:
            return Proximity.NEAR
        is_inside = is_inside or radial < 0.0
        position += distance
    first_end = aside + first * slope
    second_end = aside + last * slope
    crosses_plane = min(first_end, second_end) < limit and max(first_end, second_end) > -limit
    return Proximity.BELOW if b.crown[k] == 0.0 and is_inside and crosses_plane else Proximity.AWAY


@routine
def is_in_reach(tol: Tolerances, b: ContactColumns, boxes: Floats, k: int) -> bool:
    """Return whether the wheel of contact k may touch the bounding box of its ground feature.

    `boxes` (wheels, 2, 3), m, contain the possible positions of the wheel centres. For an edge the distance
    from its line is tested as well, because the bounding box of an oblique edge is much larger than the edge.
    """
    apart = 0.0
    side = 0.0
    if not isfinite(b.radius[k]):
        return True
    box = boxes[6 * b.wheels[k] :]
    for j in range(3):
        side = max(side, box[3 + j] - box[j])
    reach = (
        b.radius[k] + tol.gap_search + 0.1 * side
    )  # between the nodes of the step the centre may lie slightly outside the box
    for j in range(3):
        distance = max(max(b.low[3 * k + j] - box[3 + j], box[j] - b.high[3 * k + j]), 0.0)
        if distance > reach:
            return False  # most ground features are far away along one axis
        apart += distance * distance
    if apart > reach * reach or b.planes[k] == 1 or b.moved[k] != 0 or b.carried[k] == 1:
        return apart <= reach * reach
    Q = b.features[k * FEATURE :]
    e = b.features[k * FEATURE + 3 :]
    along = 0.0
    apart = 0.0
    size = 0.0
    for j in range(3):
        offset = 0.5 * (box[j] + box[3 + j]) - Q[j]
        along += offset * e[j]
        apart += offset * offset
        size += (box[3 + j] - box[j]) * (box[3 + j] - box[j])
    reach += 0.5 * sqrt(size)
    return apart - along * along <= reach * reach


@routine
def sample_guards(c: ArcState) -> None:
    """Evaluate the guards that may become negative in the step, at all nodes of the step.

    The indices of these guards are written to `live`, their values to `values`.
    """
    s = c.mode
    m = c.mode.motion
    count = 0
    for guard in range(c.guards[0]):
        if c.kinds[guard] != GuardKind.GAP or c.near[c.contacts[guard]] == Proximity.NEAR:
            c.live[count] = guard
            count += 1
    c.guards[1] = count
    for i in range(GUARD_NODES):
        evaluate_dense(c, c.basis[NODE_POSITIONS + i])
        if s.plan[CLOSED] > 0:
            flow(s, c.stages.errors, s.lam)
            # Without a closed form the rows have just been evaluated.
            if s.plan[FORM] != 0:
                evaluate_closed_gaps(s)
        for i_live in range(count):
            j = c.live[i_live]
            kind = c.kinds[j]
            k = c.contacts[j]
            row = c.rows[0:]
            lam = s.lam[0:]
            if kind > GuardKind.GAP:
                row = s.seen[k * m.row :]
                lam = s.lam[3 * k :]
            elif kind == GuardKind.GAP:
                evaluate_gap(s.x, s.contacts, k, row)
            c.values[j * GUARD_NODES + i] = guard_value(c, j, row, lam)


@routine
def evaluate_closed_gaps(s: ContactMode) -> None:
    """Evaluate the gaps and frames of all closed contacts, and the constraint rows of the sliding ones."""
    for i in range(s.plan[CLOSED]):
        row = s.seen[i * s.motion.row :]
        if s.status[i] == Status.SLIDING and s.mu[i] > 0.0:
            evaluate_row(s.x, s.contacts, s.which[i], row)
        else:
            evaluate_gap(s.x, s.contacts, s.which[i], row)


@routine
def is_on_feature(c: ArcState, k: int, part: float) -> bool:
    """Return whether open contact k is within the borders of its feature at the fraction `part` of a step."""
    s = c.mode
    row = c.rows
    evaluate_dense(c, part)
    evaluate_gap(s.x, s.contacts, k, row)
    if border_excess(s.motion, s.contacts, k, row) > c.inside[k]:
        return False
    if s.contacts.patches[k] == 1 and continues_closed_contact(c, k):
        return False
    return is_above(s.motion, s.contacts, k, row)


@routine
def continues_closed_contact(c: ArcState, k: int) -> bool:
    """Return whether open contact k coincides with a closed contact of the same wheel on another patch.

    On entry `rows` begins with the contact row of contact k. The gaps of a wheel that rolls along the border
    between two patches differ by rounding errors only. Until the wheel crosses the border, only the closed
    contact is considered.
    """
    s = c.mode
    m = s.motion
    other = c.rows[m.row :]
    for i in range(s.plan[CLOSED]):
        closed = s.which[i]
        if s.contacts.wheels[closed] != s.contacts.wheels[k] or s.contacts.patches[closed] == 0:
            continue
        evaluate_gap(s.x, s.contacts, closed, other)
        distance = max_difference(c.rows[m.point :], other[m.point :], 3)
        if distance < SAME_PATCH_CONTACT * s.contacts.radius[k]:
            return True
    return False


@routine
def find_crossing(
    c: ArcState, j: int, values: Floats, begin: float, width: float, end: float
) -> float:
    """Return the fraction of the step at which guard j becomes negative in an interval of the step.

    The interval begins at the fraction `begin` of the step and has the length `width`; `values` are the guard
    values at its nodes. If the guard does not become negative before the fraction `end` of the interval,
    return NO_CROSSING or a later crossing.

    A guard that is negative at the start fires only after it has become positive, unless it decreases
    further. The gap of a contact that has just opened also fires if it becomes smaller than at the start.
    """
    b = c.local[GUARD_NODES:]
    part = c.local[2 * GUARD_NODES :]
    kind = c.kinds[j]
    crossing = 0.0
    if b[0] < 0.0:
        # When a contact sticks, its impulse turns the slow slips of the other contacts, and so their
        # friction forces. A contact that is outside its friction cone at the start therefore slips at
        # once, although those friction forces may turn back.
        slips = kind == GuardKind.FRICTION_CONE and c.clock.is_first
        has_just_opened = (
            kind == GuardKind.GAP
            and begin == 0.0
            and abs(values[0]) <= c.mode.motion.tol.gap_opened
            and is_on_feature(c, c.contacts[j], 0.0)
        )
        is_eligible = kind != GuardKind.GAP or has_just_opened
        if begin == 0.0 and is_eligible and (slips or values[1] < values[0]):
            return 0.0
        crossing = find_next_zero(b, -1.0, 0.0, end, part)
        if crossing == NO_CROSSING and has_just_opened:
            # The projection at the last event left the wheel below the ground by rounding. It rises by
            # less and falls again, so that its gap is never positive.
            depth = b[0]
            for i in range(GUARD_NODES):
                b[i] -= depth
            crossing = find_next_zero(b, 1.0, 0.0, end, part)
            return crossing * width if crossing != NO_CROSSING else NO_CROSSING
    while crossing != NO_CROSSING:
        crossing = find_next_zero(b, 1.0, crossing, end, part)
        if crossing != NO_CROSSING:
            if kind != GuardKind.GAP or is_on_feature(c, c.contacts[j], begin + crossing * width):
                return begin + crossing * width
            crossing = find_next_zero(b, -1.0, min(crossing + 1e-12, 1.0), end, part)
    return NO_CROSSING


@routine
def bisect_crossing(c: ArcState, j: int, begin: float, width: float) -> float:
    """Return the fraction of the step at which guard j becomes negative, by bisection of an interval.

    Return NO_CROSSING if the sign does not change. This is the fallback for guards that are not well
    approximated by a polynomial. `begin` and `width` of the interval are fractions of the step.
    """
    low = begin
    high = begin + width
    threshold = -c.slack[c.kinds[j]]
    if not evaluate_guard_at(c, j, high) < threshold or evaluate_guard_at(c, j, low) < threshold:
        return NO_CROSSING
    while high - low > 1e-14:
        middle = 0.5 * (low + high)
        if evaluate_guard_at(c, j, middle) < threshold:
            high = middle
        else:
            low = middle
    if c.kinds[j] == GuardKind.GAP and not is_on_feature(c, c.contacts[j], high):
        return NO_CROSSING
    return high


@routine
def find_first_crossing(c: ArcState, j: int, before: float) -> float:
    """Return the first fraction of the step at which guard j becomes negative.

    If the guard stays positive before the fraction `before`, return NO_CROSSING or a later crossing. If the
    polynomial through the guard values is not accurate enough, the interval is halved.
    """
    b = c.local[GUARD_NODES:]
    values = c.values[j * GUARD_NODES :]
    slack = c.slack[c.kinds[j]]
    begin = 0.0
    width = 1.0
    while begin < min(before, 1.0):
        tail = fit_bernstein(c.basis, values, b)
        finite_count = 0
        for i in range(GUARD_NODES):
            finite_count += 1 if isfinite(values[i]) else 0
        lower_bound = b[0]
        for i in range(GUARD_NODES):
            b[i] += slack
            lower_bound = min(lower_bound, b[i])
        if finite_count == GUARD_NODES and tail <= 10.0 * slack:
            tail = 0.0
        if (
            finite_count > 0
            and not lower_bound > 2.0 * tail
            and tail != 0.0
            and width > SHORTEST_INTERVAL
        ):
            width *= 0.5
        else:
            if finite_count == GUARD_NODES and lower_bound < 0.0:
                if tail == 0.0:
                    crossing = find_crossing(c, j, values, begin, width, (before - begin) / width)
                else:
                    crossing = bisect_crossing(c, j, begin, width)
                if crossing != NO_CROSSING:
                    return crossing if crossing > 1e-13 else 0.0
            begin += width
        values = c.local[0:]
        if begin < min(before, 1.0):
            for i in range(GUARD_NODES):
                values[i] = evaluate_guard_at(c, j, begin + width * c.basis[NODE_POSITIONS + i])
    return NO_CROSSING


@routine
def find_first_event(c: ArcState) -> int:
    """Return the index of the guard that becomes negative first in the step, or -1 if no guard does.

    The fraction of the step at which it becomes negative is written to `clock.part`.
    """
    c.clock.part = NO_CROSSING
    which = -1
    for i_live in range(c.guards[1]):
        j = c.live[i_live]
        part = find_first_crossing(c, j, c.clock.part)
        if part < c.clock.part:
            c.clock.part = part
            which = j
    return which


@routine
def record_grazing(c: ArcState, until: float) -> None:
    """Record the grazing contacts before the fraction `until` of the step.

    A grazing contact is an open contact whose gap has a minimum below `Tolerances.gap_grazing` (m).
    """
    b = c.local[GUARD_NODES:]
    part = c.local[2 * GUARD_NODES :]
    clock = c.clock
    for i_live in range(c.guards[1]):
        j = c.live[i_live]
        k = c.contacts[j]
        values = c.values[j * GUARD_NODES :]
        i = 0
        if c.kinds[j] != GuardKind.GAP or clock.grazes >= GRAZE_CAPACITY:
            continue
        for node in range(GUARD_NODES):
            i = node if values[node] < values[i] else i
        if i == 0 or i == GUARD_NODES - 1:
            continue
        # The gap of a contact that has just opened begins at zero; rounding there is no dip.
        if values[0] - values[i] < c.mode.motion.tol.gap_guard:
            continue
        fit_bernstein(c.basis, values, b)
        # Bernstein coefficients bound the gap from below: most gaps stay far from grazing.
        lower_bound = b[0]
        for node in range(GUARD_NODES):
            lower_bound = min(lower_bound, b[node])
        if not lower_bound < c.mode.motion.tol.gap_grazing:
            continue
        position = find_minimum(
            b, c.basis[NODE_POSITIONS + i - 1], c.basis[NODE_POSITIONS + i + 1], part
        )
        is_grazing = abs(evaluate_polynomial(b, position, part)) < c.mode.motion.tol.gap_grazing
        if position < until and is_grazing and is_on_feature(c, k, position):
            offset = 2 * clock.grazes
            c.grazes[offset] = clock.time + position * clock.step
            c.grazes[offset + 1] = float(k)
            clock.grazes += 1


@routine
def find_penetration(c: ArcState, part: float) -> int:
    """Return the index of an open contact that penetrates the ground at the fraction `part` of the step.

    Its gap is below -`Tolerances.gap_penetration` (m), within the borders of its feature. Return -1 if there
    is none. A penetration means that an event was missed, or that the wheel cannot touch the feature there.
    """
    s = c.mode
    m = c.mode.motion
    b = c.mode.contacts
    evaluate_dense(c, part)
    for k in range(b.size):
        if c.near[k] == Proximity.AWAY:
            continue
        row = c.rows[k * m.row :]
        evaluate_gap(s.x, b, k, row)
        penetrates = row[m.gap] < -m.tol.gap_penetration and row[m.gap] > -b.reach[k]
        if (
            penetrates
            and border_excess(m, b, k, row) < -m.tol.border_inside
            and is_above(m, b, k, row)
        ):
            return k
    return -1


@routine
def project_step_end(c: ArcState, h: float) -> None:
    """Write the state after a step of length h (s), projected onto the closed contacts, to x."""
    s = c.mode
    g = c.stages
    t = c.clock.time
    if h == c.clock.step:
        c.state[: g.n] = g.new[: g.n]
    else:
        take_trial_step(c, h, c.state)
    put_state(s.x, t + h, c.state, g.n)
    project_state(s)
    c.state[: g.n] = s.x[1 : 1 + g.n]


@routine
def find_pull_after_step(c: ArcState, h: float) -> int:
    """Return the index of the closed contact that pulls most after a step of length h (s); -1 if none."""
    project_step_end(c, h)
    return find_pulling_contact(c)


@routine
def find_pulling_contact(c: ArcState) -> int:
    """Return the index of the closed contact that pulls most at the state in x; -1 if none pulls."""
    s = c.mode
    worst = -1
    least = -c.mode.motion.tol.pull
    s.x[0] = min(s.x[0], c.clock.last_time)
    flow(s, c.stages.errors, s.lam)
    for k in range(s.plan[CLOSED]):
        if s.lam[3 * k] < least:
            worst = k
            least = s.lam[3 * k]
    return worst


@routine
def locate_event(c: ArcState, j: int) -> float:
    """Return the time (s) from the start of the step to the event of guard j.

    The state at the event is stored in `state`, and written to x unless the event is at the start of the
    step.
    """
    part = c.clock.part
    step = c.clock.step
    if part == 0.0:
        c.state[: c.stages.n] = c.stages.y[: c.stages.n]
        return 0.0
    offset = min(1e-4, 0.1 * part)
    offset = (
        -offset if c.kinds[j] == GuardKind.BORDER else offset
    )  # before the event, the guard of a wheel that rolls along a seam is zero all the time
    slope = (evaluate_guard_at(c, j, part) - evaluate_guard_at(c, j, part - offset)) / (
        offset * step
    )
    h = part * step
    project_step_end(c, h)
    for _ in range(3):
        value = evaluate_guard(c, j)
        if slope == 0.0 or abs(value) < c.mode.motion.tol.event_time * abs(slope):
            break
        h = min(max(h - value / slope, 0.0), step)
        project_step_end(c, h)
    return h


@routine
def find_last_push(c: ArcState, h: float) -> float:
    """Return the last time (s) in the step, from its start and at most h, at which no contact pulls."""
    low = 0.0
    high = h
    for _ in range(60):
        middle = 0.5 * (low + high)
        if find_pull_after_step(c, middle) < 0:
            low = middle
        else:
            high = middle
    return low


@routine
def find_creeping_contact(c: ArcState) -> int:
    """Return the index of the SLIP guard of a creeping contact at the state in x; -1 if none.

    A contact creeps if its slip speed is below `Tolerances.slip_detected` (m/s). A creeping contact whose
    friction force grows without bound sticks.
    """
    s = c.mode
    row = c.turning.seen
    for j in range(c.guards[0]):
        if c.kinds[j] == GuardKind.SLIP:
            evaluate_row(s.x, s.contacts, s.which[c.contacts[j]], row)
            if slip_speed(s.x, row, s.motion) < s.motion.tol.slip_detected:
                return j
    return -1


@routine
def finish_step_at_event(c: ArcState, j: int) -> RunStatus:
    """Advance to the event of guard j; return EVENT, or PULL if a normal force jumps to a pull.

    After PULL the present state is the last one at which all normal forces are positive. `rows` then contains
    the state just after it, at which a contact pulls.
    """
    delay = locate_event(c, j)
    status = RunStatus.EVENT
    s = c.mode
    c.clock.subject = j
    if s.plan[CLOSED] > 0 and delay > 0.0:
        k = find_pulling_contact(c)
        if k >= 0:
            c.rows[: c.stages.n] = c.state[: c.stages.n]
            delay = find_last_push(c, delay)
            find_pull_after_step(c, delay)
            if s.lam[3 * k] > s.motion.tol.force_jump:
                sticking = find_creeping_contact(c)
                status = RunStatus.PULL if sticking < 0 else RunStatus.EVENT
                c.clock.subject = k if sticking < 0 else sticking
    c.clock.event_delay = delay
    record_samples(c, delay)
    return status


@routine
def stick_if_creeping(c: ArcState) -> bool:
    """Return whether a contact creeps at the present state, see `find_creeping_contact`.

    If so, its SLIP guard becomes the cause of an event now, at which the contact sticks.
    """
    g = c.stages
    clock = c.clock
    put_state(c.mode.x, clock.time, g.y, g.n)
    c.state[: g.n] = g.y[: g.n]
    clock.subject = find_creeping_contact(c)
    clock.event_delay = 0.0
    return clock.subject >= 0


@routine
def record_nodes(c: ArcState, until: float) -> None:
    """Store the dense output of a step up to the time `until` (s) after its start."""
    g = c.stages
    clock = c.clock
    first = c.clock.nodes
    if until <= 0.0:
        return
    for i in range(STEP_NODES):
        evaluate_dense_output(g, c.places[i] * until / clock.step, c.nodes[(first + i) * g.n :])
        c.node_times[first + i] = min(clock.time + c.places[i] * until, clock.last_time)
    clock.nodes += STEP_NODES


@routine
def record_samples(c: ArcState, until: float) -> None:
    """Store the samples and the dense output of a step up to the time `until` (s) after its start."""
    g = c.stages
    clock = c.clock
    record_nodes(c, until)
    stop = clock.time + until - 1e-9 * c.dt
    k = int((clock.time - c.start) / c.dt + 1e-9) + 1
    while c.start + k * c.dt < stop:
        t = c.start + k * c.dt
        index = clock.samples
        c.times[index] = t
        evaluate_dense_output(g, (t - clock.time) / clock.step, c.samples[index * g.n :])
        clock.samples += 1
        k += 1


@routine
def integrate_arc(c: ArcState, limit: int) -> RunStatus:
    """Integrate one arc to its first event or its end, by up to `limit` steps.

    Return the reason why the integration stopped; PAUSED if the limit is reached or the sample storage is
    full.
    """
    g = c.stages
    clock = c.clock
    tol = c.mode.motion.tol
    for _ in range(limit):
        clock.steps += 1
        if clock.step < tol.creep_step and stick_if_creeping(c):
            return RunStatus.EVENT
        status = take_accepted_step(c)
        if status is not RunStatus.RESOLVED:
            return status
        if not bound_wheel_motion(c) or clock.time + clock.step > clock.horizon:
            return RunStatus.OUTSIDE_SEARCH
        # Locate the first event of the step.
        sample_guards(c)
        j = find_first_event(c)
        k = find_penetration(c, min(clock.part, 1.0))
        # A penetration without an event: repeat with a shorter step.
        if k >= 0:
            clock.step = 0.2 * clock.step
            clock.subject = k
            if clock.step < tol.penetration_step:
                return RunStatus.PENETRATION
            continue
        remaining = clock.end_time - clock.time
        is_last = clock.step > remaining and min(clock.part, 1.0) * clock.step > remaining
        record_grazing(c, remaining / clock.step if is_last else clock.part)
        if is_last:
            # There is no event before the end of the run: repeat the step up to the end, without guards.
            clock.step = remaining
            status = take_accepted_step(c)
            if status is not RunStatus.RESOLVED:
                return status
        elif j >= 0:
            return finish_step_at_event(c, j)
        record_samples(c, clock.step)
        project_step_end(c, clock.step)
        g.y[: g.n] = c.state[: g.n]
        last = min(clock.input_jump, clock.end_time)
        clock.time = last if clock.step >= last - clock.time else clock.time + clock.step
        clock.step = clock.next_step
        clock.is_first = False
        if clock.time >= last:
            return RunStatus.ARC_END
        if max(clock.samples, clock.nodes) > 0.5 * SAMPLE_CAPACITY:
            break
    return RunStatus.PAUSED
