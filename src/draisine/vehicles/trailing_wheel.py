"""Trailing wheel: a caster on a moving belt, the simplest vehicle that shimmies.

The belt moves below a fixed post. The wheel trails by e behind the vertical swivel axis of the
post, on a tyre with side slip and relaxation. About straight running the characteristic equation of
the swivel angle is the cubic (Pacejka, Tire and vehicle dynamics, 3rd edition 2012,
doi:10.1016/C2010-0-68548-8, chapter 5, without turn slip)

    I sigma s^3 + (I V + k sigma) s^2 + (k V + C e^2 + kappa sigma) s + (C e + kappa) V = 0,

with the moment of inertia I about the swivel axis. Without damper and spring, straight running is
stable if e > sigma.
"""

from typing import Annotated

from draisine.algebra.scalar import Scalar
from draisine.mechanics.forces.sharp_tyre import SharpTyre
from draisine.model import Body, Disc, Model, Revolute, Wheel, inertia

SYMBOLS = {"mass": "m", "moment": "I", "radius": "r"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def trailing_wheel(
    *,
    mass: Annotated[float, "kg", "mass of the wheel"] = 5.0,
    moment: Annotated[float, "kg m2", "moment of inertia of wheel and arm about the swivel"] = 1.0,
    radius: Annotated[float, "m", "radius of the wheel"] = 0.3,
    e: Annotated[float, "m", "trail: how far the wheel stands behind the swivel"] = 0.1,
    V: Annotated[float, "m/s", "speed of the belt"] = 10.0,
    C: Annotated[float, "N/rad", "cornering stiffness of the tyre"] = 5000.0,
    sigma: Annotated[float, "m", "relaxation length of the tyre"] = 0.2,
    k: Annotated[float, "N m s/rad", "damper of the swivel"] = 5.0,
    kappa: Annotated[float, "N m/rad", "spring of the swivel"] = 0.0,
) -> Model:
    """Return the wheel on its belt, straight behind the post in the zero configuration.

    >>> [joint.name for joint in trailing_wheel().joints]
    ['swivel', 'axle']
    """
    hub = (-e, 0.0, radius)
    left = (0.0, 1.0, 0.0)
    axial = mass * radius * radius
    arm = moment - mass * e * e - axial / 2

    def belt_velocity(t: Scalar) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
        """Return the velocity of the belt (m/s) at time t (s), and its derivative."""
        return (-V, 0.0, 0.0), (0.0, 0.0, 0.0)

    return Model(
        bodies=[
            Body("post"),
            Body("arm", 0.0, (0.0, 0.0, radius), inertia(arm, arm, arm)),
            Body("wheel", mass, hub, inertia(axial / 2, axial, axial / 2)),
        ],
        joints=[
            Revolute("swivel", "post", "arm", (0.0, 0.0, 1.0), damper=k, spring=kappa),
            Revolute("axle", "arm", "wheel", left, hub),
        ],
        contacts=[
            Wheel(
                "ground",
                "wheel",
                hub,
                left,
                Disc(radius),
                tyre=SharpTyre(C, 0.0, sigma),
                lifts=False,
            )
        ],
        base="fixed",
        ground=belt_velocity,
    )
