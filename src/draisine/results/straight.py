"""What is known of a bicycle that runs straight by numbers, with the labels that each takes."""

from typing import TYPE_CHECKING

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.model import Model
from draisine.results.queries import SeriesLabels, parse_labels

if TYPE_CHECKING:
    from xarray import Dataset

MODES = ("weave", "weave_2", "capsize", "castering")
"""Eigenmodes by name; the second of a pair is the first's conjugate, or another real number."""

COORDINATES = ("lean", "steer")

MATRICES = ("M", "C0", "C1", "Ks", "K0", "K2")
"""The canonical matrices: M qdd + (C0 + v C1) qd + (Ks + g K0 + v^2 K2) q = f."""

MOST = 8
"""How many eigenmodes of one name are told apart."""

KNOWN: dict[str, SeriesLabels] = {
    **dict.fromkeys(MATRICES, (COORDINATES, COORDINATES)),
    **dict.fromkeys(("weave_speed", "weave_frequency", "capsize_speed"), ()),
    **dict.fromkeys(("double_root_speed", "double_root", "stable_from", "stable_to"), ()),
    **dict.fromkeys(("wobble_speed", "wobble_frequency"), ()),
}
"""What a linear scenario tells beside eigenvalues, with the labels that each takes."""


def straight_labels(model: Model) -> dict[str, SeriesLabels]:
    """Return all that a linear scenario with a machine can tell, with the labels that each takes."""
    swinging = ("wobble", "wobble_2")
    others = [joint.name for joint in model.joints] + ["lean", "castering", "tyre", "law"]
    others += ["pitch", "yaw", "x", "y", "z", *model.speeds]
    numbered = [f"{name}_{k}" for name in others for k in range(2, 1 + MOST)]
    labels = ((*MODES, *swinging, *others, *numbered),)
    return {"eigenvalue_real": labels, "eigenvalue_imaginary": labels} | KNOWN


def straight_quantity(text: str, model: Model, data: "Dataset", at: list[float] | None) -> Floats:
    """Return one of the known quantities: at speeds, or the one number that it is."""
    name, labels = parse_labels(text, straight_labels(model))
    if name not in data:
        raise ParameterError(f"{text!r}: only the ideal bicycle has canonical matrices.")
    values = data[name]
    if "speed" not in values.dims:
        if at is not None:
            raise ParameterError(f"{text!r} is one number, not one per speed.")
        which = dict(zip(values.dims, labels, strict=True))
        return np.atleast_1d(values.sel(which).values)
    if at is None:
        raise ParameterError(f"{text!r}: say at which speeds, `at`.")
    named = [str(label) for label in data["eigenmode"].values]
    if labels[0] not in named:
        raise ParameterError(f"{text!r}: this machine has {', '.join(named)}.")
    column = values.sel(eigenmode=labels[0]).values
    known = data["speed"].values
    places = [int(np.argmin(np.abs(known - v))) for v in at]
    for v, k in zip(at, places, strict=True):
        if abs(known[k] - v) > 1e-9:
            raise ParameterError(f"{v:g} m/s is not among the speeds of the scenario.")
    return column[places]
