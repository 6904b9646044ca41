"""Satellite with three rotors, one along each axis of its frame.

No external moment acts, so the angular momentum stays zero. A closed loop of rotor angles still
rotates the frame, because rotations do not commute: a mechanical connection with curvature (Mauny
2018, section 1.4).
"""

from typing import Annotated

import numpy as np

from draisine.model import Body, JointMotion, Model, Revolute, inertia

SYMBOLS = {"rotor1": r"\phi_1", "rotor2": r"\phi_2", "rotor3": r"\phi_3"}
"""LaTeX symbols of parameters and joints; symbols of other names are derived from the name."""


def satellite(
    *,
    m: Annotated[float, "kg", "mass of the frame"] = 50.0,
    Ixx: Annotated[float, "kg m2", "frame, central moment of inertia xx"] = 6.0,
    Iyy: Annotated[float, "kg m2", "frame, central moment of inertia yy"] = 8.0,
    Izz: Annotated[float, "kg m2", "frame, central moment of inertia zz"] = 9.0,
    Ixy: Annotated[float, "kg m2", "frame, entry xy of the inertia tensor"] = 0.3,
    Ixz: Annotated[float, "kg m2", "frame, entry xz of the inertia tensor"] = -0.2,
    Iyz: Annotated[float, "kg m2", "frame, entry yz of the inertia tensor"] = 0.4,
    m1: Annotated[float, "kg", "mass of the rotor along x"] = 4.0,
    d1: Annotated[float, "m", "its distance from the frame's mass centre"] = 0.4,
    J1: Annotated[float, "kg m2", "its moment of inertia about its axis"] = 0.8,
    K1: Annotated[float, "kg m2", "its moment of inertia about a diameter"] = 0.45,
    m2: Annotated[float, "kg", "mass of the rotor along y"] = 5.0,
    d2: Annotated[float, "m", "its distance from the frame's mass centre"] = 0.5,
    J2: Annotated[float, "kg m2", "its moment of inertia about its axis"] = 1.0,
    K2: Annotated[float, "kg m2", "its moment of inertia about a diameter"] = 0.55,
    m3: Annotated[float, "kg", "mass of the rotor along z"] = 6.0,
    d3: Annotated[float, "m", "its distance from the frame's mass centre"] = 0.3,
    J3: Annotated[float, "kg m2", "its moment of inertia about its axis"] = 1.2,
    K3: Annotated[float, "kg m2", "its moment of inertia about a diameter"] = 0.65,
    rotor1: JointMotion | None = None,
    rotor2: JointMotion | None = None,
    rotor3: JointMotion | None = None,
) -> Model:
    """Return the floating satellite, with the mass centre of its frame at the origin.

    The rotors are free, or have prescribed motions.

    >>> satellite().speeds[-3:]
    ('rotor1_rate', 'rotor2_rate', 'rotor3_rate')
    """
    frame = inertia(Ixx, Iyy, Izz, xy=Ixy, xz=Ixz, yz=Iyz)
    bodies = [Body("frame", m, np.zeros(3), frame)]
    joints = []
    wheels = [(m1, d1, J1, K1, rotor1), (m2, d2, J2, K2, rotor2), (m3, d3, J3, K3, rotor3)]
    for k, (mass, far, axial, across, motion) in enumerate(wheels):
        name = f"rotor{k + 1}"
        axis = np.eye(3)[k]
        moments = [axial if i == k else across for i in range(3)]
        bodies.append(Body(name, mass, axis * far, inertia(*moments)))
        joints.append(Revolute(name, "frame", name, axis, axis * far, motion=motion))
    return Model(bodies=bodies, joints=joints, gravity=np.zeros(3))
