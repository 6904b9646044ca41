"""Style of all figures: colours, line styles, font sizes, labels with units, and new axes.

Colour-blind readers can distinguish the colours.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError, expect_known
from draisine.mechanics.base import base_angles
from draisine.model import Joint, Model
from draisine.model.quantity import readable
from draisine.results.attributes import read_validity
from draisine.results.bodies import Bodies
from draisine.results.events import read_events
from draisine.results.queries import evaluate_series, series_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Colours of curves: the palette of Okabe and Ito for colour-blind readers, in order of use."""

DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), "-")
"""Line styles of curves in order of use, so that they can be distinguished without colour."""

LINE_WIDTHS = {
    "link": 5.0, "rim": 4.0, "spokes": 0.8, "valve": 4.0, "blade": 4.0, "box": 1.6, "section": 1.0,
}  # fmt: skip
"""Line widths (points) of the outlines of a vehicle, by kind of outline. In a film they apply at the distance
of the camera's focus; nearer lines are wider.
"""

SOLID_OPACITY = 0.45
"""Opacity (0 to 1) of balls and ellipsoids; lines behind them stay visible."""

GREY = "#666666"
"""Colour of secondary curves and texts."""

MAIN_ANGLES = ("lean", "steer")
"""Names of the angles that describe the motion of a two-wheeler. Figures draw them before other angles."""


NOTE_GID = "note"
"""Matplotlib group identifier (gid) of the notes beside marked points, which `layout.place_notes` moves."""

DEFAULT_WIDTH = 5.2
"""Default width of figures (inches). If a figure is reduced to one column of a paper (84 mm), fonts of 8
points still have 5 points.
"""

MAX_FONT_SIZE = 8.0
"""Largest font size (points) in a figure with a prescribed printed width."""

INCHES_PER_UNIT = {"mm": 1.0 / 25.4, "cm": 1.0 / 2.54, "in": 1.0, "": 1.0 / 0.0254}
"""Inches per unit of length, for the width of a figure as text; a number without unit is in metres."""

_prescribed_width: ContextVar[float | None] = ContextVar("width of figures, inches", default=None)
"""Printed width (inches) of new figures within a `figure_width` block; None for the default width."""


def to_inches(width: str | float) -> float:
    """Convert the width of a figure, a number in metres or a text with a unit, to inches.

    >>> to_inches("85mm"), to_inches(0.0254)
    (3.3464566929133857, 1.0)
    """
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(mm|cm|in|)\s*", str(width))
    if match is None or not 1.0 <= (wide := float(match[1]) * INCHES_PER_UNIT[match[2]]) <= 40.0:
        raise ParameterError(
            f"{width!r} is not a valid width of a figure. Examples: '85mm', '8.5cm', '3.3in'; from 1 to "
            "40 inches."
        )
    return wide


@contextmanager
def figure_width(width: str | float | None) -> Iterator[None]:
    """Set the printed width (m, or text with a unit) of the figures that are created in a `with` block."""
    if width is None:
        yield
        return
    from matplotlib import rc_context

    before = _prescribed_width.set(to_inches(width))
    try:
        with rc_context(
            {
                "font.size": MAX_FONT_SIZE,
                "axes.titlesize": MAX_FONT_SIZE,
                "figure.titlesize": MAX_FONT_SIZE,
            }
        ):
            yield
    finally:
        _prescribed_width.reset(before)


def relative_width() -> float:
    """Return the prescribed width of figures as a fraction of the default width, at most 1."""
    width = _prescribed_width.get()
    return 1.0 if width is None else min(1.0, width / DEFAULT_WIDTH)


SLIDE_WIDTH = 9.0
"""Smallest width (inches) of a figure that is laid out for a slide; printed pages are narrower."""


def is_slide() -> bool:
    """Return whether the prescribed width of figures is at least `SLIDE_WIDTH`."""
    width = _prescribed_width.get()
    return width is not None and width >= SLIDE_WIDTH


def font_size(size: float) -> float:
    """Return the font size `size` (points), reduced to the largest permitted one in narrow figures."""
    from matplotlib import rcParams

    return float(min(size, rcParams["font.size"]))


def empty_figure(size: tuple[float, float] = (7.0, 4.0)) -> "Figure":
    """Return an empty figure of the given `size` (width, height in inches), scaled to the figure width.

    A prescribed width reduces the height less than the width, because font sizes do not shrink.
    """
    from matplotlib.figure import Figure

    scale = min(0.7, DEFAULT_WIDTH / size[0])
    prescribed = _prescribed_width.get()
    width = scale * size[0]
    height = scale * size[1]
    if prescribed is not None:
        # Titles and labels need about 1.2 inches of height at any width of the figure.
        ratio = prescribed / width
        width = prescribed
        height = max(height * ratio**0.75, height * ratio + 1.2 * (1.0 - ratio))
    return Figure(figsize=(width, height), layout="constrained")


def new_figure(rows: int = 1, columns: int = 1, size: tuple[float, float] = (7.0, 4.0)) -> Any:
    """Return the axes of a new figure: one Axes, or an array (rows, columns)."""
    return empty_figure(size).subplots(rows, columns)


def given_or_new(axes: "Axes | None", size: tuple[float, float] = (7.0, 4.0)) -> "Axes":
    """Return `axes`, or the axes of a new figure of the given size (inches) if `axes` is None."""
    return cast("Axes", new_figure(size=size) if axes is None else axes)


def simplify_axes(axes: "Axes") -> "Axes":
    """Remove the upper and the right frame line of axes; add a light grid and tick labels without offset."""
    axes.yaxis.set_major_formatter(lambda x, _: f"{x:.8g}".replace("-", "\N{MINUS SIGN}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return axes


def add_legend(axes: "Axes", columns: int = 4, by_rows: bool = False) -> None:
    """Place the legend above the axes, with at most `columns` columns and no wider than the axes.

    The entries are ordered column by column, or row by row if `by_rows` is true.
    """
    handles, labels = axes.get_legend_handles_labels()
    # The width of a legend is known only after drawing, so columns are removed until it fits.
    for count in range(min(columns, len(labels)), 0, -1):
        order = [k for j in range(count) for k in range(j, len(labels), count)]
        box = axes.legend(
            *([[column[k] for k in order] for column in (handles, labels)] if by_rows else ()),
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.2,
            frameon=False,
            ncols=count,
            fontsize=font_size(9),
            handlelength=2.4 if _prescribed_width.get() is None else 1.8,
            columnspacing=1.4,
        )
        if box.get_window_extent().width <= 1.05 * axes.get_window_extent().width:
            return


def displayed_series(name: str, bodies: Bodies) -> tuple[Floats, str]:
    """Return the values (times,) of a time series with angles in degrees, and the displayed unit.

    A stored series is read directly, without restoring the vehicle: the code of a user's vehicle may not be
    trusted.
    """
    stored = bodies.data.data_vars.get(name)
    if stored is not None and stored.dims == ("time",) and "units" in stored.attrs:
        unit = str(stored.attrs["units"])
        return readable(stored.values, "" if unit == "1" else unit)
    if "vehicle" not in bodies.data.attrs:
        expect_known("Unknown column", name, [str(column) for column in bodies.data.data_vars])
    return readable(evaluate_series(name, bodies), series_unit(name, bodies.model))


def main_angles(model: Model) -> list[str]:
    """Return the names of the angles that describe the motion of a vehicle.

    They are the first angle of the base (lean or yaw), and the revolute joints except wheel axles. A vehicle
    without such angles has its prismatic joints instead.
    """
    free = [joint for joint in model.joints if not _turns_wheel(joint, model)]
    revolute = [j.name for j in free if j.unit == "rad"]
    return (
        [*base_angles(model)[:1], *revolute]
        or [j.name for j in free]
        or [j.name for j in model.joints]
    )


def _turns_wheel(joint: Joint, model: Model) -> bool:
    """Return whether a joint is the axle of a wheel, that is, whether its axis contains the wheel's centre.

    The test excludes the joints of legs: their feet are contacts, too, but not centred on the joint axis.
    """
    axis = np.asarray(joint.axis, float)
    through = np.asarray(joint.through, float)
    centres = [np.asarray(c.centre, float) for c in model.wheels if c.body == joint.child]
    distances = [float(np.linalg.norm(np.cross(axis, centre - through))) for centre in centres]
    return any(distance < 1e-6 for distance in distances)


def angles_to_draw(data: "Dataset", model: Model) -> list[str]:
    """Return the names of the angles to draw for a run: its main angles, and pitch if the run has events.

    If all these angles are constant, the result is the angles of the base that vary.
    """
    angles = [*(["pitch"] if read_events(data) else []), *main_angles(model)]
    angles = [name for name in angles if series_unit(name, model) == "rad"] or angles
    moves = {n: n in data and float(np.ptp(data[n].values)) > 1e-9 for n in base_angles(model)}
    constant = all(float(np.ptp(data[n].values)) <= 1e-9 for n in angles if n in data)
    return [name for name, moving in moves.items() if constant and moving] or angles


def to_words(name: str) -> str:
    """Return the name of a time series as words for labels and legends.

    >>> to_words("contact_force[rear, normal]")
    'contact force, rear, normal'
    """
    return name.replace("[", ", ").replace("]", "").replace("_", " ")


def check_run(data: "Dataset") -> None:
    """Raise `ParameterError` if a dataset is not a run over time."""
    if "time" not in data.dims:
        raise ParameterError(
            "This result is not a run over time, which the figure needs. See `draisine list figures`."
        )


def headline(data: "Dataset") -> str:
    """Return the headline of a figure: title of the result, first validity fault, and time of a fall (s)."""
    title = str(data.attrs.get("title", data.attrs.get("vehicle", "")))
    validity = read_validity(data)
    faults = {} if validity is None else validity.faults
    lines = [f"from {t:.3g} s {fault}" for fault, t in list(faults.items())[:1]]
    fall = None if validity is None else validity.fall_from
    if fall is not None and fall > min(faults.values()):
        lines.append(f"it fell at {fall:.3g} s")
    return "\n".join([title, *lines])


def restore_bodies(data: "Dataset") -> Bodies:
    """Return the motions of all bodies of a run; raise `ParameterError` if the dataset is not a run."""
    check_run(data)
    return Bodies(data)


def draw_curve(axes: "Axes", k: int, x: Floats, y: Floats, label: str) -> None:
    """Draw a curve with the k-th colour and line style."""
    axes.plot(x, y, color=COLOURS[k % 7], linestyle=DASHES[k % 7], linewidth=1.6, label=label)


MIN_DISPLAYED_RANGE = {"deg": 1e-3, "deg/s": 1e-3, "m/s": 1e-6, "N": 1e-4}
"""Smallest displayed range of values by unit. A curve with a smaller range counts as constant, because its
variation is round-off. For units that are not listed the limit is 1e-9.
"""


def flatten_round_off(axes: "Axes", least: float = 1.0, unit: str = "", along: str = "") -> None:
    """Enlarge the limits of axes whose curves are almost constant, so that round-off is not magnified.

    The curve then looks straight, and a text in the axes states its range of values.

    Parameters
    ----------
    axes
        Axes with curves.
    least
        Half the length of the enlarged axis, in its unit.
    unit, along
        Units of the vertical and of the horizontal axis, which determine the limit `MIN_DISPLAYED_RANGE`.
    """
    ranges = []
    for low, high, set_limits, axis_unit in (
        (*axes.get_xlim(), axes.set_xlim, along),
        (*axes.get_ylim(), axes.set_ylim, unit),
    ):
        if abs(high - low) < MIN_DISPLAYED_RANGE.get(axis_unit, 1e-9):
            middle = (low + high) / 2.0
            set_limits(middle - least, middle + least)
            ranges += (
                [f"{abs(high - low) / 1.1:.1g} {axis_unit}"]
                if axis_unit and abs(high - low) > 1e-9
                else []
            )
    if ranges:
        text = f"moves by {' and '.join(ranges)} at most"
        axes.text(0.01, 0.97, text, transform=axes.transAxes, va="top", fontsize=font_size(8))


def unit_label(unit: str) -> str:
    """Return the axis label for a panel with several quantities of the same unit.

    >>> unit_label("deg"), unit_label("m/s"), unit_label("kg")
    ('angle (deg)', 'speed (m/s)', 'kg')
    """
    quantities = {
        "deg": "angle",
        "deg/s": "angular rate",
        "m": "length",
        "m/s": "speed",
        "N": "force",
    }
    quantities |= {"N m": "torque", "J": "energy", "m/s2": "acceleration"}
    return f"{quantities[unit]} ({unit})" if unit in quantities else unit


def parent_figure(axes: Any) -> "Figure":
    """Return the figure to which axes, or a sequence or mapping of axes, belong."""
    first = next(iter(axes.values())) if isinstance(axes, dict) else axes
    while isinstance(first, (np.ndarray, Sequence)):
        first = first[0]
    return cast("Figure", first.figure)


def add_headline(figure: "Figure", data: "Dataset") -> None:
    """Write the headline of a result above a figure, unless the figure already has a title or a legend."""
    if (
        not figure.legends
        and not figure.get_suptitle()
        and not any(axes.get_title() for axes in figure.axes)
    ):
        figure.suptitle(headline(data), fontsize=font_size(10))


def set_headline(figure: "Figure", title: str | bool) -> None:
    """Replace the title of a figure by a text; False removes the title, True keeps it.

    The title may belong to the figure or to its only axes. If a figure has several axes, their titles
    describe the panels and are kept.
    """
    if title is True:
        return
    text = title or ""
    if figure.get_suptitle():
        for label in figure.texts:
            if label.get_text() == figure.get_suptitle():
                label.set_in_layout(bool(text))
        figure.suptitle(text)
    elif len(figure.axes) == 1 and figure.axes[0].get_title():
        figure.axes[0].set_title(text)
    elif text:
        figure.suptitle(text, fontsize=font_size(10))
