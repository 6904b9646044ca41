"""Random runs of the bicycle over rough ground: no gap below -1e-9 m, no pull beyond 1e-6 N, energy
never created, and every run ends in a result or a typed error.

python bench/rough_ground.py [runs] [first seed]
"""

import sys
import time
from collections import Counter

import numpy as np

import draisine
from draisine.errors import DraisineError
from draisine.simulation.hybrid import simulate_on
from draisine.terrain import height_field


def ground(rng):
    """Return rough ground, level near the start."""
    x, y = np.linspace(-2, 14, 33), np.linspace(-4, 4, 17)
    z = rng.uniform(0.002, 0.06) * rng.normal(size=(33, 17))
    return height_field(x, y, np.where(x[:, None] < 2.0, 0.0, z))


def start(bicycle, rng):
    """Return a state on the level part, or above it."""
    asked = {
        "lean": rng.normal(scale=0.05), "steer": rng.normal(scale=0.1),
        "forward_speed": rng.uniform(1, 7), "lean_rate": rng.normal(scale=0.3),
    }  # fmt: skip
    state = draisine.state(bicycle, **asked)
    return draisine.State(state.q, state.p + [0, 0, rng.choice([0.0, 0.2])], state.r, state.v)


def ride(bicycle, seed):
    """Return how a run ended, its trajectory, and the random numbers used."""
    rng = np.random.default_rng(seed)
    terrain, state = ground(rng), start(bicycle, rng)
    friction = rng.choice([np.inf, 0.9])
    law = {"impact": "plastic"} if np.isinf(friction) else {"impact": "moreau"}
    try:
        run = simulate_on(bicycle, terrain, state, 2.0, mu=friction, fall=np.radians(60), **law)
        return run.outcome.split(":")[0], run
    except DraisineError as error:
        return type(error).__name__, getattr(error, "partial", None)


def check(run):
    """Return the smallest gap, the smallest normal force and the largest relative gain of energy."""
    gap, force, gain = np.inf, np.inf, -np.inf
    energies = []
    for arc in run.arcs:
        seen = arc.seen
        gap = min(gap, float(seen["gaps"].min()))
        force = min(force, float(seen["forces"].reshape(2, 3, -1)[:, 0].min()))
        energies.append((seen["kinetic"] + seen["potential"])[0])
    if energies:
        E = np.concatenate(energies)
        gain = float(np.diff(E).max(initial=-np.inf)) / max(1.0, float(np.abs(E).max()))
    return gap, force, gain


def main(runs=1000, first=0):
    """Make the runs and print what was found."""
    bicycle = draisine.compile("whipple")
    outcomes, worst, began = Counter(), [np.inf, np.inf, -np.inf], time.time()
    for seed in range(first, first + runs):
        outcome, run = ride(bicycle, seed)
        outcomes[outcome] += 1
        if run is None or not run.arcs:
            continue
        gap, force, gain = check(run)
        if gap < -1e-9 or force < -1e-6 or gain > 1e-9:
            print(f"seed {seed}: {outcome}, gap {gap:.2e} m, force {force:.2e} N, gain {gain:.2e}")
        worst = [min(worst[0], gap), min(worst[1], force), max(worst[2], gain)]
    print(dict(outcomes), "worst gap, force, gain:", worst, f"{time.time() - began:.0f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
