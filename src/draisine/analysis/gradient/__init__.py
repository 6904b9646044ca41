"""Motions with their exact derivatives, and optimisation by them.

`tangents`: programs with their derivatives, one direction per SIMD lane, and their integration. `mode`: a
machine on a terrain with derivatives. `stepped`: arcs in time steps. `saltation`: runs on a terrain,
through events and impacts. `motion`: the user's `gradient`. `design`: minimisation of a cost with
gradient.
"""

from draisine.analysis.gradient.design import Optimum, optimise
from draisine.analysis.gradient.motion import GradientRun, MotionGradient, gradient
from draisine.analysis.gradient.saltation import EventGradient
from draisine.analysis.gradient.stepped import StatusChange

__all__ = [
    "EventGradient",
    "GradientRun",
    "MotionGradient",
    "Optimum",
    "StatusChange",
    "gradient",
    "optimise",
]
