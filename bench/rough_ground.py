"""Random runs of the bicycle over rough ground: in no accepted state a gap below -1e-9 m or a pull
beyond 1e-6 N, energy never created, and every run ends in a result or a typed error.

python bench/rough_ground.py [runs] [first seed]

Gaps are measured a second time without the package: points of the wheels' rims over the heights of
the ground. It prints a table and exits with 1 if a bound is broken.
"""

import sys
import time
from collections import Counter

import numpy as np

import draisine
from draisine.errors import DraisineError
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.table import WheelOnFeature
from draisine.terrain import height_field

BOUNDS = {"gap (m)": -1e-9, "rim (m)": -1e-9, "force (N)": -1e-6, "loss (1)": -1e-9}
X, Y = np.linspace(-2, 14, 33), np.linspace(-4, 4, 17)
ANGLES = np.linspace(0.0, 2.0 * np.pi, 360, endpoint=False)


def heights(rng):
    """Return the heights of rough ground, level near the start."""
    z = rng.uniform(0.002, 0.06) * rng.normal(size=(33, 17))
    return np.where(X[:, None] < 2.0, 0.0, z)


def start(bicycle, rng):
    """Return a state on the level part, or above it."""
    asked = {
        "lean": rng.normal(scale=0.05), "steer": rng.normal(scale=0.1),
        "forward_speed": rng.uniform(1, 7), "lean_rate": rng.normal(scale=0.3),
    }  # fmt: skip
    state = draisine.state(bicycle, **asked)
    return draisine.State(state.q, state.p + [0, 0, rng.choice([0.0, 0.2])], state.r, state.v)


def ride(bicycle, seed):
    """Return the friction, how a run ended, its trajectory and the heights of its ground."""
    rng = np.random.default_rng(seed)
    z, state = heights(rng), start(bicycle, rng)
    friction = float(rng.choice([np.inf, 0.9]))
    impact = "plastic" if np.isinf(friction) else "moreau"
    contact = draisine.ContactOptions(mu=friction, impact=impact, fall=np.radians(60))
    ground = height_field(X, Y, z)
    try:
        run = draisine.simulate(bicycle, state, 2.0, terrain=ground, contact=contact)
        return friction, run.outcome.split(":")[0], run, z
    except DraisineError as error:
        return friction, type(error).__name__, getattr(error, "partial", None), z


def over_ground(points, z):
    """Return the heights of points over the ground, by its two triangles per cell."""
    i = np.clip(((points[..., 0] - X[0]) / 0.5).astype(int), 0, len(X) - 2)
    j = np.clip(((points[..., 1] - Y[0]) / 0.5).astype(int), 0, len(Y) - 2)
    u, v = (points[..., 0] - X[i]) / 0.5, (points[..., 1] - Y[j]) / 0.5
    a, b, c, d = z[i, j], z[i + 1, j], z[i, j + 1], z[i + 1, j + 1]
    low = a + u * (b - a) + v * (d - b)
    high = a + v * (c - a) + u * (d - c)
    inside = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1)
    return np.where(inside, points[..., 2] - np.where(u >= v, low, high), np.inf)


def rim_heights(arc, z):
    """Return how far the wheels' rims are over the ground in every state of an arc."""
    look = ContactQuery(arc.machine, arc.terrain, arc.inputs)
    wheels = [WheelOnFeature(w, 0) for w in range(len(look.machine.wheels))]
    radii = np.array(look.longest)[:, None, None]
    out = []
    for t, y in zip(arc.t, arc.y, strict=True):
        centres = look.centres(t, y)
        axles = np.array([look.axle(row) for row in look.meet(t, y, wheels)])
        down = np.array([0.0, 0.0, -1.0]) + axles * axles[:, 2:]
        down /= np.linalg.norm(down, axis=1)[:, None]
        ahead = np.cross(axles, down)
        rim = np.cos(ANGLES)[:, None] * down[:, None] + np.sin(ANGLES)[:, None] * ahead[:, None]
        out.append(over_ground(centres[:, None] + radii * rim, z).min())
    return min(out)


def check(run, z):
    """Return the least gap, by the package and by the rims, the least normal force, and the largest
    relative gain of energy with the sign turned.
    """
    gap, rim, force, energies = np.inf, np.inf, np.inf, []
    for arc in run.arcs:
        seen = arc.observations
        gap = min(gap, float(seen["gaps"].min()))
        rim = min(rim, rim_heights(arc, z))
        force = min(force, float(seen["forces"].reshape(2, 3, -1)[:, 0].min()))
        energies.append((seen["kinetic"] + seen["potential"])[0])
    E = np.concatenate(energies)
    gain = float(np.diff(E).max(initial=-np.inf)) / max(1.0, float(np.abs(E).max()))
    return gap, rim, force, -gain


def main(runs=1000, first=0):
    """Make the runs and print what was found; return 1 if a bound is broken."""
    bicycle = draisine.compile("whipple")
    outcomes, began = Counter(), time.time()
    worst = dict.fromkeys(BOUNDS, (np.inf, None))
    for seed in range(first, first + runs):
        friction, outcome, run, z = ride(bicycle, seed)
        outcomes[friction, outcome] += 1
        if run is None or not run.arcs:
            continue
        for (name, bound), value in zip(BOUNDS.items(), check(run, z), strict=True):
            worst[name] = min(worst[name], (value, seed), key=lambda pair: pair[0])
            if value < bound:
                print(f"seed {seed}: {outcome}, {name} {value:.2e}", flush=True)
    print(f"{runs} runs from seed {first}, {time.time() - began:.0f} s")
    for (friction, outcome), count in sorted(outcomes.items()):
        print(f"  mu {friction:4}  {outcome:20} {count:5}")
    for name, (value, seed) in worst.items():
        print(f"  least {name:10} {value:10.2e}  seed {seed}, bound {BOUNDS[name]:.0e}")
    return int(any(value < BOUNDS[name] for name, (value, _) in worst.items()))


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
