"""Basin of a million runs

Which bicycles recover from a push? The runs last 5 s and vary speed, initial lean rate, trail and
head angle by a Sobol sequence. Each panel shows the share of runs that stay upright and decay, over
two of the four variables. This picture uses 16,384 runs, so that it takes seconds; `python
bench/scale.py --million STORE.zarr` runs 2^20.
"""

from matplotlib.figure import Figure

import draisine
from draisine.scenario.library import Loaded, validate_scenario
from draisine.view.style import parent_figure

SIDES = {
    "initial.forward_speed": (2.0, 8.0),
    "initial.lean_rate": (0.05, 1.6),
    "vehicle.parameters.c": (0.02, 0.14),
    "vehicle.parameters.lam": (0.1, 0.5),
}


def scenario(count: int, chunk: int = 1024) -> Loaded:
    """Return self-stability over speed, push, trail and head angle: 5 s in steps of 20 ms."""
    content = {
        "kind": "sweep",
        "title": "self-stability",
        "vehicle": {"name": "whipple", "parameter_set": "benchmark"},
        "run": {"until": 5.0, "dt": 0.02, "integrator": "rk4", "fall": "45deg"},
        "sweep": {
            "design": "sobol",
            "count": count,
            "chunk": chunk,
            "outputs": ["decay rate of lean", "time to fall", "final lean", "peak steer"],
            "between": {path: {"low": low, "high": high} for path, (low, high) in SIDES.items()},
        },
    }
    return validate_scenario("million", "million.toml", content)


def figure() -> Figure:
    """Return the picture."""
    return parent_figure(draisine.plot(draisine.sweep(scenario(2**14)), "basin"))
