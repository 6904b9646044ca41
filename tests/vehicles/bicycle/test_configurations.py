"""Lean and steer determine the configuration of a bicycle.

A pair of angles is feasible exactly if a search over the pitch finds the front wheel on the ground.
"""

import math

import numpy as np
import pytest

import draisine
from draisine.errors import ConfigurationError

# the benchmark
W = 1.02
C = 0.08
TILT = math.pi / 10
REAR = 0.3
FRONT = 0.35
LEANS = (-80, -70, -40, 0, 25, 60, 80)
STEERS = range(-180, 181, 30)


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


def turn(axis, angle):
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


def height(lean, steer, pitch):
    """Return the height (m) of the lowest point of the front wheel, with the rear wheel on the
    ground.
    """
    R = turn((1.0, 0.0, 0.0), lean) @ turn((0.0, 1.0, 0.0), pitch)
    fork = R @ turn((-math.sin(TILT), 0.0, math.cos(TILT)), steer)
    head = np.array([W + C, 0.0, 0.0])
    hub = R @ (head - [0.0, 0.0, REAR]) + fork @ ([W, 0.0, FRONT] - head)
    return REAR * math.cos(lean) + hub[2] - FRONT * math.hypot(fork[2, 0], fork[2, 2])


def admissible(lean, steer):
    found = [height(lean, steer, pitch) for pitch in np.linspace(-math.pi, math.pi, 361)]
    return min(found) < 0.0 < max(found)


@pytest.mark.parametrize("lean", LEANS)
def test_every_admissible_pair_is_reached_and_no_other(bicycle, lean):
    machine = bicycle.machine()
    reached = 0
    for steer in STEERS:
        asked = {"lean": math.radians(lean), "steer": math.radians(steer)}
        if not admissible(*asked.values()):
            with pytest.raises(ConfigurationError, match="no configuration has lean"):
                draisine.state(bicycle, **asked)
            continue
        state = draisine.state(bicycle, forward_speed=1.0, **asked)
        seen = machine.observation(machine.enter(state))
        assert np.abs(seen["gaps"]).max() < 1e-14
        outputs = dict(zip(bicycle.outputs, seen["outputs"], strict=True))
        assert outputs["lean"] == pytest.approx(asked["lean"], abs=1e-14)
        assert outputs["forward_speed"] == pytest.approx(1.0, abs=1e-12)
        assert state.r[0] == pytest.approx(asked["steer"], abs=1e-14)
        assert height(*asked.values(), outputs["pitch"]) == pytest.approx(0.0, abs=1e-13)
        reached += 1
    assert reached == len(STEERS) if abs(lean) <= 70 else 3 <= reached < len(STEERS)
