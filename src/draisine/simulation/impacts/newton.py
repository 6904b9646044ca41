"""Newton's impact model, (3.12) of the thesis.

Each contact velocity after the impact is minus a coefficient of restitution times the velocity before it;
normal and tangential coefficients may differ. Unequal coefficients can increase the energy.
"""

import numpy as np

from draisine.errors import ParameterError
from draisine.simulation.contact.complementarity.active_set import (
    ImpactProblem,
    Selection,
    solve_impact,
)
from draisine.simulation.contact.event_driven.impact import ImpactSolver, resolved_by_routine


@resolved_by_routine(ImpactSolver.SETS)
def impact(given: ImpactProblem, *, normal: float = 1.0, tangential: float = 1.0) -> Selection:
    """Return speeds v+ and impulses of an impact with C v+ = -E C v- at the contacts that stay closed.

    E = diag(normal, tangential, tangential) for each contact.
    """
    if not (0 <= normal <= 1 and -1 <= tangential <= 1):
        raise ParameterError(
            f"restitution: normal = {normal} must be in [0, 1], and tangential = {tangential} in [-1, 1]."
        )
    if any(not np.isinf(k.mu) and k.mu > 0 for k in given.contacts):
        raise ParameterError(
            "The impact model 'newton' has no Coulomb friction; use 'moreau' with a finite mu."
        )
    E = np.array([normal, tangential, tangential])
    return solve_impact(given, lambda contact: E if given.rebounds(contact) else np.zeros(3))
