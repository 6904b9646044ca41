"""Poisson's model of impact with friction: compression and expansion, each with impulses as a whole.

The compression is plastic; the expansion pushes with at least `normal` times the normal impulses of
the compression, and more where a contact would else approach. Friction obeys Coulomb's law in each
phase. Glocker and Pfeiffer 1995, Nonlinear Dynamics 7(4), 471-497. All contacts are struck at once.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import ImpactProblem, Selection
from draisine.simulation.contact.complementarity.coulomb import solve_single_friction
from draisine.simulation.contact.strike import FINE
from draisine.simulation.impacts.moreau import (
    check_restitution,
    contact_impulses,
    delassus,
    outcome,
)

SWEEPS = 480
"""How often all contacts are solved one after the other at most, in ever smaller strides."""


def impact(given: ImpactProblem, *, normal: float = 0.0) -> Selection:
    """Return the speeds after compression and expansion, eq. [poisson]."""
    check_restitution(normal)
    contacts, v = given.contacts, given.v
    W, back = delassus(given.M, np.vstack([k.C for k in contacts]), given.held)
    u = np.concatenate([k.relative(v) for k in contacts])
    mu = [k.mu for k in contacts]
    squeezed = contact_impulses(W, u, mu, FINE, contacts)
    e = np.array([normal if given.rebounds(k) else 0.0 for k in contacts])
    Lam = squeezed + _expand(W, u + W @ squeezed, mu, e * squeezed[::3])
    return outcome(contacts, Lam.reshape(-1, 3), v + back @ Lam)


def _expand(W: Floats, b: Floats, mu: Sequence[float], given: Floats) -> Floats:
    """Return the impulses of the expansion: contact after contact, until nothing changes."""
    lam, scale = np.zeros(len(b)), float(np.abs(W[:, ::3] @ given).max())
    if not given.any():
        return lam
    for sweep in range(SWEEPS):
        stride, change = 0.5 ** (sweep // 60), 0.0
        for i, friction in enumerate(mu):
            own = slice(3 * i, 3 * i + 3)
            rest = W[own] @ lam + b[own] - W[own, own] @ lam[own]
            new = _expand_one(W[own, own], rest, friction, float(given[i]))
            change = max(change, float(np.abs(W[own, own] @ (new - lam[own])).max()))
            lam[own] += stride * (new - lam[own])
        if change <= FINE * scale or len(mu) == 1:
            return lam
    raise ContactSetError("the expansion of an impact finds no impulses; 'moreau' may do.")


def _expand_one(W: Floats, rest: Floats, mu: float, given: float) -> Floats:
    """Return what a contact pushes in the expansion: what is given, or more where it would approach."""
    push = np.array([given, *_friction(W[1:, 1:], W[1:, 0] * given + rest[1:], mu * given)])
    if W[0] @ push + rest[0] >= 0:
        return push
    more = solve_single_friction(W, rest, mu)
    return push if more is None or more[0] < given else more


def _friction(W: Floats, b: Floats, most: float) -> Floats:
    """Return the friction of a contact whose normal impulse is known: it holds, or it is `most`
    against the slip W lam + b.
    """
    if most == 0.0 or np.isnan(most):  # without friction, or infinite friction of no push
        return np.zeros(2)
    held = -np.linalg.pinv(W, rcond=1e-13) @ b
    if np.linalg.norm(held) <= most:
        return held
    s, Q = np.linalg.eigh(W)
    s, d = np.maximum(s, 1e-14 * s[-1]), Q.T @ b

    def excess(ratio: float) -> float:
        return float(np.linalg.norm(d / (s + ratio)) - most)

    ratio = brentq(excess, 0.0, float(np.linalg.norm(d)) / most, xtol=1e-300, rtol=1e-14)
    return -Q @ (d / (s + ratio))
