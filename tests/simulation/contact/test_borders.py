"""Borders as routines see them are those of the features."""

from types import SimpleNamespace

import numpy as np
import pytest

from draisine.mechanics.contact.features import FEATURE, SIDE
from draisine.simulation.contact.kernels import NO_BORDER, border_excess
from draisine.system.contact_programs import contact_layout
from draisine.terrain import edge, face, plane
from draisine.vehicles.bicycle.whipple import whipple

ROW = contact_layout(whipple())
MOTION = SimpleNamespace(
    **{name: getattr(ROW, name).start for name in ("local_point", "local_normal", "fold")},
    length=1.0,
)


def bundle(features, sides):
    """Return what `excess` reads of contacts."""
    numbers = np.zeros((len(features), FEATURE))
    numbers[:, SIDE] = sides
    return SimpleNamespace(
        borders=np.concatenate([f.borders for f in features]).ravel(),
        first=np.cumsum([0, *(len(f.borders) for f in features)]),
        features=numbers.ravel(),
        patches=np.zeros(len(numbers), dtype=int),
    )


def test_the_excess_is_that_of_each_feature():
    rng = np.random.default_rng(2)
    features = [
        face("road", (0, 0, 1), 0.0, [((1, 0, 0), 2.0), ((0, 1, 0), 1.0)]),
        plane().features[0],
        edge("ridge", (0.4, 0.1, -0.05), (0.3, 1.0, 0.1), (-0.5, 0.0, 1.0), (0.6, 0.0, 1.0), 2.0),
    ]
    contacts = bundle(features, [0, 0, 0])
    for _ in range(4):
        for k, feature in enumerate(features):
            row = np.zeros(ROW.size)
            C, N = row[ROW.local_point], row[ROW.local_normal] = rng.normal(size=(2, 3))
            wanted = max(feature.excess(C, N), -NO_BORDER)
            assert border_excess(MOTION, contacts, k, row) == pytest.approx(
                wanted, rel=1e-13, abs=1e-13
            )


@pytest.mark.parametrize(("fold", "two"), [((0.1, 0.1, 1.0), True), ((1.0, 1.0, 0.1), False)])
def test_the_fold_of_an_edge_next_to_a_torus_counts(fold, two):
    """Two points (side 1) exist while (a^2/3 + b^2/3)^3/2 <= c, the single one (side 0) beyond."""
    contacts, row = bundle([plane().features[0]] * 2, [1, 0]), np.zeros(ROW.size)
    row[ROW.fold] = fold
    assert (border_excess(MOTION, contacts, 0, row) < 0) == two
    assert (border_excess(MOTION, contacts, 1, row) < 0) != two
