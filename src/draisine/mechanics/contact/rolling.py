"""Closed form of contact modes in which all wheels roll on faces: the equations on a plane, with a separate
normal for each wheel.

A contact that blocks every direction needs no contact axes: its constraint rows are the components, in the
base's frame, of the velocity of the contact point. The face only determines this point. The rows are
therefore as short as those on level ground, where the base's frame is aligned with its joints and its
velocity is taken at the first contact (`formulations.projected`).

If the speeds violate the rows, the slip velocity stays constant in world axes here; in `modes.solve_mode` it
rotates with the heading.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array, norm
from draisine.algebra.trace import evaluate
from draisine.mechanics import constraints
from draisine.mechanics.contact.elements import ROW_NAMES
from draisine.mechanics.contact.features import FEATURE
from draisine.mechanics.contact.modes import (
    FACE_NORMAL,
    ModeMotion,
    Signature,
    eliminate_constraints,
    relative_pivots,
)
from draisine.mechanics.formulations.projected import (
    speed_transformation,
    speed_transformation_rate,
)
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    Velocities,
    geometry,
    point_drift,
    velocities,
)
from draisine.mechanics.newton_euler import link_wrenches, mass_matrix, sum_wrenches
from draisine.mechanics.tree import Tree, assemble
from draisine.model import Model
from draisine.model.surface import Surface


class _Touch(NamedTuple):
    """Contact of a wheel with a face of the terrain."""

    contact: Any
    normal: Array  # normal of the face, in the base's axes
    world: constraints.Ground  # orientation of a ground plane with the normal of this face
    at: Point  # touching point of the wheel
    surface: Surface  # surface of the wheel, in the frame of its link


def solve_rolling(
    model: Model,
    signature: Signature,
    pose: tuple[Array, Array],
    v: Array,
    force: Array,
    features: Array,
    drawing: Mapping[str, float],
) -> ModeMotion:
    """Return accelerations and contact forces of a free multibody system whose wheels roll on
    faces.

    Eqs. [reduced-dynamics] and [multipliers]. `pose` is the rotation of the base and the joint
    coordinates, `v` are all speeds, `force` is the generalised force. Pivots are chosen in the
    nominal configuration.
    """
    point = dict(drawing)
    for i in range(len(signature)):
        point |= {f"features[{FEATURE * i + j}]": x for j, x in enumerate(FACE_NORMAL)}
    tree = assemble(model, aligned=True, evaluate=lambda values: evaluate(values, point))
    base = tree.links[0]
    geo = geometry(tree, pose[1])
    R = pose[0] @ tree.links[0].R
    touching = [
        _locate_contact(tree, geo, R, model.contacts[k], features[FEATURE * i : FEATURE * i + 3])
        for i, (k, *_) in enumerate(signature)
    ]
    # Take the velocity of the base at a contact, so that the constraint rows of this contact are
    # nearly constant. The contact with the shortest path to the base needs the fewest operations.
    nearest = min(touching, key=lambda touch: len(tree.path_to_link(touch.at.link)))
    ref = nearest.at.c
    W = base.R.T @ v[3:6]
    V = base.R.T @ v[:3] - cross(base.R.T @ base.o + ref, W)
    vel = velocities(tree, geo, V, W, v[6:], ref)
    rhodot = constraints.support_rate(nearest.surface, nearest.at, nearest.world, vel)
    _, refdot = point_drift(tree, geo, vel, nearest.at, rhodot, np.zeros(3))
    C, c = _acceleration_rows(tree, geo, vel, touching, ref, refdot)
    constrained = eliminate_constraints(C, mass_matrix(tree, geo, ref), len(model.twist), point)
    particular = constrained.solver.solve([*c, *[0.0] * constrained.H.shape[1]])
    required = link_wrenches(tree, geo, vel, particular, ref, refdot, R.T @ model.gravity)
    T = speed_transformation(tree, ref)
    change, lam = constrained.respond(T.T @ force - sum_wrenches(tree, geo, required, ref))
    return ModeMotion(
        T @ (particular + change) + speed_transformation_rate(tree, W, refdot),
        _resolve_contact_forces(tree, geo, touching, lam),
        array([0.0] * model.memory),
        relative_pivots(constrained.solver.pivot, point),
    )


def _locate_contact(tree: Tree, geo: Geometry, R: Array, contact: Any, normal: Array) -> _Touch:
    """Return the contact of a wheel with a face of normal (world axes)."""
    world = constraints.ground_with_normal(tree, geo, R, R.T @ normal)
    return _Touch(
        contact, world.up[0], world, *constraints.contact_point(tree, geo, world, contact)
    )


def _acceleration_rows(
    tree: Tree,
    geo: Geometry,
    vel: Velocities,
    touching: Sequence[_Touch],
    ref: Array,
    refdot: Array,
) -> tuple[Array, list[Scalar]]:
    """Return C and c of the constraint rows `C vdot = c`, which keep slip velocities constant in
    world axes.
    """
    rows: list[Array] = []
    targets: list[Scalar] = []
    for contact, _, world, point, surface in touching:
        a = constraints.Active(contact, ROW_NAMES, point, surface, True, tree, geo, ref)
        c = constraints.acceleration_targets(tree, geo, world, vel, [a], refdot, np.zeros(3), 0.0)
        rows += list(a.P)
        targets += list(array(c) - cross(vel.W[0], a.P @ vel.speeds))
    return array([list(row) for row in rows]), targets


def _resolve_contact_forces(
    tree: Tree, geo: Geometry, touching: Sequence[_Touch], lam: Array
) -> list[Scalar]:
    """Convert multipliers, three per contact in the base's axes, to normal, along and across forces
    (N).
    """
    forces: list[Scalar] = []
    for i, (contact, N, _, point, _) in enumerate(touching):
        axle = geo.R0[point.link] @ (tree.axes_in_link(contact.body) @ contact.guide)
        along = cross(axle, N) / norm(cross(axle, N))
        push = lam[3 * i : 3 * i + 3]
        forces += [N @ push, along @ push, cross(N, along) @ push]
    return forces
