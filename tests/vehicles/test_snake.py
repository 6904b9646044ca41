"""The serpenoid gait of snakes with wheels on three links."""

import numpy as np
import pytest

import draisine
from draisine import Numerics
from draisine.errors import RedundancyError, SimulationError

HALF = 0.1  # m, half the length of each link


def _head_velocity(links, angles, rates):
    """Return (Vx, Vy, Wz) of the head for which the three wheels do not slip sideways.

    Planar kinematics by complex numbers: link k has the heading `turn` and its middle at `middle`.
    """
    rows = []
    sides = []
    turn = middle = spin = velocity = 0.0  # of the link relative to the head
    for k in range(links):
        if k:
            hinge = middle - HALF * np.exp(1j * turn)
            hinge_velocity = velocity - 1j * HALF * spin * np.exp(1j * turn)
            turn += angles[k - 1]
            spin += rates[k - 1]
            middle = hinge - HALF * np.exp(1j * turn)
            velocity = hinge_velocity - 1j * HALF * spin * np.exp(1j * turn)
        if k in (0, links // 2, links - 1):
            across = 1j * np.exp(1j * turn)
            rows.append([across.real, across.imag, (across.conjugate() * 1j * middle).real])
            sides.append(-(across.conjugate() * velocity).real)
    return np.linalg.solve(rows, sides)


@pytest.mark.parametrize("links", [3, 5, 9])
def test_three_wheels_determine_the_serpenoid_motion(links):
    lag = 3.2 / (links - 1)
    amplitude = 1.0 / (links - 1)
    system = draisine.compile(
        "snake", links=links, drive="serpenoid", wheels="three", lag=lag, amplitude=amplitude
    )
    run = draisine.simulate(
        system, draisine.state(system), until=1.0, numerics=Numerics(dt=0.1, rtol=1e-11, atol=1e-12)
    )
    data = run.to_xarray()
    w = 2 * np.pi * 0.5
    for t, r, v in zip(data.time.values, data["shape"].values, data.speeds.values, strict=True):
        phase = w * t - lag * np.arange(links - 1)
        assert r == pytest.approx(amplitude * np.sin(phase), abs=1e-10)
        expected = _head_velocity(links, amplitude * np.sin(phase), w * amplitude * np.cos(phase))
        assert v[:3] == pytest.approx(expected, abs=1e-9)


def test_wheels_on_all_links_allow_two_joint_motions():
    with pytest.raises(RedundancyError, match="leave 2 independent motions to the 4 prescribed"):
        draisine.state(draisine.compile("snake", links=5, drive="serpenoid"))


def test_concurrent_axles_stop_the_gait_with_the_shape():
    system = draisine.compile("snake", links=4, drive="serpenoid", wheels="three", lag=0.7)
    with pytest.raises(SimulationError, match="linearly dependent in the shape"):
        draisine.simulate(system, draisine.state(system), until=2.0)
