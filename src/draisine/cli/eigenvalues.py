"""`draisine eigenvalues`."""

from draisine.cli._keep import check_targets, keep
from draisine.cli._options import Json, Out, ParameterSet, Plot, Set, assignments, span
from draisine.cli._report import report


def eigenvalues(
    vehicle: str = "whipple",
    /,
    *,
    speed: str = "0:10:101",
    set: Set = None,
    parameter_set: ParameterSet = None,
    out: Out = None,
    plot: Plot = None,
    json: Json = False,
) -> None:
    """Eigenvalues of a bicycle that runs straight, against speed, and its critical speeds.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param speed: Speeds in m/s, LOW:HIGH:COUNT.
    """
    from draisine.experiment.run import run as carry_out
    from draisine.scenario.library import accept

    check_targets(out, plot)
    low, high, count = span("--speed", speed, "0:10:101")
    machine = {"name": vehicle, "parameters": assignments("--set", set)}
    content = {
        "kind": "linear",
        "title": f"straight running of {vehicle}",
        "vehicle": machine | ({"parameter_set": parameter_set} if parameter_set else {}),
        "speeds": {"low": low, "high": high, "count": count},
    }
    result = carry_out(accept("eigenvalues", "eigenvalues", content))
    report(result, json)
    keep(result.data, out, plot, quiet=json)
