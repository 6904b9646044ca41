"""Steady motions: relative equilibria and quasi-steady motions of a vehicle with prescribed quantities.

`balance`: equations of a steady motion, and Newton's method.
`curve`: pseudo-arclength continuation of steady motions.
`inertial`: systems under the inertial load of a constant acceleration (d'Alembert).
`search`: search for a steady motion from several initial guesses.
"""

from draisine.analysis.equilibrium.search import StartedLaw, Steady, steady, steady_driven

__all__ = ["StartedLaw", "Steady", "steady", "steady_driven"]
