"""`draisine cycles`."""

from typing import Any, Literal

from draisine.cli._options import MACHINE, OUTPUT, MachineOptions, OutputOptions, assignments, span
from draisine.cli._report import motions
from draisine.cli._screen import print_json, progress_bar


def cycles(
    vehicle: str = "rocr",
    /,
    *,
    phase: str | None = None,
    scan: str | None = None,
    over: str | None = None,
    joint: Literal["free", "held"] = "free",
    machine: MachineOptions = MACHINE,
    output: OutputOptions = OUTPUT,
) -> None:
    """Limit cycles of a machine whose grips take turns: all there are, or families over a parameter.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param phase: The parameter `phase`, in rad or as 270deg; short for --set phase=...
    :param scan: Follow families of cycles over values LOW:HIGH:COUNT of a parameter.
    :param over: The parameter that --scan changes; phase if not given.
    :param joint: At an impact, free and then set back to their motions (as published), or held on them.
    """
    from draisine.errors import ParameterError
    from draisine.experiment.tables.cycles import (
        find_all_cycles,
        remarks,
        scan_cycles,
        summary,
        table,
    )
    from draisine.registry import find
    from draisine.vehicles import meanings

    output.check()
    given = machine.parameters
    if phase is not None:
        if "phase" in given:
            raise ParameterError("--phase is short for --set phase=...; give one of both.")
        given |= assignments("--phase", [f"phase={phase}"])
    if over is not None and scan is None:
        raise ParameterError(f"--over {over} goes with --scan LOW:HIGH:COUNT.")
    over = over or "phase"
    if scan is not None and over in given:
        raise ParameterError(f"--scan changes {over}; leave its one value out.")
    with progress_bar(f"cycles of {vehicle}") as progress:
        if scan is None:
            data = find_all_cycles(vehicle, given, machine.parameter_set, joint=joint)
        else:
            values = _values(scan, meanings(find("vehicle", vehicle)).get(over, ("", ""))[0])
            how: dict[str, Any] = {"over": over, "joint": joint, "progress": progress}
            data = scan_cycles(vehicle, values, given, machine.parameter_set, **how)
    if output.json:
        print_json(summary(data))
    else:
        motions(vehicle, data.attrs["title"], *table(data), remarks(data))
    output.keep(data)


def _values(scan: str, unit: str) -> Any:
    """Return the values that LOW:HIGH:COUNT stands for, of a parameter in a unit."""
    import numpy as np

    from draisine.errors import ParameterError

    low, high, many = span("--scan", scan, "0:360deg:65", unit or None)
    if many < 2 or not low < high:
        raise ParameterError(f"--scan {scan}: LOW must be below HIGH, and COUNT at least 2.")
    return np.linspace(low, high, many)
