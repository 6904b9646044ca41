"""Eigenvalues of straight running against speed."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.analysis.bicycle.critical import Critical
from draisine.analysis.bicycle.eigenmodes import Eigenmodes
from draisine.errors import ParameterError
from draisine.view.figures import _linear as linear

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

SPEEDS = (
    "weave_speed",
    "weave_frequency",
    "capsize_speed",
    "double_root_speed",
    "double_root",
    "stable_from",
    "stable_to",
)


def draw(data: "Dataset", axes: "Axes | None" = None) -> "Axes":
    """Return axes with the eigenvalues of a linear scenario against speed, the stable range
    shaded.
    """
    if "eigenvalue_real" not in data:
        raise ParameterError("this result has no eigenvalues; they come from linear scenarios.")
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    names = tuple(str(x).partition("_")[0] for x in data["eigenmode"].values)
    modes = Eigenmodes(data["speed"].values, values, np.empty((len(values), 0, 0)), names)
    if "weave_speed" not in data:
        swings = float(np.abs(values.imag).max())
        return linear.eigenvalues(modes, None, axes, (-10.0, 1.1 * swings))
    return linear.eigenvalues(modes, Critical(*(data[name].values for name in SPEEDS)), axes)
