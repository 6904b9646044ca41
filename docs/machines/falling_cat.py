"""A falling cat turns over

It rotates the bend of its waist once around, from rest and without angular momentum: four frames of
one second.
"""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.film import FilmStage
from draisine.view.scene.scene import build_scene


def motion() -> Any:
    """Return the run."""
    return run(load("locomotion/falling-cat", {"run.dt": 0.01})).data


def figure() -> Figure:
    """Return the picture."""
    times = np.array([0.0, 0.33, 0.66, 1.0])
    stage = FilmStage(build_scene(motion(), lambda known: times))
    picture = Figure(figsize=(10.0, 5.7), layout="constrained")
    for k, axes in enumerate(picture.subplots(2, 2).flat):
        axes.imshow(stage.picture(k))
        axes.set_axis_off()
    return picture
