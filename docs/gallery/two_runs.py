"""Two runs and their difference

The push without drift correction and with the stiff correction (2.41) of the gaps, as in figures
2.18 and 2.19 of the thesis. Left: both runs; right: their difference. In a terminal: `draisine
compare a.nc b.nc`.
"""

import warnings

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.results.comparison import compare
from draisine.scenario.library import load
from draisine.view.figures import comparison


def figure() -> Figure:
    """Return the picture."""
    fixed = {"run.until": 2.0, "run.integrator": "abm4", "run.dt": 0.001}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # equal steps do not use the tolerances of the scenario
        runs = [
            run(load("mauny2018/passive-stabilisation", fixed | {"run.drift": drift})).data
            for drift in ("none", 0.01)
        ]
    return comparison.draw(compare(*runs), names=["lean", "steer", "forward_speed"])[0, 0].figure
