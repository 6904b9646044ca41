"""Replacement of values in the tables of a scenario by key path ("run.until", "law[0].gain")."""

import copy
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from draisine.errors import DataError, DraisineError
from draisine.registry import find


def override(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of a scenario with the values at some key paths replaced.

    Published expected values are left out, because they apply to the unchanged scenario only; measured
    values are kept without bounds.

    >>> override({"run": {"until": 5.0}, "expected": []}, {"run.dt": 0.1})
    {'run': {'until': 5.0, 'dt': 0.1}}
    >>> override({"law": [{"gain": 1.0}]}, {"law[0].gain": 2.0})
    {'law': [{'gain': 2.0}]}

    The index of a list with one entry may be omitted.

    >>> override({"law": [{"gain": 1.0}]}, {"law.gain": 2.0})
    {'law': [{'gain': 2.0}]}
    """
    out = _replace_values({k: v for k, v in content.items() if k != "expected"}, changes)
    for name in unused_tolerances(content, changes):
        del out["run"][name]
    expected = content.get("expected")
    blocks = expected if isinstance(expected, list) else []
    measured = [
        {key: value for key, value in block.items() if key not in EXPECTED_BOUNDS}
        for block in blocks
        if is_measured(block)
    ]
    return out | ({"expected": copy.deepcopy(measured)} if measured else {})


def unused_tolerances(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tolerances of a scenario that do not apply if `changes` selects a fixed-step integrator.

    >>> unused_tolerances({"run": {"rtol": 1e-12}}, {"run.integrator": "rk4"})
    {'rtol': 1e-12}
    """
    run = content.get("run")
    integrator = changes.get("run.integrator")
    if not isinstance(run, Mapping) or not isinstance(integrator, str) or is_adaptive(integrator):
        return {}
    return {n: run[n] for n in ("rtol", "atol") if n in run and f"run.{n}" not in changes}


def is_adaptive(integrator: str) -> bool:
    """Return whether an integrator has adaptive steps; True for unknown names, which validation reports."""
    try:
        return bool(find("integrator", integrator).ADAPTIVE)
    except (AttributeError, DraisineError):
        return True


EXPECTED_BOUNDS = ("atol", "rtol", "factor", "rms")
"""Keys of the bounds on deviations from expected values; they apply to the unchanged scenario only."""


def is_measured(block: Any) -> bool:
    """Return whether a block of expected values contains measurements that apply to a changed scenario.

    Measurements at points of a grid do not apply, because the grid may have changed.
    """
    return (
        isinstance(block, dict)
        and block.get("origin") == "measured"
        and not isinstance(block.get("at"), dict)
    )


def _replace_values(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return a deep copy of scenario tables with the values at some key paths replaced."""
    out: Any = copy.deepcopy(dict(content))
    for path, value in changes.items():
        keys = split_key_path(path)
        table = out
        for key, following in pairwise(keys):
            table = _unwrap_single_entry(table, key)
            # Create missing tables, but not missing list entries: an index beyond the end of a list
            # is a mistake of the user.
            if isinstance(table, dict) and isinstance(following, str):
                table = table.setdefault(key, {})
            else:
                table = _get_entry(table, key, path)
            if not isinstance(table, dict | list):
                raise DataError(
                    f"{path}: {key!r} has the value {table!r:.80}, which is not a table. To replace it by a "
                    "table, write a file: `draisine new scenario mine --from` this scenario."
                )
        table = _unwrap_single_entry(table, keys[-1])
        if isinstance(table, list):
            _get_entry(table, keys[-1], path)
        table[keys[-1]] = value
    return out


def _unwrap_single_entry(table_or_list: Any, key: str | int) -> Any:
    """Return the only entry of a one-entry list if the key is a name; otherwise return the table itself."""
    is_single = isinstance(table_or_list, list) and len(table_or_list) == 1 and isinstance(key, str)
    return table_or_list[0] if is_single and isinstance(table_or_list[0], dict) else table_or_list


def _get_entry(table_or_list: Any, key: str | int, path: str) -> Any:
    """Return the entry of a table or list at a key or index; raise `ParameterError` if it does not exist."""
    entries = table_or_list if isinstance(table_or_list, dict) else dict(enumerate(table_or_list))
    if key not in entries:
        count = (
            f"; the list has {len(table_or_list)} entries, from [0] on"
            if isinstance(table_or_list, list)
            else ""
        )
        raise DataError(f"{path}: {key!r} does not exist in this scenario{count}.")
    return entries[key]


def split_key_path(path: str) -> list[str | int]:
    """Split a key path into keys; numbers in brackets become list indices, starting from zero.

    >>> split_key_path("law[0].gain")
    ['law', 0, 'gain']
    """
    keys: list[str | int] = []
    for key in path.split("."):
        name, *indices = re.split(r"\[(\d{1,9})\]", key)
        if not name:
            raise DataError(
                f"{path!r:.80}: a key between two dots is missing. Write a key path such as run.dt."
            )
        keys += [name, *(int(n) for n in indices if n)]
    return keys


def nest_dotted_keys(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables in which dotted keys are replaced by nested tables.

    >>> nest_dotted_keys({"mB": 90.0, "flexible.steer_damper": 1.0})
    {'mB': 90.0, 'flexible': {'steer_damper': 1.0}}
    """
    undotted = {key: value for key, value in content.items() if "." not in key}
    return _replace_values(undotted, {key: value for key, value in content.items() if "." in key})


def single_run(content: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables of one run of a sweep; `values` are the varied values of this run by key path."""
    tables = {k: v for k, v in content.items() if k not in ("sweep", "expected")}
    return override(tables | {"kind": "run"}, values)


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a short name for each key path: the last key, or the whole path if that is ambiguous.

    >>> short_names(["run.dt", "run.integrator"])
    {'run.dt': 'dt', 'run.integrator': 'integrator'}
    """
    last = {path: path.rpartition(".")[2] for path in paths}
    return {p: n if list(last.values()).count(n) == 1 else p for p, n in last.items()}
