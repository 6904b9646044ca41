"""Expected numbers of a scenario: whether it can be asked for them, and where they stand."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from draisine.errors import DraisineError, ParameterError, did_you_mean
from draisine.model import Model
from draisine.results import cycle
from draisine.results.questions import parse_labels, parse_question, parse_series
from draisine.results.straight import KNOWN
from draisine.scenario.overrides import sides
from draisine.scenario.validate.mistakes import Mistake, key_path


def expected_mistakes(content: Mapping[str, Any], model: Model) -> Iterator[Mistake]:
    """Yield what is wrong with expected numbers, of which the structure is looked at elsewhere."""
    for k, block in enumerate(_list(content.get("expected"))):
        if not isinstance(block, dict) or not isinstance(block.get("values"), dict):
            continue
        at = block.get("at")
        yield from _places(content, ["expected", k, "at"], at)
        if at is not None and not isinstance(at, (list, dict)):
            continue
        parse, count = _parser(content, at), _count(at)
        for text, values in block["values"].items():
            path = key_path(["expected", k, "values", text])
            try:
                parse(text, model)
            except DraisineError as error:
                yield Mistake(path, str(error))
            given = len(values) if isinstance(values, list) else None
            if given != count:
                wanted = "one number" if count is None else f"as many numbers as places, {count}"
                yield Mistake(path, f"needs {wanted}; it has {given or 1}.")


def _parser(content: Mapping[str, Any], at: Any) -> Callable[[str, Model], Any]:
    """Return what reads the quantities of a block of expected numbers."""
    match content.get("kind"):
        case "linear":
            return lambda text, _: parse_labels(text, KNOWN)
        case "cycle":
            return lambda text, model: parse_labels(text, cycle.cycle_labels(model))
        case "sweep" | "map" as kind:
            table = _table(content, kind)
            known = [x for x in _list(table.get("outputs")) if isinstance(x, str)]
            known += ["yaw"] if "locked" in table else []
            return lambda text, _: _asked(text, kind, known)
        case "state":
            return parse_series
    return parse_series if at is not None else parse_question


def _asked(text: str, kind: str, known: list[str]) -> None:
    """Raise where a sweep or a map does not ask for a quantity."""
    if text not in known:
        raise ParameterError(f"is not in {kind}.outputs. {did_you_mean(text, known)}")


def _places(content: Mapping[str, Any], where: list[Any], at: Any) -> Iterator[Mistake]:
    """Yield what is wrong with the places of expected numbers."""
    match content.get("kind"):
        case "run" if isinstance(at, list):
            yield from _times(_table(content, "run"), key_path(where), at)
        case "run" if isinstance(at, dict):
            yield Mistake(key_path(where), "a run has times: write a list, as in at = [0.5, 1.0].")
        case "sweep":
            over = _table(content, "sweep").get("over", {})
            names = list(sides(over).values()) if isinstance(over, dict) else []
            yield from _points(names, where, at)
        case "map":
            axes = (_table(content, "map").get(side) for side in ("x", "y"))
            names = [str(axis.get("name")) for axis in axes if isinstance(axis, dict)]
            yield from _points(names, where, at)


def _points(names: list[str], where: list[Any], at: Any) -> Iterator[Mistake]:
    """Yield what is wrong with points of a grid."""
    if at is None or isinstance(at, list):
        example = ", ".join(f"{name} = [...]" for name in names)
        yield Mistake(key_path(where), f"tells no points; write at = {{ {example} }}.")
    if not isinstance(at, dict):
        return
    for name in at:
        if name not in names:
            yield Mistake(
                key_path([*where, name]), f"is no side of the grid. {did_you_mean(name, names)}"
            )
    for name in names:
        if name not in at:
            yield Mistake(key_path([*where, name]), "is missing.")
    if len({len(values) for values in at.values() if isinstance(values, list)}) > 1:
        yield Mistake(key_path(where), "needs as many values along one side as along the other.")


def _times(run: Mapping[str, Any], path: str, times: list[Any]) -> Iterator[Mistake]:
    until, dt = run.get("until"), run.get("dt", 0.01)
    if not isinstance(until, (int, float)) or not isinstance(dt, (int, float)) or dt <= 0:
        return
    for t in times:
        if not isinstance(t, (int, float)):
            continue
        if not 0 <= t <= until:
            yield Mistake(path, f"{t:g} s lies outside the run of {until:g} s.")
        elif abs(t / dt - round(t / dt)) > 1e-6 and t != until:
            yield Mistake(path, f"{t:g} s is no sample time: samples are {dt:g} s apart.")


def _table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = content.get(name, {})
    return table if isinstance(table, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(at: Any) -> int | None:
    if isinstance(at, dict) and at:
        at = next(iter(at.values()))
    return len(at) if isinstance(at, list) else None
