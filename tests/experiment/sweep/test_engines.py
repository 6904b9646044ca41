"""Failures of workers, of the driver and of the disk: completed chunks are kept, and a resumed
store equals an uninterrupted one.
"""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import draisine
from draisine.codegen.files import lock_folder
from draisine.errors import DataError, ParameterError, SimulationError
from draisine.experiment.sweep import engines
from draisine.experiment.sweep import store as stores
from draisine.results.attributes import without_stamp
from draisine.scenario.library import load

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")

DISCS = """
kind = "sweep"
title = "discs"
vehicle.name = "rolling_disc"
initial = { forward_speed = 2.0, lean_rate = 0.3 }
run = { until = 0.2, dt = 0.01 }
[sweep]
chunk = 5
outputs = ["final lean", "maximum forward_speed", "time to fall"]
[sweep.between]
"initial.forward_speed" = { low = 1.0, high = 3.0, count = 40 }
"""

DRIVER = """
import signal, sys, time
from pathlib import Path
from draisine.cli import main
from draisine.experiment.sweep.store import SweepStore

if sys.argv[1] == "foreground":  # tests that run as a background job inherit an ignored SIGINT
    signal.signal(signal.SIGINT, signal.default_int_handler)
write, written = SweepStore.write_chunk, []
def write_and_wait(store, k, table):
    write(store, k, table)
    written.append(k)
    awaited = {3: "go", 4: "never"}.get(len(written))
    for _ in range(6000 if awaited else 0):
        if Path(awaited).exists():
            break
        time.sleep(0.01)
SweepStore.write_chunk = write_and_wait
sys.exit(main(["sweep", "discs.toml", "--out", "a.zarr", *sys.argv[2:]]))
"""
"""A sweep on the command line that waits for a minute when three and when four chunks are stored."""

IN_BACKGROUND = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
"""Start a command as shells without job control start background jobs: with an ignored SIGINT."""


@pytest.fixture
def whole(tmp_path, monkeypatch):
    """A store that was never interrupted, computed in this process."""
    monkeypatch.chdir(tmp_path)
    Path("discs.toml").write_text(DISCS)
    return draisine.sweep("discs.toml", "whole.zarr", workers=1).data


def assert_same_files():
    for file in Path("whole.zarr").rglob("*"):
        if file.is_file() and file.name != ".zattrs":
            assert file.read_bytes() == Path("a.zarr", file.relative_to("whole.zarr")).read_bytes()


def test_runs_during_which_workers_die_end_the_sweep_and_keep_the_others(whole, monkeypatch):
    run = engines.Worker.run_task

    def called(worker, task):
        if task == (12, 13):
            worker.process.kill()
            worker.process.wait()
        return run(worker, task)

    with monkeypatch.context() as patch:
        patch.setattr(engines.Worker, "run_task", called)
        with pytest.raises(SimulationError, match="died during the runs 12 to 12"):
            draisine.sweep("discs.toml", "a.zarr", workers=2)
    resumed = draisine.sweep("discs.toml", "a.zarr", resume=True, workers=1).data
    assert without_stamp(resumed).identical(without_stamp(whole))


@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_runs_during_which_workers_of_a_cluster_die_end_the_sweep(whole, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")

    def called(source, first, last):
        if first == 12:
            os._exit(9)
        return engines.run_range(source, first, last)

    with monkeypatch.context() as patch, cluster_of(distributed, 1) as cluster:
        cluster.scheduler.allowed_failures = 0
        patch.setattr(engines, "run_range", called)
        with pytest.raises(SimulationError, match=r"died during the runs \d+ to \d+"):
            draisine.sweep(
                "discs.toml", "a.zarr", engine="dask", scheduler=cluster.scheduler_address
            )
    resumed = draisine.sweep("discs.toml", "a.zarr", resume=True, workers=1).data
    assert without_stamp(resumed).identical(without_stamp(whole))


@pytest.mark.filterwarnings("ignore")  # Dask's own
def test_a_missing_scheduler_is_an_error(whole):
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    dask = pytest.importorskip("dask")
    for address in ("tcp://127.0.0.1:9", "nowhere"):
        with (
            dask.config.set({"distributed.comm.timeouts.connect": "100ms"}),
            pytest.raises(ParameterError, match=f"No Dask scheduler responds at {address}"),
        ):
            draisine.sweep("discs.toml", engine="dask", scheduler=address)
    assert dask.config.get("scheduler", None) is None  # else every file read later asks a cluster


def test_workers_of_another_version_are_refused(whole):
    source = (*engines.serialise_scenario(load("discs.toml"))[:3], "99.0")
    with pytest.raises(SimulationError, match=r"the driver has 99\.0\. Install the same"):
        engines.run_range(source, 0, 1)


def cluster_of(distributed, workers):
    """Return a cluster on this computer."""
    options = {"threads_per_worker": 1, "dashboard_address": None}
    return distributed.LocalCluster(n_workers=workers, **options)


def wait_for_chunks(process, count):
    """Wait until a driver has stored some chunks."""
    marks = Path("a.zarr", stores.COMMITTED_VARIABLE)
    while process.poll() is None and len(list(marks.glob("[0-9]*"))) < count:
        time.sleep(0.01)


@contextmanager
def driver(engine, scheduler="", background=False):
    """Return the process of a started driver after it has stored three chunks."""
    command = [sys.executable, "-c", DRIVER, "background" if background else "foreground"]
    command += [
        "--engine",
        engine,
        *(["--scheduler", scheduler] if scheduler else ["--workers", "2"]),
    ]
    with subprocess.Popen(
        [*IN_BACKGROUND, *command] if background else command,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for_chunks(process, 3)
        yield process


def assert_all_ended(process):
    """See that the workers of a driver end, too."""
    until = time.monotonic() + 60.0
    while time.monotonic() < until:
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError("workers outlive their driver")


def kill_driver(engine, scheduler=""):
    """Start a driver, and kill it after it has stored its third chunk."""
    with driver(engine, scheduler) as process:
        with pytest.raises(DataError, match="another process is writing"):
            draisine.sweep("discs.toml", "a.zarr", resume=True)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    if not scheduler:
        assert_all_ended(process)


def assert_interrupted(process, chunks):
    """See that a driver reports the interruption once, all processes end, and the rest can be resumed."""
    stderr = process.stderr.read()
    assert stderr.count(f"the sweep was interrupted; a.zarr contains {chunks} of 8 chunks") == 1
    assert "Traceback" not in stderr
    assert "distributed.worker" not in stderr  # workers whose scheduler ends
    assert process.wait() == 1
    assert_all_ended(process)


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_ctrl_c_reaches_all_processes_and_the_driver_alone_reports_it(whole, engine):
    if engine == "dask":
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    with driver(engine) as process:
        os.killpg(process.pid, signal.SIGINT)
        assert_interrupted(process, 3)
    resumed = draisine.sweep("discs.toml", "a.zarr", resume=True, workers=1).data
    assert without_stamp(resumed).identical(without_stamp(whole))
    assert_same_files()


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_sweep_in_the_background_ignores_ctrl_c_and_is_interrupted_by_sigterm(whole, engine):
    """Ctrl-C in the terminal is meant for the command in the foreground."""
    if engine == "dask":
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    with driver(engine, background=True) as process:
        os.killpg(process.pid, signal.SIGINT)
        Path("go").touch()
        wait_for_chunks(process, 4)
        assert process.poll() is None
        process.terminate()
        assert_interrupted(process, 4)
    resumed = draisine.sweep("discs.toml", "a.zarr", resume=True, workers=1).data
    assert without_stamp(resumed).identical(without_stamp(whole))
    assert_same_files()


def test_two_sweeps_do_not_share_a_store(whole):
    with (
        lock_folder(Path("whole.zarr")),
        pytest.raises(DataError, match="another process is writing"),
    ):
        draisine.sweep("discs.toml", "whole.zarr", resume=True)


def full_disk(monkeypatch):
    """Simulate a disk that is full from the third chunk on."""
    write = stores.SweepStore.write_chunk
    calls = []

    def called(store, k, table):
        calls.append(k)
        if len(calls) == 3:
            group = store._zarr_group
            monkeypatch.setitem(store.__dict__, "_zarr_group", Full(group))
        return write(store, k, table)

    class Full:
        def __init__(self, group):
            self.group = group

        def __getitem__(self, name):
            if name == "outcome":
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.group[name]

    monkeypatch.setattr(stores.SweepStore, "write_chunk", called)


def test_an_unknown_engine_is_an_error(whole):
    with pytest.raises(ParameterError, match="Available engines: processes, dask"):
        draisine.sweep("discs.toml", engine="slurm")
    with pytest.raises(ParameterError, match="engine 'dask'"):
        draisine.sweep("discs.toml", scheduler="tcp://nowhere:1")


@contextmanager
def two_workers(engine, monkeypatch):
    """Yield the options of a sweep with two workers, the scheduler, and the process of one worker."""
    if engine == "processes":
        started = []
        start = engines.Worker.__init__

        def called(worker, source):
            started.append(worker)
            start(worker, source)

        monkeypatch.setattr(engines.Worker, "__init__", called)
        yield {"workers": 2}, "", lambda: started[0].process.pid
        assert len(started) == 5  # two, one more for the one that died, and two with a full disk
        return
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with cluster_of(distributed, 2) as cluster:
        address = cluster.scheduler_address
        first = next(iter(cluster.workers.values()))
        yield {"engine": "dask", "scheduler": address}, address, lambda: first.pid


@pytest.mark.filterwarnings("ignore")  # Dask's own
@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_worker_dies_then_the_driver_then_the_disk_is_full(whole, monkeypatch, engine):
    """A worker is killed during a chunk, the driver after three chunks, and the disk is full after
    two more: the stored chunks are kept each time.
    """
    write = stores.SweepStore.write_chunk
    missing = stores.SweepStore(Path("a.zarr"), 5).find_missing_chunks
    with two_workers(engine, monkeypatch) as (options, scheduler, worker):

        def kill_worker(store, k, table):
            if not killed:
                killed.append(worker())
                os.kill(killed[0], signal.SIGKILL)
            write(store, k, table)

        killed = []
        with monkeypatch.context() as patch:
            patch.setattr(stores.SweepStore, "write_chunk", kill_worker)
            found = draisine.sweep("discs.toml", "b.zarr", **options)
        assert without_stamp(found.data).identical(without_stamp(whole))
        kill_driver(engine, scheduler)
        before = len(missing())
        assert 2 < before < 8
        with monkeypatch.context() as patch:
            full_disk(patch)
            with pytest.raises(DataError, match="No space left on device"):
                draisine.sweep("discs.toml", "a.zarr", resume=True, **options)
        assert len(missing()) == before - 2
    last = draisine.sweep("discs.toml", "a.zarr", resume=True, workers=1)
    assert without_stamp(last.data).identical(without_stamp(whole))
    assert_same_files()
