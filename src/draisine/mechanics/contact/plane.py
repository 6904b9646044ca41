"""Where a shape touches the ground, exactly, and how the touching point wanders.

`up` is the ground's normal in the frame of the link that carries the shape. All vectors here are in
that frame.
"""

from dataclasses import dataclass

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, norm


@dataclass(frozen=True, slots=True, eq=False)
class PlaneContact:
    """The touching point of a wheel: `rho` from its centre, and what its rate needs."""

    rho: Array
    axle: Array
    side: Array
    slope: Scalar
    ring: Scalar
    crown: Scalar


def touch(up: Array, axle: Array, radius: Scalar, crown: Scalar) -> PlaneContact:
    """Return where a torus of that outer radius and crown touches a plane; crown 0 is the disc, eq.
    [contact-point].

    The wheel's plane holds the direction `e`, steepest towards the ground's normal; its length
    before scaling is the sine of the angle between axle and normal, so only a wheel that lies flat
    is singular.
    """
    steep = up - (up @ axle) * axle
    slope = norm(steep)
    e = steep / slope
    ring = radius - crown
    return PlaneContact(-ring * e - crown * up, axle, cross(axle, e), slope, ring, crown)


def touch_rate(at: PlaneContact, up: Array, W: Array) -> Array:
    """Return the rate of rho in the link's frame, which turns with W, eq. [contact-rate]."""
    updot = cross(up, W)
    return -(at.ring * ((updot @ at.side) / at.slope)) * at.side - at.crown * updot
