"""`draisine export`: export of a vehicle to other simulation tools (FMI, Simulink)."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._files import report_file, unused_path
from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_START_OPTIONS,
    MachineOptions,
    Overwrite,
    StartOptions,
)


def export(
    vehicle: str,
    /,
    out: Path | None = None,
    *,
    as_: Annotated[Literal["fmi3", "fmi2", "simulink"], Parameter(name="--as")] = "fmi3",
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    begin: StartOptions = NO_START_OPTIONS,
    force: Overwrite = False,
) -> None:
    """Export a vehicle for co-simulation (FMI) or as a Simulink block.

    Parameters
    ----------
    vehicle
        Name of a vehicle, FILE.py:function, or for FMI a scenario of a run (mauny2018/ramp-jump, FILE.toml),
        whose contacts open and close on its terrain.
    out
        Output file (.fmu), or a folder for Simulink. Default: VEHICLE.fmu or VEHICLE-simulink.
    as_
        FMI 3 or 2 (compiled code with its source), or the source of an S-function.
    """
    from draisine.experiment.simulator import load_terrain_run, parse_law, parse_start
    from draisine.interop.fmi import export_fmu
    from draisine.interop.simulink import export_sfunction
    from draisine.scenario.validate.vehicle import build_system

    default = f"{Path(vehicle).stem}{'-simulink' if as_ == 'simulink' else '.fmu'}"
    target = out or unused_path(Path(default), force)
    if is_scenario(vehicle):
        _check_scenario(vehicle, as_, machine, begin)
        system, start, options = load_terrain_run(vehicle)
        with report_file("FMI unit", target):
            export_fmu(system, start, target, version=f"{as_[-1]}.0", **options)
        return
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    start = parse_start(system, begin.values, begin.statuses)
    options = {"mode": begin.statuses, "law": parse_law(system, begin.laws, begin.values)}
    if as_ == "simulink":
        files = export_sfunction(system, start, target, **options)
        print("\n".join(f"S-function: {path}" for path in files))
        return
    with report_file("FMI unit", target):
        export_fmu(system, start, target, version=f"{as_[-1]}.0", **options)


def is_scenario(name: str) -> bool:
    """Return whether a name denotes a scenario: a TOML file, or a shipped scenario FOLDER/NAME."""
    return name.endswith(".toml") or ("/" in name and ".py" not in name)


def _check_scenario(name: str, language: str, machine: MachineOptions, begin: StartOptions) -> None:
    """Raise an error if an option is used that does not apply to the export of a scenario."""
    from draisine.errors import ParameterError

    if language == "simulink":
        raise ParameterError(f"{name}: scenarios can be exported as FMI units only: --as fmi3.")
    if machine.set or machine.parameter_set or begin.initial or begin.mode or begin.law:
        raise ParameterError(
            f"{name} describes the machine and its start; change the scenario instead of giving options."
        )
