"""Access control of the server, and its responses to malformed messages."""

import asyncio
import json
import logging
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from socket import create_connection
from types import SimpleNamespace

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from draisine.cli import main
from draisine.control.rider import RIDER_COMMANDS
from draisine.ride import serve, server
from draisine.ride.presets import PRESETS, Preset
from draisine.ride.server import MAX_CATCH_UP_STEPS, RideServer
from draisine.ride.session import STEP_RATE
from ride.conftest import serving

PATIENCE = 300.0
"""How long a result is waited for, s: a bound for tests that hang, also on a busy machine."""


def fetch(ride, path, host=None):
    request = urllib.request.Request(f"http://127.0.0.1:{ride.port}{path}")
    if host is not None:
        request.add_header("Host", host)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def enter(ride, token=None, **options):
    """Connect as a page does: browsers send no pings. While a ride is prepared the server reads no
    messages, and a client that insists on an early reply to its pings would leave.
    """
    origin = options.pop("origin", f"http://127.0.0.1:{ride.port}")
    options |= {"max_size": None, "ping_interval": None}
    address = f"ws://127.0.0.1:{ride.port}/ride?token={token or ride.token}"
    return connect(address, origin=origin, open_timeout=PATIENCE, **options)


def until_scene(socket):
    while True:
        words = json.loads(socket.recv(timeout=PATIENCE))
        if "scene" in words:
            return words["scene"]


def commands(scene, serial, push=0.0, **given):
    usual = {name: value for name, (_, value, _) in RIDER_COMMANDS.items()}
    return np.array([serial, scene["number"], push, *(usual | given).values()]).tobytes()


def close_code(socket, message):
    socket.send(message)
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv(timeout=PATIENCE)
    return closed.value.rcvd.code


def test_the_page_needs_the_token_and_its_own_host(served):
    assert fetch(served, f"/?token={served.token}")[0] == 200
    for path, host in [
        ("/", None),
        ("/?token=wrong", None),
        ("/?token=%C3%A9", None),
        ("/?token=%FF", None),
        (f"/?token={served.token}", "evil.example"),
        ("/main.js", "evil.example"),
    ]:
        assert fetch(served, path, host)[0] == 403
    assert fetch(served, "/main.js")[0] == 200
    assert fetch(served, "/server.py")[0] == 404


@pytest.mark.parametrize(
    "options",
    [{"token": "wrong"}, {"token": "%C3%A9"}, {"origin": "http://evil.example"}, {"origin": None}],
    ids=["token", "token beyond ASCII", "origin", "no origin"],
)
def test_strangers_get_no_socket(served, options):
    with pytest.raises(InvalidStatus, match="403"):
        enter(served, **options)


def test_a_ride_answers_frames_and_a_second_rider_waits(served):
    with enter(served) as socket:
        scene = until_scene(socket)
        width = max(end for _, end in scene["layout"].values())
        times = []
        for serial in range(1, 4):
            socket.send(commands(scene, serial))
            frame = np.frombuffer(socket.recv(timeout=PATIENCE))
            assert frame[0] == serial
            assert len(frame) == 1 + width
            times.append(frame[1 + scene["layout"]["time"][0]])
            time.sleep(0.03)
        assert times[0] == 0.0
        assert times == sorted(times)
        assert times[-1] > 0.0
        with enter(served) as other, pytest.raises(ConnectionClosed) as closed:
            other.recv(timeout=PATIENCE)
        assert closed.value.rcvd.code == 4001
        assert "another tab is riding" in closed.value.rcvd.reason


def test_silence_pauses_the_ride(served):
    with enter(served) as socket:
        scene = until_scene(socket)
        at = 1 + scene["layout"]["time"][0]
        socket.send(commands(scene, 1))
        before = np.frombuffer(socket.recv(timeout=PATIENCE))[at]
        time.sleep(0.4)
        socket.send(commands(scene, 2))
        assert np.frombuffer(socket.recv(timeout=PATIENCE))[at] - before < 0.02


def test_a_late_page_catches_up_by_a_tenth_of_a_second_at_most(monkeypatch):
    times = iter([5.0, 5.25])
    clock = SimpleNamespace(monotonic=lambda: next(times))
    monkeypatch.setattr("draisine.ride.server.time", clock)
    ride = RideServer("steer-torque", 1)
    assert ride.due() == 0
    assert ride.due() == MAX_CATCH_UP_STEPS
    assert ride.late == STEP_RATE // 4 - MAX_CATCH_UP_STEPS


def test_a_dropped_socket_makes_room_for_the_next_rider(served):
    with enter(served) as socket:
        until_scene(socket)
        socket.socket.shutdown(2)
    ride_again(served)


def test_a_slow_reader_holds_up_nobody(served):
    with enter(served) as socket:
        scene = until_scene(socket)
        for serial in range(1, 2000):
            socket.send(commands(scene, serial))
        assert fetch(served, f"/?token={served.token}")[0] == 200
        socket.send(commands(scene, 2000))
        while True:
            found = np.frombuffer(socket.recv(timeout=PATIENCE))
            if found[0] == 2000:
                break
        assert np.isfinite(found).all()
    ride_again(served)


def ride_again(served):
    """Enter as soon as there is room, and ride."""
    end = time.monotonic() + PATIENCE
    while served.taken and time.monotonic() < end:
        time.sleep(0.01)
    with enter(served) as socket:
        scene = until_scene(socket)
        socket.send(commands(scene, 1))
        assert np.frombuffer(socket.recv(timeout=PATIENCE))[0] == 1


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"short", 1003),
        (np.full(3, 1e6).tobytes(), 1003),
        (np.full(40, np.nan).tobytes(), 1003),
        ("no words", 1003),
        ("[1]", 1003),
        ('{"sell": 1}', 1003),
        (b"x" * 5000, 1009),
    ],
    ids=["short", "few", "not a number", "no JSON", "a list", "unknown", "oversized"],
)
def test_nonsense_closes_the_socket(served, message, code):
    with enter(served) as socket:
        until_scene(socket)
        assert close_code(socket, message) == code


def test_text_that_is_not_utf_8_closes_the_socket_without_a_traceback(served, caplog, request):
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(caplog.handler)
    request.addfinalizer(lambda: logger.removeHandler(caplog.handler))
    with enter(served) as socket:
        until_scene(socket)
        socket.send(b"\xff", text=True)
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE)
    assert closed.value.rcvd.code == 1007
    assert caplog.records == []


def check_responses(stranger, count):
    """See that a connection ends after some complete responses."""
    received = b"".join(iter(lambda: stranger.recv(65536), b""))
    assert received.count(b"HTTP/1.1 200") == count


def test_requests_that_do_not_arrive_are_given_up_and_a_silent_rider_is_not(served, monkeypatch):
    """Nothing, half a head, and half of a second head on the connection of a first request."""
    monkeypatch.setattr(serve, "REQUEST_TIMEOUT", 1.0)
    with enter(served) as rider:
        scene = until_scene(rider)
        page = f"GET /main.js HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        with ExitStack() as strangers:
            for request, complete in (("", 0), (page, 0), (f"{page}\r\n{page}", 1)):
                stranger = create_connection(("127.0.0.1", served.port), timeout=PATIENCE)
                strangers.enter_context(stranger).sendall(request.encode())
                strangers.callback(check_responses, stranger, complete)
        rider.send(commands(scene, 1))
        assert np.frombuffer(rider.recv(timeout=PATIENCE))[0] == 1


def test_impossible_parameters_are_refused_in_words_and_the_ride_goes_on(served):
    with enter(served) as socket:
        scene = until_scene(socket)
        socket.send(json.dumps({"parameters": {"w": -1.0}}))
        assert "must be positive" in json.loads(socket.recv(timeout=PATIENCE))["refused"]
        socket.send(json.dumps({"preset": "nowhere"}))
        assert "nowhere" in json.loads(socket.recv(timeout=PATIENCE))["refused"]
        for words in ({"pace": 10**400}, {"mu": 10**400}, {"parameters": {"mB": 10**400}}):
            socket.send(json.dumps(words))
            assert "too large" in json.loads(socket.recv(timeout=PATIENCE))["refused"]
        socket.send(json.dumps({"parameters": {"c": 0.1}}))
        scene = until_scene(socket)
        assert scene["sliders"]["c"]["value"] == 0.1
        socket.send(commands(scene, 1))
        assert np.isfinite(np.frombuffer(socket.recv(timeout=PATIENCE))).all()


def test_commands_of_an_earlier_scene_have_no_answer_and_the_ride_goes_on():
    with serving() as served, enter(served) as socket:
        before = until_scene(socket)
        socket.send(json.dumps({"preset": "ramp"}))
        socket.send(json.dumps({"vehicle": "skateboard"}))
        scene = until_scene(socket)
        socket.send(commands(before, 1))
        socket.send(commands(scene, 2))  # too late: the skateboard is next
        scene = until_scene(socket)
        assert scene["vehicle"] == "skateboard"
        socket.send(np.array([3.0, scene["number"], *[0.0] * len(scene["controls"])]).tobytes())
        assert np.frombuffer(socket.recv(timeout=PATIENCE))[0] == 3.0


def test_an_impossible_first_ride_is_reported_on_page_and_terminal(capfd):
    ride = Preset("mine", "", "", "", {"forward_sped": 5.0})
    with serving("mine", presets={"mine": ride}) as served, enter(served) as socket:
        assert "preparing" in json.loads(socket.recv(timeout=PATIENCE))
        assert "forward_sped" in json.loads(socket.recv(timeout=PATIENCE))["refused"]
        assert "error: " in capfd.readouterr().err


def test_another_bicycle_is_started_and_an_unknown_one_refused(served):
    with enter(served) as socket:
        until_scene(socket)
        socket.send(json.dumps({"parameter_set": "browser_jason"}))
        scene = until_scene(socket)
        assert scene["parameter_set"] == "browser_jason"
        assert scene["sliders"]["c"]["value"] != 0.08
        socket.send(json.dumps({"parameter_set": "no_such"}))
        assert "no_such" in json.loads(socket.recv(timeout=PATIENCE))["refused"]
        socket.send(json.dumps({"parameter_set": ""}))
        assert until_scene(socket)["parameter_set"] == ""


def test_a_ride_is_recorded_and_repeated_to_the_bit(recorded, capsys):
    with enter(recorded) as socket:
        scene = until_scene(socket)
        assert scene["records"]
        for serial in range(1, 30):
            socket.send(commands(scene, serial, steer_torque=0.1 * (serial % 5), hold=1.0))
            socket.recv(timeout=PATIENCE)
            time.sleep(0.01)
            if serial == 15:
                socket.send(json.dumps({"parameters": {"c": 0.1}}))
                scene = until_scene(socket)
        socket.send(json.dumps({"record": True}))
        told = json.loads(socket.recv(timeout=PATIENCE))
    assert told["recorded"] == str(recorded.target)
    assert main(["run", told["recorded"]]) == 0
    assert "bitwise equal" in capsys.readouterr().out


def test_a_requested_ride_is_compiled_before_those_that_nobody_waits_for(monkeypatch):
    """The first preset is being compiled and two others wait, when the page requests the last one. Presets
    that the user changed are not compiled in advance, and do not hold up the others either.
    """
    kinds = {preset.kind: name for name, preset in PRESETS.items()}
    first, second, third, requested = list(kinds.values())[:4]
    begun = []

    class Compilation:
        returncode = None

        async def wait(self):
            await asyncio.sleep(0.01)
            self.returncode = 0

        def kill(self):  # at the end of the test, while presets wait
            self.returncode = -1

    async def compile_preset(_, __, command):
        begun.append(command.split("'")[1])
        return Compilation()

    async def ignore(_):
        return None

    async def act():
        ride = RideServer(first, 0, presets=PRESETS | {"mine": Preset("mine", "", "", "", {})})
        monkeypatch.setattr(ride, "describe", ignore)
        socket = SimpleNamespace(send_text=ignore)
        tasks = [ride.preparation(name) for name in (first, second, third)]
        await asyncio.sleep(0)
        await asyncio.wait_for(ride.choose(socket, requested), PATIENCE)
        assert begun[:2] == [first, requested]
        await asyncio.wait_for(ride.choose(socket, "mine"), PATIENCE)
        await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
        assert begun[:4] == [first, requested, second, third]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", compile_preset)
    monkeypatch.setattr(server, "Session", lambda *_: SimpleNamespace(preset=PRESETS[first]))
    # In a thread of its own: the browser of other tests runs an event loop in this one.
    with ThreadPoolExecutor(1) as threads:
        threads.submit(lambda: asyncio.run(act())).result()
