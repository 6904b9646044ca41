"""Serving a ride until the rider has had enough."""

import socket
import webbrowser
from contextlib import suppress
from pathlib import Path

import uvicorn

from draisine.ride.presets import PRESETS, preset, preset_of
from draisine.ride.server import RideServer, has_bundle

NO_BUNDLE = """\
This install has no bundle of three.js and uPlot: the page draws lines, and no plots. A wheel brings it;
so does `npm ci && npm run bundle` in the source."""

LARGEST = 4096
"""The longest message that a page may send, in bytes."""


def serve(
    what: str | None, name: str, port: int, browser: bool, target: Path | None = None
) -> None:
    """Print where a ride is, open it in the browser, and serve it until interrupted; the last ride
    is then written to a file, if one is named. `what` is a vehicle or a scenario to be ridden beside
    the presets.
    """
    preset(name)
    presets, name = (PRESETS, name) if what is None else (PRESETS | {what: preset_of(what)}, what)
    listening = socket.create_server(("127.0.0.1", port))
    ride = RideServer(name, listening.getsockname()[1], target, presets)
    if not has_bundle():
        print(NO_BUNDLE)
    print(f"ride at {ride.address}\nCtrl+C ends it.", flush=True)
    if browser:
        webbrowser.open(ride.address)
    try:
        with suppress(KeyboardInterrupt):  # that is how it ends
            configuration(ride).run(sockets=[listening])
    finally:
        ride.write()


def configuration(ride: RideServer) -> uvicorn.Server:
    """Return the server of a ride, quiet, with short messages only."""
    config = uvicorn.Config(
        ride.app(),
        log_level="error",
        ws="websockets-sansio",
        ws_max_size=LARGEST,
        ws_ping_interval=None,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)
