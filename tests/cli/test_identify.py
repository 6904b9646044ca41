"""`draisine identify`: recordings in, a report, data and a figure out."""

import json
from pathlib import Path

import numpy as np
import pytest

import draisine
from draisine.analysis.gradient import GradientRun
from draisine.cli import main
from draisine.control import Table

TIME = np.linspace(0.0, 1.5, 31)
FIT = ("--unknowns", "c,lean_rate", "--starts", "1")
DRIVEN = ("--initial", "forward_speed=4.6,5.1", "--input", "steer=steer_torque")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def pushes():
    """Two recordings of a bicycle whose trail is 8 cm; their clocks start at 3 s."""
    bicycle = draisine.compile("whipple")
    torque = np.sin(4.0 * TIME)
    signal = Table("steer", tuple(TIME), tuple(torque))
    for k, speed in enumerate((4.6, 5.1), start=1):
        start = {"forward_speed": speed, "lean_rate": 0.4}
        rate = GradientRun(["lean_rate"], [], signals=[signal])(bicycle, start, TIME).values[:, 0]
        noise = np.random.default_rng(k).normal(0.0, 0.01, len(TIME))
        columns = TIME + 3.0, np.degrees(rate + noise), torque
        header = "time,lean_rate (deg/s),steer_torque (N m)"
        np.savetxt(f"push{k}.csv", np.transpose(columns), delimiter=",", header=header, comments="")
    return "push1.csv", "push2.csv"


def test_several_recordings_are_fitted(pushes, capsys):
    files = ("--plot", "fit.png", "--out", "fit.nc")
    assert main(["identify", *pushes, *FIT, *DRIVEN, "--set", "c=0.07", *files]) == 0
    out = capsys.readouterr().out
    assert "lean_rate[push2]" in out
    assert "Durbin-Watson" in out
    assert "1 of 1 search ended in this minimum" in out
    assert Path("fit.png").read_bytes().startswith(b"\x89PNG")
    assert draisine.load("fit.nc").sizes["sample"] == 62
    assert main(["plot", "fit.nc", "--out", "again.svg"]) == 0


def test_report_for_programs(pushes, capsys):
    options = ("--prior", "c=10mm", "--deviation", "lean_rate=0.01", "--white-noise", "--json")
    assert main(["identify", *pushes, *FIT, *DRIVEN, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    low, high = found["unknowns"]["c"]["interval"]
    assert low < 0.08 < high
    assert found["channels"][0]["normalised_rms"] == pytest.approx(1.0, abs=0.3)
    assert found["searches"] == {"same_minimum": 1, "worse_minimum": 0, "failed": 0}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--unknowns", "c"), "identify needs recordings"),
        (("push1.csv", "--unknowns", "trail"), "Did you mean c (trail)"),
        (("push1.csv", "--unknowns", "c", "--outputs", "lean"), "no column 'lean'"),
        (("push1.csv", "--unknowns", "c", "--input", "steer=torque"), "no column 'torque'"),
        (("push1.csv", "--unknowns", "c", "--input", "fork=1.0"), "no input 'fork'"),
        (("push1.csv", "--unknowns", "c", "--initial", "lean=1,2"), "one for each of the 1"),
        (("push1.csv", "--unknowns", "c", "--deviation", "steer=0.1"), "Not among the fitted"),
        (("push1.csv", "--unknowns", "c", "--prior", "c=abc"), "--prior c=abc: 'abc' is not"),
        (("push1.csv", "--unknowns", "c", "--prior", "lam=1deg"), "lam is not among the unknowns"),
        (("holes.csv", "--unknowns", "c"), "--drop-missing skips empty cells"),
        (("other.csv", "--unknowns", "c"), "no column is an output of the vehicle. Columns: volts"),
    ],
)
def test_error_messages_name_the_mistake(pushes, arguments, text, capsys):
    Path("holes.csv").write_text("time,lean_rate\n0,0.1\n0.1,\n0.2,0.3\n")
    Path("other.csv").write_text("time,volts\n0,0.1\n0.1,0.2\n")
    speed = () if "--initial" in arguments else ("--initial", "forward_speed=4.6")
    assert main(["identify", *arguments, *speed]) == 2
    assert text in " ".join(capsys.readouterr().err.split())


def test_a_bicycle_needs_its_speed(pushes, capsys):
    assert main(["identify", "push1.csv", "--unknowns", "c"]) == 2
    error = " ".join(capsys.readouterr().err.split())
    assert "push1.csv: the column forward_speed is missing" in error
    assert "--initial forward_speed=4.6" in error
