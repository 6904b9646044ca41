"""Adams-Bashforth-Moulton: AB4 predictor, Adams-Moulton corrector of fifth order."""

from draisine.simulation.integrators._adams import Adams

ORDER = 5
ADAPTIVE = False
advance = equal = Adams([251 / 720, 646 / 720, -264 / 720, 106 / 720, -19 / 720])
