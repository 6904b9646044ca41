"""Pictures of every ride, taken in a browser: `python docs/ride_pictures.py docs/figures/ride`.

Needs playwright and chromium; each preset is ridden for a moment, slowly, and photographed, and the
whole page once. The tutorial shows them all.
"""

import shutil
import socket
import sys
import threading
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from draisine.ride.presets import PRESETS
from draisine.ride.serve import make_server
from draisine.ride.server import RideServer

MOMENTS = {
    "ramp": 2.35,
    "kerb": 2.0,
    "wheelie": 1.5,
    "brake": 0.45,
    "capsize": 3.0,
    "steer-torque": 0.8,
}
"""When a ride is worth a picture, s; otherwise after one second."""

KEYS = {"wheelie": "ArrowUp", "brake": "b", "steer-torque": "ArrowRight"}
KEYS |= {"steer-lean": "ArrowLeft", "steer-angle": "ArrowLeft"}
"""What is held meanwhile; elsewhere a tap to the right."""


JPEG = {"type": "jpeg", "quality": 75}

WHOLE = "steer-torque"
"""The ride of which the whole page is shown."""


def take(page: Page, name: str, target: Path) -> None:
    """Ride a preset until its moment and take a picture."""
    page.evaluate("ride.scene = ride.frame = null")
    page.select_option("#preset", name)
    page.focus("#picture")
    while not page.evaluate(f"ride.scene?.preset.name === {name!r} && ride.frame?.time > 0.01"):
        time.sleep(0.02)
    page.select_option("#pace", "0.25")
    key = KEYS.get(name) or ("ArrowRight" if PRESETS[name].ground is None else None)
    if key:
        page.keyboard.down(key)
    until, tap = MOMENTS.get(name, 1.0), 0.25
    while page.evaluate("ride.frame.time") < until and not page.evaluate("ride.over"):
        if key and name not in KEYS and page.evaluate("ride.frame.time") > tap:
            page.keyboard.up(key)
            key = None
    page.keyboard.press("Escape")
    page.evaluate("document.getElementById('message').hidden = true")
    page.locator("#view").screenshot(path=target / f"{name}.jpg", **JPEG)
    if name == WHOLE:
        page.screenshot(path=target / "page.jpg", **JPEG)
    page.keyboard.press("Escape")
    if key:
        page.keyboard.up(key)


def main(folder: str) -> None:
    """Take all pictures."""
    listening = socket.create_server(("127.0.0.1", 0))
    ride = RideServer(next(iter(PRESETS)), listening.getsockname()[1])
    server = make_server(ride)
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    Path(folder).mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        options = ["--no-sandbox", "--enable-unsafe-swiftshader", "--use-angle=swiftshader"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        page = browser.new_page(viewport={"width": 900, "height": 500})
        page.goto(ride.address)
        while not page.evaluate("window.ride?.frame?.time > 0.05"):
            time.sleep(0.05)
        page.evaluate("ride.controls.patience = Infinity")
        for name in PRESETS:
            take(page, name, Path(folder))
        browser.close()
    server.should_exit = True


if __name__ == "__main__":
    main(sys.argv[1])
