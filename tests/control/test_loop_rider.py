"""The rider of nested loops; its crossover frequencies are tested in `analysis/test_loops.py`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.linear import linearise
from draisine.control.loop_rider import LoopRider

# Hess, Moore and Hubbard 2012, doi:10.1109/TSMCA.2011.2164244, with its companion data: the benchmark
# bicycle at 5 m/s; steer, lean rate, lean, heading, lateral position.
GAINS = (46.5457, -0.0522, 12.6611, 0.1849, 0.0959)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def responses(bicycle, s):
    """Steer, lean, heading and front contact to the right, per steer torque to the right."""
    found = linearise(bicycle, draisine.state(bicycle, forward_speed=5.0), cyclic=True).part(
        ["steer"]
    )
    x = np.linalg.solve(s * np.eye(len(found.A)) - found.A, found.B[:, 0])
    at = dict(zip(found.states, x, strict=True))
    front = at["y"] + 1.02 * at["yaw"] - 0.08 * np.cos(np.pi / 10) * at["steer"]
    return at["steer"], -at["lean"], at["yaw"], front


def open_loops(bicycle, s):
    """Return the open-loop transfer of each loop, with its inner loops closed."""
    steer, lean, heading, front = responses(bicycle, s)
    k = GAINS
    loops = []
    through = k[0] * 900.0 / (s * s + 2 * 0.707 * 30.0 * s + 900.0)
    for gain, value in zip((1.0, *k[1:]), (steer, s * lean, lean, heading, front), strict=True):
        through = through * gain
        loops.append(through * value)
        through = through / (1.0 + loops[-1])
    return loops


def test_the_law_closes_these_loops(bicycle):
    """Each eigenvalue of the bicycle whose heading is kept makes the loop of heading return -1."""
    start = draisine.state(bicycle, forward_speed=5.0)
    found = linearise(bicycle, start, law=LoopRider(*GAINS[:4])).eigenvalues()
    own = found[np.abs(found) > 1e-6]
    assert len(own) == 7
    assert own.real.max() < 0.0
    assert_allclose([open_loops(bicycle, s)[3] for s in own], -1.0, atol=1e-6)


def test_a_heading_is_taken_up(bicycle):
    rider = LoopRider(*GAINS[:4], heading=0.2)
    run = draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=5.0), 15.0, law=rider)
    assert float(run.to_xarray().yaw[-1]) == pytest.approx(0.2, abs=1e-3)
