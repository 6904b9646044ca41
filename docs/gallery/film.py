"""Frames of a film

`draisine run mauny2018/ramp-jump --animate jump.gif` writes a film, `jump.mp4` a smaller one,
`jump.html` an interactive 3D page. Four frames of the jump: on the ramp, over its edge, in the air,
landed.
"""

import numpy as np
from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.film import FilmStage
from draisine.view.scene.scene import build_scene


def figure() -> Figure:
    """Return the picture."""
    times = np.array([0.3, 0.5, 0.75, 1.3])
    stage = FilmStage(build_scene(run(load("mauny2018/ramp-jump")).data, lambda known: times))
    picture = Figure(figsize=(10.0, 5.7), layout="constrained")
    for k, axes in enumerate(picture.subplots(2, 2).flat):
        axes.imshow(stage.picture(k))
        axes.set_axis_off()
    return picture
