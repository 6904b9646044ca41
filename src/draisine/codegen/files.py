"""Files made whole or not at all.

A file is made in a folder beside its place and moved there when it is whole. The folder is locked as
long as somebody works in it; one that nobody holds was left by a run that was killed, and the next
one that writes there removes it.
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

PREFIX = ".draisine-new-"
"""How the folders begin in which files are made."""

MAX_REMOVALS = 50  # attempts to remove a folder to which other threads still write
REMOVAL_INTERVAL = 0.02  # s between two attempts; a file of a chunk is written in less

REPLACED = "replaced"
"""What a folder is called that has made room for a new one, until that stands in its place."""


@contextmanager
def whole_file(path: Path, tidies: bool = True) -> Iterator[Path]:
    """Give a place to make a file or a folder in; it stands at `path` afterwards. If that fails,
    nothing half-written remains, and what stood there before still does. Leftovers of killed
    runs are removed if `tidies` is true, which reads all names of the folder.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "a.txt") as new:
    ...         _ = new.write_text("all of it")
    ...     [entry.name for entry in Path(folder).iterdir()]
    ['a.txt']
    """
    try:
        if tidies:
            remove_leftovers(path.parent)
        with _workplace(path.parent) as folder:
            new = folder / path.name
            yield new
            replace(new, path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}.") from error


def write_text(text: str, path: Path) -> None:
    """Write a text, whole or not at all."""
    check_place(path)
    with whole_file(path) as new:
        new.write_text(text, encoding="utf-8")


def check_place(path: Path) -> None:
    """Raise where no file could be written, before any work is done."""
    folder = path.parent
    if not os.path.isdir(folder):
        raise DataError(f"{path}: there is no folder {str(folder)!r}.")
    if os.path.isdir(path):
        raise DataError(f"{path}: is a folder.")
    if os.path.exists(path) and not os.path.isfile(path):
        raise DataError(f"{path}: is there, but not as a file; take another name.")
    check_folder(path)


def check_folder(path: Path) -> None:
    """Raise where a file or folder may not be replaced, or nothing be written beside it."""
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise DataError(f"{path}: may not be written to.")
    try:
        with _workplace(path.parent) as folder:
            (folder / path.name).touch()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path!s:.200}: cannot be written: {reason}.") from None


def replace(new: Path, path: Path) -> None:
    """Put a finished file or folder in its place."""
    if not (new.is_dir() and path.is_dir()):
        os.replace(new, path)
        return
    old = new.with_name(REPLACED)
    path.rename(old)
    try:
        new.rename(path)
    except BaseException:
        old.rename(path)
        raise


@contextmanager
def _workplace(parent: Path) -> Iterator[Path]:
    """Give a new folder that is locked, and removed in the end with all that is in it."""
    folder, lock = _locked_folder(parent)
    try:
        yield folder
    finally:
        # Threads of a library (zarr) may still write after one of them has failed.
        for _ in range(MAX_REMOVALS):
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(REMOVAL_INTERVAL)
        if lock is not None:
            os.close(lock)


def _locked_folder(parent: Path) -> tuple[Path, int | None]:
    """Return a new folder and its lock, as far as there are locks."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = _lock(folder)
        if folder.exists():
            return folder, lock
        if lock is not None:  # somebody took it for a leftover before it was locked
            os.close(lock)


def _lock(folder: Path, wait: bool = True) -> int | None:
    """Return a handle that locks a folder until it is closed, or None where it cannot be locked. (On
    systems without locks nobody can tell whose a folder is: there, leftovers stay.)
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except (ImportError, OSError):
        return None
    try:
        flock(handle, LOCK_EX if wait else LOCK_EX | LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Have a folder for oneself, or say that somebody else has it; whoever dies has it no more. (On
    systems without locks nobody can tell.)

    >>> with tempfile.TemporaryDirectory() as folder, lock(Path(folder)):
    ...     with lock(Path(folder)):
    ...         pass
    Traceback (most recent call last):
    ...
    draisine.errors.DataError: ...: somebody else is at work in it.
    """
    handle = _lock(folder, wait=False)
    if handle is None and _has_locks():
        raise DataError(f"{folder}: somebody else is at work in it.")
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _has_locks() -> bool:
    return importlib.util.find_spec("fcntl") is not None


def remove_leftovers(parent: Path) -> None:
    """Remove the folders that killed runs have left; a folder that had been finished but for its last
    move is put in its place.
    """
    for folder in parent.glob(f"{PREFIX}*"):
        lock = _lock(folder, wait=False)
        if lock is None:
            continue
        try:
            if (folder / REPLACED).exists():
                for new in folder.iterdir():
                    if new.name != REPLACED and not (parent / new.name).exists():
                        new.rename(parent / new.name)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
