"""Many machines at once: one state (and one set of parameters) per SIMD lane, shared out over
threads.
"""

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from draisine.errors import ParameterError
from draisine.simulation.integrators.native import Floats, call, jit
from draisine.system import State, System

BLOCK = 8
"""How many registers' worth of states a thread advances together: enough to fill the pipes, few
enough for the cache.
"""


@jit
def _run(
    rate: int,
    rate_table: Floats,
    rate_size: int,
    project: int,
    project_table: Floats,
    project_size: int,
    pose_size: int,
    x: Floats,
    n: int,
    t0: float,
    h: float,
    steps: int,
) -> None:
    """Advance all columns of x = (t, y, tail) by RK4 steps with projection, in place."""
    lanes = x.shape[1]
    start = np.empty((n, lanes))
    k1, k2 = np.empty((rate_size, lanes)), np.empty((rate_size, lanes))
    k3, k4 = np.empty((rate_size, lanes)), np.empty((rate_size, lanes))
    settled = np.empty((project_size, lanes))
    for i in range(steps):
        t = t0 + i * h
        start[:] = x[1 : 1 + n]
        x[0] = t
        call(rate, x.ctypes.data, rate_table.ctypes.data, k1.ctypes.data, lanes)
        x[0] = t + 0.5 * h
        for k in range(n):
            for j in range(lanes):
                x[1 + k, j] = start[k, j] + 0.5 * h * k1[k, j]
        call(rate, x.ctypes.data, rate_table.ctypes.data, k2.ctypes.data, lanes)
        for k in range(n):
            for j in range(lanes):
                x[1 + k, j] = start[k, j] + 0.5 * h * k2[k, j]
        call(rate, x.ctypes.data, rate_table.ctypes.data, k3.ctypes.data, lanes)
        x[0] = t + h
        for k in range(n):
            for j in range(lanes):
                x[1 + k, j] = start[k, j] + h * k3[k, j]
        call(rate, x.ctypes.data, rate_table.ctypes.data, k4.ctypes.data, lanes)
        for k in range(n):
            for j in range(lanes):
                total = k1[k, j] + 2.0 * (k2[k, j] + k3[k, j]) + k4[k, j]
                x[1 + k, j] = start[k, j] + h * total / 6.0
        call(project, x.ctypes.data, project_table.ctypes.data, settled.ctypes.data, lanes)
        for k in range(pose_size):
            for j in range(lanes):
                x[1 + k, j] = settled[k, j]


def simulate_many(
    system: System,
    states: Sequence[State],
    until: float,
    *,
    dt: float = 0.005,
    parameters: Mapping[str, Sequence[float]] | None = None,
    mode: Mapping[str, str] | None = None,
    threads: int | None = None,
) -> dict[str, Floats]:
    """Return what is seen of many machines at the end, by RK4 of equal steps no longer than dt.

    `parameters` gives values per machine for those that differ. The result's arrays have one column
    per machine: `q`, `p`, `r`, `v`, `outputs`, ... (the names of `Machine.look`).

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> end = simulate_many(bicycle, [start] * 5, 1.0, parameters={"mB": [80, 82, 84, 86, 88]})
    >>> end["v"].shape
    (9, 5)
    """
    if not states:
        raise ParameterError("simulate_many: no states given.")
    if not (dt > 0 and until > 0):
        raise ParameterError(f"simulate_many: until = {until} s and dt = {dt} s must be positive.")
    machine = system.machine(mode)
    values = _values(system, len(states), parameters or {})
    width = machine.rate.native.lanes * BLOCK
    count = -(-len(states) // width) * width
    y = np.array([machine.enter(state) for state in states]).T
    n = len(y)
    x = np.zeros((machine.rate.native.size_in, count))
    x[1 : 1 + n] = np.pad(y, ((0, 0), (0, count - len(states))), mode="edge")
    values = np.pad(values, ((0, 0), (0, count - len(states))), mode="edge")
    rate, project = machine.rate, machine.project
    tables = [c.tables(values) for c in (rate, project)]
    steps = max(1, math.ceil(until / dt - 1e-9))
    pose = 7 + len(system.model.joints)

    def advance(first: int) -> None:
        block = slice(first, first + width)
        part = np.ascontiguousarray(x[:, block])
        rate_table, project_table = (np.ascontiguousarray(table[:, block]) for table in tables)
        _run(
            rate.native.batch,
            rate_table,
            rate.native.size_out,
            project.native.batch,
            project_table,
            project.native.size_out,
            pose,
            part,
            n,
            0.0,
            until / steps,
            steps,
        )
        x[:, block] = part

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(advance, range(0, count, width)))
    seen = machine.observe.batch(x, machine.observe.tables(values))
    q, p = machine.user_pose(x[1:5], x[5:8])
    out = {"q": q, "p": p, "r": x[8 : 1 + pose]} | seen
    return {name: array[:, : len(states)] for name, array in out.items()}


def _values(system: System, count: int, changes: Mapping[str, Sequence[float]]) -> Floats:
    """Return the parameters, one column per machine."""
    values = np.repeat(system.values[:, None], count, axis=1)
    names = list(system.parameters)
    for name, column in changes.items():
        system.with_parameters(**{name: float(column[0])})
        if len(column) != count:
            raise ParameterError(f"parameter {name}: {len(column)} values for {count} machines.")
        values[names.index(name)] = column
    return values
