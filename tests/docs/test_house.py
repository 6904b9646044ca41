"""The house rules that a reader relies on: rooms tell what is in them, one name has one meaning."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from conftest import SLOW, is_slow

from draisine.registry import FOLDERS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "draisine"
FILES = sorted(PACKAGE.rglob("*.py"))
ROOMS = [path.parent for path in FILES if path.name == "__init__.py"]
PLUGS = [PACKAGE.joinpath(*module.split(".")[1:]) for module in FOLDERS.values()]

PARTICIPLES = {
    *("begun", "bent", "broken", "built", "done", "drawn", "driven", "fallen", "felt", "found"),
    *("given", "gone", "grown", "heard", "held", "hidden", "kept", "known", "laid", "led", "left"),
    *("lost", "made", "met", "paid", "ridden", "said", "seen", "sent", "shown", "slid", "spent"),
    *("spun", "struck", "swept", "taken", "told", "upright", "worn", "written"),
}
NOUNS = {"drawing", "generalised"}
"""Words of that form that the field has as nouns, or for what they name: Q are generalised forces."""


def _name(path):
    return str(path.relative_to(PACKAGE)) if path != PACKAGE else "draisine"


@cache
def _tree(path):
    return ast.parse(path.read_text())


def _entries(room):
    """Return files and folders of a room that its docstring must tell; plugs tell of themselves."""
    folder = [p for p in room.iterdir() if (p / "__init__.py").exists() or p.suffix == ".py"]
    names = [p.stem for p in folder if not p.name.startswith("__")]
    if any(room == plug or plug in room.parents for plug in PLUGS):
        return [name for name in names if name.startswith("_")]
    return names


@pytest.mark.parametrize("room", [r for r in ROOMS if r != PACKAGE], ids=_name)
def test_a_room_lists_what_is_in_it(room):
    text = ast.get_docstring(_tree(room / "__init__.py"))
    assert text
    missing = [name for name in _entries(room) if f"`{name}`" not in text]
    assert not missing, f"{_name(room)}/__init__.py does not tell of {', '.join(missing)}"


def _types(path):
    """Return the names of classes and of aliases of types that a file defines."""
    names = []
    for node in _tree(path).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in names if re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", name)]


def test_no_name_of_a_type_stands_twice():
    names = Counter(name for path in FILES for name in _types(path))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_public_function_is_a_bare_participle():
    bad = []
    for path in FILES:
        for node in _tree(path).body:
            if isinstance(node, ast.FunctionDef) and _is_participle(node.name):
                bad.append(f"{_name(path)}: {node.name}")
    assert bad == []


def _is_participle(name):
    regular = re.fullmatch(r"[a-z]{2,}(ed|ing)", name) is not None
    return (regular or name in PARTICIPLES) and name not in NOUNS


def test_the_detector_of_participles_works():
    assert all(map(_is_participle, ["told", "seen", "changed", "working", "ridden"]))
    assert not any(map(_is_participle, ["run", "read", "event_records", "observe", "simulate"]))


def test_few_files_stand_at_the_root():
    assert sorted(p.name for p in PACKAGE.glob("*.py")) == [
        "__init__.py",
        "__main__.py",
        "errors.py",
        "registry.py",
    ]


@pytest.mark.parametrize("room", ROOMS, ids=_name)
def test_no_room_of_mixed_content_is_crowded(room):
    if not any(room == plug or plug in room.parents for plug in PLUGS):
        assert len([p for p in room.glob("*.py") if p.name != "__init__.py"]) <= 12


def _lengths(node):
    """Return how many lines a function has, docstring aside, with its signature and below it."""
    first = node.body[0]
    told = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if told else 0
    return [node.end_lineno - line + 1 - docstring for line in (node.lineno, first.lineno)]


def test_functions_are_short():
    """Only drawings of vehicles, whose parameters are data, are longer than 40 lines."""
    long = {
        f"{_name(path)}: {node.name}": _lengths(node)
        for path in FILES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef) and _lengths(node)[0] > 40
    }
    assert [name for name in long if not name.startswith("vehicles/")] == []
    assert len(long) < 20
    assert max(below for _, below in long.values()) <= 60, long


def _glossary():
    text = (ROOT / "docs" / "notation.md").read_text()
    table = text[text.index("## Words") :].split("\n\n")[2].strip()
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.split("\n")[2:]]
    return {row[0]: row[2] for row in rows}


def test_the_glossary_gives_each_word_one_meaning_and_one_home():
    """Every word stands once, and the thing that it names is where the glossary says."""
    text = (ROOT / "docs" / "notation.md").read_text()
    words = _glossary()
    assert len(words) >= 15
    for word, home in words.items():
        for place in re.findall(r"`(draisine\.[\w.]+)`", home):
            module, _, name = place.rpartition(".")
            path = PACKAGE.joinpath(*module.split(".")[1:])
            file = (
                path.with_suffix(".py")
                if path.with_suffix(".py").exists()
                else path / "__init__.py"
            )
            found = (PACKAGE.joinpath(*place.split(".")[1:])).exists() or (
                re.search(rf"\b{name}\b", file.read_text()) is not None
            )
            assert found, f"{word}: no {place}"
    assert len(re.findall(r"^\| \*\*", text, flags=re.M)) == len(words)


def test_the_page_on_architecture_names_files_that_are_there():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", text)) - {"src/draisine"}
    assert len(named) > 20
    for name in sorted(named):
        places = [PACKAGE / name, PACKAGE / "simulation" / name]
        assert any(p.is_dir() or p.with_suffix(".py").exists() for p in places), name


def test_tests_stand_in_the_rooms_of_what_they_test():
    """Every room has tests, and no folder of tests is without its room, but for what tests them all."""
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")} - {Path()}
    across = {"agree", "combine", "docs", "published"}
    strangers = [f for f in folders if f.parts[0] not in across and not (PACKAGE / f).is_dir()]
    assert strangers == []
    rooms = {room.name for room in ROOMS if room.parent == PACKAGE}
    assert rooms - {folder.parts[0] for folder in folders} == set()


def test_slow_tests_are_listed_by_paths_that_exist_and_all_others_are_quick(request):
    tests = ROOT / "tests"
    missing = [p for p in SLOW if not (tests / p).is_dir() and not (tests / f"{p}.py").is_file()]
    assert missing == []
    assert is_slow(tests / "agree" / "test_runs.py")
    assert not is_slow(Path(__file__))
    assert request.node.get_closest_marker("quick")
