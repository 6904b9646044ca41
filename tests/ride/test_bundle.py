"""The build hook: third-party scripts are part of the wheel, or a warning reports that they are missing."""

import importlib.util
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).parents[2]
PAGE = "src/draisine/ride/page"
BROKEN = "#!/bin/sh\necho npm was asked >> asked\nexit 1\n"
WORKING = """#!/bin/sh
echo npm was asked >> asked
mkdir -p node_modules/three node_modules/uplot
echo "licence of three" > node_modules/three/LICENSE
echo "licence of uplot" > node_modules/uplot/LICENSE
echo "var draisineVendor = {};" > src/draisine/ride/page/vendor.js
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Run the hook in a source tree of its own, with an npm that is a script, or none."""
    (tmp_path / PAGE).mkdir(parents=True)
    shutil.copy(ROOT / "package.json", tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("sh", "mkdir"):
        (tools / tool).symlink_to(shutil.which(tool))
    monkeypatch.setenv("PATH", str(tools))
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    hook = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hook)

    def run(npm=None, version="standard"):
        if npm is not None:
            (tools / "npm").write_text(npm)
            (tools / "npm").chmod(0o755)
        warnings = []
        data = {"artifacts": []}
        app = SimpleNamespace(display_warning=warnings.append)
        bundler = hook.BundlePage(str(tmp_path), {}, None, None, "", "wheel", app)
        bundler.initialize(version, data)
        asked = (tmp_path / "asked").exists()
        return data["artifacts"], warnings, asked

    run.page = tmp_path / PAGE
    return run


def test_with_npm_the_bundle_and_its_licences_come_along(build):
    artifacts, warnings, asked = build(WORKING)
    assert (artifacts, warnings, asked) == (
        [f"{PAGE}/vendor.js", f"{PAGE}/vendor-licences.txt"],
        [],
        True,
    )
    text = (build.page / "vendor-licences.txt").read_text()
    assert "licence of three" in text and "licence of uplot" in text


@pytest.mark.parametrize("npm", [None, BROKEN], ids=["no npm", "no network"])
def test_without_npm_or_network_the_wheel_is_built_with_a_warning(build, npm):
    artifacts, warnings, _ = build(npm)
    assert artifacts == []
    assert len(warnings) == 1 and "without three.js" in warnings[0]


def test_a_bundle_that_is_there_is_kept(build):
    (build.page / "vendor.js").write_text("mine")
    artifacts, warnings, asked = build(WORKING)
    assert (artifacts, warnings, asked) == ([f"{PAGE}/vendor.js"], [], False)
    assert (build.page / "vendor.js").read_text() == "mine"


def test_an_editable_install_asks_for_nothing(build):
    assert build(WORKING, version="editable") == ([], [], False)
