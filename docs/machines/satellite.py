"""A satellite turns by its rotors

One rotor makes a full turn, another follows, and both return one after the other. The momentum is
zero and all rotors have their initial angles, but the satellite has turned: its bodies at
three times, and yaw (left), lean (right) and pitch (nose down).
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import histories
from draisine.view.film import FilmStage
from draisine.view.scene.scene import build_scene


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/satellite-turn", {"run.dt": 0.02})).data


def figure() -> Figure:
    """Return the picture."""
    times = np.array([0.0, 2.0, 4.0])
    stage = FilmStage(build_scene(motion(), lambda known: times))
    picture = Figure(figsize=(7.4, 5.2), layout="constrained")
    frames, curve = picture.subfigures(2, 1, height_ratios=[0.65, 1.0])
    for k, axes in enumerate(frames.subplots(1, 3)):
        axes.imshow(np.asarray(stage.picture(k))[65:330, 140:520])
        axes.set_title(f"{times[k]:g} s", fontsize=9)
        axes.set_axis_off()
    histories.draw(motion(), curve.subplots(), names=["yaw", "lean", "pitch"])
    return picture
