"""Server process of a ride, which runs until it is interrupted."""

import asyncio
import logging
import socket
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from draisine.ride.presets import PRESETS, Preset, find_preset, make_preset, presets_with_rate
from draisine.ride.server import RideServer, has_bundle
from draisine.ride.session import Session

NO_BUNDLE = """\
This installation has no bundle of three.js and uPlot: the page draws lines instead of surfaces, and no plots.
Install a wheel, or run `npm ci && npm run bundle` in the source tree."""
"""Message for installations without the bundle of third-party scripts."""

MAX_MESSAGE_SIZE = 4096
"""Largest size (bytes) of a message from the page; commands have a few hundred bytes."""

REQUEST_TIMEOUT = 30.0
"""Time limit (s) for the arrival of the header of an HTTP request.

A page on the same computer needs far less; connections without a request must not accumulate.

"""


def serve(
    what: str | None,
    name: str,
    port: int,
    browser: bool,
    target: Path | None = None,
    rate: str | None = None,
) -> None:
    """Serve a ride until interrupted; print the address of the page and open it in the browser.

    `what` is a vehicle or scenario in addition to the presets. When the server ends, the last ride is written
    to the file `target`, unless it is None. `rate` is the user's own equations of motion (FILE.py:function).
    """
    find_preset(name)
    presets: Mapping[str, Preset] = PRESETS
    if rate is not None:
        presets = presets_with_rate(rate, name)
        Session(name, presets)  # reports errors of the function before the page opens
    if what is not None:
        presets = dict(PRESETS) | {what: make_preset(what)}
        name = what
    listening = socket.create_server(("127.0.0.1", port))
    ride = RideServer(name, listening.getsockname()[1], target, presets)
    if not has_bundle():
        print(NO_BUNDLE)
    print(f"ride at {ride.address}\nPress Ctrl+C to stop.", flush=True)
    if browser:
        webbrowser.open(ride.address)
    try:
        with suppress(KeyboardInterrupt):  # Ctrl-C is the regular end of the server
            make_server(ride).run(sockets=[listening])
    finally:
        ride.write()


def make_server(ride: RideServer) -> uvicorn.Server:
    """Return the uvicorn server of a ride, with limits on message size and request time."""
    config = uvicorn.Config(
        ride.app(),
        log_level="error",
        http=TimedRequests,
        ws="websockets-sansio",
        ws_max_size=MAX_MESSAGE_SIZE,
        ws_ping_interval=None,
        timeout_graceful_shutdown=1,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_own_fault)
    return uvicorn.Server(config)


def _is_own_fault(record: logging.LogRecord) -> bool:
    """Return whether a log record is an error of the server itself, not of a client.

    uvicorn correctly closes a socket that sends invalid UTF-8 (code 1007), but also logs the traceback.
    """
    return not record.getMessage().startswith("Invalid UTF-8")


class TimedRequests(H11Protocol):
    """HTTP protocol that closes connections without a timely request; uvicorn would wait indefinitely."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._await_request()

    def _await_request(self) -> None:
        """Start the timeout of a request."""
        self._deadline = self.loop.call_later(REQUEST_TIMEOUT, self.transport.close)

    def handle_events(self) -> None:
        """Process received data; cancel the timeout if the header of a request is complete."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._deadline.cancel()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Cancel the timeout, because WebSocket connections have none."""
        self._deadline.cancel()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Start the timeout of the next request on the same connection."""
        self._await_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout of a closed connection."""
        self._deadline.cancel()
        super().connection_lost(exc)
