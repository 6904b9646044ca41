"""Pictures and pages inside notebooks, and sliders there (`pip install 'draisine[notebook]'`)."""

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from draisine.analysis.bicycle.critical import critical_speeds
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.errors import expect_known, import_extra
from draisine.system.system import System
from draisine.view.figures._linear import eigenvalues as draw_eigenvalues

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class InlinePage:
    """A page that a notebook shows in place: its text, and how high it is, in pixels."""

    text: str
    height: int = 480

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.height}px;border:1px solid #ddd"
        return f'<iframe srcdoc="{escape(self.text)}" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return f"page of {len(self.text) // 1000} kB, to be looked at in a notebook"


def show_inline(figure: "Figure") -> None:
    """Show a figure below the cell where a notebook runs; elsewhere do nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is None or not hasattr(shell, "kernel"):
        return
    inline = import_extra("IPython.display", "notebook")
    width = round(96 * figure.get_figwidth())
    inline.display(inline.Image(picture_bytes(figure, "png"), width=width))


def picture_bytes(figure: "Figure", kind: str) -> bytes:
    """Return a figure as a picture: png or svg."""
    target = io.BytesIO()
    figure.savefig(target, format=kind, dpi=192)
    return target.getvalue()


def sliders(system: System, names: Sequence[str] = ("w", "c", "lam", "mB", "zB")) -> Any:
    """Return a widget with a slider for each of some parameters of a bicycle, and its eigenvalues
    against speed below them, drawn anew while they move. `draisine explore` makes a page of the same
    kind for all parameters, which needs no Python.
    """
    ipywidgets = import_extra("ipywidgets", "notebook")
    inline = import_extra("IPython.display", "notebook")
    expect_known("no parameter", names, system.parameters)
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
        axes = draw_eigenvalues(modes, critical_speeds(changed))
        figure: Any = axes.figure
        inline.display(inline.SVG(picture_bytes(figure, "svg")))

    shown = ipywidgets.interactive_output(draw, knobs)
    return ipywidgets.VBox([*knobs.values(), shown])
