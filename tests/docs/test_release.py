"""What is released: one version, a wheel and a source distribution that stand alone, reproducibly."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import draisine
from draisine.cli.doctor import EXTRAS
from draisine.codegen.cache import default_folder
from draisine.errors import DataError
from draisine.results.store import check_target

ROOT = Path(__file__).parents[2]
LEFT_OUT = (".git", ".venv", "node_modules", "_build", "__pycache__", ".*cache*", "dist")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a wheel and a source distribution, built without npm from a copy of the sources, twice."""
    sources = tmp_path_factory.mktemp("sources") / "draisine"
    shutil.copytree(ROOT, sources, ignore=shutil.ignore_patterns(*LEFT_OUT))
    nowhere = os.environ | {"PATH": str(tmp_path_factory.mktemp("empty"))}
    files = []
    for k in range(2):
        out = tmp_path_factory.mktemp(f"built{k}")
        command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
        done = subprocess.run(command, cwd=sources, env=nowhere, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        files.append({path.suffix: path for path in out.iterdir()})
    return files


def test_two_builds_are_equal_to_the_bit(built):
    first, second = built
    assert set(first) == {".whl", ".gz"}
    for ending, path in first.items():
        assert path.name == second[ending].name
        assert path.read_bytes() == second[ending].read_bytes()


def test_the_wheel_stands_alone(built, tmp_path):
    """Unpacked into an environment of its own, with what it needs beside it, it runs."""
    place = tmp_path / "environment"
    venv.create(place)
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    inside = "import sysconfig; print(sysconfig.get_path('purelib'))"
    told = subprocess.run([python, "-c", inside], capture_output=True, text=True, check=True)
    site = Path(told.stdout.strip())
    with zipfile.ZipFile(built[0][".whl"]) as wheel:
        names = wheel.namelist()
        wheel.extractall(site)
    beside = [path for path in sys.path if path.endswith("site-packages")]
    (site / "beside.pth").write_text("\n".join(beside))
    code = "import sys, draisine; from draisine.cli import main; print(draisine.__file__); "
    code += "sys.exit(main(['run', '--until', '0.1']))"
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=alone, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(site / "draisine"))
    assert (tmp_path / "passive-stabilisation.nc").exists()
    for name in ("draisine/py.typed", "draisine/view/replay.html", "draisine/ride/page/index.html"):
        assert name in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.startswith(("tests", "docs", "bench"))]


def test_the_source_distribution_has_what_the_tests_need(built):
    with tarfile.open(built[0][".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "hatch_build.py"} <= names
    assert {"tests/docs/test_release.py", "docs/index.md", "constraints.txt"} <= names


def test_the_version_stands_in_one_place():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project and "version" in project["dynamic"]
    assert "urls" not in project
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.M)[1]
    changed = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)[1]
    assert draisine.__version__ == version("draisine") == cited == changed


def test_licences_of_what_is_bundled_come_along(tmp_path, monkeypatch):
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = module_from_spec(spec)
    spec.loader.exec_module(hook)
    shutil.copy(ROOT / "package.json", tmp_path)
    names = list(json.loads((tmp_path / "package.json").read_text())["dependencies"])
    for name in names:
        (tmp_path / "node_modules" / name).mkdir(parents=True)
        (tmp_path / "node_modules" / name / "LICENSE").write_text(f"the licence of {name}")
    (tmp_path / hook.PAGE).mkdir(parents=True)
    monkeypatch.setattr(hook.shutil, "which", lambda name: "/usr/bin/npm")
    monkeypatch.setattr(hook.subprocess, "run", lambda *given, **named: None)
    hook.bundle(tmp_path)
    text = (tmp_path / hook.PAGE / "vendor-licences.txt").read_text()
    assert all(f"the licence of {name}" in text for name in names)


@pytest.mark.parametrize(
    ("platform", "variables", "wanted"),
    [
        ("linux", {}, "home/.cache/draisine"),
        ("linux", {"XDG_CACHE_HOME": "x"}, "x/draisine"),
        ("darwin", {}, "home/Library/Caches/draisine"),
        ("win32", {"LOCALAPPDATA": "home/AppData/Local"}, "home/AppData/Local/draisine/cache"),
        ("win32", {"DRAISINE_CACHE": "mine"}, "mine"),
    ],
)
def test_the_cache_is_where_each_system_keeps_caches(platform, variables, wanted, monkeypatch):
    for name in ("DRAISINE_CACHE", "LOCALAPPDATA", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("pathlib.Path.home", lambda: Path("home"))
    assert default_folder() == Path(wanted)


def test_locks_and_owners_are_optional(tmp_path, monkeypatch):
    """Where a system has neither, as on Windows, files are still made whole, and kept code is found."""
    from draisine.codegen import files
    from draisine.codegen.cache import Store

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr(os, "getuid")
    files.write_text("whole", tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "whole"
    store = Store(tmp_path / "kept")
    store.put("key", b"value")
    assert store.get("key") == b"value"


def test_what_an_extra_brings_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("draisine.results.store.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'draisine\[store\]'"):
        check_target(tmp_path / "run.zarr")
    with pytest.raises(
        DataError, match=r"draisine\[store\].*`draisine run FILE\.toml --out FILE\.nc`"
    ):
        check_target(tmp_path / "sweep.zarr", (".zarr",))
    check_target(tmp_path / "run.nc")


def test_every_extra_is_documented():
    """The installation page and `draisine doctor` list all extras, except those for developers."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = project["optional-dependencies"]
    extras = set(needs) - {"test", "docs", "peers", "all"}
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert not [name for name in extras if f"`{name}`" not in page]
    assert {name: tuple(x.partition(">=")[0] for x in needs[name]) for name in extras} == EXTRAS
