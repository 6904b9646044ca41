"""Wheels that all roll on faces, in closed form: the equations of the plane, each wheel under a normal
of its own.

A contact that holds in every direction needs no axes: its rows are the components of its point's
velocity, taken in the base's frame; a face only says where the point is. So the rows are as short as
on the plane where the base's frame is aligned with its joints and its velocity is taken at the first
contact (`formulations.projected`). Speeds that break the rows slip as long as they do, in world axes;
`modes.solve_mode` lets them turn with the heading.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array, norm
from draisine.algebra.trace import evaluate
from draisine.mechanics import constraints
from draisine.mechanics.contact.features import FEATURE
from draisine.mechanics.contact.modes import UP, ModeMotion, Signature, hold, watch
from draisine.mechanics.formulations.projected import map_rate, user_map
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    Velocities,
    geometry,
    point_drift,
    velocities,
)
from draisine.mechanics.newton_euler import gather, mass_matrix, wrenches
from draisine.mechanics.tree import Tree, assemble
from draisine.model import Model
from draisine.model.surface import Surface

ROWS = ("normal", "along", "across")


class _Touch(NamedTuple):
    """A wheel on a face: its point, its surface in the frame of its link, and the ground there; the
    face's normal is in the base's axes.
    """

    contact: Any
    normal: Array
    world: constraints.Ground
    at: Point
    surface: Surface


def solve_rolling(
    model: Model,
    signature: Signature,
    pose: tuple[Array, Array],
    v: Array,
    force: Array,
    features: Array,
    drawing: Mapping[str, float],
) -> ModeMotion:
    """Return the motion of a free machine whose wheels roll on faces, eqs. [reduced-dynamics] and
    [multipliers]: of a pose (the base's rotation and the shape), all speeds v, and a generalised force
    on them; pivots are chosen in the drawing.
    """
    point = dict(drawing)
    for i in range(len(signature)):
        point |= {f"features[{FEATURE * i + j}]": x for j, x in enumerate(UP)}
    tree = assemble(model, aligned=True, evaluate=lambda values: evaluate(values, point))
    base = tree.links[0]
    geo = geometry(tree, pose[1])
    R = pose[0] @ tree.links[0].R
    touching = [
        _touch(tree, geo, R, model.contacts[k], features[FEATURE * i : FEATURE * i + 3])
        for i, (k, *_) in enumerate(signature)
    ]
    nearest = min(touching, key=lambda one: len(tree.path(one.at.link)))
    ref = nearest.at.c
    W = base.R.T @ v[3:6]
    V = base.R.T @ v[:3] - cross(base.R.T @ base.o + ref, W)
    vel = velocities(tree, geo, V, W, v[6:], ref)
    rhodot = constraints.support_rate(nearest.surface, nearest.at, nearest.world, vel)
    _, refdot = point_drift(tree, geo, vel, nearest.at, rhodot, np.zeros(3))
    C, c = _rows(tree, geo, vel, touching, ref, refdot)
    held = hold(C, mass_matrix(tree, geo, ref), len(model.twist), point)
    still = held.solver.solve([*c, *[0.0] * held.H.shape[1]])
    needed = wrenches(tree, geo, vel, still, ref, refdot, R.T @ model.gravity)
    T = user_map(tree, ref)
    change, lam = held.respond(T.T @ force - gather(tree, geo, needed, ref))
    return ModeMotion(
        T @ (still + change) + map_rate(tree, W, refdot),
        _along_axes(tree, geo, touching, lam),
        array([0.0] * model.memory),
        watch(held.solver.pivot, point),
    )


def _touch(tree: Tree, geo: Geometry, R: Array, contact: Any, N: Array) -> _Touch:
    """Return a wheel on a face with a normal N, in world axes."""
    world = constraints.under(tree, geo, R, R.T @ N)
    return _Touch(
        contact, world.up[0], world, *constraints.contact_point(tree, geo, world, contact)
    )


def _rows(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    touching: Sequence[_Touch],
    ref: Array,
    refdot: Array,
) -> tuple[Array, list[Scalar]]:
    """Return C and c of `C vdot = c`; speeds that slip go on so, in world axes."""
    rows: list[Array] = []
    targets: list[Scalar] = []
    for contact, _, world, at, surface in touching:
        a = constraints.Active(contact, ROWS, at, surface, True, tree, geo, ref)
        c = constraints.acceleration_targets(tree, geo, world, vel, [a], refdot, np.zeros(3), 0.0)
        rows += list(a.P)
        targets += list(array(c) - cross(vel.W[0], a.P @ vel.speeds))
    return array([list(row) for row in rows]), targets


def _along_axes(tree: Tree, geo: Geometry, touching: Sequence[_Touch], lam: Array) -> list[Scalar]:
    """Return multipliers of points, three each in the base's axes, as normal, along and across."""
    out: list[Scalar] = []
    for i, (contact, N, _, at, _) in enumerate(touching):
        axle = geo.R0[at.link] @ (tree.axes(contact.body) @ contact.guide)
        along = cross(axle, N) / norm(cross(axle, N))
        push = lam[3 * i : 3 * i + 3]
        out += [N @ push, along @ push, cross(N, along) @ push]
    return out
