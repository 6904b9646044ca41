"""Brach's impact model: Newton's restitution, and a bounded ratio of tangential to normal impulse.

The tangential impulse acts against the initial slip. Its ratio to the normal impulse is `mu`, unless a
smaller ratio ends the slip, or a larger one would increase the energy. Brach 1989, Journal of Applied
Mechanics 56(1), 133-138. Contacts that approach equally fast are resolved together; otherwise the fastest
comes first.
"""

import numpy as np
from scipy.optimize import brentq

from draisine.algebra.scalar import Floats
from draisine.simulation.contact.event_driven.impact import FRICTION_TOLERANCE
from draisine.simulation.impacts._sequence import SequentialImpact
from draisine.simulation.impacts.moreau import solve_friction_impulses

LARGEST_MU = 1e9
"""Friction coefficient that replaces infinite friction; a finite impulse ratio always ends the slip."""

BRACH_NO_SLIP = 1e-9
"""Slip speed, relative to the largest velocity before the impact, below which a contact does not slip.

The value is above the resolution of the friction solver, 1e-11.
"""

ENERGY_TOLERANCE = 1e-12
"""Work of a contact, relative to the sum of |impulse times velocity|, below which it is a rounding error."""


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
    """Return the impulses (3m), N s, for contacts of which those in the mask `holding` (m) may stick.

    The impulse of any other contact is normal or along its initial slip. Coulomb's law relates impulse ratio
    and remaining slip: the ratio is at its bound, or the slip ends.
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
    """Reduce the impulse ratios of the contacts that increase the energy; return the impulses (3m), N s.

    Without friction no contact increases the energy, so that a suitable scale of the ratios exists. If
    another contact increases the energy as a consequence, its ratio is reduced as well.
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
    """Return the energy increase (m), J, by each contact minus a bound of the rounding error."""
    after = u + W @ Lam
    work = 0.5 * (Lam * (u + after)).reshape(-1, 3).sum(axis=1)
    size = np.abs(Lam * u).reshape(-1, 3).sum(axis=1)
    return work - ENERGY_TOLERANCE * size
