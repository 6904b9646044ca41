"""Steady motions.

`balance`: their equations and Newton's method. `curve`: continuation. `inertial`: machines under inertial
load. `search`: steady motions by what is prescribed.
"""

from draisine.analysis.equilibrium.search import Steady, steady, steady_driven

__all__ = ["Steady", "steady", "steady_driven"]
