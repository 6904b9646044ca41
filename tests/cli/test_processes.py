"""Commands among other programs: piped to `head`, onto full disks, ended from outside."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from draisine.errors import DataError
from draisine.interop.bicycleparameters import read_bicycle
from draisine.interop.robots.urdf import read_urdf
from draisine.results.store import load
from draisine.scenario.library import load as load_scenario
from draisine.terrain.files import read_mesh
from draisine.vehicles._sets import read_parameter_set

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and signals are those of POSIX")

COMMAND = [sys.executable, "-c", "import sys; from draisine.cli import main; sys.exit(main())"]
RUN = [*COMMAND, "run", "--until", "0.1", "--out", "a.nc", "--plot", "a.png"]


def begin(command, folder, **options):
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, **options)


def check_files(folder):
    assert sorted(p.name for p in folder.iterdir()) == ["a.nc", "a.png"]
    assert load(folder / "a.nc").sizes["time"] == 11


def test_a_closed_pipe_does_not_prevent_the_files(tmp_path):
    with begin(RUN, tmp_path, stdout=subprocess.PIPE, bufsize=0) as run:
        os.read(run.stdout.fileno(), 1)
        run.stdout.close()
        told = run.stderr.read()
    assert (run.returncode, told) == (0, "")
    check_files(tmp_path)


def test_nobody_reads_at_all(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    with begin(RUN, tmp_path, stdout=writer) as run:
        os.close(writer)
        told = run.stderr.read()
    assert (run.returncode, told) == (0, "")
    check_files(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_device_is_reported_and_the_files_are_written(tmp_path):
    with Path("/dev/full").open("w") as full, begin(RUN, tmp_path, stdout=full) as run:
        told = run.stderr.read()
    assert (run.returncode, told) == (
        1,
        "error: The output cannot be written: No space left on device.\n",
    )
    check_files(tmp_path)


SLOW = """
import sys, time
import xarray
from draisine.cli import main

def slow(data, path, **options):
    path.write_text("half")
    print("writing", flush=True)
    time.sleep(60)

xarray.Dataset.to_netcdf = slow
sys.exit(main(["run", "--until", "0.1", "--out", "a.nc"]))
"""


def test_a_run_that_is_ended_leaves_nothing_half_written(tmp_path):
    (tmp_path / "a.nc").write_text("old")
    with begin([sys.executable, "-c", SLOW], tmp_path, stdout=subprocess.PIPE) as run:
        while "writing" not in run.stdout.readline():
            pass
        began = time.monotonic()
        run.send_signal(signal.SIGTERM)
        told = run.stderr.read()
    assert time.monotonic() - began < 20
    assert (run.returncode, told) == (1, "error: Interrupted. Incomplete files were removed.\n")
    assert [p.name for p in tmp_path.iterdir()] == ["a.nc"]
    assert (tmp_path / "a.nc").read_text() == "old"


def test_nobody_waits_for_a_pipe(tmp_path):
    """A pipe in the place of a file would keep whoever opens it waiting for ever."""
    for name in ("a.toml", "a.nc", "a.txt", "a.stl", "a.urdf"):
        os.mkfifo(tmp_path / name)
    for wait in (
        lambda: load_scenario(str(tmp_path / "a.toml")),
        lambda: load(tmp_path / "a.nc"),
        lambda: read_bicycle(tmp_path / "a.txt"),
        lambda: read_parameter_set(tmp_path / "a.toml", "whipple"),
        lambda: read_mesh(tmp_path / "a.stl"),
        lambda: read_urdf(tmp_path / "a.urdf", {}),
    ):
        with pytest.raises(
            DataError, match=r"a\.\w+:? (this path )?is (not a file, but a pipe|neither a file)"
        ):
            wait()
