"""A run on one page

What `draisine run` draws by itself: the benchmark bicycle rolls at 4.6 m/s, is pushed over at 0.5
rad/s and steadies itself. Path with snapshots, angles, rates, speeds, normal forces, energies.
"""

from matplotlib.figure import Figure

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import overview


def figure() -> Figure:
    """Return the picture."""
    data = run(load("mauny2018/passive-stabilisation")).data
    return overview.draw(data)["top"].figure
