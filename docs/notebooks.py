"""Notebooks from tutorials and course: `python docs/notebooks.py FOLDER` writes them all.

The pages are the source; their examples run in the tests. Every fenced example becomes cells,
cut after each answer, with the answer as the cell's output; files that a page shows become cells
that write them, pictures by scripts become cells that draw them, other pictures are embedded. When the
documentation is built, each page gets a link to its notebook.

A chapter of the course has gaps: functions that raise `NotImplementedError`, each with a check. Its
notebook grades itself. The page of solutions has the functions; a second notebook has them filled in. Both
begin with a cell that writes the checks, `course.py`.
"""

import ast
import base64
import doctest
import json
import os
import re
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

TUTORIALS = Path(__file__).with_name("tutorial")
COURSE = Path(__file__).with_name("course")
SOLUTIONS = COURSE / "solutions.md"
FOLDERS = (TUTORIALS, COURSE)
GAP = re.compile(
    r"^>>> def (?P<name>\w+)\(.*?\n(?:\.\.\. .*\n)*?\.\.\.     raise NotImplementedError\n", re.M
)
FUNCTION = re.compile(r"^>>> def (?P<name>\w+)\(.*\n(?:\.\.\. .*\n|\.\.\.\n)+", re.M)
FENCE = re.compile(
    r"^```python\n(?P<code>>>> .*?)^```$|^```\{literalinclude\} (?P<file>\S+)\n.*?^```$"
    r"|^```\{(?P<drawn>look|stages)\} (?P<name>[\w/]+)\n```$",
    re.S | re.M,
)
REMARK = re.compile(r"^% .*\n|^```\{toctree\}\n[^`]*```\n", re.MULTILINE)
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^):]+)\)")
ROLE = re.compile(r"\{(eq|class)\}`([^`]+)`")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:]+)\.md(?:#[^)]*)?\)")


def fill_gaps(text: str) -> str:
    """Return the text of a chapter with the functions of the page of solutions in its gaps.

    Chapters may use one name for functions of their own, so that only the section of the chapter counts.
    """
    number = text[2]
    section = SOLUTIONS.read_text(encoding="utf-8").split(f"\n## {number} ")[1].split("\n## ")[0]
    functions = {found["name"]: found[0] for found in FUNCTION.finditer(section)}
    return GAP.sub(lambda gap: functions[gap["name"]], text)


def notebook(page: Path, is_solved: bool = False) -> dict[str, Any]:
    """Return a page as a notebook (format 4.5), with or without the solutions of its gaps."""
    text = page.read_text(encoding="utf-8")
    if is_solved:
        text = fill_gaps(text)
    cells: list[dict[str, Any]] = []
    at = 0
    for found in FENCE.finditer(text):
        cells += _prose(text[at : found.start()], page.parent)
        if found["code"]:
            cells += _examples(found["code"])
        elif found["file"]:
            cells.append(_file(page.parent / found["file"]))
        else:
            cells.append(_drawn(found["drawn"], found["name"]))
        at = found.end()
    cells += _prose(text[at:], page.parent)
    if page.parent == COURSE:
        cells.insert(
            1, _file(COURSE / "course.py") | {"metadata": {"jupyter": {"source_hidden": True}}}
        )
    numbered = [cell | {"id": f"cell-{k}"} for k, cell in enumerate(cells)]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {
        "cells": numbered,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _prose(text: str, folder: Path) -> list[dict[str, Any]]:
    """Return text as a cell, without what only the documentation understands, and with its pictures."""
    text = REMARK.sub("", text)
    text = ROLE.sub(
        lambda m: f"equation `{m[2]}` of the theory" if m[1] == "eq" else f"`{m[2]}`", text
    )
    text = LINK.sub(
        lambda m: m[0].replace(".md", ".ipynb") if _has_notebook(folder, m[2]) else m[1], text
    )
    if not text.strip():
        return []
    pictures = [folder / found[2] for found in IMAGE.finditer(text)]
    text = IMAGE.sub(lambda m: f"![{m[1]}](attachment:{Path(m[2]).name})", text)
    cell = {"cell_type": "markdown", "metadata": {}, "source": text.strip()}
    return [cell | {"attachments": dict(map(_embedded, pictures))} if pictures else cell]


def _embedded(picture: Path) -> tuple[str, dict[str, str]]:
    """Return the name of a photograph or screenshot, and all of it as text."""
    return picture.name, {"image/jpeg": base64.b64encode(picture.read_bytes()).decode("ascii")}


def _has_notebook(folder: Path, name: str) -> bool:
    """Return whether a link from a page leads to a page with a notebook in the same folder."""
    page = folder / f"{name}.md"
    return "/" not in name and page in pages_with_notebook()


def pages_with_notebook() -> list[Path]:
    """Return the tutorials, and the pages of the course that have examples."""
    pages = [page for folder in FOLDERS for page in sorted(folder.glob("*.md"))]
    return [
        page
        for page in pages
        if page.parent == TUTORIALS or (page != SOLUTIONS and ">>> " in page.read_text("utf-8"))
    ]


def _drawn(kind: str, name: str) -> dict[str, Any]:
    """Return a cell that draws a picture of the gallery, with names of its own, or shows the equations of
    a machine.
    """
    if kind == "stages":
        source = f'import draisine\n\ndraisine.compile("{name}").explain()'
    else:
        place = name if "/" in name else f"gallery/{name}"
        script = (TUTORIALS.parent / f"{place}.py").read_text(encoding="utf-8")
        name = Path(name).name
        about = ast.parse(script).body[0]
        inside = indent("\n".join(script.splitlines()[about.end_lineno :]).strip(), "    ")
        source = (
            "from draisine.view.notebook import show_inline\n\n\n"
            f"def draw_{name}():\n{inside}\n\n    return figure()\n\n\nshow_inline(draw_{name}())"
        )
    return _code(source) | {"metadata": {"tags": ["picture"]}}


def _file(path: Path) -> dict[str, Any]:
    """Return a cell that writes a file."""
    return _code(f"%%writefile {path.name}\n{path.read_text(encoding='utf-8').rstrip()}")


def _examples(block: str) -> list[dict[str, Any]]:
    """Return the examples of a block as cells, a new one after every answer."""
    cells, source = [], ""
    for example in doctest.DocTestParser().get_examples(block):
        source += example.source
        if example.want:
            cells.append(_code(source.rstrip(), example.want, example.exc_msg is not None))
            source = ""
    return [*cells, *([_code(source.rstrip())] if source else [])]


def _code(source: str, answer: str = "", fails: bool = False) -> dict[str, Any]:
    output = {"output_type": "stream", "name": "stdout", "text": answer}
    return {
        "cell_type": "code",
        "metadata": {"tags": ["raises-exception"]} if fails else {},
        "execution_count": None,
        "source": source,
        "outputs": [output] if answer else [],
    }


def write(page: Path, folder: Path, is_solved: bool = False) -> Path:
    """Write the notebook of a page into a folder and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{page.stem}{'_solved' if is_solved else ''}.ipynb"
    target.write_text(json.dumps(notebook(page, is_solved), indent=1) + "\n", encoding="utf-8")
    return target


def write_all(folder: Path) -> list[Path]:
    """Write the notebooks of all pages, and of the chapters with gaps also the solved ones."""
    pages = pages_with_notebook()
    chapters = [page for page in pages if GAP.search(page.read_text(encoding="utf-8"))]
    return [write(page, folder) for page in pages] + [
        write(page, folder, True) for page in chapters
    ]


def offer(app: Any, page: str, text: list[str]) -> None:
    """Put links to its notebooks below the title of a page."""
    source = Path(app.srcdir) / f"{page}.md"
    if source not in pages_with_notebook():
        return
    has_gaps = GAP.search(text[0]) is not None
    links = [("This page as a notebook", write(source, Path(app.doctreedir) / "notebooks"))]
    if has_gaps:
        solved = write(source, Path(app.doctreedir) / "notebooks", is_solved=True)
        links = [("This page as a notebook that grades itself", links[0][1]), ("solved", solved)]
    shown = ", ".join(
        f"{{download}}`{words} <{Path(os.path.relpath(target, source.parent)).as_posix()}>`"
        for words, target in links
    )
    title, _, rest = text[0].partition("\n")
    text[0] = f"{title}\n\n{shown}\n{rest}"


def setup(app: Any) -> dict[str, bool]:
    """Connect the hook."""
    app.connect("source-read", offer)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("write: python docs/notebooks.py FOLDER")
    for written in write_all(Path(sys.argv[1])):
        print(written)
