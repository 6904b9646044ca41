"""What is wrong in a scenario file: every mistake at once, each with its place and a way out."""

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from draisine.errors import DataError, DraisineError, did_you_mean
from draisine.scenario.terrain import GROUND_TABLES


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong: where, what stands there, and what should."""

    path: str
    text: str
    value: Any = None

    def __str__(self) -> str:
        shown = "" if self.value is None else f" = {self.value!r}"
        return f"{self.path}{shown}: {self.text}"


class Mistakes(list[Mistake]):
    """The mistakes found so far."""

    def add(self, path: str, text: str, value: Any = None) -> None:
        """Tell one more."""
        self.append(Mistake(path, text, value))

    def check_known(
        self, path: str, name: str, known: Collection[str], text: str, value: Any = None
    ) -> bool:
        """Return whether a name is known, after telling where it is not."""
        if name not in known:
            self.add(path, f"{text}. {did_you_mean(name, known)}", value)
        return name in known

    @contextmanager
    def at(self, path: str, value: Any = None) -> Iterator[None]:
        """Tell what is raised inside as a mistake at a place."""
        try:
            yield
        except DraisineError as error:
            self.add(path, str(error), value)
        except ValueError as error:
            self.add(path, f"{error}.")

    def check(self, file: str) -> None:
        """Raise, where there are mistakes, one error that tells them all."""
        if self:
            many = f"{len(self)} mistakes" if len(self) > 1 else "a mistake"
            lines = "\n".join(f"  {mistake}" for mistake in self)
            raise DataError(f"{file}: {many}\n{lines}")


def read_tables(
    kind: type[BaseModel], content: Mapping[str, Any], mistakes: Mistakes
) -> dict[str, Any]:
    """Return the tables of a scenario that are right as such, by name: no unknown keys, nothing
    missing, values of the right kind.
    """
    found: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        if name in content:
            with _translated(kind, content, name, mistakes):
                found[name] = _adapter(kind, name).validate_python(content[name])
        elif field.is_required():
            mistakes.add(name, "is missing.")
        else:
            found[name] = field.get_default(call_default_factory=True)
    for name in content:
        mistakes.check_known(name, name, kind.model_fields, "is unknown")
    return found


@cache
def _adapter(kind: type[BaseModel], name: str) -> TypeAdapter[Any]:
    field = kind.model_fields[name]
    annotated: Any = Annotated[field.annotation, field]
    return TypeAdapter(annotated)


def read_table(
    table: type[BaseModel], content: Any, path: str, mistakes: Mistakes
) -> BaseModel | None:
    """Return one table, or nothing where it is wrong."""
    try:
        return table.model_validate(content)
    except ValidationError as error:
        for one in error.errors(include_url=False):
            where = [*path.split("."), *one["loc"]]
            mistakes.append(_translation(one, where, lambda: table))
        return None


@contextmanager
def _translated(
    kind: type[BaseModel], content: Mapping[str, Any], name: str, mistakes: Mistakes
) -> Iterator[None]:
    """Tell pydantic's errors about a table in our words."""
    try:
        yield
    except ValidationError as error:
        found: dict[str, list[Mistake]] = {}
        for one in error.errors(include_url=False):
            loc = one["loc"][1:] if name == "terrain" else one["loc"]  # without the shape
            where = [name, *_keys(content[name], loc, one["type"])]
            mistake = _translation(one, where, partial(_table, kind, content, where[:-1]))
            found.setdefault(mistake.path, []).append(mistake)
        inner = [one for one in found if any(other.startswith(f"{one}.") for other in found)]
        mistakes.extend(_together(some) for path, some in found.items() if path not in inner)


def _keys(content: Any, loc: Iterable[Any], kind: str) -> list[Any]:
    """Return the keys in the location of one of pydantic's errors: without the alternatives of a value
    that may be of several types, which stand among them.

    >>> _keys("event", ["literal['events','time_stepping']"], "literal_error")
    []
    >>> _keys({"mB": "x"}, ["dict[str,float]", "mB"], "float_parsing"), _keys({}, ["at"], "missing")
    (['mB'], ['at'])
    """
    parts, keys = list(loc), list[Any]()
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        known = dict(enumerate(content)) if isinstance(content, list) else content
        if isinstance(known, Mapping) and part in known:
            keys.append(part)
            content = known[part]
        elif last and kind == "missing":
            keys.append(part)
    return keys


def _together(mistakes: list[Mistake]) -> Mistake:
    """Return one mistake for those of a value that is none of its types.

    >>> texts = ["must be 'a' or 'b'. Did you mean 'a'?", "must be a table."]
    >>> _together([Mistake("solver", text) for text in texts]).text
    "must be 'a' or 'b', or a table. Did you mean 'a'?"
    """
    first, *others = mistakes
    text, stop, rest = first.text.partition(".")
    for other in others:
        text += f", or {other.text.partition('.')[0].removeprefix('must be ')}"
    return Mistake(first.path, f"{text}{stop}{rest}", first.value)


def _translation(error: Any, where: list[Any], table: Callable[[], type[BaseModel]]) -> Mistake:
    """Return one of pydantic's errors in our words."""
    path, kind, given = key_path(where), error["type"], error["input"]
    context = error.get("ctx", {})
    if kind == "missing":
        meaning = _meanings(table()).get(str(where[-1]))
        return Mistake(path, f"is missing: {meaning}." if meaning else "is missing.")
    if kind == "extra_forbidden":
        meanings = [f"{key} ({text})" for key, text in _meanings(table()).items()]
        known = f" It has {', '.join(meanings)}." if meanings else ""
        return Mistake(path, f"is unknown. {did_you_mean(where[-1], table().model_fields)}{known}")
    if kind == "literal_error":
        values = re.findall(r"'([^']+)'", context["expected"])
        close = did_you_mean(given, values) if isinstance(given, str) else ""
        meant = f" {close}" if close.startswith("Did you mean") else ""
        return Mistake(path, f"must be {context['expected']}.{meant}", given)
    if kind == "union_tag_invalid":
        shape = given.get("shape")
        return Mistake(
            f"{path}.shape", f"no such ground. {did_you_mean(str(shape), GROUND_TABLES)}", shape
        )
    if kind == "union_tag_not_found":
        return Mistake(f"{path}.shape", f"is missing. Take one of: {', '.join(GROUND_TABLES)}.")
    if kind == "string_pattern_mismatch" and where[-1] == "doi":
        return Mistake(path, "is not a DOI; write it without address: '10.1098/...'.", given)
    if kind in _PLAIN:
        return Mistake(path, _PLAIN[kind], given)
    text = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    shown = given if not isinstance(given, (dict, list)) or len(str(given)) < 60 else None
    return Mistake(path, f"{text}.", shown)


_PLAIN = {
    "model_type": "must be a table.",
    "model_attributes_type": "must be a table.",
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


def _meanings(table: type[BaseModel]) -> dict[str, str]:
    """Return what the measures of a ground mean, with their units; nothing of other tables."""
    fields = table.model_fields if table in GROUND_TABLES.values() else {}
    return {key: field.description for key, field in fields.items() if field.description}


def _table(model: type[BaseModel], content: Any, where: list[Any]) -> Any:
    """Return the kind of table at a place of a scenario."""
    here: Any = model
    for part in where:
        content = content[part]
        if (
            isinstance(part, int) or part not in here.model_fields
        ):  # an entry of a list or of a mapping
            continue
        if part == "terrain":
            here = GROUND_TABLES[content["shape"]]
            continue
        annotation = here.model_fields[part].annotation
        inner = [a for a in (annotation, *get_args(annotation)) if inspect.isclass(a)]
        models = [a for a in inner if issubclass(a, BaseModel)]
        here = models[0] if models else annotation
    return here
