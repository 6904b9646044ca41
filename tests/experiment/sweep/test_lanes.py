"""Runs side by side: each has the numbers of a run alone, to the bit."""

import numpy as np
import pytest

from draisine.experiment.kinds import sweep as kind
from draisine.experiment.run import run
from draisine.experiment.sweep.lanes import fits_lanes
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
outputs = ["final lean", "final steer_rate", "final forward_speed", "final rear_wheel"]
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
def written(tmp_path):
    def write(text=BICYCLES):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return load(str(path))

    return write


@pytest.mark.parametrize("more", ["", STEP], ids=["passive", "pushed"])
@pytest.mark.parametrize("integrator", ["rk4", "ab4", "abm4", "abm5"])
def test_lanes_have_the_numbers_of_runs_alone(written, integrator, more, monkeypatch):
    loaded, calls = written(BICYCLES.replace("rk4", integrator) + more), []
    lanes = kind.run_lanes
    monkeypatch.setattr(kind, "run_lanes", lambda *x: calls.append(x) or lanes(*x))
    together = run(loaded).data
    assert len(calls) == 2
    monkeypatch.setattr(kind, "fits_lanes", lambda *x: False)
    assert together.identical(run(loaded).data)
    assert len(calls) == 2
    assert np.isfinite(together["final lean"]).all()


def test_those_that_stop_or_cannot_start_tell_so_like_runs_alone(written, monkeypatch):
    """At 0.1 m/s it falls within 3 s, at 5 m/s it does not; with closed contacts nothing pitches so."""
    text = BICYCLES.partition("design")[0].replace("until = 0.4", "until = 3.0")
    text += 'design = "list"\noutputs = ["final lean"]\n[sweep.over]\n'
    text += '"initial.forward_speed" = [0.1, 5.0, 5.0]\n"initial.pitch" = [0.0, 0.0, 0.5]\n'
    together = run(written(text)).data
    monkeypatch.setattr(kind, "fits_lanes", lambda *x: False)
    assert together.identical(run(written(text)).data)
    fallen, stable, pitched = together["outcome"].values.tolist()
    assert "stopped after" in fallen
    assert stable == "completed"
    assert "no configuration has pitch = 0.5" in pitched
    assert np.isfinite(together["final lean"]).values.tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"rk4"', '"dop853"'),
        ('"final lean"', '"maximum lean"'),
        ('"final lean"', '"final energy"'),
        ('integrator = "rk4"', 'integrator = "rk4", drift = "none"'),
        (
            '"initial.lean" = { low = -0.2, high = "10deg" }',
            '"run.until" = { low = 0.2, high = 0.3 }',
        ),
        (', integrator = "rk4" }', ' }\nterrain.shape = "plane"'),
    ],
)
def test_what_needs_more_goes_alone(written, old, new):
    assert old in BICYCLES
    for text, fits in ((BICYCLES, True), (BICYCLES.replace(old, new), False)):
        loaded = written(text)
        columns = {path: [0.2, 0.3] for path in loaded.scenario.sweep.paths}
        assert fits_lanes(loaded.plan, loaded.scenario.sweep.outputs, columns) == fits


def test_words_go_alone(written):
    plan = written().plan
    assert not fits_lanes(plan, ["final lean"], {"run.integrator": ["rk4", "ab4"]})
    assert not fits_lanes(plan, ["final lean"], {"initial.at_rest": [True, False]})


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


def test_a_law_that_runs_in_python_drives_one_machine(written, tmp_path):
    (tmp_path / "damp.py").write_text(PYTHON_LAW)
    loaded = written(BICYCLES.replace("count = 7", "count = 1") + '[[law]]\nname = "damp.py"\n')
    with pytest.warns(UserWarning, match="cannot be compiled"):
        assert run(loaded).data["outcome"].values.tolist() == ["completed"]
