"""Every body with its own six coordinates, joints and contacts as constraints: the notes of Schwab,
for any tree.

A body has the position x of its centre of mass, an orientation e (the notes' Euler angles, `R =
Rz(phi) Rx(theta) Ry(psi)`, or a quaternion), the velocity v in world axes and the angular velocity
w' in its own. A hinge is two points that coincide (3 rows) and two axes that stay parallel (2); a
slide keeps a point on a line (2) and three pairs of axes perpendicular (3); a prescribed joint has
one row more. A wheel's contact is one condition on the coordinates and two on the velocities. What
is solved is the saddle-point system `M ydot = Q + D' lam`, `D ydot = bdot - g`, with g the
convective terms; `run` integrates it in fixed steps and projects coordinates and velocities back
onto the constraints after each.

Where the print of the notes errs: the rotations multiply in the order given above; the Jacobian by
coordinates is `D A'(e)`, not `D A'(e)^-1`; and the convective terms of a wheel belong to the
accelerations that are solved for, here vdot and wdot'.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.linalg

from draisine.algebra.lie import (
    cross,
    quaternion,
    quaternion_rate,
    rot_about,
    rot_x,
    rot_y,
    rot_z,
    rotation,
    yaw_lean_pitch,
)
from draisine.algebra.scalar import Array, Floats, array, cos, norm, sin
from draisine.errors import ParameterError, SingularityError
from draisine.mechanics.constraints import mode_of
from draisine.mechanics.formulations._absolute_rows import (
    AbsoluteEquations,
    Placed,
    across_axis,
    equations,
    matrix,
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
from draisine.mechanics.formulations.multiplier import saddle_point, scaled_saddle
from draisine.model import Body, Model

FORMULATION = "every body with six coordinates, joints as constraints, after Schwab"

Orientation = Literal["euler", "quaternion"]


def euler_matrix(e: Array) -> Array:
    """Return A' of `w' = A' edot` for e = (phi, theta, psi): heading, bank, pitch."""
    (c_th, s_th), (c_ps, s_ps) = (cos(e[1]), sin(e[1])), (cos(e[2]), sin(e[2]))
    return array([[-s_ps * c_th, c_ps, 0.0], [s_th, 0.0, 1.0], [c_ps * c_th, s_ps, 0.0]])


def euler_rate(e: Array, w: Array) -> Array:
    """Return edot = A'^-1 w'; bodies whose bank is a quarter turn have none."""
    c, s = cos(e[2]), sin(e[2])
    heading = (c * w[2] - s * w[0]) / cos(e[1])
    return array([heading, c * w[0] + s * w[2], w[1] - sin(e[1]) * heading])


def quaternion_matrix(q: Array) -> Array:
    """Return A' of `w' = A' qdot` for a unit quaternion."""
    w, x, y, z = q
    return 2.0 * array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """All bodies in numbers, one line each: x, e, v, w'."""

    x: Floats
    e: Floats
    v: Floats
    w: Floats

    @property
    def speeds(self) -> Floats:
        """The speeds y = (all v, all w')."""
        return np.concatenate([self.v.ravel(), self.w.ravel()])

    def moved(self, other: "Coordinates", h: float) -> "Coordinates":
        """Return these coordinates plus h times others (rates)."""
        return Coordinates(
            self.x + h * other.x, self.e + h * other.e, self.v + h * other.v, self.w + h * other.w
        )


@dataclass(frozen=True, slots=True)
class AbsoluteRun:
    """A run in fixed steps: times, the user's states per time, and how well the constraints hold.

    `drift` and `slip` are the largest errors of coordinates and velocities that a step left, before
    the projection and (second column) after it.
    """

    t: Floats
    states: list[Snapshot] = field(repr=False)
    drift: Floats
    slip: Floats


class Absolute:
    """One mode of one model in absolute coordinates."""

    def __init__(
        self,
        model: Model,
        orientation: Orientation = "euler",
        mode: Mapping[str, str] | None = None,
        realise: Realise = interpret,
        spare: Collection[str] = (),
    ) -> None:
        if orientation not in ("euler", "quaternion"):
            raise ParameterError(f"orientation = {orientation!r}: take 'euler' or 'quaternion'.")
        self.model, self.mode = in_numbers(model), mode_of(model, mode)
        self.euler = orientation == "euler"
        self.axes = [self._own_axes(body) for body in model.bodies]
        self.units = [joint.axis / norm(joint.axis) for joint in model.joints]
        self.order = self._outward()
        n, pins = len(model.bodies), len(model.pins)
        width = 3 if self.euler else 4
        sizes = {"t": 1, "x": 3 * n, "e": width * n, "v": 3 * n, "w": 3 * n}
        sizes |= {"push": 3 * len(model.pushes), "anchors": 3 * pins, "home": 3}
        self.symbols = trace_symbols(sizes)
        self.equations = self._trace()
        self.labels = [row.label for row in self.equations.rows]
        self.keep = [k for k, label in enumerate(self.labels) if label not in spare]
        self.evaluate = realise_arrays(realise, self.symbols, self._outputs())
        self.holonomic = [k for k, row in enumerate(self.equations.rows) if row.gap is not None]
        self.angles = np.array([self.equations.rows[k].angle for k in self.holonomic], bool)

    def _own_axes(self, body: Body) -> Floats:
        """Return the axes of w' in the drawing: a wheel's second axis is its axle, so that Euler's
        last angle is its rolling; others have the drawing's.
        """
        for wheel in self.model.wheels:
            if wheel.body == body.name:
                y, z, x = across_axis(wheel.axle)
                if abs(y[1]) > 1.0 - 1e-12:
                    break
                return np.column_stack([x, y, z])
        return np.eye(3)

    def _outward(self) -> list[int]:
        """Return the joints in an order in which each parent is placed before its child."""
        placed = {self.model.bodies[0].name}
        order: list[int] = []
        while len(order) < len(self.model.joints):
            for k, joint in enumerate(self.model.joints):
                if k not in order and joint.parent in placed:
                    order.append(k)
                    placed.add(joint.child)
        return order

    def _rotation(self, e: Array) -> Array:
        """Return the rotation from own axes to the world's."""
        return rot_z(e[0]) @ rot_x(e[1]) @ rot_y(e[2]) if self.euler else rotation(e)

    def _trace(self) -> AbsoluteEquations:
        s, n = self.symbols, len(self.model.bodies)
        x, e, v, w = (s[name].reshape(n, -1) for name in ("x", "e", "v", "w"))
        bodies = []
        for i, (body, axes) in enumerate(zip(self.model.bodies, self.axes, strict=True)):
            own = self._rotation(e[i])
            bodies.append(Placed(body, x[i], v[i], own @ w[i], own @ axes.T, own))
        return equations(
            self.model, self.mode, bodies, s["t"][0], s["push"], s["anchors"], s["home"]
        )

    def _outputs(self) -> dict[str, Any]:
        found = self.equations
        D, U = matrix(found.rows, found.bodies), matrix(found.user, found.bodies)
        arrays: dict[str, Any] = {"M": found.M, "Q": found.Q, "D": D, "U": U}
        arrays |= {
            key: [getattr(row, key) for row in found.rows] for key in ("g", "b", "c", "size")
        }
        arrays["gu"] = [row.g for row in found.user]
        arrays["gaps"] = [row.gap for row in found.rows if row.gap is not None]
        arrays["r"] = [row.gap for row in found.user[6:]]
        return arrays

    def look(self, t: float, at: Coordinates, push: Floats, held: tuple[Floats, Floats]) -> Any:
        """Return all that the equations tell of coordinates, as arrays of their proper shapes."""
        if self.euler and np.abs(np.cos(at.e[:, 1])).min() < 1e-7:
            body = self.model.bodies[int(np.argmin(np.abs(np.cos(at.e[:, 1]))))]
            raise SingularityError(
                f"body {body.name!r} banks by a quarter turn, where Euler angles are singular; "
                "take orientation='quaternion'."
            )
        found = self.evaluate(
            t=[t],
            x=at.x.ravel(),
            e=at.e.ravel(),
            v=at.v.ravel(),
            w=at.w.ravel(),
            push=push,
            anchors=held[0],
            home=held[1],
        )
        n = len(self.model.bodies)
        out = dict(found)
        blocks = out["M"].reshape(n, 2, 3, 2, 3)
        M = np.zeros((2, n, 3, 2, n, 3))
        for i in range(n):
            M[:, i, :, :, i, :] = blocks[i]
        out["M"] = M.reshape(6 * n, 6 * n)
        out["Q"] = out["Q"].reshape(n, 2, 3).transpose(1, 0, 2).ravel()
        out["D"], out["U"] = out["D"].reshape(-1, 6 * n), out["U"].reshape(-1, 6 * n)
        wrong = [label for label, size in zip(self.labels, out["size"], strict=True) if size < 1e-7]
        if wrong:
            raise SingularityError(
                f"rows {', '.join(wrong)} are degenerate here; does a wheel lie flat, or a blade "
                "stand upright?"
            )
        return out

    def solve(
        self,
        t: float,
        at: Coordinates,
        inputs: Floats,
        held: tuple[Floats, Floats],
        near: Floats,
    ) -> tuple[Floats, Floats, Floats]:
        """Return ydot, the multipliers of all rows, and the rates of the user's speeds.

        `near` holds joint coordinates from which the present ones differ by less than half a turn.
        """
        joints = self.model.joints
        out = self.look(t, at, inputs[len(joints) :], held)
        y, drive = at.speeds, out["U"][6:]
        r = self._whole_turns(out["r"], near)
        Q = out["Q"] + drive.T @ joint_torques(self.model, inputs, r, drive @ y)
        whole = out["D"]
        D, target = whole[self.keep], (out["c"] - out["g"])[self.keep]
        n, (K, scale) = len(Q), scaled_saddle(out["M"], D)
        if np.linalg.cond(K) > 1e13:  # this names what is wrong
            speeds = [
                f"{b.name}.{what}{k}" for what in "vw" for b in self.model.bodies for k in "xyz"
            ]
            labels = [self.labels[k] for k in self.keep]
            saddle_point(out["M"], -Q, D, target, labels, speeds)
        z = np.linalg.solve(K, np.concatenate([Q, target]) / scale) / scale
        return z[:n], self._shared(whole, z[n:]), out["U"] @ z[:n] + out["gu"]

    def _shared(self, D: Floats, lam: Floats) -> Floats:
        """Return the multipliers of all rows, of least contact forces, from those of the kept ones."""
        if len(self.keep) == len(D):
            return lam
        full = np.zeros(len(D))
        full[self.keep] = lam
        N = scipy.linalg.null_space(D.T, rcond=1e-10)
        soft = {f"{c.name}.{x}": 1 / c.stiffness for c in self.model.contacts for x in c.directions}
        scale = np.sqrt([soft.get(label, 0.0) for label in self.labels])
        return full - N @ np.linalg.lstsq(scale[:, None] * N, scale * full, rcond=None)[0]

    def _whole_turns(self, r: Floats, near: Floats) -> Floats:
        """Return joint coordinates with the whole turns that bring angles close to given ones."""
        turn = 2.0 * np.pi
        angles = np.array([row.angle for row in self.equations.user[6:]], bool)
        return r + turn * np.where(angles, np.round((near - r) / turn), 0.0)

    def accelerate(self, t: float, state: Configured, inputs: Any = None) -> tuple[Floats, Floats]:
        """Return vdot and the ground's force on each contact."""
        lam, rates = self._respond(t, state, inputs)
        return rates[self._columns()], self._forces(lam)

    def reactions(self, t: float, state: Configured, inputs: Any = None) -> dict[str, float]:
        """Return every multiplier by the name of its row: what joints carry, the ground's forces,
        the torques that prescribed joints need.
        """
        lam, _ = self._respond(t, state, inputs)
        return dict(zip(self.labels, map(float, lam), strict=True))

    def _respond(self, t: float, state: Configured, inputs: Any) -> tuple[Floats, Floats]:
        """Return the multipliers of all rows, and the rates of the user's speeds."""
        given = check_inputs(self.model, state, inputs)
        at = self.enter(state)
        return self.solve(t, at, given, self.held(at), np.asarray(state.r, float))[1:]

    def _columns(self) -> list[int]:
        return [*self.model.twist, *range(6, 6 + len(self.model.joints))]

    def _forces(self, lam: Floats) -> Floats:
        forces = np.zeros((len(self.model.contacts), 3))
        for k, contact in enumerate(self.model.contacts):
            for j, name in enumerate(contact.directions):
                label = f"{contact.name}.{name}"
                if label in self.labels:
                    forces[k, j] = lam[self.labels.index(label)]
        return forces

    def held(self, at: Coordinates) -> tuple[Floats, Floats]:
        """Return where the pins hold, all one after the other, and the base's home: where they are."""
        names = [body.name for body in self.model.bodies]
        points = [self._point(at, names.index(c.body), c.point) for c in self.model.pins]
        return np.array(points, float).ravel(), self._point(at, 0, np.zeros(3))

    def _point(self, at: Coordinates, i: int, point: Floats) -> Floats:
        """Return where a point of the drawing on a body is."""
        own = np.asarray(self._rotation(at.e[i]), float)
        return at.x[i] + own @ (self.axes[i].T @ (point - self.model.bodies[i].com))

    def _frames(self, state: Configured) -> list[tuple[Floats, Floats, Floats, Floats]]:
        """Return R, p, w, v of the drawing's frame on every body, in world axes."""
        model = self.model
        twist = np.zeros(6)
        twist[list(model.twist)] = state.v[: len(model.twist)]
        rates = state.v[len(model.twist) :]
        R = np.asarray(rotation(np.asarray(state.q, float)), float)
        frames = {
            model.bodies[0].name: (R, np.asarray(state.p, float), R @ twist[3:], R @ twist[:3])
        }
        for k in self.order:
            joint = model.joints[k]
            R, p, w, v = frames[joint.parent]
            a = R @ self.units[k]
            turned = rot_about(a, joint.turn * state.r[k]) @ R
            spin = w + a * (joint.turn * rates[k])
            arm = R @ joint.through + a * (joint.slide * state.r[k])
            new = turned @ joint.through
            slid = v + cross(w, arm) + a * (joint.slide * rates[k])
            frames[joint.child] = (turned, p + arm - new, spin, slid - cross(spin, new))
        return [frames[body.name] for body in model.bodies]

    def enter(self, state: Configured) -> Coordinates:
        """Return the coordinates of all bodies for a user's state."""
        x: list[Any] = []
        e: list[Any] = []
        v: list[Any] = []
        w: list[Any] = []
        for body, axes, frame in zip(
            self.model.bodies, self.axes, self._frames(state), strict=True
        ):
            R, p, spin, velocity = frame
            arm, own = R @ body.com, R @ axes
            x.append(p + arm)
            v.append(velocity + cross(spin, arm))
            w.append(own.T @ spin)
            if self.euler:
                e.append(yaw_lean_pitch(own))
            else:
                e.append(quaternion(own))
        return Coordinates(*[np.array(part, float) for part in (x, e, v, w)])

    def leave(self, at: Coordinates, near: Floats, held: tuple[Floats, Floats]) -> Snapshot:
        """Return the user's state for the coordinates of all bodies; `near` as in `solve`."""
        out = self.look(0.0, at, np.zeros(3 * len(self.model.pushes)), held)
        R = np.asarray(self._rotation(at.e[0]), float) @ self.axes[0].T
        r = self._whole_turns(out["r"], near)
        v = (out["U"] @ at.speeds)[self._columns()]
        return Snapshot(quaternion(R), self._point(at, 0, np.zeros(3)), r, v)

    def _rates(self, e: Floats, w: Floats) -> Floats:
        rate = euler_rate if self.euler else quaternion_rate
        return np.array([rate(e[i], w[i]) for i in range(len(e))], float)

    def project(
        self, t: float, at: Coordinates, held: tuple[Floats, Floats]
    ) -> tuple[Coordinates, Floats, Floats]:
        """Return the nearest coordinates and velocities that satisfy the constraints, and the
        largest errors of both before and after.

        Coordinates move by `-D+ E` with `D = dE/d(x, e)` until the errors E no longer shrink,
        velocities by `-D+ (D y - b)` once.
        """
        push = np.zeros(3 * len(self.model.pushes))
        out = self.look(t, at, push, held)
        E = self._errors(out, at)
        drift = [np.abs(E).max(initial=0.0)]
        for _ in range(20):
            if not drift[-1] > 0.0:
                break
            J = self._by_coordinates(out["D"][self.holonomic], at)
            step = np.linalg.lstsq(J, -E, rcond=None)[0]
            n = at.x.size
            tried = Coordinates(
                at.x + step[:n].reshape(at.x.shape), at.e + step[n:].reshape(at.e.shape), at.v, at.w
            )
            seen = self.look(t, tried, push, held)
            left = self._errors(seen, tried)
            if not np.abs(left).max() < drift[-1]:
                break
            at, out, E = tried, seen, left
            drift.append(np.abs(E).max())
        y = at.speeds
        wrong = out["D"] @ y - out["b"]
        y = y - np.linalg.lstsq(out["D"], wrong, rcond=None)[0]
        slip = [np.abs(x).max(initial=0.0) for x in (wrong, out["D"] @ y - out["b"])]
        n = at.v.size
        at = Coordinates(at.x, at.e, y[:n].reshape(at.v.shape), y[n:].reshape(at.w.shape))
        return at, np.array([drift[0], drift[-1]]), np.array(slip)

    def _errors(self, out: Any, at: Coordinates) -> Floats:
        """Return E: the gaps, angles without whole turns; and the defect of quaternions' lengths."""
        gaps = out["gaps"]
        E = np.where(self.angles, (gaps + np.pi) % (2.0 * np.pi) - np.pi, gaps)
        if self.euler:
            return E
        return np.concatenate([E, ((at.e * at.e).sum(axis=1) - 1.0) / 2.0])

    def _by_coordinates(self, D: Floats, at: Coordinates) -> Floats:
        """Return dE/d(x, e) = D A'(e), with the rows of the quaternions' lengths below."""
        n, width = at.e.shape
        J = np.zeros((len(D), 3 * n + width * n))
        J[:, : 3 * n] = D[:, : 3 * n]
        lengths = np.zeros((n, J.shape[1]))
        A = euler_matrix if self.euler else quaternion_matrix
        for i in range(n):
            own = slice(3 * n + width * i, 3 * n + width * (i + 1))
            J[:, own] = D[:, 3 * (n + i) : 3 * (n + i) + 3] @ np.asarray(A(at.e[i]), float)
            lengths[i, own] = at.e[i]
        return J if self.euler else np.vstack([J, lengths])

    def run(
        self,
        state: Configured,
        until: float,
        dt: float,
        inputs: Any = None,
        *,
        project: bool = True,
    ) -> AbsoluteRun:
        """Return the motion from a state in equal steps of the classical Runge-Kutta method, no
        longer than dt, each followed by the projection.
        """
        if not (np.isfinite(until) and until > 0.0 and np.isfinite(dt) and dt > 0.0):
            raise ParameterError(f"until = {until} s and dt = {dt} s must be positive times.")
        given = check_inputs(self.model, state, inputs)
        at = self.enter(state)
        held = self.held(at)
        states = [Snapshot(*[np.asarray(x, float) for x in (state.q, state.p, state.r, state.v)])]
        times = np.linspace(0.0, until, max(1, int(np.ceil(until / dt - 1e-9))) + 1)
        drifts, slips = [np.zeros(2)], [np.zeros(2)]
        for t0, t1 in pairwise(times):
            at = self._step(t0, t1 - t0, at, given, held, states[-1].r)
            nearest, drift, slip = self.project(t1, at, held)
            if project:
                at = nearest
            drifts.append(drift)
            slips.append(slip)
            states.append(self.leave(at, states[-1].r, held))
        return AbsoluteRun(times, states, np.array(drifts), np.array(slips))

    def _step(
        self,
        t: float,
        h: float,
        at: Coordinates,
        inputs: Floats,
        held: tuple[Floats, Floats],
        near: Floats,
    ) -> Coordinates:
        """Return the coordinates one Runge-Kutta step later."""

        def rate(t: float, at: Coordinates) -> Coordinates:
            ydot = self.solve(t, at, inputs, held, near)[0]
            n = at.v.size
            turning = self._rates(at.e, at.w)
            return Coordinates(at.v, turning, ydot[:n].reshape(-1, 3), ydot[n:].reshape(-1, 3))

        k1 = rate(t, at)
        k2 = rate(t + h / 2, at.moved(k1, h / 2))
        k3 = rate(t + h / 2, at.moved(k2, h / 2))
        k4 = rate(t + h, at.moved(k3, h))
        return at.moved(k1, h / 6).moved(k2, h / 3).moved(k3, h / 3).moved(k4, h / 6)


def accelerations(
    model: Model,
    *,
    orientation: Orientation = "euler",
    mode: Mapping[str, str] | None = None,
    realise: Realise = interpret,
    spare: Collection[str] = (),
) -> Accelerate:
    """Return `accelerate(t, state, inputs) -> (vdot, contact forces)` of a tree in one mode; `spare`
    names rows that repeat others.
    """
    return Absolute(model, orientation, mode, realise, spare).accelerate
