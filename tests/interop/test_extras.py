"""A neighbour that is not installed is asked for by name."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import draisine
from draisine.errors import MissingPackageError, import_extra

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_a_missing_package_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "control", None)
    disc = draisine.compile("rolling_disc")
    linear = draisine.linearise(disc, draisine.state(disc, forward_speed=5.0))
    with pytest.raises(MissingPackageError, match=r"pip install 'draisine\[control\]'"):
        linear.to_control()


def test_every_optional_package_is_an_extra() -> None:
    texts = [path.read_text() for path in (ROOT / "src").rglob("*.py")]
    found = {
        pair
        for text in texts
        for pair in re.findall(r'import_extra\("(\w+)[\w.]*", "(\w+)"\)', text)
    }
    assert ("gymnasium", "gymnasium") in found
    for package, extra in found - {("numpy", "none"), ("IPython", "notebook")}:
        wanted = [
            re.split(r"\W", name)[0].lower() for name in PROJECT["optional-dependencies"][extra]
        ]
        assert package.lower() in wanted, f"{extra} does not bring {package}"
    assert import_extra("json", "none").__name__ == "json"
