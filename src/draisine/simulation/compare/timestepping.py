"""Moreau and Jean's time stepping: contacts with friction at velocity level, in equal steps.

A second, independent way through contacts and impacts: no events are located, any number of them may
happen in a step, and accumulating bounces need no care. It is of first order.
"""

from itertools import pairwise

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.simulation.contact.arc import SteppedArc
from draisine.simulation.contact.query import ContactQuery
from draisine.simulation.contact.run import place_on_terrain
from draisine.simulation.impacts.moreau import contact_impulses, delassus
from draisine.simulation.options import ContactOptions, Task
from draisine.simulation.trajectory import Trajectory
from draisine.simulation.validity.fall import fall_rule

SteppedState = tuple[Floats, Floats, Floats, Floats]
"""y after a step, impulses per wheel as (normal, along, across) and in world axes, impulses of what
holds joints.
"""


def run_time_stepping(task: Task) -> Trajectory:
    """Return the motion in equal steps no longer than dt, eq. [moreau-jean]:

        q_m = q + h/2 v,   M(q_m) (v+ - v) = -h F(q_m, v) + C' Lam,   q+ = q_m + h/2 v+

    where the contacts with a gap below zero at q_m have impulses Lam by Coulomb's law between Lam and
    the velocities v+ + e v-, e the restitution `normal`. Forces and accelerations of a sample are
    the means over the step that ends there.
    """
    restitution = dict(task.contact.restitution)
    e = restitution.pop("normal", 0.0)
    if restitution or not 0 <= e <= 1:
        raise ParameterError("time stepping knows one restitution, 'normal', from [0, 1].")
    if task.contact.stops:
        raise ParameterError("time stepping knows no stops of joints; leave them out.")
    start, until, dt = task.numerics.start, task.until, task.numerics.dt
    look, y = place_on_terrain(task)
    count = int(np.ceil((until - start) / dt - 1e-9))
    times = start + np.arange(count + 1) * ((until - start) / count)
    none = np.zeros((len(look.machine.wheels), 3))
    idle = np.zeros_like(look.dynamics(start, y)["held_c"])
    steps: list[SteppedState] = [(y, none, none, idle)]
    rule, outcome = fall_rule(task.system.model, task.contact.fall), "completed"
    for t, after in pairwise(times):
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite ends the run below
            steps.append(_step(look, float(t), float(after - t), steps[-1][0], task.contact, e))
        if task.progress is not None:
            task.progress((after - start) / (until - start))
        if not np.isfinite(steps[-1][0]).all():
            break
        if rule.falls(steps[-2][0][look.y.q], steps[-1][0][look.y.q]):
            outcome = rule.outcome(steps[-1][0][look.y.q])
            break
    h, times = (until - start) / count, times[: len(steps)]
    states, *impulses = (np.array(part) for part in zip(*steps, strict=True))
    v = states[:, look.y.v]
    rates = np.diff(v, axis=0, prepend=v[:1]) / h
    forces = (part / h for part in impulses)
    arc = SteppedArc(look.machine, times, states, look.inputs, look.terrain, rates, *forces)
    made = {"solver": "time_stepping", "dt": dt, "drift": "none"}
    return Trajectory((arc,), outcome, made, contact=task.contact)


def _step(
    look: ContactQuery, t: float, h: float, y: Floats, contact: ContactOptions, e: float
) -> SteppedState:
    """Return the state after a step and its impulses."""
    pose, n = look.pose, look.n
    half = y.copy()
    half[pose] += 0.5 * h * look.dynamics(t, y)["flow"]
    parts = look.dynamics(t + 0.5 * h, half)
    M, v = parts["M"].reshape(n, n), look.speeds(y)
    near = look.sweep(t, look.boxes(t, half), 0.0)
    touching = look.in_ground(t + 0.5 * h, half, near)
    C = np.vstack([np.zeros((0, n)), *(look.jacobian(row) for _, row in touching)])
    held, targets = look.held(parts)
    K = np.block([[M, -held.T], [held, np.zeros((len(held),) * 2)]])
    right = np.concatenate([-h * parts["F"], h * targets])
    alone = v + np.linalg.solve(K, right)[:n]
    ground = np.concatenate([np.zeros(0), *(look.carried(row) for _, row in touching)])
    b = C @ alone - ground
    b[::3] += e * np.minimum(C[::3] @ v - ground[::3], 0.0)
    W, back = delassus(M, C, held)
    wheels = look.machine.wheels
    mu = [contact.friction(wheels[one.wheel], look.key(one)[1]) for one, _ in touching]
    Lam = contact_impulses(W, b, mu, 1e-12)
    after = half.copy()
    after[look.y.v] = alone + back @ Lam
    missing = M @ (look.speeds(after) - v) + h * parts["F"] - C.T @ Lam
    after[pose] += 0.5 * h * look.dynamics(t + 0.5 * h, after)["flow"]
    after[look.y.q] /= np.linalg.norm(after[look.y.q])
    after[look.y.z] += h * parts["zdot"]
    own, world = np.zeros((2, len(look.machine.wheels), 3))
    for (one, row), push in zip(touching, Lam.reshape(-1, 3), strict=True):
        own[one.wheel] += push
        world[one.wheel] += push @ look.axes(row)
    return after, own, world, look.holding(parts, missing)
