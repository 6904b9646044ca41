"""Dense linear algebra of routines against NumPy."""

import numpy as np
import pytest

from draisine.simulation.contact.complementarity.linear import mark_redundant_rows


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
