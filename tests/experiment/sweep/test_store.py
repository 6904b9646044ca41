"""Stores of sweeps: completed chunks are kept, and only missing ones are computed on resuming."""

import errno
from pathlib import Path

import pytest

import draisine
from draisine.cli import main
from draisine.errors import DataError, ParameterError, SimulationError
from draisine.experiment.kinds import run as runs
from draisine.experiment.sweep import store as stores
from draisine.experiment.sweep import terrain_runs
from draisine.results.attributes import without_stamp

DISCS = """
kind = "sweep"
title = "discs"
vehicle.name = "rolling_disc"
initial = { forward_speed = 2.0, lean_rate = 0.3 }
run = { until = 0.1, dt = 0.05 }
[sweep]
chunk = 2
outputs = ["final lean", "maximum forward_speed"]
[sweep.over]
"initial.forward_speed" = [1.0, 2.0, 3.0]
"vehicle.parameters.mass" = [2.0, 4.0]
"""

SOBOL = DISCS.partition("[sweep.over]")[0].replace("chunk = 2", 'chunk = 3\ndesign = "sobol"')
SOBOL = f"""{SOBOL}
count = 8
[sweep.between]
"initial.forward_speed" = {{ low = 1.0, high = 3.0 }}
"""


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("discs.toml").write_text(DISCS)
    Path("sobol.toml").write_text(SOBOL)


def stop_at(monkeypatch, module, name, call, error):
    """Let the call of a function with that number fail; return the list of all calls."""
    real = getattr(module, name)
    calls = []

    def called(*given, **options):
        calls.append(given)
        if len(calls) == call:
            raise error
        return real(*given, **options)

    monkeypatch.setattr(module, name, called)
    return calls


@pytest.mark.parametrize("name", ["discs", "sobol"])
def test_a_store_equals_the_result_in_memory(name):
    data = draisine.run(f"{name}.toml").data
    result = draisine.sweep(f"{name}.toml", "a.zarr")
    assert result.outcome == "completed"
    assert result.data["final lean"].variable._in_memory == (name == "discs")  # a grid is laid out
    assert without_stamp(result.data).identical(data)
    assert without_stamp(draisine.load("a.zarr")).identical(data)
    assert list(result.data.data_vars) == list(data.data_vars)  # as in the file, not as on the disk
    assert [n for n in result.data.coords if n != "run"] == [n for n in data.coords if n != "run"]
    assert draisine.run("a.zarr").data.identical(data)


@pytest.mark.parametrize("call", [1, 2, 4, 6])
def test_a_resumed_store_equals_the_uninterrupted_one(monkeypatch, call):
    uninterrupted = draisine.sweep("discs.toml", "whole.zarr").data
    with monkeypatch.context() as patch:
        stop_at(patch, runs, "compute_run", call, KeyboardInterrupt())
        with pytest.raises(SimulationError, match=rf"contains {(call - 1) // 2} of 3 chunks"):
            draisine.sweep("discs.toml", "a.zarr")
    with pytest.raises(DataError, match=r"sweep are missing.*--resume"):
        draisine.load("a.zarr")
    with monkeypatch.context() as patch:
        calls = stop_at(patch, runs, "compute_run", 0, None)
        resumed = draisine.sweep("discs.toml", "a.zarr", resume=True).data
        assert without_stamp(resumed).identical(without_stamp(uninterrupted))
    assert len(calls) == 6 - (call - 1) // 2 * 2
    for file in Path("whole.zarr").rglob("*"):
        if file.is_file() and file.name != ".zattrs":
            assert file.read_bytes() == Path("a.zarr", file.relative_to("whole.zarr")).read_bytes()


def test_an_unexpected_error_keeps_the_complete_chunks(monkeypatch):
    with monkeypatch.context() as patch:
        stop_at(patch, runs, "compute_run", 5, RuntimeError("killed"))
        with pytest.raises(RuntimeError, match="killed"):
            draisine.sweep("discs.toml", "a.zarr")
    calls = stop_at(monkeypatch, runs, "compute_run", 0, None)
    data = draisine.sweep("discs.toml", "a.zarr", resume=True).data
    assert len(calls) == 2
    assert without_stamp(data).identical(draisine.run("discs.toml").data)


@pytest.mark.parametrize("place", [1, 3, 6])
def test_a_full_disk_leaves_a_chunk_without_its_mark(monkeypatch, place):
    """The disk has space for some of the six variables of a chunk only."""
    real = stores.open_group
    calls = []

    class Full:
        def __init__(self, group):
            self.group = group

        def __getitem__(self, name):
            calls.append(name)
            if len([one for one in calls if one != stores.COMMITTED_VARIABLE]) == 6 + place:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.group[name]

        def __getattr__(self, name):
            return getattr(self.group, name)

    with monkeypatch.context() as patch:
        patch.setattr(stores, "open_group", lambda path, mode: Full(real(path, mode)))
        with pytest.raises(DataError, match="chunk 1 cannot be written: No space left"):
            draisine.sweep("discs.toml", "a.zarr")
    assert stores.SweepStore(Path("a.zarr"), 2).find_missing_chunks() == [1, 2]
    data = draisine.sweep("discs.toml", "a.zarr", resume=True).data
    assert without_stamp(data).identical(draisine.run("discs.toml").data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("lean_rate = 0.3", "lean_rate = 0.4"),
        ("[2.0, 4.0]", "[2.0, 5.0]"),
        ("chunk = 2", "chunk = 3"),
    ],
)
def test_another_sweep_is_refused(old, new):
    draisine.sweep("discs.toml", "a.zarr")
    Path("discs.toml").write_text(DISCS.replace(old, new))
    with pytest.raises(DataError, match="belongs to another sweep"):
        draisine.sweep("discs.toml", "a.zarr", resume=True)


def test_files_are_identified_by_content_not_by_path(monkeypatch, tmp_path):
    """A sweep is the same after its files were moved to another folder, but not with another ground."""
    home = tmp_path / "home"
    text = DISCS.replace("[sweep]", 'terrain.file = "ground.obj"\n[sweep]')
    text = text.replace('"rolling_disc"', '"mine.py:mine"').replace(
        "[sweep.over]", '[sweep.over]\n"terrain.file" = ["ground.obj"]'
    )
    home.mkdir()
    (home / "discs.toml").write_text(
        text.replace("terrain.file =", 'terrain.shape = "mesh"\nterrain.file =')
    )
    (home / "mine.py").write_text(
        "from draisine.vehicles.rolling_disc import rolling_disc as mine\n"
    )
    ground = "v -9 -9 0\nv 9 -9 0\nv 9 9 0\nv -9 9 0\nf 1 2 3\nf 1 3 4\n"
    (home / "ground.obj").write_text(ground)
    with monkeypatch.context() as patch:
        stop_at(patch, terrain_runs, "run_task", 4, KeyboardInterrupt())
        with pytest.raises(SimulationError, match="contains 1 of 3 chunks"):
            draisine.sweep("home/discs.toml", "a.zarr")
    home = home.rename(tmp_path / "elsewhere")
    monkeypatch.chdir(home)
    calls = stop_at(monkeypatch, terrain_runs, "run_task", 0, None)
    draisine.sweep("discs.toml", "../a.zarr", resume=True)
    assert len(calls) == 4
    (home / "ground.obj").write_text(ground.replace("9 9 0", "9 9 1"))
    with pytest.raises(DataError, match="belongs to another sweep"):
        draisine.sweep("discs.toml", "../a.zarr", resume=True)


def test_another_version_is_refused(monkeypatch):
    draisine.sweep("discs.toml", "a.zarr")
    monkeypatch.setattr(draisine, "__version__", "99.0")
    with pytest.raises(DataError, match="version of draisine"):
        draisine.sweep("discs.toml", "a.zarr", resume=True)


def test_existing_stores_are_not_replaced_and_other_data_not_resumed():
    draisine.sweep("discs.toml", "a.zarr")
    with pytest.raises(DataError, match="already exists"):
        draisine.sweep("discs.toml", "a.zarr")
    draisine.save(draisine.run("discs.toml"), "plain.zarr")
    with pytest.raises(DataError, match="not the store of a sweep"):
        draisine.sweep("discs.toml", "plain.zarr", resume=True)
    with pytest.raises(DataError, match=r"ends with \.zarr"):
        draisine.sweep("discs.toml", "a.nc")
    with pytest.raises(ParameterError, match="of the kind 'run'"):
        draisine.sweep("mauny2018/passive-stabilisation")


def test_progress_reports_rate_and_remaining_time(monkeypatch):
    """Two of six runs are there: the bar is of the other four, at a run in a quarter of a second."""
    stop = stop_at(monkeypatch, runs, "compute_run", 3, KeyboardInterrupt())
    with pytest.raises(SimulationError, match="contains 1 of 3 chunks"):
        draisine.sweep("discs.toml", "a.zarr")
    assert len(stop) == 3
    bars = []
    clock = iter(0.25 * k for k in range(100))
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    monkeypatch.setattr("draisine.simulation.options.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("rich.progress.Progress.update", lambda bar, _, **x: bars.append((bar, x)))
    draisine.sweep("discs.toml", "a.zarr", resume=True, workers=1, progress=True)
    assert [x["completed"] for _, x in bars] == [0.25, 0.5, 0.75, 1.0]
    assert {x["rate"] for _, x in bars} == {"4 runs/s"}
    columns = [type(column).__name__ for column in bars[0][0].columns]
    assert "TimeRemainingColumn" in columns


def test_the_command(capsys):
    assert main(["sweep", "discs.toml", "--out", "a.zarr"]) == 0
    printed = capsys.readouterr().out
    assert "6 runs, computed in" in printed
    assert "data: a.zarr" in printed
    assert main(["sweep", "discs.toml", "--out", "a.zarr"]) == 2
    assert "already exists" in capsys.readouterr().err
    assert main(["sweep", "discs.toml", "--out", "a.zarr", "--resume", "--plot", "a.png"]) == 0
    assert main(["sweep", "sobol.toml", "--out", "b.zarr", "--plot", "b.png"]) == 0
    assert "8 runs" in capsys.readouterr().out
    assert Path("a.png").exists() and Path("b.png").exists()
