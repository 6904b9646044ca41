"""`draisine eigenvalues`."""

from typing import Any

from draisine.cli._options import MACHINE, OUTPUT, MachineOptions, OutputOptions, numbers, span
from draisine.cli._report import report


def eigenvalues(
    vehicle: str = "whipple",
    /,
    *,
    speed: str = "0:10:101",
    machine: MachineOptions = MACHINE,
    output: OutputOptions = OUTPUT,
) -> None:
    """Eigenvalues of a bicycle that runs straight, against speed, and its critical speeds.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param speed: Speeds in m/s: LOW:HIGH:COUNT, or one by one, 3,5,7.
    """
    from draisine.experiment.run import run as carry_out
    from draisine.scenario.library import accept

    output.check()
    speeds: dict[str, Any]
    if ":" in speed:
        speeds = dict(
            zip(("low", "high", "count"), span("--speed", speed, "0:10:101"), strict=True)
        )
    else:
        speeds = {"at": numbers("--speed", speed, "5, 3,5,7 or 0:10:101", "m/s")}
    chosen = {"name": vehicle, "parameters": machine.parameters}
    if machine.published is not None:
        chosen["parameter_set"] = machine.published
    content = {
        "kind": "linear",
        "title": f"straight running of {vehicle}",
        "vehicle": chosen,
        "speeds": speeds,
    }
    result = carry_out(accept("eigenvalues", "eigenvalues", content))
    report(result, output.json)
    output.keep(result.data)
