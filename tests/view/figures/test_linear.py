"""Figures of linear analysis show their data."""

import io
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text
from numpy.testing import assert_allclose

import draisine
from draisine import compile, state
from draisine.analysis.bicycle.critical import critical_speeds
from draisine.analysis.bicycle.eigenvalues import eigenvalues
from draisine.analysis.bicycle.sensitivity import sensitivities
from draisine.analysis.bicycle.turning import turning_map
from draisine.analysis.continuation import steady_turns
from draisine.analysis.eigenmodes import Eigenmodes
from draisine.analysis.linear import linearise
from draisine.errors import ParameterError
from draisine.scenario.library import validate_scenario
from draisine.view.figures import _linear as view
from draisine.view.style import figure_width, parent_figure

BICYCLE = compile("whipple")


@pytest.fixture(scope="module")
def modes() -> Eigenmodes:
    return eigenvalues(BICYCLE, np.linspace(0.0, 10.0, 101))


def saved(axes: Any) -> None:
    figure = (axes if not isinstance(axes, list) else axes[0]).figure
    figure.savefig(io.BytesIO(), format="png", dpi=50)


def test_eigenvalues_against_speed(modes: Eigenmodes) -> None:
    axes = view.draw_eigenvalues(modes, critical_speeds(BICYCLE))
    curves = {line.get_label(): line for line in axes.get_lines()}
    assert_allclose(curves["capsize, real"].get_ydata(), modes.mode("capsize").real)
    labels = [text.get_text() for text in axes.texts]
    assert labels == ["weave 4.292 m/s", "capsize 6.024 m/s", "double root 0.684 m/s"]
    saved(axes)
    with pytest.raises(ParameterError, match="one at a time"):
        view.draw_eigenvalues(eigenvalues(BICYCLE, [4.0, 5.0], mB=[80.0, 90.0]))


@pytest.mark.parametrize("width", [None, "85mm"])
@pytest.mark.parametrize("name", ["benchmark", "kooijman", "pista_jason"])
def test_notes_of_critical_speeds_do_not_overlap(name: str, width: str | None) -> None:
    bicycle = compile("whipple", parameter_set=name)
    speeds = np.linspace(0.0, 10.0, 21)
    with figure_width(width):
        axes = view.draw_eigenvalues(eigenvalues(bicycle, speeds), critical_speeds(bicycle))
        axes.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert len(boxes) == 3
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


TYRES = {"name": "load_tyre", "parameter_set": "city_bicycle"}


@pytest.mark.parametrize("width", [None, "85mm"])
@pytest.mark.parametrize(
    "vehicle",
    [
        {"parameter_set": "benchmark"},
        {"parameter_set": "kooijman"},
        {"parameters": {"rear_tyre": TYRES, "front_tyre": TYRES}},
    ],
    ids=["benchmark", "kooijman", "tyres"],
)
def test_notes_hide_no_curve_and_are_nearest_to_their_point(vehicle, width) -> None:
    content = {"kind": "linear", "title": "t", "vehicle": {"name": "whipple"} | vehicle}
    drawn = parent_figure(
        draisine.plot(draisine.run(validate_scenario("t", "t", content)), width=width)
    )
    drawn.draw_without_rendering()
    axes = drawn.axes[0]
    points = axes.transData.transform([text.xy for text in axes.texts])
    assert len(points) == (1 if "parameters" in vehicle else 3)
    for text, point in zip(axes.texts, points, strict=True):
        box = Text.get_window_extent(text)
        for line in axes.lines:
            vertices = (
                line.get_transform().transform_path(line.get_path()).interpolated(20).vertices
            )
            assert not box.count_contains(vertices), (text.get_text(), line.get_label())
        away = [np.linalg.norm(np.clip(p, box.min, box.max) - p) for p in points]
        assert np.argmin(away) == np.argmin(np.linalg.norm(points - point, axis=1))
        assert axes.get_window_extent().contains(*box.min)
        assert axes.get_window_extent().contains(*box.max)


def test_a_bicycle_on_tyres_is_drawn_by_real_parts_above_imaginary_ones() -> None:
    """Weave and capsize fill a fair fraction of the upper axes, the wobble is in both, and the
    critical speed is marked.
    """
    parameters = {"rear_tyre": TYRES, "front_tyre": TYRES}
    vehicle = {"name": "whipple", "parameters": parameters}
    data = draisine.run(
        validate_scenario("t", "t", {"kind": "linear", "title": "t", "vehicle": vehicle})
    ).data
    growth, swing = draisine.plot(data)
    slow = data.eigenvalue_real.sel(eigenmode=["weave", "weave_2", "capsize"]).values
    assert np.ptp(slow) > 0.3 * np.ptp(growth.get_ylim())
    wobble = data.sel(eigenmode="wobble")
    assert growth.get_ylim()[0] < wobble.eigenvalue_real.min()
    assert wobble.eigenvalue_imaginary.max() < swing.get_ylim()[1]
    assert growth.get_xlim() == swing.get_xlim()
    (note,) = growth.texts
    assert note.get_text() == f"weave {float(data.weave_speed):.3f} m/s"
    names = growth.get_legend_handles_labels()[1]
    assert names == ["weave", "wobble", "capsize", "tyre", "castering"]


@pytest.mark.parametrize("speeds", [[5.0], [3.0, 5.0, 7.0]])
def test_a_few_speeds_are_dots(speeds: list[float]) -> None:
    axes = view.draw_eigenvalues(eigenvalues(BICYCLE, speeds), critical_speeds(BICYCLE))
    curves = {line.get_label(): line for line in axes.get_lines()}
    for name in ("weave, real", "weave, imaginary"):
        assert_allclose(curves[name].get_xdata(), speeds)
        assert (curves[name].get_marker(), curves[name].get_linestyle()) == ("o", "None")
    assert axes.get_xlim() == (speeds[0] - view.SPEED_MARGIN, speeds[-1] + view.SPEED_MARGIN)
    saved(axes)


def test_root_locus_and_mode_shapes(modes: Eigenmodes) -> None:
    axes = view.draw_root_locus(modes)
    assert [text.get_text() for text in axes.texts] == ["weave", "capsize", "castering"]
    saved(axes)
    shapes = view.draw_mode_shapes(modes, 5.0)
    assert len(shapes) == 3
    assert shapes[0].get_title().startswith("weave\n-0.775 +4.465i")
    saved(shapes)


def test_bode() -> None:
    upright = linearise(BICYCLE, state(BICYCLE, forward_speed=5.0))
    size, phase = view.draw_bode(upright, "steer", ["lean", "steer"], [0.1, 1.0, 10.0])
    response = upright.part(["steer"], ["lean"]).response([0.1, 1.0, 10.0])[:, 0, 0]
    assert_allclose(size.get_lines()[0].get_ydata(), 20 * np.log10(np.abs(response)))
    assert len(phase.get_lines()) == 2
    saved([size, phase])


def test_a_linear_system_is_stored_by_names_and_drawn_by_its_responses(tmp_path) -> None:
    upright = linearise(BICYCLE, state(BICYCLE, forward_speed=5.0))
    chosen = upright.part(["steer"], ["lean", "steer"])
    chosen.save(tmp_path / "upright.nc")
    data = draisine.load(tmp_path / "upright.nc")
    assert_allclose(data.A.values, upright.A, rtol=0, atol=0)
    assert_allclose(data.B.sel(input="steer").values, chosen.B[:, 0], rtol=0, atol=0)
    assert tuple(data.state.values) == upright.states
    for drawn in (chosen.plot(), draisine.plot(tmp_path / "upright.nc")):
        size, phase = drawn
        assert len(size.get_lines()) == len(phase.get_lines()) == 2
    both = linearise(BICYCLE, [state(BICYCLE, forward_speed=v) for v in (4.0, 5.0)])
    assert both.to_xarray().A.dims == ("motion", "rate", "state")
    with pytest.raises(ParameterError, match="one linear system"):
        both.plot()


def test_circles_maps_and_sensitivities() -> None:
    circles = steady_turns(BICYCLE, until={"lean": 0.1})
    axes = view.draw_circles({"forward": circles})
    assert_allclose(axes.get_lines()[0].get_xdata(), np.degrees(circles["lean"]))
    saved(axes)
    turns = turning_map(BICYCLE, np.linspace(0.02, 0.4, 8), np.linspace(-0.8, -0.02, 9))
    saved(view.draw_turning_map(turns, family=circles))
    bars = view.draw_sensitivities(sensitivities(BICYCLE), most=5)
    assert len(bars.patches) == 15
    saved(bars)


def test_the_stable_range_ends_where_growth_is_zero_not_at_a_sample() -> None:
    """Growth 2 - v, then v - 6 on a coarse grid: damped between 2 and 6."""
    v = np.array([0.0, 3.0, 5.0, 7.0])
    values = np.array([[2.0 - x, x - 6.0] for x in v]).astype(complex)
    axes = view.draw_eigenvalues(Eigenmodes(v, values, np.empty((4, 0, 0)), ("weave", "capsize")))
    (low, high), *_ = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in axes.patches]
    assert_allclose([low, high], [2.0, 6.0])


def test_the_legend_names_modes_outside_the_limits():
    modes = eigenvalues(compile("whipple"), np.linspace(6.0, 8.0, 11))
    labels = view.draw_eigenvalues(modes).get_legend_handles_labels()[1]
    assert "castering, below \N{MINUS SIGN}10" in labels and "weave, real" in labels
