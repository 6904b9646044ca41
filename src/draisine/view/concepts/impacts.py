"""Deformation and force during an impact of two spheres: figures 3.2 and 3.3 of Mauny's thesis (2018).

The collisions are those of `simulation/compare/compliant`: Hunt and Crossley for elastic spheres, and
Lankarani and Nikravesh (1994) for a deformation that remains.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from draisine.simulation.compare.compliant import (
    Collision,
    HuntCrossley,
    hertz_stiffness,
    simulate_collision,
    simulate_plastic_collision,
)
from draisine.view.style import COLOURS, new_figure

SPHERE_RADIUS = 0.01  # m, of both spheres, as printed
SPHERE_STIFFNESS = hertz_stiffness(
    SPHERE_RADIUS, SPHERE_RADIUS, 210e9, 0.28
)  # N m^-1.5, Young's modulus as printed
IMPACT_SPEED = 0.1  # m/s, initial rate of the deformation, as printed
STEEL = 7850.0  # kg/m3; not printed, usual value
REDUCED_MASS = (
    STEEL * 4.0 / 3.0 * math.pi * SPHERE_RADIUS**3 / 2.0
)  # kg, reduced mass of both spheres
RESTITUTIONS = (0.0, 0.5, 0.9, 1.0)  # as printed


def collide(e: float) -> Collision:
    """Return the collision of the spheres with the coefficient e of Hunt and Crossley.

    >>> print(f"{1e6 * collide(1.0).depth.max():.3f} um")
    3.256 um
    """
    return simulate_collision(
        HuntCrossley(SPHERE_STIFFNESS, e, IMPACT_SPEED), REDUCED_MASS, IMPACT_SPEED
    )


def draw_force() -> Any:
    """Draw figure 3.3: force against deformation for several coefficients of restitution."""
    axes = new_figure(1, 1, (6.0, 4.0))
    for k, e in enumerate(RESTITUTIONS):
        collision = collide(e)
        label = rf"$\varepsilon$ = {e:g}"
        axes.plot(1e6 * collision.depth, collision.force, color=COLOURS[k], label=label)
    axes.set(xlabel="deformation (um)", ylabel="force (N)")
    axes.legend(frameon=False)
    return axes


def draw_deformation() -> Any:
    """Draw figure 3.2: deformation over time of elastic, partly elastic and plastic impacts."""
    axes = new_figure(1, 1, (6.0, 4.0))
    elastic = collide(1.0)
    top = int(np.argmax(elastic.depth))
    partly = collide(0.7)
    remains = simulate_plastic_collision(SPHERE_STIFFNESS, 0.7, REDUCED_MASS, IMPACT_SPEED)
    for collision, colour, style, label in (
        (elastic, COLOURS[2], "-", "elastic"),
        (partly, COLOURS[0], "-", "partly elastic, no deformation remains"),
        (remains, COLOURS[3], "--", "partly plastic, a deformation remains"),
    ):
        t, depth = 1e6 * collision.t, 1e6 * collision.depth
        axes.plot(t, depth, style, color=colour, label=label)
    t, depth = 1e6 * elastic.t[: top + 1], 1e6 * elastic.depth[: top + 1]
    axes.plot(t, depth, ":", color=COLOURS[1], lw=2.5, label="plastic")
    axes.axvline(1e6 * elastic.t[top], color="black", lw=0.6)
    axes.annotate("$t_c$", (t[-1], 0.0), xytext=(3, 3), textcoords="offset points")
    axes.set(xlabel="time since the first touch (us)", ylabel="deformation (um)", ylim=(-0.2, 5.5))
    axes.legend(frameon=False)
    return axes


IMPACTS: dict[str, Callable[[], Any]] = {
    "deformation in an impact": draw_deformation,
    "force in an impact": draw_force,
}
"""Drawings of this file by name."""
