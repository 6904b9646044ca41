"""Rides that tests share."""

import shutil
import socket
import threading
import time
from contextlib import contextmanager
from importlib.resources import files

import pytest

pytest.importorskip("uvicorn", reason="the extra `ride` is not installed")

from draisine.ride.export import PAGE_MODULES, ride_page
from draisine.ride.presets import PRESETS
from draisine.ride.serve import make_server
from draisine.ride.server import RideServer


@contextmanager
def serving(name="steer-torque", target=None, presets=PRESETS):
    """Serve a ride, and stop."""
    listening = socket.create_server(("127.0.0.1", 0))
    ride = RideServer(name, listening.getsockname()[1], target, presets)
    server = make_server(ride)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield ride
    server.should_exit = True
    thread.join(timeout=10.0)


FEW_FRAMES = """const ask = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (draw) => setTimeout(() => ask(draw), 60);"""
"""For pages under test: a browser that draws without a graphics card keeps a core busy otherwise."""


@pytest.fixture(scope="session")
def exported(tmp_path_factory):
    """The exported page."""
    path = tmp_path_factory.mktemp("page") / "ride.html"
    path.write_text(ride_page(), encoding="utf-8")
    return path


def page_data(page):
    """Return the script of an exported page with its rides and simulators."""
    return page.read_text(encoding="utf-8").split("<script>")[-1].split("</script>")[0]


@pytest.fixture(scope="session")
def node_folder(exported, tmp_path_factory):
    """A folder with the modules and data of the exported page, for node; skips if there is no node."""
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    folder = tmp_path_factory.mktemp("node")
    (folder / "data.js").write_text(page_data(exported), encoding="utf-8")
    (folder / "package.json").write_text('{"type": "module"}')
    for name in PAGE_MODULES:
        shutil.copy(str(files("draisine.ride") / "page" / f"{name}.js"), folder)
    return folder


@pytest.fixture
def offline(exported, browser):
    """The exported page, opened from disk."""
    context = browser.new_context(viewport={"width": 640, "height": 400})
    context.add_init_script(FEW_FRAMES)
    tab = context.new_page()
    tab.complaints = []
    tab.on("console", lambda m: tab.complaints.append(m.text) if m.type == "error" else None)
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.goto(exported.as_uri())
    wait_for(tab, "window.ride?.frame?.time > 0.02")
    yield tab
    context.close()


def wait_for(tab, expression, seconds=30.0):
    """Wait until a JavaScript expression is true on a page."""
    end = time.monotonic() + seconds
    while not tab.evaluate(expression):
        assert time.monotonic() < end, (expression, tab.complaints)
        time.sleep(0.02)


@pytest.fixture(scope="session")
def served():
    """A ride that is being served."""
    with serving() as ride:
        yield ride


@pytest.fixture
def recorded(tmp_path):
    """A ride that is being served and recorded."""
    with serving(target=tmp_path / "ride.nc") as ride:
        yield ride
