"""Figure of all contact modes of a machine with two contacts, and the conditions of the transitions."""

from typing import TYPE_CHECKING

from draisine.errors import ParameterError
from draisine.view.style import COLOURS, font_size, given_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MODE_PLACES = ((0.0, 1.9), (-2.6, 0.0), (2.6, 0.0), (0.0, -1.9))
"""Centres (x, y) of the boxes of the modes (both contacts, first, second, none), in axes units."""

KEY_PLACES = ((-3.4, -2.75), (0.15, -2.75))
"""Positions (x, y) of the first lines in the two columns of conditions below the graph, in axes units."""


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Draw the contact modes of a machine with two contacts as boxes, and all transitions as numbered arrows.

    The conditions of the transitions are listed below the graph. Solid arrows change one contact, dashed
    arrows change two contacts at once. Symbols: gap phi, normal force lambda, normal impulse Lambda.

    Parameters
    ----------
    data
        Dataset of a run of a machine with two contacts.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes
        The axes.
    """
    contacts = [str(c) for c in data["contact"].values] if "contact" in data.coords else []
    if len(contacts) != 2:
        raise ParameterError(
            f"The graph of modes needs two contacts, and this machine has {len(contacts)}. Draw the events "
            "of a run with the figure event_graph."
        )
    axes = given_or_new(axes, (7.4, 6.4))
    names = (
        f"{contacts[0]} + {contacts[1]}",
        f"{contacts[0]} only",
        f"{contacts[1]} only",
        "flight",
    )
    for place, text in zip(MODE_PLACES, names, strict=True):
        axes.text(
            *place,
            text,
            ha="center",
            va="center",
            fontsize=font_size(10),
            bbox={"boxstyle": "round,pad=0.55", "fc": "white", "ec": COLOURS[0], "lw": 1.6},
            zorder=3,
        )
    transitions = list_transitions(*contacts)
    for number, (start, end, _, kind) in enumerate(transitions, 1):
        _draw_transition(axes, MODE_PLACES[start], MODE_PLACES[end], number, kind)
    rows = (len(transitions) + 1) // 2
    for number, (_, _, condition, kind) in enumerate(transitions, 1):
        column, row = divmod(number - 1, rows)
        x, y = KEY_PLACES[column]
        axes.text(
            x,
            y - 0.33 * row,
            f"{number}  {condition}",
            va="center",
            color=TRANSITION_COLOURS[kind],
            fontsize=font_size(8.5),
        )
    axes.set(xlim=(-3.5, 3.5), ylim=(-4.6, 2.3))
    # The layout would shrink the axes to make room for texts that are inside them anyway.
    for drawn in axes.texts:
        drawn.set_in_layout(False)
    axes.set_axis_off()
    return axes


TRANSITION_COLOURS = {"collision": COLOURS[1], "lift-off": COLOURS[2], "both": "#555555"}
"""Colour of each kind of transition."""


def list_transitions(first: str, second: str) -> list[tuple[int, int, str, str]]:
    """Return all transitions between the modes of two contacts: start, end, condition and kind.

    Start and end are indices of the modes both, first only, second only, none.

    >>> len(list_transitions("rear", "front"))
    12
    """
    both, only_first, only_second, none = range(4)
    transitions = []
    # One contact changes.
    for start, end, wheel in (
        (only_first, both, second),
        (only_second, both, first),
        (none, only_first, first),
        (none, only_second, second),
    ):
        closes = rf"{wheel} closes: $\phi = 0,\ \dot\phi < 0$"
        opens = rf"{wheel} opens: $\lambda = 0,\ \dot\lambda < 0$, or $\Lambda < 0$"
        transitions.append((start, end, closes, "collision"))
        transitions.append((end, start, opens, "lift-off"))
    # Two contacts change: an impact throws the other wheel up, or both events happen at one instant.
    for start, end, closing, opening in (
        (only_first, only_second, second, first),
        (only_second, only_first, first, second),
    ):
        text = rf"{closing} closes, $\Lambda < 0$ opens {opening}"
        transitions.append((start, end, text, "both"))
    transitions.append((none, both, "both close at one instant", "both"))
    transitions.append((both, none, "both open at one instant", "both"))
    return transitions


def _draw_transition(
    axes: "Axes", start: tuple[float, float], end: tuple[float, float], number: int, kind: str
) -> None:
    """Draw the curved arrow of a transition with its number between boxes centred at `start` and `end`."""
    bend = 0.12 if kind == "both" else 0.16
    colour = TRANSITION_COLOURS[kind]
    axes.annotate(
        "",
        xy=end,
        xytext=start,
        arrowprops={
            "arrowstyle": "-|>",
            "color": colour,
            "ls": "--" if kind == "both" else "-",
            "lw": 1.5,
            "shrinkA": 31,
            "shrinkB": 31,
            "connectionstyle": f"arc3,rad={bend}",
        },
        zorder=1,
    )
    # An arc with the bend r has its middle r/2 of the distance to the right of the straight line. The
    # numbers of dashed arrows are nearer to the start, away from the crossing in the centre.
    dx = end[0] - start[0]
    dy = end[1] - start[1]
    along = 0.36 if kind == "both" else 0.5
    aside = 2.0 * bend * along * (1.0 - along)
    axes.text(
        start[0] + along * dx + aside * dy,
        start[1] + along * dy - aside * dx,
        str(number),
        ha="center",
        va="center",
        color=colour,
        fontsize=font_size(8),
        bbox={"boxstyle": "circle,pad=0.2", "fc": "white", "ec": colour, "lw": 0.8},
        zorder=2.5,
    )
