"""python-control sees the bicycle of the benchmark, and its riders ride it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.analysis.lqr import lqr

control = pytest.importorskip("control", reason="python-control is not installed")


@pytest.fixture(scope="module")
def linear():
    bicycle = draisine.compile("whipple")
    return draisine.linearise(bicycle, draisine.state(bicycle, forward_speed=3.0))


def test_poles_are_the_published_eigenvalues(linear):
    """Meijaard et al. (2007), doi:10.1098/rspa.2007.1857, table 2, at 3 m/s."""
    published = [-10.35101467245920, -2.63366137253667]
    published += [1.70675605663975 + 2.31582447384325j, 1.70675605663975 - 2.31582447384325j]
    poles = np.sort_complex(linear.to_control().poles())
    assert_allclose(poles, np.sort_complex([*published, 0.0]), atol=1e-11)


def test_frequency_responses_are_ours(linear):
    model = linear.to_control("bicycle")
    omega = np.array([0.5, 3.0, 20.0])
    there = control.frequency_response(model["lean", "steer"], omega)
    here = linear.part(["steer"], ["lean"]).response(omega)[:, 0, 0]
    assert_allclose(there.complex, here, rtol=1e-9)


def test_gains_of_least_cost_are_ours():
    cart = draisine.compile("cart_pole")
    upright = draisine.linearise(cart, draisine.state(cart), cyclic=True)
    ours = lqr(upright, dict.fromkeys(upright.states, 1.0), {"cart": 0.1})
    theirs, _, _ = control.lqr(upright.part(["cart"]).to_control(), np.eye(4), [[0.1]])
    assert_allclose(theirs, ours.K, rtol=1e-9)
