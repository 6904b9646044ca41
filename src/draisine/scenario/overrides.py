"""Values by key path, put into the content of a scenario."""

import copy
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from draisine.errors import DataError, DraisineError
from draisine.registry import find


def override(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a scenario with other values at some key paths. Numbers that were
    expected of it as it was do not hold any more and are left out; measured ones stay, without bounds.

    >>> override({"run": {"until": 5.0}, "expected": []}, {"run.dt": 0.1})
    {'run': {'until': 5.0, 'dt': 0.1}}
    >>> override({"law": [{"gain": 1.0}]}, {"law[0].gain": 2.0})
    {'law': [{'gain': 2.0}]}

    The number may be left out where a list has one entry.

    >>> override({"law": [{"gain": 1.0}]}, {"law.gain": 2.0})
    {'law': [{'gain': 2.0}]}
    """
    out = _replaced({k: v for k, v in content.items() if k != "expected"}, changes)
    for name in unused_tolerances(content, changes):
        del out["run"][name]
    expected = content.get("expected")
    blocks = expected if isinstance(expected, list) else []
    kept = [{k: v for k, v in one.items() if k not in BOUNDS} for one in blocks if is_measured(one)]
    return out | ({"expected": copy.deepcopy(kept)} if kept else {})


def unused_tolerances(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tolerances of a scenario's run that a change to an integrator of equal steps leaves
    without use.

    >>> unused_tolerances({"run": {"rtol": 1e-12}}, {"run.integrator": "rk4"})
    {'rtol': 1e-12}
    """
    run, integrator = content.get("run"), changes.get("run.integrator")
    if not isinstance(run, Mapping) or not isinstance(integrator, str) or is_adaptive(integrator):
        return {}
    return {n: run[n] for n in ("rtol", "atol") if n in run and f"run.{n}" not in changes}


def is_adaptive(integrator: str) -> bool:
    """Return whether an integrator chooses its steps; True of an unknown one, which is told elsewhere."""
    try:
        return bool(find("integrator", integrator).ADAPTIVE)
    except (AttributeError, DraisineError):
        return True


BOUNDS = ("atol", "rtol", "factor", "rms")
"""How far numbers may be off: of the scenario as it was."""


def is_measured(block: Any) -> bool:
    """Return whether a block of expected numbers was measured, at times, at speeds or as a whole: it is
    about the world, whatever is computed. Points on a grid go with the grid.
    """
    return (
        isinstance(block, dict)
        and block.get("origin") == "measured"
        and not isinstance(block.get("at"), dict)
    )


def _replaced(content: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return content with other values at some key paths."""
    out: Any = copy.deepcopy(dict(content))
    for path, value in changes.items():
        parts, inside = key_parts(path), out
        for part, following in pairwise(parts):
            inside = _only(inside, part)
            if isinstance(inside, dict) and isinstance(following, str):
                inside = inside.setdefault(part, {})
            else:
                inside = _entry(inside, part, path)
            if not isinstance(inside, dict | list):
                raise DataError(
                    f"{path}: {part!r} is {inside!r:.80} in this scenario, no table; a table of all its "
                    "values stands in a file: `draisine new scenario mine --from` this one."
                )
        inside = _only(inside, parts[-1])
        if isinstance(inside, list):
            _entry(inside, parts[-1], path)
        inside[parts[-1]] = value
    return out


def _only(inside: Any, part: str | int) -> Any:
    """Return the only entry of a list of which a named value is asked, else what is there."""
    alone = isinstance(inside, list) and len(inside) == 1 and isinstance(part, str)
    return inside[0] if alone and isinstance(inside[0], dict) else inside


def _entry(inside: Any, part: str | int, path: str) -> Any:
    """Return what stands at a part of a path that must be there."""
    known = inside if isinstance(inside, dict) else dict(enumerate(inside))
    if part not in known:
        many = f"; it has {len(inside)} entries, from [0] on" if isinstance(inside, list) else ""
        raise DataError(f"{path}: there is no {part!r} in this scenario{many}.")
    return known[part]


def key_parts(path: str) -> list[str | int]:
    """Return the parts of a key path; numbers in brackets count the entries of a list from zero.

    >>> key_parts("law[0].gain")
    ['law', 0, 'gain']
    """
    found: list[str | int] = []
    for key in path.split("."):
        name, *numbers = re.split(r"\[(\d{1,9})\]", key)
        if not name:
            raise DataError(f"{path!r:.80}: has nothing between its dots; write it like run.dt.")
        found += [name, *(int(n) for n in numbers if n)]
    return found


def nest(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return content whose dotted keys are tables.

    >>> nest({"mB": 90.0, "flexible.steer_damper": 1.0})
    {'mB': 90.0, 'flexible': {'steer_damper': 1.0}}
    """
    plain = {key: value for key, value in content.items() if "." not in key}
    return _replaced(plain, {key: value for key, value in content.items() if "." in key})


def single(content: Mapping[str, Any], at: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of the one run of a sweep that has these values."""
    plain = {k: v for k, v in content.items() if k not in ("sweep", "expected")}
    return override(plain | {"kind": "run"}, at)


def sides(paths: Iterable[str]) -> dict[str, str]:
    """Return a short name for each key path of a sweep: its last word, where that tells enough.

    >>> sides(["run.dt", "run.integrator"])
    {'run.dt': 'dt', 'run.integrator': 'integrator'}
    """
    last = {path: path.rpartition(".")[2] for path in paths}
    return {p: n if list(last.values()).count(n) == 1 else p for p, n in last.items()}
