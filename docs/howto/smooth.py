"""Impacts without friction: each contact gives back a part of its normal speed, and no more."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.contact.complementarity.active_set import Candidate, Selection, strike


def impact(
    M: Floats,
    held: Floats,
    contacts: Sequence[Candidate],
    v: Floats,
    *,
    normal: float = 0.0,
    rest_speed: float = 0.0,
    resolution: str = "complete",
    tolerance: float = 1e-9,
) -> Selection:
    """Return the speeds after an impact with `C_N v+ = -normal C_N v-` and no tangential impulse."""
    smooth = [replace(contact, rows=1, mu=0.0) for contact in contacts]

    def restitution(contact: Candidate) -> Floats:
        return np.array([normal if -contact.relative(v)[0] > rest_speed else 0.0])

    return strike(M, held, smooth, v, restitution, tolerance, resolution)
