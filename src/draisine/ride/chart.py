"""Chart of the stability of straight running against speed, displayed beside a ride."""

from inspect import unwrap
from typing import Any

import numpy as np

from draisine.analysis.bicycle.eigenvalues import eigenvalues, is_two_wheeler
from draisine.errors import DraisineError
from draisine.system.system import System, compile

CHART_SPEEDS = np.linspace(0.0, 10.0, 101)
"""Speeds (m/s) of the stability chart, (101,); the range exceeds the usual speeds of rides."""


def stability_chart(system: System) -> dict[str, Any] | None:
    """Return speeds (m/s) and real parts of eigenvalues (1/s) by eigenmode; None if not a bicycle.

    The chart assumes a rigid rider and level ground.
    """
    if not is_two_wheeler(system):
        return None
    rigid = {n: value for n, value in system.parameters.items() if n not in ("mU", "slope")}
    try:
        modes = eigenvalues(compile(unwrap(system.vehicle)).with_parameters(**rigid), CHART_SPEEDS)
    except DraisineError:
        return None
    real = {name: np.round(modes.mode(name).real, 4) for name in dict.fromkeys(modes.names)}
    return {"speed": CHART_SPEEDS.tolist()} | {
        name: values.tolist() for name, values in real.items()
    }
