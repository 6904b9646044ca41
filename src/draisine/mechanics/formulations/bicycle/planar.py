"""The bicycle on the fibre SE(2) x S: remarks 2.10 to 2.12 of Mauny's thesis (2018).

The base is the contact frame of the rear wheel: origin C0, first axis along the wheel's track, third axis up.
It moves in the plane of the ground. Roll phi0 (positive to the left, about w0, which points backward) and
pitch pi - alpha0 (positive nose down, about the rear axle) are shape coordinates like the joints; the rear
wheel touches the ground by construction. There are 3 + 2 + 3 speeds under 5 constraints: two at C0, three at
the contact point C1 of the front wheel, whose angle alpha1 on the wheel is (2.27), with the sign `+ sin(r1)
tan(phi0)`. The reduced dynamics is the projection onto the null space of the constraints, with the partial
velocities of each body from the chain of rotations that leads to it.

The ground's normal force at C0 does no work in these speeds. It follows from the balance of all vertical
forces.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from draisine.algebra.lie import (
    cross,
    hat,
    rot_about,
    rot_x,
    rot_y,
    rot_z,
    rotation,
    yaw_lean_pitch,
)
from draisine.algebra.scalar import Array, Floats, Scalar, array, atan2, cos, norm, sin
from draisine.algebra.trace import Graph
from draisine.errors import ConfigurationError, RedundancyError, SingularityError
from draisine.mechanics.formulations._plug import (
    Accelerate,
    Configured,
    Realise,
    check_inputs,
    check_numeric_model,
    interpret,
    joint_torques,
    realise_arrays,
    trace_symbols,
)
from draisine.mechanics.formulations.bicycle._drawing import (
    AXLE_DIRECTION,
    Bicycle,
    extract_bicycle,
    fork_axes,
)
from draisine.mechanics.kinematics import VERTICAL
from draisine.model import Joint, Model

FORMULATION = "the fibre SE(2) x S of the thesis, for bicycles"
"""Description of the method; the attribute marks this module as a formulation."""

# Indices of the generalised coordinates and speeds: position and heading of the contact frame, then
# the shape.
X = 0
Y = 1
YAW = 2
ROLL = 3
PITCH = 4
FIRST_JOINT = 5
"""Index of the first joint; the joints follow roll and pitch."""

FORWARD = np.array([1.0, 0.0, 0.0])
"""Unit vector along the track of the rear wheel, in the contact frame of that wheel."""


@dataclass(frozen=True, slots=True, eq=False)
class CarriedBody:
    """Rigid frame of the kinematic chain, expressed in the contact frame of the rear wheel."""

    R: Array  # axes as columns, (3, 3)
    o: Array  # position of the origin, m
    at: Array  # position of the origin in the zero configuration, m
    turns: Array  # partial angular velocities, one column per speed, (3, n)
    moves: Array  # partial velocities of the origin, one column per speed, (3, n)
    w: Array  # angular velocity, rad/s
    alpha: Array  # angular acceleration at constant speeds, rad/s2
    a: Array  # acceleration of the origin at constant speeds, m/s2

    def vector_to(self, point: Array) -> Array:
        """Return the vector from the origin to a point that is given in the zero configuration (m)."""
        return self.R @ (point - self.at)

    def partial_velocities(self, arm: Array) -> Array:
        """Return the partial velocities (3, n) of the material point at `arm` (m) from the origin."""
        return self.moves - hat(arm) @ self.turns

    def convective_acceleration(self, arm: Array, arm_rate: Array) -> Array:
        """Return the acceleration at constant speeds of the material point at `arm` (m) from the
        origin; `arm_rate` is the rate of `arm`.
        """
        return self.a + cross(self.alpha, arm) + cross(self.w, arm_rate)


def make_contact_frame(speeds: Array) -> CarriedBody:
    """Return the contact frame of the rear wheel for given speeds."""
    n = len(speeds)
    moves = np.zeros((3, n))
    turns = np.zeros((3, n))
    moves[0, X] = moves[1, Y] = turns[2, YAW] = 1.0
    w = VERTICAL * speeds[YAW]
    a = cross(w, array([speeds[X], speeds[Y], 0.0]))
    return CarriedBody(np.eye(3), np.zeros(3), np.zeros(3), turns, moves, w, np.zeros(3), a)


def turn_frame(
    previous: CarriedBody,
    joint: int,
    axis: Array,
    pivot: Array,
    pivot_rate: Array,
    rotation: Array,
    rate: Scalar,
) -> CarriedBody:
    """Return the frame rotated about an axis through the point at `pivot` (m) from the previous origin."""
    column = np.zeros((1, previous.turns.shape[1]))
    column[0, joint] = 1.0
    return CarriedBody(
        rotation,
        previous.o + pivot,
        pivot_rate,
        previous.turns + axis[:, None] * column,
        previous.partial_velocities(pivot),
        previous.w + axis * rate,
        previous.alpha + cross(previous.w, axis) * rate,
        previous.convective_acceleration(pivot, cross(previous.w, pivot)),
    )


def slide_frame(
    previous: CarriedBody, joint: int, axis: Array, r: Scalar, rate: Scalar
) -> CarriedBody:
    """Return the frame displaced by r (m) along an axis."""
    column = np.zeros((1, previous.turns.shape[1]))
    column[0, joint] = 1.0
    d = axis * r
    a = (
        previous.convective_acceleration(d, cross(previous.w, d))
        + 2.0 * cross(previous.w, axis) * rate
    )
    return CarriedBody(
        previous.R,
        previous.o + d,
        previous.at,
        previous.turns,
        previous.partial_velocities(d) + axis[:, None] * column,
        previous.w,
        previous.alpha,
        a,
    )


def cross_joint(
    previous: CarriedBody, joint: Joint, joint_index: int, r: Scalar, rate: Scalar
) -> CarriedBody:
    """Return the frame of the body after a joint with coordinate r and given rate."""
    a = joint.axis / norm(joint.axis)
    axis = previous.R @ a
    slid_frame = slide_frame(previous, joint_index, axis * joint.slide, r, rate)
    d = slid_frame.vector_to(joint.through)
    R = slid_frame.R @ rot_about(a, joint.turn * r)
    return turn_frame(slid_frame, joint_index, axis * joint.turn, d, joint.through, R, rate)


def front_contact_angle(bike: Bicycle, phi0: Scalar, alpha0: Scalar, r1: Scalar) -> Scalar:
    """Return alpha1 (rad), the angle of the contact point C1 on the front wheel from the steer
    axis, eq. (2.27) of Mauny (2018).
    """
    y, x = _front_contact_direction(bike, phi0, alpha0, r1)
    return atan2(y, x)


def _front_contact_direction(
    bike: Bicycle, phi0: Scalar, alpha0: Scalar, r1: Scalar
) -> tuple[Scalar, Scalar]:
    """Return sine and cosine of alpha1, times a common positive factor."""
    tilt = alpha0 + bike.mu
    return cos(r1) * sin(tilt) + sin(r1) * sin(phi0) / cos(phi0), cos(tilt)


def front_contact_angle_rate(
    bike: Bicycle,
    phi0: Scalar,
    alpha0: Scalar,
    r1: Scalar,
    phi0dot: Scalar,
    alpha0dot: Scalar,
    r1dot: Scalar,
) -> Scalar:
    """Return the time derivative of the front contact angle alpha1 (rad/s), cf. eq. (2.31) of Mauny
    (2018).
    """
    a, b = _front_contact_direction(bike, phi0, alpha0, r1)
    tilt = alpha0 + bike.mu
    c = cos(phi0)
    adot = cos(r1) * cos(tilt) * alpha0dot + sin(r1) / (c * c) * phi0dot
    adot = adot + (cos(r1) * sin(phi0) / c - sin(r1) * sin(tilt)) * r1dot
    bdot = -(sin(tilt) * alpha0dot)
    return (adot * b - bdot * a) / (a * a + b * b)


def front_gap(bike: Bicycle, phi0: Scalar, alpha0: Scalar, r1: Scalar) -> Scalar:
    """Return the height (m) of the front contact point C1 above the rear one C0, eq. (2.26) of
    Mauny (2018); zero if both wheels touch the ground.

    Corrections of the printed equations: `-h3 cos(alpha0)`, `-h3 sin(alpha0)`, and `rise` for h2 -
    h3.
    """
    alpha1 = front_contact_angle(bike, phi0, alpha0, r1)
    s_mu = sin(bike.mu)
    c_mu = cos(bike.mu)
    s_r = sin(r1)
    c_r = cos(r1)
    h2 = bike.h2 - bike.k2
    h3 = bike.h3 - bike.k3
    s_a = h2 * sin(alpha1)
    c_a = h2 * cos(alpha1)
    N0 = array([-cos(phi0) * cos(alpha0), -cos(phi0) * sin(alpha0), -sin(phi0)])
    p = array(
        [
            s_mu * c_r * s_a
            + c_mu * c_a
            - h3 * cos(alpha0)
            + bike.rise
            + bike.l2 * s_mu * c_mu * (c_r - 1.0),
            c_mu * c_r * s_a
            - s_mu * c_a
            - h3 * sin(alpha0)
            + bike.l1
            + bike.l2 * (c_r * c_mu * c_mu + s_mu * s_mu),
            s_r * s_a + bike.l2 * c_mu * s_r,
        ]
    )
    return N0 @ p - bike.k2 + bike.k3


@dataclass(frozen=True, slots=True, eq=False)
class PlanarEquations:
    """Terms of the dynamics `M vdot + F = C' lam` with the constraints `C v = b`, `C vdot = c`.

    The total vertical force of the ground is `lift @ vdot + weight`.
    """

    M: Array
    F: Array
    C: Array
    c: list[Scalar]
    b: list[Scalar]
    lift: Array
    weight: Scalar
    along: Array  # direction of the front wheel's track
    gap: Scalar  # gap of the front wheel, m
    frame: CarriedBody  # pose and motion of the bicycle's base frame


@dataclass(frozen=True, slots=True, eq=False)
class PlanarFrames:
    """Frames of all bodies for given coordinates and speeds."""

    lean: CarriedBody  # frame of the leaned rear wheel's plane
    hub_offset: Array  # vector from the tyre's centre line to the rear hub, m
    bodies: dict[str, CarriedBody]  # by name


def planar_frames(bike: Bicycle, coordinates: Array, speeds: Array) -> PlanarFrames:
    """Return the frames of all bodies in the contact frame of the rear wheel."""
    phi0 = coordinates[ROLL]
    pitch = coordinates[PITCH]
    lean = rot_x(-phi0)
    hub_offset = (bike.h3 - bike.k3) * (lean @ VERTICAL)
    lean_frame = turn_frame(
        make_contact_frame(speeds),
        ROLL,
        -FORWARD,
        bike.k3 * VERTICAL,
        np.zeros(3),
        lean,
        speeds[ROLL],
    )
    frame = turn_frame(
        lean_frame,
        PITCH,
        lean @ AXLE_DIRECTION,
        hub_offset,
        bike.rear_hub,
        lean @ rot_y(pitch),
        speeds[PITCH],
    )
    bodies = _place_bodies(bike.model, frame, coordinates[FIRST_JOINT:], speeds[FIRST_JOINT:])
    return PlanarFrames(lean_frame, hub_offset, bodies)


def planar_equations(
    bike: Bicycle, t: Scalar, coordinates: Array, speeds: Array, inputs: Array
) -> PlanarEquations:
    """Return the equations of the bicycle in SE(2) x S, over any scalar type."""
    model = bike.model
    r = coordinates[FIRST_JOINT:]
    rdot = speeds[FIRST_JOINT:]
    phi0 = coordinates[ROLL]
    pitch = coordinates[PITCH]
    placed = planar_frames(bike, coordinates, speeds)
    frames = placed.bodies
    M, F, lift, weight = _free_dynamics(model, frames, rot_z(coordinates[YAW]), r, rdot, inputs)
    rear, rear_drift = _rear_contact_rows(
        bike, frames[bike.axle[0].child], placed.lean, placed.hub_offset
    )
    fork = frames[bike.axle[1].parent]
    wheel = frames[bike.axle[1].child]
    front, front_drift = _front_contact_rows(bike, fork, wheel, coordinates, speeds)
    motions = [
        (k, joint.motion(t)) for k, joint in enumerate(model.joints) if joint.motion is not None
    ]
    motion_rows = [np.eye(len(speeds))[FIRST_JOINT + k] for k, _ in motions]
    track = cross(fork.R @ AXLE_DIRECTION, VERTICAL)
    return PlanarEquations(
        M,
        F,
        array([list(row) for row in [*rear[:2], *front, *motion_rows]]),
        [-x for x in [*rear_drift[:2], *front_drift]] + [motion[2] for _, motion in motions],
        [0.0] * 5 + [motion[1] for _, motion in motions],
        lift,
        weight,
        track / norm(track),
        front_gap(bike, phi0, np.pi - pitch, r[bike.steer]),
        frames[model.bodies[0].name],
    )


def _rear_contact_rows(
    bike: Bicycle, wheel: CarriedBody, lean_frame: CarriedBody, hub_offset: Array
) -> tuple[Array, Array]:
    """Return partial velocities and drift of the material point of the rear wheel at the rear
    contact C0.

    Their vertical component vanishes identically.
    """
    hub = wheel.vector_to(bike.rear_hub)
    arm = hub - hub_offset - bike.k3 * VERTICAL
    armdot = cross(wheel.w, hub) - cross(lean_frame.w, hub_offset)
    return wheel.partial_velocities(arm), wheel.convective_acceleration(arm, armdot)


def _front_contact_rows(
    bike: Bicycle, fork: CarriedBody, wheel: CarriedBody, coordinates: Array, speeds: Array
) -> tuple[Array, Array]:
    """Return partial velocities and drift of the material point of the front wheel at the front
    contact C1.

    The drift includes the motion of C1 along the rim.
    """
    rho, rho_rate = front_contact_vector(bike, fork, coordinates, speeds)
    hub = wheel.vector_to(bike.front_hub)
    arm = hub + rho - bike.k2 * VERTICAL
    return wheel.partial_velocities(arm), wheel.convective_acceleration(
        arm, cross(wheel.w, hub) + rho_rate
    )


def front_contact_vector(
    bike: Bicycle, fork: CarriedBody, coordinates: Array, speeds: Array
) -> tuple[Array, Array]:
    """Return the vector (m) from the front hub to the contact point C1 on the wheel's ring, and its
    rate (m/s).
    """
    steer = FIRST_JOINT + bike.steer
    arguments = coordinates[ROLL], np.pi - coordinates[PITCH], coordinates[steer]
    alpha1 = front_contact_angle(bike, *arguments)
    rate = front_contact_angle_rate(bike, *arguments, speeds[ROLL], -speeds[PITCH], speeds[steer])
    s1, _, a1 = (fork.R @ x for x in fork_axes(bike.mu))
    ring = bike.h2 - bike.k2
    # Position (m) of the front contact point C1 relative to the front hub, eq. (2.16) of Mauny
    # (2018)
    rho = ring * (sin(alpha1) * s1 + cos(alpha1) * a1)
    rim_velocity = ring * (cos(alpha1) * s1 - sin(alpha1) * a1) * rate
    return rho, cross(fork.w, rho) + rim_velocity


def _place_bodies(model: Model, base: CarriedBody, r: Array, rdot: Array) -> dict[str, CarriedBody]:
    """Return the frames of all bodies by name."""
    frames = {model.bodies[0].name: base}
    while len(frames) < len(model.bodies):
        for k, joint in enumerate(model.joints):
            if joint.parent in frames and joint.child not in frames:
                frames[joint.child] = cross_joint(
                    frames[joint.parent], joint, FIRST_JOINT + k, r[k], rdot[k]
                )
    return frames


def _free_dynamics(
    model: Model,
    frames: dict[str, CarriedBody],
    heading: Array,
    r: Array,
    rdot: Array,
    inputs: Array,
) -> tuple[Array, Array, Array, Scalar]:
    """Return M and F of `M vdot + F = 0` without constraints, followed by lift and weight."""
    n = FIRST_JOINT + len(model.joints)
    gravity = heading.T @ model.gravity
    M = np.zeros((n, n))
    F = np.zeros(n)
    lift = np.zeros(n)
    weight = 0.0
    for body in model.bodies:
        frame = frames[body.name]
        d = frame.vector_to(body.com)
        V = frame.partial_velocities(d)
        a = frame.convective_acceleration(d, cross(frame.w, d))
        J = frame.R @ body.inertia @ frame.R.T
        M = M + body.mass * (V.T @ V) + frame.turns.T @ J @ frame.turns
        moment = J @ frame.alpha + cross(frame.w, J @ frame.w)
        F = F + V.T @ (body.mass * (a - gravity)) + frame.turns.T @ moment
        lift = lift + body.mass * V[2]
        weight = weight + body.mass * (a - gravity)[2]
    joints = len(model.joints)
    F = F - np.concatenate([np.zeros(FIRST_JOINT), joint_torques(model, inputs, r, rdot)])
    for k, force in enumerate(model.pushes):
        frame = frames[force.body]
        push = inputs[joints + 3 * k : joints + 3 * k + 3]
        f = heading.T @ push if force.frame == "world" else frame.R @ push
        F = F - frame.partial_velocities(frame.vector_to(force.point)).T @ f
        weight = weight - f[2]
    return M, F, lift, weight


def planar_symbols(model: Model, graph: Graph | None = None) -> dict[str, Array]:
    """Return the symbols of time, coordinates, speeds and inputs, in a given or a new graph."""
    n = FIRST_JOINT + len(model.joints)
    sizes = {"t": 1, "coordinates": n, "speeds": n, "inputs": len(model.inputs)}
    return trace_symbols(sizes, graph)


class Planar:
    """Equations of motion of a bicycle whose rear contact frame moves in the ground plane, on SE(2) x S.

    States that violate the constraints by more than `tolerance` (m, or relative to the speeds) raise an
    error.
    """

    def __init__(self, model: Model, realise: Realise = interpret, tolerance: float = 1e-8) -> None:
        self.bike = extract_bicycle(check_numeric_model(model))
        self.model = model
        self.tolerance = tolerance
        symbols = planar_symbols(model)
        terms = planar_equations(self.bike, symbols["t"][0], *list(symbols.values())[1:])
        outputs = {x.name: getattr(terms, x.name) for x in fields(terms) if x.name != "frame"}
        frame = terms.frame
        origin = frame.vector_to(np.zeros(3))
        outputs |= {"turns": frame.turns, "moves": frame.partial_velocities(origin), "R": frame.R}
        outputs |= {
            "a": frame.convective_acceleration(origin, cross(frame.w, origin)),
            "alpha": frame.alpha,
        }
        outputs |= {"origin": frame.o + origin}
        self.evaluate = realise_arrays(realise, symbols, outputs)
        self.independent = self._choose_independent()

    def _choose_independent(self) -> list[int]:
        """Return the independent speeds: roll, steer, rear wheel and additional joints.

        Prescribed joints are not independent.
        """
        bike = self.bike
        joints = self.model.joints
        other_joints = [
            k for k in range(len(joints)) if k not in (bike.steer, bike.rear, bike.front)
        ]
        free = [bike.steer, bike.rear, *other_joints]
        prescribed = [k for k, joint in enumerate(joints) if joint.motion is not None]
        if bike.rear in prescribed and bike.front in prescribed:
            raise RedundancyError(
                f"The joints {joints[bike.rear].name!r} and {joints[bike.front].name!r} are both "
                "prescribed, but both wheels roll as far as the bicycle moves. Free one of them."
            )
        dependent = {bike.rear if k == bike.front else k for k in prescribed}
        return [ROLL, *[FIRST_JOINT + k for k in free if k not in dependent]]

    def compute_arrays(self, t: float, coordinates: Floats, speeds: Floats, inputs: Floats) -> Any:
        """Return the terms of the equations as float arrays by name."""
        # Closer than 1e-7 rad to a wheel that lies flat, the heading loses half of its digits.
        if abs(np.cos(coordinates[ROLL])) < 1e-7:
            raise SingularityError(
                "The rear wheel lies flat, so that the contact frame has no heading."
            )
        return self.evaluate(t=[t], coordinates=coordinates, speeds=speeds, inputs=inputs)

    def enter(self, state: Configured) -> tuple[Floats, Floats]:
        """Return coordinates and speeds for a state in the user's coordinates (base pose, joint
        coordinates, speeds).

        Height and vertical speed of the rear wheel are checked: it must stay on the ground.
        """
        bike = self.bike
        R = np.asarray(rotation(np.asarray(state.q, float)), float)
        yaw, lean, pitch = yaw_lean_pitch(R)
        coordinates = np.concatenate([[0.0, 0.0, yaw, -lean, pitch], state.r])
        e = np.asarray(rot_x(lean) @ VERTICAL, float)
        # Vector (m) from the rear contact point C0 to the rear hub, in the contact frame
        hub = bike.k3 * VERTICAL + (bike.h3 - bike.k3) * e
        heading = np.asarray(rot_z(yaw), float)
        C0 = state.p + R @ bike.rear_hub - heading @ hub
        coordinates[[X, Y]] = C0[:2]
        # Angular velocity (rad/s) of the base in its axes before pitch: they lean, but do not pitch
        W = np.asarray(rot_y(pitch), float) @ state.v[3:6]
        yaw_rate = W[2] / np.cos(lean)
        pitch_rate = W[1] - yaw_rate * np.sin(lean)
        V = heading.T @ R @ (state.v[:3] + np.cross(state.v[3:6], bike.rear_hub))
        V = (
            V
            - np.cross(VERTICAL * yaw_rate, hub)
            - np.cross(FORWARD * W[0], hub - bike.k3 * VERTICAL)
        )
        speeds = np.concatenate([V[:2], [yaw_rate, -W[0], pitch_rate], state.v[6:]])
        scale = max(1.0, float(np.abs(speeds).max()))
        if abs(C0[2]) > self.tolerance or abs(V[2]) > self.tolerance * scale:
            raise ConfigurationError(
                f"The rear wheel has a gap of {C0[2]:.3g} m and a vertical speed of {V[2]:.3g} m/s. In "
                "SE(2) x S both must be zero."
            )
        return coordinates, speeds

    def solve(self, terms: Any) -> tuple[Floats, Floats]:
        """Return vdot and lam of the reduced dynamics, eqs. (2.9) and (2.11)-(2.12) of Mauny
        (2018).
        """
        M = terms["M"]
        F = terms["F"]
        C = terms["C"]
        c = terms["c"]
        m = len(c)
        k = len(self.independent)
        inverse = np.linalg.inv(self.stack_independent_rows(C))
        H = inverse[:, m:]
        particular = inverse[:, :m] @ c
        udot = np.linalg.solve(H.T @ M @ H, -H.T @ (F + M @ particular)) if k else np.zeros(0)
        vdot = H @ udot + particular
        return vdot, (inverse.T @ (M @ vdot + F))[:m]

    def stack_independent_rows(self, C: Floats) -> Floats:
        """Return the square matrix of constraint rows and selected independent speeds."""
        A = np.vstack([C, np.eye(C.shape[1])[self.independent]])
        if np.linalg.cond(A) > 1e12:
            raise SingularityError(
                "The independent speeds (roll, steer, rear wheel) do not determine the motion in "
                "this configuration."
            )
        return A

    def accelerate(self, t: float, state: Configured, inputs: Any = None) -> tuple[Floats, Floats]:
        """Return vdot and the force of the ground on each contact, N, (2, 3)."""
        values = check_inputs(self.model, state, inputs)
        coordinates, speeds = self.enter(state)
        terms = self.compute_arrays(t, coordinates, speeds, values)
        self._check_constraints(terms, speeds)
        vdot, lam = self.solve(terms)
        R = terms["R"]
        W = state.v[3:6]
        a = terms["moves"] @ vdot + terms["a"]
        alpha = terms["turns"] @ vdot + terms["alpha"]
        twist = np.concatenate([R.T @ a - np.cross(W, state.v[:3]), R.T @ alpha])
        return np.concatenate([twist, vdot[FIRST_JOINT:]]), self._contact_forces(terms, vdot, lam)

    def _check_constraints(self, terms: Any, speeds: Floats) -> None:
        """Raise an error if a state violates the constraints by more than the tolerance."""
        violation = terms["C"] @ speeds - terms["b"]
        worst = int(np.argmax(np.abs(violation)))
        scale = max(1.0, float(np.abs(speeds).max()))
        lifted = abs(terms["gap"]) > self.tolerance
        if lifted or abs(violation[worst]) > self.tolerance * scale:
            names = ["rear.along", "rear.across", *(f"front.{k}" for k in "xyz")]
            names += [f"{j.name}.motion" for j in self.model.joints if j.motion is not None]
            raise ConfigurationError(
                f"The gap of the front wheel is {terms['gap']:.3g} m, and the speeds violate the "
                f"constraint {names[worst]!r} by {abs(violation[worst]):.3g}. Both must be zero."
            )

    def _contact_forces(self, terms: Any, vdot: Floats, lam: Floats) -> Floats:
        """Return the contact forces (2, 3) in N: the multipliers, and at the rear contact C0 the
        remainder of the vertical force balance.
        """
        rear, front = self.bike.contacts
        forces = np.zeros((2, 3))
        along = terms["along"]
        forces[front] = [lam[4], along @ lam[2:5], np.cross(VERTICAL, along) @ lam[2:5]]
        forces[rear] = [terms["lift"] @ vdot + terms["weight"] - lam[4], lam[0], lam[1]]
        return forces


def accelerations(
    model: Model, *, realise: Realise = interpret, tolerance: float = 1e-8
) -> Accelerate:
    """Return `accelerate(t, state, inputs) -> (vdot, contact forces)` of a bicycle.

    Parameters
    ----------
    model
        Bicycle model whose parameters are numbers.
    realise
        Compiler of traced expressions.
    tolerance
        Largest violation of the constraints by a state, m, or relative to the speeds.

    Returns
    -------
    Accelerate
        Function of time, state and inputs.
    """
    return Planar(model, realise, tolerance).accelerate
