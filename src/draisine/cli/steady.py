"""`draisine steady`."""

from draisine.cli._options import MACHINE, OUTPUT, MachineOptions, OutputOptions
from draisine.cli._report import motions
from draisine.cli._screen import print_json, progress_bar


def steady(
    vehicle: str = "whipple",
    /,
    *,
    machine: MachineOptions = MACHINE,
    reversed: bool = False,
    output: OutputOptions = OUTPUT,
) -> None:
    """Circles that a bicycle runs hands-free, from straight running at its capsize speed to rest.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param reversed: Turn the handlebar back to front.
    """
    from draisine.experiment.tables.circles import hands_free, remarks, summary, table

    output.check()
    with progress_bar(f"circles of {vehicle}"):
        data = hands_free(vehicle, machine.parameters, machine.published, reversed=reversed)
    if output.json:
        print_json(summary(data))
    else:
        headings = ["speed (m/s)", "radius (m)", "lean (deg)", "steer (deg)", "yaw rate (deg/s)"]
        headings += ["growth (1/s)", "stable"]
        motions(vehicle, data.attrs["title"], headings, table(data), remarks(data))
    output.keep(data)
