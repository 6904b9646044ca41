"""Changes of a scenario: values by key path ("run.until", "law[0].gain")."""

import copy
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from draisine.errors import DataError, DraisineError
from draisine.registry import find


def override(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a scenario with changed values at key paths.

    Expected values of the unchanged scenario are left out; measured ones stay, without bounds.

    >>> override({"run": {"until": 5.0}, "expected": []}, {"run.dt": 0.1})
    {'run': {'until': 5.0, 'dt': 0.1}}
    >>> override({"law": [{"gain": 1.0}]}, {"law[0].gain": 2.0})
    {'law': [{'gain': 2.0}]}

    If a list has one entry, its index may be left out.

    >>> override({"law": [{"gain": 1.0}]}, {"law.gain": 2.0})
    {'law': [{'gain': 2.0}]}
    """
    out = _replaced({k: v for k, v in content.items() if k != "expected"}, changes)
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
    """Return the tolerances of a scenario that a change to a fixed-step integrator makes unused.

    >>> unused_tolerances({"run": {"rtol": 1e-12}}, {"run.integrator": "rk4"})
    {'rtol': 1e-12}
    """
    run = content.get("run")
    integrator = changes.get("run.integrator")
    if not isinstance(run, Mapping) or not isinstance(integrator, str) or is_adaptive(integrator):
        return {}
    return {n: run[n] for n in ("rtol", "atol") if n in run and f"run.{n}" not in changes}


def is_adaptive(integrator: str) -> bool:
    """Return whether an integrator is adaptive; True for an unknown one, which validation reports."""
    try:
        return bool(find("integrator", integrator).ADAPTIVE)
    except (AttributeError, DraisineError):
        return True


EXPECTED_BOUNDS = ("atol", "rtol", "factor", "rms")
"""Keys with allowed deviations of expected values; they hold for the unchanged scenario."""


def is_measured(block: Any) -> bool:
    """Return whether a block of expected values was measured.

    Measured values stay comparable after a change, except those at points of a grid.
    """
    return (
        isinstance(block, dict)
        and block.get("origin") == "measured"
        and not isinstance(block.get("at"), dict)
    )


def _replaced(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return content with changed values at key paths."""
    out: Any = copy.deepcopy(dict(content))
    for path, value in changes.items():
        keys = key_parts(path)
        table = out
        for key, following in pairwise(keys):
            table = _unwrap_single(table, key)
            # A table that is missing is added; an index beyond the end of a list is a mistake.
            if isinstance(table, dict) and isinstance(following, str):
                table = table.setdefault(key, {})
            else:
                table = _entry(table, key, path)
            if not isinstance(table, dict | list):
                raise DataError(
                    f"{path}: {key!r} is {table!r:.80} in this scenario, not a table. To replace it by a "
                    "table, write a file: `draisine new scenario mine --from` this scenario."
                )
        table = _unwrap_single(table, keys[-1])
        if isinstance(table, list):
            _entry(table, keys[-1], path)
        table[keys[-1]] = value
    return out


def _unwrap_single(table: Any, key: str | int) -> Any:
    """Return the only entry of a list if a named value of it is meant, else the table itself."""
    is_single = isinstance(table, list) and len(table) == 1 and isinstance(key, str)
    return table[0] if is_single and isinstance(table[0], dict) else table


def _entry(table: Any, key: str | int, path: str) -> Any:
    """Return an entry of a table or a list, or raise if it does not exist."""
    entries = table if isinstance(table, dict) else dict(enumerate(table))
    if key not in entries:
        count = (
            f"; the list has {len(table)} entries, from [0] on" if isinstance(table, list) else ""
        )
        raise DataError(f"{path}: {key!r} does not exist in this scenario{count}.")
    return entries[key]


def key_parts(path: str) -> list[str | int]:
    """Return the keys of a key path; numbers in brackets are indices of a list, from zero.

    >>> key_parts("law[0].gain")
    ['law', 0, 'gain']
    """
    keys: list[str | int] = []
    for key in path.split("."):
        name, *indices = re.split(r"\[(\d{1,9})\]", key)
        if not name:
            raise DataError(
                f"{path!r:.80}: a key between the dots is missing; write it like run.dt."
            )
        keys += [name, *(int(n) for n in indices if n)]
    return keys


def nest(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return content in which dotted keys are nested tables.

    >>> nest({"mB": 90.0, "flexible.steer_damper": 1.0})
    {'mB': 90.0, 'flexible': {'steer_damper': 1.0}}
    """
    undotted = {key: value for key, value in content.items() if "." not in key}
    return _replaced(undotted, {key: value for key, value in content.items() if "." in key})


def single_run(content: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of one run of a sweep, with these values by key path."""
    tables = {k: v for k, v in content.items() if k not in ("sweep", "expected")}
    return override(tables | {"kind": "run"}, values)


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return a short name for each key path: its last key, if that is unique.

    >>> short_names(["run.dt", "run.integrator"])
    {'run.dt': 'dt', 'run.integrator': 'integrator'}
    """
    last = {path: path.rpartition(".")[2] for path in paths}
    return {p: n if list(last.values()).count(n) == 1 else p for p, n in last.items()}
