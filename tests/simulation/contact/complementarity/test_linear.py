"""Dense linear algebra of routines against NumPy."""

import numpy as np
import pytest

from draisine.codegen.targets.native import shared_code
from draisine.simulation.contact.complementarity.linear import (
    has_independent_rows,
    mark_redundant_rows,
)

BOUND = 0.1


def is_independent(M, C):
    """Return the decision of the routine."""
    m, n = C.shape
    work = np.full(n * n + m * n + 2 * m * m, np.nan)
    return shared_code(has_independent_rows)(M, C, m, n, BOUND, work)


@pytest.mark.parametrize("seed", range(12))
def test_the_decision_is_that_of_the_singular_values(seed):
    """Rows of unit length in the metric of the inverse mass matrix, some nearly dependent."""
    random = np.random.default_rng(seed)
    m, n = 6, 9
    A = random.normal(size=(n, n))
    M = A @ A.T + 0.1 * np.eye(n)
    C = random.normal(size=(m, n))
    C[-1] = C[0] + 10.0 ** random.uniform(-3.0, 1.0) * C[-1]
    scaled = np.linalg.solve(np.linalg.cholesky(M), C.T)
    units = scaled / np.linalg.norm(scaled, axis=0)
    least = np.linalg.svd(units, compute_uv=False).min()
    assert abs(least - BOUND) > 1e-6  # the decision is not a matter of rounding
    assert is_independent(M, C) == (least > BOUND)


def test_both_decisions_occur():
    assert is_independent(np.eye(3), np.eye(3)[:2].copy())
    close = np.array([[1.0, 0.0, 0.0], [1.0, 0.1, 0.0]])
    assert not is_independent(np.eye(3), close)


def test_more_rows_than_columns_a_zero_row_and_an_indefinite_matrix_are_not_independent():
    assert not is_independent(np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    assert not is_independent(np.eye(3), np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert not is_independent(np.diag([1.0, -1.0, 1.0]), np.eye(3)[:2].copy())


def test_redundant_rows_of_four_wheels_on_a_plane():
    """Of four heights three are independent, of the lateral rows one per axle; each wheel has its own spin.
    A wheel that slides holds its height alone.
    """
    rows = np.zeros((12, 10))  # speeds: V, W, four spins
    for k, (x, y) in enumerate([(0.0, 0.4), (0.0, -0.4), (1.0, 0.4), (1.0, -0.4)]):
        rows[3 * k] = [0, 0, 1, y, -x, 0, *[0] * 4]
        rows[3 * k + 1] = [1, 0, 0, 0, 0, -y, *(-0.3 * (np.arange(4) == k))]
        rows[3 * k + 2] = [0, 1, 0, 0, 0, x, *[0] * 4]
    marks = np.zeros(12, dtype=np.int64)
    assert mark_redundant_rows(rows.ravel().copy(), np.full(4, 3), 4, 10, marks) == 3
    assert np.flatnonzero(marks).tolist() == [5, 9, 11]
    sliding = np.array([3, 1, 3, 3])
    assert mark_redundant_rows(rows.ravel().copy(), sliding, 4, 10, marks) == 2
    assert np.flatnonzero(marks).tolist() == [9, 11]


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_are_not_redundant_have_full_rank(seed):
    """They span all rows. Rows of zeros count as neither; normal rows are redundant among themselves only."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(18, 4)) @ rng.normal(size=(4, 7))
    rows[7] = 0.0
    marks = np.zeros(18, dtype=np.int64)
    assert mark_redundant_rows(rows.ravel().copy(), np.full(6, 3), 6, 7, marks) == 13
    kept = np.flatnonzero(marks == 0)
    assert marks[7] == 0
    assert np.linalg.matrix_rank(rows[kept], tol=1e-9) == 4
    assert len(kept) == 5
