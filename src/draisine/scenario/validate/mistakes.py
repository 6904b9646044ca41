"""What is wrong in a scenario file: every mistake at once, each with its place and a way out."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from draisine.errors import did_you_mean
from draisine.scenario.schema import Ramp, Sine, Step, Table
from draisine.scenario.terrain import GROUNDS

SIGNALS = {"step": Step, "ramp": Ramp, "sine": Sine, "table": Table}


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong: where, what stands there, and what should."""

    path: str
    text: str
    value: Any = None

    def __str__(self) -> str:
        shown = "" if self.value is None else f" = {self.value!r}"
        return f"{self.path}{shown}: {self.text}"


def structure_mistakes(model: type[BaseModel], content: Mapping[str, Any]) -> list[Mistake]:
    """Return what is wrong with keys and values as such: unknown, missing, of a wrong kind."""
    try:
        model.model_validate(content)
    except ValidationError as error:
        return [_translated(model, content, e) for e in error.errors(include_url=False)]
    return []


def _translated(model: type[BaseModel], content: Mapping[str, Any], error: Any) -> Mistake:
    """Return one of pydantic's errors in our words."""
    tags: dict[Any, tuple[int, dict[str, Any]]] = {
        "inputs": (2, SIGNALS),
        "terrain": (1, GROUNDS),
    }
    at, shapes = tags.get(next(iter(error["loc"]), None), (-1, {}))
    where = [x for k, x in enumerate(error["loc"]) if not (k == at and x in shapes)]
    path = key_path(where)
    kind, given = error["type"], error["input"]
    context = error.get("ctx", {})
    if kind == "missing":
        return Mistake(path, "is missing.")
    if kind == "extra_forbidden":
        allowed = _allowed(model, content, where[:-1])
        text = did_you_mean(str(where[-1]), allowed)
        return Mistake(path, f"is unknown. {text}")
    if kind in ("literal_error", "union_tag_invalid"):
        wanted = context.get("expected") or context.get("expected_tags")
        if kind == "union_tag_invalid":
            path, given = f"{path}.shape", given.get("shape")
        return Mistake(path, f"must be {wanted}.", given)
    if kind == "union_tag_not_found":
        return Mistake(f"{path}.shape", f"is missing. Take one of: {', '.join(shapes)}.")
    if kind == "string_pattern_mismatch" and where[-1] == "doi":
        return Mistake(path, "is not a DOI; write it without address: '10.1098/...'.", given)
    if kind in _PLAIN:
        return Mistake(path, _PLAIN[kind], given)
    text = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    shown = given if not isinstance(given, (dict, list)) or len(str(given)) < 60 else None
    return Mistake(path, f"{text}.", shown)


_PLAIN = {
    "model_type": "must be a table.",
    "dict_type": "must be a table.",
    "list_type": "must be a list.",
    "string_type": "must be a text.",
}
"""Some of pydantic's errors in words of TOML."""


def key_path(where: Iterable[Any]) -> str:
    """Return a place in a file as people write it.

    >>> key_path(["expected", 0, "values", "final lean"])
    "expected[0].values.'final lean'"
    """
    out = ""
    for part in where:
        if isinstance(part, int):
            out += f"[{part}]"
        else:
            plain = part.replace("_", "").isalnum() and part.isascii()
            out += ("." if out else "") + (part if plain else repr(part))
    return out


def _allowed(model: type[BaseModel], content: Any, where: list[Any]) -> list[str]:
    """Return the keys that a table of a scenario may have."""
    here: Any = model
    for part in where:
        content = content[part]
        if isinstance(part, int):
            if not (isinstance(here, type) and issubclass(here, BaseModel)):
                here = SIGNALS.get(content.get("shape", ""), Step)
            continue
        if part == "terrain":
            here = GROUNDS[content["shape"]]
            continue
        annotation = here.model_fields[part].annotation
        inner = [a for a in (annotation, *get_args(annotation)) if inspect.isclass(a)]
        models = [a for a in inner if issubclass(a, BaseModel)]
        here = models[0] if models else annotation
    return list(here.model_fields)
