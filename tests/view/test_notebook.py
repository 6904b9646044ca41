"""Output in notebooks: figures below the cell, pages in place, tables, sliders."""

import html
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import draisine
from draisine import Body, Model, Revolute
from draisine.errors import ParameterError
from draisine.results.bodies import restore_model
from draisine.view.explore import explore_page
from draisine.view.notebook import InlinePage


@pytest.fixture(scope="module")
def bicycle():
    return draisine.compile("whipple")


@pytest.fixture(scope="module")
def ride(bicycle):
    return draisine.simulate(bicycle, draisine.state(bicycle, forward_speed=5.0), 0.3)


@pytest.fixture
def cell(monkeypatch):
    """What is displayed below a cell, while a kernel seems to run."""
    display = pytest.importorskip("IPython.display")
    shown = []
    shell = SimpleNamespace(kernel=1, execution_count=1)
    monkeypatch.setattr(display, "display", shown.append)
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
    return shown


def test_a_figure_is_shown_below_the_cell(ride, cell):
    axes = ride.plot()
    (picture,) = cell
    assert picture.data.startswith(b"\x89PNG")
    assert axes[0].figure is not None


@pytest.mark.parametrize("figure", ["path", "top", "forces", "overview"])
def test_a_cell_does_not_print_the_axes_of_a_shown_figure(ride, cell, figure):
    """IPython prints nothing for a last line `run.plot()`; a later cell shows the figure again."""
    formatters = pytest.importorskip("IPython.core.formatters")
    axes = ride.plot(figure)
    assert formatters.DisplayFormatter().format(axes) == ({}, {})
    assert len(cell) == 1
    sys.modules["IPython"].get_ipython().execution_count += 1
    assert formatters.DisplayFormatter().format(axes) == ({}, {})
    assert len(cell) == 2


def test_files_and_terminals_show_nothing(ride, cell, tmp_path, monkeypatch):
    ride.plot(path=tmp_path / "ride.svg")
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    ride.plot("top")
    assert cell == []


def test_a_replay_in_place(ride, tmp_path):
    page = ride.animate()
    assert isinstance(page, InlinePage)
    shown = page._repr_html_()
    inside = html.unescape(re.search(r'srcdoc="(.*?)"', shown, re.S)[1])
    assert inside == page.text
    assert "<canvas" in inside and "http" not in inside
    assert ride.animate(tmp_path / "ride.html") is None
    assert (tmp_path / "ride.html").read_text(encoding="utf-8") == page.text


def test_a_result_of_a_scenario_shows_itself(cell):
    result = draisine.run("mauny2018/passive-stabilisation", changes={"run.until": 0.1})
    result.plot("energies")
    assert len(cell) == 1
    assert "<iframe" in result.animate()._repr_html_()


def test_systems_are_drawn_and_states_are_tables(bicycle, ride):
    html = bicycle._repr_html_()
    assert html.startswith("<pre>System of whipple") and "</svg>" in html
    table = ride.final()._repr_html_()
    assert re.findall(r"<th>(\w+)</th>", table) == ["pose", "shape", "twist", "rates"]
    assert "steer<br>" in table and "lean<br>" in table


def test_eigenvalues_are_a_table_with_the_stable_ones_marked(bicycle):
    modes = draisine.eigenvalues(bicycle, [4.0, 5.0])
    table = modes._repr_html_()
    rows = re.findall(r"<tr.*?</tr>", table)
    assert "-0.7753 +4.4649i" in rows[2] and "background" in rows[2]
    assert "background" not in rows[1]
    assert (
        repr(modes) == "Eigenmodes at 2 speeds, 4 to 5 m/s: weave, capsize, castering; stable at 1"
    )


def test_equations_are_mathml():
    shown = draisine.compile("chaplygin_sleigh").equations()._repr_html_()
    assert "<math" in shown


def test_sliders_draw_the_changed_bicycle(bicycle, monkeypatch):
    widgets = pytest.importorskip("ipywidgets")
    shown = []
    monkeypatch.setattr("draisine.view.notebook.show_inline", shown.append)
    box = draisine.sliders(bicycle, ["c", "zB"])
    trail, height, _ = box.children
    assert isinstance(trail, widgets.FloatSlider)
    assert (trail.value, height.max) == (0.08, pytest.approx(-0.27))
    trail.value = 0.04
    assert "weave 3.753 m/s" in [text.get_text() for text in shown[-1].axes[0].texts]
    with pytest.raises(ParameterError, match=r"no parameter 'trail'. Did you mean c \(trail\)"):
        draisine.sliders(bicycle, ["trail"])


def test_sliders_of_a_bicycle_are_the_page_of_explore(bicycle):
    page = draisine.sliders(bicycle)
    assert page.text == explore_page(bicycle)
    assert page._repr_html_().startswith("<iframe")


def test_a_browser_that_rounds_to_the_grid_of_a_slider_changes_nothing(bicycle, monkeypatch):
    """It sends min + k step back for each slider; the weave speed is that of Meijaard and others (2007),
    doi:10.1098/rspa.2007.1857.
    """
    pytest.importorskip("ipywidgets")
    shown = []
    monkeypatch.setattr("draisine.view.notebook.show_inline", shown.append)
    names = ["w", "c", "lam", "mB", "zB"]
    for knob in draisine.sliders(bicycle, names).children[:-1]:
        published = bicycle.parameters[knob.description]
        knob.value = knob.min + round((knob.value - knob.min) / knob.step) * knob.step
        assert knob.value == pytest.approx(published, rel=1e-12, abs=1e-12), knob.description
        assert knob.min < published < knob.max
    assert "weave 4.292 m/s" in [text.get_text() for text in shown[-1].axes[0].texts]


@pytest.mark.parametrize("speed", [None, [0.0, 1.0, 2.0]])
def test_sliders_draw_the_eigenvalues_of_any_machine(speed, monkeypatch):
    """A pendulum on two wheels falls faster under a stronger gravity."""
    pytest.importorskip("ipywidgets")
    shown = []
    monkeypatch.setattr("draisine.view.notebook.show_inline", shown.append)
    segway = draisine.compile("segway")
    gravity = draisine.sliders(segway, ["g"], speed).children[0]
    fastest = []
    for value in (9.9, 19.0):
        gravity.value = value
        (axes,) = shown[-1].axes
        numbers = [np.ravel(line.get_data()) for line in axes.lines]
        expected = float(
            draisine.eigenvalues(segway.with_parameters(g=gravity.value), 0.0).values.real.max()
        )
        assert min(np.abs(np.concatenate(numbers) - expected)) < 1e-9
        fastest.append(expected)
    assert fastest[1] == pytest.approx(fastest[0] * np.sqrt(gravity.value / 9.9), rel=0.02)
    usual = draisine.sliders(segway).children[:5]
    assert [knob.description for knob in usual] == ["r", "w", "mB", "hx", "hz"]


def test_a_machine_that_has_no_file_is_drawn_while_the_program_runs(tmp_path):
    """Its model is that of the run, also where another function takes the name."""

    def pendulum(*, length=1.0):
        inertia = np.eye(3)
        bodies = [
            Body("base", 1.0, (0.0, 0.0, 0.0), inertia),
            Body("bob", 1.0, (0, 0, -length), inertia),
        ]
        return Model(bodies, [Revolute("hinge", "base", "bob", (0.0, 1.0, 0.0))])

    systems = [draisine.compile(pendulum), draisine.compile(pendulum, length=2.0)]
    runs = [draisine.simulate(each, draisine.state(each, hinge=0.5), 0.2) for each in systems]
    for run, length in zip(runs, (1.0, 2.0), strict=True):
        bob = restore_model(run.to_xarray()).body("bob")
        assert float(bob.com[2]) == -length
    runs[0].plot("histories", tmp_path / "own.png")
    runs[0].animate(tmp_path / "own.html")
    assert len(list(tmp_path.iterdir())) == 2
