"""Runs of a sweep on terrain, computed together: motions equal those of single runs bit by bit."""

import pytest
from numpy.testing import assert_allclose

import draisine
from draisine.experiment.sweep.chunks import TERRAIN_TASK, Runner
from draisine.experiment.sweep.driver import make_tasks
from draisine.experiment.sweep.terrain_runs import TerrainRuns
from draisine.scenario.library import load

JUMP = """
kind = "sweep"
title = "Jumps"
[vehicle]
name = "whipple"
parameter_set = "thesis_table_2_1"
[terrain]
shape = "ramp"
slope = "10deg"
drop = 0.5
[initial]
place = {{ wheel = "rear", centre = [-5.0, 0.0], on = "ramp" }}
forward_speed = 9.8
[run]
until = 1.2
[sweep]
design = "list"
outputs = {outputs}
[sweep.over]
{over}
"""

ROUGH = """
kind = "sweep"
title = "Rides over rough ground"
[vehicle]
name = "whipple"
[terrain]
shape = "rough"
height = 0.01
at = 2.0
length = 2.0
width = 1.0
[initial]
forward_speed = 4.6
[contact]
mu = 0.8
[run]
until = 0.8
[sweep]
design = "list"
chunk = 4
outputs = ["peak lean", "final position[x]", "number of collisions"]
[sweep.over]
{over}
"""

SEEDS = '"terrain.seed" = {}'

OF_STATES = ["final pitch", "maximum pitch_rate", "peak steer", "mean forward_speed", "final time"]
OF_FORCES = ["maximum contact_force[rear, normal]", "peak steer_acceleration", "minimum gap[front]"]
OF_DATASETS = ["peak pitch_acceleration", "maximum wheel_centre[front, z]"]
OF_RUNS = ["friction needed", "time to fall", "lift-off 1 of front time", "collision 1 energy"]
OUTPUTS = [*OF_STATES, *OF_FORCES, *OF_DATASETS, *OF_RUNS]

CASES = {
    "speeds": '"initial.forward_speed" = [8.0, 9.0, 10.0]',
    "masses": '"vehicle.parameters.mB" = [70.0, -1.0, 90.0]',
    "drops": '"terrain.drop" = [0.4, 0.5, 0.6]',
    "slopes": '"terrain.slope" = ["8deg", 0.2, "12deg"]',
    "leans": '"initial.lean" = [0.0, 0.6, 1.3]',
    "both": '"initial.forward_speed" = [9.0, 9.5]\n"terrain.drop" = [0.4, 0.6]',
}


OUTCOMES = {
    "masses": ["completed", "no such machine", "completed"],
    "leans": ["completed", "the steer is turned too far", "fell"],
}


def runner(folder, text):
    """Return the runner of a sweep, with one thread."""
    path = folder / "study.toml"
    path.write_text(text)
    return Runner(load(str(path)), threads=1)


def rows_alone(monkeypatch, study):
    """Return the rows of a sweep whose runs are computed one by one."""
    with monkeypatch.context() as patch:
        patch.setattr(TerrainRuns, "can_run_together", lambda self, paths: False)
        study._lanes.cache_clear()
        rows = study.simulate_range(0, study.design.count)
    study._lanes.cache_clear()
    return rows


def assert_equal_rows(together, alone):
    """Motions are equal to the bit. Outputs are computed from them by a part of the program `observe`, in
    which a processor may fuse other products with sums, so that their last place may differ.
    """
    assert together.outcome.tolist() == alone.outcome.tolist()
    for text, values in alone.outputs.items():
        assert_allclose(together.outputs[text], values, rtol=1e-15, atol=0.0, err_msg=text)


@pytest.mark.filterwarnings("ignore::draisine.errors.ValidityWarning")
@pytest.mark.parametrize("case", CASES)
def test_rows_equal_those_of_single_runs(tmp_path, monkeypatch, case):
    study = runner(tmp_path, JUMP.format(outputs=OUTPUTS, over=CASES[case]))
    assert study.task_size == TERRAIN_TASK
    together = study.simulate_range(0, study.design.count)
    assert_equal_rows(together, rows_alone(monkeypatch, study))
    assert together.outcome.tolist() == OUTCOMES.get(case, ["completed"] * len(together.outcome))


@pytest.mark.parametrize("threads", [1, 3])
def test_seeds_of_rough_ground(tmp_path, monkeypatch, threads):
    study = runner(tmp_path, ROUGH.format(over=SEEDS.format(list(range(6)))))
    study.threads = threads
    together = study.simulate_range(0, 6)
    assert_equal_rows(together, rows_alone(monkeypatch, study))
    assert len(set(together.outputs["final position[x]"])) == 6


def test_a_start_inside_the_ground_is_no_start(tmp_path, monkeypatch):
    study = runner(tmp_path, ROUGH.format(over='"terrain.at" = [2.0, 0.4]'))
    together = study.simulate_range(0, 2)
    assert together.outcome.tolist() == ["completed", "no such start"]
    assert_equal_rows(together, rows_alone(monkeypatch, study))


def test_tasks_do_not_cross_chunks(tmp_path):
    study = runner(tmp_path, ROUGH.format(over=SEEDS.format(list(range(6)))))
    assert make_tasks(study, [0, 1]) == [(0, 4), (4, 6)]


def test_twenty_rides_are_resumed(tmp_path, monkeypatch):
    """The store of an interrupted sweep that is resumed equals that of an uninterrupted one."""
    path = tmp_path / "study.toml"
    path.write_text(ROUGH.format(over=SEEDS.format(list(range(20)))))
    whole = draisine.sweep(str(path), str(tmp_path / "whole.zarr"), workers=1).data
    assert set(whole.outcome.values.tolist()) == {"completed"}
    original = Runner.simulate_range
    calls = []

    def interrupt(self, first, last):
        calls.append((first, last))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(self, first, last)

    monkeypatch.setattr(Runner, "simulate_range", interrupt)
    with pytest.raises(draisine.errors.SimulationError, match="contains 3 of 5 chunks"):
        draisine.sweep(str(path), str(tmp_path / "resumed.zarr"), workers=1)
    calls.clear()
    calls.extend([None] * 4)
    resumed = draisine.sweep(str(path), str(tmp_path / "resumed.zarr"), workers=1, resume=True).data
    assert calls[4:] == [(12, 16), (16, 20)]
    assert resumed.equals(whole)
