"""Constraint rows `C v = b` and `C vdot = c` of contacts, prescribed joints and couplings.

A contact that blocks its point in every direction (a rolling wheel, a gripping pin) has three rows along
the base's axes, or two in the plane. Every other contact has one row per blocked direction. A prescribed
joint and a coupling of joints are rows too; their multipliers are torques.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, Scalar, array
from draisine.errors import ModelError, expect_known
from draisine.mechanics import couplings
from draisine.mechanics.base import is_planar
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    Velocities,
    point_drift,
    point_matrix,
    surface_point,
)
from draisine.mechanics.tree import Tree
from draisine.model import HOLONOMIC, Contact, Model, Surface

Mode = tuple[tuple[str, str], ...]
"""Contact mode: the status of every contact in the model's order, (("rear", "rolling"), ("front",
"open")).
"""

Statuses = Mapping[str, str] | Mode | None
"""Contact mode as users write it: statuses by contact name, or a `Mode`. Unnamed contacts are
closed.
"""


def mode_of(model: Model, statuses: Statuses = None) -> Mode:
    """Return the contact mode with the given statuses; unnamed contacts have their closed status.

    The closed status is rolling, gliding or gripped, except for pins that do not grip by themselves.
    """
    status_of = dict(statuses or ())
    contacts = {c.name: c for c in model.contacts}
    for name, status in status_of.items():
        expect_known("mode: no contact", name, contacts, ModelError)
        expect_known(f"mode: contact {name!r} cannot be", status, contacts[name].rows, ModelError)
    return tuple([(name, status_of.get(name, c.closed)) for name, c in contacts.items()])


def mode_rows(model: Model, mode: Mode) -> Iterator[tuple[int, Contact, str]]:
    """Yield (index of the contact, contact, name of the direction) for each blocked direction of a
    contact mode.
    """
    for k, (contact, (_, status)) in enumerate(zip(model.contacts, mode, strict=True)):
        for name in contact.rows[status]:
            yield k, contact, name


@dataclass(frozen=True, eq=False)
class Active:
    """Closed contact with its constraint rows."""

    contact: Contact
    names: tuple[str, ...]  # names of the blocked directions
    point: Point  # touching point of the contact
    surface: Surface  # surface of the wheel, blade or pin, in the axes of its link
    # Whether the contact blocks all motions of its point. Then its constraint rows may be written
    # along the base's axes instead of normal, along and across.
    holds_all: bool
    tree: Tree
    geo: Geometry
    ref: Array  # point of the base at which its velocity is taken, m, (3,)

    @cached_property
    def P(self) -> Array:
        """Jacobian (3, 6 + n) of the material point at the contact, in the base's axes."""
        return point_matrix(self.tree, self.geo, self.point, self.ref)


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """Orientation of the ground relative to the multibody system."""

    R: Array  # rotation from base axes to world axes, (3, 3)
    up: list[Array]  # normal of the ground in the axes of each link


def ground(tree: Tree, geo: Geometry, R: Array) -> Ground:
    """Return the ground with its normal in the frame of every link."""
    return ground_with_normal(tree, geo, R, R[2, :])


def ground_with_normal(tree: Tree, geo: Geometry, R: Array, normal: Array) -> Ground:
    """Return the ground with a given unit normal, in the base's axes, (3,)."""
    up = [normal]
    for j, link in enumerate(tree.links[1:], start=1):
        up.append(geo.E[j].T @ up[link.parent])
    return Ground(R, up)


def contact_point(
    tree: Tree, geo: Geometry, world: Ground, contact: Contact
) -> tuple[Point, Surface]:
    """Return the point at which the body of a contact touches the ground, and the surface of the body in the
    axes of the link to which the body belongs.
    """
    surface = contact.surface.turned(tree.axes_in_link(contact.body))
    rho = surface.support(world.up[tree.place[contact.body][0]])
    return surface_point(tree, geo, contact, rho), surface


def support_rate(surface: Surface, point: Point, world: Ground, vel: Velocities) -> Array:
    """Return the velocity (m/s) at which the touching point moves over its body, in the link's
    axes, (3,).
    """
    up = world.up[point.link]
    return surface.support_rate(up, cross(up, vel.W[point.link]))


def active_contacts(
    tree: Tree,
    geo: Geometry,
    mode: Mode,
    contact_points: Sequence[tuple[Point, Surface]],
    ref: Array,
    redundant: Collection[str] = (),
) -> list[Active]:
    """Return the closed contacts of a contact mode with their constraint rows.

    If a contact has a redundant constraint row, all its rows are along its named directions, so
    that each label belongs to one row.
    """
    active_contacts = []
    for contact, (_, status), (point, surface) in zip(
        tree.model.contacts, mode, contact_points, strict=True
    ):
        names = contact.rows[status]
        if names:
            blocks_all = _blocks_all_motions(tree.model, names)
            blocks_all = blocks_all and not any(
                f"{contact.name}.{name}" in redundant for name in names
            )
            active_contacts.append(
                Active(contact, names, point, surface, blocks_all, tree, geo, ref)
            )
    return active_contacts


def _blocks_all_motions(model: Model, directions: Sequence[str]) -> bool:
    """Return whether the named directions block every motion of the point that the group of the
    base allows.
    """
    return len(directions) == 3 or (is_planar(model) and {*directions} == {"x", "y"})


def contact_directions(
    tree: Tree, geo: Geometry, world: Ground, contact: Contact, point: Point
) -> dict[str, Array]:
    """Return the named directions of a contact as unit vectors in the base's axes.

    They are normal, along and across, or x, y and z of the world for a pin.
    """
    return contact.frame(
        world.R, geo.R0[point.link] @ (tree.axes_in_link(contact.body) @ contact.guide)
    )


def contact_direction_rates(
    tree: Tree, geo: Geometry, world: Ground, vel: Velocities, contact: Contact, point: Point
) -> dict[str, Array]:
    """Return the time derivatives of the named directions of a contact, in the base's axes."""
    guide = geo.R0[point.link] @ (tree.axes_in_link(contact.body) @ contact.guide)
    return contact.frame_rate(world.R, vel.W[0], guide, cross(vel.w0[point.link], guide))


def constraint_matrix(
    tree: Tree, geo: Geometry, world: Ground, contacts: Sequence[Active], named: bool = False
) -> Array:
    """Return the constraint matrix C (m, 6 + n) of contacts, prescribed joints and couplings.

    See eq. [constraint-rows]. If `named` is true, all contact rows are along their named
    directions.

    Parameters
    ----------
    tree, geo
        Links of the model and their poses.
    world
        Ground with its normal in every link's frame.
    contacts
        Closed contacts.
    named
        Whether all contact rows are along their named directions.

    Returns
    -------
    array, (m, 6 + n)
        Constraint matrix C of `C v = b`, for v = (V at ref, W, rdot).
    """
    n = 6 + len(tree.model.joints)
    rows: list[Array] = []
    for a in contacts:
        # A contact that blocks every direction may use any axes. Along the base's axes its first
        # block is the identity, which needs fewer operations.
        if a.holds_all and not named:
            rows += list(a.P[: len(a.names)])
        else:
            axes = contact_directions(tree, geo, world, a.contact, a.point)
            rows += [axes[name] @ a.P for name in a.names]
    rows += [np.eye(n)[6 + k] for k in prescribed_joints(tree.model)]
    rows += couplings.coupling_rows(tree, geo)
    return array([list(row) for row in rows]).reshape(len(rows), n)


def prescribed_joints(model: Model) -> list[int]:
    """Return the indices of the joints whose motion is prescribed."""
    return [k for k, joint in enumerate(model.joints) if joint.motion is not None]


def row_labels(model: Model, mode: Mode) -> list[str]:
    """Return the label of each row of the constraint matrix C, in order."""
    names = [f"{contact.name}.{name}" for _, contact, name in mode_rows(model, mode)]
    names += [f"{model.joints[k].name}.motion" for k in prescribed_joints(model)]
    return names + couplings.coupling_labels(model)


def row_compliances(model: Model, mode: Mode) -> list[Scalar]:
    """Return the compliance of each row of C, the weight of its multiplier in minimum-norm forces.

    The compliance is zero for constraint rows whose multipliers are torques.
    """
    contacts: list[Scalar] = [1.0 / contact.stiffness for _, contact, _ in mode_rows(model, mode)]
    return contacts + [0.0] * len(prescribed_joints(model)) + couplings.coupling_compliances(model)


def velocity_targets(
    tree: Tree, geo: Geometry, world: Ground, contacts: Sequence[Active], p: Array, t: Scalar
) -> list[Scalar]:
    """Return b of `C v = b`: velocity of the ground at contacts, prescribed rates of joints.

    `p` is the position of the base's origin in the world.
    """
    targets: list[Scalar] = []
    for a in contacts:
        velocity = ground_velocity(tree.model, world, p, a.point, t)
        if a.holds_all:
            targets += list(velocity[: len(a.names)])
        else:
            axes = contact_directions(tree, geo, world, a.contact, a.point)
            targets += [axes[name] @ velocity for name in a.names]
    targets += [joint.motion(t)[1] for joint in tree.model.joints if joint.motion is not None]
    return targets + [0.0] * len(couplings.coupling_labels(tree.model))


def ground_velocity(model: Model, world: Ground, p: Array, point: Point, t: Scalar) -> Array:
    """Return the velocity of the ground (m/s) at a point, in the base's axes, eq. [moving-ground]."""
    if model.ground is None:
        return np.zeros(3)
    (vx, vy, yaw_rate), _ = model.ground(t)
    x = p + world.R @ point.c
    return world.R.T @ array([vx - yaw_rate * x[1], vy + yaw_rate * x[0], 0.0])


def ground_rate(
    model: Model, world: Ground, vel: Velocities, p: Array, point: Point, cdot: Array, t: Scalar
) -> Array:
    """Return the time derivative of `ground_velocity` along the motion of the touching point
    (m/s2).
    """
    if model.ground is None:
        return np.zeros(3)
    (_, _, yaw_rate), (ax, ay, yaw_acceleration) = model.ground(t)
    x = p + world.R @ point.c
    W = vel.W[0]
    xdot = world.R @ (vel.V_link[0] + cross(W, point.c) + cdot)
    world_rate = array(
        [
            ax - yaw_acceleration * x[1] - yaw_rate * xdot[1],
            ay + yaw_acceleration * x[0] + yaw_rate * xdot[0],
            0.0,
        ]
    )
    return world.R.T @ world_rate - cross(W, ground_velocity(model, world, p, point, t))


def acceleration_targets(
    tree: Tree,
    geo: Geometry,
    world: Ground,
    vel: Velocities,
    active: Sequence[Active],
    refdot: Array,
    p: Array,
    t: Scalar,
) -> list[Scalar]:
    """Return c (m,) of the acceleration constraints `C vdot = c`, eq. [acceleration-rows].

    Parameters
    ----------
    tree, geo, vel
        Links of the model, their poses and velocities.
    world
        Ground with its normal in every link's frame.
    active
        Closed contacts.
    refdot
        Velocity of the reference point relative to the base (m/s), (3,).
    p
        Position of the base's origin in the world (m), (3,).
    t
        Time (s).

    Returns
    -------
    list of m scalars
        Right-hand side c of `C vdot = c`.
    """
    targets: list[Scalar] = []
    for a in active:
        rhodot = support_rate(a.surface, a.point, world, vel)
        drift, cdot = point_drift(tree, geo, vel, a.point, rhodot, refdot)
        target = ground_rate(tree.model, world, vel, p, a.point, cdot, t) - drift
        if a.holds_all:
            targets += list(target[: len(a.names)])
            continue
        # The directions of the contact rotate: subtract their rates times the slip velocity from
        # the right-hand side.
        slip = a.P @ vel.speeds - ground_velocity(tree.model, world, p, a.point, t)
        axes = contact_directions(tree, geo, world, a.contact, a.point)
        rates = contact_direction_rates(tree, geo, world, vel, a.contact, a.point)
        targets += [axes[name] @ target - rates[name] @ slip for name in a.names]
    targets += [joint.motion(t)[2] for joint in tree.model.joints if joint.motion is not None]
    return targets + [-x for x in couplings.coupling_drifts(tree, geo, vel.rdot)]


def gaps(world: Ground, p: Array, contact_points: Sequence[tuple[Point, Surface]]) -> list[Scalar]:
    """Return the gap (m) of each contact, eq. [gap]; p is the position of the base's origin (m)."""
    return [p[2] + world.up[0] @ point.c for point, _ in contact_points]


def holonomic_rows(mode: Mode, model: Model) -> list[tuple[int, str]]:
    """Return (index of the contact, name of the direction) of each constraint row of a contact that
    is holonomic.
    """
    return [(k, name) for k, _, name in mode_rows(model, mode) if name in HOLONOMIC]


def holonomic_flags(model: Model, mode: Mode) -> list[bool]:
    """Return for each row of C whether it is holonomic (a differentiated position constraint)."""
    names = [name for *_, name in mode_rows(model, mode)]
    other_rows = len(prescribed_joints(model)) + len(couplings.coupling_labels(model))
    return [name in HOLONOMIC for name in names] + [True] * other_rows
