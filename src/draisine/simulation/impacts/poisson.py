"""Poisson's impact model with friction: compression and expansion, each solved for its total impulses.

The compression is plastic. The normal impulses of the expansion are `normal` times those of the compression;
they are larger at contacts that would approach otherwise. Friction obeys Coulomb's law in each phase. All
contacts are resolved at once. Glocker and Pfeiffer 1995, Nonlinear Dynamics 7(4), 471-497.
"""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import (
    Candidate,
    ImpactProblem,
    Selection,
)
from draisine.simulation.contact.event_driven.impact import FRICTION_TOLERANCE
from draisine.simulation.impacts.moreau import (
    check_restitution,
    prepare_contact_impulses,
    solve_friction_impulses,
)


def impact(given: ImpactProblem, *, normal: float = 0.0) -> Selection:
    """Return the speeds after compression and expansion, eq. [poisson]."""
    check_restitution(normal)
    contacts = given.contacts
    W, u, apply_impulses = prepare_contact_impulses(given)
    mu = [k.mu for k in contacts]
    squeezed = solve_friction_impulses(W, u, mu, FRICTION_TOLERANCE, contacts)
    e = np.array([normal if given.rebounds(k) else 0.0 for k in contacts])
    return apply_impulses(squeezed + _expand(W, u + W @ squeezed, e * squeezed[::3], contacts))


def _expand(W: Floats, u: Floats, given: Floats, contacts: Sequence[Candidate]) -> Floats:
    """Return the impulses (3m), N s, of the expansion.

    `u` (3m) are the contact velocities before the expansion, and `given` (m) the required normal impulses.
    First all normal impulses are the required ones. A contact that would approach gets the larger impulse
    that prevents it; the required impulse is restored if it suffices.
    """
    if not given.any():
        return np.zeros(len(u))
    mu = [k.mu for k in contacts]
    scale = float(np.abs(W[:, ::3] @ given).max())
    pushes_more = np.full(len(given), False)
    for _ in range(2 * len(given) + 2):
        # A fixed normal impulse gets a decoupled equation, and its effect on the other contacts is added
        # to b. The friction of contacts without load is fixed in the same way, at zero, even if mu is
        # infinite.
        free = np.repeat(pushes_more | (given > 0.0), 3)
        free[::3] = pushes_more
        fixed = np.zeros(len(u))
        fixed[::3] = np.where(pushes_more, 0.0, given)
        stiffness = np.diag(np.where(free, 0.0, np.diag(W)))
        b = np.where(free, u + W @ fixed, -np.diag(W) * fixed)
        compliance = np.where(np.outer(free, free), W, stiffness)
        Lam = solve_friction_impulses(compliance, b, mu, FRICTION_TOLERANCE, contacts)
        approach = -(u + W @ Lam)[::3]
        more = ~pushes_more & (approach > 1e-12 * scale)
        less = pushes_more & (Lam[::3] < given * (1.0 - 1e-12))
        if not (more | less).any():
            return Lam
        pushes_more = (pushes_more | more) & ~less
    raise ContactSetError(
        "The expansion of an impact finds no impulses. Use the impact model 'moreau'."
    )
