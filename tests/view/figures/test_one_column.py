"""Figures in one column of a paper, 84 mm wide: panels have room, nothing is cut off, nothing lies over
something else.
"""

import numpy as np
import pytest

import draisine
from draisine.view.style import angles_to_draw, parent_figure, restore_bodies

DRAWN = {
    "locomotion/skater-jump": ("forces", "event_graph", "side"),
    "locomotion/car-parking": ("forces", "front", "histories", "top"),
    "walkers/compass-walks": ("histories", "overview", "top"),
    "mauny2018/rocr-gait-a": ("cycle",),
}


@pytest.fixture(scope="module", params=DRAWN)
def result(request):
    return request.param, draisine.run(request.param).data


def test_panels_are_high_enough_and_nothing_is_cut_off(result):
    name, data = result
    for kind in DRAWN[name]:
        figure = parent_figure(draisine.plot(data, kind, width="84mm"))
        figure.canvas.draw()
        title = figure._suptitle
        for axes in figure.axes:
            legend = axes.get_legend()
            if axes.get_aspect() == "auto" and axes.axison:
                assert axes.get_window_extent().height / figure.dpi > 0.7, (kind, axes.get_ylabel())
            if legend is not None:
                box = legend.get_window_extent()
                assert box.x1 <= figure.bbox.x1 + 1.0, (kind, "legend")
                assert title is None or not box.overlaps(title.get_window_extent()), kind


def test_two_runs_are_below_their_legend():
    bicycle = draisine.compile("whipple")
    runs = [
        draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=4.6, lean_rate=x), 0.5)
        for x in (0.1, 0.2)
    ]
    from draisine.results.comparison import compare

    both = compare(*(run.to_xarray() for run in runs))
    figure = parent_figure(draisine.plot(both, width="84mm"))
    assert len(figure.legends) == 1
    assert not figure.get_suptitle()
    assert [axes.get_ylabel() for axes in figure.axes[:4:2]] == ["lean\n(deg)", "steer\n(deg)"]


def test_a_walker_shows_its_legs_and_a_pendulum_its_pitch():
    walk = draisine.run("walkers/compass-walks").data
    assert {"left", "right"} <= set(angles_to_draw(walk, restore_bodies(walk).model))
    falls = draisine.run("locomotion/segway").data
    angles = angles_to_draw(falls, restore_bodies(falls).model)
    assert "pitch" in angles
    assert all(float(np.ptp(falls[name].values)) > 1e-9 for name in angles)
