"""Rides that tests share."""

import socket
import threading
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn", reason="the extra `ride` is not installed")

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
def served():
    """A ride that is being served."""
    with serving() as ride:
        yield ride


@pytest.fixture
def recorded(tmp_path):
    """A ride that is being served and recorded."""
    with serving(target=tmp_path / "ride.nc") as ride:
        yield ride
