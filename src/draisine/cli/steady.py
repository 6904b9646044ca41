"""`draisine steady`."""

from typing import Annotated

from cyclopts import Parameter

from draisine.cli._options import MACHINE, OUTPUT, MachineOptions, OutputOptions, numbers
from draisine.cli._report import motions
from draisine.cli._screen import print_json, progress_bar

Signed = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
"""A number that may be negative."""


def steady(
    vehicle: str = "whipple",
    /,
    *,
    speed: Signed = None,
    radius: Signed = None,
    lean: Signed = None,
    steer: Signed = None,
    machine: MachineOptions = MACHINE,
    reversed: bool = False,
    output: OutputOptions = OUTPUT,
) -> None:
    """Circles that a bicycle runs hands-free, from straight running at its capsize speed to rest; or the
    one circle of a speed and a radius, or of two of speed, lean and steer.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param speed: The speed of the one circle, that of the rear wheel's rim, m/s.
    :param radius: The radius of its rear contact's path, m; positive to the left.
    :param lean: Its lean, positive to the right: 10deg.
    :param steer: Its steer, positive to the left: 5deg.
    :param reversed: Turn the handlebar back to front.
    """
    from draisine.errors import ParameterError
    from draisine.experiment.tables.circles import asked_turn, hands_free, remarks, summary, table

    output.check()
    asked = _asked(speed=speed, radius=radius, lean=lean, steer=steer)
    if asked and (reversed or output.plot):
        raise ParameterError(
            f"{'--reversed' if reversed else '--plot'} goes with the whole family of hands-free circles, "
            f"without --{' and --'.join(asked)}."
        )
    with progress_bar(f"circles of {vehicle}"):
        data = (
            asked_turn(vehicle, machine.parameters, machine.published, **asked)
            if asked
            else hands_free(vehicle, machine.parameters, machine.published, reversed=reversed)
        )
    if output.json:
        print_json(summary(data))
    else:
        headings = ["speed (m/s)", "radius (m)", "lean (deg)", "steer (deg)", "yaw rate (deg/s)"]
        headings += ["growth (1/s)", "stable"]
        motions(vehicle, data.attrs["title"], headings, table(data), remarks(data))
    output.keep(data)


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
