"""Energy and momentum of the multibody system, from the momenta of its links.

Every link contributes its mass, its first moment S and its second moment G about its origin (`tree.Link`);
rotors, armatures and added masses of the fluid are added.
"""

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Floats, Scalar, array
from draisine.mechanics.constraints import Ground
from draisine.mechanics.kinematics import Geometry, Velocities
from draisine.mechanics.tree import Tree


def momenta_of_links(tree: Tree, vel: Velocities) -> list[tuple[Array, Array]]:
    """Return linear and angular momentum of each link about the link's origin, in the link's axes."""
    momenta_per_link = []
    for j, link in enumerate(tree.links):
        V = vel.V_link[j]
        W = vel.W[j]
        G = link.G
        linear = link.mass * V + cross(W, link.S)
        # The inertia tensor follows from the second moments of mass G = int x x' dm as trace(G) I -
        # G.
        angular = cross(link.S, V) + (G[0, 0] + G[1, 1] + G[2, 2]) * W - G @ W
        for rotor in link.rotors:
            angular = angular + (rotor.inertia * vel.rdot[rotor.joint]) * rotor.axis
        if link.added is not None:
            added = link.added @ np.concatenate([V, W])
            linear = linear + added[:3]
            angular = angular + added[3:]
        momenta_per_link.append((linear, angular))
    return momenta_per_link


def kinetic_energy(tree: Tree, vel: Velocities) -> Scalar:
    """Return the kinetic energy (J), half of momentum times velocity, including armatures."""
    total: Scalar = 0.0
    for j, (linear, angular) in enumerate(momenta_of_links(tree, vel)):
        total = total + linear @ vel.V_link[j] + angular @ vel.W[j]
        # The linear term of the rotor spin is part of the link's momentum, but the kinetic energy
        # is quadratic in the total angular velocity about the axle: add the missing half.
        for rotor in tree.links[j].rotors:
            spin = vel.rdot[rotor.joint]
            total = total + rotor.inertia * spin * (rotor.axis @ vel.W[j] + spin)
    for k, joint in enumerate(tree.model.joints):
        total = total + joint.armature * vel.rdot[k] * vel.rdot[k]
    return total / 2


def potential_energy(tree: Tree, geo: Geometry, world: Ground, p: Array, gravity: Array) -> Scalar:
    """Return the potential energy (J) of weight and springs.

    The energy of weight is zero if all masses are at the origin of the world. `p` is the position
    of the base's origin in the world (m).
    """
    total: Scalar = 0.0
    for j, link in enumerate(tree.links):
        moment = link.mass * (p + world.R @ geo.o0[j]) + world.R @ (geo.R0[j] @ link.S)
        total = total - gravity @ moment
    for k, joint in enumerate(tree.model.joints):
        deflection = geo.r[k] - joint.rest
        total = total + joint.spring * deflection * deflection / 2
    return total


def total_momenta(
    tree: Tree, geo: Geometry, vel: Velocities, world: Ground, p: Array
) -> tuple[Array, Array]:
    """Return linear momentum and angular momentum about the origin of the world, in world axes."""
    linear = array([0.0] * 3)
    angular = array([0.0] * 3)
    for j, (link_linear, link_angular) in enumerate(momenta_of_links(tree, vel)):
        R0 = geo.R0[j]
        o0 = geo.o0[j]
        link_linear_base = R0 @ link_linear
        linear = linear + link_linear_base
        angular = angular + R0 @ link_angular + cross(o0, link_linear_base)
    linear = world.R @ linear
    angular = world.R @ angular
    return linear, angular + cross(p, linear)


def rest_speeds(M: Floats, C: Floats, v: Floats) -> Floats:
    """Return the speeds with the least kinetic energy that satisfy the same constraint rows as v,
    eq. [rest].

    M is the mass matrix (n, n), C the constraint matrix (m, n); the result differs from v by a
    vector in the kernel of C.
    """
    # Relative rank tolerance 1e-9: the singular values of redundant constraint rows are rounding
    # errors of about 1e-15.
    _, singular_values, directions = np.linalg.svd(C)
    H = directions[np.count_nonzero(singular_values > 1e-9 * singular_values.max(initial=0.0)) :].T
    # Motions without mass make the projected mass matrix singular: take the minimum-norm solution.
    return v - H @ np.linalg.lstsq(H.T @ M @ H, H.T @ M @ v, rcond=1e-13)[0]
