"""Reader for the parameter files of BicycleParameters.

The program and its data: Moore 2012, doi:10.6084/m9.figshare.1198429. Text files have lines `name =
value+/-deviation`, YAML files a mapping `values` and the name of its `parameterization`:
`benchmark` (Meijaard et al. 2007, also called `Meijaard2007`), `principal` (also called
`Moore2019`), with the rider P apart from the rear frame D and inertias given by principal radii of
gyration, or `Moore2012`, with lengths along the steer axis. Files `JBini_*.m` of JBike6 are read,
too. The result is the benchmark's 26 parameters in the published axes, the arguments of the vehicle
`whipple`.
"""

import importlib
import math
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draisine.errors import DataError, check_file, did_you_mean
from draisine.registry import PARAMETER_SUFFIXES
from draisine.vehicles.bicycle._errata import find_benchmark_errors, find_rider_errors
from draisine.vehicles.bicycle._forms import BENCHMARK
from draisine.vehicles.bicycle._other_forms import (
    JBIKE6_SUFFIX,
    MOORE,
    MOORE_IGNORED,
    from_moore,
    read_jbike6,
)

PRINCIPAL = (
    *("w", "c", "lam", "g"),
    *("rR", "mR", "kRaa", "kRyy"),
    *("xD", "zD", "mD", "kDaa", "kDbb", "kDyy", "alphaD"),
    *("xP", "zP", "mP", "kPaa", "kPbb", "kPyy", "alphaP"),
    *("xH", "zH", "mH", "kHaa", "kHbb", "kHyy", "alphaH"),
    *("rF", "mF", "kFaa", "kFyy"),
)
"""Names of the parameters of the parameterisation `principal`."""

_PARAMETERIZATIONS = {
    "benchmark": "benchmark",
    "Meijaard2007": "benchmark",
    "principal": "principal",
    "Moore2019": "principal",
    "Moore2012": "moore",
    "moore": "moore",
}
_FORM_NAMES = {"benchmark": BENCHMARK, "principal": PRINCIPAL, "moore": MOORE}
# Names of values that are ignored: speed, parts of the fork, positions of sensors
_IGNORED = re.compile(
    r"v|IRzz|IFzz|[dh]\d|xcl|zcl|ds\d|[xzm][GS]|I[GS](xx|yy|zz|xz)|lP|wP|xR|zR|xF|zF|kRbb|kFbb"
)
# Names of values that must be zero, because the Whipple bicycle is symmetric about its plane
_ASYMMETRIC = re.compile(r"y[BDFGHPRS]|I[BFGHRS](xy|yz)|i[ce](12|23)")
# Names of the parameters of a flywheel in the front wheel, which the Whipple bicycle does not have
_FLYWHEEL = re.compile(r"mD|ID\w\w")
_ANGLE = re.compile(r"lam|alpha[DHP]")
# Names of raw measurements, which the program BicycleParameters converts to parameters
_RAW = re.compile(r"T[ct][A-Z]\d|alpha[BH]\d|a[BH]\d|lcs|hbb|lst|lsp|lamst|whb|Lhb[RF]")

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?P<value>{_NUMBER})(?:\s*\+/-\s*(?:{_NUMBER}|nan))?")
_SCALED = re.compile(rf"\((?P<value>{_NUMBER})\s*\+/-\s*(?:{_NUMBER}|nan)\)[eE](?P<power>[-+]?\d+)")

# Ambiguous numbers with digits only on both sides of a comma: a decimal comma, or two measurements
_COMMA = re.compile(r"(?<![\d.,])((?:(?<!/)[-+])?\d+),(\d+(?:[eE][-+]?\d+)?)(?![\d.,eE])")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry of a parameter file: name, text and line."""

    name: str
    """Name of the parameter."""
    text: str
    """Text of the value."""
    line: int
    """Line number in the file, starting with 1."""


def read_bicycle(path: str | Path) -> dict[str, float]:
    """Read the benchmark's 26 parameters from a file of BicycleParameters or JBike6.

    Parameters
    ----------
    path
        Text (`.txt`) or YAML (`.yml`, `.yaml`) file of BicycleParameters, or `JBini_*.m` of JBike6.

    Returns
    -------
    dict
        Parameters by name in SI units and in the published axes; standard deviations are ignored.

    Raises
    ------
    DataError
        If the file cannot be read, or if parameters are missing, unknown or invalid.

    Warns
    -----
    UserWarning
        About known errors in published data; the values are not corrected.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in PARAMETER_SUFFIXES:
        raise DataError(
            f"{path}: the suffix {path.suffix!r} is unknown. Files of BicycleParameters end with .txt "
            "(name = value+/-deviation) or .yml, those of JBike6 with .m."
        )
    check_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError(
            f"{path}: no such file. In the data of BicycleParameters, the file of a bicycle is "
            "bicycles/Name/Parameters/NameBenchmark.txt."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text: {error}.") from error
    if suffix == JBIKE6_SUFFIX:
        values = read_jbike6(path, text)
        lines = dict[str, int]()
        return _convert_to_benchmark(str(path), values, lines, "benchmark")
    if suffix == ".txt":
        form = None
        entries = _read_text_entries(path, text)
    else:
        form, entries = _read_yaml_entries(path, text)
    values, lines = _parse_values(path, entries)
    return _convert_to_benchmark(str(path), values, lines, form)


def from_values(values: Mapping[str, float], where: str = "the given values") -> dict[str, float]:
    """Convert a mapping of BicycleParameters to the benchmark's 26 parameters.

    Parameters
    ----------
    values
        Parameters by name in one of the forms of `read_bicycle`, plain numbers in SI units.
    where
        Origin of the values, for messages.

    Returns
    -------
    dict
        Parameters by name in SI units and in the published axes.

    Raises
    ------
    DataError
        If parameters are missing, unknown or invalid.
    """
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DataError(
                f"{where}: {name} = {value!r} is not a plain number; convert the values by "
                "remove_uncertainties of BicycleParameters."
            )
    return _convert_to_benchmark(
        where, {name: float(value) for name, value in values.items()}, {}, None
    )


def _read_text_entries(path: Path, text: str) -> list[_Entry]:
    """Return the entries of a text file with lines `name = value`."""
    entries = []
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        name, equals, value = content.partition("=")
        if not equals or not name.strip().isidentifier():
            raise DataError(
                f"{path}, line {number}: expected 'name = value+/-deviation', got {line.strip()!r}."
            )
        entries.append(_Entry(name.strip(), value.strip(), number))
    return entries


def _read_yaml_entries(path: Path, text: str) -> tuple[str | None, list[_Entry]]:
    """Return the parameterisation (None if not named) and the entries of a YAML file."""
    # Read nodes instead of values, because only nodes have line numbers, which messages need.
    yaml = importlib.import_module("yaml")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not a YAML file: {error}.") from error
    top = _read_yaml_mapping(path, root, "the file")
    if "values" not in top:
        return _read_parameterization(path, top), _scalar_entries(
            path, {key: pair for key, pair in top.items() if key != "parameterization"}
        )
    return _read_parameterization(path, top), _scalar_entries(
        path, _read_yaml_mapping(path, top["values"][0], "'values'")
    )


def _read_yaml_mapping(path: Path, node: Any, description: str) -> dict[str, tuple[Any, int]]:
    """Return the nodes of a YAML mapping by name, with their line numbers."""
    if getattr(node, "id", None) != "mapping":
        raise DataError(f"{path}: {description} must be a mapping of names to numbers, 'w: 1.02'.")
    pairs: dict[str, tuple[Any, int]] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.id != "scalar":
            raise DataError(f"{path}, line {line}: a name must be plain text.")
        if key.value in pairs:
            raise DataError(_describe_repetition(path, str(key.value), line, pairs[key.value][1]))
        pairs[key.value] = value, line
    return pairs


def _scalar_entries(path: Path, mapping: dict[str, tuple[Any, int]]) -> list[_Entry]:
    """Return the scalar nodes of a mapping as entries."""
    for name, (node, line) in mapping.items():
        if node.id != "scalar":
            raise DataError(f"{path}, line {line}: {name} must be a number.")
    return [_Entry(name, node.value, line) for name, (node, line) in mapping.items()]


def _read_parameterization(path: Path, mapping: dict[str, tuple[Any, int]]) -> str | None:
    """Return the parameterisation that a YAML file names; None if it does not name one."""
    if "parameterization" not in mapping:
        return None
    node, line = mapping["parameterization"]
    if not isinstance(node.value, str) or node.value not in _PARAMETERIZATIONS:
        raise DataError(
            f"{path}, line {line}: unknown parameterization {node.value!r}. "
            f"{did_you_mean(str(node.value), _PARAMETERIZATIONS)} BicycleParameters' "
            "to_parameterization('Meijaard2007') converts some others."
        )
    return _PARAMETERIZATIONS[node.value]


def _parse_values(path: Path, entries: Iterable[_Entry]) -> tuple[dict[str, float], dict[str, int]]:
    """Return values and line numbers of the entries by name; several measurements are averaged."""
    values: dict[str, float] = {}
    lines: dict[str, int] = {}
    for entry in entries:
        if entry.name in lines:
            raise DataError(_describe_repetition(path, entry.name, entry.line, lines[entry.name]))
        lines[entry.name] = entry.line
        if comma := _COMMA.search(entry.text):
            integer, decimals = comma.groups()
            raise DataError(
                f"{path}, line {entry.line}: {entry.name} = {entry.text!r}: write {integer}.{decimals}, or "
                f"'{integer}, {decimals}' for two measurements."
            )
        measurements = [_parse_number(text.strip()) for text in entry.text.split(",")]
        if None in measurements:
            degrees = entry.text.removesuffix("deg").removesuffix("\N{DEGREE SIGN}")
            angle = _parse_number(degrees.strip()) if degrees != entry.text else None
            correction = "it as 1.02 or 1.02+/-0.01." if angle is None else _advise_radians(angle)
            raise DataError(
                f"{path}, line {entry.line}: {entry.name} = {entry.text!r} is not a number; write "
                f"{correction}"
            )
        value = math.fsum(x for x in measurements if x is not None) / len(measurements)
        if _ANGLE.fullmatch(entry.name) and math.tau < abs(value) < math.inf:
            raise DataError(
                f"{path}, line {entry.line}: {entry.name} = {value:g} rad is more than a turn; for "
                f"degrees write {_advise_radians(value)}"
            )
        values[entry.name] = value
    return values, lines


def _advise_radians(degrees: float) -> str:
    """Return the advice to write an angle in radians, for an error message."""
    return f"{math.radians(degrees):.6g}, the angle in radians."


def _parse_number(text: str) -> float | None:
    """Return the value of a text without its deviation; None if the text is not a number."""
    if match := _VALUE.fullmatch(text):
        return float(match["value"])
    if match := _SCALED.fullmatch(text):
        return float(f"{match['value']}e{match['power']}")
    if match := re.fullmatch(r"pi/(\d+)", text):  # notation of the benchmark file of HumanControl
        return math.pi / float(match[1])
    try:
        return float(text)
    except ValueError:
        return None


def _describe_repetition(path: Path, name: str, line: int, first_line: int) -> str:
    """Return the error message about a parameter name that a file contains twice."""
    return f"{path}, line {line}: {name} is defined twice, first in line {first_line}; remove one."


def _convert_to_benchmark(
    source: str, values: dict[str, float], lines: dict[str, int], form: str | None
) -> dict[str, float]:
    """Return the benchmark's parameters from the checked values of a form, which is inferred if it
    is None.
    """
    if form is None:
        form = "principal" if "kDaa" in values or "kPaa" in values else "benchmark"
        form = "moore" if {"d1", "d2", "d3", "l1"} <= set(values) and "w" not in values else form
    place = {name: f"{source}, line {lines[name]}" if name in lines else source for name in values}
    _check_names(source, place, values, form)
    _check_signs(place, values)
    errors: list[str] = []
    if form == "principal":
        errors += find_rider_errors(values)
        benchmark = _from_principal(values)
    elif form == "moore":
        converted = from_moore(values, source)
        benchmark = {name: converted[name] for name in BENCHMARK}
    else:
        benchmark = {name: values[name] for name in BENCHMARK}
    for error in (*errors, *find_benchmark_errors(benchmark)):
        warnings.warn(f"{source}: {error}", UserWarning, stacklevel=3)
    return benchmark


def _check_names(
    source: str, locations: Mapping[str, str], values: Mapping[str, float], form: str
) -> None:
    """Raise `DataError` for missing, unknown, asymmetric or infinite parameters."""
    names = _FORM_NAMES[form]
    ignored = MOORE_IGNORED if form == "moore" else _IGNORED
    if form != "moore" and any(_RAW.fullmatch(name) for name in values):
        raise DataError(
            f"{source}: these are raw measurements (lengths, angles, periods), not parameters. Use "
            "NameBenchmark.txt from the folder Parameters, or let BicycleParameters compute it."
        )
    missing = [name for name in names if name not in values]
    for name, value in values.items():
        if not math.isfinite(value):
            raise DataError(f"{locations[name]}: {name} = {value} is not a finite number.")
        if name in names or ignored.fullmatch(name):
            continue
        if _ASYMMETRIC.fullmatch(name):
            if abs(value) > 1e-6:
                raise DataError(
                    f"{locations[name]}: {name} = {value:g} makes the bicycle asymmetric, but the Whipple "
                    "bicycle is symmetric about its plane. Set it to zero if it is negligible."
                )
        elif _FLYWHEEL.fullmatch(name):
            if value != 0:
                raise DataError(
                    f"{locations[name]}: {name} = {value:g} belongs to a flywheel, which the Whipple bicycle "
                    "does not have. Add its mass and inertia to the front wheel, or remove it."
                )
        else:
            raise DataError(
                f"{locations[name]}: unknown parameter {name!r}. {did_you_mean(name, missing or names)}"
            )
    if missing:
        raise _describe_missing(source, values, form, missing)


def _describe_missing(
    source: str, values: Mapping[str, float], form: str, missing: list[str]
) -> DataError:
    """Return the error about missing parameters, with a hint at the probable cause."""
    names = _FORM_NAMES[form]
    hint = ""
    if set(missing) <= {"IByy", "IHyy"}:
        hint = " Only the linearised model works without them."
    if all(name[1:2] == "B" for name in values if name in names):
        hint = (
            " These are parameters of a rider alone; add_rider of BicycleParameters adds a bicycle."
        )
    return DataError(
        f"{source}: {', '.join(missing)} missing; the {form} form needs {len(names)} parameters."
        f"{hint} To change only some values of a parameter set, use --set mB=90."
    )


def _check_signs(locations: Mapping[str, str], values: Mapping[str, float]) -> None:
    """Raise `DataError` for negative masses, lengths, radii or moments of inertia."""
    for name, value in values.items():
        if value < 0 and re.fullmatch(
            r"[mr][A-Z]|w|g|k[A-Z]\w\w|I[A-Z](xx|yy|zz)|[rm][a-f]|r[rf]|i[a-f](11|22|33)", name
        ):
            raise DataError(f"{locations[name]}: {name} = {value:g} must not be negative.")


def _from_principal(principal_values: Mapping[str, float]) -> dict[str, float]:
    """Return the benchmark's parameters from the parameterisation `principal`.

    Frame D and rider P become one body B, by the parallel axis theorem with their reduced mass.
    """
    frame = _rotate_inertia(principal_values, "D")
    rider = _rotate_inertia(principal_values, "P")
    mass = principal_values["mD"] + principal_values["mP"]
    reduced_mass = principal_values["mD"] * principal_values["mP"] / mass if mass else 0.0
    dx = principal_values["xP"] - principal_values["xD"]
    dz = principal_values["zP"] - principal_values["zD"]
    xx, yy, zz, xz = (a + b for a, b in zip(frame, rider, strict=True))
    unchanged = ("w", "c", "lam", "g", "rR", "mR", "xH", "zH", "mH", "rF", "mF")
    benchmark = {name: principal_values[name] for name in unchanged} | {
        "xB": principal_values["xD"] + (principal_values["mP"] / mass * dx if mass else 0.0),
        "zB": principal_values["zD"] + (principal_values["mP"] / mass * dz if mass else 0.0),
        "mB": mass,
        "IBxx": xx + reduced_mass * dz**2,
        "IByy": yy + reduced_mass * (dx**2 + dz**2),
        "IBzz": zz + reduced_mass * dx**2,
        "IBxz": xz - reduced_mass * dx * dz,
    }
    benchmark |= dict(
        zip(("IHxx", "IHyy", "IHzz", "IHxz"), _rotate_inertia(principal_values, "H"), strict=True)
    )
    for wheel in "RF":
        for moment, radius in (("xx", "aa"), ("yy", "yy")):
            benchmark[f"I{wheel}{moment}"] = (
                principal_values[f"m{wheel}"] * principal_values[f"k{wheel}{radius}"] ** 2
            )
    return {name: benchmark[name] for name in BENCHMARK}


def _rotate_inertia(
    principal_values: Mapping[str, float], body: str
) -> tuple[float, float, float, float]:
    """Return the inertia (xx, yy, zz, xz) of a body in kg m2; alpha rotates its first principal
    axis about y.
    """
    a, b, yy = (
        principal_values[f"m{body}"] * principal_values[f"k{body}{axis}"] ** 2
        for axis in ("aa", "bb", "yy")
    )
    s, c = math.sin(principal_values[f"alpha{body}"]), math.cos(principal_values[f"alpha{body}"])
    return a * c * c + b * s * s, yy, a * s * s + b * c * c, (b - a) * s * c
