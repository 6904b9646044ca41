"""Ctrl-C: what was computed is kept, and told; nothing half-written remains."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from subprocess import PIPE

import pytest

from draisine.cli import main
from draisine.errors import SimulationError
from draisine.experiment import check
from draisine.experiment.sweep import chunks
from draisine.results.store import load
from draisine.scenario.validate import vehicle
from draisine.simulation.trajectory import Trajectory

SWEEP = """
kind = "sweep"
title = "steps"
vehicle.name = "whipple"
initial = { forward_speed = 4.6, lean_rate = 0.5 }
run.until = 0.1
[sweep]
outputs = ["final lean"]
over."run.dt" = [0.01, 0.02, 0.05]
"""


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def impatient(monkeypatch, module, name, calls):
    """Let a function be interrupted at its last call of so many."""
    real, count = getattr(module, name), []

    def called(*given, **options):
        count.append(1)
        if len(count) == calls:
            raise KeyboardInterrupt
        return real(*given, **options)

    monkeypatch.setattr(module, name, called)


def test_a_command_reports_an_interruption(capsys, monkeypatch):
    impatient(monkeypatch, vehicle, "compile", 1)
    assert main(["run", "--out", "a.nc"]) == 1
    assert capsys.readouterr().err == "error: Interrupted. Incomplete files were removed.\n"
    assert os.listdir() == []


def test_a_sweep_keeps_the_runs_before(capsys, monkeypatch):
    Path("mine.toml").write_text(SWEEP)
    impatient(monkeypatch, chunks, "simulate_plan", 2)
    assert main(["run", "mine.toml", "--out", "part.nc"]) == 1
    told = capsys.readouterr()
    assert "1 of 3 runs, computed in" in told.out
    assert "the sweep was interrupted after 1 of 3 runs." in told.err
    assert load(Path("part.nc"))["outcome"].values.tolist() == ["completed", "not run", "not run"]


def test_an_interrupted_check_reports_finished_scenarios(capsys, monkeypatch):
    names = ["meijaard2007/matrices", "meijaard2007/eigenvalues"]
    impatient(monkeypatch, check, "run", 2)
    assert main(["check", *names, "--json"]) == 1
    told = capsys.readouterr()
    assert list(json.loads(told.out)) == names[:1]
    assert "Interrupted after 1 of 2 scenarios" in told.err


def test_check_goes_on_after_a_run_that_had_to_stop(capsys, monkeypatch):
    names = ["meijaard2007/matrices", "meijaard2007/eigenvalues"]
    real = check.run

    def stopping(loaded, progress=None):
        if loaded.name == names[0]:
            raise SimulationError("the run was stopped.")
        return real(loaded, progress)

    monkeypatch.setattr(check, "run", stopping)
    assert main(["check", *names]) == 1
    out = capsys.readouterr().out
    assert "matrices: FAILED: the run was stopped." in out
    assert "meijaard2007/eigenvalues: " in out
    assert main(["check", *names, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found[names[0]] == [{"agrees": False, "error": "the run was stopped."}]


def test_a_motion_is_not_lost_while_its_data_is_made(capsys, monkeypatch):
    impatient(monkeypatch, Trajectory, "to_xarray", 1)
    assert main(["run", "--until", "0.1", "--out", "a.nc", "--plot", "a.png"]) == 0
    assert load(Path("a.nc")).sizes["time"] == 11


def test_a_ride_ends_on_an_interrupt():
    """Ctrl+C is its end, and no error."""
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "draisine", "ride", "--no-browser"]
    ride = subprocess.Popen(command, stdout=PIPE, stderr=PIPE, text=True)
    assert ride.stdout is not None
    lines = []
    while not lines or "Press Ctrl+C to stop." not in lines[-1]:
        lines.append(ride.stdout.readline())
        assert lines[-1], "it ended by itself"
    address = lines[-2].removeprefix("ride at ").strip()
    with urllib.request.urlopen(address, timeout=300):  # by now it awaits the signal
        pass
    ride.send_signal(signal.SIGINT)
    told = ride.communicate(timeout=300)
    assert (ride.returncode, told[1]) == (0, "")
