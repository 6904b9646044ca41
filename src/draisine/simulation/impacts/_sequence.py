"""Impacts of several contacts in sequence: the fastest approach first, ties together.

Problem: a model of one impact (Keller, Stronge, Brach) says nothing about several contacts. Method:

1. Find the fastest approach. Contacts that approach equally fast are one group.
2. Resolve the impact of the group as a whole, by the model.
3. Repeat until no contact approaches.

No contact of a group comes before another, so the result depends neither on the order in which the
contacts are listed nor on the side of a mirror.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ContactSetError
from draisine.simulation.contact.complementarity.active_set import ImpactProblem, Selection
from draisine.simulation.contact.complementarity.saddle_point import make_contact_response
from draisine.simulation.impacts.moreau import check_restitution, outcome

MAX_IMPACTS = 5000
"""Largest number of group impacts. Walls that nearly face each other (0.97 of the speed is left each
time) need about 900 to reach `NO_APPROACH`."""

NO_APPROACH = 1e-12
"""Approach slower than this part of the largest contact velocity counts as none (round-off)."""

TIE = 1e-9
"""Approach speeds that differ by less than this part of the largest contact velocity are equal: above
the round-off of a symmetric run, below any difference that a tolerance of integration resolves."""

GroupModel = Callable[[Floats, Floats, Floats, float], Floats]
"""From W (3m, 3m), the velocities before (3m), mu (m) and the restitution of m contacts that approach
equally fast to their impulses (3m): normal, along and across of each contact in turn."""


@dataclass(frozen=True)
class SequentialImpact:
    """An impact model that resolves group after group, the fastest approach first."""

    model: GroupModel

    def __call__(self, given: ImpactProblem, *, normal: float = 0.0) -> Selection:
        """Return the speeds after the impact."""
        check_restitution(normal)
        contacts = given.contacts
        W, change = make_contact_response(given.M, np.vstack([k.C for k in contacts]), given.held)
        before = np.concatenate([k.relative(given.v) for k in contacts])
        mu = np.array([k.mu for k in contacts])
        largest = float(np.abs(before).max())
        impulses = np.zeros(len(before))
        for _ in range(MAX_IMPACTS):
            u = before + W @ impulses
            approach = -u[::3]
            fastest = float(approach.max())
            if fastest <= NO_APPROACH * largest:
                after = given.v + change(impulses)
                return outcome(contacts, impulses.reshape(-1, 3), after)
            e = normal if fastest > given.rest_speed else 0.0
            group = np.flatnonzero(approach >= fastest - TIE * largest)
            rows = (3 * group[:, None] + np.arange(3)).ravel()
            names = ", ".join(":".join(contacts[i].key) for i in group.tolist())
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
            impulses[rows] += Lam
        names = ", ".join(":".join(k.key) for k in contacts)
        raise ContactSetError(
            f"The contacts {names} still approach after {MAX_IMPACTS} impacts in sequence. "
            "Use the impact model 'moreau', which resolves all contacts at once."
        )
