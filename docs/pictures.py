"""Pictures by scripts: each file of `gallery` and `machines` is run when the documentation is built.

A page asks for one by a fenced block. `{picture} NAME` gives the script's title, what it says about
the picture, the picture itself and the code; `{look} NAME` gives the picture alone; `{thumbnails}
page` gives small pictures that lead to all of the page's; a NAME with a folder is not in `gallery`.
`{moving} SCENARIO` gives a film, `{stages} VEHICLE` the equations of a machine stage by stage,
`{documents} DOCUMENT` a table of the figures of a founding document, and the figures.
Pictures are kept beside the built pages.
"""

import importlib.util
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"^```\{(picture|look|thumbnails|moving|stages|documents)\} ([\w/-]+)\n```$", re.MULTILINE
)


@cache
def load(script: Path) -> Any:
    """Return a script as a module; a motion that it has is computed once."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "motion"):
        module.motion = cache(module.motion)  # type: ignore[attr-defined]
    return module


def title(script: Path) -> str:
    """Return the title of a picture."""
    return str(load(script).__doc__).partition("\n")[0]


def entry(script: Path, picture: str) -> str:
    """Return the text of a page about one script."""
    name, about = title(script), str(load(script).__doc__).partition("\n")[2]
    code = script.read_text(encoding="utf-8").split('"""', 2)[2].strip()
    return f"## {name}\n\n{about.strip()}\n\n![{name}]({picture})\n\n```python\n{code}\n```"


def place(app: Any, page: str, name: str) -> tuple[Path, str]:
    """Return where a picture is kept, and how a page names it."""
    target = Path(app.doctreedir) / "pictures" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    here = (Path(app.srcdir) / page).parent
    return target, Path(os.path.relpath(target, here)).as_posix()


def draw(app: Any, page: str, text: list[str]) -> None:
    """Run the scripts that a page asks for, and put what they are about into its text."""
    text[0] = BLOCK.sub(lambda found: draw_block(app, page, found), text[0])


def draw_block(app: Any, page: str, found: re.Match[str]) -> str:
    """Run the script that a block asks for; return what the page says instead."""
    kind, name = found[1], found[2]
    if kind == "moving":
        return moving(app, page, name)
    if kind == "stages":
        return stages(name)
    if kind == "documents":
        return documents(app, page, name)
    if kind == "thumbnails":
        asked = [one[2] for one in BLOCK.finditer(found.string) if one[1] == "picture"]
        return thumbnails(app, page, asked)
    script, (target, where) = script_of(app, name), place(app, page, f"{name}.png")
    load(script).figure().savefig(target, dpi=150)
    app.env.note_dependency(str(script))
    return entry(script, where) if kind == "picture" else f"![{title(script)}]({where})"


def stages(vehicle: str) -> str:
    """Return the way from a machine's drawing to its reduced dynamics, as the package tells it."""
    import draisine

    text = draisine.compile(vehicle).explain().write("html")
    inside = text.partition("</h1>")[2].rpartition("</div>")[0]
    return f"````{{raw}} html\n{inside.strip()}\n````"


def documents(app: Any, page: str, document: str) -> str:
    """Return the figures of a document: a table with commands, ranges and differences, then the pictures."""
    from matplotlib import pyplot

    from draisine.view.documents import axis_ranges, document_figures, draw_document_figure

    rows, pictures = [], []
    for record in document_figures():
        if not record.name.startswith(f"{document}/"):
            continue
        target, where = place(app, page, f"{record.name}.png")
        axes = draw_document_figure(record.name, target)
        number = record.name.partition("/")[2]
        rows.append(
            f"| {number} | {record.caption} | `draisine figure {record.name}` | "
            f"{'; '.join(axis_ranges(axes))} | {record.differs} |"
        )
        pictures.append(f"![{record.name}: {record.caption}]({where})")
        pyplot.close("all")
    head = (
        "| figure | shows | command | computed range | differs from print |\n|---|---|---|---|---|"
    )
    return "\n".join([head, *rows]) + "\n\n" + "\n\n".join(pictures)


def script_of(app: Any, name: str) -> Path:
    """Return the script of a picture."""
    return Path(app.srcdir) / f"{name if '/' in name else f'gallery/{name}'}.py"


def thumbnails(app: Any, page: str, names: list[str]) -> str:
    """Return small pictures that lead to the large ones further down on a page."""
    links = []
    for name in names:
        said = title(script_of(app, name))
        anchor = re.sub(r"[^\w\- ]", "", said.lower()).replace(" ", "-")
        picture = place(app, page, f"{name}.png")[1]
        links.append(f"[![{said}]({picture}) {said}](#{anchor})")
    return ":::{container} thumbnails\n" + "\n".join(links) + "\n:::"


def moving(app: Any, page: str, scenario: str) -> str:
    """Return a film of a scenario."""
    import draisine

    target, where = place(app, page, scenario.replace("/", "-") + ".gif")
    result = draisine.run(scenario)
    draisine.animate(result, target, fps=20, speed=0.5)
    return f"![{result.loaded.scenario.title}, at half its speed]({where})"


def setup(app: Any) -> dict[str, bool]:
    """Connect the hook."""
    app.connect("source-read", draw)
    return {"parallel_read_safe": True}
