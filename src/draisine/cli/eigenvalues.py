"""`draisine eigenvalues`."""

from dataclasses import replace
from typing import Any

from draisine.cli._options import (
    MACHINE,
    OUTPUT,
    Laws,
    MachineOptions,
    OutputOptions,
    Signed,
    Values,
    law_tables,
    numbers,
    span,
)
from draisine.cli._report import motions, report
from draisine.cli._screen import print_json


def eigenvalues(
    vehicle: str = "whipple",
    /,
    *,
    speed: Signed = None,
    lean: Signed = None,
    slope: Signed = None,
    acceleration: Signed = None,
    form: str | None = None,
    law: Laws = None,
    machine: MachineOptions = MACHINE,
    output: OutputOptions = OUTPUT,
) -> None:
    """Eigenvalues of a bicycle that runs straight, against speed, and its critical speeds; of any
    other machine those about its steady motion. Where a parameter is a range, --set c=0.04:0.12:5, the
    critical speeds against it; of two a map.

    With --lean, --slope or --acceleration it is a root locus: one of them or --speed is a range,
    LOW:HIGH:COUNT, the others are numbers; --law closes the loop, --plot draws it.

    :param vehicle: A vehicle's name, or FILE.py:function.
    :param speed: Speeds in m/s: LOW:HIGH:COUNT, or one by one, 3,5,7; a bicycle's are 0:10:101 if not given,
        those of other machines 0.
    :param lean: Lean of steady turns, positive to the right: 0:50deg:51.
    :param slope: Slope of the ground, rising forward: 0:0.3:31.
    :param acceleration: Forward acceleration in m/s2, negative while braking: -4:4:81.
    :param form: Linearisation of accelerating motions: frozen (derivatives at the instant) or dalembert
        (constant speed under the inertial load).
    """
    from draisine.experiment.run import run as carry_out
    from draisine.scenario.library import accept, few

    output.check()
    turned = {"lean": lean, "slope": slope, "forward_acceleration": acceleration}
    if form is not None or any(text is not None for text in turned.values()):
        _locus(vehicle, {"forward_speed": speed} | turned, form, law, machine, output)
        return
    if ranges := [text for text in machine.set or [] if text.count(":") == 2]:
        _study(vehicle, ranges, speed, law, machine, output)
        return
    laws = law_tables(law or [])
    chosen = {"name": vehicle, "parameters": machine.parameters}
    if machine.parameter_set is not None:
        chosen["parameter_set"] = machine.parameter_set
    content = {
        "kind": "linear",
        "title": ", ".join(
            [
                f"steady motion of {vehicle}",
                *filter(None, [machine.parameter_set]),
                *filter(None, [few(machine.set or [])]),
                *(f"law {table['name']}" for table in laws),
            ]
        ),
        "vehicle": chosen,
        "law": laws,
    }
    if speed is not None:
        content["speeds"] = _speeds(speed)
    result = carry_out(accept("eigenvalues", "eigenvalues", content))
    report(result, output.json)
    output.keep(result.data)


def _locus(
    vehicle: str,
    asked: dict[str, str | None],
    form: str | None,
    law: Values,
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Print eigenvalues about steady motions over one value that is a range."""
    import numpy as np

    from draisine.cli._screen import progress_bar
    from draisine.errors import ParameterError
    from draisine.experiment.tables.loci import UNITS, compute_root_locus, remarks, table

    if form not in (None, "frozen", "dalembert"):
        raise ParameterError(f"Unknown --form {form}. Available: frozen, dalembert.")
    if form is not None and asked["forward_acceleration"] is None:
        raise ParameterError(f"--form {form} goes with --acceleration -2 or another acceleration.")
    options = {"forward_speed": "--speed", "forward_acceleration": "--acceleration"}
    fixed, values = {}, {}
    for name, text in asked.items():
        if text is None:
            continue
        option = options.get(name, f"--{name}")
        if ":" in text:
            values[name] = np.linspace(*span(option, text, "0:30deg:31", UNITS[name]))
            continue
        each = numbers(option, text, "10deg, or 0:30deg:31", UNITS[name])
        if len(each) > 1:
            values[name] = np.array(each)
        else:
            fixed[name] = each[0]
    if len(values) > 1:
        several = " and ".join(options.get(name, f"--{name}") for name in values)
        raise ParameterError(f"{several} are ranges; a root locus is over one of them.")
    if not values:
        last = list(fixed)[-1]
        values = {last: np.array([fixed.pop(last)])}
    over, grid = next(iter(values.items()))
    given = (vehicle, machine.parameters, machine.parameter_set, over, grid, fixed, form)
    with progress_bar(f"root locus of {vehicle}"):
        data = compute_root_locus(*given, law_tables(law or []))
    if output.json:
        columns = {str(n): x.values.tolist() for n, x in data.variables.items()}
        print_json(columns | {"end": data.attrs["end"], "form": data.attrs["form"]})
    else:
        motions(vehicle, str(data.attrs["title"]), *table(data), remarks(data))
    output.keep(data)


def _study(
    vehicle: str,
    ranges: list[str],
    speed: str | None,
    law: Values,
    machine: MachineOptions,
    output: OutputOptions,
) -> None:
    """Tell critical speeds against the parameters that are ranges."""
    import numpy as np

    from draisine.errors import ParameterError
    from draisine.experiment.tables.critical import compute_critical_speeds, table
    from draisine.registry import find
    from draisine.vehicles import meanings

    if speed is not None or law or len(ranges) > 2:
        what = f"--law {law[0]}" if law else f"--set {ranges[-1]}"
        what = f"--speed {speed}" if speed is not None else what
        raise ParameterError(
            f"--set {ranges[0]} is a range, against which (or against two) critical speeds are told; "
            f"without {what}."
        )
    units, ends = meanings(find("vehicle", vehicle)), {}
    for text in ranges:
        name, _, asked = text.partition("=")
        ends[name] = span(f"--set {name}", asked, "0.04:0.12:5", units.get(name, (None, ""))[0])
    fixed = replace(machine, set=[each for each in machine.set or [] if each not in ranges])
    data = compute_critical_speeds(vehicle, fixed.parameters, fixed.parameter_set, ends)
    if output.json:
        columns = {str(n): x.values for n, x in data.variables.items() if n != "outcome"}
        for name, x in columns.items():
            columns[name] = x.astype(object)
            columns[name][~np.isfinite(x)] = None
        print_json({name: x.tolist() for name, x in columns.items()})
    else:
        lines = [f"computed in {data.attrs['seconds']:.3g} s"]
        motions(vehicle, str(data.attrs["title"]), *table(data), lines)
    output.keep(data)


def _speeds(text: str) -> dict[str, Any]:
    """Return the speeds that are asked for as a scenario's table."""
    if ":" not in text:
        return {"at": numbers("--speed", text, "5, 3,5,7 or 0:10:101", "m/s")}
    low, high, count = span("--speed", text, "0:10:101")
    return {"low": low, "high": high, "count": count}
