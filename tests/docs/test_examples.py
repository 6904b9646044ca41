"""The examples of the documentation run and print what they say: one page, one namespace."""

import doctest
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    if not {"_build", "course"} & {*path.parts}  # test_course runs the course
    and ">>> " in path.read_text(encoding="utf-8")
)
FENCE = re.compile(r"^```(\S*)")
NEEDS = re.compile(r"^% needs (\w+)$", flags=re.M)


def examples(text):
    """Return the fenced Python of a page, all other lines blank, so that line numbers stay right."""
    inside, out = False, []
    for line in text.splitlines():
        fence = FENCE.match(line)
        if fence:
            inside = not inside and fence.group(1) in ("python", "pycon")
            out.append("")
        else:
            out.append(line if inside else "")
    return "\n".join(out) + "\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_page(page, tmp_path, monkeypatch):
    content = page.read_text(encoding="utf-8")
    for module in NEEDS.findall(content):
        pytest.importorskip(module, reason=f"{module} is not installed")
    for ending in ("py", "xml", "urdf"):  # what a page shows lies where a reader would put it
        for file in page.parent.glob(f"*.{ending}"):
            shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    parser = doctest.DocTestParser()
    names = {"__name__": "__main__"}
    text = examples(content)
    test = parser.get_doctest(text, names, page.name, str(page), 0)
    runner = doctest.DocTestRunner(
        optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False
    )
    told = []
    runner.run(test, out=told.append)
    assert not runner.failures, "".join(told)
