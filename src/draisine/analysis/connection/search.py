"""Search for gaits with the largest, a zero or a prescribed displacement.

Displacements have exact derivatives, so that BFGS and Newton's method converge to rounding errors.
"""

from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.displacement import Displacement, displacement
from draisine.analysis.connection.gait import ShapePath
from draisine.analysis.connection.local import LocalConnection
from draisine.errors import ConfigurationError

TARGET_TOLERANCE = 1e-11
"""Largest error (m and rad) of a gait with prescribed displacement."""

MIN_CONTINUATION_STEP = 1e-3
"""Smallest continuation step, as a fraction of the total change of displacement; below it the continuation
fails."""

MAX_CORRECTIONS = 8
"""Largest number of Newton steps per continuation step; if more are needed, the continuation step is too
long."""


def farthest(
    connection: LocalConnection, path: ShapePath, start: Any, direction: Any = None
) -> tuple[Floats, Displacement]:
    """Maximise the displacement per cycle; return the path parameters near `start` and the displacement.

    Parameters
    ----------
    connection, path
        Local connection, and the family of closed paths in shape space.
    start
        Initial parameters of the path.
    direction
        Direction in the initial frame along which the displacement is maximised; by default the
        distance is maximised.

    Raises
    ------
    ConfigurationError
        If no maximum exists near the start.
    """
    unit = None if direction is None else np.asarray(direction, float) / np.linalg.norm(direction)

    def negative_displacement(theta: Floats) -> tuple[float, Floats]:
        """Return the negative displacement and its gradient at the parameters theta."""
        reached = displacement(connection, path, theta)
        if unit is not None:
            return -float(unit @ reached.p), -unit @ reached.place_change
        toward = reached.p / max(reached.distance, 1e-300)
        return -reached.distance, -toward @ reached.place_change

    from scipy.optimize import minimize

    optimum = minimize(
        negative_displacement,
        np.asarray(start, float),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-10},
    )
    if np.linalg.norm(optimum.jac) > 1e-6 * max(1.0, abs(optimum.fun)):
        raise ConfigurationError(
            f"No gait of largest displacement near {start}: {optimum.message}. Start elsewhere."
        )
    return optimum.x, displacement(connection, path, optimum.x)


def reversal(
    connection: LocalConnection, path: ShapePath, low: float, high: float
) -> tuple[float, Displacement]:
    """Return the size of a one-parameter path at which the displacement changes its sign.

    The sizes `low` and `high` must bracket this zero of the displacement.
    """
    ahead = displacement(connection, path, [low])
    unit = ahead.p / ahead.distance

    def signed_displacement(size: float) -> float:
        """Return the displacement (m) of a path along the direction of displacement at `low`."""
        return float(unit @ displacement(connection, path, [size]).p)

    if signed_displacement(high) >= 0:
        raise ConfigurationError(
            f"The displacement does not reverse up to the size {high}. Use a larger `high`."
        )
    from scipy.optimize import brentq

    size = float(brentq(signed_displacement, low, high, xtol=1e-13, rtol=1e-14))
    return size, displacement(connection, path, [size])


def path_to(
    connection: LocalConnection, path: ShapePath, start: Any, place: Any, yaw: float = 0.0
) -> tuple[Floats, Displacement]:
    """Return path parameters near `start` with a prescribed displacement per cycle, and the displacement.

    The method is continuation from the displacement of `start` (thesis, remark 1.3). Newton's method
    corrects each step with the minimum-norm change of the parameters.

    Parameters
    ----------
    connection, path
        Local connection, and the family of closed paths in shape space.
    start
        Initial parameters of the path.
    place
        Position (x, y) after one cycle, m.
    yaw
        Rotation after one cycle, rad.

    Raises
    ------
    ConfigurationError
        If the continuation does not reach the displacement.
    """
    theta = np.asarray(start, float)
    wanted = np.array([*place, yaw], float)
    reached = displacement(connection, path, theta)
    initial = _planar_components(reached)
    share = 0.0
    step = 1.0
    while share < 1.0:
        aim = min(1.0, share + step)
        corrected = _solve_parameters(connection, path, theta, initial + aim * (wanted - initial))
        if corrected is not None:
            theta, reached = corrected
            share = aim
            step = 2.0 * step
        elif (step := step / 2.0) < MIN_CONTINUATION_STEP:
            residual = np.abs(wanted - _planar_components(reached)).max()
            raise ConfigurationError(
                f"No gait with the displacement {wanted} found near {start}; the closest one misses it by "
                f"{residual:.3g}."
            )
    return theta, reached


def _planar_components(displacement: Displacement) -> Floats:
    """Return x, y (m) and yaw (rad) of a displacement, (3,)."""
    return np.array([displacement.p[0], displacement.p[1], displacement.yaw])


def _solve_parameters(
    connection: LocalConnection, path: ShapePath, theta: Floats, wanted: Floats
) -> tuple[Floats, Displacement] | None:
    """Return path parameters with a wanted displacement (x, y, yaw) in m and rad, and the displacement.

    Return None if Newton's method does not converge in a few small steps.
    """
    size = 1.0 + np.abs(theta).max()
    for _ in range(MAX_CORRECTIONS):
        reached = displacement(connection, path, theta)
        residual = wanted - _planar_components(reached)
        if np.abs(residual).max() < TARGET_TOLERANCE:
            return theta, reached
        change = np.linalg.pinv(np.vstack([reached.place_change[:2], reached.change[5]])) @ residual
        if not np.abs(change).max() < size:
            return None
        theta = theta + change
    return None
