"""Configurations driven by speeds alone: the reconstruction equation without dynamics, (2.40) of
the thesis.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from draisine.algebra.lie import quaternion_rate, rotation
from draisine.algebra.scalar import Floats
from draisine.errors import ConfigurationError
from draisine.simulation.options import Task
from draisine.simulation.trajectory import BilateralArc, Trajectory
from draisine.simulation.validity.fall import fall_rule
from draisine.system.configuration import Configuration

CoordinateRates = Callable[[Mapping[str, float]], Mapping[str, float]]


@dataclass(frozen=True)
class SpeedLaw:
    """A law that leads the configuration: `rates` takes all that is known of it by name (outputs,
    joints, x, y, z) and returns the speeds wanted, by name; what it does not decide stays at rest as
    far as the contacts allow.
    """

    rates: CoordinateRates


def run_kinematic(task: Task) -> Trajectory:
    """Return the configurations reached when speeds follow from where the machine is, by RK4 steps of
    equal length, no longer than dt.

    Remark 2.15 of the thesis leads the bicycle to a lean and a steer angle this way:

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> def rates(seen):
    ...     lean, steer = 5 * (0.2 - seen["lean"]), 5 * (0.3 - seen["steer"])
    ...     return {"Wx": lean, "steer_rate": steer, "rear_wheel_rate": 0.0}
    >>> numerics = draisine.Numerics(dt=0.02, integrator="rk4")
    >>> run = draisine.simulate(
    ...     bicycle, draisine.state(bicycle), 6.0, law=SpeedLaw(rates), numerics=numerics
    ... )
    >>> end = run.to_xarray().isel(time=-1)
    >>> print(f"{float(end.lean):.6f} {float(end['shape'].sel(joint='steer')):.6f}")
    0.200000 0.300000
    """
    system, numerics, rates = task.system, task.numerics, task.law.rates
    machine = system.machine(task.mode)
    here = Configuration(machine)
    y = machine.enter(task.state, numerics.start)
    at, n = machine.layout, len(system.model.joints)
    x = y[at.span("q", "r")]
    independent, columns = machine.choice.independent, machine.columns

    def slope(x: Floats) -> tuple[Floats, Floats]:
        here.y[0, at.span("q", "r")] = x
        here.y[0, at.q] /= np.linalg.norm(x[at.q])
        speeds = np.zeros(6 + n)
        asked = {name: np.array([x]) for name, x in rates(here.values()).items()}
        found, wrong = here.speeds(asked)
        if wrong:
            raise ConfigurationError(wrong[0])
        speeds[columns] = found[0]
        q, V, W = here.q, speeds[:3], speeds[3:6]
        return np.concatenate([quaternion_rate(q, W), rotation(q) @ V, speeds[6:]]), speeds

    steps = max(1, math.ceil((task.until - numerics.start) / numerics.dt - 1e-9))
    h = (task.until - numerics.start) / steps
    rule, before = fall_rule(system.model, task.contact.fall), task.state.q
    samples, outcome = [], "completed"
    for _ in range(steps + 1):
        k1, speeds = slope(x)
        ref = machine.rows(q=x[at.q], p=x[at.p], r=x[at.r])["ref"]
        speeds[:3] += np.cross(speeds[3:6], ref)
        samples.append(np.concatenate([x, speeds[columns][independent]]))
        q, _ = machine.user_pose(x[at.q], x[at.p])
        if rule.falls(before, before := q):
            outcome = rule.outcome(q)
            break
        x = _rk4_step(lambda y: slope(y)[0], x, h, k1, at.q)
    times = numerics.start + h * np.arange(len(samples))
    still = np.zeros((len(system.model.inputs), len(times)))
    arc = BilateralArc(machine, times, np.array(samples), still)
    made = {"integrator": "rk4", "dt": numerics.dt, "drift": "none", "dynamics": "none"}
    return Trajectory((arc,), outcome, made, contact=task.contact)


def _rk4_step(
    slope: Callable[[Floats], Floats], x: Floats, h: float, k1: Floats, turn: slice
) -> Floats:
    """Return x after a step of RK4 of length h with the first slope k1; what turns the base is a unit
    quaternion.
    """
    k2 = slope(x + 0.5 * h * k1)
    k3 = slope(x + 0.5 * h * k2)
    k4 = slope(x + h * k3)
    after = x + h * (k1 + 2 * (k2 + k3) + k4) / 6
    after[turn] /= np.linalg.norm(after[turn])
    return after
