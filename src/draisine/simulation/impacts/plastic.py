"""Plastic impacts, the thesis's model: contacts that stay closed roll at once."""

from collections.abc import Sequence

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.simulation.contact.complementarity.active_set import Candidate, Selection, strike
from draisine.simulation.contact.strike import SETS, strikes_by


@strikes_by(SETS)
def impact(
    M: Floats,
    held: Floats,
    contacts: Sequence[Candidate],
    v: Floats,
    *,
    rest_speed: float = 0.0,
    resolution: str = "complete",
    tolerance: float = 1e-9,
) -> Selection:
    """Return the speeds after an impact with `C v+ = 0` for the contacts that stay closed."""
    if any(not np.isinf(k.mu) and k.mu > 0 for k in contacts):
        raise ParameterError("plastic: wheels with a finite mu need the impact model 'moreau'.")
    return strike(M, held, contacts, v, lambda contact: np.zeros(3), tolerance, resolution)
