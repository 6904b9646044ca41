"""Measured numbers stand beside computed ones: they are checked within stated bounds, kept and
drawn."""

from importlib.resources import files

import numpy as np
import pytest

from draisine.experiment.check import check
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures import eigenvalues


@pytest.fixture(scope="module")
def ridden():
    return run(load("kooijman2008/weave"))


def test_all_26_runs_are_kept_beside_the_curves(ridden):
    """At the mean speed of each window, and those speeds are computed, too."""
    data = ridden.data
    real = data.measured_quantity.values == "eigenvalue_real[weave]"
    assert real.sum() == 26
    assert set(data.measured_speed.values) <= set(data.speed.values)


def test_a_root_mean_square_can_fail_where_no_single_number_does(tmp_path):
    shipped = files("draisine.scenarios") / "kooijman2008" / "weave.toml"
    tight = tmp_path / "tight.toml"
    tight.write_text(shipped.read_text(encoding="utf-8").replace("rms = 0.2", "rms = 0.15"))
    _, found = check(load(str(tight)))
    wrong = [finding for finding in found if not finding.agrees]
    assert [finding.block[:18] for finding in wrong] == ["weave of the 12 ru"] * 2
    assert all(finding.deviation <= finding.allowed for finding in wrong)
    assert wrong[0].rms == pytest.approx(0.19, abs=0.01)


def test_measured_marks_are_drawn(ridden):
    axes = eigenvalues.draw(ridden.data)
    marks = [line for line in axes.lines if "measured" in str(line.get_label())]
    assert sorted(len(line.get_xdata()) for line in marks) == [26, 28]


def test_a_motorcycles_figure_shows_its_wobble():
    result, found = check(load("sharp1971/eigenvalues"))
    assert all(finding.agrees for finding in found)
    labels = [str(line.get_label()) for line in eigenvalues.draw(result.data).lines]
    assert "wobble, imaginary" in labels
    assert np.isfinite(result.data.eigenvalue_real.values).all()
