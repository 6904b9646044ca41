"""Deformation and force during an impact of two spheres: figures 3.2 and 3.3 of Mauny's thesis (2018).

Hunt and Crossley (1975, doi:10.1115/1.3423596): F = K d^(3/2) (1 + chi ddot) with Hertz's stiffness
K = (4/3) E* sqrt(R*), 1/R* = 1/R1 + 1/R2, 1/E* = 2 (1 - nu^2) / E, and chi = (3/2) (1 - e) / ddot0 for small
losses. The relative motion is m* dddot = -F with 1/m* = 1/m1 + 1/m2.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from draisine.algebra.scalar import Floats
from draisine.view.style import COLOURS, new_figure

RADIUS = 0.01  # m, of both spheres, as printed
YOUNG = 210e9  # Pa, as printed
POISSON = 0.28  # as printed
SPEED = 0.1  # m/s, initial rate of the deformation, as printed
STEEL = 7850.0  # kg/m3; not printed, usual value
RESTITUTIONS = (0.0, 0.5, 0.9, 1.0)  # as printed


def hertz_stiffness(
    radius: float = RADIUS, young: float = YOUNG, poisson: float = POISSON
) -> float:
    """Return the stiffness K (N m^-3/2) of two equal spheres.

    >>> print(f"{hertz_stiffness():.4e}")
    1.0741e+10
    """
    effective = young / (2.0 * (1.0 - poisson**2))
    return 4.0 / 3.0 * effective * math.sqrt(radius / 2.0)


def collide(e: float) -> tuple[Floats, Floats, Floats]:
    """Return times (s), deformation (m) and force (N) of the collision with the coefficient e."""
    K = hertz_stiffness()
    mass = STEEL * 4.0 / 3.0 * math.pi * RADIUS**3 / 2.0
    chi = 1.5 * (1.0 - e) / SPEED

    def force(d: Any, rate: Any) -> Any:
        """Return the repulsive force (N)."""
        return K * np.maximum(d, 0.0) ** 1.5 * (1.0 + chi * rate)

    def ends(_: float, y: Floats) -> float:
        """Return the deformation, whose zero ends the contact."""
        return float(y[0])

    ends.terminal = True  # type: ignore[attr-defined]
    ends.direction = -1.0  # type: ignore[attr-defined]
    # Largest deformation of the elastic impact: m v^2 / 2 = (2/5) K d^(5/2); its duration is 2.94 d / v.
    depth = (1.25 * mass * SPEED**2 / K) ** 0.4
    until = 20.0 * depth / SPEED
    solution = solve_ivp(
        lambda _, y: [y[1], -force(y[0], y[1]) / mass],
        (0.0, until),
        [0.0, SPEED],
        events=ends,
        rtol=1e-10,
        atol=[1e-14, 1e-10],
        max_step=until / 2000.0,
    )
    d, rate = solution.y
    return solution.t, d, force(d, rate)


def draw_force() -> Any:
    """Draw figure 3.3: force against deformation for several coefficients of restitution."""
    axes = new_figure(1, 1, (6.0, 4.0))
    for k, e in enumerate(RESTITUTIONS):
        _, d, force = collide(e)
        axes.plot(1e6 * d, force, color=COLOURS[k], label=rf"$\varepsilon$ = {e:g}")
    axes.set(xlabel="deformation (um)", ylabel="force (N)")
    axes.legend(frameon=False)
    return axes


def draw_deformation() -> Any:
    """Draw figure 3.2: deformation over time of elastic, partly elastic and plastic impacts."""
    axes = new_figure(1, 1, (6.0, 4.0))
    t, d, _ = collide(1.0)
    top = int(np.argmax(d))
    axes.plot(1e6 * t, 1e6 * d, color=COLOURS[2], label="elastic")
    t_loss, d_loss, _ = collide(0.7)
    axes.plot(
        1e6 * t_loss, 1e6 * d_loss, color=COLOURS[0], label="partly elastic, no deformation remains"
    )
    # Plastic: half of the deformation remains, and the contact opens when the force vanishes.
    rebound = d[top:] >= 0.5 * d[top]
    part = np.concatenate([d[:top], d[top:][rebound]])
    axes.plot(1e6 * t[: len(part)], 1e6 * part, color=COLOURS[3], ls="--", label="partly plastic")
    axes.plot(
        1e6 * t[: top + 1], 1e6 * d[: top + 1], color=COLOURS[1], ls=":", lw=2.5, label="plastic"
    )
    axes.axvline(1e6 * t[top], color="black", lw=0.6)
    axes.annotate("$t_c$", (1e6 * t[top], 0.0), xytext=(3, 3), textcoords="offset points")
    axes.set(xlabel="time since the first touch (us)", ylabel="deformation (um)", ylim=(-0.2, 5.5))
    axes.legend(frameon=False)
    return axes


IMPACTS: dict[str, Callable[[], Any]] = {
    "deformation in an impact": draw_deformation,
    "force in an impact": draw_force,
}
"""Drawings of this file by name."""
