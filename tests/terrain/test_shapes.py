"""Grounds by name are where their measures say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.scenario.library import load
from draisine.terrain import kerb, rough, stairs


@pytest.fixture(scope="module")
def ball():
    return draisine.compile("ball")


def rolled(ball, ground, until=1.0, speed=2.0):
    """Return the way of a ball that rolls ahead."""
    start = draisine.state(ball, x_speed=speed)
    return draisine.simulate(ball, start, until, terrain=ground).to_xarray()


@pytest.mark.parametrize("rise", [0.02, -0.05])
def test_stairs_of_one_step_are_a_kerb(ball, rise):
    one = rolled(ball, stairs(0.5, rise, 0.3, 1))
    other = rolled(ball, kerb(0.5, rise))
    assert_allclose(one.position.values[-1], other.position.values[-1], atol=1e-12)


def test_stairs_lead_down_by_their_steps(ball):
    """A ball of 0.1 m lies on the last tread in the end, three steps of 4 cm lower."""
    run = rolled(ball, stairs(0.5, -0.04, 0.3, 3), until=2.0)
    assert run.position.values[-1, 0] > 0.5 + 3 * 0.3
    low = float(run.contact_point.values[-1, 0, 2])
    assert low == pytest.approx(-0.12, abs=1e-9)


def test_rough_ground_is_decided_by_its_seed():
    """Level before it, heights in between, the same for the same seed."""
    ground = rough(0.05, at=0.5, seed=3)
    points = ground.points
    assert_allclose(points[points[:, 0] <= 0.5, 2], 0.0)
    assert 0.04 < points[:, 2].max() <= 0.05
    assert points[:, 2].min() == 0.0
    assert_allclose(points, rough(0.05, at=0.5, seed=3).points)
    assert np.abs(points - rough(0.05, at=0.5, seed=4).points).max() > 0.01


def test_a_ball_rolls_level_up_to_rough_ground(ball):
    run = rolled(ball, rough(0.02, at=0.5), until=0.6, speed=1.0)
    way = run.contact_point.values[:, 0]
    assert_allclose(way[way[:, 0] < 0.35, 2], 0.0, atol=1e-9)
    assert np.ptp(way[:, 2]) > 1e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: stairs(0.0, 0.1, 0.3, 0), "must be between 1 and 200"),
        (lambda: stairs(0.0, 0.0, 0.3, 2), "must be a finite number other than zero"),
        (lambda: stairs(0.0, 0.1, -0.3, 2), "run = -0.3 m must be a positive length"),
        (lambda: rough(0.1, cell=9.0), "at least 2 per side"),
    ],
)
def test_invalid_dimensions_are_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


def test_scenarios_know_them_by_name():
    changes = {"terrain.shape": "stairs", "terrain.at": 5.0, "terrain.rise": 0.1}
    changes |= {"terrain.run": 0.3, "terrain.count": 2.0, "run.until": 0.1}
    with pytest.warns(UserWarning, match="'stairs' has other dimensions"):
        loaded = load("ramp-jump", changes)
    assert [f.name for f in loaded.plan.terrain.features][:3] == ["before", "tread1", "tread2"]
