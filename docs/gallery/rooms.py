"""The rooms of the package

Each box is a room with its number of files and lines; rooms in one row do not know each other. An
arrow tells that one room imports another, the thicker the more often: all arrows go down. What
every room uses (`algebra`, `registry`, `errors`) has no arrows, or there would be little else to see.
"""

import ast
import tomllib
from collections import Counter
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

import draisine

PACKAGE = Path(draisine.__file__).parent
EVERYWHERE = ("algebra", "registry", "errors")
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def layers():
    """Return the rooms from top to bottom, as the check of the imports has them."""
    contracts = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    rows = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip().removeprefix("draisine.") for name in row.split("|")] for row in rows]


def sources():
    """Return the files of every room."""
    rooms = [room for row in layers() for room in row]
    return {room: [*(PACKAGE / room).rglob("*.py")] or [PACKAGE / f"{room}.py"] for room in rooms}


def imports(files):
    """Return how often each room imports each other one."""
    found = Counter()
    for room, paths in files.items():
        for path in paths:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("draisine."):
                    other = node.module.split(".")[1]
                    if other in files and other not in (room, *EVERYWHERE):
                        found[room, other] += 1
    return found


def figure():
    """Return the picture."""
    files, rows = sources(), layers()
    picture = Figure(figsize=(9.0, 0.85 * len(rows)), layout="constrained")
    axes = picture.add_subplot()
    at = {
        room: (0.5 + 0.14 * (-1) ** depth if len(row) == 1 else (k + 0.5) / len(row), -float(depth))
        for depth, row in enumerate(rows)
        for k, room in enumerate(row)
    }
    for (room, other), count in imports(files).items():
        (_, y0), (_, y1) = at[room], at[other]
        arrow = FancyArrowPatch(
            at[room],
            at[other],
            arrowstyle="-|>",
            mutation_scale=8,
            lw=0.4 + 0.15 * count**0.7,
            color="#7a8aa0",
            alpha=0.6,
            connectionstyle=f"arc3,rad={0.04 * (y0 - y1 - 1)}",
            shrinkA=15,
            shrinkB=15,
        )
        axes.add_patch(arrow)
    for room, (x, y) in at.items():
        lines = sum(len(path.read_text().splitlines()) for path in files[room])
        box = {"boxstyle": "round,pad=0.4", "fc": "#fdf6e3", "ec": "#444444", "lw": 0.8}
        text = f"$\\bf{{{room}}}$\n{len(files[room])} files, {lines} lines"
        axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box)
    axes.set_xlim(-0.05, 1.05)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.axis("off")
    return picture
