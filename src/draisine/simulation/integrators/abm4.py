"""Adams-Bashforth-Moulton: AB4 predictor, Adams-Moulton corrector of fourth order."""

from draisine.simulation.integrators._adams import Adams

ORDER = 4
ADAPTIVE = False
advance = equal = Adams([9 / 24, 19 / 24, -5 / 24, 1 / 24])
