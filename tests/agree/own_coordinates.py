"""Simulators in the internal coordinates of the independent formulations, as their authors describe
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from draisine.algebra.lie import quaternion, quaternion_rate, rot_z
from draisine.algebra.scalar import Array, Floats, array, cos, sin
from draisine.errors import ParameterError
from draisine.mechanics.base import free_columns
from draisine.mechanics.formulations._plug import Configured, Snapshot, check_inputs
from draisine.mechanics.formulations.absolute import Absolute, Coordinates, rotation_to_world
from draisine.mechanics.formulations.bicycle.planar import FIRST_JOINT, YAW, Planar, X, Y


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


def moved(at: Coordinates, other: Coordinates, h: float) -> Coordinates:
    """Return these coordinates plus h times others (rates)."""
    return Coordinates(
        at.x + h * other.x, at.e + h * other.e, at.v + h * other.v, at.w + h * other.w
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


class AbsoluteSimulator(Absolute):
    """Schwab's simulator: constant steps, with coordinates and velocities projected after each
    step.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.holonomic = [k for k, row in enumerate(self.equations.rows) if row.gap is not None]
        self.angles = np.array([self.equations.rows[k].angle for k in self.holonomic], bool)

    def leave(self, at: Coordinates, near: Floats, held: tuple[Floats, Floats]) -> Snapshot:
        """Return the user's state for the coordinates of all bodies; `near` as in `solve`."""
        out = self.compute_arrays(0.0, at, np.zeros(3 * len(self.model.pushes)), held)
        R = np.asarray(rotation_to_world(at.e[0]), float) @ self.axes[0].T
        r = self._nearest_turns(out["r"], near)
        v = (out["U"] @ at.speeds)[free_columns(self.model)]
        return Snapshot(quaternion(R), self._point_position(at, 0, np.zeros(3)), r, v)

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
        out = self.compute_arrays(t, at, push, held)
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
            seen = self.compute_arrays(t, tried, push, held)
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
        held = self.fixed_points(at)
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
        k2 = rate(t + h / 2, moved(at, k1, h / 2))
        k3 = rate(t + h / 2, moved(at, k2, h / 2))
        k4 = rate(t + h, moved(at, k3, h))
        for k, part in ((k1, h / 6), (k2, h / 3), (k3, h / 3), (k4, h / 6)):
            at = moved(at, k, part)
        return at


class PlanarSimulator(Planar):
    """Simulator of the thesis's bicycle in SE(2) x S."""

    def leave(self, t: float, coordinates: Floats, speeds: Floats) -> Snapshot:
        """Return the user's state."""
        out = self.compute_arrays(t, coordinates, speeds, np.zeros(len(self.model.inputs)))
        heading = np.asarray(rot_z(coordinates[YAW]), float)
        C0 = np.array([coordinates[X], coordinates[Y], 0.0])
        V, W = out["R"].T @ out["moves"] @ speeds, out["R"].T @ out["turns"] @ speeds
        return Snapshot(
            quaternion(heading @ out["R"]),
            C0 + heading @ out["origin"],
            coordinates[FIRST_JOINT:].copy(),
            np.concatenate([V, W, speeds[FIRST_JOINT:]]),
        )

    def rate(self, t: float, y: Floats, inputs: Floats) -> Floats:
        """Return the rate of y = (coordinates, independent speeds), eqs. (2.9) and (2.10)."""
        n = FIRST_JOINT + len(self.model.joints)
        coordinates = y[:n]
        speeds = self.speeds(t, coordinates, y[n:])
        vdot, _ = self.solve(self.compute_arrays(t, coordinates, speeds, inputs))
        heading = np.asarray(rot_z(coordinates[YAW]), float)
        moved = heading[:2, :2] @ speeds[[X, Y]]
        return np.concatenate([moved, speeds[YAW:], vdot[self.independent]])

    def speeds(self, t: float, coordinates: Floats, u: Sequence[float] | Floats) -> Floats:
        """Return all speeds for the independent ones, `v = H u` and what motions prescribe."""
        n, inputs = len(coordinates), np.zeros(len(self.model.inputs))
        out = self.compute_arrays(t, coordinates, np.zeros(n), inputs)
        return np.linalg.solve(self.stack_independent_rows(out["C"]), np.concatenate([out["b"], u]))
