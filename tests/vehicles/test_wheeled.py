"""Cars, skateboards and trains compared with their kinematics."""

import math

import pytest
from numpy.testing import assert_allclose

from draisine import compile, simulate, state


@pytest.fixture(scope="module")
def car():
    return compile("car")


def test_all_axles_of_a_car_meet_in_one_point(car):
    """Ackermann: cot(outer) - cot(inner) = track / wheelbase, and the yaw rate is V tan(steer) / L."""
    start = state(car, steer=0.4, forward_speed=3.0)
    joints = dict(zip([j.name for j in car.model.joints], start.r, strict=True))
    left = joints["left_steer"]
    right = joints["right_steer"]
    assert_allclose(1 / math.tan(right) - 1 / math.tan(left), 0.8 / 1.2, rtol=1e-12)
    assert_allclose(start.v[5], 3.0 * math.tan(0.4) / 1.2, rtol=1e-12)


def test_loads_of_a_standing_car_balance_its_weight(car):
    _, lam = car.accelerate(state(car))
    normal = lam[[0, 3, 6, 9]]
    total = (200.0 + 4 * 6.0) * 9.81
    assert_allclose(normal.sum(), total, rtol=1e-12)
    assert_allclose(normal[2:].sum() * 1.2, (200.0 * 0.55 + 12.0 * 1.2) * 9.81, rtol=1e-12)
    assert_allclose(normal[[0, 2]], normal[[1, 3]], rtol=1e-12)


def test_a_differential_shares_torque_not_speed():
    system = compile("car", differential=True)
    start = state(system, steer=0.3, forward_speed=2.0)
    rates = dict(zip(system.model.speeds, start.v, strict=True))
    assert rates["rear_right_rate"] > rates["rear_left_rate"] + 0.1
    mean = (rates["rear_right_rate"] + rates["rear_left_rate"]) / 2
    assert_allclose(rates["shaft_rate"], mean, rtol=1e-12)
    assert_allclose(mean * 0.3, 2.0, rtol=1e-12)
    for formulation in ("multiplier", "projected"):
        vdot, lam = system.accelerate(start, {"shaft": 50.0}, formulation=formulation)
        shaft = vdot[list(system.model.speeds).index("shaft_rate")]
        assert_allclose(
            lam[-1], 0.1 * shaft - 50.0, rtol=1e-9
        )  # engine: inertia times rate less torque


@pytest.mark.parametrize("lean", [0.05, -0.2])
def test_a_skateboard_steers_by_its_lean(lean):
    """tan(steer) = tan(tilt) sin(lean) of both trucks, the turning centre between them."""
    system = compile("skateboard")
    start = state(system, lean=lean, forward_speed=2.0)
    yaw_rate = start.v[5] * math.cos(lean) + start.v[4] * math.sin(lean)
    steer = math.tan(0.8) * math.sin(lean)
    assert_allclose(abs(yaw_rate), abs(2.0 * steer / 0.25), rtol=1e-9)
    assert yaw_rate * lean < 0  # it turns to where it leans


def test_a_train_of_twenty_trailers_runs():
    """Straight behind its car the train stays straight for any length, and its programs stay small."""
    system = compile("car_with_trailers", lengths=(0.5,) * 20)
    start = state(system, forward_speed=1.0)
    assert system.survey().rank == 23  # 2 for the rear wheel, one for every other axle
    assert len(system.machine().rate.program.steps) < 6000
    run = simulate(system, start, 0.2)
    assert_allclose(run.final().r[1:], 0.0, atol=1e-12)
    assert_allclose(run.final().p[:2], [0.2, 0.0], atol=1e-12)


def test_a_snake_of_thirty_two_links_coasts():
    """Without torques the snake conserves its kinetic energy and satisfies its wheel constraints."""
    system = compile("snake", links=32)
    joints = {f"joint{k}": 0.2 * math.sin(0.7 * k) for k in range(1, 32)}
    start = state(system, Vx=0.3, **joints)
    assert len(system.machine().rate.program.steps) < 12000
    end = simulate(system, start, 0.5).final()
    energies = []
    for now in (start, end):
        free = system.machine().free(q=now.q, p=now.p, r=now.r, v=now.v)
        M = free["M"].reshape(len(now.v), -1)
        energies.append(now.v @ M @ now.v / 2)
        rows = free["C"].reshape(-1, len(now.v))[2::3]  # across, of every link
        assert_allclose(rows @ now.v, 0.0, atol=1e-11)
    assert_allclose(energies[1], energies[0], rtol=1e-9)
