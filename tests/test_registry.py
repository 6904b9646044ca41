"""The folder is the registry: plug-ins are found by name, and only those in the folder."""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

import draisine
from draisine.errors import UnknownNameError
from draisine.registry import FOLDERS, find, names, shipped_plugins

PACKAGE = Path(draisine.__file__).parent

MODULE_PLUGINS = {"integrator": "advance", "formulation": "FORMULATION", "printer": "write"}
"""The kinds whose plug-in is the module itself, and the name that it must define."""


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k in FOLDERS for n in names(k)])
def test_every_file_of_a_kind_defines_its_plug(kind, name):
    plugin = find(kind, name)
    assert callable(plugin) or hasattr(plugin, MODULE_PLUGINS[kind])


@pytest.mark.parametrize("kind", FOLDERS)
def test_plugs_of_a_kind_are_the_files_of_its_folder_without_helpers(kind):
    folder = PACKAGE.joinpath(*FOLDERS[kind].split(".")[1:])
    public = {
        path.stem
        for path in folder.rglob("*.py")
        if not any(part.startswith("_") for part in path.relative_to(folder).parts)
    }
    assert public
    assert public <= set(names(kind))
    assert not any(name.startswith("_") for name in names(kind))


def test_threads_wait_for_a_plug_that_another_one_imports(monkeypatch):
    """A module is in `sys.modules` before it is executed; here each one takes a while."""
    place = shipped_plugins("impact")["moreau"]
    # Python also stores a module in its package; both entries are restored afterwards.
    find("impact", "moreau")
    package = sys.modules[place.rpartition(".")[0]]
    monkeypatch.setattr(package, "moreau", package.moreau)
    monkeypatch.delitem(sys.modules, place)
    execute = SourceFileLoader.exec_module

    def execute_slowly(loader, module):
        time.sleep(0.05)
        execute(loader, module)

    monkeypatch.setattr(SourceFileLoader, "exec_module", execute_slowly)
    with ThreadPoolExecutor(4) as pool:
        plugins = list(pool.map(lambda _: find("impact", "moreau"), range(4)))
    assert all(plugin is plugins[0] for plugin in plugins)


def test_a_plug_is_found_at_any_depth():
    assert shipped_plugins("vehicle")["whipple"].endswith("vehicles.bicycle.whipple")
    assert find("vehicle", "whipple") is find("vehicle", "whipple")


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(UnknownNameError, match="Did you mean 'whipple'"):
        find("vehicle", "whiple")
