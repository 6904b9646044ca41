"""The bicycle on the fibre SE(2) x S: remarks 2.10 to 2.12 of the thesis.

The base is the contact frame of the rear wheel: origin C0, first axis along the wheel's track,
third axis up. It moves in the plane of the ground. Roll phi0 (positive to the left, about w0, which
points backward) and pitch pi - alpha0 (positive nose down, about the rear axle) are shape
coordinates like the joints; that the rear wheel stands on the ground is built in. So there are 3 +
2 + 3 speeds under 5 constraints: two at C0, three at C1, the point where the front wheel touches,
whose angle alpha1 on the wheel is (2.27), `+ sin(r1) tan(phi0)` being right. The reduced dynamics
is the projection on the kernel of the constraints, with the partial velocities of each body taken
from the chain of turns that leads to it.

The ground's normal force at C0 does no work in any of these speeds: it follows from the balance of
all vertical forces.
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
from draisine.errors import ConfigurationError, RedundancyError, SingularityError
from draisine.mechanics.formulations._plug import (
    Accelerate,
    Configured,
    Realise,
    check_inputs,
    in_numbers,
    interpret,
    joint_torques,
    realise_arrays,
    trace_symbols,
)
from draisine.mechanics.formulations.bicycle._drawing import LEFT, Bicycle, bicycle, fork_axes
from draisine.model import Joint, Model

FORMULATION = "the fibre SE(2) x S of the thesis, for bicycles"

X = 0
Y = 1
YAW = 2
ROLL = 3
PITCH = 4
JOINTS = 5
"""Where the coordinates stand: those of SE(2), roll, pitch, then the joints; speeds likewise."""

AHEAD = np.array([1.0, 0.0, 0.0])
UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class CarriedBody:
    """A rigid frame that the chain carries, seen from the contact frame.

    R and o are its axes and origin, `at` the point of the drawing that the origin is; `turns` and
    `moves` the partial angular velocities and velocities of the origin, one column per speed; w the
    angular velocity; `alpha` and `a` the accelerations that are left when no speed changes.
    """

    R: Array
    o: Array
    at: Array
    turns: Array
    moves: Array
    w: Array
    alpha: Array
    a: Array

    def arm(self, point: Array) -> Array:
        """Return a point of the drawing seen from the origin."""
        return self.R @ (point - self.at)

    def velocity(self, d: Array) -> Array:
        """Return the partial velocities of the material at d from the origin."""
        return self.moves - hat(d) @ self.turns

    def drift(self, d: Array, ddot: Array) -> Array:
        """Return the acceleration left of the material at d, d changing by ddot in all."""
        return self.a + cross(self.alpha, d) + cross(self.w, ddot)


def contact_frame(speeds: Array) -> CarriedBody:
    """Return the contact frame of the rear wheel, moving over the ground."""
    n = len(speeds)
    moves = np.zeros((3, n))
    turns = np.zeros((3, n))
    moves[0, X] = moves[1, Y] = turns[2, YAW] = 1.0
    w = UP * speeds[YAW]
    a = cross(w, array([speeds[X], speeds[Y], 0.0]))
    return CarriedBody(np.eye(3), np.zeros(3), np.zeros(3), turns, moves, w, np.zeros(3), a)


def turn_frame(
    before: CarriedBody, k: int, axis: Array, d: Array, at: Array, R: Array, rate: Scalar
) -> CarriedBody:
    """Return the frame that turns about an axis through the point at d from the origin before."""
    column = np.zeros((1, before.turns.shape[1]))
    column[0, k] = 1.0
    return CarriedBody(
        R,
        before.o + d,
        at,
        before.turns + axis[:, None] * column,
        before.velocity(d),
        before.w + axis * rate,
        before.alpha + cross(before.w, axis) * rate,
        before.drift(d, cross(before.w, d)),
    )


def slide_frame(before: CarriedBody, k: int, axis: Array, r: Scalar, rate: Scalar) -> CarriedBody:
    """Return the frame that has slid by r along an axis."""
    column = np.zeros((1, before.turns.shape[1]))
    column[0, k] = 1.0
    d = axis * r
    a = before.drift(d, cross(before.w, d)) + 2.0 * cross(before.w, axis) * rate
    return CarriedBody(
        before.R,
        before.o + d,
        before.at,
        before.turns,
        before.velocity(d) + axis[:, None] * column,
        before.w,
        before.alpha,
        a,
    )


def cross_joint(before: CarriedBody, joint: Joint, k: int, r: Scalar, rate: Scalar) -> CarriedBody:
    """Return the frame beyond a joint."""
    a = joint.axis / norm(joint.axis)
    axis = before.R @ a
    slid = slide_frame(before, k, axis * joint.slide, r, rate)
    d = slid.arm(joint.through)
    R = slid.R @ rot_about(a, joint.turn * r)
    return turn_frame(slid, k, axis * joint.turn, d, joint.through, R, rate)


def front_angle(bike: Bicycle, phi0: Scalar, alpha0: Scalar, r1: Scalar) -> Scalar:
    """Return alpha1, the place of C1 on the front wheel: from the steer axis about the axle, eq.
    (2.27).
    """
    y, x = _front_direction(bike, phi0, alpha0, r1)
    return atan2(y, x)


def _front_direction(
    bike: Bicycle, phi0: Scalar, alpha0: Scalar, r1: Scalar
) -> tuple[Scalar, Scalar]:
    tilt = alpha0 + bike.mu
    return cos(r1) * sin(tilt) + sin(r1) * sin(phi0) / cos(phi0), cos(tilt)


def front_angle_rate(
    bike: Bicycle,
    phi0: Scalar,
    alpha0: Scalar,
    r1: Scalar,
    phi0dot: Scalar,
    alpha0dot: Scalar,
    r1dot: Scalar,
) -> Scalar:
    """Return the rate of alpha1, cf. eq. (2.31)."""
    a, b = _front_direction(bike, phi0, alpha0, r1)
    tilt = alpha0 + bike.mu
    c = cos(phi0)
    adot = cos(r1) * cos(tilt) * alpha0dot + sin(r1) / (c * c) * phi0dot
    adot = adot + (cos(r1) * sin(phi0) / c - sin(r1) * sin(tilt)) * r1dot
    bdot = -(sin(tilt) * alpha0dot)
    return (adot * b - bdot * a) / (a * a + b * b)


def front_gap(bike: Bicycle, phi0: Scalar, alpha0: Scalar, r1: Scalar) -> Scalar:
    """Return how high C1 is over C0, eq. (2.26) with `-h3 cos(alpha0)`, `-h3 sin(alpha0)`, and with
    `rise` for h2 - h3; zero when both wheels touch.
    """
    alpha1 = front_angle(bike, phi0, alpha0, r1)
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
    """The free dynamics `M vdot + F = C' lam` and the constraints `C v = b`, `C vdot = c`.

    `weight` and `lift` give what the ground must carry in all, `lift @ vdot + weight`; `along` is
    the direction of the front wheel's track; `frame` carries the drawing.
    """

    M: Array
    F: Array
    C: Array
    c: list[Scalar]
    b: list[Scalar]
    lift: Array
    weight: Scalar
    along: Array
    gap: Scalar
    frame: CarriedBody


def equations(
    bike: Bicycle, t: Scalar, coordinates: Array, speeds: Array, inputs: Array
) -> PlanarEquations:
    """Return the equations of the bicycle in SE(2) x S, over any scalar."""
    model = bike.model
    r = coordinates[JOINTS:]
    rdot = speeds[JOINTS:]
    phi0 = coordinates[ROLL]
    pitch = coordinates[PITCH]
    lean = rot_x(-phi0)
    standing = (bike.h3 - bike.k3) * (lean @ UP)  # from the tyre's centre line up to the hub
    leaning = turn_frame(
        contact_frame(speeds), ROLL, -AHEAD, bike.k3 * UP, np.zeros(3), lean, speeds[ROLL]
    )
    frame = turn_frame(
        leaning, PITCH, lean @ LEFT, standing, bike.rear_hub, lean @ rot_y(pitch), speeds[PITCH]
    )
    carried = _carried(model, frame, r, rdot)
    M, F, lift, weight = _dynamics(model, carried, rot_z(coordinates[YAW]), r, rdot, inputs)
    rear, rear_drift = _rear_rows(bike, carried[bike.axle[0].child], leaning, standing)
    fork = carried[bike.axle[1].parent]
    wheel = carried[bike.axle[1].child]
    front, front_drift = _front_rows(bike, fork, wheel, coordinates, speeds)
    motions = [
        (k, joint.motion(t)) for k, joint in enumerate(model.joints) if joint.motion is not None
    ]
    held = [np.eye(len(speeds))[JOINTS + k] for k, _ in motions]
    track = cross(fork.R @ LEFT, UP)
    return PlanarEquations(
        M,
        F,
        array([list(row) for row in [*rear[:2], *front, *held]]),
        [-x for x in [*rear_drift[:2], *front_drift]] + [motion[2] for _, motion in motions],
        [0.0] * 5 + [motion[1] for _, motion in motions],
        lift,
        weight,
        track / norm(track),
        front_gap(bike, phi0, np.pi - pitch, r[bike.steer]),
        frame,
    )


def _rear_rows(
    bike: Bicycle, wheel: CarriedBody, leaning: CarriedBody, standing: Array
) -> tuple[Array, Array]:
    """Return the partial velocities of the rear wheel's material at C0, and the drift of its
    velocity; the vertical one vanishes identically.
    """
    hub = wheel.arm(bike.rear_hub)
    arm = hub - standing - bike.k3 * UP
    armdot = cross(wheel.w, hub) - cross(leaning.w, standing)
    return wheel.velocity(arm), wheel.drift(arm, armdot)


def _front_rows(
    bike: Bicycle, fork: CarriedBody, wheel: CarriedBody, coordinates: Array, speeds: Array
) -> tuple[Array, Array]:
    """Return the partial velocities of the front wheel's material at C1, and the drift of its
    velocity while C1 wanders along the rim.
    """
    steer = JOINTS + bike.steer
    place = coordinates[ROLL], np.pi - coordinates[PITCH], coordinates[steer]
    alpha1 = front_angle(bike, *place)
    rate = front_angle_rate(bike, *place, speeds[ROLL], -speeds[PITCH], speeds[steer])
    s1, _, a1 = (fork.R @ x for x in fork_axes(bike.mu))
    ring = bike.h2 - bike.k2
    rho = ring * (sin(alpha1) * s1 + cos(alpha1) * a1)  # (2.16)
    wander = ring * (cos(alpha1) * s1 - sin(alpha1) * a1) * rate
    hub = wheel.arm(bike.front_hub)
    arm = hub + rho - bike.k2 * UP
    armdot = cross(wheel.w, hub) + cross(fork.w, rho) + wander
    return wheel.velocity(arm), wheel.drift(arm, armdot)


def _carried(model: Model, base: CarriedBody, r: Array, rdot: Array) -> dict[str, CarriedBody]:
    """Return the frames of all bodies."""
    out = {model.bodies[0].name: base}
    while len(out) < len(model.bodies):
        for k, joint in enumerate(model.joints):
            if joint.parent in out and joint.child not in out:
                out[joint.child] = cross_joint(out[joint.parent], joint, JOINTS + k, r[k], rdot[k])
    return out


def _dynamics(
    model: Model,
    carried: dict[str, CarriedBody],
    heading: Array,
    r: Array,
    rdot: Array,
    inputs: Array,
) -> tuple[Array, Array, Array, Scalar]:
    """Return M and F of `M vdot + F = 0` without constraints, and the rows of the vertical balance."""
    n = JOINTS + len(model.joints)
    gravity = heading.T @ model.gravity
    M = np.zeros((n, n))
    F = np.zeros(n)
    lift = np.zeros(n)
    weight = 0.0
    for body in model.bodies:
        at = carried[body.name]
        d = at.arm(body.com)
        V = at.velocity(d)
        a = at.drift(d, cross(at.w, d))
        J = at.R @ body.inertia @ at.R.T
        M = M + body.mass * (V.T @ V) + at.turns.T @ J @ at.turns
        moment = J @ at.alpha + cross(at.w, J @ at.w)
        F = F + V.T @ (body.mass * (a - gravity)) + at.turns.T @ moment
        lift = lift + body.mass * V[2]
        weight = weight + body.mass * (a - gravity)[2]
    joints = len(model.joints)
    F = F - np.concatenate([np.zeros(JOINTS), joint_torques(model, inputs, r, rdot)])
    for k, force in enumerate(model.pushes):
        at = carried[force.body]
        push = inputs[joints + 3 * k : joints + 3 * k + 3]
        f = heading.T @ push if force.frame == "world" else at.R @ push
        F = F - at.velocity(at.arm(force.point)).T @ f
        weight = weight - f[2]
    return M, F, lift, weight


class Planar:
    """A bicycle in SE(2) x S; states that break its constraints by more than `tolerance` (m, or
    relative to the speeds) are refused.
    """

    def __init__(self, model: Model, realise: Realise = interpret, tolerance: float = 1e-8) -> None:
        self.bike = bicycle(in_numbers(model))
        self.model = model
        self.tolerance = tolerance
        n = JOINTS + len(model.joints)
        symbols = trace_symbols(
            {"t": 1, "coordinates": n, "speeds": n, "inputs": len(model.inputs)}
        )
        found = equations(self.bike, symbols["t"][0], *list(symbols.values())[1:])
        outputs = {x.name: getattr(found, x.name) for x in fields(found) if x.name != "frame"}
        frame = found.frame
        origin = frame.arm(np.zeros(3))
        outputs |= {"turns": frame.turns, "moves": frame.velocity(origin), "R": frame.R}
        outputs |= {"a": frame.drift(origin, cross(frame.w, origin)), "alpha": frame.alpha}
        outputs |= {"origin": frame.o + origin}
        self.evaluate = realise_arrays(realise, symbols, outputs)
        self.independent = self._choose()

    def _choose(self) -> list[int]:
        """Return the speeds that stay independent: roll, steer, rear wheel and all joints that are
        no part of a bicycle, as far as nothing prescribes them.
        """
        bike = self.bike
        joints = self.model.joints
        extra = [k for k in range(len(joints)) if k not in (bike.steer, bike.rear, bike.front)]
        free = [bike.steer, bike.rear, *extra]
        prescribed = [k for k, joint in enumerate(joints) if joint.motion is not None]
        if bike.rear in prescribed and bike.front in prescribed:
            raise RedundancyError(
                f"joints {joints[bike.rear].name!r} and {joints[bike.front].name!r} are both "
                "prescribed: both wheels roll as far as the bicycle moves. Free one of them."
            )
        dropped = {bike.rear if k == bike.front else k for k in prescribed}
        return [ROLL, *[JOINTS + k for k in free if k not in dropped]]

    def look(self, t: float, coordinates: Floats, speeds: Floats, inputs: Floats) -> Any:
        """Return all that the equations tell, as arrays of their proper shapes."""
        if abs(np.cos(coordinates[ROLL])) < 1e-7:
            raise SingularityError("the rear wheel lies flat; the contact frame has no heading.")
        return self.evaluate(t=[t], coordinates=coordinates, speeds=speeds, inputs=inputs)

    def enter(self, state: Configured) -> tuple[Floats, Floats]:
        """Return coordinates and speeds for a user's state, after checking that the rear wheel
        stands on the ground and keeps on doing so.
        """
        bike = self.bike
        R = np.asarray(rotation(np.asarray(state.q, float)), float)
        yaw, lean, pitch = yaw_lean_pitch(R)
        coordinates = np.concatenate([[0.0, 0.0, yaw, -lean, pitch], state.r])
        e = np.asarray(rot_x(lean) @ UP, float)
        hub = bike.k3 * UP + (bike.h3 - bike.k3) * e  # from C0, in the contact frame
        heading = np.asarray(rot_z(yaw), float)
        C0 = state.p + R @ bike.rear_hub - heading @ hub
        coordinates[[X, Y]] = C0[:2]
        W = np.asarray(rot_y(pitch), float) @ state.v[3:6]  # in leaned axes
        yaw_rate = W[2] / np.cos(lean)
        pitch_rate = W[1] - yaw_rate * np.sin(lean)
        V = heading.T @ R @ (state.v[:3] + np.cross(state.v[3:6], bike.rear_hub))
        V = V - np.cross(UP * yaw_rate, hub) - np.cross(AHEAD * W[0], hub - bike.k3 * UP)
        speeds = np.concatenate([V[:2], [yaw_rate, -W[0], pitch_rate], state.v[6:]])
        scale = max(1.0, float(np.abs(speeds).max()))
        if abs(C0[2]) > self.tolerance or abs(V[2]) > self.tolerance * scale:
            raise ConfigurationError(
                f"the rear wheel is {C0[2]:.3g} m over the ground and leaves it with {V[2]:.3g} m/s; "
                "in SE(2) x S it must stand on it."
            )
        return coordinates, speeds

    def solve(self, out: Any) -> tuple[Floats, Floats]:
        """Return vdot and lam of the reduced dynamics, eqs. (2.9) and (2.11) to (2.12)."""
        M = out["M"]
        F = out["F"]
        C = out["C"]
        c = out["c"]
        m = len(c)
        k = len(self.independent)
        inverse = np.linalg.inv(self.stacked(C))
        H = inverse[:, m:]
        still = inverse[:, :m] @ c
        udot = np.linalg.solve(H.T @ M @ H, -H.T @ (F + M @ still)) if k else np.zeros(0)
        vdot = H @ udot + still
        return vdot, (inverse.T @ (M @ vdot + F))[:m]

    def stacked(self, C: Floats) -> Floats:
        """Return the rows of constraints and independent speeds, a square matrix."""
        A = np.vstack([C, np.eye(C.shape[1])[self.independent]])
        if np.linalg.cond(A) > 1e12:
            raise SingularityError(
                "the independent speeds (roll, steer, rear wheel) do not determine the motion in "
                "this configuration."
            )
        return A

    def accelerate(self, t: float, state: Configured, inputs: Any = None) -> tuple[Floats, Floats]:
        """Return vdot and the ground's force on each contact."""
        given = check_inputs(self.model, state, inputs)
        coordinates, speeds = self.enter(state)
        out = self.look(t, coordinates, speeds, given)
        self._check(out, speeds)
        vdot, lam = self.solve(out)
        R = out["R"]
        W = state.v[3:6]
        a = out["moves"] @ vdot + out["a"]
        alpha = out["turns"] @ vdot + out["alpha"]
        twist = np.concatenate([R.T @ a - np.cross(W, state.v[:3]), R.T @ alpha])
        return np.concatenate([twist, vdot[JOINTS:]]), self._forces(out, vdot, lam)

    def _check(self, out: Any, speeds: Floats) -> None:
        wrong = out["C"] @ speeds - out["b"]
        worst = int(np.argmax(np.abs(wrong)))
        scale = max(1.0, float(np.abs(speeds).max()))
        off = abs(out["gap"]) > self.tolerance
        if off or abs(wrong[worst]) > self.tolerance * scale:
            names = ["rear.along", "rear.across", *(f"front.{k}" for k in "xyz")]
            names += [f"{j.name}.motion" for j in self.model.joints if j.motion is not None]
            raise ConfigurationError(
                f"the front wheel is {out['gap']:.3g} m over the ground, and the speeds break the "
                f"constraint {names[worst]!r} by {abs(wrong[worst]):.3g}; both must vanish."
            )

    def _forces(self, out: Any, vdot: Floats, lam: Floats) -> Floats:
        """Return the ground's forces: those of the rows, and at C0 what the vertical balance leaves."""
        rear, front = self.bike.contacts
        forces = np.zeros((2, 3))
        along = out["along"]
        forces[front] = [lam[4], along @ lam[2:5], np.cross(UP, along) @ lam[2:5]]
        forces[rear] = [out["lift"] @ vdot + out["weight"] - lam[4], lam[0], lam[1]]
        return forces


def accelerations(
    model: Model, *, realise: Realise = interpret, tolerance: float = 1e-8
) -> Accelerate:
    """Return `accelerate(t, state, inputs) -> (vdot, contact forces)` of a bicycle."""
    return Planar(model, realise, tolerance).accelerate
