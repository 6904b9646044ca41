"""Scenarios of the kind `cycle`: one limit cycle as a fixed point of a return map.

Three return maps are supported: a prescribed period (stroboscopic map), one step of a walker (from
heel strike to heel strike), and one period of a climbing robot whose two grips alternate. The dataset
has the motion over one cycle, Floquet multipliers, displacements, torques and forces.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.gait.footstep import Footstep
from draisine.analysis.gait.map import Gait, find_grip_sequence, gait
from draisine.analysis.gait.stride import Stride
from draisine.analysis.gait.walk import walk
from draisine.analysis.return_map import Cycle, fixed_point, return_map
from draisine.results.cycle import (
    GRIP_CYCLE_QUANTITIES,
    MULTIPLIER_LABELS,
    PERIODIC_CYCLE_QUANTITIES,
    PLANE_AXES,
    WALKING_CYCLE_QUANTITIES,
    CycleQuantity,
    format_multipliers,
    summarise_cycle,
)
from draisine.results.events import CONTACT_DIRECTIONS
from draisine.scenario.plan import Plan
from draisine.scenario.schema import CycleTable
from draisine.simulation.options import ContactOptions, GripSchedule, Numerics
from draisine.simulation.simulate import compute_run
from draisine.simulation.trajectory import Trajectory
from draisine.system.state import state
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


@dataclass(frozen=True, eq=False)
class PeriodicMotion:
    """A motion that repeats after a prescribed period."""

    cycle: Cycle


def find_cycle(plan: Plan, request: CycleTable) -> tuple[Trajectory, "Dataset"]:
    """Solve the limit cycle of a scenario; return its motion over one period and its dataset."""
    system = plan.system
    if request.period is not None:
        return _find_periodic_motion(plan, request, request.period)
    if system.model.steps is not None:
        return _find_step_cycle(system, request)
    grip_map = gait(system, joint=request.joint)
    stride = Stride(grip_map, grip_map.cycle([request.near["Omega"], request.near["theta"]]))
    run = simulate_cycle(stride, request.samples)
    data = cycle_dataset(stride, run)
    count = len(grip_map.cycles())
    attributes = {"units": "", "long_name": "number of limit cycles that a global search finds"}
    data["number_of_cycles"] = ((), count, attributes)
    return run, data


def _find_periodic_motion(
    plan: Plan, request: CycleTable, period: float
) -> tuple[Trajectory, "Dataset"]:
    """Solve a motion that repeats after a prescribed period (s) as a fixed point of the period map."""
    system = plan.system
    names = request.components
    fixed: dict[str, Any] = dict(plan.start.values)
    start_options = {"mode": plan.start.mode, "at_rest": plan.start.at_rest}
    fixed |= {name: value for name, value in start_options.items() if value is not None}
    ground: Any = {"terrain": plan.terrain, "contact": plan.contact}
    G = return_map(system, names, period, **ground, **fixed)
    motion = PeriodicMotion(fixed_point(G, list(request.near.values())))
    start = state(system, **fixed | dict(zip(names, motion.cycle.x.tolist(), strict=True)))
    run = compute_run(
        system, start, period, numerics=_cycle_numerics(period, request.samples), **ground
    )
    data = _add_quantities(
        run.to_xarray(), PERIODIC_CYCLE_QUANTITIES, motion, _component_labels(names)
    )
    data.attrs |= {"period": period}
    return run, data


def _cycle_numerics(period: float, samples: int) -> Numerics:
    """Return numerical options for an integration over one period (s) with evenly spaced samples."""
    # The final state must equal the initial state up to the accuracy of the fixed point, which is
    # round-off.
    return Numerics(dt=period / samples, rtol=1e-12, atol=1e-13)


def _add_quantities(
    data: "Dataset",
    table: Mapping[str, CycleQuantity],
    cycle: Any,
    labels: Mapping[str, Sequence[str]],
) -> "Dataset":
    """Add the scalar results of a limit cycle to the dataset of its motion."""
    for name, (dims, evaluate, unit, meaning) in table.items():
        data[name] = (dims, evaluate(cycle), {"units": unit, "long_name": meaning})
    return data.assign_coords(labels)


def _component_labels(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the labels of the components of a fixed point and of its Floquet multipliers."""
    return {"component": list(names), "multiplier": list(MULTIPLIER_LABELS[: len(names)])}


def _find_step_cycle(system: System, request: CycleTable) -> tuple[Trajectory, "Dataset"]:
    """Solve the limit cycle of a walker; return the motion of one step and its dataset."""
    walker = walk(system, request.longest)
    names = walker.steps.components
    step = Footstep(walker, walker.cycle([request.near[name] for name in names]))
    run = step.run(request.samples)
    labels = _component_labels(names) | {"row": list(CONTACT_DIRECTIONS)}
    data = _add_quantities(run.to_xarray(), WALKING_CYCLE_QUANTITIES, step, labels)
    data.attrs |= {"period": step.impact.time}
    return run, data


def simulate_cycle(stride: Stride, samples: int) -> Trajectory:
    """Simulate one period of a system with alternating grips, starting on its limit cycle."""
    grip_map = stride.gait
    modes, pause = find_grip_sequence(grip_map.system)
    start = grip_map.holds[0].public_state(stride.cycle.x)
    contact = ContactOptions(mode=GripSchedule(modes, pause, grip_map.joint))
    numerics = _cycle_numerics(grip_map.period, samples)
    return compute_run(grip_map.system, start, grip_map.period, contact=contact, numerics=numerics)


def cycle_dataset(stride: Stride, run: Trajectory) -> "Dataset":
    """Return the dataset of one period of a limit cycle, with its scalar results and unwrapped angle."""
    data = run.to_xarray()
    theta = np.unwrap(data["yaw"].values)
    theta += stride.cycle.x[1] - theta[0]
    data["theta"] = ("time", theta, {"units": "rad", "long_name": "angle of the body, unwrapped"})
    data = _add_quantities(data, GRIP_CYCLE_QUANTITIES, stride, dimension_labels(stride.gait))
    data.attrs |= {"period": stride.gait.period, "joint_at_impact": stride.gait.joint}
    return data


def dimension_labels(grip_map: Gait) -> dict[str, list[str]]:
    """Return the labels of the dimensions of the scalar results of a limit cycle, by dimension."""
    grips = [next(n for n, s in hold.mode.items() if s == "gripped") for hold in grip_map.holds]
    return {
        "multiplier": list(MULTIPLIER_LABELS[:2]),
        "way": list(PLANE_AXES),
        "impact": [*grips[1:], grips[0]],
        "joint": [joint.name for joint in grip_map.system.model.joints],
    }


def describe_cycle(data: "Dataset") -> list[str]:
    """Return the text lines that report a limit cycle."""
    values = summarise_cycle(data)
    period = float(data.attrs["period"])
    if "start" in values:
        return (
            _describe_step_cycle(values)
            if "step_time" in values
            else _describe_periodic_motion(values, period)
        )
    low = values["minimum_force"]
    high = values["maximum_force"]
    torques = ", ".join(f"{name} {x:.6g} N m" for name, x in values["peak_torque"].items())
    climbs = "climbs" if values["displacement"]["y"] > 0 else "descends"
    rows = [
        f"begins with Omega = {values['Omega0']:.9g} rad/s, theta = {values['theta0']:.9g} rad "
        f"({values['theta0'] / np.pi:.6f} pi)",
        _describe_stability(values),
        f"{climbs} {abs(values['displacement']['y']):.6g} m in {period:.6g} s, "
        f"{values['mean_speed']:.6g} m/s",
        f"maximum torque: {torques}; maximum grip force: {values['grip_force']:.6g} N, "
        f"{values['force_over_weight']:.4g} times the weight",
        f"vertical force {low['y']:.6g} to {high['y']:.6g} N, horizontal {low['x']:.6g} to "
        f"{high['x']:.6g} N (between the impacts)",
    ]
    for grip, time in values["impact_time"].items():
        before = values["impact_Omega_before"][grip]
        after = values["impact_Omega_after"][grip]
        gain = values["impact_gain"][grip]
        rows.append(
            f"{time:.9f} s  {grip} grips: Omega {before:.6g} to {after:.6g} rad/s, "
            f"{'creates' if gain > 0 else 'dissipates'} {abs(gain):.4g} J"
        )
    if "number_of_cycles" in values:
        rows.append(f"a search finds {values['number_of_cycles']} cycles with these parameters")
    return rows


def _describe_stability(values: dict[str, Any]) -> str:
    """Return the text line with the Floquet multipliers of a cycle and its stability."""
    return (
        f"multipliers {format_multipliers(values)}: {'stable' if values['stable'] else 'unstable'}"
    )


def _format_fixed_point(values: dict[str, Any]) -> str:
    """Format the components of the fixed point of a return map as text."""
    return ", ".join(f"{name} = {x:.9g}" for name, x in values["start"].items())


def _describe_periodic_motion(values: dict[str, Any], period: float) -> list[str]:
    """Return the text lines that report a limit cycle of a prescribed period (s)."""
    return [
        f"periodic after {period:.9g} s with {_format_fixed_point(values)}",
        _describe_stability(values),
    ]


def _describe_step_cycle(values: dict[str, Any]) -> list[str]:
    """Return the text lines that report the limit cycle of a walker."""
    # Leave out impulse components that vanish by symmetry; all others are far above 1e-12 N s.
    impulses = ", ".join(
        f"{name} {x:.6g}" for name, x in values["impulse"].items() if abs(x) > 1e-12
    )
    return [
        f"begins just after heel strike with {_format_fixed_point(values)} (rad, rad/s)",
        _describe_stability(values),
        f"step time {values['step_time']:.9g} s, step length {values['step_length']:.6g} m, "
        f"mean speed {values['mean_speed']:.6g} m/s",
        f"heel strike dissipates {values['energy_lost']:.6g} J; impulse of the ground: "
        f"{impulses} N s",
    ]
