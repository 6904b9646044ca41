"""Pictures and pages inside notebooks, and sliders there (`pip install 'draisine[notebook]'`)."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.critical import critical_speeds
from draisine.analysis.bicycle.eigenvalues import eigenvalues, is_plain
from draisine.errors import ParameterError, import_extra
from draisine.system.system import System
from draisine.vehicles import expect_parameters
from draisine.view.figures._linear import eigenvalues as draw_eigenvalues
from draisine.view.style import figure_of

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


def show_inline(figure: "Figure") -> None:
    """Show a figure below the cell where a notebook runs; elsewhere do nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return
    inline = import_extra("IPython.display", "notebook")
    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=192)
    inline.display(inline.Image(target.getvalue(), width=round(96 * figure.get_figwidth())))


def sliders(system: System, names: Sequence[str] = ("w", "c", "lam", "mB", "zB")) -> Any:
    """Return a widget with a slider for each of some parameters of a bicycle, and its eigenvalues
    against speed below them, drawn anew while they move. `draisine explore` makes a page of the same
    kind for all parameters, which needs no Python.

    >>> import draisine
    >>> draisine.sliders(draisine.compile("whipple"), ["trail", "lam"])
    Traceback (most recent call last):
    draisine.errors.ParameterError: whipple has no parameter 'trail'. Did you mean c (trail)?
    """
    _check_bicycle(system, names)
    ipywidgets = import_extra("ipywidgets", "notebook")
    knobs = {}
    for name in names:
        value = system.parameters[name]
        low, high = sorted((0.3 * value, 2.0 * value)) if value else (-1.0, 1.0)
        knobs[name] = ipywidgets.FloatSlider(
            value, min=low, max=high, step=(high - low) / 200.0, description=name
        )

    def draw(**given: float) -> None:
        changed = system.with_parameters(**given)
        modes = eigenvalues(changed, np.linspace(0.0, 10.0, 101))
        show_inline(figure_of(draw_eigenvalues(modes, critical_speeds(changed))))

    shown = ipywidgets.interactive_output(draw, knobs)
    return ipywidgets.VBox([*knobs.values(), shown])


def _check_bicycle(system: System, names: Sequence[str]) -> None:
    """Raise where a machine is no bicycle that runs straight, or a parameter none of its own."""
    vehicle, known = system.vehicle, system.parameters
    if not is_plain(system):
        raise ParameterError(
            f"sliders are for bicycles that roll without slipping, {vehicle.__name__} is none; "
            "draisine.eigenvalues(system, speeds) serves every machine that has a steady motion."
        )
    expect_parameters(vehicle, names, known)
