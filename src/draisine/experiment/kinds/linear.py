"""Straight running as data: canonical matrices, eigenvalues against speed, critical speeds."""

from typing import TYPE_CHECKING

from draisine.analysis.bicycle.critical import critical_of
from draisine.analysis.bicycle.eigenvalues import eigenmodes_of
from draisine.analysis.bicycle.straight import canonical_matrices
from draisine.results.straight import COORDINATES, MODES
from draisine.scenario.schema import Speeds
from draisine.system.system import System

if TYPE_CHECKING:
    from xarray import Dataset


def straight_running(system: System, speeds: Speeds) -> "Dataset":
    """Return matrices, eigenvalues and critical speeds of a bicycle that runs straight, in the axes
    of the benchmark (lean and steer to the right).
    """
    import xarray

    v = speeds.values()
    matrices = canonical_matrices(system)
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
