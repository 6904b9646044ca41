"""Pictures and pages inside notebooks, and sliders there (`pip install 'draisine[notebook]'`)."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.critical import critical_speeds
from draisine.analysis.bicycle.eigenvalues import eigenvalues, is_plain
from draisine.errors import DraisineError, import_extra
from draisine.results.store import dataset_of
from draisine.system.system import System
from draisine.vehicles import expect_parameters
from draisine.view.figures._linear import eigenvalues as draw_eigenvalues
from draisine.view.figures._linear import roots as draw_roots
from draisine.view.figures.eigenvalues import draw
from draisine.view.style import figure_of, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class InlinePage:
    """A page that a notebook shows in place: its text, and how high it is, in pixels."""

    text: str
    height: int = 480

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #ddd;box-sizing:border-box"
        return f'<iframe srcdoc="{escape(self.text)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"page of {len(self.text) // 1000} kB, to be looked at in a notebook"


def _notebook() -> Any:
    """Return the shell of the notebook that runs; None elsewhere."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell if hasattr(shell, "kernel") else None


def _cell() -> Any:
    """Return the number of the cell that runs."""
    return getattr(_notebook(), "execution_count", None)


def show_inline(figure: "Figure") -> None:
    """Show a figure below the cell where a notebook runs; elsewhere do nothing."""
    if _notebook() is None:
        return
    inline = import_extra("IPython.display", "notebook")
    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=192)
    inline.display(inline.Image(target.getvalue(), width=round(96 * figure.get_figwidth())))


class InlineArray(np.ndarray):
    """Axes of a figure that is shown already."""


class InlineTable(dict[str, Any]):
    """Axes by name of a figure that is shown already."""


def shown_axes(axes: Any) -> Any:
    """Return the axes of a figure that a notebook has shown: its cell does not tell them once more, as
    `<Axes: >`; a later one that names them shows the figure again. Elsewhere, the axes as they are.
    """
    if _notebook() is None:
        return axes
    figure = figure_of(axes)
    if isinstance(axes, dict):
        axes = InlineTable(axes)
    elif isinstance(axes, Sequence | np.ndarray):
        axes = np.array(axes, dtype=object).view(InlineArray)
    axes._ipython_display_ = partial(_show_later, figure, _cell())
    return axes


def _show_later(figure: "Figure", cell: Any) -> None:
    """Show a figure in other cells than the one that has it."""
    if _cell() != cell:
        show_inline(figure)


USUAL = ("w", "c", "lam", "mB", "zB")
"""The parameters of a bicycle that have sliders if nobody says."""


SLIDER_STEP = 0.01
"""Step of a slider as a part of the parameter's value; the ends (0.3 and 2 times) are multiples."""


def sliders(system: System, names: Sequence[str] | None = None, speed: Any = None) -> Any:
    """Return a widget with a slider for each of some parameters of a machine, and the eigenvalues about
    its steady motion below them, drawn anew while they move: those of a bicycle against speed, of
    others at rest, or at the `speed` (or speeds, m/s) asked for. `draisine explore` makes a page of the
    same kind for all parameters of a bicycle, which needs no Python.

    >>> import draisine
    >>> draisine.sliders(draisine.compile("whipple"), ["trail", "lam"])
    Traceback (most recent call last):
    draisine.errors.ParameterError: whipple has no parameter 'trail'. Did you mean c (trail)?
    """
    if names is None:
        bicycle = set(USUAL) <= set(system.parameters)
        names = USUAL if bicycle else list(system.parameters)[: len(USUAL)]
    _check_names(system, names)
    ipywidgets = import_extra("ipywidgets", "notebook")
    knobs = {}
    for name in names:
        value = system.parameters[name]
        # A browser rounds values to the grid of the slider and sends them back: the grid must contain
        # the parameter's own value, or the first figure is that of another machine.
        step = SLIDER_STEP * (abs(value) or 1.0)
        low, high = (0.3 * value, 2.0 * value) if value else (-1.0, 1.0)
        knobs[name] = ipywidgets.FloatSlider(
            value, min=min(low, high), max=max(low, high), step=step, description=name
        )

    def show(**given: float) -> None:
        try:
            show_inline(_eigenvalue_figure(system.with_parameters(**given), speed))
        except DraisineError as error:  # no such machine, or no steady motion of it
            print(error)

    shown = ipywidgets.interactive_output(show, knobs)
    return ipywidgets.VBox([*knobs.values(), shown])


def _eigenvalue_figure(system: System, speed: Any) -> "Figure":
    """Return a figure of the eigenvalues about a steady motion, or about one for each speed."""
    if speed is None and is_plain(system):
        modes = eigenvalues(system, np.linspace(0.0, 10.0, 101))
        return figure_of(draw_eigenvalues(modes, critical_speeds(system)))
    v = [0.0] if speed is None else np.atleast_1d(speed)
    modes = eigenvalues(system, v)
    return figure_of(draw_roots(modes, new_figure()) if len(v) == 1 else draw(dataset_of(modes)))


def _check_names(system: System, names: Sequence[str]) -> None:
    """Raise where a parameter is none of a machine's own."""
    vehicle, known = system.vehicle, system.parameters
    expect_parameters(vehicle, names, known)
