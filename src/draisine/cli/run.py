"""`draisine run`."""

import json
import os
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from draisine.cli._keep import beside, check_film, film, free_name
from draisine.cli._keep import show as show_file
from draisine.cli._options import (
    MACHINE,
    OUTPUT,
    RUN,
    MachineOptions,
    OutputOptions,
    Overwrite,
    RunOptions,
    Trust,
)
from draisine.cli._report import report
from draisine.cli._screen import fail, progress_bar

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.experiment.run import Result
    from draisine.scenario.library import Loaded


def ride_file(where: str, trust: bool) -> "Dataset | None":
    """Return the ride in a result, if it is one."""
    from draisine.results.store import load

    path = Path(where)
    if path.suffix not in (".nc", ".zarr") or not os.path.exists(path):
        return None
    data = load(path, trust)
    return data if "ride" in data.attrs else None


def repeat(ride: "Dataset") -> int:
    """Ride a stored ride once more; return 0 if it came out the same to the bit."""
    from draisine.ride.repeat import differences, repeat_ride, ride_dataset

    found = differences(ride, ride_dataset(repeat_ride(ride)))
    if found:
        told = ", ".join(f"{name} by {size:.3g}" for name, size in found.items())
        return fail(f"ridden again, it differs: {told}. (Another CPU may round otherwise.)", 1)
    count = int(ride["ride_steps"].sum())
    print(f"ridden again: {count} steps, all frames equal to the bit.")
    return 0


def _check_bare(scenario: str, *options: object) -> None:
    """Refuse options where a stored ride is repeated as it was."""
    from draisine.errors import ParameterError

    if any(given not in (MACHINE, RUN, OUTPUT, None, False) for given in options):
        raise ParameterError(
            f"{scenario} is a ride: it is repeated as it was ridden, without options."
        )


def _first_output(output: OutputOptions, force: bool) -> OutputOptions:
    """Return what the first command leaves: data, and a picture that is called like it, and replaced with
    it.
    """
    from draisine.scenario.library import FIRST

    out = output.out or free_name(Path(f"{FIRST.rpartition('/')[2]}.nc"), force)
    plot = output.plot or free_name(beside(out, ".png"), force or os.path.exists(out))
    return replace(output, out=out, plot=plot)


def run(
    scenario: str | None = None,
    /,
    *,
    machine: MachineOptions = MACHINE,
    change: RunOptions = RUN,
    output: OutputOptions = OUTPUT,
    animate: Path | None = None,
    full: bool = False,
    linear: bool = False,
    show: bool = False,
    force: Overwrite = False,
    trust: Trust = False,
) -> int:
    """Run a scenario; without one, a bicycle steadies itself, with a figure and the data.

    :param scenario: A scenario's name, a file of your own (.toml), a vehicle, or a result (.nc, .zarr) to
        repeat.
    :param animate: Write a film (.gif, .mp4), a page that replays the run (.html) or a scene (.glb).
    :param full: The table has every output, and rates, too.
    :param linear: The figure has the same start by the linear equations beside it, and their difference.
    :param show: Open what was written for the eye; if nothing was asked for, a page that replays the run.
    """
    from draisine.scenario.library import FIRST, load

    if scenario is None:
        scenario, output = FIRST, _first_output(output, force)
    if (again := ride_file(scenario, trust)) is not None:
        _check_bare(scenario, machine, change, output, animate, full, linear, show)
        return repeat(again)
    output.check()
    _check_ground(scenario, machine, trust)
    loaded = _settle_start(load(scenario, change.changes(machine), trust), change)
    if linear:
        output = _beside_linear(loaded, output, force)
    if show:
        animate, output = _for_the_eye(loaded, animate, output, force)
    _check_moves(loaded, animate, full)
    result, failed = _carry_out(loaded, change)
    try:
        report(result, output.json, full)
    finally:  # what was computed is kept, even if nobody waits for the table
        _keep(result, output, linear, animate is None)
    if animate is not None and (failed is None or result.data.sizes.get("time", 0) > 1):
        film(result.data, animate, quiet=output.json)
    if failed is not None:
        return fail(failed, 1)
    seen = (animate or output.plot) if show else None
    return (0 if seen is None else show_file(seen)) or _judge(result)


def _judge(result: "Result") -> int:
    """Return the exit code: 1, with a message, of a run that is not physically valid and not expected to
    be so.
    """
    from draisine.simulation.validity import EXPECTABLE

    if not result.unexpected_faults:
        return 0
    assert result.validity is not None
    words = [word for word in result.validity.times if word in EXPECTABLE]
    way = ""
    if len(words) == len(result.unexpected_faults):
        way = f" If the scenario is meant to show that, its file has run.expects = {json.dumps(words)}."
    return fail(f"the run is not physically valid: {'; '.join(result.unexpected_faults)}.{way}", 1)


def _beside_linear(loaded: "Loaded", output: OutputOptions, force: bool) -> OutputOptions:
    """Return what is left of a run that has its linear equations beside it: a figure, in any case."""
    from draisine.errors import ParameterError

    plan = loaded.plan
    if loaded.scenario.kind != "run" or plan.terrain is not None or plan.law is not None:
        raise ParameterError(
            f"--linear goes with runs on the level plane without laws and inputs; {loaded.name} is none."
        )
    stem = loaded.name.rpartition("/")[2]
    return replace(output, plot=output.plot or free_name(Path(f"{stem}-linear.png"), force))


def _keep(result: "Result", output: OutputOptions, linear: bool, alone: bool) -> None:
    """Write what was asked for, the figure with the linear equations beside the run, if it should be; tell
    that nothing was, where there is no film either.
    """
    if output == OUTPUT and alone:
        stem = result.loaded.name.rpartition("/")[2]
        print(f"nothing was kept: --out {stem}.nc keeps the data, --plot {stem}.png draws them")
        _tell_motions(result.loaded)
    if not linear:
        output.keep(result.data)
        return
    from draisine.experiment.kinds.linear import simulate_linear
    from draisine.results.comparison import compare

    replace(output, plot=None, width=None).keep(result.data)
    both = compare(result.data, simulate_linear(result.loaded.plan, result.data))
    replace(output, out=None).keep(both)


def _tell_motions(loaded: "Loaded") -> None:
    """Say how a machine moves of which one state was looked at."""
    from draisine.scenario.library import tell_scenarios

    if loaded.scenario.kind == "state":
        name = loaded.scenario.vehicle.name
        way = f"`draisine new scenario mine --vehicle {name}` begins a motion."
        print(f"this is one state; {way}{tell_scenarios(name)}")


def _for_the_eye(
    loaded: "Loaded", animate: Path | None, output: OutputOptions, force: bool
) -> tuple[Path | None, OutputOptions]:
    """Return what is written to be looked at: what was asked for, or else a page that replays a motion,
    a figure of all else.
    """
    from draisine.scenario.library import MOTIONS

    if animate is not None or output.plot is not None:
        return animate, output
    stem = loaded.name.rpartition("/")[2]
    if loaded.scenario.kind in MOTIONS:
        return free_name(Path(f"{stem}.html"), force), output
    return None, replace(output, plot=free_name(Path(f"{stem}.png"), force))


def _check_ground(scenario: str, machine: MachineOptions, trust: bool) -> None:
    """Refuse a value that the vehicle and the ground have both, where nothing says whose is meant."""
    from inspect import signature
    from math import pi

    from draisine.errors import ParameterError
    from draisine.registry import find
    from draisine.scenario.library import load
    from draisine.scenario.terrain import GROUNDS

    own = machine.parameters
    if other := own.get("vehicle.name", own.get("vehicle")):
        raise ParameterError(
            f"--set vehicle={other}: `draisine new scenario mine --vehicle {other} --from {scenario}` "
            "writes a file for another vehicle."
        )
    if shape := own.get("terrain"):
        raise ParameterError(f"--set terrain={shape}: did you mean --set terrain.shape={shape}?")
    ground_has = {name for ground in GROUNDS.values() for name in ground.model_fields}
    for name, value in own.items():
        if name not in ground_has:
            continue
        loaded = load(scenario, trust=trust)
        ground = getattr(loaded.scenario, "terrain", None)
        known = signature(find("vehicle", loaded.scenario.vehicle.name)).parameters
        if ground is not None and name in type(ground).model_fields and name in known:
            steep = name == "slope" and isinstance(value, float) and abs(value) > pi / 2
            meant = f"{value:g}deg" if steep else value
            raise ParameterError(
                f"--set {name}={value}: the ground and the vehicle have one each. That of the ground is "
                f"--set terrain.{name}={meant}; the vehicle's is written into a file: `draisine new scenario "
                f"mine --from {loaded.name}`."
            )


def _check_moves(loaded: "Loaded", animate: Path | None, full: bool) -> None:
    """Refuse to film what is no motion, or into a file that cannot be written; or its full table."""
    from draisine.errors import ParameterError
    from draisine.scenario.library import MOTIONS

    kind, vehicle = loaded.scenario.kind, loaded.scenario.vehicle.name
    if full and kind not in MOTIONS:
        raise ParameterError(
            f"--full goes with the table of a motion; {loaded.name} is of the kind {kind!r}."
        )
    if animate is None:
        return
    check_film(animate)
    if kind not in MOTIONS:
        raise ParameterError(
            f"--animate goes with runs; {loaded.name} is of the kind {kind!r}. `draisine new scenario mine "
            f"--vehicle {vehicle}` writes a run of {vehicle}."
        )


def _settle_start(loaded: "Loaded", change: RunOptions) -> "Loaded":
    """Return a scenario without the one value of its start that contradicts what is asked for, and say so;
    as it is where nothing does, or where it is not clear which.
    """
    from draisine.errors import ConfigurationError
    from draisine.scenario.library import accept, few

    start = loaded.plan.start.values
    if not change.values or not start:
        return loaded
    try:
        loaded.plan.state()
        return loaded
    except ConfigurationError:
        found = []
        for name in (n for n in start if n not in change.values):
            initial = {n: x for n, x in loaded.content["initial"].items() if n != name}
            other = accept(loaded.name, loaded.file, {**loaded.content, "initial": initial})
            with suppress(ConfigurationError):
                other.plan.state()
                found.append((name, other))
    if len(found) != 1:
        return loaded
    ((name, other),) = found
    asked = few(
        [f"{n} = {x:g}" if isinstance(x, float) else f"{n} = {x}" for n, x in change.values.items()]
    )
    print(f"note: {name} = {start[name]:.6g} of the scenario gives way to {asked}", file=sys.stderr)
    return other


def _own_start(loaded: "Loaded", change: RunOptions, told: str) -> str:
    """Return which values of a start that cannot be are the scenario's own, where others are asked for."""
    values = {n: x for n, x in loaded.plan.start.values.items() if n not in change.values}
    own = [f"{n} = {x:.6g}" for n, x in values.items() if f"{n} = {x:.6g}" in told]
    if not own or not change.values:
        return ""
    return (
        f" The scenario's own are {', '.join(own)}: change what contradicts by another --initial, or write "
        f"a start of yours: `draisine new scenario mine --from {loaded.name}`."
    )


def _carry_out(loaded: "Loaded", change: RunOptions) -> "tuple[Result, str | None]":
    """Return what a scenario left, and why it ended before its time, if it did."""
    from draisine.errors import (
        ConfigurationError,
        ContactSetError,
        SimulationError,
        ValidityWarning,
    )
    from draisine.experiment.run import run as carry_out

    with warnings.catch_warnings(), progress_bar(f"running {loaded.name}") as progress:
        warnings.simplefilter("ignore", ValidityWarning)  # the report and the exit code tell
        try:
            return carry_out(loaded, progress, mu=change.mu, strict=change.strict), None
        except ConfigurationError as error:
            raise ConfigurationError(f"{error}{_own_start(loaded, change, str(error))}") from error
        except SimulationError as error:
            if error.partial is None:
                raise
            ideal = isinstance(error.__cause__, ContactSetError) and change.mu is None
            hint = " On the command line: --mu 0.8." if ideal else ""
            return error.partial, f"{error}{hint}"
