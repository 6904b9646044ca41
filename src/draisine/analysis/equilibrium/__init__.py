"""Steady motions: relative equilibria and quasi-steady motions of a machine with prescribed quantities.

`balance`: equations of a steady motion, and Newton's method.
`curve`: pseudo-arclength continuation of steady motions.
`inertial`: the machine under the inertial load of a constant acceleration (d'Alembert).
`search`: the search for a steady motion from several starts.
"""

from draisine.analysis.equilibrium.search import StartedLaw, Steady, steady, steady_driven

__all__ = ["StartedLaw", "Steady", "steady", "steady_driven"]
