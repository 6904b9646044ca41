"""Moreau's impact model: normal restitution and Coulomb friction.

Friction relates the impulses to the tangential velocities after the impact, the restitution the normal
impulses to the weighted velocities v+ + e v-. With infinite mu and e = 0 the model is the plastic one. All
contacts are resolved at once. Moreau 1988, doi:10.1007/978-3-7091-2624-0_1.
"""

from collections.abc import Callable, Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError, ParameterError
from draisine.simulation.contact.complementarity.active_set import (
    Candidate,
    ImpactProblem,
    Selection,
    Trial,
)
from draisine.simulation.contact.complementarity.coulomb import FrictionContact, solve_friction
from draisine.simulation.contact.complementarity.saddle_point import make_contact_response
from draisine.simulation.contact.event_driven.impact import (
    FRICTION_TOLERANCE,
    ImpactSolver,
    resolved_by_routine,
)


@resolved_by_routine(ImpactSolver.FRICTION)
def impact(given: ImpactProblem, *, normal: float = 0.0) -> Selection:
    """Return the speeds after an impact by Moreau's law, eq. [moreau].

    LamN >= 0, xiN >= 0 and LamN xiN = 0 with xiN = vN+ + e vN-; friction impulses are at most mu LamN, and
    opposed to the slip if they are at the limit.
    """
    check_restitution(normal)
    contacts = given.contacts
    W, b, apply_impulses = prepare_contact_impulses(given)
    for i, contact in enumerate(contacts):
        if given.rebounds(contact):
            b[3 * i] *= 1.0 + normal
    return apply_impulses(
        solve_friction_impulses(W, b, [k.mu for k in contacts], FRICTION_TOLERANCE, contacts)
    )


def check_restitution(normal: float) -> None:
    """Raise ParameterError if a coefficient of restitution is not in [0, 1]."""
    if not 0 <= normal <= 1:
        raise ParameterError(f"restitution: normal = {normal} must be in [0, 1].")


def prepare_contact_impulses(
    given: ImpactProblem,
) -> tuple[Floats, Floats, Callable[[Floats], Selection]]:
    """Return the impact problem of m contacts in terms of impulses.

    The result has three parts: the Delassus matrix W (3m, 3m), the contact velocities before the impact (3m),
    and a function from the impulses (3m) to the selection with this only trial.
    """
    contacts = given.contacts
    W, change = make_contact_response(given.M, np.vstack([k.C for k in contacts]), given.held)
    before = np.concatenate([k.relative(given.v) for k in contacts])

    def apply_impulses(impulses: Floats) -> Selection:
        """Return the speeds after the impact and the impulses of the contacts that push."""
        after = given.v + change(impulses)
        pairs = zip(contacts, impulses.reshape(-1, 3), strict=True)
        pushes = {k.key: x for k, x in pairs if x[0] > 0}
        away = {k.key: float(k.relative(after)[0]) for k in contacts if k.key not in pushes}
        trial = Trial(tuple(pushes), pushes, away, after, True)
        return Selection(trial, (trial,))

    return W, before, apply_impulses


def solve_friction_impulses(
    W: Floats, b: Floats, mu: Sequence[float], tolerance: float, contacts: Sequence[Candidate] = ()
) -> Floats:
    """Return the impulses Lam (3m) such that Lam and u = W Lam + b satisfy Coulomb's law at each contact.

    `mu` are the friction coefficients; `contacts` name the contacts in the error message.
    """
    touches = [FrictionContact(3 * i, 3, friction) for i, friction in enumerate(mu)]
    Lam = solve_friction(W, b, touches, tolerance)
    if Lam is None:
        names = ", ".join(":".join(k.key) for k in contacts)
        place = f" at the contacts {names}" if names else ""
        raise ContactSetError(
            f"No impulses{place} satisfy Coulomb's law of friction. Try a smaller mu."
        )
    return Lam
