"""Snake robot of links with passive wheels, in the plane (Hirose's active cord mechanism).

Mauny (2018), section 1.5.3: with three links, the wheel constraints determine the motion from the
joint motion; with more links, only some joint motions are admissible, and the joint torques are
statically indeterminate. If the head is steered, the other links follow its track.
"""

from typing import Annotated, Literal

import numpy as np

from draisine.model import Blade, Body, JointMotion, Model, Revolute, flat_inertia, forward_speed
from draisine.model.motion import sine

SYMBOLS = {"half_length": "l", "mass": "m", "moment": "I", "amplitude": "A", "frequency": "f"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def snake(
    *,
    half_length: Annotated[
        float, "m", "half the length of each link; its wheels are at its middle"
    ] = 0.1,
    mass: Annotated[float, "kg", "mass of each link"] = 0.5,
    moment: Annotated[float, "kg m2", "each link, central moment of inertia about the vertical"] = 1
    / 600,
    amplitude: Annotated[float, "rad", "swing of the joints"] = 0.5,
    frequency: Annotated[float, "Hz", "frequency of the joints"] = 0.5,
    phase: Annotated[float, "rad", "phase of the first joint"] = 0.0,
    lag: Annotated[float, "rad", "how far each joint lags behind the one before it"] = 1.6,
    links: int = 6,
    drive: Literal["free", "leader", "serpenoid"] = "free",
    wheels: Literal["all", "three"] = "all",
) -> Model:
    """Return the snake, straight along x in the zero configuration with the middle of its head at
    the origin.

    The joints are free, the first follows a sine, or all follow the serpenoid curve. Wheels on all
    links allow two independent joint motions, because each wheel after the third fixes one more
    joint rate. With more than three links the serpenoid curve therefore contradicts them and raises an
    error. It is feasible for any number of links if only three have wheels (`wheels="three"`: head,
    middle and tail), or if only the first two joints follow it and the others are free.

    >>> [joint.name for joint in snake(links=3).joints]
    ['joint1', 'joint2']
    """
    ahead = (1.0, 0.0, 0.0)
    up = (0.0, 0.0, 1.0)
    names = ["head", *(f"link{k}" for k in range(2, links + 1))]
    wheeled = range(links) if wheels == "all" else sorted({0, links // 2, links - 1})
    middles = [(-2.0 * half_length * k, 0.0, 0.0) for k in range(links)]

    def joint_motion(joint_index: int) -> JointMotion | None:
        """Return the prescribed motion of one joint; None if the joint is free."""
        driven = drive == "serpenoid" or (drive == "leader" and joint_index == 0)
        return sine(amplitude, frequency, phase - joint_index * lag) if driven else None

    return Model(
        bodies=[
            Body(name, mass, middle, flat_inertia(moment))
            for name, middle in zip(names, middles, strict=True)
        ],
        joints=[
            Revolute(
                f"joint{k + 1}",
                names[k],
                names[k + 1],
                up,
                (-half_length * (2 * k + 1), 0.0, 0.0),
                motion=joint_motion(k),
            )
            for k in range(links - 1)
        ],
        contacts=[Blade(f"wheels{k + 1}", names[k], middles[k], ahead) for k in wheeled],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[forward_speed("head", (0.0, 0.0, 0.0), "velocity of the head along itself")],
    )
