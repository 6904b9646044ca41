"""Rides with the user's own equations of motion."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.cli import main
from draisine.errors import ParameterError, SimulationError, UnknownNameError
from draisine.ride.presets import presets_with_rate
from draisine.ride.server import RideServer
from draisine.ride.session import RideStatus, Session

REFERENCE = """
import numpy as np
from beside_the_file import upper_body_mass
import draisine
from draisine.mechanics.formulations.bicycle.partitioned import Partitioned

def equations(**structure):
    model = draisine.compile("whipple", **structure).model
    formulation = Partitioned(model)

    def rate(t, y, u):
        return formulation.rate(t, y, np.array([u[name] for name in model.inputs]))

    return rate

without_body = equations()
with_body = equations(mU=upper_body_mass)

def too_short(t, y, u):
    return y[:3]

def fails(t, y, u):
    raise ValueError("no such wheel")

def fails_later(t, y, u):
    return 0.0 * y if t == 0.0 else y[20]
"""


@pytest.fixture
def ride(tmp_path, monkeypatch):
    """Return a function that starts a ride with a function of the file above."""
    monkeypatch.setattr("sys.path", [*sys.path])  # the folder of the file is added
    monkeypatch.delitem(sys.modules, "beside_the_file", raising=False)
    (tmp_path / "beside_the_file.py").write_text("upper_body_mass = 30.0")
    (tmp_path / "mine.py").write_text(REFERENCE)

    def start(name, function="without_body"):
        return Session(name, presets_with_rate(f"{tmp_path / 'mine.py'}:{function}", name))

    return start


def test_without_inputs_it_is_the_motion_of_the_package(ride):
    session = ride("weave")
    start = session.state
    session.advance(1024, {"hold": 0.0, "lean_help": 0.0})
    system = draisine.compile("whipple")
    names = [*system.model.speeds]
    same = draisine.State(start.q, start.p, start.r, start.v, start.joints, tuple(names))
    expected = draisine.simulate(system, same, until=1.0).final()
    # 50 steps of the classical Runge-Kutta method in 1 s.
    assert_allclose(session.state.r, expected.r, atol=2e-5)
    assert_allclose(session.state.v, expected.v, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "function", "commands", "joint", "frames"),
    [
        ("steer-angle", "without_body", {"steer_angle": 0.05, "angle_help": 0.0}, "steer", 45),
        ("steer-lean", "with_body", {"torso": 0.1}, "torso", 90),
    ],
)
def test_prescribed_joints_follow_their_target(ride, name, function, commands, joint, frames):
    session = ride(name, function)
    for _ in range(frames):
        session.advance(17, commands | {"by_angle": float(joint == "steer")})
    # Critically damped with 10 and 5 rad/s: 0.4 % and 0.5 % of the target remain.
    target = next(iter(commands.values()))
    assert session.stepper.values()[joint] == pytest.approx(target, rel=0.06)
    assert session.status == RideStatus.RIDING


def test_a_torque_to_the_right_starts_a_turn_to_the_left(ride):
    session = ride("steer-torque")
    session.advance(307, {"steer_torque": -1.0, "hold": 0.0, "lean_help": 0.0})
    assert session.stepper.values()["steer"] < 0.0
    for _ in range(60):
        session.advance(17, {"steer_torque": 0.0})
    values = session.stepper.values()
    assert values["lean"] < 0.0
    assert values["yaw"] > 0.1


def test_the_upper_body_is_in_y_only_if_it_steers(ride):
    assert len(ride("steer-torque").stepper.y) == 10
    assert len(ride("steer-lean", "with_body").stepper.y) == 12
    with pytest.raises((ParameterError, SimulationError)):
        ride("steer-lean", "without_body")


@pytest.mark.parametrize(
    ("function", "message"),
    [("too_short", r"shape \(3,\)"), ("fails", "no such wheel"), ("missing", "missing")],
)
def test_errors_name_the_function_s_fault(ride, function, message):
    with pytest.raises((ParameterError, SimulationError, UnknownNameError), match=message):
        ride("weave", function)


def test_an_error_during_the_ride_ends_it_with_a_message(ride):
    session = ride("weave", "fails_later")
    session.advance(17, {})
    assert session.status == RideStatus.STOPPED
    assert "IndexError" in session.reason


def test_parameters_belong_to_the_file(ride):
    session = ride("weave")
    with pytest.raises(ParameterError, match="change them in their file"):
        session.change({"c": 0.1})
    description = session.description()
    assert not description["sliders"]
    assert not description["sets"]
    assert not description["grounds"]


def test_the_server_offers_only_the_rides_of_the_function(tmp_path, ride):
    ride("weave")  # writes the file
    presets = presets_with_rate(f"{tmp_path / 'mine.py'}:without_body", "weave")
    server = RideServer("weave", 1, None, presets)
    sent = []

    class Socket:
        async def send_text(self, text):
            sent.append(json.loads(text))

    # A thread of its own: tests of the page leave an event loop running in this one
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(server.choose(Socket(), "weave"))).result()
    assert list(sent[-1]["scene"]["presets"]) == list(presets)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rate", "mine"], "a function in a file"),
        (["--rate", "mine.py:rate", "--preset", "ramp"], "level ground"),
        (["rolling_disc", "--rate", "mine.py:rate"], "rolling_disc does not apply"),
        (["--rate", "mine.py:rate", "--export", "x.html"], "--export does not apply"),
    ],
)
def test_the_command_refuses_what_cannot_be_ridden(arguments, message, capsys):
    assert main(["ride", *arguments]) != 0
    assert message in capsys.readouterr().err


def test_a_stepper_moves_to_a_state():
    """The motion goes on as from that state, at the present time and with the present inputs."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=5.0, lean=0.1)
    other = draisine.state(bicycle, forward_speed=4.0, steer=0.05)
    moved = draisine.Stepper(bicycle, start, inputs={"steer": 0.2})
    moved.step(0.25)
    moved.move_to(other)
    assert moved.time == 0.25
    moved.step(0.25)
    fresh = draisine.Stepper(bicycle, other, inputs={"steer": 0.2})
    fresh.step(0.25)
    assert np.array_equal(moved.state.v, fresh.state.v)
    assert moved.time == 0.5
