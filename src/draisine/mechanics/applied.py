"""What pushes from outside: joint torques and forces at points, as generalised forces."""

import numpy as np

from draisine.algebra.scalar import Array, array
from draisine.mechanics.constraints import Ground
from draisine.mechanics.kinematics import Geometry, point, point_matrix
from draisine.mechanics.tree import Tree


def generalised(tree: Tree, geo: Geometry, world: Ground, inputs: Array, ref: Array) -> Array:
    """Return Q for the model's inputs (joint torques, then force components), for v = (V at ref, W,
    rdot).
    """
    n = len(tree.model.joints)
    out = np.zeros(6 + n, dtype=object)
    out[6:] = inputs[:n]
    for k, force in enumerate(tree.model.pushes):
        link, rotor = tree.place[force.body]
        f = inputs[n + 3 * k : n + 3 * k + 3]
        if force.frame == "world":
            pushed = world.R.T @ f
        else:
            pushed = geo.R0[link] @ (tree.links[link].R.T @ f)
        at = point(geo, link, rotor, tree.local(force.body, force.point))
        out = out + point_matrix(tree, geo, at, ref).T @ pushed
    return array(out)
