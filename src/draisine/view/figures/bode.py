"""Responses of a linear system to an input against frequency: size and phase (Bode)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draisine.analysis.linear import Linear
from draisine.errors import ParameterError
from draisine.view.figures import _linear as linear

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Return two axes, size and phase of the responses of a linear system's outputs to its first input;
    `Linear.part` chooses others.
    """
    if "A" not in data or {"motion", "time"} & set(data.dims) or not data.sizes["input"]:
        raise ParameterError(
            "a frequency response is that of one linear system with an input, as `linearise` gives it."
        )
    states, inputs, outputs = (
        tuple(map(str, data[n].values)) for n in ("state", "input", "output")
    )
    A, B, C, D, x0, w0, y0 = (data[n].values for n in ("A", "B", "C", "D", "x0", "w0", "y0"))
    system = Linear(A, B, C, D, states, inputs, outputs, x0, w0, y0)
    moved = [name for k, name in enumerate(system.outputs) if _answers(system, k)]
    if not moved:
        raise ParameterError(
            f"no output answers the input {system.inputs[0]}; `part` chooses others."
        )
    return linear.bode(system, system.inputs[0], moved, axes=axes)


def _answers(system: Linear, k: int) -> bool:
    """Return whether an output answers the first input at all."""
    part = system.part(system.inputs[:1], [system.outputs[k]])
    return bool(abs(part.response(1.0)).max() > 1e-12)
