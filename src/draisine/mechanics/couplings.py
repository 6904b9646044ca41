"""Conditions on the shape alone: values, rows and accelerations of couplings and loops, eq.
[couplings].
"""

from collections.abc import Collection

import numpy as np

from draisine.algebra.jet import gradient, second_rate
from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.mechanics.kinematics import (
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

ORIGIN = np.zeros(3)


def labels(model: Model) -> list[str]:
    """Return the names of all conditions."""
    return [row for coupling in model.couplings for row in coupling.rows]


def compliances(model: Model) -> list[Scalar]:
    """Return the compliance of every condition: one for the force of a loop, zero for torques."""
    return [float(isinstance(c, Loop)) for c in model.couplings for _ in c.rows]


def values(tree: Tree, geo: Geometry) -> list[Scalar]:
    """Return what is left of each condition in a shape."""
    out: list[Scalar] = []
    for coupling in tree.model.couplings:
        if isinstance(coupling, Coupling):
            out.append(coupling.value(*(geo.r[k] for k in _joints(tree, coupling))))
        else:
            a, b = _ends(tree, geo, coupling)
            out += list(tree.links[0].R @ (a.c - b.c))
    return out


def rows(tree: Tree, geo: Geometry) -> list[Array]:
    """Return the derivatives of the conditions by (V, W, r): the base has no part in them."""
    n = len(tree.model.joints)
    out: list[Array] = []
    for coupling in tree.model.couplings:
        row = np.zeros(6 + n, dtype=object)
        if isinstance(coupling, Coupling):
            joints = _joints(tree, coupling)
            row[[6 + k for k in joints]] = gradient(coupling.value, [geo.r[k] for k in joints])
            out.append(array(row))
        else:
            nothing = np.zeros((3, 6), dtype=object)
            out += list(array(np.hstack([nothing, _loop_rows(tree, geo, coupling)])))
    return out


def drifts(tree: Tree, geo: Geometry, rdot: Array) -> list[Scalar]:
    """Return `Jdot rdot` of every condition: its acceleration where no joint's rate changes."""
    if not tree.model.couplings:
        return []
    still = velocities(tree, geo, ORIGIN, ORIGIN, rdot, ORIGIN)
    out: list[Scalar] = []
    for coupling in tree.model.couplings:
        if isinstance(coupling, Coupling):
            joints = _joints(tree, coupling)
            r = [geo.r[k] for k in joints]
            rates = [rdot[k] for k in joints]
            out.append(second_rate(coupling.value, r, rates))
        else:
            a, b = _ends(tree, geo, coupling)
            drift = [point_drift(tree, geo, still, at, ORIGIN, ORIGIN)[0] for at in (a, b)]
            out += list(tree.links[0].R @ (drift[0] - drift[1]))
    return out


def loops_turned_over(
    tree: Tree, before: Floats, after: Floats, given: Collection[str]
) -> list[str]:
    """Return the loops that close on another branch after than before (an elbow bent the other way):
    where the other joints of a loop are just as many as its rows, their determinant has changed its
    sign, which it does at dead points alone.
    """
    names = [joint.name for joint in tree.model.joints]
    out = []
    one = geometry(tree, before)
    two = geometry(tree, after)
    for loop in tree.model.loops:
        circuit = np.asarray(_loop_rows(tree, one, loop), float)
        taken = [
            k for k, column in enumerate(circuit.T) if np.any(column) and names[k] not in given
        ]
        U, sizes, _ = np.linalg.svd(circuit)
        plane = U[:, : int((sizes > 1e-9 * sizes.max(initial=1e-300)).sum())].T
        if len(taken) == len(plane):
            rows = [
                plane @ np.asarray(_loop_rows(tree, at, loop), float)[:, taken] for at in (one, two)
            ]
            if np.linalg.det(rows[0]) * np.linalg.det(rows[1]) < 0.0:
                out.append(loop.name)
    return out


def _loop_rows(tree: Tree, geo: Geometry, loop: Loop) -> Array:
    """Return how the two ends of a loop part with the joints, three rows."""
    a, b = _ends(tree, geo, loop)
    P = point_matrix(tree, geo, a, ORIGIN) - point_matrix(tree, geo, b, ORIGIN)
    return tree.links[0].R @ P[:, 6:]


def _joints(tree: Tree, coupling: Coupling) -> list[int]:
    names = [joint.name for joint in tree.model.joints]
    return [names.index(name) for name in coupling.joints]


def _ends(tree: Tree, geo: Geometry, loop: Loop) -> tuple[Point, Point]:
    """Return the point of a loop on both of its bodies."""
    a, b = (body_point(tree, geo, body, loop.point) for body in (loop.body, loop.other))
    return a, b
