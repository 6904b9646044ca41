"""`draisine cycles`, and scenarios of the kind `cycle`."""

import json
from pathlib import Path

import numpy as np
import pytest

from draisine.cli import main
from draisine.results.store import load


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(list(arguments)) == code
    out = capsys.readouterr()
    return out.err if code else out.out


def test_all_cycles_at_a_phase(capsys):
    out = said(capsys, "cycles", "rocr", "--phase", "270deg", "--out", "c.nc", "--plot", "c.png")
    for text in ("6.825064", "14.824595", "climbs 0.199988 m", "unstable", "data: c.nc"):
        assert text in out
    assert Path("c.png").read_bytes().startswith(b"\x89PNG")
    data = load(Path("c.nc"))
    assert data.sizes["cycle"] == 2
    assert data["Omega0"].values == pytest.approx([6.825063599720387, 14.824594976297401])
    said(capsys, "plot", "c.nc", "--out", "again.svg")
    assert "<svg" in Path("again.svg").read_text(encoding="utf-8")


def test_json_of_cycles_and_of_the_consistent_impact(capsys):
    found = json.loads(said(capsys, "cycles", "--joint", "held", "--json"))
    assert found["joint_at_impact"] == "held"
    slow = found["cycles"][1]
    assert slow["Omega0"] == pytest.approx(-4.360704085122853)
    assert slow["stable"] is True
    assert slow["mean_speed"] == pytest.approx(0.07870477838045527)
    assert slow["multiplier_imaginary"]["first"] == pytest.approx(0.13941192525310064)
    assert slow["impact_Omega_after"]["grip_2"] == pytest.approx(4.360704085122244)


def test_a_scan_reports_bifurcations(capsys):
    out = said(capsys, "cycles", "rocr", "--scan", "1.4:1.8:5", "--out", "f.csv", "--plot", "f.png")
    assert "at phase = 1.4787339" in out
    assert "at phase = 1.58889344" in out
    table = np.genfromtxt("f.csv", delimiter=",", names=True)
    assert len(table) == 10
    assert set(table["family"]) == {1.0, 2.0}
    found = json.loads(said(capsys, "cycles", "rocr", "--scan", "3.7:3.8:3", "--json"))
    assert found["over"] == "phase"
    assert found["families"][0]["zero_speed_at"] == pytest.approx([3.751888761136569])
    assert len(found["families"][0]["members"]) == 3


def test_a_cycle_scenario_and_its_result_again(capsys):
    out = said(capsys, "run", "mauny2018/rocr-gait-a", "--out", "a.nc", "--plot", "a.png")
    assert "multipliers 0.33053, 0.304366: stable" in out
    assert "a search finds 2 cycles" in out
    again = json.loads(said(capsys, "run", "a.nc", "--json"))
    assert again["cycle"]["Omega0"] == float(load(Path("a.nc"))["Omega0"])
    assert [event["kind"] for event in again["events"]] == ["grip"]
    moved = json.loads(said(capsys, "run", "a.nc", "--set", "phase=4.6", "--json"))
    assert moved["cycle"]["mean_speed"] == pytest.approx(0.297, abs=2e-3)
    said(capsys, "run", "mauny2018/rocr-gait-b", "--out", "b.csv")
    assert Path("b.csv").read_text(encoding="utf-8").startswith("time,")


MINE = """
kind = "cycle"
title = "mine"
[vehicle]
name = "rocr"
[cycle]
near = { Omega = 6.0, theta = "170deg" }
joint = "free"
[[expected]]
title = "numbers"
origin = "computed"
rtol = 1e-8
values = { Omega0 = 6.825063599720387, "peak_torque[tail]" = 0.5395419649039589 }
"""


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('joint = "free"', 'joint = "loose"', "cycle.joint"),
        ("Omega = 6.0", "Omga = 6.0", "cycle.near"),
        ("Omega0 =", "Omega1 =", "Did you mean 'Omega0'"),
        ("[tail]", "[tial]", "Did you mean 'tail'"),
        ('name = "rocr"', 'name = "whipple"', "has no gait"),
    ],
)
def test_mistakes_in_a_cycle_scenario(capsys, old, new, told):
    Path("mine.toml").write_text(MINE, encoding="utf-8")
    assert "agrees" in said(capsys, "check", "mine.toml")
    Path("mine.toml").write_text(MINE.replace(old, new), encoding="utf-8")
    assert told in said(capsys, "run", "mine.toml", code=2)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["cycles", "whipple"], "has no gait"),
        (["cycles", "rocr", "--scan", "0:6"], "LOW:HIGH:COUNT"),
        (["cycles", "rocr", "--scan", "6:0:4"], "LOW must be below HIGH"),
        (["cycles", "rocr", "--scan", "0:1:3", "--over", "phsae"], "Did you mean 'phase'"),
        (["cycles", "rocr", "--scan", "0:1:3", "--phase", "1"], "--scan varies phase. Leave out"),
        (
            ["cycles", "rocr", "--scan", "0:1:3", "--set", "phase=1"],
            "--scan varies phase. Leave out",
        ),
        (["cycles", "rocr", "--set", "phase=1", "--phase", "2"], "Use only one of these options"),
        (["cycles", "rocr", "--over", "phase"], "--over phase needs a range: add --scan"),
        (["cycles", "rocr", "--set", "fase=1"], "phase"),
        (["cycles", "rocr", "--joint", "loose"], "loose"),
    ],
)
def test_wrong_inputs_get_a_hint(capsys, arguments, told):
    assert told in said(capsys, *arguments, code=2)
