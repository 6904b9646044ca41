"""Assembly of a model into a tree of links, with axisymmetric leaves folded into their carriers.

A link's frame has its z axis and its origin on the axis of its joint. A body that spins about its axis of
symmetry (a wheel) is not a link: its mass is lumped into its carrier, and a `Rotor` keeps the momentum of
its spin (a gyrostat). Both choices change no result and save operations. Material points of a folded body
still turn with it: see `kinematics.body_point`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.lie import Ad, Pose, cross, hat
from draisine.algebra.scalar import Array, Scalar, all_vanish, array, is_zero, norm
from draisine.model import Body, Joint, Model

Evaluate = Callable[[Sequence[Scalar]], NDArray[np.float64]]
"""Function from symbolic entries to their nominal values, (n,)."""

Z = np.array([0.0, 0.0, 1.0])
"""Unit vector along the joint axis of a link, in the link's frame."""


@dataclass(frozen=True, slots=True, eq=False)
class Rotor:
    """Axisymmetric body (wheel) whose mass is lumped into a link; vectors are in the frame of that
    link.
    """

    joint: int  # index of the joint of the rotor
    axis: Array  # unit vector along the axle
    centre: Array  # position of a point of the axle, m
    inertia: Scalar  # moment of inertia about the axle, kg m2


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """Moving frame of the tree, with the inertia that moves with it."""

    name: str
    parent: int  # index of the parent link
    joint: int  # index of the link's joint; -1 for the base
    turn: float  # rotation per unit of r, rad
    slide: Scalar  # translation per unit of r, m
    K: Array  # axes in the parent's frame at r = 0, (3, 3)
    p: Array  # origin in the parent's frame at r = 0, m
    R: Array  # axes in the zero configuration, (3, 3)
    o: Array  # origin in the zero configuration, m
    mass: Scalar  # mass, kg
    S: Array  # first moment of mass about the origin, kg m
    G: Array  # second moment of mass about the origin, int x x' dm, kg m2
    added: Array | None = None  # added mass of the fluid for the link's twist, (6, 6)
    drag: Array | None = None  # linear drag of the fluid for the link's twist, (6, 6)
    rotors: tuple[Rotor, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Links of a model, in order from the base outward."""

    model: Model
    links: tuple[Link, ...]
    place: dict[
        str, tuple[int, Rotor | None]
    ]  # index of the link of each body, and its rotor if the body is folded

    def path_to_link(self, link: int) -> tuple[int, ...]:
        """Return the indices of the links from the base (excluded) to one link (included)."""
        indices: list[int] = []
        while link > 0:
            indices.append(link)
            link = self.links[link].parent
        return tuple(reversed(indices))

    def point_in_link(self, body: str, point: Array) -> Array:
        """Return a point of the zero configuration in the frame of the link that carries the body
        (m).
        """
        link = self.links[self.place[body][0]]
        return link.R.T @ (point - link.o)

    def axes_in_link(self, body: str) -> Array:
        """Return the rotation (3, 3) from the zero configuration to the frame of the link that
        carries the body.
        """
        return self.links[self.place[body][0]].R.T


def is_foldable(model: Model, body: Body) -> bool:
    """Return whether a body is a leaf of the tree that is axisymmetric about its joint."""
    joint = next((j for j in model.joints if j.child == body.name), None)
    if (
        joint is None
        or not all_vanish([joint.turn - 1.0, joint.slide])
        or body.added is not None
        or body.drag is not None
        or any(j.parent == body.name for j in model.joints)
        or any(f.body == body.name for f in model.pushes)
        or any(body.name in (c.body, c.other) for c in model.loops)
        or any(flat.body == body.name for wheel in model.wheels for flat in wheel.flats)
    ):
        return False
    a = joint.axis / norm(joint.axis)
    offsets = [] if is_zero(body.mass) else list(cross(body.com - joint.through, a))
    for contact in model.contacts:
        if contact.body == body.name:
            offsets += contact.asymmetry(a, joint.through)
    # Compare with the largest inertia of the body, so that the result does not depend on the unit
    # of mass.
    inertia_scale = max((abs(x) for x in body.inertia.ravel() if isinstance(x, float)), default=1.0)
    defects = (body.inertia @ hat(a) - hat(a) @ body.inertia).ravel()
    return all_vanish(offsets) and all_vanish(defects, inertia_scale)


def folded_bodies(model: Model) -> set[str]:
    """Return the names of the bodies that are folded into their carriers."""
    return {body.name for body in model.bodies if is_foldable(model, body)}


def wheel_joints(model: Model) -> set[int]:
    """Return the indices of the joints that turn wheels about their axles."""
    return {
        k
        for k, joint in enumerate(model.joints)
        if all_vanish([joint.turn - 1.0, joint.slide])
        and any(
            all_vanish(wheel.asymmetry(joint.axis / norm(joint.axis), joint.through))
            for wheel in model.wheels
            if wheel.body == joint.child
        )
    }


def spinning_joints(model: Model) -> set[int]:
    """Return the indices of the joints about which wheels and balanced rotors spin, folded or not."""
    rotors = {
        k for k, joint in enumerate(model.joints) if is_foldable(model, model.body(joint.child))
    }
    return rotors | wheel_joints(model)


def second_moments(body: Body, axes: Array, origin: Array) -> tuple[Array, Array]:
    """Return first moment S and second moment G of a body about the point `origin` (m), in the
    given axes.
    """
    c = axes.T @ (body.com - origin)
    J = axes.T @ body.inertia @ axes
    spread = (J[0, 0] + J[1, 1] + J[2, 2]) / 2
    return body.mass * c, spread * np.eye(3) - J + body.mass * np.outer(c, c)


def axes_along(z: Array, hints: Sequence[Array], evaluate: Evaluate) -> Array:
    """Return right-handed axes (columns) with a given z axis; the first usable hint lies in the yz
    plane.
    """
    for hint in [*hints, np.eye(3)[1], np.eye(3)[0]]:
        x = cross(hint, z)
        # Use a hint only if it is at least 6 degrees (0.1 rad) away from z: otherwise the
        # projection amplifies rounding errors.
        if np.linalg.norm(evaluate(list(x))) > 0.1:
            x = x / norm(x)
            return np.column_stack([x, cross(z, x), z])
    raise AssertionError("one of two coordinate axes is not parallel to z")


def as_floats(values: Sequence[Scalar]) -> NDArray[np.float64]:
    """Return numbers of any algebra as floats."""
    return np.array([float(x) for x in values])


def assemble(
    model: Model,
    *,
    fold: bool = True,
    aligned: bool = False,
    frame: Pose | None = None,
    evaluate: Evaluate = as_floats,
) -> Tree:
    """Assemble the tree of links of a model.

    Parameters
    ----------
    model
        Model to be assembled.
    fold
        Whether to lump axisymmetric leaf bodies (wheels) into their carriers.
    aligned
        Whether to align the base's frame with its first joint and wheel instead of the world axes.
        The expressions are shorter, but the base's twist is then not that of the user's frame.
    frame
        Pose of the base's frame in the zero configuration, if it is chosen by the caller.
    evaluate
        Nominal numbers of symbolic entries, used to choose frames.

    Returns
    -------
    Tree
        Links in order from the base outward.
    """
    folded = folded_bodies(model) if fold else set()
    order = [model.bodies[0].name]
    for name in order:
        order += [j.child for j in model.joints if j.parent == name and j.child not in folded]
    links: list[Link] = []
    place: dict[str, tuple[int, Rotor | None]] = {}
    joints = {j.child: (i, j) for i, j in enumerate(model.joints)}
    for index, name in enumerate(order):
        R, o = _link_frame(model, name, folded, aligned, evaluate)
        parent = 0
        joint_index = -1
        turn = 0.0
        slide = 0.0
        K = R
        p = o
        if name in joints:
            joint_index, joint_of_link = joints[name]
            parent = order.index(joint_of_link.parent)
            turn = joint_of_link.turn
            slide = joint_of_link.slide
            carrier = links[parent]
            K = carrier.R.T @ R
            p = carrier.R.T @ (o - carrier.o)
        elif frame is not None:
            K, p = R, o = frame
        link_mass = _LinkMass(model, name, R, o)
        place[name] = (index, None)
        for i, joint in (joints[j.child] for j in model.joints if j.parent == name):
            if joint.child in folded:
                place[joint.child] = (index, link_mass.fold_body(i, joint))
        links.append(
            Link(name, parent, joint_index, turn, slide, K, p, R, o, **link_mass.mass_properties)
        )
    return Tree(model, tuple(links), place)


class _LinkMass:
    """Accumulated mass of a link: its own body and the wheels that are folded into it."""

    def __init__(self, model: Model, name: str, R: Array, o: Array) -> None:
        self.model = model
        self.body = model.body(name)
        self.R = R
        self.o = o
        self.mass = self.body.mass
        self.S, self.G = second_moments(self.body, R, o)
        self.rotors: list[Rotor] = []

    def fold_body(self, body_index: int, joint: Joint) -> Rotor:
        """Add the body that spins about a joint, and return its rotor."""
        wheel = self.model.body(joint.child)
        S, G = second_moments(wheel, self.R, self.o)
        self.mass = self.mass + wheel.mass
        self.S = self.S + S
        self.G = self.G + G
        a = joint.axis / norm(joint.axis)
        hubs = [c.centre for c in self.model.wheels if c.body == joint.child]
        centre = hubs[0] if hubs else joint.through
        axial = a @ wheel.inertia @ a
        self.rotors.append(Rotor(body_index, self.R.T @ a, self.R.T @ (centre - self.o), axial))
        return self.rotors[-1]

    @property
    def mass_properties(self) -> dict[str, Any]:
        """Mass properties of a `Link` by field name, including those of the fluid."""
        shift = Ad(Pose(self.R, self.o))
        body = self.body
        return {
            "mass": self.mass,
            "S": self.S,
            "G": self.G,
            "added": None if body.added is None else shift.T @ body.added @ shift,
            "drag": None if body.drag is None else shift.T @ body.drag @ shift,
            "rotors": tuple(self.rotors),
        }


def _link_frame(
    model: Model, name: str, folded: set[str], aligned: bool, evaluate: Evaluate
) -> tuple[Array, Array]:
    """Return axes and origin of a link: z along its joint, and its axle or next joint in the yz
    plane.

    The zeros of these axes shorten the expressions of all links that follow.
    """
    axles = [j for j in model.joints if j.parent == name and j.child in folded]
    children = [j for j in model.joints if j.parent == name and j.child not in folded]
    joint = next((j for j in model.joints if j.child == name), None)
    contacts = [c for c in model.wheels if c.body == name]
    directions = [j.axis / norm(j.axis) for j in axles] + [c.axle / norm(c.axle) for c in contacts]
    directions += [j.axis / norm(j.axis) for j in children]
    points = [j.through for j in axles] + [c.centre for c in contacts]
    points += [j.through for j in children]
    if joint is None:
        if not aligned:
            return np.eye(3), np.zeros(3)
        joint = children[0] if children else axles[0] if axles else None
        origin = points[0] if points else model.bodies[0].com
        if joint is None:
            z = directions[0] if directions else Z
        else:
            z = joint.axis / norm(joint.axis)
        return axes_along(z, directions, evaluate), origin
    z = joint.axis / norm(joint.axis)
    through = joint.through
    if points:
        along = points[0] - through
        through = through + z * (z[0] * along[0] + z[1] * along[1] + z[2] * along[2])
    return axes_along(z, directions, evaluate), array(list(through))
