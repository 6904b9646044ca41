"""Notebooks are their tutorials: the same examples in the same order, which the tests run, and
nothing that a notebook cannot read.
"""

import doctest
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.test_examples import examples

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted((DOCS / "tutorial").glob("*.md"))
CHAPTERS = sorted((DOCS / "course").glob("[0-9]_*.md"))
PAGES = TUTORIALS + CHAPTERS


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return all notebooks, as the script writes them."""
    folder = tmp_path_factory.mktemp("notebooks")
    command = [sys.executable, str(DOCS / "notebooks.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.iterdir()}


def test_there_is_one_for_each_page(made):
    solved = [f"{page.stem}_solved" for page in CHAPTERS]
    assert sorted(made) == sorted([*(page.stem for page in PAGES), *solved])


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_same_examples(page, made):
    text = page.read_text(encoding="utf-8")
    given = doctest.DocTestParser().get_examples(examples(text))
    code = [cell for cell in made[page.stem]["cells"] if cell["cell_type"] == "code"]
    run = [
        cell
        for cell in code
        if not cell["source"].startswith("%%writefile")
        and cell["metadata"].get("tags") != ["picture"]
    ]
    assert "\n".join(cell["source"] for cell in run) == "".join(x.source for x in given).rstrip()
    answers = [cell["outputs"][0]["text"] for cell in run if cell["outputs"]]
    assert answers == [x.want for x in given if x.want]
    fail = [cell for cell in run if cell["metadata"].get("tags") == ["raises-exception"]]
    assert len(fail) == sum(x.exc_msg is not None for x in given)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_cells_are_whole(page, made):
    """Cells are as format 4.5 wants them, code compiles, and a file that is written is the one
    beside the page.
    """
    found = made[page.stem]
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in found["cells"]]
    assert len(set(ids)) == len(ids)
    assert found["cells"][0]["source"].startswith("# ")
    for cell in found["cells"]:
        assert cell["cell_type"] in ("code", "markdown")
        if cell["cell_type"] == "markdown":
            assert not re.search(r"\{\w+\}`|>>> |\.md\)|```\{|^% ", cell["source"], re.M)
            linked = re.findall(r"\]\(([^)#:]+\.ipynb)", cell["source"])
            assert {*linked} <= {f"{other.stem}.ipynb" for other in PAGES}
            shown = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", cell["source"])
            assert shown == [f"attachment:{name}" for name in cell.get("attachments", {})]
            continue
        assert cell["execution_count"] is None
        first, _, rest = cell["source"].partition("\n")
        if first.startswith("%%writefile "):
            assert rest.strip() == (page.parent / first.split()[1]).read_text().strip()
        else:
            compile(cell["source"], page.name, "exec")


def test_pictures_are_drawn_where_they_stand(made, monkeypatch):
    """Each one of a page, with names of its own: those of the page keep their meaning."""
    drawn = []
    monkeypatch.setattr("draisine.view.notebook.show_inline", drawn.append)
    page = (DOCS / "tutorial" / "why_it_stays_up.md").read_text(encoding="utf-8")
    cells = [
        cell["source"]
        for cell in made["why_it_stays_up"]["cells"]
        if cell["metadata"].get("tags") == ["picture"]
    ]
    assert len(cells) == len(re.findall(r"^```\{look\}", page, re.M)) == 4
    names = {}
    for source in cells:
        exec(source, names)
    assert all(figure.axes for figure in drawn) and len(drawn) == 4
    assert not {"eigenvalues", "sensitivities", "figure"} & {*names}


def test_a_notebook_runs(made, tmp_path, monkeypatch):
    """One of them from its first cell to its last, as a person would run it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names = {}
    for cell in made["vehicle"]["cells"]:
        if cell["cell_type"] != "code":
            continue
        first, _, rest = cell["source"].partition("\n")
        if first.startswith("%%writefile "):
            (tmp_path / first.split()[1]).write_text(rest)
        elif "raises-exception" in cell["metadata"].get("tags", []):
            with pytest.raises(Exception, match=r"\w"):
                exec(cell["source"], names)
        else:
            exec(cell["source"], names)
    assert "skates" in names
