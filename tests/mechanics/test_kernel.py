"""Elimination that yields kernel, particular solutions and multipliers, compared with linear
algebra.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import RedundancyError, SingularityError
from draisine.mechanics.formulations.projected import choose_speeds
from draisine.mechanics.kernel import eliminate, minimum_norm_multipliers, plan, solve_symmetric


def sparse(rng, n, share=0.5):
    """Return a random matrix with structural zeros that is far from singular."""
    A = np.where(rng.random((n, n)) < share, rng.normal(size=(n, n)), 0.0)
    return A + np.diag(2.0 + rng.random(n))[rng.permutation(n)]


def pivots_of(A):
    return plan(A, A != 0, np.zeros(A.shape))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("n", [1, 3, 7])
def test_solutions_satisfy_the_system_and_its_transpose(seed, n):
    rng = np.random.default_rng(seed)
    A, b = sparse(rng, n), rng.normal(size=n)
    solver = eliminate(A, pivots_of(A))
    scale = 1e-14 * np.linalg.cond(A)
    assert_allclose(solver.solve(b), np.linalg.solve(A, b), rtol=0, atol=scale)
    assert_allclose(solver.solve_transposed(b), np.linalg.solve(A.T, b), rtol=0, atol=scale)


@pytest.mark.parametrize("seed", range(10))
def test_selection_rows_with_the_constraints_yield_the_kernel(seed):
    """With S v = u beside C v = 0, the columns of H span the kernel of C and S H = 1."""
    rng = np.random.default_rng(seed)
    C = rng.normal(size=(3, 7))
    S = np.eye(7)[3:]
    A = np.vstack([C, S])
    solver = eliminate(A, pivots_of(A))
    H = np.column_stack([solver.solve([0.0] * 3 + list(e)) for e in np.eye(4)])
    assert_allclose(C @ H, 0.0, atol=1e-13 * np.linalg.cond(A))
    assert_allclose(S @ H, np.eye(4), rtol=0, atol=1e-13 * np.linalg.cond(A))


@pytest.mark.parametrize("seed", range(10))
def test_pivots_are_not_small_relative_to_their_row_and_column(seed):
    """Each pivot is at least half of the largest remaining entry in its row and column."""
    A = sparse(np.random.default_rng(seed), 6)
    left = A.copy()
    rows, columns = set(range(6)), set(range(6))
    for i, j in pivots_of(A):
        largest = max(
            *(abs(left[i, k]) for k in columns),
            *(abs(left[k, j]) for k in rows),
        )
        assert abs(left[i, j]) >= 0.5 * largest
        rows.remove(i)
        columns.remove(j)
        for k in rows:
            left[k] -= left[k, j] / left[i, j] * left[i]


def test_a_singular_matrix_has_fewer_pivots_than_rows():
    A = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 1.0]])
    assert len(pivots_of(A)) == np.linalg.matrix_rank(A) == 2


def test_the_cheapest_of_equal_pivots_comes_first():
    A = np.array([[1.0, 1.0], [1.0, -1.0]])
    cost = np.array([[2.0, 2.0], [2.0, 0.0]])
    assert plan(A, A != 0, cost)[0] == (1, 1)


@pytest.mark.parametrize("seed", range(10))
def test_symmetric_systems(seed):
    rng = np.random.default_rng(seed)
    L = sparse(rng, 5)
    A, b = L @ L.T + np.eye(5), rng.normal(size=5)
    expected = np.linalg.solve(A, b)
    scale = 1e-14 * np.linalg.cond(A) * np.abs(expected).max()
    assert_allclose(solve_symmetric(A, b), expected, rtol=0, atol=scale)


def test_a_degree_of_freedom_without_inertia_is_named():
    with pytest.raises(SingularityError, match="no inertia"):
        solve_symmetric(np.array([[1.0, 0.0], [0.0, 0.0]]), np.ones(2))


def shared(C, keep, lam, compliances):
    """Return the multipliers of all rows, from the elimination of the rows that are kept."""
    n = C.shape[1]
    free = [e for e in np.eye(n) if np.linalg.matrix_rank(np.vstack([C[keep], e])) > len(keep)]
    A = np.vstack([C[keep], *free[: n - len(keep)]])
    return np.array(
        minimum_norm_multipliers(eliminate(A, pivots_of(A)), lam, C, keep, compliances), float
    )


def test_redundant_rows_share_forces_by_compliance_and_torques_evenly():
    """Two parallel springs of compliances 1 and 2: the stiffer one has 2/3 of the force; two motors
    have half each.
    """
    C = np.array([[1.0, 0, 0], [1.0, 0, 0], [0, 1.0, 0], [0, 1.0, 0]])
    found = shared(C, [0, 2], np.array([3.0, 5.0]), [1.0, 2.0, 0.0, 0.0])
    assert_allclose(found, [2.0, 1.0, 2.5, 2.5], rtol=1e-14)


def test_torques_have_no_weight_in_the_norm_of_forces():
    """Row 2 is row 0 plus row 1: lam + s (1, 1, -1) with c0 (a + s)^2 + c2 s^2 least, whatever the
    torque of row 1.
    """
    C = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    a, b, c0, c2 = 4.0, 7.0, 1.0, 3.0
    s = -a * c0 / (c0 + c2)
    found = shared(C, [0, 1], np.array([a, b]), [c0, 0.0, c2])
    assert_allclose(found, [a + s, b + s, -s], rtol=1e-14)


def test_independent_speeds_do_not_depend_on_units():
    """The choice does not depend on the units of rows; a redundant row is named, whatever its
    length.
    """
    C = np.array([[1.0, 0.0, 2.0, 0.0], [0.0, 1e-11, 0.0, 1e-12]])
    assert choose_speeds(4, C, "ab", range(4)) == choose_speeds(
        4, C * [[1], [1e11]], "ab", range(4)
    )
    assert choose_speeds(4, C, "ab", range(4)) == [0, 3]
    with pytest.raises(RedundancyError, match="'b'"):
        choose_speeds(4, np.vstack([C[0], 1e9 * C[0]]), "ab", range(4))
