"""Straight running as data: canonical matrices, eigenvalues against speed, critical speeds."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.analysis.canonical import canonical
from draisine.analysis.critical import critical_of
from draisine.analysis.eigenvalues import eigenmodes_of
from draisine.errors import ParameterError
from draisine.experiment.bodies import Floats
from draisine.experiment.quantities import Labels, parse_labels
from draisine.experiment.scenario import Speeds
from draisine.system import System

if TYPE_CHECKING:
    from xarray import Dataset

MODES = ("weave", "weave_conjugate", "capsize", "castering")
COORDINATES = ("lean", "steer")

KNOWN: dict[str, Labels] = {
    "eigenvalue_real": (MODES,),
    "eigenvalue_imaginary": (MODES,),
    **dict.fromkeys(("M", "C1", "K0", "K2"), (COORDINATES, COORDINATES)),
    "weave_speed": (),
    "weave_frequency": (),
    "capsize_speed": (),
    "double_root_speed": (),
    "double_root": (),
    "stable_from": (),
    "stable_to": (),
}
"""What a linear scenario tells, with the labels that each takes."""


def straight_running(system: System, speeds: Speeds) -> "Dataset":
    """Return matrices, eigenvalues and critical speeds of a bicycle that runs straight, in the axes
    of the benchmark (lean and steer to the right).
    """
    import xarray

    v = speeds.values()
    matrices = canonical(system)
    modes, critical = eigenmodes_of(matrices, v), critical_of(matrices)
    data = {
        "eigenvalue_real": (("speed", "eigenmode"), modes.values.real, "1/s"),
        "eigenvalue_imaginary": (("speed", "eigenmode"), modes.values.imag, "rad/s"),
        "M": (("row", "column"), matrices.M, "kg m2"),
        "C1": (("row", "column"), matrices.C1, "kg m"),
        "K0": (("row", "column"), matrices.K0, "kg m"),
        "K2": (("row", "column"), matrices.K2, "kg"),
        "weave_speed": ((), critical.weave, "m/s"),
        "weave_frequency": ((), critical.weave_frequency, "rad/s"),
        "capsize_speed": ((), critical.capsize, "m/s"),
        "double_root_speed": ((), critical.double_root, "m/s"),
        "double_root": ((), critical.double_value, "1/s"),
        "stable_from": ((), critical.stable_from, "m/s"),
        "stable_to": ((), critical.stable_to, "m/s"),
    }
    coords = {
        "speed": ("speed", v, {"units": "m/s", "long_name": "forward speed"}),
        "eigenmode": list(MODES),
        "row": list(COORDINATES),
        "column": list(COORDINATES),
    }
    return xarray.Dataset(
        {name: (dims, values, {"units": unit}) for name, (dims, values, unit) in data.items()},
        coords=coords,
        attrs={"vehicle": system.vehicle.__name__},
    )


def told(text: str, data: "Dataset", at: list[float] | None) -> Floats:
    """Return one of the known quantities: at speeds, or the one number that it is."""
    name, labels = parse_labels(text, KNOWN)
    values = data[name]
    if "speed" not in values.dims:
        if at is not None:
            raise ParameterError(f"{text!r} is one number, not one per speed.")
        which = dict(zip(values.dims, labels, strict=True))
        return np.atleast_1d(values.sel(which).values)
    if at is None:
        raise ParameterError(f"{text!r}: say at which speeds, `at`.")
    column = values.sel(eigenmode=labels[0]).values
    known = data["speed"].values
    places = [int(np.argmin(np.abs(known - v))) for v in at]
    for v, k in zip(at, places, strict=True):
        if abs(known[k] - v) > 1e-9:
            raise ParameterError(f"{v:g} m/s is not among the speeds of the scenario.")
    return column[places]
