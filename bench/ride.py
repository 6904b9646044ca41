"""How quick a ride is: from a key to a state on this computer, physics against real time, memory over
ten minutes, the size of the page, and its JavaScript against machine code.

python bench/ride.py
python bench/ride.py frames    single frames of every ride in node, the first ride and later ones
"""

import json
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
from websockets.sync.client import connect

from draisine.control.rider import RIDER_COMMANDS
from draisine.ride.export import ride_page
from draisine.ride.presets import PRESETS
from draisine.ride.serve import make_server
from draisine.ride.server import RideServer
from draisine.ride.session import STEP_RATE, RideStatus, Session

FRAME = 16
USUAL = [value for _, value, _ in RIDER_COMMANDS.values()]


def latency(frames=600):
    """Return the times from sending commands to having their frame, in ms, after the first 2 s."""
    listening = socket.create_server(("127.0.0.1", 0))
    ride = RideServer("steer-torque", listening.getsockname()[1])
    server = make_server(ride)
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    address = f"ws://127.0.0.1:{ride.port}/ride?token={ride.token}"
    time.sleep(1.0)
    took = []
    with connect(address, origin=f"http://127.0.0.1:{ride.port}") as socket_:
        while "scene" not in json.loads(socket_.recv(timeout=120)):
            pass
        for serial in range(120 + frames):
            began = time.perf_counter()
            socket_.send(np.array([serial, 0.0, *USUAL]).tobytes())
            socket_.recv()
            took.append(1e3 * (time.perf_counter() - began))
            time.sleep(1.0 / 60.0)
    server.should_exit = True
    return np.array(took[120:])


def share(name, seconds):
    """Return slices of a ride in ms of this process, and the share of a core that they took; of three
    rides the quickest, for what else the computer does is not the ride's.
    """
    return min((_ride(name, seconds) for _ in range(3)), key=lambda found: found[1])


def _ride(name, seconds):
    session, took = Session(name), []
    commands = dict(zip(RIDER_COMMANDS, USUAL, strict=True)) | session.preset.commands
    for _ in range(round(seconds * STEP_RATE / FRAME)):
        began = time.process_time()
        session.advance(FRAME, commands)
        session.frame()
        took.append(time.process_time() - began)
    took = np.array(took[round(2.0 * STEP_RATE / FRAME) :])
    return 1e3 * took, float(took.sum() / (len(took) * FRAME / STEP_RATE))


def growth():
    """Return by how many MB the memory grows from the second minute of a simulated ride to the tenth,
    in which a key is tapped to either side every two seconds.
    """
    session = Session("steer-torque")
    sizes = []
    for minute in range(10):
        for frame in range(60 * 60):
            side = (frame // 120) % 2 * 2.0 - 1.0
            session.advance(17, {"steer_torque": 0.5 * side * (frame % 120 < 6)})
        assert session.status == RideStatus.RIDING, f"it fell in minute {minute}"
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0)
    return sizes[-1] - sizes[1]


def change():
    """Return the shortest times of binding four programs to other parameters, in us, and of a change
    of parameters while riding, in ms.
    """
    session = Session("self-stable")
    session.advance(300, {})
    programs, values = session.machine.programs, session.system.values
    bound, changed = [], []
    for k in range(200):
        began = time.thread_time()
        for name in ("rate", "observe", "project", "enter"):
            programs.bind(name, values)
        bound.append(1e6 * (time.thread_time() - began))
        if k % 10 == 0:
            began = time.thread_time()
            session.change({"c": 0.08 + 0.0001 * k})
            changed.append(1e3 * (time.thread_time() - began))
    return min(bound), min(changed)


SCRIPT = """
const { simulators, bicycles, rides } = globalThis.draisineRide;
const ride = rides["self-stable"], { kind, parameters } = bicycles[ride.bicycle];
const simulator = simulators[kind];
const values = Float64Array.from(simulator.names.parameters, (name) => parameters[name]);
const machine = simulator.create(values, simulator.initial(values, ride.start));
const run = (from, to) => { for (let k = from; k < to; k++) simulator.step(machine, k / 1024, 1 / 1024); };
run(0, 2048);
const times = [];
for (let k = 2048; k < 5120; k += 256) {
  const began = process.hrtime.bigint();
  run(k, k + 256);
  times.push(Number(process.hrtime.bigint() - began) / 1e3 / 256);
}
console.log(times.sort((a, b) => a - b)[times.length >> 1]);
"""


def javascript(page):
    """Return the time of a step in JavaScript, in us."""
    script = page.split("<script>")[-1].split("</script>")[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ride.js"
        path.write_text(script + SCRIPT, encoding="utf-8")
        return float(subprocess.run(["node", path], capture_output=True, check=True).stdout)


RIDES = """
import "./data.js";
import { LocalEngine } from "./local.js";
const [, , preset, frames, steps, commands] = process.argv;
const engine = new LocalEngine(draisineRide), given = JSON.parse(commands);
engine.due = () => Number(steps);
const rides = [];
for (let ride = 0; ride < 6; ride++) {
  engine.say({ preset });
  const now = engine.scene.controls.map((name) => given[name] ?? 0);
  const torque = engine.scene.controls.indexOf("steer_torque");
  const times = [];
  rides.push(times);
  for (let k = 0; k < frames; k++) {
    now[torque] = k % 60 < 10 ? 0.02 * (k % 10) : 0;   // a hand that moves now and then
    const began = process.hrtime.bigint();
    engine.ask(now);
    times.push(Number(process.hrtime.bigint() - began) / 1e6);
  }
}
console.log(JSON.stringify(rides));
"""


def frames(page, name, seconds=4.0):
    """Return the times (rides, frames) of six equal rides of the exported page in node, in ms. Node compiles
    during the first ones.
    """
    script = page.split("<script>")[-1].split("</script>")[0]
    commands = dict(zip(RIDER_COMMANDS, USUAL, strict=True)) | PRESETS[name].commands
    arguments = [name, str(round(seconds * STEP_RATE / FRAME)), str(FRAME), json.dumps(commands)]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for module in ("local", "motions", "bicycles", "grounds", "vectors"):
            source = files("draisine.ride") / "page" / f"{module}.js"
            (folder / f"{module}.js").write_text(source.read_text(encoding="utf-8"))
        (folder / "data.js").write_text(script, encoding="utf-8")
        (folder / "package.json").write_text('{"type": "module"}')
        (folder / "ride.js").write_text(RIDES)
        done = subprocess.run(
            ["node", "ride.js", *arguments], cwd=folder, capture_output=True, check=True
        )
        return np.array(json.loads(done.stdout))


def single_frames(processes=3):
    """Print median, 99th percentile and maximum of the frames of each ride in node.

    All rides are equal, so that each frame is the shortest of its repetitions: the first ride of several
    processes, and all later rides. What remains is not the work of other programs.
    """
    page = ride_page()
    print(f"{'ms per frame of 1/64 s':24s} {'first ride':^26s}  {'later rides':^26s}")
    print(f"{'':24s} " + 2 * f"{'median':>8s} {'99 %':>8s} {'largest':>8s}  ")
    for name in PRESETS:
        took = np.array([frames(page, name) for _ in range(processes)])
        columns = [took[:, 0].min(axis=0), took[:, 1:].min(axis=(0, 1))]
        numbers = [x for each in columns for x in (*np.percentile(each, [50, 99]), each.max())]
        print(
            f"{name:24s} " + "".join(f"{x:8.3f} " + " " * (k == 2) for k, x in enumerate(numbers))
        )


def main():
    """Print the table; return 1 where something misses its aim."""
    found = latency()
    smooth, part = share("steer-torque", 10.0)
    rough, rough_part = share("kerb", 4.0)
    jump, _ = share("ramp", 4.0)
    bound, changed = change()
    page = ride_page()
    rows = [
        ("key to state, median (ms)", float(np.median(found)), 20.0),
        ("key to state, 95 % (ms)", float(np.percentile(found, 95)), 40.0),
        ("physics on smooth ground (% of a core)", 100.0 * part, 0.5),
        ("physics on a kerb (% of a core)", 100.0 * rough_part, 10.0),
        ("longest slice on smooth ground (ms)", float(smooth.max()), 40.0),
        ("longest slice on a kerb (ms)", float(rough.max()), 40.0),
        ("longest slice on a ramp (ms)", float(jump.max()), 40.0),
        ("binding four programs to parameters (us)", bound, 20.0),
        ("a change of parameters, state solved (ms)", changed, 16.0),
        ("memory over ten minutes (MB)", growth(), 5.0),
        ("page in one file (kB)", len(page.encode()) / 1e3, 1500.0),
    ]
    if shutil.which("node"):
        rows.append(("a step in JavaScript (us)", javascript(page), 20.0))
        for name, native in (("ramp", jump), ("kerb", rough)):
            took = frames(page, name)[-1]
            ratio = float(np.median(took) / np.median(native))
            rows.append((f"frames on a {name}, JavaScript / native", ratio, 2.0))
            slowest = float(np.percentile(took, 95))
            rows.append((f"a frame on a {name} in JavaScript, 95 % (ms)", slowest, 2.0))
    for name, value, aim in rows:
        print(f"{name:46s} {value:9.3f}   below {aim:g}{'' if value < aim else '   MISSED'}")
    return int(any(value >= aim for _, value, aim in rows))


if __name__ == "__main__":
    sys.exit(single_frames() if sys.argv[1:] == ["frames"] else main())
