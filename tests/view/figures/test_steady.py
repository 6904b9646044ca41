"""The figure of hands-free circles."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure

import draisine
from draisine.errors import ParameterError
from draisine.experiment.run import run
from draisine.experiment.tables.circles import find_hands_free_circles
from draisine.registry import names
from draisine.scenario.library import load
from draisine.view.figures import steady
from draisine.view.style import parent_figure


def test_panels_share_the_speed():
    panels = steady.draw(find_hands_free_circles("whipple"))
    assert [panel.get_ylabel() for panel in panels] == [
        "angle (deg)", "radius of the rear path (m)", "growth (1/s)",
    ]  # fmt: skip
    assert panels[2].get_xlabel() == "rear wheel speed (m/s)"
    assert [text.get_text() for text in panels[0].get_legend().get_texts()] == ["lean", "steer"]
    assert np.degrees(-1.3397399115) == pytest.approx(panels[0].lines[3].get_ydata()[-1])
    given = Figure().subplots(3)
    assert steady.draw(find_hands_free_circles("whipple"), given) is given


def test_other_results_are_rejected():
    assert "steady" in names("figure")
    with pytest.raises(ParameterError, match="no steady circles"):
        steady.draw(run(load("meijaard2007/matrices")).data)


@pytest.mark.parametrize("width", [None, "85mm"])
def test_labels_beside_panels_do_not_overlap(width):
    figure = parent_figure(draisine.plot(find_hands_free_circles("whipple"), width=width))
    figure.draw_without_rendering()
    labels = [axes.yaxis.label.get_window_extent() for axes in figure.axes]
    assert not any(a.overlaps(b) for a, b in combinations(labels, 2))
    for axes, label in zip(figure.axes, labels, strict=True):
        assert label.height <= 1.01 * axes.get_window_extent().height
