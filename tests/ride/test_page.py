"""Files of the page: dependencies and accessible texts."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from draisine.ride.export import PAGE_MODULES
from draisine.ride.presets import PRESETS

ROOT = Path(__file__).parents[2]


def test_the_lock_file_pins_everything_and_has_no_addresses():
    text = (ROOT / "package-lock.json").read_text(encoding="utf-8")
    assert "http" not in text and '"resolved"' not in text
    packages = json.loads(text)["packages"]
    assert all("integrity" in package for name, package in packages.items() if name)
    wanted = json.loads((ROOT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert wanted["three"].startswith("0.187") and wanted["uplot"].startswith("1.6")


@pytest.mark.parametrize("name", PRESETS)
def test_the_tutorial_has_every_ride(name):
    text = " ".join((ROOT / "docs/tutorial/ride.md").read_text(encoding="utf-8").split())
    assert f"**{PRESETS[name].title}**, `{name}`. {PRESETS[name].lesson}" in text
    assert f"(../figures/ride/{name}.jpg)" in text


def test_every_module_of_the_page_is_in_the_exported_one():
    page = files("draisine.ride") / "page"
    own = {path.name[:-3] for path in page.iterdir() if path.name.endswith(".js")}
    assert own - {"vendor"} == set(PAGE_MODULES)
