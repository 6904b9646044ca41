"""Collection of all mistakes in a scenario file, each with its key path and a hint."""

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
    """One mistake in a scenario file."""

    path: str  # key path of the wrong value
    text: str  # description of the mistake, and a hint
    value: Any = None  # wrong value, printed in the message if it is short

    def __str__(self) -> str:
        value = "" if self.value is None else f" = {self.value!r}"
        return f"{self.path}{value}: {self.text}"


class Mistakes(list[Mistake]):
    """Collection of the mistakes in a scenario file."""

    def add(self, key_path: str, text: str, value: Any = None) -> None:
        """Add a mistake at a key path."""
        self.append(Mistake(key_path, text, value))

    def check_known(
        self, path: str, name: str, known: Collection[str], text: str, value: Any = None
    ) -> bool:
        """Return whether a name is among the known names; otherwise add a mistake with a suggestion."""
        if name not in known:
            self.add(path, f"{text}. {did_you_mean(name, known)}", value)
        return name in known

    @contextmanager
    def convert_errors(self, key_path: str, value: Any = None) -> Iterator[None]:
        """Context manager that converts exceptions raised in its body to mistakes at a key path."""
        try:
            yield
        except DraisineError as error:
            self.add(key_path, str(error), value)
        except ValueError as error:
            self.add(key_path, f"{error}.")

    def raise_all(self, file: str) -> None:
        """Raise one `DataError` that lists all mistakes, if there are any."""
        if self:
            count = f"{len(self)} mistakes" if len(self) > 1 else "a mistake"
            lines = "\n".join(f"  {mistake}" for mistake in self)
            raise DataError(f"{file}: {count}\n{lines}")


def read_tables(
    kind: type[BaseModel], content: Mapping[str, Any], mistakes: Mistakes
) -> dict[str, Any]:
    """Validate all tables of a scenario; return the valid ones by name and report all mistakes."""
    tables: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        if name in content:
            with _translate_errors(kind, content, name, mistakes):
                tables[name] = _field_validator(kind, name).validate_python(content[name])
        elif field.is_required():
            mistakes.add(name, "is missing.")
        else:
            tables[name] = field.get_default(call_default_factory=True)
    for name in content:
        mistakes.check_known(name, name, kind.model_fields, "is unknown")
    return tables


@cache
def _field_validator(kind: type[BaseModel], name: str) -> TypeAdapter[Any]:
    """Return the pydantic validator of one field of a table type."""
    field = kind.model_fields[name]
    annotated: Any = Annotated[field.annotation, field]
    return TypeAdapter(annotated)


def validate_table(
    table: type[BaseModel], content: Any, path: str, mistakes: Mistakes
) -> BaseModel | None:
    """Validate one table; return its record, or None after reporting its mistakes."""
    try:
        return table.model_validate(content)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            where = [*path.split("."), *detail["loc"]]
            mistakes.append(_translate_error(detail, where, lambda: table))
        return None


@contextmanager
def _translate_errors(
    kind: type[BaseModel], content: Mapping[str, Any], name: str, mistakes: Mistakes
) -> Iterator[None]:
    """Context manager that reports pydantic errors about a table as mistakes with keys of the file."""
    try:
        yield
    except ValidationError as error:
        by_path: dict[str, list[Mistake]] = {}
        for detail in error.errors(include_url=False):
            loc = (
                detail["loc"][1:] if name == "terrain" else detail["loc"]
            )  # without the discriminator `shape`
            where = [name, *_strip_type_names(content[name], loc, detail["type"])]
            mistake = _translate_error(
                detail, where, partial(_find_table_type, kind, content, where[:-1])
            )
            by_path.setdefault(mistake.path, []).append(mistake)
        # A value of a union type has the errors of all alternative types. Keep the error with the
        # longest path: it belongs to the alternative that fits best.
        outer = [path for path in by_path if any(other.startswith(f"{path}.") for other in by_path)]
        mistakes.extend(
            _merge_alternatives(group) for path, group in by_path.items() if path not in outer
        )


def _strip_type_names(content: Any, location: Iterable[Any], kind_name: str) -> list[Any]:
    """Return the keys in the error location of pydantic, without names of alternative types.

    >>> _strip_type_names("event", ["literal['events','time_stepping']"], "literal_error")
    []
    >>> _strip_type_names({"mB": "x"}, ["dict[str,float]", "mB"], "float_parsing")
    ['mB']
    >>> _strip_type_names({}, ["at"], "missing")
    ['at']
    """
    entries = list(location)
    keys: list[Any] = []
    for index, entry in enumerate(entries):
        is_last = index == len(entries) - 1
        table = dict(enumerate(content)) if isinstance(content, list) else content
        if isinstance(table, Mapping) and entry in table:
            keys.append(entry)
            content = table[entry]
        elif is_last and kind_name == "missing":
            keys.append(entry)
    return keys


def _merge_alternatives(mistakes: list[Mistake]) -> Mistake:
    """Merge the mistakes of all alternative types of a value into one.

    >>> texts = ["must be 'a' or 'b'. Did you mean 'a'?", "must be a table."]
    >>> _merge_alternatives([Mistake("solver", text) for text in texts]).text
    "must be 'a' or 'b', or a table. Did you mean 'a'?"
    """
    first, *others = mistakes
    text, stop, rest = first.text.partition(".")
    for other in others:
        text += f", or {other.text.partition('.')[0].removeprefix('must be ')}"
    return Mistake(first.path, f"{text}{stop}{rest}", first.value)


def _translate_error(
    error: Any, location: list[Any], table: Callable[[], type[BaseModel]]
) -> Mistake:
    """Convert a pydantic error to a mistake that refers to keys of the scenario file."""
    path = key_path(location)
    kind = error["type"]
    value = error["input"]
    context = error.get("ctx", {})
    if kind == "missing":
        meaning = _describe_dimensions(table()).get(str(location[-1]))
        return Mistake(path, f"is missing: {meaning}." if meaning else "is missing.")
    if kind == "extra_forbidden":
        meanings = [f"{key} ({text})" for key, text in _describe_dimensions(table()).items()]
        listing = f" It has {', '.join(meanings)}." if meanings else ""
        return Mistake(
            path, f"is unknown. {did_you_mean(location[-1], table().model_fields)}{listing}"
        )
    if kind == "literal_error":
        values = re.findall(r"'([^']+)'", context["expected"])
        hint = did_you_mean(value, values) if isinstance(value, str) else ""
        hint = f" {hint}" if hint.startswith("Did you mean") else ""
        return Mistake(path, f"must be {context['expected']}.{hint}", value)
    if kind == "union_tag_invalid":
        shape = value.get("shape")
        return Mistake(
            f"{path}.shape",
            f"unknown shape of ground. {did_you_mean(str(shape), GROUND_TABLES)}",
            shape,
        )
    if kind == "union_tag_not_found":
        return Mistake(f"{path}.shape", f"is missing. Possible values: {', '.join(GROUND_TABLES)}.")
    if kind == "string_pattern_mismatch" and location[-1] == "doi":
        return Mistake(path, "is not a DOI; write it without address: '10.1098/...'.", value)
    if kind in TYPE_MESSAGES:
        return Mistake(path, TYPE_MESSAGES[kind], value)
    text = error["msg"].removeprefix("Value error, ").removeprefix("Input ")
    # Leave long tables out, because they would make the message unreadable.
    is_short = not isinstance(value, (dict, list)) or len(str(value)) < 60
    return Mistake(path, f"{text}.", value if is_short else None)


TYPE_MESSAGES = {
    "model_type": "must be a table.",
    "model_attributes_type": "must be a table.",
    "dict_type": "must be a table.",
    "list_type": "must be a list.",
    "string_type": "must be a text.",
}
"""Messages for wrong types in terms of TOML, by pydantic error type."""


def key_path(keys: Iterable[Any]) -> str:
    """Format the keys of a location in a scenario file as a key path.

    >>> key_path(["expected", 0, "values", "final lean"])
    "expected[0].values.'final lean'"
    """
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            is_bare = key.replace("_", "").isalnum() and key.isascii()
            path += ("." if path else "") + (key if is_bare else repr(key))
    return path


def _describe_dimensions(table: type[BaseModel]) -> dict[str, str]:
    """Return the descriptions of the dimensions of a ground shape; an empty dict for other tables."""
    fields = table.model_fields if table in GROUND_TABLES.values() else {}
    return {key: field.description for key, field in fields.items() if field.description}


def _find_table_type(model: type[BaseModel], content: Any, location: list[Any]) -> Any:
    """Return the record type of the table at a location of a scenario."""
    table: Any = model
    for key in location:
        content = content[key]
        # An index, or a key that the user may choose, stays within the same type of table.
        if isinstance(key, int) or key not in table.model_fields:
            continue
        if key == "terrain":
            table = GROUND_TABLES[content["shape"]]
            continue
        annotation = table.model_fields[key].annotation
        classes = [a for a in (annotation, *get_args(annotation)) if inspect.isclass(a)]
        models = [a for a in classes if issubclass(a, BaseModel)]
        table = models[0] if models else annotation
    return table
