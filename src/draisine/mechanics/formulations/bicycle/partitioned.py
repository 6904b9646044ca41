"""The bicycle by Lagrange's equations of the first kind and coordinate partitioning (Escalona, Recuero).

Coordinates p = (x_C, y_C, phi, theta, psi, beta, gamma, epsilon, xi): rear contact point, heading,
lean, rolling angle of the rear wheel and pitch of the frame (both from the leaned plane), steer, front
wheel, and the parameter xi of the contact point on the front rim, which has no inertia. Additional
joints come before xi. Kinetic energy, constraints and all their derivatives are derived symbolically
from the positions of the bodies; then the independent accelerations follow numerically by (36) to (41).
`rate` is the right-hand side of section 7.1, with the contact equations solved at every call.

Corrections of the printed equations: the tangent (10) is (-R sin xi, 0, -R cos xi); the quadratic velocity
forces are `-Mdot pdot + (d(M pdot)/dp)' pdot / 2`; both wheels have their own radii.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from draisine.algebra.lie import (
    cross,
    hat,
    quaternion,
    rot_about,
    rot_x,
    rot_y,
    rot_z,
    rotation,
    yaw_lean_pitch,
)
from draisine.algebra.scalar import Array, Floats, Scalar, array, cos, norm, sin
from draisine.algebra.trace import Graph, tangent
from draisine.errors import (
    ConfigurationError,
    ParameterError,
    RedundancyError,
    SingularityError,
)
from draisine.mechanics.formulations._plug import (
    Accelerate,
    Configured,
    Realise,
    Snapshot,
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
)
from draisine.mechanics.kinematics import VERTICAL
from draisine.model import Model

FORMULATION = "Lagrange of the first kind, partitioned, after Escalona and Recuero, for bicycles"

XC, YC, PHI, THETA, PSI, BETA, GAMMA, EPSILON, EXTRA = range(9)
"""Indices of the coordinates; additional joints start at EXTRA, and xi is the last coordinate."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Pose of a body relative to the zero configuration."""

    A: Array  # rotation from the axes of the zero configuration to world axes, (3, 3)
    o: Array  # position of the point at the origin of the zero configuration, m

    def position(self, point: Array) -> Array:
        """Return the position (m) in the world of a point of this body, given in the zero
        configuration.
        """
        return self.o + self.A @ point


@dataclass(frozen=True, slots=True, eq=False)
class Lagrange:
    """Terms of the equations of motion, eqs. (33) and (34) of Escalona and Recuero: `M pddot + D'
    lam = Q`, `D pdot = b`, `D pddot = c`.

    The total vertical force of the ground is `lift @ pddot + weight`.
    """

    M: Array  # mass matrix, (coordinates, coordinates)
    Q: Array  # generalised forces, (coordinates,)
    D: Array  # constraint matrix, (rows, coordinates)
    b: list[Scalar]  # right-hand sides of the velocity constraints
    c: list[Scalar]  # right-hand sides of the acceleration constraints
    contact: list[Scalar]  # residuals of the two contact equations (12)
    lift: Array
    weight: Scalar
    along: Array  # direction of the front wheel's track
    A: Array  # axes of the bicycle frame in the world, (3, 3)
    o: Array  # position of the origin of the bicycle frame, m
    H: Array  # partial velocities of that origin, (3, coordinates)
    G: Array  # partial angular velocities of the bicycle frame, (3, coordinates)
    h: Array  # time derivative of H pdot at zero pddot
    g: Array  # time derivative of G pdot at zero pddot


class Symbols:
    """Symbols of the coordinates of a bicycle, and derivatives with respect to them."""

    def __init__(self, bike: Bicycle, speed: float | None, graph: Graph | None = None) -> None:
        self.bike = bike
        self.model = bike.model
        self.speed = speed
        core = (bike.steer, bike.rear, bike.front)
        self.extra = [k for k in range(len(self.model.joints)) if k not in core]
        n = EXTRA + len(self.extra) + 1
        sizes = {"t": 1, "p": n, "pdot": n, "inputs": len(self.model.inputs)}
        self.symbols = trace_symbols(sizes, graph)
        self.t, self.p, self.pdot = (self.symbols[name] for name in ("t", "p", "pdot"))
        self.r = self._joint_coordinates(self.p)

    def _joint_coordinates(self, p: Array) -> list[Scalar]:
        """Return the joint coordinates r as functions of the coordinates p."""
        bike = self.bike
        r: list[Scalar] = [0.0] * len(self.model.joints)
        r[bike.steer] = p[GAMMA]
        r[bike.rear] = p[PSI] - p[BETA]
        r[bike.front] = p[EPSILON]
        for k, joint in enumerate(self.extra):
            r[joint] = p[EXTRA + k]
        return r

    def differentiate_by_coordinates(self, values: Any) -> Array:
        """Return the derivatives of expressions with respect to the coordinates p, (values,
        coordinates).
        """
        flat = list(np.asarray(values, dtype=object).ravel())
        columns = [tangent(flat, {f"p[{k}]": 1.0}) for k in range(len(self.p))]
        return array(columns).T.reshape(len(flat), len(self.p))

    def differentiate_in_time(self, values: Any) -> Array:
        """Return the time derivatives of expressions at constant pdot."""
        seed: dict[str, Any] = {f"p[{k}]": x for k, x in enumerate(self.pdot)}
        return array(tangent(list(np.asarray(values, dtype=object).ravel()), seed | {"t[0]": 1.0}))

    def place_bodies(self) -> tuple[Array, dict[str, Frame]]:
        """Return the position of the rear hub, eq. (3), and the frames of all bodies."""
        bike = self.bike
        p = self.p
        leaned = rot_z(p[PHI]) @ rot_x(p[THETA])
        C = array([p[XC], p[YC], 0.0])
        hub = C + bike.k3 * VERTICAL + leaned @ VERTICAL * (bike.h3 - bike.k3)
        A = leaned @ rot_y(p[BETA])
        frames = {self.model.bodies[0].name: Frame(A, hub - A @ bike.rear_hub)}
        A = leaned @ rot_y(p[PSI])
        frames[bike.axle[0].child] = Frame(A, hub - A @ bike.rear_hub)
        while len(frames) < len(self.model.bodies):
            for joint, r in zip(self.model.joints, self.r, strict=True):
                if joint.parent not in frames or joint.child in frames:
                    continue
                parent = frames[joint.parent]
                a = joint.axis / norm(joint.axis)
                A = parent.A @ rot_about(a, joint.turn * r)
                through = parent.position(joint.through) + parent.A @ a * (joint.slide * r)
                frames[joint.child] = Frame(A, through - A @ joint.through)
        return hub, frames

    def partial_angular_velocities(self, A: Array) -> Array:
        """Return the partial angular velocities in body axes, eq. (8): the axial vectors of A'
        dA/dp.
        """
        rates = self.differentiate_by_coordinates(A).T.reshape(len(self.p), 3, 3)
        columns = []
        for rate in rates:
            S = A.T @ rate
            columns.append([S[2, 1], S[0, 2], S[1, 0]])
        return array(columns).T

    def derive(self) -> Lagrange:
        """Return all terms of the equations of motion."""
        n = len(self.p)
        model = self.model
        hub, frames = self.place_bodies()
        M = np.zeros((n, n))
        Q = np.zeros(n)
        lift = np.zeros(n)
        for body in model.bodies:
            frame = frames[body.name]
            H = self.differentiate_by_coordinates(frame.position(body.com))
            G = self.partial_angular_velocities(frame.A)
            M = M + body.mass * (H.T @ H) + G.T @ body.inertia @ G  # mass matrix, eq. (28)
            Q = Q + H.T @ (body.mass * model.gravity)  # generalised force of gravity, eq. (32)
            lift = lift + body.mass * H[2]
        weight = self.differentiate_in_time([lift @ self.pdot])[0]
        weight = weight - sum(b.mass for b in model.bodies) * model.gravity[2]
        momentum = M @ self.pdot
        energy = self.pdot @ momentum / 2.0
        # Subtract the quadratic velocity forces, eq. (30) of Escalona and Recuero.
        Q = (
            Q
            - self.differentiate_in_time(momentum)
            + self.differentiate_by_coordinates([energy])[0]
        )
        applied, vertical_force = self._applied_forces(frames)
        D, b, bdot, contact = self._constraint_terms(hub, frames)
        frame = frames[model.bodies[0].name]
        H = self.differentiate_by_coordinates(frame.o)
        G = frame.A @ self.partial_angular_velocities(frame.A)
        fork = frames[self.bike.axle[1].parent]
        track = cross(fork.A @ AXLE_DIRECTION, VERTICAL)
        return Lagrange(
            M,
            Q + applied,
            D,
            b,
            [x - y for x, y in zip(bdot, self.differentiate_in_time(D @ self.pdot), strict=True)],
            contact,
            lift,
            weight - vertical_force,
            track / norm(track),
            frame.A,
            frame.o,
            H,
            G,
            self.differentiate_in_time(H @ self.pdot),
            self.differentiate_in_time(G @ self.pdot),
        )

    def _applied_forces(self, frames: dict[str, Frame]) -> tuple[Array, Scalar]:
        """Return the generalised forces of joints and external forces, and the vertical force of
        the latter.
        """
        model = self.model
        inputs = self.symbols["inputs"]
        by_joint = self.differentiate_by_coordinates(self.r)
        Q = by_joint.T @ joint_torques(model, inputs, self.r, by_joint @ self.pdot)
        vertical_force = 0.0
        for k, force in enumerate(model.pushes):
            frame = frames[force.body]
            push = inputs[len(model.joints) + 3 * k : len(model.joints) + 3 * k + 3]
            f = push if force.frame == "world" else frame.A @ push
            Q = Q + self.differentiate_by_coordinates(frame.position(force.point)).T @ f
            vertical_force = vertical_force + f[2]
        return Q, vertical_force

    def _constraint_terms(
        self, hub: Array, frames: dict[str, Frame]
    ) -> tuple[Array, list[Scalar], list[Scalar], list[Scalar]]:
        """Return D, b and bdot of `D pdot = b`, eqs. (24) and (34), and the contact equations (12)."""
        bike = self.bike
        xi = self.p[-1]
        rear = frames[bike.axle[0].child]
        front = frames[bike.axle[1].child]
        R = bike.h2 - bike.k2
        centre = front.position(bike.front_hub)
        # Contact point on the front rim, eq. (9) of Escalona and Recuero
        rim = front.A @ array([R * cos(xi), 0.0, -R * sin(xi)])
        # Tangent of the front rim, eq. (10) of Escalona and Recuero; it is horizontal at the
        # contact
        along_rim = front.A @ array([-R * sin(xi), 0.0, -R * cos(xi)])
        contact = [centre[2] + rim[2] - bike.k2, along_rim[2]]  # contact equations, eq. (12)
        C = array([self.p[XC], self.p[YC], 0.0])
        rolls = [  # rolling constraints, eqs. (14) and (18)
            self._partial_point_velocities(rear, hub, C - hub),
            self._partial_point_velocities(front, centre, rim - bike.k2 * VERTICAL),
        ]
        rows = [*self.differentiate_by_coordinates(contact), *rolls[0][:2], *rolls[1][:2]]
        b: list[Scalar] = [0.0] * len(rows)
        bdot: list[Scalar] = [0.0] * len(rows)
        if self.speed is not None:  # driving constraint, eq. (21)
            rows.append(np.eye(len(self.p))[PSI])
            b.append(self.speed / bike.h3)
            bdot.append(0.0)
        by_joint = self.differentiate_by_coordinates(self.r)
        for k, joint in enumerate(self.model.joints):
            if joint.motion is not None:
                rows.append(by_joint[k])
                _, rate, rate_of_rate = joint.motion(self.t[0])
                b.append(rate)
                bdot.append(rate_of_rate)
        return array([list(row) for row in rows]), b, bdot, contact

    def _partial_point_velocities(self, frame: Frame, centre: Array, rho: Array) -> Array:
        """Return the partial velocities of the material point at rho (m) from the centre of a body."""
        return self.differentiate_by_coordinates(centre) - hat(rho) @ (
            frame.A @ self.partial_angular_velocities(frame.A)
        )


class Partitioned:
    """Equations of a bicycle in the coordinates of Escalona and Recuero.

    `speed` (m/s) adds their driving constraint: radius times rolling angle of the rear wheel is
    `speed` times t. States that violate the constraints by more than `tolerance` (m, or relative to
    the speeds) raise an error.
    """

    def __init__(
        self,
        model: Model,
        speed: float | None = None,
        realise: Realise = interpret,
        tolerance: float = 1e-8,
    ) -> None:
        if speed is not None and not np.isfinite(speed):
            raise ParameterError(f"speed = {speed} m/s must be a finite number.")
        self.bike = extract_bicycle(check_numeric_model(model))
        self.model = model
        self.speed = speed
        self.tolerance = tolerance
        derivation = Symbols(self.bike, speed)
        self.extra = derivation.extra
        self.size = len(derivation.p)
        terms = derivation.derive()
        outputs = {field.name: getattr(terms, field.name) for field in fields(terms)}
        self.evaluate = realise_arrays(realise, derivation.symbols, outputs)
        closure = {"contact": terms.contact, "slopes": terms.D[:2, [BETA, -1]]}
        self.closure = realise_arrays(realise, derivation.symbols, closure)
        self.independent = self._choose_independent()
        others = [k for k in range(self.size) if k not in self.independent]
        self.kinematic = [k for k in others if k not in (BETA, self.size - 1)]

    def _choose_independent(self) -> list[int]:
        """Return the independent coordinates: theta, gamma, psi and additional joints, except
        driven ones.
        """
        bike = self.bike
        joints = self.model.joints
        coordinate_of = {bike.steer: GAMMA, bike.rear: PSI, bike.front: PSI}
        coordinate_of |= {joint: EXTRA + k for k, joint in enumerate(self.extra)}
        driven = [coordinate_of[k] for k, joint in enumerate(joints) if joint.motion is not None]
        driven += [PSI] if self.speed is not None else []
        if driven.count(PSI) > 1:
            raise RedundancyError(
                f"The rolling motion is prescribed more than once (driving speed, joints "
                f"{joints[bike.rear].name!r}, {joints[bike.front].name!r}). Prescribe only one of them."
            )
        candidates = [THETA, GAMMA, PSI, *(EXTRA + k for k in range(len(self.extra)))]
        return [k for k in candidates if k not in driven]

    @property
    def labels(self) -> list[str]:
        """Labels of the rows of the constraint matrix D."""
        rows = ["front.normal", "front.tangent", "rear.x", "rear.y", "front.x", "front.y"]
        rows += ["driving"] if self.speed is not None else []
        return rows + [f"{j.name}.motion" for j in self.model.joints if j.motion is not None]

    def compute_arrays(self, t: float, p: Floats, pdot: Floats, inputs: Floats) -> Any:
        """Return the terms of the equations as float arrays by name."""
        # Closer than 1e-7 rad to a wheel that lies flat, the heading loses half of its digits.
        if abs(np.cos(p[THETA])) < 1e-7:
            raise SingularityError("The rear wheel lies flat, so that it has no heading.")
        return self.evaluate(t=[t], p=p, pdot=pdot, inputs=inputs)

    def split(self, constraint_matrix: Floats) -> tuple[list[int], Floats, Floats]:
        """Return the dependent coordinates and the matrices D_i and inverse of D_d of the
        partitioned constraints, eq. (35) of Escalona and Recuero.
        """
        dependent = [k for k in range(self.size) if k not in self.independent]
        D_d = constraint_matrix[:, dependent]
        if np.linalg.cond(D_d) > 1e12:
            raise SingularityError(
                "Lean, steer and rolling do not determine the other velocities in this configuration."
            )
        return dependent, constraint_matrix[:, self.independent], np.linalg.inv(D_d)

    def velocities(self, terms: Any, independent_rates: Floats) -> Floats:
        """Return all velocities pdot = E pdot_i + F from the independent ones pdot_i, eq. (37) of
        Escalona and Recuero.
        """
        dependent, D_i, inverse = self.split(terms["D"])
        pdot = np.zeros(self.size)
        pdot[self.independent] = independent_rates
        pdot[dependent] = inverse @ (terms["b"] - D_i @ independent_rates)
        return pdot

    def solve(self, terms: Any) -> tuple[Floats, Floats]:
        """Return the accelerations pddot by (38) to (41) of Escalona and Recuero, and the forces
        -lam of the constraints by (33).
        """
        M = terms["M"]
        Q = terms["Q"]
        D = terms["D"]
        c = terms["c"]
        dependent, D_i, inverse = self.split(D)
        E = np.zeros((self.size, len(self.independent)))
        J = np.zeros(self.size)
        E[self.independent] = np.eye(len(self.independent))
        E[dependent] = -inverse @ D_i
        J[dependent] = inverse @ c
        pddot = E @ np.linalg.solve(E.T @ M @ E, E.T @ (Q - M @ J)) + J
        return pddot, inverse.T @ (M @ pddot - Q)[dependent]

    def close(self, p: Floats) -> Floats:
        """Return the coordinates p with beta and xi from the contact equations (12) of Escalona and
        Recuero, by Newton's method.
        """
        p = p.copy()
        for _ in range(50):
            terms = self.closure(p=p)
            if np.linalg.cond(terms["slopes"]) > 1e12:
                break
            step = np.linalg.solve(terms["slopes"], -terms["contact"])
            # At most 0.5 rad per step keeps the angle xi near the lowest point of the front rim.
            p[[BETA, -1]] += np.clip(step, -0.5, 0.5)
            if np.abs(step).max() < 1e-14:
                return p
        residual = np.abs(self.closure(p=p)["contact"]).max()
        if residual < 1e-13:
            return p
        raise ConfigurationError(
            f"The front wheel cannot touch the ground for lean {p[THETA]:.4g} and steer "
            f"{p[GAMMA]:.4g} rad: the residual of the contact equations is {residual:.3g}."
        )

    def lowest(self, p: Floats) -> float:
        """Return the parameter xi of the lowest point of the front rim."""
        leaned = rot_z(p[PHI]) @ rot_x(p[THETA]) @ rot_y(p[BETA])
        joint = self.model.joints[self.bike.steer]
        fork = rot_about(joint.axis / norm(joint.axis), p[GAMMA])
        up = (leaned @ fork @ rot_y(p[EPSILON]))[2]
        return float(np.arctan2(up[2], -up[0]))

    def enter(self, t: float, state: Configured) -> tuple[Floats, Floats]:
        """Return p and pdot for a state in the user's coordinates (base pose, joint coordinates,
        speeds), after checking that it satisfies the constraints.
        """
        bike = self.bike
        R = np.asarray(rotation(np.asarray(state.q, float)), float)
        p = np.zeros(self.size)
        pdot = np.zeros(self.size)
        p[[PHI, THETA, BETA]] = yaw_lean_pitch(R)
        leaned = np.asarray(rot_z(p[PHI]) @ rot_x(p[THETA]), float)
        spin = np.asarray(rot_y(p[BETA]), float) @ state.v[3:6]
        pdot[PHI] = spin[2] / np.cos(p[THETA])
        pdot[THETA] = spin[0]
        pdot[BETA] = spin[1] - pdot[PHI] * np.sin(p[THETA])
        for values, joints in ((p, state.r), (pdot, state.v[6:])):
            values[GAMMA] = joints[bike.steer]
            values[EPSILON] = joints[bike.front]
            values[PSI] = joints[bike.rear] + values[BETA]
            values[EXTRA:-1] = [joints[k] for k in self.extra]
        hub_offset = leaned[:, 2] * (bike.h3 - bike.k3)
        C = state.p + R @ bike.rear_hub - hub_offset - bike.k3 * VERTICAL
        lean_velocity = VERTICAL * pdot[PHI] + leaned[:, 0] * pdot[THETA]
        hub = R @ (state.v[:3] + np.cross(state.v[3:6], bike.rear_hub))
        Cdot = hub - np.cross(lean_velocity, hub_offset)
        p[:2] = C[:2]
        pdot[:2] = Cdot[:2]
        p[-1] = self.lowest(p)
        terms = self.compute_arrays(t, p, np.zeros(self.size), np.zeros(len(self.model.inputs)))
        pdot[-1] = -(terms["D"][1] @ pdot) / terms["D"][1, -1]
        violation = np.concatenate(
            [[C[2], *terms["contact"], Cdot[2]], terms["D"] @ pdot - terms["b"]]
        )
        if np.abs(violation).max() > self.tolerance * max(1.0, float(np.abs(pdot).max())):
            names = ["rear height", "front height", "front tangent", "rear.normal", *self.labels]
            worst = int(np.argmax(np.abs(violation)))
            raise ConfigurationError(
                f"The state violates the constraint {names[worst]!r} by {abs(violation[worst]):.3g}. "
                "The violation must be zero."
            )
        return p, pdot

    def accelerate(self, t: float, state: Configured, inputs: Any = None) -> tuple[Floats, Floats]:
        """Return vdot and the force of the ground on each contact, N, (2, 3)."""
        values = check_inputs(self.model, state, inputs)
        p, pdot = self.enter(t, state)
        terms = self.compute_arrays(t, p, pdot, values)
        pddot, forces = self.solve(terms)
        A = terms["A"]
        W = state.v[3:6]
        V = A.T @ (terms["H"] @ pddot + terms["h"]) - np.cross(W, state.v[:3])
        angular_acceleration = A.T @ (terms["G"] @ pddot + terms["g"])
        return np.concatenate(
            [V, angular_acceleration, self._joint_values(pddot)]
        ), self._contact_forces(terms, p, pddot, forces)

    def reactions(self, t: float, state: Configured, inputs: Any = None) -> dict[str, float]:
        """Return the force of every constraint by its label.

        The force of `driving` is the required torque on the rear wheel about its axle (N m).
        """
        values = check_inputs(self.model, state, inputs)
        _, forces = self.solve(self.compute_arrays(t, *self.enter(t, state), values))
        return dict(zip(self.labels, map(float, forces), strict=True))

    def _joint_values(self, p: Floats) -> Floats:
        """Return the joint coordinates of the coordinates p, or the joint rates of pdot."""
        bike = self.bike
        r = np.zeros(len(self.model.joints))
        r[[bike.steer, bike.rear, bike.front]] = p[GAMMA], p[PSI] - p[BETA], p[EPSILON]
        r[self.extra] = p[EXTRA:-1]
        return r

    def _contact_forces(self, terms: Any, p: Floats, pddot: Floats, forces: Floats) -> Floats:
        """Return the contact forces (2, 3) in the axes of the contacts (N).

        The normal force of the rear wheel follows from the vertical balance.
        """
        rear, front = self.bike.contacts
        normal = forces[0]
        heading = np.array([np.cos(p[PHI]), np.sin(p[PHI])])
        tracks = {rear: (heading, forces[2:4]), front: (terms["along"][:2], forces[4:6])}
        normals = {rear: terms["lift"] @ pddot + terms["weight"] - normal, front: normal}
        contact_forces = np.zeros((2, 3))
        for k, (along, force) in tracks.items():
            across = np.array([-along[1], along[0]])
            contact_forces[k] = [normals[k], along @ force, across @ force]
        return contact_forces

    def start(self, t: float, state: Configured) -> Floats:
        """Return y = (p_din, p_kin, pdot_din), eq. (49), for a state in the user's coordinates
        (base pose, joint coordinates, speeds).
        """
        p, pdot = self.enter(t, state)
        return np.concatenate([p[self.independent], p[self.kinematic], pdot[self.independent]])

    def rate(self, t: float, y: Floats, inputs: Floats) -> Floats:
        """Return the rate of y = (p_din, p_kin, pdot_din) by the five steps of section 7.1 of
        Escalona and Recuero.
        """
        p, pdot = self.complete(t, y)
        pddot, _ = self.solve(self.compute_arrays(t, p, pdot, inputs))
        return np.concatenate(
            [pdot[self.independent], pdot[self.kinematic], pddot[self.independent]]
        )

    def complete(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """Return coordinates p and velocities pdot for the integrated state y: beta and xi by the
        contact equations, velocities by eq. (37).
        """
        k = len(self.independent)
        n = len(self.kinematic)
        p = np.zeros(self.size)
        p[self.independent] = y[:k]
        p[self.kinematic] = y[k : k + n]
        p[-1] = self.lowest(p)
        p = self.close(p)
        terms = self.compute_arrays(t, p, np.zeros(self.size), np.zeros(len(self.model.inputs)))
        return p, self.velocities(terms, y[k + n :])

    def leave(self, t: float, y: Floats) -> Snapshot:
        """Convert the integrated state y at time t to a state in the user's coordinates (base pose,
        joint coordinates, speeds).
        """
        p, pdot = self.complete(t, y)
        terms = self.compute_arrays(t, p, pdot, np.zeros(len(self.model.inputs)))
        V = terms["A"].T @ (terms["H"] @ pdot)
        W = terms["A"].T @ (terms["G"] @ pdot)
        v = np.concatenate([V, W, self._joint_values(pdot)])
        return Snapshot(quaternion(terms["A"]), terms["o"], self._joint_values(p), v)


def accelerations(
    model: Model,
    *,
    speed: float | None = None,
    realise: Realise = interpret,
    tolerance: float = 1e-8,
) -> Accelerate:
    """Return `accelerate(t, state, inputs) -> (vdot, contact forces)` of a bicycle.

    Parameters
    ----------
    model
        Bicycle model whose parameters are numbers.
    speed
        Driving speed in m/s; None for a bicycle that rolls freely.
    realise
        Compiler of traced expressions.
    tolerance
        Largest violation of the constraints by a state, m, or relative to the speeds.

    Returns
    -------
    Accelerate
        Function of time, state and inputs.
    """
    return Partitioned(model, speed, realise, tolerance).accelerate
