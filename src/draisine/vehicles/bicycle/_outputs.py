"""Output quantities of a bicycle; contact angles follow (2.20)-(2.23) of Mauny's thesis (2018) and
are smooth when upright.
"""

from typing import Any

from draisine.algebra.scalar import Scalar, atan2, cos, sin, sqrt
from draisine.model import Output, forward_speed


def front_axes(readings: Any, lam: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return the components of the ground's unit normal along two fork axes in the wheel plane and
    along the front axle.
    """
    x, y, z = readings.rotation[2, :]
    cr, sr = cos(readings.joint("steer")), sin(readings.joint("steer"))
    ahead = z * sin(lam) + x * cos(lam)
    along = z * cos(lam) - x * sin(lam)
    return cr * ahead + sr * y, along, cr * y - sr * ahead


def front_contact(readings: Any, lam: Scalar) -> Scalar:
    """Return the angle of the contact point along the front tyre, rad, zero when upright."""
    ahead, along, _ = front_axes(readings, lam)
    return atan2(ahead * cos(lam) - along * sin(lam), along * cos(lam) + ahead * sin(lam))


def front_lean(readings: Any, lam: Scalar) -> Scalar:
    """Return the lean of the front wheel, rad, positive to the right."""
    ahead, along, side = front_axes(readings, lam)
    return atan2(side, sqrt(ahead * ahead + along * along))


def beta(readings: Any) -> Scalar:
    """Return the angle from the rear wheel's heading to the line between the contacts, rad,
    positive to the left.
    """
    line = readings.contact("front") - readings.contact("rear")
    heading = readings.heading
    cross = heading[0] * line[1] - heading[1] * line[0]
    return atan2(cross, heading[0] * line[0] + heading[1] * line[1])


def outputs(rear: Any, carrier: str, rR: Scalar, lam: Scalar) -> list[Output]:
    """Return the outputs of a bicycle, whose rear hub is a point of the body `carrier`."""
    return [
        forward_speed(carrier, rear, "velocity of the rear hub along the heading"),
        Output(
            "rear_wheel_speed",
            lambda readings: rR * readings.rate("rear_wheel"),
            "m/s",
            "rear radius times the rear wheel's rate",
        ),
        Output(
            "front_lean",
            lambda readings: front_lean(readings, lam),
            "rad",
            "lean of the front wheel, positive to the right",
        ),
        Output(
            "rear_contact_angle",
            lambda readings: atan2(readings.rotation[2, 0], readings.rotation[2, 2]),
            "rad",
            "angle of the contact along the rear tyre, backward positive (alpha0 - pi)",
        ),
        Output(
            "front_contact_angle",
            lambda readings: front_contact(readings, lam),
            "rad",
            "angle of the contact along the front tyre, backward positive (alpha1 - pi - lam)",
        ),
        Output(
            "beta",
            beta,
            "rad",
            "from the rear wheel's heading to the line of contacts, left positive",
        ),
    ]
