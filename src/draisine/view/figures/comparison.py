"""Two runs in one figure: what both tell on the left, their difference on the right."""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.errors import ParameterError
from draisine.model.quantity import readable
from draisine.view.style import (
    MAIN_ANGLES,
    curve,
    figure_of,
    legend,
    letters,
    new_figure,
    plain,
    rest,
    words,
)

if TYPE_CHECKING:
    from xarray import Dataset

LINE = 56
"""How many letters a line of the legend may have."""

MOST = 5
"""No more quantities than this are drawn unless they are asked for."""


def draw(data: "Dataset", axes: Any = None, names: Sequence[str] | None = None) -> Any:
    """Return axes, a row per quantity: both runs, and the second minus the first. By default these
    are all, if there are few; of many, angles and speeds: lean and steer where there are some, then those
    that differ most.
    """
    if data.sizes.get("run") != 2:
        raise ParameterError(
            "these are no two runs; `draisine compare` holds two beside each other."
        )
    names = list(names or _telling(data))
    for name in names:
        if name not in data:
            known = ", ".join(map(str, data.data_vars))
            raise ParameterError(f"the two runs have no {name!r} in common; they have {known}.")
    own = axes is None
    if own:
        axes = np.reshape(new_figure(len(names), 2, (7.4, 0.9 + 2.1 * len(names))), (-1, 2))
    for (beside, apart), name in zip(axes, names, strict=True):
        values, shown = readable(data[name].values, str(data[name].attrs["units"]))
        t = data["time"].values
        (one, other) = values
        for k, values in enumerate((one, other)):
            curve(plain(beside), k, t, values, fill(str(data["run"].values[k]), LINE))
        curve(plain(apart), 2, t, other - one, "difference")
        apart.yaxis.set_major_formatter("{x:.3g}")
        rest(beside, unit=shown)
        if not np.any(other - one):
            rest(apart)
        beside.set_ylabel(f"{words(name)}\n({shown})" if shown else words(name))
        apart.set_ylabel(f"difference\n({shown})" if shown else "difference")
    if own:  # titles may be wider than a panel
        told = axes[0, 0].get_legend_handles_labels()
        figure_of(axes).legend(*told, loc="outside upper left", frameon=False, fontsize=letters(9))
    else:
        legend(axes[0][0], 1)
    for panel in axes[-1]:
        panel.set_xlabel("time (s)")
    return axes


def _telling(data: "Dataset") -> list[str]:
    """Return the quantities to be drawn by default: all, if there are few; else angles within a turn and
    speeds, after lean and steer those first that differ most against their range.
    """
    few = len(data.data_vars) <= MOST
    apart = {}
    for name in map(str, data.data_vars):
        one, other = data[name].values
        if not np.isfinite(other - one).any():  # there is nothing to be held against each other
            continue
        ranges = float(np.nanmax(one) - np.nanmin(one)), float(np.nanmax(other) - np.nanmin(other))
        whole_turns = data[name].attrs["units"] == "rad" and max(ranges) > 2.0 * np.pi
        telling = data[name].attrs["units"] in ("rad", "m/s") and not whole_turns
        if (few or telling) and max(ranges) > 1e-12:
            apart[name] = float(np.nanmax(np.abs(other - one))) / max(ranges)
    ranked = sorted(apart, key=lambda name: -apart[name])
    most = list(dict.fromkeys([*(name for name in MAIN_ANGLES if name in apart), *ranked]))[:MOST]
    return most or [str(n) for n in data.data_vars][:MOST]
