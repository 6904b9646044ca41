"""`draisine steady`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from draisine.cli._options import MACHINE, OUTPUT, MachineOptions, OutputOptions, Signed, numbers
from draisine.cli._report import motions
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
    machine: MachineOptions = MACHINE,
    family: Literal["forward", "reversed", "pivoting"] = "forward",
    output: OutputOptions = OUTPUT,
) -> None:
    """Circles that a bicycle or motorcycle runs hands-free, from straight running at its capsize speed to
    rest; with --speed alone all turns at that speed to a lean of 50 deg; with two of speed, radius, lean
    and steer the one circle. --plot shows the family, or the ride around the one circle.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param speed: The speed of the rear wheel's rim, or of the hub if the machine has no such output, m/s.
    :param radius: The radius of the rear contact's path, m; positive to the left.
    :param lean: Its lean, positive to the right: 10deg.
    :param steer: Its steer, positive to the left: 5deg.
    :param family: Which hands-free circles: forward, reversed (handlebar back to front), or pivoting (past
        a rear wheel that does not roll).
    """
    from draisine.errors import ParameterError
    from draisine.experiment.tables.circles import (
        find_hands_free_circles,
        simulate_turn,
        solve_turn,
        trace_turns,
    )

    output.check()
    asked: dict[str, Any] = _asked(speed=speed, radius=radius, lean=lean, steer=steer)
    if asked and family != "forward":
        raise ParameterError(
            f"--family {family} goes with the whole family of hands-free circles, without "
            f"--{' and --'.join(asked)}."
        )
    given: Any = (vehicle, machine.parameters, machine.parameter_set)
    ride = None
    with progress_bar(f"circles of {vehicle}"):
        if not asked:
            data = find_hands_free_circles(*given, kind=family)
        elif list(asked) == ["speed"]:
            data = trace_turns(*given, speed=asked["speed"])
        else:
            data = solve_turn(*given, **asked)
            ride = simulate_turn(*given, **asked) if output.plot is not None else None
    _tell(vehicle, data, output.json)
    if ride is not None:
        replace(output, out=None).keep(ride)
        output = replace(output, plot=None)
    output.keep(data)


def _tell(vehicle: str, data: "Dataset", json: bool) -> None:
    """Print circles, as a table or for programs."""
    from draisine.experiment.tables.circles import remarks, summary, table

    if json:
        print_json(summary(data))
        return
    headings = ["speed (m/s)", "radius (m)", "lean (deg)", "steer (deg)", "yaw rate (deg/s)"]
    headings += ["growth (1/s)", "stable"]
    motions(vehicle, data.attrs["title"], headings, table(data), remarks(data))


UNITS = {"speed": "m/s", "radius": "m", "lean": "rad", "steer": "rad"}
"""What a circle can be asked for."""


def _asked(**given: str | None) -> dict[str, float]:
    """Return the one number of each option that was given."""
    from draisine.errors import ParameterError

    found = {}
    for name, text in given.items():
        if text is not None:
            each = numbers(f"--{name}", text, "--speed 5 --lean 10deg", UNITS[name])
            if len(each) > 1:
                raise ParameterError(f"--{name} {text}: one circle has one {name}.")
            found[name] = each[0]
    return found
