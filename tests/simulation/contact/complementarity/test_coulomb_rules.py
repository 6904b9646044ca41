"""Rules of Coulomb's law at several contacts, routine by routine, with numbers by hand: statuses, the order
of their trials, and when forces obey the law. Routines run as plain Python.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.simulation.contact.complementarity import coulomb
from draisine.simulation.contact.complementarity.coulomb import (
    ACCEPTED_RESIDUAL,
    MAX_COMBINATIONS,
    MAX_ENUMERATED,
    MAX_SLIP_RATIO,
    MIN_SLIP_RATIO,
    STICKING_SLIP,
    contact_obeys_law,
    count_combinations,
    count_trial_statuses,
    has_friction,
    is_at_limit,
    is_sliding,
    make_friction_problem,
    minimise_load_norm,
    obeys_law,
    propose_statuses,
    set_trial_status,
    share_forces,
    solve_by_impulse_iteration,
    solve_for_statuses,
    solve_isolated_contact,
    stick_slow_contacts,
    sweep_jacobi,
    try_all_statuses,
    try_sticking,
    update_slip_direction,
    write_status_equations,
)
from draisine.simulation.contact.status import Status

OPEN, SLIDING, ROLLING = Status.OPEN, Status.SLIDING, Status.ROLLING


def problem(W, b, mu=0.5, rows=3):
    """Return a friction problem of contacts with so many rows each."""
    W, b = np.array(W, float), np.array(b, float)
    count = len(b) // rows
    law = make_friction_problem(count)
    law.sizes[:] = count, len(b), 0
    law.first_row[:], law.rows[:], law.mu[:] = rows * np.arange(count), rows, mu
    law.W[: W.size], law.b[: len(b)] = W.ravel(), b
    return law


def isolated(count, mu=0.5):
    """Contacts that do not influence each other, with unit Delassus matrix."""
    return problem(np.eye(3 * count), np.zeros(3 * count), mu)


# --- kinds of contacts


@pytest.mark.parametrize(
    ("rows", "mu", "expected"),
    [(3, 0.5, True), (3, math.inf, True), (3, 0.0, False), (1, 0.5, False)],
)
def test_a_contact_has_friction_with_tangential_rows_and_mu(rows, mu, expected):
    g = isolated(1, mu)
    g.rows[0] = rows
    assert has_friction(g, 0) == expected


@pytest.mark.parametrize(
    ("rows", "status", "expected"),
    [(3, SLIDING, True), (3, ROLLING, False), (3, OPEN, False), (1, SLIDING, False)],
)
def test_slip_directions_are_those_of_sliding_contacts_with_tangential_rows(rows, status, expected):
    g = isolated(1)
    g.rows[0], g.status[0] = rows, status
    assert is_sliding(g, 0) == expected


# --- sweeps


@pytest.mark.parametrize(
    ("inertia", "free", "force"), [(2.0, -6.0, 3.0), (2.0, 6.0, 0.0), (-1.0, 6.0, 0.0)]
)
def test_a_contact_alone_is_open_or_stops_its_approach(inertia, free, force):
    g = problem([[inertia]], [free], rows=1)
    new = np.full(1, 9.0)
    assert solve_isolated_contact(g, 0, new)
    assert new[0] == force


@pytest.mark.parametrize("inertia", [0.0, -1.0])
def test_a_pressed_contact_without_positive_inverse_inertia_locks(inertia):
    assert not solve_isolated_contact(problem([[inertia]], [-1.0], rows=1), 0, np.zeros(1))


def test_the_forces_of_other_contacts_stay_fixed_in_a_sweep():
    """W = (2 1; 1 2), forces (3, 4): the own block counts twice, so that contact 0 approaches with
    -20 + 2 * 3 + 4 - 4 * 3 = -22, which a force of 22 / 4 stops.
    """
    g = problem([[2.0, 1.0], [1.0, 2.0]], [-20.0, 0.0], rows=1)
    g.lam[:2] = 3.0, 4.0
    new = np.zeros(1)
    assert solve_isolated_contact(g, 0, new)
    assert new[0] == 5.5


def test_a_contact_with_friction_alone_sticks_or_has_no_force():
    """An ideal contact whose sideways motion is coupled to its normal: its force would pull."""
    W = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    new = np.zeros(3)
    assert solve_isolated_contact(problem(np.eye(3), [-1.0, 0.2, 0.0]), 0, new)
    assert_allclose(new, [1.0, -0.2, 0.0], atol=1e-15)
    assert not solve_isolated_contact(problem(W, [-1.0, -2.0, 0.0], math.inf), 0, new)


def test_a_sweep_reports_the_largest_change_of_motion():
    """From zero forces; contact 0 takes 6 / (2 * 3) = 1, contact 1 takes 8 / (2 * 2) = 2."""
    g = problem(np.diag([3.0, 2.0]), [-6.0, -8.0], rows=1)
    assert sweep_jacobi(g) == 4.0
    assert g.lam[:2].tolist() == [1.0, 2.0]


def test_a_sweep_fails_if_a_contact_locks():
    """It has no force then; the other contact has its own."""
    g = problem(np.diag([-3.0, 2.0]), [-6.0, -8.0], rows=1)
    assert sweep_jacobi(g) == -1.0
    assert g.lam[:2].tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("loads", "expected"),
    [((3.0, 1.0, 0.0), (7 / 3, 5 / 3, 2 / 3)), ((1.0, 3.0, 0.0), (1.0, 3.0, 0.0))],
)
def test_redundant_loads_have_minimum_norm_if_all_push(loads, expected):
    """The distribution (1, -1, -1) has no effect. Without it the second loads would pull with -2/3."""
    g = isolated(3)
    g.sizes[2] = 1
    g.spare[:3] = np.array([1.0, -1.0, -1.0]) / math.sqrt(3.0)
    g.new[::3] = loads
    minimise_load_norm(g)
    assert_allclose(g.new[::3], expected, atol=1e-15)


# --- guesses of statuses


@pytest.mark.parametrize(
    ("free", "sticks"),
    [
        ((-1.0, 0.49, 0.0, -1.0, 0.0, 0.3), True),
        ((-1.0, 0.51, 0.0, -1.0, 0.0, 0.3), False),
        ((-1.0, 0.0, 0.0, 1e-9, 0.0, 0.0), False),
        ((-1.0, 0.0, 0.0, 0.0, 0.0, 0.0), True),
    ],
)
def test_all_contacts_stick_if_all_are_pressed_within_their_cones(free, sticks):
    g = problem(np.eye(6), free)
    assert try_sticking(g, 1.0) == sticks


def test_contacts_without_friction_slide_while_the_others_stick():
    g = problem(np.eye(6), [-1.0, 0.0, 0.2, -1.0, 0.2, 0.0], [0.0, 0.5])
    assert try_sticking(g, 1.0)
    assert g.status.tolist() == [SLIDING, ROLLING]
    assert_allclose(g.new, [1.0, 0.0, 0.0, 1.0, -0.2, 0.0], atol=1e-15)


@pytest.mark.parametrize(
    ("push", "slip", "mu", "status"),
    [
        ((0.0, 0.0, 0.0), 0.0, 0.5, OPEN),
        ((-1.0, 0.0, 0.0), 0.0, 0.5, OPEN),
        ((1.0, 0.3, 0.0), 0.9e-3, 0.5, ROLLING),
        ((1.0, 0.3, 0.0), 1.1e-3, 0.5, SLIDING),
        ((1.0, 0.0, 0.0), 1.0, 0.5, ROLLING),
        ((1.0, 0.0, 0.0), 0.0, 0.0, SLIDING),
    ],
)
def test_statuses_are_proposed_by_load_and_slip(monkeypatch, push, slip, mu, status):
    """Slips up to 1e-3 count as none; a contact without friction force has no direction of slip."""
    g = isolated(1, mu)
    g.new[:] = push
    g.b[1:] = -np.array(push[1:]) + [0.0, slip]
    tried = []
    monkeypatch.setattr(
        coulomb,
        "solve_for_statuses",
        lambda g, scale, evenly: evenly and (tried.append(g.status[0]) or True),
    )
    monkeypatch.setattr(coulomb, "stick_slow_contacts", lambda *_: False)
    assert propose_statuses(g, 1e-3, 1.0)
    assert tried == [status]
    if status == SLIDING and mu > 0.0:
        assert g.sliding[1:].tolist() == [-1.0, 0.0]


def test_a_proposal_without_solution_restores_the_iterate(monkeypatch):
    g = isolated(1)
    g.lam[:], g.new[:] = [1.0, 0.1, 0.2], [9.0, 9.0, 9.0]
    monkeypatch.setattr(coulomb, "solve_for_statuses", lambda *_: False)
    assert not propose_statuses(g, 1e-3, 1.0)
    assert g.new.tolist() == [1.0, 0.1, 0.2]


@pytest.mark.parametrize(("second", "force"), [(True, 8.0), (False, 7.0)])
def test_a_proposal_whose_contacts_hardly_slip_sticks_if_it_can(monkeypatch, second, force):
    """The first solution has the force 7; with sticking contacts it would be 8."""
    results = iter([(7.0, True), (8.0, second)])

    def solve(g, *_):
        g.new[0], found = next(results)
        return found

    g = isolated(1)
    monkeypatch.setattr(coulomb, "solve_for_statuses", solve)
    monkeypatch.setattr(
        coulomb, "stick_slow_contacts", lambda g, sticking: sticking == 3.0 * STICKING_SLIP
    )
    assert propose_statuses(g, 1e-3, 3.0)
    assert g.new[0] == force


@pytest.mark.parametrize(
    ("slip", "mu", "status", "sticks"),
    [
        ((0.9, -0.9), 0.5, SLIDING, True),
        ((1.1, 0.0), 0.5, SLIDING, False),
        ((0.0, -1.1), 0.5, SLIDING, False),
        ((0.0, 0.0), 0.0, SLIDING, False),
        ((0.0, 0.0), 0.5, OPEN, False),
    ],
)
def test_slow_sliding_contacts_with_friction_stick(slip, mu, status, sticks):
    g = isolated(1, mu)
    g.u[1:], g.status[0] = slip, status
    assert stick_slow_contacts(g, 1.0) == sticks
    assert g.status[0] == (ROLLING if sticks else status)


@pytest.mark.parametrize(
    ("count", "residual", "exact", "found"),
    [
        (2, 0.9 * ACCEPTED_RESIDUAL, True, True),
        (2, 0.9 * ACCEPTED_RESIDUAL, False, False),
        (2, 1.1 * ACCEPTED_RESIDUAL, True, False),
        (2, math.nan, True, False),
        (MAX_ENUMERATED, 0.0, False, False),
        (MAX_ENUMERATED + 1, 0.0, False, True),
    ],
)
def test_impulses_are_accepted_exactly_or_by_their_residual(
    monkeypatch, count, residual, exact, found
):
    """Up to six contacts an exact solution is required, since all statuses can still be tried."""

    def solve(p):
        p.impulse[: 3 * count] = np.arange(3.0 * count)
        return residual

    g = isolated(count)
    slips = []
    monkeypatch.setattr(coulomb, "solve_impulses", solve)
    monkeypatch.setattr(
        coulomb, "propose_statuses", lambda g, sticking, scale: slips.append(sticking) or exact
    )
    assert solve_by_impulse_iteration(g, 2.0) == found
    if residual <= ACCEPTED_RESIDUAL:
        assert g.new.tolist() == list(range(3 * count))
        assert slips == [pytest.approx(2.0 * max(10.0 * residual, ACCEPTED_RESIDUAL))]


def test_the_impulse_iteration_sees_friction_only_at_tangential_rows(monkeypatch):
    """Contact 1 slides already: it has one row, and its friction is part of W."""
    g = isolated(2)
    g.sizes[1], g.rows[1] = 4, 1
    g.W[:16], g.b[:4] = np.arange(16.0), [1.0, 2.0, 3.0, 4.0]
    monkeypatch.setattr(coulomb, "solve_impulses", lambda p: math.nan)
    solve_by_impulse_iteration(g, 1.0)
    p = g.impulses
    assert p.mu[:2].tolist() == [0.5, 0.0]
    assert p.b[:6].tolist() == [1.0, 2.0, 3.0, 4.0, 0.0, 0.0]
    W = np.zeros((6, 6))
    W[:4, :4] = np.arange(16.0).reshape(4, 4)
    assert p.W[:6, :6].tolist() == W.tolist()


# --- all statuses


def tried_statuses(monkeypatch, g, accept=None):
    """Return the statuses in the order of their trials, and whether a solution is found."""
    tried = []

    def solve(g, scale, evenly):
        assert not evenly
        tried.append(tuple(g.status.tolist()))
        return tried[-1] == accept

    monkeypatch.setattr(coulomb, "solve_for_statuses", solve)
    return try_all_statuses(g, 1.0), tried


def test_sticking_is_tried_before_opening_and_sliding(monkeypatch):
    """Without directions two statuses, then 2 + 1, 2 + 2, ... 2 + 32 of them."""
    found, tried = tried_statuses(monkeypatch, isolated(1))
    assert not found
    assert tried[:5] == [(ROLLING,), (OPEN,), (OPEN,), (ROLLING,), (SLIDING,)]
    assert len(tried) == 2 + sum(2 + directions for directions in (1, 2, 4, 8, 16, 32))


def test_the_largest_number_of_sticking_contacts_is_tried_first(monkeypatch):
    found, tried = tried_statuses(monkeypatch, isolated(2), (OPEN, OPEN))
    assert found
    assert tried == [(ROLLING, ROLLING), (OPEN, ROLLING), (ROLLING, OPEN), (OPEN, OPEN)]


def test_not_more_combinations_are_tried_than_the_limit(monkeypatch):
    """Of six contacts 2^6 + 3^6 + 4^6 + 6^6 combinations; 10^6 are more than the limit."""
    assert 6**6 < MAX_COMBINATIONS < 10**6
    assert count_combinations(isolated(6), 4) == 6**6
    assert count_combinations(isolated(6), 8) == MAX_COMBINATIONS + 1
    _, tried = tried_statuses(monkeypatch, isolated(6))
    assert len(tried) == 2**6 + 3**6 + 4**6 + 6**6


@pytest.mark.parametrize(
    ("rows", "mu", "count"), [(3, 0.5, 6), (3, math.inf, 2), (3, 0.0, 2), (1, 0.5, 2)]
)
def test_directions_are_tried_at_contacts_with_a_cone(rows, mu, count):
    g = isolated(1, mu)
    g.rows[0] = rows
    assert count_trial_statuses(g, 0, 4) == count


@pytest.mark.parametrize(
    ("choice", "mu", "status", "angle"),
    [
        (0, 0.5, OPEN, None),
        (1, 0.5, ROLLING, None),
        (1, 0.0, SLIDING, None),
        (2, 0.5, SLIDING, 0.0),
        (3, 0.5, SLIDING, 90.0),
        (5, 0.5, SLIDING, 270.0),
    ],
)
def test_statuses_of_a_trial(choice, mu, status, angle):
    """With four directions, a quarter of a turn apart."""
    g = isolated(1, mu)
    set_trial_status(g, 0, choice, 4)
    assert g.status[0] == status
    if angle is not None:
        turn = math.radians(angle)
        assert_allclose(g.sliding[1:], [math.cos(turn), math.sin(turn)], atol=1e-14)


# --- exact solution for statuses


@pytest.mark.parametrize(
    ("status", "free", "exists", "force"),
    [
        (ROLLING, (-1.0, 0.4, 0.0), True, (1.0, -0.4, 0.0)),
        (ROLLING, (-1.0, 0.6, 0.0), False, None),
        (SLIDING, (-1.0, 0.6, 0.8), True, (1.0, -0.3, -0.4)),
        (SLIDING, (-1.0, 0.18, 0.24), False, None),
        (OPEN, (1.0, 0.6, 0.0), True, (0.0, 0.0, 0.0)),
        (OPEN, (-1.0, 0.6, 0.0), False, None),
        (ROLLING, (1.0, 0.0, 0.0), False, None),
    ],
)
def test_forces_of_given_statuses_obey_the_law_or_are_refused(status, free, exists, force):
    """With mu 0.5 and unit W: a slip of 1 slides, one of 0.3 would stick. The slip begins along x."""
    g = problem(np.eye(3), free)
    g.status[0], g.sliding[1:] = status, [1.0, 0.0]
    assert solve_for_statuses(g, 1.0, True) == exists
    if exists:
        assert_allclose(g.new, force, atol=1e-12)


def test_contradicting_statuses_have_no_forces():
    """Two contacts on one massless slider: W = 0, but the free motion approaches."""
    g = problem(np.zeros((2, 2)), [-1.0, -1.0], rows=1)
    g.status[:] = SLIDING
    assert not solve_for_statuses(g, 1.0, True)


def test_redundant_forces_are_shared_only_if_they_break_the_law(monkeypatch):
    """Two contacts of one place: each carries a half of the load, which obeys the law."""
    shared = []
    monkeypatch.setattr(coulomb, "share_forces", lambda g, spare, evenly: shared.append(spare))
    g = problem(np.ones((2, 2)), [-2.0, -2.0], rows=1)
    g.status[:] = SLIDING
    assert solve_for_statuses(g, 1.0, True)
    assert shared == []
    # Floor and ceiling: half of the load of either sign, so that the ceiling pulls.
    g = problem([[1.0, -1.0], [-1.0, 1.0]], [-2.0, 2.0], rows=1)
    g.status[:] = SLIDING
    assert not solve_for_statuses(g, 1.0, True)
    assert shared == [1]


def test_shared_forces_of_open_contacts_are_zero(monkeypatch):
    monkeypatch.setattr(coulomb, "null_vectors", lambda *_: None)
    monkeypatch.setattr(coulomb, "share_redundant_forces", lambda lam, *_: lam.__iadd__(1.0))
    g = isolated(2)
    g.status[:] = OPEN, ROLLING
    share_forces(g, 1, True)
    assert g.new.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    assert g.u.tolist() == g.new.tolist()


@pytest.mark.parametrize(
    ("status", "mu", "matrix", "value"),
    [
        (OPEN, 0.5, np.diag([6.0, 6.0, 6.0]), (0, 0, 0)),
        (ROLLING, 0.5, [[4, 1, 2], [1, 5, 3], [2, 3, 6]], (1, -2, -3)),
        (SLIDING, 0.0, [[4, 1, 2], [0, 6, 0], [0, 0, 6]], (1, 0, 0)),
        # At its limit along x: 6 (0.5 lam_n + lam_x) = 0; across: half of u_y = -6 lam_y.
        (SLIDING, 0.5, [[4, 1, 2], [3, 6, 0], [1, 1.5, 6]], (1, 0, -1.5)),
    ],
)
def test_equations_of_a_status(status, mu, matrix, value):
    """W has the largest entry 6, the slip is along x, 6 times the friction force."""
    g = problem([[4, 1, 2], [1, 5, 3], [2, 3, 6]], [-1.0, 2.0, 3.0], mu)
    g.status[0], g.sliding[:] = status, [6.0, 1.0, 0.0]
    write_status_equations(g, 6.0)
    assert_allclose(g.slope.reshape(3, 3), matrix)
    assert_allclose(g.value, value)


@pytest.mark.parametrize(
    ("push", "turn", "direction"),
    [
        ((0.0, 3.0, 4.0), 0.0, (1.0, 0.0)),
        ((2.0, -1.0, 0.0), 0.0, (1.0, 0.0)),
        ((2.0, -1.0, -0.75), 0.75, (0.8, 0.6)),
        ((2.0, -1.0, 0.75), -0.75, (0.8, -0.6)),
        ((2.0, 0.0, -50.0), 1.0, (math.sqrt(0.5), math.sqrt(0.5))),
    ],
)
def test_slip_directions_turn_against_friction_by_half_a_right_angle_at_most(push, turn, direction):
    """With mu 0.5 and a load of 2 the limit of friction is 1; a contact without load does not turn."""
    g = isolated(1)
    g.new[:], g.sliding[:] = push, [7.0, 1.0, 0.0]
    assert update_slip_direction(g, 0, 1e6) == pytest.approx(turn)
    assert_allclose(g.sliding[1:], direction)
    if push[0]:
        assert_allclose(g.new[1:], -np.array(direction))


@pytest.mark.parametrize(
    ("slip", "ratio"),
    [((3.0, 4.0), 5.0), ((3e9, 4e9), 1e6), ((0.0, 0.0), MIN_SLIP_RATIO / MAX_SLIP_RATIO * 1e6)],
)
def test_the_ratio_of_slip_to_friction_is_bounded(slip, ratio):
    g = isolated(1)
    g.new[:], g.u[1:], g.sliding[:] = [2.0, -1.0, 0.0], slip, [7.0, 1.0, 0.0]
    update_slip_direction(g, 0, 1e6)
    assert g.sliding[0] == pytest.approx(ratio)


# --- the law


@pytest.mark.parametrize(("share", "expected"), [(1.0 - 2e-9, False), (1.0 - 5e-10, True)])
def test_friction_is_at_its_limit_up_to_rounding(share, expected):
    g = isolated(1)
    g.new[:] = 2.0, 0.6 * share, 0.8 * share
    assert is_at_limit(g, 0) == expected


SMALL = 1e-3


@pytest.mark.parametrize(
    ("status", "push", "motion", "lawful"),
    [
        (OPEN, (0.0, 0.0, 0.0), (-0.9 * SMALL, 5.0, 5.0), True),
        (OPEN, (0.0, 0.0, 0.0), (-1.1 * SMALL, 5.0, 5.0), False),
        (ROLLING, (2.0, 0.6, -0.8), (0.9 * SMALL, 0.9 * SMALL, 0.0), True),
        (ROLLING, (2.0, 0.6, -0.8), (1.1 * SMALL, 0.0, 0.0), False),
        (ROLLING, (2.0, 0.6, -0.8), (-1.1 * SMALL, 0.0, 0.0), False),
        (ROLLING, (2.0, 0.0, 0.0), (0.0, 1.1 * SMALL, 0.0), False),
        (ROLLING, (2.0, 0.0, 0.0), (0.0, 0.0, -1.1 * SMALL), False),
        (ROLLING, (2.0, 0.6001, -0.8), (0.0, 0.0, 0.0), False),
        (ROLLING, (-1e-9, 0.0, 0.0), (0.0, 0.0, 0.0), False),
        (ROLLING, (math.nan, 0.0, 0.0), (0.0, 0.0, 0.0), False),
        (SLIDING, (2.0, -0.6, 0.8), (0.0, 3.0, -4.0), True),
        (SLIDING, (2.0, -0.6, 0.8), (0.0, -3.0, 4.0), False),
        (SLIDING, (2.0, 1.0, 0.0), (0.0, 0.9 * SMALL, 7.0), True),
        (SLIDING, (2.0, 1.0, 0.0), (0.0, 1.1 * SMALL, 7.0), False),
    ],
)
def test_forces_obey_coulombs_law(status, push, motion, lawful):
    """With mu 0.5; the last two slip along their friction force, by less and more than counts as zero."""
    g = isolated(1)
    g.new[:], g.u[:], g.status[0] = push, motion, status
    assert contact_obeys_law(g, 0, SMALL) == lawful


@pytest.mark.parametrize(("rows", "mu"), [(1, 0.5), (3, math.inf)])
def test_contacts_without_a_cone_may_push_sideways(rows, mu):
    """An entry beside a single row belongs to another contact."""
    g = isolated(1, mu)
    g.rows[0], g.status[0], g.new[:] = rows, ROLLING, [1.0, 9.0, 9.0]
    assert contact_obeys_law(g, 0, SMALL)


def test_rounding_of_large_forces_may_leave_a_cone():
    """By 1e-11 of the largest force, which is at another contact."""
    g = isolated(2)
    g.status[:] = ROLLING
    for excess, lawful in ((0.9e-5, True), (1.1e-5, False)):
        g.new[:] = 2.0, 1.0 + excess, 0.0, 1e6, 0.0, 0.0
        assert contact_obeys_law(g, 0, SMALL) == lawful


@pytest.mark.parametrize("wrong", [None, 0, 1])
def test_the_law_holds_if_it_holds_at_every_contact(wrong):
    g = isolated(2)
    g.status[:], g.new[::3] = ROLLING, 1.0
    if wrong is not None:
        g.new[3 * wrong] = -1.0
    assert obeys_law(g, SMALL) == (wrong is None)
