"""Exact derivatives of simulated motions with respect to parameters, initial values and inputs; optimisation.

`tangents`: compiled programs with directional derivatives, one direction per SIMD lane; their integration.
`mode`: accelerations and contact forces in a contact mode, with derivatives (saddle-point system).
`stepped`: derivatives of trajectory arcs from the time-stepping scheme, by the implicit function theorem.
`saltation`: derivatives of runs on a terrain, through events and impacts (saltation matrices).
`motion`: the public function `gradient`.
`design`: minimisation of a cost function with known gradient, by L-BFGS-B.
"""

from draisine.analysis.gradient.design import Optimum, optimise
from draisine.analysis.gradient.motion import GradientRun, MotionGradient, StartRule, gradient
from draisine.analysis.gradient.saltation import EventGradient
from draisine.analysis.gradient.stepped import StatusChange

__all__ = [
    "EventGradient",
    "GradientRun",
    "MotionGradient",
    "Optimum",
    "StartRule",
    "StatusChange",
    "gradient",
    "optimise",
]
