"""Scatter matrix of a sweep

256 rides of 3 s after a push, sampled by a Latin hypercube in speed, push and trail: each output
against each varied value, with the colour of the outcome. `draisine plot STORE --figure
scatter_matrix`.
"""

from matplotlib.figure import Figure

import draisine
from draisine.scenario.library import validate_scenario
from draisine.view.style import parent_figure


def figure() -> Figure:
    """Return the picture."""
    content = {
        "kind": "sweep",
        "title": "a cloud of rides",
        "vehicle": {"name": "whipple", "parameter_set": "benchmark"},
        "run": {"until": 3.0, "dt": 0.01, "integrator": "rk4", "fall": "45deg"},
        "sweep": {
            "design": "latin-hypercube",
            "count": 256,
            "outputs": ["peak lean", "decay rate of lean"],
            "between": {
                "initial.forward_speed": {"low": 3.0, "high": 7.0},
                "initial.lean_rate": {"low": 0.1, "high": 1.5},
                "vehicle.parameters.c": {"low": 0.04, "high": 0.12},
            },
        },
    }
    found = draisine.sweep(validate_scenario("cloud", "a.toml", content))
    return parent_figure(draisine.plot(found, "scatter_matrix"))
