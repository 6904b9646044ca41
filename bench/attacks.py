"""Random attacks on the package: `python bench/attacks.py KIND [--count 500] [--first 0] [--log FILE]`.

Three of four attacks are legal: files, parameters, laws and starts with other numbers, and rewritten
without a change of meaning. They must get past the reader, and what comes out is judged by the
invariants of `tests/combine`: energy, units, sampling, storage, representation. The fourth is damaged:
it must end in an error of the package that says what is wrong. Everything else is a finding: a violated
invariant, an error of another type, a number that is not finite without a word about it, a hang. Kinds:
scenarios, parameters, meshes, results, commands, robots, laws, starts. With a log (one line of JSON per
attack) a campaign continues where it was stopped. It exits with 1 if there are findings.
"""

import argparse
import contextlib
import faulthandler
import io
import json
import random
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

BENCH = Path(__file__).parent
TESTS = BENCH.parent / "tests"
# without bench, where combine.py has the name of the package
sys.path[:] = [str(TESTS), *(path for path in sys.path if Path(path) != BENCH)]

import draisine
from combine import legal
from combine.invariants import judge
from combine.machines import (
    RECIPES,
    Machine,
    Recipe,
    draw_combination,
    draw_machine,
)
from combine.records import columns_of, deviation, record, same_sign
from draisine import ContactOptions, Numerics
from draisine.cli import main as command_line
from draisine.errors import DraisineError, SimulationError
from draisine.experiment.run import run as carry_out
from draisine.interop.bicycleparameters import read_bicycle
from draisine.interop.robots.mjcf import read_mjcf
from draisine.interop.robots.urdf import read_urdf
from draisine.registry import names
from draisine.scenario.library import load as load_scenario
from draisine.scenario.library import scenarios as shipped
from draisine.simulation.contact.run import EnergyWarning
from draisine.terrain import Joined, Mesh, corner, height_field, kerb, move_ground, plane, ramp
from draisine.terrain.files import read_mesh
from draisine.terrain.motions import Shake, Slide
from draisine.vehicles._sets import read_parameter_set

PATIENCE = 60.0
"""Seconds of a CPU after which an attack counts as hanging: the program tells where, and ends."""

NUMBERS = (
    *(0.0, -0.0, -1.0, 1e-300, 1e300, 1e-12, 1e12, 1.0, 3, -7),
    *(float("nan"), float("inf"), -float("inf"), 10**400, -(10**400), 2**63),
)
THINGS = (
    *NUMBERS,
    "x",
    "",
    "18deg",
    "nan",
    None,
    True,
    [],
    {},
    [1.0, 2.0],
    b"\xff",
    1j,
    "x" * 5000,
)
WORDS = (
    *(
        '"x"',
        "nan",
        "inf",
        "-1",
        "0",
        "1e400",
        "9" * 400,
        '""',
        "[]",
        "{}",
        "true",
        "1e-300",
        "-0.0",
    ),
    *(f'"{"a" * 5000}"', '"../x"', "[[1]]", '"18deg"', '"\\u0000"', "2026-01-01", "1e300", "[nan]"),
)


def finite(data):
    """Raise where a dataset of a completed run holds numbers that are none beside those that say so: a
    contact that is open has no force and no point.
    """
    for name in ("lean", "steer", "forward_speed", "energy", "position"):
        if name in data and not np.isfinite(data[name].values).all():
            raise AssertionError(
                f"{name} is not finite in a run that was {data.attrs.get('outcome')}"
            )


def check(run):
    """Raise where a run holds states that are not finite."""
    for arc in run.arcs:
        if not np.isfinite(arc.y).all():
            raise AssertionError(f"states are not finite in a run that was {run.outcome}")


# --- legal attacks: what comes out satisfies the invariants


class ViolatedError(Exception):
    """A legal input whose result breaks an invariant."""


def hold(law, combination):
    """Raise unless a law holds for a combination, or says nothing about it; refusals are raised."""
    found = judge(law, combination)
    if found.kind in ("violated", "failed"):
        raise ViolatedError(f"{law}: {combination}: {found.text}")
    if found.kind == "refused":
        raise SimulationError(found.text)


def agree(reference, found, bound, what):
    """Raise unless two records are equal up to a bound."""
    away, where = deviation(reference, same_sign(reference, found))
    if not away <= bound:
        raise ViolatedError(f"{what}: {where} differs by {away:.3g}")


def conserve(run):
    """Raise if a run creates energy: in an arc that nothing drives, or at an event."""
    drift = run.validity.energy_drift
    if drift is not None and not drift < 1e-5:
        raise ViolatedError(f"energy drifts by {drift:.3g}")
    scale = float(np.abs(run.observations["kinetic"]).max()) + 1e-9
    gain = max((event.gain for event in run.events), default=0.0)
    if gain > 1e-6 * scale:
        raise ViolatedError(f"an event creates {gain:.3g} J")


def legal_scenarios(rng, folder):
    """Change numbers of a run; samples half as far apart, and storing it, change nothing."""
    name = rng.choice(runs_that_ship())
    path = files("draisine").joinpath("scenarios", *f"{name}.toml".split("/"))
    file = folder / "mine.toml"
    file.write_text(legal.draw_scenario(rng, path.read_text()))
    whole = load_scenario(str(file)).scenario
    until = min(whole.run.until, 0.5)
    dt = until / 16
    equal_steps = whole.run.integrator != "dop853"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [
            carry_out(load_scenario(str(file), {"run.until": until, "run.dt": step}))
            for step in ((dt / 16, dt / 32) if equal_steps else (dt, dt / 2))
        ]
    model = results[0].system.model
    records = [columns_of(result.data, model) for result in results]
    if not np.isin(records[0]["time"].values, records[1]["time"].values).all():
        raise ViolatedError("the spacing of samples changes the times of events")
    coarse, fine = (last_sample(one) for one in records)
    agree(coarse, fine, 1e-3 if equal_steps else 1e-6, f"{name}: samples half as far apart")
    draisine.save(results[0].data, folder / "a.nc")
    agree(records[0], columns_of(draisine.load(folder / "a.nc"), model), 0.0, f"{name}: storing")


@cache
def runs_that_ship():
    """Return the names of all shipped scenarios of the kind `run`."""
    return [name for name in shipped() if load_scenario(name).scenario.kind == "run"]


def last_sample(columns):
    """Return first and last sample of a record."""
    return {name: replace(x, values=x.values[[0, -1]]) for name, x in columns.items()}


def legal_parameters(rng, folder):
    """Change some parameters a little: before or after compilation, in any file, the machine is one."""
    if rng.random() < 0.3:
        values = {name: x * rng.uniform(0.97, 1.03) for name, x in BENCHMARK.items()}
        lines = [f"{name} = {x!r}" for name, x in values.items()]
        (folder / "a.txt").write_text("\n".join(lines))
        lines = [f"  {name}: {x!r}" for name, x in values.items()]
        (folder / "a.yml").write_text("values:\n" + "\n".join(lines))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read = [read_bicycle(folder / name) for name in ("a.txt", "a.yml")]
        if not all(one == values for one in read):
            raise ViolatedError("a parameter file does not give back its numbers")
        return
    law = rng.choice(["change_parameters", "units", "lanes"])
    hold(law, draw_combination(rng, draw_machine(rng)))


def legal_meshes(rng, folder):
    """Write rolling ground with its points and triangles in any order, in any format: it is one ground."""
    points, triangles = legal.draw_mesh(rng)
    grounds = []
    for suffix in rng.sample([".obj", ".ply", ".stl"], 2):
        file = folder / f"a{suffix}"
        legal.write_mesh(file, *legal.rewrite_mesh(rng, points, triangles))
        grounds.append(read_mesh(file))
    wanted = legal.corners(points, triangles)
    for ground in grounds:
        if not np.array_equal(legal.corners(ground.points, ground.triangles), wanted):
            raise ViolatedError("a mesh file does not give back its triangles")
    ball = system("ball")
    start = draisine.state(ball, mode={"ground": "open"}, z=0.15, Vx=rng.uniform(-0.5, 0.5))
    options = ContactOptions(mu=rng.choice([np.inf, 0.5]))
    numerics = Numerics(dt=1.0 / 32)
    first, second = (
        draisine.simulate(ball, start, 0.5, terrain=ground, contact=options, numerics=numerics)
        for ground in grounds
    )
    conserve(first)
    agree(last_sample(record(first)), last_sample(record(second)), 1e-6, "order of triangles")


def legal_results(rng, folder):
    """Store a result as netCDF, as Zarr and back: it stays the same, and can be shown."""
    source = stored(rng.choice(["mauny2018/passive-stabilisation", "mauny2018/ramp-jump"]))
    data = draisine.load(source / "a.nc")
    for k, suffix in enumerate(rng.sample([".nc", ".zarr", ".nc"], 2)):
        draisine.save(data, folder / f"{k}{suffix}")
        again = draisine.load(folder / f"{k}{suffix}")
        if again.attrs != data.attrs or not again.equals(data):
            raise ViolatedError(f"a result changes in a {suffix} file")
        data = again
    _ask(rng, folder / f"{k}{suffix}", folder, source / "a.nc")


def legal_commands(rng, folder):
    """Write a command line as people do: it gives what Python gives."""
    vehicle = rng.choice(["whipple", "rolling_disc", "segway", "roller_racer"])
    speed = round(rng.uniform(2.0, 6.0), 3)
    with contextlib.chdir(folder):
        match rng.randrange(5):
            case 0:
                given = ["--until", "0.2", "--initial", f"lean={rng.uniform(0.0, 5.0):.3f}deg"]
                _command(["run", "passive-stabilisation", *given, "--out", "a.nc"])
                found = draisine.load("a.nc")
                again = carry_out(load_scenario("a.nc")).data
                for name in ("lean", "steer", "energy"):
                    if not np.array_equal(found[name].values, again[name].values):
                        raise ViolatedError(f"a stored run repeats with another {name}")
            case 1:
                told = _command(["eigenvalues", "--speed", f"{speed}", "--json"])
                here = draisine.eigenvalues(system("whipple"), [speed]).values[0]
                there = _numbers_in(json.loads(told))
                parts = [part for x in here for part in (x.real, abs(x.imag))]
                if not all(min(abs(x - y) for y in there) < 1e-9 for x in parts):
                    raise ViolatedError(f"eigenvalues at {speed} m/s differ from those in Python")
            case 2:
                _command(["show", vehicle])
            case 3:
                _command(
                    ["equations", rng.choice(["snakeboard", "roller_racer"]), "--out", "a.tex"]
                )
                if "begin" not in Path("a.tex").read_text():
                    raise ViolatedError("equations are no LaTeX")
            case _:
                _command(["run", vehicle, "--until", "0.1", "--out", "a.nc", "--plot", "a.png"])
                finite(draisine.load("a.nc"))


def _numbers_in(told):
    """Return all numbers in nested data."""
    if isinstance(told, dict):
        told = list(told.values())
    if isinstance(told, list):
        return [x for one in told for x in _numbers_in(one)]
    return [told] if isinstance(told, float) else []


ROBOT_LAWS = (
    *("energy", "slices", "lanes", "sample_spacing", "storage", "interpreted", "reorder", "mirror"),
    *("unfold", "formulations", "on_terrain", "turn", "start_time", "drop_turned", "drop_sliced"),
)


def legal_robots(rng, folder):
    """Change the numbers of a robot, rewrite its file: it is one machine, and satisfies a law."""
    suffix, text = legal.draw_robot(rng)
    read = read_urdf if suffix == ".urdf" else read_mjcf
    runs = []
    for name, content in (("a", text), ("b", legal.rewrite_robot(rng, text))):
        (folder / f"{name}{suffix}").write_text(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            vehicle = read(folder / f"{name}{suffix}", legal.WHEELS)
            machine = draisine.compile(vehicle)
            start = draisine.state(machine, forward_speed=0.5, shoulder=0.3)
            runs.append((vehicle, record(draisine.simulate(machine, start, 0.25))))
    agree(runs[0][1], runs[1][1], 1e-7, "a robot's file in another order")
    intervals = {"forward_speed": (0.2, 0.8), "pitch_rate": (-0.5, 0.5), "shoulder": (-0.5, 0.5)}
    name = f"robot{rng.randrange(10**9)}"
    RECIPES[name] = Recipe(
        runs[0][0], intervals, joint="shoulder", angle="shoulder", effort=0.5, fixed=True
    )
    try:
        hold(rng.choice(ROBOT_LAWS), draw_combination(rng, Machine(name)))
    finally:
        del RECIPES[name]


RANDOM_LAWS = (
    *("traced", "traced", "lanes", "interpreted", "casadi", "slices", "sample_spacing", "storage"),
    *("energy", "gradient", "on_terrain", "reorder", "change_parameters"),
)


def legal_laws(rng, folder):
    """Run a machine under a law that was drawn at random, compiled and in Python."""
    machine = draw_machine(rng)
    # A trikke that is not driven stands straight at the start: its shape is singular, and runs are refused.
    while not machine.recipe.joint or machine.has("steering") or machine.has("drive", "free"):
        machine = draw_machine(rng)
    combination = replace(draw_combination(rng, machine), law=f"random{rng.randrange(10**6)}")
    hold(rng.choice(RANDOM_LAWS), combination)


def legal_starts(rng, folder):
    """Drop a machine onto any ground: it creates no energy, and samples change nothing."""
    machine = machine_of(rng.randrange(len(MACHINES)))
    wanted = {"forward_speed": rng.uniform(0, 5), "lean": rng.gauss(0, 0.1)}
    wanted |= {"lean_rate": rng.gauss(0, 0.3), "steer": rng.gauss(0, 0.1)}
    start = draisine.state(machine, **{n: x for n, x in wanted.items() if n in machine.outputs})
    ground = ground_of(rng, still=True)
    highest = 0.6  # above all grounds that are drawn
    state = draisine.State(start.q, start.p + [-1.0, 0.0, highest], start.r, start.v)
    mu = rng.choice([np.inf, 0.0, 0.3, 0.9])
    model = rng.choice([None, "moreau", "poisson"]) if 0 < mu < np.inf else None
    rest = rng.choice([0.0, 0.05])
    options = ContactOptions(mu=mu, impact=model, rest_speed=rest, solver="events")
    runs = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EnergyWarning)
        for dt in (1.0 / 16, 1.0 / 32):
            numerics = Numerics(dt=dt)
            runs.append(
                draisine.simulate(
                    machine, state, 0.5, terrain=ground, contact=options, numerics=numerics
                )
            )
    for run in runs:
        check(run)
        conserve(run)
    agree(*(last_sample(record(run)) for run in runs), 1e-6, "samples half as far apart")


# --- scenarios: shipped ones with damaged lines


def damaged_scenarios(rng, folder):
    """Damage one to three lines of a scenario; load it and, if it is a run, begin it."""
    name = rng.choice(shipped())
    lines = (
        files("draisine").joinpath("scenarios", *f"{name}.toml".split("/")).read_text().split("\n")
    )
    for _ in range(rng.randint(1, 3)):
        _damage_line(rng, lines)
    file = folder / "mine.toml"
    file.write_text("\n".join(lines))
    loaded = load_scenario(str(file))
    if loaded.scenario.kind == "run":
        finite(carry_out(load_scenario(str(file), {"run.until": 0.05})).data)


def _damage_line(rng, lines):
    """Drop, double, or change a line with a value."""
    at = rng.choice([k for k, line in enumerate(lines) if "=" in line] or [0])
    key, _, value = lines[at].partition("=")
    match rng.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines[at] = f"{key.rstrip()}x = {value}"
        case 3:
            lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
        case _:
            lines[at] = f"{key}= {rng.choice(WORDS)}"


# --- parameters: of all vehicles, and files of them


@cache
def system(vehicle):
    return draisine.compile(vehicle)


def damaged_parameters(rng, folder):
    """Give a vehicle impossible values, or damage a file of parameters."""
    if rng.random() < 0.3:
        _parameter_file(rng, folder)
        return
    machine = system(rng.choice(names("vehicle")))
    known = list(machine.parameters)
    changes = {rng.choice(known): rng.choice(THINGS) for _ in range(rng.randint(1, 2)) if known}
    if rng.random() < 0.1:
        changes["x" * rng.choice([1, 5000])] = 1.0
    machine = machine.with_parameters(**changes)
    asked = {rng.choice([*machine.outputs, "y" * 5000]): rng.choice([0.1, -1.0, *THINGS])}
    start = draisine.state(machine, **(asked if rng.random() < 0.5 else {}))
    check(draisine.simulate(machine, start, 0.02))


BENCHMARK = {
    "w": 1.02, "c": 0.08, "lam": 0.3141592653589793, "g": 9.81, "rR": 0.3, "mR": 2.0,
    "IRxx": 0.0603, "IRyy": 0.12, "xB": 0.3, "zB": -0.9, "mB": 85.0, "IBxx": 9.2, "IByy": 11.0,
    "IBzz": 2.8, "IBxz": 2.4, "xH": 0.9, "zH": -0.7, "mH": 4.0, "IHxx": 0.05892, "IHyy": 0.06,
    "IHzz": 0.00708, "IHxz": -0.00756, "rF": 0.35, "mF": 3.0, "IFxx": 0.1405, "IFyy": 0.28,
}  # fmt: skip
"""Meijaard et al. 2007, doi 10.1098/rspa.2007.1857, table 1."""


def _parameter_file(rng, folder):
    kind = rng.choice([".txt", ".yml", ".toml"])
    if kind == ".toml":
        sets = files("draisine.vehicles._sets").joinpath("whipple").iterdir()
        lines = rng.choice(sorted(sets, key=lambda p: p.name)).read_text().split("\n")
        _damage_line(rng, lines)
    else:
        sign = " = " if kind == ".txt" else ": "
        lines = [f"{name}{sign}{value}" for name, value in BENCHMARK.items()]
        if kind == ".yml":
            lines = ["values:", *(f"  {line}" for line in lines)]
        at = rng.randrange(len(lines))
        lines[at : at + 1] = rng.choice(
            [
                [],
                [lines[at]] * 2,
                [lines[at][:5]],
                [f"{lines[at].split(sign)[0]}{sign}{rng.choice(WORDS)}"],
            ]
        )
    file = folder / f"mine{kind}"
    file.write_text("\n".join(lines))
    if kind == ".toml":
        read_parameter_set(file, "whipple")
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read_bicycle(file)


# --- meshes: damaged files, and triangles at random

OBJ = b"v 0 0 0\nv 1 0 0\nv 1 1 0.1\nv 0 1 0\nf 1 2 3\nf 1 3 4\n"
HEAD = (
    b"ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 2\nproperty list uchar int vertex_indices\nend_header\n"
)
MESHES = {
    "a.obj": OBJ,
    "a.ply": HEAD + b"0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n",
    "b.ply": HEAD.replace(b"ascii", b"binary_little_endian")
    + struct.pack("<12f", 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0)
    + struct.pack("<Biii", 3, 0, 1, 2)
    + struct.pack("<Biii", 3, 0, 2, 3),
    "a.stl": bytes(80) + struct.pack("<I12fH", 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0),
    "a.off": b"OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n",
}
BYTES = (b"nan", b"inf", b"-1", b"999999999999", b"9" * 400, b"1e400", b"", b"x", b"\xff", b"/")


def damaged_meshes(rng, folder):
    """Damage the words, the bytes or the end of a file of triangles, or take some at random."""
    if rng.random() < 0.2:
        points = [
            [rng.choice([0.0, 1.0, rng.gauss(0, 1), *NUMBERS[:13]]) for _ in "xyz"]
            for _ in range(6)
        ]
        triangles = [[rng.randrange(-1, 7) for _ in range(3)] for _ in range(rng.randint(0, 5))]
        ground = Mesh(points, triangles)
    else:
        name, data = rng.choice(sorted(MESHES.items()))
        for _ in range(rng.randint(1, 3)):
            data = _damage_bytes(rng, data)
        (folder / name).write_bytes(data)
        ground = read_mesh(folder / name)
    if not np.isfinite(ground.points).all():
        raise AssertionError("a mesh whose points are not finite")
    for k in ground.near(ground.points[0], 10.0):
        ground[k]


def _damage_bytes(rng, data):
    """Change a word, a byte, or cut the end off."""
    at = rng.randrange(max(1, len(data)))
    match rng.randrange(3):
        case 0:
            words = data.split(b" ")
            words[rng.randrange(len(words))] = rng.choice(BYTES)
            return b" ".join(words)
        case 1:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case _:
            return data[:at]


# --- results: stored runs with damaged attributes, variables, bytes, chunks


@cache
def stored(kind):
    """Return a folder with a result, made once."""
    folder = Path(tempfile.mkdtemp())
    changes = (
        {"run.until": 0.1} if kind == "mauny2018/passive-stabilisation" else {"run.until": 0.4}
    )
    data = carry_out(load_scenario(kind, changes)).data
    draisine.save(data, folder / "a.nc")
    draisine.save(data, folder / "a.zarr")
    return folder


def damaged_results(rng, folder):
    """Damage a stored result and ask everything of it that a command would."""
    source = stored(rng.choice(["mauny2018/passive-stabilisation", "mauny2018/ramp-jump"]))
    path = folder / rng.choice(["a.nc", "a.zarr"])
    (shutil.copytree if path.suffix == ".zarr" else shutil.copy)(source / path.name, path)
    match rng.randrange(3):
        case 0:
            _damage_file(rng, path)
        case _:
            data = draisine.load(path)
            _damage_dataset(rng, data)
            path = folder / f"b{path.suffix}"
            with contextlib.suppress(TypeError, ValueError):  # not even xarray can store that
                draisine.save(_plain(data), path)
    if path.exists():
        _ask(rng, path, folder, source / "a.nc")


def _damage_file(rng, path):
    """Change or lose bytes of one file of a result."""
    file = path if path.is_file() else rng.choice([p for p in path.rglob("*") if p.is_file()])
    data = bytearray(file.read_bytes())
    match rng.randrange(4):
        case 0:
            file.unlink()
        case 1:
            file.write_bytes(data[: rng.randrange(len(data) + 1)])
        case _:
            for _ in range(rng.choice([1, 20])):
                data[rng.randrange(len(data))] = rng.randrange(256)
            file.write_bytes(data)


def _damage_dataset(rng, data):
    """Change, lose or add an attribute, or change values of a variable."""
    match rng.randrange(4):
        case 0:
            del data.attrs[rng.choice(list(data.attrs))]
        case 1:
            data.attrs[rng.choice(list(data.attrs))] = rng.choice(
                ["", "{}", "[1", "nan", 3.0, "x" * 5000]
            )
        case 2:
            name = rng.choice(list(data.attrs))
            text = str(data.attrs[name])
            at = rng.randrange(len(text) + 1)
            data.attrs[name] = text[:at] + rng.choice(["", '"', "}", "0", "null"]) + text[at + 1 :]
        case 3:
            name = rng.choice(list(data.data_vars))
            if rng.random() < 0.5:
                del data[name]
            elif data[name].dtype.kind == "f":
                data[name].values.flat[:1] = rng.choice([float("nan"), 1e300, -1.0])


def _plain(data):
    """Return a dataset as it can be stored."""
    for one in data.variables.values():
        one.encoding.clear()
    return data


def _ask(rng, path, folder, whole):
    """Ask something of a damaged result, or hold it against the whole one."""
    data = draisine.load(path)
    match rng.randrange(8):
        case 0:
            draisine.animate(data, folder / "a.html")
        case 1:
            load_scenario(str(path))
        case 2:
            draisine.plot(data, path=folder / "a.svg")
        case 3:
            _command(["plot", str(path), "--out", str(folder / "a.png")])
        case 4:
            _command(["torques", str(path), "--at", rng.choice(["0", "0.05", "nan", "9"])])
        case 5:
            given = [str(path), str(whole)]
            rng.shuffle(given)
            _command(["compare", *given, "--plot", str(folder / "a.png")])
        case 6:
            draisine.animate(data, folder / "a.glb")
        case 7:
            _command(["run", str(path), "--until", "0.02", "--out", str(folder / "c.nc")])


# --- command lines

COMMANDS = {
    "run": [
        "--until",
        "--dt",
        "--initial",
        "--set",
        "--mode",
        "--integrator",
        "--out",
        "--plot",
        "--mu",
    ],
    "show": ["--set", "--json"],
    "list": ["--json"],
    "eigenvalues": ["--speed", "--set", "--json", "--out"],
    "equations": ["--as", "--program", "--mode", "--out"],
    "plot": ["--figure", "--out", "--series"],
    "animate": ["--out", "--speed", "--fps"],
    "check": ["--json"],
    "schema": [],
    "doctor": [],
    "steady": ["--set"],
    "compare": ["a.nc", "--json", "--plot"],
    "torques": ["--at", "--json"],
    "sweep": ["--out", "--resume", "--workers", "--engine", "--plot", "--json"],
    "export": ["--as", "--initial", "--mode", "--set", "--force"],
    "explore": ["--set", "--force", "a.html"],
    "cycles": ["--phase", "--scan", "--over"],
    "new": ["--vehicle", "--from", "--force"],
    "cache": ["--clear"],
}
GIVEN = (
    *(
        "whipple",
        "rolling_disc",
        "bicycle",
        "passive-stabilisation",
        "ramp-jump",
        "gone.nc",
        "gone.toml",
    ),
    *(
        "",
        " ",
        "-1",
        "0",
        "nan",
        "inf",
        "9" * 400,
        "x" * 5000,
        "\x00",
        "\udcff",
        "/dev/null",
        ".",
        "..",
        "a.nc",
    ),
    *(
        "lean=10deg",
        "mB=nan",
        "rear=open",
        "=",
        "a=b=c",
        "steer=1e400",
        "0:10:5",
        "1:2",
        "3,5",
        "c",
        "rate",
    ),
    *("0.1", "0.01", "rk4", "dop853", "a.png", "a.csv", "a/b.nc", "--", "--help", "--json", "--x"),
    *("vehicle", "scenario", "fmi2", "simulink", "a.fmu", "a.html", "a.glb", "a.zarr", "mine.py:f"),
)


def damaged_commands(rng, folder):
    """Write a command line of plausible and impossible words."""
    command = rng.choice(list(COMMANDS))
    given = [command]
    if rng.random() < 0.8:
        given.append(rng.choice(GIVEN))
    for _ in range(rng.randint(0, 3)):
        given += [rng.choice([*COMMANDS[command], "--x"]), rng.choice(GIVEN)]
    if command in ("check", "steady", "cycles", "cache") and "--help" not in given:
        given.append("--help")  # the whole takes minutes, or takes the others' code away
    if rng.random() < 0.5:
        shutil.copy(stored("mauny2018/passive-stabilisation") / "a.nc", folder / "a.nc")
    if command == "run":
        given += ["--until", "0.05"]
    with contextlib.chdir(folder):
        _command(given)


def _command(given):
    """Return what a command line prints; raise if it ends with what should not happen, and an error of
    the package if it refuses.
    """
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command_line(given)
        except SystemExit as ended:
            code = ended.code
    told = err.getvalue()
    if "should not happen" in told or code not in (0, 1, 2) or (code and not told.strip()):
        raise AssertionError(f"{given!r:.300} ended with {code}: {told[:300]}")
    if code:
        raise DraisineError(told)
    return out.getvalue()


# --- robots of other formats

ROBOTS = {
    "a.urdf": (
        '<robot name="cart"><link name="frame"><inertial><origin xyz="0 0 0.1" rpy="0 0.3 0"/>'
        '<mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>'
        '<link name="wheel"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.02" izz="0.01"/>'
        '</inertial></link><joint name="axle" type="continuous"><parent link="frame"/>'
        '<child link="wheel"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/><dynamics damping="0.1"/>'
        "</joint></robot>"
    ),
    "a.xml": (
        '<mujoco model="cart"><compiler angle="radian" eulerseq="xyz"/><option gravity="0 0 -9.8"/>'
        '<default><joint damping="0.1"/><default class="stiff"><joint stiffness="3"/></default>'
        '</default><worldbody><body name="frame" pos="0 0 0.2" euler="0 0.3 0"><freejoint/>'
        '<geom type="box" size="0.1 0.2 0.3" density="100"/><body name="wheel" quat="1 0 0 0">'
        '<joint name="axle" class="stiff" axis="0 1 0" springref="0.2" ref="0.1"/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="0.01 0.02 0.01"/></body></body></worldbody>'
        "</mujoco>"
    ),
}


def damaged_robots(rng, folder):
    """Damage values, names or the end of a robot's file, read it and let it roll."""
    name, text = rng.choice(sorted(ROBOTS.items()))
    for _ in range(rng.randint(1, 3)):
        parts = text.split('"')
        match rng.randrange(16):
            case 0:
                at = rng.randrange(len(text) + 1)
                text = text[:at] + rng.choice(["", "<", ">", "x", "\0", "&"]) + text[at + 1 :]
            case 1:
                parts[2 * rng.randrange(len(parts) // 2)] += rng.choice([" x=", "/>", "<a>", ""])
                text = '"'.join(parts)
            case _:
                at = 2 * rng.randrange(max(1, len(parts) // 2)) + 1
                parts[min(at, len(parts) - 1)] = rng.choice(
                    ["", "nan", "0", "-1", "x", "1e400", "9" * 400, "frame", "1 2 3 4 5"]
                    + ["0.3", "1 0 0", "0.1 -0.2 0.3", "2", "1e-9", "1e20", "0 0 0"]
                )
                text = '"'.join(parts)
    (folder / name).write_text(text, encoding="utf-8")
    read = read_urdf if name.endswith(".urdf") else read_mjcf
    radius = rng.choice([0.1, 0.1, 0.1, *NUMBERS, "x", None])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine = draisine.compile(read(folder / name, {"wheel": radius}))
        check(draisine.simulate(machine, draisine.state(machine), 0.02))


# --- control laws

RETURNS = (
    "{'steer': K * readings.lean}, ()",
    "{'steer': K * readings.lean_rate + z[0]}, (readings.steer,)",
    "{'steer': 1.0 / readings.lean}, ()",
    "{'steer': np.sqrt(readings.lean)}, ()",
    "{'steer': K if readings.lean > 0 else -K}, ()",
    "{'steer': math.sin(readings.lean)}, ()",
    "{'stear': 1.0}, ()",
    "{'steer': 'x'}, ()",
    "{'steer': None}, ()",
    "{'steer': [1.0, 2.0]}, ()",
    "{'steer': float('nan')}, ()",
    "{'steer': 1e300 * readings.lean_rate * 1e300}, ()",
    "{'steer': 10**400}, ()",
    "{}, ()",
    "{}",
    "None",
    "1.0",
    "{'steer': K}, (1.0,)",
    "{'steer': K}, None",
    "{'steer': readings.leen}, ()",
    "{'steer': z[3]}, ()",
    "1 / 0",
    "{'steer': K * where(readings.lean > 0, 1.0, -1.0)}, ()",
    "{'x' * 5000: K}, ()",
    "{'steer': readings.t * K}, ()",
)


def damaged_laws(rng, folder):
    """Run a bicycle under a law that is right, wrong or cannot be traced."""
    from draisine.algebra.scalar import where

    scope = {
        "np": np,
        "math": __import__("math"),
        "where": where,
        "K": rng.choice([0.0, 3.0, -5.0, *NUMBERS]),
    }
    signature = rng.choice(["readings, z", "readings, z", "readings, z", "readings", "", "*given"])
    body = rng.choice(RETURNS)
    exec(f"def law({signature}):\n    return {body}\n", scope)
    law = scope["law"]
    if rng.random() < 0.5:
        law.states = rng.choice([0, 1, 1, 2, -1, "x", 10**6])
    law = rng.choice([law] * 17 + [3.0, "law", object()])
    machine = system("whipple")
    start = draisine.state(machine, forward_speed=4.6, lean_rate=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(draisine.simulate(machine, start, 0.02, law=law))


# --- starts on terrains

MACHINES = (
    ("whipple", {}),
    ("whipple", {"crown": 0.02}),
    ("rolling_disc", {}),
    ("rolling_disc", {"crown": 0.05}),
    ("ball", {}),
    ("unicycle", {}),
)


@cache
def machine_of(k):
    vehicle, given = MACHINES[k]
    return draisine.compile(vehicle, **given)


def ground_of(rng, still=False):
    """Return a ground of any kind, or one that does not move."""
    match rng.choice([0, 1, 3, 4, 5]) if still else rng.randrange(7):
        case 0:
            return plane(rng.uniform(-0.3, 0.3), rng.choice([0.0, rng.uniform(-0.2, 0.2)]))
        case 1:
            return kerb(rng.uniform(-0.5, 2.0), rng.choice([-1, 1]) * rng.uniform(0.005, 0.2))
        case 2:
            return move_ground(plane(), Shake((0, 0, rng.uniform(0, 0.03)), rng.uniform(5, 60)))
        case 3:
            return corner(rng.choice([1e-9, 1e-6, 0.1, 0.5]), at=rng.uniform(0, 1.5))
        case 4:
            return ramp(rng.uniform(0.05, 0.3), rng.uniform(0.1, 0.5))
        case 5:
            x = np.linspace(-2, 4, rng.choice([4, 13, 25]))
            z = np.array([[rng.gauss(0, 0.03) for _ in x] for _ in x])
            return height_field(x, x - 1.0, z - z.max())
        case _:
            return Joined(
                plane(), move_ground(kerb(1.0, 0.05), Slide((rng.uniform(-2, 2), 0.0, 0.0)))
            )


def damaged_starts(rng, folder):
    """Begin anywhere with any speed on any ground: the run makes progress or says why not."""
    machine = machine_of(rng.randrange(len(MACHINES)))
    wanted = {
        "forward_speed": rng.uniform(-3, 6), "lean": rng.gauss(0, 0.2), "yaw": rng.uniform(-3, 3),
        "lean_rate": rng.gauss(0, 0.5), "steer": rng.gauss(0, 0.2),
    }  # fmt: skip
    start = draisine.state(machine, **{n: x for n, x in wanted.items() if n in machine.outputs})
    lift = rng.choice([0.0, 0.0, 1e-9, 1e-4, 0.1, 0.5, -1e-9, -0.05])
    v = start.v + np.array([rng.gauss(0, rng.choice([0.0, 0.5])) for _ in start.v])
    state = draisine.State(start.q, start.p + [rng.choice([0.0, 1.0]), 0.0, lift], start.r, v)
    mu = rng.choice([np.inf, np.inf, 0.0, 0.3, 0.9])
    model = rng.choice(["moreau", "newton", "poisson"]) if 0 < mu < np.inf else "plastic"
    options = ContactOptions(mu=mu, impact=model, rest_speed=rng.choice([0.0, 0.01, 0.1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EnergyWarning)
        try:
            run = draisine.simulate(
                machine,
                state,
                0.5,
                terrain=ground_of(rng),
                contact=options,
                numerics=Numerics(dt=0.05),
            )
        except SimulationError as error:
            if error.partial is None:
                raise AssertionError(f"a run that stopped keeps nothing: {error}") from error
            check(error.partial)
            raise
    check(run)


LEGAL = {
    "scenarios": legal_scenarios,
    "parameters": legal_parameters,
    "meshes": legal_meshes,
    "results": legal_results,
    "commands": legal_commands,
    "robots": legal_robots,
    "laws": legal_laws,
    "starts": legal_starts,
}
"""Attacks by kind that stay legal."""

DAMAGED = {
    "scenarios": damaged_scenarios,
    "parameters": damaged_parameters,
    "meshes": damaged_meshes,
    "results": damaged_results,
    "commands": damaged_commands,
    "robots": damaged_robots,
    "laws": damaged_laws,
    "starts": damaged_starts,
}
"""Attacks by kind that damage something."""

LEGAL_SHARE = 0.75
"""Which part of the attacks is legal."""


def strike(kind, seed):
    """Return how an attack ends: "sound", the type of a reported error, or a finding in capitals."""
    folder = Path(tempfile.mkdtemp())
    begun = time.perf_counter()
    rng = random.Random(f"{kind} {seed}")
    is_legal = rng.random() < LEGAL_SHARE
    faulthandler.register(signal.SIGPROF, chain=True)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        (LEGAL if is_legal else DAMAGED)[kind](rng, folder)
        end, told = "sound", ""
    except ViolatedError as error:
        end, told = "VIOLATED", str(error)
    except DraisineError as error:
        end, told = type(error).__name__, str(error)
        if len(told.strip()) < 10:
            end = "WITHOUT A WORD"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        end, told = f"UNTYPED {type(error).__name__}", traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        shutil.rmtree(folder, ignore_errors=True)
    seconds = time.perf_counter() - begun
    return {"seed": seed, "legal": is_legal, "end": end, "told": told[-1500:], "seconds": seconds}


def is_finding(one):
    """Return whether an attack ended as none should."""
    return one["end"].isupper() or one["end"].startswith("UNTYPED")


def _write(log, one):
    """Add a line to the log, if there is one; the last that tells of an attack counts."""
    if log:
        with log.open("a") as file:
            file.write(json.dumps(one) + "\n")


def main(given=None):
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("kind", choices=list(LEGAL))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args(given)
    old = asked.log.read_text().splitlines() if asked.log and asked.log.exists() else []
    known = {one["seed"]: one for one in map(json.loads, old)}
    for seed in range(asked.first, asked.first + asked.count):
        if seed in known:
            continue
        hangs = {"seed": seed, "legal": True, "end": "HANGS", "told": "", "seconds": PATIENCE}
        _write(asked.log, hangs)
        known[seed] = one = strike(asked.kind, seed)
        _write(asked.log, one)
        if is_finding(one):
            print(f"{asked.kind} {seed}: {one['end']}\n{one['told']}", flush=True)
    found = [known[s] for s in range(asked.first, asked.first + asked.count)]
    for is_legal, text in ((True, "legal"), (False, "damaged")):
        ends = Counter(one["end"] for one in found if one["legal"] is is_legal)
        total = sum(ends.values())
        print(f"{text}: {total}, of which {ends['sound']} give a sound result")
        for end, count in ends.most_common():
            print(f"  {end:24} {count:5}")
    print(f"  slowest {max(one['seconds'] for one in found):.1f} s")
    return int(any(map(is_finding, found)))


if __name__ == "__main__":
    sys.exit(main())
