"""Scalar results of straight running of a two-wheeler: eigenvalues, canonical matrices, critical speeds."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.model import Model
from draisine.results.queries import SeriesLabels, parse_labels

if TYPE_CHECKING:
    from xarray import Dataset

BICYCLE_MODES = ("weave", "weave_2", "capsize", "castering")
"""Labels of the eigenmodes of the Whipple bicycle.

`weave_2` is the complex conjugate of `weave`, or the second real eigenvalue at low speed.

"""

CANONICAL_COORDINATES = ("lean", "steer")
"""Labels of rows and columns of the canonical matrices of the bicycle."""

CANONICAL_MATRICES = ("M", "C0", "C1", "Ks", "K0", "K2")
"""Names of the canonical matrices in M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = f."""

MAX_MODES_PER_NAME = 8
"""Largest number of eigenmodes with the same name that a query can address; shipped vehicles have fewer."""

LINEAR_QUANTITIES: dict[str, SeriesLabels] = {
    **dict.fromkeys(CANONICAL_MATRICES, (CANONICAL_COORDINATES, CANONICAL_COORDINATES)),
    **dict.fromkeys(("weave_speed", "weave_frequency", "capsize_speed"), ()),
    **dict.fromkeys(("double_root_speed", "double_root", "stable_from", "stable_to"), ()),
    **dict.fromkeys(("wobble_speed", "wobble_frequency"), ()),
}
"""Results of a linear scenario except eigenvalues: name -> allowed labels."""


def straight_labels(model: Model) -> dict[str, SeriesLabels]:
    """Return all results of a linear scenario for a model: name -> allowed labels of each dimension."""
    wobble = ("wobble", "wobble_2")
    others = [joint.name for joint in model.joints] + ["lean", "castering", "tyre", "law"]
    others += ["pitch", "yaw", "x", "y", "z", *model.speeds]
    numbered = [f"{name}_{k}" for name in others for k in range(2, 1 + MAX_MODES_PER_NAME)]
    labels = ((*BICYCLE_MODES, *wobble, *others, *numbered),)
    return {"eigenvalue_real": labels, "eigenvalue_imaginary": labels} | LINEAR_QUANTITIES


def straight_quantity(
    text: str, model: Model, data: "Dataset", speeds: list[float] | None
) -> Floats:
    """Return a result of straight running by its query, such as `eigenvalue_real[weave]`.

    The shape is (speeds,) at the given speeds (m/s), or (1,) if the result does not depend on speed.
    """
    name, labels = parse_labels(text, straight_labels(model))
    if name not in data:
        raise ParameterError(
            f"{text!r}: only the ideal bicycle (no tyres, flexible parts or laws) has canonical matrices."
        )
    values = data[name]
    if "speed" not in values.dims:
        if speeds is not None:
            raise ParameterError(f"{text!r} does not depend on the speed: remove `at`.")
        selection = dict(zip(values.dims, labels, strict=True))
        return np.atleast_1d(values.sel(selection).values)
    if speeds is None:
        raise ParameterError(f"{text!r} depends on the speed: set the speeds `at`, in m/s.")
    modes = [str(label) for label in data["eigenmode"].values]
    if labels[0] not in modes:
        raise ParameterError(f"{text!r}: the eigenmodes of this machine are {', '.join(modes)}.")
    column = values.sel(eigenmode=labels[0]).values
    available = data["speed"].values
    indices = [int(np.argmin(np.abs(available - v))) for v in speeds]
    for v, k in zip(speeds, indices, strict=True):
        # The tolerance 1e-9 m/s allows for round-off of speeds that are written as decimal numbers.
        if abs(available[k] - v) > 1e-9:
            raise ParameterError(f"The scenario has no speed {v:g} m/s. Choose one of its speeds.")
    return column[indices]
