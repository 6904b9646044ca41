"""Reader for the parameter files of BicycleParameters.

The program and its data: Moore 2012, doi:10.6084/m9.figshare.1198429. Text files hold lines `name =
value+/-deviation`, YAML files a mapping `values` and the name of its `parameterization`:
`benchmark` (Meijaard et al. 2007, also called `Meijaard2007`), `principal` (also called
`Moore2019`), with the rider P apart from the rear frame D and inertias given by principal radii of
gyration, or `Moore2012`, with lengths along the steer axis. Files `JBini_*.m` of JBike6 are read, too. What
comes back are the benchmark's 26 parameters in the published axes, ready for the vehicle `whipple`.
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
from draisine.vehicles.bicycle._errata import benchmark_errors, rider_errors
from draisine.vehicles.bicycle._forms import BENCHMARK
from draisine.vehicles.bicycle._other_forms import (
    JBIKE6_ENDING,
    MOORE,
    MOORE_BESIDE,
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
_PARAMETERIZATIONS = {
    "benchmark": "benchmark",
    "Meijaard2007": "benchmark",
    "principal": "principal",
    "Moore2019": "principal",
    "Moore2012": "moore",
    "moore": "moore",
}
_NAMES = {"benchmark": BENCHMARK, "principal": PRINCIPAL, "moore": MOORE}
# What the files may carry beside the parameters: speed, parts of the fork, places of sensors.
_BESIDE = re.compile(
    r"v|IRzz|IFzz|[dh]\d|xcl|zcl|ds\d|[xzm][GS]|I[GS](xx|yy|zz|xz)|lP|wP|xR|zR|xF|zF|kRbb|kFbb"
)
_ASYMMETRIC = re.compile(r"y[BDFGHPRS]|I[BFGHRS](xy|yz)|i[ce](12|23)")
_FLYWHEEL = re.compile(r"mD|ID\w\w")
_ANGLE = re.compile(r"lam|alpha[DHP]")
_RAW = re.compile(r"T[ct][A-Z]\d|alpha[BH]\d|a[BH]\d|lcs|hbb|lst|lsp|lamst|whb|Lhb[RF]")

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VALUE = re.compile(rf"(?P<value>{_NUMBER})(?:\s*\+/-\s*(?:{_NUMBER}|nan))?")
_SCALED = re.compile(rf"\((?P<value>{_NUMBER})\s*\+/-\s*(?:{_NUMBER}|nan)\)[eE](?P<power>[-+]?\d+)")

# What may be a decimal comma as well as two measurements: digits alone on both sides of it.
_COMMA = re.compile(r"(?<![\d.,])((?:(?<!/)[-+])?\d+),(\d+(?:[eE][-+]?\d+)?)(?![\d.,eE])")


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    text: str
    line: int


def read_bicycle(path: str | Path) -> dict[str, float]:
    """Return the benchmark's 26 parameters from a text (`.txt`) or YAML (`.yml`, `.yaml`) file of
    BicycleParameters, or from a file `JBini_*.m` of JBike6.

    Deviations are left out. Known errors in published data are read as they stand, with a warning.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in PARAMETER_SUFFIXES:
        raise DataError(
            f"{path}: BicycleParameters' files end in .txt (name = value+/-deviation) or in .yml, those of "
            f"JBike6 in .m; this one ends in {path.suffix!r}."
        )
    check_file(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataError(
            f"{path}: no such file. In BicycleParameters' data a bicycle is "
            "bicycles/Name/Parameters/NameBenchmark.txt."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as text: {error}.") from error
    if suffix == JBIKE6_ENDING:
        values, lines = read_jbike6(path, text), dict[str, int]()
        return _bicycle(str(path), values, lines, "benchmark")
    if suffix == ".txt":
        form, entries = None, _text_entries(path, text)
    else:
        form, entries = _yaml_entries(path, text)
    values, lines = _numbers(path, entries)
    return _bicycle(str(path), values, lines, form)


def from_values(values: Mapping[str, float], where: str = "the given values") -> dict[str, float]:
    """Return the 26 parameters from a mapping, as BicycleParameters holds it in memory."""
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DataError(
                f"{where}: {name} = {value!r} is not a plain number; BicycleParameters' "
                "remove_uncertainties makes it one."
            )
    return _bicycle(where, {name: float(value) for name, value in values.items()}, {}, None)


def _text_entries(path: Path, text: str) -> list[_Entry]:
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


def _yaml_entries(path: Path, text: str) -> tuple[str | None, list[_Entry]]:
    """Return the parameterisation, if named, and the entries, from the nodes: these know lines."""
    yaml = importlib.import_module("yaml")
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise DataError(f"{path}: not a YAML file: {error}.") from error
    top = _pairs(path, root, "the file")
    if "values" not in top:
        return _parameterization(path, top), _scalars(
            path, {key: pair for key, pair in top.items() if key != "parameterization"}
        )
    return _parameterization(path, top), _scalars(path, _pairs(path, top["values"][0], "'values'"))


def _pairs(path: Path, node: Any, what: str) -> dict[str, tuple[Any, int]]:
    if getattr(node, "id", None) != "mapping":
        raise DataError(f"{path}: {what} must be a mapping of names to numbers, 'w: 1.02'.")
    pairs: dict[str, tuple[Any, int]] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if key.id != "scalar":
            raise DataError(f"{path}, line {line}: a name must be a plain word.")
        if key.value in pairs:
            raise DataError(_twice(path, str(key.value), line, pairs[key.value][1]))
        pairs[key.value] = value, line
    return pairs


def _scalars(path: Path, pairs: dict[str, tuple[Any, int]]) -> list[_Entry]:
    for name, (node, line) in pairs.items():
        if node.id != "scalar":
            raise DataError(f"{path}, line {line}: {name} must be a number.")
    return [_Entry(name, node.value, line) for name, (node, line) in pairs.items()]


def _parameterization(path: Path, top: dict[str, tuple[Any, int]]) -> str | None:
    if "parameterization" not in top:
        return None
    node, line = top["parameterization"]
    if not isinstance(node.value, str) or node.value not in _PARAMETERIZATIONS:
        raise DataError(
            f"{path}, line {line}: unknown parameterization {node.value!r}. "
            f"{did_you_mean(str(node.value), _PARAMETERIZATIONS)} BicycleParameters' "
            "to_parameterization('Meijaard2007') converts some others."
        )
    return _PARAMETERIZATIONS[node.value]


def _numbers(path: Path, entries: Iterable[_Entry]) -> tuple[dict[str, float], dict[str, int]]:
    values: dict[str, float] = {}
    lines: dict[str, int] = {}
    for entry in entries:
        if entry.name in lines:
            raise DataError(_twice(path, entry.name, entry.line, lines[entry.name]))
        lines[entry.name] = entry.line
        if comma := _COMMA.search(entry.text):
            whole, part = comma.groups()
            raise DataError(
                f"{path}, line {entry.line}: {entry.name} = {entry.text!r}: write {whole}.{part}, or "
                f"'{whole}, {part}' for two measurements."
            )
        parts = [_number(part.strip()) for part in entry.text.split(",")]
        if None in parts:
            degrees = entry.text.removesuffix("deg").removesuffix("\N{DEGREE SIGN}")
            angle = _number(degrees.strip()) if degrees != entry.text else None
            way = "it as 1.02 or 1.02+/-0.01." if angle is None else _in_radians(angle)
            raise DataError(
                f"{path}, line {entry.line}: {entry.name} = {entry.text!r} is not a number; write {way}"
            )
        value = math.fsum(part for part in parts if part is not None) / len(parts)
        if _ANGLE.fullmatch(entry.name) and math.tau < abs(value) < math.inf:
            raise DataError(
                f"{path}, line {entry.line}: {entry.name} = {value:g} rad is more than a turn; for "
                f"degrees write {_in_radians(value)}"
            )
        values[entry.name] = value
    return values, lines


def _in_radians(degrees: float) -> str:
    return f"{math.radians(degrees):.6g}, the angle in radians."


def _number(text: str) -> float | None:
    if match := _VALUE.fullmatch(text):
        return float(match["value"])
    if match := _SCALED.fullmatch(text):
        return float(f"{match['value']}e{match['power']}")
    if match := re.fullmatch(r"pi/(\d+)", text):  # HumanControl's benchmark
        return math.pi / float(match[1])
    try:
        return float(text)
    except ValueError:
        return None


def _twice(path: Path, name: str, line: int, first: int) -> str:
    return f"{path}, line {line}: {name} stands twice, first in line {first}; keep one of them."


def _bicycle(
    where: str, values: dict[str, float], lines: dict[str, int], form: str | None
) -> dict[str, float]:
    if form is None:
        form = "principal" if "kDaa" in values or "kPaa" in values else "benchmark"
        form = "moore" if {"d1", "d2", "d3", "l1"} <= set(values) and "w" not in values else form
    place = {name: f"{where}, line {lines[name]}" if name in lines else where for name in values}
    _check_names(where, place, values, form)
    _check_signs(place, values)
    wrong: list[str] = []
    if form == "principal":
        wrong += rider_errors(values)
        benchmark = _from_principal(values)
    elif form == "moore":
        found = from_moore(values, where)
        benchmark = {name: found[name] for name in BENCHMARK}
    else:
        benchmark = {name: values[name] for name in BENCHMARK}
    for told in (*wrong, *benchmark_errors(benchmark)):
        warnings.warn(f"{where}: {told}", UserWarning, stacklevel=3)
    return benchmark


def _check_names(
    where: str, place: Mapping[str, str], values: Mapping[str, float], form: str
) -> None:
    names, beside = _NAMES[form], MOORE_BESIDE if form == "moore" else _BESIDE
    if form != "moore" and any(_RAW.fullmatch(name) for name in values):
        raise DataError(
            f"{where}: these are raw measurements (lengths, angles, periods), not parameters; "
            "take NameBenchmark.txt from the folder Parameters, or let BicycleParameters compute "
            "it."
        )
    missing = [name for name in names if name not in values]
    for name, value in values.items():
        if not math.isfinite(value):
            raise DataError(f"{place[name]}: {name} = {value} is not a finite number.")
        if name in names or beside.fullmatch(name):
            continue
        if _ASYMMETRIC.fullmatch(name):
            if abs(value) > 1e-6:
                raise DataError(
                    f"{place[name]}: {name} = {value:g} makes the bicycle asymmetric; Whipple's "
                    "is symmetric about its plane. Set it to zero if it may be left out."
                )
        elif _FLYWHEEL.fullmatch(name):
            if value != 0:
                raise DataError(
                    f"{place[name]}: {name} = {value:g} is a flywheel's, which Whipple's bicycle "
                    "has not. Add its mass and inertia to the front wheel, or leave it out."
                )
        else:
            raise DataError(
                f"{place[name]}: unknown parameter {name!r}. {did_you_mean(name, missing or names)}"
            )
    if missing:
        raise _missing(where, values, form, missing)


def _missing(where: str, values: Mapping[str, float], form: str, missing: list[str]) -> DataError:
    """Return the error that tells what a file lacks, and why it may."""
    names = _NAMES[form]
    hint = ""
    if set(missing) <= {"IByy", "IHyy"}:
        hint = " The linearised model does without, the nonlinear one does not."
    if all(name[1:2] == "B" for name in values if name in names):
        hint = " A rider alone is no bicycle; BicycleParameters' add_rider puts one on it."
    return DataError(
        f"{where}: {', '.join(missing)} missing; the {form} form needs {len(names)} parameters."
        f"{hint} A few other values than those of a parameter set are changed one by one: --set mB=90."
    )


def _check_signs(place: Mapping[str, str], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        if value < 0 and re.fullmatch(
            r"[mr][A-Z]|w|g|k[A-Z]\w\w|I[A-Z](xx|yy|zz)|[rm][a-f]|r[rf]|i[a-f](11|22|33)", name
        ):
            raise DataError(f"{place[name]}: {name} = {value:g} must not be negative.")


def _from_principal(p: Mapping[str, float]) -> dict[str, float]:
    """Return the benchmark's parameters; alpha turns the first principal axis about y."""
    frame, rider = _turned(p, "D"), _turned(p, "P")
    mass = p["mD"] + p["mP"]
    share = p["mD"] * p["mP"] / mass if mass else 0.0
    dx, dz = p["xP"] - p["xD"], p["zP"] - p["zD"]
    xx, yy, zz, xz = (a + b for a, b in zip(frame, rider, strict=True))
    same = ("w", "c", "lam", "g", "rR", "mR", "xH", "zH", "mH", "rF", "mF")
    found = {name: p[name] for name in same} | {
        "xB": p["xD"] + (p["mP"] / mass * dx if mass else 0.0),
        "zB": p["zD"] + (p["mP"] / mass * dz if mass else 0.0),
        "mB": mass,
        "IBxx": xx + share * dz**2,
        "IByy": yy + share * (dx**2 + dz**2),
        "IBzz": zz + share * dx**2,
        "IBxz": xz - share * dx * dz,
    }
    found |= dict(zip(("IHxx", "IHyy", "IHzz", "IHxz"), _turned(p, "H"), strict=True))
    for wheel in "RF":
        for moment, radius in (("xx", "aa"), ("yy", "yy")):
            found[f"I{wheel}{moment}"] = p[f"m{wheel}"] * p[f"k{wheel}{radius}"] ** 2
    return {name: found[name] for name in BENCHMARK}


def _turned(p: Mapping[str, float], body: str) -> tuple[float, float, float, float]:
    a, b, yy = (p[f"m{body}"] * p[f"k{body}{axis}"] ** 2 for axis in ("aa", "bb", "yy"))
    s, c = math.sin(p[f"alpha{body}"]), math.cos(p[f"alpha{body}"])
    return a * c * c + b * s * s, yy, a * s * s + b * c * c, (b - a) * s * c
