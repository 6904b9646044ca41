"""What all pictures share: colours safe for colour-blind readers, units, axes made when none are
given.
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
from draisine.results.attributes import validity_of
from draisine.results.bodies import Bodies
from draisine.results.events import events_of
from draisine.results.queries import evaluate_series, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, the dark ones first."""

DASHES = ("-", "--", "-.", (0, (1, 1)), (0, (5, 1, 1, 1)), (0, (3, 1, 1, 1, 1, 1)), "-")
"""Line styles that tell curves apart without colour."""

WIDTHS = {
    "link": 5.0, "rim": 4.0, "spokes": 0.8, "valve": 4.0, "blade": 4.0, "box": 1.6, "section": 1.0,
}  # fmt: skip
"""How thick parts are drawn, in points at the distance of the machine."""

FILLED = 0.45
"""How much is seen of what is drawn over by a ball or an ellipsoid."""

GREY = "#666666"

TELLING = ("lean", "steer")
"""What tells most of a two-wheeler is drawn before all else."""


NOTE = "note"
"""The mark (gid) of what is said of a point, and may be moved to where it hides nothing."""

WIDTH = 5.2
"""No figure is wider, in inches, unless that is asked for: in one column of a paper (84 mm) letters of 8
points then have 5, and are still read.
"""

LETTERS = 8.0
"""The largest letters of a figure that is printed as wide as it was asked for, in points."""

INCHES = {"mm": 1.0 / 25.4, "cm": 1.0 / 2.54, "in": 1.0, "": 1.0 / 0.0254}
"""Units of a figure's width; a plain number is in metres."""

_asked: ContextVar[float | None] = ContextVar("width of figures, inches", default=None)


def inches(width: str | float) -> float:
    """Return a figure's width in inches.

    >>> inches("85mm"), inches(0.0254)
    (3.3464566929133857, 1.0)
    """
    written = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(mm|cm|in|)\s*", str(width))
    if written is None or not 1.0 <= (wide := float(written[1]) * INCHES[written[2]]) <= 40.0:
        raise ParameterError(
            f"{width} is no width of a figure: write '85mm', '8.5cm' or '3.3in', from 1 to 40 inches."
        )
    return wide


@contextmanager
def figure_width(width: str | float | None) -> Iterator[None]:
    """Let figures be as wide as asked for, with letters that are read where they are printed so."""
    if width is None:
        yield
        return
    from matplotlib import rc_context

    before = _asked.set(inches(width))
    try:
        with rc_context(
            {"font.size": LETTERS, "axes.titlesize": LETTERS, "figure.titlesize": LETTERS}
        ):
            yield
    finally:
        _asked.reset(before)


def narrowness() -> float:
    """Return how narrow figures are asked for, against the usual ones: 1 where they are not."""
    asked = _asked.get()
    return 1.0 if asked is None else min(1.0, asked / WIDTH)


def letters(size: float) -> float:
    """Return a size of letters in points, at most that of the text."""
    from matplotlib import rcParams

    return float(min(size, rcParams["font.size"]))


def empty_figure(size: tuple[float, float] = (7.0, 4.0)) -> "Figure":
    """Return a figure of such a shape, drawn for one column of a paper; one that is narrower than
    usual is not as much lower, since its letters stay.
    """
    from matplotlib.figure import Figure

    scale, asked = min(0.7, WIDTH / size[0]), _asked.get()
    wide, high = scale * size[0], scale * size[1]
    if asked is not None:
        narrow = asked / wide
        wide, high = asked, max(high * narrow**0.75, high * narrow + 1.2 * (1.0 - narrow))
    return Figure(figsize=(wide, high), layout="constrained")


def new_figure(rows: int = 1, columns: int = 1, size: tuple[float, float] = (7.0, 4.0)) -> Any:
    """Return a figure's axes, rows first: one if there is one, else an array."""
    return empty_figure(size).subplots(rows, columns)


def given_or_new(axes: "Axes | None", size: tuple[float, float] = (7.0, 4.0)) -> "Axes":
    """Return the axes, or those of a new figure."""
    return cast("Axes", new_figure(size=size) if axes is None else axes)


def plain(axes: "Axes") -> "Axes":
    """Return the axes without the frame that nobody reads, with a light grid and whole numbers at
    the ticks (no factor in a corner).
    """
    axes.yaxis.set_major_formatter(lambda x, _: f"{x:.8g}".replace("-", "\N{MINUS SIGN}"))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    return axes


def legend(axes: "Axes", columns: int = 4, by_rows: bool = False) -> None:
    """Put the legend above the axes, where it hides nothing, in as many columns as fit; entries run
    down the columns, or along the rows.
    """
    handles, labels = axes.get_legend_handles_labels()
    for count in range(min(columns, len(labels)), 0, -1):
        order = [k for j in range(count) for k in range(j, len(labels), count)]
        drawn = axes.legend(
            *([[given[k] for k in order] for given in (handles, labels)] if by_rows else ()),
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderaxespad=0.2,
            frameon=False,
            ncols=count,
            fontsize=letters(9),
            handlelength=2.4 if _asked.get() is None else 1.8,
            columnspacing=1.4,
        )
        if drawn.get_window_extent().width <= 1.05 * axes.get_window_extent().width:
            return


def displayed_series(name: str, bodies: Bodies) -> tuple[Floats, str]:
    """Return a series as people read it, and its unit: angles in degrees. One that is stored as such is
    told without the machine, whose code may not be trusted.
    """
    stored = bodies.data.data_vars.get(name)
    if stored is not None and stored.dims == ("time",) and "units" in stored.attrs:
        unit = str(stored.attrs["units"])
        return readable(stored.values, "" if unit == "1" else unit)
    if "vehicle" not in bodies.data.attrs:
        expect_known("no column", name, [str(known) for known in bodies.data.data_vars])
    return readable(evaluate_series(name, bodies), unit_of(name, bodies.model))


def angles_of(model: Model) -> list[str]:
    """Return the angles that tell most of a motion: lean or yaw, and joints that are no wheels;
    where joints only slide, these.
    """
    free = [joint for joint in model.joints if not _turns_wheel(joint, model)]
    turning = [j.name for j in free if j.unit == "rad"]
    return (
        [*base_angles(model)[:1], *turning]
        or [j.name for j in free]
        or [j.name for j in model.joints]
    )


def _turns_wheel(joint: Joint, model: Model) -> bool:
    """Return whether a joint is the axle of a wheel, which has its centre on it; a leg has its foot
    elsewhere.
    """
    axis, through = np.asarray(joint.axis, float), np.asarray(joint.through, float)
    centres = [np.asarray(c.centre, float) for c in model.wheels if c.body == joint.child]
    far = [float(np.linalg.norm(np.cross(axis, centre - through))) for centre in centres]
    return any(distance < 1e-6 for distance in far)


def angles_to_draw(data: "Dataset", model: Model) -> list[str]:
    """Return the angles to be drawn of a run: with its events, the pitch too; where none of them moves,
    those of the base that do.
    """
    found = [*(["pitch"] if events_of(data) else []), *angles_of(model)]
    found = [name for name in found if unit_of(name, model) == "rad"] or found
    moves = {n: n in data and float(np.ptp(data[n].values)) > 1e-9 for n in base_angles(model)}
    still = all(float(np.ptp(data[n].values)) <= 1e-9 for n in found if n in data)
    return [name for name, moving in moves.items() if still and moving] or found


def words(name: str) -> str:
    """Return a series' name as words.

    >>> words("contact_force[rear, normal]")
    'contact force, rear, normal'
    """
    return name.replace("[", ", ").replace("]", "").replace("_", " ")


def check_run(data: "Dataset") -> None:
    """Raise where a dataset is no run."""
    if "time" not in data.dims:
        raise ParameterError(
            "this result is no run over time; `draisine list figures` names others."
        )


def headline(data: "Dataset") -> str:
    """Return the title of a result, and in further lines from when on a run is not to be believed and
    when it fell.
    """
    title = str(data.attrs.get("title", data.attrs.get("vehicle", "")))
    validity = validity_of(data)
    faults = {} if validity is None else validity.faults
    told = [f"from {t:.3g} s {what}" for what, t in list(faults.items())[:1]]
    fall = None if validity is None else validity.fall_from
    if fall is not None and fall > min(faults.values()):
        told.append(f"it fell at {fall:.3g} s")
    return "\n".join([title, *told])


def bodies_of(data: "Dataset") -> Bodies:
    """Return the bodies of a run."""
    check_run(data)
    return Bodies(data)


def curve(axes: "Axes", k: int, x: Floats, y: Floats, label: str) -> None:
    """Draw the k-th curve."""
    axes.plot(x, y, color=COLOURS[k % 7], linestyle=DASHES[k % 7], linewidth=1.6, label=label)


FLOORS = {"deg": 1e-3, "deg/s": 1e-3, "m/s": 1e-6, "N": 1e-4}
"""What moves by less, in its unit, is at rest but for round-off, its own or one that has grown; of other
units, 1e-9.
"""


def rest(axes: "Axes", least: float = 1.0, unit: str = "", along: str = "") -> None:
    """Let what hardly moves be seen as a straight line, not as the noise of its round-off, and tell by
    how much it moves; `unit` is that of the axis up, `along` that of the other.
    """
    told = []
    for low, high, limit, of in (
        (*axes.get_xlim(), axes.set_xlim, along),
        (*axes.get_ylim(), axes.set_ylim, unit),
    ):
        if abs(high - low) < FLOORS.get(of, 1e-9):
            middle = (low + high) / 2.0
            limit(middle - least, middle + least)
            told += [f"{abs(high - low) / 1.1:.1g} {of}"] if of and abs(high - low) > 1e-9 else []
    if told:
        text = f"moves by {' and '.join(told)} at most"
        axes.text(0.01, 0.97, text, transform=axes.transAxes, va="top", fontsize=letters(8))


def unit_label(unit: str) -> str:
    """Return a label for several quantities of one unit.

    >>> unit_label("deg"), unit_label("m/s"), unit_label("kg")
    ('angle (deg)', 'speed (m/s)', 'kg')
    """
    kinds = {"deg": "angle", "deg/s": "angular rate", "m": "length", "m/s": "speed", "N": "force"}
    kinds |= {"N m": "torque", "J": "energy", "m/s2": "acceleration"}
    return f"{kinds[unit]} ({unit})" if unit in kinds else unit


def figure_of(axes: Any) -> "Figure":
    """Return the figure that axes (or a sequence or mapping of them) belong to."""
    first = next(iter(axes.values())) if isinstance(axes, dict) else axes
    while isinstance(first, (np.ndarray, Sequence)):
        first = first[0]
    return cast("Figure", first.figure)


def head(figure: "Figure", data: "Dataset") -> None:
    """Write the title of a result above a figure that has none, and no legend there."""
    if (
        not figure.legends
        and not figure.get_suptitle()
        and not any(axes.get_title() for axes in figure.axes)
    ):
        figure.suptitle(headline(data), fontsize=letters(10))


def set_headline(figure: "Figure", title: str | bool) -> None:
    """Replace the headline of a figure by another text, or leave it out if `title` is False.

    The headline is the title of the figure, or of its only axes; titles of several axes say what each
    shows, and stay.
    """
    if title is True:
        return
    text = title or ""
    if figure.get_suptitle():
        for one in figure.texts:
            if one.get_text() == figure.get_suptitle():
                one.set_in_layout(bool(text))
        figure.suptitle(text)
    elif len(figure.axes) == 1 and figure.axes[0].get_title():
        figure.axes[0].set_title(text)
    elif text:
        figure.suptitle(text, fontsize=letters(10))
