"""The page in a real browser: what it shows, what hands do to it. States are compared, never frame
rates.
"""

import json
import time
from pathlib import Path

import pytest

from draisine.ride.presets import PRESETS, make_preset
from ride.conftest import FEW_FRAMES, serving

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
SMALL = {"width": 640, "height": 400}


class Tab:
    """A page and its console errors."""

    def __init__(self, browser, address, before="", viewport=SMALL, **options):
        self.context = browser.new_context(viewport=viewport, **options)
        self.context.add_init_script(FEW_FRAMES)
        self.page = self.context.new_page()
        self.complaints = []
        self.page.on(
            "console", lambda m: self.complaints.append(m.text) if m.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        if before:
            self.page.add_init_script(before)
        self.page.goto(address)

    def read(self, expression):
        return self.page.evaluate(expression)

    def wait(self, expression, seconds=60.0):
        end = time.monotonic() + seconds
        while not self.read(expression):
            assert time.monotonic() < end, f"{expression}: {self.complaints} {self.message()}"
            time.sleep(0.02)

    def message(self):
        return self.read("document.getElementById('message').textContent")

    def riding(self, since=0.02):
        self.wait(f"window.ride?.frame?.time > {since}")
        self.read("ride.controls.patience = Infinity")  # nobody else steers, however slow this is
        return self

    def choose(self, name):
        self.page.select_option("#preset", name)
        self.wait(f"ride.scene?.preset.name === {name!r} && ride.frame?.time > 0.02")


@pytest.fixture
def tab(browser, served):
    open_tabs = []

    def opened(**options):
        found = Tab(browser, served.address, **options)
        open_tabs.append(found)
        return found

    yield opened
    for one in open_tabs:
        one.context.close()
    end = time.monotonic() + 5.0
    while served.taken and time.monotonic() < end:
        time.sleep(0.01)


def test_a_tap_to_the_right_steers_right_and_leans_left(tab):
    page = tab().riding()
    page.page.keyboard.down("ArrowRight")
    page.wait("ride.frame.joint('steer') < -0.01", 10.0)
    page.page.keyboard.up("ArrowRight")
    page.wait("ride.frame.output('lean') < -0.02 && ride.frame.joint('steer') > 0.005", 10.0)
    page.wait("ride.frame.output('yaw') > 0.01", 10.0)
    assert page.complaints == []
    assert page.read("ride.picture.constructor.name") in ("WebglPicture", "CanvasPicture")


def test_mouse_touch_and_gamepad_steer_like_keys(tab):
    page = tab(
        before="""const pad = { connected: true, axes: [0, 0], buttons: [] };
        navigator.getGamepads = () => [pad]; window.pad = pad;"""
    ).riding()
    page.read("pad.axes[0] = 0.05")
    page.wait("ride.commands.steer_torque === 0")
    page.read("pad.axes[0] = 1")
    page.wait("ride.commands.steer_torque === -2")
    page.read("pad.axes[0] = 0")
    page.read(
        "pad.buttons = Array.from({ length: 16 }, () => ({ value: 0 })); pad.buttons[6].value = 1"
    )
    page.wait("ride.commands.rear_brake === 60")
    page.read("pad.buttons[6].value = 0; pad.buttons[9].value = 1")
    page.wait("ride.paused")
    page.read("pad.buttons[9].value = 0")
    page.wait("ride.inputs.down.length === 0")
    page.read("pad.buttons[9].value = 1")
    page.wait("!ride.paused")
    page.read("pad.buttons[9].value = 0")
    box = page.page.locator("#touch-left").bounding_box()
    page.page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.page.mouse.down()
    page.wait("ride.commands.steer_torque === 2")
    page.page.mouse.up()
    page.wait("ride.commands.steer_torque === 0")
    page.page.dispatch_event("#touch-right", "pointerdown", {"pointerType": "touch"})
    page.wait("ride.commands.steer_torque === -2")
    page.page.dispatch_event("#touch-right", "pointerup", {"pointerType": "touch"})
    page.wait("ride.commands.steer_torque === 0")
    box = page.page.locator("#picture").bounding_box()
    x = box["x"] + 0.6 * box["width"]
    y = box["y"] + 0.3 * box["height"]
    page.page.mouse.move(x, y)
    page.page.mouse.down(button="right")
    page.page.mouse.move(x + 75, y)
    page.wait("ride.commands.steer_torque < -0.5")
    page.page.mouse.up(button="right")
    page.wait("ride.commands.steer_torque === 0")
    assert page.complaints == []


def test_leaving_the_window_lets_go_of_all_keys(tab):
    page = tab().riding()
    page.page.keyboard.down("a")
    page.wait("ride.commands.steer_torque === 2")
    page.read("window.dispatchEvent(new Event('blur'))")
    page.wait("ride.commands.steer_torque === 0")


def test_the_three_ways_are_switched_by_keys_and_a_push_is_felt(tab):
    page = tab().riding()
    for key, way in (("2", "angle"), ("3", "lean"), ("1", "torque")):
        page.page.keyboard.press(key)
        page.wait(f"ride.controls.way === {way!r} && ride.commands")
    page.page.keyboard.press("p")
    page.wait("Math.abs(ride.frame.output('lean')) > 0.004", 10.0)


def test_every_preset_can_be_ridden_and_sliders_change_the_machine(tab):
    page = tab().riding()
    for name in (name for name in PRESETS if not PRESETS[name].task):
        page.choose(name)
        assert page.page.inner_text("#title") == PRESETS[name].title
    page.choose("self-stable")
    page.page.click("#parameters summary")
    slider = page.page.locator("#sliders input").first
    slider.fill("0.1")
    page.wait("Math.abs(ride.scene?.sliders.c.value - 0.1) < 0.01 && ride.frame?.time > 0.02")
    assert page.complaints == []


def test_a_fall_ends_in_words_and_restarts(tab):
    page = tab().riding()
    page.choose("steer-angle")
    page.page.select_option("#help", "none")
    page.page.keyboard.down("a")
    page.wait("ride.over", 30.0)
    page.page.keyboard.up("a")
    assert "Press R" in page.message()
    page.page.keyboard.press("r")
    page.wait("!ride.over && ride.frame?.time > 0.01 && ride.frame.time < 5")


def test_a_second_tab_reports_that_another_is_riding(tab):
    tab().riding()
    second = tab()
    second.wait(
        "document.getElementById('message').textContent.includes('Another tab is riding')", 10.0
    )


def test_a_lost_connection_is_taken_up_again(tab):
    page = tab().riding()
    page.read("ride.engine.socket.close()")
    page.wait("ride.scene === null", 10.0)
    page.wait("ride.scene && ride.frame?.time > 0.02")


def test_without_webgl_the_page_reports_it_and_draws_lines(tab):
    page = tab(
        before="""const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
          return kind.startsWith("webgl") ? null : get.call(this, kind, ...more);
        };"""
    ).riding()
    assert page.read("ride.picture.constructor.name") == "CanvasPicture"
    assert "without WebGL" in page.page.inner_text("#no-webgl")
    assert page.complaints == []


def test_without_the_bundle_the_page_reports_it_and_draws_lines(tab, monkeypatch):
    monkeypatch.setattr("draisine.ride.server.has_bundle", lambda: False)
    page = tab().riding()
    assert page.read("ride.picture.constructor.name") == "CanvasPicture"
    assert "bundle of three.js is not installed" in page.page.inner_text("#no-webgl")
    assert "Plots need the bundle" in page.page.inner_text("#plots")
    assert page.complaints == []


def test_vehicle_and_ground_are_chosen_on_the_page(tab):
    page = tab().riding()
    page.choose("steer-torque")
    page.page.select_option("#ground", "kerb")
    page.wait("ride.scene?.ground_name === 'kerb' && ride.frame?.time > 0.02")
    assert page.read("ride.scene.preset.name") == "steer-torque"
    page.page.select_option("#vehicle", "rolling_disc")
    page.wait("ride.scene?.vehicle === 'rolling_disc' && ride.frame?.time > 0.02")
    assert not page.page.locator("#ground").is_visible()
    page.choose("steer-torque")
    page.page.select_option("#ground", "smooth")
    page.wait("ride.scene?.ground_name === 'smooth' && ride.frame?.time > 0.02")
    assert page.complaints == []


@pytest.mark.parametrize("width", [320, 1280, 2560])
def test_the_page_fits_small_and_large_screens(tab, width):
    page = tab(viewport={"width": width, "height": 600}).riding()
    assert page.read("document.documentElement.scrollWidth") <= width
    page.read("panel.style.maxWidth = `${panel.offsetWidth - 15}px`")  # as beside a scroll bar
    assert page.read("panel.scrollWidth <= panel.clientWidth")
    page.page.keyboard.press("?")
    assert page.page.locator("#keys").is_visible()
    inside, shown = page.read("[keys.scrollHeight, keys.clientHeight]")
    assert inside <= shown or width < 760


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed (npm ci)")
def test_the_page_is_accessible(tab):
    page = tab(bypass_csp=True).riding()
    page.page.add_script_tag(path=str(AXE))
    found = page.read("axe.run().then((result) => JSON.stringify(result.violations))")
    serious = [v["id"] for v in json.loads(found) if v["impact"] in ("serious", "critical")]
    assert serious == []


def test_smooth_ground_of_a_scenario_is_drawn_and_ridden(browser, tmp_path):
    """The page draws the waves, rides over them, and names none of its own grounds."""
    scenario = tmp_path / "waves.toml"
    scenario.write_text(
        'title = "Waves"\nkind = "run"\n[vehicle]\nname = "whipple"\n'
        '[terrain]\nshape = "road"\nx = [-5, 60]\nz = "0.03*(1 - cos(pi*x))"\n'
        "[initial]\nforward_speed = 5.0\n"
        'place = { wheel = "rear", centre = [0.0, 0.0], on = "ground" }\n[run]\nuntil = 5.0\n'
    )
    with serving("waves", presets={"waves": make_preset(str(scenario)), **PRESETS}) as ride:
        page = Tab(browser, ride.address).riding(0.5)
        assert page.read("document.getElementById('ground').selectedOptions[0].text") == "its own"
        heights = page.read(
            "ride.scene.ground.patches.flatMap((p) => p.outline.filter((_, i) => i % 3 === 2))"
        )
        assert max(heights) == pytest.approx(0.06, abs=2e-3)
        assert min(heights) == pytest.approx(0.0, abs=2e-3)
        assert len(heights) > 1000
        assert page.complaints == []
        assert page.message() == ""
        page.context.close()


def test_a_second_browser_opens_with_the_requested_ride(browser):
    """Not with the ride that the first one has chosen; a link asks for another ride with its parameters."""
    with serving("weave") as ride:
        first = Tab(browser, ride.address).riding()
        assert first.read("ride.scene.preset.name") == "weave"
        first.choose("fall")
        first.context.close()
        second = Tab(browser, ride.address).riding()
        assert second.read("ride.scene.preset.name") == "weave"
        second.context.close()
        third = Tab(browser, f"{ride.address}#ride=self-stable&p.c=0.12&lang=fr")
        third.wait("ride.scene?.preset.name === 'self-stable' && ride.frame?.time > 0.02")
        third.wait("ride.scene?.sliders.c.value === 0.12")
        assert third.read("document.documentElement.lang") == "fr"
        assert third.complaints == []
        third.context.close()


def test_slow_pictures_are_simplified_and_slow_motion_is_announced(tab):
    page = tab().riding()
    page.read("""() => {
      cancelAnimationFrame(ride.next);
      document.getElementById("quality").value = "0";
      document.getElementById("quality").onchange();
      document.getElementById("quality").value = "auto";
      ride.smoothness.begin();
    }""")
    # Frames of 50 ms in which the ride advances by half of that; the first second does not count.
    count = """(shares) => {
      const time = ride.frame.time;
      Object.defineProperty(ride.frame, "time", { configurable: true, get: () => ride.fake });
      for (let k = 0; k < 100; k++) { ride.fake = time + 0.05 * shares * k; ride.measure(1000 + 50 * k); }
      return [ride.smoothness.level, ride.smoothness.factor];
    }"""
    level, factor = page.page.evaluate(count, 0.5)
    assert level == 2
    assert factor == pytest.approx(0.5, abs=0.03)
    assert "Slow motion x 0.5" in page.page.inner_text("#note")


def test_a_served_task_is_ridden_and_its_ride_is_saved(tab):
    """The server starts a task at rest; the policy of the page allows files to be saved."""
    page = tab().riding()
    page.page.select_option("#preset", "stop")
    page.wait("document.getElementById('task').open && ride.frame?.time === 0")
    page.page.click("#task-choices label >> nth=0")
    page.page.click("#task-start")
    page.wait("ride.frame?.time > 0.02 && ride.task")
    with page.page.expect_download() as saved:
        page.read("document.getElementById('save-csv').onclick()")
    assert "steer_left_rad" in Path(saved.value.path()).read_text()
    page.wait("document.getElementById('task').open", 60.0)  # nobody brakes
    assert "crossed the line" in page.page.inner_text("#task-result")
    assert page.complaints == []


def test_sound_is_off_until_it_is_wanted(tab):
    page = tab().riding()
    assert page.read("ride.sound.context === undefined")
    page.page.check("#sound")
    page.wait("ride.sound.context && ride.sound.wind.gain !== undefined")
    page.page.uncheck("#sound")
    page.wait("ride.sound.context.state !== 'running'")
    assert page.complaints == []


def test_readings_name_their_direction(tab):
    page = tab().riding()
    page.page.keyboard.down("ArrowRight")
    page.wait("Math.abs(ride.frame.input('steer')) > 0.5")
    row = "document.querySelectorAll('#gauges tr')[3].innerText"
    page.wait(f"{row}.includes('N m right')")
    page.page.keyboard.up("ArrowRight")
    page.wait("ride.frame.output('lean') < -0.02", 10.0)
    page.wait("document.querySelectorAll('#gauges tr')[1].innerText.includes('deg left')")


def test_every_picture_needs_few_draw_calls(tab):
    page = tab().riding()
    if page.read("ride.picture.constructor.name") != "WebglPicture":
        pytest.skip("this browser has no WebGL, or three.js is not installed")
    page.page.select_option("#quality", "0")
    page.wait("ride.picture.quality.shadows && ride.drawn > 0")
    for name in ("steer-torque", "kerb", "skate"):
        page.choose(name)
        page.wait("ride.picture.calls > 0")
        assert page.read("ride.picture.calls") <= 150
    page.read("document.getElementById('ghost').onclick()")
    page.wait("ride.picture.calls > 0 && ride.frame?.time > 0.02")
    assert page.read("ride.picture.calls") <= 150
