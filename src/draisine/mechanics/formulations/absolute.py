"""Absolute coordinates: six per body, with joints and contacts as constraints (lecture notes of Schwab).

A body has the position x of its centre of mass, an orientation e (Euler angles as in the notes, `R =
Rz(phi) Rx(theta) Ry(psi)`, or a quaternion), the velocity v in world axes and the angular velocity w' in its
own axes. A hinge is two coincident points (3 rows) and two parallel axes (2); a slide keeps a point on a
line (2) and three pairs of axes perpendicular (3); a prescribed joint has one row more. A wheel has one
holonomic row and two nonholonomic ones. The saddle-point system `M ydot = Q + D' lam`, `D ydot = bdot - g` is
solved, with g the convective terms.

Corrections of the printed notes: the rotations multiply in the order given above; the Jacobian by
coordinates is `D A'(e)`, not `D A'(e)^-1`; and the convective terms of a wheel belong to the accelerations
that are solved for, here vdot and wdot'.
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
from draisine.algebra.scalar import Array, Floats, all_vanish, norm
from draisine.algebra.trace import Graph
from draisine.errors import ParameterError, SingularityError
from draisine.mechanics.base import free_columns
from draisine.mechanics.constraints import Mode, mode_of
from draisine.mechanics.formulations._absolute_rows import (
    AbsoluteEquations,
    Placed,
    absolute_equations,
    orthonormal_axes,
    row_matrix,
)
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
from draisine.mechanics.formulations.multiplier import scaled_saddle, solve_kkt_system
from draisine.model import Body, Model

FORMULATION = "every body with six coordinates, joints as constraints, after Schwab"
"""Description of the method; the attribute marks this module as a formulation."""

Orientation = Literal["euler", "quaternion"]


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Absolute coordinates and speeds of all bodies."""

    x: Floats  # positions of the mass centres, m, (bodies, 3)
    e: Floats  # Euler angles or quaternions, (bodies, 3 or 4)
    v: Floats  # velocities of the mass centres, m/s, (bodies, 3)
    w: Floats  # angular velocities in the bodies' own axes, rad/s, (bodies, 3)

    @property
    def speeds(self) -> Floats:
        """Speeds y = (all v, all w') of all bodies."""
        return np.concatenate([self.v.ravel(), self.w.ravel()])


@dataclass(frozen=True, slots=True, eq=False)
class TracedAbsolute:
    """Equations of one contact mode in absolute coordinates, traced over symbols."""

    symbols: dict[str, Array]  # t, x, e, v, omega, push, anchors, home
    axes: list[Array]  # axes of w' of each body as columns, in the zero configuration
    equations: AbsoluteEquations


def trace_absolute(
    model: Model, mode: Mode, euler: bool = True, graph: Graph | None = None
) -> TracedAbsolute:
    """Return the equations of a contact mode, traced over the symbols of absolute coordinates.

    The symbols belong to the given graph, which may contain the parameters of the model, or to a
    new one.
    """
    n = len(model.bodies)
    width = 3 if euler else 4
    sizes = {"t": 1, "x": 3 * n, "e": width * n, "v": 3 * n, "omega": 3 * n}
    sizes |= {"push": 3 * len(model.pushes), "anchors": 3 * len(model.pins), "home": 3}
    symbols = trace_symbols(sizes, graph)
    axes = [_body_axes(model, body) for body in model.bodies]
    x, e, v, w = (symbols[name].reshape(n, -1) for name in ("x", "e", "v", "omega"))
    bodies = []
    for i, (body, own) in enumerate(zip(model.bodies, axes, strict=True)):
        R = rotation_to_world(e[i])
        bodies.append(Placed(body, x[i], v[i], R @ w[i], R @ own.T, R))
    equations = absolute_equations(
        model, mode, bodies, symbols["t"][0], symbols["push"], symbols["anchors"], symbols["home"]
    )
    return TracedAbsolute(symbols, axes, equations)


def rotation_to_world(orientation: Array) -> Array:
    """Return the rotation from a body's own axes to world axes, from Euler angles or a quaternion."""
    return (
        rot_z(orientation[0]) @ rot_x(orientation[1]) @ rot_y(orientation[2])
        if len(orientation) == 3
        else rotation(orientation)
    )


def _body_axes(model: Model, body: Body) -> Array:
    """Return the axes of w' of a body as columns, in the zero configuration.

    The second axis of a wheel is its axle, so that the last Euler angle is its rotation; other bodies
    have the axes of the zero configuration.
    """
    for wheel in model.wheels:
        if wheel.body == body.name:
            y, z, x = orthonormal_axes(wheel.axle)
            # With these axes, an axle along y leaves the axes of the zero configuration, which give
            # shorter expressions.
            if all_vanish([y[0], y[2]]):
                break
            return np.column_stack([x, y, z])
    return np.eye(3)


class Absolute:
    """Equations of one model in one contact mode, in absolute coordinates."""

    def __init__(
        self,
        model: Model,
        orientation: Orientation = "euler",
        mode: Mapping[str, str] | None = None,
        realise: Realise = interpret,
        redundant: Collection[str] = (),
    ) -> None:
        if orientation not in ("euler", "quaternion"):
            raise ParameterError(
                f"Unknown orientation {orientation!r}. Available: 'euler', 'quaternion'."
            )
        self.model = check_numeric_model(model)
        self.mode = mode_of(model, mode)
        self.euler = orientation == "euler"
        self.units = [joint.axis / norm(joint.axis) for joint in model.joints]
        self.order = self._sort_joints_outward()
        traced = trace_absolute(model, self.mode, self.euler)
        self.symbols = traced.symbols
        self.axes = traced.axes
        self.equations = traced.equations
        self.labels = [row.label for row in self.equations.rows]
        self.keep = [k for k, label in enumerate(self.labels) if label not in redundant]
        self.evaluate = realise_arrays(realise, self.symbols, self._trace_outputs())

    def _sort_joints_outward(self) -> list[int]:
        """Return the joints sorted from the base outward: the joint of a parent body precedes those
        of its children.
        """
        placed = {self.model.bodies[0].name}
        order: list[int] = []
        while len(order) < len(self.model.joints):
            for k, joint in enumerate(self.model.joints):
                if k not in order and joint.parent in placed:
                    order.append(k)
                    placed.add(joint.child)
        return order

    def _trace_outputs(self) -> dict[str, Any]:
        """Return the arrays of the equations by name, as traced expressions."""
        parts = self.equations
        D = row_matrix(parts.rows, parts.bodies)
        U = row_matrix(parts.user, parts.bodies)
        arrays: dict[str, Any] = {"M": parts.M, "Q": parts.Q, "D": D, "U": U}
        arrays |= {
            key: [getattr(row, key) for row in parts.rows] for key in ("g", "b", "c", "size")
        }
        arrays["gu"] = [row.g for row in parts.user]
        arrays["gaps"] = [row.gap for row in parts.rows if row.gap is not None]
        arrays["r"] = [row.gap for row in parts.user[6:]]
        return arrays

    def compute_arrays(
        self, t: float, coordinates: Coordinates, push: Floats, anchors: tuple[Floats, Floats]
    ) -> Any:
        """Return the arrays of the saddle-point system at given coordinates, by name.

        `anchors` are the positions of the pins and of the base, as `fixed_points` returns them.
        """
        # Closer than 1e-7 rad to gimbal lock, the rates of Euler angles lose half of their digits.
        if self.euler and np.abs(np.cos(coordinates.e[:, 1])).min() < 1e-7:
            body = self.model.bodies[int(np.argmin(np.abs(np.cos(coordinates.e[:, 1]))))]
            raise SingularityError(
                f"Body {body.name!r} leans by 90 degrees, where Euler angles are singular. Use "
                "orientation='quaternion'."
            )
        flat = self.evaluate(
            t=[t],
            x=coordinates.x.ravel(),
            e=coordinates.e.ravel(),
            v=coordinates.v.ravel(),
            omega=coordinates.w.ravel(),
            push=push,
            anchors=anchors[0],
            home=anchors[1],
        )
        n = len(self.model.bodies)
        arrays = dict(flat)
        blocks = arrays["M"].reshape(n, 2, 3, 2, 3)
        M = np.zeros((2, n, 3, 2, n, 3))
        for i in range(n):
            M[:, i, :, :, i, :] = blocks[i]
        arrays["M"] = M.reshape(6 * n, 6 * n)
        arrays["Q"] = arrays["Q"].reshape(n, 2, 3).transpose(1, 0, 2).ravel()
        arrays["D"] = arrays["D"].reshape(-1, 6 * n)
        arrays["U"] = arrays["U"].reshape(-1, 6 * n)
        degenerate = [
            label for label, size in zip(self.labels, arrays["size"], strict=True) if size < 1e-7
        ]
        if degenerate:
            raise SingularityError(
                f"The constraint rows {', '.join(degenerate)} are not defined in this configuration: a wheel "
                "lies flat, or a blade is vertical."
            )
        return arrays

    def solve(
        self,
        t: float,
        coordinates: Coordinates,
        inputs: Floats,
        anchors: tuple[Floats, Floats],
        previous_r: Floats,
    ) -> tuple[Floats, Floats, Floats]:
        """Return ydot, the multipliers of all constraint rows, and the accelerations in the user's
        speeds.

        `previous_r` contains joint coordinates within half a turn of the current ones, which determine
        the number of turns.
        """
        joints = self.model.joints
        arrays = self.compute_arrays(t, coordinates, inputs[len(joints) :], anchors)
        y = coordinates.speeds
        joint_rows = arrays["U"][6:]
        r = self._nearest_turns(arrays["r"], previous_r)
        Q = arrays["Q"] + joint_rows.T @ joint_torques(self.model, inputs, r, joint_rows @ y)
        armature = np.array([joint.armature for joint in joints])
        arrays["M"] = arrays["M"] + joint_rows.T @ (armature[:, None] * joint_rows)
        Q = Q - joint_rows.T @ (armature * arrays["gu"][6:])
        all_rows = arrays["D"]
        D = all_rows[self.keep]
        target = (arrays["c"] - arrays["g"])[self.keep]
        n = len(Q)
        (K, scale) = scaled_saddle(arrays["M"], D)
        # If the system is nearly singular, `solve_kkt_system` raises an error that names the
        # dependent constraints.
        if np.linalg.cond(K) > 1e13:
            speeds = [
                f"{b.name}.{quantity}{k}"
                for quantity in "vw"
                for b in self.model.bodies
                for k in "xyz"
            ]
            labels = [self.labels[k] for k in self.keep]
            solve_kkt_system(arrays["M"], -Q, D, target, labels, speeds)
        solution = np.linalg.solve(K, np.concatenate([Q, target]) / scale) / scale
        return (
            solution[:n],
            self._distribute_multipliers(all_rows, solution[n:]),
            arrays["U"] @ solution[:n] + arrays["gu"],
        )

    def _distribute_multipliers(self, constraint_matrix: Floats, lam: Floats) -> Floats:
        """Return the multipliers of all constraint rows, with minimum-norm contact forces, from
        those of the independent rows.
        """
        if len(self.keep) == len(constraint_matrix):
            return lam
        full = np.zeros(len(constraint_matrix))
        full[self.keep] = lam
        N = scipy.linalg.null_space(constraint_matrix.T, rcond=1e-10)
        compliances = {
            f"{c.name}.{x}": 1 / c.stiffness for c in self.model.contacts for x in c.directions
        }
        scale = np.sqrt([compliances.get(label, 0.0) for label in self.labels])
        return full - N @ np.linalg.lstsq(scale[:, None] * N, scale * full, rcond=None)[0]

    def _nearest_turns(self, r: Floats, previous_r: Floats) -> Floats:
        """Return joint coordinates r plus multiples of 2 pi for angles, so that they are closest to
        the coordinates `previous_r`.
        """
        turn = 2.0 * np.pi
        angles = np.array([row.angle for row in self.equations.user[6:]], bool)
        return r + turn * np.where(angles, np.round((previous_r - r) / turn), 0.0)

    def accelerate(self, t: float, state: Configured, inputs: Any = None) -> tuple[Floats, Floats]:
        """Return vdot and the force of the ground on each contact (N)."""
        lam, rates = self._solve_state(t, state, inputs)
        return rates[free_columns(self.model)], self._contact_forces(lam)

    def reactions(self, t: float, state: Configured, inputs: Any = None) -> dict[str, float]:
        """Return every multiplier by the label of its row: joint reactions, contact forces,
        torques.
        """
        lam, _ = self._solve_state(t, state, inputs)
        return dict(zip(self.labels, map(float, lam), strict=True))

    def _solve_state(self, t: float, state: Configured, inputs: Any) -> tuple[Floats, Floats]:
        """Return the multipliers of all constraint rows, and the accelerations in the user's
        speeds.
        """
        values = check_inputs(self.model, state, inputs)
        coordinates = self.enter(state)
        return self.solve(
            t, coordinates, values, self.fixed_points(coordinates), np.asarray(state.r, float)
        )[1:]

    def _contact_forces(self, lam: Floats) -> Floats:
        """Return the contact forces (contacts, 3) from the multipliers of all constraint rows (N)."""
        forces = np.zeros((len(self.model.contacts), 3))
        for k, contact in enumerate(self.model.contacts):
            for j, name in enumerate(contact.directions):
                label = f"{contact.name}.{name}"
                if label in self.labels:
                    forces[k, j] = lam[self.labels.index(label)]
        return forces

    def fixed_points(self, coordinates: Coordinates) -> tuple[Floats, Floats]:
        """Return the current positions of the pins (concatenated) and of the base."""
        names = [body.name for body in self.model.bodies]
        points = [
            self._point_position(coordinates, names.index(c.body), c.point) for c in self.model.pins
        ]
        return np.array(points, float).ravel(), self._point_position(coordinates, 0, np.zeros(3))

    def _point_position(self, coordinates: Coordinates, body: int, point: Floats) -> Floats:
        """Return the position (m) of a point of one body, given in the zero configuration."""
        axes = np.asarray(rotation_to_world(coordinates.e[body]), float)
        return coordinates.x[body] + axes @ (
            self.axes[body].T @ (point - self.model.bodies[body].com)
        )

    def _body_frames(self, state: Configured) -> list[tuple[Floats, Floats, Floats, Floats]]:
        """Return rotation R, position p, angular velocity w and velocity v of every body's frame,
        in world axes.
        """
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
            R_child = rot_about(a, joint.turn * state.r[k]) @ R
            w_child = w + a * (joint.turn * rates[k])
            arm = R @ joint.through + a * (joint.slide * state.r[k])
            through_child = R_child @ joint.through
            v_joint = v + cross(w, arm) + a * (joint.slide * rates[k])
            frames[joint.child] = (
                R_child,
                p + arm - through_child,
                w_child,
                v_joint - cross(w_child, through_child),
            )
        return [frames[body.name] for body in model.bodies]

    def enter(self, state: Configured) -> Coordinates:
        """Convert a state in the user's coordinates (base pose, joint coordinates, speeds) to
        absolute coordinates of all bodies.
        """
        x: list[Any] = []
        e: list[Any] = []
        v: list[Any] = []
        w: list[Any] = []
        for body, axes, frame in zip(
            self.model.bodies, self.axes, self._body_frames(state), strict=True
        ):
            R, p, spin, velocity = frame
            arm = R @ body.com
            axes_world = R @ axes
            x.append(p + arm)
            v.append(velocity + cross(spin, arm))
            w.append(axes_world.T @ spin)
            if self.euler:
                e.append(yaw_lean_pitch(axes_world))
            else:
                e.append(quaternion(axes_world))
        return Coordinates(*[np.array(rows, float) for rows in (x, e, v, w)])


def accelerations(
    model: Model,
    *,
    orientation: Orientation = "euler",
    mode: Mapping[str, str] | None = None,
    realise: Realise = interpret,
    redundant: Collection[str] = (),
) -> Accelerate:
    """Return `accelerate(t, state, inputs) -> (vdot, contact forces)` of a tree in one contact
    mode.

    Parameters
    ----------
    model
        Model whose parameters are numbers, without force elements and moving ground.
    orientation
        Euler angles or quaternions.
    mode
        Statuses by contact; unnamed contacts are closed.
    realise
        Compiler of traced expressions.
    redundant
        Labels of redundant constraint rows.

    Returns
    -------
    Accelerate
        Function of time, state and inputs.
    """
    return Absolute(model, orientation, mode, realise, redundant).accelerate
