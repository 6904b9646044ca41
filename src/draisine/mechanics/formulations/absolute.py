"""Every body with its own six coordinates, joints and contacts as constraints: the notes of Schwab,
for any tree.

A body has the position x of its centre of mass, an orientation e (the notes' Euler angles, `R =
Rz(phi) Rx(theta) Ry(psi)`, or a quaternion), the velocity v in world axes and the angular velocity
w' in its own. A hinge is two points that coincide (3 rows) and two axes that stay parallel (2); a
slide keeps a point on a line (2) and three pairs of axes perpendicular (3); a prescribed joint has
one row more. A wheel's contact is one condition on the coordinates and two on the velocities. What
is solved is the saddle-point system `M ydot = Q + D' lam`, `D ydot = bdot - g`, with g the
convective terms.

Where the print of the notes errs: the rotations multiply in the order given above; the Jacobian by
coordinates is `D A'(e)`, not `D A'(e)^-1`; and the convective terms of a wheel belong to the
accelerations that are solved for, here vdot and wdot'.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.linalg

from draisine.algebra.lie import (
    cross,
    quaternion,
    rot_about,
    rot_x,
    rot_y,
    rot_z,
    rotation,
    yaw_lean_pitch,
)
from draisine.algebra.scalar import Array, Floats, norm
from draisine.errors import ParameterError, SingularityError
from draisine.mechanics.base import free_columns
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
        self.model = in_numbers(model)
        self.mode = mode_of(model, mode)
        self.euler = orientation == "euler"
        self.axes = [self._own_axes(body) for body in model.bodies]
        self.units = [joint.axis / norm(joint.axis) for joint in model.joints]
        self.order = self._outward()
        n = len(model.bodies)
        pins = len(model.pins)
        width = 3 if self.euler else 4
        sizes = {"t": 1, "x": 3 * n, "e": width * n, "v": 3 * n, "w": 3 * n}
        sizes |= {"push": 3 * len(model.pushes), "anchors": 3 * pins, "home": 3}
        self.symbols = trace_symbols(sizes)
        self.equations = self._trace()
        self.labels = [row.label for row in self.equations.rows]
        self.keep = [k for k, label in enumerate(self.labels) if label not in spare]
        self.evaluate = realise_arrays(realise, self.symbols, self._outputs())

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
        s = self.symbols
        n = len(self.model.bodies)
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
        D = matrix(found.rows, found.bodies)
        U = matrix(found.user, found.bodies)
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
        y = at.speeds
        drive = out["U"][6:]
        r = self._whole_turns(out["r"], near)
        Q = out["Q"] + drive.T @ joint_torques(self.model, inputs, r, drive @ y)
        armature = np.array([joint.armature for joint in joints])
        out["M"] = out["M"] + drive.T @ (armature[:, None] * drive)
        Q = Q - drive.T @ (armature * out["gu"][6:])
        whole = out["D"]
        D = whole[self.keep]
        target = (out["c"] - out["g"])[self.keep]
        n = len(Q)
        (K, scale) = scaled_saddle(out["M"], D)
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
        return rates[free_columns(self.model)], self._forces(lam)

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
            arm = R @ body.com
            own = R @ axes
            x.append(p + arm)
            v.append(velocity + cross(spin, arm))
            w.append(own.T @ spin)
            if self.euler:
                e.append(yaw_lean_pitch(own))
            else:
                e.append(quaternion(own))
        return Coordinates(*[np.array(part, float) for part in (x, e, v, w)])


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
