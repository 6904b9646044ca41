"""Figures of runs with events: marks, gaps, the graph."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

import draisine
from draisine.errors import ParameterError
from draisine.experiment.run import run
from draisine.registry import names
from draisine.scenario.library import load, validate_scenario
from draisine.view.figures import energies, event_graph, gaps, overview, profile
from draisine.view.figures.event_graph import contact_set_name


@pytest.fixture(scope="module")
def jump():
    return run(load("mauny2018/ramp-jump")).data


@pytest.fixture(scope="module")
def bounces():
    return run(load("mauny2018/elastic-bounces")).data


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def legend_is_outside(axes):
    axes.figure.canvas.draw()
    return not axes.get_legend().get_window_extent().overlaps(axes.bbox)


@pytest.mark.parametrize("figure", [energies, gaps])
def test_events_are_marked_where_they_are(jump, figure):
    axes = figure.draw(jump)
    times = [line.get_xdata()[0] for line in axes.lines if line.get_marker() in ("v", "^")]
    assert_allclose(times, [0.414548083, 0.529464565, 0.915937811, 1.049678059], atol=1e-9)
    assert {"lift-off", "collision"} <= set(labels(axes))
    assert len(labels(axes)) == len(set(labels(axes)))
    assert legend_is_outside(axes)
    given = Figure().subplots()
    assert figure.draw(jump, given) is given


def test_gaps_close_at_collisions(jump):
    axes = gaps.draw(jump)
    assert axes.get_ylabel() == "gap (m)"
    assert labels(axes)[:2] == ["rear", "front"]
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(0.0, abs=1e-9)


def test_the_graph_returns_to_its_first_state(jump):
    axes = event_graph.draw(jump)
    texts = [text.get_text() for text in axes.texts]
    assert "rear + front\n(start, end)" in texts
    assert {"rear", "front", "flight"} <= set(texts)
    assert "1: lift-off front\n0.4145 s" in texts
    assert "4: collision rear\n1.05 s" in texts
    given = Figure().subplots()
    assert event_graph.draw(jump, given) is given


def test_bounces_are_a_loop(bounces):
    texts = [text.get_text() for text in event_graph.draw(bounces).texts]
    (label,) = [text for text in texts if "collision" in text]
    assert label.splitlines()[3] == "4: collision front, 0.9686 s"


def test_labels_stay_apart_and_inside(jump, bounces):
    for data in (jump, bounces):
        axes = event_graph.draw(data)
        figure = axes.figure
        figure.canvas.draw()
        boxes = [t.get_window_extent() for t in axes.texts if t.get_text()]
        for k, box in enumerate(boxes):
            assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
            assert not any(box.overlaps(other) for other in boxes[k + 1 :])


def test_many_events_and_other_machines_can_be_drawn():
    disc = draisine.compile("rolling_disc")

    content = {
        "kind": "run",
        "title": "a disc bounces",
        "vehicle": {"name": "rolling_disc"},
        "terrain": {"shape": "plane"},
        "contact": {
            "impact": "newton",
            "restitution": {"normal": 0.8, "tangential": 0.8},
            "rest_speed": 0.05,
        },
        "initial": {"z": 0.1, "mode": {disc.model.contacts[0].name: "open"}},
        "run": {"until": 2.0},
    }
    data = run(validate_scenario("disc", "disc", content)).data
    texts = [text.get_text() for text in event_graph.draw(data).texts]
    assert any(text.endswith("more") for text in texts)
    gaps.draw(data)
    overview.draw(data)


def test_the_profile_shows_ground_and_machine(jump, bounces):
    axes = profile.draw(jump)
    assert labels(axes)[0] == "ground"
    assert {"lift-off", "collision"} <= set(labels(axes))
    assert legend_is_outside(axes)
    ground = [line for line in axes.lines if line.get_label() in ("ground", "_")]
    low = min(np.nanmin(line.get_ydata()) for line in ground)
    assert low == pytest.approx(-6.3 * np.tan(np.radians(10.0)), abs=0.1)
    given = Figure().subplots()
    assert profile.draw(bounces, given) is given
    page = overview.draw(jump)
    assert page["top"].get_ylabel() == "z, up (m)"
    assert labels(page["angles"])[0] == "pitch"


def test_the_profile_shows_the_ground_below_the_path():
    """A ball rolls obliquely over a cambered road: its centre is at R / cos(camber) above the drawn line."""
    radius, camber = 0.1, 0.2
    content = {
        "kind": "run",
        "title": "a ball on a cambered road",
        "vehicle": {"name": "ball", "parameters": {"radius": radius}},
        "terrain": {"shape": "road", "x": [-5.0, 10.0], "z": "0*x", "camber": camber},
        "initial": {"place": {"centre": [0.0, 0.0], "on": "ground"}, "x_speed": 2.0},
        "run": {"until": 1.0},
    }
    data = run(validate_scenario("ball", "ball", content)).data
    axes = profile.draw(data)
    line = next(line for line in axes.lines if line.get_label().startswith("mass centre"))
    first = next(line for line in axes.lines if line.get_label() == "ground")
    count = len(first.get_xdata())
    patches = [line.get_xydata() for line in axes.lines if len(line.get_xdata()) == count]
    points = np.concatenate(patches)
    points = points[np.isfinite(points).all(axis=1)]
    points = points[np.argsort(points[:, 0])]
    x, z = line.get_data()
    assert np.ptp(z) > 0.1
    below = np.interp(x, *points.T)
    assert_allclose(z - below, radius / np.cos(camber), atol=5e-3)


def test_level_ground_is_drawn_where_no_terrain_is_known():
    data = run(load("mauny2018/passive-stabilisation", {"run.until": 0.5})).data
    axes = profile.draw(data)
    assert_allclose(axes.lines[0].get_ydata(), 0.0)


def test_states_have_names():
    wheels = ["rear", "front"]
    assert contact_set_name({}, wheels) == "flight"
    assert (
        contact_set_name({"front:a": "rolling", "rear:b": "sliding"}, wheels)
        == "rear sliding + front"
    )
    assert (
        contact_set_name({"steer:upper stop": "sliding"}, wheels) == "flight, steer at upper stop"
    )


def test_runs_without_events_are_rejected():
    bicycle = draisine.compile("whipple")
    data = draisine.simulate(
        bicycle, draisine.state(bicycle, forward_speed=5.0), until=0.1
    ).to_xarray()
    with pytest.raises(ParameterError, match="no events"):
        event_graph.draw(data)
    gaps.draw(data)
    sledge = draisine.compile("falling_cat")
    free = draisine.simulate(sledge, draisine.state(sledge), until=0.1).to_xarray()
    with pytest.raises(ParameterError, match="no gaps"):
        gaps.draw(free)
    assert {"gaps", "event_graph"} <= set(names("figure"))
