"""Figures: what is on them, that legends hide nothing, and that axes given are axes drawn on."""

import inspect
import math

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from numpy.testing import assert_allclose

import draisine
from draisine.errors import DataError, ParameterError
from draisine.experiment.run import run
from draisine.registry import find, names
from draisine.scenario.library import load
from draisine.vehicles.bicycle.whipple import whipple
from draisine.view.figures import (
    eigenvalues,
    energies,
    forces,
    gaps,
    histories,
    maps,
    migration,
    overview,
    phase,
    side,
    top,
)
from draisine.view.save import save
from draisine.view.scene.shapes import machine_outlines
from draisine.view.scene.skeleton import rim_points
from draisine.view.style import COLOURS, parent_figure, to_words


@pytest.fixture(scope="module")
def passive():
    return run(load("mauny2018/passive-stabilisation")).data


@pytest.fixture(scope="module")
def disc():
    machine = draisine.compile("rolling_disc")
    start = draisine.state(machine, lean=0.1, yaw_rate=0.5)
    return draisine.simulate(machine, start, until=1.0).to_xarray()


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def legend_is_outside(axes):
    """Return whether the legend covers nothing of what is drawn."""
    figure = axes.figure
    figure.canvas.draw()
    return not axes.get_legend().get_window_extent().overlaps(axes.bbox)


def test_histories(passive):
    axes = histories.draw(passive, names=["lean", "steer"])
    assert axes.get_xlabel() == "time (s)"
    assert axes.get_ylabel() == "angle (deg)"
    assert labels(axes) == ["lean", "steer"]
    assert_allclose(axes.lines[0].get_ydata(), np.degrees(passive["lean"].values))
    assert legend_is_outside(axes)
    one = histories.draw(passive, names=["forward_speed"])
    assert one.get_ylabel() == "forward speed (m/s)"
    with pytest.raises(ParameterError, match="separate figures"):
        histories.draw(passive, names=["lean", "forward_speed"])
    with pytest.raises(ParameterError, match="Did you mean 'lean'"):
        histories.draw(passive, names=["laen"])


def test_given_axes_are_used(passive):
    axes = Figure().subplots()
    for module in (histories, phase, energies, migration, top):
        assert module.draw(passive, axes) is axes


def test_energies_are_changes(passive):
    axes = energies.draw(passive)
    assert [line.get_ydata()[0] for line in axes.lines] == [0.0, 0.0, 0.0]
    assert labels(axes)[0].startswith("kinetic, from 1042.91")
    assert "(J)" in axes.get_ylabel()
    assert legend_is_outside(axes)


def test_forces(passive):
    panels = forces.draw(passive)
    assert [p.get_ylabel() for p in panels] == [
        "normal force (N)", "tangential force (N)", "friction needed\n(ratio)",
    ]  # fmt: skip
    assert labels(panels[1]) == ["rear, along", "rear, across", "front, along", "front, across"]
    normal = passive["contact_force"].sel(contact="rear", direction="normal").values
    assert_allclose(panels[0].lines[0].get_ydata(), normal)
    assert all(legend_is_outside(p) for p in panels)


def test_migration_and_phase(passive):
    axes = migration.draw(passive)
    assert labels(axes) == ["rear", "front"]
    assert np.abs(axes.lines[1].get_ydata()).max() == pytest.approx(1.064, abs=1e-3)
    plane = phase.draw(passive)
    assert plane.get_xlabel() == "angle (deg)"
    assert labels(plane) == ["lean", "steer", "start", "end"]


def test_the_top_view_shows_the_path_and_the_machine(passive):
    axes = top.draw(passive, every=0.5)
    assert axes.get_aspect() == 1.0
    assert labels(axes)[:2] == ["rear contact", "front contact"]
    assert any("every 0.5 s" in text for text in labels(axes))
    diamonds = [line for line in axes.lines if line.get_marker() == "D"]
    assert len(diamonds) == 12  # eleven snapshots and the legend
    assert_allclose(
        axes.lines[0].get_xdata(), passive["contact_point"].sel(contact="rear", axis="x").values
    )
    large = top.draw(passive, scale=3.0)
    assert any("magnified 3 times" in text for text in labels(large))


def test_the_overview_has_all_panels(passive):
    panels = overview.draw(passive)
    assert set(panels) == {"top", "angles", "rates", "speed", "forces", "energies"}
    assert panels["top"].figure._suptitle.get_text() == passive.attrs["title"]


def test_maps():
    data = run(load("mauny2018/contact-maps", {"map.x.count": 7, "map.y.count": 9})).data
    panels = maps.draw(data)
    assert [p.get_title() for p in panels] == [
        "rear contact angle", "front contact angle", "beta", "yaw",
    ]  # fmt: skip
    assert panels[0].get_xlabel() == "lean (deg)"
    assert panels[0].get_ylabel() == "steer (deg)"
    assert_allclose(panels[0].get_xlim(), (-45.0, 45.0))


def test_maps_need_maps(passive):
    with pytest.raises(ParameterError, match="needs variables over two coordinates"):
        maps.draw(passive)
    with pytest.raises(ParameterError, match="no eigenvalues"):
        eigenvalues.draw(passive)


def test_eigenvalues_of_a_stored_result():
    data = run(load("meijaard2007/eigenvalues")).data
    axes = eigenvalues.draw(data)
    assert [text.get_text() for text in axes.texts][:1] == ["weave 4.292 m/s"]
    assert axes.get_xlabel() == "forward speed (m/s)"


def test_other_machines_can_be_drawn(disc):
    for module in (histories, phase, energies, forces, top, overview):
        module.draw(disc)
    with pytest.raises(ParameterError, match="_contact_angle"):
        migration.draw(disc)


def test_the_drawing_of_a_bicycle():
    axes = side.draw_model(whipple())
    assert labels(axes) == ["frame, 85 kg", "fork, 4 kg", "rear wheel, 2 kg", "front wheel, 3 kg"]
    (fork,) = (
        part for part in machine_outlines(whipple()) if (part.body, part.kind) == ("fork", "link")
    )
    assert any(np.allclose(point, [1.02, 0.0, 0.35]) for point in fork.points)
    around = rim_points(whipple().contacts[1])
    assert_allclose(np.linalg.norm(around - [1.02, 0.0, 0.35], axis=1), 0.35)


def test_every_figure_is_found_by_name():
    assert {"energies", "forces", "histories", "maps", "overview", "top"} <= set(names("figure"))
    assert all(callable(find("figure", name)) for name in names("figure"))


def test_figures_are_saved_whole_or_not_at_all(passive, tmp_path, monkeypatch):
    axes = histories.draw(passive)
    for suffix in (".png", ".jpg", ".svg", ".pdf"):
        save(axes, tmp_path / f"a{suffix}")
        assert (tmp_path / f"a{suffix}").stat().st_size > 1000
    with pytest.raises(DataError, match=r"\.png, \.jpg, \.svg, \.pdf"):
        save(axes, tmp_path / "a.gif")

    def full(*_args, **_more):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(DataError, match="No space left"):
        save(axes, tmp_path / "b.png")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.jpg", "a.pdf", "a.png", "a.svg"]


def test_colours_are_distinct():
    assert len(set(COLOURS)) == 7
    assert to_words("steer_rate") == "steer rate"


@pytest.mark.parametrize(
    "name", ["histories", "energies", "migration", "overview", "top", "profile"]
)
def test_results_other_than_runs_are_rejected(name):
    data = run(load("meijaard2007/matrices")).data
    with pytest.raises(ParameterError, match=r"not a run over time|no outputs `\*_contact_angle`"):
        find("figure", name)(data)


def test_round_off_is_drawn_as_a_straight_line(passive):
    still = passive.copy(deep=True)
    still["lean"][:] = 1e-16 * np.arange(len(still["time"]))
    low, high = histories.draw(still, names=["lean"]).get_ylim()
    assert high - low == pytest.approx(2.0)
    assert_allclose(gaps.draw(passive).get_ylim(), [-1e-3, 1e-3], atol=1e-12)


def test_a_jump_by_a_full_turn_interrupts_the_curve(passive):
    turned = passive.copy(deep=True)
    turned["rear_contact_angle"][:] = np.radians((np.arange(501) + 180.0) % 360.0 - 180.0)
    drawn = migration.draw(turned).lines[0].get_ydata()
    assert np.isnan(drawn).sum() == 1
    assert np.nanmax(np.abs(np.diff(drawn))) < 2.0


def test_a_vehicle_of_ones_own_is_drawn_without_a_scenario(tmp_path):
    """A dataset of a vehicle in a file knows that file; of one in the running script it is
    drawn while that runs, and afterwards asks for one.
    """
    text = """
from draisine.model import Body, Model, Revolute

def pendulum(*, length: float = 1.0) -> Model:
    bob = Body("bob", 2.0, (0.0, 0.0, -length))
    hinge = Revolute("hinge", "ceiling", "bob", (0.0, 1.0, 0.0))
    return Model([Body("ceiling"), bob], [hinge], base="fixed")
"""
    (tmp_path / "mine.py").write_text(text)
    system = draisine.compile(f"{tmp_path / 'mine.py'}:pendulum", length=0.5)
    data = draisine.simulate(system, draisine.state(system, hinge=0.5), until=0.2).to_xarray()
    assert labels(phase.draw(data))[0] == "hinge"
    names = {"__name__": "__main__"}
    exec(text, names)
    system = draisine.compile(names["pendulum"])
    data = draisine.simulate(system, draisine.state(system, hinge=0.5), until=0.2).to_xarray()
    assert labels(phase.draw(data))[0] == "hinge"
    data.attrs["vehicle_here"] = "another program"
    with pytest.raises(DataError, match=r"ehicle 'pendulum'.*FILE\.py:function"):
        phase.draw(data)


@pytest.mark.parametrize("name", names("figure"))
def test_every_figure_asks_for_data_only(name):
    first, *others = inspect.signature(find("figure", name)).parameters.values()
    assert first.name == "data"
    assert others[0].name == "axes"
    assert all(other.default is not inspect.Parameter.empty for other in others)


def test_a_drawing_shows_the_frames_of_its_links():
    axes = side.draw_model(whipple(), frames=True)
    texts = [text for text in axes.texts if text.get_text()]
    assert [text.get_text() for text in texts] == ["$x_{0}$", "$z_{0}$", "$x_{1}$", "$z_{1}$"]
    x = texts[0].get_position()
    z = texts[1].get_position()
    assert x[1] == pytest.approx(0.3) and z[0] == pytest.approx(0.0)  # at the rear hub


def test_a_figure_for_one_column_is_as_wide_and_has_the_texts_letters(passive, tmp_path):
    axes = draisine.plot(passive, "overview", tmp_path / "column.png", width="85mm")
    figure = parent_figure(axes)
    assert_allclose(25.4 * figure.get_figwidth(), 85.0)
    assert {text.get_fontsize() for text in figure.findobj(Text) if text.get_text()} == {8.0}
    assert all(legend_is_outside(panel) for panel in axes.values() if panel.get_legend())
    assert histories.draw(passive).figure.get_figwidth() > 85.0 / 25.4  # others are as before


@pytest.mark.parametrize("width", ["85", "85 furlongs", "-3in", 0.0, "nan"])
def test_invalid_widths_are_rejected(passive, width):
    with pytest.raises(ParameterError, match=r"not a valid width of a figure.*'85mm'"):
        draisine.plot(passive, "histories", width=width)


def test_measurements_are_drawn_beside_the_curve():
    """Run 52 of Kooijman and others (2008): the first value of figure 6 is 0.2391 rad/s."""
    data = draisine.run("kooijman2008/run-52").data
    axes = draisine.plot(data)
    dots = next(line for line in axes.lines if line.get_label() == "lean rate, measured")
    assert math.radians(dots.get_ydata()[0]) == pytest.approx(0.2391)
    assert axes.get_ylabel() == "lean rate (deg/s)"


def test_quantities_are_selected_by_series(disc):
    with pytest.raises(ParameterError, match=r"a list of quantities: series=\['lean'\]"):
        draisine.plot(disc, series="lean")
    with pytest.raises(
        ParameterError, match=r"'lean' is a quantity, not a figure.*series=\['lean'\]"
    ):
        draisine.plot(disc, "lean")
    assert draisine.plot(disc, series=["lean"]).get_xlabel() == "time (s)"


def _hardly_leaning(lean):
    """Return a run that starts all but upright, at a speed at which that grows."""
    bicycle = draisine.compile("whipple")
    start = draisine.state(bicycle, forward_speed=3.0, lean=lean)
    return draisine.simulate(bicycle, start, 3.0).to_xarray()


def test_amplified_round_off_is_not_magnified():
    """The axis spans degrees, and a note states the range of the curve."""
    data = _hardly_leaning(1e-9)
    axes = histories.draw(data)
    moved = np.degrees(max(np.ptp([*data.lean.values, *data.steer.values]), 0.0))
    assert 1e-9 < moved < 1e-3
    assert np.diff(axes.get_ylim()) == pytest.approx(2.0)
    (text,) = [text.get_text() for text in axes.texts]
    assert text.startswith("moves by ") and text.endswith(" deg at most")
    assert float(text.split()[2]) == pytest.approx(moved, rel=0.1)
    upper = forces.draw(data)[1]
    assert np.diff(upper.get_ylim()) == pytest.approx(2.0)


def test_small_motions_are_drawn_to_scale():
    """Hundredths of a degree exceed round-off."""
    axes = histories.draw(_hardly_leaning(1e-4))
    assert np.diff(axes.get_ylim()) < 1.9
    assert not axes.texts
