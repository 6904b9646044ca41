"""`draisine eigenvalues`: eigenvalues, critical speeds and root loci."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from draisine.cli._options import (
    NO_MACHINE_OPTIONS,
    NO_OUTPUT_OPTIONS,
    Laws,
    MachineOptions,
    OutputOptions,
    Signed,
    Values,
    parse_laws,
    parse_numbers,
    parse_range,
)
from draisine.cli._report import print_motions, print_result
from draisine.cli._screen import print_json

if TYPE_CHECKING:
    from xarray import Dataset

    from draisine.algebra.scalar import Floats


def eigenvalues(
    vehicle: str = "whipple",
    /,
    *,
    speed: Signed = None,
    lean: Signed = None,
    slope: Signed = None,
    camber: Signed = None,
    acceleration: Signed = None,
    form: str | None = None,
    scenario: str | None = None,
    law: Laws = None,
    machine: MachineOptions = NO_MACHINE_OPTIONS,
    output: OutputOptions = NO_OUTPUT_OPTIONS,
) -> None:
    """Compute eigenvalues and critical speeds of a bicycle, or eigenvalues of any steady motion.

    The eigenvalues of a bicycle are those of straight running at each speed. If a parameter is a range
    (--set c=0.04:0.12:5), the critical speeds over this parameter are computed; two ranges yield a map.

    --lean, --slope, --camber or --acceleration compute a root locus: one of them or --speed is a range
    LOW:HIGH:COUNT, the others are numbers. --law closes the loop, --plot draws the root locus.
    --camber and --lean exclude each other.

    --scenario computes the eigenvalues about the steady motion in which a scenario starts (its table
    [initial.steady]), on its terrain: a crowned or banked road, a bowl. A range of --speed, --lean or
    --acceleration replaces the value of this table.

    Parameters
    ----------
    vehicle
        Name of a vehicle, or FILE.py:function.
    speed
        Speeds in m/s: LOW:HIGH:COUNT, or a list, 3,5,7. Default: 0:10:101 for a bicycle, 0 for other
        vehicles.
    lean
        Lean of steady turns, positive to the right: 0:50deg:51.
    slope
        Slope of the ground in rad, positive uphill: 0:0.3:31.
    camber
        Cross slope of the ground in rad, positive if it rises to the left: 0:0.2:21.
    acceleration
        Forward acceleration in m/s2, negative while braking: -4:4:81.
    form
        Linearisation of accelerating motions: frozen (derivatives at the instant) or dalembert
        (constant speed under the inertial load).
    scenario
        Scenario with a table [initial.steady], instead of a vehicle, slope and camber.
    """
    from draisine.errors import ParameterError
    from draisine.experiment.run import run as run_scenario
    from draisine.scenario.library import join_first, validate_scenario

    output.check_outputs()
    ground = {"slope": slope, "camber": camber}
    locus_values = {"lean": lean, **ground, "forward_acceleration": acceleration}
    if scenario is not None:
        given = [f"--{name}" for name, text in ground.items() if text is not None]
        given += ["--law"] * bool(law) + [vehicle] * (vehicle != "whipple")
        if given:
            raise ParameterError(
                f"--scenario describes the machine, ground and laws. Leave out {' and '.join(given)}; "
                "--set terrain.slope=3deg changes the scenario."
            )
        quantities = {"forward_speed": speed, "lean": lean, "forward_acceleration": acceleration}
        _print_scenario_locus(scenario, quantities, form, machine, output)
        return
    if form is not None or any(text is not None for text in locus_values.values()):
        _print_locus(vehicle, {"forward_speed": speed} | locus_values, form, law, machine, output)
        return
    if ranges := [text for text in machine.set or [] if text.count(":") == 2]:
        _print_critical_speeds(vehicle, ranges, speed, law, machine, output)
        return
    laws = parse_laws(law or [])
    vehicle_table = {"name": vehicle, "parameters": machine.parameters}
    if machine.parameter_set is not None:
        vehicle_table["parameter_set"] = machine.parameter_set
    content = {
        "kind": "linear",
        "title": ", ".join(
            [
                f"steady motion of {vehicle}",
                *filter(None, [machine.parameter_set]),
                *filter(None, [join_first(machine.set or [])]),
                *(f"law {table['name']}" for table in laws),
            ]
        ),
        "vehicle": vehicle_table,
        "law": laws,
    }
    if speed is not None:
        content["speeds"] = _parse_speeds(speed)
    result = run_scenario(validate_scenario("eigenvalues", "eigenvalues", content))
    print_result(result, output.json)
    output.write_outputs(result.data)


def _print_locus(
    vehicle: str,
    texts: dict[str, str | None],
    form: str | None,
    law: Values,
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Print the eigenvalues of steady motions over a range of speed, lean, slope or acceleration."""
    from draisine.cli._screen import progress_bar
    from draisine.experiment.tables.loci import compute_root_locus

    over, grid, fixed = _parse_locus(texts, form)
    parameters = (machine.parameters, machine.parameter_set)
    with progress_bar(f"root locus of {vehicle}"):
        data = compute_root_locus(
            vehicle, *parameters, over, grid, fixed, form, parse_laws(law or [])
        )
    _print_locus_data(vehicle, data, output)


def _print_scenario_locus(
    scenario: str,
    texts: dict[str, str | None],
    form: str | None,
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Print the eigenvalues about the steady motion of a scenario, or over a range of speed, lean or
    acceleration.
    """
    from draisine.cli._options import NO_RUN_OPTIONS
    from draisine.cli._screen import progress_bar
    from draisine.experiment.tables.loci import compute_scenario_locus

    changes = NO_RUN_OPTIONS.collect_changes(machine)
    over = None
    grid = None
    if form is not None or any(text is not None for text in texts.values()):
        over, grid, fixed = _parse_locus(texts, form)
        changes |= {f"initial.steady.{name}": value for name, value in fixed.items()}
    with progress_bar(f"root locus of {scenario}"):
        data = compute_scenario_locus(scenario, changes, over, grid, form)
    _print_locus_data(data.attrs["vehicle"], data, output)


def _print_locus_data(vehicle: str, data: "Dataset", output: OutputOptions) -> None:
    """Print a root locus as a table or as JSON, and write its files."""
    from draisine.experiment.tables.loci import describe_locus, tabulate_locus

    if output.json:
        columns = {str(n): x.values.tolist() for n, x in data.variables.items()}
        print_json(columns | {"end": data.attrs["end"], "form": data.attrs["form"]})
    else:
        print_motions(
            vehicle, str(data.attrs["title"]), *tabulate_locus(data), describe_locus(data)
        )
    output.write_outputs(data)


def _parse_locus(
    texts: dict[str, str | None], form: str | None
) -> tuple[str, "Floats", dict[str, float]]:
    """Parse the options of a root locus; return the varied quantity, its values, and the constant
    quantities.
    """
    import numpy as np

    from draisine.errors import ParameterError
    from draisine.experiment.tables.loci import LOCUS_UNITS

    if form not in (None, "frozen", "dalembert"):
        raise ParameterError(f"Unknown --form {form}. Available: frozen, dalembert.")
    if form is not None and texts["forward_acceleration"] is None:
        raise ParameterError(f"--form {form} needs an acceleration, for example --acceleration -2.")
    options = {"forward_speed": "--speed", "forward_acceleration": "--acceleration"}
    fixed = {}
    values = {}
    for name, text in texts.items():
        if text is None:
            continue
        option = options.get(name, f"--{name}")
        if ":" in text:
            values[name] = np.linspace(*parse_range(option, text, "0:30deg:31", LOCUS_UNITS[name]))
            continue
        each = parse_numbers(option, text, "10deg, or 0:30deg:31", LOCUS_UNITS[name])
        if len(each) > 1:
            values[name] = np.array(each)
        else:
            fixed[name] = each[0]
    if len(values) > 1:
        several = " and ".join(options.get(name, f"--{name}") for name in values)
        raise ParameterError(
            f"{several} are ranges. Give a range for one of them and numbers for the others."
        )
    if not values:
        last = list(fixed)[-1]
        values = {last: np.array([fixed.pop(last)])}
    over, grid = next(iter(values.items()))
    return over, grid, fixed


def _print_critical_speeds(
    vehicle: str,
    ranges: list[str],
    speed: str | None,
    law: Values,
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Print critical speeds over the parameters whose values are ranges."""
    import numpy as np

    from draisine.errors import ParameterError
    from draisine.experiment.tables.critical import (
        compute_critical_table,
        tabulate_critical_speeds,
    )
    from draisine.registry import find
    from draisine.vehicles import meanings

    if speed is not None or law or len(ranges) > 2:
        if speed is not None:
            excluded = f"--speed {speed}"
        else:
            excluded = f"--law {law[0]}" if law else f"--set {ranges[-1]}"
        raise ParameterError(
            f"--set {ranges[0]} is a range: critical speeds are computed over one or two parameters. "
            f"Leave out {excluded}."
        )
    units = meanings(find("vehicle", vehicle))
    ends = {}
    for text in ranges:
        name, _, interval = text.partition("=")
        ends[name] = parse_range(
            f"--set {name}", interval, "0.04:0.12:5", units.get(name, (None, ""))[0]
        )
    fixed = replace(machine, set=[each for each in machine.set or [] if each not in ranges])
    data = compute_critical_table(vehicle, fixed.parameters, fixed.parameter_set, ends)
    if output.json:
        columns = {str(n): x.values for n, x in data.variables.items() if n != "outcome"}
        for name, x in columns.items():
            columns[name] = x.astype(object)
            columns[name][~np.isfinite(x)] = None
        print_json({name: x.tolist() for name, x in columns.items()})
    else:
        lines = [f"computed in {data.attrs['seconds']:.3g} s"]
        print_motions(vehicle, str(data.attrs["title"]), *tabulate_critical_speeds(data), lines)
    output.write_outputs(data)


def _parse_speeds(text: str) -> dict[str, Any]:
    """Parse the option --speed into the table `speeds` of a scenario."""
    if ":" not in text:
        return {"at": parse_numbers("--speed", text, "5, 3,5,7 or 0:10:101", "m/s")}
    low, high, count = parse_range("--speed", text, "0:10:101")
    return {"low": low, "high": high, "count": count}
