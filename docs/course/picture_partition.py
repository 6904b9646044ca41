"""Two choices of independent coordinates

One over the condition number of the dependent columns against the yaw angle. With the contact coordinate
instead of the rolling angle, the partition fails at 90 degrees.
"""

import numpy as np
from course import constraints, example
from matplotlib.figure import Figure

from draisine.view.style import COLOURS, DASHES, add_legend, new_figure, simplify_axes

CHOICES = {r"$(\theta, \gamma, \psi)$": [3, 6, 4], r"$(\theta, \gamma, x_C)$": [3, 6, 0]}


def figure() -> Figure:
    """Return the picture."""
    axes = simplify_axes(new_figure(size=(5.6, 3.4)))
    yaw = np.linspace(-np.pi, np.pi, 181)
    p, _, _ = example()
    for k, (name, independent) in enumerate(CHOICES.items()):
        values = []
        for angle in yaw:
            p[2] = angle
            values.append(1 / np.linalg.cond(np.delete(constraints(p)[0], independent, axis=1)))
        axes.plot(np.degrees(yaw), values, color=COLOURS[k], linestyle=DASHES[k], label=name)
    axes.set(xlabel="yaw angle (deg)", ylabel="1 / condition number", ylim=(0.0, None))
    axes.set_xticks(range(-180, 181, 90))
    add_legend(axes)
    return axes.figure
