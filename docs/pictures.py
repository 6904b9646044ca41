"""Pictures by scripts: each file of `gallery` and `machines` is run when the documentation is built.

A page asks for one by a fenced block. `{picture} NAME` gives the script's title, what it says about
the picture, the picture itself and the code; `{look} NAME` gives the picture alone; a NAME with a
folder is not in `gallery`. Pictures are kept beside the built pages.
"""

import importlib.util
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

BLOCK = re.compile(r"^```\{(picture|look)\} ([\w/]+)\n```$", re.MULTILINE)


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


def draw(app: Any, page: str, text: list[str]) -> None:
    """Run the scripts that a page asks for, and put what they are about into its text."""
    text[0] = BLOCK.sub(lambda found: draw_block(app, page, found), text[0])


def draw_block(app: Any, page: str, found: re.Match[str]) -> str:
    """Run the script that a block asks for; return what the page says instead."""
    where = found[2] if "/" in found[2] else f"gallery/{found[2]}"
    script = Path(app.srcdir) / f"{where}.py"
    target = Path(app.doctreedir) / "pictures" / f"{where}.png"
    target.parent.mkdir(parents=True, exist_ok=True)
    load(script).figure().savefig(target, dpi=110)
    app.env.note_dependency(str(script))
    here = (Path(app.srcdir) / page).parent
    place = Path(os.path.relpath(target, here)).as_posix()
    return entry(script, place) if found[1] == "picture" else f"![{title(script)}]({place})"


def setup(app: Any) -> dict[str, bool]:
    """Connect the hook."""
    app.connect("source-read", draw)
    return {"parallel_read_safe": True}
