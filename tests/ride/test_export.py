"""The ride as one file."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from warnings import catch_warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.ride.export import ride_page
from draisine.ride.presets import PRESETS
from draisine.ride.session import STEP_RATE, Session
from ride.conftest import FEW_FRAMES, page_data, wait_for
from ride.test_words import LANGUAGES


def test_the_page_is_small_and_loads_nothing(exported):
    text = exported.read_text(encoding="utf-8")
    assert len(text.encode()) <= 1_500_000
    assert "src=" not in text.split("<script>")[0]
    assert 'href="style.css"' not in text


def test_the_page_starts_with_the_requested_ride(exported):
    with catch_warnings(
        action="error"
    ):  # nobody chose a bicycle about which there is something to say
        written = ride_page(first="weave")
    first = written.partition('"rides":{"')[2].partition('"')[0]
    assert first == "weave"
    assert (
        exported.read_text(encoding="utf-8").partition('"rides":{"')[2].startswith("steer-torque")
    )


NODE = """
globalThis.performance = { now: () => 0 };
const { simulators, kinds, bicycles, rides } = globalThis.draisineRide;
const ride = rides["self-stable"], { kind, parameters } = bicycles[ride.bicycle];
const simulator = simulators[kind];
const values = Float64Array.from(simulator.names.parameters, (name) => parameters[name]);
const machine = simulator.create(values, simulator.initial(values, ride.start));
const { controls } = kinds[kind], { state } = machine, first = state.length - controls.length;
const put = ([name, value]) => { state[first + controls.indexOf(name)] = value; };
Object.entries(ride.preset.commands).forEach(put);
const run = (from, to) => { for (let k = from; k < to; k++) simulator.step(machine, k / RATE, 1 / RATE); };
run(0, 2 * RATE);
const began = process.hrtime.bigint();
run(2 * RATE, 5 * RATE);
const spent = Number(process.hrtime.bigint() - began) / 1e3 / (3 * RATE);
const seen = simulator.observe(machine, 5);
console.log(JSON.stringify({ outputs: [...seen.outputs], v: [...seen.v], spent }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_its_simulator_agrees_with_the_package(exported, tmp_path):
    script = page_data(exported)
    assert script.strip().startswith("globalThis.draisineRide")
    (tmp_path / "ride.js").write_text(script + NODE.replace("RATE", str(STEP_RATE)))
    done = subprocess.run(["node", "ride.js"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    session = Session("self-stable")
    session.advance(5 * STEP_RATE, {})
    assert_allclose(found["outputs"], session.parts()["outputs"], rtol=1e-12, atol=1e-12)
    assert_allclose(found["v"], session.stepper.state.v, rtol=1e-12, atol=1e-12)


needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

RIDE = """
import "./data.js";
import { LocalEngine } from "./local.js";
const { preset, said, frames, steps, commands, later } = JSON.parse(process.argv[2]);
const engine = new LocalEngine(draisineRide), ridden = [];
engine.told = ({ refused }) => { if (refused) throw new Error(refused); };
engine.framed = (frame) => ridden.push([...frame]);
engine.say({ preset });
for (const words of said) engine.say(words);
engine.due = () => steps;
for (let k = 0; k < frames; k++) {
  const now = { ...commands, ...(2 * k < frames ? {} : later) };
  engine.ask(engine.scene.controls.map((name) => now[name] ?? 0));
}
console.log(JSON.stringify({ frames: ridden, layout: engine.scene.layout, events: engine.motion.events }));
"""


@pytest.fixture(scope="module")
def ride_in_node(node_folder):
    """A function that rides a preset by the page's own modules, without a browser."""
    (node_folder / "ride.js").write_text(RIDE)

    def ride(preset, frames, commands=None, later=None, said=()):
        task = {"preset": preset, "frames": frames, "steps": STEPS, "said": said}
        task |= {"commands": first_commands(preset) | (commands or {}), "later": later or {}}
        command = ["node", "ride.js", json.dumps(task)]
        done = subprocess.run(command, cwd=node_folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return ride


STEPS = 17
"""Steps per frame: about 1/60 s."""


def first_commands(preset):
    return PRESETS[preset].commands | {"by_angle": float(PRESETS[preset].way == "angle")}


def ride_natively(session, frames, commands=None, later=None):
    """Ride like `ride_in_node`; return the frames."""
    ridden = []
    for k in range(frames):
        now = first_commands(session.name) | (commands or {})
        now |= {} if 2 * k < frames else (later or {})
        session.advance(STEPS, {name: now.get(name, 0.0) for name in session.controls})
        ridden.append(session.frame())
    return np.array(ridden)


def assert_same_ride(found, native, session, atol=1e-6):
    """Compare time, status, pose and outputs of all frames, and the events."""
    numbers = np.array(found["frames"], float)
    assert numbers.shape == native.shape
    for block in ("time", "status", "q", "p", "r", "outputs"):
        columns = slice(*found["layout"][block])
        error = np.abs(numbers[:, columns] - native[:, columns]).max()
        scale = 1.0 + np.abs(native[:, columns]).max()
        # A speed control amplifies errors of the speed at touch-down.
        assert error < (100.0 if block == "outputs" else 1.0) * atol * scale, block
    events = [event for event in session.stepper.events if event.kind != "input"]
    assert [event["kind"] for event in found["events"]] == [event.kind for event in events]
    times = [event["time"] for event in found["events"]]
    assert_allclose(times, [event.t for event in events], rtol=0.0, atol=1e-6)


REACH = """
import "./data.js";
import { bicyclePoints, isBicycle } from "./bicycle.js";
import { ARM, riderPoints, shoulderOf } from "./rider.js";
import { about, add, turn } from "./vectors.js";
const reaches = {};
for (const [name, { machine }] of Object.entries(draisineRide.bicycles)) {
  const torso = machine.joints.some((joint) => joint.name === "torso");
  if (!isBicycle(machine) || !torso) continue;
  const points = bicyclePoints(machine), { shoulder } = riderPoints(points);
  const steer = machine.joints.find((joint) => joint.name === "steer");
  reaches[name] = [-0.5, 0, 0.5].flatMap((angle) => points.grips.map((grip, k) => {
    const turned = turn(about(steer.axis, angle), add(grip, steer.through, -1));
    const hand = add(steer.through, turned), from = shoulderOf(shoulder, k ? -1 : 1);
    return Math.hypot(...add(hand, from, -1)) / (ARM[0] + ARM[1]);
  }));
}
console.log(JSON.stringify(reaches));
"""


@needs_node
def test_the_arms_of_the_rider_reach_the_bar(node_folder):
    """On every bicycle with a rider, also with the bar turned by half a radian."""
    (node_folder / "reach.js").write_text(REACH)
    done = subprocess.run(["node", "reach.js"], cwd=node_folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    reaches = json.loads(done.stdout)
    assert len(reaches) >= 3
    assert max(max(shares) for shares in reaches.values()) < 1.0


@needs_node
@pytest.mark.parametrize(
    ("name", "count", "kinds"),
    [
        ("ramp", 200, {"lift-off", "collision"}),
        ("kerb", 150, {"collision"}),
    ],
)
def test_ramp_and_kerb_have_the_events_of_the_package(ride_in_node, name, count, kinds):
    session = Session(name)
    native = ride_natively(session, count)
    found = ride_in_node(name, count)
    assert_same_ride(found, native, session)
    assert {event["kind"] for event in found["events"]} == kinds


@needs_node
@pytest.mark.parametrize(
    ("name", "commands"),
    [
        ("slope", {}),
        ("hills", {}),
        ("hills", {"steer_torque": 0.5, "drive": 20.0}),
    ],
)
def test_slope_and_smooth_hills_are_those_of_the_package(ride_in_node, name, commands):
    """Nothing jumps on them, so that all values agree to 1e-9; the wheels pass from patch to patch."""
    session = Session(name)
    native = ride_natively(session, 240, commands)
    found = ride_in_node(name, 240, commands)
    assert native[-1, 0] == 240 * STEPS / STEP_RATE
    assert_same_ride(found, native, session, atol=1e-9)
    kinds = {event["kind"] for event in found["events"]}
    assert kinds == ({"hand-over"} if name == "hills" else set())


@needs_node
@pytest.mark.parametrize("name", ["slope", "hills"])
def test_brakes_slide_on_a_slope_and_on_hills_as_in_the_package(ride_in_node, name):
    """With little friction the front wheel locks or slides, and the rear one follows."""
    brakes = {"front_brake": 180.0, "rear_brake": 60.0}
    found = ride_in_node(name, 60, brakes, said=[{"mu": 0.05}])
    session = Session(name, {name: replace(PRESETS[name], mu=0.05)})
    native = ride_natively(session, 60, brakes)
    assert_same_ride(found, native, session)
    loads = np.array(found["frames"], float)[-1, slice(*found["layout"]["loads"])].reshape(2, 3)
    assert_allclose(np.hypot(loads[:, 1], loads[:, 2]), 0.05 * loads[:, 0], rtol=1e-9)


@needs_node
@pytest.mark.parametrize(
    ("name", "commands"), [("wheelie", {"lift": 0.35}), ("brake", {"front_brake": 300.0})]
)
def test_wheels_lift_off_as_in_the_package(ride_in_node, name, commands):
    session = Session(name)
    native = ride_natively(session, 40, commands)
    found = ride_in_node(name, 40, commands)
    gaps = slice(*found["layout"]["gaps"])
    assert_allclose(np.array(found["frames"])[:, gaps], native[:, gaps], atol=1e-6)
    assert native[-1, gaps].max() > 0.01


@needs_node
def test_on_ice_friction_limits_the_deceleration(ride_in_node):
    """A braked wheel slides, and no deceleration exceeds mu g, 0.05 x 9.81 m/s2."""
    brakes = {"front_brake": 180.0, "rear_brake": 60.0}
    found = ride_in_node("brake", 60, brakes, said=[{"mu": 0.05}])
    session = Session("brake", {"brake": replace(PRESETS["brake"], mu=0.05)})
    native = ride_natively(session, 60, brakes)
    numbers = np.array(found["frames"], float)
    loads = numbers[:, slice(*found["layout"]["loads"])].reshape(-1, 2, 3)
    assert_allclose(np.hypot(*loads[:, :, 1:].T) / loads[:, :, 0].T, 0.05, rtol=1e-9)
    place = numbers[:, found["layout"]["p"][0]]
    time = numbers[:, 0]
    assert np.all(place > 8.0 * time - 0.5 * 0.05 * 9.81 * time**2 - 1e-9)
    assert_allclose(
        numbers[:, slice(*found["layout"]["q"])], native[:, slice(*found["layout"]["q"])], atol=1e-6
    )
    assert_allclose(
        numbers[:, slice(*found["layout"]["p"])], native[:, slice(*found["layout"]["p"])], atol=1e-6
    )


@needs_node
def test_other_bicycles_and_parameters_ride_on_terrain_too(ride_in_node):
    with catch_warnings(action="ignore", category=UserWarning):
        ramp = replace(PRESETS["ramp"], parameter_set="browser_jason")
        session = Session("ramp", {"ramp": ramp})
    native = ride_natively(session, 200)
    found = ride_in_node("ramp", 200, said=[{"parameter_set": "browser_jason"}])
    assert_same_ride(found, native, session)

    moon = Session("ramp")
    moon.change({"g": 1.62, "c": 0.1})
    native = ride_natively(moon, 230)
    found = ride_in_node("ramp", 230, said=[{"parameters": {"g": 1.62, "c": 0.1}}])
    assert_same_ride(found, native, moon)


@needs_node
def test_the_rider_takes_the_bar_on_the_way_to_the_kerb(ride_in_node):
    """From steering by torque to steering by angle, which has other equations of motion."""
    later = {"by_angle": 1.0, "angle_help": 1.0, "steer_angle": 0.03, "lean_help": 0.0}
    session = Session("kerb")
    native = ride_natively(session, 120, {"steer_torque": 0.2}, later)
    found = ride_in_node("kerb", 120, {"steer_torque": 0.2}, later)
    assert_same_ride(found, native, session)
    assert abs(native[-1, found["layout"]["r"][0]]) > 0.01


SHOW = """(name) => {
  const places = [], still = { steer: 0, faster: 0, slower: 0, brake: 0, front: 0 };
  ride.engine.say({ preset: name });
  ride.inputs.read = () => still;            // nobody steers
  ride.engine.due = () => 16;                // a slice for each frame, without waiting
  for (let k = 0; k < 3200; k++) {
    ride.ask(1 / 64);
    places.push([ride.controls.demo, ride.frame.status, ride.frame.output("lean"), ride.frame.part("p")[1]]);
  }
  ride.inputs.read = () => ({ ...still, steer: 1 });
  ride.ask(1 / 64);
  return [places, ride.controls.demo];
}"""


@pytest.mark.parametrize("name", ["steer-torque", "steer-angle", "steer-lean"])
def test_a_rider_shows_how_it_is_done_while_nobody_steers(offline, name):
    places, still = offline.evaluate(SHOW, name)
    shown, status, lean, aside = np.array(places).T
    assert 14 * 64 < np.argmax(shown) < 16 * 64
    assert shown[-1] and not still
    assert not status.any()
    assert np.abs(lean).max() < 0.25
    assert np.abs(aside).max() < 3.0
    assert np.count_nonzero(np.diff(np.sign(aside[np.abs(aside) > 0.2]))) >= 2


def test_a_ride_is_saved_as_a_table_and_a_link_carries_it(offline):
    """The CSV has one row per frame; the link opens the same ride with its parameters."""
    offline.evaluate(FRAMES, ["self-stable", "", {}, 60])
    offline.evaluate("ride.paused = true")
    with offline.expect_download() as saved:
        offline.evaluate("document.getElementById('save-csv').onclick()")
    head, *rows = Path(saved.value.path()).read_text().splitlines()
    names = head.split(",")
    values = np.array([row.split(",") for row in rows], float)
    assert values.shape[0] >= 60 and values.shape[1] == len(names)
    assert_allclose(np.diff(values[-60:, names.index("time_s")]), 17 / 1024, rtol=1e-12)
    lean = offline.evaluate("ride.frame.output('lean')")
    assert values[-1, names.index("lean_right_rad")] == lean
    offline.evaluate("ride.changes.c = 0.1; ride.engine.say({ parameters: { c: 0.1 } })")
    offline.evaluate("ride.paused = false")
    offline.evaluate("document.getElementById('language').value = 'de'; ride.showLanguage('de')")
    link = offline.evaluate("ride.link")
    assert link.startswith("file:")
    other = offline.context.new_page()
    other.goto(link)
    wait_for(other, "window.ride?.scene?.preset.name === 'self-stable' && ride.frame?.time > 0.02")
    assert other.evaluate("[ride.engine.parameters.c, document.documentElement.lang]") == [
        0.1,
        "de",
    ]


def test_a_phone_controls_everything_by_touch(exported, browser):
    """Buttons steer, drive and brake; a finger turns the camera, two fingers zoom."""
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, bypass_csp=True
    )
    context.add_init_script(FEW_FRAMES)
    page = context.new_page()
    page.complaints = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(exported.as_uri())
    wait_for(page, "window.ride?.frame?.time > 0.02")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    commands = {
        "left": "steer",
        "right": "steer",
        "faster": "faster",
        "slower": "slower",
        "brake": "brake",
        "front": "front",
    }
    for button, hand in commands.items():
        box = page.locator(f"#touch-{button}").bounding_box()
        assert box["height"] >= 40 and box["x"] >= 0 and box["x"] + box["width"] <= 390
        page.dispatch_event(f"#touch-{button}", "pointerdown", {"pointerType": "touch"})
        assert abs(page.evaluate(f"ride.inputs.read().{hand}")) == 1
        page.dispatch_event(f"#touch-{button}", "pointerup", {"pointerType": "touch"})
        assert page.evaluate(f"ride.inputs.read().{hand}") == 0
    turned = page.evaluate(FINGERS)
    assert turned["azimuth"] < 0.0 < turned["nearer"] < 1.0
    for button in ("reset", "push", "pause"):
        page.tap(f"#{button}")
    assert page.evaluate("ride.paused")
    assert page.complaints == []
    context.close()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [390, 800, 1400])
def test_the_words_of_all_languages_fit_on_the_buttons(exported, browser, language, width):
    context = browser.new_context(viewport={"width": width, "height": 600})
    context.add_init_script(FEW_FRAMES)
    page = context.new_page()
    page.goto(f"{exported.as_uri()}#lang={language}")
    wait_for(page, "window.ride?.frame?.time > 0.02")
    assert page.evaluate("document.documentElement.lang") == language
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(TOO_LONG) == []
    context.close()


TOO_LONG = """() => [...document.querySelectorAll("button")]
  .filter((button) => button.offsetParent && button.scrollWidth > button.clientWidth)
  .map((button) => button.textContent)"""


def test_a_ride_is_rehearsed_once_and_begins_as_without_rehearsal(offline):
    """The rehearsal moves another machine: the ride begins at its start, at time zero."""
    begun = offline.evaluate("""() => {
      cancelAnimationFrame(ride.next);
      const { engine } = ride;
      engine.due = () => 0;
      engine.say({ preset: "kerb" });
      engine.ask(engine.scene.controls.map(() => 0));
      const first = [...engine.frame()], rehearsed = [...engine.rehearsed];
      engine.say({ preset: "kerb" });
      engine.ask(engine.scene.controls.map(() => 0));
      return { first, second: [...engine.frame()], rehearsed, later: [...engine.rehearsed] };
    }""")
    assert begun["first"][0] == 0.0
    assert begun["first"] == begun["second"]
    assert begun["rehearsed"] == begun["later"]
    assert any(name.startswith("kerb") for name in begun["rehearsed"])


FINGERS = """() => {
  const picture = document.getElementById("picture"), { camera } = ride;
  const before = camera.azimuth, away = camera.away;
  const touch = (kind, pointerId, clientX, clientY) => {
    const button = kind === "pointermove" ? -1 : 0;
    const options = { pointerId, pointerType: "touch", button, clientX, clientY, bubbles: true };
    picture.dispatchEvent(new PointerEvent(kind, options));
  };
  touch("pointerdown", 1, 100, 200);
  touch("pointermove", 1, 140, 200);
  const azimuth = camera.azimuth - before;
  touch("pointerdown", 2, 200, 200);
  touch("pointermove", 2, 300, 200);
  const nearer = camera.away / away;
  touch("pointerup", 1, 140, 200);
  touch("pointerup", 2, 300, 200);
  return { azimuth, nearer };
}"""


def test_it_has_every_ride(offline):
    options = offline.evaluate("[...document.getElementById('preset').options].map((o) => o.value)")
    assert options == list(PRESETS)


FRAMES = """([name, mu, keys, count]) => {
  const seen = new Set();
  cancelAnimationFrame(ride.next);
  document.getElementById("preset").value = name;
  document.getElementById("preset").onchange();
  document.getElementById("mu").value = mu;
  document.getElementById("mu").onchange();
  ride.inputs.read = () => ({ steer: 0, faster: 0, slower: 0, brake: 0, front: 0, ...keys });
  ride.engine.due = () => 17;
  for (let k = 0; k < count; k++) {
    ride.ask(1 / 60);
    seen.add(document.getElementById("moment").textContent);
  }
  ride.draw();
  return { moments: [...seen], status: ride.frame.status, speed: ride.frame.output("forward_speed") };
}"""


def test_ramp_kerb_and_ice_are_ridden_from_disk(offline):
    jump = offline.evaluate(FRAMES, ["ramp", "", {}, 210])
    assert "in flight: no wheel touches the ground" in jump["moments"]
    assert jump["status"] == 0
    # The numbers of the answer: from 4 to 2.75 m/s.
    kerb = offline.evaluate(FRAMES, ["kerb", "", {}, 180])
    assert kerb["speed"] == pytest.approx(2.75, abs=0.005)
    # On ice a braked bicycle decelerates by at most mu g.
    ice = offline.evaluate(FRAMES, ["brake", "0.05", {"brake": 1, "front": 1}, 60])
    assert ice["speed"] > 8.0 - 0.05 * 9.81 * 60 * 17 / 1024
    dry = offline.evaluate(FRAMES, ["brake", "1", {"brake": 1}, 60])
    assert dry["speed"] < 7.0
    assert offline.complaints == []


def test_it_rides_from_disk(offline):
    def wait(expression):
        wait_for(offline, expression)

    wait("window.ride?.frame?.time > 0.05")
    offline.keyboard.down("ArrowRight")
    wait("ride.frame.joint('steer') < -0.01")
    offline.keyboard.up("ArrowRight")
    wait("ride.frame.output('lean') < -0.02 && ride.frame.output('yaw') > 0.01")
    for name in (name for name in PRESETS if not PRESETS[name].task):
        offline.select_option("#preset", name)
        wait(f"ride.scene.preset.name === {name!r} && ride.frame?.time > 0.02")
    assert offline.complaints == []


def test_its_parameters_change_as_those_of_the_package(offline):
    """The same ride, changed on the way: by the page alone, and by the package."""
    ends = np.array(offline.evaluate(CHANGE))
    session = Session("self-stable")
    session.advance(512, {"torso": 0.05})
    session.change({"c": 0.12, "lam": 0.4})
    session.advance(512, {"torso": 0.05})
    assert_allclose(ends, session.parts()["outputs"], rtol=1e-10, atol=1e-10)
    assert offline.complaints == []


CHANGE = """() => {
  const engine = ride.engine, given = { torso: 0.05, hold: 1, speed: 5 };
  const commands = ride.scene.controls.map((name) => given[name] ?? 0);
  cancelAnimationFrame(ride.next);
  engine.say({ preset: "self-stable" });
  engine.due = () => 512;
  engine.ask(commands);
  engine.say({ parameters: { c: 0.12, lam: 0.4 } });
  engine.ask(commands);
  return [...ride.frame.part("outputs")];
}"""


def test_impossible_parameters_are_refused_and_other_bicycles_taken_up(offline):
    offline.evaluate("ride.engine.say({ parameters: { w: NaN } })")
    assert "rides on as it was" in offline.inner_text("#message")
    assert offline.evaluate("ride.engine.parameters.w") == 1.02
    for name in ("browser_jason", "kooijman", ""):
        offline.select_option("#set", name)
        wait_for(offline, f"ride.scene.parameter_set === {name!r} && ride.frame?.time > 0.02")
    offline.click("#parameters summary")
    offline.locator("#sliders input").first.fill("0.1")
    wait_for(
        offline, "Math.abs(ride.scene.sliders.c.value - 0.1) < 0.01 && ride.frame?.time > 0.02"
    )
    assert offline.complaints == []
