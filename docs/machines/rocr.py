"""A robot climbs by swinging its tail

Two grips hold the wall in turn while the tail swings; the robot climbs at its largest speed.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import cycle


def motion() -> Any:
    """Return the run."""
    return run(load("mauny2018/rocr-gait-a")).data


def figure() -> Figure:
    """Return the picture."""
    return cycle.draw(motion())[0, 0].figure
