"""Compass walker: two straight legs and a hip mass that walk passively down a slope.

The compass gait of Goswami, Thuilot and Espiau (1998), doi:10.1177/027836499801701202. A foot that
swings past the other would scuff the ground. As in the literature, it passes through the ground: a
foot can touch down only while its leg is ahead of the hip and the other leg is behind.
"""

import math
from collections.abc import Callable
from typing import Annotated, Any

from draisine.algebra.scalar import Scalar, cos, sin, where
from draisine.model import Body, Model, Output, Prismatic, Revolute, Steps, Tip, Wheel, inertia

SYMBOLS = {
    "mH": "m_H",
    "slope": r"\gamma",
    "left": r"\theta_1",
    "right": r"\theta_2",
    "ahead": "x_H",
    "height": "z_H",
}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def compass_walker(
    *,
    mH: Annotated[float, "kg", "mass of the hip"] = 10.0,
    m: Annotated[float, "kg", "mass of a leg"] = 5.0,
    a: Annotated[float, "m", "distance of a leg's mass from its foot"] = 0.5,
    b: Annotated[float, "m", "distance of a leg's mass from the hip"] = 0.5,
    slope: Annotated[float, "rad", "by how much the ground falls ahead"] = math.radians(3.0),
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return the walker, upright in the zero configuration with both feet at the origin.

    The world frame is fixed to the ground, x down the slope, and the hip moves in the plane of x
    and z. Leg angles are measured from the normal of the ground, positive if the foot is behind the
    hip. The left foot is on the ground unless the contact mode states otherwise.

    >>> compass_walker().speeds
    ('ahead_rate', 'height_rate', 'left_rate', 'right_rate')
    """
    hip = (0.0, 0.0, a + b)
    foot = (0.0, 0.0, 0.0)
    across = (0.0, 1.0, 0.0)
    still = inertia(0.0, 0.0, 0.0)
    legs = ("left", "right")
    return Model(
        bodies=[
            Body("ground"),
            Body("carriage", 0.0, hip),
            Body("hip", mH, hip, still),
            *(Body(f"{leg}_leg", m, (0.0, 0.0, a), still) for leg in legs),
        ],
        joints=[
            Prismatic("ahead", "ground", "carriage", (1.0, 0.0, 0.0), hip),
            Prismatic("height", "carriage", "hip", (0.0, 0.0, 1.0), hip),
            *(Revolute(leg, "hip", f"{leg}_leg", across, hip) for leg in legs),
        ],
        contacts=[
            Wheel("left", "left_leg", foot, across, Tip(), armed=_is_leg_ahead("left", "right")),
            Wheel(
                "right",
                "right_leg",
                foot,
                across,
                Tip(),
                armed=_is_leg_ahead("right", "left"),
                touches=False,
            ),
        ],
        gravity=(g * sin(slope), 0.0, -g * cos(slope)),
        base="fixed",
        steps=Steps(("left", "right"), exchange={"left": "right", "right": "left"}),
        outputs=[
            Output(
                "hip_speed",
                lambda readings: readings.velocity("hip", hip)[0],
                "m/s",
                "speed of the hip along the slope",
            )
        ],
    )


def _is_leg_ahead(leg: str, other_leg: str) -> Callable[[Any], Scalar]:
    """Return a function that is positive if a leg is ahead of the hip and the other leg is behind."""

    def leg_ahead_measure(readings: Any) -> Scalar:
        """Return a positive number if the leg is ahead and the other leg is behind."""
        ahead = -readings.joint(leg)
        behind = readings.joint(other_leg)
        return where(ahead < behind, ahead, behind)

    return leg_ahead_measure
