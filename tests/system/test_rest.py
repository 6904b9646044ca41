"""Initial states at rest: zero momentum along the directions that the contacts leave free."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import DraisineError
from draisine.experiment.run import run
from draisine.scenario.library import load


def linear_and_angular_momentum(system, start):
    machine = system.machine()
    seen = machine.observation(machine.enter(start))
    return np.concatenate([seen["momentum"], seen["angular_momentum"]])


@pytest.mark.parametrize("name", ["fish", "falling_cat"])
def test_at_rest_prescribed_joints_cause_no_momentum(name):
    system = draisine.compile(name, drive="sine")
    start = draisine.state(system)
    assert np.abs(start.v[:3]).max() > 0.01
    assert_allclose(linear_and_angular_momentum(system, start), 0.0, atol=1e-14)
    assert (
        np.abs(linear_and_angular_momentum(system, draisine.state(system, at_rest=False))).max()
        > 0.1
    )
    assert np.abs(linear_and_angular_momentum(system, draisine.state(system, Wz=1.0))).max() > 0.001


def test_a_reciprocal_stroke_has_no_net_displacement():
    """Purcell's scallop theorem also holds in an ideal fluid."""
    system = draisine.compile("fish", drive="sine", lag=0.0)
    swum = draisine.simulate(system, draisine.state(system), 2.0).to_xarray()
    assert np.abs(swum.position.values).max() > 0.01
    assert_allclose(swum.position.values[-1], 0.0, atol=1e-9)


def test_rest_minimises_the_kinetic_energy_under_the_constraints():
    """For a roller racer with a swinging arm, rest is M-orthogonal to all admissible changes of speed."""
    system = draisine.compile("roller_racer", drive="sine", phase=0.7)
    rest = draisine.state(system, at_rest=True)
    seen = system.machine().free(q=rest.q, p=rest.p, r=rest.r, v=rest.v)
    n = len(rest.v)
    M, C = seen["M"].reshape(n, n), seen["C"].reshape(-1, n)
    moved = draisine.state(system, Vx=rest.v[0] + 1.0).v - rest.v
    assert_allclose(moved @ M @ rest.v, 0.0, atol=1e-13)
    assert_allclose((C @ rest.v)[-1], seen["b"][-1], rtol=1e-14)


def test_at_rest_free_joints_have_requested_rates():
    system = draisine.compile("falling_cat")
    start = draisine.state(system, sway=0.3, bend_rate=2.0, sway_rate=-1.0, at_rest=True)
    assert_allclose(start.v[6:], [2.0, -1.0], rtol=1e-14)
    assert_allclose(linear_and_angular_momentum(system, start), 0.0, atol=1e-14)


def test_the_scenario_key_at_rest_selects_rest():
    fish = [
        run(load("locomotion/fish", {"run.until": 0.01} | more)).data.momentum.values[0]
        for more in ({}, {"initial.at_rest": True}, {"initial.at_rest": False})
    ]
    assert_allclose(fish[0], 0.0, atol=1e-12)
    assert_allclose(fish[1], 0.0, atol=1e-12)
    assert np.abs(fish[2]).max() > 0.1
    with pytest.raises(DraisineError, match=r"at_rest.*true or false"):
        load("locomotion/fish", {"initial.at_rest": "yes"})
