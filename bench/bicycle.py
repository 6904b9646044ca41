"""The bicycle's equations, measured side by side in one run: `python bench/bicycle.py [--json
FILE]`.

Reports seconds to derive and compile (cold and cached), operations per mode, microseconds per
right-hand side for every target, 5 s of motion against the same run on NumPy floats, bicycles per
second in SIMD lanes. Growth with the size of machines: `growth.py`. Ratios count; absolute times are those of
the machine at hand.
"""

import argparse
import ctypes
import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import draisine
from draisine.algebra.lie import cross, quaternion_rate
from draisine.algebra.scalar import Floats
from draisine.codegen.cache import Store
from draisine.codegen.routine import Address, call, routine
from draisine.codegen.targets import c as c_target
from draisine.codegen.targets import javascript, python
from draisine.codegen.targets.native import compile_routines
from draisine.mechanics.applied import generalised_input_force
from draisine.mechanics.base import base_rotation
from draisine.mechanics.formulations import projected
from draisine.mechanics.tree import assemble
from draisine.simulation.integrators import abm4
from draisine.simulation.many import simulate_many


def best(function, repeat=5, number=1):
    """Return the shortest time of one call, in seconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        for _ in range(number):
            function()
        times.append((time.perf_counter() - start) / number)
    return min(times)


@routine
def repeated(
    address: Address, x: Floats, table: Floats, out: Floats, count: int, lanes: int
) -> None:
    for _ in range(count):
        call(address, x, table, out, lanes)


(loop,) = compile_routines(repeated)


def startup():
    """Return seconds to derive and compile the right-hand side of one mode, cold and cached."""
    with tempfile.TemporaryDirectory() as folder:
        rows = {}
        for label in ("cold", "cached"):
            system = draisine.compile("whipple", store=Store(Path(folder)))
            start = time.perf_counter()
            system.machine().programs["rate"]
            derived = time.perf_counter()
            compiled = system.machine().rate
            rows[label] = {"derive": derived - start, "compile": time.perf_counter() - derived}
            rows[label]["operations"] = compiled.program.operations
        return rows


def operations(system):
    """Return operations of the right-hand side per mode, and what multipliers add."""
    modes = {
        "two wheels": {},
        "front only": {"rear": "open"},
        "rear only": {"front": "open"},
        "flight": {"rear": "open", "front": "open"},
    }
    return {name: system.machine(mode).programs["rate"].operations for name, mode in modes.items()}


def float_rate(system):
    """Return the right-hand side by the mechanics on NumPy floats: no code generation at all."""
    machine = system.machine()
    model, choice = system.model, machine.choice
    tree = assemble(model, aligned=True)

    def rate(x):
        y, inputs = x[1:14], x[14:17]
        R = base_rotation(model, y[:4])
        found = projected.constraint_rows(tree, machine.mode, R, y[7:10])
        moving = projected.reconstruct_velocities(
            found, y[10:13], x[0], choice.independent, choice.pivots
        )
        force = generalised_input_force(tree, found.geo, found.world, inputs, found.ref)
        reduced = projected.solve_reduced_dynamics(moving, force, x[0], model.gravity, {})
        V, W = moving.speeds[:3], moving.speeds[3:6]
        parts = [
            quaternion_rate(y[:4], W),
            R @ (V - cross(W, found.ref)),
            moving.speeds[6:],
            reduced.udot,
        ]
        return np.concatenate(parts).astype(float)

    return rate


def compiled_c(program, folder):
    """Return the address of the program's body and prologue through `cc -O3`."""
    source, library = Path(folder) / "rate.c", Path(folder) / "rate.so"
    source.write_text(c_target.emit(program))
    flags = ["-std=c99", "-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    return ctypes.CDLL(str(library))


def targets(system):
    """Return microseconds per right-hand side for every target."""
    machine = system.machine()
    native, program = machine.rate.native, machine.programs["rate"]
    start = draisine.state(system, forward_speed=4.6, lean_rate=0.5, lean=0.1, steer=0.05)
    x = np.concatenate([[0.0], machine.enter(start), np.zeros(3)])
    out = np.zeros(native.size_out)
    table = machine.rate.table
    rows = {}
    n = 20000
    loop(native.call, x, table, out, 10, 1)
    rows["native, one state"] = 1e6 * best(
        lambda: loop(native.call, x, table, out, n, 1), 9
    ) / n  # fmt: skip
    lanes = native.lanes
    X, T = np.repeat(x[:, None], lanes, 1), np.repeat(table[:, None], lanes, 1)
    X, T = np.ascontiguousarray(X), np.ascontiguousarray(T)
    Y = np.zeros((native.size_out, lanes))
    rows[f"native, per lane of {lanes}"] = 1e6 * best(
        lambda: loop(native.batch, X, T, Y, n, lanes), 9
    ) / n / lanes  # fmt: skip
    rows["native, called from Python"] = 1e6 * best(lambda: machine.rate.flat(x), 9, 2000)
    parts = {k: np.ascontiguousarray(part) for k, part in machine.rate.inputs.split(x).items()}
    rows["NumPy floats, no code"] = 1e6 * best(lambda: float_rate(system)(x), 3, 3)
    scope: dict = {}
    exec(python.emit(program), scope)
    prologue, body = scope["rate_prologue"], scope["rate"]
    left = prologue(system.values)
    rows["emitted Python"] = 1e6 * best(lambda: body(**parts, table=left), 5, 20)
    if shutil.which("cc"):
        with tempfile.TemporaryDirectory() as folder:
            library = compiled_c(program, folder)
            rows["C, cc -O3"] = c_time(library, program, system, parts, n)
    if shutil.which("node"):
        rows["JavaScript, node"] = node_time(program, system, parts)
    if importlib.util.find_spec("sympy"):
        rows["SymPy lambdify"] = sympy_time(program, x)
    return rows


def c_time(library, program, system, parts, n):
    """Return microseconds per call of the emitted C, looped in machine code too."""
    left = np.zeros(max(1, len(program.table)))
    library.rate_prologue(
        ctypes.c_void_p(system.values.ctypes.data), ctypes.c_void_p(left.ctypes.data)
    )
    outs = [np.zeros(max(1, len(e))) for e in program.outputs.values()]
    pointers = [
        *(p.ctypes.data for p in parts.values()),
        left.ctypes.data,
        *(o.ctypes.data for o in outs),
    ]
    names = ", ".join(f"double *p{k}" for k in range(len(pointers)))
    values = ", ".join(f"p{k}" for k in range(len(pointers)))
    with tempfile.TemporaryDirectory() as folder:
        source = c_target.emit(program) + (
            f"\nvoid bench_loop(int n, {names}) {{ for (int i = 0; i < n; ++i) rate({values}); }}\n"
        )
        path, binary = Path(folder) / "loop.c", Path(folder) / "loop.so"
        path.write_text(source)
        flags = ["-std=c99", "-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run(["cc", *flags, str(path), "-o", str(binary), "-lm"], check=True)
        run = ctypes.CDLL(str(binary)).bench_loop
        arguments = [ctypes.c_int(n), *(ctypes.c_void_p(p) for p in pointers)]
        return 1e6 * best(lambda: run(*arguments), 9) / n


def node_time(program, system, parts):
    """Return microseconds per call of the emitted JavaScript in node."""
    sizes = {name: len(entries) for name, entries in program.outputs.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.mjs"
        arrays = "".join(
            f"const in_{k} = Float64Array.from({json.dumps(list(map(float, v)))});\n"
            for k, v in parts.items()
        )
        arrays += "".join(
            f"const out_{k} = new Float64Array({max(1, n)});\n" for k, n in sizes.items()
        )
        names = ", ".join([*(f"in_{k}" for k in parts), "table", *(f"out_{k}" for k in sizes)])
        path.write_text(
            javascript.emit(program)
            + arrays
            + f"const table = new Float64Array({max(1, len(program.table))});\n"
            + f"ratePrologue(Float64Array.from({json.dumps(list(map(float, system.values)))}), table);\n"
            + f"for (let i = 0; i < 20000; ++i) rate({names});\n"
            + "const start = performance.now();\n"
            + f"for (let i = 0; i < 100000; ++i) rate({names});\n"
            + "console.log((performance.now() - start) / 100000 * 1000);\n"
        )
        done = subprocess.run(["node", str(path)], capture_output=True, text=True, check=True)
        return float(done.stdout)


def sympy_time(program, x):
    """Return microseconds per call of SymPy's lambdify on the same steps, common subexpressions
    given.
    """
    import sympy

    named, assigned = {}, []
    values = []
    for k, (op, *args) in enumerate(program.steps):
        if op == "const":
            values.append(sympy.Float(args[0]))
            continue
        if op == "input":
            values.append(named.setdefault(tuple(args), sympy.Symbol(f"{args[0]}_{args[1]}")))
            continue
        a = [values[i] for i in args]
        simple = {"inv": lambda x: 1 / x, "neg": lambda x: -x, "add": lambda x, y: x + y}
        simple |= {"sub": lambda x, y: x - y, "mul": lambda x, y: x * y}
        expression = simple[op](*a) if op in simple else getattr(sympy, op)(*a)
        values.append(sympy.Symbol(f"s{k}"))
        assigned.append((values[-1], expression))
    outputs = [values[k] for k in program.outputs["rate"]]

    def given(expressions):
        return assigned, list(expressions)

    f = sympy.lambdify(list(named.values()), outputs, "math", cse=given)
    point = [float(v) for v in np.random.default_rng(0).uniform(0.5, 1.0, len(named))]
    return 1e6 * best(lambda: f(*point), 5, 50)


def motion(system):
    """Return seconds for 5 s of motion, natively and by RK4 on NumPy floats."""
    start = draisine.state(system, forward_speed=4.6, lean_rate=0.5)
    ways = {
        name: draisine.Numerics(dt=0.005, integrator=name)
        for name in ("rk4", "ab4", "abm4", "abm5", "dop853")
    }
    ways["dop853, the end alone"] = draisine.Numerics(dt=5.0)
    ways["dop853, the end alone, 1e-9"] = draisine.Numerics(dt=5.0, rtol=1e-9, atol=1e-11)
    rows = {}
    for name, way in ways.items():
        rows[name] = best(lambda way=way: draisine.simulate(system, start, 5.0, numerics=way), 99)
    rows["abm4, the native call alone"] = native_call(system, start)
    rate = float_rate(system)
    x = np.concatenate([[0.0], system.machine().enter(start), np.zeros(3)])

    def steps(count):
        h, y = 0.005, x.copy()
        for _ in range(count):
            k1 = rate(y)
            stage = y.copy()
            stage[1:14] = y[1:14] + 0.5 * h * k1
            k2 = rate(stage)
            stage[1:14] = y[1:14] + 0.5 * h * k2
            k3 = rate(stage)
            stage[1:14] = y[1:14] + h * k3
            y[1:14] += h * (k1 + 2 * (k2 + k3) + rate(stage)) / 6
        return y

    rows["NumPy floats (1000 steps, from 20)"] = best(lambda: steps(20), 1) * 50
    return rows


def native_call(system, start):
    """Return seconds of the one native call inside a run by ABM4, Python's set-up left out."""
    taken = []
    advance = abm4.advance

    def timed(*arguments):
        began = time.perf_counter()
        out = advance(*arguments)
        taken.append(time.perf_counter() - began)
        return out

    abm4.advance = timed
    try:
        for _ in range(50):
            draisine.simulate(
                system, start, 5.0, numerics=draisine.Numerics(dt=0.005, integrator="abm4")
            )
    finally:
        abm4.advance = advance
    return min(taken)


def stepping(system):
    """Return microseconds for steps of 10 ms from Python, ten of RK4 each, and what is read after."""
    start = draisine.state(system, forward_speed=4.6, lean_rate=0.5)
    ride = draisine.Stepper(system, start, numerics=draisine.Numerics(integrator="rk4", dt=0.001))

    def read(what):
        ride.step(0.01, {"steer": 0.01})
        return getattr(ride, what) if what else None

    return {
        "a step": 1e6 * best(lambda: ride.step(0.01), 999),
        "with an input": 1e6 * best(lambda: read(""), 999),
        "and the state after it": 1e6 * best(lambda: read("state"), 999),
    }


def batch(system):
    """Return bicycles (5 s of motion each) per second in SIMD lanes, on one and two threads."""
    start = draisine.state(system, forward_speed=4.6, lean_rate=0.5)
    rows = {}
    for threads in (1, 2):
        many = draisine.Numerics(integrator="rk4", dt=0.005, threads=threads)
        simulate_many(system, [start] * 64, 0.1, numerics=many)
        rows[threads] = 1024 / best(
            lambda many=many: simulate_many(system, [start] * 1024, 5.0, numerics=many), 2
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    options = parser.parse_args()
    system = draisine.compile("whipple")
    report = {}
    for section in (startup, operations, targets, motion, stepping, batch):
        print(f"measuring {section.__name__} ...", file=sys.stderr)
        report[section.__name__] = section(*([] if section is startup else [system]))
    show(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1))


def show(report):
    """Print the report as plain tables."""
    print("derive and compile one mode (s)")
    for label, row in report["startup"].items():
        print(f"  {label:8s} derive {row['derive']:.3f}  compile {row['compile']:.3f}")
    print("operations per right-hand side (13 states, parameters free)")
    for name, value in report["operations"].items():
        print(f"  {name:12s} {value}")
    print("microseconds per right-hand side")
    base = report["targets"]["native, one state"]
    for name, value in report["targets"].items():
        print(f"  {name:28s} {value:10.3f}   x {value / base:.2f}")
    print("5 s of motion, samples or steps every 5 ms")
    for name, value in report["motion"].items():
        print(f"  {name:36s} {1e3 * value:10.2f} ms   x {value / report['motion']['rk4']:.1f}")
    print("  against the 2.6 s that the 2017 paper reports for ABM4 at 5 ms:")
    for name in ("abm4", "abm4, the native call alone"):
        print(f"    {name}: {2.6 / report['motion'][name]:.0f} x faster")
    print("microseconds for 10 ms of motion, stepped from Python")
    for name, value in report["stepping"].items():
        print(f"  {name:36s} {value:10.1f}")
    print("bicycles (5 s of motion each) per second in SIMD lanes")
    for threads, value in report["batch"].items():
        print(f"  {threads} thread(s): {value:.0f}")


if __name__ == "__main__":
    sys.exit(main())
