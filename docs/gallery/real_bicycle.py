"""From the ideal bicycle to a shimmying one

Real parts of weave, capsize and wobble as the model of the benchmark bicycle is refined step by
step: round tyres, slip, relaxation, a compliant fork, a rider with compliant hips. Slip and camber
change the capsize most. The wobble appears with the relaxation of the tyres and becomes unstable
with the compliant fork. If lines coincide, a step has no effect.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.vehicles import parameter_set
from draisine.view.style import COLOURS, DASHES, GREY, add_legend, new_figure, simplify_axes

TYRE = {"name": "load_tyre"} | parameter_set("load_tyre", "city_bicycle")
QUICK = TYRE | {"relaxation": 0.01}
STEPS = {
    "ideal": {},
    "crown": {"crown": 0.02},
    "slip": {"rear_tyre": QUICK, "front_tyre": QUICK},
    "relaxation": {"rear_tyre": TYRE, "front_tyre": TYRE},
    "flexible fork": {"flexible": {"fork_bend": 2000.0, "fork_bend_damper": 5.0}},
    "rider": {"mU": 30.0, "torso_spring": 400.0, "torso_damper": 20.0},
}
SHOWN = {"weave": (-7.0, 4.0), "capsize": (-4.0, 5.0), "wobble": (-20.0, 5.0)}
"""The modes, and which part of the axis each takes."""


def figure() -> Figure:
    """Return the picture."""
    panels = new_figure(3, 1, size=(7.0, 8.4))
    speed, given = np.linspace(1.0, 15.0, 57), {}
    for k, (name, step) in enumerate(STEPS.items()):
        given |= step
        modes = TwoWheeler(draisine.compile("whipple", **given)).eigenmodes(speed)
        style = {"color": COLOURS[k], "linestyle": DASHES[k], "linewidth": 3.4 - 0.4 * k}
        for axes, mode in zip(panels, SHOWN, strict=True):
            root = modes.mode(mode) if mode in modes.names else np.full(len(speed), np.nan)
            swings = (mode != "wobble") | (abs(root.imag) > abs(root.real))
            axes.plot(speed, np.where(swings, root.real, np.nan), label=name, **style)
    for axes, (mode, limits) in zip(panels, SHOWN.items(), strict=True):
        simplify_axes(axes).axhline(0.0, color=GREY, linewidth=0.8)
        axes.set(ylabel=f"{mode} (1/s)", ylim=limits, xlim=(1.0, 15.0))
        axes.label_outer()
    add_legend(panels[0], columns=3, by_rows=True)
    panels[-1].set_xlabel("forward speed (m/s)")
    return panels[0].figure
