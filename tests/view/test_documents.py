"""Figures of the founding documents: each record draws, and the drawn curves have the printed peaks."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot

from draisine.algebra.lie import rot_x, rot_y, rot_z
from draisine.cli.figure import figure
from draisine.errors import ParameterError
from draisine.registry import names
from draisine.results.queries import parse_series
from draisine.scenario.library import load
from draisine.system.system import compile
from draisine.view.concepts import CONCEPTS
from draisine.view.concepts.bicycle import (
    CONFIGURATIONS,
    contact_angles,
    pitched_gaps,
)
from draisine.view.concepts.gaps import (
    FLOOR,
    RAMP,
    disc_contact,
    end_contact,
    face_contact,
    nearest_points,
    touch,
    turned_oval,
)
from draisine.view.concepts.impacts import IMPACT_SPEED, REDUCED_MASS, SPHERE_STIFFNESS, collide
from draisine.view.concepts.spaces import ADDED_ROW, KINETIC_METRIC, project, transport
from draisine.view.documents import (
    axis_ranges,
    document_figures,
    draw_document_figure,
    figure_data,
)
from draisine.view.figures.mode_graph import list_transitions
from draisine.view.plot import SERIES_FIGURES, SNAPSHOT_FIGURES

RECORDS = {record.name: record for record in document_figures()}


@pytest.fixture(autouse=True)
def close_figures():
    """Close the figures of a test."""
    yield
    pyplot.close("all")


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_names_what_exists(name: str) -> None:
    """Scenario, changes, figure plug, series and options of every record are valid."""
    record = RECORDS[name]
    if record.concept:
        assert record.concept in CONCEPTS and not record.figure
        return
    if record.vehicle:
        assert record.vehicle in names("vehicle") and not record.figure
        return
    assert record.figure in names("figure")
    if record.cycles:
        return
    loaded = load(record.scenario, {**record.changes, **record.against})
    for series in record.series:
        if not series.endswith("_setpoint"):
            parse_series(series, loaded.plan.system.model)
    assert not record.series or record.figure in SERIES_FIGURES
    assert record.every is None or record.figure in SNAPSHOT_FIGURES


def test_every_figure_of_the_documents_has_a_record() -> None:
    """The lists of figures of the documents, without the photographs of the thesis."""
    figures = {1: 22, 2: 31, 3: 11, 4: 32, "D": 5}
    thesis = {f"{chapter}.{n}" for chapter, count in figures.items() for n in range(1, count + 1)}
    photographs = {"1.1", "1.2", "1.3", "1.4", "1.14"}
    expected = {f"mauny2018/{number}" for number in thesis - photographs}
    expected |= {f"mauny2017/{n}" for n in range(1, 14)}
    expected |= {f"escalona2012/{n}" for n in range(1, 4)}
    assert {name.rstrip("ABCD") for name in RECORDS} == expected


def find_lines(axes, label: str) -> list:
    """Return the lines of a panel with a label."""
    return [line for line in axes.get_lines() if line.get_label() == label]


def test_tangential_impulses_of_the_impact() -> None:
    """Figure 4.28 has the impulses along the ground below the forces.

    At the first impact the front wheel stops: its point of contact moved forward relative to the ground
    (the wheel spins backwards), so the ground pushes it back.
    """
    forces, impulses = draw_document_figure("mauny2018/4.28")
    assert "force" in forces.get_ylabel() and "impulse" in impulses.get_ylabel()
    (mark,) = find_lines(impulses, "front, along")
    assert mark.get_ydata()[0] < -100.0
    # The rejected trial keeps the rear wheel closed and is drawn as a cross.
    assert find_lines(impulses, "rear, along, rejected trial")


def test_normal_impulses_of_the_impact() -> None:
    """Figure 4.27 shows the four impulses that the thesis prints: 126.6, -66.8, 133.3, 5.8 N s."""
    _, impulses = draw_document_figure("mauny2018/4.27")
    drawn = [line.get_ydata()[0] for line in impulses.get_lines() if line.get_marker() in "ox"]
    for printed in (126.6, -66.8, 133.3, 5.8):
        assert np.min(np.abs(np.array(drawn) - printed)) < 0.05


def test_setpoints_are_series() -> None:
    """Figures 2.25 and 2.26: the set-point reaches 5 degrees at 5 s, and is half of it at 2.5 s."""
    data = figure_data(RECORDS["mauny2018/2.25"])
    steer = data["steer_setpoint"].values
    t = data["time"].values
    assert steer[np.searchsorted(t, 5.0)] == pytest.approx(np.radians(5.0))
    assert steer[np.searchsorted(t, 2.5 - 1e-9)] == pytest.approx(np.radians(2.5))
    assert set(data["rear_wheel_rate_setpoint"].values) == {20.0}


def test_snapshots_have_the_printed_interval() -> None:
    """Figure 2.9 shows 5 s with 0.5 s between the snapshots."""
    axes = draw_document_figure("mauny2018/2.9")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "machine every 0.5 s" in labels


def test_the_graph_of_modes_is_complete() -> None:
    """Four modes have twelve ordered pairs, and each one is a transition."""
    pairs = {(start, end) for start, end, _, _ in list_transitions("rear", "front")}
    assert pairs == {(i, j) for i in range(4) for j in range(4) if i != j}


def test_the_trial_is_rejected_for_its_sign() -> None:
    """Figure 4.23 shows the rejected and the accepted impulses that the thesis prints."""
    axes = draw_document_figure("mauny2018/4.23")
    texts = "\n".join(text.get_text() for text in axes.texts)
    for printed in ("126.6 N s", "-66.8 N s", "133.3 N s"):
        assert printed in texts


def test_the_ball_lifts_the_far_end_of_the_bar() -> None:
    """Figure 3.6 against statics of impulses: with all contacts closed everything stops.

    The ball of mass m falls by h onto a place x right of the middle and gives m v; the supports at -L and L
    would share it as a lever does, so that the left one would have to pull if x > L.
    """
    m, h, x, arm, g = 3.0, 0.2, 0.6, 0.4, 9.81
    push = m * np.sqrt(2.0 * g * h)
    expected = [0.5 * push * (1.0 - x / arm), 0.5 * push * (1.0 + x / arm), push]
    axes = draw_document_figure("mauny2018/3.6")
    trial = next(text.get_text() for text in axes.texts if "rejected" in text.get_text())
    for name, value in zip(("left", "right", "ball"), expected, strict=True):
        assert f"{name}: {value:.1f} N s" in trial
    accepted = next(text.get_text() for text in axes.texts if "accepted" in text.get_text())
    assert "left" not in accepted


def test_rocr_has_two_families_of_cycles() -> None:
    """Figure 1.18 shows two cycles for every phase."""
    few = {"vehicle": "rocr", "low": 4.7, "high": 4.72, "count": 3}
    data = figure_data(replace(RECORDS["mauny2018/1.18"], cycles=few))
    assert data.sizes["family"] == 2


def test_the_difference_is_below_ten_digits() -> None:
    """Figures 2.18 and 2.19: the thesis claims equality to the tenth decimal."""
    for number in ("2.18", "2.19"):
        axes = draw_document_figure(f"mauny2018/{number}")
        assert max(axes.get_lines()[0].get_ydata()) < -10.0


def test_the_command_writes_files_and_rejects_mistakes(tmp_path, capsys) -> None:
    """One figure goes to a file; unknown names and one file for several figures are errors."""
    target = tmp_path / "graph.png"
    assert figure("mauny2018/4.5", out=target) == 0
    assert target.stat().st_size > 10_000
    assert figure(list=True) == 0
    assert "mauny2018/4.28" in capsys.readouterr().out
    with pytest.raises(ParameterError, match="Did you mean"):
        figure("mauny2018/4.99")
    with pytest.raises(ParameterError, match="--folder"):
        figure("mauny2017", out=target)
    with pytest.raises(ParameterError, match="--list"):
        figure()


def test_snapshots_need_a_figure_with_snapshots() -> None:
    """The option `every` is refused by figures without snapshots."""
    from draisine.view.plot import plot

    data = figure_data(RECORDS["mauny2018/4.26"])
    with pytest.raises(ParameterError, match="no snapshots"):
        plot(data, "gaps", every=0.5)


@pytest.mark.parametrize("name", CONCEPTS)
def test_every_concept_is_drawn_and_used(name: str) -> None:
    assert CONCEPTS[name]().figure.axes
    assert name in {record.concept for record in RECORDS.values()}


def test_one_panel_of_a_figure() -> None:
    """Figure 1.21A: the torque of gait a alone, with its computed peak."""
    axes = draw_document_figure("mauny2018/1.21A")
    assert axes.figure.axes == [axes]
    assert axis_ranges(axes) == ["torque (N m): -0.5395 to 0.5395"]


def test_elastic_spheres_have_the_peak_of_hertz() -> None:
    """Without loss m v^2 / 2 = (2/5) K d^(5/2); a loss reduces the deformation."""
    collision = collide(1.0)
    depth = (1.25 * REDUCED_MASS * IMPACT_SPEED**2 / SPHERE_STIFFNESS) ** 0.4
    assert collision.depth.max() == pytest.approx(depth, rel=1e-4)
    assert collision.force.max() == pytest.approx(SPHERE_STIFFNESS * depth**1.5, rel=1e-4)
    assert collide(0.5).depth.max() < depth


def test_gaps_of_a_wheel_over_an_edge() -> None:
    centre = np.array([0.3, 0.35])
    assert end_contact(centre, RAMP).gap == pytest.approx(np.hypot(0.3, 0.35) - 0.35)
    assert face_contact(centre, FLOOR).gap == pytest.approx(0.5)
    assert not face_contact(np.array([0.5, 0.6]), RAMP).inside


def test_nearest_points_of_ovals_have_one_normal() -> None:
    """Figures 3.4, 3.5 and Escalona's 2: both tangents are orthogonal to the segment between the points."""
    body, obstacle = turned_oval(0.4, 1.6, 0.9, 0.4, 0.5), turned_oval(-0.2, 0.0, 1.3, 0.5, -0.1)
    near = nearest_points(body, obstacle)
    normal = (near.wheel - near.ground) / near.gap
    for oval, point in ((body, near.wheel), (obstacle, near.ground)):
        cos, sin = np.linalg.solve(oval.half_axes, point - oval.centre)
        assert np.hypot(cos, sin) == pytest.approx(1.0)
        tangent = oval.half_axes @ [-sin, cos]
        assert abs(tangent @ normal) < 1e-6
    moved, contact = touch(body, obstacle)
    # The point lies on both boundaries, and no point of the body lies inside the moved obstacle.
    y = np.linalg.solve(moved.half_axes, contact.wheel - moved.centre)
    assert np.hypot(*y) == pytest.approx(1.0, abs=1e-9)
    points = body.boundary(np.linspace(0.0, 2.0 * np.pi, 10_001)) - moved.centre[:, None]
    assert np.hypot(*np.linalg.solve(moved.half_axes, points)).min() > 1.0 - 1e-9


def test_the_lowest_point_of_a_disc_over_a_triangle() -> None:
    """Figure 4.3 against a search along the rim; a disc beside the triangle is reported."""
    corners = np.array([[-0.7, -0.6, 0.0], [0.8, -0.5, 0.15], [0.1, 0.8, 0.1]])
    axle = np.array([0.6, 0.8, 0.0])
    centre = np.array([0.1, 0.0, 0.65])
    near = disc_contact(centre, axle, 0.35, corners)
    angle = np.linspace(0.0, 2.0 * np.pi, 100_001)[:, None]
    rim = centre + 0.35 * (np.cos(angle) * [0.8, -0.6, 0.0] + np.sin(angle) * [0.0, 0.0, 1.0])
    normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
    heights = (rim - corners[0]) @ (normal / np.linalg.norm(normal))
    assert near.gap == pytest.approx(heights.min(), abs=1e-8) and near.inside
    assert not disc_contact(centre + [2.0, 0.0, 0.0], axle, 0.35, corners).inside


def test_the_contact_frame_has_the_lowest_point_of_the_wheel() -> None:
    """Figure 2.4: O + h (cos alpha_0 s_0 + sin alpha_0 n_0) is lowest, and (2.24) gives R again."""
    R = rot_z(0.6) @ rot_x(0.3) @ rot_y(0.4)
    psi, alpha = contact_angles(R)
    np.testing.assert_allclose(rot_z(psi) @ rot_x(0.3) @ rot_y(np.pi - alpha), R, atol=1e-12)
    angle = np.linspace(0.0, 2.0 * np.pi, 100_001)
    heights = np.cos(angle) * R[2, 2] + np.sin(angle) * R[2, 0]
    assert angle[np.argmin(heights)] == pytest.approx(alpha, abs=1e-4)


def test_the_configurations_of_contact_differ() -> None:
    """Figure 4.4: the four combinations of closed and open wheels."""
    model = compile("whipple").model
    states = [
        tuple(gap < 1e-9 for gap in pitched_gaps(model, pitch, least)[1])
        for _, pitch, least in CONFIGURATIONS
    ]
    assert [wheel.name for wheel in model.wheels] == ["rear", "front"]
    assert states == [(False, False), (True, False), (True, True), (False, True)]


def test_projections_and_transport() -> None:
    v = np.array([0.9, -0.8, -0.4])
    a = project(v, ADDED_ROW, KINETIC_METRIC)
    assert abs(ADDED_ROW @ a) < 1e-15
    # The lost part is orthogonal to the admissible one in the kinetic metric.
    assert abs(a @ KINETIC_METRIC @ (v - a)) < 1e-15
    corners = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
    _, vectors = transport(corners, np.array([0.0, 1.0, 0.0]))
    np.testing.assert_allclose(vectors[-1], [0.0, 0.0, 1.0], atol=1e-9)
