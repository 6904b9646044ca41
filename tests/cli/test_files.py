"""What commands write, under which names, what they open, and what they begin."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest

import draisine
from draisine.cli import main
from draisine.cli._files import unused_path
from draisine.results.comparison import compare, differences
from draisine.terrain import kerb
from draisine.vehicles import parameter_set

PUSH = ["run", "mauny2018/passive-stabilisation", "--until", "0.3"]


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory):
    """The same push by two integrators."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("dop853", "rk4"):
        assert main([*PUSH, "--integrator", name, "--out", str(folder / f"{name}.nc")]) == 0
    return folder


@pytest.fixture(autouse=True)
def _somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_default_file_names_are_numbered(tmp_path):
    path = tmp_path / "a.png"
    assert unused_path(path) == path
    path.touch()
    assert unused_path(path) == tmp_path / "a-2.png"
    (tmp_path / "a-2.png").touch()
    assert unused_path(path) == tmp_path / "a-3.png"
    assert unused_path(path, force=True) == path


def test_the_first_command_twice_loses_nothing(capsys):
    for _ in range(2):
        assert main(["run", "--until", "0.1"]) == 0
    stem = "passive-stabilisation"
    wanted = [f"{stem}{k}{end}" for k in ("", "-2") for end in (".nc", ".png")]
    assert sorted(path.name for path in Path().iterdir()) == sorted(wanted)
    assert main(["run", "--until", "0.1", "--force"]) == 0
    assert f"data: {stem}.nc (replaced)" in capsys.readouterr().out


def test_several_figures_are_named_after_result_and_figure(two_runs, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda uri: opened.append(uri) or True)
    for path in two_runs.glob("*.png"):
        path.unlink()
    line = ["plot", str(two_runs / "rk4.nc"), "--figure", "top,forces"]
    assert main([*line, "--show"]) == 0
    assert main(line) == 0
    names = sorted(path.name for path in two_runs.glob("*.png"))
    assert names == ["rk4-forces-2.png", "rk4-forces.png", "rk4-top-2.png", "rk4-top.png"]
    assert [Path(uri).name for uri in opened] == ["rk4-top.png", "rk4-forces.png"]
    assert all(uri.startswith("file:///") for uri in opened)
    assert main([*line, "--force"]) == 0
    assert "rk4-top.png (replaced)" in capsys.readouterr().out


def test_an_exported_file_has_the_name_of_its_vehicle(capsys):
    for told in ("S-function: rolling_disc-simulink/", "S-function: rolling_disc-simulink-2/"):
        assert main(["export", "rolling_disc", "--as", "simulink", "--initial", "speed=2"]) == 0
        assert capsys.readouterr().out.startswith(told)


def hop(dt, until=0.5):
    """A disc that rolls down a step, lands and rolls on, sampled at will."""
    disc = draisine.compile("rolling_disc")
    start, numerics = draisine.state(disc, forward_speed=2.0), draisine.Numerics(dt=dt)
    return draisine.simulate(disc, start, until, terrain=kerb(0.2, -0.1), numerics=numerics)


def test_samples_before_and_after_an_event_are_compared_separately():
    """Both samples of an event have its time; the same motion, sampled otherwise, is the same."""
    runs = [hop(dt) for dt in (0.01, 0.03)]
    assert "collision" in [event.kind for event in runs[0].events]
    both = compare(*(run.to_xarray() for run in runs))
    assert not both.attrs["interpolated"]
    assert {one.name: one.largest for one in differences(both) if one.largest > 1e-8} == {}


def test_values_that_only_one_run_has_are_counted(two_runs, capsys, tmp_path):
    data = draisine.load(two_runs / "rk4.nc")
    data["lean"].values[7] = np.nan
    data["steer"].values[:] = np.nan
    draisine.save(data, tmp_path / "holes.nc")
    both = compare(draisine.load(two_runs / "rk4.nc"), data)
    found = {one.name: one for one in differences(both)}
    assert (found["lean"].unmatched, found["lean"].largest) == (1, 0.0)
    assert found["steer"].unmatched == data.sizes["time"]
    assert main(["compare", str(two_runs / "rk4.nc"), "holes.nc"]) == 0
    told = capsys.readouterr().out
    assert "lean: only one run has a value, at 1 times" in told
    assert "more quantities are bitwise equal" in told


def test_quantities_of_one_name_and_other_units_are_not_compared(two_runs):
    data = draisine.load(two_runs / "rk4.nc")
    other = data.copy()
    other["lean"] = other["lean"].assign_attrs(units="deg")
    with pytest.warns(
        UserWarning, match="lean has unit rad in the first run and deg in the second"
    ):
        both = compare(data, other)
    assert "lean" not in both and "steer" in both


def test_open_opens_pages_and_explains_other_files(two_runs, capsys, monkeypatch):
    Path("page.html").write_text("<p>hello")
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda uri: opened.append(uri) or True)
    assert main(["open", "page.html"]) == 0
    assert opened == [Path("page.html").resolve().as_uri()]
    assert main(["open", str(two_runs / "rk4.nc")]) == 2
    assert "draisine animate" in capsys.readouterr().err
    monkeypatch.setattr("webbrowser.open", lambda uri: False)
    assert main(["open", "page.html"]) == 1
    assert "Open the file yourself" in capsys.readouterr().err


def test_two_runs_are_compared(two_runs, capsys):
    files = [str(two_runs / f"{name}.nc") for name in ("dop853", "rk4")]
    assert main(["compare", *files, "--plot", "both.svg", "--json"]) == 0
    found = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    first, second = (draisine.load(file) for file in files)
    gap = np.abs(second.steer - first.steer).values
    assert found["steer"]["largest"] == float(gap.max())
    assert found["steer"]["time"] == float(first.time[int(gap.argmax())])
    assert 0.0 < found["contact_force[rear, normal]"]["largest"] < 1e-3
    assert "<svg" in Path("both.svg").read_text()
    assert main(["compare", files[0], files[0]]) == 0
    assert "all quantities are bitwise equal" in capsys.readouterr().out


def test_runs_are_compared_at_times_that_both_have(two_runs):
    run = draisine.load(two_runs / "rk4.nc")
    assert compare(run, run.isel(time=slice(0, None, 3))).time.size == 11
    shifted = run.assign_coords(time=run.time + 0.004)
    both = compare(run, shifted)
    assert both.attrs["interpolated"] == 1
    steer = {one.name: one for one in differences(both)}["steer"]
    assert steer.largest == pytest.approx(0.004 * float(np.abs(run.steer_rate).max()), rel=0.05)
    with pytest.raises(draisine.DraisineError, match="no times in common"):
        compare(run, run.assign_coords(time=run.time + 5.0))


def test_new_files_run_as_they_are(capsys):
    assert main(["new", "vehicle", "scooter"]) == 0
    assert main(["show", "scooter.py"]) == 0
    assert "3 degrees of freedom" in capsys.readouterr().out
    assert main(["new", "scenario", "push", "--vehicle", "scooter.py"]) == 0
    assert main(["run", "push.toml", "--strict"]) == 0
    assert "physically valid" in capsys.readouterr().out
    assert main(["new", "scenario", "push"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["new", "scenario", "push", "--force"]) == 0
    assert main(["run", "push.toml", "--strict"]) == 0


@pytest.mark.parametrize("vehicle", ["segway", "cart_pole"])
def test_a_new_scenario_starts_as_its_vehicle_can(capsys, vehicle):
    """Two wheels on one axle cannot be pushed over sideways, a cart on a rail has no heading."""
    assert main(["new", "scenario", "push", "--vehicle", vehicle]) == 0
    assert main(["run", "push.toml"]) == 0
    assert "completed: 5 s" in capsys.readouterr().out


def test_a_parameter_file_replaces_a_parameter_set(capsys):
    """The benchmark's file gives the published weave speed; what is set goes before it."""
    values = parameter_set("whipple", "benchmark")
    Path("mine.txt").write_text("\n".join(f"{name} = {x!r}" for name, x in values.items()))
    mine = ["--parameter-set", "mine.txt"]
    assert main(["eigenvalues", *mine, "--speed", "5"]) == 0
    assert "weave speed: 4.29238253634" in capsys.readouterr().out
    assert main(["eigenvalues", "--speed", "5", "--set", "c=0.04"]) == 0
    alone = capsys.readouterr().out.partition("computed")[0]
    assert main(["eigenvalues", *mine, "--speed", "5", "--set", "c=0.04"]) == 0
    told = capsys.readouterr().out.partition("computed")[0]
    assert told.replace(" mine.txt,", "", 1) == alone
    many = [part for name in ("w=1.1", "mB=90", "xB=0.31") for part in ("--set", name)]
    assert main(["run", *mine, *many, "--initial", "forward_speed=5", "--until", "0.1"]) == 0
    told = capsys.readouterr().out
    assert "passive-stabilisation: with mine.txt, w = 1.1, mB = 90 and 2 more\n" in told
    assert "completed: 0.1 s" in told
    assert main(["run", "--parameter-set", "gone.txt"]) == 2
    assert "gone.txt: no such file" in capsys.readouterr().err


def test_a_scenario_is_copied_to_be_changed(capsys):
    assert main(["new", "scenario", "jump", "--from", "ramp-jump"]) == 0
    file = Path("jump.toml")
    file.write_text(file.read_text().replace("drop = 0.5", "drop = 1.0"))
    assert main(["run", "jump.toml", "--until", "0.42"]) == 0
    assert "0.414548083 s  lift-off   front:ramp" in capsys.readouterr().out
    assert main(["new", "scenario", "again", "--from", "ramp-jum"]) == 2
    assert "Did you mean 'mauny2018/ramp-jump'" in capsys.readouterr().err


def test_a_bar_is_shown_from_python_where_somebody_sees_it(monkeypatch):
    """Told is a fraction that rises to one; without a terminal nothing is drawn."""
    from draisine.simulation.options import report_progress

    with report_progress(None, "") as tell:
        assert tell is None
    disc = draisine.compile("rolling_disc")
    start = draisine.state(disc, forward_speed=1.0)
    told = []
    plain = draisine.simulate(disc, start, 0.5, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1.0)
    shown = []
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setattr("rich.progress.Progress.update", lambda self, task, **x: shown.append(x))
    barred = draisine.simulate(disc, start, 0.5, progress=True)
    assert [x["completed"] for x in shown] == told
    np.testing.assert_array_equal(barred.final().q, plain.final().q)


def test_verbose_logs_derivation_and_runs(caplog):
    disc = draisine.compile("rolling_disc")
    with caplog.at_level(logging.DEBUG, logger="draisine"):
        draisine.simulate(disc, draisine.state(disc, forward_speed=1.0), 0.1)
    assert "simulating rolling_disc: completed at 0.1 s" in caplog.messages
    assert any(isinstance(h, logging.NullHandler) for h in logging.getLogger("draisine").handlers)
