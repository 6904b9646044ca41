"""One steady motion on the ground: lean, required inputs, contact forces, stability.

`solve_straight` computes straight running on an inclined plane, `solve_scenario_motion` the steady motion in
which the run of a scenario starts, on its terrain.
"""

import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.eigenvalues import driven_inputs
from draisine.analysis.equilibrium import Steady, steady
from draisine.analysis.equilibrium.balance import quantity_names
from draisine.errors import ParameterError
from draisine.results.bodies import machine_attributes
from draisine.scenario.library import load
from draisine.scenario.validate.vehicle import build_system
from draisine.simulation.dataset import with_recipe

if TYPE_CHECKING:
    from xarray import Dataset

FORCE_AXES = ("normal", "along", "across")
"""Components of contact forces: normal, longitudinal, lateral."""

ZERO_VALUE = 1e-9
"""Smallest magnitude (SI units) that is not printed as zero; smaller values of a motion are round-off."""

RIDE_TIME = 5.0
"""Duration (s) of the simulated ride in figures, several periods of the slowest oscillation."""


@with_recipe
def solve_straight(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    speed: float,
    slope: float = 0.0,
    camber: float = 0.0,
) -> "Dataset":
    """Solve straight running at a speed (m/s) along x on a plane with a slope and a camber (rad).

    Lean, pitch and yaw are measured relative to the road. The inputs in `driven_inputs` are solved for, so
    that the motion is steady.

    >>> motion = solve_straight("car", speed=5.0, camber=0.1)
    >>> print(motion.contact_force.sel(axis="across").sum().round(3).item(), "N")
    219.378 N
    """
    start_time = time.perf_counter()
    system, motion = _solve_on_incline(vehicle, parameters, parameter_set, speed, slope, camber)
    return _make_dataset(
        system, motion, _make_title(speed, slope, camber), "against the road"
    ).assign_attrs(seconds=time.perf_counter() - start_time)


def simulate_straight(
    vehicle: str,
    parameters: Mapping[str, Any] | None = None,
    parameter_set: str | None = None,
    *,
    speed: float,
    slope: float = 0.0,
    camber: float = 0.0,
) -> "Dataset":
    """Simulate five seconds of straight running on an inclined plane, see `solve_straight`.

    >>> run = simulate_straight("car", speed=5.0, camber=0.1)
    >>> print(f"{float(run.position[-1, 0] - run.position[0, 0]):.6f} m")
    25.000000 m
    """
    _, motion = _solve_on_incline(vehicle, parameters, parameter_set, speed, slope, camber)
    title = _make_title(speed, slope, camber)
    return motion.simulate(RIDE_TIME).to_xarray().assign_attrs(title=title)


@with_recipe
def solve_scenario_motion(scenario: str, changes: Mapping[str, Any] | None = None) -> "Dataset":
    """Solve the steady motion in which the run of a scenario starts: its table `initial.steady`, on its
    terrain, with its contact options and control laws. `changes` replace values of the scenario by key path.

    Lean, pitch and yaw are measured relative to the vertical and the world's axes.
    """
    start_time = time.perf_counter()
    plan, motion = load_motion(scenario, changes)
    title = plan.scenario.title
    return _make_dataset(plan.system, motion, title, "against the vertical").assign_attrs(
        seconds=time.perf_counter() - start_time
    )


@with_recipe
def simulate_scenario_motion(scenario: str, changes: Mapping[str, Any] | None = None) -> "Dataset":
    """Simulate five seconds of the steady motion of a scenario, see `solve_scenario_motion`."""
    plan, motion = load_motion(scenario, changes)
    return motion.simulate(RIDE_TIME).to_xarray().assign_attrs(title=plan.scenario.title)


def load_motion(scenario: str, changes: Mapping[str, Any] | None) -> tuple[Any, Steady]:
    """Return the plan of a scenario and the steady motion in which its run starts; `changes` replace values
    of the scenario by key path.

    Raises
    ------
    ParameterError
        If the run does not start in a steady motion.
    """
    plan = load(scenario, changes).plan
    motion = getattr(plan, "motion", None)
    if motion is None:
        raise ParameterError(
            f"{scenario} does not start in a steady motion. Give it a table [initial.steady], for example "
            "steady = { forward_speed = 5.0, y = 2.0, yaw = 0.0 }."
        )
    return plan, motion


def _solve_on_incline(
    vehicle: str,
    parameters: Mapping[str, Any] | None,
    parameter_set: str | None,
    speed: float,
    slope: float,
    camber: float,
) -> tuple[Any, Steady]:
    """Return the vehicle compiled for the inclined plane, and its steady motion."""
    ground = {"slope": slope, "camber": camber}
    system = build_system(vehicle, dict(parameters or {}) | ground, parameter_set)
    free = driven_inputs(system)
    return system, steady(system, free=free, forward_speed=speed, yaw=0.0)


def _make_title(speed: float, slope: float, camber: float) -> str:
    """Return the title of straight running at a speed (m/s) on a plane with slope and camber (rad)."""
    angles = f"slope {math.degrees(slope):.6g} deg, camber {math.degrees(camber):.6g} deg"
    return f"straight running at {speed:g} m/s, {angles}"


def _make_dataset(system: Any, motion: Steady, title: str, angles: str) -> "Dataset":
    """Return a steady motion with its contact forces and eigenvalues as a dataset; `angles` states to what
    its angles refer.
    """
    import xarray

    forces = motion.contact_forces
    eigenvalues = motion.linear().eigenvalues()
    names = [name for name in motion.values if name not in ("x", "y", "z")]
    units = {"units": "SI"}
    known_units = quantity_names(system.model)
    return xarray.Dataset(
        {
            "motion": ("quantity", [motion.values[name] for name in names], units),
            "input_value": ("input", list(motion.inputs.values()), units),
            "contact_force": (
                ("contact", "axis"),
                np.array(list(forces.values())).reshape(-1, 3),
                {"units": "N"},
            ),
            "eigenvalue_real": ("root", eigenvalues.real, {"units": "1/s"}),
            "eigenvalue_imaginary": ("root", eigenvalues.imag, {"units": "rad/s"}),
        },
        coords={
            "quantity": names,
            "quantity_unit": ("quantity", [known_units.get(name, "") for name in names]),
            "input": list(motion.inputs),
            "contact": list(forces),
            "axis": list(FORCE_AXES),
            "root": np.arange(len(eigenvalues)),
        },
        attrs={
            "vehicle": system.vehicle.__name__,
            "angles": angles,
            **machine_attributes(system, title),
        },
    )


def tabulate_motion(data: "Dataset") -> tuple[list[str], list[list[str]]]:
    """Return the column headings and the rows of the printed table of contact forces."""
    headings = [*(f"{axis} (N)" for axis in FORCE_AXES), "force of the ground at"]
    rows = [
        [*(f"{_round_for_print(x):.5g}" for x in force), str(name)]
        for name, force in zip(data["contact"].values, data.contact_force.values, strict=True)
    ]
    return headings, rows


def describe_motion(data: "Dataset") -> list[str]:
    """Return text lines about the configuration, the inputs and the stability of the motion."""
    values = dict(zip(data["quantity"].values, data.motion.values, strict=True))
    speeds = [name for name in values if name.endswith("_rate") or name[0] in "VW"]
    units = dict(zip(data["quantity"].values, data["quantity_unit"].values, strict=True))
    fixed = [n for n in values if f"{n}_rate" in speeds and abs(values[f"{n}_rate"]) < ZERO_VALUE]
    shape = ", ".join(f"{n} {_format_with_unit(values[n], str(units[n]))}" for n in fixed)
    inputs = ", ".join(
        f"{name} {x:.5g}"
        for name, x in zip(data["input"].values, data.input_value.values, strict=True)
        if abs(x) > ZERO_VALUE
    )
    growth = float(data.eigenvalue_real.max()) if data.sizes["root"] else 0.0
    lines = [f"{data.attrs['angles']}: {shape}"] if shape else []
    lines.append(f"inputs (N m or N): {inputs or 'none'}")
    lines.append(f"largest growth {_round_for_print(growth):.4f} 1/s")
    return [*lines, f"computed in {data.attrs['seconds']:.3g} s"]


def _format_with_unit(number: float, unit: str) -> str:
    """Return a value with its unit as text, angles in degrees.

    >>> _format_with_unit(0.0125, "m"), _format_with_unit(math.pi, "rad")
    ('0.0125 m', '180 deg')
    """
    if unit == "rad":
        return f"{_round_for_print(math.degrees(number)):.4g} deg"
    return f"{_round_for_print(number):.4g} {unit}".rstrip()


def _round_for_print(number: float) -> float:
    """Round a number for printing; values below `ZERO_VALUE` become zero."""
    return 0.0 if abs(number) < ZERO_VALUE else float(number)
