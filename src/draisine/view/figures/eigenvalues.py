"""Figure of the eigenvalues of straight running against speed."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.algebra.scalar import Floats
from draisine.analysis.bicycle.critical import Critical
from draisine.analysis.eigenmodes import MODE_NAMES, Eigenmodes
from draisine.errors import ParameterError
from draisine.results.attributes import read_list_attribute
from draisine.view.figures import _linear as linear
from draisine.view.style import given_or_new, headline, parent_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import Dataset

MODE_NUMBER = re.compile(r"_\d+$")
"""Pattern of the number at the end of an eigenmode name, as in "weave_2"."""

CRITICAL_FIELDS = (
    "weave_speed",
    "weave_frequency",
    "capsize_speed",
    "double_root_speed",
    "double_root",
    "stable_from",
    "stable_to",
)
"""Dataset variables in the order of the fields of `Critical`."""

MAIN_MODES = ("weave", "capsize", "wobble", "torso")
"""Names of the eigenmodes of a two-wheeler whose eigenvalues determine the limits of the axes."""

MAX_DAMPING_RATIO = 4.0
"""Largest damping that the axis of real parts shows, as a multiple of the largest |real part| of weave and
capsize. More strongly damped eigenmodes do not influence stability.
"""


def draw(data: "Dataset", axes: "Axes | None" = None) -> Any:
    """Draw the eigenvalues of a linear scenario against speed, with the stable range shaded.

    One steady motion is drawn in the complex plane. Two-wheelers with fast eigenmodes besides
    weave, capsize and castering have two panels, real and imaginary parts.

    Parameters
    ----------
    data
        Result of a linear scenario.
    axes
        Axes to draw into; by default new ones.

    Returns
    -------
    Axes or array of Axes
        The axes.
    """
    if "eigenvalue_real" not in data:
        raise ParameterError(
            "This result has no eigenvalues. Compute them with `draisine eigenvalues`."
        )
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    names = tuple(MODE_NUMBER.sub("", str(x)) for x in data["eigenmode"].values)
    modes = Eigenmodes(data["speed"].values, values, np.empty((len(values), 0, 0)), names)
    # In a common panel, the high frequencies of wobble and tyres would compress weave and capsize.
    if axes is None and "weave" in names and set(names) > set(MODE_NAMES):
        return _draw_both(data, modes)
    is_new = axes is None
    axes = given_or_new(axes, (7.5, 4.8))
    if is_new:
        parent_figure(axes).suptitle(headline(data), fontsize=10)
    _draw_measured(data, axes, axes)
    _draw_bands(data, axes, axes, names)
    if "steady_motion" in data and len(values) == 1:
        return linear.draw_roots(modes, axes)
    if "stable_from" in data:
        return linear.draw_eigenvalues(
            modes, Critical(*(data[name].values for name in CRITICAL_FIELDS)), axes
        )
    main_values = _decisive(modes)
    high = 1.1 * float(max(main_values.imag.max(), main_values.real.max(), 1.0))
    low = -10.0 if "weave" in names else 1.1 * float(min(values.real.min(), -1.0))
    linear.draw_eigenvalues(modes, None, axes, (low, high))
    linear.mark_points(axes, _crossings(data))
    return axes


def _draw_both(data: "Dataset", modes: Eigenmodes) -> Any:
    """Draw real parts above imaginary parts and return the two axes."""
    main_values = _decisive(modes)
    slow = np.abs(
        modes.values[..., [modes.names.index(name) for name in ("weave", "capsize")]].real
    )
    low = max(1.1 * float(main_values.real.min()), -MAX_DAMPING_RATIO * float(slow.max()))
    limits = min(low, -1.0), 1.2 * max(float(main_values.real.max()), 1.0)
    highest = 1.1 * max(float(main_values.imag.max()), 1.0)
    growth, swing = panels = linear.draw_growth_and_frequency(modes, limits, highest)
    parent_figure(growth).suptitle(headline(data), fontsize=10)
    _draw_measured(data, growth, swing)
    _draw_bands(data, growth, swing, modes.names)
    linear.mark_points(growth, _crossings(data))
    return panels


def _decisive(modes: Eigenmodes) -> Floats:
    """Return the eigenvalues that determine the limits of the axes.

    Eigenmodes of tyres and flexible parts are left out, because they may be much faster.
    """
    indices = [k for k, name in enumerate(modes.names) if name in MAIN_MODES]
    return modes.values[..., indices or list(range(len(modes.names)))]


def _crossings(data: "Dataset") -> dict[str, tuple[float, float]]:
    """Return the points (speed in m/s, 0) at which an eigenmode changes its stability, by their notes."""
    crossings = read_list_attribute(data, "crossings")
    return {
        f"{crossing['name']} {crossing['speed']:.3f} m/s": (float(crossing["speed"]), 0.0)
        for crossing in crossings
    }


def _draw_bands(data: "Dataset", growth: "Axes", swing: "Axes", names: Sequence[str]) -> None:
    """Shade a band of two standard deviations about the eigenvalues whose uncertainty is known.

    A band is left out at speeds at which it reaches another eigenvalue, because first-order error propagation
    fails near double roots.
    """
    if "eigenvalue_real_deviation" not in data:
        return
    values = data["eigenvalue_real"].values + 1j * data["eigenvalue_imaginary"].values
    for k, name in enumerate(names):
        distance = np.abs(np.delete(values, k, axis=1) - values[:, [k]]).min(axis=1)
        for component, axes in (("real", growth), ("imaginary", swing)):
            middle = data[f"eigenvalue_{component}"].values[:, k]
            width = 2.0 * data[f"eigenvalue_{component}_deviation"].values[:, k]
            shown = (width < distance) & ((component == "real") | (middle > 1e-9))
            low, high = (np.where(shown, middle + sign * width, np.nan) for sign in (-1.0, 1.0))
            axes.fill_between(
                data["speed"].values,
                low,
                high,
                color=linear.ALL_MODE_COLOURS[name],
                alpha=0.15,
                lw=0,
            )


def _draw_measured(data: "Dataset", growth: "Axes", swing: "Axes") -> None:
    """Draw measured eigenvalues as markers with standard deviations and speed windows.

    Markers of real parts are filled, those of imaginary parts are hollow.
    """
    if "measured_value" not in data:
        return
    quantity = np.char.replace(data["measured_quantity"].values.astype(str), "_2", "")
    for name in dict.fromkeys(quantity.tolist()):
        variable, _, mode = name.rstrip("]").partition("[")
        colour = linear.ALL_MODE_COLOURS[mode]
        selected = quantity == name
        component, axes = (
            ("real", growth) if variable == "eigenvalue_real" else ("imaginary", swing)
        )
        v, x, spread, *window = (
            data[f"measured_{column}"].values[selected]
            for column in ("speed", "value", "spread", "from", "to")
        )
        half_widths = np.abs(np.array(window) - v)
        axes.errorbar(
            v,
            x,
            np.nan_to_num(spread),
            half_widths,
            "none",
            ecolor=colour,
            elinewidth=0.7,
            alpha=0.4,
        )
        axes.plot(
            v,
            x,
            "o",
            color=colour,
            markerfacecolor=colour if component == "real" else "none",
            markersize=4,
            label=f"measured, {component}",
        )
