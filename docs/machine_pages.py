"""Pages of machines: what a vehicle is, a film to turn and stop, a picture with its script, its
parameters and its scenarios.

A page asks for all of it by a fenced block, `{machine} NAME`. The script `machines/NAME.py` has a
`motion()`, which is filmed, and a `figure()`. Films are written beside the built pages.
"""

import inspect
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from pictures import BLOCK, draw_block, load

ASKED = re.compile(r"^```\{machine\} (\w+)\n```$", re.MULTILINE)


def write_machine(app: Any, page: str, text: list[str]) -> None:
    """Put all that is told of a machine into the text of its page."""

    def one(found: re.Match[str]) -> str:
        name = found[1]
        motion = load(Path(app.srcdir) / "machines" / f"{name}.py").motion()
        film = _film(app, name, motion) if app.builder.format == "html" else ""
        about, parameters = describe(name)
        picture = BLOCK.sub(
            lambda block: draw_block(app, page, block),
            f"```{{picture}} machines/{name}\n```",
        )
        parts = [about, film, picture, parameters, scenarios_of(name)]
        return f"# `{name}`\n\n" + "\n\n".join(part for part in parts if part)

    text[0] = ASKED.sub(one, text[0])


def _film(app: Any, name: str, motion: Any) -> str:
    """Return how a page shows a film, which is written beside it."""
    from draisine.view.replay import replay_page

    folder = Path(app.outdir) / "films"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.html").write_text(replay_page(motion), encoding="utf-8")
    frame = 'width="100%" height="420" style="border: 0" loading="lazy"'
    return f'<iframe src="../films/{name}.html" title="film of {name}" {frame}></iframe>'


def describe(name: str) -> tuple[str, str]:
    """Return what a vehicle's file says of it, and a table of its parameters."""
    from draisine.registry import find
    from draisine.vehicles import meanings

    vehicle = find("vehicle", name)
    about = inspect.cleandoc(str(sys.modules[vehicle.__module__].__doc__))
    known = inspect.signature(vehicle).parameters
    rows = [
        f"| `{key}` | {known[key].default} | {unit or '-'} | {meaning} |"
        for key, (unit, meaning) in meanings(vehicle).items()
    ]
    head = "## Parameters\n\n| name | by default | unit | meaning |\n|---|---|---|---|\n"
    return about, head + "\n".join(rows)


def scenarios_of(name: str) -> str:
    """Return the scenarios that a machine has, with their titles."""
    lines = [
        f"* `{key}`: {title}." for key, (vehicle, title) in titles().items() if vehicle == name
    ]
    if not lines:
        return ""
    return "## Scenarios\n\n`draisine check` compares their numbers.\n\n" + "\n".join(lines)


@cache
def titles() -> dict[str, tuple[str, str]]:
    """Return vehicle and title of every scenario that ships."""
    from draisine.scenario.library import load as scenario
    from draisine.scenario.library import scenarios

    loaded = {key: scenario(key).scenario for key in scenarios()}
    return {key: (one.vehicle.name, one.title) for key, one in loaded.items()}


def setup(app: Any) -> dict[str, bool]:
    """Connect the hook."""
    app.connect("source-read", write_machine)
    return {"parallel_read_safe": True}
