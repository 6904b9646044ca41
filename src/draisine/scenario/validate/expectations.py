"""Expected numbers of a scenario: whether it can be asked for them, and where they stand."""

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

GAIT = {"x": "m", "y": "m", "yaw": "rad", "distance": "m"}
"""What is told of a gait after one cycle, in the frame at its start, and the units."""

CURVATURE = {
    f"curvature_{name}": unit for name, unit in zip(BASE_TWIST, 3 * ["m"] + 3 * ["1"], strict=True)
}
"""What is told of small loops about shapes: displacement per area, along the base's velocities."""

Tables = Mapping[str, Any]
"""The tables of a scenario that are right as such, by name."""


def check_expected(kind: str, tables: Tables, model: Model, mistakes: Mistakes) -> None:
    """Tell what is wrong with expected numbers."""
    blocks: list[Expected] = tables.get("expected") or []
    for k, block in enumerate(blocks):
        _check_places(kind, tables, ["expected", k, "at"], block, mistakes)
        parse, count = _parser(kind, tables, block.at), _count(block.at)
        for text, values in block.values.items():
            path = key_path(["expected", k, "values", text])
            with mistakes.at(path):
                parse(text, model)
            _check_count(path, values, count, mistakes)
        for text, values in block.spread.items():
            path = key_path(["expected", k, "spread", text])
            mistakes.check_known(path, text, block.values, "is not expected")
            _check_count(path, values, count, mistakes)
        if block.windows is not None:
            _check_count(key_path(["expected", k, "windows"]), block.windows, count, mistakes)


def _check_count(path: str, values: Any, count: int | None, mistakes: Mistakes) -> None:
    """Tell where there are not as many numbers as places."""
    given = len(values) if isinstance(values, list) else None
    if given != count:
        wanted = "one number" if count is None else f"as many numbers as places, {count}"
        mistakes.add(path, f"needs {wanted}; it has {given or 1}.")


def _parser(kind: str, tables: Tables, at: Any) -> Callable[[str, Model], Any]:
    """Return what reads the quantities of a block of expected numbers."""
    match kind:
        case "linear":
            return lambda text, model: parse_labels(text, straight_labels(model))
        case "cycle":
            components = getattr(tables.get("cycle"), "components", ())
            return lambda text, model: parse_labels(text, cycle.cycle_labels(model, components))
        case "sweep" | "map":
            table = tables.get(kind)
            known = list(table.outputs) if table is not None else []
            known += ["yaw"] if getattr(table, "locked", None) is not None else []
            return lambda text, _: _check_asked(text, kind, known)
        case "gait":
            known = list(GAIT if _gait_side(tables) == "size" else CURVATURE)
            return lambda text, _: _check_asked(text, kind, known)
        case "state":
            return parse_series
    return parse_series if at is not None else parse_query


def _gait_side(tables: Tables) -> str:
    """Return what the numbers of a gait are counted by: sizes of its path, or shapes."""
    return "size" if getattr(tables.get("gait"), "shapes", None) is None else "shape"


def _check_asked(text: str, kind: str, known: list[str]) -> None:
    """Raise where a sweep, a map or a gait does not tell a quantity."""
    if text not in known:
        what = "a gait does not tell it" if kind == "gait" else f"is not in {kind}.outputs"
        raise ParameterError(f"{what}. {did_you_mean(text, known)}")


def _check_places(
    kind: str, tables: Tables, where: list[Any], block: Expected, mistakes: Mistakes
) -> None:
    """Tell what is wrong with the places of expected numbers."""
    at = block.at
    match kind:
        case "run" if isinstance(at, list):
            _check_times(tables.get("run"), key_path(where), block, mistakes)
        case "run" if isinstance(at, dict):
            mistakes.add(key_path(where), "a run has times: write a list, as in at = [0.5, 1.0].")
        case "sweep" if "sweep" in tables:
            if tables["sweep"].design != "grid":
                mistakes.add(
                    key_path(where[:-1]), "stands on a grid; this sweep has another design."
                )
            _check_points(list(short_names(tables["sweep"].paths).values()), where, at, mistakes)
        case "gait":
            _check_points([_gait_side(tables)], where, at, mistakes)
        case "map" if "map" in tables:
            _check_points([tables["map"].x.name, tables["map"].y.name], where, at, mistakes)


def _check_points(names: list[str], where: list[Any], at: Any, mistakes: Mistakes) -> None:
    """Tell what is wrong with points of a grid."""
    if not isinstance(at, dict):
        example = ", ".join(f"{name} = [...]" for name in names)
        mistakes.add(key_path(where), f"tells no points; write at = {{ {example} }}.")
        return
    for name in at:
        mistakes.check_known(key_path([*where, name]), name, names, "is no side of the grid")
    for name in names:
        if name not in at:
            mistakes.add(key_path([*where, name]), "is missing.")
    if len({len(values) for values in at.values()}) > 1:
        text = "needs as many values along one side as along the other."
        mistakes.add(key_path(where), text)


def _check_times(run: RunTable | None, path: str, block: Expected, mistakes: Mistakes) -> None:
    """Tell which times are not in a run; those of measurements may lie between samples, and beyond the end
    where they are not judged.
    """
    if run is None or not isinstance(block.at, list):
        return
    for t in block.at:
        if not 0 <= t <= run.until and (block.judged or t < 0):
            mistakes.add(path, f"{t:g} s lies outside the run of {run.until:g} s.")
        elif block.origin == "measured":
            continue
        elif abs(t / run.dt - round(t / run.dt)) > 1e-6 and t != run.until:
            mistakes.add(path, f"{t:g} s is no sample time: samples are {run.dt:g} s apart.")


def _count(at: Any) -> int | None:
    if isinstance(at, dict) and at:
        at = next(iter(at.values()))
    return len(at) if isinstance(at, list) else None
