"""The documentation by version: what the switcher offers is there."""

import json
import sys
from pathlib import Path

import pytest

import draisine

DOCS = Path(__file__).parents[2] / "docs"
CHANGES = "# Changes\n\n## 0.3.0 (unreleased)\n- a\n\n## 0.2.0 (2027-01-05)\n- b\n\n## 0.1.0\n"


@pytest.fixture
def docs(monkeypatch):
    """Return the script that builds versions."""
    monkeypatch.syspath_prepend(str(DOCS))
    import versions

    yield versions
    sys.modules.pop("versions")


def test_the_switcher_offers_what_was_built_newest_first(docs, tmp_path):
    for page in ("0.1.0/index.html", "0.3.0/index.html", "0.3.0/howto/linear.html", "draft/a.html"):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text("")
    docs.write_switcher(tmp_path, CHANGES)
    script = (tmp_path / "versions.js").read_text(encoding="utf-8")
    found = json.loads(script.partition(" = ")[2].rstrip(";\n"))
    assert found == [
        {"name": "0.3.0", "released": "unreleased", "pages": ["howto/linear.html", "index.html"]},
        {"name": "0.1.0", "released": "", "pages": ["index.html"]},
    ]
    assert "url=0.3.0/index.html" in (tmp_path / "index.html").read_text(encoding="utf-8")


def test_this_version_is_among_the_changes(docs):
    changes = (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    assert draisine.__version__ in [name for name, _ in docs.RELEASE.findall(changes)]
