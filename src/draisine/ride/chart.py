"""The stability of straight running against speed, made beforehand, to be shown beside a ride."""

from inspect import unwrap
from typing import Any

import numpy as np

from draisine.analysis.bicycle.eigenvalues import eigenvalues, is_two_wheeler
from draisine.errors import DraisineError
from draisine.system.system import System, compile

SPEEDS = np.linspace(0.0, 10.0, 101)


def stability_chart(system: System) -> dict[str, Any] | None:
    """Return the real parts of the eigenmodes over speeds of a bicycle whose rider sits still, or
    nothing for what is no bicycle.
    """
    if not is_two_wheeler(system):
        return None
    still = {n: value for n, value in system.parameters.items() if n not in ("mU", "slope")}
    try:
        modes = eigenvalues(compile(unwrap(system.vehicle)).with_parameters(**still), SPEEDS)
    except DraisineError:
        return None
    real = {name: np.round(modes.mode(name).real, 4) for name in dict.fromkeys(modes.names)}
    return {"speed": SPEEDS.tolist()} | {name: values.tolist() for name, values in real.items()}
