"""Compliant contacts: force against indentation

Two steel balls of 1 cm radius collide at 10 cm/s. Left: the law of Hunt and Crossley for four
coefficients of restitution, as in figure 3.3 of the thesis. Right: all laws for the coefficient
0.5. Each loop is traversed clockwise, and its area is the dissipated energy. Hertz's spring
dissipates none; the damper of Kelvin and Voigt starts with a jump and ends with a tensile force;
the law of Lankarani and Nikravesh (1994) loads like Hertz's spring and leaves a permanent
indentation.
"""

import math

from matplotlib.figure import Figure

from draisine.simulation.compare.compliant import (
    Collision,
    Hertz,
    HuntCrossley,
    KelvinVoigt,
    LankaraniNikravesh,
    hertz_stiffness,
    simulate_collision,
    simulate_plastic_collision,
)
from draisine.view.style import add_legend, draw_curve, new_figure, simplify_axes

RADIUS, SPEED, DENSITY = 0.01, 0.1, 7800.0
STIFFNESS = hertz_stiffness(RADIUS, RADIUS, young=210e9, poisson=0.28)
MASS = DENSITY * 4.0 / 3.0 * math.pi * RADIUS**3 / 2.0  # reduced


def spring_and_damper(restitution: float) -> KelvinVoigt:
    """Return the linear law that goes as deep as Hertz's spring without its damper, and returns with
    the given part of the speed.
    """
    deepest = (1.25 * MASS * SPEED**2 / STIFFNESS) ** 0.4
    stiffness = MASS * (SPEED / deepest) ** 2
    loss = -math.log(restitution)
    ratio = loss / math.hypot(math.pi, loss)
    return KelvinVoigt(stiffness, 2.0 * ratio * math.sqrt(stiffness * MASS), pulls=True)


def figure() -> Figure:
    """Return the picture."""
    axes = new_figure(1, 2, size=(10.0, 4.6))
    by_restitution = {
        f"e = {e:g}": simulate_collision(HuntCrossley(STIFFNESS, e, SPEED), MASS, SPEED)
        for e in (0.0, 0.5, 0.9, 1.0)
    }
    by_law: dict[str, Collision] = {
        "Hertz (e = 1)": simulate_collision(Hertz(STIFFNESS), MASS, SPEED),
        "Kelvin and Voigt": simulate_collision(spring_and_damper(0.5), MASS, SPEED),
        "Hunt and Crossley": simulate_collision(HuntCrossley(STIFFNESS, 0.5, SPEED), MASS, SPEED),
        "Lankarani and Nikravesh": simulate_collision(
            LankaraniNikravesh(STIFFNESS, 0.5, SPEED), MASS, SPEED
        ),
        "the same, 1994": simulate_plastic_collision(STIFFNESS, 0.5, MASS, SPEED),
    }
    for panel, loops in zip(axes, (by_restitution, by_law), strict=True):
        for k, (name, loop) in enumerate(loops.items()):
            draw_curve(panel, k, 1e6 * loop.depth, loop.force, name)
        simplify_axes(panel).set_xlabel("indentation (µm)")
        panel.axhline(0.0, color="#666666", linewidth=0.8)
        panel.set_xlim(left=0.0)
        add_legend(panel, columns=2 if len(loops) > 4 else 4)
    axes[0].set_ylabel("force (N)")
    axes[1].set_ylabel("force (N)")
    return axes[0].figure
