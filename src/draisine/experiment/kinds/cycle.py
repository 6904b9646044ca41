"""One limit cycle as data: its motion in time, its multipliers, what it does and what it needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.gait.footstep import Footstep
from draisine.analysis.gait.map import Gait, gait, turns_of
from draisine.analysis.gait.stride import Stride
from draisine.analysis.gait.walk import walk
from draisine.analysis.return_map import Cycle, fixed_point, return_map
from draisine.results.cycle import (
    GRIP_CYCLE_QUANTITIES,
    ORDINALS,
    PERIODIC_CYCLE_QUANTITIES,
    PLANE_AXES,
    WALKING_CYCLE_QUANTITIES,
    CycleQuantity,
    multipliers_of,
    summary_of,
)
from draisine.results.events import CONTACT_DIRECTIONS
from draisine.scenario.plan import Plan
from draisine.scenario.schema import CyclePart
from draisine.simulation.options import ContactOptions, GripSchedule, Numerics
from draisine.simulation.simulate import compute_run
from draisine.simulation.trajectory import Trajectory
from draisine.system.state import state
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class PeriodicMotion:
    """A motion that comes back after a given period."""

    cycle: Cycle


def find_cycle(plan: Plan, asked: CyclePart) -> tuple[Trajectory, "Dataset"]:
    """Return the motion of the cycle that a scenario asks for, and all that is told of it."""
    system = plan.system
    if asked.period is not None:
        return _find_period(plan, asked, asked.period)
    if system.model.steps is not None:
        return _find_step(system, asked)
    climb = gait(system, joint=asked.joint)
    stride = Stride(climb, climb.cycle([asked.near["Omega"], asked.near["theta"]]))
    run = ride_cycle(stride, asked.samples)
    data = cycle_dataset(stride, run)
    count = len(climb.cycles())
    data["number_of_cycles"] = ((), count, {"units": "", "long_name": "cycles that a search finds"})
    return run, data


def _find_period(plan: Plan, asked: CyclePart, period: float) -> tuple[Trajectory, "Dataset"]:
    """Return a motion that comes back after a period, and all that is told of it."""
    system, names = plan.system, asked.components
    fixed: dict[str, Any] = dict(plan.start.values)
    begin = {"mode": plan.start.mode, "at_rest": plan.start.at_rest}
    fixed |= {name: value for name, value in begin.items() if value is not None}
    where: Any = {"terrain": plan.terrain, "contact": plan.contact}
    G = return_map(system, names, period, **where, **fixed)
    found = PeriodicMotion(fixed_point(G, list(asked.near.values())))
    start = state(system, **fixed | dict(zip(names, found.cycle.x.tolist(), strict=True)))
    numerics = Numerics(dt=period / asked.samples, rtol=1e-12, atol=1e-13)
    run = compute_run(system, start, period, numerics=numerics, **where)
    data = _with_numbers(
        run.to_xarray(), PERIODIC_CYCLE_QUANTITIES, found, _component_labels(names)
    )
    data.attrs |= {"period": period}
    return run, data


def _with_numbers(
    data: "Dataset",
    table: Mapping[str, CycleQuantity],
    measured: Any,
    labels: Mapping[str, Sequence[str]],
) -> "Dataset":
    """Return a motion's data with the numbers of its cycle, and the names along their dimensions."""
    for name, (dims, measure, unit, meaning) in table.items():
        data[name] = (dims, measure(measured), {"units": unit, "long_name": meaning})
    return data.assign_coords(labels)


def _component_labels(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the names of what comes back, and of as many multipliers."""
    return {"component": list(names), "multiplier": list(ORDINALS[: len(names)])}


def _find_step(system: System, asked: CyclePart) -> tuple[Trajectory, "Dataset"]:
    """Return one step of a walker's cycle, and all that is told of it."""
    way = walk(system, asked.longest)
    names = way.steps.components
    step = Footstep(way, way.cycle([asked.near[name] for name in names]))
    run = step.run(asked.samples)
    labels = _component_labels(names) | {"row": list(CONTACT_DIRECTIONS)}
    data = _with_numbers(run.to_xarray(), WALKING_CYCLE_QUANTITIES, step, labels)
    data.attrs |= {"period": step.strike.time}
    return run, data


def ride_cycle(stride: Stride, samples: int) -> Trajectory:
    """Return one cycle as a run."""
    climb = stride.gait
    modes, pause = turns_of(climb.system)
    start, dt = climb.holds[0].state(stride.cycle.x), climb.period / samples
    contact = ContactOptions(mode=GripSchedule(modes, pause, climb.joint))
    numerics = Numerics(dt=dt, rtol=1e-12, atol=1e-13)
    return compute_run(climb.system, start, climb.period, contact=contact, numerics=numerics)


def cycle_dataset(stride: Stride, run: Trajectory) -> "Dataset":
    """Return a cycle's run as a dataset, with the numbers of the cycle and its angle without
    jumps.
    """
    data = run.to_xarray()
    begin = stride.cycle.x[1]
    theta = np.unwrap(data["yaw"].values)
    theta += begin - theta[0]
    data["theta"] = ("time", theta, {"units": "rad", "long_name": "angle of the body, no jumps"})
    data = _with_numbers(data, GRIP_CYCLE_QUANTITIES, stride, labels_of(stride.gait))
    data.attrs |= {"period": stride.gait.period, "joint_at_impact": stride.gait.joint}
    return data


def labels_of(climb: Gait) -> dict[str, list[str]]:
    """Return the names along the dimensions of a cycle's quantities."""
    grips = [next(n for n, s in hold.mode.items() if s == "gripped") for hold in climb.holds]
    return {
        "multiplier": list(ORDINALS[:2]),
        "way": list(PLANE_AXES),
        "impact": [*grips[1:], grips[0]],
        "joint": [joint.name for joint in climb.system.model.joints],
    }


def lines(data: "Dataset") -> list[str]:
    """Return a cycle in words."""
    one = summary_of(data)
    period = float(data.attrs["period"])
    if "start" in one:
        return _step_lines(one) if "step_time" in one else _period_lines(one, period)
    low, high = one["minimum_force"], one["maximum_force"]
    torques = ", ".join(f"{name} {x:.6g} N m" for name, x in one["peak_torque"].items())
    climbs = "climbs" if one["displacement"]["y"] > 0 else "descends"
    found = [
        f"begins with Omega = {one['Omega0']:.9g} rad/s, theta = {one['theta0']:.9g} rad "
        f"({one['theta0'] / np.pi:.6f} pi)",
        _stability(one),
        f"{climbs} {abs(one['displacement']['y']):.6g} m in {period:.6g} s, "
        f"{one['mean_speed']:.6g} m/s",
        f"maximum torque: {torques}; maximum grip force: {one['grip_force']:.6g} N, "
        f"{one['force_over_weight']:.4g} times the weight",
        f"vertical force {low['y']:.6g} to {high['y']:.6g} N, horizontal {low['x']:.6g} to "
        f"{high['x']:.6g} N (between the impacts)",
    ]
    for grip, time in one["impact_time"].items():
        before, after = one["impact_Omega_before"][grip], one["impact_Omega_after"][grip]
        gain = one["impact_gain"][grip]
        found.append(
            f"{time:.9f} s  {grip} takes hold: Omega {before:.6g} to {after:.6g} rad/s, "
            f"{'creates' if gain > 0 else 'takes'} {abs(gain):.4g} J"
        )
    if "number_of_cycles" in one:
        found.append(f"a search finds {one['number_of_cycles']} cycles with these parameters")
    return found


def _stability(one: dict[str, Any]) -> str:
    return f"multipliers {multipliers_of(one)}: {'stable' if one['stable'] else 'unstable'}"


def _begin(one: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {x:.9g}" for name, x in one["start"].items())


def _period_lines(one: dict[str, Any], period: float) -> list[str]:
    """Return a cycle of a given period in words."""
    return [f"comes back after {period:.9g} s to {_begin(one)}", _stability(one)]


def _step_lines(one: dict[str, Any]) -> list[str]:
    """Return a walker's cycle in words."""
    pushes = ", ".join(f"{name} {x:.6g}" for name, x in one["impulse"].items() if abs(x) > 1e-12)
    return [
        f"begins just after a strike with {_begin(one)} (rad, rad/s)",
        _stability(one),
        f"a step takes {one['step_time']:.9g} s and leads {one['step_length']:.6g} m ahead, "
        f"{one['mean_speed']:.6g} m/s",
        f"the strike takes {one['energy_lost']:.6g} J; impulse of the ground: {pushes} N s",
    ]
