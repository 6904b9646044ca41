"""A satellite turns by its rotors

One rotor makes a whole turn, another follows, and both come back one after the other. Momentum stays
zero, all rotors are where they were, and the satellite is not: yaw, lean and pitch on the way.
"""

from typing import Any

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import histories


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/satellite-turn", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    return histories.draw(motion(), names=["yaw", "lean", "pitch"]).figure
