"""A wheel or a blade of the machine meets a feature of the terrain, or a flat of another body: its
rows, in world axes.
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

SIDE, LOAD, FEATURE = 6, 7, 8
"""How many numbers describe a feature: (N, d, 0, 0, 0), (Q, e, side) or (Q, 0, 0, 0, 0), and the load
about which elements are taken there.
"""


def place(kind: str, f: Array, R: Array, p: Array) -> Array:
    """Return the numbers of a feature given in a frame that is turned by R and moved by p."""
    if kind == "face":
        N = R @ f[:3]
        return array([*N, f[3] + N @ p, 0.0, 0.0, 0.0])
    e = R @ f[3:6] if kind == "edge" else np.zeros(3)
    return array([*(R @ f[:3] + p), *e, f[SIDE]])


@dataclass(frozen=True, slots=True, eq=False)
class ContactRows:
    """A contact's rows (normal, along, across) over v = (V, W, rdot), and what they come from.

    `axes` are the three directions in world axes; `along` lies in the wheel's plane. `at` is the
    touching point of the machine, `surface` the wheel's in world axes.
    """

    meeting: FeatureContact
    centre: Array
    surface: Surface
    at: Point
    axes: tuple[Array, Array, Array]
    C: Array


def meet(
    tree: Tree, geo: Geometry, R: Array, p: Array, wheel: Wheel | Blade, kind: str, f: Array
) -> ContactRows:
    """Return how a wheel or a blade meets a feature of the given kind with the numbers f, eq.
    [contact-rows]; R, p is the base's pose. A blade demands nothing along.
    """
    link = tree.place[wheel.body][0]
    turned = R @ geo.R0[link]
    hub = p + R @ geo.o0[link] + turned @ tree.local(wheel.body, wheel.centre)
    surface = wheel.surface.turned(tree.axes(wheel.body)).turned(turned)
    meeting = surface.meet(kind, hub, f)
    rho = turned.T @ (meeting.point - hub)
    at = surface_point(tree, geo, wheel, rho)
    P = R @ point_matrix(tree, geo, at, np.zeros(3))
    axes = (meeting.normal, meeting.along, cross(meeting.normal, meeting.along))
    if isinstance(wheel, Blade):
        axes = (axes[0], np.zeros(3), axes[2])
    rows = array([list(axis @ P) for axis in axes])
    return ContactRows(meeting, hub, surface, at, axes, rows)


def meet_flat(
    tree: Tree, geo: Geometry, R: Array, p: Array, wheel: Wheel | Blade, flat: Flat
) -> ContactRows:
    """Return how a wheel meets a plane of another body: as a face that moves with it, eq.
    [flat-rows].
    """
    link = tree.place[flat.body][0]
    N = R @ (geo.R0[link] @ (tree.axes(flat.body) @ (flat.normal / norm(flat.normal))))
    on = body_point(tree, geo, flat.body, flat.point)
    met = meet(tree, geo, R, p, wheel, "face", array([*N, N @ (p + R @ on.c)]))
    under = point(geo, link, None, geo.R0[link].T @ (R.T @ (met.meeting.point - p) - geo.o0[link]))
    P = R @ point_matrix(tree, geo, under, np.zeros(3))
    return replace(met, C=met.C - array([list(axis @ P) for axis in met.axes]))
