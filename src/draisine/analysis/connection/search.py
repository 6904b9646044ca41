"""Gaits that lead far, that lead nowhere, or where they should."""

from typing import Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.connection.displacement import Displacement, displacement
from draisine.analysis.connection.gait import ShapePath
from draisine.analysis.connection.local import LocalConnection
from draisine.errors import ConfigurationError

CLOSE = 1e-11
"""A gait leads to a place (m) and an angle (rad) where it misses them by less."""

LEAST = 1e-3
"""Smaller parts of the way to a wanted motion are not tried."""


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

    from scipy.optimize import minimize

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
    from scipy.optimize import brentq

    size = float(brentq(signed, low, high, xtol=1e-13, rtol=1e-14))
    return size, displacement(connection, path, [size])


def path_to(
    connection: LocalConnection, path: ShapePath, start: Any, place: Any, yaw: float = 0.0
) -> tuple[Floats, Displacement]:
    """Return the parameters next to `start` whose cycle leads to a place (x, y) and turns by an angle
    (thesis, remark 1.3): by continuation, from where `start` leads to what is wanted, each step by
    Newton's method with exact derivatives and the least change of the parameters.
    """
    theta, wanted = np.asarray(start, float), np.array([*place, yaw], float)
    here = displacement(connection, path, theta)
    begun, part, step = _planar(here), 0.0, 1.0
    while part < 1.0:
        aim = min(1.0, part + step)
        found = _newton(connection, path, theta, begun + aim * (wanted - begun))
        if found is not None:
            (theta, here), part, step = found, aim, 2.0 * step
        elif (step := step / 2.0) < LEAST:
            missed = np.abs(wanted - _planar(here)).max()
            raise ConfigurationError(
                f"no such gait next to {start}: it comes within {missed:.3g} of {wanted}."
            )
    return theta, here


def _planar(found: Displacement) -> Floats:
    return np.array([found.p[0], found.p[1], found.yaw])


def _newton(
    connection: LocalConnection, path: ShapePath, theta: Floats, wanted: Floats
) -> tuple[Floats, Displacement] | None:
    """Return parameters next to some that lead where wanted; None where they are not near."""
    size = 1.0 + np.abs(theta).max()
    for _ in range(8):
        found = displacement(connection, path, theta)
        missed = wanted - _planar(found)
        if np.abs(missed).max() < CLOSE:
            return theta, found
        change = np.linalg.pinv(np.vstack([found.place_change[:2], found.change[5]])) @ missed
        if not np.abs(change).max() < size:
            return None
        theta = theta + change
    return None
