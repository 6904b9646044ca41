"""The figure of a two-wheeler's motion: lean and steer can be seen, pushes and signs are stated."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import motion, overview, top
from draisine.view.plot import default_figure
from draisine.view.style import figure_width


@pytest.fixture(scope="module")
def push():
    return run(load("mauny2018/passive-stabilisation")).data


def texts(axes):
    """Return all texts of axes."""
    return [text.get_text() for text in axes.texts]


def test_it_is_the_default_of_bicycles_on_level_ground(push):
    assert default_figure(push) == "motion"
    assert default_figure(run(load("mauny2018/incline")).data) == "path"
    assert default_figure(run(load("mauny2018/ramp-jump")).data) == "path"
    disc = draisine.compile("rolling_disc")
    rolling = draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.2)
    assert default_figure(rolling.to_xarray()) == "path"
    with pytest.raises(ParameterError, match="two wheels that leans and steers"):
        motion.draw(rolling.to_xarray())


def test_the_machines_lean_as_the_curve_says(push):
    """Each frame is tilted against its dashed line by the lean at that time, as seen from behind."""
    panels = motion.draw(push)
    lean = push["lean"].interp(time=np.linspace(0.0, 5.0, motion.SNAPSHOTS)).values
    dashed = [line for line in panels[0].lines if line.get_linestyle() == "--"]
    assert len(dashed) == motion.SNAPSHOTS
    diamonds = [line for line in panels[0].lines if line.get_marker() == "D"]
    frames = diamonds[:: len(diamonds) // motion.SNAPSHOTS]
    aside = [
        float(mark.get_xdata()[0] - line.get_xdata()[0])
        for mark, line in zip(frames, dashed, strict=True)
    ]
    # The mass centre of the frame is 0.9 m above the ground and 0.3 m ahead of the contact.
    assert_allclose(np.diff(aside), 0.9 * np.diff(np.sin(lean)), atol=0.02)
    curve = panels[1].lines[0]
    assert_allclose(curve.get_ydata(), np.degrees(push["lean"].values))


def test_pushes_and_inputs_are_marked_and_signs_stated(push):
    angles = motion.draw(push)[1]
    assert "push to the right: lean rate 0.5 rad/s" in texts(angles)
    assert "lean is positive to the right, steer to the left" in angles.get_xlabel()
    angles = motion.draw(run(load("escalona2012/steering")).data)[1]
    assert "steer \N{MINUS SIGN}1 N m" in texts(angles)
    spans = [patch for patch in angles.patches if patch.get_alpha() == 0.2]
    box = spans[0].get_path().get_extents(spans[0].get_patch_transform())
    assert_allclose([box.x0, box.x1], [0.0, 0.3], atol=0.011)


def test_snapshots_from_above_do_not_cover_each_other():
    """A car that parks: the first and the last time, and those between that are apart."""
    axes = top.draw(run(load("locomotion/car-four-arcs", {"run.dt": 0.05})).data, every=1.0)
    shown = [text for text in texts(axes) if text.endswith(" s")]
    assert {"0 s", "8 s"} <= {*shown}
    assert len(shown) < 5
    assert "machine at these times" in axes.get_legend_handles_labels()[1]


def test_an_overview_for_a_slide_is_wide(push):
    with figure_width("300mm"):
        figure = overview.draw(push)["top"].figure
    assert figure.get_figwidth() > 1.5 * figure.get_figheight()
    assert len(figure.axes) == 6
