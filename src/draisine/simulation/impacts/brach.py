"""Brach's impact model: Newton's restitution, and a bounded ratio of tangential to normal impulse.

The tangential impulse acts against the initial slip. Its ratio to the normal impulse is `mu`, or less if less
ends the slip, or if more would increase the energy. Brach 1989, Journal of Applied Mechanics 56(1), 133-138.
Contacts that approach equally fast form one impact; otherwise the fastest comes first.
"""

import numpy as np
from scipy.optimize import brentq

from draisine.algebra.scalar import Floats
from draisine.simulation.contact.event_driven.impact import FRICTION_TOLERANCE
from draisine.simulation.impacts._sequence import SequentialImpact
from draisine.simulation.impacts.moreau import solve_friction_impulses

LARGEST_MU = 1e9
"""Friction coefficient that replaces infinite friction; the ratio that ends a slip is finite for any mu."""

BRACH_NO_SLIP = 1e-9
"""Slip, relative to the largest velocity before the impact, below which it counts as zero; it exceeds the
resolution of the friction solver (1e-11).
"""

ENERGY_TOLERANCE = 1e-12
"""Work, relative to the products of impulses and velocities, below which it counts as rounding."""


def _resolve_group(W: Floats, u: Floats, mu: Floats, e: float) -> Floats:
    """Return the impulses (3m) of contacts with `uN+ = -e uN-` and a bounded impulse ratio, eq. [brach]."""
    mu = np.minimum(mu, LARGEST_MU)
    holding = np.full(len(mu), True)
    while True:
        Lam = _impulses(W, u, mu, e, holding)
        leaves = holding & ((_gain(W, u, Lam) > 0.0) | _slips(W, u, Lam))
        if not leaves.any():
            break
        holding = holding & ~leaves
    return _bound_energy(W, u, mu, e, holding, Lam)


impact = SequentialImpact(_resolve_group)


def _impulses(W: Floats, u: Floats, mu: Floats, e: float, holding: Floats) -> Floats:
    """Return impulses (3m); those of contacts that do not stick are normal or along the initial slip.

    Coulomb's law then relates impulse ratio and remaining slip: the ratio is at its bound, or the slip ends.
    """
    n = len(u)
    axes = np.eye(n)
    b = u.copy()
    free = np.full(n, True)
    for i in range(len(mu)):
        b[3 * i] += e * min(u[3 * i], 0.0)
        slip = u[3 * i + 1 : 3 * i + 3]
        size = float(np.hypot(*slip))
        if not holding[i]:
            c, s = slip / size if size > 0.0 else (1.0, 0.0)
            axes[3 * i + 1 : 3 * i + 3, 3 * i + 1 : 3 * i + 3] = [[c, s], [-s, c]]
            free[3 * i + 1] = size > 0.0
            free[3 * i + 2] = False
    # Tangential directions without impulse get decoupled equations with zero slip, so that they stay out of
    # Coulomb's law.
    compliance = np.where(np.outer(free, free), axes @ W @ axes.T, np.diag(W.max() * ~free))
    Lam = solve_friction_impulses(
        compliance, np.where(free, axes @ b, 0.0), mu.tolist(), FRICTION_TOLERANCE
    )
    return axes.T @ np.where(free, Lam, 0.0)


def _bound_energy(
    W: Floats, u: Floats, mu: Floats, e: float, holding: Floats, Lam: Floats
) -> Floats:
    """Return impulses with which no contact increases the energy; the ratios of contacts that would are
    reduced.

    Without friction no contact increases the energy, so that a scale of the ratios exists with which none
    does. Contacts that increase the energy as a consequence are bounded as well.
    """
    bounded = np.full(len(mu), False)
    ratio = np.zeros(len(mu))
    while True:
        creates = (_gain(W, u, Lam) > 0.0) & ~bounded
        if not creates.any():
            return Lam
        used = np.hypot(Lam[1::3], Lam[2::3]) / np.where(Lam[::3] > 0.0, Lam[::3], 1.0)
        ratio = np.where(creates, used, ratio)
        bounded = bounded | creates
        most = np.where(bounded, ratio, mu)
        free = holding & ~bounded

        def impulses(
            ratio_scale: float, most: Floats = most, bounded: Floats = bounded, free: Floats = free
        ) -> Floats:
            return _impulses(W, u, np.where(bounded, ratio_scale * most, most), e, free)

        def gain(ratio_scale: float, bounded: Floats = bounded) -> float:
            return float(_gain(W, u, impulses(ratio_scale))[bounded].max())

        ratio_scale = brentq(gain, 0.0, 1.0, xtol=1e-15, rtol=1e-14) if gain(1.0) > 0.0 else 1.0
        Lam = impulses(ratio_scale)


def _slips(W: Floats, u: Floats, Lam: Floats) -> Floats:
    """Return a mask (m) of the contacts that still slip after the impulses Lam (3m)."""
    after = u + W @ Lam
    slip = np.hypot(after[1::3], after[2::3])
    return slip > BRACH_NO_SLIP * float(np.abs(u).max())


def _gain(W: Floats, u: Floats, Lam: Floats) -> Floats:
    """Return the energy increase (J) by each of the m contacts; increases within rounding are zero."""
    after = u + W @ Lam
    work = 0.5 * (Lam * (u + after)).reshape(-1, 3).sum(axis=1)
    size = np.abs(Lam * u).reshape(-1, 3).sum(axis=1)
    return work - ENERGY_TOLERANCE * size
