"""Web server of a ride: one page and one WebSocket, for clients on this computer only.

Binary messages (float64) request frames. The page sends a serial number, the number of the scene that it
displays, and the commands of this scene in order. The server responds with the serial number and the frame.
It does not respond if it has already sent another scene.

Text messages (JSON) change the ride: {"preset": name}, {"reset": true}, {"parameters": {...}},
{"parameter_set": name}, {"vehicle": name}, {"ground": name}, {"pace": x}, {"mu": x}, {"record": true}.
"""

import asyncio
import json
import math
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from draisine.errors import DraisineError
from draisine.registry import names
from draisine.results.store import save
from draisine.ride.presets import PRESETS, Preset, make_preset, on_ground
from draisine.ride.repeat import ride_dataset
from draisine.ride.session import STEP_RATE, Session

MAX_CATCH_UP_STEPS = 100
"""Largest number of simulation steps per frame. On a slow computer the limit makes the simulation run slower
than real time, instead of delaying frames more and more.
"""

PAUSE_TIME = 0.3
"""Time (s) without a request for a frame after which the page counts as paused. The simulation does not catch
up a pause: the next frame advances the ride by `FRAME_STEPS` only.
"""

FRAME_STEPS = 16
"""Number of simulation steps (16 / 1024 s = 1/64 s) of the first frame after a pause."""

CLOSE_UNREADABLE = 1003
"""WebSocket close code (RFC 6455, section 7.4.1) with which the server answers an unreadable message."""

CLOSE_OCCUPIED = 4001
"""WebSocket close code of this server (private range of RFC 6455) if another page is already connected."""

BUNDLE_FILE = "vendor.js"
"""File name of the bundle of third-party scripts, which may be missing in an installation."""

MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}
"""Media types (MIME types) of the files of the page by their suffix."""


class RideServer:
    """Web server of one riding session, with access control and simulation in real time.

    Parameters
    ----------
    name
        Name of the first preset.
    port
        TCP port of the server.
    target
        File to which rides are recorded; None for no recording.
    presets
        Available presets by name.
    """

    def __init__(
        self,
        name: str,
        port: int,
        target: Path | None = None,
        presets: Mapping[str, Preset] = PRESETS,
    ) -> None:
        """Create the access token of the page; the session starts when the page connects."""
        self.target = target
        self.requested = name, presets
        self.name, self.presets = self.requested
        self.port = port
        self.token = secrets.token_urlsafe(16)
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.session: Session | None = None
        self.scene = 0
        self.taken = False
        # Presets are compiled one at a time, the one for which the page waits before the others.
        self.turn = asyncio.Condition()
        self.is_preparing = False
        self.awaited: tuple[object, ...] | None = (
            None  # kind of the preset for which the page waits
        )
        self.preparations: dict[tuple[object, ...], asyncio.Task[None]] = {}
        self.pace = 1.0
        self.late = 0
        self.clock = -math.inf
        self.owed = 0.0

    @property
    def address(self) -> str:
        """Address (URL) of the page, including its access token."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def app(self) -> Starlette:
        """Return the web application with its three routes: page, files of the page, and WebSocket."""
        return Starlette(
            routes=[
                Route("/", self.index),
                Route("/{name}", self.module),
                WebSocketRoute("/ride", self.ride),
            ]
        )

    # --- pages

    def admits(self, request: HTTPConnection, token: bool = True) -> bool:
        """Return whether a request names this server's local address as host, and has the access token.

        The access token is not checked if `token` is false.
        """
        local = request.headers.get("host") in self.hosts
        # compare_digest takes constant time, so that its duration does not reveal the token. It needs bytes,
        # because it rejects texts with non-ASCII characters.
        sent = request.query_params.get("token", "").encode()
        return local and (not token or secrets.compare_digest(sent, self.token.encode()))

    async def index(self, request: Request) -> Response:
        """Respond to a request for the HTML page."""
        return self.file("index.html") if self.admits(request) else forbidden()

    async def module(self, request: Request) -> Response:
        """Respond to a request for a script or style file of the page, which needs no access token."""
        if not self.admits(request, token=False):
            return forbidden()
        return self.file(request.path_params["name"])

    def file(self, name: str) -> Response:
        """Return the HTTP response with the file `name` of the page; status 404 if it does not exist."""
        page = files("draisine.ride") / "page"
        available = {each.name for each in page.iterdir()}
        if name == BUNDLE_FILE and not has_bundle():
            return Response(
                "", media_type=MEDIA_TYPES[".js"]
            )  # without the bundle of scripts, the page draws on a 2D canvas
        if name not in available:
            return PlainTextResponse(f"no page {name!r}", 404)
        kind = MEDIA_TYPES.get(name[name.rfind(".") :], "application/octet-stream")
        policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
        policy += "img-src 'self' data:"
        text = (page / name).read_bytes()
        headers = {"content-security-policy": policy, "cache-control": "no-store"}
        return Response(text, media_type=kind, headers=headers)

    # --- the socket

    async def ride(self, socket: WebSocket) -> None:
        """Serve the WebSocket of one page until the page disconnects; refuse a second page."""
        origins = {f"http://{host}" for host in self.hosts}
        if not self.admits(socket) or socket.headers.get("origin") not in origins:
            await socket.close(1008)
            return
        await socket.accept()
        if self.taken:
            await socket.close(CLOSE_OCCUPIED, "another tab is riding; this tab waits")
            return
        self.taken = True
        # A new page starts with the requested ride. A page that reconnects continues its own ride.
        if "resume" not in socket.query_params:
            self.name, self.presets = self.requested
        try:
            await self.change(socket, {"preset": self.name}, log_errors=True)
            while True:
                await self.respond(socket, await socket.receive())
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            self.taken = False

    async def respond(self, socket: WebSocket, message: Mapping[str, Any]) -> None:
        """Respond to one message of the page: send a frame, or execute the requests of a JSON message."""
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        if message.get("bytes") is not None:
            frame = self.step(message["bytes"])
            if frame is None:
                await self.refuse(socket)
            elif frame:
                await socket.send_bytes(frame)
                await self.explain(socket)
            return
        try:
            requests = json.loads(message["text"])
        except (RecursionError, ValueError):
            requests = None
        if not isinstance(requests, dict):
            await self.refuse(socket)
            return
        await self.change(socket, requests)

    async def explain(self, socket: WebSocket) -> None:
        """Send the page the reason why the simulation has stopped, once per stop."""
        if self.session is not None and self.session.reason:
            await socket.send_text(json.dumps({"ended": self.session.reason}))
            self.session.reason = ""

    async def refuse(self, socket: WebSocket) -> None:
        """Close the WebSocket after an unreadable message, and end its service by `WebSocketDisconnect`."""
        await socket.close(CLOSE_UNREADABLE, "unreadable")
        raise WebSocketDisconnect(CLOSE_UNREADABLE)

    def step(self, raw: bytes) -> bytes | None:
        """Advance the ride to the current time with the commands of a binary message.

        Parameters
        ----------
        raw
            Message as float64 numbers: serial number, number of the scene, and commands.

        Returns
        -------
        bytes or None
            Serial number and frame as float64 numbers; empty bytes if the message belongs to an earlier
            scene; None if the message is malformed.
        """
        session = self.session
        if session is None or len(raw) % 8:
            return None
        values = np.frombuffer(raw)
        if len(values) < 2 or not np.isfinite(values).all():
            return None
        if values[1] < self.scene:
            return b""
        if values[1] > self.scene or len(values) != 2 + len(session.controls):
            return None
        session.advance(self.due(), dict(zip(session.controls, values[2:].tolist(), strict=True)))
        return np.concatenate([values[:1], session.frame()]).tobytes()

    def due(self) -> int:
        """Return the number of simulation steps that the clock requires since the last frame."""
        now = time.monotonic()
        passed = now - self.clock
        self.clock = now
        if passed > PAUSE_TIME:
            self.owed = 0.0
            return FRAME_STEPS if math.isfinite(passed) else 0
        self.owed += passed * self.pace * STEP_RATE
        count = min(int(self.owed), MAX_CATCH_UP_STEPS)
        self.late += int(self.owed) - count
        self.owed -= int(self.owed)
        return count

    async def change(
        self, socket: WebSocket, requests: Mapping[str, Any], *, log_errors: bool = False
    ) -> None:
        """Execute the requests of the page that change the ride, given as values by key.

        Errors are sent to the page. If `log_errors` is true, they are also printed in the terminal.
        """
        handlers = {"preset": self.choose, "reset": self.reset, "parameters": self.parameters}
        handlers |= {"pace": self.set_pace, "record": self.keep, "mu": self.set_mu}
        handlers |= {"parameter_set": self.set_bicycle, "vehicle": self.set_vehicle}
        handlers |= {"ground": self.set_ground}
        try:
            for key, value in requests.items():
                if key not in handlers:
                    await self.refuse(socket)
                await handlers[key](socket, value)
        except (DraisineError, ArithmeticError, TypeError, ValueError) as error:
            # Print before sending, so that an error that the page shows is already in the terminal.
            if log_errors:
                print(f"error: {error}", file=sys.stderr, flush=True)
            await socket.send_text(json.dumps({"refused": str(error)}))

    async def choose(self, socket: WebSocket, name: Any) -> None:
        """Start the preset `name` and send its description to the page.

        If the preset is not compiled yet, another process compiles it first, and the page shows a message.
        """
        if name not in self.presets:
            raise ValueError(
                f"There is no ride {name!r}. Available rides: {', '.join(self.presets)}."
            )
        preset = self.presets[name]
        ready = self.preparation(name)
        if not ready.done():
            note = {"name": name, "title": preset.title}
            await socket.send_text(json.dumps({"preparing": note}))
            self.awaited = preset.kind
            try:
                await ready
            finally:
                await self.end_turn(preset.kind)
        self.session = await asyncio.to_thread(Session, name, self.presets)
        self.name = name
        self.pace = self.session.preset.pace
        await self.describe(socket)
        # Compile the other presets in advance. With the user's own equations of motion, only a few presets of
        # the package are available.
        offered = [other for other in PRESETS if other in self.presets]
        for other in sorted(offered, key=lambda each: PRESETS[each].ground is not None):
            self.preparation(other)

    def preparation(self, name: str) -> "asyncio.Task[None]":
        """Return the asyncio task that compiles a preset in another process; start it at the first call."""
        kind = self.presets[name].kind
        if kind not in self.preparations:
            self.preparations[kind] = asyncio.create_task(self.prepare(name))
        return self.preparations[kind]

    async def prepare(self, name: str) -> None:
        """Derive and compile a preset of the package in another process, one preset at a time.

        Vehicles and scenarios of the user are not prepared: they are compiled when their ride starts.
        """
        if self.presets[name] is not PRESETS.get(name):
            return
        command = f"from draisine.ride.session import rehearse; rehearse({name!r})"
        kind = self.presets[name].kind
        async with self.turn:
            await self.turn.wait_for(lambda: not self.is_preparing and self.awaited in (None, kind))
            self.is_preparing = True
        process = None
        try:
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", command)
            await process.wait()
        finally:
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()
            self.is_preparing = False
            await self.end_turn(kind)

    async def end_turn(self, kind: tuple[object, ...]) -> None:
        """Let the next preset be compiled, after presets of this kind were compiled or are not awaited any
        more.
        """
        if self.awaited == kind:
            self.awaited = None
        async with self.turn:
            self.turn.notify_all()

    async def set_bicycle(self, socket: WebSocket, value: Any) -> None:
        """Restart the ride with the bicycle of the parameter set `value`; "" selects the default bicycle."""
        ride = replace(self.presets[self.name], parameter_set=str(value) or None)
        await self.start_ride(socket, self.name, ride)

    async def set_ground(self, socket: WebSocket, value: Any) -> None:
        """Restart the ride on the ground with the name `value`, see `RIDE_GROUNDS`."""
        ride = on_ground(self.presets[self.name], str(value))
        await self.start_ride(socket, self.name, ride)

    async def set_vehicle(self, socket: WebSocket, value: Any) -> None:
        """Start a ride of the package's vehicle with the name `value`."""
        if value not in names("vehicle"):
            raise ValueError(f"There is no vehicle {value!r}. See `draisine list vehicles`.")
        await self.start_ride(socket, value, make_preset(value))

    async def start_ride(self, socket: WebSocket, name: str, ride: Preset) -> None:
        """Start the modified preset `ride`, which replaces the preset `name`.

        If the ride cannot start, an exception is raised and the current ride continues.
        """
        await asyncio.to_thread(Session, name, {name: ride})
        self.presets = {**self.presets, name: ride}
        await self.choose(socket, name)

    async def reset(self, socket: WebSocket, value: Any) -> None:
        """Restart the ride from its initial state; `value` is ignored."""
        if self.session is not None:
            self.session.reset()
            self.clock = -math.inf

    async def parameters(self, socket: WebSocket, values: Any) -> None:
        """Change parameters of the vehicle to `values` by name (SI units), and send the new description."""
        if self.session is not None:
            self.session.change({str(k): float(v) for k, v in dict(values).items()})
            self.clock = -math.inf
            await self.describe(socket)

    async def set_pace(self, socket: WebSocket, value: Any) -> None:
        """Set the time scale of the ride: simulated seconds per second of real time, from 0 to 10."""
        pace = float(value)
        if not 0.0 <= pace <= 10.0:
            raise ValueError(
                f"pace = {pace:g} must be between 0 and 10 simulated seconds per second."
            )
        self.pace = pace

    async def set_mu(self, socket: WebSocket, value: Any) -> None:
        """Change the friction coefficient to `value` (None: unlimited); see `Session.set_friction`."""
        if self.session is not None:
            self.session.set_friction(math.inf if value is None else float(value))

    async def keep(self, socket: WebSocket, value: Any) -> None:
        """Write the ride since its start to the target file, and report the file to the page."""
        if self.target is None:
            raise ValueError(
                "The ride cannot be recorded without a file. Start it with `draisine ride --record FILE.nc`."
            )
        await asyncio.to_thread(self.write)
        await socket.send_text(json.dumps({"recorded": str(self.target)}))

    def write(self) -> None:
        """Write the ride to the target file; do nothing without a target file or without frames."""
        if self.target is not None and self.session is not None and self.session.record.steps:
            save(ride_dataset(self.session), self.target)

    async def describe(self, socket: WebSocket) -> None:
        """Send the page the description of a new scene, with the next scene number."""
        assert self.session is not None
        self.clock = -math.inf
        self.scene += 1
        description = await asyncio.to_thread(self.session.description)
        scene = description | {"records": self.target is not None, "number": self.scene}
        await socket.send_text(json.dumps({"scene": scene}))


def has_bundle() -> bool:
    """Return whether this installation contains the bundle of third-party scripts."""
    return (files("draisine.ride") / "page" / BUNDLE_FILE).is_file()


def forbidden() -> Response:
    """Return the HTTP response (status 403) to requests to another host name or without the access token."""
    return PlainTextResponse("Forbidden: open the address that `draisine ride` printed.", 403)
