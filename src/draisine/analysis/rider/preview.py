"""Path-following riders: linear-quadratic feedback and preview, designed for the linearised
vehicle.

The plant is the vehicle running straight at a speed, in path coordinates (offset, heading error), with the
delay and the muscles of the rider at its input. With the curvature k of the path its equation is

    xdot = A x + B u + E k,        E: the heading error falls by the speed times k.

On a constant curvature it has the steady motion `x = X k`, `u = U k` with no offset. The deviation
`d = x - X k` obeys `ddot = A d + B (u - U k) - X kdot`, so the control of least cost with preview is

    u = U k - K (x - X k) + R^-1 B' int_0^T exp((A - B K)' tau) P X kdot(t + tau) dtau,   eq. [preview]

with P from Riccati's equation, eq. [lqr]. Integration by parts leaves gains on the curvature at some
distances ahead (Sharp and Valtetsiotis 2001, Vehicle System Dynamics 35 Suppl., 101-117; delay and
muscles inside the plant: Kleinman, Baron and Levison 1970, doi:10.1016/0005-1098(70)90051-8).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.eigenvalues import driven_inputs
from draisine.analysis.equilibrium import steady_driven
from draisine.analysis.linear import Linear, find_connected_states
from draisine.analysis.lqr import riccati_cost
from draisine.control import HEADING_ERROR, OFFSET, Neuromuscular
from draisine.control.path_following import PathFollowing
from draisine.errors import ConfigurationError, ParameterError
from draisine.model.names import state_names
from draisine.system.system import System

PATH_WEIGHTS = {OFFSET: 1.0, HEADING_ERROR: 1.0}
"""Default weights of the path coordinates: an offset of 1 m costs as much as a heading error of 1
rad.
"""

MACHINE_NEEDS = "follow_path: the machine needs a joint 'steer', a lean and a place on the ground."

PATH_NAMES = {"y": OFFSET, "yaw": HEADING_ERROR}
"""Names of the path coordinates, by the name of the linear system's state that each replaces."""


def follow_path(
    system: System,
    path: Any,
    speed: float,
    weights: Mapping[str, float] | None = None,
    *,
    cost: float = 0.02,
    horizon: float | None = None,
    count: int = 40,
    delay: float = 0.0,
    order: int = 4,
    muscles: float | None = None,
    damping: float = 0.707,
) -> PathFollowing:
    """Design the rider who steers a bicycle along a path at a given speed with minimum cost.

    The gains are computed for a plant that includes delay and muscles, so that the rider predicts
    over the delay. On a slope the plant runs straight uphill; if the path leaves this direction,
    the lateral weight is a disturbance.

    Parameters
    ----------
    system
        A bicycle or motorcycle, on ideal wheels or on tyres.
    path
        Curvature in 1/m (0.0 is a straight line), function from x to y in m, or a `CurvedPath`.
    speed
        Forward speed, m/s, that the gains are computed for.
    weights
        Weights of the states: `offset` (1/m2), `heading_error` (1/rad2), `lean`, ...; by default 1
        for the two path coordinates. States that are not listed have no weight.
    cost
        Weight of the squared torque, 1/(N m)2.
    horizon
        Time of preview, s; by default 2 s beside the delay.
    count
        Number of preview points on the path ahead.
    delay
        Transport delay of the rider, s.
    order
        Order of Padé's approximation of the delay.
    muscles
        Natural frequency of the muscles, rad/s; None leaves them out.
    damping
        Damping ratio of the muscles.

    Returns
    -------
    PathFollowing
        The control law, for `simulate`, `Stepper`, and, `on` a straight line or a circle, for
        `linearise`, `steady` and `eigenvalues`.

    Raises
    ------
    ConfigurationError
        If a weight belongs to a state that steering does not influence, or if steering cannot stabilise
        the vehicle at this speed.

    Examples
    --------
    >>> from draisine import compile
    >>> rider = follow_path(compile("whipple"), 0.0, 5.0, delay=0.2)
    >>> rider.states_read
    ('lean', 'steer', 'heading_error', 'offset', 'lean_rate', 'steer_rate')
    >>> rider.state_names[:2]
    ('offset', 'heading_error')
    """
    if not cost > 0.0:
        raise ParameterError(f"follow_path: cost = {cost} must be positive.")
    if not speed > 0.0:
        raise ParameterError(
            f"follow_path: speed = {speed} m/s must be positive, because a machine at rest cannot be steered."
        )
    if count < 1:
        raise ParameterError(f"follow_path: count = {count}: give at least one point.")
    hands = Neuromuscular(delay, order, muscles, damping)
    time = 2.0 + delay if horizon is None else horizon
    if not time > 0.0:
        raise ParameterError(f"follow_path: horizon = {horizon} s must be positive.")
    names, A, b = _make_path_plant(_linearise_straight_running(system, speed))
    state_weights = dict(PATH_WEIGHTS if weights is None else weights)
    for name in state_weights:
        if name not in names:
            raise ConfigurationError(
                f"follow_path: {name!r} is not a state that steering moves. Available: "
                f"{', '.join(names)}."
            )
        if not state_weights[name] >= 0.0:
            raise ParameterError(
                f"follow_path: weight of {name} = {state_weights[name]} is negative."
            )
    if not state_weights.get(OFFSET, 0.0) > 0.0:
        raise ParameterError("follow_path: the weight of the offset must be positive.")
    A, B = _add_rider_dynamics(A, b, hands)
    Q = np.zeros(len(A))
    Q[: len(names)] = [float(state_weights.get(name, 0.0)) for name in names]
    try:
        P = riccati_cost(A, B, np.diag(Q), np.array([[cost]]))
    except np.linalg.LinAlgError:
        P = np.zeros_like(A)
    K = (B.T @ P / cost)[0]
    closed = (A - B @ K[None]).T
    if not np.linalg.eigvals(closed).real.max() < 0.0:
        raise ConfigurationError(
            f"follow_path: no steer torque keeps {system.vehicle.__name__} on a path at {speed:g} m/s "
            f"after {delay:g} s of delay. Change the speed or reduce the delay."
        )
    turned = np.zeros(len(A))
    turned[names.index(HEADING_ERROR)] = -speed
    X, U = _solve_steady_turn(A, B, turned, names.index(OFFSET))
    edges = np.linspace(0.0, time, count + 1)
    future = [float(B[:, 0] @ scipy.linalg.expm(closed * t) @ P @ X) / cost for t in edges]
    future[-1] = 0.0  # the curvature beyond the horizon is assumed constant
    ahead = [U + float(K @ X) - future[0], *(-np.diff(future)).tolist()]
    distances = [0.0, *(speed * (edges[:-1] + edges[1:]) / 2.0).tolist()]
    size = len(names)
    return PathFollowing(
        tuple(names),
        tuple(K[:size].tolist()),
        path,
        tuple(distances),
        tuple(ahead),
        hands,
        tuple(K[size:].tolist()),
        "steer",
        float(speed),
    )


def _linearise_straight_running(system: System, speed: float) -> Linear:
    """Return the linear system of straight running, with a drive torque that balances slope and
    drag.
    """
    names = state_names(system.model)
    if not {"lean", "yaw", "forward_speed"} <= set(names):
        raise ConfigurationError(MACHINE_NEEDS)
    drive = [name for name in driven_inputs(system) if name != "steer"]
    straight = {"forward_speed": speed, "lean": 0.0, "yaw": 0.0}
    return steady_driven(system, drive, **straight).linear(cyclic=True)


def _make_path_plant(linear: Linear) -> tuple[list[str], Floats, Floats]:
    """Return the names of the lateral states in path coordinates, A, and the input column of the
    torque.
    """
    if "steer" not in linear.inputs or "steer" not in linear.states or "y" not in linear.states:
        raise ConfigurationError(MACHINE_NEEDS)
    linked = np.abs(linear.A) > 1e-9 * np.abs(linear.A).max()
    lateral = find_connected_states(linked, np.isin(linear.states, ("lean", "steer")))
    columns = np.flatnonzero(lateral)
    names = [PATH_NAMES.get(linear.states[k], linear.states[k]) for k in columns]
    return names, linear.A[np.ix_(columns, columns)], linear.part(["steer"]).B[columns]


def _add_rider_dynamics(
    state_matrix: Floats, input_column: Floats, hands: Neuromuscular
) -> tuple[Floats, Floats]:
    """Return A and B of the plant extended by the delay and the muscles of the rider.

    The rider's dynamics are linear, so their matrices are their values at unit vectors.
    """
    n = len(state_matrix)
    m = hands.states
    torque = np.zeros(m + 1)
    rates = np.zeros((m, m + 1))
    for k, (command, *z) in enumerate(np.eye(m + 1)):
        torque[k], column = hands(command, np.array(z))
        rates[:, k] = column
    joined = np.zeros((n + m, n + m))
    joined[:n, :n] = state_matrix
    joined[:n, n:] = input_column * torque[1:]
    joined[n:, n:] = rates[:, 1:]
    return joined, np.concatenate([input_column[:, 0] * torque[0], rates[:, 0]])[:, None]


def _solve_steady_turn(
    state_matrix: Floats, input_matrix: Floats, rates_per_curvature: Floats, offset: int
) -> tuple[Floats, float]:
    """Return states and command per unit of curvature in a steady turn without offset."""
    n = len(state_matrix)
    matrix = np.zeros((n + 1, n + 1))
    matrix[:n, :n] = state_matrix
    matrix[:n, n] = input_matrix[:, 0]
    matrix[n, offset] = 1.0
    solution = np.linalg.solve(matrix, -np.append(rates_per_curvature, 0.0))
    return solution[:n], float(solution[n])
