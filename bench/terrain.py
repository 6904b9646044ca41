"""How fast runs with events are against real time, and what a query costs on meshes of all sizes.

python bench/terrain.py [largest mesh, in points per side: 707 gives a million triangles]
"""

import sys
import time

import numpy as np

import draisine
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.terrain import height_field

RUNS = ("ramp-jump", "ramp-jump-pitched", "lift-offs", "impact-lift-off", "elastic-bounces")
WHEELIES = ("wheelie-disturbed", "wheelie-gyroscope", "wheelie-held", "wheelie-held-hard")
AIM = 20.0


def pace(name):
    """Return how long a published run lasts and the least of five times that it took, in s."""
    loaded = load(f"mauny2018/{name}")
    runs = [run(loaded) for _ in range(6)][1:]
    return float(runs[0].data.time[-1]), min(result.seconds for result in runs)


def query(n):
    """Return triangles and the least seconds of a query near the middle of an n x n height field."""
    x = 0.1 * np.arange(n)
    ground = height_field(x, x, 0.01 * np.random.default_rng(0).normal(size=(n, n)))
    centre, took = np.array([x[n // 2], x[n // 2], 0.0]), []
    for _ in range(50):
        began = time.perf_counter()
        ground.near(centre, 0.3)
        took.append(time.perf_counter() - began)
    return 2 * (n - 1) ** 2, min(took)


def first_step(n):
    """Return triangles of an n x n height field on 10 m x 10 m and the seconds that it takes to make it,
    to take a first step on it, and to take it again.
    """
    x = np.linspace(-5.0, 5.0, n)
    heights = 1e-3 * np.random.default_rng(0).normal(size=(n, n))
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=4.0)
    high = draisine.State(start.q, start.p + [0.0, 0.0, 5e-3], start.r, start.v)
    times = [time.perf_counter()]
    ground = height_field(x, x, heights)
    times.append(time.perf_counter())
    for _ in range(2):
        draisine.simulate(bicycle, high, 1e-4, terrain=ground)
        times.append(time.perf_counter())
    return 2 * (n - 1) ** 2, np.diff(times)


def main():
    """Print all tables; return 1 where a run misses twenty times real time."""
    largest, slow = int(sys.argv[1]) if len(sys.argv) > 1 else 707, 0
    print("runs with events: lasts (s), takes (ms), times real time")
    for name in (*RUNS, *WHEELIES):
        lasts, takes = pace(name)
        slow += lasts < AIM * takes
        print(f"  {name:20s} {lasts:6.2f} {1e3 * takes:8.1f} {lasts / takes:8.0f}")
    print("nearest features of a wheel: triangles, us per query, against the smallest mesh")
    first = None
    for n in sorted({8, 72, 225, largest}):
        triangles, took = query(n)
        first = first or took
        print(f"  {triangles:9d} {1e6 * took:8.0f} {took / first:6.2f}")
    print("triangles on 10 m x 10 m: made (s), first step (s), another (s)")
    first_step(8)
    for n in sorted({8, 72, 225, largest + 1}):
        triangles, took = first_step(n)
        print(f"  {triangles:9d} {took[0]:8.2f} {took[1]:8.2f} {took[2]:8.3f}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
