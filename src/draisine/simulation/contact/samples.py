"""Forces, gaps and contact points at the states of a finished run, computed by routines in two passes over
the samples.

1. `observe_modes` solves the saddle-point system of each sample in its own contact mode and adds up the
   forces of the closed contacts per wheel. Wheels with a closed contact get its gap and contact point here.
2. `find_nearest` searches the nearest ground feature of each remaining wheel. It rejects most features by the
   distance of their bounding boxes.
"""

import math
from math import isfinite, sqrt
from typing import NamedTuple

from draisine.algebra.scalar import Floats
from draisine.codegen.routine import Integers, routine
from draisine.mechanics.contact.elements import ENERGY, POWER
from draisine.mechanics.contact.features import FEATURE
from draisine.simulation.contact.kernels import (
    CLOSED,
    FORM,
    ContactColumns,
    ContactMode,
    Dynamics,
    border_excess,
    evaluate_gap,
    evaluate_row,
    find_closed_form,
    flow,
    is_above,
    put_state,
    solve_rates,
)
from draisine.simulation.contact.status import count_rows

NAN = math.nan


class Intervals(NamedTuple):
    """Time intervals of a run, on each of which the set of closed contacts and the inputs are constant."""

    size: int  # number of intervals
    first_state: Integers  # (size + 1) index of the first state of each interval
    # (size + 1) index of the first closed contact of each interval in the lists below
    first_contact: Integers
    which: Integers  # index of each closed contact in `ContactColumns`
    status: Integers  # Status of each closed contact
    mu: Floats  # friction coefficient of each closed contact; 0 for ideal contacts
    inputs: Floats  # (size, n_inputs) inputs of the system on each interval
    n_inputs: int  # number of inputs of the system
    x_inputs: int  # offset of the inputs of the system in the program input x
    times: Floats  # (states) s, times of the states
    states: Floats  # (states, n) states y


class ObservedSamples(NamedTuple):
    """Forces, gaps and contact points at each state. Contact forces belong to owners: the wheels, then the
    joints with stops.
    """

    wheels: int  # number of wheels
    owners: int  # number of wheels and joints with stops
    along: int  # offset of the tangential unit vector in a contact row
    ydot: Floats  # (states, n) time derivatives of the states
    out: Floats  # (states, outputs) outputs of `Dynamics.call`, the system without ground
    generalised: Floats  # (states, speeds) generalised forces of all contacts
    forces: Floats  # (states, owners, 3) N, contact forces: normal, along, across
    world: Floats  # (states, owners, 3) N, contact forces in world axes
    tyres: Floats  # (states, owners, 2) power (W) and mean stored energy (J) of tyres
    stops: Floats  # (states, owners) torque of a joint's stop, in N m
    gaps: Floats  # (states, wheels) m, gap of the closed contact; infinite if no contact is closed
    points: Floats  # (states, wheels, 3) m, contact point; NaN if no contact is closed
    violation: Floats  # (states) m, largest absolute gap of contacts with constraint rows
    # (states, wheels) smallest eigenvalue of eq. [patch-fold] of closed contacts with patches; else
    # infinite
    convexity: Floats
    jacobians: Floats  # (contacts, 3, speeds) constraint rows at the first state of each interval


@routine
def observe_modes(s: ContactMode, intervals: Intervals, samples: ObservedSamples) -> None:
    """Compute forces, gaps and contact points of the closed contacts at all states of all intervals."""
    m = s.motion
    n = m.y_z + m.states
    for j in range(intervals.size):
        first = intervals.first_contact[j]
        count = set_mode(s, intervals, j)
        for i in range(intervals.first_state[j], intervals.first_state[j + 1]):
            put_state(s.x, intervals.times[i], intervals.states[i * n :], n)
            # Each sample is solved by itself: its values must not depend on the samples before it.
            s.system.pivoted_rows = 0
            if solve_rates(s, samples.ydot[i * n :], s.lam, s.seen) != 0:
                # The last state of a failed run may have no solution: its contacts contradict each
                # other.
                samples.ydot[i * n :][:n] = NAN
                s.lam[: 3 * count] = NAN
            samples.out[i * m.output_size :][: m.output_size] = s.out[: m.output_size]
            for k in range(count):
                add_contact_observation(s, samples, i, k)
                if i == intervals.first_state[j]:
                    rows = samples.jacobians[(first + k) * 3 * m.speeds :]
                    rows[: 3 * m.speeds] = s.seen[k * m.row + m.C :][: 3 * m.speeds]


@routine
def set_mode(s: ContactMode, intervals: Intervals, j: int) -> int:
    """Write the closed contacts and the inputs of interval j into the contact mode; return the number of
    closed contacts.
    """
    first = intervals.first_contact[j]
    count = intervals.first_contact[j + 1] - first
    s.plan[CLOSED] = count
    s.which[:count] = intervals.which[first:][:count]
    s.status[:count] = intervals.status[first:][:count]
    s.mu[:count] = intervals.mu[first:][:count]
    size = intervals.n_inputs
    s.x[intervals.x_inputs :][:size] = intervals.inputs[j * size :][:size]
    return count


@routine
def observe_forces(s: ContactMode, intervals: Intervals, samples: ObservedSamples) -> None:
    """Compute only `forces`, `violation` and `jacobians` at all states of all intervals, in closed form if a
    mode has one.
    """
    m = s.motion
    n = m.y_z + m.states
    for j in range(intervals.size):
        first = intervals.first_contact[j]
        count = set_mode(s, intervals, j)
        s.system.pivoted_rows = -1
        find_closed_form(s)
        for i in range(intervals.first_state[j], intervals.first_state[j + 1]):
            put_state(s.x, intervals.times[i], intervals.states[i * n :], n)
            if flow(s, samples.ydot, s.lam) != 0:
                # A run may have stopped at a state whose contacts contradict each other.
                s.lam[: 3 * count] = NAN
            for k in range(count):
                row = s.seen[k * m.row :]
                if s.plan[FORM] != 0:
                    evaluate_gap(s.x, s.contacts, s.which[k], row)
                if count_rows(s.status[k]) > 0:
                    samples.violation[i] = max(samples.violation[i], abs(row[m.gap]))
                wheel = s.contacts.wheels[s.which[k]]
                owner = i * samples.owners + wheel
                samples.forces[3 * owner :][:3] += s.lam[3 * k :][:3]
                if s.contacts.patches[s.which[k]] == 1:
                    place = i * samples.wheels + wheel
                    samples.convexity[place] = min(samples.convexity[place], row[m.fold])
                if i == intervals.first_state[j]:
                    if s.plan[FORM] != 0:
                        evaluate_row(s.x, s.contacts, s.which[k], row)
                    rows = samples.jacobians[(first + k) * 3 * m.speeds :]
                    rows[: 3 * m.speeds] = row[m.C :][: 3 * m.speeds]


@routine
def add_contact_observation(s: ContactMode, samples: ObservedSamples, i: int, k: int) -> None:
    """Add force, gap and contact point of the k-th closed contact to the quantities of its wheel at state
    i.
    """
    m = s.motion
    row = s.seen[k * m.row :]
    lam = s.lam[3 * k :]
    wheel = s.contacts.wheels[s.which[k]]
    owner = i * samples.owners + wheel
    load = lam[0]
    add_generalised_force(m, row, lam, samples.generalised[i * m.speeds :])
    samples.forces[3 * owner :][:3] += lam[:3]
    N = row[m.normal :]
    along = row[samples.along :]
    world = samples.world[3 * owner :]
    world[0] += load * N[0] + lam[1] * along[0] + lam[2] * (N[1] * along[2] - N[2] * along[1])
    world[1] += load * N[1] + lam[1] * along[1] + lam[2] * (N[2] * along[0] - N[0] * along[2])
    world[2] += load * N[2] + lam[1] * along[2] + lam[2] * (N[0] * along[1] - N[1] * along[0])
    if m.acted > 0:
        samples.tyres[2 * owner] += row[m.forces + POWER] + load * row[m.lifted + POWER]
        # A wheel on several features has one deflection: its energy is their mean.
        energy = row[m.forces + ENERGY] + load * row[m.lifted + ENERGY]
        samples.tyres[2 * owner + 1] += energy / count_contacts(s, wheel)
    if count_rows(s.status[k]) > 0:
        samples.violation[i] = max(samples.violation[i], abs(row[m.gap]))
    if wheel >= samples.wheels:
        # The first feature coordinate of a joint stop is its direction, 1 or -1.
        samples.stops[owner] += load * s.contacts.features[s.which[k] * FEATURE]
        return
    place = i * samples.wheels + wheel
    if row[m.gap] < samples.gaps[place]:
        samples.gaps[place] = row[m.gap]
        samples.points[3 * place :][:3] = row[m.point :][:3]


@routine
def count_contacts(s: ContactMode, wheel: int) -> int:
    """Return the number of closed contacts of one wheel."""
    count = 0
    for k in range(s.plan[CLOSED]):
        if s.contacts.wheels[s.which[k]] == wheel:
            count += 1
    return count


@routine
def add_generalised_force(m: Dynamics, row: Floats, lam: Floats, force: Floats) -> None:
    """Add the generalised force (n) of a contact to `force`: of its contact force lam (3, N) and of the
    moments of its tyre.
    """
    n = m.speeds
    load = lam[0]
    for axis in range(3):
        push = lam[axis]
        if m.acted > 0:
            # `push` and `lift`, added below, already contain the tyre forces.
            push -= row[m.forces + axis] + load * row[m.lifted + axis]
        force[:n] += push * row[m.C + axis * n :][:n]
    if m.acted > 0:
        force[:n] += row[m.push :][:n] + load * row[m.lift :][:n]


@routine
def touches_or_penetrates(m: Dynamics, contacts: ContactColumns, k: int, row: Floats) -> bool:
    """Return whether the wheel of contact k touches or penetrates its ground feature from above, within the
    borders of the feature.
    """
    if row[m.gap] > 0.0 or border_excess(m, contacts, k, row) > 0.0:
        return False
    return is_above(m, contacts, k, row)


@routine
def find_penetrating_contacts(
    m: Dynamics, x: Floats, contacts: ContactColumns, near: int, row: Floats, inside: Integers
) -> int:
    """Write the indices of those of the first `near` contacts that penetrate at the state in x to `inside`;
    return their number.
    """
    count = 0
    for k in range(near):
        evaluate_gap(x, contacts, k, row)
        if row[m.gap] < 0.0 and touches_or_penetrates(m, contacts, k, row):
            inside[count] = k
            count += 1
    # A wheel that penetrates two faces at their common concave edge has both contact points outside
    # the borders of their faces.
    within = count
    for k in range(near):
        is_missed = penetrates_beyond_border(m, x, contacts, k, row)
        for i in range(within if is_missed else 0):
            is_missed = is_missed and contacts.wheels[inside[i]] != contacts.wheels[k]
        for j in range(near if is_missed else 0):
            is_other = j != k and contacts.wheels[j] == contacts.wheels[k]
            if is_other and penetrates_beyond_border(m, x, contacts, j, row):
                inside[count] = k
                count += 1
                break
    return count


@routine
def penetrates_beyond_border(
    m: Dynamics, x: Floats, contacts: ContactColumns, k: int, row: Floats
) -> bool:
    """Return whether the wheel of contact k penetrates its ground feature at a point outside the borders of
    the feature, at a distance from them that does not exceed the penetration depth.
    """
    evaluate_gap(x, contacts, k, row)
    excess = border_excess(m, contacts, k, row)
    if not excess > 0.0 or excess * m.length > -row[m.gap]:
        return False
    return is_above(m, contacts, k, row)


@routine
def box_distance(centre: Floats, low: Floats, high: Floats) -> float:
    """Return the distance (m) of a point (3) from an axis-aligned box; 0 inside."""
    square = 0.0
    for j in range(3):
        outside = max(max(low[j] - centre[j], centre[j] - high[j]), 0.0)
        square += outside * outside
    return sqrt(square)


@routine
def find_nearest(
    m: Dynamics,
    x: Floats,
    times: Floats,
    states: Floats,
    count: int,
    wheels: ContactColumns,
    near: ContactColumns,
    limit: float,
    sinks: bool,
    row: Floats,
    gaps: Floats,
    points: Floats,
) -> None:
    """Compute gap (m) and contact point of the nearest valid contact of each wheel whose gap is still
    infinite.

    Gaps larger than `limit` (m) stay infinite. If the system `sinks`, penetrated features are included.
    `gaps` has the shape (states, wheels), `points` (states, wheels, 3).
    """
    n = m.y_z + m.states
    for i in range(count):
        put_state(x, times[i], states[i * n :], n)
        for wheel in range(wheels.size):
            place = i * wheels.size + wheel
            if isfinite(gaps[place]):
                continue
            evaluate_gap(x, wheels, wheel, row)
            points[3 * place :][:3] = NAN
            find_nearest_of_wheel(
                m, x, near, wheel, limit, sinks, row, gaps[place:], points[3 * place :]
            )


@routine
def find_nearest_of_wheel(
    m: Dynamics,
    x: Floats,
    near: ContactColumns,
    wheel: int,
    limit: float,
    sinks: bool,
    row: Floats,
    gap: Floats,
    point: Floats,
) -> None:
    """Compute gap (m) and contact point of the nearest valid contact of one wheel, whose centre is in
    `row`.
    """
    centre = row[m.row :]
    centre[:3] = row[m.centre :][:3]
    least = limit
    for k in range(near.size):
        if near.wheels[k] != wheel:
            continue
        # All points of the wheel lie within `radius` of its centre, up to rounding: skip features
        # that are further away than the nearest one so far.
        apart = box_distance(centre, near.low[3 * k :], near.high[3 * k :])
        if apart - near.radius[k] - m.tol.gap_search > least:
            continue
        evaluate_gap(x, near, k, row)
        height = row[m.gap]
        beyond = border_excess(m, near, k, row)
        if not (sinks and touches_or_penetrates(m, near, k, row)):
            # A contact that is deeper than `gap_search` lies below its feature, not above it.
            if beyond > m.tol.border or not height > -m.tol.gap_search:
                continue
            if beyond > 0.0:
                height = max(height, 0.0)  # outside the border there is no ground to penetrate
        if height < least:
            least = height
            gap[0] = height
            point[:3] = row[m.point :][:3]
