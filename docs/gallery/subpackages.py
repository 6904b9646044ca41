"""The subpackages

Each box is a subpackage with its number of files and lines; subpackages in one row do not import
each other. An arrow shows that one subpackage imports another; its width grows with the number of
imports, and all arrows point down. `algebra`, `registry` and `errors`, which all of them import,
have no arrows.
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
    """Return the subpackages from top to bottom, as in the import contracts."""
    contracts = tomllib.loads(PROJECT.read_text())["tool"]["importlinter"]["contracts"]
    rows = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip().removeprefix("draisine.") for name in row.split("|")] for row in rows]


def sources():
    """Return the files of every subpackage."""
    subpackages = [subpackage for row in layers() for subpackage in row]
    return {
        subpackage: [*(PACKAGE / subpackage).rglob("*.py")] or [PACKAGE / f"{subpackage}.py"]
        for subpackage in subpackages
    }


def imports(files):
    """Return the number of imports between each pair of subpackages."""
    found = Counter()
    for subpackage, paths in files.items():
        for path in paths:
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("draisine."):
                    other = node.module.split(".")[1]
                    if other in files and other not in (subpackage, *EVERYWHERE):
                        found[subpackage, other] += 1
    return found


def figure():
    """Return the picture."""
    files, rows = sources(), layers()
    picture = Figure(figsize=(9.0, 0.85 * len(rows)), layout="constrained")
    axes = picture.add_subplot()
    at = {
        subpackage: (
            0.5 + 0.14 * (-1) ** depth if len(row) == 1 else (k + 0.5) / len(row),
            -float(depth),
        )
        for depth, row in enumerate(rows)
        for k, subpackage in enumerate(row)
    }
    for (subpackage, other), count in imports(files).items():
        (_, y0), (_, y1) = at[subpackage], at[other]
        arrow = FancyArrowPatch(
            at[subpackage],
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
    for subpackage, (x, y) in at.items():
        lines = sum(len(path.read_text().splitlines()) for path in files[subpackage])
        box = {"boxstyle": "round,pad=0.4", "fc": "#fdf6e3", "ec": "#444444", "lw": 0.8}
        text = f"$\\bf{{{subpackage}}}$\n{len(files[subpackage])} files, {lines} lines"
        axes.text(x, y, text, ha="center", va="center", fontsize=8, bbox=box)
    axes.set_xlim(-0.05, 1.05)
    axes.set_ylim(-len(rows) + 0.4, 0.6)
    axes.axis("off")
    return picture
