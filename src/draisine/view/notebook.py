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
    """Return the IPython shell of the running notebook; None outside a notebook."""
    # A notebook has already imported IPython; importing it elsewhere would be slow.
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if hasattr(shell, "kernel") else None


def _cell() -> Any:
    """Return the execution count of the running cell."""
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
    """Array of axes whose figure has already been displayed."""


class InlineTable(dict[str, Any]):
    """Axes by name whose figure has already been displayed."""


def shown_axes(axes: Any) -> Any:
    """Return axes that do not print themselves in the cell that has displayed their figure.

    A later cell displays the figure again. Outside a notebook, the axes are returned unchanged.
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
    """Display a figure unless the running cell is the one that created it."""
    if _cell() != cell:
        show_inline(figure)


DEFAULT_SLIDERS = ("w", "c", "lam", "mB", "zB")
"""Parameters of a bicycle with sliders by default: wheelbase, trail, steer-axis tilt, mass and height of
the rear frame.
"""


EXPLORE_HEIGHT = 760
"""Height (pixels) of the page of `draisine explore` below a cell: two rows of plots."""

SLIDER_STEP = 0.01
"""Step of a slider relative to the parameter value; the ends (0.3 and 2 times the value) are multiples of
it.
"""


def sliders(system: System, names: Sequence[str] | None = None, speed: Any = None) -> Any:
    """Return sliders for parameters, with the eigenvalues.

    Without further arguments, a bicycle or motorcycle gets the page of `draisine explore`: all
    parameters, critical speeds and modes in motion. Otherwise the result is a widget, whose figure is updated
    while a slider moves.

    Parameters
    ----------
    system
        The compiled vehicle.
    names
        Parameters with sliders; by default the main parameters of a bicycle, else the first five.
    speed
        Speed or speeds in m/s; by default 0 to 10 m/s for a bicycle, else rest.

    Returns
    -------
    InlinePage or VBox
        Page that a notebook displays, or widget of ipywidgets.

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
        # A browser rounds values to the steps of the slider and returns them. The steps must
        # contain the parameter value, otherwise the first figure would show another vehicle.
        step = SLIDER_STEP * (abs(value) or 1.0)
        low, high = (0.3 * value, 2.0 * value) if value else (-1.0, 1.0)
        slider_by_name[name] = ipywidgets.FloatSlider(
            value, min=min(low, high), max=max(low, high), step=step, description=name
        )

    def show(**parameters: float) -> None:
        """Draw the eigenvalues for the parameter values of the sliders."""
        try:
            show_inline(_eigenvalue_figure(system.with_parameters(**parameters), speed))
        except DraisineError as error:  # invalid parameters, or no steady motion
            print(error)

    shown = ipywidgets.interactive_output(show, slider_by_name)
    return ipywidgets.VBox([*slider_by_name.values(), shown])


def _eigenvalue_figure(system: System, speed: Any) -> "Figure":
    """Return a figure of the eigenvalues about one steady motion, or against speed."""
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
