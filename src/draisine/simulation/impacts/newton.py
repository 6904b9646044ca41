"""Newton's model of impact: contact velocities after are minus restitution times those before, normal
and tangential (3.12). Only equal coefficients are sure not to create energy.
"""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.simulation.contact.complementarity.active_set import Candidate, Selection, strike
from draisine.simulation.contact.strike import SETS, strikes_by

PARTS = 1e-9
"""A contact that approaches slower than this, m/s, counts as parting."""


@strikes_by(SETS)
def impact(
    M: Floats,
    held: Floats,
    contacts: Sequence[Candidate],
    v: Floats,
    *,
    normal: float = 1.0,
    tangential: float = 1.0,
    rest_speed: float = 0.0,
    resolution: str = "complete",
) -> Selection:
    """Return the speeds after an impact with `C v+ = -E C v-`, E = diag(normal, tangential,
    tangential) per contact.

    Contacts that approach slower than `rest_speed` do not rebound.
    """
    if not (0 <= normal <= 1 and -1 <= tangential <= 1):
        raise ParameterError(
            f"restitution: normal = {normal}, tangential = {tangential}; "
            "take them from [0, 1] and [-1, 1]."
        )
    if any(not np.isinf(k.mu) and k.mu > 0 for k in contacts):
        raise ParameterError("newton: wheels with a finite mu need the impact model 'moreau'.")
    E = np.array([normal, tangential, tangential])

    def restitution(contact: Candidate) -> Floats:
        return E if -contact.relative(v)[0] > rest_speed else np.zeros(3)

    return strike(M, held, contacts, v, restitution, PARTS, resolution)
