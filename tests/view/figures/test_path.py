"""The ridden path with the machine on it, slopes as slopes, impulses, and no empty picture."""

import math
from itertools import combinations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.testing import assert_allclose

import draisine
from draisine.registry import names
from draisine.results.events import read_events
from draisine.scenario.library import validate_scenario
from draisine.vehicles.segway import segway
from draisine.view.figures import forces, histories, path, profile
from draisine.view.layout import label_empty_axes
from draisine.view.plot import default_figure
from draisine.view.scene.scene import rotation_to_vertical
from draisine.view.scene.shapes import machine_outlines
from draisine.view.style import parent_figure


def run(name, **changes):
    return draisine.run(f"mauny2018/{name}", changes=changes).data


@pytest.fixture(scope="module")
def jump():
    return run("ramp-jump")


@pytest.fixture(scope="module")
def slope():
    return run("incline")


@pytest.fixture(scope="module")
def bounces():
    """A ball rolls, and bounces until it lies still: hundreds of hits, most of them in one place."""
    content = {
        "kind": "run",
        "title": "bounces",
        "vehicle": {"name": "ball"},
        "terrain": {"shape": "plane"},
        "contact": {"impact": "newton", "restitution": {"normal": 0.6}, "rest_speed": 1e-3},
        "initial": {"mode": {"ground": "open"}, "z": 0.5, "Vx": 3.0},
        "run": {"until": 2.0},
    }
    return draisine.run(validate_scenario("bounces", "bounces", content)).data


@pytest.fixture(scope="module")
def kerb():
    place = {"wheel": "rear", "centre": [-1.5, 0.0], "on": "before"}
    ground = {"shape": "kerb", "rise": 0.03, "at": 1.0}
    content = {
        "kind": "run",
        "title": "a kerb",
        "vehicle": {"name": "whipple"},
        "terrain": ground,
        "initial": {"place": place, "forward_speed": 4.0},
        "run": {"until": 1.0},
    }
    return draisine.run(validate_scenario("kerb", "kerb", content)).data


def told(axes):
    return [text.get_text() for text in axes.texts]


def test_the_first_picture_of_a_run_is_its_path(jump, slope):
    assert default_figure(jump) == default_figure(slope) == "path"


def test_events_are_marked_and_named(jump):
    axes = path.draw(jump)
    labels = axes.get_legend_handles_labels()[1]
    assert {"rear contact", "front contact", "lift-off", "collision"} <= set(labels)
    for text in ("front 0.415 s", "rear 0.529 s", "front 0.916 s", "rear 1.050 s"):
        assert text in told(axes)
    assert "x = 10 m" in told(axes)


def test_crowded_events_are_merged_and_counted(bounces):
    """Every event has its own machine or is counted at the previous one."""
    count = len(read_events(bounces))
    axes = path.draw(bounces)
    marks = [line for line in axes.lines if line.get_marker() in ("v", "^", ">", "s", "D")]
    more = [int(text.split(", ")[1].split()[0]) for text in told(axes) if text.endswith("more")]
    assert len(marks) < count
    assert len(marks) + sum(more) == count


def test_tracks_and_numbers_are_at_the_positions_of_the_run(slope):
    """From the side and without a raised eye, across is along the ground and up is up: on a slope of
    ten degrees the track climbs by ten degrees.
    """
    axes = path.draw(slope, aside=0.0, raised=0.0)
    x = axes.lines[0].get_xdata()
    z = axes.lines[0].get_ydata()
    travel = slope["contact_point"].sel(contact="rear").values
    length = np.linalg.norm(travel - travel[0], axis=1)
    assert_allclose(x - x[0], length * math.cos(math.radians(10.0)), atol=1e-9)
    assert_allclose(z - z[0], length * math.sin(math.radians(10.0)), atol=1e-9)


def test_every_machine_is_drawn_completely(slope):
    """A frame, a fork, two rims and their spokes and valves at every whole second, each with a ball."""
    axes = path.draw(slope, every=1.0)
    times = [text for text in told(axes) if text.endswith(" s")]
    assert times == [f"{k} s" for k in range(len(times))]
    lines = [line for line in axes.lines if line.get_zorder() == 3]
    assert len(lines) == len(times) * (8 + 2)


def test_a_kerb_is_drawn_with_its_height(kerb):
    """Its edge is a dark line across the way at its place and height, seen along the ground; machines at
    events that would hide each other are shades.
    """
    axes = path.draw(kerb, aside=0.0, raised=0.0)
    assert {"step, 3 cm", "x = 3 m"} <= set(told(axes))
    edges = [line for line in axes.lines if line.get_color() == "#333333"]
    assert_allclose(np.hstack([line.get_xdata() for line in edges]), 1.0, atol=1e-9)
    assert max(line.get_ydata().max() for line in edges) == pytest.approx(0.03, abs=1e-9)
    strong = [line for line in axes.lines if line.get_zorder() == 3 and line.get_alpha() == 1.0]
    count = len([sign for sign in axes.lines if sign.get_marker() == "v"])
    assert count == 5 and len(strong) == 2 * (8 + 2)


def test_both_axes_keep_their_units():
    axes = path.draw(run("passive-stabilisation", **{"initial.forward_speed": 2.0}))
    visible = [text.get_text() for text in axes.texts if text.get_visible()]
    assert sorted(text[:4] for text in visible if text.endswith(" m")) == ["x = ", "y = "]


def test_level_ground_along_the_path_is_horizontal_in_the_picture(jump):
    """Behind the ramp the front wheel rolls at one height, and lengths along the way are true."""
    axes = path.draw(jump)
    drawn = next(line for line in axes.lines if line.get_label() == "front contact")
    contact_points = jump["contact_point"].sel(contact="front").values
    samples = np.flatnonzero(np.isfinite(drawn.get_ydata()) & (jump.time.values > 1.1))
    assert len(samples) > 20
    assert np.ptp(drawn.get_ydata()[samples]) < 1e-9
    assert_allclose(
        np.diff(drawn.get_xdata()[samples]), np.diff(contact_points[samples, 0]), atol=1e-9
    )


def test_every_event_has_its_time_and_no_time_lies_over_another(kerb):
    axes = path.draw(kerb)
    axes.figure.draw_without_rendering()
    times = [text for text in axes.texts if text.get_text().endswith(" s")]
    boxes = [text.get_window_extent() for text in times]
    assert len(times) == 5 and all(text.get_visible() for text in times)
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_no_empty_space_above_a_jump(jump):
    """What is drawn and written fills the axes from bottom to top, but for a small margin."""
    axes = path.draw(jump)
    axes.figure.draw_without_rendering()
    tops = [text.get_window_extent().y1 for text in axes.texts if text.get_visible()]
    assert axes.get_window_extent().y1 - max(tops) < 8.0


def test_machines_that_stay_in_place_are_shown_side_by_side():
    disc = draisine.compile("rolling_disc")
    data = draisine.simulate(disc, draisine.state(disc, yaw_rate=2.0), 0.5).to_xarray()
    row, history = path.draw(data)
    assert "time (s)" in row.get_xlabel()
    assert history.get_ylabel() == "yaw (deg)"
    assert_allclose(np.ptp(history.lines[0].get_ydata()), math.degrees(2.0 * 0.5), rtol=1e-6)
    assert row.figure.get_suptitle() == "rolling_disc"


def test_snapshots_do_not_overlap_and_the_last_state_is_drawn():
    """A run up a slope and back passes the same positions twice: machines are drawn at some of
    them, and at the end.
    """
    data = run("incline-fall")
    axes = path.draw(data)
    times = [float(text.split()[0]) for text in told(axes) if text.endswith(" s")]
    assert times[0] == 0.0 and times[-1] == pytest.approx(float(data.time[-1]), abs=0.05)
    assert 3 <= len(times) <= 5
    assert "ground, slope 10 deg" in axes.get_legend_handles_labels()[1]


def test_a_snakeboard_stands_on_trucks():
    """Each truck is an axle across with a wheel at both ends, all smaller than the board."""
    drawn = machine_outlines(draisine.compile("snakeboard").model)
    for body in ("rear_truck", "front_truck"):
        outlines = [outline for outline in drawn if outline.body == body]
        assert sorted(outline.kind for outline in outlines) == ["blade", "blade", "link"]
        axle = next(outline.points for outline in outlines if outline.kind == "link")
        assert_allclose(np.diff(axle, axis=0)[0, 0], 0.0, atol=1e-12)
        assert (
            0.0 < np.ptp(np.vstack([outline.points for outline in outlines]), axis=0).max() < 0.25
        )


def test_given_axes_are_used(jump):
    axes = Figure().subplots()
    assert path.draw(jump, axes) is axes


def test_a_slope_is_drawn_as_a_slope(slope):
    axes = profile.draw(slope)
    ground = axes.lines[0]
    rise = np.ptp(ground.get_ydata()) / np.ptp(ground.get_xdata())
    assert math.degrees(math.atan(rise)) == pytest.approx(10.0, abs=1e-9)
    assert axes.get_ylabel() == "vertical (m)"


def test_level_takes_up_to_the_vertical():
    up = np.array([0.3, -0.2, 0.5])
    up = up / np.linalg.norm(up)
    R = rotation_to_vertical(up)
    assert_allclose(R @ up, [0.0, 0.0, 1.0], atol=1e-15)
    assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert_allclose(rotation_to_vertical(np.array([0.0, 0.0, 1.0])), np.eye(3), atol=0.0)


def test_impulses_and_the_rejected_trial_of_test_4():
    """Thesis, section 4.3.4: 126.6 N s in front and -66.8 N s behind are rejected; then 133.3 N s."""
    panels = forces.draw(run("impact-lift-off"))
    assert panels[3].get_ylabel() == "normal impulse (N s)"
    points = {
        (line.get_marker(), round(float(line.get_ydata()[0]), 1))
        for line in panels[3].lines
        if line.get_marker() in ("o", "x")
    }
    assert {("x", 126.6), ("x", -66.8), ("o", 133.3), ("o", 67.7), ("o", 5.8)} == points
    labels = panels[3].get_legend_handles_labels()[1]
    assert "all contacts closed: rejected" in labels


def test_a_segway_has_a_body_in_its_profile():
    """The link from the axle to the mass centre."""
    assert ("body", "link") in {(part.body, part.kind) for part in machine_outlines(segway())}


@pytest.mark.parametrize("vehicle", names("vehicle"))
def test_every_body_with_mass_is_drawn(vehicle):
    model = draisine.compile(vehicle).model
    drawn = {part.body for part in machine_outlines(model)}
    assert {body.name for body in model.bodies if float(body.mass) > 0.0} <= drawn


def test_empty_axes_have_a_message():
    figure = Figure()
    empty, full, blank = figure.subplots(3)
    empty.plot([0.0, 1.0], [np.nan, np.nan])
    full.plot([0.0, 1.0], [0.0, 1.0])
    blank.set_visible(False)
    label_empty_axes(figure)
    assert told(empty) == ["no data: all values are undefined"]
    assert told(full) == told(blank) == []


LETTERS = ("path", "histories", "energies", "phase", "event_graph", "profile", "forces", "overview")


@pytest.mark.parametrize("name", LETTERS)
def test_texts_are_readable_in_one_column_of_a_paper(jump, name):
    """At 84 mm no text of a figure is smaller than 5 points."""
    figure = parent_figure(draisine.plot(jump, name))
    FigureCanvasAgg(figure).draw()
    shrink = 84 / 25.4 / figure.get_figwidth()
    sizes = [text.get_fontsize() for text in figure.findobj(Text) if text.get_text()]
    assert min(sizes) * shrink > 5.0


def test_times_of_a_short_run_do_not_overlap():
    """Four snapshots of a car that hardly moves: overlapping times are left out."""
    axes = path.draw(draisine.run("locomotion/car-parking").data)
    shown = [text for text in axes.texts if text.get_visible()]
    boxes = [text.get_window_extent() for text in shown]
    assert len(shown) > 4
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_numbers_on_the_border_do_not_overlap():
    """The last one without a unit stood close to the one with it."""
    changed = {"initial.lean": "5deg", "run.until": 3.5}
    figure = parent_figure(draisine.plot(run("passive-stabilisation", **changed), "path"))
    figure.draw_without_rendering()
    boxes = [t.get_window_extent().padded(2.0) for t in figure.axes[0].texts if t.get_visible()]
    assert len(boxes) > 8
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_the_figure_shows_where_a_run_is_invalid():
    """A slow bicycle: after it has fallen it is drawn pale."""
    changed = {"initial.forward_speed": 2.0, "run.until": 2.0}
    slow = draisine.run("mauny2018/passive-stabilisation", changes=changed)
    axes = path.draw(slow.data)
    first = next(iter(slow.validity.faults))
    title = axes.figure.get_suptitle()
    assert title.startswith("passive-stabilisation with forward_speed = 2\nfrom ")
    assert title.splitlines()[1].endswith(first)
    assert {line.get_alpha() for line in axes.lines} >= {1.0, path.PALE_OPACITY}


def test_a_fall_is_reported_and_marked():
    """The title has the time of the fall, the last machine is marked as fallen, and histories have
    a marker.
    """
    fallen = draisine.run("passive-stabilisation", changes={"initial.lean_rate": 3.0})
    axes = path.draw(fallen.data)
    when = f"{fallen.validity.fall_from:.3g} s"
    assert axes.figure.get_suptitle().endswith(f"it fell at {when}")
    assert f"{when}, fallen" in [text.get_text() for text in axes.texts]
    drawn = histories.draw(fallen.data, names=["lean"])
    assert "fall" in [text.get_text() for text in drawn.get_legend().get_texts()]


def test_a_run_that_stopped_where_it_began_is_drawn_once(jump):
    still = jump.isel(time=[0, 0, 0])
    assert parent_figure(draisine.plot(still)).axes[0].lines
    assert parent_figure(draisine.plot(still, "path")).axes[0].lines
