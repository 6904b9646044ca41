"""Rides by hand: a scripted rider at the keys, the three ways to steer, slices of time."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import DraisineError, ParameterError
from draisine.registry import names
from draisine.ride.limits import brake_limit, wheelie_limit
from draisine.ride.presets import PRESETS, make_preset
from draisine.ride.session import STEP_RATE, RideStatus, Session

FRAME = 16
"""Steps between two looks of the rider, 1/64 s."""


class Rider:
    """A rider at two keys, who acts on what was so a reaction time ago and presses a key for 70 ms
    at least: left, right or none.
    """

    def __init__(self, session, way, key, reaction):
        self.session = session
        self.way = way
        self.key = key
        self.delay = round(reaction * STEP_RATE / FRAME)
        self.seen = []
        self.pressed = 0
        self.since = 0

    def look(self):
        parts = self.session.parts()
        names = list(self.session.system.outputs)
        lean, yaw = (parts["outputs"][names.index(name)] for name in ("lean", "yaw"))
        rate = parts["output_rates"][names.index("lean")]
        self.seen.append((lean, rate, yaw, parts["p"][1]))
        return self.seen[max(0, len(self.seen) - 1 - self.delay)]

    def press(self, lean_wanted):
        """Press the key that changes the lean (right positive) as requested: to lean left, push right."""
        lean, rate, _, _ = self.look()
        error = lean_wanted - lean - 0.4 * rate
        key = 0 if abs(error) < math.radians(1.5) else int(np.sign(error))
        self.since += 1
        if key != self.pressed and self.since * FRAME >= 0.07 * STEP_RATE:
            self.pressed = key
            self.since = 0
        self.session.advance(FRAME, {self.way: self.key * self.pressed})


WAYS = {
    "torque": ("steer-torque", "steer_torque", 2.0),
    "leaning body": ("steer-lean", "torso", 0.1),
}


@pytest.fixture(scope="module", params=list(WAYS))
def rider(request):
    name, way, key = WAYS[request.param]
    return lambda reaction: Rider(Session(name), way, key, reaction)


@pytest.mark.parametrize("reaction", [0.15, 0.35])
def test_a_left_turn_by_keys(rider, reaction):
    rider = rider(reaction)
    while rider.session.status == RideStatus.RIDING and rider.session.stepper.time < 12.0:
        yaw = rider.seen[-1][2] if rider.seen else 0.0
        rider.press(-math.radians(10.0) if yaw < math.radians(70.0) else 0.0)
    assert rider.session.status == RideStatus.RIDING
    yaw = np.unwrap([seen[2] for seen in rider.seen])
    assert abs(math.degrees(yaw[-1]) - 90.0) < 25.0
    assert math.degrees(max(abs(seen[0]) for seen in rider.seen)) < 35.0


def test_a_slalom_by_keys(rider):
    rider = rider(0.2)
    while rider.session.status == RideStatus.RIDING and rider.session.stepper.time < 10.0:
        side = 1.0 if math.sin(2.0 * math.pi * rider.session.stepper.time / 4.0) > 0 else -1.0
        rider.press(side * math.radians(7.0))
    assert rider.session.status == RideStatus.RIDING
    lean = np.array([seen[0] for seen in rider.seen])
    signs = np.sign(lean[np.abs(lean) > math.radians(2.0)])
    assert np.count_nonzero(np.diff(signs)) >= 4


def test_a_push_to_the_right_starts_a_turn_to_the_left():
    session = Session("steer-torque")
    session.advance(200, {"steer_torque": -2.0})
    assert session.stepper.values()["steer"] < 0.0
    session.advance(400, {"steer_torque": 0.0})
    found = session.stepper.values()
    assert found["lean"] < 0.0 < found["steer"]
    assert found["yaw_rate"] > 0.0


def test_a_switch_between_the_ways_to_steer_changes_no_bit_of_the_state():
    session = Session("steer-torque")
    session.advance(300, {"steer_torque": -1.0})
    before = session.stepper.state
    for commands in ({"by_angle": 1.0, "steer_torque": 0.0}, {"by_angle": 0.0, "torso": 0.05}):
        session.advance(0, commands)
        for name in ("q", "p", "r", "v"):
            assert np.array_equal(getattr(session.stepper.state, name), getattr(before, name))


def test_on_a_terrain_the_bar_is_taken_up_and_let_go_from_the_same_state():
    session = Session("kerb")
    session.advance(300, {"steer_torque": -1.0})
    before = session.stepper.state
    for by_angle in (1.0, 0.0):
        session.advance(0, {"by_angle": by_angle, "steer_torque": 0.0})
        # A change of inputs projects the state onto the closed contacts, which the dense output between
        # two steps satisfies to the tolerance of the integrator (1e-10) only.
        for name in ("q", "p", "r", "v"):
            assert_allclose(
                getattr(session.stepper.state, name), getattr(before, name), rtol=0, atol=1e-12
            )


def test_a_guided_bar_on_a_terrain_moves_as_on_smooth_ground():
    commands = {"by_angle": 1.0, "steer_angle": 0.05, "lean_help": 0.0, "hold": 0.0}
    ends = []
    for name in ("steer-torque", "brake"):
        session = Session(name)
        session.stepper.reset(Session("brake").stepper.state)
        for _ in range(32):
            session.advance(FRAME, commands)
        ends.append(session.stepper.values())
    names = ("x", "y", "yaw", "lean", "steer", "lean_rate", "steer_rate", "forward_speed")
    assert abs(ends[0]["steer"]) > 0.04
    assert_allclose([ends[0][n] for n in names], [ends[1][n] for n in names], atol=1e-7)


def test_slicing_of_time_does_not_change_the_bits():
    ends = []
    for slices in ([1000], [16] * 62 + [8], [1] * 1000):
        session = Session("self-stable")
        for count in slices:
            session.advance(count, {})
        ends.append(session.frame())
    assert np.array_equal(ends[0], ends[1])
    assert np.array_equal(ends[0], ends[2])


def test_a_change_of_parameters_keeps_speed_lean_and_steer():
    session = Session("self-stable")
    session.advance(300, {"torso": 0.1})
    names = ("forward_speed", "lean", "steer", "torso", "rear_wheel", "yaw", "x", "y")
    names += ("lean_rate", "steer_rate", "torso_rate")
    before = session.stepper.values()
    session.change({"lam": 0.35, "rR": 0.32})
    after = session.stepper.values()
    assert_allclose([after[n] for n in names], [before[n] for n in names], atol=1e-11)


def test_impossible_parameters_leave_the_ride_as_it_was():
    session = Session("self-stable")
    session.advance(300, {})
    before = session.frame()
    for impossible in ({"w": -1.0}, {"IFyy": -1.0}, {"mB": 20.0}, {"c": math.nan}):
        with pytest.raises(DraisineError):
            session.change(impossible)
    assert np.array_equal(session.frame(), before)
    session.advance(100, {})
    assert session.status == RideStatus.RIDING


def test_a_prescribed_angle_without_help_falls():
    session = Session("steer-angle")
    for _ in range(400):
        session.advance(FRAME, {"angle_help": 0.0, "steer_angle": 0.02})
    assert session.status == RideStatus.FELL


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_rides_for_a_while(name):
    session = Session(name)
    for _ in range(48):
        session.advance(FRAME, {})
    assert session.status == RideStatus.RIDING
    assert np.isfinite(session.frame()).all()


def gaps_along(session, seconds, commands):
    found = []
    for _ in range(round(seconds * STEP_RATE / FRAME)):
        session.advance(FRAME, commands)
        found.append(session.parts()["gaps"])
    return np.array(found)


def test_the_ramp_is_jumped_and_both_wheels_land():
    session = Session("ramp")
    rear, front = gaps_along(session, 3.5, {}).T
    assert session.status == RideStatus.RIDING
    assert np.argmax(front > 1e-3) < np.argmax(rear > 1e-3)
    assert min(front.max(), rear.max()) > 0.1
    assert max(front[-1], rear[-1]) < 1e-9


@pytest.mark.parametrize(
    ("name", "command", "limit", "lifting"),
    [("brake", "front_brake", brake_limit, 0), ("wheelie", "drive", wheelie_limit, 1)],
)
def test_a_wheel_lifts_at_the_torque_of_the_closed_form(name, command, limit, lifting):
    session = Session(name)
    _, torque = limit(session.system.parameters)
    assert gaps_along(session, 0.3, {command: 0.99 * torque})[:, lifting].max() < 1e-9
    session.reset()
    assert gaps_along(session, 0.3, {command: 1.01 * torque})[:, lifting].max() > 1e-4


def test_the_front_wheel_is_raised_and_held():
    session = Session("wheelie")
    front = gaps_along(session, 2.0, {"lift": 0.35})[:, 1]
    assert front[-1] > 0.2
    assert np.ptp(front[-20:]) < 0.02


def time_in_the_air(session):
    gaps = gaps_along(session, 6.0, {})
    return np.count_nonzero(gaps.min(axis=1) > 1e-3) * FRAME / STEP_RATE


def test_a_jump_on_the_moon_is_begun_by_the_slider_and_lasts_longer():
    session = Session("ramp")
    assert session.description()["sliders"]["g"]["value"] == session.system.parameters["g"]
    here = time_in_the_air(session)
    session.change({"g": 1.62})
    assert session.stepper.time == 0.0
    assert time_in_the_air(session) > 2.0 * here > 0.0


def test_impossible_parameters_on_a_terrain_leave_the_ride_as_it_was():
    session = Session("kerb")
    session.advance(100, {})
    before = session.frame()
    with pytest.raises(DraisineError):
        session.change({"w": -1.0})
    assert np.array_equal(session.frame(), before)
    session.reset()
    assert session.status == RideStatus.RIDING


@pytest.mark.parametrize(
    "what",
    [name for name in names("vehicle") if not name.startswith("whipple")] + ["mauny2018/ramp-jump"],
)
def test_vehicles_and_scenarios_can_be_ridden_too(what):
    session = Session(what, {what: make_preset(what)})
    session.advance(200, dict.fromkeys(session.controls, 0.0) | {"push.y": 1.0})
    assert session.status == RideStatus.RIDING
    assert session.description()["machine"]["parts"]
    assert np.isfinite(session.frame()).all()


def test_only_runs_are_ridden():
    with pytest.raises(ParameterError, match="a ride needs the kind 'run'"):
        make_preset("meijaard2007/eigenvalues")


def test_on_ice_a_turn_ends_in_a_slip():
    session = Session("steer-torque")
    session.set_friction(0.05)
    for _ in range(120):
        session.advance(FRAME, {"steer_torque": -2.0 if session.stepper.time < 0.4 else 0.0})
    assert session.status == RideStatus.SLIPPED
    with pytest.raises(ParameterError, match="must be positive"):
        session.set_friction(0.0)


def test_machines_that_cannot_lean_are_ridden_without_a_chart_of_stability():
    session = Session("mine", {"mine": make_preset("snakeboard")})
    assert session.description()["chart"] is None
    session.advance(FRAME, {})
    assert np.isfinite(session.frame()).all()
