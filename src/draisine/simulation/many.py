"""Many machines at once: one state (and one set of parameters) per SIMD lane, shared out over
threads.
"""

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, SimulationError
from draisine.simulation.integrators._native import call, jit
from draisine.simulation.smooth import simulate
from draisine.system.closed_form import ClosedForm, State
from draisine.system.system import System

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
    wheels: int,
    pose_size: int,
    floors: Floats,
    x: Floats,
    n: int,
    t0: float,
    h: float,
    steps: int,
    wrong: Floats,
) -> None:
    """Advance all columns of x = (t, y, tail) by RK4 steps with projection, in place; mark those that
    must go another way: pivots that degenerate, gaps that one step does not close, a wheel that
    falls flat, values that are no numbers.
    """
    lanes = x.shape[1]
    first = project_size - 2 * wheels
    headings = np.full((2 * wheels, lanes), np.nan)
    start = np.empty((n, lanes))
    k1, k2 = np.empty((rate_size, lanes)), np.empty((rate_size, lanes))
    k3, k4 = np.empty((rate_size, lanes)), np.empty((rate_size, lanes))
    settled = np.empty((project_size, lanes))
    for i in range(steps):
        t = t0 + i * h
        start[:] = x[1 : 1 + n]
        x[0] = t
        call(rate, x.ctypes.data, rate_table.ctypes.data, k1.ctypes.data, lanes)
        for k in range(len(floors)):
            for j in range(lanes):
                if not abs(k1[n + k, j]) >= floors[k]:
                    wrong[j] = True
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
        for k in range(pose_size, first):
            for j in range(lanes):
                if abs(settled[k, j]) > 1e-8:
                    wrong[j] = True
        for k in range(0, 2 * wheels, 2):
            for j in range(lanes):
                ahead = headings[k, j] * settled[first + k, j]
                if ahead + headings[k + 1, j] * settled[first + k + 1, j] < 0.0:
                    wrong[j] = True
        headings[:] = settled[first:]
    for k in range(n):
        for j in range(lanes):
            if not abs(x[1 + k, j]) < np.inf:
                wrong[j] = True


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
    per machine: `q`, `p`, `r`, `v`, `outputs`, ... (the names of `Machine.look`). All numbers are
    those of `simulate`, which takes over, one by one, the machines that need other pivots on their
    way. `outcome` tells how each run ended and `time` when; of one that had to stop, the other
    arrays hold no numbers.

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
    width = machine.rate.lanes * BLOCK
    count = -(-len(states) // width) * width
    y = np.array([machine.enter(state) for state in states]).T
    y = np.pad(y, ((0, 0), (0, count - len(states))), mode="edge")
    at = machine.rate.inputs
    x = at.pack(**machine.layout.split(y))
    values = np.pad(values, ((0, 0), (0, count - len(states))), mode="edge")
    wrong = _advance(machine, x, values, len(y), until, dt, threads)
    seen = machine.observe.batch(x, machine.observe.tables(values))
    q, p = machine.user_pose(x[at.q], x[at.p])
    out = {"q": q, "p": p, "r": x[at.r]} | seen
    out = {name: array[:, : len(states)] for name, array in out.items()}
    ends = [("completed", until)] * len(states)
    for k in np.flatnonzero(wrong[: len(states)]).tolist():
        own = {name: float(column[k]) for name, column in (parameters or {}).items()}
        ends[k] = _alone(system.with_parameters(**own), states[k], until, dt, mode, k, out)
    outcome, time = zip(*ends, strict=True)
    return out | {"outcome": np.array(outcome), "time": np.array(time)}


def _advance(
    machine: ClosedForm,
    x: Floats,
    values: Floats,
    n: int,
    until: float,
    dt: float,
    threads: int | None,
) -> Floats:
    """Advance all columns of x in place, in blocks shared out over threads; return which must go
    another way.
    """
    rate, project = machine.rate, machine.project
    tables = [c.tables(values) for c in (rate, project)]
    steps = max(1, math.ceil(until / dt - 1e-9))
    pose = machine.layout.r.stop
    floors = machine.floors
    wheels = project.outputs.count("headings") // 2
    width, wrong = rate.lanes * BLOCK, np.zeros(x.shape[1], dtype=bool)

    def advance(first: int) -> None:
        block = slice(first, first + width)
        part, marks = np.ascontiguousarray(x[:, block]), np.zeros(width, dtype=bool)
        rate_table, project_table = (np.ascontiguousarray(table[:, block]) for table in tables)
        _run(
            rate.wide_address,
            rate_table,
            rate.outputs.size,
            project.wide_address,
            project_table,
            project.outputs.size,
            wheels,
            pose,
            floors,
            part,
            n,
            0.0,
            until / steps,
            steps,
            marks,
        )
        x[:, block], wrong[block] = part, marks

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(advance, range(0, x.shape[1], width)))
    return wrong


def _alone(
    system: System,
    state: State,
    until: float,
    dt: float,
    mode: Mapping[str, str] | None,
    k: int,
    out: dict[str, Floats],
) -> tuple[str, float]:
    """Fill the k-th column by a run of its own; return how it ended, and when."""
    try:
        run = simulate(system, state, until, dt=dt, integrator="rk4", mode=mode)
    except SimulationError as error:
        for array in out.values():
            array[:, k] = np.nan
        return error.partial.outcome, float(error.partial.t[-1])
    arc, end = run.arcs[-1], run.final()
    found = dict(arc.seen) | {"q": end.q[:, None], "p": end.p[:, None], "r": end.r[:, None]}
    for name, array in out.items():
        array[:, k] = found[name][:, -1]
    return run.outcome, until


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
