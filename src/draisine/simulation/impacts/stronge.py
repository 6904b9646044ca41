"""Stronge's model of impact: Coulomb's friction in the course of the impact, restitution by energy.

The work of the normal impulse in the restitution is `normal`^2 times that which the compression took
up, so that the normal force never creates energy, however slip changes. Stronge 1990,
doi:10.1098/rspa.1990.0125. Contacts strike one after the other.
"""

from collections.abc import Sequence

from draisine.algebra.scalar import Floats
from draisine.simulation.contact.active_set import Candidate, Selection
from draisine.simulation.impacts._differential import compress, restore, strike_in_turn


def impact(
    M: Floats,
    held: Floats,
    contacts: Sequence[Candidate],
    v: Floats,
    *,
    normal: float = 0.0,
    rest_speed: float = 0.0,
    resolution: str = "complete",
) -> Selection:
    """Return the speeds after an impact that gives back e^2 of the work of its compression, eq.
    [stronge].
    """
    return strike_in_turn(_strike, M, held, contacts, v, normal, rest_speed)


def _strike(W: Floats, u: Floats, mu: float, e: float) -> Floats:
    squeezed = compress(W, u, mu)
    back = -e * e * squeezed[1]
    return restore(W, u, mu, squeezed, lambda P, un, k, work: (work - back, un, k))
