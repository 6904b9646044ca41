"""`draisine list`."""

from typing import TYPE_CHECKING

from draisine.cli._options import Json
from draisine.cli._screen import entry_table, open_console, print_json

if TYPE_CHECKING:
    from ast import Module, expr
    from collections.abc import Sequence

Entries = dict[str, str]
"""Names of one kind, each with what is told of it."""

WORDS = {
    "parameter-set": "set",
    "parameter_set": "set",
    "parameter": "set",
    "ground": "terrain",
    "machine": "vehicle",
    "experiment": "scenario",
    "controller": "law",
    "plot": "figure",
}
"""Other words for what can be listed, in the singular."""


def list(*words: str, json: Json = False) -> None:
    """List what there is: vehicles, scenarios, parameter sets, terrains, integrators, control laws, force
    elements, impact models, formulations, targets, printers of equations and figures.

    Without a word it is one screen of names; of one kind, list vehicles, each is told in a sentence, and
    so are those of all kinds that have a word in their names or sentences, list jump.

    :param words: A kind (all for every one), then words that must be there: list scenarios jump.
    """
    from draisine.errors import UnknownNameError

    if not words and not json:
        _print_overview()
        return
    kinds = _kinds(words[0] if words else "all")
    asked = words[1:] if kinds else words
    wanted = [word.lower().removesuffix("s") for word in asked]
    found = {}
    for kind in kinds or _kinds("all"):
        told = {n: x for n, x in _entries(kind).items() if _has(f"{n} {x}", wanted)}
        if kind == "vehicle" and wanted:
            told |= _by_parameters(wanted)
        if told:
            found[f"{kind}s"] = told
    if not found:
        known = ", ".join(f"{kind}s" for kind in _kinds("all"))
        raise UnknownNameError(
            f"nothing that is listed has {' '.join(asked)!r} in its name or its text. Kinds: {known}."
        )
    if json:
        print_json(found)
        return
    console = open_console()
    for heading, entries in found.items():
        console.print(f"[bold]{heading}[/bold]")
        console.print(entry_table(_together(entries)))


def _kinds(word: str) -> tuple[str, ...]:
    """Return the kinds that a word stands for, in the singular: one, all, or none.

    >>> _kinds("vehicles"), _kinds("plot"), _kinds("jump"), len(_kinds("all"))
    (('vehicle',), ('figure',), (), 12)
    """
    from draisine.registry import FOLDERS

    plugs = [kind for kind in FOLDERS if kind not in ("vehicle", "command")]
    known = ("vehicle", "scenario", "set", "terrain", *plugs)
    single = word.lower().removesuffix("s")
    single = WORDS.get(single, single)
    return known if word == "all" else (single,) if single in known else ()


def _print_overview() -> None:
    """Print the names of all kinds, of scenarios and sets how many there are where, and how to see more."""
    console = open_console()
    named = {kind: _names(kind) for kind in _kinds("all")}
    console.print(
        entry_table({f"{kind}s": f"{sum(n.values())}: {_summary(n)}" for kind, n in named.items()})
    )
    console.print()
    console.print(
        entry_table(
            {
                "draisine list vehicles": "all of a kind, each in a sentence",
                "draisine list jump": "what has a word in its name or its sentence",
                "draisine list all": "everything; with --json for programs",
            }
        )
    )


def _summary(counts: dict[str, int]) -> str:
    """Return names, those that stand for several with how many.

    >>> _summary({"ball": 1, "walkers": 3})
    'ball, walkers (3)'
    """
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts.items())


def _names(kind: str) -> dict[str, int]:
    """Return what there is of a kind by name, scenarios by their folders, sets by whose they are, and how
    many each stands for.
    """
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
            return dict.fromkeys(_terrains(), 1)
    return dict.fromkeys(names(kind), 1)


def _entries(kind: str) -> Entries:
    """Return the names of a kind, each with what is told of it."""
    from draisine.registry import names
    from draisine.scenario.library import titles
    from draisine.vehicles import parameter_sets, set_owners

    match kind:
        case "scenario":
            return {name: title for name, (_, title) in titles().items()}
        case "set":
            return {owner: ", ".join(parameter_sets(owner)) for owner in set_owners()}
        case "terrain":
            return _terrains()
    return {name: f"{_headline(kind, name)}{_numbers(kind, name)}" for name in names(kind)}


def _has(text: str, wanted: "Sequence[str]") -> bool:
    """Return whether all words are in a text."""
    return all(word in text.lower() for word in wanted)


def _by_parameters(wanted: "Sequence[str]") -> Entries:
    """Return the vehicles with parameters that have words in their meanings, and these, without importing
    them.
    """
    import ast

    from draisine.registry import own_plugs

    found = {}
    for name, home in own_plugs("vehicle").items():
        tree = _parse(home.partition(":")[0])
        makers = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        told = [
            f"{argument.arg}, {meaning}"
            for maker in makers
            if maker.name == name
            for argument in maker.args.kwonlyargs
            if (meaning := _meaning(argument.annotation)) and _has(meaning, wanted)
        ]
        if told:
            found[name] = f"{_headline('vehicle', name)} Parameters: {'; '.join(told)}"
    return found


def _meaning(annotation: "expr | None") -> str:
    """Return what an annotation Annotated[float, unit, meaning] says of a parameter; nothing of others."""
    import ast

    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[_, _, ast.Constant(value=str(meaning))])):
            return meaning
    return ""


def _terrains() -> Entries:
    """Return what each shape of ground is, and its measures, without importing them."""
    import ast

    found = {}
    for node in _parse("draisine.scenario.terrain").body:
        if not isinstance(node, ast.ClassDef):
            continue
        fields = {
            ast.unparse(line.target): line.annotation
            for line in node.body
            if isinstance(line, ast.AnnAssign)
        }
        match fields.pop("shape", None):
            case ast.Subscript(slice=ast.Constant(value=str(shape))):
                told = " ".join((ast.get_docstring(node) or "").split()).replace("`", "")
                found[shape] = f"{told} Measures: {', '.join(fields)}"
    return found


def _together(entries: Entries) -> Entries:
    """Return entries that differ by a number at the end alone as one.

    >>> _together({"a/disc-1": "A disc", "a/disc-2": "A disc", "a/ball": "A ball"})
    {'a/disc-1 to 2': 'A disc', 'a/ball': 'A ball'}
    """
    from itertools import groupby

    found = {}
    for (_, text), group in groupby(entries, lambda n: (n.rstrip("0123456789"), entries[n])):
        first, *others = group
        last = others[-1].rpartition("-")[2] if others else ""
        found[f"{first} to {last}" if others else first] = text
    return found


def _numbers(kind: str, name: str) -> str:
    """Return the numbers that a control law or a force element takes, with their defaults."""
    from dataclasses import MISSING, fields, is_dataclass

    from draisine.registry import find

    record = find(kind, name) if kind in ("law", "force") else None
    if not is_dataclass(record):
        return ""
    plain = (float, int, str, bool)
    told = ", ".join(
        f"{one.name}={one.default:g}"
        if isinstance(one.default, float)
        else f"{one.name}={one.default}"
        if isinstance(one.default, plain)
        else f"{one.name}.NAME"
        if one.default is MISSING and one.default_factory is not MISSING
        else one.name
        for one in fields(record)
        if not one.kw_only  # a tyre's wheel, which puts itself in
    )
    return f" Takes: {told}"


def _headline(kind: str, name: str) -> str:
    """Return the first sentence that a plug's file says about itself, without importing it."""
    import ast

    from draisine.registry import foreign_plugs, own_plugs

    home = own_plugs(kind).get(name) or foreign_plugs(kind)[name]
    text = ast.get_docstring(_parse(home.partition(":")[0])) or ""
    return " ".join(text.split("\n\n")[0].split())


def _parse(module: str) -> "Module":
    """Return what a module's file says; nothing where there is none."""
    import ast
    from importlib.util import find_spec
    from pathlib import Path

    spec = find_spec(module)
    source = spec.origin if spec is not None else None
    return ast.parse(Path(source).read_text(encoding="utf-8") if source else "")
