"""Atomic writing of figures into files."""

from pathlib import Path
from typing import Any

from draisine.codegen.files import atomic_write
from draisine.errors import DataError
from draisine.results.store import FIGURE_SUFFIXES, check_target
from draisine.view.style import parent_figure

FIGURE_DPI = 288
"""Resolution of raster images (dots/inch), sharp in print at the width of a column."""

FONT_SETTINGS: dict[Any, Any] = {"pdf.fonttype": 42, "ps.fonttype": 42}
"""Matplotlib settings that embed TrueType fonts (Type 42), because many journals reject Type 3 fonts."""


def save(axes: Any, path: Path) -> None:
    """Write the figure of some axes into a file (.png, .jpg, .svg, .pdf).

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

    with atomic_write(path) as new, rc_context(FONT_SETTINGS):
        try:
            parent_figure(axes).savefig(new, dpi=FIGURE_DPI)
        except OverflowError as error:
            raise DataError(f"{path}: the result has values that are too large to draw.") from error
