"""Ball on a bar that lies on two supports, in a vertical plane (figure 3.6 of Mauny's thesis
(2018)).

The ball can touch the upper face of the bar, and the supports can touch the ground; each of the
three contacts may open. The contact solver of a run on a terrain decides which contacts are closed.
The bar extends beyond its supports. A ball that rolls past a support by more than `L M / m` tips
the bar over.
"""

from typing import Annotated

import numpy as np

from draisine.model import Ball, Body, Flat, Model, Prismatic, Revolute, Wheel, inertia


def ball_on_bar(
    *,
    L: Annotated[float, "m", "distance of the supports from the middle of the bar"] = 0.4,
    thickness: Annotated[float, "m", "thickness of the bar"] = 0.04,
    foot: Annotated[float, "m", "radius of the supports"] = 0.02,
    M: Annotated[float, "kg", "mass of the bar"] = 2.0,
    I: Annotated[float, "kg m2", "bar, central moment of inertia across"] = 0.24,  # noqa: E741 - the usual name
    m: Annotated[float, "kg", "mass of the ball"] = 3.0,
    radius: Annotated[float, "m", "radius of the ball"] = 0.05,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
) -> Model:
    """Return bar and ball, with the ball on the middle of the bar above the origin in the zero
    configuration.

    >>> [wheel.name for wheel in ball_on_bar().wheels]
    ['left', 'right', 'ball']
    """
    ahead = np.eye(3)[0]
    up = np.eye(3)[2]
    across = (0.0, 1.0, 0.0)
    middle = (0.0, 0.0, 2 * foot + thickness / 2)
    top = (0.0, 0.0, 2 * foot + thickness)
    centre = (0.0, 0.0, 2 * foot + thickness + radius)
    joints = []
    bodies = [Body("ground", 1.0)]
    for name, body, place in (
        ("bar", Body("bar", M, middle, inertia(I, I, I)), middle),
        ("ball", Body("ball", m, centre, inertia(*[0.4 * m * radius**2] * 3)), centre),
    ):
        bodies += [Body(f"{name}_x", 0.0), Body(f"{name}_z", 0.0), body]
        joints += [
            Prismatic(f"{name}_x", "ground", f"{name}_x", ahead),
            Prismatic(f"{name}_z", f"{name}_x", f"{name}_z", up),
            Revolute(f"{name}_turn", f"{name}_z", name, across, place),
        ]
    supports = {"left": (-1.0 * L, 0.0, foot), "right": (L, 0.0, foot)}
    return Model(
        bodies=bodies,
        joints=joints,
        contacts=[
            *(Wheel(name, "bar", at, across, Ball(foot)) for name, at in supports.items()),
            Wheel("ball", "ball", centre, across, Ball(radius), flats=(Flat("bar", top, up),)),
        ],
        gravity=(0.0, 0.0, -g),
        base="fixed",
    )
