"""Keller's impact model: Coulomb friction during the impact, Poisson's restitution.

At each contact the normal impulse of the restitution is `normal` times the normal impulse of the compression.
A slip may stop, reverse and change its direction during the impact. Keller 1986, Journal of Applied Mechanics
53(1), 1-4. Contacts that approach equally fast are resolved together; otherwise the fastest comes first.
"""

from draisine.algebra.scalar import Floats
from draisine.simulation.impacts._differential import compress_group, restore_group
from draisine.simulation.impacts._sequence import SequentialImpact


def _resolve_group(W: Floats, u: Floats, mu: Floats, e: float) -> Floats:
    """Return impulses (3m), N s, with (1 + e) times the normal ones of the compression, eq. [keller]."""
    compressed = compress_group(W, u, mu)
    end = (1.0 + e) * compressed[0][::3]

    def ending(
        P: Floats, un: Floats, work: Floats, dP: Floats, dun: Floats
    ) -> tuple[Floats, Floats, Floats]:
        return P - end, dP, 0.0 * dP

    return restore_group(W, u, mu, compressed[0], ending)


impact = SequentialImpact(_resolve_group)
