"""Serving a ride until the rider has had enough."""

import asyncio
import logging
import socket
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from draisine.ride.presets import PRESETS, preset, preset_of
from draisine.ride.server import RideServer, has_bundle

NO_BUNDLE = """\
This install has no bundle of three.js and uPlot: the page draws lines, and no plots. A wheel brings it;
so does `npm ci && npm run bundle` in the source."""

LARGEST = 4096
"""The longest message that a page may send, in bytes."""

REQUEST_TIME = 30.0
"""Within how many seconds the head of a request must arrive: far longer than a page on the same computer
needs, and short enough that connections without a request do not add up.
"""


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
    """Return the server of a ride, quiet, with short messages and timely requests only."""
    config = uvicorn.Config(
        ride.app(),
        log_level="error",
        http=TimedRequests,
        ws="websockets-sansio",
        ws_max_size=LARGEST,
        ws_ping_interval=None,
        timeout_graceful_shutdown=1,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_own_fault)
    return uvicorn.Server(config)


def _is_own_fault(record: logging.LogRecord) -> bool:
    """Return whether a log record is about the server: uvicorn closes a socket that sends text other than
    UTF-8 (code 1007) as it should, but it also logs the traceback.
    """
    return not record.getMessage().startswith("Invalid UTF-8")


class TimedRequests(H11Protocol):
    """HTTP that closes connections whose request does not arrive in time; uvicorn would wait for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await the first request."""
        super().connection_made(transport)
        self._await_request()

    def _await_request(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_TIME, self.transport.close)

    def handle_events(self) -> None:
        """Start the response, if the head of a request is complete."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._deadline.cancel()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Hand over to the socket, which may be silent for as long as it likes."""
        self._deadline.cancel()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Await the next request on the same connection."""
        self._await_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Await nothing."""
        self._deadline.cancel()
        super().connection_lost(exc)
