"""Server process of a ride, until it is interrupted."""

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
This installation has no bundle of three.js and uPlot: the page draws lines instead of surfaces, and no plots.
Install a wheel, or run `npm ci && npm run bundle` in the source tree."""
"""Message without the bundle of third-party scripts."""

MAX_MESSAGE_SIZE = 4096
"""bytes; largest message of a page. Commands are a few hundred bytes."""

REQUEST_TIMEOUT = 30.0
"""s; time within which the head of a request must arrive: far longer than a page on the same computer needs,
and short enough that connections without a request do not accumulate."""


def serve(
    what: str | None, name: str, port: int, browser: bool, target: Path | None = None
) -> None:
    """Serve a ride until interrupted: print its address and open it in the browser.

    `what` is a vehicle or a scenario in addition to the presets. At the end the last ride is written to
    `target`, if it is not None.
    """
    preset(name)
    presets = PRESETS
    if what is not None:
        presets = PRESETS | {what: preset_of(what)}
        name = what
    listening = socket.create_server(("127.0.0.1", port))
    ride = RideServer(name, listening.getsockname()[1], target, presets)
    if not has_bundle():
        print(NO_BUNDLE)
    print(f"ride at {ride.address}\nPress Ctrl+C to stop.", flush=True)
    if browser:
        webbrowser.open(ride.address)
    try:
        with suppress(KeyboardInterrupt):  # the regular end
            configuration(ride).run(sockets=[listening])
    finally:
        ride.write()


def configuration(ride: RideServer) -> uvicorn.Server:
    """Return the server of a ride, with limits on message size and request time."""
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
    """Return whether a log record is an error of the server, not of a client.

    uvicorn correctly closes a socket that sends invalid UTF-8 (code 1007), but also logs the traceback.
    """
    return not record.getMessage().startswith("Invalid UTF-8")


class TimedRequests(H11Protocol):
    """HTTP protocol that closes connections without a timely request; uvicorn waits indefinitely."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Await the first request."""
        super().connection_made(transport)
        self._await_request()

    def _await_request(self) -> None:
        """Start the timeout of a request."""
        self._deadline = self.loop.call_later(REQUEST_TIMEOUT, self.transport.close)

    def handle_events(self) -> None:
        """Start the response, if the head of a request is complete."""
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._deadline.cancel()

    def handle_websocket_upgrade(self, event: Any) -> None:
        """Hand over to the socket, which has no timeout."""
        self._deadline.cancel()
        super().handle_websocket_upgrade(event)

    def on_response_complete(self) -> None:
        """Await the next request on the same connection."""
        self._await_request()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeout."""
        self._deadline.cancel()
        super().connection_lost(exc)
