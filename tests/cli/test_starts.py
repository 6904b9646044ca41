"""How runs start when people ask for something else, what their tables and first files tell, and what is
drawn of them.
"""

import tomllib
from pathlib import Path

import pytest

import draisine
from draisine.cli import main
from draisine.cli._templates import write_scenario_source
from draisine.results.store import save
from draisine.scenario.library import list_motions, load

STARTS = {
    "rolling-disc --initial speed=3": "note: spin = 4 of the scenario contradicts forward_speed = 3",
    "rattleback --initial spin=5": "note: yaw_rate = -5 of the scenario contradicts spin = 5",
    "chaplygin-sleigh --initial yaw_rate=3": "of the scenario contradicts yaw_rate = 3",
}


@pytest.mark.parametrize("line", STARTS)
def test_requested_initial_values_replace_contradicting_ones(line, capsys):
    assert main(["run", *line.split(), "--until", "100ms"]) == 0
    assert STARTS[line] in capsys.readouterr().err


def test_initial_values_are_in_the_table(capsys):
    assert main(["run", "rolling-disc", "--until", "0.1s"]) == 0
    table = capsys.readouterr().out
    assert "lean_rate" in table and "spin" in table and "yaw_rate" in table


@pytest.mark.parametrize(
    ("vehicle", "start", "push"),
    [
        ("cart_pole", {"pole": 0.2}, "# N\n"),
        ("acrobot", {"bar": 0.2}, "# N m\n"),
        ("ball", {"x_speed": 1.0}, "# N\n"),
        ("rattleback", None, "# N\n"),
        ("euler_disc", None, "# N\n"),
    ],
)
def test_a_first_scenario_starts_in_a_motion_worth_seeing(vehicle, start, push):
    """What hangs or stands on a hinge is let go at rest; discs and stones start as the runs that ship."""
    text = write_scenario_source("mine", vehicle)
    written = tomllib.loads(text)["initial"]
    shipped = [load(name).plan.start.values for name in list_motions(vehicle)]
    assert written == start if start is not None else written in shipped
    assert f"value = 1.0                     {push}" in text


def test_a_slope_is_meant_in_degrees(capsys):
    assert main(["run", "ball-on-slope", "--slope", "5"]) == 2
    assert "--set terrain.slope=5deg" in capsys.readouterr().err


def test_round_off_is_no_eigenvalue(capsys):
    """A disc that rolls at 2 m/s swings for ever: its real part is nothing."""
    assert main(["eigenvalues", "rolling_disc", "--speed", "2"]) == 0
    assert "│ 0 ±4.76487i │" in " ".join(capsys.readouterr().out.split())


def test_where_one_figure_is_refused_none_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    save(draisine.run("chaplygin-sleigh", changes={"run.until": 0.2}).data, Path("sleigh.nc"))
    assert main(["plot", "sleigh.nc", "--figure", "energies,maps"]) == 2
    assert not list(tmp_path.glob("*.png"))
    assert main(["plot", "sleigh.nc", "--figure", "momentum"]) == 2
    assert "--series momentum on the command line" in capsys.readouterr().err
    drawn = draisine.plot("sleigh.nc", series=["momentum"])
    assert len(drawn.lines) == draisine.load("sleigh.nc").momentum.shape[1]
