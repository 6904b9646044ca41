"""Which numbers of M and D are not zero

Patterns of the mass matrix and of the constraint matrix in a general state. Row and column of M for xi are
zero.
"""

import numpy as np
from course import NAMES, ROWS, equations, example
from matplotlib.figure import Figure

from draisine.view.style import COLOURS, new_figure

LETTERS = (
    "$x_C$",
    "$y_C$",
    r"$\varphi$",
    r"$\theta$",
    r"$\psi$",
    r"$\beta$",
    r"$\gamma$",
    r"$\varepsilon$",
    r"$\xi$",
)


def figure() -> Figure:
    """Return the picture."""
    mass, rows = new_figure(1, 2, size=(7.0, 3.6))
    M, _, D, _ = equations(*example()[:2])
    for axes, matrix, names, title in (
        (mass, M, LETTERS, "mass matrix $M$"),
        (rows, D, ROWS, "constraint matrix $D$"),
    ):
        axes.imshow(np.abs(matrix) > 1e-12, cmap="Blues", vmin=0.0, vmax=1.6)
        axes.set_xticks(range(len(NAMES)), LETTERS)
        axes.set_yticks(range(len(names)), names)
        axes.set_title(title, color=COLOURS[0])
        axes.tick_params(length=0)
    return mass.figure
