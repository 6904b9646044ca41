"""Figure with a tornado diagram of a sweep that varies one quantity at a time.

Each output has a panel. Each varied quantity has bars in it, which show the range of the output; the
quantities are sorted by this range.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.view.figures._sweep import in_degrees, output_panels
from draisine.view.style import COLOURS, simplify_axes, to_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Draw a tornado diagram of a one-at-a-time sweep, with one panel per output.

    A line marks the nominal output. Two bars per quantity extend from it to the outputs for smaller and for
    larger values of this quantity. A quantity whose values have no order has one bar. The number of runs
    without an output is written beside its name. Angles are in degrees.

    Parameters
    ----------
    data
        Dataset of a sweep with the design 'one-at-a-time'.
    axes
        One axes per output; by default new ones.

    Returns
    -------
    array of Axes
        One axes per output.
    """
    if data.sizes.get("run", 0) < 2 or "outcome" not in data:
        raise ParameterError("A tornado diagram needs a sweep with the design 'one-at-a-time'.")
    panels, names = output_panels(data, axes)
    sides = [str(n) for n in data.coords if n != "run"]
    for panel, name in zip(panels, names, strict=False):
        _bars(simplify_axes(panel), data[name], sides)
    panels[0].legend(fontsize=7)
    return panels


def _bars(axes: "Axes", output: "DataArray", sides: list[str]) -> None:
    """Draw the bars of one output for the varied quantities `sides`, with the widest bars at the top."""
    output, label = in_degrees(output, str(output.name))
    nominal = float(output[0])
    ranges = {side: _ranges(output, side) for side in sides}

    def width(side: str) -> float:
        """Return the range of the output (in its unit) over all values of the varied quantity `side`."""
        return float(np.ptp([nominal, *np.ravel(list(ranges[side].values()))]))

    order = sorted(sides, key=width)
    for k, side in enumerate(order):
        for j, (low, high) in ranges[side].items():
            y = k + (0.15, -0.15, 0.0)[j]
            height = (0.3, 0.3, 0.6)[j]
            axes.barh(y, high - low, height, left=low, color=COLOURS[j])
    for j, name in enumerate(("smaller", "larger", "other")):
        if any(j in ranges[side] for side in sides):
            axes.barh(0, 0, left=nominal, color=COLOURS[j], label=name)
    axes.use_sticky_edges = False
    axes.axvline(nominal, color="black", linewidth=0.8)
    axes.set_yticks(range(len(order)), [_label(output, side) for side in order])
    axes.set_xlabel(label)


def _ranges(output: "DataArray", side: str) -> dict[int, tuple[float, float]]:
    """Return the ranges (smallest, largest) of an output over the values of the quantity `side`.

    The keys are 0 for values below the nominal one, 1 for values above it, and 2 for values without an order.
    """
    nominal = float(output[0])
    values = output[side].values
    varied = np.flatnonzero(values != values[0])
    kinds = (values[varied] > values[0]).astype(int) if values.dtype.kind == "f" else 2 + 0 * varied
    ranges = {}
    for j in dict.fromkeys(kinds.tolist()):
        outputs = output.values[varied[kinds == j]]
        ranges[j] = (float(np.nanmin([nominal, *outputs])), float(np.nanmax([nominal, *outputs])))
    return ranges


def _label(output: "DataArray", side: str) -> str:
    """Return the label of the quantity `side`: its name, and the number of its runs without an output."""
    missing = int(np.isnan(output.values[output[side].values != output[side].values[0]]).sum())
    return f"{to_words(side)} (undefined: {missing})" if missing else to_words(side)
