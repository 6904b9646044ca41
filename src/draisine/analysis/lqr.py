"""Linear-quadratic regulators (LQR) for the linear system about a steady motion.

`u = u0 - K (x - x0)` minimises the integral of `dx' Q dx + du' R du` for the linear system about a steady
motion x0 with inputs u0. K follows from the algebraic Riccati equation, eq. [lqr].
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from draisine.algebra.scalar import Array, Floats, Scalar, atan2, cos, sin
from draisine.analysis.equilibrium import steady_driven
from draisine.analysis.linear import Linear, find_connected_states
from draisine.errors import ConfigurationError, ParameterError, UnknownNameError, expect_known
from draisine.mechanics.readings import Readings
from draisine.system.system import System

DRIFT_RATE = 1e-6
"""Largest rate of a state that counts as constant in the steady motion, SI units; x at a forward speed, for
example, is not constant."""

REACH_TOLERANCE = 1e-9
"""Rounding error of entries of A and B and of new controllable directions, as a fraction of the largest
one."""

MAX_EIGENVECTOR_CONDITION = 1e6
"""Largest condition number of the uncontrollable eigenvectors; above it they count as parallel, so that the
states drift linearly with time."""


@dataclass(frozen=True, eq=False)
class StateFeedback:
    """Control law `u = u0 - K (x - x0)`: linear feedback of named coordinates and speeds.

    It is traced into the compiled code like other control laws. Deviations of "x" and "y" are measured along
    and across the heading, as in the linear system.
    """

    states_read: tuple[str, ...]  # names of the states x
    inputs: tuple[str, ...]  # names of the inputs with feedback
    K: Floats  # feedback gains, (inputs, states)
    about: Floats  # reference state x0, (states,)
    # Feedforward u0 by name of the input; zero by default
    feedforward: Mapping[str, float] = field(default_factory=dict)
    heading: float = 0.0  # yaw angle of the motion, rad

    states: ClassVar[int] = 0

    def __call__(self, readings: Readings, z: Array) -> tuple[dict[str, Scalar], tuple[()]]:
        """Return the inputs (N m or N) by name; the control law has no states."""
        x = self._deviations(readings)
        feedback = {
            name: -sum((k * dx for k, dx in zip(row, x, strict=True)), 0.0)
            for name, row in zip(self.inputs, self.K.tolist(), strict=True)
        }
        total = {name: feedback.get(name, 0.0) + u0 for name, u0 in self.feedforward.items()}
        return feedback | total, ()

    def _deviations(self, readings: Readings) -> list[Scalar]:
        """Return the deviations x - x0, with the heading wrapped to half a turn."""
        named = zip(self.states_read, self.about.tolist(), strict=True)
        dx = {name: readings.value(name) - x0 for name, x0 in named}
        if "yaw" in dx:
            dx["yaw"] = atan2(sin(dx["yaw"]), cos(dx["yaw"]))
        if "x" in dx and "y" in dx:
            c = math.cos(self.heading)
            s = math.sin(self.heading)
            dx |= {"x": c * dx["x"] + s * dx["y"], "y": c * dx["y"] - s * dx["x"]}
        return list(dx.values())


def lqr(linear: Linear, states: Mapping[str, float], inputs: Mapping[str, float]) -> StateFeedback:
    """Design the linear-quadratic regulator of a linear system about a steady motion.

    States that have no weight and are not influenced by the inputs are ignored.

    Parameters
    ----------
    linear
        Linear system about one motion.
    states
        Weights of states by name, the diagonal of Q; zero for the others. States that change in the
        steady motion itself (x at a speed) must have no weight.
    inputs
        Costs of inputs by name, the diagonal of R. The law uses these inputs only.

    Returns
    -------
    StateFeedback
        The control law.

    Raises
    ------
    ConfigurationError
        If the inputs cannot stabilise the motion, or a state with a weight changes in it.
    UnknownNameError
        If a state or an input does not exist.

    Examples
    --------
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
    _check_weights(states, linear.states, "state")
    _check_weights(inputs, linear.inputs, "input")
    moving = _find_moving_states(linear)
    for name in moving:
        if states.get(name, 0.0):
            raise ConfigurationError(
                f"lqr: {name} changes in the steady motion itself, so that no constant value can be kept. "
                "Set no weight for it, or set one for its rate."
            )
    controlled = linear.part(list(inputs))
    Q = np.diag([float(states.get(name, 0.0)) for name in linear.states])
    R = np.diag([float(cost) for cost in inputs.values()])
    is_constant = np.array([name not in moving for name in linear.states])
    kept = np.flatnonzero((_find_influenced_states(controlled) & is_constant) | (np.diag(Q) > 0.0))
    block = np.ix_(kept, kept)
    K = np.zeros((len(inputs), len(linear.states)))
    try:
        K[:, kept] = _optimal_gain(controlled.A[block], controlled.B[kept], Q[block], R)
    except np.linalg.LinAlgError:
        raise ConfigurationError(
            f"lqr: the inputs {', '.join(inputs)} cannot stabilise the motion, or a state that does not "
            "decay is not observable by the weights. Add inputs, or weights of states."
        ) from None
    u0 = {n: float(w0) for n, w0 in zip(linear.inputs, linear.w0, strict=True) if w0 != 0.0}
    return StateFeedback(linear.states, tuple(inputs), K, linear.x0, u0, float(linear.heading))


def _check_weights(weights: object, names: Sequence[str], kind: str) -> None:
    """Raise an error if weights are not a mapping by the names of states or inputs."""
    if not isinstance(weights, Mapping):
        raise ParameterError(
            f"lqr: the weights of {kind}s must be a mapping by name, {{{names[0]!r}: 1.0}}, not a "
            f"{type(weights).__name__}, because Q and R are diagonal. For full matrices use "
            "python-control: control.lqr(linear.to_control(), Q, R)."
        )
    expect_known(f"lqr: no {kind}", weights, names, UnknownNameError)


def _find_moving_states(linear: Linear) -> set[str]:
    """Return the names of states that change in the steady motion itself; on a circle, both x and
    y.
    """
    is_fast = np.abs(linear.rates) > DRIFT_RATE
    moving = {name for name, fast in zip(linear.states, is_fast, strict=False) if fast}
    return moving | {"x", "y"} if "yaw" in moving else moving


def _find_influenced_states(linear: Linear) -> Floats:
    """Return which states (bool) the inputs influence, directly or through other states."""
    links, driven = (
        np.abs(x) > REACH_TOLERANCE * np.abs(x).max(initial=1e-300) for x in (linear.A, linear.B)
    )
    return find_connected_states(links, driven.any(axis=1))


def balance(
    system: System,
    weights: Mapping[str, float] | None = None,
    costs: Mapping[str, float] | None = None,
    **about: Any,
) -> StateFeedback:
    """Design the linear-quadratic regulator that stabilises a steady motion of a system.

    The steady motion has the prescribed quantities and zero inputs. If none exists, the inputs of the
    control law may be nonzero.

    Parameters
    ----------
    system
        The compiled system.
    weights
        Weights of states by name. States that the inputs influence have weight 1 by default. Cyclic
        states (x, y, yaw, angles of wheels) are controlled only if one of them has a weight.
    costs
        Costs of the inputs of the control law by name; by default 1 for the input of each joint.
    about
        Prescribed quantities and options of `steady`, such as `forward_speed=3.0`.

    Returns
    -------
    StateFeedback
        The control law.

    Raises
    ------
    ParameterError
        If the system has a forward speed and nothing is prescribed.
    ConfigurationError
        If there is no such steady motion, or the inputs cannot stabilise it.

    Examples
    --------
    >>> from draisine import compile, simulate, state
    >>> segway = compile("segway")
    >>> law = balance(segway, {"pitch": 100}, forward_speed=0)
    >>> run = simulate(segway, state(segway, pitch=0.2), 10.0, law=law).to_xarray()
    >>> bool(abs(run.pitch[-1] - law.about[0]) < 1e-3)
    True
    """
    if "forward_speed" in system.outputs and not about:
        raise ParameterError(
            "balance: the law depends on the speed. Prescribe one, forward_speed=3.0, or 0.0 for rest."
        )
    joints = [joint.name for joint in system.model.joints if joint.motion is None]
    costs = costs or {name: 1.0 for name in system.model.inputs if name in joints}
    motion = steady_driven(system, [name for name in system.model.inputs if name in costs], **about)
    linear = motion.linear()
    if not set(weights or ()) <= set(linear.states):
        linear = motion.linear(cyclic=True)
    controlled = linear.part([name for name in linear.inputs if name in costs])
    influenced = zip(linear.states, _find_influenced_states(controlled), strict=True)
    moving = _find_moving_states(linear)
    usual = {name: 1.0 for name, reached in influenced if reached and name not in moving}
    return lqr(linear, usual | dict(weights or {}), costs)


def riccati_gain(A: Floats, B: Floats, Q: Floats, R: Floats) -> Floats:
    """Return the optimal feedback gain K, (inputs, states), eq. [lqr]."""
    return np.linalg.solve(R, B.T @ riccati_cost(A, B, Q, R))


def riccati_cost(A: Floats, B: Floats, Q: Floats, R: Floats) -> Floats:
    """Return the matrix P (states, states) of the optimal cost x' P x from an initial state x, eq.
    [lqr].
    """
    from scipy.linalg import solve_continuous_are

    return solve_continuous_are(A, B, Q, R)


def _optimal_gain(
    state_matrix: Floats, input_matrix: Floats, state_weights: Floats, input_weights: Floats
) -> Floats:
    """Return the optimal gain for a system with uncontrollable directions.

    These directions must be constant or decay by themselves: a turntable cannot change its angular
    momentum about the vertical. Coordinates (V, U) separate controllable and uncontrollable
    directions; the gain on the latter solves a Sylvester equation.
    """
    from scipy.linalg import solve_sylvester

    V, U = _controllable_directions(state_matrix, input_matrix)
    if not U.shape[1]:
        return riccati_gain(state_matrix, input_matrix, state_weights, input_weights)
    A_u = U.T @ state_matrix @ U
    values, vectors = np.linalg.eig(A_u)
    grows = values.real.max() > REACH_TOLERANCE * np.linalg.norm(state_matrix)
    # Parallel eigenvectors of a zero eigenvalue mean that a state drifts linearly with time.
    if grows or not V.shape[1] or np.linalg.cond(vectors) > MAX_EIGENVECTOR_CONDITION:
        raise np.linalg.LinAlgError(
            "the uncontrollable states grow or drift, so that no feedback stabilises them"
        )
    A_v = V.T @ state_matrix @ V
    B_v = V.T @ input_matrix
    P = riccati_cost(A_v, B_v, V.T @ state_weights @ V, input_weights)
    K = np.linalg.solve(input_weights, B_v.T @ P)
    closed = A_v - B_v @ K
    P_vu = solve_sylvester(closed.T, A_u, -(P @ V.T @ state_matrix @ U + V.T @ state_weights @ U))
    return K @ V.T + np.linalg.solve(input_weights, B_v.T @ P_vu) @ U.T


def _controllable_directions(state_matrix: Floats, input_matrix: Floats) -> tuple[Floats, Floats]:
    """Return orthonormal bases of the controllable subspace and of its complement.

    >>> [x.shape[1] for x in _controllable_directions(np.zeros((2, 2)), np.array([[1.0], [-1.0]]))]
    [1, 1]
    """
    V = np.zeros((len(state_matrix), 0))
    added = input_matrix / max(np.linalg.norm(input_matrix), 1e-300)
    while True:
        for _ in range(2):  # a second projection removes the rounding errors of the first
            added = added - V @ (V.T @ added)
        U, sizes, _ = np.linalg.svd(added, full_matrices=False)
        added = U[:, sizes > REACH_TOLERANCE]
        if not added.shape[1]:
            break
        V = np.column_stack([V, added])
        added = state_matrix @ added / max(np.linalg.norm(state_matrix), 1e-300)
    return V, np.linalg.svd(V)[0][:, V.shape[1] :]
