"""Adams-Bashforth: the predictor alone, fourth order."""

import numpy as np

from draisine.simulation.integrators.multistep import adams
from draisine.simulation.integrators.native import Floats, Problem

ORDER = 4
ADAPTIVE = False
CORRECTOR = np.array([])


def advance(
    problem: Problem,
    y: Floats,
    t0: float,
    t1: float,
    dt: float,
    grid: Floats,
    rtol: float,
    atol: float,
) -> tuple[Floats, Floats, int]:
    """Return times, samples and status of equal steps no longer than dt."""
    return adams(problem, y, t0, t1, dt, CORRECTOR)
