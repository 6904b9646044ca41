"""Skater on two blades who crouches, extends the legs and jumps.

Each skate touches the ground at the two ends of its blade: it glides along, does not slip across,
and supports load. The eight constraint rows of the contacts have rank five. On a terrain the blades
lift off when the extension of the legs decelerates, and touch down again. In flight the mass centre
follows a parabola, and the legs determine the position of the skates.
"""

from typing import Annotated, Literal

from draisine.model import Blade, Body, Model, Prismatic, forward_speed, inertia
from draisine.model.motion import smooth_step


def skater(
    *,
    length: Annotated[float, "m", "length of the blades"] = 0.28,
    width: Annotated[float, "m", "distance of the skates"] = 0.3,
    mS: Annotated[float, "kg", "mass of both skates"] = 4.0,
    zS: Annotated[float, "m", "height of their mass centre"] = 0.1,
    m: Annotated[float, "kg", "mass of the skater above them"] = 56.0,
    z: Annotated[float, "m", "height of the skater's mass centre, crouched"] = 0.8,
    Ixx: Annotated[float, "kg m2", "skater, central moment of inertia xx"] = 6.0,
    Iyy: Annotated[float, "kg m2", "skater, central moment of inertia yy"] = 6.0,
    Izz: Annotated[float, "kg m2", "skater, central moment of inertia zz"] = 1.5,
    extension: Annotated[float, "m", "extension of the legs in the jump"] = 0.35,
    start: Annotated[float, "s", "time at which the extension begins"] = 0.3,
    duration: Annotated[float, "s", "duration of the extension"] = 0.3,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    drive: Literal["jump"] | None = "jump",
) -> Model:
    """Return the skater, crouched in the zero configuration with the middle of the blades at the
    origin.

    >>> [blade.name for blade in skater().contacts]
    ['left_toe', 'left_heel', 'right_toe', 'right_heel']
    """
    ends = {
        f"{side}_{end}": (x * length / 2, y * width / 2, 0.0)
        for side, y in (("left", 1.0), ("right", -1.0))
        for end, x in (("toe", 1.0), ("heel", -1.0))
    }
    small = mS * (length**2 + width**2) / 12
    jump = smooth_step(extension, start, start + duration) if drive == "jump" else None
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
            forward_speed("skates", (0.0, 0.0, 0.0), "velocity of the skates along the heading")
        ],
    )
