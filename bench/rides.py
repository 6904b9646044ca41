"""Many rides over rough ground with different seeds, in one store: `python bench/rides.py {cost,store}`.

cost     processor time per run of sweeps on terrain in a worker: jumps with other speeds, masses and heights
         of the ramp, rides over rough ground with other seeds
store    10,000 rides in one Zarr store; the sweep is killed every few seconds and resumed until it has
         finished, then some rides are compared with single runs, bit by bit

python bench/rides.py store [--count 10000] [--until 0.5] [--kill 150] [--folder FOLDER]

The exit code of `store` is 1 if a ride is missing, or if one differs from its single run.
"""

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import draisine
from draisine import ContactOptions, simulate, state
from draisine.experiment.sweep.chunks import Runner
from draisine.scenario.library import load
from draisine.terrain import rough

JUMP = """
kind = "sweep"
title = "Jumps from a ramp"
[vehicle]
name = "whipple"
parameter_set = "thesis_table_2_1"
[terrain]
shape = "ramp"
slope = "10deg"
drop = 0.5
[initial]
place = {{ wheel = "rear", centre = [-5.0, 0.0], on = "ramp" }}
forward_speed = 9.8
[run]
until = 1.5
[sweep]
design = "list"
outputs = ["maximum pitch", "final pitch", "final position[x]"]
[sweep.between]
{path} = {{ low = {low}, high = {high}, count = {count} }}
"""

ROUGH = """
kind = "sweep"
title = "Rides over rough ground"
[vehicle]
name = "whipple"
[terrain]
shape = "rough"
height = 0.01
at = 2.0
length = 3.0
width = 1.0
[initial]
forward_speed = 4.6
[contact]
mu = 0.8
[run]
until = {until}
[sweep]
design = "list"
chunk = 250
outputs = ["peak lean", "final position[x]", "number of collisions"]
[sweep.between]
"terrain.seed" = {{ low = 0, high = {last}, count = {count} }}
"""

GROUP = 64  # runs per measurement
COMPARED = 20  # rides that are compared with single runs
SWEEP = """
import signal, sys, draisine
# Shells start background jobs with Ctrl-C ignored, and their children inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)
draisine.sweep(*sys.argv[1:3], workers=1, resume=True)
"""


def study(folder, text):
    """Write a scenario and return its path."""
    path = Path(folder, "study.toml")
    path.write_text(text, encoding="utf-8")
    return path


def cost(repeat=5):
    """Print the least processor time per run of groups of runs, in ms."""
    cases = {
        "jumps, speed": ('"initial.forward_speed"', 9.0, 10.0),
        "jumps, height of the ramp": ('"terrain.drop"', 0.4, 0.6),
        "jumps, mass of the frame": ('"vehicle.parameters.mB"', 80.0, 90.0),
    }
    texts = {
        name: JUMP.format(path=path, low=low, high=high, count=GROUP)
        for name, (path, low, high) in cases.items()
    }
    texts["rides of 1 s, seed of the ground"] = ROUGH.format(until=1.0, last=GROUP - 1, count=GROUP)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            runner = Runner(load(str(study(folder, text))), threads=1)
            runner.simulate_range(0, GROUP)  # the first ones compile
            times = []
            for _ in range(repeat):
                began = time.process_time()
                rows = runner.simulate_range(0, GROUP)
                times.append(1e3 * (time.process_time() - began) / GROUP)
            outcomes = dict(Counter(rows.outcome.tolist()))
            print(f"{name:36} {min(times):8.3f} ms per run, {outcomes}", flush=True)
    return 0


def store(count, until, kill, folder):
    """Run the rides in a process that is killed and resumed; return 1 if a ride is missing or differs."""
    path = study(folder, ROUGH.format(until=until, last=count - 1, count=count))
    target = Path(folder, "rides.zarr")
    starts = 0
    began = time.perf_counter()
    while True:
        starts += 1
        command = [sys.executable, "-c", SWEEP, str(path), str(target)]
        # An interruption prints where it happened.
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            code = process.wait(kill)
            break
        except subprocess.TimeoutExpired:
            # Alternately as Ctrl-C does, and without any chance to clean up.
            process.send_signal(signal.SIGINT if starts % 2 else signal.SIGKILL)
            process.wait()
    spent = time.perf_counter() - began
    if code:
        print(f"the sweep ended with code {code}")
        return 1
    data = draisine.load(str(target))
    print(f"{count} rides, {starts - 1} interruptions, {spent:.0f} s: {dict(_outcomes(data))}")
    differing = [k for k in _sample(count) if not _equals_single_run(data, k, until)]
    print(f"{COMPARED} rides compared with single runs, {len(differing)} differ")
    return 1 if differing or data.sizes["run"] != count or "not run" in _outcomes(data) else 0


def _outcomes(data):
    """Return how often each outcome occurs."""
    return Counter(data.outcome.values.tolist())


def _sample(count):
    """Return the numbers of the rides to compare."""
    return np.random.default_rng(0).choice(count, min(COMPARED, count), replace=False).tolist()


def _equals_single_run(data, k, until):
    """Return whether a ride ends where its single run does, to the last bit."""
    bicycle = draisine.compile("whipple")
    ground = rough(0.01, at=2.0, length=3.0, width=1.0, seed=k)
    start = state(bicycle, forward_speed=4.6)
    run = simulate(bicycle, start, until, terrain=ground, contact=ContactOptions(mu=0.8))
    found = float(data["final position[x]"][k])
    return found == float(run.to_xarray()["position"][-1, 0])


def main():
    """Run what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["cost", "store"])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--until", type=float, default=0.5)
    parser.add_argument("--kill", type=float, default=150.0)
    parser.add_argument("--folder")
    arguments = parser.parse_args()
    if arguments.what == "cost":
        return cost()
    folder = arguments.folder or tempfile.mkdtemp()
    return store(arguments.count, arguments.until, arguments.kill, folder)


if __name__ == "__main__":
    sys.exit(main())
