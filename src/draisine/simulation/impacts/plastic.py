"""Plastic impact model of the thesis: contacts that stay closed have zero velocity after the impact."""

import numpy as np

from draisine.errors import ParameterError
from draisine.simulation.contact.complementarity.active_set import (
    ImpactProblem,
    Selection,
    solve_impact,
)
from draisine.simulation.contact.event_driven.impact import ImpactSolver, resolved_by_routine


@resolved_by_routine(ImpactSolver.SETS)
def impact(given: ImpactProblem) -> Selection:
    """Return speeds v+ and impulses of an impact with C v+ = 0 at the contacts that stay closed."""
    if any(not np.isinf(k.mu) and k.mu > 0 for k in given.contacts):
        raise ParameterError(
            "The impact model 'plastic' has no Coulomb friction; use 'moreau' with a finite mu."
        )
    return solve_impact(given, lambda contact: np.zeros(3))
