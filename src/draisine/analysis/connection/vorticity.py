r"""Momentum of point vortices around a body: the vorticity term of (1.11) of Mauny's thesis (2018).

In an ideal fluid at rest at infinity, the momentum of a body with its added mass and the momentum of the
vorticity add up to zero, eq. [vorticity-balance]. In the plane, the momentum of the vorticity w_v of
vortices outside an ellipse has a closed form: the map z = zeta + k^2 / zeta takes a circle of radius
R = (a + b) / 2 to the ellipse, k^2 = (a^2 - b^2) / 4, and the vortices have images inside the circle (Lamb
1932, art. 155; Kanso 2009, Journal of Fluid Mechanics 631, 127-148). Bodies of several links do not interact
through the fluid here, as in the vehicle `fish`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.mechanics.connection import Locomotion
from draisine.mechanics.kinematics import BASE_ORIGIN
from draisine.mechanics.newton_euler import mass_matrix


@dataclass(frozen=True)
class Vortex:
    """Point vortex in the plane."""

    x: float
    """Position, m."""
    y: float
    """Position, m."""
    circulation: float
    """Circulation, m2/s, positive counter-clockwise."""


@dataclass(frozen=True)
class EllipticBody:
    """Elliptic body in the plane, without circulation."""

    a: float
    """Half axis along its own x, m."""
    b: float
    """Half axis across, m."""
    x: float = 0.0
    """Position of the centre, m."""
    y: float = 0.0
    """Position of the centre, m."""
    angle: float = 0.0
    """Angle of its axis to the x axis, rad."""

    def __post_init__(self) -> None:
        if not (self.a > 0.0 and self.b > 0.0):
            raise ParameterError(
                f"An ellipse has positive half axes, not {self.a:g} and {self.b:g} m."
            )


def vortex_momentum(body: EllipticBody, vortices: Sequence[Vortex], density: float) -> Floats:
    """Compute the momentum of vortices outside a body, with the images inside it.

    Parameters
    ----------
    body
        The body.
    vortices
        Point vortices outside the body.
    density
        Density of the fluid per depth, kg/m2.

    Returns
    -------
    (3,) array
        Momentum (x, y), kg m/s per depth, and angular momentum about the origin of the world,
        kg m2/s per depth.

    Raises
    ------
    ParameterError
        A vortex is not outside the body.

    Examples
    --------
    A vortex far away has the momentum `density` times its circulation times its distance. Near a circle the
    image reduces it by the square of the ratio of the distances:

    >>> vortex_momentum(EllipticBody(0.5, 0.5), [Vortex(1.0, 0.0, 2.0)], density=1.0)
    array([ 0. , -1.5, -1. ])
    """
    momentum = np.zeros(3)
    turn = np.exp(1j * body.angle)
    centre = complex(body.x, body.y)
    R = (body.a + body.b) / 2.0
    k2 = (body.a**2 - body.b**2) / 4.0
    for vortex in vortices:
        z = (complex(vortex.x, vortex.y) - centre) / turn
        zeta = _map_outside_circle(z, R, k2)
        if abs(zeta) <= R:
            raise ParameterError(
                f"The vortex at ({vortex.x:g}, {vortex.y:g}) m lies inside the ellipse. Move it outside."
            )
        # The vortex sheet q = u_t dl on the boundary has the harmonics -(G / pi) Re((R / zeta)^n
        # e^(i n s)).
        image = R * R / zeta.conjugate()
        moment = vortex.circulation * (zeta - image) * turn
        about_centre = vortex.circulation * (k2 * ((R / zeta) ** 2).real - 0.5 * abs(z) ** 2)
        # The momentum depends on the origin, because the total circulation of the vortices is not
        # zero.
        impulse = -1j * (vortex.circulation * centre + moment)
        offset = 0.5 * vortex.circulation * abs(centre) ** 2
        angular = about_centre - offset - (centre.conjugate() * moment).real
        momentum += [impulse.real, impulse.imag, angular]
    return density * momentum


def _map_outside_circle(point: complex, radius: float, k2: float) -> complex:
    """Return the point zeta outside the circle that the conformal map `zeta + k2 / zeta` takes to a
    point of the plane.
    """
    root = np.sqrt(complex(point * point - 4.0 * k2))
    return max((point + root) / 2.0, (point - root) / 2.0, key=abs)


def momentum_velocity(
    machine: Locomotion, rates: Floats, momentum: Floats, position: Floats, angle: float
) -> Floats:
    """Compute the velocity of a planar machine in a fluid with vorticity, (1.11).

    Parameters
    ----------
    machine
        Machine without contacts, whose mass matrix includes the added mass.
    rates
        Rates of the driven joints, (p,).
    momentum
        Momentum of the vorticity in the world, as `vortex_momentum` returns it, (3,).
    position
        Position (x, y) of the base, m.
    angle
        Heading of the base, rad.

    Returns
    -------
    (3,) array
        eta = (Vx, Vy, Wz) in the base's axes, with `M eta + M_r rdot + Ad' w_v = 0`.

    Raises
    ------
    ParameterError
        The machine does not move in the plane.
    """
    if machine.outer != [0, 1, 5]:
        raise ParameterError(
            "The momentum of vortices requires a machine in the plane, SE(2), with all joints driven."
        )
    M = np.asarray(mass_matrix(machine.tree, machine.geo, BASE_ORIGIN), float)
    locked = M[np.ix_(machine.outer, machine.outer)]
    coupling = M[np.ix_(machine.outer, machine.inner)]
    c, s = np.cos(angle), np.sin(angle)
    force = np.array([c * momentum[0] + s * momentum[1], c * momentum[1] - s * momentum[0]])
    about_base = momentum[2] - (position[0] * momentum[1] - position[1] * momentum[0])
    return np.linalg.solve(locked, -(coupling @ rates) - np.array([*force, about_base]))
