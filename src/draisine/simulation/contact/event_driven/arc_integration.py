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
    """Why a call of the run loop, or one of its parts, returned."""

    PAUSED = 0  # within an arc: as many steps as were asked for, or no room for more samples
    SINGULAR = 1  # the constraint rows contradict each other
    STEP_TOO_SMALL = 2  # no step satisfies the tolerances
    EVENT = 3  # a guard fired
    ARC_END = 4  # inputs jump, or the run ends
    OUTSIDE_SEARCH = 5  # a wheel left the boxes in which features were searched
    PENETRATION = 6  # a wheel is in the ground, though no guard fired
    PULL = 7  # a contact force jumps to a pull
    RESOLVED = 8  # the part of an event is done
    IMPACT = 9  # of `resolve_event`: an impact comes first; of `run_arcs`: Python has to resolve it
    TOO_MANY_CONTACTS = 10  # more contacts touch than there is room for
    CONTRADICTION = 11  # the closed contacts contradict each other
    NO_CONTACT_SET = 12  # no set of closed contacts is admissible
    NO_FRICTION_FORCES = 13  # no forces satisfy the law of friction
    UNKNOWN_MODE = 14  # the closed form of the mode is not known yet
    SHARP_FEATURE = 15  # a disc may have come onto a feature that it cannot touch
    NO_PROGRESS = 16  # too many events at one instant
    FALL = 17  # the machine has fallen
    LOG_FULL = 18  # as many events as were asked for, or no room for more


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
    part: float = 0.0  # where in the step the first guard fires, NEVER if none does
    event_delay: float = 0.0  # s, from the start of the step to the event
    subject: int = 0  # the guard that fired, or the contact that penetrates or pulls
    horizon: float = 0.0  # s, until when the searched features are enough on moving ground
    longest_step: float = 0.0  # s, for the same reason, and for the room for samples
    latest_sample: float = 0.0  # s, time of the latest sample
    is_implicit: bool = False  # whether the step is implicit


STABLE = 4.0
"""Up to this product of its length and the rate at which friction turns slips a step is explicit."""

SHORTEST = 1.0 / 64.0
"""Guards that no polynomial fits are looked at on ever smaller parts of a step, down to this."""


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
    """An arc under way: the mode, the step, the guards, and the samples of this call."""

    mode: ContactMode  # the mode
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
    fall: float  # sine of the lean that is a fall
    start: float  # s, time of the first sample
    dt: float  # s, spacing of samples
    basis: Floats  # coefficients of the guards' polynomials
    clock: ArcClock  # where the arc is
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
    """Write the state after one step of length h, whatever its error; k holds the rate at its start.
    Return whether it exists.
    """
    s, g, t, last = c.mode, c.stages, c.clock.time, c.clock.last_time
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
    s, g = c.mode, c.stages
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
    s, g, clock = c.mode, c.stages, c.clock
    t, end = clock.time, clock.input_jump
    if flow(s, g.k, s.lam) != 0:
        return RunStatus.SINGULAR
    h, swift, error = min(clock.step, clock.longest_step), turning_rate(s, g, c.turning), 2.0
    while not error < 1.0:
        if h < max(1e-14 * abs(t), s.motion.tol.shortest_step):
            return RunStatus.STEP_TOO_SMALL
        if t + 1.01 * h >= end:
            h = end - t
        clock.is_implicit = h * swift > STABLE
        if not take_step(c, h, g.new):
            h *= 0.1
        else:
            if clock.is_implicit:
                error = write_dense_output(g, c.turning)
            else:
                error = error_norm(g, h, FIRST_DENSE_STAGE)
            h *= 1.0 if error < 1.0 else shrink(error)
    if not clock.is_implicit:
        for stage in range(FIRST_DENSE_STAGE, STAGES):
            weigh(g, stage, h, s.x[1:])
            s.x[0] = min(t + g.method[NODE_OFFSET + stage] * h, clock.last_time)
            flow(s, g.k[stage * g.n :], s.lam)
        interpolate(g, h)
    clock.step, clock.next_step = h, h * grow(error)
    return RunStatus.RESOLVED


@routine
def evaluate_dense(c: ArcState, part: float) -> None:
    """Put the state at a part of the step into x."""
    s, g = c.mode, c.stages
    s.x[0] = min(c.clock.time + part * c.clock.step, c.clock.last_time)
    dense(g, part, s.x[1:])


@routine
def guard_value(c: ArcState, j: int, row: Floats, lam: Floats) -> float:
    """Return the value of guard j at the state in x, in a form that is nearly a polynomial, eq. [guards]."""
    s, m, kind, k = c.mode, c.mode.motion, c.kinds[j], c.contacts[j]
    q = s.x[m.x_q :]
    if kind == GuardKind.LEAN:
        return c.fall - abs(2.0 * (q[2] * q[3] + q[0] * q[1]))
    if kind == GuardKind.OVERTURN:
        return 1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])
    if kind == GuardKind.GAP:
        gap, bend = row[m.gap], s.contacts.bend[k]
        return gap * (1.0 + 0.5 * gap / bend) if bend > 0.0 else gap
    if kind == GuardKind.NORMAL_FORCE:
        return lam[0]
    if kind == GuardKind.DEFLECTION:
        return -row[m.gap]
    if kind == GuardKind.FRICTION_CONE:
        return s.mu[k] * lam[0] - norm(lam[1], lam[2])
    if kind == GuardKind.SLIP:
        s1, s2 = relative_velocity(s.x, row, m, 1), relative_velocity(s.x, row, m, 2)
        return s1 * s1 + s2 * s2 - m.tol.slip_end * m.tol.slip_end
    if kind == GuardKind.FOLD:
        return -fold_excess(m, s.contacts, s.which[k], row)
    return -excess_of_border(m, s.contacts, c.borders[j], row)


@routine
def evaluate_guard(c: ArcState, j: int) -> float:
    """Return guard j of the state in x."""
    s, kind, k = c.mode, c.kinds[j], c.contacts[j]
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
    """Return guard j at a part of the step, whose state is put into x."""
    evaluate_dense(c, part)
    return evaluate_guard(c, j)


@routine
def bound_wheel_motion(c: ArcState) -> bool:
    """Write the box of each wheel's centre on the step, how far it moves and turns from the middle of
    the step on, and which open contacts may touch; return whether all centres stay in the searched boxes.
    """
    s, m, stays = c.mode, c.mode.motion, True
    middle = c.rows[c.wheels.size * c.mode.motion.row :]
    for i in range(GUARD_NODES):
        evaluate_dense(c, c.basis[NODE_POSITIONS + (i + GUARD_NODES // 2) % GUARD_NODES])
        evaluate_gaps(m, s.x, c.wheels, middle if i == 0 else c.rows)
        for w in range(c.wheels.size):
            here, there = c.rows[w * m.row :], middle[w * m.row :]
            here = there if i == 0 else here
            moved, turned = 0.0, 0.0
            for j in range(3):
                at = here[m.centre + j]
                box, swept = c.box[6 * w + j :], c.swept[6 * w + j :]
                box[0] = at if i == 0 else min(box[0], at)
                box[3] = at if i == 0 else max(box[3], at)
                stays = stays and not (at < swept[0] or at > swept[3])
                shift, turn = at - there[m.centre + j], here[m.axle + j] - there[m.axle + j]
                moved += shift * shift
                turned += turn * turn
            way = c.moved[2 * w :]
            way[0] = max(0.0 if i == 0 else way[0], 1.1 * sqrt(moved) + m.tol.gap_search)
            way[1] = max(0.0 if i == 0 else way[1], 1.1 * sqrt(turned))
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
    m, b, w = c.mode.motion, c.mode.contacts, c.mode.contacts.wheels[k]
    crown, f = b.crown[k], b.features[k * FEATURE :]
    if b.moved[k] != 0 or not isfinite(crown) or middle[w * m.row + m.armed] != 1.0:
        return Proximity.NEAR
    centre, axle = middle[w * m.row + m.centre :], middle[w * m.row + m.axle :]
    ring, far = b.radius[k] - crown, c.moved[2 * w] + 1.6 * c.moved[2 * w + 1] * b.radius[k]
    if b.planes[k] == 0:
        return trace_line(m.tol, b, k, centre, axle, ring, crown + far)
    tilt = dot(f, axle, 3)
    flat = sqrt(max(1.0 - tilt * tilt, 0.0))
    gap = add_dot(-f[3] - crown, f, centre, 3) - ring * flat
    if gap > far or is_beside(c, k, middle, tilt, flat):
        return Proximity.AWAY
    return Proximity.BELOW if gap < -far else Proximity.NEAR


@routine
def is_beside(c: ArcState, k: int, middle: Floats, tilt: float, flat: float) -> bool:
    """Return whether the lowest point of a wheel over a face's plane, which is tilted to the axle, stays
    beyond one of the face's borders on the whole step: it moves by no more than the centre does, and its
    arm turns by no more than four times as far as the axle, measured in the wheel's plane.
    """
    m, b, w = c.mode.motion, c.mode.contacts, c.mode.contacts.wheels[k]
    centre, axle = middle[w * m.row + m.centre :], middle[w * m.row + m.axle :]
    N, ring = b.features[k * FEATURE :], b.radius[k] - b.crown[k]
    if not flat > 1e-9 and ring > 0.0:  # the wheel lies on the plane: its lowest point is undefined
        return False
    arm = ring / flat if ring > 0.0 else 0.0
    way = c.moved[2 * w] + 4.0 * c.moved[2 * w + 1] * arm
    for i in range(b.first[k], b.first[k + 1]):
        A, beyond = b.borders[7 * i :], -b.borders[7 * i + 6]
        for j in range(3):
            low = centre[j] - arm * (N[j] - tilt * axle[j]) - b.crown[k] * N[j]
            beyond += A[j] * low + A[3 + j] * N[j]
        if beyond > way * sqrt(dot(A, A, 3)):
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
    Q, e, low, high = b.features[k * FEATURE :], b.features[k * FEATURE + 3 :], 0.0, 0.0
    along, aside, slope, inner = 0.0, 0.0, dot(axle, e, 3), False
    for j in range(3):
        along += e[j] * (centre[j] - Q[j])
        aside += axle[j] * (Q[j] - centre[j])
        if e[j] != 0.0:
            one, two = e[j] * (b.low[3 * k + j] - Q[j]), e[j] * (b.high[3 * k + j] - Q[j])
            low, high = low + min(one, two), high + max(one, two)
    first = max(low, along - ring - limit) - tol.gap_search
    last = min(high, along + ring + limit) + tol.gap_search
    at = first
    while at <= last:
        off, z = 0.0, 0.0
        for j in range(3):
            way = Q[j] + at * e[j] - centre[j]
            off += way * way
            z += way * axle[j]
        out = sqrt(max(off - z * z, 0.0)) - ring
        off = norm(z, out) - limit
        if off < tol.edge_trace:
            return Proximity.NEAR
        inner = inner or out < 0.0
        at += off
    one, two = aside + first * slope, aside + last * slope
    pierced = min(one, two) < limit and max(one, two) > -limit
    return Proximity.BELOW if b.crown[k] == 0.0 and inner and pierced else Proximity.AWAY


@routine
def in_reach(tol: Tolerances, b: ContactColumns, boxes: Floats, k: int) -> bool:
    """Return whether a wheel whose centre is in its box may touch the box around a feature, and the line
    of an edge: the box around an oblique edge is much larger than the edge.
    """
    apart, side = 0.0, 0.0
    if not isfinite(b.radius[k]):
        return True
    box = boxes[6 * b.wheels[k] :]
    for j in range(3):
        side = max(side, box[3 + j] - box[j])
    far = (
        b.radius[k] + tol.gap_search + 0.1 * side
    )  # between the nodes a centre may be a little outside
    for j in range(3):
        off = max(max(b.low[3 * k + j] - box[3 + j], box[j] - b.high[3 * k + j]), 0.0)
        apart += off * off
    if apart > far * far or b.planes[k] == 1 or b.moved[k] != 0 or b.carried[k] == 1:
        return apart <= far * far
    Q = b.features[k * FEATURE :]
    e = b.features[k * FEATURE + 3 :]
    along = 0.0
    apart = 0.0
    size = 0.0
    for j in range(3):
        way = 0.5 * (box[j] + box[3 + j]) - Q[j]
        along += way * e[j]
        apart += way * way
        size += (box[3 + j] - box[j]) * (box[3 + j] - box[j])
    far += 0.5 * sqrt(size)
    return apart - along * along <= far * far


@routine
def sample_guards(c: ArcState) -> None:
    """Write which guards may turn negative on the step, and their values at its nodes."""
    s, m, count = c.mode, c.mode.motion, 0
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
        for some in range(count):
            j = c.live[some]
            kind, k, row, lam = c.kinds[j], c.contacts[j], c.rows[0:], s.lam[0:]
            if kind > GuardKind.GAP:
                row, lam = s.seen[k * m.row :], s.lam[3 * k :]
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
    """Return whether an open contact is on its feature at a part of the step."""
    s, row = c.mode, c.rows
    evaluate_dense(c, part)
    evaluate_gap(s.x, s.contacts, k, row)
    if border_excess(s.motion, s.contacts, k, row) > c.inside[k]:
        return False
    return is_above(s.motion, s.contacts, k, row)


@routine
def find_crossing(
    c: ArcState, j: int, values: Floats, at: float, width: float, end: float
) -> float:
    """Return the fraction of an interval at which guard j becomes negative, before a given fraction, from
    its values at the nodes; NEVER if it does not.

    A guard that is negative at the start must have been positive before, unless it continues to fall.
    """
    b, part, kind, found = c.local[GUARD_NODES:], c.local[2 * GUARD_NODES :], c.kinds[j], 0.0
    if b[0] < 0.0:
        # The impulse by which a contact sticks turns the slow slip of the others, and their friction with
        # it. A contact that then begins outside its cone slips at once, though friction may turn back.
        slips = kind == GuardKind.FRICTION_CONE and c.clock.is_first
        if at == 0.0 and (slips or values[1] < values[0]):
            fresh = c.clock.is_first and abs(values[0]) <= c.mode.motion.tol.gap_opened
            if kind != GuardKind.GAP or (fresh and is_on_feature(c, c.contacts[j], 0.0)):
                return 0.0
        found = next_zero(b, -1.0, 0.0, end, part)
    while found != NEVER:
        found = next_zero(b, 1.0, found, end, part)
        if found != NEVER:
            if kind != GuardKind.GAP or is_on_feature(c, c.contacts[j], at + found * width):
                return at + found * width
            found = next_zero(b, -1.0, min(found + 1e-12, 1.0), end, part)
    return NEVER


@routine
def bisect_crossing(c: ArcState, j: int, at: float, width: float) -> float:
    """Return the fraction of an interval at which a guard changes its sign, by bisection; NEVER if it does
    not. It serves guards that no polynomial approximates.
    """
    low, high, least = at, at + width, -c.slack[c.kinds[j]]
    if not evaluate_guard_at(c, j, high) < least or evaluate_guard_at(c, j, low) < least:
        return NEVER
    while high - low > 1e-14:
        middle = 0.5 * (low + high)
        if evaluate_guard_at(c, j, middle) < least:
            high = middle
        else:
            low = middle
    if c.kinds[j] == GuardKind.GAP and not is_on_feature(c, c.contacts[j], high):
        return NEVER
    return high


@routine
def first_crossing(c: ArcState, j: int, before: float) -> float:
    """Return where in the step guard j turns negative first, NEVER if not before some part of it.

    Where the polynomial through its values leaves that open, it is looked at on halves.
    """
    b, values, slack = c.local[GUARD_NODES:], c.values[j * GUARD_NODES :], c.slack[c.kinds[j]]
    at, width = 0.0, 1.0
    while at < min(before, 1.0):
        tail, some = fit(c.basis, values, b), 0
        for i in range(GUARD_NODES):
            some += 1 if isfinite(values[i]) else 0
        least = b[0]
        for i in range(GUARD_NODES):
            b[i] += slack
            least = min(least, b[i])
        if some == GUARD_NODES and tail <= 10.0 * slack:
            tail = 0.0
        if some > 0 and not least > 2.0 * tail and tail != 0.0 and width > SHORTEST:
            width *= 0.5
        else:
            if some == GUARD_NODES and least < 0.0:
                if tail == 0.0:
                    found = find_crossing(c, j, values, at, width, (before - at) / width)
                else:
                    found = bisect_crossing(c, j, at, width)
                if found != NEVER:
                    return found if found > 1e-13 else 0.0
            at += width
        values = c.local[0:]
        if at < min(before, 1.0):
            for i in range(GUARD_NODES):
                values[i] = evaluate_guard_at(c, j, at + width * c.basis[NODE_POSITIONS + i])
    return NEVER


@routine
def first_event(c: ArcState) -> int:
    """Return the guard that turns negative first in the step, and where, or -1."""
    c.clock.part, which = NEVER, -1
    for some in range(c.guards[1]):
        j = c.live[some]
        part = first_crossing(c, j, c.clock.part)
        if part < c.clock.part:
            c.clock.part, which = part, j
    return which


@routine
def record_grazing(c: ArcState, until: float) -> None:
    """Record grazing contacts before a fraction of the step: gaps that fall, rise again, and have a minimum
    below `gap_grazing`.
    """
    b, part, clock = c.local[GUARD_NODES:], c.local[2 * GUARD_NODES :], c.clock
    for some in range(c.guards[1]):
        j = c.live[some]
        k, values, i = c.contacts[j], c.values[j * GUARD_NODES :], 0
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
        least = b[0]
        for node in range(GUARD_NODES):
            least = min(least, b[node])
        if not least < c.mode.motion.tol.gap_grazing:
            continue
        at = find_minimum(b, c.basis[NODE_POSITIONS + i - 1], c.basis[NODE_POSITIONS + i + 1], part)
        close = abs(evaluate_polynomial(b, at, part)) < c.mode.motion.tol.gap_grazing
        if at < until and close and is_on_feature(c, k, at):
            free = 2 * clock.grazes
            c.grazes[free], c.grazes[free + 1] = clock.time + at * clock.step, float(k)
            clock.grazes += 1


@routine
def find_penetration(c: ArcState, part: float) -> int:
    """Return a contact, open or closed, that penetrates by more than `gap_penetration` inside its borders
    at a part of the step, or -1: an event was missed, or the wheel's shape cannot touch there.
    """
    s, m, b = c.mode, c.mode.motion, c.mode.contacts
    evaluate_dense(c, part)
    for k in range(b.size):
        if c.near[k] == Proximity.AWAY:
            continue
        row = c.rows[k * m.row :]
        evaluate_gap(s.x, b, k, row)
        deep = row[m.gap] < -m.tol.gap_penetration and row[m.gap] > -b.reach[k]
        if deep and border_excess(m, b, k, row) < -m.tol.border_inside and is_above(m, b, k, row):
            return k
    return -1


@routine
def project_step_end(c: ArcState, h: float) -> None:
    """Put the state after a step of length h from the same start, contacts settled, into x."""
    s, g, t = c.mode, c.stages, c.clock.time
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
    s, worst, least = c.mode, -1, -c.mode.motion.tol.pull
    s.x[0] = min(s.x[0], c.clock.last_time)
    flow(s, c.stages.errors, s.lam)
    for k in range(s.plan[CLOSED]):
        if s.lam[3 * k] < least:
            worst, least = k, s.lam[3 * k]
    return worst


@routine
def locate_event(c: ArcState, j: int) -> float:
    """Return the time (s) from the start of the step to the event of guard j. The state of the event is
    written, also to x unless it is the start of the step.
    """
    part, whole = c.clock.part, c.clock.step
    if part == 0.0:
        c.state[: c.stages.n] = c.stages.y[: c.stages.n]
        return 0.0
    nudge = min(1e-4, 0.1 * part)
    nudge = (
        -nudge if c.kinds[j] == GuardKind.BORDER else nudge
    )  # before it, a seam is at zero all the time
    slope = (evaluate_guard_at(c, j, part) - evaluate_guard_at(c, j, part - nudge)) / (
        nudge * whole
    )
    h = part * whole
    project_step_end(c, h)
    for _ in range(3):
        off = evaluate_guard(c, j)
        if slope == 0.0 or abs(off) < c.mode.motion.tol.event_time * abs(slope):
            break
        h = min(max(h - off / slope, 0.0), whole)
        project_step_end(c, h)
    return h


@routine
def find_last_push(c: ArcState, h: float) -> float:
    """Return how long after the step's start no contact pulls for the last time before h."""
    low, high = 0.0, h
    for _ in range(60):
        middle = 0.5 * (low + high)
        if find_pull(c, middle) < 0:
            low = middle
        else:
            high = middle
    return low


@routine
def find_sticking(c: ArcState) -> int:
    """Return the guard of a contact in x that slips, hardly, or -1: where forces have no bound, it is
    held.
    """
    s, row = c.mode, c.turning.seen
    for j in range(c.guards[0]):
        if c.kinds[j] == GuardKind.SLIP:
            evaluate_row(s.x, s.contacts, s.which[c.contacts[j]], row)
            if slip_speed(s.x, row, s.motion) < s.motion.tol.slip_detected:
                return j
    return -1


@routine
def finish_step_at_event(c: ArcState, j: int) -> RunStatus:
    """Go on to the event of guard j; return EVENT, or PULL if a force jumps to a pull: the state is then
    the last one in which all contacts push, and the next one is left in `rows`.
    """
    when, how, s = locate_event(c, j), RunStatus.EVENT, c.mode
    c.clock.subject = j
    if s.plan[CLOSED] > 0 and when > 0.0:
        k = find_pull_here(c)
        if k >= 0:
            c.rows[: c.stages.n] = c.state[: c.stages.n]
            when = find_last_push(c, when)
            find_pull(c, when)
            if s.lam[3 * k] > s.motion.tol.force_jump:
                held = find_sticking(c)
                how = RunStatus.PULL if held < 0 else RunStatus.EVENT
                c.clock.subject = k if held < 0 else held
    c.clock.event_delay = when
    record_samples(c, when)
    return how


@routine
def stick_if_creeping(c: ArcState) -> bool:
    """Return whether a contact is creeping: it sticks, here and now."""
    g, clock = c.stages, c.clock
    put_state(c.mode.x, clock.time, g.y, g.n)
    c.state[: g.n] = g.y[: g.n]
    clock.subject, clock.event_delay = find_sticking(c), 0.0
    return clock.subject >= 0


@routine
def record_nodes(c: ArcState, until: float) -> None:
    """Write the dense output of the first part of a step."""
    g, clock, at = c.stages, c.clock, c.clock.nodes
    if until <= 0.0:
        return
    for i in range(STEP_NODES):
        dense(g, c.places[i] * until / clock.step, c.nodes[(at + i) * g.n :])
        c.node_times[at + i] = min(clock.time + c.places[i] * until, clock.last_time)
    clock.nodes += STEP_NODES


@routine
def record_samples(c: ArcState, until: float) -> None:
    """Write the samples inside the first part of a step, and its dense output."""
    g, clock = c.stages, c.clock
    record_nodes(c, until)
    stop = clock.time + until - 1e-9 * c.dt
    k = int((clock.time - c.start) / c.dt + 1e-9) + 1
    while c.start + k * c.dt < stop:
        t, at = c.start + k * c.dt, clock.samples
        c.times[at] = t
        dense(g, (t - clock.time) / clock.step, c.samples[at * g.n :])
        clock.samples += 1
        k += 1


@routine
def integrate_arc(c: ArcState, limit: int) -> RunStatus:
    """Take up to `limit` steps, to the first event or to the end of the arc; return the reason for the
    stop.
    """
    g, clock, tol = c.stages, c.clock, c.mode.motion.tol
    for _ in range(limit):
        clock.steps += 1
        if clock.step < tol.creep_step and stick_if_creeping(c):
            return RunStatus.EVENT
        status = take_accepted_step(c)
        if status is not RunStatus.RESOLVED:
            return status
        if not bound_wheel_motion(c) or clock.time + clock.step > clock.horizon:
            return RunStatus.OUTSIDE_SEARCH
        sample_guards(c)
        j = first_event(c)
        k = find_penetration(c, min(clock.part, 1.0))
        if k >= 0:
            clock.step, clock.subject = 0.2 * clock.step, k
            if clock.step < tol.penetration_step:
                return RunStatus.PENETRATION
            continue
        left = clock.end_time - clock.time
        if clock.step > left and min(clock.part, 1.0) * clock.step > left:
            clock.step = left  # the end cuts no step that holds an event before it
            continue
        record_grazing(c, clock.part)
        if j >= 0:
            return finish_step_at_event(c, j)
        record_samples(c, clock.step)
        project_step_end(c, clock.step)
        g.y[: g.n] = c.state[: g.n]
        last = min(clock.input_jump, clock.end_time)
        clock.time = last if clock.step >= last - clock.time else clock.time + clock.step
        clock.step, clock.is_first = clock.next_step, False
        if clock.time >= last:
            return RunStatus.ARC_END
        if max(clock.samples, clock.nodes) > 0.5 * SAMPLE_CAPACITY:
            break
    return RunStatus.PAUSED
