"""A run on one page

The push in six panels, by `draisine plot passive-stabilisation.nc --figure overview`: path with
snapshots, angles, rates, speeds, normal forces, energies. With `--width 300mm` the same panels have the
layout of a slide.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import overview


def figure() -> Figure:
    """Return the picture."""
    data = run(load("mauny2018/passive-stabilisation")).data
    return overview.draw(data)["top"].figure
