"""Figure of the trials of the impact solver: contact set before the impact, rejected and accepted trial."""

from typing import TYPE_CHECKING, Any

from draisine.errors import ParameterError
from draisine.results.events import read_events
from draisine.view.style import COLOURS, font_size, given_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the trials of the first impact of a run whose first trial was rejected, with normal impulses.

    The first trial keeps all touching contacts closed. The impact solver rejects it if a normal impulse is
    negative, because the ground cannot pull.

    Parameters
    ----------
    data
        Dataset of a run on a terrain.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes
        The axes.
    """
    rejected = [
        e for e in read_events(data) if any(p[0] < 0.0 for p in (e.get("predicted") or {}).values())
    ]
    if not rejected:
        raise ParameterError(
            "This run has no impact whose first trial was rejected. Choose another figure."
        )
    event = rejected[0]
    axes = given_or_new(axes, (7.4, 2.4))
    before = ", ".join(_wheels(event["before"])) or "flight"
    boxes = (
        (-0.2, COLOURS[0], f"before t = {event['time']:.4f} s\nclosed: {before}"),
        (
            5.5,
            COLOURS[1],
            f"first trial\n{_list_impulses(event['predicted'])}\nrejected: negative impulse",
        ),
        (11.3, COLOURS[2], f"second trial\n{_list_impulses(event['impulse'])}\naccepted"),
    )
    for x, colour, text in boxes:
        axes.text(
            x,
            0.0,
            text,
            ha="center",
            va="center",
            fontsize=font_size(8.5),
            bbox={"boxstyle": "round,pad=0.6", "fc": "white", "ec": colour, "lw": 1.8},
        )
    for x, text in ((2.4, "collision"), (8.85, "release\ncontact")):
        axes.annotate(
            "", (x + 0.48, 0.0), (x - 0.48, 0.0), arrowprops={"arrowstyle": "-|>", "lw": 1.5}
        )
        axes.text(x, 0.14, text, ha="center", va="bottom", fontsize=font_size(7.5))
    axes.set(xlim=(-2.2, 13.2), ylim=(-1.0, 1.0))
    # The layout would shrink the axes to make room for texts that are inside them anyway.
    for drawn in axes.texts:
        drawn.set_in_layout(False)
    axes.set_axis_off()
    return axes


def _wheels(mode: Any) -> list[str]:
    """Return the names of the closed contacts of a contact mode, without the names of ground features."""
    return [str(key).partition(":")[0] for key in mode]


def _list_impulses(impulses: dict[str, list[float]]) -> str:
    """Return the normal impulses (N s) of a trial as text, one line per contact."""
    names = ", ".join(_wheels(impulses))
    lines = [f"{name.partition(':')[0]}: {push[0]:.1f} N s" for name, push in impulses.items()]
    return "\n".join([f"closed: {names}", *lines])
