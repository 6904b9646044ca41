"""Constraint rows of joints and contacts, and inertia forces of bodies, in absolute coordinates.

All functions accept any scalar type. A row is a linear form of the velocities of bodies. It stores the
convective term of its rate, so that accelerations satisfy the same form plus this term.
"""

from dataclasses import dataclass, replace

import numpy as np

from draisine.algebra.jet import jet_gradient, second_rate
from draisine.algebra.lie import ad, cross, hat
from draisine.algebra.scalar import Array, Scalar, array, atan2, is_zero, norm
from draisine.algebra.trace import Expr
from draisine.errors import ModelError
from draisine.mechanics.constraints import Mode
from draisine.mechanics.kinematics import VERTICAL
from draisine.model import HOLONOMIC, Body, Contact, Coupling, Joint, Loop, Model

WORLD_AXES = np.eye(3)

ZERO_VECTOR = np.zeros(3)


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Position, velocity and orientation of one body at one instant, in world axes."""

    body: Body
    x: Array  # position of the centre of mass, m
    v: Array  # velocity of the centre of mass, m/s
    w: Array  # angular velocity, rad/s
    R: Array  # rotation from the axes of the zero configuration to world axes, (3, 3)
    own: Array  # rotation from the axes of w' (angular velocity in body axes) to world axes, (3, 3)

    def arm(self, point: Array) -> Array:
        """Return the vector (m, world axes) from the centre of mass to a point whose position is
        given in the zero configuration.
        """
        return self.R @ (point - self.body.com)

    def cross_with_rotation(self, r: Array) -> Array:
        """Return w x r (m/s), the time derivative of a vector r (m) fixed to the body with angular
        velocity w.
        """
        return cross(self.w, r)


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """Linear form of the body velocities, the sum of `f.v + m.w` over bodies.

    Its time derivative is the same form of the accelerations plus g. As a constraint, the form
    equals b.
    """

    label: str
    parts: dict[int, tuple[Array, Array]]  # coefficients (f, m) by index of the body, world axes
    g: Scalar  # convective term of the time derivative
    gap: Scalar | None = None  # position residual of a holonomic row
    angle: bool = False  # whether the gap is an angle, defined modulo 2 pi
    b: Scalar = 0.0  # prescribed value of the form
    c: Scalar = 0.0  # time derivative of the prescribed value
    size: Scalar = 1.0  # length of the vector that was normalised; 0 if the direction is undefined


def common_point_row(
    label: str, i: int, j: int, bodies: list[Placed], point: Array, direction: Array
) -> Row:
    """Return the constraint row of `direction . (A_j - A_i)`, by which a point A of the zero
    configuration stays common to bodies i and j.

    The direction is fixed to body i.
    """
    first = bodies[i]
    second = bodies[j]
    r1 = first.arm(point)
    r2 = second.arm(point)
    separation = second.x + r2 - first.x - r1
    velocity1 = first.cross_with_rotation(r1)
    velocity2 = second.cross_with_rotation(r2)
    g = direction @ (second.cross_with_rotation(velocity2) - first.cross_with_rotation(velocity1))
    ndot = first.cross_with_rotation(direction)
    g = (
        g
        + 2.0 * (ndot @ (second.v + velocity2 - first.v - velocity1))
        + first.cross_with_rotation(ndot) @ separation
    )
    return Row(
        label,
        {i: (-direction, -cross(r1 + separation, direction)), j: (direction, cross(r2, direction))},
        g,
        direction @ separation,
    )


def perpendicular_row(label: str, i: int, j: int, bodies: list[Placed], u: Array, w: Array) -> Row:
    """Return the constraint row of the scalar product `u . w` of a vector u fixed to body i and a
    vector w fixed to body j (world axes).
    """
    first = bodies[i]
    second = bodies[j]
    udot = first.cross_with_rotation(u)
    wdot = second.cross_with_rotation(w)
    g = (
        first.cross_with_rotation(udot) @ w
        + 2.0 * (udot @ wdot)
        + u @ second.cross_with_rotation(wdot)
    )
    m = cross(u, w)
    return Row(label, {i: (ZERO_VECTOR, m), j: (ZERO_VECTOR, -m)}, g, u @ w)


def point_velocity_row(
    label: str,
    i: int,
    bodies: list[Placed],
    arm: Array,
    armdot: Array,
    direction: Array,
    direction_rate: Array,
    gap: Scalar | None = None,
) -> Row:
    """Return the constraint row of `direction . (v + w x arm)`, the velocity of a material point of
    body i along a direction.

    The point may move over the body (`armdot` is the total rate of the arm), and the direction may
    rotate.
    """
    body = bodies[i]
    g = direction @ body.cross_with_rotation(armdot) + direction_rate @ (
        body.v + body.cross_with_rotation(arm)
    )
    return Row(label, {i: (direction, cross(arm, direction))}, g, gap)


def orthonormal_axes(axis: Array) -> tuple[Array, Array, Array]:
    """Return three right-handed orthonormal vectors (a, b, c) with a along an axis.

    The components of the axis may be symbols if one of them is zero.
    """
    a = axis / norm(axis)
    zeros = [k for k in range(3) if is_zero(a[k])]
    if zeros:
        k = zeros[0]
    elif any(isinstance(x, Expr) for x in a):
        raise ModelError(
            "An axis with three symbolic components has no simple perpendicular direction. Turn the "
            "drawing so that the axis lies in a coordinate plane, or use numbers."
        )
    else:
        k = min(range(3), key=lambda k: abs(float(a[k])))
    b = WORLD_AXES[k] - a[k] * a
    b = b / norm(b)
    return a, b, cross(a, b)


def joint_angle_row(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the angular rate of a joint as a linear form; its position residual is the angle
    (rad).
    """
    a, b, c = orthonormal_axes(joint.axis)
    first = bodies[i]
    second = bodies[j]
    axis = first.R @ a
    reference = second.R @ b
    angle = atan2(reference @ (first.R @ c), reference @ (first.R @ b))
    g = first.cross_with_rotation(axis) @ (second.w - first.w)
    return Row(joint.name, {i: (ZERO_VECTOR, -axis), j: (ZERO_VECTOR, axis)}, g, angle, angle=True)


def joint_length_row(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the sliding rate of a joint as a linear form; its position residual is the length (m)."""
    axis = bodies[i].R @ (joint.axis / norm(joint.axis))
    return common_point_row(joint.name, i, j, bodies, joint.through, axis)


def joint_coordinate_row(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the rate of a joint as a linear form; its position residual is the joint coordinate r.

    For helical joints r follows from the length, which is unique, unlike the angle.
    """
    if joint.slide == 0.0:
        return joint_angle_row(joint, i, j, bodies)
    return scale_row(joint_length_row(joint, i, j, bodies), 1.0 / joint.slide)


def scale_row(row: Row, factor: Scalar) -> Row:
    """Return a constraint row with all its terms multiplied by a number."""
    assert row.gap is not None
    parts = {k: (factor * f, factor * m) for k, (f, m) in row.parts.items()}
    return replace(row, parts=parts, g=factor * row.g, gap=factor * row.gap)


def screw_row(joint: Joint, i: int, j: int, bodies: list[Placed]) -> Row:
    """Return the constraint row that couples angle and length of a joint.

    For a hinge the length is zero; otherwise the angle is `turn / slide` times the length.
    """
    length = joint_length_row(joint, i, j, bodies)
    if joint.slide == 0.0:
        return length
    angle = joint_angle_row(joint, i, j, bodies)
    length_term = scale_row(length, -joint.turn / joint.slide)
    assert angle.gap is not None and length_term.gap is not None
    parts = {
        k: (length_term.parts[k][0], angle.parts[k][1] + length_term.parts[k][1]) for k in (i, j)
    }
    return Row(joint.name, parts, angle.g + length_term.g, angle.gap + length_term.gap, angle=True)


def joint_constraint_rows(
    joint: Joint, i: int, j: int, bodies: list[Placed], t: Scalar
) -> list[Row]:
    """Return the five constraint rows of a joint, and a sixth if its motion is prescribed."""
    a, b, c = orthonormal_axes(joint.axis)
    first = bodies[i]
    second = bodies[j]
    A2 = second.R @ a
    B1 = first.R @ b
    C1 = first.R @ c
    rows = [
        perpendicular_row(f"{joint.name}.bend_{k}", i, j, bodies, u, A2)
        for k, u in zip("bc", (B1, C1), strict=True)
    ]
    for k, u in zip("bc", (B1, C1), strict=True):
        label = f"{joint.name}.point_{k}"
        rows.append(common_point_row(label, i, j, bodies, joint.through, u))
    rows.append(replace(screw_row(joint, i, j, bodies), label=f"{joint.name}.screw"))
    if joint.motion is not None:
        coordinate = joint_coordinate_row(joint, i, j, bodies)
        r, rate, rate_of_rate = joint.motion(t)
        label = f"{joint.name}.motion"
        rows.append(
            Row(
                label,
                coordinate.parts,
                coordinate.g,
                coordinate.gap - r,
                coordinate.angle,
                rate,
                rate_of_rate,
            )
        )
    return rows


def loop_rows(loop: Loop, i: int, j: int, bodies: list[Placed]) -> list[Row]:
    """Return the constraint rows of a closed loop: a common point of two bodies, along the axes of
    body i.
    """
    return [
        common_point_row(f"{loop.name}.{axis}", i, j, bodies, loop.point, bodies[i].R @ n)
        for axis, n in zip("xyz", WORLD_AXES, strict=True)
    ]


def coupling_row(coupling: Coupling, joints: list[Row], bodies: list[Placed]) -> Row:
    """Return the constraint row of a coupling of joints, a combination of the linear forms of their
    rates.
    """
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
    for slope, row in zip(jet_gradient(coupling.value, r), joints, strict=True):
        g = g + slope * row.g
        for k, (f, m) in row.parts.items():
            F, T = parts.get(k, (ZERO_VECTOR, ZERO_VECTOR))
            parts[k] = (F + slope * f, T + slope * m)
    return Row(coupling.name, parts, g, coupling.value(*r))


def contact_constraint_rows(
    contact: Contact, names: tuple[str, ...], i: int, bodies: list[Placed], anchor: Array
) -> list[Row]:
    """Return the constraint rows of a contact along its blocked directions; `anchor` is the
    position of a pin.
    """
    body = bodies[i]
    world = np.eye(3)
    surface = contact.surface.turned(body.R)
    guide = body.R @ contact.guide
    arm = body.arm(contact.centre) + surface.support(VERTICAL)
    armdot = body.cross_with_rotation(arm) + surface.support_rate(VERTICAL, cross(VERTICAL, body.w))
    axes = contact.frame(world, guide)
    rates = contact.frame_rate(world, ZERO_VECTOR, guide, body.cross_with_rotation(guide))
    position = body.x + arm - (anchor if contact.anchored else ZERO_VECTOR)
    size = 1.0 if contact.anchored else norm(cross(VERTICAL, guide))
    return [
        replace(
            point_velocity_row(
                f"{contact.name}.{k}",
                i,
                bodies,
                arm,
                armdot,
                axes[k],
                rates[k],
                axes[k] @ position if k in HOLONOMIC else None,
            ),
            size=size,
        )
        for k in contact.directions
        if k in names
    ]


def base_twist_rows(bodies: list[Placed]) -> list[Row]:
    """Return the base's twist as six linear forms: velocity of the base's origin, and angular
    velocity.

    Both are in the base's axes.
    """
    base = bodies[0]
    arm = base.arm(np.zeros(3))
    armdot = base.cross_with_rotation(arm)
    rows = []
    for k in range(3):
        n = base.R[:, k]
        rows.append(
            point_velocity_row(
                f"V{'xyz'[k]}", 0, bodies, arm, armdot, n, base.cross_with_rotation(n)
            )
        )
    return rows + [Row(f"W{'xyz'[k]}", {0: (ZERO_VECTOR, base.R[:, k])}, 0.0) for k in range(3)]


def base_rows(model: Model, bodies: list[Placed], home: Array) -> list[Row]:
    """Return the constraint rows that exclude the motions outside the motion group of the base,
    relative to its position `home` (m).
    """
    base = bodies[0]
    blocked = set(range(6)) - set(model.twist)
    arm = base.arm(np.zeros(3))
    position = base.x + arm - home
    rows = [
        point_velocity_row(
            f"base.{'xyz'[k]}",
            0,
            bodies,
            arm,
            base.cross_with_rotation(arm),
            WORLD_AXES[k],
            ZERO_VECTOR,
            position[k],
        )
        for k in range(3)
        if k in blocked
    ]
    R = base.R
    tilt = [(R[2, 1] - R[1, 2]) / 2.0, (R[0, 2] - R[2, 0]) / 2.0, (R[1, 0] - R[0, 1]) / 2.0]
    if 5 not in blocked:
        tilt[:2] = [R[2, 1], -R[2, 0]]
    return rows + [
        Row(f"base.turn_{'xyz'[k]}", {0: (ZERO_VECTOR, R[:, k])}, 0.0, tilt[k])
        for k in range(3)
        if 3 + k in blocked
    ]


def inertia_forces(body: Placed, gravity: Array) -> tuple[Array, Array]:
    """Return mass matrix (6, 6) and applied force (6,) of a free body, for (vdot, wdot').

    The force consists of weight, gyroscopic moment, added mass and drag of the fluid.
    """
    axes = body.R.T @ body.own  # axes of w' in the zero configuration; they are constant
    w = body.own.T @ body.w
    J = axes.T @ body.body.inertia @ axes
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
    to_twist = np.vstack(
        [np.hstack([body.R.T, to_origin @ axes]), np.hstack([np.zeros((3, 3)), axes])]
    )
    eta = np.concatenate([V + to_origin @ W, W])
    wrench = array([0.0] * 6)
    if added is not None:
        M = M + to_twist.T @ added @ to_twist
        drift = np.concatenate([cross(V, W), np.zeros(3)])
        wrench = wrench + added @ drift - ad(eta).T @ (added @ eta)
    if drag is not None:
        wrench = wrench + drag @ eta
    return array(M), array(Q - to_twist.T @ wrench)


@dataclass(frozen=True, slots=True, eq=False)
class AbsoluteEquations:
    """Saddle-point system for the speeds y = (all v, all w') of all bodies."""

    M: list[Array]  # mass matrix of each body, (6, 6)
    Q: list[Array]  # applied force of each body, (6,)
    rows: list[Row]  # constraint rows of joints, contacts, couplings and the base
    # The user's speeds (base twist, joint rates) as linear forms of y; their position residuals are
    # the joint coordinates
    user: list[Row]
    bodies: list[Placed]


def absolute_equations(
    model: Model,
    mode: Mode,
    bodies: list[Placed],
    t: Scalar,
    pushes: Array,
    anchors: Array,
    home: Array,
) -> AbsoluteEquations:
    """Return the equations of motion of a tree of bodies in absolute coordinates, over any scalar type.

    `pushes` contains three components (N) per external force, `anchors` the position (m) of each pin; `home`
    is the base's position (m).
    """
    place = {b.name: k for k, b in enumerate(model.bodies)}
    rows = base_rows(model, bodies, home)
    user_rows = base_twist_rows(bodies)
    for joint in model.joints:
        i = place[joint.parent]
        j = place[joint.child]
        rows += joint_constraint_rows(joint, i, j, bodies, t)
        user_rows.append(joint_coordinate_row(joint, i, j, bodies))
    for coupling in model.couplings:
        if isinstance(coupling, Loop):
            rows += loop_rows(coupling, place[coupling.other], place[coupling.body], bodies)
        else:
            names = [joint.name for joint in model.joints]
            joints = [user_rows[6 + names.index(name)] for name in coupling.joints]
            rows.append(coupling_row(coupling, joints, bodies))
    pins = [c.name for c in model.pins]
    for contact, (_, status) in zip(model.contacts, mode, strict=True):
        offset = 3 * pins.index(contact.name) if contact.name in pins else 0
        anchor = anchors[offset : offset + 3]
        rows += contact_constraint_rows(
            contact, contact.rows[status], place[contact.body], bodies, anchor
        )
    M, Q = map(list, zip(*[inertia_forces(b, model.gravity) for b in bodies], strict=True))
    for k, force in enumerate(model.pushes):
        i = place[force.body]
        push = pushes[3 * k : 3 * k + 3]
        f = push if force.frame == "world" else bodies[i].R @ push
        moment = bodies[i].own.T @ cross(bodies[i].arm(force.point), f)
        Q[i] = Q[i] + np.concatenate([f, moment])
    return AbsoluteEquations(M, Q, rows, user_rows, bodies)


def row_matrix(rows: list[Row], bodies: list[Placed]) -> Array:
    """Return linear forms as a matrix (rows, 6 bodies) that acts on y = (all v, all w')."""
    n = len(bodies)
    D = np.zeros((len(rows), 6 * n), dtype=object)
    for k, row in enumerate(rows):
        for i, (f, m) in row.parts.items():
            D[k, 3 * i : 3 * i + 3] = f
            D[k, 3 * (n + i) : 3 * (n + i) + 3] = bodies[i].own.T @ m
    return array(D).reshape(len(rows), 6 * n)
