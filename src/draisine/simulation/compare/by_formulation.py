"""Runs by any formulation: the reconstruction equation with accelerations from elsewhere, in the
user's own coordinates.

Slow, and without projection: it is there to hold independent derivations against each other along a
whole motion.
"""

import ctypes
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from draisine.algebra.lie import quaternion_rate, rotation
from draisine.algebra.scalar import Floats
from draisine.codegen.targets.native import prototype
from draisine.errors import ParameterError, SimulationError
from draisine.registry import find
from draisine.simulation.integrators._native import DONE, Code, Problem
from draisine.simulation.trajectory import SmoothArc, Trajectory
from draisine.system.closed_form import State
from draisine.system.system import System


def simulate_by(
    formulation: str,
    system: System,
    state: State,
    until: float,
    *,
    dt: float = 0.01,
    integrator: str = "dop853",
    inputs: Mapping[str, float] | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> Trajectory:
    """Return the motion from a state until a time, all contacts closed, by the formulation of that
    name.

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> run = simulate_by("planar", bicycle, start, 0.1, dt=0.05, rtol=1e-8)
    >>> fast = draisine.simulate(bicycle, start, 0.1, dt=0.05)
    >>> bool(abs(run.to_xarray().lean[-1] - fast.to_xarray().lean[-1]) < 1e-9)
    True
    """
    if not (np.isfinite(until) and until > 0 and dt > 0):
        raise ParameterError(f"until = {until} s and dt = {dt} s must be positive.")
    find("formulation", formulation)
    n, failed = len(system.model.joints), list[BaseException]()
    size = 7 + n + len(state.v)
    columns = system.machine().columns

    def rate(x_at: int, table_at: int, out_at: int, stride: int) -> None:
        x = np.ctypeslib.as_array((ctypes.c_double * (1 + size)).from_address(x_at)).copy()
        out = np.ctypeslib.as_array((ctypes.c_double * size).from_address(out_at))
        q = x[1:5] / np.linalg.norm(x[1:5])
        v = x[8 + n :]
        whole = np.zeros(6 + n)
        whole[columns] = v
        try:
            here = State(q, x[5:8], x[8 : 8 + n], v)
            vdot, _ = system.accelerate(
                here, inputs, t=float(x[0]), formulation=formulation, tolerance=1e-2
            )
        except BaseException as error:  # nothing may pass through machine code
            failed.append(error)
            out[:] = np.nan
            return
        turn = quaternion_rate(x[1:5], whole[3:6])
        out[:] = np.concatenate([turn, rotation(q) @ whole[:3], whole[6:], vdot])

    callback = prototype()(rate)
    address = int(ctypes.cast(callback, ctypes.c_void_p).value or 0)
    nothing = np.zeros(1)
    code = Code(address, nothing, size, 0, nothing, 1, 7 + n, 0, np.zeros(0), np.zeros(0))
    problem = Problem(code, callback)
    steps = max(1, math.ceil(until / dt - 1e-9))
    grid = until / steps * np.arange(steps + 1)
    y = np.concatenate([state.q, state.p, state.r, state.v])
    method: Any = find("integrator", integrator)
    times, samples, status = method.advance(problem, y, 0.0, until, dt, grid, rtol, atol)
    if failed and not isinstance(failed[0], KeyboardInterrupt):
        raise failed[0]
    sound = np.isfinite(samples).all(axis=1)
    times, samples = times[sound], samples[sound]
    outcome = "completed" if status == DONE else "interrupted" if failed else "stopped"
    made = {"integrator": integrator, "dt": dt, "formulation": formulation, "rtol": rtol}
    run = Trajectory((_arc(system, times, samples, inputs),), outcome, made)
    if status != DONE:
        raise SimulationError(
            f"the run was {outcome} after {times[-1]:.6g} s of {until:.6g} s. "
            "The part before is in the error's `partial`.",
            run,
        )
    return run


def _arc(
    system: System, times: Floats, samples: Floats, inputs: Mapping[str, float] | None
) -> SmoothArc:
    """Return samples in the user's coordinates as an arc of the machine with all contacts closed."""
    machine, n = system.machine(), len(system.model.joints)
    ys = []
    for sample in samples:
        q = sample[:4] / np.linalg.norm(sample[:4])
        here = State(q, sample[4:7], sample[7 : 7 + n], sample[7 + n :])
        ys.append(machine.enter(here, tolerance=1e-4))
    tail = np.repeat(system.inputs(inputs)[:, None], len(times), axis=1)
    return SmoothArc(machine, times, np.array(ys), tail)
