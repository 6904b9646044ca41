"""The front wheel leaves the ground

Height of the front contact point in a run of the DAE without correction, for two Runge-Kutta steps. Half the
step reduces the drift by a factor of about 16.
"""

import numpy as np
from course import constraints, equations
from matplotlib.figure import Figure

from draisine.view.style import COLOURS, add_legend, new_figure, simplify_axes


def derivative(y: np.ndarray) -> np.ndarray:
    """Return the derivative of (p, pdot) by the DAE."""
    M, Q, D, c = equations(y[:9], y[9:])
    saddle = np.block([[M, D.T], [D, np.zeros((6, 6))]])
    return np.concatenate([y[9:], np.linalg.solve(saddle, np.concatenate([Q, c]))[:9]])


def drift(h: float, seconds: float) -> list[float]:
    """Return the heights of the front contact point, m."""
    y = np.array(
        [0, 0, 0, 0, 0, 0, 0, 0, np.pi / 2, 5, 0, 0, 0.5, 5 / 0.3, 0, 0, 5 / 0.35, -5 / 0.35]
    )
    heights = []
    for _ in range(round(seconds / h)):
        k1 = derivative(y)
        k2 = derivative(y + h / 2 * k1)
        k3 = derivative(y + h / 2 * k2)
        k4 = derivative(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        heights.append(abs(constraints(y[:9])[1][0]))
    return heights


def figure() -> Figure:
    """Return the picture."""
    axes = simplify_axes(new_figure(size=(5.6, 3.4)))
    for k, h in enumerate((0.02, 0.01)):
        heights = drift(h, 4.0)
        axes.semilogy(
            h * np.arange(1, len(heights) + 1), heights, color=COLOURS[k], label=f"step {h} s"
        )
    axes.set(xlabel="time (s)", ylabel="height of the contact (m)", ylim=(1e-14, 1e-4))
    add_legend(axes)
    return axes.figure
