"""`draisine list`: vehicles, scenarios, parameter sets and other plug-ins with their descriptions."""

from typing import TYPE_CHECKING

from draisine.cli._options import Json
from draisine.cli._screen import make_entry_table, open_console, print_json

if TYPE_CHECKING:
    from ast import Module, expr
    from collections.abc import Sequence

Entries = dict[str, str]
"""Type of a listing: name -> description."""

KIND_SYNONYMS = {
    "parameter-set": "set",
    "parameter_set": "set",
    "parameter": "set",
    "ground": "terrain",
    "machine": "vehicle",
    "experiment": "scenario",
    "controller": "law",
    "plot": "figure",
}
"""Synonyms of the kinds of objects that can be listed, in the singular."""


def list(*words: str, json: Json = False) -> None:
    """List vehicles, scenarios, parameter sets, terrains, control laws and other plug-ins.

    Without arguments, the command prints all names on one screen. `list vehicles` describes each vehicle
    in one sentence; `list jump` lists everything with this word in its name or description.

    Parameters
    ----------
    words
        A kind, or all, then words to search for: list scenarios jump.
    """
    from draisine.errors import UnknownNameError

    if not words and not json:
        _print_overview()
        return
    kinds = _find_kinds(words[0] if words else "all")
    searched = words[1:] if kinds else words
    stems = [word.lower().removesuffix("s") for word in searched]
    matches = {}
    for kind in kinds or _find_kinds("all"):
        entries = {
            n: x for n, x in _list_entries(kind).items() if _contains_words(f"{n} {x}", stems)
        }
        if kind == "vehicle" and stems:
            entries |= _find_vehicles_by_parameter(stems)
        if entries:
            matches[f"{kind}s"] = entries
    if not matches:
        listed_kinds = ", ".join(f"{kind}s" for kind in _find_kinds("all"))
        raise UnknownNameError(
            f"No name or description contains {' '.join(searched)!r}. Kinds: {listed_kinds}."
        )
    if json:
        print_json(matches)
        return
    console = open_console()
    for heading, entries in matches.items():
        console.print(f"[bold]{heading}[/bold]")
        console.print(make_entry_table(_merge_numbered_entries(entries)))


def _find_kinds(word: str) -> tuple[str, ...]:
    """Return the kinds of objects that a word denotes: one kind, all kinds ("all"), or none.

    >>> _kinds("vehicles"), _kinds("plot"), _kinds("jump"), len(_kinds("all"))
    (('vehicle',), ('figure',), (), 13)
    """
    from draisine.registry import FOLDERS

    plugins = [kind for kind in FOLDERS if kind not in ("vehicle", "command")]
    kinds = ("vehicle", "scenario", "set", "terrain", *plugins)
    single = word.lower().removesuffix("s")
    single = KIND_SYNONYMS.get(single, single)
    return kinds if word == "all" else (single,) if single in kinds else ()


def _print_overview() -> None:
    """Print the names of all kinds of objects on one screen, and the commands that print more."""
    console = open_console()
    counts = {kind: _count_by_name(kind) for kind in _find_kinds("all")}
    console.print(
        make_entry_table(
            {f"{kind}s": f"{sum(n.values())}: {_join_counts(n)}" for kind, n in counts.items()}
        )
    )
    console.print()
    console.print(
        make_entry_table(
            {
                "draisine list vehicles": "all of a kind with descriptions",
                "draisine list jump": "everything with a word in its name or description",
                "draisine list all": "everything; with --json for programs",
            }
        )
    )


def _join_counts(counts: dict[str, int]) -> str:
    """Join names by commas; a name that represents several objects is followed by their number.

    >>> _summary({"ball": 1, "walkers": 3})
    'ball, walkers (3)'
    """
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items())


def _count_by_name(kind: str) -> dict[str, int]:
    """Return the names of a kind with counts: scenarios by folder, parameter sets by vehicle."""
    from collections import Counter

    from draisine.registry import names
    from draisine.scenario.library import scenarios
    from draisine.vehicles import parameter_sets, set_owners

    match kind:
        case "scenario":
            return Counter(name.partition("/")[0] for name in scenarios())
        case "set":
            return {owner: len(parameter_sets(owner)) for owner in set_owners()}
        case "terrain":
            return dict.fromkeys(_list_terrains(), 1)
    return dict.fromkeys(names(kind), 1)


def _list_entries(kind: str) -> Entries:
    """Return all objects of a kind: name -> description."""
    from draisine.registry import names
    from draisine.scenario.library import scenario_titles
    from draisine.vehicles import parameter_sets, set_owners

    match kind:
        case "scenario":
            return {name: title for name, (_, title) in scenario_titles().items()}
        case "set":
            return {owner: ", ".join(parameter_sets(owner)) for owner in set_owners()}
        case "terrain":
            return _list_terrains()
    return {
        name: f"{_read_plug_description(kind, name)}{_list_options(kind, name)}"
        for name in names(kind)
    }


def _contains_words(text: str, stems: "Sequence[str]") -> bool:
    """Return whether a text contains all search words (word stems)."""
    return all(stem in text.lower() for stem in stems)


def _find_vehicles_by_parameter(stems: "Sequence[str]") -> Entries:
    """Return vehicles with a parameter whose description contains all words, without importing them."""
    import ast

    from draisine.registry import shipped_plugins

    entries = {}
    for name, module in shipped_plugins("vehicle").items():
        tree = _parse_module(module)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        parameters = [
            f"{argument.arg}, {meaning}"
            for function in functions
            if function.name == name
            for argument in function.args.kwonlyargs
            if (meaning := _read_description(argument.annotation))
            and _contains_words(meaning, stems)
        ]
        if parameters:
            entries[name] = (
                f"{_read_plug_description('vehicle', name)} Parameters: {'; '.join(parameters)}"
            )
    return entries


def _read_description(annotation: "expr | None") -> str:
    """Return the description in a type annotation Annotated[float, unit, description], or ""."""
    import ast

    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[_, _, ast.Constant(value=str(meaning))])):
            return meaning
    return ""


def _list_terrains() -> Entries:
    """Return the ground shapes with descriptions and dimensions, without importing the terrain tables."""
    import ast

    entries = {}
    for node in _parse_module("draisine.scenario.terrain").body:
        if not isinstance(node, ast.ClassDef):
            continue
        fields = {
            ast.unparse(line.target): line.annotation
            for line in node.body
            if isinstance(line, ast.AnnAssign)
        }
        match fields.pop("shape", None):
            case ast.Subscript(slice=ast.Constant(value=str(shape))):
                text = " ".join((ast.get_docstring(node) or "").split()).replace("`", "")
                entries[shape] = f"{text} Dimensions: {', '.join(fields)}"
    return entries


def _merge_numbered_entries(entries: Entries) -> Entries:
    """Merge entries whose names differ only by a final number.

    >>> _merge_numbered({"a/disc-1": "A disc", "a/disc-2": "A disc", "a/ball": "A ball"})
    {'a/disc-1 to 2': 'A disc', 'a/ball': 'A ball'}
    """
    from itertools import groupby

    merged = {}
    for (_, text), group in groupby(entries, lambda n: (n.rstrip("0123456789"), entries[n])):
        first, *others = group
        last = others[-1].rpartition("-")[2] if others else ""
        merged[f"{first} to {last}" if others else first] = text
    return merged


def _list_options(kind: str, name: str) -> str:
    """Return the options of a control law or force element with their default values as text."""
    from dataclasses import MISSING, fields, is_dataclass

    from draisine.registry import find

    record = find(kind, name) if kind in ("law", "force") else None
    if not is_dataclass(record):
        return ""
    texts = []
    for field in fields(record):
        if field.kw_only:  # the wheel of a tyre is set by the vehicle, not by the user
            continue
        if isinstance(field.default, float):
            texts.append(f"{field.name}={field.default:g}")
        elif isinstance(field.default, (int, str, bool)):
            texts.append(f"{field.name}={field.default}")
        elif field.default is MISSING and field.default_factory is not MISSING:
            texts.append(f"{field.name}.NAME")
        else:
            texts.append(field.name)
    return f" Options: {', '.join(texts)}"


def _read_plug_description(kind: str, name: str) -> str:
    """Return the description of a plug-in from its module docstring."""
    from draisine.registry import description, external_plugins, shipped_plugins

    module = shipped_plugins(kind).get(name) or external_plugins(kind)[name]
    return description(module.partition(":")[0])


def _parse_module(module: str) -> "Module":
    """Return the syntax tree of a module without importing it; an empty tree if it has no source file."""
    import ast
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec(module)
    source = spec.origin if spec is not None else None
    return ast.parse(Path(source).read_text(encoding="utf-8") if source else "")
