"""What changes an answer most: one panel per question of a sweep of one value at a time, a bar for each
thing that differs, the widest on top.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.view.figures._sweep import answer_panels, in_degrees
from draisine.view.style import COLOURS, plain, words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return one axes per question; bars reach from the answer of the scenario as it stands, the line,
    to those with smaller and with larger values of one thing, and words beside other words. Runs
    without an answer are counted beside the name. Angles are in degrees.
    """
    if data.sizes.get("run", 0) < 2 or "outcome" not in data:
        raise ParameterError("a tornado is of a sweep with the design 'one-at-a-time'.")
    panels, names = answer_panels(data, axes)
    sides = [str(n) for n in data.coords if n != "run"]
    for panel, name in zip(panels, names, strict=False):
        _bars(plain(panel), data[name], sides)
    panels[0].legend(fontsize=7)
    return panels


def _bars(axes: "Axes", found: "DataArray", sides: list[str]) -> None:
    found, label = in_degrees(found, str(found.name))
    stands = float(found[0])
    reach = {side: _reach(found, side) for side in sides}

    def wide(side: str) -> float:
        return float(np.ptp([stands, *np.ravel(list(reach[side].values()))]))

    order = sorted(sides, key=wide)
    for k, side in enumerate(order):
        for j, (low, high) in reach[side].items():
            at = k + (0.15, -0.15, 0.0)[j]
            height = (0.3, 0.3, 0.6)[j]
            axes.barh(at, high - low, height, left=low, color=COLOURS[j])
    for j, name in enumerate(("smaller", "larger", "other")):
        if any(j in reach[side] for side in sides):
            axes.barh(0, 0, left=stands, color=COLOURS[j], label=name)
    axes.use_sticky_edges = False
    axes.axvline(stands, color="black", linewidth=0.8)
    axes.set_yticks(range(len(order)), [_named(found, side) for side in order])
    axes.set_xlabel(label)


def _reach(found: "DataArray", side: str) -> dict[int, tuple[float, float]]:
    """Return between which answers the bars of one thing lie: of values that are smaller (0) or larger
    (1) than in the scenario as it stands, or of other words (2).
    """
    stands = float(found[0])
    values = found[side].values
    moved = np.flatnonzero(values != values[0])
    kinds = (values[moved] > values[0]).astype(int) if values.dtype.kind == "f" else 2 + 0 * moved
    out = {}
    for j in dict.fromkeys(kinds.tolist()):
        own = found.values[moved[kinds == j]]
        out[j] = (float(np.nanmin([stands, *own])), float(np.nanmax([stands, *own])))
    return out


def _named(found: "DataArray", side: str) -> str:
    """Return the name of what differs, and how many of its runs have no answer."""
    lost = int(np.isnan(found.values[found[side].values != found[side].values[0]]).sum())
    return f"{words(side)} (no answer: {lost})" if lost else words(side)
