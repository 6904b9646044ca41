"""Measured numbers beside computed ones: they are compared within stated bounds, stored and drawn."""

from importlib.resources import files

import numpy as np
import pytest

from draisine.errors import DataError
from draisine.experiment.check import check
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import eigenvalues
from draisine.view.plot import plot


@pytest.fixture(scope="module")
def ridden():
    return run(load("kooijman2008/weave"))


def test_all_26_measured_runs_are_stored_with_the_computed_curves(ridden):
    """Each measurement is stored at the mean speed of its window, at which eigenvalues are computed, too."""
    data = ridden.data
    real = data.measured_quantity.values == "eigenvalue_real[weave]"
    assert real.sum() == 26
    assert set(data.measured_speed.values) <= set(data.speed.values)
    middle = (data.measured_from.values + data.measured_to.values) / 2.0
    assert np.abs(middle - data.measured_speed.values).max() < 1e-12


def test_standard_deviations_of_measurements_are_reported(tmp_path):
    """Moore's standard deviations are reported; each must belong to an expected value."""
    _, findings = check(load("moore2012/identified"))
    assert [finding.spread for finding in findings[:3]] == [0.02, 0.0006, 0.004]
    shipped = (files("draisine.scenarios") / "moore2012" / "identified.toml").read_text("utf-8")
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(shipped.replace('"K0[lean, steer]" = 0.02', '"K2[lean, steer]" = [0.02, 0.1]'))
    with pytest.raises(DataError, match="is not expected") as error:
        load(str(wrong))
    assert "needs one number; it has 2" in str(error.value)


def test_the_rms_bound_can_fail_although_all_numbers_agree(tmp_path):
    shipped = files("draisine.scenarios") / "kooijman2008" / "weave.toml"
    tight = tmp_path / "tight.toml"
    tight.write_text(shipped.read_text(encoding="utf-8").replace("rms = 0.2", "rms = 0.15"))
    _, findings = check(load(str(tight)))
    wrong = [finding for finding in findings if not finding.agrees]
    assert [finding.block[:18] for finding in wrong] == ["weave of the 12 ru"] * 2
    assert all(finding.deviation <= finding.allowed for finding in wrong)
    assert wrong[0].rms == pytest.approx(0.19, abs=0.01)


def test_measured_marks_are_drawn(ridden):
    axes = eigenvalues.draw(ridden.data)
    marks = [line for line in axes.lines if "measured" in str(line.get_label())]
    assert sorted(len(line.get_xdata()) for line in marks) == [26, 28]


def test_a_long_title_is_wrapped_inside_its_figure(ridden):
    """Both lines of the title are visible, and no word is missing."""
    figure = plot(ridden.data).figure
    (title,) = [text for text in figure.texts if text.get_text() == figure.get_suptitle()]
    assert title.get_window_extent().width <= figure.bbox.width
    assert title.get_text().replace("\n", " ") == ridden.data.attrs["title"]


def test_a_motorcycles_figure_shows_its_wobble():
    result, findings = check(load("sharp1971/eigenvalues"))
    assert all(finding.agrees for finding in findings)
    growth, swing = eigenvalues.draw(result.data)
    wobble = result.data.sel(eigenmode="wobble")
    for panel, values in ((growth, wobble.eigenvalue_real), (swing, wobble.eigenvalue_imaginary)):
        assert any(np.array_equal(line.get_ydata(), values.values) for line in panel.lines)
    assert "wobble" in [str(line.get_label()) for line in growth.lines]
    assert swing.get_ylim()[1] > wobble.eigenvalue_imaginary.values.max()
    assert np.isfinite(result.data.eigenvalue_real.values).all()


@pytest.fixture(scope="module")
def assisted():
    return check(load("balance_assist/weave"))


def test_the_assisted_weave_agrees_within_its_bounds(assisted):
    """A closed loop: root mean squares of 0.3 1/s and 1 rad/s from 2.2 to 4.4 m/s."""
    _, findings = assisted
    spreads = [finding for finding in findings if finding.rms_allowed is not None]
    assert [finding.rms_allowed for finding in spreads] == [0.3, 1.0]
    assert all(finding.agrees for finding in findings)
    assert all(finding.agrees for finding in check(load("balance_assist/weave-gain-10"))[1])


def test_measured_parameters_give_bands(assisted):
    """Known standard deviations of parameters yield those of eigenvalues, which are drawn as bands."""
    data = assisted[0].data
    wide = data.eigenvalue_real_deviation.sel(eigenmode="weave").values
    assert np.all((wide > 0.01) & (wide < 1.0))
    assert len(eigenvalues.draw(data).collections) >= 8


def test_a_disputed_number_must_differ(tmp_path):
    """It agrees if the computed number differs; an equal number is a disagreement."""
    _, findings = check(load("escalona2012/eigenvalues"))
    (disputed,) = [finding for finding in findings if finding.origin == "disputed"]
    assert disputed.agrees
    assert disputed.ours == pytest.approx(6.0242620154)
    assert "6.024" in disputed.note
    shipped = files("draisine.scenarios") / "escalona2012" / "eigenvalues.toml"
    same = tmp_path / "same.toml"
    same.write_text(
        shipped.read_text(encoding="utf-8").replace("stable_to = 6.8", "stable_to = 6.0")
    )
    assert [f.quantity for f in check(load(str(same)))[1] if not f.agrees] == ["stable_to"]


def test_measurements_are_kept_if_the_model_is_changed(ridden):
    """The measurements of the unchanged scenario are stored and compared, but deviations are no failure."""
    result, findings = check(load("kooijman2008/weave", {"vehicle.parameters.c": 0.06}))
    for name in ("measured_value", "measured_speed", "measured_from"):
        assert (result.data[name].values == ridden.data[name].values).all()
    assert {finding.origin for finding in findings} == {"measured"}
    assert sum(finding.compared for finding in findings) == 54
    assert all(finding.agrees for finding in findings) and max(f.rms for f in findings) > 0.4


def test_a_run_is_compared_at_recorded_times_before_its_end():
    """A shorter run is compared with the measurements before its end, at interpolated times."""
    complete, findings = check(load("kooijman2008/run-52"))
    short, short_findings = check(load("kooijman2008/run-52", {"run.until": 1.02, "run.dt": 0.03}))
    assert [finding.compared for finding in (*findings, *short_findings)] == [52, 21]
    worst = float(short_findings[0].where.split()[2])
    assert short_findings[0].ours == pytest.approx(
        float(complete.data.lean_rate.sel(time=worst, method="nearest")), abs=0.01
    )
    assert len(short.data.time) == 35
