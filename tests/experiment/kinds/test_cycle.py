"""Scenarios of the kind `cycle` with a prescribed period: results and error messages."""

import pytest

from draisine.errors import DataError, ParameterError
from draisine.experiment.check import check
from draisine.experiment.report import summarise_result
from draisine.experiment.run import run
from draisine.scenario.library import load
from draisine.view.figures.cycle import draw
from draisine.view.plot import default_figure

SWING = """
kind = 'cycle'
title = 'a pendulum'
vehicle.name = 'acrobot'
[cycle]
near = { bar = 0.1 }
"""


def test_a_ball_on_a_shaking_table_by_its_scenario():
    """Fixed point in closed form, multipliers by an independent computation."""
    result, findings = check(load("walkers/bouncing-cycle-1"))
    assert len(findings) == 6 and all(finding.agrees for finding in findings)
    assert default_figure(result.data) == "path"
    assert summarise_result(result)["cycle"]["stable"]
    with pytest.raises(ParameterError, match="drawn like a run"):
        draw(result.data)


def test_a_pendulum_at_rest_is_periodic_with_any_period(tmp_path):
    """Without a terrain: hanging still, its multipliers are on the unit circle (nothing is lost)."""
    file = tmp_path / "rest.toml"
    names = "{ bar = 0.01, hip = 0.0, bar_rate = 0.0, hip_rate = 0.0 }"
    file.write_text(SWING.replace("{ bar = 0.1 }", names) + "period = 0.5\nsamples = 10\n")
    cycle = summarise_result(run(load(str(file))))["cycle"]
    assert max(map(abs, cycle["start"].values())) < 1e-9
    sizes = zip(
        cycle["multiplier_real"].values(), cycle["multiplier_imaginary"].values(), strict=True
    )
    assert [abs(complex(*pair)) for pair in sizes] == pytest.approx([1.0] * 4, abs=1e-8)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SWING, "has no gait"),
        (SWING.replace("bar", "bra") + "period = 1.0\n", "no such output. Did you mean 'bar'"),
        (SWING + "period = 1.0\n[contact]\nmu = 0.5\n", "needs a terrain"),
        (
            SWING.replace("acrobot", "rimless_wheel").replace("bar", "wheel")
            + "[terrain]\nshape = 'plane'\n",
            r"needs cycle\.period",
        ),
    ],
)
def test_invalid_scenarios_are_rejected(tmp_path, text, told):
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    with pytest.raises(DataError, match=told):
        load(str(file))
