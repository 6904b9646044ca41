"""Display of figures, pages and sliders in notebooks (`pip install 'draisine[notebook]'`)."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.critical import critical_speeds
from draisine.analysis.bicycle.eigenvalues import eigenvalues, is_plain, is_two_wheeler
from draisine.errors import DraisineError, import_extra
from draisine.results.store import to_dataset
from draisine.system.system import System
from draisine.vehicles import expect_parameters
from draisine.view.explore import explore_page
from draisine.view.figures._linear import draw_eigenvalues, draw_roots
from draisine.view.figures.eigenvalues import draw
from draisine.view.style import new_figure, parent_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class InlinePage:
    """An HTML page that a notebook displays below a cell.

    Attributes
    ----------
    text
        Text of the HTML file.
    height
        Height of the frame in pixels.
    """

    text: str
    height: int = 480

    def _repr_html_(self) -> str:
        """Return an iframe with the page, for notebooks."""
        style = f"width:100%;height:{self.height}px;border:1px solid #ddd;box-sizing:border-box"
        return f'<iframe srcdoc="{escape(self.text)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        """Return a short description of the page."""
        return f"HTML page of {len(self.text) // 1000} kB; a notebook shows it"


def _notebook() -> Any:
    """Return the IPython shell of the notebook that runs this code; None outside a notebook."""
    # A notebook has already imported IPython; importing it elsewhere would be slow.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if hasattr(shell, "kernel") else None


def _cell() -> Any:
    """Return the execution count of the running notebook cell; None outside a notebook."""
    return getattr(_notebook(), "execution_count", None)


def show_inline(figure: "Figure") -> None:
    """Show a figure below the running cell of a notebook; do nothing outside a notebook."""
    if _notebook() is None:
        return
    inline = import_extra("IPython.display", "notebook")
    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=192)
    inline.display(inline.Image(target.getvalue(), width=round(96 * figure.get_figwidth())))


class InlineArray(np.ndarray):
    """Array of axes whose figure a notebook cell has already displayed, see `shown_axes`."""


class InlineTable(dict[str, Any]):
    """Dictionary of axes whose figure a notebook cell has already displayed, see `shown_axes`."""


def shown_axes(axes: Any) -> Any:
    """Return axes that are not printed again as the result of the cell that has displayed their figure.

    If a later cell returns the axes, it displays the figure again. Outside a notebook, the axes are returned
    unchanged.
    """
    if _notebook() is None:
        return axes
    figure = parent_figure(axes)
    if isinstance(axes, dict):
        axes = InlineTable(axes)
    elif isinstance(axes, Sequence | np.ndarray):
        axes = np.array(axes, dtype=object).view(InlineArray)
    axes._ipython_display_ = partial(_show_later, figure, _cell())
    return axes


def _show_later(figure: "Figure", cell: Any) -> None:
    """Display a figure, unless the running cell is `cell`, which has already displayed it."""
    if _cell() != cell:
        show_inline(figure)


DEFAULT_SLIDERS = ("w", "c", "lam", "mB", "zB")
"""Parameters of a bicycle that have a slider by default: wheelbase, trail, steer-axis tilt, mass of the rear
frame, and height of its mass centre.
"""


EXPLORE_HEIGHT = 760
"""Height (pixels) of the `draisine explore` page below a notebook cell, enough for its two rows of plots."""

SLIDER_STEP = 0.01
"""Step of a slider, as a fraction of the initial parameter value. Both ends of the slider, 0.3 and 2 times
the value, are multiples of the step.
"""


def sliders(system: System, names: Sequence[str] | None = None, speed: Any = None) -> Any:
    """Return sliders for the parameters of a vehicle, with a figure of its eigenvalues.

    For a bicycle or motorcycle, and without further arguments, the result is the page of `draisine explore`
    with all parameters, critical speeds and animated modes. Otherwise it is a widget, whose figure is updated
    while a slider moves.

    Parameters
    ----------
    system
        The compiled vehicle.
    names
        Names of the parameters with sliders; by default the main parameters of a bicycle, or the first five
        parameters of another vehicle.
    speed
        Forward speed or speeds (m/s); by default 0 to 10 m/s for a bicycle, and rest for another vehicle.

    Returns
    -------
    InlinePage or VBox
        Page that a notebook displays, or widget of ipywidgets.

    Raises
    ------
    ParameterError
        If the vehicle has no parameter with a given name.

    Examples
    --------
    >>> import draisine
    >>> draisine.sliders(draisine.compile("whipple"), ["trail", "lam"])
    Traceback (most recent call last):
    draisine.errors.ParameterError: whipple has no parameter 'trail'. Did you mean c (trail)?
    """
    if names is None and speed is None and is_two_wheeler(system):
        return InlinePage(explore_page(system), height=EXPLORE_HEIGHT)
    if names is None:
        is_bicycle = set(DEFAULT_SLIDERS) <= set(system.parameters)
        names = DEFAULT_SLIDERS if is_bicycle else list(system.parameters)[: len(DEFAULT_SLIDERS)]
    _check_names(system, names)
    ipywidgets = import_extra("ipywidgets", "notebook")
    slider_by_name = {}
    for name in names:
        value = system.parameters[name]
        # The browser rounds the value of a slider to its steps. The parameter value must be one of these
        # steps, otherwise the first figure would show another vehicle.
        step = SLIDER_STEP * (abs(value) or 1.0)
        low, high = (0.3 * value, 2.0 * value) if value else (-1.0, 1.0)
        slider_by_name[name] = ipywidgets.FloatSlider(
            value, min=min(low, high), max=max(low, high), step=step, description=name
        )

    def show(**parameters: float) -> None:
        """Display the eigenvalues for the parameter values at which the sliders are set."""
        try:
            show_inline(_eigenvalue_figure(system.with_parameters(**parameters), speed))
        except DraisineError as error:  # invalid parameters, or no steady motion
            print(error)

    shown = ipywidgets.interactive_output(show, slider_by_name)
    return ipywidgets.VBox([*slider_by_name.values(), shown])


def _eigenvalue_figure(system: System, speed: Any) -> "Figure":
    """Return a figure of the eigenvalues at one speed (m/s), or against several speeds."""
    if speed is None and is_plain(system):
        modes = eigenvalues(system, np.linspace(0.0, 10.0, 101))
        return parent_figure(draw_eigenvalues(modes, critical_speeds(system)))
    v = [0.0] if speed is None else np.atleast_1d(speed)
    modes = eigenvalues(system, v)
    return parent_figure(
        draw_roots(modes, new_figure()) if len(v) == 1 else draw(to_dataset(modes))
    )


def _check_names(system: System, names: Sequence[str]) -> None:
    """Raise `ParameterError` if a name is not a parameter of the vehicle."""
    expect_parameters(system.vehicle, names, system.parameters)
