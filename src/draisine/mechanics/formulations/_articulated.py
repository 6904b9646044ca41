"""Accelerations of a tree without constraints by articulated bodies: work that grows with the
number of links.

Accelerations are taken relative to the motion with `vdot = 0`, whose wrenches the outward pass has
already found. Inertias are 6x6 with the linear part first.
"""

import numpy as np

from draisine.algebra.lie import cross, hat
from draisine.algebra.scalar import Array, Scalar, array, blocks
from draisine.mechanics.kernel import solve_symmetric
from draisine.mechanics.kinematics import Geometry
from draisine.mechanics.newton_euler import Wrenches
from draisine.mechanics.tree import Link, Tree

LONG = 8
"""From this many joints on articulated bodies take less work than composite ones."""


def accelerations(tree: Tree, geo: Geometry, needed: Wrenches, force: Array) -> Array:
    """Return vdot over the free columns, V at the base's origin, eq. [articulated-bodies]."""
    links = tree.links
    I = [_inertia(link) for link in links]  # noqa: E741
    p = [np.concatenate([needed.force[j], needed.moment[j]]) for j in range(len(links))]
    p[0] = p[0] - force[:6]
    out = np.zeros(6 + len(tree.model.joints), dtype=object)
    steps: list[tuple[Array, Scalar, Scalar]] = [(array([]), 0.0, 0.0)] * len(links)
    for j in reversed(range(len(links))):
        link = links[j]
        for rotor in link.rotors:
            lag = force[6 + rotor.joint] - needed.joint[rotor.joint]
            I[j][3:, 3:] = I[j][3:, 3:] - rotor.inertia * np.outer(rotor.axis, rotor.axis)
            p[j][3:] = p[j][3:] + rotor.axis * lag
            out[6 + rotor.joint] = lag / rotor.inertia
        if j == 0:
            break
        U = link.slide * I[j][:, 2] + link.turn * I[j][:, 5]
        inverse = 1.0 / _along(link, U)
        u = force[6 + link.joint] - needed.joint[link.joint] - _along(link, p[j])
        steps[j] = (U, inverse, u)
        I_left = I[j] - np.outer(U * inverse, U)
        p_left = p[j] + U * (inverse * u)
        i, E, at = link.parent, geo.E[j], geo.p[j]
        I[i] = I[i] + _moved(I_left, E, at)
        pushed = E @ p_left[:3]
        p[i] = p[i] + np.concatenate([pushed, E @ p_left[3:] + cross(at, pushed)])
    twist = list(tree.model.twist)
    if twist:
        out[twist] = solve_symmetric(I[0][np.ix_(twist, twist)], -p[0][twist])
    _pass_on(tree, geo, steps, out)
    return array(out)[[*twist, *range(6, len(out))]]


def _pass_on(
    tree: Tree, geo: Geometry, steps: list[tuple[Array, Scalar, Scalar]], out: Array
) -> None:
    """Add to `out`, which holds the base's acceleration, those of the joints, from the base on."""
    a = [out[:6], *([array([])] * (len(tree.links) - 1))]
    for j, link in enumerate(tree.links):
        if j:
            E, up = geo.E[j], a[link.parent]
            came = np.concatenate([E.T @ (up[:3] + cross(up[3:], geo.p[j])), E.T @ up[3:]])
            U, inverse, u = steps[j]
            rise = (u - U @ came) * inverse
            came[2], came[5] = came[2] + link.slide * rise, came[5] + link.turn * rise
            out[6 + link.joint] = rise
            a[j] = came
        for rotor in link.rotors:
            out[6 + rotor.joint] = out[6 + rotor.joint] - rotor.axis @ a[j][3:]


def _along(link: Link, wrench: Array) -> Scalar:
    """Return the part of a wrench that does work on the link's joint."""
    return link.slide * wrench[2] + link.turn * wrench[5]


def _inertia(link: Link) -> Array:
    """Return the inertia of a link about its origin."""
    G, S = link.G, link.S
    J = (G[0, 0] + G[1, 1] + G[2, 2]) * np.eye(3) - G
    own = blocks([[link.mass * np.eye(3), -hat(S)], [hat(S), J]]).astype(object)
    return own if link.added is None else own + link.added


def _moved(I: Array, E: Array, p: Array) -> Array:  # noqa: E741
    """Return an inertia of the child in the parent's frame."""
    A, B, J = E @ I[:3, :3] @ E.T, E @ I[:3, 3:] @ E.T, E @ I[3:, 3:] @ E.T
    P = hat(p)
    mixed = B - A @ P
    turned = J + P @ B + (P @ B).T - P @ A @ P
    return blocks([[A, mixed], [mixed.T, turned]])
