"""Parameters from recorded motions, with their uncertainty.

`recording`: measured outputs, sampled inputs and starts. `fit`: weighted least squares over several
runs. `noise`: autoregressive noise, covariance and degrees of freedom. `identified`:
the result and its report.
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
