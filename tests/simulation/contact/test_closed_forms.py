"""Modes on features in closed form are the dense system, and stand aside where that is to be taken."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.mechanics.contact.modes import mode_names
from draisine.simulation.contact.kernels import FORM, FORM_PIVOTS, MIN_PIVOT
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.status import Status
from draisine.simulation.contact.table import WheelOnFeature
from draisine.system.generic import make_generic
from draisine.terrain import Terrain, edge, face, move_ground, vertex
from draisine.terrain.motions import Slide
from simulation.contact.conftest import bicycle
from simulation.contact.test_kernels import GROUND

ROLLING, SLIDING = Status.ROLLING, Status.SLIDING

MODES = [
    [],
    [(0, 0, ROLLING)],
    [(0, 0, ROLLING), (1, 0, ROLLING)],
    [(0, 0, ROLLING), (1, 1, ROLLING)],
    [(0, 0, SLIDING), (1, 0, ROLLING)],
    [(0, 0, SLIDING), (1, 1, SLIDING)],
]


def closed(mode, mu=0.7):
    """Return the closed contacts of a mode of triples (wheel, feature, status)."""
    return [
        (WheelOnFeature(w, f), status, mu if status is SLIDING else np.inf) for w, f, status in mode
    ]


def random_state(rng, n):
    q = np.array([1.0, *rng.normal(scale=0.2, size=3)])
    rest = (rng.normal(scale=0.1, size=3), rng.normal(scale=0.3, size=3), rng.normal(size=n))
    return np.concatenate([q / np.linalg.norm(q), *rest])


@pytest.mark.parametrize("mode", MODES)
def test_a_closed_form_is_the_dense_system(mode):
    rng, look = np.random.default_rng(5), ContactQuery(make_generic(bicycle()), GROUND, np.zeros(3))
    look.inputs = np.array([0.3, -0.2, 0.5])
    saddle = look.packed_mode(closed(mode), closed_form=True)
    assert saddle.record.plan[FORM] != 0
    out, at = saddle.record.mode_out, look.y.v
    firm = 0
    for _ in range(20):
        y = random_state(rng, look.n)
        for _ in range(8):  # speeds that break rows are continued in more ways than one
            y = look.project(0.0, y, closed(mode))
        vdot, lam, _ = look.accelerate(0.0, y, closed(mode))
        found, forces = np.empty(len(y)), np.empty(3 * len(mode))
        look.fill(0.0, y)
        assert look.code.flow(saddle, found, forces) == 0
        count = saddle.record.plan[FORM_PIVOTS]
        pivots = np.abs(out[len(y) + len(forces) :][:count])
        firm += bool((pivots > MIN_PIVOT).all())
        loss = max(1.0, 1.0 / float(pivots.min(initial=1.0)) ** 2)
        assert_allclose(found[at], vdot, atol=1e-11 * loss * (1.0 + np.abs(vdot).max()))
        scale = 1.0 + np.abs(lam).max(initial=0.0)
        assert_allclose(forces, lam.ravel(), atol=1e-11 * loss * scale)
    assert firm > 5


def test_where_there_is_no_closed_form():
    """Moving ground, two contacts of one wheel, stops, many wheels: by the signature alone."""
    system = bicycle()
    moved = Terrain([move_ground(feature, Slide((1.0, 0.0, 0.0))) for feature in GROUND.features])
    look = ContactQuery(make_generic(system, None, moved.motions), moved, np.zeros(3))
    assert look.packed_mode(closed([(0, 0, ROLLING)]), closed_form=True).record.plan[FORM] == 0
    look = ContactQuery(make_generic(system), GROUND, np.zeros(3), {"steer": (-1.0, 1.0)})
    assert (
        look.packed_mode(closed([(0, 0, ROLLING), (0, 1, ROLLING)]), closed_form=True).record.plan[
            FORM
        ]
        == 0
    )
    steer = 2 + [joint.name for joint in system.model.joints].index("steer")
    assert (
        look.packed_mode([(WheelOnFeature(steer, 0), SLIDING, 0.0)], closed_form=True).record.plan[
            FORM
        ]
        == 0
    )
    assert not mode_names(draisine.compile("car").model)
    assert len(mode_names(system.model)) == 25


def test_a_torus_on_an_edge_and_a_vertex():
    """A wheel with a crown meets all three kinds of features."""
    disc = draisine.compile("rolling_disc", crown=0.05)
    ground = Terrain(
        [
            face("floor", (0.0, 0.1, 1.0), 0.0),
            edge("rail", (0.0, 0.0, 0.0), (0.2, 1.0, 0.0), (-1.0, 0.0, 1.0), (1.0, 0.0, 1.0)),
            vertex("tip", (0.1, 0.02, 0.0)),
        ]
    )
    look, rng = ContactQuery(make_generic(disc), ground, np.zeros(0)), np.random.default_rng(8)
    for feature, status in ((0, ROLLING), (1, ROLLING), (2, ROLLING), (2, SLIDING)):
        mode = closed([(0, feature, status)])
        saddle = look.packed_mode(mode, closed_form=True)
        assert saddle.record.plan[FORM] != 0
        for _ in range(5):
            q = np.array([1.0, *rng.normal(scale=0.2, size=3)])
            y = np.concatenate(
                [q / np.linalg.norm(q), rng.normal(scale=0.05, size=3), rng.normal(size=6)]
            )
            for _ in range(8):
                y = look.project(0.0, y, mode)
            vdot, _, _ = look.accelerate(0.0, y, mode)
            found, forces = np.empty(len(y)), np.empty(3)
            look.fill(0.0, y)
            look.code.flow(saddle, found, forces)
            assert_allclose(found[look.y.v], vdot, rtol=1e-9, atol=1e-9)
