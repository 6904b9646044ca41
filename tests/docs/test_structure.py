"""The structure of the package: subpackages list their files, types have one definition."""

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
SUBPACKAGES = [path.parent for path in FILES if path.name == "__init__.py"]
PLUGIN_FOLDERS = [PACKAGE.joinpath(*module.split(".")[1:]) for module in FOLDERS.values()]

MAX_FILES = 12
"""Files in a folder: more do not fit on one page of a file browser."""


def _name(path):
    return str(path.relative_to(PACKAGE)) if path != PACKAGE else "draisine"


@cache
def _tree(path):
    return ast.parse(path.read_text())


def _has_plugs(folder):
    return any(folder == plugins or plugins in folder.parents for plugins in PLUGIN_FOLDERS)


def _entries(folder):
    """Return files and folders that the docstring of a subpackage must list; plug-ins list themselves."""
    paths = [p for p in folder.iterdir() if (p / "__init__.py").exists() or p.suffix == ".py"]
    names = [p.stem for p in paths if not p.name.startswith("__")]
    return [name for name in names if name.startswith("_")] if _has_plugs(folder) else names


@pytest.mark.parametrize("folder", [p for p in SUBPACKAGES if p != PACKAGE], ids=_name)
def test_a_subpackage_lists_its_files(folder):
    text = ast.get_docstring(_tree(folder / "__init__.py"))
    assert text
    missing = [name for name in _entries(folder) if f"`{name}`" not in text]
    assert not missing, f"{_name(folder)}/__init__.py does not list {', '.join(missing)}"


def _types(path):
    """Return the names of classes and of type aliases that a file defines."""
    names = []
    for node in _tree(path).body:
        if isinstance(node, ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in names if re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", name)]


def test_no_type_is_defined_twice():
    names = Counter(name for path in FILES for name in _types(path))
    assert [name for name, count in names.items() if count > 1] == []


def test_few_files_are_at_the_root():
    assert sorted(p.name for p in PACKAGE.glob("*.py")) == [
        "__init__.py",
        "__main__.py",
        "errors.py",
        "registry.py",
    ]


@pytest.mark.parametrize("folder", SUBPACKAGES, ids=_name)
def test_no_folder_other_than_of_plugs_is_crowded(folder):
    if not _has_plugs(folder):
        assert len([p for p in folder.glob("*.py") if p.name != "__init__.py"]) <= MAX_FILES


def test_the_page_on_architecture_names_existing_files():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+)`", text)) - {"src/draisine"}
    assert len(named) > 20
    for name in sorted(named):
        places = [PACKAGE / name, PACKAGE / "simulation" / name]
        assert any(p.is_dir() or p.with_suffix(".py").exists() for p in places), name


def test_tests_mirror_the_subpackages():
    """Every subpackage has tests; folders of tests without a subpackage test several."""
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")} - {Path()}
    across = {"agree", "combine", "docs", "published"}
    strangers = [f for f in folders if f.parts[0] not in across and not (PACKAGE / f).is_dir()]
    assert strangers == []
    subpackages = {folder.name for folder in SUBPACKAGES if folder.parent == PACKAGE}
    assert subpackages - {folder.parts[0] for folder in folders} == set()


def test_slow_tests_are_listed_by_paths_that_exist_and_all_others_are_quick(request):
    tests = ROOT / "tests"
    missing = [p for p in SLOW if not (tests / p).is_dir() and not (tests / f"{p}.py").is_file()]
    assert missing == []
    assert is_slow(tests / "agree" / "test_runs.py")
    assert not is_slow(Path(__file__))
    assert request.node.get_closest_marker("quick")
