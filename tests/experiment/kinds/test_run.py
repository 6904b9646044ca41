"""Runs of scenarios."""

import math

import numpy as np
import pytest

import draisine

PUSHED = {"initial.forward_speed": 2.0, "initial.lean_rate": 0.5}


def test_a_fall_ends_a_run_on_the_plane_as_on_a_terrain():
    """Samples before the fall equal those without a limit; the last sample is the fall."""
    unlimited = draisine.run("passive-stabilisation", changes=PUSHED | {"run.fall": math.inf})
    ended = draisine.run("passive-stabilisation", changes=PUSHED)
    fall = ended.validity.fall_from
    assert unlimited.outcome == "completed" and unlimited.validity.fall_from is None
    assert ended.outcome == "fell: it turned over"
    assert fall <= ended.data.time.values[-1] < fall + 0.01
    before = ended.data.sizes["time"] - 1
    assert np.array_equal(ended.data.lean.values[:before], unlimited.data.lean.values[:before])


@pytest.mark.parametrize("limit", ["10deg", "20deg"])
def test_the_scenario_sets_the_lean_of_a_fall(limit):
    """Until then the lean is below it; the last sample is at the limit."""
    changes = PUSHED | {"run.fall": limit}
    ended = draisine.run("passive-stabilisation", changes=changes)
    lean = np.degrees(np.abs(ended.data.lean.values))
    assert ended.outcome == f"fell: lean beyond {limit.removesuffix('deg')} deg"
    assert lean[-1] == pytest.approx(float(limit.removesuffix("deg")), rel=1e-9)
    assert lean[-1] > lean[:-1].max()
