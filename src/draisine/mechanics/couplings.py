"""Couplings of joints and closed loops: residuals, gradients and accelerations, eq. [couplings].

Both are holonomic constraints on the shape r alone. The first derivatives of a coupling come from
forward differentiation of its function, those of a loop from the Jacobians of its two end points.
"""

from collections.abc import Collection

import numpy as np

from draisine.algebra.jet import jet_gradient, second_rate
from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.mechanics.kinematics import (
    BASE_ORIGIN,
    Geometry,
    Point,
    body_point,
    geometry,
    point_drift,
    point_matrix,
    velocities,
)
from draisine.mechanics.tree import Tree
from draisine.model import Coupling, Loop, Model


def coupling_labels(model: Model) -> list[str]:
    """Return the labels of all constraint rows of couplings and loops."""
    return [row for coupling in model.couplings for row in coupling.rows]


def coupling_compliances(model: Model) -> list[Scalar]:
    """Return the compliance of every coupling row: 1 for rows of loops (forces), 0 for rows of
    gears (torques).
    """
    return [float(isinstance(c, Loop)) for c in model.couplings for _ in c.rows]


def coupling_residuals(tree: Tree, geo: Geometry) -> list[Scalar]:
    """Return the position residuals (rad or m) of all couplings and loops, in the order of
    `coupling_labels`.
    """
    residuals: list[Scalar] = []
    for coupling in tree.model.couplings:
        if isinstance(coupling, Coupling):
            residuals.append(coupling.value(*(geo.r[k] for k in _coupled_joints(tree, coupling))))
        else:
            a, b = _locate_loop_ends(tree, geo, coupling)
            residuals += list(tree.links[0].R @ (a.c - b.c))
    return residuals


def coupling_rows(tree: Tree, geo: Geometry) -> list[Array]:
    """Return the constraint rows (6 + n,) of all couplings over (V, W, rdot); the base columns are
    zero.
    """
    n = len(tree.model.joints)
    gradients: list[Array] = []
    for coupling in tree.model.couplings:
        row = np.zeros(6 + n, dtype=object)
        if isinstance(coupling, Coupling):
            joints = _coupled_joints(tree, coupling)
            row[[6 + k for k in joints]] = jet_gradient(coupling.value, [geo.r[k] for k in joints])
            gradients.append(array(row))
        else:
            base_columns = np.zeros((3, 6), dtype=object)
            gradients += list(array(np.hstack([base_columns, _loop_jacobian(tree, geo, coupling)])))
    return gradients


def coupling_drifts(tree: Tree, geo: Geometry, rdot: Array) -> list[Scalar]:
    """Return `Jdot rdot` of every coupling row: the second derivative of its residual at zero
    rddot.
    """
    if not tree.model.couplings:
        return []
    vel = velocities(tree, geo, BASE_ORIGIN, BASE_ORIGIN, rdot, BASE_ORIGIN)
    accelerations: list[Scalar] = []
    for coupling in tree.model.couplings:
        if isinstance(coupling, Coupling):
            joints = _coupled_joints(tree, coupling)
            r = [geo.r[k] for k in joints]
            rates = [rdot[k] for k in joints]
            accelerations.append(second_rate(coupling.value, r, rates))
        else:
            a, b = _locate_loop_ends(tree, geo, coupling)
            drift = [
                point_drift(tree, geo, vel, point, BASE_ORIGIN, BASE_ORIGIN)[0] for point in (a, b)
            ]
            accelerations += list(tree.links[0].R @ (drift[0] - drift[1]))
    return accelerations


def find_flipped_loops(
    tree: Tree, r_before: Floats, r_after: Floats, prescribed: Collection[str]
) -> list[str]:
    """Return the names of the kinematic loops that close on another branch after a motion than
    before, like an elbow bent the other way.

    If a loop has as many dependent joints as independent rows, the determinant of this square
    Jacobian changes its sign only at dead points: opposite signs mean different branches. `r_before`
    and `r_after` are joint coordinates (n,); `prescribed` names the joints that are not dependent.
    """
    names = [joint.name for joint in tree.model.joints]
    names_turned = []
    geo_before = geometry(tree, r_before)
    geo_after = geometry(tree, r_after)
    for loop in tree.model.loops:
        jacobian = np.asarray(_loop_jacobian(tree, geo_before, loop), float)
        dependent = [
            k
            for k, column in enumerate(jacobian.T)
            if np.any(column) and names[k] not in prescribed
        ]
        # Planar loops have two independent constraint rows among three. The relative tolerance 1e-9
        # separates zero singular values, about 1e-15, from others.
        U, singular_values, _ = np.linalg.svd(jacobian)
        row_space = U[
            :, : int((singular_values > 1e-9 * singular_values.max(initial=1e-300)).sum())
        ].T
        if len(dependent) == len(row_space):
            minors = [
                row_space @ np.asarray(_loop_jacobian(tree, geo, loop), float)[:, dependent]
                for geo in (geo_before, geo_after)
            ]
            if np.linalg.det(minors[0]) * np.linalg.det(minors[1]) < 0.0:
                names_turned.append(loop.name)
    return names_turned


def _loop_jacobian(tree: Tree, geo: Geometry, loop: Loop) -> Array:
    """Return the Jacobian (3, n) of the distance vector between the two ends of a loop."""
    a, b = _locate_loop_ends(tree, geo, loop)
    P = point_matrix(tree, geo, a, BASE_ORIGIN) - point_matrix(tree, geo, b, BASE_ORIGIN)
    return tree.links[0].R @ P[:, 6:]


def _coupled_joints(tree: Tree, coupling: Coupling) -> list[int]:
    """Return the indices of the coupled joints."""
    names = [joint.name for joint in tree.model.joints]
    return [names.index(name) for name in coupling.joints]


def _locate_loop_ends(tree: Tree, geo: Geometry, loop: Loop) -> tuple[Point, Point]:
    """Return the closing point of a loop as a point of each of its two bodies."""
    a, b = (body_point(tree, geo, body, loop.point) for body in (loop.body, loop.other))
    return a, b
