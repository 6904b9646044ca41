"""Values by key path, put into the content of a scenario."""

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from draisine.errors import DataError


def override(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a scenario with other values at some key paths. Numbers that were
    expected of it as it was do not hold any more and are left out.

    >>> override({"run": {"until": 5.0}, "expected": []}, {"run.dt": 0.1})
    {'run': {'until': 5.0, 'dt': 0.1}}
    """
    out = copy.deepcopy({k: v for k, v in content.items() if k != "expected"})
    for path, value in changes.items():
        *tables, key = path.split(".")
        inside: Any = out
        for table in tables:
            inside = inside.setdefault(table, {})
            if not isinstance(inside, dict):
                raise DataError(f"{path}: {table!r} is not a table in this scenario.")
        inside[key] = value
    return out


def nest(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return content whose dotted keys are tables.

    >>> nest({"mB": 90.0, "flexible.steer_damper": 1.0})
    {'mB': 90.0, 'flexible': {'steer_damper': 1.0}}
    """
    plain = {key: value for key, value in content.items() if "." not in key}
    return override(plain, {key: value for key, value in content.items() if "." in key})


def single(content: Mapping[str, Any], at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the one run of a sweep that has these values."""
    plain = {k: v for k, v in content.items() if k != "sweep"}
    return override(plain | {"kind": "run"}, at)


def sides(paths: Iterable[str]) -> dict[str, str]:
    """Return a short name for each key path of a sweep: its last word, where that tells enough.

    >>> sides(["run.dt", "run.integrator"])
    {'run.dt': 'dt', 'run.integrator': 'integrator'}
    """
    last = {path: path.rpartition(".")[2] for path in paths}
    return {p: n if list(last.values()).count(n) == 1 else p for p, n in last.items()}
