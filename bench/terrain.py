"""How fast runs with events are against real time, and what a query costs on meshes of all sizes.

python bench/terrain.py [largest mesh, in points per side: 707 gives a million triangles]
"""

import sys
import time

import numpy as np

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


def main():
    """Print both tables; return 1 where a run misses twenty times real time."""
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
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
