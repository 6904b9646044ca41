"""Servos against the step responses of linear systems."""

import numpy as np
import pytest

import draisine
from draisine.control.servo import Servo
from draisine.errors import ParameterError
from model.test_motor import INERTIA, rotor


def test_the_step_response_of_a_position_servo():
    """J r'' = k (target - r) - c r': the closed form of a damped oscillator."""
    k, c, target = 2.0, 0.1, 0.3
    system = rotor()
    servo = Servo(["hinge"], [target], damping=c, stiffness=k)
    run = draisine.simulate(system, draisine.state(system), 0.4, law=servo).to_xarray()
    decay = 0.5 * c / INERTIA
    omega = np.sqrt(k / INERTIA - decay**2)
    t = run.time.values
    response = np.cos(omega * t) + decay / omega * np.sin(omega * t)
    expected = target * (1.0 - np.exp(-decay * t) * response)
    assert np.abs(run.hinge.values - expected).max() < 1e-8


def test_the_step_response_of_a_speed_servo():
    """J w' = c (target - w): w = target (1 - exp(-c t / J)); the command changes the target."""
    system = rotor()
    ride = draisine.Stepper(
        system, draisine.state(system), law=Servo(["hinge"], damping=0.1, kind="speed")
    )
    ride.step(0.25, {"hinge": 5.0})
    expected = 5.0 * (1.0 - np.exp(-0.1 * 0.25 / INERTIA))
    assert ride.values()["hinge_rate"] == pytest.approx(expected, rel=1e-9)


def test_a_servo_of_a_scenario(tmp_path, monkeypatch):
    """The law is named in a file, with lists of joints and targets; the cart settles at its target."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hold.toml").write_text("""
kind = "run"
title = "A cart at a set-point"
vehicle = { name = "cart_pole" }
initial = { pole = "180deg" }
run = { until = 5.0 }
[[law]]
name = "servo"
joints = ["cart"]
targets = [0.3]
damping = 40.0
stiffness = 100.0
""")
    data = draisine.run("hold.toml").data
    assert float(data.cart[-1]) == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"joints": []}, "joints must be a list"),
        ({"joints": "hinge"}, "joints must be a list"),
        ({"joints": ["a"], "targets": [1.0, 2.0], "damping": 1.0}, "2 targets for 1 joints"),
        ({"joints": ["a"], "damping": 1.0, "kind": "force"}, "unknown kind 'force'"),
        ({"joints": ["a"], "stiffness": 1.0, "kind": "speed"}, "has no stiffness"),
        ({"joints": ["a"]}, "nor both zero"),
        ({"joints": ["a", "a"], "damping": 1.0}, "named twice"),
        ({"joints": ["a"], "targets": [np.nan], "damping": 1.0}, "must be finite"),
    ],
)
def test_impossible_servos_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        Servo(**options)
