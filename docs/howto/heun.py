"""Heun's method: two evaluations per step, second order."""

from draisine.simulation.integrators import explicit

ORDER, ADAPTIVE = 2, False
advance = equal = explicit([[], [1.0]], [1 / 2, 1 / 2])
