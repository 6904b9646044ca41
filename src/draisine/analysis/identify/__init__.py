"""Parameter identification: fit parameters to recorded motions and estimate their uncertainty.

`recording`: measured outputs, sampled inputs and initial values of recorded runs.
`fit`: weighted nonlinear least squares over several runs (Levenberg-Marquardt).
`noise`: first-order autoregressive measurement noise, covariance and degrees of freedom.
`identified`: the fitted values with their report.
"""

from draisine.analysis.identify.fit import Prior, identify
from draisine.analysis.identify.identified import Channel, Combination, Identified, Searches
from draisine.analysis.identify.recording import Recording, Run

__all__ = [
    "Channel",
    "Combination",
    "Identified",
    "Prior",
    "Recording",
    "Run",
    "Searches",
    "identify",
]
