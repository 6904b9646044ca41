"""Drives of wheeled machines over uneven ground: how many finish, what stops the others, what they cost.

python bench/robots.py drives [--runs 200] [--first 0] [--solver auto] [--only jackal,car] [--log FILE]
python bench/robots.py random [--runs 300]        15 machines, thrown or rolling, on random ground
python bench/robots.py kerbs                      39 slow descents of a kerb by the ideal bicycle
python bench/robots.py throws                     30 throws of the car on a plane
python bench/robots.py accuracy [--runs 20]       against time stepping at an eighth of the step
python bench/robots.py mujoco                     TurtleBot3 and linorobot on hills beside MuJoCo
python bench/robots.py bifurcation                neighbours of linorobot on its casters, beside MuJoCo
python bench/robots.py balancer                   the tutorial's balancer on kerbs, beside MuJoCo
python bench/robots.py cost                       cost per step of five robots, beside `mj_step`
python bench/robots.py files --folder FOLDER      public robot files under velocity commands

A run is good if it reaches its end or ends in a named outcome (it fell, it turned over) that half the time
step confirms, or that the motion itself does not determine: a neighbour of the initial state by 1e-6 m and
1e-6 rad does not fall. An error, a value that is not finite, or more than 20 s of CPU is bad. With a log (one
line of JSON per run) a campaign resumes where it stopped. The exit code is 1 if a run is bad.

The machines are defined here: masses and sizes are those of the makers' public descriptions, wheels are
tori, casters are balls without friction.
"""

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import draisine
from draisine import ContactOptions, simulate, state
from draisine.analysis.lqr import balance
from draisine.errors import DraisineError
from draisine.mechanics.forces.brush_tyre import BrushTyre
from draisine.model import Ball, Body, Model, Revolute, Torus, Wheel, forward_speed, inertia
from draisine.simulation.validity.fall import has_fallen
from draisine.terrain import height_field, kerb, plane, rough, stairs

AXLE = (0.0, 1.0, 0.0)
BEGIN = 0.6  # m; the ground is level before
LONGEST = 20.0  # s of CPU that a good run takes at most
UNTIL = 4.0  # s
ALLOWED = 5e-3  # m; distance from a run with an eighth of the time step
NEIGHBOUR = (
    1e-6  # m along and rad in yaw; runs that start so near differ where the motion is discontinuous
)


# --- machines


def two_wheels(mass, centre, moments, radius, crown, half_track, wheel, casters):
    """Return a base on two driven wheels and on casters, (x, radius) each."""
    hubs = {"left": (0.0, half_track, radius), "right": (0.0, -half_track, radius)}
    return Model(
        bodies=[
            Body("base", mass, centre, inertia(*moments)),
            *(Body(name, wheel[0], hub, inertia(*wheel[1])) for name, hub in hubs.items()),
        ],
        joints=[Revolute(name, "base", name, AXLE, hub) for name, hub in hubs.items()],
        contacts=[
            *(Wheel(name, name, hub, AXLE, Torus(radius, crown)) for name, hub in hubs.items()),
            *(
                Wheel(f"caster{k}", "base", (x, 0.0, r), AXLE, Ball(r), slides=True)
                for k, (x, r) in enumerate(casters)
            ),
        ],
        outputs=[forward_speed("base", (0.0, 0.0, radius), "velocity of the axle's middle")],
    )


TWO_WHEELED = {
    "turtlebot3": {
        "mass": 0.945,
        "centre": (-0.03, 0.0, 0.06),
        "moments": (0.0032, 0.0031, 0.0030),
        "radius": 0.033,
        "crown": 0.009,
        "half_track": 0.08,
        "wheel": (0.0285, (1.1176e-5, 2.0713e-5, 1.1176e-5)),
        "casters": [(-0.081, 0.008)],
    },
    "linorobot": {
        "mass": 1.4,
        "centre": (0.0, 0.0, 0.08),
        "moments": (0.0100, 0.0079, 0.0155),
        "radius": 0.045,
        "crown": 0.005,
        "half_track": 0.13,
        "wheel": (0.1, (5.2e-5, 1.01e-4, 5.2e-5)),
        "casters": [(0.0825, 0.0375), (-0.0825, 0.0375)],
    },
}
TWO_WHEELED["linorobot-front"] = TWO_WHEELED["linorobot"] | {
    "centre": (0.0415, 0.0, 0.08),
    "casters": [(0.124, 0.0375)],
}
"""TurtleBot3 Burger, and linorobot with two driven wheels and two ball casters, or with the front caster
alone and wheels behind the centre of mass: masses (kg), moments of inertia (kg m^2), sizes (m). With both
casters the robot stands on four points: on uneven ground rigid wheels lose their load.
"""


def turtlebot3():
    """Return TurtleBot3 Burger."""
    return two_wheels(**TWO_WHEELED["turtlebot3"])


def linorobot():
    """Return linorobot with two driven wheels and two ball casters."""
    return two_wheels(**TWO_WHEELED["linorobot"])


def linorobot_front():
    """Return linorobot with the front caster alone: it stands on three points."""
    return two_wheels(**TWO_WHEELED["linorobot-front"])


def four_wheels(tyred, mass, centre, moments, radius, crown, half_base, half_track, wheel):
    """Return a base on four driven wheels, on brush tyres or not."""
    tyre = BrushTyre(15.0, 0.8, 0.3 * radius, 0.1 * radius) if tyred else None
    hubs = {
        f"{end}_{side}": (x * half_base, y * half_track, radius)
        for end, x in (("rear", -1.0), ("front", 1.0))
        for side, y in (("left", 1.0), ("right", -1.0))
    }
    return Model(
        bodies=[
            Body("base", mass, centre, inertia(*moments)),
            *(Body(name, wheel[0], hub, inertia(*wheel[1])) for name, hub in hubs.items()),
        ],
        joints=[Revolute(name, "base", name, AXLE, hub) for name, hub in hubs.items()],
        contacts=[
            Wheel(name, name, hub, AXLE, Torus(radius, crown), tyre=tyre)
            for name, hub in hubs.items()
        ],
        outputs=[forward_speed("base", (0.0, 0.0, radius), "velocity of the base's middle")],
    )


def jackal(*, tyred: bool = False):
    """Return Clearpath Jackal."""
    moments, wheel = (0.3136, 0.3922, 0.4485), (0.477, (0.0013, 0.0024, 0.0013))
    return four_wheels(
        tyred, 16.523, (0.012, 0.002, 0.13), moments, 0.098, 0.02, 0.131, 0.188, wheel
    )


def husky(*, tyred: bool = False):
    """Return Clearpath Husky."""
    moments, wheel = (0.6022, 1.7386, 2.0296), (2.637, (0.0246, 0.0441, 0.0246))
    return four_wheels(tyred, 46.034, (0.0, 0.0, 0.19), moments, 0.1651, 0.03, 0.256, 0.2854, wheel)


class WheelServos:
    """Servos on the rates of wheels (rad/s), with a gain in N m s/rad."""

    def __init__(self, rates, gain):
        self.rates, self.gain = rates, gain

    def __call__(self, readings, z):
        torques = {
            name: self.gain * (rate - readings.rate(name)) for name, rate in self.rates.items()
        }
        return torques, []


LEFT2, RIGHT2 = ("left",), ("right",)
LEFT4, RIGHT4 = ("rear_left", "front_left"), ("rear_right", "front_right")
DRIVEN = {
    "turtlebot3": (turtlebot3, {}, 0.033, 0.16, LEFT2, RIGHT2, (0.001, 0.05)),
    "linorobot": (linorobot, {}, 0.045, 0.26, LEFT2, RIGHT2, (0.002, 0.05)),
    "linorobot-front": (linorobot_front, {}, 0.045, 0.26, LEFT2, RIGHT2, (0.002, 0.05)),
    "jackal": (jackal, {}, 0.098, 0.376, LEFT4, RIGHT4, (0.2, 5.0)),
    "jackal-tyres": (jackal, {"tyred": True}, 0.098, 0.376, LEFT4, RIGHT4, (0.2, 5.0)),
    "husky": (husky, {}, 0.1651, 0.571, LEFT4, RIGHT4, (1.0, 20.0)),
    "husky-tyres": (husky, {"tyred": True}, 0.1651, 0.571, LEFT4, RIGHT4, (1.0, 20.0)),
}
"""Vehicle, structure, wheel radius (m), track (m), left and right joints, gains of the soft and the stiff
servo (N m s/rad).
"""

ROLLING = {"car": 1.0, "tricycle": 1.0, "skateboard": 1.0, "segway": 0.5}
"""Shipped machines that roll at a speed (m/s), the segway under LQR."""


@cache
def system_of(name):
    if name in DRIVEN:
        vehicle, structure = DRIVEN[name][:2]
        return draisine.compile(vehicle, **structure)
    if name == "rover":
        folder = Path(__file__).parent.parent / "docs" / "tutorial"
        return draisine.compile(str(folder / "rover.py:rover"))
    return draisine.compile(name)


@cache
def balancing(name):
    weights, costs = {"pitch": 100.0}, {"left": 0.1, "right": 0.1}
    return balance(system_of(name), weights, costs, forward_speed=ROLLING[name])


# --- grounds


def hill_heights(height, seed, cell=0.1):
    """Return x, y (m) and random heights z (m) at the corners of cells, level before BEGIN."""
    x = np.arange(-3.0, 6.0, cell)
    y = np.arange(-3.0, 3.0 + 0.5 * cell, cell)
    z = np.random.default_rng(seed).uniform(0.0, height, (len(x), len(y)))
    z[x < BEGIN] = 0.0
    return x, y, z


def hills(height, seed, cell=0.1):
    """Return hills of random heights at the corners of cells, level before BEGIN."""
    return height_field(*hill_heights(height, seed, cell))


GROUNDS = {
    "hills-5mm": lambda seed: hills(0.005, seed),
    "hills-10mm": lambda seed: hills(0.01, seed),
    "hills-20mm": lambda seed: hills(0.02, seed),
    "rough": lambda seed: rough(0.01, 0.1, at=BEGIN, length=5.0, width=6.0, seed=seed),
    "kerb-5mm": lambda seed: kerb(BEGIN, 0.005),
    "kerb-10mm": lambda seed: kerb(BEGIN, 0.01),
    "kerb-20mm": lambda seed: kerb(BEGIN, 0.02),
    "stairs": lambda seed: stairs(BEGIN, 0.01, 0.3, 3),
}
PATHS = ("straight", "17deg", "40deg", "curve")


def start_of(name, path):
    """Return the state and the law of a machine at the start of a drive."""
    system = system_of(name)
    yaw = np.radians({"17deg": 17.0, "40deg": 40.0}.get(path, 0.0))
    turn = 0.3 if path == "curve" else 0.0
    return system, yaw, turn


def drive(name, ground, path, mu, stiff, seed, solver="auto", step=None, until=UNTIL, offset=0.0):
    """Return one drive: the run, or the error that ended it, and the CPU time. It starts at an offset (m
    along, rad in yaw).
    """
    system, yaw, turn = start_of(name, path)
    yaw += offset
    law, tyred = None, "tyres" in name or name == "rover"
    if name in DRIVEN:
        _, _, radius, track, left, right, gains = DRIVEN[name]
        speed = max(0.2, 2.0 * radius)
        rates = dict.fromkeys(left, (speed - turn * track / 2) / radius)
        rates |= dict.fromkeys(right, (speed + turn * track / 2) / radius)
        law = WheelServos(rates, gains[stiff])
    elif name == "segway":
        law = balancing(name)
    speed = ROLLING.get(name, 0.0) if name not in DRIVEN else 0.0
    asked = {"yaw": yaw, "forward_speed": speed} if name in ROLLING else {"yaw": yaw}
    if name == "rover":
        asked["forward_speed"] = 0.8
    if name not in DRIVEN:
        before = (
            0.3 if name == "segway" else 1.2
        )  # m before the origin; the car reaches 2.5 m ahead
        asked |= {"x": -before * np.cos(yaw), "y": -before * np.sin(yaw)}
    begin = state(system, **asked)
    begin = draisine.State(begin.q, begin.p + [offset, 0.0, 0.0], begin.r, begin.v)
    friction = {} if tyred else {"mu": mu}
    options = ContactOptions(solver=solver, step=step, **friction)
    began = time.process_time()
    try:
        found = simulate(
            system, begin, until, terrain=GROUNDS[ground](seed), law=law, contact=options
        )
    except DraisineError as error:
        found = error
    return found, time.process_time() - began


def stepped(run):
    """Return how long a run went in time steps, s."""
    return sum(
        float(arc.t[-1] - arc.t[0]) for arc in run.arcs if type(arc).__name__ == "SteppedArc"
    )


def row_of(found, took):
    """Return how a run ended, as a line of the log."""
    bad = isinstance(found, DraisineError)
    told = f"{type(found).__name__}: {found}"[:200] if bad else found.outcome
    if not bad and not np.isfinite(found.arcs[-1].y).all():
        bad, told = True, "not finite"
    if took > LONGEST:
        bad, told = True, f"{told} (slow)"
    end = None if bad else [round(float(x), 5) for x in found.arcs[-1].y[-1][4:7]]
    counts = {} if bad else {"arcs": len(found.arcs), "stepped": round(stepped(found), 4)}
    return {"bad": bad, "end": told, "place": end, "cpu": round(took, 3)} | counts


def confirm_fall(run, what):
    """Return a run that fell; an error if it does not fall with half the time step, unless its neighbours
    do not fall either. A run without time steps would repeat itself: it is compared with time steps.
    """
    steps = [one.step for one in run.validity.time_stepped]
    solver = "auto" if steps else "time_stepping"
    if not steps:
        first, _ = drive(*what, solver=solver, until=1e-3)
        steps = [one.step for one in first.validity.time_stepped]
    if fell(drive(*what, solver=solver, step=0.5 * min(steps))[0]):
        return run
    runs = [drive(*what, offset=offset)[0] for offset in (-NEIGHBOUR, NEIGHBOUR)]
    if not all(fell(one) or isinstance(one, DraisineError) for one in runs):
        return replace(run, outcome=f"{run.outcome}; a neighbour by {NEIGHBOUR:g} does not")
    return DraisineError(f"{run.outcome}, but not with half the time step")


def fell(found):
    """Return whether a run ended in a fall."""
    return not isinstance(found, DraisineError) and has_fallen(found.outcome)


# --- campaigns


def draw_drive(seed, only):
    """Return the drive of a seed."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice(only))
    ground, path = str(rng.choice(list(GROUNDS))), str(rng.choice(PATHS))
    mu, stiff = float(rng.choice([0.5, 0.8, 1.2])), int(rng.integers(2))
    return name, ground, path, mu, stiff, int(rng.integers(20))


def classify(told):
    """Return the cause of a failed run in the words of the documentation."""
    creep = "permanent creep: stick and slip without end"
    unsolvable = "no solution at acceleration level"
    edges = "edges and concave edges"
    causes = {
        "makes no progress": creep,
        "no step is small enough": creep,
        "steps have become so short": creep,
        "more than": "event cap",
        "Painlevé": unsolvable,
        "no forces": unsolvable,
        "no contact set is admissible": unsolvable,
        "about to be pulled": unsolvable,
        "contradict": unsolvable,
        "sinks": edges,
        "penetrates": edges,
        "no step keeps": edges,
        "plane of the disc": edges,
        "prescribed motion": "infeasible prescribed motion",
        "ideal contacts": "ideal wheels over-constrain the machine",
    }
    for words, cause in causes.items():
        if words in told:
            return cause
    return "other: " + told[:40]


def random_run(seed):
    """Return a random run of one of 15 machines over random ground."""
    rng = np.random.default_rng(seed)
    name = RANDOM[int(rng.integers(len(RANDOM)))]
    structure = {"whipple-crown": {"crown": 0.02}}.get(name, {})
    vehicle = name.removesuffix("-crown")
    system = compiled(vehicle, tuple(structure.items()))
    speed = float(rng.uniform(0.5, 4.0))
    asked = {"x": -2.0} if "Vx" in system.model.speeds else {}
    asked |= {name: speed for name in ("forward_speed", "x_speed") if name in names_of(system)}
    if name in LEANING:
        asked["lean"] = float(rng.normal(scale=0.03))
    ground = [
        lambda: hills(float(rng.uniform(0.002, 0.03)), seed, float(rng.uniform(0.1, 0.5))),
        lambda: kerb(1.5, float(rng.choice([-1.0, 1.0]) * rng.uniform(0.005, 0.1))),
        lambda: stairs(1.5, -0.05, 0.4, 3),
        plane,
    ][int(rng.integers(4))]()
    mu = float(rng.choice([np.inf, 0.9, 0.4])) if name != "motorcycle" else np.inf
    began = time.process_time()
    try:
        begin = state(system, **asked)
        v = begin.v.copy()
        if "Vx" in system.model.speeds and not asked.keys() & {"forward_speed", "x_speed"}:
            v[system.model.speeds.index("Vx")] = speed  # it slides
        high = draisine.State(begin.q, begin.p + [0, 0, rng.choice([0.0, 0.1])], begin.r, v)
        found = simulate(system, high, 1.5, terrain=ground, contact=ContactOptions(mu=mu))
    except DraisineError as error:
        found = error
    return (name, mu), found, time.process_time() - began


RANDOM = (
    "whipple", "whipple-crown", "ball", "rolling_disc", "euler_disc", "rattleback", "tricycle", "car",
    "segway", "skateboard", "unicycle", "compass_walker", "motorcycle", "rimless_wheel", "skater",
)  # fmt: skip


LEANING = ("whipple", "whipple-crown", "rolling_disc", "euler_disc", "unicycle", "motorcycle")


@cache
def compiled(vehicle, structure):
    return draisine.compile(vehicle, **dict(structure))


def names_of(system):
    return {output.name for output in system.model.outputs}


def campaign(count, first, one, log):
    """Run and print a campaign; return how many runs are bad."""
    known = {}
    if log is not None and log.exists():
        known = {row["seed"]: row for row in map(json.loads, log.read_text().splitlines())}
    rows = []
    for seed in range(first, first + count):
        if seed not in known:
            what, found, took = one(seed)
            known[seed] = {"seed": seed, "what": what} | row_of(found, took)
            if log is not None:
                with log.open("a") as file:
                    file.write(json.dumps(known[seed]) + "\n")
        row = known[seed]
        rows.append(row)
        if row["bad"]:
            print(f"bad: {row['seed']} {row['what']} {row['end']}", flush=True)
    by = Counter((row["what"][0], row["bad"]) for row in rows)
    print(f"{'machine':18} {'good':>6} {'bad':>5} {'CPU s per run':>14} {'stepped %':>10}")
    for name in sorted({row["what"][0] for row in rows}):
        own = [row for row in rows if row["what"][0] == name]
        cpu = np.median([row["cpu"] for row in own])
        part = np.mean([row.get("stepped", 0.0) for row in own]) / UNTIL * 100
        print(f"{name:18} {by[name, False]:6d} {by[name, True]:5d} {cpu:14.3f} {part:10.1f}")
    bad = [row for row in rows if row["bad"]]
    for cause, number in Counter(classify(row["end"]) for row in bad).most_common():
        print(f"{number:5d}  {cause}")
    print(f"{len(rows) - len(bad)} of {len(rows)} good")
    return len(bad)


def kerbs(solver):
    """Return how many of 39 slow kerb descents of the ideal bicycle are bad."""
    bicycle, bad = draisine.compile("whipple"), 0
    for speed in np.linspace(0.6, 1.8, 13):
        for rise in (-0.05, -0.1, -0.15):
            begin = state(bicycle, forward_speed=float(speed))
            began = time.process_time()
            try:
                found = simulate(
                    bicycle, begin, 2.2 / speed, terrain=kerb(1.3, rise),
                    contact=ContactOptions(solver=solver),
                )  # fmt: skip
            except DraisineError as error:
                found = error
            row = row_of(found, time.process_time() - began)
            bad += row["bad"]
            print(f"{speed:.1f} m/s {rise:+.2f} m: {row['end']} {row['cpu']:.3f} s")
    print(f"{39 - bad} of 39 good")
    return bad


def throws(solver):
    """Return how many of 30 throws of the car are bad: errors, or loads that pull."""
    car, bad = draisine.compile("car"), 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        speeds = {"Vx": rng.uniform(1, 4), "Vy": rng.uniform(-4, 4), "Wz": rng.uniform(-3, 3)}
        options = ContactOptions(mu=float(rng.choice([0.3, 0.7, 1.0])), solver=solver)
        begin = state(car)
        v = begin.v.copy()
        for name, x in speeds.items():
            v[car.model.speeds.index(name)] = x
        begin = draisine.State(begin.q, begin.p, begin.r, v)
        began = time.process_time()
        try:
            found = simulate(car, begin, 1.5, terrain=plane(), contact=options)
            row = row_of(found, time.process_time() - began)
            least = float(found.to_xarray().contact_force.sel(direction="normal").min())
        except DraisineError as error:
            row, least = row_of(error, time.process_time() - began), np.nan
        wrong = row["bad"] or least < -1e-6
        bad += wrong
        print(f"{seed} {row['end']} least load {least:.3g} N {row['cpu']:.3f} s {'bad' * wrong}")
    print(f"{30 - bad} of 30 good")
    return bad


def print_neighbours(what, step):
    """Print the ends of runs whose initial states differ a little, by the default solver and in small time
    steps: do these differ as much, the motion is discontinuous there.
    """
    for offset in (-100 * NEIGHBOUR, -NEIGHBOUR, 0.0, NEIGHBOUR, 100 * NEIGHBOUR):
        runs = [drive(*what, offset=offset)[0]]
        runs.append(drive(*what, offset=offset, solver="time_stepping", step=step)[0])
        ends = [1e3 * run.arcs[-1].y[-1][4:6] for run in runs]
        print(f"  offset {offset:+.0e}: auto {ends[0].round(1)}, stepping {ends[1].round(1)} mm")


def accuracy(count, first):
    """Print how far the ends of drives are from time stepping at an eighth of the step, for the default
    solver and for time stepping; return how many of the latter are further than ALLOWED.
    """
    far = []
    for seed in range(first, first + count):
        what = draw_drive(seed, list(DRIVEN))
        stepping, _ = drive(*what, solver="time_stepping")
        if isinstance(stepping, DraisineError):
            print(what, stepping)
            far.append([np.nan, np.inf])
            continue
        step = stepping.validity.time_stepped[0].step / 8
        fine, _ = drive(*what, solver="time_stepping", step=step)
        end = fine.arcs[-1].y[-1][4:7]
        ends = [run.arcs[-1].y[-1][4:7] for run in (drive(*what)[0], stepping)]
        far.append([float(np.abs(place - end).max()) for place in ends])
        print(f"{what} auto {far[-1][0] * 1e3:.3f}, stepping {far[-1][1] * 1e3:.3f} mm", flush=True)
        if max(far[-1]) > ALLOWED:
            print_neighbours(what, step)
    for name, some in zip(("auto", "stepping"), np.array(far).T, strict=True):
        count = int(np.sum(some <= ALLOWED))
        print(
            f"{name}: median {np.median(some) * 1e3:.3f} mm, largest {np.max(some) * 1e3:.3f} mm, "
            f"{count} of {len(some)} within {ALLOWED * 1e3:.0f} mm"
        )
    return int(np.sum(np.array(far)[:, 1] > ALLOWED))


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "what",
        choices=(
            "drives", "random", "kerbs", "throws", "accuracy", "mujoco", "bifurcation", "balancer",
            "cost", "files",
        ),
    )  # fmt: skip
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--solver", default="auto")
    parser.add_argument("--only", default="")
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    only = given.only.split(",") if given.only else [*DRIVEN, *ROLLING, "rover"]

    def one_drive(seed):
        what = draw_drive(seed, only)
        found, took = drive(*what, solver=given.solver)
        if fell(found):
            found = confirm_fall(found, what)
        return what, found, took

    if given.what == "drives":
        return campaign(given.runs, given.first, one_drive, given.log)
    if given.what == "random":
        return campaign(given.runs, given.first, random_run, given.log)
    if given.what == "kerbs":
        return kerbs(given.solver)
    if given.what == "throws":
        return throws(given.solver)
    if given.what == "accuracy":
        return accuracy(given.runs, given.first)
    if given.what == "files":
        from robot_files import drive_files

        if given.folder is None:
            parser.error("files: name the folder of the robot files, --folder FOLDER")
        return drive_files(given.folder)
    # MuJoCo is not a dependency.
    if given.what == "balancer":
        from balancer_kerbs import compare_kerbs

        return compare_kerbs()
    from robots_mujoco import compare, compare_cost, compare_neighbours

    return {"mujoco": compare, "bifurcation": compare_neighbours, "cost": compare_cost}[
        given.what
    ]()


if __name__ == "__main__":
    sys.exit(min(1, main()))
