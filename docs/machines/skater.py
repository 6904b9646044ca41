"""A skater jumps

The legs extend and decelerate, and the blades leave the ice; in the air the mass centre follows a
parabola. The figure shows the skater from the side, and the heights of the
blade ends above the ice.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import gaps, side
from draisine.view.style import new_figure


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/skater-jump", {"run.dt": 0.01})).data


def figure() -> Figure:
    """Return the picture."""
    panels = new_figure(2, 1, size=(7.0, 6.4))
    side.draw(motion(), panels[0], every=0.2)
    return gaps.draw(motion(), panels[1]).figure
