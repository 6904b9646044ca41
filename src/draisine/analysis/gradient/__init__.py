"""Exact derivatives of simulated motions by parameters, initial values and inputs, and optimisation.

`tangents`: programs with derivatives, one direction per SIMD lane, and their integration.
`mode`: accelerations and contact forces in a contact mode, with derivatives (saddle-point system).
`stepped`: derivatives of arcs in time steps, by the implicit function theorem.
`saltation`: derivatives of runs on a terrain, through events and impacts (saltation matrices).
`motion`: the public function `gradient`.
`design`: minimisation of a cost with gradient, by L-BFGS-B.
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
