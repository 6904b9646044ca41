"""Published parameter sets of vehicles and tyres: one folder per vehicle or tyre, one TOML file per set.

A file has `title`, the table `source` (`citation`, `doi`, `note`; the doi is empty if there is none) and the
table `values` in SI units. `form` names the published form of the values if a vehicle has several; values are
always returned in the form of the vehicle's function. `deviations` are the standard deviations of measured
values, in the form of the file.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from draisine.errors import DataError, UnknownNameError, check_file, did_you_mean, expect_known
from draisine.model.body import MAX_NUMBER
from draisine.registry import is_parameter_file
from draisine.vehicles.bicycle import (
    BENCHMARK,
    THESIS,
    from_thesis,
    read_bicycle,
)

ParameterForm = tuple[tuple[str, ...], Callable[[Mapping[str, float]], dict[str, float]]]
"""Names of the parameters of a published form, and the function that converts them to the vehicle's
form.
"""

_FORMS: dict[str, dict[str, ParameterForm]] = {
    "whipple": {"benchmark": (BENCHMARK, dict), "thesis": (THESIS, from_thesis)},
}
_DOI = re.compile(r"10\.\d{4,9}/\S+")


@dataclass(frozen=True, slots=True)
class ParameterSource:
    """Origin of a parameter set."""

    title: str
    """Title of the parameter set."""
    citation: str
    """Citation of the publication."""
    doi: str
    """DOI without the address of a resolver; empty if there is none."""
    note: str
    """Remarks on the values."""


def set_owners() -> tuple[str, ...]:
    """Return the vehicles and tyres that have parameter sets, in alphabetical order.

    >>> set_owners()
    ('load_tyre', 'magic_formula', 'whipple')
    """
    return tuple(sorted(_find_folders()))


def parameter_sets(vehicle: str) -> tuple[str, ...]:
    """Return the names of the parameter sets of a vehicle or a tyre, in alphabetical order.

    Parameters
    ----------
    vehicle
        Name of a vehicle or a tyre.

    Returns
    -------
    tuple of str
        Names of the parameter sets.

    Raises
    ------
    UnknownNameError
        If there are no sets for this name.

    Examples
    --------
    >>> "benchmark" in parameter_sets("whipple")
    True
    """
    return tuple(_list_files(vehicle))


def parameter_set(vehicle: str, name: str) -> dict[str, float]:
    """Return the values of a parameter set in SI units, by the names of the vehicle's arguments.

    Parameters
    ----------
    vehicle
        Name of a vehicle or a tyre.
    name
        Name of a set, or the path of a file of BicycleParameters (.txt, .yml) or JBike6 (.m).

    Returns
    -------
    dict
        Values by the names of the vehicle's arguments, SI units.

    Examples
    --------
    >>> parameter_set("whipple", "benchmark")["w"]
    1.02
    """
    return (
        read_bicycle(name) if is_parameter_file(name) else dict(_read_published(vehicle, name)[0])
    )


def parameter_source(vehicle: str, name: str) -> ParameterSource:
    """Return title, citation, DOI and note of a parameter set.

    Parameters
    ----------
    vehicle
        Name of a vehicle or a tyre.
    name
        Name of a parameter set.

    Returns
    -------
    ParameterSource
        Title, citation, DOI and note.

    Examples
    --------
    >>> parameter_source("whipple", "benchmark").doi
    '10.1098/rspa.2007.1857'
    """
    return _read_published(vehicle, name)[1]


def parameter_deviations(vehicle: str, name: str) -> dict[str, float]:
    """Return the standard deviations of a set's measured values by name; empty if there are none.

    >>> parameter_deviations("whipple", "balance_assist")["c"]
    0.01
    """
    content = {} if is_parameter_file(name) else _read_tables(_find_file(vehicle, name))
    return {key: float(value) for key, value in content.get("deviations", {}).items()}


@cache
def _read_published(vehicle: str, name: str) -> tuple[dict[str, float], ParameterSource]:
    """Return values and source of a published parameter set."""
    return read_parameter_set(_find_file(vehicle, name), vehicle)


def read_parameter_set(file: Traversable, vehicle: str) -> tuple[dict[str, float], ParameterSource]:
    """Return values (SI units, in the vehicle's form) and source of a parameter file.

    Parameters
    ----------
    file
        Path of a TOML file.
    vehicle
        Name of the vehicle or tyre whose parameters it contains.

    Returns
    -------
    values
        Values by name, SI units.
    source
        Title, citation, DOI and note.

    Raises
    ------
    DataError
        If the file is not TOML, has unknown or missing keys, or values that are not finite numbers.
    """
    content = _read_tables(file)
    return _check_values(file, vehicle, content), _check_source(file, content)


def _read_tables(file: Traversable) -> dict[str, Any]:
    """Return the tables of a parameter file, after checking their structure."""
    if isinstance(file, Path):
        check_file(file)
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{file}: no such file.") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise DataError(f"{file}: not a TOML file: {error}.") from error
    _check_keys(
        file, "", content, required=("title", "source", "values"), optional=("form", "deviations")
    )
    for table in ("source", "values", "deviations"):
        if not isinstance(content.get(table, {}), dict):
            raise DataError(f"{file}: {table!r} must be a table, [{table}].")
    for key, value in content.get("deviations", {}).items():
        if key not in content["values"] or isinstance(value, bool) or not _is_valid_size(value):
            raise DataError(
                f"{file}: deviations.{key} = {value!r} must be a positive number for one of the values."
            )
    return content


def _is_valid_size(value: Any) -> bool:
    """Return whether a value is a positive finite number within the range that a model accepts."""
    return isinstance(value, (int, float)) and 0 < value < MAX_NUMBER


def _check_values(file: Traversable, vehicle: str, content: dict[str, Any]) -> dict[str, float]:
    """Return the checked values of a parameter file, converted to the vehicle's form."""
    values = content["values"]
    for key, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DataError(f"{file}: values.{key} = {value!r} is not a number.")
        if not abs(value) < MAX_NUMBER:
            raise DataError(f"{file}: values.{key} = {value!s:.40} is not finite, or too large.")
    forms = _FORMS.get(vehicle)
    if forms is None:
        return {key: float(value) for key, value in values.items()}
    form = content.get("form", next(iter(forms)))
    if form not in forms:
        raise DataError(f"{file}: unknown form {form!r}. {did_you_mean(str(form), forms)}")
    names, convert = forms[form]
    _check_keys(file, "values.", values, required=names)
    return convert({name: float(values[name]) for name in names})


def _check_source(file: Traversable, content: dict[str, Any]) -> ParameterSource:
    """Return the checked source (title, citation, DOI, note) of a parameter file."""
    source = content["source"]
    _check_keys(file, "source.", source, required=("citation", "doi", "note"))
    texts = {"title": content["title"], **{f"source.{key}": source[key] for key in source}}
    for key, text in texts.items():
        if not isinstance(text, str):
            raise DataError(f"{file}: {key} = {text!r} must be a string.")
        if not text.strip() and key != "source.doi":
            raise DataError(f"{file}: {key} is empty.")
    doi = source["doi"]
    if doi and not _DOI.fullmatch(doi):
        raise DataError(
            f"{file}: source.doi = {doi!r} is not a DOI; write it as '10.1098/rspa.2007.1857', "
            "without address."
        )
    title, citation, note = (
        " ".join(text.split()) for text in (content["title"], source["citation"], source["note"])
    )
    return ParameterSource(title, citation, doi, note)


def _check_keys(
    file: Traversable,
    prefix: str,
    table: Mapping[str, Any],
    required: tuple[str, ...],
    optional: tuple[str, ...] = (),
) -> None:
    """Raise `DataError` if keys of a table are missing or unknown."""
    for key in required:
        if key not in table:
            raise DataError(f"{file}: {prefix}{key} is missing.")
    for key in table:
        if key not in required and key not in optional:
            raise DataError(
                f"{file}: the key {prefix}{key} is unknown. {did_you_mean(key, required + optional)}"
            )


def _find_file(vehicle: str, name: str) -> Traversable:
    """Return the path of the file of a parameter set."""
    available = _list_files(vehicle)
    expect_known(f"{vehicle}: no parameter set", name, available, UnknownNameError)
    return available[name]


def _find_folders() -> dict[str, Traversable]:
    """Return the folders of parameter sets by vehicle or tyre."""
    return {
        folder.name: folder
        for folder in files(__name__).iterdir()
        if folder.is_dir() and not folder.name.startswith("_")
    }


def _list_files(vehicle: str) -> dict[str, Traversable]:
    """Return the files of a vehicle's parameter sets by name."""
    folders = _find_folders()
    expect_known("no parameter sets of", vehicle, folders, UnknownNameError)
    toml = (file for file in folders[vehicle].iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file for file in sorted(toml, key=lambda f: f.name)}
