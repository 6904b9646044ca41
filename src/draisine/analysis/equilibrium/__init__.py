"""Steady motions.

`balance`: their equations and Newton's method. `curve`: continuation. `inertial`: machines under inertial
load. `search`: steady motions with prescribed quantities.
"""

from draisine.analysis.equilibrium.search import StartedLaw, Steady, steady, steady_driven

__all__ = ["StartedLaw", "Steady", "steady", "steady_driven"]
