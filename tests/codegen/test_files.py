"""Full disks and killed runs: the previous files are kept, and no incomplete ones remain."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest

from draisine.codegen.cache import Store
from draisine.codegen.files import (
    REPLACED_FOLDER,
    WORK_FOLDER_PREFIX,
    atomic_write,
    remove_leftovers,
    write_text,
)
from draisine.errors import DataError

posix = pytest.mark.skipif(os.name != "posix", reason="pipes, locks and limits are those of POSIX")
ENDINGS = (".nc", ".zarr", ".csv", ".png")


def python(code, *given, **options):
    """Run lines of Python in a new process; return the printed text."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    write_text("old", path)

    def fail():
        with atomic_write(path) as new:
            new.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match=r"a\.txt: cannot be written: No space left on device\.$"):
        fail()
    assert path.read_text() == "old"
    write_text("new", path)
    assert path.read_text() == "new"
    assert names(tmp_path) == ["a.txt"]


FULL = """
    import os, resource, sys
    from pathlib import Path
    import numpy as np, xarray
    from matplotlib.figure import Figure
    from draisine.codegen.cache import Store
    from draisine.errors import DataError
    from draisine.results.store import save
    from draisine.view.save import save as save_figure

    folder, limit = Path(sys.argv[1]), int(sys.argv[2])
    time = np.arange(40000.0)
    data = xarray.Dataset({"a": ("time", np.sin(time))}, coords={"time": time})
    axes = Figure().subplots()
    axes.plot(np.random.default_rng(0).normal(size=3000))
    if limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for ending in sys.argv[3:]:
        path = folder / f"a{ending}"
        try:
            save_figure(axes, path) if ending == ".png" else save(data, path)
            print(f"{path}: written")
        except DataError as error:
            print(error)
    store = Store(folder / "cache")
    store.put("old", b"new" + bytes(100000))
    print(store.get("old"), sorted(os.listdir(store.folder)))
"""


def write_old_files(folder):
    """Write small results of all formats and a cache entry to a folder."""
    for ending in ENDINGS:
        if ending == ".zarr":
            (folder / "a.zarr").mkdir()
            (folder / "a.zarr" / ".zgroup").write_text('{"zarr_format": 2}')
        else:
            (folder / f"a{ending}").write_bytes(b"old")
    Store(folder / "cache").put("old", b"old")


def contents(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def check_failed_writes(folder, limit, reason):
    """Assert that results that do not fit raise errors with the system's reason and keep the old results."""
    before, entries = contents(folder), names(folder)
    *told, kept = python(FULL, folder, limit, *ENDINGS).splitlines()
    expected = [f"{folder / ('a' + ending)}: cannot be written: {reason}." for ending in ENDINGS]
    assert told == expected
    assert kept == "b'old' ['old']"
    assert contents(folder) == before
    assert names(folder) == entries


@posix
@pytest.mark.parametrize("limit", [8000, 1])
def test_a_file_size_limit_keeps_old_files(tmp_path, limit):
    write_old_files(tmp_path)
    check_failed_writes(tmp_path, limit, "File too large")


@posix
def test_a_full_disk_keeps_old_files(tmp_path):
    """With a few kilobytes of free space, and with none: then netCDF cannot even create its file."""
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(tmp_path)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no disk may be mounted here ({error})")
    try:
        write_old_files(tmp_path)
        check_failed_writes(tmp_path, 0, "No space left on device")
        with pytest.raises(OSError, match="No space"), (tmp_path / "filler").open("wb") as filler:
            filler.write(bytes(2**20))
        check_failed_writes(tmp_path, 0, "No space left on device")
    finally:
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


KILLED = """
    import sys, time
    from pathlib import Path
    from draisine.codegen.files import atomic_write

    with atomic_write(Path(sys.argv[1])) as new:
        new.write_text("half")
        print("begun", flush=True)
        time.sleep(60)
"""


@posix
def test_temporary_files_of_a_killed_run_are_removed_by_the_next(tmp_path):
    path = tmp_path / "a.txt"
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "begun\n"
        write_text("another", path)  # beside a run that is alive
        assert [name[: len(WORK_FOLDER_PREFIX)] for name in names(tmp_path)] == [
            WORK_FOLDER_PREFIX,
            "a.txt",
        ]
        run.send_signal(signal.SIGKILL)
    assert len(names(tmp_path)) == 2
    write_text("the next", path)
    assert names(tmp_path) == ["a.txt"]
    assert path.read_text() == "the next"


@posix
def test_temporary_files_in_the_cache_are_removed(tmp_path):
    left = tmp_path / f"{WORK_FOLDER_PREFIX}abc"
    left.mkdir()
    (left / "key").write_bytes(b"half")
    store = Store(tmp_path)
    store.put("key", b"whole")
    assert (names(tmp_path), store.get("key")) == (["key"], b"whole")


@posix
def test_a_replacement_killed_between_its_moves_is_completed(tmp_path):
    """Killed between its two moves: the old folder is away, the new one not yet in its place."""
    left = tmp_path / f"{WORK_FOLDER_PREFIX}abc"
    for name, text in ((REPLACED_FOLDER, "old"), ("a.zarr", "new")):
        (left / name).mkdir(parents=True)
        (left / name / "content").write_text(text)
    remove_leftovers(tmp_path)
    assert names(tmp_path) == ["a.zarr"]
    assert (tmp_path / "a.zarr" / "content").read_text() == "new"


@posix
def test_symbolic_links_are_not_followed(tmp_path):
    kept = tmp_path / "precious"
    kept.mkdir()
    (tmp_path / f"{WORK_FOLDER_PREFIX}link").symlink_to(kept)
    remove_leftovers(tmp_path)
    assert kept.is_dir()


@posix
def test_pipes_and_foreign_files_in_the_cache_are_ignored(tmp_path):
    """A pipe that nobody writes into would be waited for, for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "foreign").write_bytes(b"foreign" * 100)
    (tmp_path / "folder").mkdir()
    code = """
        import sys
        from pathlib import Path
        from draisine.codegen.cache import Store

        store = Store(Path(sys.argv[1]))
        print([store.get(key) for key in ("pipe", "foreign", "folder")], store.entries())
        for key in ("pipe", "foreign", "folder"):
            store.put(key, b"content")
        print([store.get(key) for key in ("pipe", "foreign", "folder")], store.clear())
    """
    assert python(code, tmp_path).splitlines() == [
        "[None, None, None] {}",
        "[b'content', b'content', None] 2",
    ]
    assert names(tmp_path) == ["folder"]


@posix
def test_writing_to_a_named_pipe_raises_an_error(tmp_path):
    os.mkfifo(tmp_path / "a.txt")
    with pytest.raises(DataError, match="not a regular file"):
        write_text("text", tmp_path / "a.txt")
    assert names(tmp_path) == ["a.txt"]
