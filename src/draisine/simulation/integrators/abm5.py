"""Adams-Bashforth-Moulton: AB4 predictor, Adams-Moulton corrector of fifth order."""

import numpy as np

from draisine.simulation.integrators._adams import adams

ORDER = 5
ADAPTIVE = False
advance = adams(np.array([251.0, 646.0, -264.0, 106.0, -19.0]) / 720.0)
