"""A mode on any features, as routines: contact rows, accelerations and forces, projection.

1. `evaluate_gap`, `evaluate_row`: gap and frame of a contact, then its Jacobian and its elements.
2. `rate`: accelerations and contact forces, by the saddle-point system, with friction drag and tyres;
   `flow` does the same in closed form where the mode has one.
3. `project_state`: the nearest state with closed gaps and without forbidden velocities.
"""

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address, Integers, call, routine
from draisine.codegen.targets.native import Packed, make_record
from draisine.mechanics.base import turns_freely
from draisine.mechanics.contact.features import FEATURE, LOAD, SIDE
from draisine.mechanics.contact.modes import MAX_CLOSED_FORM_WHEELS, Signature
from draisine.mechanics.loads import LOAD_TOLERANCE, MAX_LOAD_RATIO, weight
from draisine.simulation.contact.complementarity.linear import (
    add_dot,
    dot,
    norm,
)
from draisine.simulation.contact.complementarity.saddle_point import (
    SaddlePoint,
    SaddleStatus,
    find_null_space,
    saddle_point,
    set_row,
    solve_minimum_norm,
    solve_saddle_point,
    write_motion,
)
from draisine.simulation.contact.complementarity.sharing import has_margin, share
from draisine.simulation.contact.status import STATUSES, Status, count_rows
from draisine.simulation.contact.tolerances import Tolerances, scale_tolerances, units_of
from draisine.system.generic import Generic

FIRM = 0.1
"""Smallest pivot of a closed form, relative to its value in the reference configuration. Below, the dense
system is solved: a tenth costs one digit.
"""

ROUNDS, SAME = 60, 1e-12
"""How often the loads of tyres whose forces do not grow evenly with them are followed, and by which part
they may still change then.
"""

KNOWN = 512
"""How many signatures of modes are at hand for routines."""

ENDLESS = 1e300
"""How far inside its feature a contact is that has no borders."""


class ContactColumns(NamedTuple):
    """Contacts of wheels with features as columns: entry k of an array belongs to contact k, which may be
    open or closed.
    """

    size: int  # number of contacts
    calls: Integers  # addresses of the programs of contact rows
    looks: Integers  # addresses of the programs of gaps: the first part of a row
    tables: Floats  # constants of all programs
    starts: Integers  # where those of `calls` begin
    look_starts: Integers  # where those of `looks` begin
    features: Floats  # (size, FEATURE) numbers of the features
    x_f: int  # where programs read the numbers of a feature in x
    borders: Floats  # (borders, 7) A, B, o of A.C + B.N <= o, of one feature after the other
    first: Integers  # (size + 1) where the borders of each begin
    faces: Integers  # 1 if only a wheel whose centre is above may touch: a face
    reach: Floats  # m, deepest penetration that counts as one
    radius: Floats  # m, largest distance of the contact point from the wheel's centre
    bend: Floats  # m, radius that bends the gap to an edge or a vertex, 0 for faces
    crown: Floats  # m, radius of the ball that thickens the wheel's ring; nan for other shapes
    wheels: Integers  # number of the wheel
    low: Floats  # (size, 3) m, corner of the box around the feature
    high: Floats  # (size, 3) m, its other corner
    likes: Integers  # number of wheel, kind of feature and its motion, for modes
    planes: Integers  # 1 for a face
    moved: Integers  # number of the motion that carries the feature, 0 for none
    folds: Integers  # 1 if a torus may touch the edge twice
    carried: (
        Integers  # 1 if the machine itself carries the feature: a flat of a body, a joint's stop
    )


class Dynamics(NamedTuple):
    """The machine without ground: its program, and where entries begin in x, y, the program's output and a
    contact row.

    A contact row holds, for one wheel on one feature, all that routines read of it.
    """

    call: Address  # address of the program
    table: Floats  # its constants
    told: int  # size of its output
    speeds: int  # number n of speeds v
    states: int  # number of states z of elements and law
    turns: int  # 1 if the quaternion is normalised
    x_q: int  # in x: pose
    x_v: int  # in x: speeds
    y_v: int  # in y: speeds
    y_z: int  # in y: states z
    flow: int  # in the output: rates of the pose
    M: int  # in the output: (n, n) mass matrix
    F: int  # in the output: (n) bias force
    zdot: int  # in the output: rates of z
    held: int  # in the output: (holds, n) rows of prescribed joints and couplings
    held_c: int  # in the output: their accelerations
    held_b: int  # in the output: their velocities
    held_gap: int  # in the output: their violations
    C: int  # in a row: (3, n) Jacobian, normal, along, across
    c: int  # in a row: (3) m/s^2, accelerations that close it
    gap: int  # in a row: m, negative when penetrating
    stretch: int  # in a row: rate of the gap per normal velocity
    b: int  # in a row: (3) m/s, velocity of the ground
    point: int  # in a row: (3) m, contact point, world axes
    normal: int  # in a row: (3) out of the ground, world axes
    centre: int  # in a row: (3) m, centre of the wheel
    axle: int  # in a row: (3) its axle
    local_point: int  # in a row: (3) m, contact point in the feature's frame
    local_normal: int  # in a row: (3) normal in the feature's frame
    fold: int  # in a row: (3) m, terms of eq. [edge-fold]
    armed: int  # in a row: positive if the contact may close
    push: int  # in a row: (n) generalised force of tyre and rolling resistance at zero load
    lift: int  # in a row: (n) its derivative with respect to the normal force (not lift-off)
    forces: int  # in a row: (REPORTED) force (N), power and stored energy of elements at zero load
    lifted: int  # in a row: (REPORTED) their derivatives with respect to the normal force
    rates: int  # in a row: rates of the elements' states
    uneven: int  # in a row: 1 if the force is not linear in the load: the above are its tangent
    row: int  # size of a row
    acted: int  # 1 if elements act at contacts
    remembered: int  # number of the elements' states
    share: float  # N, weight per wheel
    length: float  # m, size of the machine
    tol: Tolerances  # tolerances of the machine


_ROW = ("C", "c", "gap", "stretch", "b", "point", "normal", "centre", "axle") + (
    "local_point", "local_normal", "fold", "armed", "push", "lift", "forces", "lifted", "rates", "uneven",
)  # fmt: skip


class ContactMode(NamedTuple):
    """A mode: which contacts are closed, and how; the machine and the room to solve it.

    The state is in `x`. Entry i of `which`, `status`, `mu` and `lam` belongs to closed contact i.
    """

    motion: Dynamics  # the machine without ground
    contacts: ContactColumns  # contacts near the wheels
    plan: Integers  # CLOSED contacts, address, table and pivots of the closed form
    which: Integers  # numbers of the closed contacts in `contacts`
    status: Integers  # Status of each
    mu: Floats  # friction coefficient; 0 for ideal contacts, which have no cone (EventState: infinite)
    holds: int  # number of rows of prescribed joints and couplings
    x: Floats  # input of all programs: t, y, inputs, feature; then what closed forms read
    out: Floats  # output of the machine's program
    lam: Floats  # (3) N per closed contact: normal, along, across
    seen: Floats  # rows of the closed contacts
    system: SaddlePoint  # the saddle-point system
    work: Floats  # room
    order: Integers  # room
    modes: Integers  # signatures of known closed forms
    tables: Floats  # their constants
    mode_out: Floats  # output of a closed form
    x_given: int  # where closed forms read features and friction in x


CLOSED, MODE, TABLE, PIVOTS = range(4)
"""What the plan of a mode holds."""

SIGN = 4 + MAX_CLOSED_FORM_WHEELS
"""How long a closed form's signature is: how many contacts are closed, for each its like and rows, and
the rest of the plan. The first entry of all tells how many there are.
"""


@routine
def evaluate_gaps(motion: Dynamics, x: Floats, contacts: ContactColumns, seen: Floats) -> None:
    """Write gap, point and frame of all contacts of the state in x: the first part of one row each."""
    for k in range(contacts.size):
        evaluate_gap(x, contacts, k, seen[k * motion.row :])


@routine
def evaluate_gap(x: Floats, contacts: ContactColumns, k: int, row: Floats) -> None:
    """Write gap, point and frame of a contact of the state in x: the first part of its row."""
    x[contacts.x_f :][:FEATURE] = contacts.features[k * FEATURE :][:FEATURE]
    call(Address(contacts.looks[k]), x, contacts.tables[contacts.look_starts[k] :], row, 1)


@routine
def evaluate_rows(
    motion: Dynamics, x: Floats, contacts: ContactColumns, which: Integers, count: int, seen: Floats
) -> None:
    """Write the rows of some contacts of the state in x."""
    for i in range(count):
        evaluate_row(x, contacts, which[i], seen[i * motion.row :])


@routine
def evaluate_closed_rows(s: ContactMode, seen: Floats) -> None:
    """Write the rows of the closed contacts of the state in x."""
    evaluate_rows(s.motion, s.x, s.contacts, s.which, s.plan[CLOSED], seen)


@routine
def evaluate_row(x: Floats, contacts: ContactColumns, k: int, row: Floats) -> None:
    """Write the row of a contact of the state in x."""
    x[contacts.x_f :][:FEATURE] = contacts.features[k * FEATURE :][:FEATURE]
    call(Address(contacts.calls[k]), x, contacts.tables[contacts.starts[k] :], row, 1)


@routine
def border_excess(m: Dynamics, contacts: ContactColumns, k: int, row: Floats) -> float:
    """Return by how much a contact is beyond its borders, over the length of the machine (at most zero: it
    is valid): those of the terrain, and where an edge begins or ceases to have two points next to a
    torus, eq. [edge-fold].
    """
    most = fold_excess(m, contacts, k, row)
    for i in range(contacts.first[k], contacts.first[k + 1]):
        most = max(most, excess_of_border(m, contacts, i, row))
    return most


@routine
def excess_of_border(m: Dynamics, contacts: ContactColumns, i: int, row: Floats) -> float:
    """Return by how much a contact is beyond one of the borders: a distance over the length of the machine,
    or a component of the normal.
    """
    b, C, N = contacts.borders[7 * i :], row[m.local_point :], row[m.local_normal :]
    distance, turned = -b[6], 0.0
    for j in range(3):
        distance += C[j] * b[j]
        turned += N[j] * b[3 + j]
    return distance / m.length + turned


@routine
def fold_excess(m: Dynamics, contacts: ContactColumns, k: int, row: Floats) -> float:
    """Return by how much a contact of a torus with an edge is beyond where there are two, or one."""
    f0, f1, f2 = row[m.fold], row[m.fold + 1], row[m.fold + 2]
    if f0 == 0.0 and f1 == 0.0 and f2 == 0.0:
        return -ENDLESS
    third = 1.0 / 3.0
    lone = (((f0 * f0) ** third + (f1 * f1) ** third) ** 1.5 - f2) / m.length
    return lone if contacts.features[k * FEATURE + SIDE] != 0.0 else -lone


@routine
def is_above(m: Dynamics, contacts: ContactColumns, k: int, row: Floats) -> bool:
    """Return whether a wheel's centre is on the outer side of a face; for edges it always is. A foot that is
    not armed counts as below: it passes through.
    """
    if not row[m.armed] > 0.0:
        return False
    height = row[m.gap]
    for j in range(3):
        height += row[m.normal + j] * (row[m.centre + j] - row[m.point + j])
    return contacts.faces[k] == 0 or height > 0.0


@routine
def relative_velocity(x: Floats, row: Floats, motion: Dynamics, axis: int) -> float:
    """Return the velocity (m/s) of a contact point relative to the ground along an axis: 0 normal, 1 along,
    2 across.
    """
    n = motion.speeds
    return add_dot(-row[motion.b + axis], row[motion.C + axis * n :], x[motion.x_v :], n)


@routine
def slip_speed(x: Floats, row: Floats, motion: Dynamics) -> float:
    """Return the slip speed (m/s) of a contact along one of its tangential axes, the larger of both."""
    return max(abs(relative_velocity(x, row, motion, 1)), abs(relative_velocity(x, row, motion, 2)))


@routine
def slip_direction(x: Floats, row: Floats, motion: Dynamics, axis: int) -> float:
    """Return the direction of a contact's slip, its part along axis 1 or 2; 0 where it does not slip."""
    speed = norm(relative_velocity(x, row, motion, 1), relative_velocity(x, row, motion, 2))
    return relative_velocity(x, row, motion, axis) / speed if speed > 0.0 else 0.0


@routine
def put_state(x: Floats, t: float, y: Floats, n: int) -> None:
    """Put a time and a state into the input of programs."""
    x[0] = t
    x[1 : 1 + n] = y[:n]


@routine
def assemble(s: ContactMode, seen: Floats) -> None:
    """Write the saddle-point system of the mode, eq. [saddle-point], with friction drag and the
    load-proportional part of tyre forces.
    """
    m, n, out, p = s.motion, s.motion.speeds, s.out, s.system
    for i in range(n):
        p.M[i, :n] = out[m.M + i * n :][:n]
    p.force[:n] = -out[m.F :][:n]
    at = 0
    for k in range(s.plan[CLOSED]):
        row = seen[k * m.row :]
        C, G = row[m.C :], p.G[at]
        rows = count_rows(s.status[k])
        for i in range(rows):
            set_row(p, at + i, C[i * n :], C[i * n :], row[m.c + i])
        if s.status[k] == Status.SLIDING and s.mu[k] > 0.0:
            along, across = slip_direction(s.x, row, m, 1), slip_direction(s.x, row, m, 2)
            G[:n] -= s.mu[k] * (along * C[n:][:n] + across * C[2 * n :][:n])
        if m.acted > 0:
            p.force[:n] += row[m.push :][:n]
            if rows > 0:
                G[:n] += row[m.lift :][:n]
        at += rows
    set_held_rows(s, at, out[m.held_c :])
    p.rows = at + s.holds


@routine
def set_held_rows(s: ContactMode, first: int, targets: Floats) -> None:
    """Write the rows that hold whatever touches into the system, from one on, with targets."""
    m, n = s.motion, s.motion.speeds
    for i in range(s.holds):
        row = s.out[m.held + i * n :]
        set_row(s.system, first + i, row, row, targets[i])


@routine
def rate(s: ContactMode, ydot: Floats, lam: Floats, seen: Floats) -> int:
    """Write ydot and the contact forces lam (normal, along, across) for the state in x, eq.
    [saddle-point]; return 1 if the system is singular.

    A sliding contact pushes with mu times its normal force against its slip. Redundant
    multipliers have minimum norm, changed along the null space if a contact would pull or lack a friction
    margin (`share_redundant`). Tyre forces that are not linear in the load are linearised about loads that
    Newton's method finds.
    """
    m, n, p = s.motion, s.motion.speeds, s.system
    call(m.call, s.x, m.table, s.out, 1)
    rounds, change = 0, 1.0
    for k in range(s.plan[CLOSED]):
        s.contacts.features[s.which[k] * FEATURE + LOAD] = m.share
    while change > SAME and rounds < ROUNDS:
        evaluate_closed_rows(s, seen)
        assemble(s, seen)
        status = solve_saddle_point(p)
        if status is SaddleStatus.UNSOLVABLE or p.inconsistency > m.tol.contradiction:
            return 1
        if status is SaddleStatus.REDUNDANT:
            share_redundant(s)
        change = follow_loads(s, seen)
        rounds += 1
    if change > LOAD_TOLERANCE:
        return 1
    ydot[: m.y_v] = s.out[m.flow :][: m.y_v]
    ydot[m.y_v :][:n] = p.x[:n]
    ydot[m.y_z :][: m.states] = s.out[m.zdot :][: m.states]
    for k in range(s.plan[CLOSED]):
        ydot[m.y_z :][: m.remembered] += seen[k * m.row + m.rates :][: m.remembered]
    write_contact_forces(s, seen, lam)
    return 0


@routine
def follow_loads(s: ContactMode, seen: Floats) -> float:
    """Put the loads that came out in place of those about which uneven tyres were taken; return the
    largest part by which one changes.
    """
    m, at, most = s.motion, 0, 0.0
    for k in range(s.plan[CLOSED]):
        rows = count_rows(s.status[k])
        if m.acted > 0 and rows > 0 and seen[k * m.row + m.uneven] > 0.0:
            most = max(most, follow_load(m.tol, s.contacts, s.which[k], s.system.multiplier[at]))
        at += rows
    return most


@routine
def follow_load(tol: Tolerances, contacts: ContactColumns, k: int, found: float) -> float:
    """Take a contact about a load nearer to one that was found, never below the least one, and changed by
    a factor and a step at most; return by which part it changes.
    """
    at = k * FEATURE + LOAD
    old = contacts.features[at]
    most = MAX_LOAD_RATIO * old + tol.load_step
    least = max(old / MAX_LOAD_RATIO - tol.load_step, tol.least_load)
    contacts.features[at] = max(min(found, most), least)
    return abs(contacts.features[at] - old) / (tol.load_step + old)


@routine
def flow(s: ContactMode, ydot: Floats, lam: Floats) -> int:
    """Write ydot and the contact forces as `rate` does, in closed form where the mode has one whose
    pivots are firm here; return 1 if the system is singular.
    """
    if s.plan[MODE] == 0:
        return rate(s, ydot, lam, s.seen)
    count, x = s.plan[CLOSED], s.x[s.x_given :]
    n, forces = s.motion.y_z + s.motion.states, 3 * count
    for k in range(count):
        x[k * FEATURE :][:FEATURE] = s.contacts.features[s.which[k] * FEATURE :][:FEATURE]
        x[count * FEATURE + k] = s.mu[k]
    call(Address(s.plan[MODE]), s.x, s.tables[s.plan[TABLE] :], s.mode_out, 1)
    wrong = 0.0
    for i in range(n + forces):
        wrong += 0.0 * s.mode_out[i]
    for i in range(s.plan[PIVOTS]):
        wrong += 0.0 if abs(s.mode_out[n + forces + i]) > FIRM else 1.0
    if wrong != 0.0:
        return rate(s, ydot, lam, s.seen)
    ydot[:n] = s.mode_out[:n]
    lam[:forces] = s.mode_out[n : n + forces]
    return 0


@routine
def find_mode(s: ContactMode) -> int:
    """Put the closed form of the closed contacts into the plan, or none where there are too many;
    return 1 where their signature is not known yet.
    """
    count, contacts, s.plan[MODE] = s.plan[CLOSED], s.contacts, 0
    for i in range(s.modes[0] if count <= MAX_CLOSED_FORM_WHEELS else 0):
        sign, same = s.modes[1 + i * SIGN :], 1
        for k in range(count):
            if sign[1 + k] != STATUSES * contacts.likes[s.which[k]] + s.status[k]:
                same = 0
        if same == 1 and sign[0] == count:
            s.plan[MODE:][:3] = sign[1 + MAX_CLOSED_FORM_WHEELS :][:3]
            return 0
    return 1 if count <= MAX_CLOSED_FORM_WHEELS else 0


@routine
def write_contact_forces(s: ContactMode, seen: Floats, lam: Floats) -> None:
    """Write the forces of all contacts, friction and what elements do included."""
    m, at, multiplier = s.motion, 0, s.system.multiplier
    for k in range(s.plan[CLOSED]):
        rows = count_rows(s.status[k])
        for i in range(3):
            lam[3 * k + i] = multiplier[at + i] if i < rows else 0.0
        if s.status[k] == Status.SLIDING and s.mu[k] > 0.0:
            for i in range(1, 3):
                way = slip_direction(s.x, seen[k * m.row :], m, i)
                lam[3 * k + i] = -s.mu[k] * way * multiplier[at]
        if m.acted > 0:
            load, row = multiplier[at] if rows > 0 else 0.0, seen[k * m.row :]
            lam[3 * k :][:3] += row[m.forces :][:3] + row[m.lifted :][:3] * load
        at += rows


@routine
def share_redundant(s: ContactMode) -> None:
    """Share out redundant multipliers so that contacts push and have a friction margin."""
    p, at, count, normals = s.system, 0, s.plan[CLOSED], s.order
    for k in range(count):
        rows = count_rows(s.status[k])
        normals[k] = at if rows > 0 else -1
        at += rows
    if has_margin(p.multiplier, p.rows, normals, s.status, s.mu, count):
        return
    spare = find_null_space(p)
    share(p.multiplier, p.rows, p.null, spare, normals, s.status, s.mu, count, 1, p.work)
    if not p.symmetric:
        # The motion depends on the loads of sliding contacts and tyres.
        write_motion(p)


@routine
def project_state(s: ContactMode) -> None:
    """Bring the state in x to closed gaps and the ground's velocities by one least step each, eq.
    [projection], with all that joints and couplings hold; the quaternion to unit length.
    """
    if s.motion.turns == 1:
        q = s.x[s.motion.x_q :]
        q[:4] /= sqrt(dot(q, q, 4))
    closed, rows = s.holds, s.holds
    for k in range(s.plan[CLOSED]):
        closed += 1 if count_rows(s.status[k]) > 0 else 0
        rows += count_rows(s.status[k])
    if closed > 0:
        project_gaps(s, closed)
        project_speeds(s, rows)


@routine
def project_gaps(s: ContactMode, closed: int) -> None:
    """Take the least step in the configuration that closes the gaps of closed contacts, and what
    holds.
    """
    m, n, x, p, v = s.motion, s.motion.speeds, s.x, s.system, s.work
    evaluate_closed_rows(s, s.seen)
    if s.holds > 0:
        call(m.call, x, m.table, s.out, 1)
    set_held_rows(s, 0, s.out[m.held_gap :])
    at = s.holds
    for k in range(s.plan[CLOSED]):
        if count_rows(s.status[k]) > 0:
            row = s.seen[k * m.row :]
            set_row(p, at, row[m.C :], row[m.C :], row[m.gap] / row[m.stretch])
            at += 1
    p.rows = closed
    solve_minimum_norm(p)
    v[:n] = x[m.x_v :][:n]
    x[m.x_v :][:n] = -p.x[:n]
    call(m.call, x, m.table, s.out, 1)
    x[m.x_q :][: m.y_v] += s.out[m.flow :][: m.y_v]
    x[m.x_v :][:n] = v[:n]


@routine
def project_speeds(s: ContactMode, rows: int) -> None:
    """Take the least step in the speeds after which closed contacts move as the ground does, and what
    holds as it demands.
    """
    m, n, p, v = s.motion, s.motion.speeds, s.system, s.x[s.motion.x_v :]
    evaluate_closed_rows(s, s.seen)
    if s.holds > 0:
        call(m.call, s.x, m.table, s.out, 1)
    set_held_rows(s, 0, s.out[m.held_b :])
    for i in range(s.holds):
        p.target[i] = add_dot(-p.target[i], p.C[i], v, n)
    at = s.holds
    for k in range(s.plan[CLOSED]):
        row = s.seen[k * m.row :]
        for i in range(count_rows(s.status[k])):
            C = row[m.C + i * n :]
            set_row(p, at, C, C, relative_velocity(s.x, row, m, i))
            at += 1
    p.rows = rows
    solve_minimum_norm(p)
    v[:n] -= p.x[:n]


@routine
def evaluate_gaps_each(
    m: Dynamics,
    x: Floats,
    times: Floats,
    states: Floats,
    count: int,
    b: ContactColumns,
    seen: Floats,
) -> None:
    """Write what contacts look like at states; `seen` has the axes state, contact, entry."""
    n = m.y_z + m.states
    for i in range(count):
        put_state(x, times[i], states[i * n :], n)
        evaluate_gaps(m, x, b, seen[i * b.size * m.row :])


def dynamics(free: Generic) -> Dynamics:
    """Return a free machine for routines."""
    x, y, out, row = free.inputs, free.layout, free.motion.outputs, free.row
    units = units_of(free)
    return Dynamics(
        call=Address(free.motion.address),
        table=free.motion.table,
        told=out.size,
        speeds=free.speeds,
        states=free.memory,
        turns=int(turns_freely(free.system.model)),
        x_q=x.q.start,
        x_v=x.v.start,
        y_v=y.v.start,
        y_z=y.z.start,
        **{name: getattr(out, name).start for name in ("flow", "M", "F", "zdot")},
        **{name: getattr(out, name).start for name in ("held", "held_c", "held_b", "held_gap")},
        **{name: getattr(row, name).start for name in _ROW},
        row=row.size,
        acted=int(row.count("push") > 0),
        remembered=row.count("rates"),
        share=float(weight(free.system.model)) / max(1, len(free.wheels)),
        length=units.length,
        tol=scale_tolerances(units),
    )


class ClosedForms:
    """The closed forms of modes that were met so far, by signature, as routines look them up. Its arrays
    are new ones where there is more to hold: who has the old ones may keep them.
    """

    def __init__(self, free: Generic) -> None:
        self._free, self._starts = free, dict[int, int]()
        self.signatures = np.zeros(1 + KNOWN * SIGN, dtype=np.int64)
        self.tables, self.size = np.zeros(1), 1

    def add(
        self, likes: Sequence[int], statuses: Sequence[int], signature: Signature, moved: bool
    ) -> None:
        """Add a mode: the numbers by which routines know its contacts, their statuses, and what they are.
        After `KNOWN` modes the list begins anew, and all earlier ones count as unknown.
        """
        found, plan = None if moved else self._free.closed_form(signature), (0, 0, 0)
        if found is not None:
            if found.address not in self._starts:
                self._starts[found.address] = len(self.tables)
                self.tables = np.concatenate([self.tables, found.table])
                self.size = max(self.size, found.outputs.size)
            start = self._starts[found.address]
            plan = (found.address, start, found.outputs.count("pivots"))
        signatures = self.signatures.copy()
        at = int(signatures[0]) % KNOWN
        codes = [STATUSES * like + each for like, each in zip(likes, statuses, strict=True)]
        row = [len(codes), *codes, *[0] * (MAX_CLOSED_FORM_WHEELS - len(codes)), *plan]
        signatures[1 + at * SIGN : 1 + (at + 1) * SIGN] = row
        signatures[0] = at + 1
        self.signatures = signatures


def saddle(
    free: Generic, motion: Packed, contacts: Packed, most: int, x: Floats, modes: ClosedForms
) -> ContactMode:
    """Return a mode for routines, of some of the contacts, so many at most; x is the input that its
    programs read, its closed form is one of them.
    """
    told, known = free.motion.outputs, motion.record
    holds, one = told.count("held_c"), most + 1
    sizes = {"plan": 4, "which": one, "status": one, "mu": one, "lam": 3 * one, "order": one}
    sizes |= {"out": told.size, "seen": one * known.row, "work": known.speeds}
    found: ContactMode = make_record(
        ContactMode,
        motion=motion,
        contacts=contacts,
        holds=holds,
        x=x,
        system=saddle_point(known.speeds, 3 * most + holds),
        modes=modes.signatures,
        tables=modes.tables,
        mode_out=modes.size,
        x_given=free.inputs.size,
        **sizes,
    )
    return found
