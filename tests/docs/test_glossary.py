"""The glossary of docs/notation.md is true, and names in the source follow it.

Three rules: the place of definition of each term exists; no module constant and no function without
underscore is defined in two modules; old words do not come back as names.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from draisine.registry import FOLDERS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "draisine"
FILES = sorted(PACKAGE.rglob("*.py"))

PLUGIN_CONSTANTS = {
    "ADAPTIVE": "integrator",
    "FORCE": "force",
    "FORMULATION": "formulation",
    "LAW": "law",
    "ORDER": "integrator",
    "SENSOR": "sensor",
    "SUFFIX": "printer",
    "SYMBOLS": "vehicle",
}
"""Constants by which the registry reads a plug-in, with the kind of plug-in: each of its files has one."""

PLUGIN_FUNCTIONS = {
    "accelerations": "formulation",
    "advance": "integrator",
    "draw": "figure",
    "emit": "target",
    "formula": "printer",
    "impact": "impact",
    "symbol": "printer",
    "write": "printer",
}
"""Functions by which callers use a plug-in, with the kind of plug-in: each of its files has one."""

SAME_MEANING = {
    **dict.fromkeys(
        ("sin", "cos", "sqrt", "exp", "atan2", "where"),
        "`algebra.scalar` dispatches to the function of `algebra.trace`",
    ),
    "cross": "cross product of arrays of scalars, and of vectors in routines",
    "dot": "scalar product of vectors in routines, and of arrays in routines",
    "save": "write a dataset, and a figure, to a file",
    "load": "read a result, and a scenario, from a file or by name",
}
"""Functions of one meaning for two types of arguments, with the reason of two definitions."""

OLD_WORDS = """
    answer answers blow course door encounter firm freedom freedoms gate house leap look looked
    looks loose march meet mend nothing passage question questions room rooms soon standing stands
    still stretch strike tell tells told wild wish wishes
"""
"""Words without a meaning in the field, or with another one there; the glossary has the terms."""

OLD_WORDS_IN_TERMS = {"degrees_of_freedom"}
"""Terms of the field that contain an old word."""


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def _glossary() -> list[list[str]]:
    """Return the rows of the table: term, symbol, meaning, place of definition."""
    text = (ROOT / "docs" / "notation.md").read_text()
    section = text[text.index("## Glossary") :].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| **")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def _targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    else:
        return []
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _defines(body: list[ast.stmt], names: list[str]) -> bool:
    """Return whether statements define a name, or a class with a member."""
    if not names:
        return True
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == names[0]:
            return len(names) == 1 or _defines(node.body, names[1:])
        if names[0] in _targets(node):
            return len(names) == 1
    return False


def _is_defined(place: str) -> bool:
    """Return whether a dotted name is a module, or is defined (not merely imported) in one."""
    parts = place.split(".")[1:]
    for count in range(len(parts), -1, -1):
        path = PACKAGE.joinpath(*parts[:count])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return _defines(_tree(file).body, parts[count:])
    return False


@pytest.mark.parametrize(("term", "place"), [(row[0].strip("*"), row[3]) for row in _glossary()])
def test_a_term_is_defined_at_its_place(term, place):
    assert re.fullmatch(r"`draisine(\.\w+)+`", place), place
    assert _is_defined(place.strip("`")), f"{term}: {place} does not exist"


def test_the_resolver_of_places_rejects_wrong_places():
    assert _is_defined("draisine.model.contact.Wheel.axle")
    assert not _is_defined("draisine.model.contact.Wheel.axel")
    assert not _is_defined("draisine.model.contact.Whell")
    assert not _is_defined("draisine.modle")


def test_each_term_has_one_row_with_a_meaning():
    rows = _glossary()
    terms = [row[0].lower() for row in rows]
    assert len(terms) >= 150
    assert sorted(terms) == sorted(set(terms))
    assert all(len(row) == 4 and row[2] for row in rows)


def _is_plugin(path: Path, kind: str) -> bool:
    return PACKAGE.joinpath(*FOLDERS[kind].split(".")[1:]) in path.parents


def _places(name: str, files: list[Path], plugins: dict[str, str]) -> list[str]:
    """Return the files that define a name; files of plug-ins that must have it count as one."""
    kind = plugins.get(name)
    places = [kind if kind and _is_plugin(path, kind) else str(path) for path in files]
    return sorted(set(places))


def _duplicates(
    definitions: dict[str, list[Path]], plugins: dict[str, str]
) -> dict[str, list[str]]:
    places = {name: _places(name, files, plugins) for name, files in definitions.items()}
    return {name: files for name, files in places.items() if len(files) > 1}


def test_no_constant_has_two_meanings():
    definitions = defaultdict(list)
    for path in FILES:
        for name in {name for node in _tree(path).body for name in _targets(node)}:
            if re.fullmatch(r"_?[A-Z][A-Z0-9_]+", name):
                definitions[name].append(path)
    duplicates = _duplicates(definitions, PLUGIN_CONSTANTS)
    assert duplicates == {}, "rename one of each pair by its quantity and role, or import it"


def _is_command(path: Path, name: str) -> bool:
    """Return whether a function is a command: it has the name of its file, and of what it calls."""
    return path.parent == PACKAGE / "cli" and path.stem == name


def test_no_public_function_has_two_meanings():
    definitions = defaultdict(list)
    for path in FILES:
        for node in _tree(path).body:
            is_public = isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
            if is_public and not _is_command(path, node.name):
                definitions[node.name].append(path)
    duplicates = _duplicates(definitions, PLUGIN_FUNCTIONS)
    new = {name: duplicates[name] for name in duplicates.keys() - set(SAME_MEANING)}
    assert new == {}, "name what the function computes and of what"


def _words(name: str) -> set[str]:
    """Return the words of a name in snake or camel case."""
    for term in OLD_WORDS_IN_TERMS:
        name = name.replace(term, "")
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    return {word.lower() for word in words}


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions, classes and module constants, and of public parameters."""
    for node in tree.body:
        yield from _targets(node)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield from (a.arg for a in (*node.args.args, *node.args.kwonlyargs))


def test_old_words_do_not_come_back_as_names():
    words = set(OLD_WORDS.split())
    old = {
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in FILES
        for name in _names(_tree(path))
        if _words(name) & words
    }
    assert old == set(), "use the term of the glossary"


def test_words_of_names():
    assert _words("WAY_OUT") == {"way", "out"}
    assert _words("HoldRecord") == {"hold", "record"}
    assert _words("_look_where") == {"look", "where"}
