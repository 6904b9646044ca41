"""Adams-Bashforth: the predictor alone, fourth order."""

import numpy as np

from draisine.simulation.integrators._adams import adams

ORDER = 4
ADAPTIVE = False
advance = adams(np.array([]))
