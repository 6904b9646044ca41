"""Adams-Bashforth: the predictor alone, fourth order."""

import numpy as np

from draisine.simulation.integrators.multistep import adams

ORDER = 4
ADAPTIVE = False
advance = adams(np.array([]))
