"""`draisine eigenvalues`."""

from typing import Any

from draisine.cli._options import (
    MACHINE,
    OUTPUT,
    Laws,
    MachineOptions,
    OutputOptions,
    law_tables,
    numbers,
    span,
)
from draisine.cli._report import report


def eigenvalues(
    vehicle: str = "whipple",
    /,
    *,
    speed: str | None = None,
    law: Laws = None,
    machine: MachineOptions = MACHINE,
    output: OutputOptions = OUTPUT,
) -> None:
    """Eigenvalues of a bicycle that runs straight, against speed, and its critical speeds; of any
    other machine those about its steady motion.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param speed: Speeds in m/s: LOW:HIGH:COUNT, or one by one, 3,5,7; a bicycle's are 0:10:101 if not given,
        those of other machines 0.
    """
    from draisine.experiment.run import run as carry_out
    from draisine.scenario.library import accept

    output.check()
    chosen = {"name": vehicle, "parameters": machine.parameters}
    if machine.published is not None:
        chosen["parameter_set"] = machine.published
    content = {
        "kind": "linear",
        "title": ", ".join(
            [
                f"steady motion of {vehicle}",
                *filter(None, [machine.parameter_set]),
                *(machine.set or []),
            ]
        ),
        "vehicle": chosen,
        "law": law_tables(law or []),
    }
    if speed is not None:
        content["speeds"] = _speeds(speed)
    result = carry_out(accept("eigenvalues", "eigenvalues", content))
    report(result, output.json)
    output.keep(result.data)


def _speeds(text: str) -> dict[str, Any]:
    """Return the speeds that are asked for as a scenario's table."""
    if ":" not in text:
        return {"at": numbers("--speed", text, "5, 3,5,7 or 0:10:101", "m/s")}
    low, high, count = span("--speed", text, "0:10:101")
    return {"low": low, "high": high, "count": count}
