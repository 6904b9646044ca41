"""`draisine steady`: computes steady circles of two-wheelers, and straight running on inclined planes."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_OUTPUT_OPTIONS,
    MachineOptions,
    OutputOptions,
    Signed,
    parse_numbers,
)
from draisine.cli._report import print_motions
from draisine.cli._screen import print_json, progress_bar

if TYPE_CHECKING:
    from xarray import Dataset


def steady(
    vehicle: str = "whipple",
    /,
    *,
    speed: Signed = None,
    radius: Signed = None,
    lean: Signed = None,
    steer: Signed = None,
    slope: Signed = None,
    camber: Signed = None,
    scenario: str | None = None,
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    family: Literal["forward", "reversed", "pivoting"] = "forward",
    output: OutputOptions = NO_OUTPUT_OPTIONS,
) -> None:
    """Compute steady circles of a bicycle or motorcycle, or straight running on an inclined plane.

    Without options: the family of hands-free circles, from straight running at the capsize speed to
    rest. With --speed alone: all turns at this speed up to a lean of 50 deg. With two of --speed,
    --radius, --lean and --steer: one circle, with the required steer torque. --plot draws the family, or
    the motion around one circle.

    With --slope or --camber: straight running of any vehicle at --speed along an inclined plane, with the
    required inputs and the contact forces. On an inclined plane no circle is steady.

    With --scenario: the steady motion in which a scenario starts (its table [initial.steady]), on its
    terrain: a crowned or banked road, a bowl.

    Parameters
    ----------
    vehicle
        Name of a vehicle, or FILE.py:function.
    speed
        Speed of the rear wheel's rim in m/s, or of the rear hub if the vehicle has no such output.
    radius
        Radius of the path of the rear contact, in m, positive to the left.
    lean
        Lean, positive to the right: 10deg.
    steer
        Steer angle, positive to the left: 5deg.
    slope
        Slope of the ground, positive uphill: 5deg.
    camber
        Cross slope of the ground, positive if it rises to the left: 5deg.
    scenario
        Scenario with a table [initial.steady] and a terrain, instead of a vehicle and its motion.
    family
        Hands-free circles: forward, reversed (handlebar turned by 180 deg), or pivoting (about a rear
        wheel that does not roll).
    """
    from draisine.errors import ParameterError
    from draisine.experiment.tables.circles import (
        find_hands_free_circles,
        simulate_turn,
        solve_turn,
        trace_turns,
    )

    output.check_outputs()
    values: dict[str, Any] = _parse_values(speed=speed, radius=radius, lean=lean, steer=steer)
    if values and family != "forward":
        raise ParameterError(
            f"--family {family} selects a family of hands-free circles. Leave out "
            f"--{' and --'.join(values)}."
        )
    ground = _parse_values(slope=slope, camber=camber)
    if scenario is not None:
        if values or ground or vehicle != "whipple":
            given = [f"--{name}" for name in (*values, *ground)] or [vehicle]
            raise ParameterError(
                f"--scenario describes the machine and its motion. Leave out {' and '.join(given)}; --set "
                "initial.steady.forward_speed=6 changes the scenario."
            )
        _print_scenario(scenario, machine, output)
        return
    if ground:
        _print_straight(vehicle, values, ground, machine, output)
        return
    _check_determined(values)
    system: Any = (vehicle, machine.parameters, machine.parameter_set)
    ride = None
    with progress_bar(f"circles of {vehicle}"):
        if not values:
            data = find_hands_free_circles(*system, kind=family)
        elif list(values) == ["speed"]:
            data = trace_turns(*system, speed=values["speed"])
        else:
            data = solve_turn(*system, **values)
            ride = simulate_turn(*system, **values) if output.plot is not None else None
    _print_circles(vehicle, data, output.json)
    if ride is not None:
        replace(output, out=None).write_outputs(ride)
        output = replace(output, plot=None)
    output.write_outputs(data)


def _print_scenario(scenario: str, machine: MachineOptions, output: OutputOptions) -> None:
    """Print the steady motion of a scenario as a table or as JSON."""
    from draisine.cli._options import NO_RUN_OPTIONS
    from draisine.experiment.tables.inclined import simulate_scenario_motion, solve_scenario_motion

    changes = NO_RUN_OPTIONS.collect_changes(machine)
    ride = None
    with progress_bar(f"steady motion of {scenario}"):
        data = solve_scenario_motion(scenario, changes)
        if output.plot is not None:
            ride = simulate_scenario_motion(scenario, changes)
    _print_motion(data.attrs["vehicle"], data, ride, output)


def _print_straight(
    vehicle: str,
    values: dict[str, float],
    ground: dict[str, float],
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Print straight running on an inclined plane as a table or as JSON."""
    from draisine.errors import ParameterError
    from draisine.experiment.tables.inclined import simulate_straight, solve_straight

    if list(values) != ["speed"]:
        others = " and ".join(f"--{name}" for name in values if name != "speed")
        wrong = f"leave out {others}" if others else "give a speed"
        raise ParameterError(
            f"--{' and --'.join(ground)}: on an inclined plane straight running is steady, circles are not; "
            f"{wrong}, for example draisine steady --speed 5 --camber 5deg"
        )
    request: dict[str, Any] = {"speed": values["speed"], **ground}
    request |= {"parameters": machine.parameters, "parameter_set": machine.parameter_set}
    ride = None
    with progress_bar(f"straight running of {vehicle}"):
        data = solve_straight(vehicle, **request)
        if output.plot is not None:
            ride = simulate_straight(vehicle, **request)
    _print_motion(vehicle, data, ride, output)


def _print_motion(
    vehicle: str, data: "Dataset", run_data: "Dataset | None", output: OutputOptions
) -> None:
    """Print one steady motion as a table or as JSON, and write its files; `run_data` is its run for a
    figure.
    """
    from draisine.experiment.tables.inclined import describe_motion, tabulate_motion

    if output.json:
        print_json({str(name): x.values.tolist() for name, x in data.variables.items()})
    else:
        print_motions(vehicle, data.attrs["title"], *tabulate_motion(data), describe_motion(data))
    if run_data is not None:
        replace(output, out=None).write_outputs(run_data)
        output = replace(output, plot=None)
    output.write_outputs(data)


def _print_circles(vehicle: str, data: "Dataset", json: bool) -> None:
    """Print steady circles as a table or as JSON."""
    from draisine.experiment.tables.circles import (
        describe_circles,
        summarise_circles,
        tabulate_circles,
    )

    if json:
        print_json(summarise_circles(data))
        return
    headings = ["speed (m/s)", "radius (m)", "lean (deg)", "steer (deg)", "yaw rate (deg/s)"]
    headings += ["growth (1/s)", "stable"]
    print_motions(
        vehicle, data.attrs["title"], headings, tabulate_circles(data), describe_circles(data)
    )


MOTION_UNITS = {
    "speed": "m/s",
    "radius": "m",
    "lean": "rad",
    "steer": "rad",
    "slope": "rad",
    "camber": "rad",
}
"""Units of the quantities that determine a circle (any two suffice), and of the angles of the ground."""

EXAMPLE_LEAN = 0.2
"""Lean (rad, about 11 deg) of the circles suggested in error messages, moderate for any bicycle."""


def _check_determined(values: dict[str, float]) -> None:
    """Raise an error if only one of radius, lean and steer is given; suggest a complete command line."""
    from math import sqrt, tan

    from draisine.errors import ParameterError

    if len(values) != 1 or "speed" in values:
        return
    ((name, value),) = values.items()
    # A circle of radius R at the lean phi requires a speed v with about v^2 = g R tan(phi).
    speed = sqrt(9.81 * abs(value) * tan(EXAMPLE_LEAN)) if name == "radius" else 5.0
    number = f"{value:g}" if name == "radius" else f"{value:g}rad"
    raise ParameterError(
        f"--{name} alone does not determine a circle. Give two of --speed, --radius, --lean and --steer, for "
        f"example draisine steady --{name} {number} --speed {speed:.2g}"
    )


def _parse_values(**texts: str | None) -> dict[str, float]:
    """Parse the given options; return their values in SI units by name."""
    from draisine.errors import ParameterError

    values = {}
    for name, text in texts.items():
        if text is not None:
            numbers = parse_numbers(f"--{name}", text, "--speed 5 --lean 10deg", MOTION_UNITS[name])
            if len(numbers) > 1:
                raise ParameterError(
                    f"--{name} {text}: a steady motion has one {name}. State a single value."
                )
            values[name] = numbers[0]
    return values
