"""Pictures of every ride and task, and a film of one minute, taken from the exported page in a browser.

`python docs/ride_pictures.py docs/figures/ride` writes the pictures of the tutorial;
`python docs/ride_pictures.py --film ride.mp4` writes the film and needs ffmpeg;
`python docs/ride_pictures.py --film docs/figures/ride/film.webp` writes the same minute as a small moving
picture for the README and the landing page. All need playwright, chromium and Pillow. Frames are computed
one by one, so that the result does not depend on the speed of the computer.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
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

STEPS_PER_SECOND = 1024
"""Simulation steps of a ride per second."""

FRAME_STEPS = 16
"""Simulation steps between two readings of the controls: 1/64 s, as in the tests of the scripted riders."""

FILM_RATE = 32
"""Frames per second of the film; one frame is a whole number of control readings."""

MOVING_PICTURE_RATE = 8
"""Frames per second of the small moving picture."""

MOVING_PICTURE_SIZE = (480, 270)

MAX_MOVING_PICTURE_BYTES = 1_500_000
"""Largest size of the moving picture: it is loaded with every visit of the landing page."""

MOVING_PICTURE_QUALITIES = (50, 40, 30, 25, 20, 15, 10, 5)
"""Qualities of the WebP file; the first one that is small enough is used."""

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
FOLLOW = """(count) => {
  for (let k = 0; k < count; k++) ride.ask(1 / 60);
  ride.draw();
}"""
"""Script that advances like `ADVANCE`, with a camera that follows calmly."""


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


def film_frames(folder: Path, rate: int) -> list[Path]:
    """Ride the scenes of the film in real time and return their frames, `rate` per second."""
    readings = STEPS_PER_SECOND // FRAME_STEPS // rate
    frames = []
    with opened(FILM_SIZE) as page:
        page.add_style_tag(
            content="#panel, #touch, #language, #task-progress { display: none !important; }"
        )
        for name, seconds, camera in FILM:
            begin(page, name, camera, FRAME_STEPS)
            for _ in range(round(seconds * rate)):
                page.evaluate(FOLLOW, readings)
                frames.append(folder / f"{len(frames):05d}.jpg")
                page.screenshot(path=frames[-1], type="jpeg", quality=88)
    return frames


def make_film(target: Path) -> None:
    """Write a film of one minute: each scene is ridden frame by frame in real time."""
    with tempfile.TemporaryDirectory() as folder:
        if target.suffix == ".webp":
            frames = film_frames(Path(folder), MOVING_PICTURE_RATE)
            return write_moving_picture(frames, target)
        film_frames(Path(folder), FILM_RATE)
        command = ["ffmpeg", "-y", "-loglevel", "error", "-framerate", str(FILM_RATE)]
        command += ["-i", f"{folder}/%05d.jpg", "-c:v", "libx264", "-crf", "27", "-preset", "slow"]
        command += ["-pix_fmt", "yuv420p", "-movflags", "+faststart", str(target)]
        subprocess.run(command, check=True)
    return None


def write_moving_picture(frames: list[Path], target: Path) -> None:
    """Write frames as an animated WebP file, with the best quality that is small enough."""
    small = [
        Image.open(frame).resize(MOVING_PICTURE_SIZE, Image.Resampling.LANCZOS) for frame in frames
    ]
    duration = round(1000 / MOVING_PICTURE_RATE)
    for quality in MOVING_PICTURE_QUALITIES:
        small[0].save(
            target,
            save_all=True,
            append_images=small[1:],
            duration=duration,
            loop=0,
            quality=quality,
            method=4,
        )
        if target.stat().st_size <= MAX_MOVING_PICTURE_BYTES:
            return
    raise SystemExit(f"{target} is larger than {MAX_MOVING_PICTURE_BYTES} bytes.")


if __name__ == "__main__":
    if sys.argv[1] == "--film":
        make_film(Path(sys.argv[2]))
    else:
        take_pictures(Path(sys.argv[1]))
