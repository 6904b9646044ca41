"""A ride that is replayed: the page of `draisine animate` in a real browser."""

import time

import pytest

from draisine.ride.repeat import ride_dataset
from draisine.ride.session import Session
from draisine.view.replay import replay_page as replay_page
from ride.conftest import FEW_FRAMES


@pytest.fixture(scope="module")
def replay(tmp_path_factory, browser):
    """The replay of a ride over a kerb."""
    session = Session("kerb")
    for _ in range(140):
        session.advance(16, {"lean_help": 5.0})
    path = tmp_path_factory.mktemp("replay") / "ride.html"
    path.write_text(replay_page(ride_dataset(session), terrain=session.terrain), encoding="utf-8")
    context = browser.new_context(viewport={"width": 640, "height": 400}, has_touch=True)
    context.add_init_script(FEW_FRAMES)
    tab = context.new_page()
    tab.complaints = []
    tab.on("console", lambda m: tab.complaints.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.goto(path.as_uri())
    yield tab
    assert tab.complaints == []
    context.close()


def inked(tab, canvas):
    """Return how many pixels of a canvas are drawn."""
    return tab.evaluate(
        f"""() => {{
          const one = document.getElementById("{canvas}"), pen = one.getContext("2d");
          const dots = pen.getImageData(0, 0, one.width, one.height).data;
          let count = 0;
          for (let k = 3; k < dots.length; k += 4) count += dots[k] > 0 ? 1 : 0;
          return count;
        }}"""
    )


def test_uneven_ground_is_shown_from_the_side_and_views_can_be_chosen(replay):
    assert replay.input_value("#from") == "side"
    before = replay.evaluate("eye.azimuth")
    for view in ("behind", "front", "above", "aslant"):
        replay.select_option("#from", view)
        assert replay.evaluate("eye.azimuth") != before or replay.evaluate("eye.elevation") > 1.0
    replay.select_option("#from", "side")
    assert replay.evaluate("eye.azimuth") == before


def test_forces_are_drawn_on_demand(replay):
    replay.evaluate("go(0.5)")
    before = inked(replay, "picture")
    replay.check("#forces")
    assert inked(replay, "picture") > before
    replay.uncheck("#forces")


def test_keys_change_speed_and_time_and_play(replay):
    replay.evaluate("go(0.5)")
    replay.focus("#play")
    assert replay.input_value("#speed") == "1"
    replay.keyboard.press("+")
    assert replay.input_value("#speed") == "2"
    replay.keyboard.press("-")
    replay.keyboard.press("ArrowRight")
    assert replay.evaluate("now") > 0.5


def test_a_loop_begins_again(replay):
    """Short runs are looped unless one does not want them to."""
    assert replay.is_checked("#loop")
    replay.evaluate("go(last - 0.01); play(true)")
    end = time.monotonic() + 20.0
    while replay.evaluate("now > 1.5"):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert replay.evaluate("playing")
    replay.uncheck("#loop")
    replay.evaluate("go(last - 0.01); play(true)")
    while replay.evaluate("playing"):
        assert time.monotonic() < end
        time.sleep(0.02)
    assert replay.evaluate("now === last")


def test_two_fingers_zoom(replay):
    before = replay.evaluate("eye.away")
    replay.evaluate(
        """() => {
          const picture = document.getElementById("picture");
          picture.setPointerCapture = () => {};
          const finger = (kind, id, x) => picture.dispatchEvent(new PointerEvent(kind,
            { pointerId: id, pointerType: "touch", clientX: x, clientY: 100, buttons: 1 }));
          finger("pointerdown", 1, 200); finger("pointerdown", 2, 300);
          finger("pointermove", 2, 400); finger("pointerup", 1, 200); finger("pointerup", 2, 400);
        }"""
    )
    assert replay.evaluate("eye.away") == pytest.approx(before / 2.0)


def test_it_fills_the_screen_on_demand(replay):
    replay.click("#whole")
    end = time.monotonic() + 10.0
    while not replay.evaluate("Boolean(document.fullscreenElement)"):
        assert time.monotonic() < end
        time.sleep(0.02)
    replay.click("#whole")


def test_the_strip_shows_events_and_the_limits_of_its_scales(replay):
    """Without the words fewer pixels are drawn."""
    assert "collision" in replay.evaluate("M.events.map((event) => event.name).join()")
    before = inked(replay, "strip")
    replay.evaluate("line.fillText = () => {}; draw()")
    assert inked(replay, "strip") < before
    replay.evaluate("delete line.fillText; draw()")
