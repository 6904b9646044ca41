"""Figures in files, whole or not at all."""

from pathlib import Path
from typing import Any

from draisine.codegen.files import atomic_write
from draisine.errors import DataError
from draisine.results.store import FIGURE_SUFFIXES, check_target
from draisine.view.style import figure_of

DPI = 288
"""Points to an inch of pictures made of points."""

FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""Fonts are embedded as TrueType (Type 42): many journals refuse Type 3, and text stays editable."""


def save(axes: Any, path: Path) -> None:
    """Write the figure that axes belong to; nothing half-written remains if that fails."""
    check_target(path, FIGURE_SUFFIXES)
    from matplotlib import rc_context

    with atomic_write(path) as new, rc_context(FONTS):
        try:
            figure_of(axes).savefig(new, dpi=DPI)
        except OverflowError as error:
            raise DataError(f"{path}: the result holds numbers too wild to be drawn.") from error
