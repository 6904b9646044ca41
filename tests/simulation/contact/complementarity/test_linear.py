"""Dense linear algebra of routines against NumPy."""

import numpy as np
import pytest

from draisine.codegen.targets.native import shared_code
from draisine.simulation.contact.complementarity.linear import has_independent_rows

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
