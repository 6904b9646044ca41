"""From the drawing to a chain of links: frames along the joints, axisymmetric leaves folded into
their carriers.

A link's frame has its joint's axis as z and its origin on that axis. What turns about its own axis
of symmetry (a wheel) is no link: its mass is lumped into its carrier, and a `Rotor` keeps the
momentum of its spin (a gyrostat). Neither changes any result; both save work. Material points of a
folded body still turn with it: `kinematics.body_point` places them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from draisine.algebra.lie import Ad, Pose, cross, hat
from draisine.algebra.scalar import Array, Scalar, array, is_zero, norm, vanishes
from draisine.model import Body, Joint, Model

Evaluate = Callable[[Sequence[Scalar]], NDArray[np.float64]]
Z = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class Rotor:
    """A folded wheel: joint index, axle and centre in the carrier's frame, moment of inertia about
    the axle.
    """

    joint: int
    axis: Array
    centre: Array
    inertia: Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One moving frame of the tree.

    `K, p` place it in its parent at r = 0; `R, o` place it in the drawing. `S` and `G` are the
    first and second moments of mass about its origin, `G = int x x' dm`. `turn` and `slide` are its
    joint's, per unit of r.
    """

    name: str
    parent: int
    joint: int
    turn: float
    slide: Scalar
    K: Array
    p: Array
    R: Array
    o: Array
    mass: Scalar
    S: Array
    G: Array
    added: Array | None = None
    drag: Array | None = None
    rotors: tuple[Rotor, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """Links in order from the base outward, and where each body of the model went: (link, rotor or
    None).
    """

    model: Model
    links: tuple[Link, ...]
    place: dict[str, tuple[int, Rotor | None]]

    def path(self, i: int) -> tuple[int, ...]:
        """Return the links between the base and link i, i included, the base not."""
        steps: list[int] = []
        while i > 0:
            steps.append(i)
            i = self.links[i].parent
        return tuple(reversed(steps))

    def local(self, body: str, point: Array) -> Array:
        """Return a point of the drawing in the frame of the link that carries the body."""
        link = self.links[self.place[body][0]]
        return link.R.T @ (point - link.o)

    def axes(self, body: str) -> Array:
        """Return what takes directions of the drawing to the frame of the link that carries the
        body.
        """
        return self.links[self.place[body][0]].R.T


def foldable(model: Model, body: Body) -> bool:
    """Return whether a body is a leaf that looks the same however far it has turned about its
    joint.
    """
    joint = next((j for j in model.joints if j.child == body.name), None)
    if (
        joint is None
        or not vanishes([joint.turn - 1.0, joint.slide])
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
    # Relative to the inertia, so that symmetry does not depend on the unit of mass.
    size = max((abs(x) for x in body.inertia.ravel() if isinstance(x, float)), default=1.0)
    defects = (body.inertia @ hat(a) - hat(a) @ body.inertia).ravel()
    return vanishes(offsets) and vanishes(defects, size)


def folded_bodies(model: Model) -> set[str]:
    """Return the names of the bodies that are folded into their carriers."""
    return {body.name for body in model.bodies if foldable(model, body)}


def wheel_joints(model: Model) -> set[int]:
    """Return the joints that turn wheels about their axles, by index."""
    return {
        k
        for k, joint in enumerate(model.joints)
        if vanishes([joint.turn - 1.0, joint.slide])
        and any(
            vanishes(wheel.asymmetry(joint.axis / norm(joint.axis), joint.through))
            for wheel in model.wheels
            if wheel.body == joint.child
        )
    }


def spinning_joints(model: Model) -> set[int]:
    """Return the joints about which wheels and balanced rotors spin, by index, whether they are
    folded or not.
    """
    rotors = {k for k, joint in enumerate(model.joints) if foldable(model, model.body(joint.child))}
    return rotors | wheel_joints(model)


def second_moments(body: Body, R: Array, o: Array) -> tuple[Array, Array]:
    """Return S and G of a body about the point o of the drawing, in the axes R."""
    c = R.T @ (body.com - o)
    J = R.T @ body.inertia @ R
    spread = (J[0, 0] + J[1, 1] + J[2, 2]) / 2
    return body.mass * c, spread * np.eye(3) - J + body.mass * np.outer(c, c)


def axes_along(z: Array, hints: Sequence[Array], evaluate: Evaluate) -> Array:
    """Return right-handed axes (columns) with the given z and the first useful hint in the plane of
    y and z.
    """
    for hint in [*hints, np.eye(3)[1], np.eye(3)[0]]:
        x = cross(hint, z)
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
    """Return the tree of a model.

    `aligned` lets the base's frame follow its first joint and wheel instead of the drawing:
    cheaper, but eta is then not the user's; `frame` says where it stands in the drawing. `evaluate`
    gives numbers for symbolic entries, to choose frames by.
    """
    folded = folded_bodies(model) if fold else set()
    order = [model.bodies[0].name]
    for name in order:
        order += [j.child for j in model.joints if j.parent == name and j.child not in folded]
    links: list[Link] = []
    place: dict[str, tuple[int, Rotor | None]] = {}
    joints = {j.child: (i, j) for i, j in enumerate(model.joints)}
    for index, name in enumerate(order):
        R, o = _frame(model, name, folded, aligned, evaluate)
        parent = 0
        number = -1
        turn = 0.0
        slide = 0.0
        K = R
        p = o
        if name in joints:
            number, own = joints[name]
            parent = order.index(own.parent)
            turn = own.turn
            slide = own.slide
            up = links[parent]
            K = up.R.T @ R
            p = up.R.T @ (o - up.o)
        elif frame is not None:
            K, p = R, o = frame
        lump = _LinkMass(model, name, R, o)
        place[name] = (index, None)
        for i, joint in (joints[j.child] for j in model.joints if j.parent == name):
            if joint.child in folded:
                place[joint.child] = (index, lump.fold(i, joint))
        links.append(Link(name, parent, number, turn, slide, K, p, R, o, **lump.inertia))
    return Tree(model, tuple(links), place)


class _LinkMass:
    """The mass of a link: that of its body, and of the wheels that are folded into it."""

    def __init__(self, model: Model, name: str, R: Array, o: Array) -> None:
        self.model = model
        self.body = model.body(name)
        self.R = R
        self.o = o
        self.mass = self.body.mass
        self.S, self.G = second_moments(self.body, R, o)
        self.rotors: list[Rotor] = []

    def fold(self, index: int, joint: Joint) -> Rotor:
        """Add the wheel that turns about a joint; return what keeps the momentum of its spin."""
        wheel = self.model.body(joint.child)
        S, G = second_moments(wheel, self.R, self.o)
        self.mass = self.mass + wheel.mass
        self.S = self.S + S
        self.G = self.G + G
        a = joint.axis / norm(joint.axis)
        hubs = [c.centre for c in self.model.wheels if c.body == joint.child]
        centre = hubs[0] if hubs else joint.through
        axial = a @ wheel.inertia @ a
        self.rotors.append(Rotor(index, self.R.T @ a, self.R.T @ (centre - self.o), axial))
        return self.rotors[-1]

    @property
    def inertia(self) -> dict[str, Any]:
        """What a `Link` is told of its mass, of the fluid's too."""
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


def _frame(
    model: Model, name: str, folded: set[str], aligned: bool, evaluate: Evaluate
) -> tuple[Array, Array]:
    """Return axes and origin of a link: z along its joint, wheel or next joint in the plane of y
    and z.
    """
    axles = [j for j in model.joints if j.parent == name and j.child in folded]
    children = [j for j in model.joints if j.parent == name and j.child not in folded]
    own = next((j for j in model.joints if j.child == name), None)
    contacts = [c for c in model.wheels if c.body == name]
    directions = [j.axis / norm(j.axis) for j in axles] + [c.axle / norm(c.axle) for c in contacts]
    directions += [j.axis / norm(j.axis) for j in children]
    points = [j.through for j in axles] + [c.centre for c in contacts]
    points += [j.through for j in children]
    if own is None:
        if not aligned:
            return np.eye(3), np.zeros(3)
        own = children[0] if children else axles[0] if axles else None
        origin = points[0] if points else model.bodies[0].com
        if own is None:
            z = directions[0] if directions else Z
        else:
            z = own.axis / norm(own.axis)
        return axes_along(z, directions, evaluate), origin
    z = own.axis / norm(own.axis)
    through = own.through
    if points:
        along = points[0] - through
        through = through + z * (z[0] * along[0] + z[1] * along[1] + z[2] * along[2])
    return axes_along(z, directions, evaluate), array(list(through))
