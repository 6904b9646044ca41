"""Largest influences on a ride

A one-at-a-time sweep: each of six parameters of the benchmark bicycle a tenth smaller and a tenth
larger, and the effect on a ride after a push. The widest bars are on top; the line is the unchanged
bicycle. `draisine plot STORE --figure tornado`.
"""

from matplotlib.figure import Figure

import draisine
from draisine.scenario.library import validate_scenario
from draisine.vehicles import parameter_set
from draisine.view.style import parent_figure

NAMES = ("w", "c", "lam", "xB", "zB", "mB")


def figure() -> Figure:
    """Return the picture."""
    usual = parameter_set("whipple", "benchmark")
    content = {
        "kind": "sweep",
        "title": "one at a time",
        "vehicle": {"name": "whipple", "parameter_set": "benchmark"},
        "initial": {"forward_speed": 4.6, "lean_rate": 0.5},
        "run": {"until": 3.0, "dt": 0.01, "integrator": "rk4"},
        "sweep": {
            "design": "one-at-a-time",
            "outputs": ["peak lean", "decay rate of lean"],
            "over": {
                f"vehicle.parameters.{name}": [0.9 * usual[name], 1.1 * usual[name]]
                for name in NAMES
            },
        },
    }
    return parent_figure(
        draisine.plot(draisine.sweep(validate_scenario("tornado", "a.toml", content)), "tornado")
    )
