"""The ride as one file."""

import json
import shutil
import subprocess
import time
from warnings import catch_warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.ride.export import ride_page
from draisine.ride.presets import PRESETS
from draisine.ride.session import STEP_RATE, Session
from ride.conftest import FEW_FRAMES


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "ride.html"
    path.write_text(ride_page(), encoding="utf-8")
    return path


def test_the_page_is_small_and_loads_nothing(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    assert "src=" not in text.split("<script>")[0]
    assert 'href="style.css"' not in text


def test_the_page_starts_with_the_requested_ride(page):
    with catch_warnings(
        action="error"
    ):  # nobody chose a bicycle about which there is something to say
        written = ride_page(first="weave")
    first = written.partition('"rides":{"')[2].partition('"')[0]
    assert first == "weave"
    assert page.read_text(encoding="utf-8").partition('"rides":{"')[2].startswith("steer-torque")


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
def test_its_simulator_agrees_with_the_package(page, tmp_path):
    script = page.read_text(encoding="utf-8").split("<script>")[-1].split("</script>")[0]
    assert script.strip().startswith("globalThis.draisineRide")
    (tmp_path / "ride.js").write_text(script + NODE.replace("RATE", str(STEP_RATE)))
    done = subprocess.run(["node", "ride.js"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    session = Session("self-stable")
    session.advance(5 * STEP_RATE, {})
    assert_allclose(found["outputs"], session.parts()["outputs"], rtol=1e-12, atol=1e-12)
    assert_allclose(found["v"], session.stepper.state.v, rtol=1e-12, atol=1e-12)


@pytest.fixture
def tab(page, browser):
    """The page, opened from disk."""
    context = browser.new_context(viewport={"width": 640, "height": 400})
    context.add_init_script(FEW_FRAMES)
    tab = context.new_page()
    tab.complaints = []
    tab.on("console", lambda m: tab.complaints.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.goto(page.as_uri())
    yield tab
    context.close()


def wait_for(tab, expression, seconds=30.0):
    end = time.monotonic() + seconds
    while not tab.evaluate(expression):
        assert time.monotonic() < end, (expression, tab.complaints)
        time.sleep(0.02)


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
def test_a_rider_shows_how_it_is_done_while_nobody_steers(tab, name):
    wait_for(tab, "window.ride?.frame?.time > 0.02")
    places, still = tab.evaluate(SHOW, name)
    shown, status, lean, aside = np.array(places).T
    assert 14 * 64 < np.argmax(shown) < 16 * 64
    assert shown[-1] and not still
    assert not status.any()
    assert np.abs(lean).max() < 0.25
    assert np.abs(aside).max() < 3.0
    assert np.count_nonzero(np.diff(np.sign(aside[np.abs(aside) > 0.2]))) >= 2


def test_unsupported_rides_are_listed_but_disabled(page, tab):
    """They are in the list but cannot be chosen; the page names the command that has them."""
    wait_for(tab, "window.ride?.frame?.time > 0.02")
    options = "[...document.getElementById('preset').options]"
    away = tab.evaluate(f"{options}.filter((o) => o.disabled).map((o) => [o.value, o.text])")
    assert [name for name, _ in away] == ["ramp", "kerb", "wheelie", "brake"]
    assert all(text.endswith(": by draisine ride") for _, text in away)
    assert tab.evaluate(f"{options}.length") == len(PRESETS)


def test_it_rides_from_disk(tab):
    def wait(expression):
        wait_for(tab, expression)

    wait("window.ride?.frame?.time > 0.05")
    tab.keyboard.down("ArrowRight")
    wait("ride.frame.joint('steer') < -0.01")
    tab.keyboard.up("ArrowRight")
    wait("ride.frame.output('lean') < -0.02 && ride.frame.output('yaw') > 0.01")
    for name in tab.evaluate("Object.keys(ride.scene.presets)"):
        tab.select_option("#preset", name)
        wait(f"ride.scene.preset.name === {name!r} && ride.frame?.time > 0.02")
    assert tab.complaints == []


def test_its_parameters_change_as_those_of_the_package(tab):
    """The same ride, changed on the way: by the page alone, and by the package."""
    wait_for(tab, "window.ride?.frame?.time > 0.02")
    ends = np.array(tab.evaluate(CHANGE))
    session = Session("self-stable")
    session.advance(512, {"torso": 0.05})
    session.change({"c": 0.12, "lam": 0.4})
    session.advance(512, {"torso": 0.05})
    assert_allclose(ends, session.parts()["outputs"], rtol=1e-10, atol=1e-10)
    assert tab.complaints == []


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


def test_impossible_parameters_are_refused_and_other_bicycles_taken_up(tab):
    wait_for(tab, "window.ride?.frame?.time > 0.02")
    tab.evaluate("ride.engine.say({ parameters: { w: NaN } })")
    assert "rides on as it was" in tab.inner_text("#message")
    assert tab.evaluate("ride.engine.parameters.w") == 1.02
    for name in ("browser_jason", "kooijman", ""):
        tab.select_option("#set", name)
        wait_for(tab, f"ride.scene.parameter_set === {name!r} && ride.frame?.time > 0.02")
    tab.click("#parameters summary")
    tab.locator("#sliders input").first.fill("0.1")
    wait_for(tab, "Math.abs(ride.scene.sliders.c.value - 0.1) < 0.01 && ride.frame?.time > 0.02")
    assert tab.complaints == []
