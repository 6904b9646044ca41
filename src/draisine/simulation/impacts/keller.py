"""Keller's model of impact: Coulomb's friction in the course of the impact, Poisson's restitution.

The normal impulse of the restitution is `normal` times that of the compression; slip may stop,
reverse and swerve on the way. Keller 1986, Journal of Applied Mechanics 53(1), 1-4. Contacts strike
one after the other.
"""

from draisine.algebra.scalar import Floats
from draisine.simulation.impacts._differential import StrikesInTurn, compress, restore


def _strike(W: Floats, u: Floats, mu: float, e: float) -> Floats:
    """Return the impulses of a contact: they end with P = (1 + e) P of the compression, eq. [keller]."""
    squeezed = compress(W, u, mu)
    end = (1.0 + e) * squeezed[0][0]
    return restore(W, u, mu, squeezed, lambda P, un, k, work: (P - end, 1.0, 0.0))


impact = StrikesInTurn(_strike)
