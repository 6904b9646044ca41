"""The ride's own server: one page and one socket, on this computer only.

The page asks for a frame by sending its commands (binary, float64: a serial number, the number of the
scene that it shows, then the controls of that scene in order); the answer is the serial number and the
frame, and none where another scene is on its way. Words (JSON) change what is ridden: {"preset": name},
{"reset": true}, {"parameters": {...}},
{"parameter_set": name}, {"vehicle": name}, {"ground": name}, {"pace": x}, {"mu": x},
{"record": true}.
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
from draisine.ride.presets import PRESETS, Preset, on_ground, preset_of
from draisine.ride.repeat import ride_dataset
from draisine.ride.session import RATE, Session

CATCH_UP = 100
"""The most steps that are made up for at once; a slower page sees time pass more slowly."""

SILENCE = 0.3
"""A page that asks for nothing so long, s, has paused: what passed is one frame."""

ONE_FRAME = 16

UNREADABLE = 1003
TAKEN = 4001
"""Why a socket is closed: what came could not be read; somebody rides already."""

BUNDLE = "vendor.js"
"""What the page takes from others; not there where the package was installed without it."""

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


class RideServer:
    """A session, who may ride it, and how its time passes."""

    def __init__(
        self,
        name: str,
        port: int,
        target: Path | None = None,
        presets: Mapping[str, Preset] = PRESETS,
    ) -> None:
        self.target = target
        self.presets = presets
        self.name = name
        self.port = port
        self.token = secrets.token_urlsafe(16)
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.session: Session | None = None
        self.scene = 0
        self.taken = False
        self.preparing = asyncio.Semaphore(1)
        self.preparations: dict[tuple[object, ...], asyncio.Task[None]] = {}
        self.pace = 1.0
        self.late = 0
        self.clock = -math.inf
        self.owed = 0.0

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def app(self) -> Starlette:
        """Return what answers requests."""
        return Starlette(
            routes=[
                Route("/", self.index),
                Route("/{name}", self.module),
                WebSocketRoute("/ride", self.ride),
            ]
        )

    # --- pages

    def admits(self, asking: HTTPConnection, token: bool = True) -> bool:
        """Return whether a request comes from this computer, to this address, with the token."""
        known = asking.headers.get("host") in self.hosts
        # As bytes: text with other characters than ASCII cannot be compared in constant time.
        given = asking.query_params.get("token", "").encode()
        return known and (not token or secrets.compare_digest(given, self.token.encode()))

    async def index(self, request: Request) -> Response:
        """Answer with the page."""
        return self.file("index.html") if self.admits(request) else forbidden()

    async def module(self, request: Request) -> Response:
        """Answer with a part of the page; these hold no secret and need no token."""
        if not self.admits(request, token=False):
            return forbidden()
        return self.file(request.path_params["name"])

    def file(self, name: str) -> Response:
        """Return a file of the page."""
        page = files("draisine.ride") / "page"
        known = {each.name for each in page.iterdir()}
        if name == BUNDLE and not has_bundle():
            return Response("", media_type=KINDS[".js"])  # the page then draws by its own means
        if name not in known:
            return PlainTextResponse(f"no page {name!r}", 404)
        kind = KINDS.get(name[name.rfind(".") :], "application/octet-stream")
        policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
        policy += "img-src 'self' data:"
        text = (page / name).read_bytes()
        headers = {"content-security-policy": policy, "cache-control": "no-store"}
        return Response(text, media_type=kind, headers=headers)

    # --- the socket

    async def ride(self, socket: WebSocket) -> None:
        """Serve one rider until they leave."""
        origins = {f"http://{host}" for host in self.hosts}
        if not self.admits(socket) or socket.headers.get("origin") not in origins:
            await socket.close(1008)
            return
        await socket.accept()
        if self.taken:
            await socket.close(TAKEN, "somebody rides already, in another tab; this one waits")
            return
        self.taken = True
        try:
            await self.change(socket, {"preset": self.name}, log_errors=True)
            while True:
                await self.answer(socket, await socket.receive())
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            self.taken = False

    async def answer(self, socket: WebSocket, message: Mapping[str, Any]) -> None:
        """Answer one message."""
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
            wanted = json.loads(message["text"])
        except (RecursionError, ValueError):
            wanted = None
        if not isinstance(wanted, dict):
            await self.refuse(socket)
            return
        await self.change(socket, wanted)

    async def explain(self, socket: WebSocket) -> None:
        """Tell once why a ride cannot go on."""
        if self.session is not None and self.session.reason:
            await socket.send_text(json.dumps({"ended": self.session.reason}))
            self.session.reason = ""

    async def refuse(self, socket: WebSocket) -> None:
        """Close a socket that says what cannot be read."""
        await socket.close(UNREADABLE, "unreadable")
        raise WebSocketDisconnect(UNREADABLE)

    def step(self, raw: bytes) -> bytes | None:
        """Return the frame of now for the commands of a page, an empty one if they are those of an
        earlier scene, or nothing if they are malformed.
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
        """Return how many steps lie between the last frame and now."""
        now = time.monotonic()
        passed = now - self.clock
        self.clock = now
        if passed > SILENCE:
            self.owed = 0.0
            return ONE_FRAME if math.isfinite(passed) else 0
        self.owed += passed * self.pace * RATE
        count = min(int(self.owed), CATCH_UP)
        self.late += int(self.owed) - count
        self.owed -= int(self.owed)
        return count

    async def change(
        self, socket: WebSocket, wanted: Mapping[str, Any], *, log_errors: bool = False
    ) -> None:
        """Execute the requests of the page and answer it; with `log_errors` the terminal shows errors too."""
        known = {"preset": self.choose, "reset": self.reset, "parameters": self.parameters}
        known |= {"pace": self.set_pace, "record": self.keep, "mu": self.set_mu}
        known |= {"parameter_set": self.set_bicycle, "vehicle": self.set_vehicle}
        known |= {"ground": self.set_ground}
        try:
            for key, value in wanted.items():
                if key not in known:
                    await self.refuse(socket)
                await known[key](socket, value)
        except (DraisineError, ArithmeticError, TypeError, ValueError) as error:
            # The terminal comes first: whoever sees the error on the page finds it there as well.
            if log_errors:
                print(f"error: {error}", file=sys.stderr, flush=True)
            await socket.send_text(json.dumps({"refused": str(error)}))

    async def choose(self, socket: WebSocket, name: Any) -> None:
        """Take up a preset; what is not yet compiled is prepared by another process meanwhile."""
        if name not in self.presets:
            raise ValueError(f"no ride {name!r}.")
        preset = self.presets[name]
        ready = self.preparation(name)
        if not ready.done():
            told = f"preparing {preset.title!r}: deriving and compiling its equations of motion"
            await socket.send_text(json.dumps({"preparing": told}))
            await ready
        self.session = await asyncio.to_thread(Session, name, self.presets)
        self.name = name
        self.pace = self.session.preset.pace
        await self.describe(socket)
        for other in sorted(PRESETS, key=lambda each: PRESETS[each].ground is not None):
            self.preparation(other)

    def preparation(self, name: str) -> "asyncio.Task[None]":
        """Return the preparation of a ride, which goes on in another process; smooth ground first."""
        kind = self.presets[name].kind
        if kind not in self.preparations:
            self.preparations[kind] = asyncio.create_task(self.prepare(name))
        return self.preparations[kind]

    async def prepare(self, name: str) -> None:
        """Let another process derive, compile and rehearse a ride that ships with the package, one
        after the other, so that this one can go on; a ride of the user's own is made when it is
        taken up.
        """
        if self.presets[name] is not PRESETS.get(name):
            return
        command = f"from draisine.ride.session import rehearse; rehearse({name!r})"
        async with self.preparing:
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", command)
            try:
                await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

    async def set_bicycle(self, socket: WebSocket, value: Any) -> None:
        """Take up the same ride on the bicycle of another parameter set."""
        ride = replace(self.presets[self.name], parameter_set=str(value) or None)
        await self.take_up(socket, self.name, ride)

    async def set_ground(self, socket: WebSocket, value: Any) -> None:
        """Take up the same ride on another ground."""
        ride = on_ground(self.presets[self.name], str(value))
        await self.take_up(socket, self.name, ride)

    async def set_vehicle(self, socket: WebSocket, value: Any) -> None:
        """Take up the ride of another vehicle of the package."""
        if value not in names("vehicle"):
            raise ValueError(f"no vehicle {value!r}.")
        await self.take_up(socket, value, preset_of(value))

    async def take_up(self, socket: WebSocket, name: str, ride: Preset) -> None:
        """Take up a ride of the rider's own making; what cannot be ridden is refused before."""
        await asyncio.to_thread(Session, name, {name: ride})
        self.presets = {**self.presets, name: ride}
        await self.choose(socket, name)

    async def reset(self, socket: WebSocket, value: Any) -> None:
        """Begin anew."""
        if self.session is not None:
            self.session.reset()
            self.clock = -math.inf

    async def parameters(self, socket: WebSocket, values: Any) -> None:
        """Ride on with other parameters."""
        if self.session is not None:
            self.session.change({str(k): float(v) for k, v in dict(values).items()})
            self.clock = -math.inf
            await self.describe(socket)

    async def set_pace(self, socket: WebSocket, value: Any) -> None:
        """Let time pass faster or slower."""
        pace = float(value)
        if not 0.0 <= pace <= 10.0:
            raise ValueError(f"pace {pace}: take 0 to 10.")
        self.pace = pace

    async def set_mu(self, socket: WebSocket, value: Any) -> None:
        """Ride on ground of another friction; on a terrain from the next start on."""
        if self.session is not None:
            self.session.set_friction(math.inf if value is None else float(value))

    async def keep(self, socket: WebSocket, value: Any) -> None:
        """Write the ride since its start to the file that was named for it."""
        if self.target is None:
            raise ValueError("where to? Start with `draisine ride --record FILE.nc`.")
        await asyncio.to_thread(self.write)
        await socket.send_text(json.dumps({"recorded": str(self.target)}))

    def write(self) -> None:
        """Write the ride to its file, if there is one and anything was ridden."""
        if self.target is not None and self.session is not None and self.session.record.steps:
            save(ride_dataset(self.session), self.target)

    async def describe(self, socket: WebSocket) -> None:
        """Tell the page what it is about to see."""
        assert self.session is not None
        self.clock = -math.inf
        self.scene += 1
        described = await asyncio.to_thread(self.session.description)
        told = described | {"records": self.target is not None, "number": self.scene}
        await socket.send_text(json.dumps({"scene": told}))


def has_bundle() -> bool:
    """Return whether what the page takes from others came with this install."""
    return (files("draisine.ride") / "page" / BUNDLE).is_file()


def forbidden() -> Response:
    """Return the answer to whoever may not see the page."""
    return PlainTextResponse("Forbidden: open the address that `draisine ride` printed.", 403)
