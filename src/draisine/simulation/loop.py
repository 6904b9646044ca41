"""Runs: from a state through smooth stretches, each in one native call."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.derivation import Law
from draisine.errors import ParameterError, SimulationError
from draisine.model import Pin
from draisine.registry import find
from draisine.simulation.integrators.native import DEGENERATE, DONE, NOT_FINITE, Problem
from draisine.simulation.trajectory import Arc, Trajectory
from draisine.system import Floats, Machine, State, System

REASONS = {
    NOT_FINITE: "a value is no longer a number",
    DEGENERATE: "the configuration is degenerate (a pivot of the constraints vanishes)",
    3: "no step is small enough for the tolerances",
}


def problem_of(machine: Machine, y: Floats, t: float, tail: Floats, drift: bool) -> Problem:
    """Return a machine as an integrator takes it; pivots may shrink to a thousandth of what they
    are at the drawing.
    """
    rate, project = machine.rate, machine.project
    pivots = rate.split(rate.flat(np.concatenate([[t], y, tail])))["pivots"]
    return Problem(
        rate.native.call,
        rate.table,
        rate.native.size_out,
        project.native.call if drift else 0,
        project.table,
        project.native.size_out,
        7 + len(machine.system.model.joints),
        tail,
        1e-3 * np.abs(pivots),
        (rate, project),
    )


def simulate(
    system: System,
    state: State,
    until: float,
    *,
    dt: float = 0.01,
    integrator: str = "dop853",
    mode: Mapping[str, str] | None = None,
    law: Law | None = None,
    inputs: Mapping[str, float] | None = None,
    breakpoints: Iterable[float] = (),
    start: float = 0.0,
    drift: str | float = "project",
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> Trajectory:
    """Return the motion from a state until a time.

    `dt` is the step of fixed-step integrators and the spacing of samples of adaptive ones. `law` is
    a control law, traced into the compiled code; `inputs` are constant inputs. The integrator stops
    and starts afresh at `breakpoints`, where laws may jump (they are taken as continuous from the
    right). `drift` says what keeps the contacts closed: "project" (one Newton step per step),
    "none", or the epsilon of the thesis's correction (2.41).

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> simulate(bicycle, start, until=1.0, integrator="rk4", dt=0.005).outcome
    'completed'
    """
    if not (np.isfinite(until) and until > start):
        raise ParameterError(f"until = {until} s does not lie after the start at {start} s.")
    if not (np.isfinite(dt) and dt > 0):
        raise ParameterError(f"dt = {dt} s is not a positive time.")
    if isinstance(drift, str) and drift not in ("project", "none"):
        raise ParameterError(
            f"drift = {drift!r}: take 'project', 'none', or an epsilon in seconds."
        )
    method: Any = find("integrator", integrator)
    states = int(getattr(law, "states", 0))
    epsilon = None if isinstance(drift, str) else float(drift)
    machine = system.machine(mode, law, states, epsilon)
    z = np.asarray(getattr(law, "start", np.zeros(states)), float)
    y = machine.enter(state, start, z)
    tail = np.concatenate([system.inputs(inputs), _anchors(machine, state)])
    stops = {
        float(b) for b in [*breakpoints, *getattr(law, "breakpoints", ())] if start < b < until
    }
    edges = [start, *sorted(stops), until]
    problem = problem_of(machine, y, start, tail, drift == "project")
    times, samples = [np.array([start])], [y[None, :]]
    made = {"integrator": integrator, "dt": dt, "drift": str(drift), "rtol": rtol, "atol": atol}
    for t0, t1 in pairwise(edges):
        grid = _grid(start, t0, t1, dt)
        t, ys, status = method.advance(problem, y, t0, t1, dt, grid, rtol, atol)
        after = t > t0
        times.append(t[after])
        samples.append(ys[after])
        if status != DONE:
            arc = Arc(machine, np.concatenate(times), np.concatenate(samples), tail)
            partial = Trajectory((arc,), REASONS[status], made)
            raise SimulationError(
                f"the run stopped after {arc.t[-1]:.6g} s of {until:.6g} s: {REASONS[status]}. "
                "The part before is in the error's `partial`.",
                partial,
            )
        y = ys[-1]
    arc = Arc(machine, np.concatenate(times), np.concatenate(samples), tail)
    return Trajectory((arc,), "completed", made)


def _grid(start: float, t0: float, t1: float, dt: float) -> Floats:
    """Return the sample times of a stretch: multiples of dt from the start of the run, and the
    stretch's end.
    """
    first, last = np.ceil((t0 - start) / dt - 1e-9), np.floor((t1 - start) / dt + 1e-9)
    grid = start + dt * np.arange(first, last + 1)
    grid = grid[(grid > t0) & (grid < t1 - 1e-9 * dt)]
    return np.append(grid, t1)


def _anchors(machine: Machine, state: State) -> Floats:
    """Return where the pins hold their points: where they are at the start."""
    model = machine.system.model
    pins = [k for k, c in enumerate(model.contacts) if isinstance(c, Pin)]
    if not pins:
        return np.zeros(0)
    y = machine.enter(state)
    points = machine.look(y)["points"].reshape(-1, 3)
    return points[pins].ravel()
