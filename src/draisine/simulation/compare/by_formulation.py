"""Runs with any formulation of the equations of motion, in the user's coordinates.

The integrator uses the accelerations of the formulation and the reconstruction equation of the pose. The
method is slow and does not project onto the constraints. Its purpose is to compare independent derivations
along a whole motion.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from draisine.algebra.lie import quaternion_rate, rotation
from draisine.algebra.scalar import Floats
from draisine.codegen.program import Callback
from draisine.errors import ModelError, SimulationError
from draisine.simulation.integrators import MACHINE_FELL, REACHED_END, Problem, Span
from draisine.simulation.options import Task
from draisine.simulation.trajectory import BilateralArc, DenseOutput, Trajectory
from draisine.simulation.validity.fall import fall_rule
from draisine.system.layout import Layout, state_sizes
from draisine.system.state import State
from draisine.system.system import System


def run_by_formulation(task: Task) -> Trajectory:
    """Return the trajectory with all contacts closed, by the formulation `task.numerics.formulation`.

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> start = draisine.state(bicycle, forward_speed=4.6, lean_rate=0.5)
    >>> planar = draisine.Numerics(formulation="planar", dt=0.05, rtol=1e-8)
    >>> run = draisine.simulate(bicycle, start, 0.1, numerics=planar)
    >>> fast = draisine.simulate(bicycle, start, 0.1, numerics=draisine.Numerics(dt=0.05))
    >>> bool(abs(run.to_xarray().lean[-1] - fast.to_xarray().lean[-1]) < 1e-9)
    True
    """
    system, state, inputs, until = task.system, task.state, task.inputs, task.until
    if system.model.memory:
        names = [element.name for element in system.model.elements if element.states]
        raise ModelError(
            f"a run by {task.numerics.formulation!r} does not integrate the states of force elements "
            f"({', '.join(map(repr, names))}); leave `formulation` out."
        )
    numerics, dt = task.numerics, task.numerics.dt
    layout = Layout(state_sizes(system.model, v=len(state.v)))
    rate = Callback(_rate(task, layout), 1 + layout.size, layout.size)
    rule = fall_rule(system.model, task.contact.fall)
    watch = rule.watch(np.eye(3))
    problem = Problem(rate.address, np.zeros(1), layout.size, np.zeros(0), keep=rate, watch=watch)
    steps = max(1, math.ceil(until / dt - 1e-9))
    grid = until / steps * np.arange(steps + 1)
    y = layout.pack(q=state.q, p=state.p, r=state.r, v=state.v)
    nodes: list[tuple[Floats, Floats]] = []
    span = Span(0.0, until, dt, grid, numerics.rtol, numerics.atol, nodes)
    times, samples, status = numerics.method.advance(problem, y, span)
    if rate.error is not None and not isinstance(rate.error, KeyboardInterrupt):
        raise rate.error
    sound = np.isfinite(samples).all(axis=1)
    times, samples = times[sound], samples[sound]
    outcome = "completed" if status == REACHED_END else "interrupted" if rate.error else "stopped"
    if status == MACHINE_FELL:
        outcome = rule.outcome(samples[-1][layout.q])
    settings = {
        name: getattr(numerics, name) for name in ("integrator", "dt", "formulation", "rtol")
    }
    arcs = (_arc(system, layout, times, samples, inputs, nodes),)
    run = Trajectory(arcs, outcome, settings | {"drift": "none"}, contact=task.contact)
    if status not in (REACHED_END, MACHINE_FELL):
        raise SimulationError(
            f"the run was {outcome} after {times[-1]:.6g} s of {until:.6g} s. "
            "The part before is in the error's `partial`.",
            run,
        )
    return run


def _rate(task: Task, layout: Layout) -> Callable[[Floats], Floats]:
    """Return the function from (t, y) to the rates of y = (q, p, r, v), by the formulation of the task."""
    system, n = task.system, len(task.system.model.joints)
    columns, formulation = system.machine().columns, task.numerics.formulation

    def rate(x: Floats) -> Floats:
        t, y = float(x[0]), x[1:]
        q = y[layout.q] / np.linalg.norm(y[layout.q])
        speeds = np.zeros(6 + n)
        speeds[columns] = y[layout.v]
        here = State(q, y[layout.p], y[layout.r], y[layout.v])
        vdot, _ = system.accelerate(here, task.inputs, t=t, formulation=formulation, tolerance=1e-2)
        turn = quaternion_rate(y[layout.q], speeds[3:6])
        return np.concatenate([turn, rotation(q) @ speeds[:3], speeds[6:], vdot])

    return rate


def _arc(
    system: System,
    layout: Layout,
    times: Floats,
    samples: Floats,
    inputs: Mapping[str, float] | None,
    nodes: list[tuple[Floats, Floats]],
) -> BilateralArc:
    """Return the arc of samples and dense-output nodes in the user's coordinates, all contacts closed."""
    machine, input_values = system.machine(), system.inputs(inputs)

    def entered(states: Floats) -> Floats:
        ys = []
        for y in states:
            q = y[layout.q] / np.linalg.norm(y[layout.q])
            ys.append(
                machine.enter(State(q, y[layout.p], y[layout.r], y[layout.v]), tolerance=1e-4)
            )
        return np.array(ys)

    dense = None
    if nodes:
        t, y = (np.concatenate([part[k] for part in nodes]) for k in (0, 1))
        ys = entered(y.reshape(-1, y.shape[2])).reshape(*t.shape, -1)
        dense = DenseOutput(t, ys, np.repeat(input_values[:, None], t.size, axis=1))
    pushed = np.repeat(input_values[None], len(times), axis=0)
    return BilateralArc(machine, times, entered(samples), pushed, dense=dense)
