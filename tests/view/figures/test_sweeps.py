"""Figures of sweeps: tornado diagrams, scatter matrices, basins and critical speeds."""

import numpy as np
import pytest
import xarray

import draisine
from draisine.errors import ParameterError
from draisine.experiment.tables.critical import compute_critical_table, tabulate_critical_speeds
from draisine.view.figures import basin, scatter_matrix, sweep, tornado


@pytest.fixture
def one_at_a_time():
    """The answer is 10 + 3 mass - angle, of a base and two values of each."""
    mass = np.array([1.0, 0.5, 2.0, 1.0, 1.0])
    angle = np.array([0.1, 0.1, 0.1, 0.0, 0.3])
    data = {"final lean": ("run", 10.0 + 3.0 * mass - angle, {"units": "m"})}
    data["outcome"] = ("run", np.array(["completed"] * 4 + ["fell"]))
    sides = {"mass": ("run", mass, {"units": "kg"}), "angle": ("run", angle, {"units": "rad"})}
    return xarray.Dataset(data, sides | {"run": np.arange(5)})


def test_a_tornado_has_the_widest_bar_on_top(one_at_a_time):
    (axes,) = tornado.draw(one_at_a_time)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["angle", "mass"]
    drawn = [bar for bar in axes.patches if bar.get_width()]
    reach = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in drawn]
    ends = [[round(x, 12) for x in pair] for pair in reach]
    assert ends == [[12.9, 13.0], [12.7, 12.9], [11.4, 12.9], [12.9, 15.9]]
    colours = [bar.get_facecolor() for bar in drawn]  # smaller, larger, smaller, larger values
    assert colours[0] == colours[2] != colours[1] == colours[3]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["smaller", "larger"]
    lost = one_at_a_time.copy(deep=True)
    lost["final lean"][4] = np.nan
    (axes,) = tornado.draw(lost)
    assert axes.get_yticklabels()[0].get_text() == "angle (undefined: 1)"
    with pytest.raises(ParameterError, match="one-at-a-time"):
        tornado.draw(one_at_a_time.isel(run=0))


def test_a_scatter_matrix_has_each_run_as_a_point(one_at_a_time):
    panels = scatter_matrix.draw(one_at_a_time)
    assert len(panels) == 2
    points = np.concatenate([line.get_xydata() for line in panels[1].lines])
    assert sorted(points[:, 0]) == pytest.approx(np.degrees([0.0, 0.1, 0.1, 0.1, 0.3]))
    (legend,) = panels[1].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["completed", "fell"]
    words = one_at_a_time.drop_vars(["mass", "angle"])
    with pytest.raises(ParameterError, match="over numbers"):
        scatter_matrix.draw(words)


def test_a_basin_shows_the_fraction_of_runs_that_recover():
    """Where speed + push < 4 nothing falls and everything dies out but at the speed 1."""
    speed, push = np.meshgrid([1.0, 2.0, 3.0], [0.5, 1.5], indexing="ij")
    sides = {"speed": [1.0, 2.0, 3.0], "push": [0.5, 1.5]}
    fractions = {
        "outcome": (("speed", "push"), np.where(speed + push < 4.0, "completed", "fell")),
        "decay rate of lean": (("speed", "push"), np.where(speed > 1.0, 0.5, -0.5)),
    }
    data = xarray.Dataset(fractions, sides)
    (axes,) = basin.draw(data)
    cells = axes.collections[0]
    assert np.asarray(cells.get_array()).tolist() == [[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    assert cells.get_coordinates()[0, :, 0].tolist() == [0.5, 1.5, 2.5, 3.5]
    flat = data.stack(run=("speed", "push")).reset_index("run")
    third = flat.assign_coords(trail=("run", np.linspace(0.0, 1.0, 6)))
    assert len(basin.draw(third)) == 3
    with pytest.raises(ParameterError, match="two numbers or more"):
        basin.draw(data.isel(push=0, drop=True))


def test_runs_that_stopped_early_are_hollow():
    speed = np.array([1.0, 2.0, 3.0])
    data = {"final lean": ("speed", np.array([0.0, 1.0, 2.0]), {"units": "m"})}
    data["outcome"] = ("speed", np.array(["completed", "fell", "completed"]))
    (axes,) = sweep.draw(xarray.Dataset(data, {"speed": speed}))
    hollow = [line for line in axes.lines if line.get_color() == "white"]
    assert [line.get_xydata().tolist() for line in hollow] == [[[2.0, 1.0]]]


def test_an_undefined_output_has_a_message_instead_of_axes():
    side = np.array([1.0, 2.0, 3.0])
    data = {
        "final lean": ("speed", side, {"units": "m"}),
        "fall": ("speed", np.nan * side, {"units": "s"}),
    }
    data["outcome"] = ("speed", np.array(["completed"] * 3))
    full, empty = draisine.plot(xarray.Dataset(data, {"speed": side}))
    assert full.axison and not full.texts
    (text,) = empty.texts
    assert text.get_text() == "fall (s)\nno data: all values are undefined"
    assert not empty.axison


def test_critical_speeds_bound_the_stable_range():
    """The shaded range lies between the weave and the capsize speed, in one panel, and no mark at its
    ends is cut.
    """
    data = compute_critical_table("whipple", {}, None, {"c": (0.04, 0.12, 3)})
    (axes,) = sweep.draw(data)
    (band,) = axes.collections
    x, y = band.get_paths()[0].vertices.T
    for line, name in zip(axes.lines, ("weave", "capsize"), strict=True):
        assert line.get_ydata().tolist() == data[name].values.tolist()
        assert set(data[name].values) <= set(y)
        assert axes.get_xlim()[0] < line.get_xdata().min() and not line.get_clip_on()
    assert (x.min(), x.max()) == (0.04, 0.12)
    data["stable_to"] = np.nan * data["stable_to"]
    (open_ended,) = sweep.draw(data)
    assert open_ended.collections[0].get_paths()[0].vertices[:, 1].max() == data["capsize"].max()


def test_critical_speeds_over_two_parameters_are_a_map():
    """Contours pass through the parameters with that critical speed; the shaded width is that of
    the stable range.
    """
    ranges = {"c": (0.04, 0.12, 5), "lam": (0.2, 0.4, 4)}
    data = compute_critical_table("whipple", {}, None, ranges)
    alone = draisine.critical_speeds(draisine.compile("whipple", c=0.06, lam=0.4))
    assert float(data.weave.sel(c=0.06, lam=0.4)) == pytest.approx(float(alone.weave), rel=1e-12)
    (axes,) = draisine.plot(data)[:1]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("c (m)", "lam (deg)")
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["weave speed (m/s)", "capsize speed (m/s)"]
    assert len(tabulate_critical_speeds(data)[1]) == 20
