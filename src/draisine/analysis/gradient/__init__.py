"""Motions with their exact derivatives, and what is best by them.

`tangents`: programs with their derivatives, one direction per SIMD lane, and how a motion is followed
with them. `motion`: motions with derivatives by parameters, initial values and inputs. `mode`: a mode on
a terrain with derivatives. `saltation`: derivatives through events and impacts. `design`: numbers
that serve best.
"""

from draisine.analysis.gradient.design import Optimum, optimise
from draisine.analysis.gradient.motion import GradientRun, MotionGradient, gradient
from draisine.analysis.gradient.saltation import EventGradient

__all__ = ["EventGradient", "GradientRun", "MotionGradient", "Optimum", "gradient", "optimise"]
