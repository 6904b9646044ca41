"""Joints, contacts and inertia of bodies in absolute coordinates, as rows over their velocities and
forces upon them.

Bodies are placed in the world one by one; a row is a linear form of their velocities, with the
convective term that its rate needs. All of it runs over any scalar.
"""

from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.jet import gradient, second_rate
from draisine.algebra.lie import ad, cross, hat
from draisine.algebra.scalar import Array, Scalar, array, atan2, norm
from draisine.mechanics.constraints import Mode
from draisine.model import HOLONOMIC, Body, Contact, Coupling, Joint, Loop, Model

UP = np.array([0.0, 0.0, 1.0])
AXES = np.eye(3)
NONE = np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A body at one instant, in world axes: centre of mass x, velocity v, angular velocity w; R
    takes the drawing's axes on the body to the world's, `own` the axes of w'.
    """

    body: Body
    x: Array
    v: Array
    w: Array
    R: Array
    own: Array

    def arm(self, point: Array) -> Array:
        """Return a point of the drawing on this body, seen from its centre of mass."""
        return self.R @ (point - self.body.com)

    def turning(self, r: Array) -> Array:
        """Return w x r, the rate of a vector that is fixed to the body."""
        return cross(self.w, r)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One linear form of the speeds: the sum of `f.v + m.w` over bodies (`parts`, in world axes).

    Its rate is the same form of the accelerations plus g. As a constraint it equals b, whose rate
    is c; `gap` is the condition on the coordinates that it comes from, None where there is none;
    `angle` says that whole turns of the gap do not count. `size` is the length of the vector that
    its direction was made of; where that vanishes, the row has no direction.
    """

    label: str
    parts: dict[int, tuple[Array, Array]]
    g: Scalar
    gap: Scalar | None = None
    angle: bool = False
    b: Scalar = 0.0
    c: Scalar = 0.0
    size: Scalar = 1.0


def coincidence(label: str, i: int, j: int, bodies: list[Placed], point: Array, n: Array) -> Row:
    """Return the row of `n . (A_j - A_i)`, A being the same point of the drawing on both bodies and
    n a direction that turns with body i.
    """
    first = bodies[i]
    second = bodies[j]
    r1 = first.arm(point)
    r2 = second.arm(point)
    s = second.x + r2 - first.x - r1
    spun1 = first.turning(r1)
    spun2 = second.turning(r2)
    g = n @ (second.turning(spun2) - first.turning(spun1))
    ndot = first.turning(n)
    g = g + 2.0 * (ndot @ (second.v + spun2 - first.v - spun1)) + first.turning(ndot) @ s
    return Row(label, {i: (-n, -cross(r1 + s, n)), j: (n, cross(r2, n))}, g, n @ s)


def perpendicular(label: str, i: int, j: int, bodies: list[Placed], u: Array, w: Array) -> Row:
    """Return the row of `u . w`, u being fixed to body i and w to body j, both in world axes."""
    first = bodies[i]
    second = bodies[j]
    udot = first.turning(u)
    wdot = second.turning(w)
    g = first.turning(udot) @ w + 2.0 * (udot @ wdot) + u @ second.turning(wdot)
    m = cross(u, w)
    return Row(label, {i: (NONE, m), j: (NONE, -m)}, g, u @ w)


def point_velocity(
    label: str,
    i: int,
    bodies: list[Placed],
    arm: Array,
    armdot: Array,
    n: Array,
    ndot: Array,
    gap: Scalar | None = None,
) -> Row:
    """Return the row of `n . (v + w x arm)`: the velocity of the body's material at a point that
    may wander over it (`armdot` is the whole rate of the arm) along a direction that may turn.
    """
    body = bodies[i]
    g = n @ body.turning(armdot) + ndot @ (body.v + body.turning(arm))
    return Row(label, {i: (n, cross(arm, n))}, g, gap)


def across_axis(axis: Array) -> tuple[Array, Array, Array]:
    """Return a right-handed triad (a, b, c) with a along an axis, whose entries are numbers."""
    a = axis / norm(axis)
    k = min(range(3), key=lambda k: abs(float(a[k])))
    b = AXES[k] - a[k] * a
    b = b / norm(b)
    return a, b, cross(a, b)


def joint_angle(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the row of the rate at which a joint turns; its gap is the angle."""
    a, b, c = across_axis(joint.axis)
    first = bodies[i]
    second = bodies[j]
    axis = first.R @ a
    turned = second.R @ b
    angle = atan2(turned @ (first.R @ c), turned @ (first.R @ b))
    g = first.turning(axis) @ (second.w - first.w)
    return Row(joint.name, {i: (NONE, -axis), j: (NONE, axis)}, g, angle, angle=True)


def joint_length(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the row of the rate at which a joint slides; its gap is the length."""
    axis = bodies[i].R @ (joint.axis / norm(joint.axis))
    return coincidence(joint.name, i, j, bodies, joint.through, axis)


def joint_coordinate(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the row of a joint's rate; its gap is the joint's coordinate r: the length, which
    knows no whole turns, where the joint slides at all.
    """
    if joint.slide == 0.0:
        return joint_angle(joint, i, j, bodies)
    return scale_row(joint_length(joint, i, j, bodies), 1.0 / joint.slide)


def scale_row(row: Row, factor: Scalar) -> Row:
    """Return a row times a number."""
    assert row.gap is not None
    parts = {k: (factor * f, factor * m) for k, (f, m) in row.parts.items()}
    return replace(row, parts=parts, g=factor * row.g, gap=factor * row.gap)


def screw_row(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the row that ties a joint's angle to its length: no length without slide, else an
    angle of `turn / slide` times the length.
    """
    length = joint_length(joint, i, j, bodies)
    if joint.slide == 0.0:
        return length
    angle = joint_angle(joint, i, j, bodies)
    back = scale_row(length, -joint.turn / joint.slide)
    assert angle.gap is not None and back.gap is not None
    parts = {k: (back.parts[k][0], angle.parts[k][1] + back.parts[k][1]) for k in (i, j)}
    return Row(joint.name, parts, angle.g + back.g, angle.gap + back.gap, angle=True)


def joint_rows(joint: Joint, i: int, j: int, bodies: list[Placed], t: Scalar) -> list[Row]:
    """Return the five rows that hold a joint together, and a sixth where its motion is prescribed."""
    a, b, c = across_axis(joint.axis)
    first = bodies[i]
    second = bodies[j]
    A2 = second.R @ a
    B1 = first.R @ b
    C1 = first.R @ c
    rows = [
        perpendicular(f"{joint.name}.bend_{k}", i, j, bodies, u, A2)
        for k, u in zip("bc", (B1, C1), strict=True)
    ]
    for k, u in zip("bc", (B1, C1), strict=True):
        label = f"{joint.name}.point_{k}"
        rows.append(coincidence(label, i, j, bodies, joint.through, u))
    rows.append(replace(screw_row(joint, i, j, bodies), label=f"{joint.name}.screw"))
    if joint.motion is not None:
        at = joint_coordinate(joint, i, j, bodies)
        r, rate, rate_of_rate = joint.motion(t)
        label = f"{joint.name}.motion"
        rows.append(Row(label, at.parts, at.g, at.gap - r, at.angle, rate, rate_of_rate))
    return rows


def loop_rows(loop: Loop, i: int, j: int, bodies: list[Placed]) -> list[Row]:
    """Return the rows that hold two bodies together at a point, along the axes of the base, which is
    the first body.
    """
    return [
        coincidence(f"{loop.name}.{axis}", i, j, bodies, loop.point, bodies[i].R @ n)
        for axis, n in zip("xyz", AXES, strict=True)
    ]


def coupling_row(coupling: Coupling, joints: list[Row], bodies: list[Placed]) -> Row:
    """Return the row of a condition among joints, from the rows of their rates."""
    r = [row.gap for row in joints]
    rates = [
        sum(
            (f @ bodies[k].v + m @ bodies[k].w for k, (f, m) in row.parts.items()),
            0.0,
        )
        for row in joints
    ]
    parts: dict[int, tuple[Array, Array]] = {}
    g = second_rate(coupling.value, r, rates)
    for slope, row in zip(gradient(coupling.value, r), joints, strict=True):
        g = g + slope * row.g
        for k, (f, m) in row.parts.items():
            F, T = parts.get(k, (NONE, NONE))
            parts[k] = (F + slope * f, T + slope * m)
    return Row(coupling.name, parts, g, coupling.value(*r))


def contact_rows(
    contact: Contact, names: tuple[str, ...], i: int, bodies: list[Placed], anchor: Array
) -> list[Row]:
    """Return the rows by which the ground holds a contact; `anchor` is where a pin holds."""
    body = bodies[i]
    world = np.eye(3)
    surface = contact.surface.turned(body.R)
    guide = body.R @ contact.guide
    arm = body.arm(contact.centre) + surface.support(UP)
    armdot = body.turning(arm) + surface.support_rate(UP, cross(UP, body.w))
    axes = contact.frame(world, guide)
    rates = contact.frame_rate(world, NONE, guide, body.turning(guide))
    place = body.x + arm - (anchor if contact.anchored else NONE)
    size = 1.0 if contact.anchored else norm(cross(UP, guide))
    return [
        replace(
            point_velocity(
                f"{contact.name}.{k}",
                i,
                bodies,
                arm,
                armdot,
                axes[k],
                rates[k],
                axes[k] @ place if k in HOLONOMIC else None,
            ),
            size=size,
        )
        for k in contact.directions
        if k in names
    ]


def base_twist(bodies: list[Placed]) -> list[Row]:
    """Return the rows of the base's twist: velocity of the drawing's origin, angular velocity, both
    in the drawing's axes on the base.
    """
    base = bodies[0]
    arm = base.arm(np.zeros(3))
    armdot = base.turning(arm)
    rows = []
    for k in range(3):
        n = base.R[:, k]
        rows.append(point_velocity(f"V{'xyz'[k]}", 0, bodies, arm, armdot, n, base.turning(n)))
    return rows + [Row(f"W{'xyz'[k]}", {0: (NONE, base.R[:, k])}, 0.0) for k in range(3)]


def base_rows(model: Model, bodies: list[Placed], home: Array) -> list[Row]:
    """Return the rows that keep the base in its group: what it may not do, from where it is at
    home.
    """
    base = bodies[0]
    held = set(range(6)) - set(model.twist)
    arm = base.arm(np.zeros(3))
    place = base.x + arm - home
    rows = [
        point_velocity(
            f"base.{'xyz'[k]}", 0, bodies, arm, base.turning(arm), AXES[k], NONE, place[k]
        )
        for k in range(3)
        if k in held
    ]
    R = base.R
    tilt = [(R[2, 1] - R[1, 2]) / 2.0, (R[0, 2] - R[2, 0]) / 2.0, (R[1, 0] - R[0, 1]) / 2.0]
    if 5 not in held:
        tilt[:2] = [R[2, 1], -R[2, 0]]
    return rows + [
        Row(f"base.turn_{'xyz'[k]}", {0: (NONE, R[:, k])}, 0.0, tilt[k])
        for k in range(3)
        if 3 + k in held
    ]


def inertia_forces(body: Placed, gravity: Array) -> tuple[Array, Array]:
    """Return the 6x6 mass matrix of a body for (vdot, wdot') and what acts on it without
    constraints: weight, gyroscopic moment, the fluid.
    """
    own = body.R.T @ body.own  # own axes in the drawing: numbers
    w = body.own.T @ body.w
    J = own.T @ body.body.inertia @ own
    M = np.zeros((6, 6), dtype=object)
    M[:3, :3] = body.body.mass * np.eye(3)
    M[3:, 3:] = J
    Q = np.concatenate([body.body.mass * gravity, -cross(w, J @ w)])
    added = body.body.added
    drag = body.body.drag
    if added is None and drag is None:
        return array(M), array(Q)
    V = body.R.T @ body.v
    W = body.R.T @ body.w
    to_origin = hat(body.body.com)
    pull = np.vstack([np.hstack([body.R.T, to_origin @ own]), np.hstack([np.zeros((3, 3)), own])])
    eta = np.concatenate([V + to_origin @ W, W])
    wrench = array([0.0] * 6)
    if added is not None:
        M = M + pull.T @ added @ pull
        drift = np.concatenate([cross(V, W), np.zeros(3)])
        wrench = wrench + added @ drift - ad(eta).T @ (added @ eta)
    if drag is not None:
        wrench = wrench + drag @ eta
    return array(M), array(Q - pull.T @ wrench)


@dataclass(frozen=True, slots=True, eq=False)
class AbsoluteEquations:
    """All that the saddle-point system is made of, for y = (all v, all w').

    `rows` are the constraints, `user` the rows of the user's speeds (base twist, joint rates), the
    gaps of the latter are the joint coordinates.
    """

    M: list[Array]
    Q: list[Array]
    rows: list[Row]
    user: list[Row]
    bodies: list[Placed]


def equations(
    model: Model,
    mode: Mode,
    bodies: list[Placed],
    t: Scalar,
    pushes: Array,
    anchors: Array,
    home: Array,
) -> AbsoluteEquations:
    """Return the equations of a tree of placed bodies, over any scalar."""
    place = {b.name: k for k, b in enumerate(model.bodies)}
    rows = base_rows(model, bodies, home)
    user = base_twist(bodies)
    for joint in model.joints:
        i = place[joint.parent]
        j = place[joint.child]
        rows += joint_rows(joint, i, j, bodies, t)
        user.append(joint_coordinate(joint, i, j, bodies))
    for coupling in model.couplings:
        if isinstance(coupling, Loop):
            rows += loop_rows(coupling, place[coupling.other], place[coupling.body], bodies)
        else:
            names = [joint.name for joint in model.joints]
            joints = [user[6 + names.index(name)] for name in coupling.joints]
            rows.append(coupling_row(coupling, joints, bodies))
    pins = [c.name for c in model.pins]
    for contact, (_, status) in zip(model.contacts, mode, strict=True):
        at = 3 * pins.index(contact.name) if contact.name in pins else 0
        anchor = anchors[at : at + 3]
        rows += contact_rows(contact, contact.rows[status], place[contact.body], bodies, anchor)
    M, Q = map(list, zip(*[inertia_forces(b, model.gravity) for b in bodies], strict=True))
    for k, force in enumerate(model.pushes):
        i = place[force.body]
        push = pushes[3 * k : 3 * k + 3]
        f = push if force.frame == "world" else bodies[i].R @ push
        moment = bodies[i].own.T @ cross(bodies[i].arm(force.point), f)
        Q[i] = Q[i] + np.concatenate([f, moment])
    return AbsoluteEquations(M, Q, rows, user, bodies)


def matrix(rows: list[Row], bodies: list[Placed]) -> Array:
    """Return the rows over y = (all v, all w')."""
    n = len(bodies)
    D = np.zeros((len(rows), 6 * n), dtype=object)
    for k, row in enumerate(rows):
        for i, (f, m) in row.parts.items():
            D[k, 3 * i : 3 * i + 3] = f
            D[k, 3 * (n + i) : 3 * (n + i) + 3] = bodies[i].own.T @ m
    return array(D).reshape(len(rows), 6 * n)
