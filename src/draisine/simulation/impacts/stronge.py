"""Stronge's impact model: Coulomb friction during the impact, energetic coefficient of restitution.

At each contact the work of the normal impulse during restitution is `normal`^2 times the work absorbed during
compression. No normal force therefore increases the energy, whatever the slip does. Stronge 1990,
doi:10.1098/rspa.1990.0125. Contacts that approach equally fast are resolved together; otherwise the fastest
comes first.
"""

from draisine.algebra.scalar import Floats
from draisine.simulation.impacts._differential import compress_group, restore_group
from draisine.simulation.impacts._sequence import SequentialImpact


def _resolve_group(W: Floats, u: Floats, mu: Floats, e: float) -> Floats:
    """Return impulses (3m), N s, that regain e^2 of the compression work, eq. [stronge]."""
    compressed = compress_group(W, u, mu)
    returned = -e * e * compressed[1]

    def ending(
        P: Floats, un: Floats, work: Floats, dP: Floats, dun: Floats
    ) -> tuple[Floats, Floats, Floats]:
        return work - returned, un * dP, dun * dP

    return restore_group(W, u, mu, compressed[0], ending)


impact = SequentialImpact(_resolve_group)
