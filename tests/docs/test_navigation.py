"""Every page is in the navigation, and the entry pages are short reading lists."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENTRY_PAGES = ("first_hour", "bicycle", "model", "robots", "research")
INCLUDED = ("peers.md",)
"""Files that other pages include."""

MAX_PAGES = 8
"""Pages of an entry page, which a reader can read in order."""

TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.S | re.M)


def listed_pages(page):
    """Return the pages that the toctrees of a page list, as paths."""
    text = page.read_text(encoding="utf-8")
    lines = [line for tree in TOCTREE.findall(text) for line in tree.splitlines()]
    names = [line for line in lines if line and not line.startswith(":")]
    return [(page.parent / f"{name}.md").resolve() for name in names]


def test_every_page_is_in_the_navigation_once():
    pages = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts)
    listed = sorted(path for page in pages for path in listed_pages(page))
    assert listed == [p for p in pages if p.name not in (*INCLUDED, "index.md")]


@pytest.mark.parametrize("name", ENTRY_PAGES)
def test_an_entry_page_has_a_picture_and_links_to_its_pages(name):
    page = DOCS / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    pages = listed_pages(page)
    assert 1 <= len(pages) <= MAX_PAGES
    assert re.search(r"^```\{(image|moving|picture)\}", text, re.M)
    for path in pages:
        assert f"]({path.relative_to(DOCS)})" in text
