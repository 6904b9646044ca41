"""Machines seen from front, side and above: what is where, as the thesis's figures 2.7 and 2.8 show."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.errors import ParameterError
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import front, side, sweep, top
from draisine.view.figures._snapshots import MachineAt, snapshot_interval
from draisine.view.scene.shapes import machine_outlines
from draisine.view.style import restore_bodies


@pytest.fixture(scope="module")
def leaning():
    """Point D of the thesis: leaning to the right, steered to the left."""
    return run(load("mauny2018/configuration-d")).data


@pytest.fixture(scope="module")
def passive():
    return run(load("mauny2018/passive-stabilisation", {"run.until": 2.0})).data


def line(axes, label):
    (found,) = [x for x in axes.lines if x.get_label() == label]
    return np.column_stack(found.get_data())


def slope(points):
    (x0, y0), (x1, y1) = points
    return math.atan2(y1 - y0, x1 - x0)


def test_the_line_of_contacts_leaves_the_heading_by_beta(leaning):
    axes = top.draw(leaning)
    turn = slope(line(axes, "line of contacts")) - slope(line(axes, "heading"))
    assert turn == pytest.approx(math.radians(-8.00228585752948), abs=1e-9)
    assert axes.get_aspect() == 1.0
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (m)", "y, left (m)")
    assert "beta \N{MINUS SIGN}8.002 deg" in axes.texts[0].get_text()


def test_from_the_front_right_is_left(leaning):
    """It leans to its right: for the eye before it, to the left."""
    axes = front.draw(leaning, raised=0.0)
    assert axes.get_ylabel() == "z, up (m)"
    diamond = next(x for x in axes.lines if x.get_marker() == "D")
    (across,), (height,) = diamond.get_data()
    z = float(restore_bodies(leaning).model.body("frame").com[2])
    assert_allclose([across, height], [-z * 0.5, z * math.sqrt(0.75)], atol=0.01)
    rims = [np.column_stack(x.get_data()) for x in axes.lines if x.get_linewidth() == 1.8]
    assert len(rims) == 2
    assert all(rim[:, 1].min() == pytest.approx(0.0, abs=1e-3) for rim in rims)


def test_a_raised_eye_sees_lines_on_the_ground(leaning):
    for module, name in ((front, "y, to its left"), (side, "x, ahead")):
        axes = module.draw(leaning)
        assert axes.get_xlabel().startswith(f"{name} (m); seen from 20 deg above")
        assert axes.get_aspect() == 1.0
        labels = [text.get_text() for text in axes.get_legend().get_texts()]
        assert labels == ["frame", "fork", "mass centres", "heading", "line of contacts"]
    nearer = line(front.draw(leaning), "heading")
    assert nearer[1, 1] < nearer[0, 1]  # ahead is nearer to the eye, and lower
    assert_allclose(np.ptp(nearer[:, 0]), 0.0, atol=1e-12)


def test_machines_are_side_by_side_each_along_its_own_heading(passive):
    axes = front.draw(passive, every=0.5)
    assert [x.get_text() for x in axes.get_xticklabels()] == ["0", "0.5", "1", "1.5", "2"]
    assert axes.get_xlabel() == "time (s); each machine seen from its front"
    places = axes.get_xticks()
    diamonds = [x.get_data() for x in axes.lines if x.get_marker() == "D" and len(x.get_xdata())]
    frames = np.array(diamonds)[::2, :, 0]
    lean = passive["lean"].sel(time=[0.0, 0.5, 1.0, 1.5, 2.0], method="nearest").values
    assert_allclose(
        frames[:, 0] - frames[0, 0] - (places - places[0]), -0.9 * np.sin(lean), atol=2e-3
    )
    assert side.draw(passive).get_xlabel().endswith("right side")


def test_flat_machines_are_seen_from_above():
    """The axle of a snakeboard's truck has its true length, also if the snakeboard stays in place."""
    import draisine

    board = draisine.compile("snakeboard")
    axle = next(
        np.linalg.norm(np.diff(part.points, axis=0))
        for part in machine_outlines(board.model)
        if (part.body, part.kind) == ("rear_truck", "link")
    )
    still = draisine.simulate(board, draisine.state(board, rear_truck=0.3), 0.5).to_xarray()
    for data in (still, still.isel(time=[0])):
        axes = side.draw(data)
        assert "seen onto its plane" in axes.get_xlabel()
        assert np.linalg.norm(np.ptp(line(axes, "rear truck"), axis=0)) == pytest.approx(axle)
    assert side.draw_model(board.model).get_ylabel() == "y, left (m)"


def test_own_axes_and_the_worlds(passive):
    machine = MachineAt(restore_bodies(passive), -1)
    points = np.array([[0.3, -0.2, 1.0], [2.0, 0.5, 0.0]])
    assert_allclose(machine.to_machine(machine.to_world(points)), points, atol=1e-12)
    rear = passive["contact_point"].sel(contact="rear").values[-1]
    assert_allclose(machine.to_machine(rear), 0.0, atol=1e-12)
    ahead = machine.to_world(np.array([[1.0, 0.0, 0.0]]))[0] - machine.to_world(np.zeros((1, 3)))[0]
    yaw = float(passive["yaw"][-1])
    assert_allclose(ahead, [math.cos(yaw), math.sin(yaw), 0.0], atol=1e-12)


@pytest.mark.parametrize(("length", "expected"), [(5.0, 0.5), (20.0, 2.0), (0.3, 0.05), (1.0, 0.1)])
def test_snapshots_are_a_round_time_apart(length, expected):
    assert snapshot_interval(np.array([0.0, length])) == pytest.approx(expected)


def test_a_train_is_drawn_with_as_many_trailers_as_it_has():
    """Lists in its structure are kept with its data: the car by itself has two trailers."""
    data = run(load("locomotion/trailer-circle")).data
    assert set(restore_bodies(data).motions) == {"car", "wheel", "fork", "trailer1"}
    labels = top.draw(data).get_legend_handles_labels()[1]
    assert "trailer1" in labels and "trailer2" not in labels


def test_other_machines_and_results():
    import draisine

    cart = draisine.compile("cart_pole")
    data = draisine.simulate(cart, draisine.state(cart, pole=0.1), 0.5).to_xarray()
    for module in (front, side):
        module.draw(data)
    grid = run(load("mauny2018/contact-maps", {"map.x.count": 3, "map.y.count": 3})).data
    for module in (front, side):
        with pytest.raises(ParameterError, match="no poses of a machine"):
            module.draw(grid)


def test_sweeps_are_curves_on_scales_that_fit():
    data = run(load("mauny2018/drift")).data
    panels = sweep.draw(data)
    assert [p.get_xscale() for p in panels[:3]] == ["log"] * 3
    label = panels[0].get_ylabel().replace("\n", " ")
    assert label == "magnitude of mean rate of gap, front (m/s)"
    assert panels[0].get_xlabel() == "dt (s)"
    assert [text.get_text() for text in panels[0].get_legend().get_texts()] == ["ab4", "abm4"]
    assert_allclose(panels[1].lines[0].get_ydata(), data["peak gap[front]"][0])
    assert not panels[3].get_visible()
    given = sweep.draw(data, panels[:3])
    assert list(given) == list(panels[:3])


def test_results_other_than_sweeps_are_rejected(passive):
    with pytest.raises(ParameterError, match="not a sweep"):
        sweep.draw(passive)
