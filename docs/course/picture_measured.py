"""Measured and computed weave

Real and imaginary part of the weave of a pushed bicycle (Kooijman, Schwab and Meijaard 2008): computed curves
from measured parameters, and 26 measured runs. Nothing is fitted.
"""

import numpy as np
from course import measured_weave
from matplotlib.figure import Figure

import draisine
from draisine.view.style import COLOURS, GREY, new_figure, simplify_axes


def figure() -> Figure:
    """Return the picture."""
    bicycle = draisine.compile("whipple", parameter_set="kooijman")
    speeds = np.linspace(1.5, 6.5, 151)
    weave = draisine.eigenvalues(bicycle, speeds).mode("weave")
    at, measured = measured_weave()
    panels = new_figure(2, 1, size=(7.0, 6.0))
    for axes, curve, points, title in (
        (panels[0], weave.real, measured.real, "real part (1/s)"),
        (panels[1], np.abs(weave.imag), measured.imag, "imaginary part (rad/s)"),
    ):
        axes.plot(speeds, curve, color=COLOURS[0], label="computed")
        # The bicycle slows down by about a tenth while the weave decays.
        axes.errorbar(
            at,
            points,
            xerr=0.05 * at,
            fmt="o",
            color=COLOURS[1],
            markersize=4,
            elinewidth=0.8,
            label="measured",
        )
        axes.axvspan(1.5, 3.6, color=GREY, alpha=0.08, linewidth=0)
        simplify_axes(axes).set(ylabel=title, xlim=(1.5, 6.5))
    panels[1].set_xlabel("forward speed (m/s)")
    panels[0].axhline(0.0, color=GREY, linewidth=0.8)
    panels[0].legend(frameon=False, fontsize=9)
    panels[0].text(1.6, panels[0].get_ylim()[0] * 0.9, "short windows", color=GREY, fontsize=9)
    return panels[0].figure
