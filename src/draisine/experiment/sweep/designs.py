"""Designs: which values each run of a sweep has."""

from collections.abc import Mapping
from itertools import product
from typing import Any

from draisine.errors import DataError
from draisine.scenario.library import Loaded
from draisine.scenario.sweep import Sweep

Columns = dict[str, list[Any]]
"""Values by key path, one for each run."""


def design_columns(sweep: Sweep, loaded: Loaded) -> Columns:
    """Return which values each run has; of a grid the last key path runs fastest."""
    values = sweep.values()
    match sweep.design:
        case "grid":
            rows = list(product(*values.values()))
            return {path: [row[k] for row in rows] for k, path in enumerate(values)}
        case "list":
            return values
        case "one-at-a-time":
            return _one_at_a_time(values, {path: _stands(path, loaded) for path in values})
    return _drawn(sweep)


def _one_at_a_time(values: Columns, stands: Mapping[str, Any]) -> Columns:
    """Return the scenario as it stands, and then each value alone."""
    rows = [dict(stands)] + [{**stands, path: x} for path in values for x in values[path]]
    return {path: [row[path] for row in rows] for path in values}


def _stands(path: str, loaded: Loaded) -> Any:
    """Return what the scenario itself has at a key path."""
    inside: Any = loaded.content
    for key in path.split("."):
        inside = inside.get(key) if isinstance(inside, dict) else None
    if inside is not None:
        return inside
    table, _, name = path.rpartition(".")
    if table == "vehicle.parameters" and name in loaded.plan.system.parameters:
        return float(loaded.plan.system.parameters[name])
    raise DataError(
        f"{loaded.file}: one at a time needs a value to start from: write {path} into the scenario."
    )


def _drawn(sweep: Sweep) -> Columns:
    """Return points between the ends: a Latin hypercube (one point in each of `count` layers along
    every side; McKay, Beckman, Conover 1979, doi:10.2307/1268522), or Sobol's sequence as scrambled
    by Owen (doi:10.1006/jcom.1998.0487).
    """
    from scipy.stats import qmc

    kind = qmc.Sobol if sweep.design == "sobol" else qmc.LatinHypercube
    assert sweep.count is not None
    unit = kind(d=len(sweep.between), seed=sweep.seed).random(sweep.count)
    low, high = zip(*((side.low, side.high) for side in sweep.between.values()), strict=True)
    return dict(zip(sweep.between, qmc.scale(unit, low, high).T.tolist(), strict=True))
