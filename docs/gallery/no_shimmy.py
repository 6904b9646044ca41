"""A bicycle without shimmy

Growth rates of wobble and weave of a bicycle on tyres with relaxation, with compliant fork and frame. Thin,
dashed: a usual geometry, which shimmies from walking speed to 17 m/s. Thick: the design that `optimise` found
by exact derivatives of the eigenvalues over trail, head angle and both stiffnesses; see the
[tutorial](tutorial/design.md).
"""

import math

import numpy as np
from matplotlib.figure import Figure

import draisine
from draisine.analysis.bicycle.followed import TwoWheeler
from draisine.analysis.bicycle.mode_sensitivity import largest_growth
from draisine.analysis.gradient import Optimum
from draisine.view.style import new_figure

TYRE = {"name": "load_tyre", "parameter_set": "city_bicycle"}
COMPLIANCE = {
    "frame_twist": 3000.0,
    "frame_twist_damper": 5.0,
    "fork_bend": 6000.0,
    "fork_bend_damper": 5.0,
}
BOUNDS = {
    "c": (0.03, 0.12),
    "lam": (0.2, 0.45),
    "flexible_frame_twist": (1000.0, 10000.0),
    "flexible_fork_bend": (1000.0, 20000.0),
}
SPEEDS = np.array([1.0, 2.0, 4.0, 7.0, 10.0, 14.0, 18.0])


def usual() -> draisine.System:
    """Return the bicycle before the design, with a head angle of 70 degrees."""
    return draisine.compile(
        "whipple",
        c=0.06,
        lam=math.radians(20.0),
        crown=0.02,
        rear_tyre=TYRE,
        front_tyre=TYRE,
        flexible=COMPLIANCE,
    )


def best(bicycle: draisine.System) -> Optimum:
    """Return the design with the least growth of the wobble within the bounds on handling."""

    def growth(mode: str, bound: float, speeds: np.ndarray) -> object:
        def cost(design: dict[str, float]) -> tuple[float, dict[str, float]]:
            running = TwoWheeler(bicycle.with_parameters(**design))
            largest, slopes = largest_growth(running, mode, speeds, list(BOUNDS))
            return largest - bound, slopes

        return cost

    def flop(design: dict[str, float]) -> tuple[float, dict[str, float]]:
        c, lam = design["c"], design["lam"]
        slopes = {"c": math.sin(lam) * math.cos(lam), "lam": c * math.cos(2.0 * lam)}
        return c * slopes["c"] - 0.03, dict.fromkeys(BOUNDS, 0.0) | slopes

    constraints = {
        "weave": growth("weave", -1.0, SPEEDS[3:]),
        "capsize": growth("capsize", 1.3, SPEEDS[3:]),
        "wheel flop": flop,
    }
    start = {name: bicycle.parameters[name] for name in BOUNDS}
    cost = growth("wobble", 0.0, SPEEDS)
    return draisine.optimise(cost, start, BOUNDS, constraints=constraints)


def figure() -> Figure:
    """Return the picture."""
    bicycle = usual()
    speeds = np.linspace(0.5, 20.0, 79)
    panel = new_figure(1, 1, (6.0, 3.8))
    for design, style, width in (({}, "--", 1.0), (best(bicycle).values, "-", 2.2)):
        modes = TwoWheeler(bicycle.with_parameters(**design)).eigenmodes(speeds)
        for name, colour in (("wobble", "C3"), ("weave", "C0")):
            label = name if design else None
            panel.plot(speeds, modes.mode(name).real, style, color=colour, lw=width, label=label)
    panel.axhline(0.0, color="0.3", lw=0.8)
    panel.set(xlabel="forward speed (m/s)", ylabel="growth rate (1/s)", ylim=(-6.0, 5.0))
    panel.legend(loc="lower left")
    return panel.figure
