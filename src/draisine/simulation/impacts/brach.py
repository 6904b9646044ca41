"""Brach's model of impact: Newton's restitution, and a ratio of tangential to normal impulse.

The ratio has the direction against the first slip and the size `mu`, unless less of it stops the
slip until the bodies part, or keeps the energy from growing. Brach 1989, Journal of Applied Mechanics
56(1), 133-138. Contacts strike one after the other.
"""

import numpy as np
from scipy.optimize import brentq

from draisine.algebra.scalar import Floats
from draisine.simulation.impacts._differential import StrikesInTurn


def _strike(W: Floats, u: Floats, mu: float, e: float) -> Floats:
    """Return the impulses of a contact with `uN+ = -e uN-`, in a bounded ratio, eq. [brach]."""
    wanted = np.array([-(1.0 + e) * u[0], -u[1], -u[2]])
    holds = np.linalg.pinv(W, rcond=1e-13) @ wanted
    if holds[0] > 0 and np.linalg.norm(holds[1:]) <= mu * holds[0] and _gain(W, u, holds) <= 0:
        return holds
    slip = float(np.linalg.norm(u[1:]))
    d = u[1:] / slip if slip > 0 else np.zeros(2)

    def push(ratio: float) -> Floats:
        f = np.array([1.0, *(-ratio * d)])
        return wanted[0] / float(W[0] @ f) * f

    def slip_left(ratio: float) -> float:
        return float(d @ (u[1:] + W[1:] @ push(ratio)))

    low, high = -_largest_ratio(W, -d, mu), _largest_ratio(W, d, mu)
    if slip_left(high) >= 0:
        ratio = high
    elif slip_left(low) <= 0:
        ratio = low
    else:
        ratio = brentq(slip_left, low, high, xtol=1e-15, rtol=1e-14)
    if _gain(W, u, push(ratio)) > 0:  # without friction there is none
        ratio = brentq(lambda x: _gain(W, u, push(x)), 0.0, ratio, xtol=1e-15, rtol=1e-14)
    return push(ratio)


impact = StrikesInTurn(_strike)


def _largest_ratio(W: Floats, d: Floats, mu: float) -> float:
    """Return mu, or less where so much friction against d would jam: no normal impulse parts the
    bodies then.
    """
    along = float(W[0, 1:] @ d)
    jam = float(W[0, 0]) / along if along > 0 else np.inf
    limit = min(mu, (1.0 - 1e-9) * jam)
    return limit if np.isfinite(limit) else 1e9


def _gain(W: Floats, u: Floats, Lam: Floats) -> float:
    """Return the energy that impulses create, beyond round-off."""
    work = float(Lam @ u + 0.5 * Lam @ W @ Lam)
    return work - 1e-12 * float(np.abs(Lam) @ np.abs(u))
