"""Random runs of the bicycle over rough ground, or over kerbs, steps and shaking platforms, with discs
and tyres, friction and ideal wheels: in no accepted state a gap below -1e-9 m or a pull beyond 1e-6 N,
energy never created, and every run ends in a result or a typed error.

python bench/rough_ground.py {rough,steps} [--runs 1000] [--first 0] [--until 1] [--log FILE]

Gaps are measured a second time without the package: points of the wheels over the heights of the
ground. Where ideal wheels find no set of contacts, SciPy's `milp` looks for one, too. It prints tables
and exits with 1 if a bound is broken, such a set is found or a run makes no progress. With a log (one
line of JSON per run) it goes on where it was stopped.
"""

import argparse
import json
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

import draisine
from draisine.errors import ContactSetError, DraisineError
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.status import Status
from draisine.terrain import Mesh, height_field, kerb, move_ground, plane
from draisine.terrain.motions import Shake

BOUNDS = {"gap (m)": -1e-9, "rim (m)": -1e-9, "force (N)": -1e-6, "loss (1)": -1e-9}
X, Y = np.linspace(-2, 14, 33), np.linspace(-4, 4, 17)
AROUND = np.linspace(-1.8, 1.8, 121)
CROWN = 0.02
TOUCH, SOON = 1e-7, 3e-7
"""Gaps that are none (m), and how far one looks ahead where a force just vanishes (s)."""

SURE = -1e-9
"""What the other solver's answer must be below to be negative: its own errors are 1e-10 where the
answer is known to be zero.
"""


@cache
def bicycle(crown):
    return draisine.compile("whipple", crown=crown) if crown else draisine.compile("whipple")


# --- grounds, each with its height at points and times


def rough(rng):
    """Return rough ground, level near the start, and its heights by two triangles per cell."""
    z = rng.uniform(0.002, 0.06) * rng.normal(size=(33, 17))
    z = np.where(X[:, None] < 2.0, 0.0, z)

    def above(points, t):
        i = np.clip(((points[..., 0] - X[0]) / 0.5).astype(int), 0, len(X) - 2)
        j = np.clip(((points[..., 1] - Y[0]) / 0.5).astype(int), 0, len(Y) - 2)
        u, v = (points[..., 0] - X[i]) / 0.5, (points[..., 1] - Y[j]) / 0.5
        a, b, c, d = z[i, j], z[i + 1, j], z[i, j + 1], z[i + 1, j + 1]
        low = a + u * (b - a) + v * (d - b)
        high = a + v * (c - a) + u * (d - c)
        inside = (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1)
        return np.where(inside, points[..., 2] - np.where(u >= v, low, high), np.inf)

    return "rough", height_field(X, Y, z), above


def steps(rng):
    """Return a kerb, a flight of steps, or a shaking platform."""
    kind = ("kerb", "steps", "platform")[int(rng.integers(3))]
    if kind == "platform":
        A, w = rng.uniform(0.0, 0.02), rng.uniform(5.0, 40.0)
        floor = move_ground(plane(), Shake((0.0, 0.0, A), w))
        return kind, floor, lambda points, t: points[..., 2] - A * np.sin(w * t)[:, None, None]
    count = 1 if kind == "kerb" else int(rng.integers(2, 5))
    at = 1.6 + np.cumsum(rng.uniform(0.3, 1.0, count))
    rises = rng.uniform(0.01, 0.12, count) * rng.choice([-1.0, 1.0], count)
    levels = np.concatenate([[0.0], np.cumsum(rises)])

    def above(points, t):
        """Return the height over the steps, or how far beside the nearest wall, if that is less deep."""
        x, z = points[..., 0], points[..., 2]
        over = z - levels[np.searchsorted(at, x)]
        for place, low, high in zip(at, levels[:-1], levels[1:], strict=True):
            beside = np.abs(x - place)
            inner = (x > place) == (high > low)  # on the side of the wall that is solid
            over = np.where(
                (over < 0) & inner & (z > min(low, high)), np.maximum(over, -beside), over
            )
        return over

    if kind == "kerb":
        return kind, kerb(float(at[0]), float(rises[0])), above
    profile = [(-20.0, 0.0)]
    for place, low, high in zip(at, levels[:-1], levels[1:], strict=True):
        profile += [(place, low), (place, high)]
    profile.append((30.0, levels[-1]))
    points = [[x, y, z] for x, z in profile for y in (-9.0, 9.0)]
    fans = [[k, k + 2, k + 3, k + 1] for k in range(0, 2 * len(profile) - 2, 2)]
    return kind, Mesh(points, [t for a, b, c, d in fans for t in ([a, b, c], [a, c, d])]), above


# --- runs


def start(system, rng):
    """Return a state on the level part, or above it."""
    asked = {
        "lean": rng.normal(scale=0.05), "steer": rng.normal(scale=0.1),
        "forward_speed": rng.uniform(1, 7), "lean_rate": rng.normal(scale=0.3),
    }  # fmt: skip
    state = draisine.state(system, **asked)
    return draisine.State(state.q, state.p + [0, 0, rng.choice([0.0, 0.2])], state.r, state.v)


def ride(kind, seed, until):
    """Return one run: what it was, how it ended, and the worst of it."""
    rng = np.random.default_rng(seed)
    crown = CROWN if seed % 3 == 2 else 0.0
    name, ground, above = (rough if kind == "rough" else steps)(rng)
    state = start(bicycle(crown), rng)
    friction = float(rng.choice([np.inf, 0.9]))
    impact = "plastic" if np.isinf(friction) else "moreau"
    contact = draisine.ContactOptions(
        mu=friction, impact=impact, fall=np.radians(60), solver="events"
    )
    told, milps, run, failure, began = "", None, None, None, time.process_time()
    try:
        run = draisine.simulate(bicycle(crown), state, until, terrain=ground, contact=contact)
    except DraisineError as error:
        failure = error
    took = time.process_time() - began
    if run is not None:
        end = run.outcome.split(":")[0]
    else:
        run, end, told = getattr(failure, "partial", None), type(failure).__name__, str(failure)
        if isinstance(failure, ContactSetError) and np.isinf(friction) and run is not None:
            milps = largest_least_force(failure, run)
    lasted = float(run.t[-1]) if run is not None and run.arcs else 0.0
    worst = check(run, above, crown) if run is not None and run.arcs else [np.inf] * len(BOUNDS)
    wheels = "tyres" if crown else "discs"
    return {
        "seed": seed, "ground": name, "wheels": wheels, "mu": friction, "end": end, "told": told,
        "worst": dict(zip(BOUNDS, worst, strict=True)), "milp": milps, "took": took, "lasted": lasted,
    }  # fmt: skip


def rim_heights(run, above, crown):
    """Return how far the wheels are over the ground in every state of a run, the least."""
    first = run.arcs[0]
    look = ContactQuery(first.machine, first.terrain, first.inputs)
    t = np.concatenate([np.asarray(arc.t) for arc in run.arcs])
    rows = look.evaluate_gaps(t, np.concatenate([arc.y for arc in run.arcs]), look.level)
    centres, axles = rows[..., look.row.centre], rows[..., look.row.axle]
    down = np.array([0.0, 0.0, -1.0]) + axles * axles[..., 2:]
    down /= np.linalg.norm(down, axis=-1)[..., None]
    ahead, rings = np.cross(axles, down), np.array(look.longest)[:, None] - crown
    least = np.inf
    for turn in AROUND:
        out = np.cos(turn) * down + np.sin(turn) * ahead
        for lean in np.linspace(-1.2, 1.2, 5) if crown else (0.0,):
            points = centres + rings * out + crown * (np.cos(lean) * out + np.sin(lean) * axles)
            least = min(least, float(above(points[:, :, None], t).min()))
    return least


def check(run, above, crown):
    """Return the least gap, by the package and by points of the wheels, the least normal force, and the
    largest relative gain of energy with the sign turned (on ground that moves there may be any).
    """
    seen = [arc.observations for arc in run.arcs]
    gap = min(float(one["gaps"].min()) for one in seen)
    force = min(float(one["forces"].reshape(2, 3, -1)[:, 0].min()) for one in seen)
    E = np.concatenate([(one["kinetic"] + one["potential"])[0] for one in seen])
    gain = float(np.diff(E).max(initial=-np.inf)) / max(1.0, float(np.abs(E).max()))
    loss = np.inf if run.arcs[0].terrain.motions else -gain
    return gap, rim_heights(run, above, crown), force, loss


# --- the same question to another solver


def largest_least_force(error, run):
    """Return the largest value that the least of all normal forces and separations can have over all
    sets of ideal contacts, by mixed-integer programming, in parts of the largest force and separation:
    no set is admissible where it is negative.
    """
    arc, t = run.arcs[-1], float(run.t[-1])
    look = ContactQuery(arc.machine, arc.terrain, arc.inputs)
    y = arc.machine.enter(error.state, np.zeros(0))
    near = look.find_surroundings(t, y, 0.0).contacts
    touching = [
        contact
        for contact, row in zip(near, look.evaluate_rows(t, y, near), strict=True)
        if abs(look.gap(row)) <= TOUCH and look.excess(contact, row) <= TOUCH
    ]
    tried = {key for trial in error.trials for key in trial.closed}
    if tried:
        touching = [c for c in touching if look.key(c) in tried]
    else:  # a force that vanishes: look at where it would go on to
        y, t = _later(look, t, y, touching), t + SOON
    rows = look.evaluate_rows(t, y, touching)
    met = zip(touching, rows, strict=True)
    contacts = [look.candidate(c, row, np.inf, Status.ROLLING) for c, row in met]
    parts, v = look.dynamics(t, y), look.speeds(y)
    M, (held, targets) = parts["M"].reshape(look.n, look.n), look.equality_rows(parts)
    if tried and any(k.relative(v)[0] < -1e-9 for k in contacts):
        change = [(k.C, -k.relative(v)) for k in contacts]
        return _best(M, 0.0 * v, held, 0.0 * targets, change)
    if tried:  # those that part already are no question
        contacts = [k for k in contacts if k.relative(v)[0] <= 1e-6]
    return _best(M, -parts["F"], held, targets, [(k.C, k.c) for k in contacts])


def _later(look, t, y, touching):
    """Return the state a little later, all contacts that touch held."""
    closed = [(contact, 3, np.inf) for contact in touching]
    vdot = look.accelerate(t, y, closed)[0]
    soon = y.copy()
    soon[look.pose] += SOON * look.dynamics(t, y)["flow"]
    soon[look.y.v] += SOON * vdot
    return soon


def _best(M, right, held, targets, contacts, big=50.0):
    """Return the largest s with `M x = right + held' h + sum C' lam`, `held x = targets` and, for each
    contact, either `C x = c` and `lam_n >= s`, or `lam = 0` and `C_n x - c_n >= s`; x is measured in
    parts of `fast`, forces and impulses in parts of `strong`.
    """
    n, m, k = len(M), len(held), len(contacts)
    free = np.linalg.solve(M, right)
    fast = max(float(np.abs(C @ free - c).max()) for C, c in contacts)
    light = max(float(C[0] @ np.linalg.solve(M, C[0])) for C, _ in contacts)
    strong = max(float(np.abs(right).max()), fast / light)
    at_h, at_lam, at_z, size = n, n + m, n + m + 3 * k, n + m + 4 * k + 1
    A, low, high = [], [], []

    def add(row, least, most):
        A.append(row), low.append(least), high.append(most)

    for i in range(n):
        row = np.zeros(size)
        row[:n] = M[i] * fast / strong
        row[at_h:at_lam] = -held[:, i]
        for j, (C, _) in enumerate(contacts):
            row[at_lam + 3 * j : at_lam + 3 * j + 3] = -C[:, i]
        add(row, right[i] / strong, right[i] / strong)
    for i in range(m):
        add(np.concatenate([held[i], np.zeros(size - n)]), targets[i] / fast, targets[i] / fast)
    for j, (C, c) in enumerate(contacts):
        z = at_z + j
        for i in range(3):
            row = np.zeros(size)
            row[:n], row[z] = C[i], big
            add(row, -np.inf, big + c[i] / fast)  # C x - c <= big (1 - z)
            row = np.zeros(size)
            row[:n], row[z] = C[i], -big
            add(row, c[i] / fast - big, np.inf)
            for sign in (1.0, -1.0):
                row = np.zeros(size)
                row[at_lam + 3 * j + i], row[z] = sign, -big
                add(row, -np.inf, 0.0)  # |lam| <= big z
        row = np.zeros(size)
        row[at_lam + 3 * j], row[z], row[-1] = 1.0, -big, -1.0
        add(row, -big, np.inf)  # lam_n >= s - big (1 - z)
        row = np.zeros(size)
        row[:n], row[z], row[-1] = C[0], big, -1.0
        add(row, c[0] / fast, np.inf)  # C_n x - c_n >= s - big z
    whole = np.zeros(size)
    whole[at_z : at_z + k] = 1
    least, most = np.full(size, -np.inf), np.full(size, np.inf)
    least[at_z : at_z + k], most[at_z : at_z + k] = 0.0, 1.0
    least[-1], most[-1] = -big, big
    goal = np.zeros(size)
    goal[-1] = -1.0
    found = milp(
        goal,
        constraints=LinearConstraint(np.array(A), low, high),
        integrality=whole,
        bounds=Bounds(least, most),
        options={"time_limit": 20.0},
    )
    return float(found.x[-1]) if found.x is not None else None


# --- campaigns


def main(given=None):
    """Make the runs and print what was found; return 1 if a bound is broken."""
    parser = argparse.ArgumentParser(description="Random runs over rough ground or steps.")
    parser.add_argument("kind", choices=("rough", "steps"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--until", type=float, default=1.0)
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args(given)
    old = asked.log.read_text().splitlines() if asked.log and asked.log.exists() else []
    known, began = {one["seed"]: one for one in map(json.loads, old)}, time.time()
    for seed in range(asked.first, asked.first + asked.runs):
        if seed not in known:
            known[seed] = one = ride(asked.kind, seed, asked.until)
            if asked.log:
                with asked.log.open("a") as log:
                    log.write(json.dumps(one) + "\n")
    found = [known[seed] for seed in range(asked.first, asked.first + asked.runs)]
    print(
        f"{asked.runs} runs of {asked.until:g} s from seed {asked.first}, {time.time() - began:.0f} s"
    )
    return summary(found)


def summary(found):
    """Print what was found; return 1 if a bound is broken or another solver finds what we did not."""
    ends = Counter((one["wheels"], one["mu"], one["ground"], one["end"]) for one in found)
    for (wheels, mu, ground, end), count in sorted(ends.items()):
        print(f"  {wheels}  mu {mu:4}  {ground:9} {end:20} {count:5}")
    timed, broken = [one for one in found if one.get("took")], 0
    for wheels in ("discs", "tyres"):
        took = sum(one["took"] for one in timed if one["wheels"] == wheels)
        lasted = sum(one["lasted"] for one in timed if one["wheels"] == wheels)
        print(f"  {wheels}: {lasted:.1f} s in {took:.2f} s of the processor")
    for name, bound in BOUNDS.items():
        worst = min(found, key=lambda one: one["worst"][name])
        print(
            f"  least {name:10} {worst['worst'][name]:10.2e}  seed {worst['seed']}, bound {bound:.0e}"
        )
        for one in found:
            if one["worst"][name] < bound:
                print(f"    seed {one['seed']}: {one['end']}, {name} {one['worst'][name]:.2e}")
                broken = 1
    asked = [one for one in found if one["milp"] is not None]
    other = [one["seed"] for one in asked if one["milp"] > SURE]
    print(
        f"  no set of ideal contacts: {len(asked)}, of which milp finds one for {len(other)} {other}"
    )
    endless = [one["seed"] for one in found if one["end"] == "ZenoError"]
    print(f"  no progress, though no impact bounces: {len(endless)} {endless}")
    return int(broken or bool(other) or bool(endless))


if __name__ == "__main__":
    sys.exit(main())
