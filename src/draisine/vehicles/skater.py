"""A skater on two blades who crouches, stretches and jumps.

Each skate touches by the two ends of its blade: it glides along, does not slip across, and carries.
Eight rows of rank five; on a terrain the blades lift off when the stretching legs are slowed down, and
land again. In the air the mass centre follows a parabola and the legs decide where the skates are.
"""

from typing import Literal

from draisine.model import Blade, Body, Model, Output, Prismatic, inertia
from draisine.model.motion import smooth_step

MEANING = {
    "length": ("m", "length of the blades"),
    "width": ("m", "distance of the skates"),
    "mS": ("kg", "mass of both skates"),
    "zS": ("m", "height of their mass centre"),
    "m": ("kg", "mass of the skater above them"),
    "z": ("m", "height of the skater's mass centre, crouched"),
    "Ixx": ("kg m2", "skater, central moment of inertia xx"),
    "Iyy": ("kg m2", "skater, central moment of inertia yy"),
    "Izz": ("kg m2", "skater, central moment of inertia zz"),
    "stretch": ("m", "by how much the legs stretch"),
    "start": ("s", "when they begin to"),
    "duration": ("s", "how long that takes"),
    "g": ("m/s2", "gravity"),
}
"""Unit and meaning of every parameter."""


def skater(
    *,
    length: float = 0.28,
    width: float = 0.3,
    mS: float = 4.0,
    zS: float = 0.1,
    m: float = 56.0,
    z: float = 0.8,
    Ixx: float = 6.0,
    Iyy: float = 6.0,
    Izz: float = 1.5,
    stretch: float = 0.35,
    start: float = 0.3,
    duration: float = 0.3,
    g: float = 9.81,
    drive: Literal["jump"] | None = "jump",
) -> Model:
    """Return the skater, drawn crouched with the middle of the blades at the origin; `MEANING` tells
    what each parameter is.

    >>> [blade.name for blade in skater().contacts]
    ['left_toe', 'left_heel', 'right_toe', 'right_heel']
    """
    ends = {
        f"{side}_{end}": (x * length / 2, y * width / 2, 0.0)
        for side, y in (("left", 1.0), ("right", -1.0))
        for end, x in (("toe", 1.0), ("heel", -1.0))
    }
    small = mS * (length**2 + width**2) / 12
    jump = smooth_step(stretch, start, start + duration) if drive == "jump" else None
    return Model(
        bodies=[
            Body("skates", mS, (0.0, 0.0, zS), inertia(small, small, small)),
            Body("skater", m, (0.0, 0.0, z), inertia(Ixx, Iyy, Izz)),
        ],
        joints=[Prismatic("legs", "skates", "skater", (0.0, 0.0, 1.0), motion=jump)],
        contacts=[
            Blade(name, "skates", end, (1.0, 0.0, 0.0), lifts=True) for name, end in ends.items()
        ],
        gravity=(0.0, 0.0, -g),
        outputs=[
            Output(
                "forward_speed",
                lambda readings: readings.heading @ readings.velocity("skates", (0.0, 0.0, 0.0)),
                "m/s",
                "velocity of the skates along the heading",
            )
        ],
    )
