"""`draisine export`: export of a vehicle to other simulation tools (FMI, Simulink), or of a run to ROS 2."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from draisine.cli._files import report_written_file, unused_path
from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_START_OPTIONS,
    MachineOptions,
    Overwrite,
    StartOptions,
    Trust,
)
from draisine.errors import ParameterError


def export(
    vehicle: str,
    /,
    out: Path | None = None,
    *,
    as_: Annotated[
        Literal["fmi3", "fmi2", "simulink", "rosbag", "rosbag-sqlite3"], Parameter(name="--as")
    ] = "fmi3",
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    begin: StartOptions = NO_START_OPTIONS,
    force: Overwrite = False,
    trust: Trust = False,
) -> None:
    """Export a vehicle for co-simulation (FMI) or as a Simulink block, or a stored run as a bag of ROS 2.

    Parameters
    ----------
    vehicle
        Name of a vehicle, FILE.py:function, or for FMI a scenario of a run (mauny2018/ramp-jump, FILE.toml),
        whose contacts open and close on its terrain. For a bag a run written by `draisine run --out` (.nc,
        .zarr).
    out
        Output file (.fmu), or a folder for Simulink and bags. Default: VEHICLE.fmu, VEHICLE-simulink or
        RESULT-bag.
    as_
        FMI 3 or 2 (compiled code with its source), the source of an S-function, or a bag in the format MCAP
        or SQLite (odometry, transforms, joint states, IMU and all scalar variables).
    """
    if as_ in ("rosbag", "rosbag-sqlite3"):
        _check_bag_options(machine, begin)
        _export_bag(Path(vehicle), out, "mcap" if as_ == "rosbag" else "sqlite3", force, trust)
        return
    if trust:
        raise ParameterError(
            "--trust has no effect on a vehicle: it applies to stored results only. Leave it out."
        )
    from draisine.experiment.simulator import load_terrain_run, parse_law, parse_start
    from draisine.interop.fmi import export_fmu
    from draisine.interop.simulink import export_sfunction
    from draisine.scenario.validate.vehicle import build_system

    default = f"{Path(vehicle).stem}{'-simulink' if as_ == 'simulink' else '.fmu'}"
    target = out or unused_path(Path(default), force)
    if is_scenario(vehicle):
        _check_scenario(vehicle, as_, machine, begin)
        system, start, options = load_terrain_run(vehicle)
        with report_written_file("FMI unit", target):
            export_fmu(system, start, target, version=f"{as_[-1]}.0", **options)
        return
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    start = parse_start(system, begin.values, begin.statuses)
    options = {"mode": begin.statuses, "law": parse_law(system, begin.laws, begin.values)}
    if as_ == "simulink":
        files = export_sfunction(system, start, target, **options)
        print("\n".join(f"S-function: {path}" for path in files))
        return
    with report_written_file("FMI unit", target):
        export_fmu(system, start, target, version=f"{as_[-1]}.0", **options)


def is_scenario(name: str) -> bool:
    """Return whether a name denotes a scenario: a TOML file, or a shipped scenario FOLDER/NAME."""
    return name.endswith(".toml") or ("/" in name and ".py" not in name)


def _export_bag(
    result: Path, out: Path | None, storage: Literal["mcap", "sqlite3"], force: bool, trust: bool
) -> None:
    """Write a stored run as a bag of ROS 2 and print its folder."""
    from shutil import rmtree

    from draisine.interop.ros.bag import export_bag
    from draisine.results.store import load
    from draisine.view.plot import check_single

    target = out or unused_path(result.with_name(f"{result.stem}-bag"), force)
    data = load(result, trust)
    check_single(data)
    with report_written_file("bag", target):
        if force and (target / "metadata.yaml").is_file():
            rmtree(target)
        export_bag(data, target, storage)


def _check_bag_options(machine: MachineOptions, begin: StartOptions) -> None:
    """Raise an error if options of a vehicle are used for a stored run."""
    if machine.set or machine.parameter_set or begin.initial or begin.mode or begin.law:
        raise ParameterError(
            "A stored run determines its machine and its initial state. Leave out the options "
            "that change them."
        )


def _check_scenario(name: str, language: str, machine: MachineOptions, begin: StartOptions) -> None:
    """Raise an error if an option is used that does not apply to the export of a scenario."""
    if language == "simulink":
        raise ParameterError(f"{name}: scenarios can be exported as FMI units only: --as fmi3.")
    check_no_vehicle_options(name, machine, begin)


def check_no_vehicle_options(name: str, machine: MachineOptions, begin: StartOptions) -> None:
    """Raise an error if options of a vehicle are used for a scenario."""
    if machine.set or machine.parameter_set or begin.initial or begin.mode or begin.law:
        raise ParameterError(
            f"{name} describes the machine and its initial state. Change the scenario instead of "
            "using options."
        )
