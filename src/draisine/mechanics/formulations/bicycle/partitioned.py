"""The bicycle by Lagrange's equations of the first kind and coordinate partitioning: Escalona and
Recuero.

Coordinates p = (x_C, y_C, phi, theta, psi, beta, gamma, epsilon, xi): rear contact point, heading,
lean, rolling angle of the rear wheel and pitch of the frame (both from the leaned plane), steer,
front wheel, and the parameter xi of the contact point on the front rim, which carries no inertia.
Joints that are no part of a bicycle stand before xi. Kinetic energy, constraints and all their
derivatives are derived symbolically from the positions of the bodies alone; then, in numbers, the
independent accelerations follow by (36) to (41). `rate` is the right-hand side of section 7.1, with
the contact equations solved at every call.

Where the print errs: the tangent (10) is (-R sin xi, 0, -R cos xi); the quadratic velocity forces
are `-Mdot pdot + (d(M pdot)/dp)' pdot / 2`; both wheels have radii of their own.
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
from draisine.algebra.trace import tangent
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
    in_numbers,
    interpret,
    joint_torques,
    realise_arrays,
    trace_symbols,
)
from draisine.mechanics.formulations.bicycle._drawing import LEFT, Bicycle, bicycle
from draisine.model import Model

FORMULATION = "Lagrange of the first kind, partitioned, after Escalona and Recuero, for bicycles"

XC, YC, PHI, THETA, PSI, BETA, GAMMA, EPSILON, EXTRA = range(9)
"""Where the coordinates stand; further joints from EXTRA on, xi at the very end."""

UP = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where a body is: A takes the drawing's axes on it to the world's, o is the drawing's origin."""

    A: Array
    o: Array

    def position(self, point: Array) -> Array:
        """Return a point of the drawing on this body in the world."""
        return self.o + self.A @ point


@dataclass(frozen=True, slots=True, eq=False)
class Lagrange:
    """The terms of (33) and (34): `M pddot + D' lam = Q`, `D pdot = b`, `D pddot = c`.

    `contact` holds the two contact equations (12). `lift @ pddot + weight` is what the ground must
    carry in all; `along` the direction of the front wheel's track. G, H are the partial angular
    velocities of the frame and velocities of the drawing's origin on it, g and h their drifts.
    """

    M: Array
    Q: Array
    D: Array
    b: list[Scalar]
    c: list[Scalar]
    contact: list[Scalar]
    lift: Array
    weight: Scalar
    along: Array
    A: Array
    o: Array
    H: Array
    G: Array
    h: Array
    g: Array


class Symbols:
    """The symbols of a bicycle and the derivatives by them."""

    def __init__(self, bike: Bicycle, speed: float | None) -> None:
        self.bike = bike
        self.model = bike.model
        self.speed = speed
        core = (bike.steer, bike.rear, bike.front)
        self.extra = [k for k in range(len(self.model.joints)) if k not in core]
        n = EXTRA + len(self.extra) + 1
        self.symbols = trace_symbols({"t": 1, "p": n, "pdot": n, "inputs": len(self.model.inputs)})
        self.t, self.p, self.pdot = (self.symbols[name] for name in ("t", "p", "pdot"))
        self.r = self._joints(self.p)

    def _joints(self, p: Array) -> list[Scalar]:
        """Return the joint coordinates r."""
        bike = self.bike
        r: list[Scalar] = [0.0] * len(self.model.joints)
        r[bike.steer] = p[GAMMA]
        r[bike.rear] = p[PSI] - p[BETA]
        r[bike.front] = p[EPSILON]
        for k, joint in enumerate(self.extra):
            r[joint] = p[EXTRA + k]
        return r

    def by_coordinates(self, values: Any) -> Array:
        """Return the derivatives of values by p, one column per coordinate."""
        flat = list(np.asarray(values, dtype=object).ravel())
        columns = [tangent(flat, {f"p[{k}]": 1.0}) for k in range(len(self.p))]
        return array(columns).T.reshape(len(flat), len(self.p))

    def in_time(self, values: Any) -> Array:
        """Return the rates of values while p moves with pdot, pdot itself held."""
        seed: dict[str, Any] = {f"p[{k}]": x for k, x in enumerate(self.pdot)}
        return array(tangent(list(np.asarray(values, dtype=object).ravel()), seed | {"t[0]": 1.0}))

    def frames(self) -> tuple[Array, dict[str, Frame]]:
        """Return the position of the rear hub, eq. (3), and where all bodies are."""
        bike = self.bike
        p = self.p
        leaned = rot_z(p[PHI]) @ rot_x(p[THETA])
        C = array([p[XC], p[YC], 0.0])
        hub = C + bike.k3 * UP + leaned @ UP * (bike.h3 - bike.k3)
        A = leaned @ rot_y(p[BETA])
        out = {self.model.bodies[0].name: Frame(A, hub - A @ bike.rear_hub)}
        A = leaned @ rot_y(p[PSI])
        out[bike.axle[0].child] = Frame(A, hub - A @ bike.rear_hub)
        while len(out) < len(self.model.bodies):
            for joint, r in zip(self.model.joints, self.r, strict=True):
                if joint.parent not in out or joint.child in out:
                    continue
                before = out[joint.parent]
                a = joint.axis / norm(joint.axis)
                A = before.A @ rot_about(a, joint.turn * r)
                through = before.position(joint.through) + before.A @ a * (joint.slide * r)
                out[joint.child] = Frame(A, through - A @ joint.through)
        return hub, out

    def angular(self, A: Array) -> Array:
        """Return the partial angular velocities in body axes, eq. (8): the axial vectors of A'
        dA/dp.
        """
        rates = self.by_coordinates(A).T.reshape(len(self.p), 3, 3)
        columns = []
        for rate in rates:
            S = A.T @ rate
            columns.append([S[2, 1], S[0, 2], S[1, 0]])
        return array(columns).T

    def derive(self) -> Lagrange:
        """Return all terms of the equations of motion."""
        n = len(self.p)
        model = self.model
        hub, frames = self.frames()
        M = np.zeros((n, n))
        Q = np.zeros(n)
        lift = np.zeros(n)
        for body in model.bodies:
            frame = frames[body.name]
            H = self.by_coordinates(frame.position(body.com))
            G = self.angular(frame.A)
            M = M + body.mass * (H.T @ H) + G.T @ body.inertia @ G  # (28)
            Q = Q + H.T @ (body.mass * model.gravity)  # (32)
            lift = lift + body.mass * H[2]
        weight = self.in_time([lift @ self.pdot])[0]
        weight = weight - sum(b.mass for b in model.bodies) * model.gravity[2]
        momentum = M @ self.pdot
        energy = self.pdot @ momentum / 2.0
        Q = Q - self.in_time(momentum) + self.by_coordinates([energy])[0]  # (30)
        pushed, lifted = self._applied(frames)
        D, b, bdot, contact = self._constraints(hub, frames)
        frame = frames[model.bodies[0].name]
        H = self.by_coordinates(frame.o)
        G = frame.A @ self.angular(frame.A)
        fork = frames[self.bike.axle[1].parent]
        track = cross(fork.A @ LEFT, UP)
        return Lagrange(
            M,
            Q + pushed,
            D,
            b,
            [x - y for x, y in zip(bdot, self.in_time(D @ self.pdot), strict=True)],
            contact,
            lift,
            weight - lifted,
            track / norm(track),
            frame.A,
            frame.o,
            H,
            G,
            self.in_time(H @ self.pdot),
            self.in_time(G @ self.pdot),
        )

    def _applied(self, frames: dict[str, Frame]) -> tuple[Array, Scalar]:
        """Return the generalised forces of joints and pushes, and what the pushes lift."""
        model = self.model
        inputs = self.symbols["inputs"]
        by_joint = self.by_coordinates(self.r)
        Q = by_joint.T @ joint_torques(model, inputs, self.r, by_joint @ self.pdot)
        lifted = 0.0
        for k, force in enumerate(model.pushes):
            frame = frames[force.body]
            push = inputs[len(model.joints) + 3 * k : len(model.joints) + 3 * k + 3]
            f = push if force.frame == "world" else frame.A @ push
            Q = Q + self.by_coordinates(frame.position(force.point)).T @ f
            lifted = lifted + f[2]
        return Q, lifted

    def _constraints(
        self, hub: Array, frames: dict[str, Frame]
    ) -> tuple[Array, list[Scalar], list[Scalar], list[Scalar]]:
        """Return D, b and bdot of `D pdot = b`, eqs. (24) and (34), and the contact equations (12)."""
        bike = self.bike
        xi = self.p[-1]
        rear = frames[bike.axle[0].child]
        front = frames[bike.axle[1].child]
        R = bike.h2 - bike.k2
        centre = front.position(bike.front_hub)
        rim = front.A @ array([R * cos(xi), 0.0, -R * sin(xi)])  # (9)
        along_rim = front.A @ array([-R * sin(xi), 0.0, -R * cos(xi)])  # (10)
        contact = [centre[2] + rim[2] - bike.k2, along_rim[2]]  # (12)
        C = array([self.p[XC], self.p[YC], 0.0])
        rolls = [  # (14) and (18)
            self._material(rear, hub, C - hub),
            self._material(front, centre, rim - bike.k2 * UP),
        ]
        rows = [*self.by_coordinates(contact), *rolls[0][:2], *rolls[1][:2]]
        b: list[Scalar] = [0.0] * len(rows)
        bdot: list[Scalar] = [0.0] * len(rows)
        if self.speed is not None:  # (21)
            rows.append(np.eye(len(self.p))[PSI])
            b.append(self.speed / bike.h3)
            bdot.append(0.0)
        by_joint = self.by_coordinates(self.r)
        for k, joint in enumerate(self.model.joints):
            if joint.motion is not None:
                rows.append(by_joint[k])
                _, rate, rate_of_rate = joint.motion(self.t[0])
                b.append(rate)
                bdot.append(rate_of_rate)
        return array([list(row) for row in rows]), b, bdot, contact

    def _material(self, frame: Frame, centre: Array, rho: Array) -> Array:
        """Return the partial velocities of a body's material at rho from a point of it."""
        return self.by_coordinates(centre) - hat(rho) @ (frame.A @ self.angular(frame.A))


class Partitioned:
    """A bicycle in Escalona and Recuero's coordinates; `speed` switches their driving constraint on:
    the rear wheel rolls so that its radius times its rolling angle is `speed` times t.

    States that break the constraints by more than `tolerance` (m, or relative to the speeds) are
    refused.
    """

    def __init__(
        self,
        model: Model,
        speed: float | None = None,
        realise: Realise = interpret,
        tolerance: float = 1e-8,
    ) -> None:
        if speed is not None and not np.isfinite(speed):
            raise ParameterError(f"speed = {speed} m/s is not a finite number.")
        self.bike = bicycle(in_numbers(model))
        self.model = model
        self.speed = speed
        self.tolerance = tolerance
        derivation = Symbols(self.bike, speed)
        self.extra = derivation.extra
        self.size = len(derivation.p)
        found = derivation.derive()
        terms = {term.name: getattr(found, term.name) for term in fields(found)}
        self.evaluate = realise_arrays(realise, derivation.symbols, terms)
        closure = {"contact": found.contact, "slopes": found.D[:2, [BETA, -1]]}
        self.closure = realise_arrays(realise, derivation.symbols, closure)
        self.independent = self._choose()
        others = [k for k in range(self.size) if k not in self.independent]
        self.kinematic = [k for k in others if k not in (BETA, self.size - 1)]

    def _choose(self) -> list[int]:
        """Return the independent coordinates: theta, gamma, psi and further joints, as far as
        nothing drives them.
        """
        bike = self.bike
        joints = self.model.joints
        place = {bike.steer: GAMMA, bike.rear: PSI, bike.front: PSI}
        place |= {joint: EXTRA + k for k, joint in enumerate(self.extra)}
        driven = [place[k] for k, joint in enumerate(joints) if joint.motion is not None]
        driven += [PSI] if self.speed is not None else []
        if driven.count(PSI) > 1:
            raise RedundancyError(
                f"the rolling is prescribed more than once (driving speed, joints "
                f"{joints[bike.rear].name!r}, {joints[bike.front].name!r}); leave one."
            )
        wanted = [THETA, GAMMA, PSI, *(EXTRA + k for k in range(len(self.extra)))]
        return [k for k in wanted if k not in driven]

    @property
    def labels(self) -> list[str]:
        """A name for each row of D."""
        rows = ["front.normal", "front.tangent", "rear.x", "rear.y", "front.x", "front.y"]
        rows += ["driving"] if self.speed is not None else []
        return rows + [f"{j.name}.motion" for j in self.model.joints if j.motion is not None]

    def look(self, t: float, p: Floats, pdot: Floats, inputs: Floats) -> Any:
        """Return all terms of the equations in numbers, in their proper shapes."""
        if abs(np.cos(p[THETA])) < 1e-7:
            raise SingularityError("the rear wheel lies flat; it has no heading.")
        return self.evaluate(t=[t], p=p, pdot=pdot, inputs=inputs)

    def split(self, D: Floats) -> tuple[list[int], Floats, Floats]:
        """Return the dependent coordinates, D_i, and the inverse of D_d, eq. (35)."""
        dependent = [k for k in range(self.size) if k not in self.independent]
        D_d = D[:, dependent]
        if np.linalg.cond(D_d) > 1e12:
            raise SingularityError(
                "lean, steer and rolling do not determine the other velocities in this configuration."
            )
        return dependent, D[:, self.independent], np.linalg.inv(D_d)

    def velocities(self, out: Any, independent: Floats) -> Floats:
        """Return pdot = E pdot_i + F, eq. (37)."""
        dependent, D_i, inverse = self.split(out["D"])
        pdot = np.zeros(self.size)
        pdot[self.independent] = independent
        pdot[dependent] = inverse @ (out["b"] - D_i @ independent)
        return pdot

    def solve(self, out: Any) -> tuple[Floats, Floats]:
        """Return pddot by (38) to (41), and the forces -lam of the constraints by (33)."""
        M = out["M"]
        Q = out["Q"]
        D = out["D"]
        c = out["c"]
        dependent, D_i, inverse = self.split(D)
        E = np.zeros((self.size, len(self.independent)))
        J = np.zeros(self.size)
        E[self.independent] = np.eye(len(self.independent))
        E[dependent] = -inverse @ D_i
        J[dependent] = inverse @ c
        pddot = E @ np.linalg.solve(E.T @ M @ E, E.T @ (Q - M @ J)) + J
        return pddot, inverse.T @ (M @ pddot - Q)[dependent]

    def close(self, p: Floats) -> Floats:
        """Return p with beta and xi from the contact equations (12), by Newton's method."""
        p = p.copy()
        for _ in range(50):
            found = self.closure(p=p)
            if np.linalg.cond(found["slopes"]) > 1e12:
                break
            step = np.linalg.solve(found["slopes"], -found["contact"])
            p[[BETA, -1]] += np.clip(step, -0.5, 0.5)
            if np.abs(step).max() < 1e-14:
                return p
        left = np.abs(self.closure(p=p)["contact"]).max()
        if left < 1e-13:
            return p
        raise ConfigurationError(
            f"the front wheel finds no place on the ground for lean {p[THETA]:.4g} and steer "
            f"{p[GAMMA]:.4g} rad: an error of {left:.3g} remains."
        )

    def lowest(self, p: Floats) -> float:
        """Return xi of the front rim's lowest point."""
        leaned = rot_z(p[PHI]) @ rot_x(p[THETA]) @ rot_y(p[BETA])
        joint = self.model.joints[self.bike.steer]
        fork = rot_about(joint.axis / norm(joint.axis), p[GAMMA])
        up = (leaned @ fork @ rot_y(p[EPSILON]))[2]
        return float(np.arctan2(up[2], -up[0]))

    def enter(self, t: float, state: Configured) -> tuple[Floats, Floats]:
        """Return p and pdot for a user's state, after checking that it satisfies the constraints."""
        bike = self.bike
        R = np.asarray(rotation(np.asarray(state.q, float)), float)
        p = np.zeros(self.size)
        pdot = np.zeros(self.size)
        p[[PHI, THETA, BETA]] = yaw_lean_pitch(R)
        leaned = np.asarray(rot_z(p[PHI]) @ rot_x(p[THETA]), float)
        spin = np.asarray(rot_y(p[BETA]), float) @ state.v[3:6]
        pdot[PHI] = spin[2] / np.cos(p[THETA])
        pdot[THETA], pdot[BETA] = spin[0], spin[1] - pdot[PHI] * np.sin(p[THETA])
        for values, joints in ((p, state.r), (pdot, state.v[6:])):
            values[GAMMA] = joints[bike.steer]
            values[EPSILON] = joints[bike.front]
            values[PSI] = joints[bike.rear] + values[BETA]
            values[EXTRA:-1] = [joints[k] for k in self.extra]
        standing = leaned[:, 2] * (bike.h3 - bike.k3)
        C = state.p + R @ bike.rear_hub - standing - bike.k3 * UP
        turning = UP * pdot[PHI] + leaned[:, 0] * pdot[THETA]
        hub = R @ (state.v[:3] + np.cross(state.v[3:6], bike.rear_hub))
        Cdot = hub - np.cross(turning, standing)
        p[:2], pdot[:2], p[-1] = C[:2], Cdot[:2], self.lowest(p)
        found = self.look(t, p, np.zeros(self.size), np.zeros(len(self.model.inputs)))
        pdot[-1] = -(found["D"][1] @ pdot) / found["D"][1, -1]
        wrong = np.concatenate([[C[2], *found["contact"], Cdot[2]], found["D"] @ pdot - found["b"]])
        if np.abs(wrong).max() > self.tolerance * max(1.0, float(np.abs(pdot).max())):
            names = ["rear height", "front height", "front tangent", "rear.normal", *self.labels]
            worst = int(np.argmax(np.abs(wrong)))
            raise ConfigurationError(
                f"the state breaks the constraint {names[worst]!r} by {abs(wrong[worst]):.3g}; "
                "it must vanish."
            )
        return p, pdot

    def accelerate(self, t: float, state: Configured, inputs: Any = None) -> tuple[Floats, Floats]:
        """Return vdot and the ground's force on each contact."""
        given = check_inputs(self.model, state, inputs)
        p, pdot = self.enter(t, state)
        out = self.look(t, p, pdot, given)
        pddot, forces = self.solve(out)
        A = out["A"]
        W = state.v[3:6]
        V = A.T @ (out["H"] @ pddot + out["h"]) - np.cross(W, state.v[:3])
        turning = A.T @ (out["G"] @ pddot + out["g"])
        return np.concatenate([V, turning, self._shape(pddot)]), self._contacts(
            out, p, pddot, forces
        )

    def reactions(self, t: float, state: Configured, inputs: Any = None) -> dict[str, float]:
        """Return the force of every constraint by its name; that of `driving` is the torque on the
        rear wheel about its axle that keeps the speed.
        """
        given = check_inputs(self.model, state, inputs)
        _, forces = self.solve(self.look(t, *self.enter(t, state), given))
        return dict(zip(self.labels, map(float, forces), strict=True))

    def _shape(self, p: Floats) -> Floats:
        """Return joint coordinates (or their rates) of p (or its rates)."""
        bike = self.bike
        r = np.zeros(len(self.model.joints))
        r[[bike.steer, bike.rear, bike.front]] = p[GAMMA], p[PSI] - p[BETA], p[EPSILON]
        r[self.extra] = p[EXTRA:-1]
        return r

    def _contacts(self, out: Any, p: Floats, pddot: Floats, forces: Floats) -> Floats:
        """Return the ground's forces in the axes of the contacts; the rear wheel's normal force is
        what the vertical balance leaves.
        """
        rear, front = self.bike.contacts
        normal = forces[0]
        heading = np.array([np.cos(p[PHI]), np.sin(p[PHI])])
        tracks = {rear: (heading, forces[2:4]), front: (out["along"][:2], forces[4:6])}
        lifts = {rear: out["lift"] @ pddot + out["weight"] - normal, front: normal}
        found = np.zeros((2, 3))
        for k, (along, force) in tracks.items():
            across = np.array([-along[1], along[0]])
            found[k] = [lifts[k], along @ force, across @ force]
        return found

    def start(self, t: float, state: Configured) -> Floats:
        """Return y = (p_din, p_kin, pdot_din), eq. (49), for a user's state."""
        p, pdot = self.enter(t, state)
        return np.concatenate([p[self.independent], p[self.kinematic], pdot[self.independent]])

    def rate(self, t: float, y: Floats, inputs: Floats) -> Floats:
        """Return the rate of y, by the five steps of section 7.1."""
        p, pdot = self.complete(t, y)
        pddot, _ = self.solve(self.look(t, p, pdot, inputs))
        return np.concatenate(
            [pdot[self.independent], pdot[self.kinematic], pddot[self.independent]]
        )

    def complete(self, t: float, y: Floats) -> tuple[Floats, Floats]:
        """Return p and pdot for y: contact equations for beta and xi, then the linear ones for the
        velocities.
        """
        k = len(self.independent)
        n = len(self.kinematic)
        p = np.zeros(self.size)
        p[self.independent] = y[:k]
        p[self.kinematic] = y[k : k + n]
        p[-1] = self.lowest(p)
        p = self.close(p)
        still = self.look(t, p, np.zeros(self.size), np.zeros(len(self.model.inputs)))
        return p, self.velocities(still, y[k + n :])

    def leave(self, t: float, y: Floats) -> Snapshot:
        """Return the user's state for y."""
        p, pdot = self.complete(t, y)
        out = self.look(t, p, pdot, np.zeros(len(self.model.inputs)))
        V = out["A"].T @ (out["H"] @ pdot)
        W = out["A"].T @ (out["G"] @ pdot)
        v = np.concatenate([V, W, self._shape(pdot)])
        return Snapshot(quaternion(out["A"]), out["o"], self._shape(p), v)


def accelerations(
    model: Model,
    *,
    speed: float | None = None,
    realise: Realise = interpret,
    tolerance: float = 1e-8,
) -> Accelerate:
    """Return `accelerate(t, state, inputs) -> (vdot, contact forces)` of a bicycle that rolls freely,
    or is driven at a speed.
    """
    return Partitioned(model, speed, realise, tolerance).accelerate
