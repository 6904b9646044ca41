"""Stronge's model of impact: Coulomb's friction in the course of the impact, restitution by energy.

The work of the normal impulse in the restitution is `normal`^2 times that which the compression took
up, so that the normal force never creates energy, however slip changes. Stronge 1990,
doi:10.1098/rspa.1990.0125. Contacts strike one after the other.
"""

from draisine.algebra.scalar import Floats
from draisine.simulation.impacts._differential import StrikesInTurn, compress, restore


def _strike(W: Floats, u: Floats, mu: float, e: float) -> Floats:
    """Return the impulses of a contact: they give back e^2 of the work of the compression, eq.
    [stronge].
    """
    squeezed = compress(W, u, mu)
    back = -e * e * squeezed[1]
    return restore(W, u, mu, squeezed, lambda P, un, k, work: (work - back, un, k))


impact = StrikesInTurn(_strike)
