"""Write figures into files, completely or not at all."""

from pathlib import Path
from typing import Any

from draisine.codegen.files import atomic_write
from draisine.errors import DataError
from draisine.results.store import FIGURE_SUFFIXES, check_target
from draisine.view.style import figure_of

FIGURE_DPI = 288
"""Resolution of raster images in dots per inch: sharp in print at the width of a column."""

FONTS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""Fonts are embedded as TrueType (Type 42): many journals refuse Type 3, and text stays editable."""


def save(axes: Any, path: Path) -> None:
    """Write the figure of axes into a file (.png, .jpg, .svg, .pdf).

    Parameters
    ----------
    axes
        Axes, or a sequence or mapping of axes, of one figure.
    path
        Path of the file; no partial file remains if writing fails.

    Raises
    ------
    DataError
        The data have values that are too large to be drawn.
    """
    check_target(path, FIGURE_SUFFIXES)
    from matplotlib import rc_context

    with atomic_write(path) as new, rc_context(FONTS):
        try:
            figure_of(axes).savefig(new, dpi=FIGURE_DPI)
        except OverflowError as error:
            raise DataError(f"{path}: the result has values that are too large to draw.") from error
