"""Layout of figures: smallest heights of panels, line breaks in titles and labels, and positions of notes."""

import re
import warnings
from itertools import product
from textwrap import wrap
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.view.style import NOTE_GID, add_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

MIN_PANEL_HEIGHT = 0.75
"""Smallest height of a panel (inches); the figure grows if legends and labels need more space."""


def break_labels(figure: "Figure") -> None:
    """Break labels that are longer than their vertical axis into lines, preferably before the unit."""
    _laid_out(figure)
    for axes in figure.axes:
        label = axes.get_ylabel()
        height = axes.get_window_extent().height
        length = axes.yaxis.label.get_window_extent().height
        if length > height:
            axes.set_ylabel(label.replace(" (", "\n("))
        if axes.yaxis.label.get_window_extent().height > height:
            unbroken = re.sub(r"\(.*?\)", lambda unit: unit[0].replace(" ", "\0"), label)
            axes.set_ylabel(_broken(unbroken, int(0.95 * len(label) * height / length)))


def break_title(figure: "Figure") -> None:
    """Break the title of a figure into lines if it is wider than the figure."""
    for text in figure.texts:
        text_width = text.get_window_extent().width
        figure_width = float(figure.bbox.width)
        if text.get_text() == figure.get_suptitle() and text_width > figure_width:
            lines = text.get_text().splitlines()
            max_length = int(max(map(len, lines)) * 0.95 * figure_width / text_width)
            text.set_text("\n".join(_broken(line, max_length) for line in lines))


def _broken(line: str, max_length: int) -> str:
    """Break a line into the fewest lines of at most `max_length` characters, with similar lengths.

    The line is not broken at equals signs.

    >>> print(_broken("a ride with lean = 5deg, steer = 2deg and 1 more", 45))
    a ride with lean = 5deg,
    steer = 2deg and 1 more
    """
    unbroken = line.replace(" = ", "\0=\0")
    count = len(wrap(unbroken, max_length, break_on_hyphens=False))
    widths = range(max(map(len, unbroken.split())), max_length + 1)
    candidates = (wrap(unbroken, width, break_on_hyphens=False) for width in (*widths, max_length))
    return "\n".join(next(lines for lines in candidates if len(lines) <= count)).replace("\0", " ")


def enlarge_figure(figure: "Figure") -> None:
    """Increase the height of a figure whose legends and labels leave too little space for its panels.

    Legends that cross the border of the figure get fewer columns.
    """
    original_height = figure.get_figheight()
    # Each change of the height or of a legend changes the layout, so the adjustment is repeated a few times.
    for _ in range(6):
        if not _laid_out(figure):
            # If twice the height does not suffice, the width of the figure is too small.
            if figure.get_figheight() > 2.0 * original_height:
                figure.set_figheight(original_height)
                return
            figure.set_figheight(1.5 * figure.get_figheight())
            continue
        crossing = [axes for axes in figure.axes if _passes_border(figure, axes)]
        for axes in crossing:
            add_legend(axes, cast("Any", axes.get_legend())._ncols - 1)
        missing = _missing_height(figure)
        if missing < 0.02 and not crossing:
            return
        figure.set_figheight(figure.get_figheight() + missing)


def _laid_out(figure: "Figure") -> bool:
    """Compute the layout of a figure; return whether all panels have a positive size."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.draw_without_rendering()
    return not any("collapsed" in str(warning.message) for warning in caught)


def _passes_border(figure: "Figure", axes: "Axes") -> bool:
    """Return whether the legend of `axes` extends beyond the right border of the figure and can be narrowed.

    A legend can be narrowed if it has several columns.
    """
    box = cast("Any", axes.get_legend())
    return bool(
        box is not None
        and axes.get_visible()
        and box._ncols > 1
        and box.get_window_extent().x1 > figure.bbox.x1
    )


def _missing_height(figure: "Figure") -> float:
    """Return the height (inches) by which a figure must grow, so that no panel is too low.

    A panel needs `MIN_PANEL_HEIGHT`, or less if its data need less height at their fixed aspect ratio.
    """
    rows: dict[int, float] = {}
    width, height = figure.get_size_inches()
    for axes in figure.axes:
        place = axes.get_position(original=True)
        spec = axes.get_subplotspec()
        required = MIN_PANEL_HEIGHT
        if axes.get_aspect() != "auto" and axes.dataLim.width > 0.0:
            shape = float(abs(axes.dataLim.height / axes.dataLim.width)) * place.width * width
            box = axes.get_adjustable() == "box"
            required = (
                min(required, shape) if box else min(max(required, shape), place.width * width)
            )
        if axes.get_visible() and spec is not None:
            row = spec.rowspan.start
            rows[row] = max(rows.get(row, 0.0), required - place.height * height)
    return sum(max(x, 0.0) for x in rows.values())


def place_notes(figure: "Figure") -> None:
    """Move the notes beside marked points so that they hide neither curves nor other notes.

    A note is placed as close to its point as possible, and closer to it than to the points of other notes.
    """
    if not any(text.get_gid() == NOTE_GID for axes in figure.axes for text in axes.texts):
        return
    _laid_out(figure)
    for axes in figure.axes:
        notes: list[Any] = [text for text in axes.texts if text.get_gid() == NOTE_GID]
        points = (
            axes.transData.transform([note.xy for note in notes]) if notes else np.empty((0, 2))
        )
        boxes = [
            _boxes_around(note, point, axes) for note, point in zip(notes, points, strict=True)
        ]
        for k, choice in enumerate(_best_places(boxes, points, axes)):
            notes[k].xyann = (boxes[k][choice, :2] - points[k]) * 72.0 / figure.dpi
            notes[k].set(ha="left", va="bottom")


def _best_places(boxes: list[Floats], points: Floats, axes: "Axes") -> list[int]:
    """Choose one candidate box for each note; return the indices of the boxes.

    Coordinate descent over the notes minimises a weighted cost. The weights rank the criteria: overlap with
    other notes or the border (1000), closeness to another note's point (50), hidden points of curves (5
    each), and distance from the note's own point (0.5 per typographic point).

    Parameters
    ----------
    boxes
        Candidate boxes (candidates, 4) of each note in pixels: left, bottom, right, top.
    points
        Marked point (2) of each note in pixels, (notes, 2).
    axes
        Axes that contain the notes.
    """
    drawn = _drawn_points(axes)
    room = np.array(axes.get_window_extent().extents)
    alone = [_hidden(each, drawn, room) for each in boxes]
    chosen = [int(np.argmin(each)) for each in alone]
    for _ in range(3):
        for k, each in enumerate(boxes):
            others_index = [j for j in range(len(boxes)) if j != k]
            others = np.array([boxes[j][chosen[j]] for j in others_index]).reshape(-1, 4)
            near = _distance(each, points[[k]]) > 0.7 * _distance(each, points[others_index])
            cost = alone[k] + 1000.0 * _overlaps(each, others) + 50.0 * near.sum(axis=1)
            chosen[k] = int(np.argmin(cost))
    return chosen


NOTE_OFFSETS = np.array(
    sorted(
        product(
            (5.0, -5.0, 0.0, 14.0, -14.0, 27.0, -27.0),
            (5, -5, 9, -9, 14, -14, 20, -20, 27, -27, 36, -36),
        ),
        key=lambda offset: float(np.hypot(*offset)),
    )
)
"""Candidate offsets (candidates, 2) of a note from its point, in typographic points, sorted by distance."""


def _boxes_around(note: "Text", point: Floats, axes: "Axes") -> Floats:
    """Return the candidate boxes (candidates, 4) of a note in pixels: left, bottom, right, top.

    `point` (2) is the marked point in pixels. Boxes beyond the left or right end of the axes are shifted
    inside.
    """
    from matplotlib.text import Text

    size = Text.get_window_extent(
        note
    ).size  # size of the text without the leader line to its point
    corner = (
        point
        + cast("Any", note).figure.dpi / 72.0 * NOTE_OFFSETS
        + size * (np.sign(NOTE_OFFSETS) - 1.0) / 2.0
    )
    room = axes.get_window_extent().padded(-4.0)
    corner[:, 0] = np.clip(corner[:, 0], room.x0, max(room.x0, room.x1 - size[0]))
    return np.hstack([corner, corner + size])


def _hidden(boxes: Floats, drawn: Floats, room: Floats) -> Floats:
    """Return the cost (candidates,) of the candidate boxes of a note without regard to other notes.

    The cost counts the hidden points of the curves `drawn` (n, 2), a crossed border of the axes `room` (4),
    and the distance from the marked point. All lengths are in pixels.
    """
    left, bottom, right, top = boxes.T[..., None] + np.array([-2.0, -2.0, 2.0, 2.0])[:, None, None]
    x, y = drawn.T
    inside = ((x > left) & (x < right) & (y > bottom) & (y < top)).sum(axis=1)
    out = (boxes[:, :2] < room[:2]).any(axis=1) | (boxes[:, 2:] > room[2:]).any(axis=1)
    return 5.0 * inside + 1000.0 * out + 0.5 * np.hypot(*NOTE_OFFSETS.T)


def _overlaps(boxes: Floats, others: Floats) -> Floats:
    """Return for each box (boxes, 4) the number of boxes in `others` (n, 4) that it overlaps, (boxes,)."""
    below = (boxes[:, None, :2] < others[None, :, 2:]).all(axis=2)
    return (below & (boxes[:, None, 2:] > others[None, :, :2]).all(axis=2)).sum(axis=1)


def _distance(boxes: Floats, points: Floats) -> Floats:
    """Return the distances (boxes, points) in pixels between boxes (boxes, 4) and points (points, 2)."""
    nearest = np.clip(points, boxes[:, None, :2], boxes[:, None, 2:])
    return np.asarray(np.linalg.norm(nearest - points, axis=2))


def _drawn_points(axes: "Axes") -> Floats:
    """Return points (n, 2) about two pixels apart along all curves of `axes`, in pixels.

    A curve with a single marker yields ten equal points, so that notes avoid it.
    """
    points = []
    for line in axes.lines:
        ends = line.get_transform().transform(np.asarray(line.get_xydata(), float))
        ends = ends[np.isfinite(ends).all(axis=1)]
        if len(ends) == 1:
            points.append(np.repeat(ends, 10, axis=0))
            continue
        steps = np.maximum(np.abs(np.diff(ends, axis=0)).max(axis=1) / 2.0, 1.0).astype(int)
        for a, b, n in zip(ends, ends[1:], np.minimum(steps, 500), strict=False):
            points.append(a + (b - a) * np.linspace(0.0, 1.0, n + 1)[:, None])
    return np.concatenate([np.empty((0, 2)), *points])


def label_empty_axes(figure: "Figure") -> None:
    """Replace axes without finite data by a message in the same place."""
    for axes in figure.axes:
        shown = [*axes.collections, *axes.patches, *axes.images, *axes.texts]
        numbers = [np.asarray(line.get_ydata(orig=False), float) for line in axes.lines]
        if axes.get_visible() and not shown and not any(np.isfinite(y).any() for y in numbers):
            label = " ".join(axes.get_ylabel().split())
            text = "\n".join([*filter(None, [label]), "no data: all values are undefined"])
            axes.text(0.5, 0.5, text, ha="center", va="center", transform=axes.transAxes)
            axes.set_axis_off()
