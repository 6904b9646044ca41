"""`draisine eigenvalues`."""

from draisine.cli.keep import check_targets, keep
from draisine.cli.options import Json, Out, ParameterSet, Plot, Set, assignments
from draisine.cli.report import report


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
    from draisine.errors import ParameterError
    from draisine.experiment.library import accept
    from draisine.experiment.run import run as carry_out

    check_targets(out, plot)
    try:
        low, high, count = speed.split(":")
        speeds = {"low": float(low), "high": float(high), "count": int(count)}
    except ValueError:
        raise ParameterError(f"--speed {speed}: write LOW:HIGH:COUNT, as in 0:10:101.") from None
    parameters = assignments("--set", set)
    machine = {"name": vehicle, "parameters": parameters}
    content = {
        "kind": "linear",
        "title": f"straight running of {vehicle}",
        "vehicle": machine | ({"set": parameter_set} if parameter_set else {}),
        "speeds": speeds,
    }
    result = carry_out(accept("eigenvalues", "eigenvalues", content))
    report(result, json)
    keep(result.data, out, plot, quiet=json)
