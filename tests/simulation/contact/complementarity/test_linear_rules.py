"""Rules of the linear algebra of contact problems and of shared forces, routine by routine, with numbers by
hand: rank, consistency, pivots, friction cones. Routines run as plain Python.
"""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.simulation.contact.complementarity import saddle_point, sharing
from draisine.simulation.contact.complementarity.linear import (
    CONTRADICTION,
    REDUNDANT_ROW_DISTANCE,
    SMALLEST_PIVOT,
    ZERO_PIVOT,
    factor_cholesky,
    move_largest_pivot,
    solve_by_complete_pivoting,
    span_columns,
)
from draisine.simulation.contact.complementarity.saddle_point import (
    CONSISTENT_RESIDUAL,
    PIVOT_LOSS,
    PIVOT_SHARE,
    REDUNDANT_PIVOT,
    SINGULAR_MASS,
    WELL_CONDITIONED,
    make_saddle_point,
)
from draisine.simulation.contact.complementarity.sharing import (
    FRICTION_MARGIN,
    LEAST_LOAD,
    give_friction_margin,
    has_cone,
    push_least,
)
from draisine.simulation.contact.complementarity.single_contact import (
    find_sliding,
    solve_single_contact,
)
from draisine.simulation.contact.status import Status
from simulation.contact.complementarity.test_saddle_point import fill

TINY = math.sqrt(SMALLEST_PIVOT)


# --- dense equations


def solve_dense(K, b):
    K, n = np.array(K, float), len(b)
    x = np.full(n, np.nan)
    return solve_by_complete_pivoting(K.ravel(), np.array(b, float), x, np.zeros(n, int), n), x


@pytest.mark.parametrize(
    ("K", "b", "redundant", "x"),
    [
        ([[2.0, 1.0], [1.0, 3.0]], [4.0, 7.0], 0, [1.0, 2.0]),
        ([[1.0, 1.0], [2.0, 2.0]], [2.0, 4.0], 1, [1.0, 1.0]),
        ([[0.0, 0.0], [0.0, 0.0]], [0.0, 0.0], 2, [0.0, 0.0]),
        ([[0.0, 3.0], [0.0, 0.0]], [6.0, 0.0], 1, [0.0, 2.0]),
    ],
)
def test_redundant_equations_have_the_solution_of_minimum_norm(K, b, redundant, x):
    found, solution = solve_dense(K, b)
    assert found == redundant
    assert_allclose(solution, x, atol=1e-15)


@pytest.mark.parametrize(("share", "redundant"), [(0.9, 1), (1.1, -1), (-1.1, -1), (math.nan, -1)])
def test_redundant_equations_may_contradict_each_other(share, redundant):
    """The bound grows with the largest entry, here 3."""
    residual = share * CONTRADICTION * (1.0 + 3.0)
    assert solve_dense([[3.0, 0.0], [0.0, 0.0]], [6.0, residual])[0] == redundant


@pytest.mark.parametrize(("share", "redundant"), [(0.9, 1), (1.1, 0)])
def test_small_pivots_count_as_zero(share, redundant):
    """In parts of the largest entry, here 3."""
    pivot = share * ZERO_PIVOT * 3.0
    assert solve_dense([[3.0, 0.0], [0.0, pivot]], [6.0, 0.0])[0] == redundant


def test_the_largest_entry_becomes_the_pivot():
    """Of the rows and columns from 1 on: -9 at (2, 1)."""
    K, b, order = np.arange(9.0), np.array([10.0, 11.0, 12.0]), np.array([0, 1, 2])
    K[7] = -9.0
    assert move_largest_pivot(K, b, order, 3, 1) == 9.0
    assert K.reshape(3, 3).tolist() == [[0, 1, 2], [6, -9, 8], [3, 4, 5]]
    assert b.tolist() == [10.0, 12.0, 11.0]
    assert move_largest_pivot(K, b, order, 3, 0) == 9.0
    assert K.reshape(3, 3).tolist() == [[-9, 6, 8], [1, 0, 2], [4, 3, 5]]
    assert order.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("columns", "rank"),
    [
        ([(3.0, 0.0), (1.0, 2.0)], 2),
        ([(3.0, 0.0), (1.0, 0.0), (2.0, 0.0)], 1),
        ([(3.0, 0.0), (1.0, 0.9 * 3.0 * REDUNDANT_ROW_DISTANCE)], 1),
        ([(3.0, 0.0), (1.0, 1.1 * 3.0 * REDUNDANT_ROW_DISTANCE)], 2),
        ([(0.0, 0.0)], 0),
    ],
)
def test_the_rank_of_columns(columns, rank):
    """A column within 1e-9 of the largest one from the span of the others is redundant."""
    C = np.array(columns).T
    m, n = C.shape
    U, rest = np.zeros(m * m), np.zeros(m * n)
    assert span_columns(C.ravel().copy(), m, n, U, rest) == rank
    basis = U.reshape(m, m)[:rank]
    assert_allclose(basis @ basis.T, np.eye(rank), atol=1e-15)
    if rank:
        assert_allclose(abs(basis[0]), [1.0, 0.0], atol=1e-15)  # the largest column is the first


@pytest.mark.parametrize(
    ("A", "definite", "pivots"),
    [
        ([[4.0, 2.0], [2.0, 10.0]], True, (2.0, 3.0)),
        ([[4.0, 2.0], [2.0, 1.0]], False, (2.0, TINY)),
        ([[-4.0, 2.0], [2.0, 1.0]], False, (TINY, TINY)),
        ([[math.nan, 0.0], [0.0, 1.0]], False, None),
    ],
)
def test_a_cholesky_factor_exists_for_definite_matrices(A, definite, pivots):
    """It replaces the lower triangle. Pivots that are not positive become tiny, so that one can divide."""
    L = np.array(A)
    assert factor_cholesky(L, 2) == definite
    if definite:
        assert np.tril(L).tolist() == [[2.0, 0.0], [1.0, 3.0]]
    if pivots is not None:
        assert np.diag(L).tolist() == list(pivots)


# --- saddle-point system


@pytest.mark.parametrize(
    ("pivot", "exists"),
    [(1.1 * SINGULAR_MASS, True), (0.9 * SINGULAR_MASS, False), (0.0, False), (math.nan, False)],
)
def test_a_massless_body_has_no_factor(pivot, exists):
    """Relative to its own diagonal entry; the other mass is much larger."""
    L = np.array([[1e6, 0.0], [0.0, 5.0 * pivot]])
    assert saddle_point.factor_leaves_first(L, np.array([1e6, 5.0]), 2) == exists


@pytest.mark.parametrize(("row", "entry"), [(0, 0), (1, 2), (2, 0)])
def test_a_system_is_symmetric_if_all_multipliers_act_along_their_rows(row, entry):
    """Row 2 is not in use."""
    C = np.arange(9.0).reshape(3, 3)
    p = fill(np.eye(3), np.zeros(3), C, np.zeros(3))
    p.rows = 2
    assert saddle_point.is_symmetric(p)
    p.G[row, entry] += 1e-15 + 1e-15 * abs(C[row, entry])
    assert saddle_point.is_symmetric(p) == (row == 2)


@pytest.mark.parametrize(
    ("load", "target", "residual", "consistent"),
    [
        (2.0, 0.0, 1.8, True),
        (2.0, 0.0, 2.2, False),
        (-2.0, 0.0, -2.2, False),
        (0.0, -3.0, 5.8, True),
        (0.0, 3.0, 6.2, False),
        (0.0, 0.0, 0.0, True),
    ],
)
def test_redundant_rows_are_consistent_up_to_rounding(load, target, residual, consistent):
    """Relative to the largest scaled force: the load, or a target of 3 with the scale 2."""
    p = make_saddle_point(2, 2)
    p.rows, p.rank = 2, 1
    p.load[0], p.target[0], p.scale[:2] = load, target, 2.0
    p.rest[:2] = 9.0, residual * CONSISTENT_RESIDUAL
    assert saddle_point.is_consistent(p) == consistent


@pytest.mark.parametrize(("share", "rank"), [(0.9, 1), (1.1, 2)])
def test_rows_near_the_span_of_the_others_are_redundant(share, rank):
    """Of two unit rows at a squared distance of 1e-9, in both eliminations."""
    distance = math.sqrt(share * REDUNDANT_PIVOT)
    C = np.array([[1.0, 0.0], [math.sqrt(1.0 - distance**2), distance]])
    for symmetric in (True, False):
        p = fill(np.eye(2), np.zeros(2), C, np.zeros(2))
        assert saddle_point.factor_mass(p)
        saddle_point.scale_rows(p)
        if symmetric:
            saddle_point.factor_symmetric(p)
        else:
            saddle_point.eliminate_rows(p, 2)
        assert p.rank == rank


def test_elimination_chooses_among_the_first_rows():
    """Row 2 is larger, but stays last; its entry right of the pivots is the Schur complement."""
    p = fill(np.eye(3), np.zeros(3), np.eye(3) + 0.5, np.zeros(3))
    saddle_point.factor_mass(p)
    saddle_point.scale_rows(p)
    saddle_point.eliminate_rows(p, 2)
    S = (p.Y.T @ p.Y)[:3, :3]
    assert p.rank == 2
    assert p.row_order[2] == 2
    wanted = S[2, 2] - S[2, :2] @ np.linalg.solve(S[:2, :2], S[:2, 2])
    assert p.S[2, 2] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("place", "among", "pivot"),
    [((2, 1), 3, 9.0), ((2, 2), 2, 4.0), ((1, 2), 3, 9.0), ((1, 1), 3, 9.0)],
)
def test_the_largest_entry_of_the_schur_complement_is_the_pivot(place, among, pivot):
    """From (1, 1) on, among the first rows and columns; otherwise the entry 4 there."""
    p = make_saddle_point(3, 3)
    p.rows = 3
    p.S[:3, :3] = np.arange(9.0).reshape(3, 3)
    p.S[place] = -9.0
    S = p.S[:3, :3].copy()
    p.rest[:3] = 10.0, 11.0, 12.0
    p.row_order[:3] = p.column_order[:3] = range(3)
    assert saddle_point.move_schur_pivot(p, 1, among) == pivot
    assert_allclose(p.S[:3, :3], S[np.ix_(p.row_order[:3], p.column_order[:3])])
    assert_allclose(p.rest[:3], 10.0 + p.row_order[:3])
    assert abs(p.S[1, 1]) == pivot


@pytest.mark.parametrize(
    ("motion_only", "symmetric", "lam"),
    [(False, True, (2.0, 2.0)), (True, True, (4.0, 0.0)), (True, False, (2.0, 2.0))],
)
def test_redundant_rows_share_a_force_unless_only_the_motion_counts(motion_only, symmetric, lam):
    """Two equal rows stop a body that is pushed with -4 N."""
    p = fill(np.eye(1), np.array([-4.0]), np.ones((2, 1)), np.zeros(2))
    saddle_point.factor_mass(p)
    saddle_point.scale_rows(p)
    saddle_point.factor_symmetric(p)
    saddle_point.factor_gram(p)
    p.motion_only, p.symmetric = motion_only, symmetric
    p.multiplier[:2] = 0.0
    saddle_point.add_multipliers(p)
    assert_allclose(sorted(p.multiplier[:2], reverse=True), lam)


@pytest.mark.parametrize(
    ("rows", "count"),
    [(np.eye(3), 0), (np.diag([0.0, -1.0, 0.0]), 2), (np.full((3, 3), np.nan), 3)],
)
def test_rows_of_zeros_are_counted(rows, count):
    p = fill(np.eye(3), np.zeros(3), rows, np.zeros(3))
    assert saddle_point.count_zero_rows(p) == count


def pivots_of(C, M=None, target=None, **fields):
    """Return the pivots that are chosen after a solution, as (row, speed)."""
    C = np.array(C, float)
    m, n = C.shape
    p = fill(np.eye(n) if M is None else np.diag(M), np.zeros(n), C, np.zeros(m))
    saddle_point.solve_saddle_point(p)
    for name, value in fields.items():
        setattr(p, name, value)
    saddle_point.choose_mode_pivots(p)
    assert p.pivoted_rows == m
    return list(
        zip(p.pivot_rows[: p.pivots].tolist(), p.pivot_columns[: p.pivots].tolist(), strict=True)
    )


def test_pivots_are_chosen_from_the_last_speed_on():
    """The spin of a wheel, the last speed, occurs in one row only."""
    assert pivots_of([[1.0, 0.0, 0.3], [1.0, 1.0, 0.0]]) == [(0, 2), (1, 1)]


@pytest.mark.parametrize(
    ("entry", "pivots"),
    [(1.1 * PIVOT_SHARE, [(0, 1)]), (0.9 * PIVOT_SHARE, [(0, 0)])],
)
def test_a_pivot_is_not_much_smaller_than_its_row(entry, pivots):
    assert pivots_of([[1.0, entry]]) == pivots


def test_pivots_are_compared_in_the_kinetic_metric():
    """A speed with a large inertia has a small weight: 1 / 30 of the first one."""
    assert pivots_of([[1.0, 1.0]], M=[1.0, 900.0]) == [(0, 0)]


@pytest.mark.parametrize(
    ("C", "pivots"),
    [
        ([[1.0, 0.0, 0.0]], []),  # most speeds are free
        ([[1.0, 0.0], [1.0, 1.1 * WELL_CONDITIONED]], [(0, 0), (1, 1)]),
        ([[1.0, 0.0], [1.0, 0.9 * WELL_CONDITIONED]], []),  # nearly redundant
        ([[1.0, 0.0], [1.0, 0.0]], [(0, 0)]),  # redundant
    ],
)
def test_pivots_need_independent_rows_of_most_speeds(C, pivots):
    assert [speed for _, speed in sorted(pivots_of(C))] == [speed for _, speed in pivots]


def test_contradicting_rows_have_no_pivots():
    """A residual beyond rounding errors of a redundant row."""
    C = [[1.0, 0.0], [1.0, 0.0]]
    assert len(pivots_of(C, inconsistency=0.0)) == 1
    assert pivots_of(C, inconsistency=1.0) == []


@pytest.mark.parametrize(
    ("share", "serves"), [(1.1, True), (-1.1, True), (0.9, False), (math.nan, False)]
)
def test_pivots_serve_until_they_lose_their_size(share, serves):
    """The row (1, x) = 3 with the pivot 2 of old in column 1: motions (1, -1 / x), and (0, 3 / x)."""
    p = fill(np.eye(2), np.zeros(2), np.array([[1.0, share * 2.0 * PIVOT_LOSS]]), np.array([3.0]))
    p.pivots, p.pivot_rows[0], p.pivot_columns[:], p.pivot_sizes[0] = 1, 0, [1, 0], 2.0
    X = np.zeros((2, 2))
    assert saddle_point.write_null_space(p, X) == serves
    if serves:
        x = share * 2.0 * PIVOT_LOSS
        assert_allclose(X, [[1.0, 0.0], [-1.0 / x, 3.0 / x]])


@pytest.mark.parametrize(("scale", "balances"), [(1.0, True), (0.0, False)])
def test_forces_balance_a_motion_along_the_pivots(scale, balances):
    """Two equal rows hold a body against 6 N: 3 N each. Rows of zeros balance nothing."""
    p = fill(np.eye(1), np.array([-6.0]), scale * np.ones((2, 1)), np.zeros(2))
    p.pivots, p.pivot_columns[:], p.x[:] = 1, [0], 0.0
    assert saddle_point.balance_forces(p) == balances
    if balances:
        assert_allclose(p.multiplier[:2], [3.0, 3.0])


# --- shared forces


@pytest.mark.parametrize(
    ("status", "mu", "expected"),
    [
        (Status.ROLLING, 0.5, True),
        (Status.ROLLING, 0.0, False),
        (Status.ROLLING, math.inf, False),
        (Status.SLIDING, 0.5, False),
        (Status.TRACKING_TYRE, 0.5, False),
    ],
)
def test_sticking_contacts_with_finite_friction_have_a_cone(status, mu, expected):
    assert has_cone(status, mu) == expected


@pytest.mark.parametrize(
    ("loads", "normals", "expected"),
    [
        ((-1.0, 3.0), (0, 1), (0.0, 2.0)),
        ((1.0, 3.0), (0, 1), (1.0, 3.0)),
        ((-1.0, 3.0), (-1, 1), (-1.0, 3.0)),
        ((-3.0, 1.0), (0, 1), (-3.0, 1.0)),  # no such forces exist
        ((-1.0, 3.0), (0, -1), (0.0, 2.0)),
    ],
)
def test_pulls_are_removed_by_the_shortest_change(loads, normals, expected):
    """The difference of both loads has no effect: (1, -1). A contact without normal row may pull."""
    lam = np.array(loads)
    null = np.array([1.0, -1.0]) / math.sqrt(2.0)
    push_least(lam, 2, null, 1, np.array(normals), 2, np.zeros(20))
    assert_allclose(lam, expected, atol=1e-8)
    if expected[0] == 0.0:
        assert lam[0] == pytest.approx(LEAST_LOAD * 3.0, rel=1e-3)


def margin_of(lam, mu=0.5):
    """Give two sticking contacts a friction margin whose forces along may be exchanged."""
    lam = np.array(lam, float)
    null = np.array([0.0, 1.0, 0.0, 0.0, -1.0, 0.0]) / math.sqrt(2.0)
    status = np.full(2, Status.ROLLING)
    give_friction_margin(lam, 6, null, 1, np.array([0, 3]), status, np.full(2, mu), 2, np.zeros(50))
    return lam


def test_forces_with_a_margin_stay():
    lam = [10.0, 4.89, 0.0, 10.0, 0.0, 0.0]
    assert margin_of(lam).tolist() == lam


def test_a_friction_margin_is_the_smallest_change_that_suffices():
    """A contact uses 4.95 of 5 N; the required margin is 0.1 N, a hundredth of the largest force. The barrier
    leaves a thousandth of the largest force more at most.
    """
    found = margin_of([10.0, 4.95, 0.0, 10.0, 0.0, 0.0])
    assert 4.89 < found[1] <= 5.0 - 10.0 * FRICTION_MARGIN
    assert found[1] + found[4] == pytest.approx(4.95)


def test_the_largest_margin_is_given_if_the_required_one_does_not_exist():
    """Together 10 N are needed, which both cones of 5 N just hold: half each."""
    found = margin_of([10.0, 5.5, 0.0, 10.0, 4.5, 0.0])
    assert found[1] == pytest.approx(5.0, abs=1e-3)
    assert found[4] == pytest.approx(5.0, abs=1e-3)


def barrier(lam, mu, r):
    """Return -log((mu lam_n + r)^2 - |lam_t|^2), or -log(lam_n + r) without friction."""
    if mu == 0.0:
        return -math.log(lam[0] + r)
    return -math.log((mu * lam[0] + r) ** 2 - lam[1] ** 2 - lam[2] ** 2)


@pytest.mark.parametrize(
    ("status", "mu", "load", "counts"),
    [
        (Status.ROLLING, 0.5, 0.6, True),
        (Status.SLIDING, 0.5, 0.6, True),
        (Status.SPRUNG_TYRE, 0.0, 0.6, False),
        (Status.SLIDING, 0.5, 0.0, False),
        (Status.ROLLING, 0.5, 0.0, True),
        (Status.SLIDING, 0.5, 0.9e-8, False),
    ],
)
def test_a_barrier_has_the_derivatives_of_its_logarithm(status, mu, load, counts):
    """Against differences along the null vector (load, 0.5, -0.3) and along r. A contact that the vector does
    not load contributes nothing without friction.
    """
    null, lam, r = np.array([load, 0.5, -0.3]), np.array([4.0, 0.7, -0.2]), 0.3
    H, g = np.zeros(4), np.zeros(8)
    sharing.add_barrier(lam, null, 1, 0, status, mu, r, H, g)
    slope = mu if has_cone(status, mu) else 0.0

    def value(z, s):
        return barrier(lam + z * null, slope, r + s) if counts else 0.0

    e = 1e-5
    first = [(value(e, 0) - value(-e, 0)) / (2 * e), (value(0, e) - value(0, -e)) / (2 * e)]
    assert_allclose(g[:2], first, atol=1e-8)
    mixed = (value(e, e) - value(e, -e) - value(-e, e) + value(-e, -e)) / (4 * e * e)
    second = [
        (value(e, 0) - 2 * value(0, 0) + value(-e, 0)) / e**2, mixed, mixed,
        (value(0, e) - 2 * value(0, 0) + value(0, -e)) / e**2,
    ]  # fmt: skip
    assert_allclose(H, second, atol=1e-4)


# --- one contact


@pytest.mark.parametrize("ratio", [0.5, 3.0, 1e-4])
def test_a_sliding_contact_has_its_force_on_the_cone(ratio):
    """Unit stiffnesses, normal force 2, free slip (3, 4) and mu: force 5 / (1 + ratio) = 2 mu."""
    mu = 2.5 / (1.0 + ratio)
    f, lam = np.array([1.0, 1.0, 3.0, 4.0, 0.0, 0.0, 1.0, -2.0]), np.zeros(3)
    find_sliding(f, mu, lam)
    assert_allclose(lam, [2.0, -1.2 * mu, -1.6 * mu], rtol=1e-10)


def test_a_contact_inside_its_cone_at_every_ratio_does_not_slide():
    """With mu 3 the cone holds 6; the force at ratio zero is 5, and it is the result."""
    f, lam = np.array([1.0, 1.0, 3.0, 4.0, 0.0, 0.0, 1.0, -2.0]), np.zeros(3)
    find_sliding(f, 3.0, lam)
    assert_allclose(lam, [2.0, -3.0, -4.0])


@pytest.mark.parametrize(
    ("free", "mu", "lost", "force"),
    [
        ((0.0, 3.0, 0.0), 0.5, 0, (0.0, 0.0, 0.0)),
        ((-2.0, 3.0, 0.0), 0.0, 0, (2.0, 0.0, 0.0)),
        ((-2.0, 0.99, 0.0), 0.5, 0, (2.0, -0.99, 0.0)),
        ((-2.0, 1.01, 0.0), 0.5, 0, (2.0, -1.0, 0.0)),
        ((-2.0, 9.0, 0.0), math.inf, 0, (2.0, -9.0, 0.0)),
    ],
)
def test_a_contact_alone_opens_sticks_or_slides(free, mu, lost, force):
    lam = np.full(3, 9.0)
    W = np.eye(3).ravel()
    assert solve_single_contact(W, 3, np.array(free), mu, lam, np.zeros(8)) == lost
    assert_allclose(lam, force, atol=1e-10)
