"""`draisine identify`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from draisine.cli._options import (
    MACHINE,
    OUTPUT,
    Laws,
    MachineOptions,
    OutputOptions,
    Values,
    assignments,
    law_tables,
)
from draisine.cli._screen import escape, numeric_columns, open_console, print_json, progress_bar

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.analysis.identify import Identified, Run
    from draisine.system.system import System


def identify(
    *recordings: Path,
    unknowns: str,
    vehicle: str = "whipple",
    outputs: str | None = None,
    initial: Annotated[Values, Parameter(name="--initial")] = None,
    input_: Annotated[Values, Parameter(name="--input")] = None,
    deviation: Annotated[Values, Parameter(name="--deviation")] = None,
    offsets: str | None = None,
    prior: Annotated[Values, Parameter(name="--prior")] = None,
    white_noise: bool = False,
    starts: int = 3,
    drop_missing: bool = False,
    law: Laws = None,
    machine: MachineOptions = MACHINE,
    output: OutputOptions = OUTPUT,
) -> None:
    """Fit parameters and initial values to recorded motions, with confidence intervals.

    Parameters are common to all recordings; initial values belong to each. The report lists intervals,
    residuals, their correlation (Durbin-Watson), and what the recordings do not determine. --plot draws
    measured and fitted signals with residuals, --out writes the fit.

    Example: draisine identify push1.csv push2.csv --unknowns c,lean_rate --outputs lean_rate,steer
    --initial forward_speed=4.6,5.1 --input steer=steer_torque --plot fit.png

    :param recordings: CSV files with a column time, one for each run; column names are those of outputs,
        with a unit if it is not SI: lean_rate (deg/s).
    :param unknowns: Parameters and initial values to fit: c,lam,lean_rate.
    :param vehicle: A vehicle's name, or FILE.py:function.
    :param outputs: Columns to fit: lean_rate,steer; without it all columns that are outputs of the vehicle.
    :param initial: An initial value of all runs, or one for each: --initial forward_speed=4.6,5.1. Unknown
        ones are first guesses. Without it, forward_speed and unknown initial values are the first samples
        of their columns; unknown ones without a column start at zero.
    :param input_: A recorded input, as the name of its column: --input steer=steer_torque; or a constant:
        --input steer=0.5. Between samples it is linear.
    :param deviation: Standard deviation of the noise of an output: --deviation steer=0.2deg. Without it, it
        is estimated from the residuals.
    :param offsets: Outputs whose instruments have an unknown zero, which is fitted: steer.
    :param prior: Standard deviation of a parameter before the fit, about its given value: --prior c=5mm.
    :param white_noise: Take successive samples as independent, instead of estimating their correlation.
    :param starts: Number of searches from different first guesses.
    :param drop_missing: Skip empty cells of the recordings.
    """
    from draisine.analysis.identify import Prior
    from draisine.analysis.identify import identify as fit
    from draisine.errors import ParameterError
    from draisine.experiment.simulator import parse_law
    from draisine.scenario.validate.vehicle import build_system

    if not recordings:
        raise ParameterError("identify needs recordings: draisine identify ride.csv --unknowns c.")
    output.check()
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    wanted = _names(unknowns)
    columns: dict[str, Any] = {
        "outputs": None if outputs is None else _names(outputs),
        "inputs": assignments("--input", input_),
        "deviations": _numbers("--deviation", deviation, system),
        "offsets": _names(offsets or ""),
        "drop_missing": drop_missing,
    }
    given = assignments("--initial", initial)
    runs = [
        _run(path, system, wanted, _own_initial(given, k, len(recordings), system), **columns)
        for k, path in enumerate(recordings)
    ]
    sizes = _numbers("--prior", prior, system)
    if idle := [name for name in sizes if name in system.parameters and name not in wanted]:
        raise ParameterError(
            f"--prior {idle[0]}: {idle[0]} is not among the unknowns, so its prior has no effect. Add it to "
            "--unknowns, or leave the prior out."
        )
    with progress_bar(f"fit of {vehicle}"):
        found = fit(
            system,
            runs,
            wanted,
            law=parse_law(system, law_tables(law or []), runs[0].start),
            prior=Prior.independent(system.parameters, sizes) if sizes else None,
            white_noise=white_noise,
            starts=starts,
        )
    if output.json:
        print_json(_plain(found))
    else:
        _print(found)
    output.keep(found)


def _names(text: str) -> list[str]:
    """Return names that are separated by commas."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _units(system: "System") -> dict[str, str]:
    """Return the units of outputs, initial values and parameters."""
    from draisine.model.names import observation_units, state_units

    units = observation_units(system.model) | state_units(system.model)
    return units | {name: unit for name, (unit, _) in system.meanings.items()}


def _number(option: str, name: str, value: Any, units: Mapping[str, str]) -> float:
    """Return one value of an option."""
    from draisine.errors import ParameterError
    from draisine.model.quantity import number

    try:
        return number(value, units.get(name))
    except ValueError as error:
        raise ParameterError(f"{option} {name}={value}: {error}.") from None


def _numbers(option: str, given: Values, system: "System") -> dict[str, float]:
    """Return the values of an option NAME=VALUE in SI units."""
    units = _units(system)
    return {n: _number(option, n, x, units) for n, x in assignments(option, given).items()}


def _own_initial(
    given: Mapping[str, Any], k: int, count: int, system: "System"
) -> dict[str, float]:
    """Return the initial values of the k-th recording: common ones, and its own of a list."""
    from draisine.errors import ParameterError
    from draisine.model.names import SYNONYMS

    units, found = _units(system), {}
    for name, value in given.items():
        each = value.split(",") if isinstance(value, str) else [value]
        if len(each) not in (1, count):
            raise ParameterError(
                f"--initial {name}={value}: give one value, or one for each of the {count} recordings."
            )
        own = SYNONYMS.get(name, name)
        found[own] = _number("--initial", own, each[k if len(each) > 1 else 0], units)
    return found


def _run(
    path: Path,
    system: "System",
    unknowns: Sequence[str],
    initial: Mapping[str, float],
    *,
    outputs: list[str] | None,
    inputs: Mapping[str, Any],
    **options: Any,
) -> "Run":
    """Return the run of a recording; its first samples are first guesses of its start."""
    from dataclasses import replace

    from draisine.analysis.identify import Run
    from draisine.control import Step
    from draisine.errors import ParameterError
    from draisine.model.names import observation_names
    from draisine.results.store import load

    data = load(path)
    recorded = {n: str(x) for n, x in inputs.items() if not isinstance(x, float)}
    if outputs is None:
        names = set(observation_names(system.model)) - set(recorded.values())
        outputs = [str(name) for name in data.data_vars if name in names]
        if not outputs:
            columns = ", ".join(map(str, data.data_vars))
            raise ParameterError(
                f"{path}: no column is an output of the vehicle; it has {columns}. `draisine show` lists the "
                "outputs; rename columns accordingly."
            )
    start = {}
    for name in ("forward_speed", *unknowns):
        if name in system.parameters or name in initial:
            continue
        if name in data.data_vars:
            start[name] = _first_sample(data, name)
        elif name == "forward_speed" and name in system.outputs:
            raise ParameterError(
                f"{path}: there is no column forward_speed. Give the speed at the first sample: --initial "
                "forward_speed=4.6."
            )
        elif name != "forward_speed" and name in _units(system):
            start[name] = 0.0
    try:
        run = Run.from_dataset(
            data, start | dict(initial), outputs, recorded, name=path.stem, **options
        )
    except ParameterError as error:
        hint = " --drop-missing skips empty cells." if "not finite" in str(error) else ""
        raise ParameterError(f"{path}: {error}{hint}") from None
    constants = [Step(n, x, -float("inf")) for n, x in inputs.items() if isinstance(x, float)]
    return replace(run, inputs=[*run.inputs, *constants])


def _first_sample(data: "Dataset", name: str) -> float:
    """Return the first number in a column."""
    return float(data[name].dropna("time").values[0])


def _plain(found: "Identified") -> dict[str, Any]:
    """Return the report as plain values."""
    from dataclasses import asdict

    rows = zip(found.names, found.values, found.deviations, found.degrees_of_freedom, strict=True)
    return {
        "unknowns": {
            name: {
                "value": float(value),
                "deviation": _finite(deviation),
                "interval": [_finite(x) for x in found.interval(name)],
                "degrees_of_freedom": _finite(freedom),
                "unit": found.unit(name),
            }
            for name, value, deviation, freedom in rows
        },
        "correlations": [[_finite(x) for x in row] for row in found.correlations],
        "channels": [_finite_entries(asdict(channel)) for channel in found.channels],
        "combinations": [_finite_entries(asdict(one)) for one in found.combinations],
        "not_identifiable": list(found.not_identifiable),
        "searches": asdict(found.searches),
    }


def _finite(x: float) -> float | None:
    """Return a number that JSON can hold."""
    return float(x) if abs(x) < float("inf") else None


def _finite_entries(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table whose numbers JSON can hold."""
    return {key: _finite(x) if isinstance(x, float) else x for key, x in table.items()}


def _print(found: "Identified") -> None:
    """Print tables of unknowns and channels, and remarks."""
    from rich.table import Table

    console = open_console()
    table = Table("unknown", *numeric_columns("value", "deviation", "95 % from", "to"), "unit")
    for name, value, size in zip(found.names, found.values, found.deviations, strict=True):
        low, high = found.interval(name)
        row = [f"{x:.5g}" for x in (value, size, low, high)]
        table.add_row(escape(name), *row, found.unit(name))
    console.print(table)
    headings = ("samples", "effective", "RMS", "normalised", "explained (%)", "phi")
    noise = Table("residual", *numeric_columns(*headings, "Durbin-Watson", "whitened"), "unit")
    for one in found.channels:
        noise.add_row(
            escape(one.output),
            str(one.samples),
            f"{one.effective_samples:.0f}",
            f"{one.rms:.3g}",
            "" if one.normalised_rms is None else f"{one.normalised_rms:.3g}",
            f"{100 * one.explained:.2f}",
            f"{one.correlation:.2f}",
            f"{one.durbin_watson:.2f}",
            f"{one.durbin_watson_innovations:.2f}",
            found.unit(one.output),
        )
    console.print(noise)
    for line in found.remarks():
        console.print(escape(line))
