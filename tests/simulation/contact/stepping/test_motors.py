"""Torque limits of motors in time steps: closed forms of a wheel with a stiff servo, and single decisions."""

import json
import math
import shutil
import subprocess
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine import ContactOptions, Numerics, simulate, state
from draisine.control.servo import Servo
from draisine.model import Ball, Body, Model, Motor, Revolute, Wheel, inertia
from draisine.simulation.contact.standalone.source import write_terrain_simulator
from draisine.simulation.contact.stepping import motors
from draisine.simulation.contact.stepping.motors import MotorPiece
from draisine.terrain import plane

BASE = 0.3  # kg m^2, moment of inertia of the base about the vertical axis
WHEEL = 2e-3  # kg m^2
FREE = BASE * WHEEL / (BASE + WHEEL)  # kg m^2, inertia of the joint rate
H = 1e-3  # s
UNTIL = 0.1  # s

PIECES = MotorPiece
LIMITS = {
    "torque": Motor(torque=0.5),
    "speed": Motor(torque=0.5, no_load_speed=30.0),
    "line": Motor(torque=0.5, no_load_speed=30.0, stall_torque=0.8),
    "line alone": Motor(no_load_speed=30.0, stall_torque=0.8),
    "weak": Motor(torque=0.05),
}


def spinner(*, limit: str = "torque", second: str = "") -> Model:
    """Return a base that slides without friction on three feet, with one or two flywheels about vertical
    axes.
    """
    feet = [(0.2, 0.0, 0.02), (-0.1, 0.2, 0.02), (-0.1, -0.2, 0.02)]
    names = ["wheel", "other"][: 2 if second else 1]
    limits = [LIMITS[limit], LIMITS.get(second)]
    moments = inertia(WHEEL, WHEEL, WHEEL)
    return Model(
        bodies=[
            Body("base", 2.0, (0.0, 0.0, 0.02), inertia(0.2, 0.2, BASE)),
            *(Body(name, 1.0, (0.0, 0.0, 0.1), moments) for name in names),
        ],
        joints=[
            Revolute(f"{name}_spin", "base", name, (0, 0, 1), (0, 0, 0.1), motor=motor)
            for name, motor in zip(names, limits, strict=False)
        ],
        contacts=[
            Wheel(f"foot{k}", "base", foot, (0, 1, 0), Ball(0.02), slides=True)
            for k, foot in enumerate(feet)
        ],
    )


@cache
def compiled(**structure):
    return draisine.compile(spinner, **structure)


def spin(command, gain, h=H, until=UNTIL, start=0.0, **structure):
    """Return the joint rates (rad/s) of the steps of length h from an initial rate."""
    system = compiled(**structure)
    joints = [joint.name for joint in system.model.joints]
    law = Servo(joints, np.broadcast_to(command, len(joints)), damping=gain, kind="speed")
    contact = ContactOptions(solver="time_stepping", step=h, mu=0.8)
    begin = state(system, wheel_spin_rate=start)
    run = simulate(
        system, begin, until, terrain=plane(), law=law, contact=contact, numerics=Numerics(dt=h)
    )
    rates = run.arcs[0].y[:, run.arcs[0].y.shape[1] - 2 * len(joints) :]
    return rates[:, : len(joints)]


def step_exactly(motor, w, command, gain, h):
    """Return the joint rate after an implicit step, the root of FREE (w+ - w) = h torque(w+), by
    bisection.
    """
    low, high = -1e6, 1e6
    for _ in range(200):
        middle = 0.5 * (low + high)
        if FREE * (middle - w) < h * motor.limit(gain * (command - middle), middle):
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@pytest.mark.parametrize("command", [20.0, -20.0])
@pytest.mark.parametrize("gain", [5.0, 500.0])
def test_a_stiff_servo_reaches_its_command_without_passing_it(gain, command):
    """k h is 2.5 and 250 times the inertia. The torque is the largest one until the request is smaller; then
    the error decreases by the factor FREE / (FREE + k h).
    """
    rates = np.sign(command) * spin(command, gain)[:, 0]
    ramp = 0.5 / FREE * H
    limited = int((abs(command) - 0.5 / gain) / ramp)
    assert_allclose(rates[: limited + 1], ramp * np.arange(limited + 1), rtol=0, atol=1e-9)
    error = abs(command) - rates[limited:]
    assert_allclose(error[1:], error[:-1] / (1.0 + gain * H / FREE), rtol=0, atol=1e-9)
    assert (np.diff(rates) > -1e-10).all()
    assert abs(error[-1]) < 1e-3 * abs(command)


@pytest.mark.parametrize("limit", list(LIMITS))
@pytest.mark.parametrize("gain", [5.0, 500.0])
@pytest.mark.parametrize(
    ("command", "start"), [(20.0, 0.0), (-20.0, 5.0), (50.0, 40.0), (0.0, -60.0)]
)
def test_each_step_is_implicit_in_the_limited_torque(limit, gain, command, start):
    """Steps of 1 and 20 ms, which cross several pieces of the torque at once."""
    motor = LIMITS[limit]
    for h, until in ((H, 0.02), (20 * H, 0.2)):
        rates = spin(command, gain, h, until, start, limit=limit)[:, 0]
        for before, after in pairwise(rates):
            assert after == pytest.approx(step_exactly(motor, before, command, gain, h), abs=1e-7)


def test_two_coupled_motors_are_within_their_limits():
    """Both flywheels turn the base. The momentum of each changes by at most the largest torque times h, and
    each reaches its command.
    """
    rates = spin([20.0, -10.0], 5.0, until=0.5, limit="torque", second="weak")
    yaw = -WHEEL * rates.sum(axis=1) / (BASE + 2.0 * WHEEL)  # rad/s, of the base
    torques = WHEEL * np.diff(rates + yaw[:, None], axis=0) / H
    assert (np.abs(torques) <= np.array([0.5, 0.05]) * (1.0 + 1e-6)).all()
    assert_allclose(rates[-1], [20.0, -10.0], rtol=1e-3)


def test_an_unlimited_request_is_not_changed_by_a_limit():
    """A limit that is never reached leaves every bit of the motion."""
    soft = {"command": 0.09, "gain": 5.0}
    assert np.array_equal(spin(**soft, limit="torque"), spin(**soft, limit="line alone"))


# --- exports


def export(folder, language):
    system = compiled(limit="line")
    law = Servo(["wheel_spin"], [25.0], damping=5.0, kind="speed")
    contact = ContactOptions(solver="time_stepping", step=H, mu=0.8)
    numerics = Numerics(dt=H)
    options = {"terrain": plane(), "law": law, "contact": contact, "numerics": numerics}
    files = write_terrain_simulator(system, language, state(system), UNTIL, **options)
    for name, text in files.items():
        (folder / name).write_text(text)
    run = simulate(system, state(system), UNTIL, **options)
    return next(iter(files)).rpartition(".")[0], run.arcs[0].y


@pytest.mark.skipif(shutil.which("node") is None, reason="no JavaScript engine (node)")
def test_javascript_limits_torques_as_machine_code_does(tmp_path):
    name, states = export(tmp_path, "javascript")
    page = (
        f'import * as s from "./{name}.js"; const r = s.simulate(s.create()); '
        "console.log(JSON.stringify(r.samples.map((x) => Array.from(x.state))));"
    )
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "page.js").write_text(page)
    done = subprocess.run(["node", "page.js"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = np.array(json.loads(done.stdout))
    assert_allclose(found[-1], states[-1], rtol=1e-10, atol=1e-10)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler (cc)")
def test_c_limits_torques_as_machine_code_does(tmp_path):
    name, states = export(tmp_path, "c")
    command = ["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", f"{name}.c", "main.c"]
    subprocess.run([*command, "-o", "run", "-lm"], cwd=tmp_path, check=True)
    done = subprocess.run(
        ["./run", "samples"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    last = np.array([float(x) for x in done.stdout.splitlines()[-1].split(",")])
    assert_allclose(last[-states.shape[1] :], states[-1], rtol=1e-10, atol=1e-10)


# --- decisions


def limits(motor, slope=0.0):
    """Return the record of one motor at the only speed of a system."""
    return SimpleNamespace(
        count=1, speed=[0], torque=[motor.torque], no_load_speed=[motor.no_load_speed],
        stall_torque=[motor.line_torque], requested=0, piece=[PIECES.EXPLICIT],
        slope=np.array([[slope]]),
    )  # fmt: skip


@pytest.mark.parametrize("limit", list(LIMITS))
def test_pieces_join_to_the_limited_torque(limit):
    """At every request and rate the torque of the chosen piece is that of the model."""
    motor = LIMITS[limit]
    m = limits(motor)
    chosen = set()
    for request in np.linspace(-1.5, 1.5, 31):
        for rate in np.linspace(-80.0, 80.0, 41):
            piece = motors.find_piece(m, 0, request, rate)
            chosen.add(piece)
            torque = motors.piece_torque(m, 0, piece, request, rate)
            assert torque == pytest.approx(motor.limit(request, rate), abs=1e-12)
    line = {PIECES.UPPER_LINE, PIECES.UPPER_ZERO, PIECES.LOWER_LINE, PIECES.LOWER_ZERO}
    assert line <= chosen if math.isfinite(motor.no_load_speed) else not line & chosen


@pytest.mark.parametrize(
    ("limit", "sign", "rate", "torque", "piece"),
    [
        ("torque", 1.0, 99.0, 0.5, PIECES.UPPER_TORQUE),
        ("torque", -1.0, 99.0, 0.5, PIECES.LOWER_TORQUE),
        ("line", 1.0, 0.0, 0.8, PIECES.UPPER_TORQUE),
        ("line", 1.0, 15.0, 0.4, PIECES.UPPER_LINE),
        ("line", -1.0, 15.0, 1.2, PIECES.LOWER_TORQUE),
        ("line", -1.0, -15.0, 0.4, PIECES.LOWER_LINE),
        ("line", 1.0, 30.0, 0.0, PIECES.UPPER_ZERO),
        ("line", 1.0, 45.0, -0.4, PIECES.UPPER_ZERO),
        ("line", -1.0, -45.0, -0.4, PIECES.LOWER_ZERO),
        ("line alone", 1.0, -15.0, 1.2, PIECES.UPPER_LINE),
    ],
)
def test_the_limit_at_a_rate(limit, sign, rate, torque, piece):
    """Torques of at most 0.5 N m; a torque-speed line from 0.8 N m at rest to zero at 30 rad/s."""
    m = limits(LIMITS[limit])
    assert motors.line_torque(m, 0, sign, rate) == pytest.approx(torque)
    assert motors.find_limit_piece(m, 0, sign, rate) is piece


@pytest.mark.parametrize(
    ("speed", "expected"),
    [(0, 1.0 - 0.2 * 3.0 - 0.5 * 0.1 * 5.0), (1, 1.0 - 0.5 * 0.2 * 3.0 - 0.1 * 5.0)],
)
def test_the_request_at_the_end_of_a_step(speed, expected):
    """Speeds change by 3 and 5; the request of 1 N m has the slopes -0.2 and -0.1. Only half of the slope
    about another speed is symmetric, and so implicit.
    """
    m = limits(LIMITS["torque"])
    m.speed, m.slope = [speed], np.array([[-0.2, -0.1]])
    before, after = np.array([1.0, 1.0]), np.array([4.0, 6.0])
    request = motors.predict_request(m, 0, np.array([1.0]), before, after, 2)
    assert request == pytest.approx(expected)


UPPER = (PIECES.UPPER_TORQUE, PIECES.UPPER_LINE, PIECES.UPPER_ZERO)
LOWER = (PIECES.LOWER_TORQUE, PIECES.LOWER_LINE, PIECES.LOWER_ZERO)


def test_adjacent_pieces_share_an_end():
    """The request has an end in common with all others, the line with both flat parts of its limit."""
    pieces = (PIECES.REQUEST, *UPPER, *LOWER)
    for piece in pieces:
        assert motors.is_adjacent(piece, PIECES.REQUEST)
        assert motors.is_adjacent(PIECES.REQUEST, piece)
    for limit, other in ((UPPER, LOWER), (LOWER, UPPER)):
        torque, line, zero = limit
        assert motors.is_adjacent(torque, line)
        assert motors.is_adjacent(line, torque)
        assert motors.is_adjacent(line, zero)
        assert not motors.is_adjacent(torque, zero)
        assert not motors.is_adjacent(zero, torque)
        for piece in limit:
            for opposite in other:
                assert not motors.is_adjacent(piece, opposite)


@pytest.mark.parametrize(
    ("piece", "target", "following"),
    [
        (PIECES.REQUEST, PIECES.LOWER_TORQUE, PIECES.LOWER_TORQUE),
        (PIECES.UPPER_TORQUE, PIECES.REQUEST, PIECES.REQUEST),
        (PIECES.UPPER_TORQUE, PIECES.LOWER_TORQUE, PIECES.REQUEST),
        (PIECES.UPPER_TORQUE, PIECES.UPPER_LINE, PIECES.UPPER_LINE),
        (PIECES.UPPER_TORQUE, PIECES.UPPER_ZERO, PIECES.UPPER_LINE),
        (PIECES.LOWER_ZERO, PIECES.LOWER_TORQUE, PIECES.LOWER_LINE),
        (PIECES.UPPER_ZERO, PIECES.LOWER_TORQUE, PIECES.REQUEST),
    ],
)
def test_a_motor_changes_between_flat_pieces_through_a_steep_one(piece, target, following):
    assert motors.choose_next_piece(piece, target) is following


@pytest.mark.parametrize(
    ("slope", "after", "piece", "is_same"),
    [
        (-0.1, 1.0, PIECES.UPPER_TORQUE, True),  # the request falls from 1.0 to 0.9
        (-0.1, 8.0, PIECES.REQUEST, False),  # to 0.2, below the largest torque
        (-0.1, 20.0, PIECES.REQUEST, False),  # to -1.0, below the smallest
        (0.1, 1.0, PIECES.EXPLICIT, True),  # it grows with the rate
    ],
)
def test_the_piece_follows_the_request_at_the_end_of_the_step(slope, after, piece, is_same):
    m = limits(LIMITS["torque"], slope)
    out, before = np.array([1.0]), np.array([0.0])
    motors.begin_motors(m, out, before)
    assert m.piece[0] is PIECES.UPPER_TORQUE
    assert motors.update_motors(m, out, before, np.array([after]), 1) is is_same
    assert m.piece[0] is piece


@pytest.mark.parametrize(("requested", "is_same"), [(1.0, False), (0.4, True)])
def test_a_torque_that_grows_with_its_rate_is_explicit(requested, is_same):
    """The step is solved again only if the limit changes the torque at its start. Afterwards the motor keeps
    this piece whatever its rate.
    """
    m = limits(LIMITS["torque"], 0.1)
    out, before = np.array([requested]), np.array([0.0])
    m.piece[0] = PIECES.REQUEST
    assert motors.update_motors(m, out, before, np.array([1.0]), 1) is is_same
    assert m.piece[0] is PIECES.EXPLICIT
    assert motors.update_motors(m, out, before, np.array([99.0]), 1)
    assert m.piece[0] is PIECES.EXPLICIT


def test_rounding_of_a_request_at_its_limit_changes_no_piece():
    m = limits(LIMITS["torque"], -0.1)
    before = np.array([0.0])
    for piece, request in ((PIECES.REQUEST, 0.5 + 1e-13), (PIECES.UPPER_TORQUE, 0.5 - 1e-13)):
        m.piece[0] = piece
        assert motors.update_motors(m, np.array([request]), before, before, 1)
        assert m.piece[0] is piece


def test_explicit_torques_have_no_excess():
    m = limits(LIMITS["torque"])
    out, v = np.array([1.0]), np.array([0.0])
    m.piece[0] = PIECES.REQUEST
    assert motors.excess_torque(m, 0, out, v) == 0.5
    assert motors.make_explicit(m, out, v)
    assert motors.excess_torque(m, 0, out, v) == 0.0
    assert not motors.make_explicit(m, out, v)
