"""Adams-Bashforth-Moulton: AB4 predictor, Adams-Moulton corrector of fourth order."""

import numpy as np

from draisine.simulation.integrators._adams import adams

ORDER = 4
ADAPTIVE = False
advance = adams(np.array([9.0, 19.0, -5.0, 1.0]) / 24.0)
