"""Constraint rows `C v = b` and `C vdot = c`, assembled contact by contact from material points and
directions.

A contact that holds its point in every direction (a rolling wheel, a grip) gives three rows along
the base's axes, in the plane a grip gives two; the others give one row per forbidden direction. A
prescribed joint is a row too, and so is a coupling of joints: its multiplier is a torque.
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
"""The status of every contact, in the model's order: (("rear", "rolling"), ("front", "open"))."""

Statuses = Mapping[str, str] | Mode | None
"""What people say of a mode: statuses by contact, or a whole mode; contacts not named are closed."""


def mode_of(model: Model, statuses: Statuses = None) -> Mode:
    """Return the mode that the given statuses make; contacts not mentioned are closed (rolling,
    gliding, gripped, but for pins that do not grip by themselves).
    """
    given = dict(statuses or ())
    contacts = {c.name: c for c in model.contacts}
    for name, status in given.items():
        expect_known("mode: no contact", name, contacts, ModelError)
        expect_known(f"mode: contact {name!r} cannot be", status, contacts[name].rows, ModelError)
    return tuple([(name, given.get(name, c.closed)) for name, c in contacts.items()])


def mode_rows(model: Model, mode: Mode) -> Iterator[tuple[int, Contact, str]]:
    """Yield the directions that the contacts of a mode forbid: the number of the contact, the contact,
    and the name of the direction.
    """
    for k, (contact, (_, status)) in enumerate(zip(model.contacts, mode, strict=True)):
        for name in contact.rows[status]:
            yield k, contact, name


@dataclass(frozen=True, eq=False)
class Active:
    """A contact at work: its point, its surface (in the link's frame), and the names of the
    directions that it forbids; speeds are taken at ref.
    """

    contact: Contact
    names: tuple[str, ...]
    at: Point
    surface: Surface
    holds_all: bool
    tree: Tree
    geo: Geometry
    ref: Array

    @cached_property
    def P(self) -> Array:
        """What gives the point's velocity, in the base's axes, from all speeds."""
        return point_matrix(self.tree, self.geo, self.at, self.ref)


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """The world seen from the base: R takes base axes to world axes; `up` is the ground's normal
    per link.
    """

    R: Array
    up: list[Array]


def ground(tree: Tree, geo: Geometry, R: Array) -> Ground:
    """Return the ground's normal in every link's frame."""
    return under(tree, geo, R, R[2, :])


def under(tree: Tree, geo: Geometry, R: Array, normal: Array) -> Ground:
    """Return ground with a normal of its own, given in the base's axes."""
    up = [normal]
    for j, link in enumerate(tree.links[1:], start=1):
        up.append(geo.E[j].T @ up[link.parent])
    return Ground(R, up)


def contact_point(
    tree: Tree, geo: Geometry, world: Ground, contact: Contact
) -> tuple[Point, Surface]:
    """Return where a contact touches the ground, and its surface in the frame of its link."""
    surface = contact.surface.turned(tree.axes(contact.body))
    rho = surface.support(world.up[tree.place[contact.body][0]])
    return surface_point(tree, geo, contact, rho), surface


def support_rate(surface: Surface, at: Point, world: Ground, vel: Velocities) -> Array:
    """Return how fast a contact's point wanders over its body, in the link's frame."""
    up = world.up[at.link]
    return surface.support_rate(up, cross(up, vel.W[at.link]))


def activate(
    tree: Tree,
    geo: Geometry,
    mode: Mode,
    found: Sequence[tuple[Point, Surface]],
    ref: Array,
    spare: Collection[str] = (),
) -> list[Active]:
    """Return the contacts that are at work in a mode; one that has a spare row takes its rows along
    the directions of their labels.
    """
    out = []
    for contact, (_, status), (at, surface) in zip(tree.model.contacts, mode, found, strict=True):
        names = contact.rows[status]
        if names:
            whole = _holds_all(tree.model, names)
            whole = whole and not any(f"{contact.name}.{name}" in spare for name in names)
            out.append(Active(contact, names, at, surface, whole, tree, geo, ref))
    return out


def _holds_all(model: Model, names: Sequence[str]) -> bool:
    """Return whether a contact leaves its point no direction in which the base's group could move
    it.
    """
    return len(names) == 3 or (is_planar(model) and {*names} == {"x", "y"})


def contact_axes(
    tree: Tree, geo: Geometry, world: Ground, contact: Contact, at: Point
) -> dict[str, Array]:
    """Return the named directions of a contact in the base's axes: normal, along, across; or the
    world's x, y, z.
    """
    return contact.frame(world.R, geo.R0[at.link] @ (tree.axes(contact.body) @ contact.guide))


def contact_axes_rates(
    tree: Tree, geo: Geometry, world: Ground, vel: Velocities, contact: Contact, at: Point
) -> dict[str, Array]:
    """Return how fast the named directions of a contact turn in the base's axes."""
    guide = geo.R0[at.link] @ (tree.axes(contact.body) @ contact.guide)
    return contact.frame_rate(world.R, vel.W[0], guide, cross(vel.w0[at.link], guide))


def matrix(
    tree: Tree, geo: Geometry, world: Ground, active: Sequence[Active], named: bool = False
) -> Array:
    """Return C: the rows of the active contacts, then those of the prescribed joints and of the
    couplings, eq. [constraint-rows].

    `named` turns the rows of contacts that hold in every direction to the directions of their
    labels.
    """
    n = 6 + len(tree.model.joints)
    rows: list[Array] = []
    for a in active:
        if a.holds_all and not named:
            rows += list(a.P[: len(a.names)])
        else:
            axes = contact_axes(tree, geo, world, a.contact, a.at)
            rows += [axes[name] @ a.P for name in a.names]
    rows += [np.eye(n)[6 + k] for k in prescribed_joints(tree.model)]
    rows += couplings.rows(tree, geo)
    return array([list(row) for row in rows]).reshape(len(rows), n)


def prescribed_joints(model: Model) -> list[int]:
    """Return the joints whose motion is prescribed."""
    return [k for k, joint in enumerate(model.joints) if joint.motion is not None]


def labels(model: Model, mode: Mode) -> list[str]:
    """Return a name for each row of C, in order."""
    out = [f"{contact.name}.{name}" for _, contact, name in mode_rows(model, mode)]
    out += [f"{model.joints[k].name}.motion" for k in prescribed_joints(model)]
    return out + couplings.labels(model)


def compliances(model: Model, mode: Mode) -> list[Scalar]:
    """Return by which compliance each row of C takes its share of forces that several could carry;
    zero for rows whose multipliers are torques.
    """
    out: list[Scalar] = [1.0 / contact.stiffness for _, contact, _ in mode_rows(model, mode)]
    return out + [0.0] * len(prescribed_joints(model)) + couplings.compliances(model)


def velocity_targets(
    tree: Tree, geo: Geometry, world: Ground, active: Sequence[Active], p: Array, t: Scalar
) -> list[Scalar]:
    """Return b of `C v = b`: the ground's velocity for contacts, the motion's rate for prescribed
    joints; p is the base origin's position.
    """
    out: list[Scalar] = []
    for a in active:
        carried = ground_velocity(tree.model, world, p, a.at, t)
        if a.holds_all:
            out += list(carried[: len(a.names)])
        else:
            axes = contact_axes(tree, geo, world, a.contact, a.at)
            out += [axes[name] @ carried for name in a.names]
    out += [joint.motion(t)[1] for joint in tree.model.joints if joint.motion is not None]
    return out + [0.0] * len(couplings.labels(tree.model))


def ground_velocity(model: Model, world: Ground, p: Array, at: Point, t: Scalar) -> Array:
    """Return the velocity of the ground under a point, in the base's axes, eq. [moving-ground]."""
    if model.ground is None:
        return np.zeros(3)
    (vx, vy, turning), _ = model.ground(t)
    x = p + world.R @ at.c
    return world.R.T @ array([vx - turning * x[1], vy + turning * x[0], 0.0])


def ground_rate(
    model: Model, world: Ground, vel: Velocities, p: Array, at: Point, cdot: Array, t: Scalar
) -> Array:
    """Return the rate of `ground_velocity` along the motion of the touching point."""
    if model.ground is None:
        return np.zeros(3)
    (_, _, turning), (ax, ay, speeding) = model.ground(t)
    x = p + world.R @ at.c
    W = vel.W[0]
    xdot = world.R @ (vel.V_link[0] + cross(W, at.c) + cdot)
    rise = array(
        [
            ax - speeding * x[1] - turning * xdot[1],
            ay + speeding * x[0] + turning * xdot[0],
            0.0,
        ]
    )
    return world.R.T @ rise - cross(W, ground_velocity(model, world, p, at, t))


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
    """Return c of `C vdot = c`, eq. [acceleration-rows]."""
    out: list[Scalar] = []
    for a in active:
        rhodot = support_rate(a.surface, a.at, world, vel)
        drift, cdot = point_drift(tree, geo, vel, a.at, rhodot, refdot)
        wanted = ground_rate(tree.model, world, vel, p, a.at, cdot, t) - drift
        if a.holds_all:
            out += list(wanted[: len(a.names)])
            continue
        w = a.P @ vel.speeds - ground_velocity(tree.model, world, p, a.at, t)
        axes = contact_axes(tree, geo, world, a.contact, a.at)
        rates = contact_axes_rates(tree, geo, world, vel, a.contact, a.at)
        out += [axes[name] @ wanted - rates[name] @ w for name in a.names]
    out += [joint.motion(t)[2] for joint in tree.model.joints if joint.motion is not None]
    return out + [-x for x in couplings.drifts(tree, geo, vel.rdot)]


def gaps(world: Ground, p: Array, found: Sequence[tuple[Point, Surface]]) -> list[Scalar]:
    """Return the height of each contact's point above the ground, eq. [gap]; p is the base origin's
    position.
    """
    return [p[2] + world.up[0] @ at.c for at, _ in found]


def holonomic_rows(mode: Mode, model: Model) -> list[tuple[int, str]]:
    """Return (contact, row name) of the rows that come from a condition on the configuration."""
    return [(k, name) for k, _, name in mode_rows(model, mode) if name in HOLONOMIC]


def holonomic(model: Model, mode: Mode) -> list[bool]:
    """Return which rows of C come from a condition on the configuration."""
    names = [name for *_, name in mode_rows(model, mode)]
    rest = len(prescribed_joints(model)) + len(couplings.labels(model))
    return [name in HOLONOMIC for name in names] + [True] * rest
