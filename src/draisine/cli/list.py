"""`draisine list`."""

from typing import TYPE_CHECKING, Literal

from draisine.cli._options import Json
from draisine.cli._screen import entry_table, open_console, print_json

if TYPE_CHECKING:
    from ast import Module


def list(
    kind: Literal[
        "all",
        "vehicles",
        "scenarios",
        "sets",
        "terrains",
        "integrators",
        "laws",
        "forces",
        "impacts",
        "formulations",
        "targets",
        "printers",
        "figures",
    ] = "all",
    word: str = "",
    /,
    *,
    json: Json = False,
) -> None:
    """List what there is: vehicles, scenarios, parameter sets, terrains, integrators, control laws, force
    elements, impact models, formulations, targets, printers of equations and figures.

    :param kind: List only this.
    :param word: List only what has this in its name or its text: list scenarios jump.
    """
    from draisine.errors import UnknownNameError

    found = _entries(kind)
    for heading, entries in found.items():
        told = {n: text for n, text in entries.items() if word.lower() in f"{n} {text}".lower()}
        found[heading] = told
    found = {heading: entries for heading, entries in found.items() if entries}
    if not found:
        raise UnknownNameError(f"nothing that is listed has {word!r} in its name or its text.")
    if json:
        print_json(found)
        return
    for heading, entries in found.items():
        _print(heading, entries)


def _entries(kind: str) -> dict[str, dict[str, str]]:
    """Return the names of a kind, or of all, each with what is told of it."""
    from draisine.registry import FOLDERS, names
    from draisine.scenario.library import titles

    found: dict[str, dict[str, str]] = {}
    if kind in ("all", "vehicles"):
        found["vehicles"] = {name: _headline(name) for name in names("vehicle")}
    if kind in ("all", "scenarios"):
        found["scenarios"] = {name: title for name, (_, title) in titles().items()}
    if kind in ("all", "sets"):
        found["sets"] = _sets()
    if kind in ("all", "terrains"):
        found["terrains"] = _terrains()
    for each in FOLDERS:
        if each not in ("vehicle", "command") and kind in ("all", f"{each}s"):
            told = each in ("law", "force")
            found[f"{each}s"] = {n: _numbers(each, n) if told else "" for n in names(each)}
    return found


def _terrains() -> dict[str, str]:
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


def _together(entries: dict[str, str]) -> dict[str, str]:
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


def _print(heading: str, entries: dict[str, str]) -> None:
    """Print names of one kind: those without a text in one paragraph, the others a line each."""
    from rich.padding import Padding

    console = open_console()
    console.print(f"[bold]{heading}[/bold]")
    plain = [name for name, text in entries.items() if not text]
    if plain:
        console.print(Padding(", ".join(plain), (0, 0, 0, 2)))
    told = {name: text for name, text in entries.items() if text}
    if told:
        console.print(entry_table(_together(told)))


def _numbers(kind: str, name: str) -> str:
    """Return the numbers that a control law or a force element takes, with their defaults."""
    from dataclasses import MISSING, fields, is_dataclass

    from draisine.registry import find

    record = find(kind, name)
    if not is_dataclass(record):
        return ""
    plain = (float, int, str, bool)
    return ", ".join(
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


def _sets() -> dict[str, str]:
    """Return the parameter sets of each vehicle and each tyre that has some."""
    from draisine.vehicles import parameter_sets, set_owners

    return {owner: ", ".join(parameter_sets(owner)) for owner in set_owners()}


def _headline(vehicle: str) -> str:
    """Return the first sentence that a vehicle's file says about itself, without importing it."""
    import ast

    from draisine.registry import foreign_plugs, own_plugs

    home = own_plugs("vehicle").get(vehicle) or foreign_plugs("vehicle")[vehicle]
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
