"""Validation of expected values: names of quantities, and the times, grid points or speeds of values."""

from collections.abc import Callable, Mapping
from typing import Any

from draisine.errors import ParameterError, did_you_mean
from draisine.model import BASE_TWIST, Model
from draisine.results import cycle
from draisine.results.queries import parse_labels, parse_query, parse_series
from draisine.results.straight import straight_labels
from draisine.scenario.overrides import short_names
from draisine.scenario.schema import Expected, RunTable
from draisine.scenario.validate.mistakes import Mistakes, key_path

GAIT_UNITS = {"x": "m", "y": "m", "yaw": "rad", "distance": "m"}
"""Units of the displacement of a gait over one cycle, in the frame at the start of the cycle."""

GAIT_CURVATURE_UNITS = {
    f"curvature_{name}": unit for name, unit in zip(BASE_TWIST, 3 * ["m"] + 3 * ["1"], strict=True)
}
"""Units of the curvature of the local connection (displacement per enclosed shape area), by component."""

Tables = Mapping[str, Any]
"""Type of the validated tables of a scenario by name."""


def check_expected(kind: str, tables: Tables, model: Model, mistakes: Mistakes) -> None:
    """Report mistakes in the blocks `[[expected]]` of a scenario."""
    blocks: list[Expected] = tables.get("expected") or []
    for k, block in enumerate(blocks):
        _check_given_places(kind, tables, ["expected", k, "at"], block, mistakes)
        parse = _choose_parser(kind, tables, block.at)
        count = _count_places(block.at)
        for text, values in block.values.items():
            path = key_path(["expected", k, "values", text])
            with mistakes.convert_errors(path):
                parse(text, model)
            _check_count(path, values, count, mistakes)
        for text, values in block.spread.items():
            path = key_path(["expected", k, "spread", text])
            mistakes.check_known(path, text, block.values, "is not expected")
            _check_count(path, values, count, mistakes)
        if block.windows is not None:
            _check_count(key_path(["expected", k, "windows"]), block.windows, count, mistakes)


def _check_count(path: str, values: Any, count: int | None, mistakes: Mistakes) -> None:
    """Report a mistake if the number of expected values is not that of the times, points or speeds."""
    length = len(values) if isinstance(values, list) else None
    if length != count:
        expected = (
            "one number" if count is None else f"{count} numbers, one per time, point or speed"
        )
        mistakes.add(path, f"needs {expected}; it has {length or 1}.")


def _choose_parser(kind: str, tables: Tables, places: Any) -> Callable[[str, Model], Any]:
    """Return the function that parses the names of expected quantities of a block."""
    match kind:
        case "linear":
            return lambda text, model: parse_labels(text, straight_labels(model))
        case "cycle":
            components = getattr(tables.get("cycle"), "components", ())
            return lambda text, model: parse_labels(text, cycle.cycle_labels(model, components))
        case "sweep" | "map":
            table = tables.get(kind)
            outputs = list(table.outputs) if table is not None else []
            outputs += ["yaw"] if getattr(table, "locked", None) is not None else []
            return lambda text, _: _check_output(text, kind, outputs)
        case "gait":
            outputs = list(
                GAIT_UNITS if _gait_dimension(tables) == "size" else GAIT_CURVATURE_UNITS
            )
            return lambda text, _: _check_output(text, kind, outputs)
        case "state":
            return parse_series
    return parse_series if places is not None else parse_query


def _gait_dimension(tables: Tables) -> str:
    """Return the name of the dimension of gait results: "size" (amplitudes of a path) or "shape"."""
    return "size" if getattr(tables.get("gait"), "shapes", None) is None else "shape"


def _check_output(text: str, kind: str, known: list[str]) -> None:
    """Raise `ParameterError` if a quantity is not an output of a sweep, a map or a gait."""
    if text not in known:
        problem = "is not a result of a gait" if kind == "gait" else f"is not in {kind}.outputs"
        raise ParameterError(f"{problem}. {did_you_mean(text, known)}")


def _check_given_places(
    kind: str, tables: Tables, where: list[Any], block: Expected, mistakes: Mistakes
) -> None:
    """Report mistakes in the times, grid points or speeds of expected values."""
    places = block.at
    match kind:
        case "run" if isinstance(places, list):
            _check_times(tables.get("run"), key_path(where), block, mistakes)
        case "run" if isinstance(places, dict):
            mistakes.add(key_path(where), "needs times in a run; write a list: at = [0.5, 1.0].")
        case "sweep" if "sweep" in tables:
            if tables["sweep"].design != "grid":
                mistakes.add(
                    key_path(where[:-1]), "needs the design 'grid'; this sweep has another one."
                )
            _check_points(
                list(short_names(tables["sweep"].paths).values()), where, places, mistakes
            )
        case "gait":
            _check_points([_gait_dimension(tables)], where, places, mistakes)
        case "map" if "map" in tables:
            _check_points([tables["map"].x.name, tables["map"].y.name], where, places, mistakes)


def _check_points(names: list[str], where: list[Any], points: Any, mistakes: Mistakes) -> None:
    """Report mistakes in the grid points of expected values."""
    if not isinstance(points, dict):
        example = ", ".join(f"{name} = [...]" for name in names)
        mistakes.add(key_path(where), f"needs points; write at = {{ {example} }}.")
        return
    for name in points:
        mistakes.check_known(key_path([*where, name]), name, names, "is not an axis of the grid")
    for name in names:
        if name not in points:
            mistakes.add(key_path([*where, name]), "is missing.")
    if len({len(values) for values in points.values()}) > 1:
        text = "needs equal numbers of values for all axes."
        mistakes.add(key_path(where), text)


def _check_times(run: RunTable | None, path: str, block: Expected, mistakes: Mistakes) -> None:
    """Report times of expected values that are outside a run or between its samples.

    Measurements may lie between samples, and beyond the final time if they have no bounds.
    """
    if run is None or not isinstance(block.at, list):
        return
    for t in block.at:
        if not 0 <= t <= run.until and (block.judged or t < 0):
            mistakes.add(path, f"{t:g} s is outside of the run of {run.until:g} s.")
        elif block.origin == "measured":
            continue
        # Sample times are multiples of dt up to rounding errors. The final time is always a sample.
        elif abs(t / run.dt - round(t / run.dt)) > 1e-6 and t != run.until:
            mistakes.add(path, f"{t:g} s is not a sample time: samples are {run.dt:g} s apart.")


def _count_places(places: Any) -> int | None:
    """Return the number of times, points or speeds of a block; None if the block has single numbers."""
    if isinstance(places, dict) and places:
        places = next(iter(places.values()))
    return len(places) if isinstance(places, list) else None
