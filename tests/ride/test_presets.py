"""Every number and every direction in the texts of the rides is computed."""

import math
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import draisine
from draisine.ride.limits import brake_limit, wheelie_limit
from draisine.ride.presets import PRESETS, page_words
from draisine.ride.session import STEP_RATE, RideStatus, Session
from draisine.vehicles import parameter_set

WORDS = {"half": 0.5, "two": 2.0, "four": 4.0, "five": 5.0, "ten": 10.0}
CITATION = re.compile(r"\(\w+ and others \d{4}\)")
NUMBER = re.compile(
    r"(?<![\w/.])\d+(?:\.\d+)?(?!\w|/s)|\b(?:half|two|four|five|ten)\b", re.IGNORECASE
)
RIDES = [name for name, preset in PRESETS.items() if not preset.task]
"""Rides other than tasks; test_tasks.py computes the numbers in the texts of tasks."""
BENCHMARK = parameter_set("whipple", "benchmark")


def numbers_in(preset):
    """Return the numbers in the texts of a ride, as they are written; units are left out."""
    text = " ".join((preset.lesson, preset.question, preset.answer))
    return {found.lower() for found in NUMBER.findall(CITATION.sub("", text))}


def as_written(value, token):
    """Return a value in the digits of a token."""
    if token in WORDS:
        return token if value == pytest.approx(WORDS[token]) else f"{value:g}"
    return f"{value:.{len(token.partition('.')[2])}f}"


def ride(name, seconds, commands=lambda t: {}, every=0.05):
    """Return a ride and its frames at equal intervals of time, up to its end."""
    session = Session(name)
    seen = []
    while session.stepper.time < seconds - 1e-9 and session.status == RideStatus.RIDING:
        session.advance(round(every * STEP_RATE), commands(session.stepper.time))
        parts = session.parts()
        shown = {"t": session.stepper.time, "gaps": parts["gaps"], "energy": parts["energy"]}
        seen.append(session.stepper.values() | shown)
    return session, seen


def column(seen, name):
    return np.array([one[name] for one in seen])


# --- numbers


@cache
def critical():
    return draisine.critical_speeds(draisine.compile("whipple"))


@cache
def capsize():
    """Return the capsize eigenvalue at the speed of its ride."""
    speed = PRESETS["capsize"].start["forward_speed"]
    return float(draisine.eigenvalues(draisine.compile("whipple"), [speed]).mode("capsize")[0].real)


def start_speed(name):
    return PRESETS[name].start["forward_speed"]


def slope_angle():
    """Return the angle of the slope, rad, negative downhill."""
    return PRESETS["slope"].ground.__self__.slope


def slope_acceleration():
    """Return the share of the wheels' spin in the inertia, and the acceleration down the slope."""
    p = BENCHMARK
    mass = p["mR"] + p["mB"] + p["mH"] + p["mF"]
    spin = p["IRyy"] / p["rR"] ** 2 + p["IFyy"] / p["rF"] ** 2
    pull = p["g"] * math.sin(-slope_angle())
    return spin / (mass + spin), pull, pull * mass / (mass + spin)


@cache
def kerb():
    """Return the first and the last frame of the ride over the kerb."""
    session, seen = ride("kerb", 3.0)
    assert session.status == RideStatus.RIDING
    return seen[0], seen[-1]


def kerb_numbers():
    first, last = kerb()
    kinetic, potential = first["energy"] - last["energy"]
    mass = sum(BENCHMARK[m] for m in ("mR", "mB", "mH", "mF"))
    assert -potential == pytest.approx(mass * BENCHMARK["g"] * 0.05, rel=1e-6)
    return {
        "five": 100.0 * (-potential) / (mass * BENCHMARK["g"]),  # cm
        "4": first["forward_speed"],
        "2.75": last["forward_speed"],
        "412": kinetic,
        "46": -potential,
        "366": kinetic + potential,
    }


def slope_numbers():
    share, pull, left = slope_acceleration()
    angle = -math.degrees(slope_angle())
    speed = start_speed("slope")
    after = {"ten": 10.0, "4": speed, "12.2": speed + 10.0 * left}
    # Four stands for the speed at the start and for the share of the wheels' spin in percent.
    assert as_written(100.0 * share, "4") == "4"
    return after | {"five": angle, "5": angle, "0.855": pull, "0.823": left}


@cache
def hills():
    """Return the ride over the hills and the numbers of its samples with the least and greatest speed."""
    session, seen = ride("hills", 12.0, every=1.0 / 64)
    assert session.status == RideStatus.RIDING
    speed = column(seen, "forward_speed")
    return seen, int(np.argmin(speed)), int(np.argmax(speed))


def hills_numbers():
    seen, slowest, fastest = hills()
    x = np.linspace(11.0, 19.0, 801)  # one wave
    height = 100.0 * np.ptp(PRESETS["hills"].ground().height(x))  # cm
    speeds = {"3.8": seen[slowest]["forward_speed"], "5.3": seen[fastest]["forward_speed"]}
    return {"40": height, "5": start_speed("hills")} | speeds


def ramp_numbers():
    ground = PRESETS["ramp"].ground.__self__
    pitch = math.degrees(Session("ramp").stepper.values()["pitch"])
    assert math.degrees(ground.slope) == pytest.approx(-pitch)
    return {"ten": -pitch, "half": ground.drop}


def wheelie_numbers():
    a, torque = wheelie_limit(BENCHMARK)
    lift = {"lift": PRESETS["wheelie"].keys["lift"]}
    _, seen = ride("wheelie", 2.5, lambda t: lift)
    assert np.ptp(column(seen[-10:], "pitch")) < 1e-3  # held there
    return {"19": -math.degrees(seen[-1]["pitch"]), "3.84": a, "112": torque}


NUMBERS = {
    "steer-torque": dict,
    "steer-angle": dict,
    "steer-lean": dict,
    "self-stable": lambda: {
        "5": start_speed("self-stable"),
        "4.292": critical().stable_from,
        "6.024": critical().stable_to,
    },
    "weave": lambda: {"3.5": start_speed("weave"), "4.292": critical().weave},
    "fall": lambda: {"2.5": start_speed("fall"), "two": 2.0},  # seconds, see below
    "capsize": lambda: {
        "8": start_speed("capsize"),
        "four": PRESETS["capsize"].pace,
        "15.4": 100.0 * math.expm1(capsize()),
        "0.143": capsize(),
        "1.154": math.exp(capsize()),
    },
    "skate": lambda: {"two": 2.0},  # point masses, see below
    "slope": slope_numbers,
    "hills": hills_numbers,
    "ramp": ramp_numbers,
    "kerb": kerb_numbers,
    "wheelie": wheelie_numbers,
    "brake": lambda: {
        "300": PRESETS["brake"].keys["front"],
        "7.61": brake_limit(BENCHMARK)[0],
        "260": brake_limit(BENCHMARK)[1],
    },
}


@pytest.mark.parametrize("name", RIDES)
def test_every_number_is_computed(name):
    computed = NUMBERS[name]()
    assert numbers_in(PRESETS[name]) == set(computed)
    assert {token: as_written(value, token) for token, value in computed.items()} == {
        token: token for token in computed
    }


@pytest.mark.parametrize("name", ["wheelie", "brake"])
def test_a_ride_prints_one_limit(name):
    """The numbers beside the ride are those of its answer."""
    acceleration, torque = PRESETS[name].fact(BENCHMARK)
    text = page_words()[f"{name}.fact"]["en"]
    text = text.format(acceleration=f"{acceleration:.2f}", torque=f"{torque:.0f}")
    fact = NUMBER.findall(text)
    assert len(fact) == 2
    assert set(fact) <= numbers_in(PRESETS[name])


def says(name, *phrases):
    """Assert that the texts of a ride contain the computed numbers."""
    text = " ".join((PRESETS[name].lesson, PRESETS[name].question, PRESETS[name].answer))
    assert [phrase for phrase in phrases if phrase not in text] == []


# --- directions: lean counts to the right, steer and yaw to the left, pitch with the nose down


def test_steer_torque_a_tap_to_the_right_starts_a_turn_to_the_left():
    says("steer-torque", "the bar turns right", "leans left", "To turn left, first push right")
    for lean_help in (5.0, 0.0):

        def tap(t, lean_help=lean_help):
            return {"steer_torque": -1.0 if t < 0.15 else 0.0, "lean_help": lean_help}

        _, seen = ride("steer-torque", 1.0, tap)
        early = seen[4]
        late = seen[-1]
        assert early["steer"] < 0.0  # the bar turns right
        assert early["yaw"] < 0.0  # and the wheels roll out to the right
        assert late["lean"] < 0.0  # the bicycle leans left
        assert column(seen, "steer").max() > 0.01  # the bar turns into the lean
        assert late["yaw"] > 0.0  # and the turn goes to the left


def test_steer_angle_a_guided_bar_does_not_turn_into_the_fall():
    """Without help it falls at a speed at which the free bar keeps it up."""
    says("steer-angle", "the help adds an angle into the fall", "cannot turn into the fall")

    def push(t):
        return {"angle_help": 0.0, "push.y": 5.0 if t < 0.1 else 0.0}

    session, seen = ride("steer-angle", 5.0, push)
    assert session.status == RideStatus.FELL
    assert np.abs(column(seen, "steer")).max() < 1e-9
    assert critical().stable_from < start_speed("steer-angle") < critical().stable_to
    # With help it stays up, and the help adds an angle into the fall.
    session, seen = ride("steer-angle", 3.0, lambda t: push(t) | {"angle_help": 1.0})
    assert session.status == RideStatus.RIDING
    falls = min(seen, key=lambda one: one["lean"])
    assert falls["lean"] < 0.0 < max(column(seen, "steer"))


def test_steer_lean_the_frame_goes_right_at_first():
    says("steer-lean", "lean the upper body left", "To the right at first", "into the lean")
    _, seen = ride("steer-lean", 2.0, lambda t: {"torso": -0.1})
    assert seen[-1]["torso"] < 0.0  # the upper body leans left
    early = seen[5]
    late = seen[-1]
    assert early["lean"] > 0.0  # the frame goes to the right
    assert late["lean"] < 0.0 < late["steer"]  # then the bar turns into the lean to the left
    assert late["yaw"] > 0.0  # and the turn begins


def test_self_stable_it_steadies_itself_after_a_push():
    session, seen = ride("self-stable", 5.0)
    lean = np.abs(column(seen, "lean"))
    assert session.status == RideStatus.RIDING
    assert lean[-20:].max() < 0.1 * lean.max()


def test_weave_lean_and_steer_swing_with_one_frequency_the_steer_after_the_lean():
    says("weave", "one frequency, the steer after the lean", "below 4.292 m/s the swing grows")
    modes = draisine.eigenvalues(draisine.compile("whipple"), [start_speed("weave")])
    value = modes.mode("weave")[0]
    index = int(np.argmin(np.abs(modes.values[0] - value)))
    lean, steer = modes.vectors[0, :2, index]  # both count to the right
    assert value.real > 0.0 and abs(value.imag) > 1.0
    behind = -np.angle(steer / lean) * np.sign(value.imag)
    assert 0.0 < behind < math.pi / 2
    # It grows below the weave speed, and only there.
    speeds = critical().weave + np.array([-0.1, 0.1])
    below, above = draisine.eigenvalues(draisine.compile("whipple"), speeds).mode("weave").real
    assert below > 0.0 > above


def test_fall_it_falls_within_two_seconds_and_the_balance_assist_steers_into_the_fall():
    says("fall", "falls within two seconds", "more of it the slower it rolls")
    session, _ = ride("fall", 3.0)
    assert session.status == RideStatus.FELL
    assert 1.0 < session.stepper.time < 2.0
    session, seen = ride("fall", 3.0, lambda t: {"balance_help": 8.0})
    assert session.status == RideStatus.RIDING
    assert seen[2]["lean_rate"] > 0.0 > seen[2]["steer"]  # it falls right and steers right
    # The assist has more torque per lean rate the slower it rolls.
    slow, fast = (assist_gain(speed) for speed in (2.0, 3.0))
    assert slow < fast < 0.0


def assist_gain(speed):
    """Return the steer torque of the balance assist per lean rate at a speed."""
    start = {"forward_speed": speed, "lean_rate": 0.1}
    session = Session("fall", {"fall": replace(PRESETS["fall"], start=start)})
    session.advance(1, {"balance_help": 8.0})
    torque = session.parts()["inputs"][session.system.model.inputs.index("steer")]
    return torque / session.stepper.values()["lean_rate"]


def test_capsize_the_spiral_becomes_tighter():
    says("capsize", "in an ever tighter spiral")
    _, seen = ride("capsize", 6.0)
    rate = np.abs(column(seen, "yaw_rate"))
    lean = column(seen, "lean")
    assert (np.diff(rate[40:]) > 0.0).all() and (np.diff(lean[40:]) > 0.0).all()


def test_skate_it_has_neither_gyroscopes_nor_trail_and_steadies_itself():
    says("skate", "no trail", "hold the rear wheel down", "low and ahead of the steer axis")
    p = parameter_set("whipple", PRESETS["skate"].parameter_set)
    assert p["c"] == p["IFyy"] == p["IRyy"] == p["mF"] == p["mR"] == 0.0
    inertias = [value for name, value in p.items() if name.startswith(("IB", "IH"))]
    assert not any(inertias)  # two point masses, frame and front
    assert min(p["mB"], p["mH"]) > 0.0
    session, seen = ride("skate", 4.0)
    assert session.status == RideStatus.RIDING
    assert abs(seen[-1]["lean"]) < 0.05 * np.abs(column(seen, "lean")).max()
    rear = session.parts()["loads"][0]
    assert rear < 0.0  # the ground holds the rear wheel down
    # The front mass is lower than that of the frame, and ahead of the steer axis at its height.
    axis = p["w"] + p["c"] + p["zH"] * math.tan(p["lam"])
    assert -p["zH"] < -p["zB"]
    assert p["xH"] > axis


def test_slope_it_passes_from_weave_to_capsize():
    session, seen = ride("slope", 10.0, every=10.0 / 64)
    assert session.status == RideStatus.RIDING
    speed = column(seen, "forward_speed")
    # The forward speed is the horizontal one.
    gain = 10.0 * slope_acceleration()[2] * math.cos(slope_angle())
    assert speed[-1] == pytest.approx(start_speed("slope") + gain, rel=1e-9)
    assert start_speed("slope") < critical().weave < critical().capsize < speed[-1]


def test_hills_the_wheels_are_slow_where_the_nose_drops_and_fast_where_it_rises():
    says("hills", "while the nose drops over a crest", "Where the nose rises again")
    seen, slowest, fastest = hills()
    assert seen[fastest]["pitch_rate"] < 0.0 < seen[slowest]["pitch_rate"]
    # Over the crest: the wheels are near the height of the waves.
    assert seen[slowest]["z"] > 0.3
    # Energy is kept, and no wheel leaves the ground.
    energies = np.array([one["energy"].sum() for one in seen])
    assert np.ptp(energies) < 1e-6 * energies[0]
    assert column(seen, "gaps").max() < 1e-6


def ramp_flight(commands):
    """Return the pitch of the jump while both wheels are in the air, and the gaps when it ends."""
    _, seen = ride("ramp", 2.6, lambda t: commands if t > 2.15 else {}, every=1.0 / 64)
    air = [one for one in seen if one["gaps"].min() > 1e-3]
    lands = next(one for one in seen if one["t"] > air[-1]["t"])
    left = next(one for one in seen if one["gaps"][1] > 0.1)
    return left, column(air, "pitch"), lands["gaps"]


def test_ramp_the_front_wheel_lands_first_and_brakes_drop_the_nose_further():
    says("ramp", "The front wheel:", "Braking a wheel in flight drops the nose further")
    left, coasting, gaps = ramp_flight({"hold": 0.0})
    assert left["gaps"][0] < 1e-6  # the front wheel is in the air, the rear one still on the ramp
    assert left["pitch_rate"] > 0.0  # the nose drops
    assert gaps[1] < 1e-3 < gaps[0]  # the front wheel lands first
    for brake in ("front_brake", "rear_brake"):
        assert ramp_flight({"hold": 0.0, brake: 20.0})[1][15] > coasting[15] + 0.01
    assert ramp_flight({"hold": 0.0, "drive": 20.0})[1][15] < coasting[15] - 0.01


def test_kerb_no_speed_control_hides_the_loss():
    first, last = kerb()
    assert "hold" not in PRESETS["kerb"].commands
    assert last["forward_speed"] < first["forward_speed"]
    assert last["energy"].sum() < first["energy"].sum()


@pytest.mark.parametrize(("part", "lifts"), [(0.97, False), (1.03, True)])
def test_wheelie_and_brake_lift_a_wheel_at_their_limits(part, lifts):
    for name, command, limit, wheel in (
        ("wheelie", "drive", wheelie_limit, 1),
        ("brake", "front_brake", brake_limit, 0),
    ):
        torque = part * limit(BENCHMARK)[1]
        _, seen = ride(name, 0.3, lambda t, c=command, x=torque: {c: x})
        assert bool(column(seen, "gaps")[:, wheel].max() > 1e-4) == lifts


def test_brake_it_turns_over_with_the_torque_of_its_key():
    says("brake", "with 300 N m: the rear wheel comes up")
    session, seen = ride("brake", 2.0, lambda t: {"front_brake": PRESETS["brake"].keys["front"]})
    assert session.status == RideStatus.TURNED_OVER
    assert seen[-1]["pitch"] > 0.0
