"""Figure of a root locus: eigenvalues in the complex plane as one quantity varies, and their real parts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.errors import ParameterError
from draisine.view.figures._linear import STABLE_COLOUR
from draisine.view.style import (
    COLOURS,
    GREY,
    font_size,
    headline,
    new_figure,
    parent_figure,
    simplify_axes,
    to_words,
)

if TYPE_CHECKING:
    from xarray import Dataset


MAX_SHOWN_DAMPING = 3.0
"""Lower limit of the drawn real parts, as a multiple of a typical size: the median over the roots of their
largest |real part|. More strongly damped roots do not influence stability.
"""


def draw(data: "Dataset", axes: Sequence[Any] | None = None) -> Any:
    """Draw a root locus in the complex plane, and the real parts of the roots against the varied quantity.

    The colour of a root is the value of the varied quantity. The stable half-plane is shaded. Of each
    conjugate pair only the root with the positive imaginary part is drawn.

    Parameters
    ----------
    data
        Dataset of a root locus, see `draisine eigenvalues`.
    axes
        Two axes, for the complex plane and the real parts; by default new ones.

    Returns
    -------
    array of Axes
        The axes.
    """
    if "locus_over" not in data.attrs:
        raise ParameterError(
            "This result is not a root locus. Compute one with `draisine eigenvalues --lean 0:40deg:41 "
            "--speed 10`."
        )
    plane, growth = axes = new_figure(1, 2, (11.0, 4.6)) if axes is None else axes
    over = str(data.attrs["locus_over"])
    value, unit = _readable(data["value"].values, str(data["value"].attrs.get("units", "")))
    roots = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    low, high = _limits(roots)
    points: Any = None
    for k in range(roots.shape[1]):
        upper = roots[:, k].imag >= -1e-9
        shown = np.where(upper, roots[:, k], np.nan)
        plane.plot(shown.real, shown.imag, color=GREY, linewidth=0.6, zorder=1)
        points = plane.scatter(
            shown.real, shown.imag, c=value, s=12, cmap="viridis", zorder=2, linewidths=0
        )
        growth.plot(value, roots[:, k].real, color=COLOURS[k % 7], linewidth=1.4)
    simplify_axes(plane)
    simplify_axes(growth)
    top = float(np.nanmax(np.where(roots.real > low, roots.imag, 0.0)))
    plane.set(xlim=(low, high), ylim=(-0.03 * max(top, 1.0), 1.08 * max(top, 1.0)))
    plane.axvspan(low, 0.0, color=STABLE_COLOUR, zorder=0, linewidth=0)
    plane.set(xlabel="real part (1/s)", ylabel="imaginary part (rad/s)")
    growth.axhspan(low, 0.0, color=STABLE_COLOUR, zorder=0, linewidth=0)
    label = f"{to_words(over)} ({unit})" if unit else to_words(over)
    growth.set(ylim=(low, high), xlabel=label, ylabel="real part (1/s)")
    if len(value) > 1:
        growth.set_xlim(float(value.min()), float(value.max()))
    parent_figure(plane).colorbar(points, ax=plane).ax.set_title(unit, fontsize=font_size(9))
    if data.attrs.get("title"):
        parent_figure(plane).suptitle(headline(data), fontsize=font_size(10))
    return axes


def _limits(roots: Floats) -> tuple[float, float]:
    """Return the smallest and the largest displayed real part (1/s) for the given roots."""
    high = max(float(roots.real.max()), 0.0)
    slow = np.sort(np.abs(roots.real).max(axis=0))
    reach = max(high, float(slow[len(slow) // 2]), 1.0)
    low = max(float(roots.real.min()), -MAX_SHOWN_DAMPING * reach)
    margin = 0.06 * (high - low)
    return low - margin, high + margin


def _readable(value: Floats, unit: str) -> tuple[Floats, str]:
    """Return values with angles converted from rad to deg, and the displayed unit."""
    return (np.degrees(value), "deg") if unit == "rad" else (value, unit)
