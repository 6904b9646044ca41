"""Basin of self-stability

Motion of the benchmark bicycle 8 s after a push: one run for each initial speed and lean rate, in
one sweep. The amplitude combines the lean and the lean rate divided by the weave frequency. Red:
the amplitude has grown; grey: the bicycle fell. Dashed lines: weave and capsize speed, between
which small motions decay.
"""

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.scenario.library import validate_scenario
from draisine.view.style import new_figure

SCENARIO = {
    "kind": "sweep",
    "title": "basin of self-stability",
    "vehicle": {"name": "whipple", "parameter_set": "benchmark"},
    "run": {"until": 8.0, "dt": 0.02, "integrator": "rk4"},
    "sweep": {
        "outputs": ["final lean", "final lean_rate"],
        "between": {
            "initial.forward_speed": {"low": 3.8, "high": 6.8, "count": 25},
            "initial.lean_rate": {"low": 0.1, "high": 2.0, "count": 16},
        },
    },
}


def figure() -> Figure:
    """Return the picture."""
    data = draisine.sweep(validate_scenario("basin", "basin.toml", SCENARIO)).data
    critical = draisine.critical_speeds(draisine.compile("whipple"))
    rate = data["final lean_rate"] / critical.weave_frequency
    remains = np.hypot(data["final lean"], rate) * critical.weave_frequency / data["lean_rate"]
    axes = new_figure(1, 1, (6.4, 4.2))
    axes.set_facecolor("0.6")
    colours = axes.pcolormesh(
        *np.meshgrid(data["forward_speed"], data["lean_rate"]),
        np.log10(remains.transpose("lean_rate", "forward_speed")),
        cmap="RdBu_r",
        vmin=-2,
        vmax=2,
    )
    bar = axes.figure.colorbar(colours, ticks=[-2, -1, 0, 1, 2], label="what remains of the push")
    bar.ax.set_yticklabels(["1 %", "10 %", "all", "10 times", "100 times"])
    for speed in (critical.weave, critical.capsize):
        axes.axvline(float(speed), color="black", linestyle="--", linewidth=1.0)
    axes.set(xlabel="speed (m/s)", ylabel="lean rate at the start (rad/s)")
    return axes.figure
