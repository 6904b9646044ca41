"""`draisine identify`: estimation of parameters and initial values from recordings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_OUTPUT_OPTIONS,
    Laws,
    MachineOptions,
    OutputOptions,
    Values,
    parse_assignments,
    parse_laws,
)
from draisine.cli._screen import (
    escape_markup,
    make_numeric_columns,
    open_console,
    print_json,
    progress_bar,
)

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
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    output: OutputOptions = NO_OUTPUT_OPTIONS,
) -> None:
    """Fit parameters and initial values to recorded motions, with confidence intervals.

    Parameters are common to all recordings; each recording has its own initial values. The report
    lists intervals, residuals, their correlation (Durbin-Watson), and unidentifiable combinations.
    --plot draws measured and fitted signals with residuals, --out writes the fit.

    Example: draisine identify push1.csv push2.csv --unknowns c,lean_rate --outputs lean_rate,steer
    --initial forward_speed=4.6,5.1 --input steer=steer_torque --plot fit.png

    Parameters
    ----------
    recordings
        CSV files with a column time, one for each run. Columns have the names of outputs, with a unit if
        it is not SI: lean_rate (deg/s).
    unknowns
        Parameters and initial values to fit: c,lam,lean_rate.
    vehicle
        Name of a vehicle, or FILE.py:function.
    outputs
        Columns to fit: lean_rate,steer. Default: all columns that are outputs of the vehicle.
    initial
        Initial value of all runs, or one value per run: --initial forward_speed=4.6,5.1. For unknowns
        it is the initial guess. Default: the first sample of the column; unknowns without a column
        start at zero.
    input_
        Column of a recorded input: --input steer=steer_torque; or a constant: --input steer=0.5. Recorded
        inputs are interpolated linearly between samples.
    deviation
        Standard deviation of the noise of an output: --deviation steer=0.2deg. Default: estimated from
        the residuals.
    offsets
        Outputs with an unknown zero offset, which is fitted: steer.
    prior
        Prior standard deviation of a parameter about its given value: --prior c=5mm.
    white_noise
        Assume that successive samples are independent, instead of estimating their correlation.
    starts
        Number of searches from different initial guesses.
    drop_missing
        Skip empty cells of the recordings.
    """
    from draisine.analysis.identify import Prior
    from draisine.analysis.identify import identify as fit
    from draisine.errors import ParameterError
    from draisine.experiment.simulator import parse_law
    from draisine.scenario.validate.vehicle import build_system

    if not recordings:
        raise ParameterError(
            "identify needs recordings, for example draisine identify ride.csv --unknowns c."
        )
    output.check_outputs()
    system = build_system(vehicle, machine.parameters, machine.parameter_set)
    unknown_names = _split_names(unknowns)
    columns: dict[str, Any] = {
        "outputs": None if outputs is None else _split_names(outputs),
        "inputs": parse_assignments("--input", input_),
        "deviations": _convert_values("--deviation", deviation, system),
        "offsets": _split_names(offsets or ""),
        "drop_missing": drop_missing,
    }
    values = parse_assignments("--initial", initial)
    runs = [
        _read_run(
            path,
            system,
            unknown_names,
            _select_initial(values, k, len(recordings), system),
            **columns,
        )
        for k, path in enumerate(recordings)
    ]
    priors = _convert_values("--prior", prior, system)
    if unused := [n for n in priors if n in system.parameters and n not in unknown_names]:
        raise ParameterError(
            f"--prior {unused[0]}: {unused[0]} is not among the unknowns, so it has no effect. Add it to "
            "--unknowns, or leave the prior out."
        )
    with progress_bar(f"fit of {vehicle}"):
        identified = fit(
            system,
            runs,
            unknown_names,
            law=parse_law(system, parse_laws(law or []), runs[0].start),
            prior=Prior.independent(system.parameters, priors) if priors else None,
            white_noise=white_noise,
            starts=starts,
        )
    if output.json:
        print_json(_as_plain(identified))
    else:
        _print_report(identified)
    output.write_outputs(identified)


def _split_names(text: str) -> list[str]:
    """Split names that are separated by commas; repeated names are removed."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _collect_units(system: "System") -> dict[str, str]:
    """Return the units of outputs, initial values and parameters of a compiled vehicle by name."""
    from draisine.model.names import observation_units, state_units

    units = observation_units(system.model) | state_units(system.model)
    return units | {name: unit for name, (unit, _) in system.meanings.items()}


def _convert_value(option: str, name: str, value: Any, units: Mapping[str, str]) -> float:
    """Convert the value of an option NAME=VALUE to SI units."""
    from draisine.errors import ParameterError
    from draisine.model.quantity import parse_number

    try:
        return parse_number(value, units.get(name))
    except ValueError as error:
        raise ParameterError(f"{option} {name}={value}: {error}.") from None


def _convert_values(option: str, texts: Values, system: "System") -> dict[str, float]:
    """Convert the values of a repeated option NAME=VALUE to SI units, by name."""
    units = _collect_units(system)
    return {
        n: _convert_value(option, n, x, units) for n, x in parse_assignments(option, texts).items()
    }


def _select_initial(
    values: Mapping[str, Any], recording_index: int, recording_count: int, system: "System"
) -> dict[str, float]:
    """Return the initial values of one recording in SI units, by name."""
    from draisine.errors import ParameterError
    from draisine.model.names import SYNONYMS

    units = _collect_units(system)
    initial = {}
    for name, value in values.items():
        values_of_runs = value.split(",") if isinstance(value, str) else [value]
        if len(values_of_runs) not in (1, recording_count):
            raise ParameterError(
                f"--initial {name}={value}: give one value, "
                f"or one for each of the {recording_count} recordings."
            )
        model_name = SYNONYMS.get(name, name)
        own_value = values_of_runs[recording_index if len(values_of_runs) > 1 else 0]
        initial[model_name] = _convert_value("--initial", model_name, own_value, units)
    return initial


def _read_run(
    path: Path,
    system: "System",
    unknowns: Sequence[str],
    initial: Mapping[str, float],
    *,
    outputs: list[str] | None,
    inputs: Mapping[str, Any],
    **options: Any,
) -> "Run":
    """Read a recording as a run for identification; its first samples are guesses of the initial values."""
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
                f"{path}: no column is an output of the vehicle. Columns: {columns}. `draisine show` lists "
                "the outputs; rename columns accordingly."
            )
    start = {}
    for name in ("forward_speed", *unknowns):
        if name in system.parameters or name in initial:
            continue
        if name in data.data_vars:
            start[name] = _first_valid_sample(data, name)
        elif name == "forward_speed" and name in system.outputs:
            raise ParameterError(
                f"{path}: the column forward_speed is missing. Give the speed at the first sample: "
                "--initial forward_speed=4.6."
            )
        elif name != "forward_speed" and name in _collect_units(system):
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


def _first_valid_sample(data: "Dataset", name: str) -> float:
    """Return the first value of a recorded column that is not NaN (an empty cell)."""
    return float(data[name].dropna("time").values[0])


def _as_plain(identified: "Identified") -> dict[str, Any]:
    """Return the report of an identification as plain data for JSON."""
    from dataclasses import asdict

    columns = (identified.names, identified.values, identified.deviations)
    rows = zip(*columns, identified.degrees_of_freedom, strict=True)
    return {
        "unknowns": {
            name: {
                "value": float(value),
                "deviation": _finite_or_none(deviation),
                "interval": [_finite_or_none(x) for x in identified.interval(name)],
                "degrees_of_freedom": _finite_or_none(degrees),
                "unit": identified.unit(name),
            }
            for name, value, deviation, degrees in rows
        },
        "correlations": [[_finite_or_none(x) for x in row] for row in identified.correlations],
        "channels": [_replace_nonfinite(asdict(channel)) for channel in identified.channels],
        "combinations": [_replace_nonfinite(asdict(each)) for each in identified.combinations],
        "not_identifiable": list(identified.not_identifiable),
        "searches": asdict(identified.searches),
    }


def _finite_or_none(number: float) -> float | None:
    """Return a finite number unchanged, and None otherwise, because JSON has no NaN."""
    return float(number) if abs(number) < float("inf") else None


def _replace_nonfinite(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table in which numbers that are not finite are None."""
    return {key: _finite_or_none(x) if isinstance(x, float) else x for key, x in table.items()}


def _print_report(identified: "Identified") -> None:
    """Print tables of estimated unknowns and of measured channels, and remarks."""
    from rich.table import Table

    console = open_console()
    table = Table("unknown", *make_numeric_columns("value", "deviation", "95 % from", "to"), "unit")
    rows = zip(identified.names, identified.values, identified.deviations, strict=True)
    for name, value, deviation in rows:
        low, high = identified.interval(name)
        row = [f"{x:.5g}" for x in (value, deviation, low, high)]
        table.add_row(escape_markup(name), *row, identified.unit(name))
    console.print(table)
    headings = ("samples", "effective", "RMS", "normalised", "explained (%)", "phi")
    noise = Table("residual", *make_numeric_columns(*headings, "Durbin-Watson", "whitened"), "unit")
    for channel in identified.channels:
        noise.add_row(
            escape_markup(channel.output),
            str(channel.samples),
            f"{channel.effective_samples:.0f}",
            f"{channel.rms:.3g}",
            "" if channel.normalised_rms is None else f"{channel.normalised_rms:.3g}",
            f"{100 * channel.explained:.2f}",
            f"{channel.correlation:.2f}",
            f"{channel.durbin_watson:.2f}",
            f"{channel.durbin_watson_innovations:.2f}",
            identified.unit(channel.output),
        )
    console.print(noise)
    for line in identified.remarks():
        console.print(escape_markup(line))
