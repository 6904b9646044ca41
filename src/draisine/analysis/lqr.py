"""State feedback of least cost, from the linear system of a machine itself.

`u = u0 - K (x - x0)` minimises the integral of `dx' Q dx + du' R du` for the linear system about the
motion x0 that the inputs u0 keep up; K follows from Riccati's equation, eq. [lqr].
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, atan2, cos, sin
from draisine.analysis.equilibrium import steady_driven
from draisine.analysis.linear import Linear, reach_states
from draisine.errors import ConfigurationError, ParameterError, UnknownNameError, expect_known
from draisine.mechanics.readings import Readings
from draisine.system.system import System

MOVES = 1e-6
"""States that change faster than this in a steady motion, in SI units, move along in it."""


@dataclass(frozen=True, eq=False)
class StateFeedback:
    """A control law `u = u0 - K (x - x0)` on named coordinates and speeds; it is traced like any other.
    `about` is x0; `given` is u0, by the names of inputs, zero where they are not named. Deviations of x
    and y count along and across the `heading` of the motion that is kept, as in its linear system.
    """

    states_read: tuple[str, ...]
    inputs: tuple[str, ...]
    K: Floats
    about: Floats
    given: Mapping[str, float] = field(default_factory=dict)
    heading: float = 0.0

    states: ClassVar[int] = 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return the inputs; the law has no states of its own."""
        x = self._deviations(readings)
        given = {
            name: -sum((k * dx for k, dx in zip(row, x, strict=True)), 0.0)
            for name, row in zip(self.inputs, self.K.tolist(), strict=True)
        }
        return given | {name: given.get(name, 0.0) + u0 for name, u0 in self.given.items()}, ()

    def _deviations(self, readings: Readings) -> list[Scalar]:
        """Return x - x0: the heading the short way round, the place along and across it."""
        named = zip(self.states_read, self.about.tolist(), strict=True)
        dx = {name: readings.value(name) - x0 for name, x0 in named}
        if "yaw" in dx:
            dx["yaw"] = atan2(sin(dx["yaw"]), cos(dx["yaw"]))
        if "x" in dx and "y" in dx:
            c, s = math.cos(self.heading), math.sin(self.heading)
            dx |= {"x": c * dx["x"] + s * dx["y"], "y": c * dx["y"] - s * dx["x"]}
        return list(dx.values())


def lqr(linear: Linear, states: Mapping[str, float], inputs: Mapping[str, float]) -> StateFeedback:
    """Return the law of least cost that keeps the steady motion of a linear system: `states` are
    weights (zero where not named), `inputs` those of the inputs that it uses. States that neither have
    a weight nor are moved by the inputs are left alone; those that move along in the steady motion
    (x at a speed) cannot be kept at a value, and have none.

    >>> from draisine import compile, state
    >>> from draisine.analysis.linear import linearise
    >>> cart = compile("cart_pole")
    >>> upright = linearise(cart, state(cart), cyclic=True)
    >>> law = lqr(upright, {"cart": 1.0, "pole": 1.0}, {"cart": 0.1})
    >>> closed = upright.A - upright.part(["cart"]).B @ law.K
    >>> bool(np.linalg.eigvals(closed).real.max() < 0)
    True
    """
    linear.check_single("lqr")
    for weights, known, kind in (
        (states, linear.states, "state"),
        (inputs, linear.inputs, "input"),
    ):
        _check_weights(weights, known, kind)
    moving = _moving_states(linear)
    for name in moving:
        if states.get(name, 0.0):
            raise ConfigurationError(
                f"lqr: {name} moves along in the steady motion, and cannot be kept at a value. Leave it "
                "without a weight, or weigh its rate."
            )
    part = linear.part(list(inputs))
    Q = np.diag([float(states.get(name, 0.0)) for name in linear.states])
    R = np.diag([float(cost) for cost in inputs.values()])
    still = np.array([name not in moving for name in linear.states])
    kept = np.flatnonzero((_moved_states(part) & still) | (np.diag(Q) > 0.0))
    K = np.zeros((len(inputs), len(linear.states)))
    try:
        K[:, kept] = _least_gain(part.A[np.ix_(kept, kept)], part.B[kept], Q[np.ix_(kept, kept)], R)
    except np.linalg.LinAlgError:
        raise ConfigurationError(
            f"lqr: the inputs {', '.join(inputs)} cannot steady the motion, or no weight sees a state "
            "that stays. Name more inputs, or weigh more states."
        ) from None
    given = {n: float(u0) for n, u0 in zip(linear.inputs, linear.w0, strict=True) if u0 != 0.0}
    return StateFeedback(linear.states, tuple(inputs), K, linear.x0, given, float(linear.heading))


def _check_weights(weights: object, known: Sequence[str], kind: str) -> None:
    """Raise where weights are not given by the names of states or inputs."""
    if not isinstance(weights, Mapping):
        raise ParameterError(
            f"lqr: weights go by the names of {kind}s, {{{known[0]!r}: 1.0}}, not by a "
            f"{type(weights).__name__}: Q and R are diagonal. python-control takes full matrices: "
            "control.lqr(linear.to_control(), Q, R)."
        )
    expect_known(f"lqr: no {kind}", weights, known, UnknownNameError)


def _moving_states(linear: Linear) -> set[str]:
    """Return the states that change in the steady motion itself; in a circle, both of the place."""
    fast = np.abs(linear.rates) > MOVES
    moving = {name for name, yes in zip(linear.states, fast, strict=False) if yes}
    return moving | {"x", "y"} if "yaw" in moving else moving


def _moved_states(linear: Linear) -> Floats:
    """Return which states the inputs move, at once or through others."""
    links, pushed = (np.abs(x) > 1e-9 * np.abs(x).max(initial=1e-300) for x in (linear.A, linear.B))
    return reach_states(links, pushed.any(axis=1))


def balance(
    system: System,
    weights: Mapping[str, float] | None = None,
    costs: Mapping[str, float] | None = None,
    **about: Any,
) -> StateFeedback:
    """Return the law of least cost that keeps a machine in the steady motion in which everything asked
    for is so: one without inputs, where there is one, else with those that the law uses. Weights are
    those of its states: one for each that the inputs move and that is not named; cyclic ones (its place)
    count only if one of them is. Costs are those of the inputs that it uses, one for each joint's if
    none are named. What has a forward speed is kept at the one that is asked for.

    >>> from draisine import compile, simulate, state
    >>> segway = compile("segway")
    >>> law = balance(segway, {"pitch": 100}, forward_speed=0)
    >>> run = simulate(segway, state(segway, pitch=0.2), 10.0, law=law).to_xarray()
    >>> bool(abs(run.pitch[-1] - law.about[0]) < 1e-3)
    True
    """
    if "forward_speed" in system.outputs and not about:
        raise ParameterError(
            "balance: at which speed? Each has its own law: ask for forward_speed=3.0, or 0.0 for rest."
        )
    joints = [joint.name for joint in system.model.joints if joint.motion is None]
    costs = costs or {name: 1.0 for name in system.model.inputs if name in joints}
    motion = steady_driven(system, [name for name in system.model.inputs if name in costs], **about)
    linear = motion.linear()
    if not set(weights or ()) <= set(linear.states):
        linear = motion.linear(cyclic=True)
    part = linear.part([name for name in linear.inputs if name in costs])
    moved = zip(linear.states, _moved_states(part), strict=True)
    moving = _moving_states(linear)
    ones = {name: 1.0 for name, yes in moved if yes and name not in moving}
    return lqr(linear, ones | dict(weights or {}), costs)


def riccati_gain(A: Floats, B: Floats, Q: Floats, R: Floats) -> Floats:
    """Return the gain K of least cost, eq. [lqr]."""
    return np.linalg.solve(R, B.T @ riccati_cost(A, B, Q, R))


def riccati_cost(A: Floats, B: Floats, Q: Floats, R: Floats) -> Floats:
    """Return the matrix P of the least cost x' P x from a state x on, eq. [lqr]."""
    from scipy.linalg import solve_continuous_are

    return solve_continuous_are(A, B, Q, R)


def _least_gain(A: Floats, B: Floats, Q: Floats, R: Floats) -> Floats:
    """Return the gain of least cost; where the inputs do not reach every direction, that of least cost
    beside what stays there, if that neither grows nor drifts by itself: a momentum about the vertical
    stays, whatever a turntable does.
    """
    from scipy.linalg import solve_sylvester

    V, U = _reached_directions(A, B)
    if not U.shape[1]:
        return riccati_gain(A, B, Q, R)
    rest = U.T @ A @ U
    values, vectors = np.linalg.eig(rest)
    grows = values.real.max() > 1e-9 * np.linalg.norm(A)
    if grows or not V.shape[1] or np.linalg.cond(vectors) > 1e6:
        raise np.linalg.LinAlgError("what the inputs do not reach does not stay")
    own, pushed = V.T @ A @ V, V.T @ B
    P = riccati_cost(own, pushed, V.T @ Q @ V, R)
    K = np.linalg.solve(R, pushed.T @ P)
    closed = own - pushed @ K
    beside = solve_sylvester(closed.T, rest, -(P @ V.T @ A @ U + V.T @ Q @ U))
    return K @ V.T + np.linalg.solve(R, pushed.T @ beside) @ U.T


def _reached_directions(A: Floats, B: Floats) -> tuple[Floats, Floats]:
    """Return orthogonal bases of the states that inputs can lead to, and of the rest.

    >>> [x.shape[1] for x in _reached_directions(np.zeros((2, 2)), np.array([[1.0], [-1.0]]))]
    [1, 1]
    """
    V, fresh = np.zeros((len(A), 0)), B / max(np.linalg.norm(B), 1e-300)
    while True:
        for _ in range(2):  # once more, against round-off
            fresh = fresh - V @ (V.T @ fresh)
        U, sizes, _ = np.linalg.svd(fresh, full_matrices=False)
        fresh = U[:, sizes > 1e-9]
        if not fresh.shape[1]:
            break
        V = np.column_stack([V, fresh])
        fresh = A @ fresh / max(np.linalg.norm(A), 1e-300)
    return V, np.linalg.svd(V)[0][:, V.shape[1] :]
