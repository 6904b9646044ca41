"""Room in a figure: panels high enough, titles and labels no longer than their places, and a sentence
where there is nothing to draw.
"""

import warnings
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from draisine.view.style import legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOWEST = 0.75
"""No panel is lower, in inches, because of its legend and labels."""


def break_labels(figure: "Figure") -> None:
    """Break labels of upright axes before their units, where they are longer than the axes."""
    _laid_out(figure)
    for axes in figure.axes:
        if axes.yaxis.label.get_window_extent().height > axes.get_window_extent().height:
            axes.set_ylabel(axes.get_ylabel().replace(" (", "\n("))


def break_title(figure: "Figure") -> None:
    """Break the title of a figure into lines where it is wider than the figure."""
    for text in figure.texts:
        wide, room = text.get_window_extent().width, float(figure.bbox.width)
        if text.get_text() == figure.get_suptitle() and wide > room:
            lines = text.get_text().splitlines()
            most = int(max(map(len, lines)) * 0.95 * room / wide)
            text.set_text("\n".join(_broken(line, most) for line in lines))


def _broken(line: str, most: int) -> str:
    """Return a line broken into as few as may be, alike in length, and not beside an equals sign.

    >>> print(_broken("a ride with lean = 5deg, steer = 2deg and 1 more", 45))
    a ride with lean = 5deg,
    steer = 2deg and 1 more
    """
    whole = line.replace(" = ", "\0=\0")
    few = len(wrap(whole, most, break_on_hyphens=False))
    widths = range(max(map(len, whole.split())), most + 1)
    tries = (wrap(whole, width, break_on_hyphens=False) for width in (*widths, most))
    return "\n".join(next(lines for lines in tries if len(lines) <= few)).replace("\0", " ")


def give_room(figure: "Figure") -> None:
    """Make a figure higher whose legends and labels would leave its panels no room, and legends narrower
    that would pass its border.
    """
    asked = figure.get_figheight()
    for _ in range(6):
        if not _laid_out(figure):
            if figure.get_figheight() > 2.0 * asked:  # it is its width that is too small
                figure.set_figheight(asked)
                return
            figure.set_figheight(1.5 * figure.get_figheight())
            continue
        wide = [axes for axes in figure.axes if _passes_border(figure, axes)]
        for axes in wide:
            legend(axes, cast("Any", axes.get_legend())._ncols - 1)
        missing = _missing_height(figure)
        if missing < 0.02 and not wide:
            return
        figure.set_figheight(figure.get_figheight() + missing)


def _laid_out(figure: "Figure") -> bool:
    """Return whether everything has its place in a figure, after trying."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    return not any("collapsed" in str(one.message) for one in told)


def _passes_border(figure: "Figure", axes: "Axes") -> bool:
    """Return whether a legend of several columns is cut off."""
    drawn = cast("Any", axes.get_legend())
    return bool(
        drawn is not None
        and axes.get_visible()
        and drawn._ncols > 1
        and drawn.get_window_extent().x1 > figure.bbox.x1
    )


def _missing_height(figure: "Figure") -> float:
    """Return by how much all rows of panels together are too low, in inches."""
    rows: dict[int, float] = {}
    wide, high = figure.get_size_inches()
    for axes in figure.axes:
        place, spec = axes.get_position(original=True), axes.get_subplotspec()
        wanted = LOWEST
        if axes.get_aspect() != "auto" and axes.dataLim.width > 0.0:
            shape = float(abs(axes.dataLim.height / axes.dataLim.width)) * place.width * wide
            box = axes.get_adjustable() == "box"
            wanted = min(wanted, shape) if box else min(max(wanted, shape), place.width * wide)
        if axes.get_visible() and spec is not None:
            row = spec.rowspan.start
            rows[row] = max(rows.get(row, 0.0), wanted - place.height * high)
    return sum(max(x, 0.0) for x in rows.values())


def tell_empty(figure: "Figure") -> None:
    """Write a sentence where axes would show nothing."""
    for axes in figure.axes:
        shown = [*axes.collections, *axes.patches, *axes.images, *axes.texts]
        numbers = [np.asarray(line.get_ydata(orig=False), float) for line in axes.lines]
        if axes.get_visible() and not shown and not any(np.isfinite(y).any() for y in numbers):
            text = "nothing to draw: there are no numbers"
            axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes)
