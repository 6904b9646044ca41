"""Drives of wheeled machines over uneven ground: how many finish, what stops the others, what they cost.

python bench/robots.py drives [--runs 200] [--first 0] [--solver auto] [--only jackal,car] [--log FILE]
                                                  a sample of all drives, or all with --runs 46080
python bench/robots.py random [--runs 300]        15 machines, thrown or rolling, on random ground
python bench/robots.py kerbs                      39 slow descents of a kerb by the ideal bicycle
python bench/robots.py throws                     30 throws of the car on a plane
python bench/robots.py accuracy [--runs 20]       against time stepping at an eighth of the step
python bench/robots.py mujoco                     TurtleBot3 and linorobot on hills beside MuJoCo
python bench/robots.py bifurcation                neighbours of linorobot on its casters, beside MuJoCo
python bench/robots.py balancer                   the tutorial's balancer on kerbs, beside MuJoCo
python bench/robots.py cost                       cost per step of five robots, beside `mj_step`
python bench/robots.py files --folder FOLDER      public robot files under velocity commands

The drives are all combinations of `DRIVES`, in a random order that is always the same: the first N drives are
a random sample without repetition.

A run is good if it reaches its end or ends in a named outcome (it fell, it turned over). Half the time step
must confirm the fall, or tighter tolerances if the run takes no time steps, unless the motion itself does not
determine it: a neighbour of the initial state by 1e-6 m and 1e-6 rad does not fall. An error, a value that is
not finite, or more than 20 s of CPU is bad. With a log (one line of JSON per run) a campaign resumes where it
stopped. The exit code is 1 if a run is bad.

The machines are defined here: masses and sizes are those of the makers' public descriptions, wheels are
tori, casters are balls without friction.
"""

import argparse
import importlib.util
import itertools
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
from draisine import ContactOptions, Numerics, simulate, state
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
NEIGHBOURS = (-NEIGHBOUR, -1e-9, 0.0, 1e-9, NEIGHBOUR)


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


def four_wheels(friction, mass, centre, moments, radius, crown, half_base, half_track, wheel):
    """Return a base on four driven wheels, on brush tyres if their friction is given."""
    tyre = None if friction is None else BrushTyre(15.0, friction, 0.3 * radius, 0.1 * radius)
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


JACKAL = (
    16.523, (0.012, 0.002, 0.13), (0.3136, 0.3922, 0.4485), 0.098, 0.02, 0.131, 0.188,
    (0.477, (0.0013, 0.0024, 0.0013)),
)  # fmt: skip
"""Clearpath Jackal: arguments of `four_wheels`."""

HUSKY = (
    46.034, (0.0, 0.0, 0.19), (0.6022, 1.7386, 2.0296), 0.1651, 0.03, 0.256, 0.2854,
    (2.637, (0.0246, 0.0441, 0.0246)),
)  # fmt: skip
"""Clearpath Husky: arguments of `four_wheels`."""


def jackal():
    """Return Clearpath Jackal."""
    return four_wheels(None, *JACKAL)


def jackal_on_tyres(*, friction: float = 0.8):
    """Return Clearpath Jackal on brush tyres."""
    return four_wheels(friction, *JACKAL)


def husky():
    """Return Clearpath Husky."""
    return four_wheels(None, *HUSKY)


def husky_on_tyres(*, friction: float = 0.8):
    """Return Clearpath Husky on brush tyres."""
    return four_wheels(friction, *HUSKY)


def rover(*, friction: float = 0.8, stiffness: float = 1.0, damping: float = 1.0):
    """Return the rover of the tutorial with another friction of its tyres."""
    machine = tutorial_rover()(stiffness=stiffness, damping=damping)
    wheels = [replace(one, tyre=replace(one.tyre, friction=friction)) for one in machine.contacts]
    return replace(machine, contacts=wheels)


@cache
def tutorial_rover():
    """Return the function of the tutorial's rover."""
    file = Path(__file__).parent.parent / "docs" / "tutorial" / "rover.py"
    spec = importlib.util.spec_from_file_location("tutorial_rover", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.rover


class WheelServos:
    """Servos on the rates of wheels (rad/s), with a gain in N m s/rad, and on the angles of joints (rad),
    with a gain in N m/rad and the same number of N m s/rad.
    """

    def __init__(self, rates, gain, angles=(), angle_gain=0.0):
        self.rates, self.gain = rates, gain
        self.angles, self.angle_gain = dict(angles), angle_gain

    def __call__(self, readings, z):
        torques = {
            name: self.gain * (rate - readings.rate(name)) for name, rate in self.rates.items()
        }
        for name, angle in self.angles.items():
            error = angle - readings.joint(name) - readings.rate(name)
            torques[name] = self.angle_gain * error
        return torques, []


LEFT2, RIGHT2 = ("left",), ("right",)
LEFT4, RIGHT4 = ("rear_left", "front_left"), ("rear_right", "front_right")
DRIVEN = {
    "turtlebot3": (turtlebot3, {}, 0.033, 0.16, LEFT2, RIGHT2, (0.001, 0.05)),
    "linorobot": (linorobot, {}, 0.045, 0.26, LEFT2, RIGHT2, (0.002, 0.05)),
    "linorobot-front": (linorobot_front, {}, 0.045, 0.26, LEFT2, RIGHT2, (0.002, 0.05)),
    "jackal": (jackal, {}, 0.098, 0.376, LEFT4, RIGHT4, (0.2, 5.0)),
    "jackal-tyres": (jackal_on_tyres, {}, 0.098, 0.376, LEFT4, RIGHT4, (0.2, 5.0)),
    "husky": (husky, {}, 0.1651, 0.571, LEFT4, RIGHT4, (1.0, 20.0)),
    "husky-tyres": (husky_on_tyres, {}, 0.1651, 0.571, LEFT4, RIGHT4, (1.0, 20.0)),
    "car": ("car", {}, 0.3, 0.8, ("rear_left",), ("rear_right",), (20.0, 1000.0)),
    "tricycle": ("tricycle", {}, 0.3, 0.7, ("left",), ("right",), (8.0, 400.0)),
}
"""Vehicle, structure, wheel radius (m), track (m), left and right driven joints, gains of the soft and the
stiff servo (N m s/rad). With these gains speeds settle within about 0.5 s and 0.01 s.
"""

ROLLING = {"car": 1.0, "tricycle": 1.0, "skateboard": 1.0, "segway": 0.5, "rover": 0.8}
"""Machines that start at a speed (m/s), the segway under LQR."""

TURN = 0.3  # rad/s, yaw rate of a curve
STEERED_GAIN = 40.0  # N m/rad; the steering follows within 0.1 s beside the moments of its wheels
TORQUE_COSTS = (0.1, 0.001)  # of the segway's LQR, for a soft and a stiff balance
STIFFENED = 4.0  # springs of the stiff variants of the skateboard and the rover; dampers the root


@cache
def system_of(name):
    """Return the compiled system of a machine."""
    if name in DRIVEN:
        vehicle, structure = DRIVEN[name][:2]
        return draisine.compile(vehicle, **structure)
    return draisine.compile(rover if name == "rover" else name)


@cache
def system_with(name, mu, stiff):
    """Return the system of a machine with the friction of its tyres and with soft or stiff springs."""
    system = system_of(name)
    values = {"friction": mu} if has_tyres(name) else {}
    if stiff and name == "skateboard":
        nominal = system.parameters
        values["spring"] = STIFFENED * nominal["spring"]
        values["damper"] = np.sqrt(STIFFENED) * nominal["damper"]
    elif stiff and name == "rover":
        values |= {"stiffness": STIFFENED, "damping": np.sqrt(STIFFENED)}
    return system.with_parameters(**values) if values else system


def has_tyres(name):
    """Return whether a machine has tyres, which replace the friction of its wheels."""
    return "tyres" in name or name == "rover"


@cache
def balancing(name, stiff):
    """Return the LQR of the segway."""
    cost = TORQUE_COSTS[stiff]
    return balance(
        system_of(name),
        {"pitch": 100.0},
        {"left": cost, "right": cost},
        forward_speed=ROLLING[name],
    )


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
UNIFORM = ("kerb", "stairs")
"""Grounds without a random shape; there the seed moves and turns the start instead."""

DRIVES = {
    "machine": (*DRIVEN, "segway", "skateboard", "rover"),
    "ground": tuple(GROUNDS),
    "path": ("straight", "17deg", "40deg", "curve"),
    "mu": (0.5, 0.8, 1.2),
    "stiff": (0, 1),
    "seed": tuple(range(20)),
}
"""Factors of the campaign: 12 x 8 x 4 x 3 x 2 x 20 = 46,080 drives. Servos, the balance of the segway, and
the springs of the skateboard and the rover are soft or stiff.
"""

ORDER = 30  # seed of the order of all drives


def start_of(name, path, mu, stiff, along=0.0, turned=0.0):
    """Return the system, the initial state and the law of a drive whose start is moved along x (m) and turned
    (rad).
    """
    system = system_with(name, mu, stiff)
    yaw = np.radians({"17deg": 17.0, "40deg": 40.0}.get(path, 0.0))
    turn = TURN if path == "curve" else 0.0
    speed = ROLLING.get(name, 0.0)
    request = {"x": along, "yaw": yaw + turned}
    if name in ROLLING:
        request["forward_speed"] = speed
        # m before the origin; the car reaches 2.5 m ahead
        before = 0.3 if name == "segway" else 1.2
        request |= {"x": along - before * np.cos(yaw), "y": -before * np.sin(yaw)}
    law, angles = None, {}
    if name in ("car", "tricycle"):
        angles = {"steer": np.arctan(turn * system.parameters["wheelbase"] / speed)}
        request |= angles
    elif name == "skateboard" and turn:
        request["lean"] = -0.073  # steers to the left by 0.3 rad/s
    elif turn and name in ("segway", "rover"):
        request["yaw_rate"] = turn
    if name in DRIVEN:
        _, _, radius, track, left, right, gains = DRIVEN[name]
        speed = speed or max(0.2, 2.0 * radius)
        rates = dict.fromkeys(left, (speed - turn * track / 2) / radius)
        rates |= dict.fromkeys(right, (speed + turn * track / 2) / radius)
        law = WheelServos(rates, gains[stiff], angles, STEERED_GAIN)
    elif name == "segway":
        law = balancing(name, stiff)
    return system, state(system, **request), law


def shift_of(ground, seed):
    """Return the distance (m) and the angle (rad) by which the seed moves and turns the start on a ground
    without a random shape. Seed 0 keeps the exact direction, in which both wheels of an axle hit at once.
    """
    if seed == 0 or not ground.startswith(UNIFORM):
        return 0.0, 0.0
    rng = np.random.default_rng(seed)
    return float(rng.uniform(-0.1, 0.0)), float(rng.uniform(-0.02, 0.02))


def drive(
    name,
    ground,
    path,
    mu,
    stiff,
    seed,
    solver="auto",
    step=None,
    until=UNTIL,
    offset=0.0,
    tighter=1.0,
):
    """Return one drive: the run, or the error that ended it, and the CPU time. It starts at an offset (m
    along, rad in yaw), and its tolerances are tighter than the default ones by a factor.
    """
    shift = (one + offset for one in shift_of(ground, seed))
    system, begin, law = start_of(name, path, mu, stiff, *shift)
    friction = {} if has_tyres(name) else {"mu": mu}
    options = ContactOptions(solver=solver, step=step, **friction)
    usual = Numerics()
    numerics = Numerics(rtol=usual.rtol / tighter, atol=usual.atol / tighter)
    began = time.process_time()
    try:
        found = simulate(
            system, begin, until, terrain=GROUNDS[ground](seed), law=law, contact=options,
            numerics=numerics,
        )  # fmt: skip
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
    """Return a run that fell; an error if it does not fall with half the time step, or with tighter
    tolerances if it has no time steps, unless its neighbours do not fall either.
    """
    steps = [one.step for one in run.validity.time_stepped]
    finer = {"step": 0.5 * min(steps)} if steps else {"tighter": 30.0}
    if fell(drive(*what, **finer)[0]):
        return run
    runs = [drive(*what, offset=offset)[0] for offset in (-NEIGHBOUR, NEIGHBOUR)]
    if not all(fell(one) or isinstance(one, DraisineError) for one in runs):
        return replace(run, outcome=f"{run.outcome}; a neighbour by {NEIGHBOUR:g} does not")
    return DraisineError(f"{run.outcome}, but not with {finer}")


def fell(found):
    """Return whether a run ended in a fall."""
    return not isinstance(found, DraisineError) and has_fallen(found.outcome)


# --- campaigns


@cache
def all_drives(only):
    """Return all drives of some machines in the order of the campaign."""
    drives = list(itertools.product(*DRIVES.values()))
    order = np.random.default_rng(ORDER).permutation(len(drives))
    return [drives[k] for k in order if drives[k][0] in only]


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


def end_of(run):
    """Return the position (m) at the end of a run."""
    return run.arcs[-1].y[-1][4:7]


def distance(one, other):
    """Return the largest difference of the coordinates at the ends of two runs (m)."""
    return float(np.abs(end_of(one) - end_of(other)).max())


def explain_distance(what, run, step, away):
    """Return why the end of a run is `away` (m) from that of time steps: "" if no reason is found.

    Shorter time steps may come near the run, neighbours of the initial state may end about as far apart (the
    motion is discontinuous or chaotic), or a wheel may graze the ground, so that a contact and none are both
    possible.
    """
    stepping = {"solver": "time_stepping"}
    for divisor in (64, 512):
        nearest = distance(run, drive(*what, **stepping, step=step / divisor)[0])
        if nearest <= ALLOWED:
            return f"1/{divisor} of the step ends {nearest * 1e3:.1f} mm away"
        if divisor == 64:
            for method in ({}, stepping | {"step": step / 8}):
                runs = [drive(*what, offset=offset, **method)[0] for offset in NEIGHBOURS]
                spread = max(distance(a, b) for a, b in itertools.combinations(runs, 2))
                if spread > max(ALLOWED, 0.2 * away):
                    return f"neighbours end {spread * 1e3:.1f} mm apart ({method or 'default'})"
            if run.validity.grazes:
                return f"a wheel grazes the ground: {run.validity.grazes[0]}"
    return ""


def accuracy(count, first):
    """Print how far the ends of drives are from time stepping at an eighth of the step, for the default
    solver and for time stepping; return how many of the former are further than ALLOWED without a reason.
    """
    far, causes = [], []
    for number in range(first, first + count):
        what = all_drives(tuple(DRIVEN))[number]
        stepping, _ = drive(*what, solver="time_stepping")
        step = stepping.validity.time_stepped[0].step
        fine, _ = drive(*what, solver="time_stepping", step=step / 8)
        run, _ = drive(*what)
        far.append([distance(run, fine), distance(stepping, fine)])
        print(f"{what} auto {far[-1][0] * 1e3:.3f}, stepping {far[-1][1] * 1e3:.3f} mm", flush=True)
        if far[-1][0] > ALLOWED:
            causes.append(explain_distance(what, run, step, far[-1][0]))
            print(f"  {causes[-1] or 'no reason found'}", flush=True)
    for name, some in zip(("auto", "stepping"), np.array(far).T, strict=True):
        count = int(np.sum(some <= ALLOWED))
        print(
            f"{name}: median {np.median(some) * 1e3:.3f} mm, largest {np.max(some) * 1e3:.3f} mm, "
            f"{count} of {len(some)} within {ALLOWED * 1e3:.0f} mm"
        )
    print(f"{causes.count('')} of {len(causes)} distances are not explained")
    return causes.count("")


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
    drives = all_drives(tuple(given.only.split(",")) if given.only else DRIVES["machine"])

    def one_drive(number):
        what = drives[number]
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
