"""Draw the figure of the first page: `python docs/figures/passive_stabilisation.py`."""

from pathlib import Path

from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import path

data = run(load("mauny2018/passive-stabilisation")).data
figure = path.draw(data).figure
figure.savefig(Path(__file__).with_name("passive-stabilisation.png"), dpi=160)
