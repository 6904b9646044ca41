"""Figure of a fit to recordings: measured and fitted signals, and their residuals below."""

from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.model.quantity import readable
from draisine.view.style import (
    COLOURS,
    GREY,
    font_size,
    new_figure,
    parent_figure,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from xarray import Dataset


def draw(data: "Dataset", axes: Any = None) -> Any:
    """Draw measured and fitted signals with their residuals: one column per run, two rows per output.

    Parameters
    ----------
    data
        Dataset of a fit, see `draisine identify`.
    axes
        Axes (2 outputs, runs); by default new ones.

    Returns
    -------
    array of Axes
        The axes.
    """
    if "fitted" not in data or "measured" not in data:
        raise ParameterError("This result is not a fit. `draisine identify --out` writes fits.")
    output = data["output"].values.astype(str)
    motion = data["motion"].values.astype(str)
    outputs = list(dict.fromkeys(output))
    motions = list(dict.fromkeys(motion))
    rows = 2 * len(outputs)
    columns = len(motions)
    if axes is None:
        size = (3.4 + 2.8 * columns, 0.9 + 1.7 * rows)
        axes = new_figure(rows, columns, size)
    panels = np.reshape(axes, (rows, columns))
    for i, name in enumerate(outputs):
        for j, run in enumerate(motions):
            selected = data.isel(sample=np.flatnonzero((output == name) & (motion == run)))
            if selected.sizes["sample"]:
                _pair(panels[2 * i, j], panels[2 * i + 1, j], selected, name if j == 0 else "")
            else:
                panels[2 * i, j].set_axis_off()
                panels[2 * i + 1, j].set_axis_off()
    for j, run in enumerate(motions):
        if run:
            panels[0, j].set_title(run, fontsize=font_size(9))
        panels[-1, j].set_xlabel("time (s)")
    handles = panels[0, 0].get_legend_handles_labels()
    figure = parent_figure(panels)
    figure.legend(
        *handles, loc="outside upper right", ncols=2, frameon=False, fontsize=font_size(9)
    )
    return panels


def _pair(upper: Any, lower: Any, part: "Dataset", name: str) -> None:
    """Draw one measured signal with its fit, and its residuals below."""
    t = part["time"].values
    unit = str(part["output_unit"].values[0])
    measured, shown = readable(part["measured"].values, unit)
    fitted, residual = (readable(part[n].values, unit)[0] for n in ("fitted", "residual"))
    simplify_axes(upper).plot(t, measured, ".", color=GREY, ms=3, label="measured")
    upper.plot(t, fitted, color=COLOURS[0], lw=1.4, label="fitted")
    simplify_axes(lower).plot(t, residual, color=COLOURS[1], lw=0.9)
    lower.axhline(0.0, color=GREY, lw=0.6)
    if name:
        upper.set_ylabel(f"{to_words(name)}\n({shown})" if shown else to_words(name))
        lower.set_ylabel(f"residual\n({shown})" if shown else "residual")
