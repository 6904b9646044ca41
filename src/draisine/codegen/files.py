"""Atomic writing of files: a file is complete, or it does not exist.

A file is written in a temporary folder next to its destination, and moved there when it is complete. The
temporary folder is locked while it is in use. An unlocked one was left by a killed process, and the next
process that writes to the same parent folder removes it.
"""

import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from draisine.errors import DataError

WORK_FOLDER_PREFIX = ".draisine-new-"
"""Prefix of the names of temporary folders."""

MAX_REMOVALS = 50
"""Largest number of attempts to remove a temporary folder to which other threads still write."""
REMOVAL_INTERVAL = 0.02
"""Time (s) between two attempts to remove a folder; writing the file of one data chunk takes less time."""

REPLACED_FOLDER = "replaced"
"""Name, inside the temporary folder, of the folder that is being replaced. It is kept there until the new
folder is in its place.
"""


@contextmanager
def atomic_write(path: Path, removes_leftovers: bool = True) -> Iterator[Path]:
    """Yield a temporary path to write a file or a folder to, and move it to `path` afterwards.

    If the body raises an error, nothing incomplete remains, and the previous content of `path` is kept.

    Parameters
    ----------
    path
        Destination.
    removes_leftovers
        Whether to remove temporary folders of killed processes; this lists the whole parent folder.

    Raises
    ------
    DataError
        If the file cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as new:
    ...         _ = new.write_text("all of it")
    ...     [entry.name for entry in Path(folder).iterdir()]
    ['a.txt']
    """
    try:
        if removes_leftovers:
            remove_leftovers(path.parent)
        with _work_folder(path.parent) as folder:
            new = folder / path.name
            yield new
            replace_path(new, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}.") from error


def write_text(text: str, path: Path) -> None:
    """Write a text to a file atomically."""
    check_writable(path)
    with atomic_write(path) as new:
        new.write_text(text, encoding="utf-8")


def check_writable(path: Path) -> None:
    """Raise DataError if a file cannot be written, before any work is done."""
    folder = path.parent
    if not os.path.isdir(folder):
        raise DataError(f"{path}: the folder {str(folder)!r} does not exist. Create it first.")
    if os.path.isdir(path):
        raise DataError(f"{path}: this is a folder. Use the name of a file.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"{path}: this path exists, but is not a regular file. Use another name.")
    check_replaceable(path)


def check_replaceable(path: Path) -> None:
    """Raise DataError if a file or folder cannot be replaced, or its parent folder is not writable."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise DataError(f"{path}: you have no permission to write to this path.")
    try:
        with _work_folder(path.parent) as folder:
            (folder / path.name).touch()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path!s:.200}: cannot be written: {reason}.") from None


def replace_path(new_path: Path, path: Path) -> None:
    """Move a complete file or folder to its destination; if that fails, restore the old folder."""
    if not (new_path.is_dir() and path.is_dir()):
        os.replace(new_path, path)
        return
    old = new_path.with_name(REPLACED_FOLDER)
    path.rename(old)
    try:
        new_path.rename(path)
    except BaseException:
        old.rename(path)
        raise


@contextmanager
def _work_folder(parent: Path) -> Iterator[Path]:
    """Yield a new locked folder, which is removed with its content when the context ends."""
    folder, lock = _make_locked_folder(parent)
    try:
        yield folder
    finally:
        # Threads of a library (zarr) may still write after one of them has failed: try to remove
        # the folder several times.
        for _ in range(MAX_REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(REMOVAL_INTERVAL)
        if lock is not None:
            os.close(lock)


def _make_locked_folder(parent: Path) -> tuple[Path, int | None]:
    """Return a new temporary folder and its lock; the lock is None on systems without file locks."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=WORK_FOLDER_PREFIX, dir=parent))
        lock = _acquire_lock(folder)
        if folder.exists():
            return folder, lock
        if lock is not None:  # another process removed the folder before it was locked
            os.close(lock)


def _acquire_lock(folder: Path, waits: bool = True) -> int | None:
    """Return a handle that locks a folder until it is closed, or None if it cannot be locked.

    On systems without file locks, the owner of a folder is unknown, so leftovers are never removed.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return None
    try:
        flock(handle, LOCK_EX if waits else LOCK_EX | LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder for this process, or raise an error if another process holds the lock.

    The system releases the lock if the process dies. On systems without file locks nothing is checked.

    >>> with tempfile.TemporaryDirectory() as folder, lock_folder(Path(folder)):
    ...     with lock_folder(Path(folder)):
    ...         pass
    Traceback (most recent call last):
    ...
    draisine.errors.DataError: ...: another process is writing to this folder...
    """
    handle = _acquire_lock(folder, waits=False)
    if handle is None and _supports_locks():
        raise DataError(
            f"{folder}: another process is writing to this folder. Wait until it has finished, or use "
            "another folder."
        )
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _supports_locks() -> bool:
    """Return whether the operating system has file locks."""
    return importlib.util.find_spec("fcntl") is not None


def remove_leftovers(parent: Path) -> None:
    """Remove the temporary folders of killed processes.

    If a process was killed between the two moves of `replace_path`, its complete new folder is moved to its
    destination first.
    """
    for folder in parent.glob(f"{WORK_FOLDER_PREFIX}*"):
        lock = _acquire_lock(folder, waits=False)
        if lock is None:
            continue
        try:
            if (folder / REPLACED_FOLDER).exists():
                for new in folder.iterdir():
                    if new.name != REPLACED_FOLDER and not (parent / new.name).exists():
                        new.rename(parent / new.name)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
