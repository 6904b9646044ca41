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
    """Return one axes per question; bars reach from the least to the largest answer over the values of
    one thing, the line is the scenario as it stands. Angles are in degrees.
    """
    if data.sizes.get("run", 0) < 2 or "outcome" not in data:
        raise ParameterError("a tornado is of a sweep with the design 'one-at-a-time'.")
    panels, names = answer_panels(data, axes)
    sides = [str(n) for n in data.coords if n != "run"]
    for panel, name in zip(panels, names, strict=False):
        _bars(plain(panel), data[name], sides)
    return panels


def _bars(axes: "Axes", found: "DataArray", sides: list[str]) -> None:
    found, label = in_degrees(found, str(found.name))
    stands, reach = float(found[0]), {}
    for side in sides:
        own = found.values[found[side].values != found[side].values[0]]
        reach[side] = (np.nanmin([stands, *own]), np.nanmax([stands, *own]))
    order = sorted(sides, key=lambda side: reach[side][1] - reach[side][0])
    for k, side in enumerate(order):
        low, high = reach[side]
        axes.barh(k, low - stands, left=stands, color=COLOURS[0], height=0.6)
        axes.barh(k, high - stands, left=stands, color=COLOURS[1], height=0.6)
    axes.axvline(stands, color="black", linewidth=0.8)
    axes.set_yticks(range(len(order)), [words(side) for side in order])
    axes.set_xlabel(label)
