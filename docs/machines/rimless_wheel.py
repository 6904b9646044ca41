"""A wheel without a rim

One step of the limit cycle of eight spokes on a slope: the wheel slows down over its spoke and
accelerates on the way down. The impact of the next spoke halves the square of its angular velocity.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures.cycle import draw


def motion() -> Any:
    """Return the step."""
    return run(load("walkers/rimless-8", {"cycle.samples": 60})).data


def figure() -> Figure:
    """Return the picture."""
    return draw(motion())[0].figure
