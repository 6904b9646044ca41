"""`draisine cycles`: limit cycles of systems whose contacts (grips) alternate at given times."""

from typing import Any, Literal

from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_OUTPUT_OPTIONS,
    MachineOptions,
    OutputOptions,
    parse_assignments,
    parse_range,
)
from draisine.cli._report import print_motions
from draisine.cli._screen import print_json, progress_bar


def cycles(
    vehicle: str = "rocr",
    /,
    *,
    phase: str | None = None,
    scan: str | None = None,
    over: str | None = None,
    joint: Literal["free", "held"] = "free",
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    output: OutputOptions = NO_OUTPUT_OPTIONS,
) -> None:
    """Find limit cycles of a system with alternating contacts, or families over a parameter.

    Parameters
    ----------
    vehicle
        Name of a vehicle, or FILE.py:function.
    phase
        Parameter `phase`, in rad or as 270deg; short for --set phase=...
    scan
        Continue families of cycles over values LOW:HIGH:COUNT of a parameter.
    over
        Parameter that --scan varies. Default: phase.
    joint
        Prescribed joints during an impact: free and reset afterwards (as published), or held.
    """
    from draisine.errors import ParameterError
    from draisine.experiment.tables.cycles import (
        describe_cycles,
        find_all_cycles,
        scan_cycles,
        summarise_cycles,
        tabulate_cycles,
    )
    from draisine.registry import find
    from draisine.vehicles import meanings

    output.check_outputs()
    parameters = machine.parameters
    if phase is not None:
        if "phase" in parameters:
            raise ParameterError(
                "--phase is short for --set phase=... Use only one of these options."
            )
        parameters |= parse_assignments("--phase", [f"phase={phase}"])
    if over is not None and scan is None:
        raise ParameterError(f"--over {over} needs a range: add --scan LOW:HIGH:COUNT.")
    over = over or "phase"
    if scan is not None and over in parameters:
        raise ParameterError(f"--scan varies {over}. Leave out its single value.")
    with progress_bar(f"cycles of {vehicle}") as progress:
        if scan is None:
            data = find_all_cycles(vehicle, parameters, machine.parameter_set, joint=joint)
        else:
            values = _parse_scan(scan, meanings(find("vehicle", vehicle)).get(over, ("", ""))[0])
            options: dict[str, Any] = {"over": over, "joint": joint, "progress": progress}
            data = scan_cycles(vehicle, values, parameters, machine.parameter_set, **options)
    if output.json:
        print_json(summarise_cycles(data))
    else:
        print_motions(vehicle, data.attrs["title"], *tabulate_cycles(data), describe_cycles(data))
    output.write_outputs(data)


def _parse_scan(scan: str, unit: str) -> Any:
    """Parse a range LOW:HIGH:COUNT of parameter values with a unit; return them in SI units."""
    import numpy as np

    from draisine.errors import ParameterError

    low, high, count = parse_range("--scan", scan, "0:360deg:65", unit or None)
    if count < 2 or not low < high:
        raise ParameterError(f"--scan {scan}: LOW must be below HIGH, and COUNT at least 2.")
    return np.linspace(low, high, count)
