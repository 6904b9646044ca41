"""`draisine steady`."""

from draisine.cli._keep import check_targets, keep
from draisine.cli._options import Json, Out, ParameterSet, Plot, Set, assignments
from draisine.cli._report import motions
from draisine.cli._screen import print_json, progress_bar


def steady(
    vehicle: str = "whipple",
    /,
    *,
    set: Set = None,
    parameter_set: ParameterSet = None,
    reversed: bool = False,
    out: Out = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Circles that a bicycle runs hands-free, from straight running at its capsize speed to rest.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param reversed: Turn the handlebar back to front.
    """
    from draisine.experiment.tables.circles import hands_free, remarks, summary, table

    check_targets(out, plot)
    parameters = assignments("--set", set)
    with progress_bar(f"circles of {vehicle}"):
        data = hands_free(vehicle, parameters, parameter_set, reversed=reversed)
    if json:
        print_json(summary(data))
    else:
        headings = ["speed (m/s)", "radius (m)", "lean (deg)", "steer (deg)", "yaw rate (deg/s)"]
        headings += ["growth (1/s)", "stable"]
        motions(vehicle, data.attrs["title"], headings, table(data), remarks(data))
    keep(data, out, plot, quiet=json)
