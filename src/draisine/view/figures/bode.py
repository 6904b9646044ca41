"""Frequency response of a linear system: magnitude and phase (Bode plot)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draisine.analysis.linear import Linear
from draisine.errors import ParameterError
from draisine.view.figures import _linear as linear

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset


def draw(data: "Dataset", axes: "Sequence[Axes] | None" = None) -> Any:
    """Draw the responses of all outputs to the first input of a linear system.

    Parameters
    ----------
    data
        Dataset of one linear system, see `linearise`. `Linear.part` selects inputs and outputs.
    axes
        Two axes, for magnitude (dB) and phase (deg); by default new ones.

    Returns
    -------
    array of Axes
        Magnitude and phase against angular frequency (rad/s).
    """
    if "A" not in data or {"motion", "time"} & set(data.dims) or not data.sizes["input"]:
        raise ParameterError(
            "A frequency response needs one linear system with an input, such as the result of "
            "`linearise`."
        )
    states, inputs, outputs = (
        tuple(map(str, data[n].values)) for n in ("state", "input", "output")
    )
    A, B, C, D, x0, w0, y0 = (data[n].values for n in ("A", "B", "C", "D", "x0", "w0", "y0"))
    system = Linear(A, B, C, D, states, inputs, outputs, x0, w0, y0)
    responding = [name for k, name in enumerate(system.outputs) if _responds(system, k)]
    if not responding:
        raise ParameterError(
            f"No output responds to the input {system.inputs[0]}. Select others with `Linear.part`."
        )
    return linear.draw_bode(system, system.inputs[0], responding, axes=axes)


def _responds(system: Linear, k: int) -> bool:
    """Return whether output k responds to the first input: its frequency response at 1 rad/s is not zero."""
    subsystem = system.part(system.inputs[:1], [system.outputs[k]])
    return bool(abs(subsystem.response(1.0)).max() > 1e-12)
