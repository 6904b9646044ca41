"""Write figures to files, so that a failed write leaves no partial file."""

from pathlib import Path
from typing import Any

from draisine.codegen.files import atomic_write
from draisine.errors import DataError
from draisine.results.store import FIGURE_SUFFIXES, check_target
from draisine.view.style import parent_figure

FIGURE_DPI = 288
"""Resolution of raster images (dots/inch), so that a figure of column width is sharp in print."""

FONT_SETTINGS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""Matplotlib settings that embed TrueType fonts (Type 42), because many journals reject Type 3 fonts."""


def save(axes: Any, path: Path) -> None:
    """Write a figure to a file (.png, .jpg, .svg, .pdf).

    Parameters
    ----------
    axes
        Axes of the figure, or a sequence or mapping of its axes.
    path
        Path of the file; no partial file remains if writing fails.

    Raises
    ------
    DataError
        If a value is too large to be drawn, or if the suffix of the path is unknown.
    """
    check_target(path, FIGURE_SUFFIXES)
    from matplotlib import rc_context

    with atomic_write(path) as new, rc_context(FONT_SETTINGS):
        try:
            parent_figure(axes).savefig(new, dpi=FIGURE_DPI)
        except OverflowError as error:
            raise DataError(f"{path}: the result has values that are too large to draw.") from error
