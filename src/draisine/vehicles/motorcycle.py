"""Sharp's motorcycle: two frames, two wheels on linear tyres with relaxation, and a steering
damper.

Sharp, The stability and control of motorcycles, Journal of Mechanical Engineering Science 13 (1971)
316-329, doi:10.1243/JMES_JOUR_1971_013_051_02. The rider is part of the rear frame; tyres are knife
edges with side slip, camber thrust and relaxation, and do not slip along their heading. The tyres
of the paper can create energy, so they are an option: with `tyres="sharp_tyre"`, the linear
equations of the paper, in slugs and feet, are those of this vehicle about straight running. Pitch
moments of inertia are not published; they have no effect on these equations.
"""

from typing import Annotated, Literal

from draisine.algebra.scalar import Scalar, cos, sin
from draisine.mechanics.forces.linear_tyre import LinearTyre
from draisine.mechanics.forces.sharp_tyre import SharpTyre
from draisine.model import Body, Disc, Model, Revolute, Wheel, forward_speed, inertia


def motorcycle(
    *,
    Mf: Annotated[float, "kg", "mass of the front frame with its wheel"] = 30.64719,
    Mr: Annotated[float, "kg", "mass of the rear frame with its wheel and the rider"] = 217.44911,
    Irx: Annotated[float, "kg m2", "rear frame, moment of inertia in roll"] = 31.18380653549,
    Iry: Annotated[float, "kg m2", "rear frame, moment of inertia in pitch (not published)"] = 25.0,
    Irz: Annotated[float, "kg m2", "rear frame, moment of inertia in yaw"] = 21.06940667659,
    Crxz: Annotated[
        float, "kg m2", "rear frame, entry xz of the inertia tensor with x forward, z up"
    ] = 1.735446624584,
    Ifx: Annotated[
        float, "kg m2", "front frame, moment of inertia across the steer axis, in the plane"
    ] = 1.233794084665,
    Ify: Annotated[float, "kg m2", "front frame, moment of inertia in pitch (not published)"] = 1.6,
    Ifz: Annotated[
        float, "kg m2", "front frame, moment of inertia along the steer axis"
    ] = 0.4419965621987,
    ify: Annotated[
        float, "kg m2", "front wheel, moment of inertia about its axle"
    ] = 0.7185833679917,
    iry: Annotated[
        float, "kg m2", "rear wheel with the geared engine, moment of inertia about its axle"
    ] = 1.050758698478,
    a: Annotated[
        float, "m", "from the ground below the rear mass centre to the steer axis, across it"
    ] = 0.9485376,
    b: Annotated[float, "m", "from there back to the rear contact"] = 0.4797552,
    e: Annotated[float, "m", "front mass centre ahead of the steer axis"] = 0.024384,
    f: Annotated[
        float, "m", "front mass centre up along the steer axis from the foot of a"
    ] = 0.0283464,
    h: Annotated[float, "m", "height of the rear mass centre"] = 0.615696,
    R: Annotated[float, "m", "radius of both wheels"] = 0.3048,
    t: Annotated[float, "m", "trail, across the steer axis"] = 0.115824,
    epsilon: Annotated[float, "rad", "rake of the steer axis"] = 0.4715,
    Cf1: Annotated[float, "N/rad", "front tyre, cornering stiffness"] = 11173.92864,
    Cf2: Annotated[float, "N/rad", "front tyre, camber stiffness"] = 938.57442,
    Cr1: Annotated[float, "N/rad", "rear tyre, cornering stiffness"] = 15831.21498,
    Cr2: Annotated[float, "N/rad", "rear tyre, camber stiffness"] = 1325.56956,
    sigma: Annotated[float, "m", "relaxation length of both tyres"] = 0.24384,
    K: Annotated[float, "N m s/rad", "steering damper"] = 6.77908728,
    g: Annotated[float, "m/s2", "gravity"] = 9.81,
    tyres: Annotated[
        Literal["linear_tyre", "sharp_tyre"], "", "law of both tyres; the paper's is sharp_tyre"
    ] = "linear_tyre",
) -> Model:
    """Return the motorcycle, upright in the zero configuration.

    >>> motorcycle().memory, motorcycle(tyres="sharp_tyre").memory
    (4, 2)
    """
    tyre = {"linear_tyre": LinearTyre, "sharp_tyre": SharpTyre}[tyres]
    s, c = sin(epsilon), cos(epsilon)
    rear = (0.0, 0.0, R)
    front = (b + (a - t) / c, 0.0, R)
    left = (0.0, 1.0, 0.0)
    up = (-s, 0.0, c)
    head = (b + (a + e) * c - f * s, 0.0, (a + e) * s + f * c)
    frame = inertia(Irx - iry / 2, Iry - iry, Irz - iry / 2, xz=Crxz)
    across = Ifx * c * c + Ifz * s * s
    along = Ifx * s * s + Ifz * c * c
    skew = (Ifx - Ifz) * s * c
    fork = inertia(across - ify / 2, Ify - ify, along - ify / 2, xz=skew)
    return Model(
        bodies=[
            Body("frame", Mr, (b, 0.0, h), frame),
            Body("fork", Mf, head, fork),
            Body("rear_wheel", 0.0, rear, _thin_wheel_inertia(iry)),
            Body("front_wheel", 0.0, front, _thin_wheel_inertia(ify)),
        ],
        joints=[
            Revolute("steer", "frame", "fork", up, (b + a / c, 0.0, 0.0), damper=K),
            Revolute("rear_wheel", "frame", "rear_wheel", left, rear),
            Revolute("front_wheel", "fork", "front_wheel", left, front),
        ],
        contacts=[
            Wheel("rear", "rear_wheel", rear, left, Disc(R), tyre=tyre(Cr1, Cr2, sigma)),
            Wheel("front", "front_wheel", front, left, Disc(R), tyre=tyre(Cf1, Cf2, sigma)),
        ],
        gravity=(0.0, 0.0, -g),
        outputs=[forward_speed("frame", rear, "velocity of the rear hub along the heading")],
    )


def _thin_wheel_inertia(axial_moment: Scalar) -> object:
    """Return the inertia tensor of a thin wheel that is separated from its frame, kg m2."""
    return inertia(axial_moment / 2, axial_moment, axial_moment / 2)
