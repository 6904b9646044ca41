"""Contact geometry and constraint rows of a wheel on a ground feature, in world axes, eq.
[contact-rows].

A feature is a face, an edge, a vertex or a smooth patch of the terrain, or a plane of another body.
`Surface.contact_with` computes the contact point and the normal. The constraint rows are the components of
the velocity of the wheel's material point at the contact, in the order normal, along the heading, across.
"""

from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.lie import cross
from draisine.algebra.scalar import Array, array, norm
from draisine.mechanics.kinematics import (
    Geometry,
    Point,
    body_point,
    point,
    point_matrix,
    surface_point,
)
from draisine.mechanics.tree import Tree
from draisine.model import Blade, Flat, Wheel
from draisine.model.surface import FeatureContact, Surface

FEATURE = 8
"""Number of values that describe a ground feature, with three values for each vector:

- face: unit normal N, offset d of the plane `N . x = d` (m), 0, 0, 0, load
- edge: point Q (m), unit direction e, side, load
- vertex: point Q (m), 0, 0, 0, 0, load
- patch: N and d of its mean plane, largest distance from this plane (m), deviation of normals, 0, load; its
  polynomial is a separate input.
"""

SIDE = 6
"""Index of the side among the values of an edge. A torus that touches an edge twice has one contact on each
side, 1 and -1; if it touches once, the side is 0.
"""

LOAD = 7
"""Index of the load (N) among the values of a feature: force elements are linearised about it."""


def move_feature(feature_kind: str, values: Array, R: Array, p: Array) -> Array:
    """Return the values of a face, edge or vertex after a rotation R and a translation p (m)."""
    if feature_kind == "face":
        N = R @ values[:3]
        return array([*N, values[3] + N @ p, 0.0, 0.0, 0.0])
    e = R @ values[3:6] if feature_kind == "edge" else np.zeros(3)
    return array([*(R @ values[:3] + p), *e, values[SIDE]])


@dataclass(frozen=True, slots=True, eq=False)
class ContactRows:
    """Geometry and constraint rows of one contact; all vectors are in world axes."""

    meeting: FeatureContact  # gap (m), contact point, normal, heading
    centre: Array  # hub of the wheel, m, (3,)
    surface: Surface  # surface of the wheel
    at: Point  # material point of the wheel that touches the ground
    axes: tuple[Array, Array, Array]  # normal, along (in the plane of the wheel), across
    # Jacobian of the contact velocity (normal, along, across) with respect to v = (V, W, rdot), (3,
    # 6 + joints)
    C: Array


def contact_rows(
    tree: Tree,
    geo: Geometry,
    R: Array,
    p: Array,
    wheel: Wheel | Blade,
    feature_kind: str,
    feature: Array,
    frame: tuple[Array, Array] | None = None,
) -> ContactRows:
    """Return geometry and constraint rows of a wheel or blade on a ground feature, eq.
    [contact-rows].

    Parameters
    ----------
    tree, geo
        Links of the model, and their poses in the base's frame.
    R, p
        Rotation (3, 3) and position (m) of the base.
    wheel
        The wheel or blade. A blade slides freely along its heading: that row is zero.
    feature_kind, feature
        Kind and values of the ground feature; the coefficients of a patch's polynomial follow its
        values.
    frame
        Rotation and position (m) of the frame in which the values are given; by default the world
        frame.
    """
    link = tree.place[wheel.body][0]
    link_axes = R @ geo.R0[link]
    hub = p + R @ geo.o0[link] + link_axes @ tree.point_in_link(wheel.body, wheel.centre)
    surface = wheel.surface.turned(tree.axes_in_link(wheel.body)).turned(link_axes)
    if frame is None:
        meeting = surface.contact_with(feature_kind, hub, feature)
    else:
        turned = surface.turned(frame[0].T)
        meeting = turned.contact_with(feature_kind, frame[0].T @ (hub - frame[1]), feature).moved(
            *frame
        )
    arm = link_axes.T @ (meeting.point - hub)
    material_point = surface_point(tree, geo, wheel, arm)
    P = R @ point_matrix(tree, geo, material_point, np.zeros(3))
    axes = (meeting.normal, meeting.along, cross(meeting.normal, meeting.along))
    if isinstance(wheel, Blade):
        axes = (axes[0], np.zeros(3), axes[2])
    C = array([list(axis @ P) for axis in axes])
    return ContactRows(meeting, hub, surface, material_point, axes, C)


def contact_rows_on_body(
    tree: Tree, geo: Geometry, R: Array, p: Array, wheel: Wheel | Blade, flat: Flat
) -> ContactRows:
    """Return geometry and constraint rows of a wheel on a plane of another body, eq. [flat-rows].

    The plane is a face whose points move with that body, so the rows are relative velocities.
    """
    link = tree.place[flat.body][0]
    N = R @ (geo.R0[link] @ (tree.axes_in_link(flat.body) @ (flat.normal / norm(flat.normal))))
    origin = body_point(tree, geo, flat.body, flat.point)
    contact = contact_rows(tree, geo, R, p, wheel, "face", array([*N, N @ (p + R @ origin.c)]))
    local = geo.R0[link].T @ (R.T @ (contact.meeting.point - p) - geo.o0[link])
    body_below = point(geo, link, None, local)
    P = R @ point_matrix(tree, geo, body_below, np.zeros(3))
    return replace(contact, C=contact.C - array([list(axis @ P) for axis in contact.axes]))
