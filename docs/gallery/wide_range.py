"""A stable range twice as wide

Real parts of the eigenvalues of the benchmark bicycle (thin, dashed) and of a design with twice its
stable range (thick): more trail, a steeper steering axis, the rider farther forward. `optimise`
found it by exact derivatives of the critical speeds; see the [tutorial](tutorial/design.md). If all
real parts are negative (bars at the bottom) the bicycle is self-stable.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.sensitivity import stable_range
from draisine.view.style import COLOURS, new_figure

BOUNDS = {"c": (0.02, 0.12), "lam": (0.15, 0.45), "xB": (0.25, 0.4)}


def designed(bicycle: draisine.System) -> draisine.System:
    """Return a bicycle whose stable range is twice as wide."""

    def narrow(design: dict[str, float]) -> tuple[float, dict[str, float]]:
        width, slopes = stable_range(bicycle.with_parameters(**design))
        return -width, {name: -slopes[name] for name in BOUNDS}

    start = {name: bicycle.parameters[name] for name in BOUNDS}
    found = draisine.optimise(narrow, start, BOUNDS, target=-2.0 * stable_range(bicycle)[0])
    return bicycle.with_parameters(**found.values)


def figure() -> Figure:
    """Return the picture."""
    usual = draisine.compile("whipple")
    axes, speeds = new_figure(1, 1, (6.0, 3.6)), np.linspace(0.5, 10.0, 200)
    styles = {"benchmark": (usual, 1.0, "--"), "designed": (designed(usual), 2.2, "-")}
    for k, (name, (bicycle, width, dashes)) in enumerate(styles.items()):
        values = draisine.eigenvalues(bicycle, speeds).values.real
        lines = axes.plot(speeds, values, dashes, color=COLOURS[k], linewidth=width)
        critical = draisine.critical_speeds(bicycle)
        low, high = float(critical.weave), float(critical.capsize)
        lines[0].set_label(f"{name}, stable from {low:.2f} to {high:.2f} m/s")
        axes.axvspan(low, high, 0.06 * k, 0.06 * k + 0.05, color=COLOURS[k], linewidth=0)
    axes.axhline(0.0, color="black", linewidth=0.8)
    axes.set(xlabel="speed (m/s)", ylabel="real part (1/s)", ylim=(-4.5, 4.5))
    axes.legend(loc="upper right", fontsize=8)
    return axes.figure
