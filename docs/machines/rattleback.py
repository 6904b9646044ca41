"""A rattleback reverses

Spun against its skew it begins to rattle, stops, and turns the other way. The figure shows the
stone at three times, and its spin about the vertical, positive to the left.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from draisine import compile, simulate, state
from draisine.view.figures import histories
from draisine.view.film import FilmStage
from draisine.view.scene.scene import build_scene


def motion() -> Any:
    """Return the run."""
    system = compile("rattleback")
    return simulate(system, state(system, pitch="0.5deg", yaw_rate=-5.0), 5.0).to_xarray()


def figure() -> Figure:
    """Return the picture."""
    times = np.array([0.5, 2.8, 4.8])
    stage = FilmStage(build_scene(motion(), lambda known: times))
    picture = Figure(figsize=(7.4, 5.2), layout="constrained")
    frames, curve = picture.subfigures(2, 1, height_ratios=[0.65, 1.0])
    for k, axes in enumerate(frames.subplots(1, 3)):
        axes.imshow(np.asarray(stage.picture(k))[65:330, 140:520])
        axes.set_title(f"{times[k]:g} s", fontsize=9)
        axes.set_axis_off()
    histories.draw(motion(), curve.subplots(), names=["spin"])
    return picture
