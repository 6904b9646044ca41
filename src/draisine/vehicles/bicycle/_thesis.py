"""The Whipple bicycle in the notation of chapter 2 of Mauny's thesis (2018), for printed equations.

Mauny 2018; Boyer, Porez and Mauny 2018, doi:10.1007/s00332-017-9434-x. Frame 0 has its origin at
the rear hub and axes (s, n, a) = (up, forward, left); frame 1 has its a-axis along the steer axis
and n1 along the front axle. The base rotates by the yaw psi, the roll phi_0 (positive to the left)
and the angle alpha_0 of the rear contact point, which is pi when upright.
"""

from collections.abc import Mapping
from typing import Annotated

import numpy as np

from draisine.algebra.lie import Pose, rot_x, rot_z
from draisine.algebra.scalar import Array, Scalar, array, cos, sin
from draisine.model import Body, Model, Revolute, Wheel, inertia
from draisine.model.form import Form
from draisine.vehicles._annotations import meanings
from draisine.vehicles.bicycle._forms import to_thesis

THESIS_AXES = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
"""Axes s, n, a of Mauny's thesis (2018) as columns, in the zero configuration."""


def thesis_bicycle(
    *,
    g: Annotated[float, "m/s2", "gravity"],
    mu: Annotated[float, "rad", "tilt of the steer axis"],
    l1: Annotated[
        float, "m", "from the rear hub forward to the steer axis, at the height of the front hub"
    ],
    l2: Annotated[float, "m", "from there to the front hub"],
    h2: Annotated[float, "m", "radius of the front wheel"],
    h3: Annotated[float, "m", "radius of the rear wheel"],
    m0: Annotated[float, "kg", "mass of the frame"],
    x0: Annotated[float, "m", "mass centre of the frame, along s"],
    y0: Annotated[float, "m", "mass centre of the frame, along n"],
    I0xx: Annotated[float, "kg m2", "frame, central moment xx"],
    I0yy: Annotated[float, "kg m2", "frame, central moment yy"],
    I0zz: Annotated[float, "kg m2", "frame, central moment zz"],
    I0xy: Annotated[float, "kg m2", "frame, central moment xy"],
    m1: Annotated[float, "kg", "mass of the fork"],
    x1: Annotated[float, "m", "mass centre of the fork, along s of frame 1"],
    z1: Annotated[float, "m", "mass centre of the fork, along a of frame 1"],
    I1xx: Annotated[float, "kg m2", "fork, central moment xx"],
    I1yy: Annotated[float, "kg m2", "fork, central moment yy"],
    I1zz: Annotated[float, "kg m2", "fork, central moment zz"],
    I1zx: Annotated[float, "kg m2", "fork, central moment zx"],
    m2: Annotated[float, "kg", "mass of the front wheel"],
    I2xx: Annotated[float, "kg m2", "front wheel, central moment xx"],
    I2zz: Annotated[float, "kg m2", "front wheel, central moment zz"],
    m3: Annotated[float, "kg", "mass of the rear wheel"],
    I3xx: Annotated[float, "kg m2", "rear wheel, central moment xx"],
    I3zz: Annotated[float, "kg m2", "rear wheel, central moment zz"],
) -> Model:
    """Return the bicycle with Mauny's (2018) 26 parameters, bodies 0 to 3 and joints r1 to r3.

    The contact rows of the front wheel come first, as in (2.29).
    """
    left = (0.0, 1.0, 0.0)
    rear = array([0.0, 0.0, h3])
    front = array([l1 + l2, 0.0, h2])
    steer = array([l1, 0.0, h2])
    s1, a1 = array([cos(mu), 0.0, sin(mu)]), array([-sin(mu), 0.0, cos(mu)])
    R1 = np.column_stack([s1, array(list(left)), a1])
    fork = R1 @ array([[I1xx, 0.0, I1zx], [0.0, I1yy, 0.0], [I1zx, 0.0, I1zz]]) @ R1.T
    frame = inertia(I0yy, I0zz, I0xx, xz=I0xy)
    return Model(
        bodies=[
            Body("frame", m0, rear + array([y0, 0.0, x0]), frame),
            Body("fork", m1, steer + x1 * s1 + z1 * a1, fork),
            Body("front_wheel", m2, front, inertia(I2xx, I2zz, I2xx)),
            Body("rear_wheel", m3, rear, inertia(I3xx, I3zz, I3xx)),
        ],
        joints=[
            Revolute("steer", "frame", "fork", a1, steer),
            Revolute("front_wheel", "fork", "front_wheel", left, front),
            Revolute("rear_wheel", "frame", "rear_wheel", left, rear),
        ],
        contacts=[
            Wheel("front", "front_wheel", front, left, h2),
            Wheel("rear", "rear_wheel", rear, left, h3),
        ],
        gravity=(0.0, 0.0, -g),
    )


def _base_rotation(angles: Mapping[str, Scalar]) -> Array:
    """Return the rotation matrix (3, 3) of the base, eq. (2.17a) of Mauny's thesis (2018): pitch is
    pi - alpha_0.
    """
    c, s = -cos(angles["alpha_0"]), sin(angles["alpha_0"])
    pitch = array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    return rot_z(angles["psi"]) @ rot_x(-angles["phi_0"]) @ pitch


THESIS_FORM = Form(
    symbols={
        "psi": r"\psi",
        "phi_0": r"\phi_0",
        "alpha_0": r"\alpha_0",
        "steer": "r_1",
        "front_wheel": "r_2",
        "rear_wheel": "r_3",
    }
    | {f"V{x}": f"V_{k}" for k, x in enumerate("xyz", 1)}
    | {f"W{x}": rf"\Omega_{k}" for k, x in enumerate("xyz", 1)},
    meanings={
        "psi": ("rad", "yaw"),
        "phi_0": ("rad", "roll to the left"),
        "alpha_0": ("rad", "angle of the rear contact point"),
        **meanings(thesis_bicycle),
    },
    vehicle=thesis_bicycle,
    convert=to_thesis,
    frame=lambda model: Pose(THESIS_AXES, model.body("rear_wheel").com),
    place="the rear hub, axes (s, n, a) = (up, forward, left), x, y, z in subscripts",
    angles={"psi": 0.0, "phi_0": 0.0, "alpha_0": np.pi},
    rotation=_base_rotation,
    independent=("Wy", "steer_rate", "rear_wheel_rate"),
    contact_angles={"front": r"\alpha_1", "rear": r"\alpha_0"},
)
"""Notation of Mauny's thesis (2018) for the equations of the bicycle."""
