"""`draisine export`."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._keep import free_name, tell_file
from draisine.cli._options import MACHINE, START, MachineOptions, Overwrite, StartOptions


def export(
    vehicle: str,
    /,
    out: Path | None = None,
    *,
    as_: Annotated[Literal["fmi3", "fmi2", "simulink"], Parameter(name="--as")] = "fmi3",
    machine: MachineOptions = MACHINE,
    begin: StartOptions = START,
    force: Overwrite = False,
) -> None:
    """Write a machine for other simulation tools: for co-simulation by FMI, or as a block of Simulink.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param out: Where to write it: a file that ends with .fmu, or a folder for Simulink; VEHICLE.fmu or
        VEHICLE-simulink if not given.
    :param as_: FMI 3 or 2, with the compiled machine and its source, or the source of an S-function.
    """
    from draisine.experiment.simulator import parse_law, parse_start
    from draisine.interop.fmi import export_fmu
    from draisine.interop.simulink import export_sfunction
    from draisine.scenario.validate.vehicle import build_system

    usual = f"{Path(vehicle).stem}{'-simulink' if as_ == 'simulink' else '.fmu'}"
    target = out or free_name(Path(usual), force)
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    start = parse_start(system, begin.values, begin.statuses)
    given = {"mode": begin.statuses, "law": parse_law(system, begin.laws, begin.values)}
    if as_ == "simulink":
        made = export_sfunction(system, start, target, **given)
        print("\n".join(f"S-function: {path}" for path in made))
        return
    with tell_file("FMI unit", target):
        export_fmu(system, start, target, version=f"{as_[-1]}.0", **given)
