"""`draisine run`: runs scenarios, and repeats stored runs and rides."""

import json
import os
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._files import (
    check_animation_target,
    open_file,
    sibling_path,
    unused_path,
    write_animation,
)
from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_OUTPUT_OPTIONS,
    NO_RUN_OPTIONS,
    MachineOptions,
    OutputOptions,
    Overwrite,
    RunOptions,
    Trust,
)
from draisine.cli._report import print_result
from draisine.cli._screen import print_error, progress_bar

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.experiment.run import Result
    from draisine.scenario.library import Loaded


def load_ride(source: str, trust: bool) -> "Dataset | None":
    """Return the dataset of a ride if a file contains one, otherwise None."""
    from draisine.results.store import load

    path = Path(source)
    if path.suffix not in (".nc", ".zarr") or not os.path.exists(path):
        return None
    data = load(path, trust)
    return data if "ride" in data.attrs else None


def repeat_stored_ride(ride: "Dataset") -> int:
    """Repeat a stored ride; return the exit code, 0 if all frames are bitwise equal."""
    from draisine.ride.repeat import compare_frames, repeat_ride, ride_dataset

    changed = compare_frames(ride, ride_dataset(repeat_ride(ride)))
    if changed:
        text = ", ".join(f"{name} by {size:.3g}" for name, size in changed.items())
        return print_error(
            f"The repeated ride differs: {text}. (Other CPUs may round differently.)", 1
        )
    count = int(ride["ride_steps"].sum())
    print(f"repeated: {count} steps, all frames are bitwise equal.")
    return 0


def _check_no_options(scenario: str, *options: object) -> None:
    """Raise an error if options are used, because a stored ride is repeated without changes."""
    from draisine.errors import ParameterError

    if any(option not in (*NO_OPTIONS, None, False) for option in options):
        raise ParameterError(
            f"{scenario} is a ride, which is repeated without changes. Leave out all options."
        )


def _choose_first_output(output: OutputOptions, force: bool) -> OutputOptions:
    """Return the default output of `draisine run` without arguments: data, and a figure of the same name.

    An existing figure is replaced together with its data.
    """
    from draisine.scenario.library import DEFAULT_SCENARIO

    out = output.out or unused_path(Path(f"{DEFAULT_SCENARIO.rpartition('/')[2]}.nc"), force)
    plot = output.plot or unused_path(sibling_path(out, ".png"), force or os.path.exists(out))
    return replace(output, out=out, plot=plot)


def run(
    scenario: str | None = None,
    /,
    *,
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    change: RunOptions = NO_RUN_OPTIONS,
    output: OutputOptions = NO_OUTPUT_OPTIONS,
    animate: Path | None = None,
    full: bool = False,
    linear: bool = False,
    show: bool = False,
    force: Overwrite = False,
    trust: Trust = False,
) -> int:
    """Run a scenario. Default: a riderless bicycle stabilises itself; data and a figure are written.

    Parameters
    ----------
    scenario
        Name of a scenario, a file (.toml), a vehicle, or a result (.nc, .zarr) to repeat.
    animate
        Write an animation (.gif, .mp4), an interactive 3D replay (.html) or a scene (.glb).
    full
        Print all outputs and rates in the table.
    linear
        Draw the solution of the linearised equations for the same initial state, and the difference.
    show
        Open the animation or the figure; without one, write and open an interactive 3D replay.
    """
    from draisine.scenario.library import DEFAULT_SCENARIO, load

    if scenario is None:
        scenario = DEFAULT_SCENARIO
        output = _choose_first_output(output, force)
    if (ride := load_ride(scenario, trust)) is not None:
        _check_no_options(scenario, machine, change, output, animate, full, linear, show)
        return repeat_stored_ride(ride)
    output.check_outputs()
    _check_parameters(scenario, machine, trust)
    loaded = _resolve_start(load(scenario, change.collect_changes(machine), trust), change)
    if linear:
        output = _add_linear_figure(loaded, output, force)
    if show:
        animate, output = _add_visible_output(loaded, animate, output, force)
    _check_motion_options(loaded, animate, full)
    result, failure = _run_scenario(loaded, change)
    try:
        print_result(result, output.json, full)
    finally:  # write result files even if printing the table is interrupted
        _write_outputs(result, output, linear, animate is None)
    if animate is not None and (failure is None or result.data.sizes.get("time", 0) > 1):
        write_animation(result.data, animate, quiet=output.json)
    if failure is not None:
        return print_error(failure, 1)
    visible = (animate or output.plot) if show else None
    return (0 if visible is None else open_file(visible)) or _exit_code_of_validity(result)


NO_OPTIONS = (NO_MACHINE_OPTIONS, NO_RUN_OPTIONS, NO_OUTPUT_OPTIONS)
"""Default option groups of the command, to detect whether any option is used."""


def _exit_code_of_validity(result: "Result") -> int:
    """Return exit code 1 if the run is not physically valid and its scenario does not expect the fault."""
    from draisine.simulation.validity import EXPECTABLE

    if not result.unexpected_faults:
        return 0
    assert result.validity is not None
    faults = [fault for fault in result.validity.times if fault in EXPECTABLE]
    hint = ""
    if len(faults) == len(result.unexpected_faults):
        hint = f" If this is intended, set run.expects = {json.dumps(faults)} in the scenario file."
    return print_error(
        f"The run is not physically valid: {'; '.join(result.unexpected_faults)}.{hint}", 1
    )


def _add_linear_figure(loaded: "Loaded", output: OutputOptions, force: bool) -> OutputOptions:
    """Return output options with a figure that compares the run with the linearised equations."""
    from draisine.errors import ParameterError

    plan = loaded.plan
    if loaded.scenario.kind != "run" or plan.terrain is not None or plan.law is not None:
        raise ParameterError(
            f"--linear needs a run on the level plane without control laws and inputs, unlike {loaded.name}."
        )
    stem = loaded.name.rpartition("/")[2]
    return replace(output, plot=output.plot or unused_path(Path(f"{stem}-linear.png"), force))


def _write_outputs(
    result: "Result", output: OutputOptions, linear: bool, no_animation: bool
) -> None:
    """Write data file and figure; print a hint if no output is requested."""
    if output == NO_OUTPUT_OPTIONS and no_animation:
        stem = result.loaded.name.rpartition("/")[2]
        print(f"no files written: --out {stem}.nc writes the data, --plot {stem}.png a figure")
        _mention_motions(result.loaded)
    if not linear:
        output.write_outputs(result.data)
        return
    from draisine.experiment.kinds.linear import simulate_linear
    from draisine.results.comparison import compare

    replace(output, plot=None, width=None).write_outputs(result.data)
    both = compare(result.data, simulate_linear(result.loaded.plan, result.data))
    replace(output, out=None).write_outputs(both)


def _mention_motions(loaded: "Loaded") -> None:
    """Print how to simulate the vehicle of a scenario that evaluates a single state only."""
    from draisine.scenario.library import mention_motions

    if loaded.scenario.kind == "state":
        name = loaded.scenario.vehicle.name
        hint = f"`draisine new scenario mine --vehicle {name}` writes a motion."
        print(f"this scenario is a single state; {hint}{mention_motions(name)}")


def _add_visible_output(
    loaded: "Loaded", animate: Path | None, output: OutputOptions, force: bool
) -> tuple[Path | None, OutputOptions]:
    """Return animation path and output options with at least one file to open.

    If no file is requested, the default is a replay of a motion, or a figure of another result.
    """
    from draisine.scenario.library import MOTION_KINDS

    if animate is not None or output.plot is not None:
        return animate, output
    stem = loaded.name.rpartition("/")[2]
    if loaded.scenario.kind in MOTION_KINDS:
        return unused_path(Path(f"{stem}.html"), force), output
    return None, replace(output, plot=unused_path(Path(f"{stem}.png"), force))


def _check_parameters(scenario: str, machine: MachineOptions, trust: bool) -> None:
    """Raise an error if --set names the vehicle, the terrain, or a parameter that both of them have."""
    from inspect import signature
    from math import pi

    from draisine.errors import ParameterError
    from draisine.registry import find
    from draisine.scenario.library import load
    from draisine.scenario.terrain import GROUND_TABLES

    parameters = machine.parameters
    if other := parameters.get("vehicle.name", parameters.get("vehicle")):
        raise ParameterError(
            f"--set vehicle={other} is not possible. `draisine new scenario mine --vehicle {other} --from "
            f"{scenario}` writes a file with another vehicle."
        )
    if shape := parameters.get("terrain"):
        raise ParameterError(f"--set terrain={shape}: did you mean --set terrain.shape={shape}?")
    dimensions = {name for ground in GROUND_TABLES.values() for name in ground.model_fields}
    for name, value in parameters.items():
        if name not in dimensions:
            continue
        loaded = load(scenario, trust=trust)
        ground = getattr(loaded.scenario, "terrain", None)
        vehicle_parameters = signature(find("vehicle", loaded.scenario.vehicle.name)).parameters
        if ground is not None and name in type(ground).model_fields and name in vehicle_parameters:
            # A slope of more than pi/2 rad is most likely an angle in degrees.
            is_degrees = name == "slope" and isinstance(value, float) and abs(value) > pi / 2
            ground_value = f"{value:g}deg" if is_degrees else value
            raise ParameterError(
                f"--set {name}={value}: both terrain and vehicle have {name}. For the terrain, use --set "
                f"terrain.{name}={ground_value}; for the vehicle, write a file with `draisine new scenario "
                f"mine --from {loaded.name}`."
            )


def _check_motion_options(loaded: "Loaded", animate: Path | None, full: bool) -> None:
    """Raise an error if --full or --animate is used with a scenario that is not a motion."""
    from draisine.errors import ParameterError
    from draisine.scenario.library import MOTION_KINDS

    kind = loaded.scenario.kind
    vehicle = loaded.scenario.vehicle.name
    if full and kind not in MOTION_KINDS:
        raise ParameterError(
            f"--full needs a motion, but {loaded.name} is of the kind {kind!r}. Leave it out."
        )
    if animate is None:
        return
    check_animation_target(animate)
    if kind not in MOTION_KINDS:
        raise ParameterError(
            f"--animate needs a motion, but {loaded.name} is of the kind {kind!r}. `draisine new scenario "
            f"mine --vehicle {vehicle}` writes a run of {vehicle}."
        )


def _resolve_start(loaded: "Loaded", change: RunOptions) -> "Loaded":
    """Remove the initial value of a scenario that contradicts --initial, and print a note.

    The scenario is unchanged if no value contradicts --initial, or if several values could be removed.
    """
    from draisine.errors import ConfigurationError
    from draisine.scenario.library import join_first, validate_scenario

    start = loaded.plan.start.values
    if not change.values or not start:
        return loaded
    try:
        loaded.plan.copy_state()
        return loaded
    except ConfigurationError:
        candidates = []
        for name in (n for n in start if n not in change.values):
            initial = {n: x for n, x in loaded.content["initial"].items() if n != name}
            other = validate_scenario(
                loaded.name, loaded.file, {**loaded.content, "initial": initial}
            )
            with suppress(ConfigurationError):
                other.plan.copy_state()
                candidates.append((name, other))
    if len(candidates) != 1:
        return loaded
    ((name, other),) = candidates
    requested = join_first(
        [f"{n} = {x:g}" if isinstance(x, float) else f"{n} = {x}" for n, x in change.values.items()]
    )
    print(
        f"note: {name} = {start[name]:.6g} of the scenario contradicts {requested} and is left out",
        file=sys.stderr,
    )
    return other


def _explain_start(loaded: "Loaded", change: RunOptions, message: str) -> str:
    """Return a sentence about initial values of the scenario that contradict --initial, or ""."""
    values = {n: x for n, x in loaded.plan.start.values.items() if n not in change.values}
    texts = [f"{n} = {x:.6g}" for n, x in values.items() if f"{n} = {x:.6g}" in message]
    if not texts or not change.values:
        return ""
    return (
        f" Of these, {', '.join(texts)} belong to the scenario. Change the contradicting one with another "
        f"--initial, or edit the start: `draisine new scenario mine --from {loaded.name}`."
    )


def _run_scenario(loaded: "Loaded", change: RunOptions) -> "tuple[Result, str | None]":
    """Return the result of a scenario, and the reason if the run stopped early."""
    from draisine.errors import (
        ConfigurationError,
        ContactSetError,
        SimulationError,
        ValidityWarning,
    )
    from draisine.experiment.run import run as run_scenario

    with warnings.catch_warnings(), progress_bar(f"running {loaded.name}") as progress:
        warnings.simplefilter(
            "ignore", ValidityWarning
        )  # the printed report and the exit code show invalid runs
        try:
            return run_scenario(loaded, progress, mu=change.mu, strict=change.strict), None
        except ConfigurationError as error:
            raise ConfigurationError(
                f"{error}{_explain_start(loaded, change, str(error))}"
            ) from error
        except SimulationError as error:
            if error.partial is None:
                raise
            needs_friction = isinstance(error.__cause__, ContactSetError) and change.mu is None
            hint = " On the command line: --mu 0.8." if needs_friction else ""
            return error.partial, f"{error}{hint}"
