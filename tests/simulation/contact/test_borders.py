"""Borders of many contacts at once are those of each feature."""

import numpy as np

from draisine.simulation.contact.borders import Borders
from draisine.simulation.contact.guards import stays_positive
from draisine.system.contact_programs import contact_row
from draisine.terrain import edge, face, plane


def test_the_excess_of_many_is_that_of_each():
    row, rng = contact_row(9), np.random.default_rng(2)
    features = [
        face("road", (0, 0, 1), 0.0, [((1, 0, 0), 2.0), ((0, 1, 0), 1.0)]),
        plane().features[0],
        edge("ridge", (0.4, 0.1, -0.05), (0.3, 1.0, 0.1), (-0.5, 0.0, 1.0), (0.6, 0.0, 1.0), 2.0),
    ]
    rows = np.zeros((4, 3, row.size))
    rows[..., row.local_point] = rng.normal(size=(4, 3, 3))
    rows[..., row.local_normal] = rng.normal(size=(4, 3, 3))
    found = Borders(features, [0, 0, 0], row).excess(rows)
    for i in range(4):
        for k, feature in enumerate(features):
            C, N = rows[i, k, row.local_point], rows[i, k, row.local_normal]
            assert np.isclose(found[i, k], feature.excess(C, N), rtol=1e-13, atol=1e-13)
    assert np.all(found[:, 1] == -np.inf)


def test_the_fold_of_an_edge_next_to_a_torus_counts():
    """Two points (side 1) exist while (a^2/3 + b^2/3)^3/2 <= c, the single one (side 0) beyond."""
    row = contact_row(9)
    rows = np.zeros((2, 2, row.size))
    rows[0, :, row.fold], rows[1, :, row.fold] = (0.1, 0.1, 1.0), (1.0, 1.0, 0.1)
    found = Borders([plane().features[0]] * 2, [1, 0], row).excess(rows)
    assert np.array_equal(found < 0, [[True, False], [False, True]])


def test_what_is_far_beyond_stays_there():
    away = np.linspace(1.0, 0.8, 6)
    comes = np.linspace(1.0, 0.05, 6)
    none = np.full(6, -np.inf)
    found = stays_positive(np.stack([away, comes, none], axis=1))
    assert found.tolist() == [True, False, False]
