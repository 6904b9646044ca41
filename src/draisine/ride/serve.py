"""Process that serves a ride to the browser until the user interrupts it."""

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
"""Message that is printed if the installation lacks the bundle of third-party scripts."""

MAX_MESSAGE_SIZE = 4096
"""Largest size (bytes) of a message from the page; commands have a few hundred bytes."""

REQUEST_TIMEOUT = 30.0
"""Longest time (s) from the opening of a connection to the end of the header of an HTTP request. A page on
the same computer needs far less; without a limit, idle connections would accumulate.
"""


def serve(
    what: str | None,
    name: str,
    port: int,
    browser: bool,
    target: Path | None = None,
    rate: str | None = None,
) -> None:
    """Serve a ride until the user interrupts it; print the address of the page.

    Parameters
    ----------
    what
        Vehicle or scenario to ride in addition to the presets; None for the presets only.
    name
        Name of the first preset; ignored if `what` is given.
    port
        TCP port on this computer; 0 selects a free port.
    browser
        Whether to open the page in the browser.
    target
        File to which the last ride is written when the server ends; None writes no file.
    rate
        The user's own equations of motion as "FILE.py:function"; None for the equations of the package.
    """
    find_preset(name)
    presets: Mapping[str, Preset] = PRESETS
    if rate is not None:
        presets = presets_with_rate(rate, name)
        Session(name, presets)  # raises errors of the user's function before the page opens
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
    """Return the uvicorn server of a ride, with limits of message size (bytes) and of request time (s)."""
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
    """Return whether a log record reports an error of this server, not of a client.

    It filters one known record: if a client sends invalid UTF-8, uvicorn closes the socket correctly (code
    1007) but also logs a traceback.
    """
    return not record.getMessage().startswith("Invalid UTF-8")


class TimedRequests(H11Protocol):
    """HTTP protocol that closes a connection if no complete request header arrives within `REQUEST_TIMEOUT`.

    Without this limit, uvicorn would wait for the request indefinitely.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection and start the timeout of its first request."""
        super().connection_made(transport)
        self._await_request()

    def _await_request(self) -> None:
        """Start the timeout of the next request, after which the connection is closed."""
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
