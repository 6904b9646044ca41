"""Impacts of several contacts in sequence, the fastest approach first.

Problem: an impact model for one contact (Keller, Stronge, Brach) does not determine the impact of several
contacts. Method:

1. Find the fastest approach. Contacts that approach equally fast form a group.
2. Resolve the impact of the whole group by the model.
3. Repeat until no contact approaches.

The contacts of a group are resolved together. The result therefore does not depend on the order of the
contacts, and the impact of a symmetric system is symmetric.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import ImpactProblem, Selection
from draisine.simulation.impacts.moreau import check_restitution, prepare_contact_impulses

MAX_IMPACTS = 5000
"""Largest number of group impacts in sequence.

A wheel between two walls that almost face each other loses only 3 % of its speed in each impact. It needs
about 900 impacts to reach `NO_APPROACH`.
"""

NO_APPROACH = 1e-12
"""Approach velocity, relative to the largest contact velocity, below which it is a rounding error."""

EQUAL_APPROACH = 1e-9
"""Difference of two approach velocities that count as equal, relative to the largest contact velocity.

The value is above the rounding errors of a symmetric run, and below differences that integration resolves.
"""

ApproachModel = Callable[[Floats, Floats, Floats, float, float], Floats]
"""Type of a function that resolves the fastest approach among m contacts and returns the impulses (3m), N s.

Arguments: Delassus matrix W (3m, 3m), contact velocities before (3m), friction coefficients (m), coefficient
of restitution, and largest contact velocity (m/s) at the start of the whole impact.
"""

GroupModel = Callable[[Floats, Floats, Floats, float], Floats]
"""Type of a function that resolves the impact of a group of m contacts and returns the impulses (3m), N s.

Arguments: Delassus matrix W (3m, 3m), contact velocities before (3m), friction coefficients (m) and
coefficient of restitution. Impulses and velocities are in the order normal, along, across of each contact.
"""


@dataclass(frozen=True)
class SequentialImpact:
    """Impact model that resolves one group of contacts after the other, the fastest approach first."""

    model: GroupModel

    def __call__(self, given: ImpactProblem, *, normal: float = 0.0) -> Selection:
        """Return the speeds after the impact and the impulses."""

        def resolve_group(W: Floats, u: Floats, mu: Floats, e: float, largest: float) -> Floats:
            """Return the impulses (3m) of the impact of the group with the fastest approach."""
            approach = -u[::3]
            group = np.flatnonzero(approach >= approach.max() - EQUAL_APPROACH * largest)
            rows = (3 * group[:, None] + np.arange(3)).ravel()
            names = ", ".join(":".join(given.contacts[i].key) for i in group.tolist())
            try:
                Lam = self.model(W[np.ix_(rows, rows)], u[rows], mu[group], e)
            except ContactSetError as error:
                raise ContactSetError(f"Impact of {names}: {error}") from error
            if not Lam.any():
                # Contacts that separate as soon as infinite friction stops their slip.
                raise ContactSetError(
                    f"Impact of {names}: wheels that never slip would have to be pulled. "
                    "Set a finite mu: --mu 0.8, in Python ContactOptions(mu=0.8)."
                )
            impulses = np.zeros(len(u))
            impulses[rows] = Lam
            return impulses

        return resolve_in_sequence(given, normal, resolve_group)


def resolve_in_sequence(given: ImpactProblem, normal: float, resolve: ApproachModel) -> Selection:
    """Resolve an impact by repeated calls of `resolve` for the fastest approach; return speeds and impulses.

    `normal` is the coefficient of restitution.
    """
    check_restitution(normal)
    W, before, apply_impulses = prepare_contact_impulses(given)
    mu = np.array([k.mu for k in given.contacts])
    largest = float(np.abs(before).max())
    impulses = np.zeros(len(before))
    for _ in range(MAX_IMPACTS):
        u = before + W @ impulses
        fastest = float(-u[::3].min())
        if fastest <= NO_APPROACH * largest:
            return apply_impulses(impulses)
        e = normal if fastest > given.rest_speed else 0.0
        impulses += resolve(W, u, mu, e, largest)
    names = ", ".join(":".join(k.key) for k in given.contacts)
    raise ContactSetError(
        f"The contacts {names} still approach after {MAX_IMPACTS} impacts in sequence. "
        "Use the impact model 'moreau', which resolves all contacts at once."
    )
