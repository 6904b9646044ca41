"""The documentation by version: `python docs/versions.py SITE` builds this version into SITE/VERSION.

Versions stand beside one another, each as it was built when it was released. The file `versions.js`
next to them is written anew by every build: which versions are there, newest first in the order of
CHANGELOG.md, and which pages each has. All pages of all versions read it, as a script, so that it
works from a disk, too. `index.html` leads to the newest.
"""

import json
import re
import sys
from pathlib import Path

from draisine import __version__

DOCS = Path(__file__).parent
RELEASE = re.compile(r"^## (\S+)(?: \((.*)\))?$", re.MULTILINE)
LEAD = '<!doctype html><meta http-equiv="refresh" content="0; url={0}/index.html"><a href="{0}/">{0}</a>'


def versions(site: Path, changes: str) -> list[dict[str, object]]:
    """Return the versions of CHANGELOG.md that were built into a folder, newest first: name, when they
    were released, pages.
    """
    return [
        {"name": name, "released": when, "pages": pages}
        for name, when in RELEASE.findall(changes)
        if (pages := sorted(p.relative_to(site / name).as_posix() for p in _pages(site / name)))
    ]


def _pages(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.html") if not path.name.startswith("_")]


def write_switcher(site: Path, changes: str) -> None:
    """Write the list of versions beside them, and the page that leads to the newest."""
    found = versions(site, changes)
    script = f"globalThis.draisineVersions = {json.dumps(found)};\n"
    (site / "versions.js").write_text(script, encoding="utf-8")
    (site / "index.html").write_text(LEAD.format(found[0]["name"]), encoding="utf-8")


def main(site: Path) -> int:
    """Build this version; return the exit code."""
    from sphinx.cmd.build import build_main

    code = build_main(["-q", "-W", "-b", "html", str(DOCS), str(site / __version__)])
    if code == 0:
        write_switcher(site, (DOCS.parent / "CHANGELOG.md").read_text(encoding="utf-8"))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
