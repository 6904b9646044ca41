"""Room in a figure: panels high enough, titles and labels no longer than their places, and a sentence
where there is nothing to draw.
"""

import re
import warnings
from itertools import product
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.view.style import NOTE, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

LOWEST = 0.75
"""No panel is lower, in inches, because of its legend and labels."""


def break_labels(figure: "Figure") -> None:
    """Break labels of upright axes where they are longer than the axes: before their units, or into as few
    lines as may be.
    """
    _laid_out(figure)
    for axes in figure.axes:
        label, room = axes.get_ylabel(), axes.get_window_extent().height
        long = axes.yaxis.label.get_window_extent().height
        if long > room:
            axes.set_ylabel(label.replace(" (", "\n("))
        if axes.yaxis.label.get_window_extent().height > room:
            whole = re.sub(r"\(.*?\)", lambda unit: unit[0].replace(" ", "\0"), label)
            axes.set_ylabel(_broken(whole, int(0.95 * len(label) * room / long)))


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


def place_notes(figure: "Figure") -> None:
    """Move the notes beside points to where they hide neither curves nor each other: as near as may be, and
    nearer to their own point than to another one.
    """
    if not any(text.get_gid() == NOTE for axes in figure.axes for text in axes.texts):
        return
    _laid_out(figure)
    for axes in figure.axes:
        notes: list[Any] = [text for text in axes.texts if text.get_gid() == NOTE]
        points = (
            axes.transData.transform([note.xy for note in notes]) if notes else np.empty((0, 2))
        )
        boxes = [_boxes_around(note, at, axes) for note, at in zip(notes, points, strict=True)]
        for k, place in enumerate(_best_places(boxes, points, axes)):
            notes[k].xyann = (boxes[k][place, :2] - points[k]) * 72.0 / figure.dpi
            notes[k].set(ha="left", va="bottom")


def _best_places(boxes: list[Floats], points: Floats, axes: "Axes") -> list[int]:
    """Return which of its boxes each note takes: by turns each the best one beside the others'."""
    drawn, room = _drawn_points(axes), np.array(axes.get_window_extent().extents)
    alone = [_hidden(each, drawn, room) for each in boxes]
    chosen = [int(np.argmin(each)) for each in alone]
    for _ in range(3):
        for k, each in enumerate(boxes):
            rest = [j for j in range(len(boxes)) if j != k]
            others = np.array([boxes[j][chosen[j]] for j in rest]).reshape(-1, 4)
            near = _distance(each, points[[k]]) > 0.7 * _distance(each, points[rest])
            cost = alone[k] + 1000.0 * _overlaps(each, others) + 50.0 * near.sum(axis=1)
            chosen[k] = int(np.argmin(cost))
    return chosen


OFFSETS = np.array(
    sorted(
        product(
            (5.0, -5.0, 0.0, 14.0, -14.0, 27.0, -27.0),
            (5, -5, 9, -9, 14, -14, 20, -20, 27, -27, 36, -36),
        ),
        key=lambda offset: float(np.hypot(*offset)),
    )
)
"""Where a note may stand, in points from what it is said of, the nearest first."""


def _boxes_around(note: "Text", point: Floats, axes: "Axes") -> Floats:
    """Return what a note would cover at each of the offsets from its point, in pixels: left, bottom, right
    and top; none leaves the axes to the side.
    """
    from matplotlib.text import Text

    size = Text.get_window_extent(note).size  # without the line to its point
    corner = (
        point
        + cast("Any", note).figure.dpi / 72.0 * OFFSETS
        + size * (np.sign(OFFSETS) - 1.0) / 2.0
    )
    room = axes.get_window_extent().padded(-4.0)
    corner[:, 0] = np.clip(corner[:, 0], room.x0, max(room.x0, room.x1 - size[0]))
    return np.hstack([corner, corner + size])


def _hidden(boxes: Floats, drawn: Floats, room: Floats) -> Floats:
    """Return how many drawn points boxes would hide, times five; much more where they leave their room,
    and a little for those that are farther away.
    """
    left, bottom, right, top = boxes.T[..., None] + np.array([-2.0, -2.0, 2.0, 2.0])[:, None, None]
    x, y = drawn.T
    inside = ((x > left) & (x < right) & (y > bottom) & (y < top)).sum(axis=1)
    out = (boxes[:, :2] < room[:2]).any(axis=1) | (boxes[:, 2:] > room[2:]).any(axis=1)
    return 5.0 * inside + 1000.0 * out + 0.5 * np.hypot(*OFFSETS.T)


def _overlaps(boxes: Floats, others: Floats) -> Floats:
    """Return with how many of others boxes overlap."""
    below = (boxes[:, None, :2] < others[None, :, 2:]).all(axis=2)
    return (below & (boxes[:, None, 2:] > others[None, :, :2]).all(axis=2)).sum(axis=1)


def _distance(boxes: Floats, points: Floats) -> Floats:
    """Return how far boxes are from points, (boxes, points)."""
    nearest = np.clip(points, boxes[:, None, :2], boxes[:, None, 2:])
    return np.asarray(np.linalg.norm(nearest - points, axis=2))


def _drawn_points(axes: "Axes") -> Floats:
    """Return points close together along all lines of axes, in pixels; single ones count as ten."""
    found = []
    for line in axes.lines:
        ends = line.get_transform().transform(np.asarray(line.get_xydata(), float))
        ends = ends[np.isfinite(ends).all(axis=1)]
        if len(ends) == 1:
            found.append(np.repeat(ends, 10, axis=0))
            continue
        steps = np.maximum(np.abs(np.diff(ends, axis=0)).max(axis=1) / 2.0, 1.0).astype(int)
        for a, b, n in zip(ends, ends[1:], np.minimum(steps, 500), strict=False):
            found.append(a + (b - a) * np.linspace(0.0, 1.0, n + 1)[:, None])
    return np.concatenate([np.empty((0, 2)), *found])


def tell_empty(figure: "Figure") -> None:
    """Write a sentence in place of axes that would show nothing."""
    for axes in figure.axes:
        shown = [*axes.collections, *axes.patches, *axes.images, *axes.texts]
        numbers = [np.asarray(line.get_ydata(orig=False), float) for line in axes.lines]
        if axes.get_visible() and not shown and not any(np.isfinite(y).any() for y in numbers):
            what = " ".join(axes.get_ylabel().split())
            text = "\n".join([*filter(None, [what]), "nothing to draw: there are no numbers"])
            axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes)
            axes.set_axis_off()
