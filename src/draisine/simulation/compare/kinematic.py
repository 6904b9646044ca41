"""Kinematic runs: integration of prescribed speeds without dynamics, (2.40) of the thesis.

The user prescribes speeds as functions of the configuration. The reconstruction equation then determines the
motion.
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
"""Type of a function from the values of a configuration by name to prescribed speeds by name."""


@dataclass(frozen=True)
class SpeedLaw:
    """Speeds as functions of the configuration, passed to `simulate` as `law` for a run without dynamics."""

    # Function from the values of the configuration by name (outputs, joints, x, y, z) to the prescribed
    # speeds by name. All other speeds are zero as far as the contacts allow.
    rates: CoordinateRates


def run_kinematic(task: Task) -> Trajectory:
    """Integrate the speeds that a `SpeedLaw` prescribes, by equal RK4 steps no longer than dt.

    Remark 2.15 of the thesis brings the bicycle to a lean and a steer angle in this way:

    >>> import draisine
    >>> bicycle = draisine.compile("whipple")
    >>> def rates(values):
    ...     lean_rate = 5 * (0.2 - values["lean"])
    ...     steer_rate = 5 * (0.3 - values["steer"])
    ...     return {"Wx": lean_rate, "steer_rate": steer_rate, "rear_wheel_rate": 0.0}
    >>> numerics = draisine.Numerics(dt=0.02, integrator="rk4")
    >>> run = draisine.simulate(
    ...     bicycle, draisine.state(bicycle), 6.0, law=SpeedLaw(rates), numerics=numerics
    ... )
    >>> end = run.to_xarray().isel(time=-1)
    >>> print(f"{float(end.lean):.6f} {float(end['shape'].sel(joint='steer')):.6f}")
    0.200000 0.300000
    """
    system = task.system
    numerics = task.numerics
    rates = task.law.rates
    machine = system.machine(task.mode)
    configuration = Configuration(machine)
    y = machine.enter(task.state, numerics.start)
    layout = machine.layout
    x = y[layout.span("q", "r")]
    independent = machine.choice.independent
    columns = machine.columns

    def slope(x: Floats) -> tuple[Floats, Floats]:
        """Return the rates of q, p and r, and the speeds, at a configuration."""
        configuration.y[0, layout.span("q", "r")] = x
        configuration.y[0, layout.q] /= np.linalg.norm(x[layout.q])
        requests = rates(configuration.values())
        s, errors = configuration.speeds({name: np.array([x]) for name, x in requests.items()})
        if errors:
            raise ConfigurationError(errors[0])
        speeds = np.zeros(6 + len(system.model.joints))
        speeds[columns] = s[0]
        q = configuration.q
        qdot = quaternion_rate(q, speeds[3:6])
        return np.concatenate([qdot, rotation(q) @ speeds[:3], speeds[6:]]), speeds

    steps = max(1, math.ceil((task.until - numerics.start) / numerics.dt - 1e-9))
    h = (task.until - numerics.start) / steps
    rule = fall_rule(system.model, task.contact.fall)
    before = task.state.q
    samples = []
    outcome = "completed"
    for _ in range(steps + 1):
        k1, speeds = slope(x)
        # The independent speeds of a sample take V at the reference point of the mode.
        ref = machine.rows(q=x[layout.q], p=x[layout.p], r=x[layout.r])["ref"]
        speeds[:3] += np.cross(speeds[3:6], ref)
        samples.append(np.concatenate([x, speeds[columns][independent]]))
        q, _ = machine.user_pose(x[layout.q], x[layout.p])
        if rule.falls(before, q):
            outcome = rule.outcome(q)
            break
        before = q
        x = _rk4_step(lambda y: slope(y)[0], x, h, k1, layout.q)
    times = numerics.start + h * np.arange(len(samples))
    no_inputs = np.zeros((len(times), len(system.model.inputs)))
    arc = BilateralArc(machine, times, np.array(samples), no_inputs)
    settings = {"integrator": "rk4", "dt": numerics.dt, "drift": "none", "dynamics": "none"}
    return Trajectory((arc,), outcome, settings, contact=task.contact)


def _rk4_step(
    slope: Callable[[Floats], Floats], x: Floats, h: float, k1: Floats, turn: slice
) -> Floats:
    """Return the configuration after an RK4 step of length h (s) from x.

    `k1` is the slope at x, and `turn` selects the quaternion in x, which is normalised.
    """
    k2 = slope(x + 0.5 * h * k1)
    k3 = slope(x + 0.5 * h * k2)
    k4 = slope(x + h * k3)
    after = x + h * (k1 + 2 * (k2 + k3) + k4) / 6
    after[turn] /= np.linalg.norm(after[turn])
    return after
