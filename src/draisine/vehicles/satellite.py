"""A satellite with three rotors, one along each axis of its frame.

Nothing acts from outside, so its angular momentum stays zero; a closed loop of rotor angles turns
the frame all the same, since rotations do not commute: a mechanical connection with curvature
(thesis, section 1.4).
"""

import numpy as np

from draisine.model import Body, JointMotion, Model, Revolute, inertia

MEANING = {
    "m": ("kg", "mass of the frame"),
    "Ixx": ("kg m2", "frame, central moment of inertia xx"),
    "Iyy": ("kg m2", "frame, central moment of inertia yy"),
    "Izz": ("kg m2", "frame, central moment of inertia zz"),
    "Ixy": ("kg m2", "frame, entry xy of the inertia tensor"),
    "Ixz": ("kg m2", "frame, entry xz of the inertia tensor"),
    "Iyz": ("kg m2", "frame, entry yz of the inertia tensor"),
    "m1": ("kg", "mass of the rotor along x"),
    "d1": ("m", "its distance from the frame's mass centre"),
    "J1": ("kg m2", "its moment of inertia about its axis"),
    "K1": ("kg m2", "its moment of inertia about a diameter"),
    "m2": ("kg", "mass of the rotor along y"),
    "d2": ("m", "its distance from the frame's mass centre"),
    "J2": ("kg m2", "its moment of inertia about its axis"),
    "K2": ("kg m2", "its moment of inertia about a diameter"),
    "m3": ("kg", "mass of the rotor along z"),
    "d3": ("m", "its distance from the frame's mass centre"),
    "J3": ("kg m2", "its moment of inertia about its axis"),
    "K3": ("kg m2", "its moment of inertia about a diameter"),
}
"""Unit and meaning of every parameter."""

SYMBOLS = {"rotor1": r"\phi_1", "rotor2": r"\phi_2", "rotor3": r"\phi_3"}
"""How people write parameters and joints, in LaTeX; the others by rule."""


def satellite(
    *,
    m: float = 50.0,
    Ixx: float = 6.0,
    Iyy: float = 8.0,
    Izz: float = 9.0,
    Ixy: float = 0.3,
    Ixz: float = -0.2,
    Iyz: float = 0.4,
    m1: float = 4.0,
    d1: float = 0.4,
    J1: float = 0.8,
    K1: float = 0.45,
    m2: float = 5.0,
    d2: float = 0.5,
    J2: float = 1.0,
    K2: float = 0.55,
    m3: float = 6.0,
    d3: float = 0.3,
    J3: float = 1.2,
    K3: float = 0.65,
    rotor1: JointMotion | None = None,
    rotor2: JointMotion | None = None,
    rotor3: JointMotion | None = None,
) -> Model:
    """Return the satellite, afloat, drawn with the frame's mass centre at the origin; rotors are
    free, or turn by a prescribed motion. `MEANING` tells what each parameter is.

    >>> satellite().speeds[-3:]
    ('rotor1_rate', 'rotor2_rate', 'rotor3_rate')
    """
    frame = inertia(Ixx, Iyy, Izz, xy=Ixy, xz=Ixz, yz=Iyz)
    bodies, joints = [Body("frame", m, np.zeros(3), frame)], []
    wheels = [(m1, d1, J1, K1, rotor1), (m2, d2, J2, K2, rotor2), (m3, d3, J3, K3, rotor3)]
    for k, (mass, far, axial, across, motion) in enumerate(wheels):
        name, axis = f"rotor{k + 1}", np.eye(3)[k]
        moments = [axial if i == k else across for i in range(3)]
        bodies.append(Body(name, mass, axis * far, inertia(*moments)))
        joints.append(Revolute(name, "frame", name, axis, axis * far, motion=motion))
    return Model(bodies=bodies, joints=joints, gravity=np.zeros(3))
