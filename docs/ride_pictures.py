"""Pictures of every ride and task, and a film of one minute, taken from the exported page in a browser.

`python docs/ride_pictures.py docs/figures/ride` writes the pictures of the tutorial;
`python docs/ride_pictures.py --film ride.mp4` writes the film and needs ffmpeg. Both need playwright and
chromium. Frames are computed one by one, so that the result does not depend on the speed of the computer.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from draisine.ride.export import ride_page
from draisine.ride.presets import PRESETS

ROOT = Path(__file__).parents[1]

MOMENTS = {"ramp": 2.25, "kerb": 2.05, "wheelie": 1.5, "brake": 0.45, "capsize": 3.0, "weave": 2.5}
MOMENTS |= {"slalom": 5.4, "circle": 9.0, "slow": 1.0, "lane": 7.3, "landing": 0.95, "stop": 1.5}
MOMENTS |= {"ice": 4.6, "fall": 1.6, "self-stable": 0.4, "hills": 4.25}
"""Times (s) at which rides are photographed; otherwise after one second."""

HANDS = {"wheelie": {"faster": 1}, "brake": {"front": 1}, "steer-lean": {"steer": 1}}
HANDS |= {"steer-angle": {"steer": 1}, "steer-torque": {"steer": -1}}
HANDS |= {"weave": {}, "fall": {}, "capsize": {}, "self-stable": {}}
"""What hands do on rides; tasks have their own riders."""

TAP = 0.3
"""Time (s) after which hands let go of the bar."""

CAMERAS = {
    "kerb": "chase",
    "steer-lean": "side",
    "wheelie": "side",
    "brake": "side",
    "landing": "side",
}

FILM = [
    ("steer-torque", 8.0, "chase"),
    ("slalom", 18.0, None),
    ("ramp", 4.0, "side"),
    ("wheelie", 4.0, "side"),
    ("weave", 5.0, "chase"),
    ("circle", 13.0, None),
    ("stop", 4.0, "side"),
    ("ice", 4.0, None),
]
"""Scenes of the film: ride, length (s), camera; one minute in all."""

FILM_SIZE = {"width": 960, "height": 540}

FRAMES_PER_SECOND = 20

BEGIN = """([name, hands, camera, tap, steps]) => {
  cancelAnimationFrame(ride.next);
  const still = { steer: 0, faster: 0, slower: 0, brake: 0, front: 0 };
  const list = document.getElementById("preset");
  if (ride.scene.preset.name !== name) {
    list.value = name;
    list.onchange();
  }
  if (ride.scene.preset.task) {
    document.querySelector("#task-choices input").click();
    document.getElementById("task-start").click();
  }
  const steer = (frame) => (frame.time < tap ? hands.steer ?? 0 : 0);
  const rider = window.riders[name]?.good ?? ((frame) => ({ ...still, ...hands, steer: steer(frame) }));
  ride.inputs.read = () => (ride.frame ? rider(ride.frame) : still);
  ride.engine.due = () => (ride.frame ? steps : 0);
  ride.controls.patience = Infinity;
  ride.picture.setQuality(0);
  if (camera) ride.camera.choose(camera);
  ride.camera.yaw = null;
  ride.measure = () => {};
  ride.ask(0);
}"""
"""Script that begins a ride, whose frames are then requested one by one."""

ADVANCE = """(count) => {
  for (let k = 0; k < count; k++) ride.ask(1 / 60);
  ride.camera.yaw = null;
  ride.draw();
}"""
FOLLOW = "() => { ride.ask(1 / 60); ride.draw(); }"


@contextmanager
def opened(viewport: dict[str, int]) -> Iterator[Page]:
    """Open the exported page in a browser."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "ride.html"
        path.write_text(ride_page(), encoding="utf-8")
        options = ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        page = browser.new_page(viewport=viewport, locale="en-GB")
        page.set_default_timeout(300_000.0)
        page.goto(path.as_uri())
        page.wait_for_function("window.ride?.frame?.time > 0.02")
        riders = (ROOT / "tests/ride/riders.js").read_text(encoding="utf-8").replace("export ", "")
        page.evaluate(
            f"window.riders = (() => {{\n{riders}\nreturn makeRiders(ride.tasks);\n}})();"
        )
        yield page
        browser.close()


def begin(page: Page, name: str, camera: str | None, steps: int) -> None:
    """Begin a ride with `steps` simulation steps of 1/1024 s per frame."""
    tap = {"steer": -1} if PRESETS[name].ground is None else {}
    arguments: list[Any] = [name, HANDS.get(name, tap), camera, TAP, steps]
    page.evaluate(BEGIN, arguments)


def take_pictures(folder: Path) -> None:
    """Photograph every ride at its moment, the whole page, the windows of a task, and the page on a phone."""
    folder.mkdir(parents=True, exist_ok=True)
    options: Any = {"type": "jpeg", "quality": 75}
    with opened({"width": 1120, "height": 560}) as page:
        page.add_style_tag(content="#gauges, #touch { zoom: 0.75; }")
        for name in PRESETS:
            begin(page, name, CAMERAS.get(name), 16)
            page.evaluate(ADVANCE, round(64 * MOMENTS.get(name, 1.0)))
            page.evaluate("document.getElementById('message').hidden = true")
            page.locator("#view").screenshot(path=folder / f"{name}.jpg", **options)
            if name == "steer-torque":
                page.screenshot(path=folder / "page.jpg", **options)
        begin(page, "slalom", None, 16)
        page.evaluate("() => { while (ride.task) ride.ask(1 / 60); ride.draw(); }")
        page.set_viewport_size({"width": 1000, "height": 860})
        page.screenshot(path=folder / "task.jpg", **options)
    with opened({"width": 390, "height": 844}) as page:
        begin(page, "steer-torque", None, 16)
        page.evaluate(ADVANCE, 64)
        page.screenshot(path=folder / "phone.jpg", **options)


def make_film(target: Path) -> None:
    """Write a film of one minute: each scene is ridden frame by frame in real time."""
    with opened(FILM_SIZE) as page, tempfile.TemporaryDirectory() as folder:
        page.add_style_tag(
            content="#panel, #touch, #language, #task-progress { display: none !important; }"
        )
        count = 0
        for name, seconds, camera in FILM:
            begin(page, name, camera, round(1024 / FRAMES_PER_SECOND))
            for _ in range(round(seconds * FRAMES_PER_SECOND)):
                page.evaluate(FOLLOW)
                page.screenshot(path=f"{folder}/{count:05d}.jpg", type="jpeg", quality=88)
                count += 1
        command = ["ffmpeg", "-y", "-loglevel", "error", "-framerate", str(FRAMES_PER_SECOND)]
        command += ["-i", f"{folder}/%05d.jpg", "-c:v", "libx264", "-crf", "27", "-preset", "slow"]
        command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(target)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--film":
        make_film(Path(sys.argv[2]))
    else:
        take_pictures(Path(sys.argv[1]))
