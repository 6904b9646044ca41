"""Linear simulations beside nonlinear runs."""

import numpy as np
import pytest

from draisine import compile
from draisine.analysis.lqr import balance
from draisine.experiment.kinds.linear import simulate_linear
from draisine.experiment.report import describe_result, summarise_result
from draisine.experiment.run import run
from draisine.scenario.library import load, validate_scenario


def apart(push):
    """Return the largest errors of lean and steer of the linear equations, and the largest lean."""
    result = run(load("passive-stabilisation", {"initial.lean_rate": push, "run.until": 2.0}))
    linear = simulate_linear(result.loaded.plan, result.data)
    assert float(linear.lean[0]) == pytest.approx(float(result.data.lean[0]), abs=1e-15)
    errors = [float(np.abs(linear[n] - result.data[n]).max()) for n in ("lean", "steer")]
    return np.array(errors), float(np.abs(result.data.lean).max())


def test_a_bicycle_differs_from_its_linear_equations_by_the_cube_of_the_push():
    """By the symmetry of left and right, lean and steer have no errors of even order."""
    (small, swing) = apart(0.02)
    (large, _) = apart(0.04)
    assert np.log2(large / small) == pytest.approx(3.0, abs=0.05)
    assert small.max() < 1e-3 * swing


def test_lqr_gains_are_printed():
    """They are those that the law is made with, and a law on the handlebar leaves the speed alone."""
    law = [{"name": "lqr", "costs": {"steer": 1.0}}]
    content = {"kind": "linear", "title": "held", "vehicle": {"name": "whipple"}, "law": law}
    result = run(validate_scenario("held", "held", content | {"speeds": {"at": [3.0]}}))
    bicycle = compile("whipple")
    wanted = balance(bicycle, costs={"steer": 1.0}, forward_speed=3.0)
    gains = summarise_result(result)["gains"]["steer"]
    assert list(gains.values()) == pytest.approx(wanted.K[0].tolist(), rel=1e-9)
    line = next(
        text
        for text in describe_result(result)
        if text.startswith("feedback of deviations: steer =")
    )
    assert f"{-gains['lean']:+.5g} lean" in line and "rear_wheel" not in line
