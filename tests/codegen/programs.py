"""Programs with which every target is tested, with inputs for them."""

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from draisine.algebra import trace
from draisine.codegen.cache import Store
from draisine.codegen.program import Program, trace_program
from draisine.codegen.targets.native import Native
from draisine.system.compiled import Compiled

Inputs = dict[str, NDArray[np.float64]]


class Case(NamedTuple):
    """A program with inputs for one state."""

    program: Program
    inputs: Inputs

    def batch(self, count: int) -> Inputs:
        """Return the inputs of `count` states near this one as columns, with the same parameters."""
        rng = np.random.default_rng(7)
        return {
            name: x
            if name == "parameters"
            else x[:, None] + 0.01 * rng.normal(size=(len(x), count))
            for name, x in self.inputs.items()
        }


def every_operation() -> Case:
    """Return a program with every operation, names that collide, an unused and an empty input."""
    g = trace.Graph()
    a, b, c = (g.symbol(name, parameter=True) for name in ("g", "table", "x[0]p"))
    x = [g.symbol(f"x[{k}]") for k in range(4)]
    unused = [g.symbol("unused")]
    low = x[0] < x[1]
    mass = a * b - c
    norm = trace.sqrt(x[0] * x[0] + x[1] * x[1] + 1.0)
    outputs = {
        "x": [-x[2], x[3], a, 0.0, -0.1, mass, trace.exp(-b)],
        "lambda": [
            trace.sin(x[0]) * mass + trace.cos(x[1] - x[0]),
            x[2] / norm,
            trace.atan2(x[2], -norm),
            trace.exp(0.25 * x[3]) - norm,
        ],
        "double": [
            low,
            low * x[2] - (x[3] - (x[2] - norm)),
            trace.where(low, x[2], x[3] * a),
            trace.where(x[2] * 0.0 + low + 0.5 * low, norm, -1.0 / c),
        ],
        "s": [trace.where(x[3] < x[2], trace.where(x[1] < x[0], 1.0, x[0]), trace.sin(low * c))],
        "none": [],
    }
    inputs = {
        "s": [x[0], x[1]],
        "unused": unused,
        "parameters": [a, b, c],
        "empty": [],
        "s_1": [x[2]],
        "table": [x[3]],
    }
    program = trace_program("all_in", inputs, outputs)
    points = {"s": [0.3, -1.2], "unused": [5.0], "parameters": [9.81, 0.7, -2.5], "empty": []}
    return Case(
        program, {k: np.array(v) for k, v in (points | {"s_1": [0.8], "table": [0.1]}).items()}
    )


@cache
def long(steps: int, seed: int = 0) -> Case:
    """Return a program of many steps, each of which may read any earlier one; all are needed.

    Steps are half sums and differences, sometimes their sines, so that errors do not grow.
    """
    rng = random.Random(seed)
    made: list[tuple[object, ...]] = [("input", "parameters", k) for k in range(3)]
    made += [("input", "x", k) for k in range(5)]
    made += [("const", 0.5)]
    fixed = [True] * 3 + [False] * 5 + [True]
    waiting = {True: [0, 1, 2], False: [3, 4, 5, 6, 7]}
    while len(made) < steps:
        kind = rng.random() < 0.5
        used = rng.randrange(len(waiting[kind]))
        other = rng.choice([i for i, f in enumerate(fixed) if f or not kind])
        start = len(made)
        made += [(rng.choice(("add", "sub")), waiting[kind][used], other), ("mul", start, 8)]
        if rng.random() < 0.05:
            made += [(rng.choice(("sin", "cos")), start + 1)]
        fixed += [kind] * (len(made) - start)
        waiting[kind][used] = len(made) - 1
    outputs = {"y": waiting[False], "table": waiting[True]}
    program = Program("long", {"parameters": 3, "x": 5}, made, outputs, fixed)
    point = np.random.default_rng(seed).normal(size=8)
    return Case(program, {"parameters": point[:3], "x": point[3:]})


@cache
def wide(outputs: int) -> Case:
    """Return a program of independent steps."""
    steps: list[tuple[object, ...]] = [("input", "x", k) for k in range(4)]
    for k in range(outputs):
        steps += [("const", k + 0.1), ("add", k % 4, len(steps))]
    entries = list(range(5, len(steps), 2))
    program = Program("wide", {"x": 4}, steps, {"y": entries}, [s[0] == "const" for s in steps])
    return Case(program, {"x": np.array([0.1, -0.2, 0.3, 4.0])})


def assert_close(found: NDArray[np.float64], expected: NDArray[np.float64], rtol: float) -> None:
    """Assert that two arrays are equal up to `rtol` times the largest entry of each column."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    scale = np.abs(expected).max(axis=0, initial=0.0)
    assert np.all(np.abs(found - expected) <= rtol * scale)


def compile_and_call(case: Case, folder: Path) -> bytes:
    """Return the bytes of all outputs, computed by machine code from the store in a folder."""
    parameters = case.inputs.get("parameters", np.zeros(0))
    code = Compiled(Native(case.program, Store(folder)), parameters)
    inputs = [case.inputs[name] for name in case.program.inputs if name != "parameters"]
    return code.flat(np.concatenate(inputs)).tobytes()
