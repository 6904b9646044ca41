"""Runs of a sweep in SIMD lanes equal single runs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from draisine.experiment.run import run
from draisine.experiment.sweep.lanes import Lanes
from draisine.scenario.library import load

BICYCLES = """
kind = "sweep"
title = "bicycles"
vehicle.name = "whipple"
initial = { forward_speed = 4.6, lean_rate = "10deg" }
run = { until = 0.4, dt = 0.02, integrator = "rk4" }
[sweep]
design = "latin-hypercube"
count = 7
chunk = 5
outputs = ["final lean", "maximum steer_rate", "mean forward_speed", "decay rate of lean",
    "minimum contact_force[front, normal]", "time when steer = 1deg", "time to fault",
    "friction needed", "final rear_wheel", "time of maximum lean", "final time"]
[sweep.between]
"initial.forward_speed" = { low = 2.0, high = 8.0 }
"initial.lean" = { low = -0.2, high = "10deg" }
"vehicle.parameters.mB" = { low = 70.0, high = 95.0 }
"""

STEP = """
[[inputs]]
shape = "step"
input = "steer"
value = 1.0
start = 0.11
end = 0.2
"""


@pytest.fixture
def write_sweep(tmp_path):
    def write(text=BICYCLES):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return load(str(path))

    return write


def assert_same(together, alone):
    """Assert that states are equal bit by bit, and outputs, which other code computes, up to rounding."""
    assert together["outcome"].values.tolist() == alone["outcome"].values.tolist()
    for name in together.data_vars.keys() - {"outcome"}:
        assert_allclose(together[name], alone[name], rtol=1e-12, atol=1e-13)
        assert name != "final rear_wheel" or together[name].identical(alone[name])


@pytest.fixture
def lanes(monkeypatch):
    """Return the recorded calls of lanes, and a function that disables lanes."""
    calls = []
    run_lanes = Lanes.simulate_runs
    monkeypatch.setattr(Lanes, "simulate_runs", lambda *x: calls.append(x) or run_lanes(*x))
    return calls, lambda: monkeypatch.setattr(Lanes, "can_share_lanes", lambda *x: False)


@pytest.mark.parametrize(
    ("integrator", "more"), [("rk4", ""), ("rk4", STEP), ("ab4", STEP), ("abm4", ""), ("abm5", "")]
)
def test_lanes_equal_single_runs(write_sweep, integrator, more, lanes):
    loaded = write_sweep(BICYCLES.replace("rk4", integrator) + more)
    (calls, alone) = lanes
    together = run(loaded).data
    assert len(calls) == 2
    alone()
    assert_same(together, run(loaded).data)
    assert len(calls) == 2
    assert np.isfinite(together["final lean"]).all()
    assert np.isfinite(together["time when steer = 1deg"]).any()


def test_falls_and_infeasible_starts_have_the_outcomes_of_single_runs(write_sweep, lanes):
    """The bicycle falls within 3 s at 0.1 m/s, but not at 5 m/s. The pitch of the third run is infeasible
    with closed contacts, the moment of inertia of the fourth is negative.
    """
    head, _, tail = BICYCLES.partition("design")
    text = head.replace("until = 0.4", 'fall = "30deg", until = 3.0')
    asked = tail[tail.index("outputs") : tail.index("[sweep.between]")]
    asked = asked.replace("[", '["time to fall", ', 1)
    text += f'design = "list"\n{asked}[sweep.over]\n'
    text += (
        '"initial.forward_speed" = [0.1, 5.0, 5.0, 5.0]\n"initial.pitch" = [0.0, 0.0, 0.5, 0.0]\n'
    )
    text += '"vehicle.parameters.IBxx" = [9.2, 9.2, 9.2, -99.0]\n'
    together = run(write_sweep(text)).data
    lanes[1]()
    assert_same(together, run(write_sweep(text)).data)
    assert together["outcome"].values.tolist() == [
        "fell", "completed", "no such start", "no such machine",
    ]  # fmt: skip
    assert np.isfinite(together["final lean"]).values.tolist() == [True, True, False, False]
    fallen = float(together["time to fall"][0])
    end = float(together["final time"][0])
    assert 0.0 <= fallen - end < 0.02
    assert float(together["time to fault"][0]) == fallen
    assert 29.0 < abs(np.degrees(float(together["final lean"][0]))) < 30.0


def test_diverging_runs_have_the_outputs_of_single_runs(write_sweep, lanes):
    """Steps of 20 ms end in no number before the steer is turned by 90 degrees: at 70 and at 57."""
    text = BICYCLES[: BICYCLES.index("design")].replace("until = 0.4", "until = 2.0")
    text += (
        'design = "list"\noutputs = ["final lean", "peak steer", "final time", "time to fall"]\n'
    )
    text += '[sweep.over]\n"initial.forward_speed" = [2.878, 4.176, 4.6]\n'
    text += (
        '"initial.lean_rate" = [1.476, 0.615, 0.1]\n"vehicle.parameters.c" = [0.115, 0.122, 0.08]\n'
    )
    text += '"vehicle.parameters.lam" = [0.274, 0.473, 0.314]\n'
    together = run(write_sweep(text)).data
    lanes[1]()
    alone = run(write_sweep(text)).data
    lost = "a value is no longer a number"
    assert together["outcome"].values.tolist() == [lost, lost, "completed"]
    assert alone["outcome"].values.tolist() == [lost, lost, "completed"]
    for name in ("final lean", "peak steer", "final time"):
        assert_allclose(together[name], alone[name], rtol=1e-9)
        assert np.isfinite(together[name]).all()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"rk4"', '"dop853"'),
        ('"final lean"', '"final energy"'),
        ('integrator = "rk4"', 'integrator = "rk4", drift = "none"'),
        (
            '"initial.lean" = { low = -0.2, high = "10deg" }',
            '"run.until" = { low = 0.2, high = 0.3 }',
        ),
        (', integrator = "rk4" }', ' }\nterrain.shape = "plane"'),
    ],
)
def test_runs_that_lanes_do_not_support_run_alone(write_sweep, old, new):
    assert old in BICYCLES
    for text, fits in ((BICYCLES, True), (BICYCLES.replace(old, new), False)):
        loaded = write_sweep(text)
        sweep = loaded.scenario.sweep
        assert Lanes(loaded.plan, 0.4, sweep.outputs).can_share_lanes(sweep.paths) == fits


def test_structural_values_form_groups(write_sweep, lanes):
    """Two integrators make two groups of lanes; values of an input differ from lane to lane."""
    text = BICYCLES[: BICYCLES.index("design")]
    text += 'outputs = ["final lean"]\n[sweep.over]\n"run.integrator" = ["rk4", "ab4"]\n'
    text += '"initial.lean" = [0.0, "5deg", 0.1]\n"inputs[0].value" = [0.5, 2.0]\n'
    loaded = write_sweep(text + STEP)
    (calls, alone) = lanes
    data = run(loaded).data
    assert [len(x[1]["initial.lean"]) for x in calls] == [6] * 2
    assert len(np.unique(data["final lean"])) == 12
    alone()
    assert_same(data, run(loaded).data)


PYTHON_LAW = """
import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Damp:
    gain: float = 2.0

    def __call__(self, readings, z):
        return {"steer": -self.gain * math.atan(readings.rate("steer"))}, ()


LAW = Damp
"""


def test_an_untraceable_law_runs_without_lanes(write_sweep, tmp_path):
    (tmp_path / "damp.py").write_text(PYTHON_LAW)
    loaded = write_sweep(BICYCLES.replace("count = 7", "count = 1") + '[[law]]\nname = "damp.py"\n')
    with pytest.warns(UserWarning, match="cannot be compiled"):
        assert run(loaded).data["outcome"].values.tolist() == ["completed"]
