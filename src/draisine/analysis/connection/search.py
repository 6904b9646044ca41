"""Gaits that lead far, that lead nowhere, or where they should."""

from typing import Any

import numpy as np
from scipy.optimize import brentq, least_squares, minimize

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.displacement import Displacement, displacement
from draisine.analysis.connection.gait import ShapePath
from draisine.analysis.connection.local import LocalConnection
from draisine.errors import ConfigurationError


def farthest(
    connection: LocalConnection, path: ShapePath, start: Any, direction: Any = None
) -> tuple[Floats, Displacement]:
    """Return the parameters next to `start` whose cycle leads farthest, or farthest in a direction of
    the frame at its start, with the displacement; by exact derivatives.
    """
    way = None if direction is None else np.asarray(direction, float) / np.linalg.norm(direction)

    def lost(theta: Floats) -> tuple[float, Floats]:
        found = displacement(connection, path, theta)
        if way is not None:
            return -float(way @ found.p), -way @ found.place_change
        toward = found.p / max(found.distance, 1e-300)
        return -found.distance, -toward @ found.place_change

    found = minimize(
        lost, np.asarray(start, float), jac=True, method="BFGS", options={"gtol": 1e-10}
    )
    if np.linalg.norm(found.jac) > 1e-6 * max(1.0, abs(found.fun)):
        raise ConfigurationError(f"no farthest gait next to {start}: {found.message}")
    return found.x, displacement(connection, path, found.x)


def reversal(
    connection: LocalConnection, path: ShapePath, low: float, high: float
) -> tuple[float, Displacement]:
    """Return the size between two sizes at which the cycle of a path of one parameter leads nowhere,
    and beyond which it leads back.
    """
    ahead = displacement(connection, path, [low])
    way = ahead.p / ahead.distance

    def signed(size: float) -> float:
        return float(way @ displacement(connection, path, [size]).p)

    if signed(high) >= 0:
        raise ConfigurationError(f"the gait still leads ahead at the size {high}; look farther.")
    size = float(brentq(signed, low, high, xtol=1e-13, rtol=1e-14))
    return size, displacement(connection, path, [size])


def path_to(
    connection: LocalConnection, path: ShapePath, start: Any, place: Any, yaw: float = 0.0
) -> tuple[Floats, Displacement]:
    """Return the parameters next to `start` whose cycle leads to a place (x, y) and turns by an angle
    (thesis, remark 1.3).
    """
    wanted = np.array([*place, yaw], float)

    def missed(theta: Floats) -> Floats:
        found = displacement(connection, path, theta)
        return np.array([found.p[0], found.p[1], found.yaw]) - wanted

    def change(theta: Floats) -> Floats:
        found = displacement(connection, path, theta)
        return np.vstack([found.place_change[:2], found.change[5]])

    found = least_squares(
        missed, np.asarray(start, float), change, xtol=1e-14, ftol=1e-14, gtol=1e-14
    )
    if np.abs(found.fun).max() > 1e-9:
        raise ConfigurationError(
            f"no such gait next to {start}: it comes within {np.abs(found.fun).max():.3g} of {wanted}."
        )
    return found.x, displacement(connection, path, found.x)
