"""Energy and momentum of the whole machine."""

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.mechanics.constraints import Ground
from draisine.mechanics.kinematics import Geometry, Velocities
from draisine.mechanics.tree import Tree


def momenta_of_links(tree: Tree, vel: Velocities) -> list[tuple[Array, Array]]:
    """Return linear and angular momentum of each link about its own origin, in its own axes."""
    out = []
    for j, link in enumerate(tree.links):
        V = vel.V_link[j]
        W = vel.W[j]
        G = link.G
        linear = link.mass * V + cross(W, link.S)
        angular = cross(link.S, V) + (G[0, 0] + G[1, 1] + G[2, 2]) * W - G @ W
        for rotor in link.rotors:
            angular = angular + (rotor.inertia * vel.rdot[rotor.joint]) * rotor.axis
        if link.added is not None:
            extra = link.added @ np.concatenate([V, W])
            linear = linear + extra[:3]
            angular = angular + extra[3:]
        out.append((linear, angular))
    return out


def kinetic(tree: Tree, vel: Velocities) -> Scalar:
    """Return the kinetic energy, half of momentum times velocity, with that of armatures."""
    total: Scalar = 0.0
    for j, (linear, angular) in enumerate(momenta_of_links(tree, vel)):
        total = total + linear @ vel.V_link[j] + angular @ vel.W[j]
        for rotor in tree.links[j].rotors:
            spin = vel.rdot[rotor.joint]
            total = total + rotor.inertia * spin * (rotor.axis @ vel.W[j] + spin)
    for k, joint in enumerate(tree.model.joints):
        total = total + joint.armature * vel.rdot[k] * vel.rdot[k]
    return total / 2


def potential(tree: Tree, geo: Geometry, world: Ground, p: Array, gravity: Array) -> Scalar:
    """Return the energy of weight (zero with every mass at the world's origin) and of springs; p is
    the base origin's position.
    """
    total: Scalar = 0.0
    for j, link in enumerate(tree.links):
        moment = link.mass * (p + world.R @ geo.o0[j]) + world.R @ (geo.R0[j] @ link.S)
        total = total - gravity @ moment
    for k, joint in enumerate(tree.model.joints):
        stretch = geo.r[k] - joint.rest
        total = total + joint.spring * stretch * stretch / 2
    return total


def momenta(
    tree: Tree, geo: Geometry, vel: Velocities, world: Ground, p: Array
) -> tuple[Array, Array]:
    """Return linear momentum and angular momentum about the world's origin, in world axes."""
    linear = array([0.0] * 3)
    angular = array([0.0] * 3)
    for j, (own, turning) in enumerate(momenta_of_links(tree, vel)):
        R0 = geo.R0[j]
        o0 = geo.o0[j]
        moved = R0 @ own
        linear = linear + moved
        angular = angular + R0 @ turning + cross(o0, moved)
    linear = world.R @ linear
    angular = world.R @ angular
    return linear, angular + cross(p, linear)


def rest_speeds(M: Floats, C: Floats, v: Floats) -> Floats:
    """Return the speeds of least kinetic energy that differ from v by what the rows C leave free,
    eq. [rest].
    """
    _, sizes, directions = np.linalg.svd(C)
    H = directions[np.count_nonzero(sizes > 1e-9 * sizes.max(initial=0.0)) :].T
    return v - H @ np.linalg.lstsq(H.T @ M @ H, H.T @ M @ v, rcond=1e-13)[0]
