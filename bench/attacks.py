"""Random attacks on the package: `python bench/attacks.py KIND [--count 500] [--first 0] [--log FILE]`.

Each attack ends in a sound result or in a typed error that says something. What else may happen is a
finding: an error of another type, a number that is none without a word about it, a hang. Kinds:
scenarios, parameters, meshes, results, commands, robots, laws, starts. With a log (one line of JSON per
attack) a campaign goes on where it was stopped. It exits with 1 if there are findings.
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
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

import draisine
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


# --- scenarios: shipped ones with damaged lines


def scenarios(rng, folder):
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


def parameters(rng, folder):
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


def meshes(rng, folder):
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


def results(rng, folder):
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


def commands(rng, folder):
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
    """Raise where a command line ends with what should not happen; a told error is one of ours."""
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


def robots(rng, folder):
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


def laws(rng, folder):
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


def ground_of(rng):
    """Return a ground of any kind."""
    match rng.randrange(7):
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


def starts(rng, folder):
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


ATTACKS = (scenarios, parameters, meshes, results, commands, robots, laws, starts)
KINDS = {f.__name__: f for f in ATTACKS}


def strike(kind, seed):
    """Return how an attack ends: "sound", the type of a told error, or a finding in capitals."""
    folder = Path(tempfile.mkdtemp())
    begun = time.perf_counter()
    faulthandler.register(signal.SIGPROF, chain=True)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        KINDS[kind](random.Random(f"{kind} {seed}"), folder)
        end, told = "sound", ""
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
    return {"seed": seed, "end": end, "told": told[-1500:], "seconds": time.perf_counter() - begun}


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
    parser.add_argument("kind", choices=list(KINDS))
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--log", type=Path)
    asked = parser.parse_args(given)
    old = asked.log.read_text().splitlines() if asked.log and asked.log.exists() else []
    known = {one["seed"]: one for one in map(json.loads, old)}
    for seed in range(asked.first, asked.first + asked.count):
        if seed in known:
            continue
        _write(asked.log, {"seed": seed, "end": "HANGS", "told": "", "seconds": PATIENCE})
        known[seed] = one = strike(asked.kind, seed)
        _write(asked.log, one)
        if is_finding(one):
            print(f"{asked.kind} {seed}: {one['end']}\n{one['told']}", flush=True)
    found = [known[s] for s in range(asked.first, asked.first + asked.count)]
    for end, count in Counter(one["end"] for one in found).most_common():
        print(f"  {end:24} {count:5}")
    print(f"  slowest {max(one['seconds'] for one in found):.1f} s")
    return int(any(map(is_finding, found)))


if __name__ == "__main__":
    sys.exit(main())
