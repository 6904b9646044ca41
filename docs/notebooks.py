"""Notebooks from the tutorials: `python docs/notebooks.py FOLDER` writes them all.

The tutorials are the source; their examples run in the tests. Every fenced example becomes cells,
cut after each answer, with the answer as the cell's output; files that a page shows become cells
that write them, pictures by scripts become cells that draw them, other pictures are embedded. When the
documentation is built, each tutorial gets a link to its notebook.
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
FENCE = re.compile(
    r"^```python\n(?P<code>>>> .*?)^```$|^```\{literalinclude\} (?P<file>\S+)\n.*?^```$"
    r"|^```\{(?P<drawn>look|stages)\} (?P<name>\w+)\n```$",
    re.S | re.M,
)
REMARK = re.compile(r"^% .*\n", re.MULTILINE)
IMAGE = re.compile(r"!\[([^\]]*)\]\(([^):]+)\)")
ROLE = re.compile(r"\{(eq|class)\}`([^`]+)`")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:]+)\.md(?:#[^)]*)?\)")


def notebook(page: Path) -> dict[str, Any]:
    """Return a tutorial as a notebook (format 4.5)."""
    text = page.read_text(encoding="utf-8")
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
    text = LINK.sub(lambda m: m[0].replace(".md", ".ipynb") if _is_tutorial(m[2]) else m[1], text)
    if not text.strip():
        return []
    pictures = [folder / found[2] for found in IMAGE.finditer(text)]
    text = IMAGE.sub(lambda m: f"![{m[1]}](attachment:{Path(m[2]).name})", text)
    cell = {"cell_type": "markdown", "metadata": {}, "source": text.strip()}
    return [cell | {"attachments": dict(map(_embedded, pictures))} if pictures else cell]


def _embedded(picture: Path) -> tuple[str, dict[str, str]]:
    """Return the name of a photograph or screenshot, and all of it as text."""
    return picture.name, {"image/jpeg": base64.b64encode(picture.read_bytes()).decode("ascii")}


def _is_tutorial(name: str) -> bool:
    return "/" not in name and (TUTORIALS / f"{name}.md").exists()


def _drawn(kind: str, name: str) -> dict[str, Any]:
    """Return a cell that draws a picture of the gallery, with names of its own, or shows the equations of
    a machine.
    """
    if kind == "stages":
        source = f'import draisine\n\ndraisine.compile("{name}").explain()'
    else:
        script = (TUTORIALS.with_name("gallery") / f"{name}.py").read_text(encoding="utf-8")
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


def write(page: Path, folder: Path) -> Path:
    """Write a tutorial's notebook into a folder and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{page.stem}.ipynb"
    target.write_text(json.dumps(notebook(page), indent=1) + "\n", encoding="utf-8")
    return target


def offer(app: Any, page: str, text: list[str]) -> None:
    """Put a link to its notebook below the title of a tutorial."""
    if not page.startswith("tutorial/"):
        return
    source = Path(app.srcdir) / f"{page}.md"
    target = write(source, Path(app.doctreedir) / "notebooks")
    place = Path(os.path.relpath(target, source.parent)).as_posix()
    title, _, rest = text[0].partition("\n")
    text[0] = f"{title}\n\n{{download}}`This page as a notebook <{place}>`\n{rest}"


def setup(app: Any) -> dict[str, bool]:
    """Connect the hook."""
    app.connect("source-read", offer)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("write: python docs/notebooks.py FOLDER")
    for tutorial in sorted(TUTORIALS.glob("*.md")):
        print(write(tutorial, Path(sys.argv[1])))
