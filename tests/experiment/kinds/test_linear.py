"""Runs by linear equations beside those of the whole machine."""

import numpy as np
import pytest

from draisine import compile
from draisine.analysis.lqr import balance
from draisine.experiment.kinds.linear import simulate_linear
from draisine.experiment.report import remarks, summary
from draisine.experiment.run import run
from draisine.scenario.library import accept, load


def apart(push):
    """Return how far a push and its linear equations differ, and the largest lean."""
    found = run(load("passive-stabilisation", {"initial.lean_rate": push, "run.until": 2.0}))
    linear = simulate_linear(found.loaded.plan, found.data)
    assert float(linear.lean[0]) == pytest.approx(float(found.data.lean[0]), abs=1e-15)
    far = [float(np.abs(linear[n] - found.data[n]).max()) for n in ("lean", "steer")]
    return np.array(far), float(np.abs(found.data.lean).max())


def test_a_bicycle_differs_from_its_linear_equations_by_the_cube_of_the_push():
    """Left and right are alike: deviations of even order are none of lean and steer."""
    (small, swing), (large, _) = apart(0.02), apart(0.04)
    assert np.log2(large / small) == pytest.approx(3.0, abs=0.05)
    assert small.max() < 1e-3 * swing


def test_the_gains_of_a_law_of_least_cost_are_told():
    """They are those that the law is made with, and a law on the handlebar leaves the speed alone."""
    law = [{"name": "lqr", "costs": {"steer": 1.0}}]
    content = {"kind": "linear", "title": "held", "vehicle": {"name": "whipple"}, "law": law}
    found = run(accept("held", "held", content | {"speeds": {"at": [3.0]}}))
    bicycle = compile("whipple")
    wanted = balance(bicycle, costs={"steer": 1.0}, forward_speed=3.0)
    gains = summary(found)["gains"]["steer"]
    assert list(gains.values()) == pytest.approx(wanted.K[0].tolist(), rel=1e-9)
    line = next(
        text for text in remarks(found) if text.startswith("feedback of deviations: steer =")
    )
    assert f"{-gains['lean']:+.5g} lean" in line and "rear_wheel" not in line
