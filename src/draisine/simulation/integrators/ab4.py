"""Adams-Bashforth: the predictor alone, fourth order."""

from draisine.simulation.integrators._adams import Adams

ORDER = 4
ADAPTIVE = False
advance = equal = Adams([])
