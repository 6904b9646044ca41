"""Compiled routines for one contact mode, a set of closed contacts with their statuses: contact rows,
accelerations, contact forces, and projection onto the constraints.

1. `evaluate_gap`, `evaluate_row`: gap and frame of a contact, then its Jacobian and its tyre forces.
2. `solve_rates`: accelerations and contact forces by the saddle-point system, eq. [saddle-point], with
   friction of sliding contacts and tyre forces. `flow` does the same in closed form if the contact mode has
   one.
3. `project_state`: the nearest state that satisfies the constraints in position and velocity, eq.
   [projection].
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.patch import PATCH
from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Address, Integers, Record, call, routine
from draisine.codegen.targets.native import Packed, make_record
from draisine.mechanics.base import turns_freely
from draisine.mechanics.contact.features import FEATURE, LOAD, SIDE
from draisine.mechanics.contact.modes import MAX_CLOSED_FORM_WHEELS, Signature
from draisine.mechanics.loads import LOAD_TOLERANCE, MAX_LOAD_RATIO, weight
from draisine.simulation.contact.complementarity.linear import (
    add_dot,
    dot,
    plane_norm,
)
from draisine.simulation.contact.complementarity.saddle_point import (
    SaddlePoint,
    SaddleStatus,
    find_null_space,
    make_saddle_point,
    set_equality_rows,
    set_row,
    solve_in_mode,
    solve_minimum_norm,
    write_motion,
)
from draisine.simulation.contact.complementarity.sharing import has_margin, share_redundant_forces
from draisine.simulation.contact.status import STATUSES, Status, count_rows
from draisine.simulation.contact.tolerances import (
    Tolerances,
    cached_machine_units,
    scale_tolerances,
)
from draisine.system.compiled import Compiled
from draisine.system.generic import Generic

MIN_PIVOT = 0.1
"""Smallest pivot of a closed-form solution, as a fraction of its value in the reference configuration. With
smaller pivots the closed-form solution loses more than one digit, and the saddle-point system is solved
instead.
"""

MAX_LOAD_ITERATIONS = 60
"""Largest number of Newton iterations on the loads of tyres whose force is nonlinear in the load."""

CONVERGED_LOAD = 1e-12
"""Relative change of a tyre load in one iteration below which Newton's method has converged."""

MAX_CLOSED_FORMS = 512
"""Largest number of contact modes with closed-form solutions in the list that routines search."""

NO_BORDER = 1e300
"""Distance inside the border (in characteristic lengths of the system) that is returned for a ground feature
without borders.
"""


class ContactColumns(Record):
    """Contacts of wheels with ground features, one array per property: entry k belongs to contact k, open or
    closed.
    """

    size: int  # number of contacts
    row_programs: Integers  # addresses of the compiled programs that evaluate complete contact rows
    # addresses of the compiled programs that evaluate gap and contact frame only
    gap_programs: Integers
    tables: Floats  # numerical constants of all programs, concatenated
    row_tables: Integers  # offsets in `tables` of the constants of `row_programs`
    gap_tables: Integers  # offsets in `tables` of the constants of `gap_programs`
    features: Floats  # (size, FEATURE) coordinates of the features
    x_f: int  # offset of the feature coordinates in the program input x
    # (borders, 7) coefficients A, B, o of the border A.C + B.N <= o at contact point C and normal N
    borders: Floats
    first: Integers  # (size + 1) index of the first border of each contact
    # 1 if a contact requires the wheel's centre above the feature: a face or a patch
    faces: Integers
    reach: Floats  # m, largest depth that counts as penetration; a deeper wheel is below the ground
    radius: Floats  # m, largest distance of the contact point from the wheel's centre
    # m, radius of curvature of the gap to an edge or a vertex, 0 for faces and patches
    bend: Floats
    crown: Floats  # m, tube radius of a torus wheel; nan for other shapes
    wheels: Integers  # index of the wheel of each contact
    low: Floats  # (size, 3) m, lower corner of the bounding box of the feature
    high: Floats  # (size, 3) m, upper corner of the bounding box of the feature
    # index of the triple (wheel, kind of feature, motion), for closed-form solutions
    pair: Integers
    # 1 if the feature is a face or a patch, whose coordinates contain a reference plane
    planes: Integers
    moved: Integers  # one plus the index of the prescribed motion of the feature, 0 for a fixed one
    # 1 if the contact may end at a fold: a torus on an edge (two contacts merge), or a smooth patch
    folds: Integers
    carried: Integers  # 1 if the feature moves with the system: a flat of a body, a joint's stop
    patches: Integers  # 1 if the feature is a smooth patch
    cells: Floats  # (size, PATCH) polynomial coefficients of patches, if there are any
    x_cell: int  # offset of the polynomial coefficients of a patch in the program input x


class Dynamics(NamedTuple):
    """The system without ground: its compiled program, and the offsets of quantities in the arrays of
    routines.

    The arrays are the program input x, the state y, the program output, and the contact row, which contains
    all quantities of one wheel on one feature.
    """

    call: Address  # address of the compiled program
    table: Floats  # constants of the program
    output_size: int  # number of outputs of the program
    speeds: int  # number n of speeds v
    states: int  # number of states z of force elements and control law
    turns: int  # 1 if the base turns freely, so that its quaternion must be normalised
    x_q: int  # offset of the pose (q, p, r) in the program input x
    x_v: int  # offset of the speeds v in the program input x
    y_v: int  # offset of the speeds v in the state y
    y_z: int  # offset of the states z in the state y
    flow: int  # offset in the program output: rates of the pose
    M: int  # offset in the program output: (n, n) mass matrix
    F: int  # offset in the program output: (n) bias force
    zdot: int  # offset in the program output: rates of z
    held: int  # offset in the program output: (holds, n) rows J of prescribed joints and couplings
    # offset in the program output: (holds) accelerations of prescribed joints and couplings
    held_c: int
    # offset in the program output: (holds) velocities of prescribed joints and couplings
    held_b: int
    # offset in the program output: (holds) violations of prescribed joints and couplings
    held_gap: int
    C: int  # offset in a contact row: (3, n) Jacobian, normal, along, across
    c: int  # offset in a contact row: (3) m/s^2, target accelerations of the closed contact
    gap: int  # offset in a contact row: gap (m), negative when penetrating
    stretch: int  # offset in a contact row: ratio of gap rate to normal velocity
    b: int  # offset in a contact row: (3) m/s, velocity of the ground
    point: int  # offset in a contact row: (3) m, contact point, world axes
    normal: int  # offset in a contact row: (3) unit normal out of the ground, world axes
    centre: int  # offset in a contact row: (3) m, centre of the wheel
    axle: int  # offset in a contact row: (3) unit vector of the wheel's axle
    local_point: int  # offset in a contact row: (3) m, contact point in the feature's frame
    local_normal: int  # offset in a contact row: (3) normal in the feature's frame
    fold: int  # offset in a contact row: (3) m, terms of eq. [edge-fold]
    armed: int  # offset in a contact row: positive if the contact may close
    # offset in a contact row: (n) generalised force of tyre and rolling resistance at zero load
    push: int
    # offset in a contact row: (n) derivative of `push` with respect to the normal force
    lift: int
    # offset in a contact row: (REPORTED) tyre force (N), power (W) and energy (J) at zero load
    forces: int
    # offset in a contact row: (REPORTED) derivatives of `forces` with respect to the normal force
    lifted: int
    rates: int  # offset in a contact row: time derivatives of the elements' states
    # offset in a contact row: 1 if the tyre force is nonlinear in the load, which makes `push` and
    # `lift` its tangent at the present load
    uneven: int
    row: int  # number of entries of a contact row
    acted: int  # 1 if force elements (tyres) act at contacts, else 0
    remembered: int  # number of internal states of the force elements, such as tyre deflections
    share: float  # N, weight of the system per wheel
    length: float  # m, characteristic length of the system
    tol: Tolerances  # tolerances of the system in SI units


_ROW = ("C", "c", "gap", "stretch", "b", "point", "normal", "centre", "axle") + (
    "local_point", "local_normal", "fold", "armed", "push", "lift", "forces", "lifted", "rates", "uneven",
)  # fmt: skip


class ContactMode(NamedTuple):
    """A contact mode: the closed contacts and their statuses, the system, and the arrays of the solver.

    The state is in `x`. Entry i of `which`, `status`, `mu` and `lam` belongs to closed contact i.
    """

    motion: Dynamics  # the system without ground
    contacts: ContactColumns  # contacts near the wheels
    plan: Integers  # (4) number of closed contacts and closed-form solution, indexed by CLOSED etc.
    which: Integers  # indices of the closed contacts in `contacts`
    status: Integers  # Status of each closed contact
    # friction coefficient of each closed contact; 0 for ideal contacts (in EventState: infinite)
    mu: Floats
    holds: int  # number of constraint rows of prescribed joints and couplings
    # input of all programs: t, y, inputs, feature; then the input of closed-form solutions
    x: Floats
    out: Floats  # output of the system's program
    lam: Floats  # (3) N per closed contact, contact force: normal, along, across
    seen: Floats  # contact rows of the closed contacts
    system: SaddlePoint  # the saddle-point system
    work: Floats  # (n) scratch array
    order: Integers  # scratch array, one entry per closed contact
    modes: Integers  # signatures of contact modes with known closed-form solutions
    tables: Floats  # constants of the closed-form solutions
    mode_out: Floats  # output of a closed-form solution
    x_form: int  # offset of the features and friction coefficients of closed-form solutions in x


CLOSED, FORM, FORM_TABLE, FORM_PIVOTS = range(4)
"""Indices into `ContactMode.plan`: number of closed contacts; address of the closed-form solution (0 for
none), offset of its constants, number of its pivots.
"""

SIGNATURE_SIZE = 4 + MAX_CLOSED_FORM_WHEELS
"""Number of entries of the signature of a closed-form solution: number of closed contacts, pair and status of
each, and the last three entries of the plan. Entry 0 of `ContactMode.modes` is the number of signatures.
"""

ANY_MODE = -1
"""Entry of a signature, in place of the number of closed contacts, that matches every contact mode and has no
closed-form solution. It ends the list of a program that cannot compile further closed-form solutions.
"""


@routine
def evaluate_gaps(motion: Dynamics, x: Floats, contacts: ContactColumns, seen: Floats) -> None:
    """Evaluate gap, contact point and frame of all contacts at the state in x: the first part of each contact
    row.
    """
    for k in range(contacts.size):
        evaluate_gap(x, contacts, k, seen[k * motion.row :])


@routine
def put_feature(x: Floats, contacts: ContactColumns, k: int) -> None:
    """Write the coordinates of the feature of contact k into the input x of programs."""
    x[contacts.x_f :][:FEATURE] = contacts.features[k * FEATURE :][:FEATURE]
    if contacts.patches[k] == 1:
        x[contacts.x_cell :][:PATCH] = contacts.cells[k * PATCH :][:PATCH]


@routine
def evaluate_gap(x: Floats, contacts: ContactColumns, k: int, row: Floats) -> None:
    """Write gap, contact point and frame of contact k at the state in x to the first part of `row`."""
    put_feature(x, contacts, k)
    call(Address(contacts.gap_programs[k]), x, contacts.tables[contacts.gap_tables[k] :], row, 1)


@routine
def evaluate_rows(
    motion: Dynamics, x: Floats, contacts: ContactColumns, which: Integers, count: int, seen: Floats
) -> None:
    """Write the complete contact rows of `count` contacts, listed in `which`, at the state in x to `seen`."""
    for i in range(count):
        evaluate_row(x, contacts, which[i], seen[i * motion.row :])


@routine
def evaluate_closed_rows(s: ContactMode, seen: Floats) -> None:
    """Write the complete contact rows of the closed contacts at the state in x to `seen`."""
    evaluate_rows(s.motion, s.x, s.contacts, s.which, s.plan[CLOSED], seen)


@routine
def evaluate_row(x: Floats, contacts: ContactColumns, k: int, row: Floats) -> None:
    """Evaluate the complete contact row (Jacobian, gap, frame, tyre forces) of contact k at the state in
    x.
    """
    put_feature(x, contacts, k)
    call(Address(contacts.row_programs[k]), x, contacts.tables[contacts.row_tables[k] :], row, 1)


@routine
def border_excess(m: Dynamics, contacts: ContactColumns, k: int, row: Floats) -> float:
    """Return the largest distance of contact k beyond the borders of its ground feature.

    It is a fraction of the characteristic length of the system, and negative inside all borders.

    Besides the borders of its feature, a contact of a torus with an edge ends at a fold, eq. [edge-fold].
    """
    excess = fold_excess(m, contacts, k, row)
    for i in range(contacts.first[k], contacts.first[k + 1]):
        excess = max(excess, single_border_excess(m, contacts, i, row))
    return excess


@routine
def single_border_excess(m: Dynamics, contacts: ContactColumns, i: int, row: Floats) -> float:
    """Return the excess of a contact over border i: a distance in characteristic lengths of the system
    (borders of faces and edges), or a component of the normal (borders of edges and vertices).
    """
    border = contacts.borders[7 * i :]
    point = row[m.local_point :]
    normal = row[m.local_normal :]
    distance = -border[6]
    turned = 0.0
    for j in range(3):
        distance += point[j] * border[j]
        turned += normal[j] * border[3 + j]
    return distance / m.length + turned


@routine
def fold_excess(m: Dynamics, contacts: ContactColumns, k: int, row: Floats) -> float:
    """Return the excess of a contact of a torus with an edge over the fold between one and two contacts, in
    machine lengths, eq. [edge-fold]. A single contact has SIDE 0.

    A contact with a patch is a minimum of the distance while the first term is positive, eq. [patch-fold].
    """
    f0 = row[m.fold]
    if contacts.patches[k] == 1:
        return -f0
    f1 = row[m.fold + 1]
    f2 = row[m.fold + 2]
    if f0 == 0.0 and f1 == 0.0 and f2 == 0.0:
        return -NO_BORDER
    third = 1.0 / 3.0
    excess = (((f0 * f0) ** third + (f1 * f1) ** third) ** 1.5 - f2) / m.length
    return excess if contacts.features[k * FEATURE + SIDE] != 0.0 else -excess


@routine
def is_above(m: Dynamics, contacts: ContactColumns, k: int, row: Floats) -> bool:
    """Return whether the centre of a wheel is on the outer side of a face; for edges it always is.

    A foot that is not armed counts as below: it passes through the ground.
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
    """Return the larger absolute slip velocity (m/s) of a contact along its two tangential axes."""
    return max(abs(relative_velocity(x, row, motion, 1)), abs(relative_velocity(x, row, motion, 2)))


@routine
def slip_direction(x: Floats, row: Floats, motion: Dynamics, axis: int) -> float:
    """Return the component of a contact's unit slip direction along axis 1 or 2; 0 without slip."""
    speed = plane_norm(relative_velocity(x, row, motion, 1), relative_velocity(x, row, motion, 2))
    return relative_velocity(x, row, motion, axis) / speed if speed > 0.0 else 0.0


@routine
def put_state(x: Floats, t: float, y: Floats, n: int) -> None:
    """Write time t (s) and state y (n) into the input x of programs."""
    x[0] = t
    x[1 : 1 + n] = y[:n]


@routine
def assemble_rows(s: ContactMode, seen: Floats) -> None:
    """Write matrices and right-hand side of the saddle-point system of the contact mode, eq. [saddle-point],
    with friction of sliding contacts and the load-proportional part of tyre forces.
    """
    m = s.motion
    p = s.system
    n = m.speeds
    for i in range(n):
        p.M[i, :n] = s.out[m.M + i * n :][:n]
    p.force[:n] = -s.out[m.F :][:n]
    first = 0
    p.symmetric = m.acted == 0
    for k in range(s.plan[CLOSED]):
        row = seen[k * m.row :]
        C = row[m.C :]
        G = p.G[first]
        rows = count_rows(s.status[k])
        for i in range(rows):
            set_row(p, first + i, C[i * n :], C[i * n :], row[m.c + i])
        if s.status[k] == Status.SLIDING and s.mu[k] > 0.0:
            along = slip_direction(s.x, row, m, 1)
            across = slip_direction(s.x, row, m, 2)
            p.symmetric = False
            G[:n] -= s.mu[k] * (along * C[n:][:n] + across * C[2 * n :][:n])
        if m.acted > 0:
            p.force[:n] += row[m.push :][:n]
            if rows > 0:
                G[:n] += row[m.lift :][:n]
        first += rows
    set_equality_rows(p, first, s.out[m.held :], s.out[m.held_c :], s.holds)
    p.rows = first + s.holds


@routine
def solve_rates(s: ContactMode, ydot: Floats, lam: Floats, seen: Floats) -> int:
    """Compute the time derivative ydot and the contact forces lam (normal, along, across; N) at the state in
    x, eq. [saddle-point]. Return 0, or 1 if the saddle-point system is singular.

    Friction of a sliding contact is mu times its normal force, against its slip. Redundant multipliers have
    minimum norm, changed along the null space if a contact would pull or lack a friction margin
    (`share_redundant`). Tyre forces that are nonlinear in the load are linearised about loads that Newton's
    method finds.
    """
    m = s.motion
    p = s.system
    n = m.speeds
    call(m.call, s.x, m.table, s.out, 1)
    iterations = 0
    change = 1.0
    for k in range(s.plan[CLOSED]):
        s.contacts.features[s.which[k] * FEATURE + LOAD] = m.share
    while change > CONVERGED_LOAD and iterations < MAX_LOAD_ITERATIONS:
        evaluate_closed_rows(s, seen)
        assemble_rows(s, seen)
        status = solve_in_mode(p)
        if status is SaddleStatus.UNSOLVABLE or p.inconsistency > m.tol.contradiction:
            return 1
        if status is SaddleStatus.REDUNDANT:
            share_redundant(s)
        change = update_tyre_loads(s, seen)
        iterations += 1
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
def update_tyre_loads(s: ContactMode, seen: Floats) -> float:
    """Update the loads about which tyre forces are linearised; return the largest relative change."""
    m = s.motion
    first = 0
    largest = 0.0
    for k in range(s.plan[CLOSED]):
        rows = count_rows(s.status[k])
        if m.acted > 0 and rows > 0 and seen[k * m.row + m.uneven] > 0.0:
            load = s.system.multiplier[first]
            largest = max(largest, update_tyre_load(m.tol, s.contacts, s.which[k], load))
        first += rows
    return largest


@routine
def update_tyre_load(tol: Tolerances, contacts: ContactColumns, k: int, load: float) -> float:
    """Move the load about which the tyre force of contact k is linearised towards `load` (N); return its
    relative change.

    The load stays above `Tolerances.least_load`, and its change is bounded by a factor and a step, so that
    Newton's method does not overshoot.
    """
    entry = k * FEATURE + LOAD
    old = contacts.features[entry]
    largest = MAX_LOAD_RATIO * old + tol.load_step
    least = max(old / MAX_LOAD_RATIO - tol.load_step, tol.least_load)
    contacts.features[entry] = max(min(load, largest), least)
    return abs(contacts.features[entry] - old) / (tol.load_step + old)


@routine
def flow(s: ContactMode, ydot: Floats, lam: Floats) -> int:
    """Compute ydot and the contact forces like `solve_rates`, in closed form if the contact mode has one and
    its pivots are large enough. Return 0, or 1 if the saddle-point system is singular.
    """
    if s.plan[FORM] == 0:
        return solve_rates(s, ydot, lam, s.seen)
    count = s.plan[CLOSED]
    forces = 3 * count
    n = s.motion.y_z + s.motion.states
    x = s.x[s.x_form :]
    for k in range(count):
        x[k * FEATURE :][:FEATURE] = s.contacts.features[s.which[k] * FEATURE :][:FEATURE]
        x[count * FEATURE + k] = s.mu[k]
    call(Address(s.plan[FORM]), s.x, s.tables[s.plan[FORM_TABLE] :], s.mode_out, 1)
    # Zero times a non-finite value is NaN, so that one comparison detects any non-finite output.
    invalid = 0.0
    for i in range(n + forces):
        invalid += 0.0 * s.mode_out[i]
    for i in range(s.plan[FORM_PIVOTS]):
        invalid += 0.0 if abs(s.mode_out[n + forces + i]) > MIN_PIVOT else 1.0
    if invalid != 0.0:
        return solve_rates(s, ydot, lam, s.seen)
    ydot[:n] = s.mode_out[:n]
    lam[:forces] = s.mode_out[n : n + forces]
    return 0


@routine
def find_closed_form(s: ContactMode) -> int:
    """Write the closed-form solution of the contact mode into the plan, or none if too many contacts are
    closed. Return 0, or 1 if the signature of the contact mode is not listed yet.
    """
    count = s.plan[CLOSED]
    s.plan[FORM] = 0
    if count > MAX_CLOSED_FORM_WHEELS:
        return 0
    for i in range(s.modes[0]):
        signature = s.modes[1 + i * SIGNATURE_SIZE :]
        matches = signature[0] == count
        if signature[0] == ANY_MODE:
            return 0
        for k in range(count):
            if signature[1 + k] != STATUSES * s.contacts.pair[s.which[k]] + s.status[k]:
                matches = False
        if matches:
            s.plan[FORM:][:3] = signature[1 + MAX_CLOSED_FORM_WHEELS :][:3]
            return 0
    return 1


@routine
def write_contact_forces(s: ContactMode, seen: Floats, lam: Floats) -> None:
    """Compute the forces lam (normal, along, across; N) of all closed contacts, including friction and
    tyres.
    """
    m = s.motion
    multiplier = s.system.multiplier
    first = 0
    for k in range(s.plan[CLOSED]):
        row = seen[k * m.row :]
        rows = count_rows(s.status[k])
        for i in range(3):
            lam[3 * k + i] = multiplier[first + i] if i < rows else 0.0
        if s.status[k] == Status.SLIDING and s.mu[k] > 0.0:
            for i in range(1, 3):
                lam[3 * k + i] = -s.mu[k] * slip_direction(s.x, row, m, i) * multiplier[first]
        if m.acted > 0:
            load = multiplier[first] if rows > 0 else 0.0
            lam[3 * k :][:3] += row[m.forces :][:3] + row[m.lifted :][:3] * load
        first += rows


@routine
def share_redundant(s: ContactMode) -> None:
    """Change redundant multipliers so that all contacts push and sticking contacts have a friction margin."""
    p = s.system
    count = s.plan[CLOSED]
    normals = s.order
    first = 0
    for k in range(count):
        rows = count_rows(s.status[k])
        normals[k] = first if rows > 0 else -1
        first += rows
    if has_margin(p.multiplier, p.rows, normals, s.status, s.mu, count):
        return
    nullity = find_null_space(p)
    share_redundant_forces(
        p.multiplier, p.rows, p.null, nullity, normals, s.status, s.mu, count, 1, p.work
    )
    if not p.symmetric:
        # The motion depends on the loads of sliding contacts and tyres.
        write_motion(p)


@routine
def project_state(s: ContactMode) -> None:
    """Project the state in x onto closed gaps and the velocities of the ground, eq. [projection], by one step
    of minimum norm each; the quaternion is normalised. Prescribed joints and couplings are included.
    """
    if s.motion.turns == 1:
        q = s.x[s.motion.x_q :]
        q[:4] /= sqrt(dot(q, q, 4))
    has_rows = s.holds > 0
    for k in range(s.plan[CLOSED]):
        has_rows = has_rows or count_rows(s.status[k]) > 0
    if has_rows:
        project_gaps(s)
        project_speeds(s)


@routine
def project_gaps(s: ContactMode) -> None:
    """Change the configuration by a step of minimum norm that closes the gaps of closed contacts and removes
    the violations of prescribed joints and couplings.
    """
    m = s.motion
    x = s.x
    p = s.system
    n = m.speeds
    speeds = s.work
    evaluate_closed_rows(s, s.seen)
    if s.holds > 0:
        call(m.call, x, m.table, s.out, 1)
    set_equality_rows(p, 0, s.out[m.held :], s.out[m.held_gap :], s.holds)
    p.rows = s.holds
    for k in range(s.plan[CLOSED]):
        if count_rows(s.status[k]) > 0:
            row = s.seen[k * m.row :]
            set_row(p, p.rows, row[m.C :], row[m.C :], row[m.gap] / row[m.stretch])
            p.rows += 1
    solve_minimum_norm(p)
    # The program maps speeds to rates of the configuration: the step is such a rate for unit time.
    speeds[:n] = x[m.x_v :][:n]
    x[m.x_v :][:n] = -p.x[:n]
    call(m.call, x, m.table, s.out, 1)
    x[m.x_q :][: m.y_v] += s.out[m.flow :][: m.y_v]
    x[m.x_v :][:n] = speeds[:n]


@routine
def project_speeds(s: ContactMode) -> None:
    """Change the speeds by a step of minimum norm after which closed contacts move with the ground, and
    prescribed joints and couplings as prescribed.
    """
    m = s.motion
    p = s.system
    n = m.speeds
    v = s.x[m.x_v :]
    evaluate_closed_rows(s, s.seen)
    if s.holds > 0:
        call(m.call, s.x, m.table, s.out, 1)
    set_equality_rows(p, 0, s.out[m.held :], s.out[m.held_b :], s.holds)
    for i in range(s.holds):
        p.target[i] = add_dot(-p.target[i], p.C[i], v, n)
    p.rows = s.holds
    for k in range(s.plan[CLOSED]):
        row = s.seen[k * m.row :]
        for i in range(count_rows(s.status[k])):
            C = row[m.C + i * n :]
            set_row(p, p.rows, C, C, relative_velocity(s.x, row, m, i))
            p.rows += 1
    solve_minimum_norm(p)
    v[:n] -= p.x[:n]


@routine
def evaluate_gaps_of_states(
    m: Dynamics,
    x: Floats,
    times: Floats,
    states: Floats,
    count: int,
    contacts: ContactColumns,
    seen: Floats,
) -> None:
    """Evaluate the gaps of contacts at `count` states (count, n); `seen` has the shape (states, contacts,
    row).
    """
    n = m.y_z + m.states
    for i in range(count):
        put_state(x, times[i], states[i * n :], n)
        evaluate_gaps(m, x, contacts, seen[i * contacts.size * m.row :])


def make_dynamics(free: Generic) -> Dynamics:
    """Return the `Dynamics` record of a system: its program, array offsets and tolerances."""
    x = free.inputs
    y = free.layout
    out = free.motion.outputs
    row = free.row
    return Dynamics(
        call=Address(free.motion.address),
        output_size=out.size,
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
        **scaled_dynamics(free),
    )


def scaled_dynamics(free: Generic) -> dict[str, Any]:
    """Return the fields of `Dynamics` that depend on the parameters of a system."""
    units = cached_machine_units(free)
    return {
        "table": free.motion.table,
        "share": float(weight(free.system.model)) / max(1, len(free.wheels)),
        "length": units.length,
        "tol": scale_tolerances(units),
    }


class ClosedForms:
    """Closed-form solutions of contact modes by signature, in arrays that routines search.

    Arrays are replaced when a contact mode is added, never changed in place: routines of other threads may
    read the old ones.
    """

    def __init__(self, free: Generic) -> None:
        self._free = free
        self.compiled: dict[int, Compiled] = {}  # compiled closed-form solutions by address
        self._offsets: dict[int, int] = {}  # offsets of the constants in `tables`, by address
        self.signatures = np.zeros(1 + MAX_CLOSED_FORMS * SIGNATURE_SIZE, dtype=np.int64)
        self.tables = np.zeros(1)
        self.size = 1  # number of entries of the largest output

    def with_parameters(self, free: Generic) -> "ClosedForms":
        """Return the same closed-form solutions for a system with other parameters."""
        other = ClosedForms(free)
        other.signatures = self.signatures
        other.compiled = {k: form.rebind(free.system.values) for k, form in self.compiled.items()}
        other._offsets = dict(self._offsets)
        other.tables = np.zeros(len(self.tables))
        for address, first in self._offsets.items():
            table = other.compiled[address].table
            other.tables[first : first + len(table)] = table
        other.size = self.size
        return other

    def add(
        self, pairs: Sequence[int], statuses: Sequence[int], signature: Signature, moved: bool
    ) -> None:
        """Add the closed-form solution of a contact mode, given by pair and status of each closed contact and
        by its signature for the derivation.

        A contact mode on moving ground has no closed-form solution. After `MAX_CLOSED_FORMS` contact modes
        the list is cleared.
        """
        form = None if moved else self._free.closed_form(signature)
        plan = (0, 0, 0)
        if form is not None:
            if form.address not in self._offsets:
                self.compiled[form.address] = form
                self._offsets[form.address] = len(self.tables)
                self.tables = np.concatenate([self.tables, form.table])
                self.size = max(self.size, form.outputs.size)
            plan = (form.address, self._offsets[form.address], form.outputs.count("pivots"))
        signatures = self.signatures.copy()
        index = int(signatures[0]) % MAX_CLOSED_FORMS
        codes = [STATUSES * pair + status for pair, status in zip(pairs, statuses, strict=True)]
        entry = [len(codes), *codes, *[0] * (MAX_CLOSED_FORM_WHEELS - len(codes)), *plan]
        signatures[1 + index * SIGNATURE_SIZE : 1 + (index + 1) * SIGNATURE_SIZE] = entry
        signatures[0] = index + 1
        self.signatures = signatures


def make_mode(
    free: Generic,
    motion: Packed,
    contacts: ContactColumns,
    most: int,
    x: Floats,
    forms: ClosedForms,
) -> ContactMode:
    """Return a `ContactMode` with arrays for up to `most` closed contacts; x is the input of its programs."""
    outputs = free.motion.outputs
    n = motion.record.speeds
    holds = outputs.count("held_c")
    size = most + 1  # one entry more, so that no array is empty
    mode: ContactMode = make_record(
        ContactMode,
        motion=motion,
        contacts=contacts,
        plan=4,
        **dict.fromkeys(("which", "status", "mu", "order"), size),
        holds=holds,
        x=x,
        out=outputs.size,
        lam=3 * size,
        seen=size * motion.record.row,
        system=make_saddle_point(n, 3 * most + holds),
        work=n,
        modes=forms.signatures,
        tables=forms.tables,
        mode_out=forms.size,
        x_form=free.inputs.size,
    )
    return mode
