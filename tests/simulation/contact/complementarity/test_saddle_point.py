"""The saddle-point system: against dense linear algebra, under changes of units, with redundant and
contradictory rows, with massless bodies. Routines run as plain Python here, and once as machine code.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.codegen.targets.native import shared_code
from draisine.simulation.contact.complementarity.saddle_point import (
    SaddleStatus,
    apply_multipliers,
    factor_mass,
    find_null_space,
    make_contact_response,
    make_saddle_point,
    set_row,
    solve_along_pivots,
    solve_constrained,
    solve_in_mode,
    solve_minimum_norm,
    solve_reduced,
    solve_saddle_point,
    write_delassus,
)


def masses(rng, n):
    """Return a random mass matrix."""
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.1 * np.eye(n)


def fill(M, force, C, target, G=None):
    """Return a system with its rows."""
    p = make_saddle_point(len(M), len(C))
    p.M[:], p.force[:], p.rows = M, force, len(C)
    for i, row in enumerate(C):
        set_row(p, i, row, row if G is None else G[i], target[i])
    return p


def draw(seed, n, m, rank):
    """Return random M, f, C of a rank, and consistent targets."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    return masses(rng, n), rng.normal(size=n), C, C @ rng.normal(size=n), rng


SIZES = [(4, 1, 1), (6, 6, 6), (6, 4, 3), (8, 12, 5), (7, 9, 7)]


@pytest.mark.parametrize(("n", "m", "rank"), SIZES)
def test_motion_and_multipliers_of_minimum_norm(n, m, rank):
    """M x = f + C' lam and C x = c; lam has no part along multipliers without effect."""
    M, f, C, c, _ = draw(m, n, m, rank)
    p = fill(M, f, C, c)
    status = solve_saddle_point(p)
    assert status is (SaddleStatus.UNIQUE if rank == m else SaddleStatus.REDUNDANT)
    assert p.rank == rank
    assert p.symmetric
    x, lam = p.x, p.multiplier[:m]
    assert_allclose(M @ x, f + C.T @ lam, atol=1e-11 * np.abs(C).max() * np.abs(lam).max())
    assert_allclose(C @ x, c, atol=1e-12 * np.abs(c).max())
    idle = np.linalg.svd(C)[0][:, rank:]
    assert_allclose(idle.T @ lam, 0.0, atol=1e-10 * np.abs(lam).max())


@pytest.mark.parametrize(("n", "m", "rank"), SIZES)
def test_the_motion_alone_is_that_of_the_whole_solution(n, m, rank):
    """Redundant rows need no part in the force; with friction drag the motion depends on their part."""
    M, f, C, c, _ = draw(m, n, m, rank)
    whole, alone = fill(M, f, C, c), fill(M, f, C, c)
    alone.motion_only = True
    solve_saddle_point(whole)
    assert solve_saddle_point(alone) is SaddleStatus.UNIQUE
    assert_allclose(alone.x, whole.x, atol=1e-11 * np.abs(whole.x).max())
    assert np.count_nonzero(alone.multiplier[:m]) == rank
    G = C.copy()
    G[0] += 0.3
    whole, alone = fill(M, f, C, c, G), fill(M, f, C, c, G)
    alone.motion_only = True
    assert solve_saddle_point(alone) is solve_saddle_point(whole)
    assert_allclose(alone.multiplier, whole.multiplier, atol=0)


def draw_mode(m, n, rank, seeds):
    """Return systems of one contact mode: each row depends on the same other rows, with changing numbers."""
    rng = np.random.default_rng(m)
    weights, independent = rng.normal(size=(m, rank)), rng.normal(size=(rank, n))
    for seed in seeds:
        rng = np.random.default_rng(seed)
        C = weights @ (independent + 0.05 * rng.uniform(-1.0, 1.0, size=(rank, n)))
        yield masses(rng, n), rng.normal(size=n), C, C @ rng.normal(size=n)


@pytest.mark.parametrize(("n", "m", "rank"), [(6, 6, 6), (6, 4, 3), (8, 12, 5), (7, 9, 7)])
def test_pivots_of_one_solution_serve_the_next(n, m, rank):
    """Along the pivots of the first system the others have the motion of the dense system, and multipliers of
    minimum norm. Without redundant rows or with all speeds determined, too.
    """
    first, *others = draw_mode(m, n, rank, range(6))
    p = fill(*first)
    p.pivoted_rows = -1
    solve_in_mode(p)
    assert p.pivots == rank
    assert sorted(p.pivot_rows[:m]) == list(range(m))
    assert sorted(p.pivot_columns) == list(range(n))
    for M, f, C, c in others:
        p.M[:], p.force[:], p.target[:m] = M, f, c
        p.C[:m] = p.G[:m] = C
        for p.motion_only in (True, False):
            p.x[:] = np.nan
            assert solve_along_pivots(p)
            K = np.block([[M, -C.T], [C, np.zeros((m, m))]])
            wanted = np.linalg.pinv(K, rcond=1e-12) @ np.concatenate([f, c])
            assert_allclose(p.x, wanted[:n], atol=1e-10 * np.abs(wanted[:n]).max())
        assert_allclose(p.multiplier[:m], wanted[n:], atol=1e-9 * np.abs(wanted[n:]).max())
        assert solve_in_mode(p) is (SaddleStatus.UNIQUE if rank == m else SaddleStatus.REDUNDANT)


def test_pivots_are_chosen_again_if_they_no_longer_serve():
    """A row that ceases to be redundant, and a pivot that vanishes: the solution is that of the new rows."""
    M, f = np.diag([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 2.0])
    p = fill(M, f, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]), np.zeros(3))
    p.pivoted_rows = -1
    solve_in_mode(p)
    assert p.pivots == 2
    p.C[2, 2] = p.G[2, 2] = 1.0
    p.target[2] = 3.0
    assert solve_in_mode(p) is SaddleStatus.UNIQUE
    assert_allclose(p.x, [0.0, 0.0, 3.0], atol=1e-14)
    assert p.pivots == 3
    p.C[:3] = p.G[:3] = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    p.target[:3] = [1.0, 2.0, 0.0]
    assert not solve_along_pivots(p)
    solve_in_mode(p)
    assert_allclose(p.x, [2.0, 1.0, -3.0], atol=1e-14)


@pytest.mark.parametrize(
    ("C", "target"),
    [
        ([[1.0, 0.0], [1.0, 0.0]], [0.0, 1.0]),  # rows that contradict each other
        ([[1.0, 0.0], [1.0, 1e-4]], [0.0, 0.0]),  # rows that are nearly redundant
    ],
)
def test_doubtful_rows_have_no_pivots(C, target):
    """Each of their systems is solved with pivoting, which decides the rank anew."""
    p = fill(np.eye(2), np.ones(2), np.array(C), np.array(target))
    p.pivoted_rows = -1
    solve_in_mode(p)
    assert p.pivots == 0


@pytest.mark.parametrize(("n", "m", "rank"), [(6, 3, 3), (6, 5, 4)])
def test_multipliers_that_push_elsewhere_than_along_their_rows(n, m, rank):
    """Friction drag and tyre lift: G differs from C. Redundant rows leave lam open; it is the shortest."""
    M, f, C, c, rng = draw(n + m, n, m, rank)
    G = C.copy()
    G[0] += 0.3 * rng.normal(size=n)
    p = fill(M, f, C, c, G)
    solve_saddle_point(p)
    assert not p.symmetric
    S = C @ np.linalg.solve(M, G.T)
    wanted = np.linalg.pinv(S, rcond=1e-10) @ (c - C @ np.linalg.solve(M, f))
    assert_allclose(p.multiplier[:m], wanted, rtol=1e-9, atol=1e-10)
    assert_allclose(M @ p.x, f + G.T @ wanted, atol=1e-9)


@pytest.mark.parametrize("mass", [1e-6, 1e6])
@pytest.mark.parametrize("length", [1e-3, 1e3])
def test_rank_and_motion_do_not_depend_on_units(mass, length):
    """Masses in other units, angles against lengths, rows of other scales."""
    M, f, C, c, rng = draw(3, 8, 12, 5)
    p = fill(M, f, C, c)
    solve_saddle_point(p)
    x, lam = p.x.copy(), p.multiplier[:12].copy()
    unit = np.where(np.arange(8) < 3, length, 1.0)
    rows = 10.0 ** rng.uniform(-3, 3, 12)
    T = np.diag(1.0 / unit)
    q = fill(mass * T @ M @ T, mass * T @ f, (C @ T) * rows[:, None], c * rows)
    assert solve_saddle_point(q) is SaddleStatus.REDUNDANT
    assert q.rank == 5
    assert_allclose(q.x / unit, x, rtol=1e-7, atol=1e-9 * np.abs(x).max())
    # Of rows of the same scale the multipliers are the same, too.
    q = fill(mass * M, mass * f, C, c)
    solve_saddle_point(q)
    assert_allclose(q.multiplier[:12], mass * lam, rtol=1e-7, atol=1e-9 * mass * np.abs(lam).max())


def test_contradicting_rows_are_satisfied_in_the_least_squares_sense():
    """Whatever their order: what is symmetric stays so. The contradiction is reported."""
    M, f, C, c, _ = draw(5, 6, 4, 3)
    wrong = np.linalg.svd(C)[0][:, 3]
    p = fill(M, f, C, c + 0.25 * wrong)
    assert solve_saddle_point(p) is SaddleStatus.REDUNDANT
    assert_allclose(C @ p.x, c, atol=1e-11)
    # The residual of the dependent row if the others are satisfied: wrong has its component there.
    dependent = p.row_order[3]
    assert p.inconsistency == pytest.approx(0.25 / abs(wrong[dependent]), rel=1e-9)
    order = [2, 0, 3, 1]
    q = fill(M, f, C[order], (c + 0.25 * wrong)[order])
    solve_saddle_point(q)
    assert_allclose(q.x, p.x, atol=1e-11)
    assert_allclose(q.multiplier[:4], p.multiplier[:4][order], atol=1e-9)


def test_rows_without_entries_are_not_redundant():
    """A stop has no tangential rows: its zeros demand nothing and push nothing."""
    M, f, C, c, _ = draw(6, 5, 2, 2)
    p = fill(M, f, np.vstack([C, np.zeros((2, 5))]), [*c, 0.0, 0.0])
    assert solve_saddle_point(p) is SaddleStatus.UNIQUE
    assert_allclose(p.multiplier[2:4], 0.0, atol=0)
    assert_allclose(C @ p.x, c, atol=1e-12)


def test_massless_bodies_are_held_by_their_rows():
    rng = np.random.default_rng(1)
    M = np.diag([2.0, 2.0, 0.0, 1.0])
    C = np.array([[0.0, 1.0, 1.0, 0.0], [1.0, 0.0, -1.0, 0.0]])
    f, c = rng.normal(size=4), rng.normal(size=2)
    p = fill(M, f, C, c)
    assert solve_saddle_point(p) is SaddleStatus.UNIQUE
    K = np.block([[M, -C.T], [C, np.zeros((2, 2))]])
    wanted = np.linalg.solve(K, np.concatenate([f, c]))
    assert_allclose(np.concatenate([p.x, p.multiplier[:2]]), wanted, atol=1e-13)
    free = fill(M, f, C[:0], c[:0])
    assert solve_saddle_point(free) is SaddleStatus.UNSOLVABLE
    found, _, redundant = solve_constrained(M, f, C[:0], c[:0])
    assert np.isnan(found).all()
    assert redundant == -1


def test_masses_are_factored_from_the_leaves():
    """M = L' L, and a tree's zeros stay zeros: two wheels on a body do not see each other."""
    M = np.diag([5.0, 1.0, 2.0])
    M[1, 0] = M[0, 1] = 0.7
    M[2, 0] = M[0, 2] = -0.4
    p = fill(M, np.zeros(3), np.zeros((0, 3)), [])
    assert factor_mass(p)
    L = np.tril(p.L)
    assert_allclose(L.T @ L, M, atol=1e-15)
    assert L[2, 1] == 0.0
    p.M[2, 2] = -1.0
    assert not factor_mass(p)


@pytest.mark.parametrize("independence", [1e-3, 1e-4])
def test_nearly_redundant_rows_are_satisfied_to_rounding(independence):
    """One step of refinement: without it C x - c would be 6e-12 and 4e-11."""
    M, f, C, _, rng = draw(7, 8, 4, 4)
    C[3] = C[0] + independence * C[3]
    c = C @ rng.normal(size=8)
    p = fill(M, f, C, c)
    assert solve_saddle_point(p) is SaddleStatus.UNIQUE
    assert np.abs(C @ p.x - c).max() < 1e-14 * np.abs(C).max()


def test_rows_that_differ_by_rounding_are_redundant():
    M, f, C, _, rng = draw(8, 8, 4, 4)
    C[3] = C[0] + 1e-6 * C[3]
    p = fill(M, f, C, C @ rng.normal(size=8))
    assert solve_saddle_point(p) is SaddleStatus.REDUNDANT
    assert p.rank == 3


@pytest.mark.parametrize(("held", "rank"), [(0, 0), (2, 2), (3, 2)])
def test_delassus_matrix_under_rows_that_hold(held, rank):
    """u = W lam + b: accelerations of contacts while prescribed joints, some redundant, keep theirs."""
    rng = np.random.default_rng(held)
    n, size = 7, 6
    M, f = masses(rng, n), rng.normal(size=n)
    J = rng.normal(size=(held, rank)) @ rng.normal(size=(rank, n))
    C, d, c = rng.normal(size=(size, n)), J @ rng.normal(size=n), rng.normal(size=size)
    p = fill(M, f, np.vstack([J, C]), np.concatenate([d, c]))
    W, b = np.zeros(size * size), np.zeros(size)
    assert write_delassus(p, held, W, b)
    lam = rng.normal(size=size)
    apply_multipliers(p, held, lam)
    x = p.x.copy()
    assert_allclose(W.reshape(size, size) @ lam + b, C @ x - c, atol=1e-10)
    assert_allclose(J @ x, d, atol=1e-11)
    # What is left of the balance of forces is along the rows that hold.
    rest = M @ x - f - C.T @ lam
    assert_allclose(rest - np.linalg.pinv(J) @ (J @ rest), 0.0, atol=1e-10)


def test_speeds_change_by_impulses_under_rows_that_hold():
    """J dv = 0 and C dv = W Lam; without such rows dv = M^-1 C' Lam."""
    rng = np.random.default_rng(11)
    M, J, C = masses(rng, 6), rng.normal(size=(2, 6)), rng.normal(size=(3, 6))
    Lam = rng.normal(size=3)
    W, change = make_contact_response(M, C, J)
    assert_allclose(J @ change(Lam), 0.0, atol=1e-12)
    assert_allclose(C @ change(Lam), W @ Lam, atol=1e-11)
    W, change = make_contact_response(M, C, J[:0])
    assert_allclose(W, C @ np.linalg.solve(M, C.T), atol=1e-11)
    assert_allclose(change(Lam), np.linalg.solve(M, C.T @ Lam), atol=1e-11)
    assert np.isnan(make_contact_response(np.zeros((6, 6)), C, J)[0]).all()


@pytest.mark.parametrize(("n", "m", "rank"), SIZES)
def test_projections_are_the_shortest_steps(n, m, rank):
    _, _, C, c, _ = draw(n * m, n, m, rank)
    p = fill(np.zeros((n, n)), np.ones(n), C, c, np.zeros((m, n)))
    solve_minimum_norm(p)
    assert_allclose(p.x, np.linalg.pinv(C, rcond=1e-9) @ c, atol=1e-11)


@pytest.mark.parametrize("symmetric", [True, False])
def test_multipliers_without_effect(symmetric):
    M, f, C, c, rng = draw(9, 6, 5, 3)
    G = C if symmetric else C + np.outer([1.0, 0, 0, 0, 0], 0.2 * rng.normal(size=6))
    p = fill(M, f, C, c, G)
    solve_saddle_point(p)
    count = find_null_space(p)
    null = p.null[: 5 * count].reshape(5, count)
    assert count == 5 - np.linalg.matrix_rank(C @ np.linalg.solve(M, G.T), tol=1e-9)
    assert_allclose(null.T @ null, np.eye(count), atol=1e-12)
    assert_allclose(C @ np.linalg.solve(M, G.T @ null), 0.0, atol=1e-10)


@pytest.mark.parametrize(("n", "m", "rank"), SIZES)
def test_both_resolutions_and_machine_code_agree(n, m, rank):
    M, f, C, c, _ = draw(n + 10 * m, n, m, rank)
    p, q, native = (fill(M, f, C, c) for _ in range(3))
    status = solve_saddle_point(p)
    assert solve_reduced(q) is status
    assert q.rank == p.rank
    size = np.abs(p.multiplier[:m]).max()
    assert_allclose(q.x, p.x, atol=1e-10 * (1.0 + np.abs(p.x).max()))
    assert_allclose(q.multiplier[:m], p.multiplier[:m], atol=1e-9 * size)
    assert shared_code(solve_saddle_point)(native) is status
    assert_allclose(native.x, p.x, rtol=1e-14)
    assert_allclose(native.multiplier[:m], p.multiplier[:m], rtol=1e-12, atol=1e-14 * size)
