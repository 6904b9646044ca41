"""Impacts without friction: restitution of the normal velocity, no tangential impulse."""

from dataclasses import replace

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.simulation.contact.complementarity.active_set import (
    Candidate,
    ImpactProblem,
    Selection,
    solve_impact,
)
from draisine.simulation.contact.status import Status


def impact(given: ImpactProblem, *, normal: float = 0.0) -> Selection:
    """Return the speeds after an impact with `C_N v+ = -normal C_N v-` and no tangential impulse."""
    smooth = [replace(contact, status=Status.SLIDING, mu=0.0) for contact in given.contacts]

    def restitution(contact: Candidate) -> Floats:
        return np.array([normal if given.rebounds(contact) else 0.0])

    return solve_impact(replace(given, contacts=smooth), restitution)
