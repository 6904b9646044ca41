"""A satellite turns by its rotors

One rotor makes a full turn, another follows, and both return one after the other. The momentum is
zero and all rotors have their initial angles, but the satellite has turned: yaw, lean and pitch
during the motion.
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
