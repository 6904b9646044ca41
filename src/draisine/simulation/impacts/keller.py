"""Keller's model of impact: Coulomb's friction in the course of the impact, Poisson's restitution.

The normal impulse of the restitution is `normal` times that of the compression; slip may stop,
reverse and swerve on the way. Keller 1986, Journal of Applied Mechanics 53(1), 1-4. Contacts strike
one after the other.
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
    """Return the speeds after an impact that ends with P = (1 + e) P of the compression, eq.
    [keller].
    """
    return strike_in_turn(_strike, M, held, contacts, v, normal, rest_speed)


def _strike(W: Floats, u: Floats, mu: float, e: float) -> Floats:
    squeezed = compress(W, u, mu)
    end = (1.0 + e) * squeezed[0][0]
    return restore(W, u, mu, squeezed, lambda P, un, k, work: (P - end, 1.0, 0.0))
