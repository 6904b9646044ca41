"""Car on four wheels with Ackermann steering and an optional differential.

A steering column turns both front wheels so that all axles meet in one point (Ackermann), and a
shaft may drive the rear wheels through a differential. The linkage and the differential are
couplings of joints. Nine of the twelve rolling constraints of the wheels are independent: the
fourth wheel load and the distribution of the lateral forces on each axle are statically
indeterminate, and the minimum-norm forces are reported.
"""

from typing import Annotated

from draisine.algebra.scalar import Scalar, cos, sin
from draisine.model import (
    Body,
    Coupling,
    JointMotion,
    Model,
    Revolute,
    Wheel,
    flat_inertia,
    forward_speed,
    inertia,
)

SYMBOLS = {"wheelbase": "L", "track": "w", "radius": "r", "steer": r"\delta"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def car(
    *,
    wheelbase: Annotated[float, "m", "distance of the axles"] = 1.2,
    track: Annotated[float, "m", "distance of the wheels of an axle"] = 0.8,
    radius: Annotated[float, "m", "radius of the wheels"] = 0.3,
    m: Annotated[float, "kg", "mass of the chassis"] = 200.0,
    x: Annotated[float, "m", "distance of its mass centre ahead of the rear axle"] = 0.55,
    z: Annotated[float, "m", "height of its mass centre"] = 0.4,
    Ixx: Annotated[float, "kg m2", "chassis, central moment of inertia xx"] = 15.0,
    Iyy: Annotated[float, "kg m2", "chassis, central moment of inertia yy"] = 40.0,
    Izz: Annotated[float, "kg m2", "chassis, central moment of inertia zz"] = 45.0,
    IS: Annotated[
        float, "kg m2", "moment of inertia of the steering column, and of each front carrier"
    ] = 0.05,
    mW: Annotated[float, "kg", "mass of each wheel"] = 6.0,
    Ia: Annotated[float, "kg m2", "each wheel, moment of inertia about the axle"] = 0.3,
    Id: Annotated[float, "kg m2", "each wheel, moment of inertia about a diameter"] = 0.2,
    IE: Annotated[float, "kg m2", "moment of inertia of the shaft with the engine"] = 0.1,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    differential: bool = False,
    steering: JointMotion | None = None,
    rolling: JointMotion | None = None,
) -> Model:
    """Return the car, straight in the zero configuration with the middle of its rear axle above the
    origin.

    The steering column moves by a torque or by a prescribed motion, and so does the drive shaft of
    the differential.

    >>> [coupling.name for coupling in car(differential=True).couplings]
    ['left_link', 'right_link', 'differential']
    """
    axle = (0.0, 1.0, 0.0)
    up = (0.0, 0.0, 1.0)
    middle = (0.0, 0.0, radius)
    hubs = {
        f"{end}_{side}": (far, aside, radius)
        for end, far in (("rear", 0.0), ("front", wheelbase))
        for side, aside in (("left", track / 2), ("right", -track / 2))
    }
    front = {name: hub for name, hub in hubs.items() if name.startswith("front")}
    carrier = {name: f"{name}_carrier" if name in front else "chassis" for name in hubs}

    def make_linkage(side: str, offset: Scalar) -> Coupling:
        """Return the Ackermann linkage of the front wheel at a distance `offset` to the left (m).

        The axle of the wheel points to the centre of rotation of the middle of the front axle.
        """

        def linkage_residual(steer: Scalar, wheel: Scalar) -> Scalar:
            """Return the residual of the coupling of steering column and wheel."""
            far = wheelbase * cos(steer) - offset * sin(steer)
            return sin(wheel) * far - wheelbase * sin(steer) * cos(wheel)

        return Coupling(f"{side}_link", ("steer", f"{side}_steer"), linkage_residual)

    bodies = [
        Body("chassis", m, (x, 0.0, z), inertia(Ixx, Iyy, Izz)),
        Body("column", 0.0, (wheelbase, 0.0, z), flat_inertia(IS)),
        *(Body(carrier[name], 0.0, hub, inertia(IS, IS, IS)) for name, hub in front.items()),
        *(Body(name, mW, hub, inertia(Id, Ia, Id)) for name, hub in hubs.items()),
    ]
    joints = [
        Revolute("steer", "chassis", "column", up, (wheelbase, 0.0, z), motion=steering),
        *(
            Revolute(f"{name.removeprefix('front_')}_steer", "chassis", carrier[name], up, hub)
            for name, hub in front.items()
        ),
        *(Revolute(name, carrier[name], name, axle, hub) for name, hub in hubs.items()),
    ]
    couplings = [make_linkage("left", track / 2), make_linkage("right", -track / 2)]
    if differential:
        bodies.append(Body("shaft", 0.0, middle, inertia(IE / 2, IE, IE / 2)))
        joints.append(Revolute("shaft", "chassis", "shaft", axle, middle, motion=rolling))
        names = ("shaft", "rear_left", "rear_right")
        couplings.append(
            Coupling("differential", names, lambda shaft, left, right: shaft - (left + right) / 2.0)
        )
    return Model(
        bodies=bodies,
        joints=joints,
        contacts=[Wheel(name, name, hub, axle, radius) for name, hub in hubs.items()],
        gravity=(0.0, 0.0, -g),
        outputs=[
            forward_speed("chassis", middle, "velocity of the rear axle's middle along the heading")
        ],
        couplings=couplings,
    )
