"""Three hinged links in a fluid with added mass and drag: the common model of both swimmers.

After Kanso, Marsden, Rowley and Melli-Huber, Journal of Nonlinear Science 15 (2005) 255-289, with
links that do not interact through the fluid.
"""

import numpy as np

from draisine.algebra.lie import hat
from draisine.algebra.scalar import Array, Scalar, array
from draisine.model import Body, JointMotion, Model, Revolute, flat_inertia, forward_speed

Fluid = tuple[Scalar, Scalar, Scalar]
"""Coefficients of a fluid force on a link: along the link, across it, and for rotation about its
centre.
"""


def three_links(
    length: Scalar,
    mass: Scalar,
    moment: Scalar,
    added: Fluid,
    drag: Fluid,
    rear: JointMotion | None = None,
    front: JointMotion | None = None,
) -> Model:
    """Return three links in the plane, straight along x in the zero configuration, the middle link
    at the origin.

    `length` is the distance between the centres of the links (m); `added` is in kg and kg m2,
    `drag` in N s/m and N m s.
    """
    names = {"middle": 0.0, "rear": -length, "front": length}
    up = (0.0, 0.0, 1.0)
    return Model(
        bodies=[
            Body(
                name,
                mass,
                (x, 0.0, 0.0),
                flat_inertia(moment),
                added=_fluid_matrix_about_origin(x, *added),
                drag=_fluid_matrix_about_origin(x, *drag),
            )
            for name, x in names.items()
        ],
        joints=[
            Revolute("rear", "middle", "rear", up, (-length / 2, 0.0, 0.0), motion=rear),
            Revolute("front", "middle", "front", up, (length / 2, 0.0, 0.0), motion=front),
        ],
        gravity=np.zeros(3),
        base="SE(2)",
        outputs=[
            forward_speed("middle", (0.0, 0.0, 0.0), "velocity of the middle link along itself")
        ],
    )


def _fluid_matrix_about_origin(
    centre: Scalar, along: Scalar, across: Scalar, rotation: Scalar
) -> Array:
    """Return the fluid matrix (6, 6) about the origin, of a link whose centre is at the distance
    `centre` (m) along x.

    It is X' A X, where X maps twists at the origin to twists at the centre.
    """
    A = np.zeros((6, 6), dtype=object)
    A[0, 0] = along
    A[1, 1] = across
    A[5, 5] = rotation
    X = np.eye(6).astype(object)
    X[:3, 3:] = -hat(array([centre, 0.0, 0.0]))
    return array(X.T @ array(A) @ X)
