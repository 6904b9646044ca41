"""The folder is the registry: what is there is found by its name, and nothing else is."""

from pathlib import Path

import pytest

import draisine
from draisine.errors import UnknownNameError
from draisine.registry import FOLDERS, find, names, own_plugs

PACKAGE = Path(draisine.__file__).parent

WHOLE = {"integrator": "advance", "formulation": "FORMULATION", "printer": "write"}
"""The kinds of which the file itself is the thing, and what it must have."""


@pytest.mark.parametrize(("kind", "name"), [(k, n) for k in FOLDERS for n in names(k)])
def test_every_file_of_a_kind_has_its_one_thing(kind, name):
    thing = find(kind, name)
    assert callable(thing) or hasattr(thing, WHOLE[kind])


@pytest.mark.parametrize("kind", FOLDERS)
def test_a_kind_holds_the_files_of_its_folder_and_no_helpers(kind):
    folder = PACKAGE.joinpath(*FOLDERS[kind].split(".")[1:])
    public = {
        path.stem
        for path in folder.rglob("*.py")
        if not any(part.startswith("_") for part in path.relative_to(folder).parts)
    }
    assert public
    assert public <= set(names(kind))
    assert not any(name.startswith("_") for name in names(kind))


def test_a_plug_is_found_at_any_depth():
    assert own_plugs("vehicle")["whipple"].endswith("vehicles.bicycle.whipple")
    assert find("vehicle", "whipple") is find("vehicle", "whipple")


def test_an_unknown_name_is_told_with_what_was_meant():
    with pytest.raises(UnknownNameError, match="Did you mean 'whipple'"):
        find("vehicle", "whiple")
