"""An arc in one call, as routines: steps with dense output, guards on it, the first event.

Problem: integrate the motion of a mode until the first guard (`trajectory.GuardKind`) becomes negative,
and miss none. Method, one step of `integrate_arc`:

1. `take_accepted_step`: an explicit step of order 8 (Dormand and Prince), or an implicit one (`radau`) where
   friction turns slips fast, as long as the tolerances of integration allow.
2. `bound_wheel_motion`: contacts whose features stay out of reach on the step are left out.
3. `sample_guards`, `first_event`: values of all guards at the nodes, the polynomials through them, and the
   first crossing (`guards`). What a polynomial does not fit is examined on halves.
4. `find_penetration`: a gap below `Tolerances.gap_penetration` without an event shortens the step.
5. `record_grazing`: gaps that fall and rise again, closer than `Tolerances.gap_grazing`.
6. `locate_event`: the state at the event is reached by a step of its own, projected onto the constraints.

A new guard needs a `GuardKind` (behind GAP if it belongs to a closed contact: `sample_guards` relies on the
order), its tolerance (`guards.guard_tolerances`), a place in `guards.set_guards`, room in
`driver.ArcDriver._make_arc` (guards per closed contact), its value in `guard_value` and `evaluate_guard`, the
full contact row in `evaluate_closed_gaps` if it reads more than the geometry, its cause in
`run_loop.begin_event`, and its derivative in `analysis.gradient.saltation`.
"""

from enum import IntEnum
from math import isfinite, sqrt
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, Record, routine
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.complementarity.linear import add_dot, dot, norm
from draisine.simulation.contact.event_driven.guards import (
    GUARD_NODES,
    NEVER,
    NODE_POSITIONS,
    evaluate_polynomial,
    find_minimum,
    fit,
    next_zero,
)
from draisine.simulation.contact.event_driven.radau import (
    SEVEN,
    Turning,
    collocate,
    turning_rate,
    write_dense_output,
)
from draisine.simulation.contact.kernels import (
    CLOSED,
    ContactColumns,
    ContactMode,
    border_excess,
    evaluate_gap,
    evaluate_gaps,
    evaluate_row,
    excess_of_border,
    flow,
    fold_excess,
    is_above,
    project_state,
    put_state,
    relative_velocity,
    slip_speed,
)
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.tolerances import Tolerances
from draisine.simulation.integrators import NODES as STEP_NODES
from draisine.simulation.integrators.dop853 import (
    FIRST_DENSE_STAGE,
    NODE_OFFSET,
    STAGES,
    Stages,
    dense,
    error_norm,
    grow,
    interpolate,
    shrink,
    weigh,
)
from draisine.simulation.trajectory import GuardKind


class RunStatus(IntEnum):
    """The reason why the run loop, or a part of it, returned."""

    PAUSED = 0  # within an arc: the number of steps is reached, or the storage of samples is full
    SINGULAR = 1  # the constraint rows contradict each other
    STEP_TOO_SMALL = 2  # no step satisfies the tolerances
    EVENT = 3  # a guard fired
    ARC_END = 4  # inputs jump, or the run ends
    OUTSIDE_SEARCH = 5  # a wheel left the boxes in which features were searched
    PENETRATION = 6  # a wheel is in the ground, though no guard fired
    PULL = 7  # a contact force jumps to a pull
    RESOLVED = 8  # the part of an event is done
    IMPACT = 9  # of `resolve_event`: an impact comes first; of `run_arcs`: Python has to resolve it
    TOO_MANY_CONTACTS = 10  # more contacts touch than the records can store
    CONTRADICTION = 11  # the closed contacts contradict each other
    NO_CONTACT_SET = 12  # no set of closed contacts is admissible
    NO_FRICTION_FORCES = 13  # no forces satisfy the law of friction
    UNKNOWN_MODE = 14  # the closed form of the mode is not known yet
    SHARP_FEATURE = 15  # a disc may have come onto a feature that it cannot touch
    NO_PROGRESS = 16  # too many events at one instant
    FALL = 17  # the machine has fallen
    LOG_FULL = 18  # the number of events is reached, or the log is full


class ArcClock(Record):
    """Time, step and results of the last step of an arc."""

    time: float = 0.0  # s, at the start of the step
    step: float = 0.0  # s, length of the step
    last_time: float = 0.0  # s, the last time before inputs jump
    next_step: float = 0.0  # s, proposed length of the next step
    input_jump: float = 0.0  # s, when inputs jump next
    end_time: float = 0.0  # s, when the run ends
    is_first: bool = False  # whether this is the first step of the arc
    samples: int = 0  # number of samples kept in this call
    nodes: int = 0  # number of nodes of dense output kept in this call
    grazes: int = 0  # number of grazing contacts recorded in this call
    steps: int = 0  # number of steps tried in this call
    part: float = 0.0  # fraction of the step at which the first guard fires, NEVER if none does
    event_delay: float = 0.0  # s, from the start of the step to the event
    subject: int = 0  # the guard that fired, or the contact that penetrates or pulls
    horizon: float = 0.0  # s, until when the searched features are enough on moving ground
    longest_step: float = 0.0  # s, for the same reason, and for the storage of samples
    latest_sample: float = 0.0  # s, time of the latest sample
    is_implicit: bool = False  # whether the step is implicit


EXPLICIT_LIMIT = 4.0
"""Product of the length of a step and the rate at which friction turns slips above which a step is implicit:
the length of an explicit step would be limited by stability.
"""

SHORTEST_INTERVAL = 1.0 / 64.0
"""Fraction of a step down to which it is divided if no polynomial approximates a guard."""


class Proximity(IntEnum):
    """Proximity of an open contact during a step."""

    AWAY = 0  # it cannot touch
    NEAR = 1  # it may touch
    BELOW = 2  # it cannot touch, because its gap stays negative


SAMPLE_CAPACITY = 4096
"""Number of samples, and of nodes of the dense output, that one call can store."""

GRAZE_CAPACITY = 64
"""Number of grazing contacts that one call can store; later ones are not reported."""


class ArcState(NamedTuple):
    """The present arc: its mode, step and guards, and the samples of this call."""

    mode: ContactMode
    stages: Stages  # the explicit step
    turning: Turning  # the implicit step, for slips that friction turns fast
    inside: (
        Floats  # per contact, how far beyond its borders it may touch; negative after a hand-over
    )
    wheels: ContactColumns  # the wheels over level ground, for their centres
    box: Floats  # (wheels, 2, 3) m, boxes of the centres on the step
    swept: Floats  # (wheels, 2, 3) m, boxes in which features were searched
    near: Integers  # Proximity of each contact on the step
    moved: Floats  # (wheels, 2) m and 1, how far centres and axles move from the middle of the step
    guards: Integers  # number of guards, and of those that may fire on the step
    live: Integers  # numbers of the latter
    falls: Integers  # 1 for each way to fall that ends the run: lean, over
    kinds: Integers  # GuardKind of each guard
    contacts: Integers  # its contact: in the table for GAP, else among the closed ones
    borders: Integers  # its border, for BORDER
    slack: Floats  # tolerance of each GuardKind
    fall: float  # sine of the largest lean
    start: float  # s, time of the first sample
    dt: float  # s, spacing of samples
    basis: Floats  # coefficients of the guards' polynomials
    clock: ArcClock
    times: Floats  # s, of the samples
    samples: Floats  # their states
    places: Floats  # nodes of the dense output in a step
    node_times: Floats  # s
    nodes: Floats  # states there
    grazes: Floats  # (time, contact) of grazing contacts
    values: Floats  # (guards, GUARD_NODES) values of the guards at the nodes
    local: Floats  # scratch: Bernstein coefficients
    state: Floats  # state at the end of the step or at the event
    rows: Floats  # scratch: contact rows


@routine
def take_step(c: ArcState, h: float, into: Floats) -> bool:
    """Write the state after one step of length h, without a check of its error; return whether it exists. k
    contains the rate at the start.
    """
    s = c.mode
    g = c.stages
    t = c.clock.time
    last = c.clock.last_time
    if c.clock.is_implicit:
        if collocate(s, g, c.turning, t, h, last) != 0:
            return False
        into[: g.n] = c.turning.states[(SEVEN - 1) * g.n :][: g.n]
        return True
    for stage in range(1, FIRST_DENSE_STAGE):
        weigh(g, stage, h, s.x[1:])
        into[: g.n] = s.x[1 : 1 + g.n]
        s.x[0] = min(t + g.method[NODE_OFFSET + stage] * h, last)
        if flow(s, g.k[stage * g.n :], s.lam) != 0:
            return False
    return True


@routine
def take_accepted_step(c: ArcState) -> RunStatus:
    """Take one step that satisfies the tolerances; write the new state and the polynomial of the dense
    output.

    The step is implicit if friction turns slips so fast that an explicit one would be unstable. Return
    RESOLVED, or the reason why no step exists.
    """
    s = c.mode
    g = c.stages
    put_state(s.x, c.clock.time, g.y, g.n)
    # Stages need accelerations alone; only tyres depend on the loads that wheels share.
    s.system.motion_only = s.motion.acted == 0
    status = try_steps(c)
    s.system.motion_only = False
    return status


@routine
def try_steps(c: ArcState) -> RunStatus:
    """Take steps from the state in x, shorter and shorter, until one satisfies the tolerances; return as
    `take_accepted_step` does.
    """
    s = c.mode
    g = c.stages
    clock = c.clock
    t = clock.time
    end = clock.input_jump
    if flow(s, g.k, s.lam) != 0:
        return RunStatus.SINGULAR
    h = min(clock.step, clock.longest_step)
    turning = turning_rate(s, g, c.turning)
    error = 2.0
    # Shorten the step until its error is within the tolerances.
    while not error < 1.0:
        if h < max(1e-14 * abs(t), s.motion.tol.shortest_step):
            return RunStatus.STEP_TOO_SMALL
        # A short remainder before a jump of the inputs is added to the step.
        if t + 1.01 * h >= end:
            h = end - t
        clock.is_implicit = h * turning > EXPLICIT_LIMIT
        if not take_step(c, h, g.new):
            h *= 0.1
        else:
            if clock.is_implicit:
                error = write_dense_output(g, c.turning)
            else:
                error = error_norm(g, h, FIRST_DENSE_STAGE)
            h *= 1.0 if error < 1.0 else shrink(error)
    # The dense output of the explicit method needs three more stages.
    if not clock.is_implicit:
        for stage in range(FIRST_DENSE_STAGE, STAGES):
            weigh(g, stage, h, s.x[1:])
            s.x[0] = min(t + g.method[NODE_OFFSET + stage] * h, clock.last_time)
            flow(s, g.k[stage * g.n :], s.lam)
        interpolate(g, h)
    clock.step = h
    clock.next_step = h * grow(error)
    return RunStatus.RESOLVED


@routine
def evaluate_dense(c: ArcState, part: float) -> None:
    """Write the state at a fraction of the step into x."""
    s = c.mode
    g = c.stages
    s.x[0] = min(c.clock.time + part * c.clock.step, c.clock.last_time)
    dense(g, part, s.x[1:])


@routine
def guard_value(c: ArcState, j: int, row: Floats, lam: Floats) -> float:
    """Return the value of guard j at the state in x, in a form that is nearly a polynomial, eq. [guards]."""
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
        # For curved wheels this combination is closer to a polynomial than the gap; its zero is the same.
        return gap * (1.0 + 0.5 * gap / bend) if bend > 0.0 else gap
    if kind == GuardKind.NORMAL_FORCE:
        return lam[0]
    if kind == GuardKind.DEFLECTION:
        return -row[m.gap]
    if kind == GuardKind.FRICTION_CONE:
        return s.mu[k] * lam[0] - norm(lam[1], lam[2])
    if kind == GuardKind.SLIP:
        s1 = relative_velocity(s.x, row, m, 1)
        s2 = relative_velocity(s.x, row, m, 2)
        return s1 * s1 + s2 * s2 - m.tol.slip_end * m.tol.slip_end
    if kind == GuardKind.FOLD:
        return -fold_excess(m, s.contacts, s.which[k], row)
    return -excess_of_border(m, s.contacts, c.borders[j], row)


@routine
def evaluate_guard(c: ArcState, j: int) -> float:
    """Return guard j of the state in x."""
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
    """Return guard j at a fraction of the step; the state there is written to x."""
    evaluate_dense(c, part)
    return evaluate_guard(c, j)


@routine
def bound_wheel_motion(c: ArcState) -> bool:
    """Write the box of each wheel's centre during the step, its largest displacement and rotation from the
    middle of the step, and the proximity of all contacts; return whether all centres stay in the searched
    boxes.
    """
    s = c.mode
    m = c.mode.motion
    stays = True
    middle = c.rows[c.wheels.size * c.mode.motion.row :]
    # Begin with the node in the middle of the step.
    for i in range(GUARD_NODES):
        evaluate_dense(c, c.basis[NODE_POSITIONS + (i + GUARD_NODES // 2) % GUARD_NODES])
        evaluate_gaps(m, s.x, c.wheels, middle if i == 0 else c.rows)
        for w in range(c.wheels.size):
            row = c.rows[w * m.row :]
            middle_row = middle[w * m.row :]
            row = middle_row if i == 0 else row
            moved = 0.0
            turned = 0.0
            for j in range(3):
                position = row[m.centre + j]
                box = c.box[6 * w + j :]
                swept = c.swept[6 * w + j :]
                box[0] = position if i == 0 else min(box[0], position)
                box[3] = position if i == 0 else max(box[3], position)
                stays = stays and not (position < swept[0] or position > swept[3])
                shift = position - middle_row[m.centre + j]
                turn = row[m.axle + j] - middle_row[m.axle + j]
                moved += shift * shift
                turned += turn * turn
            motion = c.moved[2 * w :]
            motion[0] = max(0.0 if i == 0 else motion[0], 1.1 * sqrt(moved) + m.tol.gap_search)
            motion[1] = max(0.0 if i == 0 else motion[1], 1.1 * sqrt(turned))
    for k in range(s.contacts.size):
        reaches = in_reach(m.tol, s.contacts, c.box, k)
        c.near[k] = classify_proximity(c, k, middle) if reaches else Proximity.AWAY
    return stays


@routine
def classify_proximity(c: ArcState, k: int, middle: Floats) -> Proximity:
    """Return the proximity of a contact during a step, from the distance of the feature and the wheel in
    the middle of the step.

    The rim of the wheel moves by no more than its centre does and its axle turns it. Feet that are armed at
    times may be below the ground.
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
        return trace_line(m.tol, b, k, centre, axle, ring, crown + largest_motion)
    # A patch stays within f[4] of its plane. This number is zero for a face.
    tilt = dot(f, axle, 3)
    flat = sqrt(max(1.0 - tilt * tilt, 0.0))
    gap = add_dot(-f[3] - crown, f, centre, 3) - ring * flat
    if gap > largest_motion + f[4] or is_beside(c, k, middle, tilt, flat):
        return Proximity.AWAY
    return Proximity.BELOW if gap < -largest_motion - f[4] else Proximity.NEAR


@routine
def is_beside(c: ArcState, k: int, middle: Floats, tilt: float, flat: float) -> bool:
    """Return whether the lowest point of a wheel over the plane of a face stays beyond a border of the face
    during the whole step.

    The point moves by no more than the centre does plus four times the rotation of the axle times the arm of
    the point in the plane of the wheel. Normals of a patch differ from that of its plane by up to N[5], and
    the lowest point by that times the largest radius of curvature of the wheel. For a face this number is
    zero.
    """
    m = c.mode.motion
    b = c.mode.contacts
    w = c.mode.contacts.wheels[k]
    centre = middle[w * m.row + m.centre :]
    axle = middle[w * m.row + m.axle :]
    N = b.features[k * FEATURE :]
    ring = b.radius[k] - b.crown[k]
    turn = N[5]
    # The wheel lies on the plane: its lowest point is undefined.
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
def trace_line(
    tol: Tolerances,
    b: ContactColumns,
    k: int,
    centre: Floats,
    axle: Floats,
    ring: float,
    limit: float,
) -> Proximity:
    """Return whether an edge or a vertex stays out of touch during a step.

    The distance of the line from the ring of the wheel is followed along the line, by steps as long as the
    distance allows. A gap alone does not decide: it may be negative without touch if the line passes inside
    the ring.
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
        distance = norm(z, radial) - limit
        if distance < tol.edge_trace:
            return Proximity.NEAR
        is_inside = is_inside or radial < 0.0
        position += distance
    first_end = aside + first * slope
    second_end = aside + last * slope
    crosses_plane = min(first_end, second_end) < limit and max(first_end, second_end) > -limit
    return Proximity.BELOW if b.crown[k] == 0.0 and is_inside and crosses_plane else Proximity.AWAY


@routine
def in_reach(tol: Tolerances, b: ContactColumns, boxes: Floats, k: int) -> bool:
    """Return whether a wheel, whose centre is in its box, may touch the box of a feature and the line of an
    edge.

    The line is tested as well because the box of an oblique edge is much larger than the edge.
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
    )  # between the nodes a centre may be a little outside
    for j in range(3):
        distance = max(max(b.low[3 * k + j] - box[3 + j], box[j] - b.high[3 * k + j]), 0.0)
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
    """List the guards that may become negative in the step, and write their values at its nodes."""
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
    """Write the geometry of closed contacts, and the rows of those that slide."""
    for i in range(s.plan[CLOSED]):
        row = s.seen[i * s.motion.row :]
        if s.status[i] == Status.SLIDING and s.mu[i] > 0.0:
            evaluate_row(s.x, s.contacts, s.which[i], row)
        else:
            evaluate_gap(s.x, s.contacts, s.which[i], row)


@routine
def is_on_feature(c: ArcState, k: int, part: float) -> bool:
    """Return whether an open contact is within the borders of its feature at a fraction of the step."""
    s = c.mode
    row = c.rows
    evaluate_dense(c, part)
    evaluate_gap(s.x, s.contacts, k, row)
    if border_excess(s.motion, s.contacts, k, row) > c.inside[k]:
        return False
    return is_above(s.motion, s.contacts, k, row)


@routine
def find_crossing(
    c: ArcState, j: int, values: Floats, begin: float, width: float, end: float
) -> float:
    """Return the fraction of an interval at which guard j becomes negative, before a given fraction, from
    its values at the nodes; NEVER if it does not.

    A guard that is negative at the start must have been positive before, unless it continues to fall.
    """
    b = c.local[GUARD_NODES:]
    part = c.local[2 * GUARD_NODES :]
    kind = c.kinds[j]
    crossing = 0.0
    if b[0] < 0.0:
        # The impulse by which a contact sticks turns the slow slip of the others, and their friction with
        # it. A contact that then begins outside its cone slips at once, though friction may turn back.
        slips = kind == GuardKind.FRICTION_CONE and c.clock.is_first
        if begin == 0.0 and (slips or values[1] < values[0]):
            has_just_opened = c.clock.is_first and abs(values[0]) <= c.mode.motion.tol.gap_opened
            if kind != GuardKind.GAP or (has_just_opened and is_on_feature(c, c.contacts[j], 0.0)):
                return 0.0
        crossing = next_zero(b, -1.0, 0.0, end, part)
    while crossing != NEVER:
        crossing = next_zero(b, 1.0, crossing, end, part)
        if crossing != NEVER:
            if kind != GuardKind.GAP or is_on_feature(c, c.contacts[j], begin + crossing * width):
                return begin + crossing * width
            crossing = next_zero(b, -1.0, min(crossing + 1e-12, 1.0), end, part)
    return NEVER


@routine
def bisect_crossing(c: ArcState, j: int, begin: float, width: float) -> float:
    """Return the fraction of an interval at which a guard changes its sign, by bisection; NEVER if it does
    not. It serves guards that no polynomial approximates.
    """
    low = begin
    high = begin + width
    threshold = -c.slack[c.kinds[j]]
    if not evaluate_guard_at(c, j, high) < threshold or evaluate_guard_at(c, j, low) < threshold:
        return NEVER
    while high - low > 1e-14:
        middle = 0.5 * (low + high)
        if evaluate_guard_at(c, j, middle) < threshold:
            high = middle
        else:
            low = middle
    if c.kinds[j] == GuardKind.GAP and not is_on_feature(c, c.contacts[j], high):
        return NEVER
    return high


@routine
def first_crossing(c: ArcState, j: int, before: float) -> float:
    """Return the first fraction of the step at which guard j becomes negative; NEVER if not before a
    given one.

    If the polynomial through its values does not decide, the step is halved.
    """
    b = c.local[GUARD_NODES:]
    values = c.values[j * GUARD_NODES :]
    slack = c.slack[c.kinds[j]]
    begin = 0.0
    width = 1.0
    while begin < min(before, 1.0):
        tail = fit(c.basis, values, b)
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
                if crossing != NEVER:
                    return crossing if crossing > 1e-13 else 0.0
            begin += width
        values = c.local[0:]
        if begin < min(before, 1.0):
            for i in range(GUARD_NODES):
                values[i] = evaluate_guard_at(c, j, begin + width * c.basis[NODE_POSITIONS + i])
    return NEVER


@routine
def first_event(c: ArcState) -> int:
    """Return the guard that becomes negative first in the step, or -1; write its position to the clock."""
    c.clock.part = NEVER
    which = -1
    for i_live in range(c.guards[1]):
        j = c.live[i_live]
        part = first_crossing(c, j, c.clock.part)
        if part < c.clock.part:
            c.clock.part = part
            which = j
    return which


@routine
def record_grazing(c: ArcState, until: float) -> None:
    """Record grazing contacts before a fraction of the step: gaps that fall, rise again, and have a minimum
    below `gap_grazing`.
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
        fit(c.basis, values, b)
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
    """Return a contact, open or closed, that penetrates by more than `gap_penetration` inside its borders
    at a fraction of the step, or -1. It shows that an event was missed, or that the wheel cannot touch there.
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
    """Write the state after a step of length h, projected onto the closed contacts, into x."""
    s = c.mode
    g = c.stages
    t = c.clock.time
    if h == c.clock.step:
        c.state[: g.n] = g.new[: g.n]
    else:
        take_step(c, h, c.state)
    put_state(s.x, t + h, c.state, g.n)
    project_state(s)
    c.state[: g.n] = s.x[1 : 1 + g.n]


@routine
def find_pull(c: ArcState, h: float) -> int:
    """Return the closed contact that pulls most after a step of length h, or -1 if none does."""
    project_step_end(c, h)
    return find_pull_here(c)


@routine
def find_pull_here(c: ArcState) -> int:
    """Return the closed contact that pulls most in the state in x, or -1 if none does."""
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
    """Return the time (s) from the start of the step to the event of guard j. The state of the event is
    written, also to x unless it is the start of the step.
    """
    part = c.clock.part
    step = c.clock.step
    if part == 0.0:
        c.state[: c.stages.n] = c.stages.y[: c.stages.n]
        return 0.0
    offset = min(1e-4, 0.1 * part)
    offset = (
        -offset if c.kinds[j] == GuardKind.BORDER else offset
    )  # before it, a seam is at zero all the time
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
    """Return the last time (s) after the start of the step, before h, at which no contact pulls."""
    low = 0.0
    high = h
    for _ in range(60):
        middle = 0.5 * (low + high)
        if find_pull(c, middle) < 0:
            low = middle
        else:
            high = middle
    return low


@routine
def find_sticking(c: ArcState) -> int:
    """Return the guard of a contact that creeps in the state in x, or -1. If forces grow without bound, that
    contact sticks.
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
    """Advance to the event of guard j; return EVENT, or PULL if a force jumps to a pull.

    In the latter case the state is the last one in which all contacts push, and the next one is in `rows`.
    """
    delay = locate_event(c, j)
    status = RunStatus.EVENT
    s = c.mode
    c.clock.subject = j
    if s.plan[CLOSED] > 0 and delay > 0.0:
        k = find_pull_here(c)
        if k >= 0:
            c.rows[: c.stages.n] = c.state[: c.stages.n]
            delay = find_last_push(c, delay)
            find_pull(c, delay)
            if s.lam[3 * k] > s.motion.tol.force_jump:
                sticking = find_sticking(c)
                status = RunStatus.PULL if sticking < 0 else RunStatus.EVENT
                c.clock.subject = k if sticking < 0 else sticking
    c.clock.event_delay = delay
    record_samples(c, delay)
    return status


@routine
def stick_if_creeping(c: ArcState) -> bool:
    """Return whether a contact creeps at the present state; its guard becomes the subject of the event."""
    g = c.stages
    clock = c.clock
    put_state(c.mode.x, clock.time, g.y, g.n)
    c.state[: g.n] = g.y[: g.n]
    clock.subject = find_sticking(c)
    clock.event_delay = 0.0
    return clock.subject >= 0


@routine
def record_nodes(c: ArcState, until: float) -> None:
    """Store the dense output of a step until a time (s) after its start."""
    g = c.stages
    clock = c.clock
    first = c.clock.nodes
    if until <= 0.0:
        return
    for i in range(STEP_NODES):
        dense(g, c.places[i] * until / clock.step, c.nodes[(first + i) * g.n :])
        c.node_times[first + i] = min(clock.time + c.places[i] * until, clock.last_time)
    clock.nodes += STEP_NODES


@routine
def record_samples(c: ArcState, until: float) -> None:
    """Store the samples of a step until a time (s) after its start, and its dense output."""
    g = c.stages
    clock = c.clock
    record_nodes(c, until)
    stop = clock.time + until - 1e-9 * c.dt
    k = int((clock.time - c.start) / c.dt + 1e-9) + 1
    while c.start + k * c.dt < stop:
        t = c.start + k * c.dt
        index = clock.samples
        c.times[index] = t
        dense(g, (t - clock.time) / clock.step, c.samples[index * g.n :])
        clock.samples += 1
        k += 1


@routine
def integrate_arc(c: ArcState, limit: int) -> RunStatus:
    """Take up to `limit` steps, to the first event or to the end of the arc; return the reason for the
    stop.
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
        j = first_event(c)
        k = find_penetration(c, min(clock.part, 1.0))
        # A penetration without an event: repeat with a shorter step.
        if k >= 0:
            clock.step = 0.2 * clock.step
            clock.subject = k
            if clock.step < tol.penetration_step:
                return RunStatus.PENETRATION
            continue
        remaining = clock.end_time - clock.time
        if clock.step > remaining and min(clock.part, 1.0) * clock.step > remaining:
            clock.step = remaining  # a step with an event before the end of the run is not cut
            continue
        record_grazing(c, clock.part)
        if j >= 0:
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
