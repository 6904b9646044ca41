"""Conditions on the shape alone: values, rows and accelerations of couplings and loops, eq.
[couplings].
"""

import numpy as np

from draisine.algebra.jet import gradient, second_rate
from draisine.algebra.scalar import Array, Scalar, array
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    point,
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
            a, b = _ends(tree, geo, coupling)
            P = point_matrix(tree, geo, a, ORIGIN) - point_matrix(tree, geo, b, ORIGIN)
            P[:, :6] = 0.0
            out += list(tree.links[0].R @ P)
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
            r, rates = [geo.r[k] for k in joints], [rdot[k] for k in joints]
            out.append(second_rate(coupling.value, r, rates))
        else:
            a, b = _ends(tree, geo, coupling)
            drift = [point_drift(tree, geo, still, at, ORIGIN, ORIGIN)[0] for at in (a, b)]
            out += list(tree.links[0].R @ (drift[0] - drift[1]))
    return out


def _joints(tree: Tree, coupling: Coupling) -> list[int]:
    names = [joint.name for joint in tree.model.joints]
    return [names.index(name) for name in coupling.joints]


def _ends(tree: Tree, geo: Geometry, loop: Loop) -> tuple[Point, Point]:
    """Return the point of a loop on both of its bodies."""
    a, b = (
        point(geo, tree.place[body][0], None, tree.local(body, loop.point))
        for body in (loop.body, loop.other)
    )
    return a, b
